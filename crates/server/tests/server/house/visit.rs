//! Somebody who looks at pages: a browser without a script, with cookies and forms.

use std::collections::BTreeSet;

use axum::body::Body;
use axum::http::{Request, header};

use super::{House, Reply};

/// A browser that has been to the server, with what it was given there.
#[derive(Clone)]
pub struct Visit<'a> {
    house: &'a House,
    /// The cookies that it keeps, by name.
    pub cookies: Vec<(String, String)>,
    /// The form key of the last page that had one.
    pub form_key: String,
}

impl House {
    /// A browser that has not been here.
    pub fn visit(&self) -> Visit<'_> {
        Visit { house: self, cookies: Vec::new(), form_key: String::new() }
    }

    /// A browser in which somebody has signed in.
    pub async fn sign_in(&self, who: &str) -> Visit<'_> {
        let mut visit = self.visit();
        visit.sign_in(self.secret(who)).await.expect(303);
        visit
    }
}

impl Visit<'_> {
    /// Opens the page to sign in, and sends a token.
    pub async fn sign_in(&mut self, secret: &str) -> Reply {
        self.get("/sign-in").await.expect(200);
        self.post("/sign-in", &[("token", secret)]).await
    }

    /// A page.
    pub async fn get(&mut self, path: &str) -> Reply {
        self.send("GET", path, &[], Body::empty()).await
    }

    /// A form, with the form key of the last page that had one. Where it leads to is not followed.
    pub async fn post(&mut self, path: &str, fields: &[(&str, &str)]) -> Reply {
        let mut body = form_urlencoded::Serializer::new(String::new());
        body.append_pair("form_key", &self.form_key).extend_pairs(fields);
        self.post_bare(path, &body.finish()).await
    }

    /// A form as it is written, and nothing more.
    pub async fn post_bare(&mut self, path: &str, body: &str) -> Reply {
        let kind = [("Content-Type", "application/x-www-form-urlencoded")];
        self.send("POST", path, &kind, Body::from(body.to_string())).await
    }

    /// A form with a file at its end, or without one if it is empty, with the form key of the last page that had one.
    pub async fn post_file(&mut self, path: &str, fields: &[(&str, &str)], file: &str) -> Reply {
        let key = self.form_key.clone();
        let fields: Vec<(&str, &str)> =
            [("form_key", key.as_str())].into_iter().chain(fields.iter().copied()).collect();
        self.send("POST", path, &[("Content-Type", MULTIPART)], Body::from(with_file(&fields, file))).await
    }

    /// Every page that others lead to, from these on.
    pub async fn crawl(&mut self, from: &[&str]) -> Vec<(String, Reply)> {
        let mut waiting: Vec<String> = from.iter().map(|path| path.to_string()).collect();
        let mut known: BTreeSet<String> = waiting.iter().cloned().collect();
        let mut found = Vec::new();
        while let Some(path) = waiting.pop() {
            let reply = self.get(&path).await;
            for link in reply.text().split(" href=\"").skip(1) {
                let link = link.split('"').next().unwrap().replace("&amp;", "&");
                let is_page = link.starts_with('/') && !link.starts_with("/assets/");
                if is_page && known.len() < 300 && known.insert(link.clone()) {
                    waiting.push(link);
                }
            }
            found.push((path, reply));
        }
        found
    }

    /// Where a reply leads to.
    pub async fn follow(&mut self, reply: Reply) -> Reply {
        let to = reply.expect(303).header("location").to_string();
        self.get(&to).await
    }

    /// Any request, with the cookies.
    pub async fn send(&mut self, method: &str, path: &str, headers: &[(&str, &str)], body: Body) -> Reply {
        let mut request = Request::builder().method(method).uri(path).header(header::HOST, "taximeter.test");
        if !self.cookies.is_empty() {
            let cookies: Vec<String> = self.cookies.iter().map(|(name, value)| format!("{name}={value}")).collect();
            request = request.header(header::COOKIE, cookies.join("; "));
        }
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let reply = self.house.raw(request.body(body).unwrap()).await;
        self.keep(&reply);
        reply
    }

    /// The value of a cookie, if there is one.
    pub fn cookie(&self, name: &str) -> Option<&str> {
        self.cookies.iter().find(|(other, _)| other == name).map(|(_, value)| value.as_str())
    }

    fn keep(&mut self, reply: &Reply) {
        for line in reply.headers.get_all(header::SET_COOKIE) {
            let line = line.to_str().unwrap();
            let (name, value) = line.split(';').next().unwrap().split_once('=').unwrap();
            self.cookies.retain(|(other, _)| other != name);
            if !line.contains("Max-Age=0") {
                self.cookies.push((name.to_string(), value.to_string()));
            }
        }
        if let Some(key) = reply.hidden("form_key") {
            self.form_key = key;
        }
    }
}

/// The type of a form with a file in it.
pub const MULTIPART: &str = "multipart/form-data; boundary=edge";

/// The body of a form with a file in it, as a browser writes it.
pub fn with_file(fields: &[(&str, &str)], file: &str) -> String {
    let mut body = String::new();
    for (name, value) in fields {
        body += &format!("--edge\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\n{value}\r\n");
    }
    let chosen = if file.is_empty() { "" } else { "data.csv" };
    body += &format!("--edge\r\nContent-Disposition: form-data; name=\"file\"; filename=\"{chosen}\"\r\n");
    body + &format!("Content-Type: text/csv\r\n\r\n{file}\r\n--edge--\r\n")
}

impl Reply {
    /// Whether it is a page.
    pub fn is_page(&self) -> bool {
        self.header("content-type") == "text/html; charset=utf-8"
    }

    /// The value of the first hidden field of that name in a page.
    pub fn hidden(&self, name: &str) -> Option<String> {
        let page = self.is_page().then(|| self.text())?;
        let (_, rest) = page.split_once(&format!("<input type=\"hidden\" name=\"{name}\" value=\""))?;
        Some(rest.split('"').next()?.to_string())
    }
}
