//! The server as a process: killed under load, ended in order, and two of them on one PostgreSQL.

use std::collections::{HashMap, HashSet};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use serde_json::Value;
use taximeter_testing::{LoadCaller, LoadResult, ServerLoad, wait_until};

use crate::sandbox::{Sandbox, Serving};

const CHARGE: &str = r#"{"accounts":["census"],"costs":[{"epsilon":"0.0001"}]}"#;

/// Every charge of an account in the ledger, by its key: where it stands, and how often.
fn charges(sandbox: &Sandbox, account: &str) -> HashMap<String, Vec<(u64, Option<String>)>> {
    let document = sandbox.document(0, &["history", account, "--limit", "100000"]);
    assert!(document["next"].is_null(), "there are more charges than the test looks at");
    let mut charges: HashMap<String, Vec<(u64, Option<String>)>> = HashMap::new();
    for record in document["records"].as_array().unwrap() {
        if record["what"] != "charge" {
            continue;
        }
        let key = record["record"]["event"]["charge"]["key"].as_str().unwrap_or_default().to_string();
        let place = (record["sequence"].as_u64().unwrap(), record["hash"].as_str().map(str::to_string));
        charges.entry(key).or_default().push(place);
    }
    charges
}

/// Every acknowledged charge is in the ledger once, as it was acknowledged; what is there besides was asked for.
fn check(sandbox: &Sandbox, done: &LoadResult) {
    sandbox.done(&["verify"]);
    let mut found = charges(sandbox, "census");
    for acknowledged in &done.acknowledged {
        let places = found.remove(&format!("olga:{}", acknowledged.key));
        let expected = vec![(acknowledged.sequence, acknowledged.hash.clone())];
        assert_eq!(places, Some(expected), "{}", acknowledged.key);
    }
    let asked: HashSet<String> = done.unknown.iter().map(|key| format!("olga:{key}")).collect();
    for (key, places) in found {
        assert!(asked.contains(&key) && places.len() == 1, "{key}: {places:?}");
    }
}

#[test]
fn a_server_that_is_killed_under_load_loses_nothing_that_it_acknowledged() {
    let sandbox = Sandbox::new();
    sandbox.done(&["account", "create", "census", "--budget", "100,1e-6"]);
    let olga = sandbox.token("olga", "owner", &[]);
    let mut all = LoadResult::default();
    for kill in 0..8 {
        let mut server = Serving::start(&sandbox, &["--requests-per-second", "0"]);
        all = all.and(load_until(server.address, &olga, 60 + 37 * kill, || server.kill()).0);
    }
    assert!(all.acknowledged.len() > 100, "{all:?}");
    check(&sandbox, &all);
}

/// Charges a server until it ends, and calls `end` once `asked` charges were asked for.
fn load_until<T: Send>(server: SocketAddr, token: &str, asked: u64, end: impl FnOnce() -> T + Send) -> (LoadResult, T) {
    let (servers, callers, count) = ([server], [LoadCaller { token, body: CHARGE }], AtomicU64::new(0));
    let load = ServerLoad { servers: &servers, callers: &callers, connections: 16 };
    std::thread::scope(|scope| {
        let ending = scope.spawn(|| {
            wait_until("charges are made", || count.load(Ordering::Relaxed) >= asked);
            end()
        });
        let done = load.run(&|| {
            count.fetch_add(1, Ordering::Relaxed);
            true
        });
        (done.unwrap(), ending.join().unwrap())
    })
}

#[test]
fn a_server_that_is_told_to_end_answers_what_it_accepted() {
    let sandbox = Sandbox::new();
    sandbox.done(&["account", "create", "census", "--budget", "100,1e-6"]);
    let olga = sandbox.token("olga", "owner", &[]);
    for _ in 0..3 {
        let mut server = Serving::start(&sandbox, &["--requests-per-second", "0"]);
        let (done, status) = load_until(server.address, &olga, 200, || server.signal("-TERM"));
        assert_eq!(status, Some(0));
        assert!(!done.acknowledged.is_empty());
        check_answered(&sandbox, &done);
    }
}

/// A request that reached the server was answered: none of those that got no answer is in the ledger.
fn check_answered(sandbox: &Sandbox, done: &LoadResult) {
    let found = charges(sandbox, "census");
    for key in &done.unknown {
        assert!(!found.contains_key(&format!("olga:{key}")), "{key} was charged and not answered");
    }
}

#[test]
fn events_tell_what_changed_at_most_once_a_second_and_only_what_may_be_seen() {
    let sandbox = Sandbox::with_accounts();
    let olga = sandbox.token("olga", "owner", &[]);
    let alice = sandbox.token("alice", "analyst", &["--account", "census/alice"]);
    let server = Serving::start(&sandbox, &[]);
    let mut seen = Vec::new();
    for token in [&olga, &alice] {
        // From before the first message: however late each of them is read, no more than one a second can have come.
        let started = Instant::now();
        let mut stream = server.connect(token);
        let request = format!("GET /v1/events HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {token}\r\n\r\n");
        stream.send(request.as_bytes()).unwrap();
        assert_eq!(stream.read_head().unwrap().0, 200);
        let ends = AtomicBool::new(false);
        let events = std::thread::scope(|scope| {
            scope.spawn(|| {
                let mut charging = server.connect(&olga);
                let body = r#"{"accounts":["census/alice","census/bob"],"costs":[{"epsilon":"0.00001"}]}"#;
                while !ends.load(Ordering::Relaxed) {
                    let answer = charging.request("POST", "/v1/charges", "", Some(body)).unwrap();
                    assert_eq!(answer.status, 201, "{}", answer.body);
                    std::thread::sleep(Duration::from_millis(10));
                }
            });
            let mut events: Vec<Value> = Vec::new();
            while events.len() < 4 {
                let line = stream.line().unwrap();
                events.extend(line.strip_prefix("data: ").map(|json| serde_json::from_str::<Value>(json).unwrap()));
            }
            ends.store(true, Ordering::Relaxed);
            events
        });
        // Charges come a hundred times a second; messages do not. One that was late may be close to the next.
        assert!(started.elapsed() > Duration::from_millis(1900), "four messages within {:?}", started.elapsed());
        let accounts = |event: &Value| -> HashSet<String> {
            let accounts = event["accounts"].as_array().unwrap().iter();
            accounts.map(|account| account["account"].as_str().unwrap().to_string()).collect()
        };
        seen.push(accounts(&events[0]));
        // Every charge changes all of them.
        assert!(events.iter().all(|event| accounts(event) == accounts(&events[0])), "{events:?}");
        let count = |event: &Value| event["accounts"][0]["charges"].as_u64().unwrap();
        assert!(events.is_sorted_by(|one, next| count(one) < count(next)), "{events:?}");
    }
    let names = |names: &[&str]| names.iter().map(|name| name.to_string()).collect::<HashSet<_>>();
    assert_eq!(seen, [names(&["census", "census/alice", "census/bob"]), names(&["census/alice"])]);
}

#[test]
fn no_secret_and_no_value_is_in_the_log() {
    let sandbox = Sandbox::with_accounts();
    let olga = sandbox.token("olga", "owner", &[]);
    let mut server = Serving::start(&sandbox, &["--log", "json"]);
    let mut connection = server.connect(&olga);
    let body = r#"{"accounts":["census/alice"],"costs":[{"epsilon":"0.0123"}],"note":"a secret note"}"#;
    assert_eq!(
        connection.request("POST", "/v1/charges", "idempotency-key: secret-key\r\n", Some(body)).unwrap().status,
        201
    );
    assert_eq!(connection.request("GET", "/v1/accounts/census%2Falice?secret=1", "", None).unwrap().status, 200);
    let last = if olga.ends_with('0') { '1' } else { '0' };
    let wrong = format!("{}{last}", &olga[..olga.len() - 1]);
    let mut stranger = server.connect(&wrong);
    assert_eq!(stranger.request("GET", "/v1/accounts", "", None).unwrap().status, 401);
    drop((connection, stranger));
    assert_eq!(server.signal("-TERM"), Some(0));
    let log = server.told();
    assert!(log.lines().filter(|line| line.contains("\"/v1/charges\"")).count() == 1, "{log}");
    assert!(log.contains("\"olga\""), "{log}");
    let secret = olga.rsplit('_').next().unwrap();
    for word in [secret, &secret[..16], "0.0123", "secret", "alice", &wrong] {
        assert!(!log.contains(word), "{word} is in the log:\n{log}");
    }
}

/// The last spans are sent before the server ends, which also shows that it sends them at all: the first would wait for a minute.
#[cfg(feature = "otlp")]
#[test]
fn no_secret_and_no_value_is_in_what_a_collector_gets() {
    let collector = taximeter_testing::Responder::new(|_: &_, _| Some((200, "", String::new())));
    let sandbox = Sandbox::with_accounts();
    let olga = sandbox.token("olga", "owner", &[]);
    let mut server = Serving::start(&sandbox, &["--otlp", &collector.url]);
    let body = r#"{"accounts":["census/alice"],"costs":[{"epsilon":"0.0123"}],"note":"a secret note"}"#;
    let mut connection = server.connect(&olga);
    let parent =
        "traceparent: 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01\r\nidempotency-key: secret-key\r\n";
    assert_eq!(connection.request("POST", "/v1/charges", parent, Some(body)).unwrap().status, 201);
    drop(connection);
    assert_eq!(server.signal("-TERM"), Some(0));
    let sent = collector.requests();
    let to = |path: &str| sent.iter().filter(|request| request.line == format!("POST {path}")).count();
    assert!(to("/v1/traces") == 1 && to("/v1/metrics") >= 1, "{sent:?}");
    assert!(sent.iter().any(|request| request.body.contains("POST /v1/charges")), "{sent:?}");
    let secret = olga.rsplit('_').next().unwrap();
    for word in [secret, &secret[..16], "0.0123", "secret", "alice", "olga"] {
        assert!(sent.iter().all(|request| !request.body.contains(word)), "{word} is in {sent:?}");
    }
}

#[cfg(feature = "otlp")]
#[test]
fn what_is_no_address_of_a_collector_is_refused() {
    let sandbox = Sandbox::with_accounts();
    assert!(sandbox.fails(2, &["serve", "--otlp", "127.0.0.1:4318"]).contains("http://127.0.0.1:4318"));
    let output = sandbox.command(&["serve"]).env("OTEL_EXPORTER_OTLP_ENDPOINT", "ftp://x").output().unwrap();
    assert!(String::from_utf8_lossy(&output.stderr).contains("ftp://x"), "{output:?}");
}

#[test]
fn a_server_whose_ledger_stops_for_good_ends_with_code_1_and_names_no_account() {
    let sandbox = Sandbox::with_accounts();
    let olga = sandbox.token("olga", "owner", &[]);
    let mut server = Serving::start(&sandbox, &["--log", "json"]);
    // Without its witness a ledger must not go on.
    std::fs::rename(sandbox.path("taximeter.db.witness"), sandbox.path("aside")).unwrap();
    let answer = server.connect(&olga).request("POST", "/v1/charges", "", Some(CHARGE)).unwrap();
    assert_eq!(answer.status, 503, "{}", answer.body);
    assert_eq!(server.ends(), Some(1));
    let told = server.told();
    assert!(told.contains("\"event\":\"ledger-stopped\",\"why\":\"witness\""), "{told}");
    assert!(!told.contains("census"), "{told}");
}

#[cfg(feature = "server-tests")]
mod on_postgres {
    use std::process::Command;

    use taximeter_testing::{PrivatePostgres, query};

    use super::*;

    /// Sends a signal to all processes of a PostgreSQL server.
    fn signal(signal: &str, processes: &[String]) {
        assert!(Command::new("kill").arg(signal).args(processes).status().unwrap().success());
    }

    #[test]
    fn a_server_whose_database_hangs_is_not_ready_and_is_again_when_it_goes_on() {
        let postgres = PrivatePostgres::start().unwrap();
        let mut sandbox = Sandbox::new();
        let url = postgres.new_database().unwrap();
        sandbox.ledger = Some(url.clone());
        sandbox.done(&["account", "create", "census", "--budget", "1,1e-6"]);
        let alice = sandbox.token("alice", "analyst", &["--account", "census"]);
        let mut server = Serving::start(&sandbox, &["--log", "json"]);
        server.is_ready(true);
        let directory = query(&url, "SHOW data_directory").unwrap();
        let first = std::fs::read_to_string(format!("{directory}/postmaster.pid")).unwrap();
        let others =
            query(&url, "SELECT string_agg(pid::text, ' ') FROM pg_stat_activity WHERE pid <> pg_backend_pid()");
        let others = others.unwrap();
        let processes: Vec<String> =
            first.lines().take(1).chain(others.split_whitespace()).map(str::to_string).collect();
        signal("-STOP", &processes);
        let answer = server.is_ready(false);
        assert!(answer.contains("\"busy\"") && answer.contains("does not answer"), "{answer}");
        server.tells("\"event\":\"store-lost\"");
        signal("-CONT", &processes);
        server.tells("\"event\":\"store-back\"");
        server.is_ready(true);
        let charge = || server.connect(&alice).request("POST", "/v1/charges", "", Some(CHARGE)).unwrap();
        assert_eq!(charge().status, 201);
        // One that is gone: the caller learns what to do, and nothing about the inside.
        postgres.stop_immediate().unwrap();
        let answer = charge();
        assert_eq!(answer.status, 503, "{}", answer.body);
        assert!(answer.body.contains("\"busy\"") && answer.body.contains("nothing was charged"), "{}", answer.body);
        for word in ["PostgreSQL", "os error", "127.0.0.1"] {
            assert!(!answer.body.contains(word), "{}", answer.body);
        }
        postgres.start_again().unwrap();
        server.is_ready(true);
        assert_eq!(server.signal("-TERM"), Some(0));
    }

    #[cfg(unix)]
    #[test]
    fn a_witness_in_the_state_folder_is_for_its_owner_alone() {
        use std::os::unix::fs::MetadataExt;
        let mut sandbox = Sandbox::new();
        sandbox.ledger = Some(PrivatePostgres::shared().new_database().unwrap());
        sandbox.done(&["account", "create", "census", "--budget", "1,1e-6"]);
        let mode = |path: &std::path::Path| path.metadata().unwrap().mode() & 0o777;
        let folder = sandbox.path("taximeter");
        assert_eq!(mode(&folder), 0o700);
        let files: Vec<_> = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
        assert!(files.iter().any(|path| path.extension().is_some_and(|end| end == "witness")), "{files:?}");
        assert!(files.iter().all(|path| mode(path) == 0o600), "{files:?}");
    }

    /// Once the owner was told of it only at a start when no other server had the folder.
    #[test]
    fn a_question_whose_server_is_killed_is_in_the_owners_log_and_two_servers_say_the_same_of_it() {
        let postgres = PrivatePostgres::shared();
        let (mut sandbox, data) = (Sandbox::new(), postgres.new_database().unwrap());
        sandbox.ledger = Some(postgres.new_database().unwrap());
        query(&data, "CREATE TABLE people AS SELECT 40 AS age").unwrap();
        sandbox.done(&[
            "dataset",
            "add",
            "people",
            "--postgres",
            &data,
            "--table",
            "people",
            "--unit",
            "row",
            "--budget",
            "1,1e-6",
        ]);
        let olga = sandbox.token("olga", "owner", &[]);
        let [mut one, other] = [Serving::start(&sandbox, &[]), Serving::start(&sandbox, &[])];
        let question = r#"{"dataset":"people","question":"SELECT COUNT(*) FROM people","price":{"epsilon":"0.1"}}"#;
        let ask = |server: &Serving| {
            server.connect(&olga).request("POST", "/v1/questions", "idempotency-key: k\r\n", Some(question))
        };
        let charges = || {
            let answer = other.connect(&olga).request("GET", "/v1/accounts/people", "", None).unwrap();
            serde_json::from_str::<Value>(&answer.body).unwrap()["charges"].as_u64()
        };
        std::thread::scope(|scope| {
            // A change of the table holds the question after its charge.
            let locker = scope.spawn(|| query(&data, "BEGIN; LOCK TABLE people; SELECT pg_sleep(3600)"));
            let holder = "FROM pg_locks WHERE mode = 'AccessExclusiveLock' AND relation = 'people'::regclass";
            wait_until("the table is locked", || query(&data, &format!("SELECT count(*) {holder}")).unwrap() == "1");
            let mut connection = one.connect(&olga);
            let asking = scope
                .spawn(move || connection.request("POST", "/v1/questions", "idempotency-key: k\r\n", Some(question)));
            wait_until("it is charged", || charges() == Some(1));
            one.kill();
            assert!(asking.join().unwrap().is_err());
            query(&data, &format!("SELECT pg_terminate_backend(pid) {holder}")).unwrap();
            assert!(locker.join().unwrap().is_err());
        });
        let log = || sandbox.document(0, &["dataset", "log"]).as_array().unwrap().len();
        let again = Serving::start(&sandbox, &[]);
        assert_eq!(log(), 1, "although another server has the folder");
        let [one, other] = [ask(&again).unwrap(), ask(&other).unwrap()];
        assert_eq!((one.status, other.status), (424, 424), "{} {}", one.body, other.body);
        assert_eq!(one.body, other.body);
        assert_eq!((charges(), log()), (Some(1), 1));
    }

    #[test]
    fn two_servers_share_a_budget_and_neither_loses_nor_doubles_a_charge() {
        let mut sandbox = Sandbox::new();
        sandbox.ledger = Some(PrivatePostgres::shared().new_database().unwrap());
        // Room for a thousand charges, and more are asked for.
        sandbox.done(&["account", "create", "census", "--budget", "0.1", "--rule", "basic", "--odometer", "basic"]);
        let olga = sandbox.token("olga", "owner", &[]);
        let one = Serving::start(&sandbox, &["--requests-per-second", "0"]);
        let other = Serving::start(&sandbox, &["--requests-per-second", "0"]);
        let servers = [one.address, other.address];
        let (callers, asked) = ([LoadCaller { token: &olga, body: CHARGE }], AtomicU64::new(0));
        let load = ServerLoad { servers: &servers, callers: &callers, connections: 16 };
        let done = load.run(&|| asked.fetch_add(1, Ordering::Relaxed) < 1500).unwrap();
        assert!(done.unknown.is_empty(), "{done:?}");
        assert_eq!(done.acknowledged.len(), 1000, "{done:?}");
        assert_eq!(done.refused, 500, "{done:?}");
        // Each server reads what the other one wrote: no reading is below the truth.
        for server in [&one, &other] {
            let answer = server.connect(&olga).request("GET", "/v1/accounts/census", "", None).unwrap();
            let account: Value = serde_json::from_str(&answer.body).unwrap();
            assert_eq!(account["charges"], 1000, "{account}");
        }
        drop((one, other));
        check(&sandbox, &done);
    }

    #[test]
    fn a_token_that_is_revoked_at_one_server_is_refused_by_the_other() {
        let mut sandbox = Sandbox::new();
        sandbox.ledger = Some(PrivatePostgres::shared().new_database().unwrap());
        sandbox.done(&["account", "create", "census", "--budget", "1,1e-6"]);
        let olga = sandbox.token("olga", "owner", &[]);
        let [one, other] = [Serving::start(&sandbox, &[]), Serving::start(&sandbox, &[])];
        let new = r#"{"principal":"alice","role":"analyst","accounts":["census"]}"#;
        let made = one.connect(&olga).request("POST", "/v1/tokens", "", Some(new)).unwrap();
        assert_eq!(made.status, 201, "{}", made.body);
        let made: Value = serde_json::from_str(&made.body).unwrap();
        let (alice, id) = (made["secret"].as_str().unwrap(), made["token"]["id"].as_str().unwrap());
        other.becomes(alice, 200);
        let revoked = one.connect(&olga).request("POST", &format!("/v1/tokens/{id}/revoke"), "", None).unwrap();
        assert_eq!(revoked.status, 200, "{}", revoked.body);
        assert_eq!(one.status(alice), 401);
        other.becomes(alice, 401);
    }
}
