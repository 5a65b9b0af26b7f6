//! A server in one process, for tests: two datasets, two analysts, and tokens for everybody.

pub mod visit;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use axum::body::Body;
use axum::http::{HeaderMap, Request, StatusCode, header};
use http_body_util::BodyExt;
use serde_json::Value;
use taximeter_accounting::{Budget, FilterRule, FilterSpec, OdometerRule, OdometerSpec};
use taximeter_gate::{Data, Declaration, Gate, Registration, Rules};
use taximeter_ledger::{AccountName, Ledger, Location, Options};
use taximeter_server::App;
use taximeter_service::{Log, LogForm, Service, Settings, TokenPlace, Tokens};
use taximeter_service::{NewToken, Role};
use taximeter_testing::PATIENCE;

/// A server with its folder.
pub struct House {
    pub app: App,
    pub folder: tempfile::TempDir,
    pub ledger: Ledger,
    secrets: BTreeMap<&'static str, String>,
}

/// What came back.
#[derive(Debug)]
pub struct Reply {
    pub status: StatusCode,
    pub headers: HeaderMap,
    pub bytes: Vec<u8>,
}

impl Reply {
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.bytes).unwrap_or_else(|error| panic!("{error}: {}", self.text()))
    }

    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.bytes).into_owned()
    }

    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().unwrap())
    }

    /// The code of a problem; nothing for what is none, or for a page that says it in words. A problem document must be one.
    pub fn code(&self) -> Option<String> {
        if self.status.is_success() || self.status.is_redirection() || self.is_page() {
            return None;
        }
        assert_eq!(self.header("content-type"), "application/problem+json", "{}: {}", self.status, self.text());
        let problem = self.json();
        assert_eq!(problem["status"], self.status.as_u16(), "{}", self.text());
        assert!(!problem["detail"].as_str().unwrap().is_empty());
        Some(problem["code"].as_str().unwrap().to_string())
    }

    /// The reply, if it has this status.
    pub fn expect(self, status: u16) -> Reply {
        assert_eq!(self.status, status, "{}", self.text());
        self.code();
        self
    }
}

/// Waits until there is something.
pub async fn eventually<T>(what: &str, mut look: impl AsyncFnMut() -> Option<T>) -> T {
    let looking = async {
        loop {
            match look().await {
                Some(found) => break found,
                None => tokio::time::sleep(Duration::from_millis(20)).await,
            }
        }
    };
    tokio::time::timeout(PATIENCE, looking).await.unwrap_or_else(|_| panic!("waited {PATIENCE:?} until {what}"))
}

pub fn name(text: &str) -> AccountName {
    AccountName::parse(text).unwrap()
}

fn rules(budget: &str) -> Rules {
    let budget = Budget::parse(budget).unwrap();
    Rules {
        filter: Some(FilterSpec::new(FilterRule::Basic, budget)),
        odometer: OdometerSpec::new(OdometerRule::Basic, budget.delta()),
    }
}

/// The budget of the dataset is smaller than alice's: what it refuses, she would take.
const BUDGETS: [(&str, &str); 2] = [("census", "2.5,1e-6"), ("wages", "9,1e-6")];
const ANALYSTS: [(&str, &str); 2] = [("alice", "5,1e-6"), ("bob", "3.1734,1e-6")];

impl House {
    pub fn new() -> House {
        House::with(Settings::default())
    }

    pub fn with(settings: Settings) -> House {
        // Thousands of requests in a second are no subject here.
        let settings = Settings { requests_per_second: 1_000_000, requests_at_once: 0, ..settings };
        let folder = tempfile::tempdir().unwrap();
        let location = Location::File(folder.path().join("ledger.db"));
        let ledger = Ledger::open(&location, Options { create: true, ..Options::default() }).unwrap();
        let gate = Gate::open(&folder.path().join("gate"), ledger.clone()).unwrap();
        let csv = folder.path().join("data.csv");
        std::fs::write(&csv, House::CSV).unwrap();
        for (dataset, budget) in BUDGETS {
            let mut declaration = Declaration::parse("unit = \"row\"").unwrap();
            declaration.add_bounds("age=0..120").unwrap();
            declaration.add_categories("region=north,south").unwrap();
            let registration = Registration {
                rules: Some(rules(budget)),
                reuse: true,
                timeout: PATIENCE,
                ..Registration::new(name(dataset), declaration, Data::csv(csv.clone()))
            };
            gate.register(&registration, &mut |_, _| {}).unwrap();
        }
        for (analyst, budget) in ANALYSTS {
            gate.add_analyst(&name("census"), analyst, rules(budget)).unwrap();
        }
        let tokens = Tokens::open(&TokenPlace::File(folder.path().join("tokens.db")), ledger.id()).unwrap();
        let secrets = House::secrets(&tokens);
        let service = Service::new(gate, tokens, Log::new(LogForm::Off), settings).unwrap();
        House { app: App::new(&service).unwrap(), folder, ledger, secrets }
    }

    pub const CSV: &'static str = "age,region\n31,north\n47,south\n52,north\n68,south\n";

    fn secrets(tokens: &Tokens) -> BTreeMap<&'static str, String> {
        let token = |principal: &str, role, accounts: &[&str], sees_above| NewToken {
            principal: principal.to_string(),
            role,
            accounts: accounts.iter().map(|account| name(account)).collect(),
            datasets: if role == Role::Analyst { vec![name("census")] } else { Vec::new() },
            sees_above,
            expires: None,
        };
        let made = [
            ("owner", token("olga", Role::Owner, &[], false)),
            ("auditor", token("otto", Role::Auditor, &[], false)),
            ("alice", token("alice", Role::Analyst, &["census/alice"], false)),
            ("above", token("anna", Role::Analyst, &["census/alice"], true)),
            ("bob", token("bob", Role::Analyst, &["census/bob"], false)),
            ("two", token("twan", Role::Analyst, &["census/alice", "census/bob"], false)),
        ];
        let mut secrets: BTreeMap<&str, String> =
            made.map(|(who, new)| (who, tokens.create(&new).unwrap().secret)).into();
        secrets.insert("bad", "not a token".to_string());
        secrets
    }

    pub fn secret(&self, who: &str) -> &str {
        &self.secrets[who]
    }

    /// Where the server keeps what is uploaded.
    pub fn uploads(&self) -> PathBuf {
        let entries = std::fs::read_dir(self.folder.path().join("gate").join("uploads")).unwrap();
        entries.map(|entry| entry.unwrap().path()).find(|path| path.is_dir()).unwrap()
    }

    /// A request with a body of JSON, if there is one, and nobody's or somebody's token.
    pub async fn send(&self, who: &str, method: &str, path: &str, body: &str) -> Reply {
        self.send_with(who, method, path, body, &[]).await
    }

    pub async fn send_with(&self, who: &str, method: &str, path: &str, body: &str, headers: &[(&str, &str)]) -> Reply {
        let mut request = Request::builder().method(method).uri(path);
        if who != "nobody" {
            request = request.header(header::AUTHORIZATION, format!("Bearer {}", self.secrets[who]));
        }
        let has_type = headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("content-type"));
        if !body.is_empty() && !has_type {
            request = request.header(header::CONTENT_TYPE, "application/json");
        }
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        self.raw(request.body(Body::from(body.to_string())).unwrap()).await
    }

    pub async fn raw(&self, request: Request<Body>) -> Reply {
        let response = self.app.answer(request).await;
        let (parts, body) = response.into_parts();
        // A stream of events has no end.
        let is_stream = parts.headers.get(header::CONTENT_TYPE).is_some_and(|kind| kind == "text/event-stream");
        let bytes = match is_stream {
            true => Vec::new(),
            false => body.collect().await.map(|body| body.to_bytes().to_vec()).unwrap_or_default(),
        };
        Reply { status: parts.status, headers: parts.headers, bytes }
    }

    pub async fn get(&self, who: &str, path: &str) -> Reply {
        self.send(who, "GET", path, "").await
    }

    /// Charges so much on accounts.
    pub async fn charge(&self, who: &str, accounts: &[&str], epsilon: &str, key: &str) -> Reply {
        let body = serde_json::json!({ "accounts": accounts, "costs": [{ "epsilon": epsilon }] }).to_string();
        self.send_with(who, "POST", "/v1/charges", &body, &[("Idempotency-Key", key)]).await
    }

    /// Asks the census for so much.
    pub async fn ask(&self, who: &str, question: &str, epsilon: &str, key: &str, more: Value) -> Reply {
        let mut body =
            serde_json::json!({ "dataset": "census", "question": question, "price": { "epsilon": epsilon } });
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        self.send_with(who, "POST", "/v1/questions", &body.to_string(), &[("Idempotency-Key", key)]).await
    }
}
