//! The pages of quotes, charges, questions and answers.

mod answers;
mod ask;
mod cost;
mod plan;

use std::time::Duration;

use crate::fixture::{Reply, TestServer, name};
use axum::body::Body;
use axum::http::{Request, header};
use serde_json::json;
use taximeter_service::Settings;

/// A signed-in user, in a browser without a script.
struct Visit<'a> {
    server: &'a TestServer,
    cookie: String,
    form_key: String,
    /// Whether requests come from a page's script.
    has_script: bool,
}

impl<'a> Visit<'a> {
    async fn new(server: &'a TestServer, secret: &str) -> Visit<'a> {
        let mut visit = Visit { server, cookie: String::new(), form_key: String::new(), has_script: false };
        visit.get("/sign-in", 200).await;
        visit.post("/sign-in", &[("token", secret)], 303).await;
        visit.get("/cost", 200).await;
        visit
    }

    async fn get(&mut self, path: &str, status: u16) -> Page {
        self.send("GET", path, String::new(), status).await
    }

    async fn post(&mut self, path: &str, fields: &[(&str, &str)], status: u16) -> Page {
        let mut body = form_urlencoded::Serializer::new(String::new());
        body.append_pair("form_key", &self.form_key).extend_pairs(fields);
        self.send("POST", path, body.finish(), status).await
    }

    async fn send(&mut self, method: &str, path: &str, body: String, status: u16) -> Page {
        let mut request = Request::builder();
        if self.has_script {
            request = request.header("taximeter-script", "1");
        }
        let request = request
            .method(method)
            .uri(path)
            .header(header::COOKIE, &self.cookie)
            .header(header::CONTENT_TYPE, "application/x-www-form-urlencoded")
            .body(Body::from(body))
            .unwrap();
        let page = Page(self.server.raw(request).await);
        assert_eq!(page.0.status, status, "{method} {path}: {}", page.text());
        if let Some(cookie) = page.0.headers.get(header::SET_COOKIE) {
            self.cookie = cookie.to_str().unwrap().split(';').next().unwrap().to_string();
        }
        if let Some(key) = page.hidden("form_key") {
            self.form_key = key;
        }
        page
    }
}

struct Page(Reply);

impl Page {
    fn text(&self) -> String {
        self.0.text()
    }

    /// The text of an element without tags, with single spaces.
    fn read(&self, id: &str) -> String {
        let page = self.text();
        let (_, rest) = page.split_once(&format!("id=\"{id}\"")).unwrap_or_else(|| panic!("no #{id} in {page}"));
        // Up to the end of its panel.
        let part = rest.split_once('>').unwrap().1.split("</section>").next().unwrap();
        let texts = part.split('<').map(|piece| piece.split_once('>').map_or(piece, |(_, text)| text));
        texts.collect::<Vec<_>>().join(" ").split_whitespace().collect::<Vec<_>>().join(" ")
    }

    /// The value of a hidden field.
    fn hidden(&self, field: &str) -> Option<String> {
        let page = self.text();
        let (_, rest) = page.split_once(&format!("<input type=\"hidden\" name=\"{field}\" value=\""))?;
        Some(rest.split('"').next()?.to_string())
    }

    /// The target of the link with an id.
    fn link(&self, id: &str) -> String {
        let page = self.text();
        let (_, rest) =
            page.split_once(&format!("id=\"{id}\" href=\"")).unwrap_or_else(|| panic!("no #{id} in {page}"));
        rest.split('"').next().unwrap().replace("&amp;", "&")
    }

    #[track_caller]
    fn has(&self, parts: &[&str]) -> &Page {
        for part in parts {
            assert!(self.text().contains(part), "{part:?} is not in {}", self.text());
        }
        self
    }

    #[track_caller]
    fn lacks(&self, parts: &[&str]) -> &Page {
        for part in parts {
            assert!(!self.text().contains(part), "{part:?} is in {}", self.text());
        }
        self
    }
}

async fn sign_in<'a>(server: &'a TestServer, who: &str) -> Visit<'a> {
    Visit::new(server, server.secret(who)).await
}

fn charges(server: &TestServer, account: &str) -> u64 {
    server.ledger.account(&name(account)).unwrap().charges()
}

/// The form of `/cost` for a charge of `epsilon` on an account.
fn cost<'a>(account: &'a str, epsilon: &'a str, key: &'a str) -> Vec<(&'a str, &'a str)> {
    vec![("account", account), ("kind", "epsilon"), ("epsilon", epsilon), ("times", "1"), ("key", key)]
}

/// The form of `/ask` about the census, paid by alice's account.
fn question<'a>(sql: &'a str, epsilon: &'a str, key: &'a str) -> Vec<(&'a str, &'a str)> {
    let account = ("account", "census/alice");
    vec![("dataset", "census"), account, ("question", sql), ("offer", "epsilon"), ("amount", epsilon), ("key", key)]
}

const COUNT: &str = "SELECT region, COUNT(*) FROM census GROUP BY region";

fn records(server: &TestServer) -> rusqlite::Connection {
    rusqlite::Connection::open(server.folder.path().join("gate").join("gate.db")).unwrap()
}
