//! The pages on which one learns what something would cost, charges it, asks, and looks at answers.

use std::time::Duration;

use crate::house::{House, Reply, name};
use axum::body::Body;
use axum::http::{Request, header};
use serde_json::json;
use taximeter_service::Settings;

/// Somebody who is signed in, in a browser without a script.
struct Visit<'a> {
    house: &'a House,
    cookie: String,
    form_key: String,
    /// Whether it is the script of a page that asks.
    has_script: bool,
}

impl<'a> Visit<'a> {
    async fn new(house: &'a House, secret: &str) -> Visit<'a> {
        let mut visit = Visit { house, cookie: String::new(), form_key: String::new(), has_script: false };
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
        let page = Page(self.house.raw(request).await);
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

    /// What people read in an element: its text without tags, with single spaces.
    fn read(&self, id: &str) -> String {
        let page = self.text();
        let (_, rest) = page.split_once(&format!("id=\"{id}\"")).unwrap_or_else(|| panic!("no #{id} in {page}"));
        // To the end of the panel that it is in.
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

    /// Where an element with an id leads to.
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

async fn sign_in<'a>(house: &'a House, who: &str) -> Visit<'a> {
    Visit::new(house, house.secret(who)).await
}

fn charges(house: &House, account: &str) -> u64 {
    house.ledger.account(&name(account)).unwrap().charges()
}

/// A form of `/cost` for so much ε on an account.
fn cost<'a>(account: &'a str, epsilon: &'a str, key: &'a str) -> Vec<(&'a str, &'a str)> {
    vec![("account", account), ("kind", "epsilon"), ("epsilon", epsilon), ("times", "1"), ("key", key)]
}

/// A form of `/ask` about the census, paid by alice's account.
fn question<'a>(sql: &'a str, epsilon: &'a str, key: &'a str) -> Vec<(&'a str, &'a str)> {
    let account = ("account", "census/alice");
    vec![("dataset", "census"), account, ("question", sql), ("offer", "epsilon"), ("amount", epsilon), ("key", key)]
}

const COUNT: &str = "SELECT region, COUNT(*) FROM census GROUP BY region";

#[tokio::test(flavor = "multi_thread")]
async fn a_cost_is_quoted_on_the_accounts_that_may_be_seen_and_charges_nothing() {
    let house = House::new();
    let path = "/cost?account=census/alice&kind=epsilon&epsilon=0.5";
    let owner = sign_in(&house, "owner").await.get(path, 200).await;
    let read = owner.read("quote");
    let (above, below) = (read.find("census takes it").unwrap(), read.find("census/alice takes it").unwrap());
    assert!(above < below, "from the root down: {read}");
    for part in
        ["It fits.", "ε = 0.5 would be charged", "fits 5 times", "100% → 80% left", "100% → 90% left", "0 → 0.5"]
    {
        assert!(read.contains(part), "{part}: {read}");
    }
    owner.has(&["Charge it", "data-preview=\"/cost/quote\""]);
    let alice = sign_in(&house, "alice").await.get(path, 200).await;
    let read = alice.read("quote");
    assert!(read.contains("fits 10 times") && read.contains("one of them may still refuse"), "{read}");
    assert!(!read.contains("census takes it") && !read.contains("80%"), "{read}");
    // The form is the same with a POST.
    let mut visit = sign_in(&house, "alice").await;
    let posted = visit.post("/cost/quote", &cost("census/alice", "0.5", "k"), 200).await;
    assert_eq!(posted.read("quote"), read);
    assert_eq!(charges(&house, "census"), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_quoted_says_why_beside_the_form_and_nothing_is_lost() {
    let house = House::new();
    let mut visit = sign_in(&house, "owner").await;
    let form = |field: &'static str, value: &'static str| {
        let mut form = cost("census/alice", "0.25", "k");
        form.retain(|(name, _)| *name != field);
        form.extend([(field, value), ("note", "of households")]);
        form
    };
    for (field, value, status, why) in [
        ("epsilon", "a lot", 400, "a lot"),
        ("epsilon", "-1", 400, "minus sign"),
        ("times", "65", 400, "from 1 to 64"),
        ("times", "no", 400, "from 1 to 64"),
        ("account", "no/where", 404, "no/where"),
        ("others", "census/!", 400, "census/!"),
        ("note", "two\nlines", 400, "control character"),
    ] {
        let page = visit.post("/cost/quote", &form(field, value), status).await;
        let read = page.read("quote");
        assert!(read.contains(why), "{field} = {value}: {read}");
        page.has(&[value]);
        if field != "note" {
            page.has(&["value=\"of households\""]);
        }
    }
    // Nothing yet is no mistake.
    let page = visit.post("/cost/quote", &form("epsilon", ""), 200).await;
    assert!(page.read("quote").contains("Enter a cost"));
    // To charge it is not possible either, and keeps what was filled in.
    let page = visit.post("/cost", &form("epsilon", "a lot"), 400).await;
    page.has(&["role=\"alert\"", "value=\"a lot\"", "value=\"of households\""]);
    // An account that there is not, and one of others, in the same words for an analyst.
    let mut bob = sign_in(&house, "bob").await;
    let [other, none] = ["census/alice", "census/nobody"];
    let page = bob.get(&format!("/cost?account={other}&epsilon=1"), 403).await.read("quote");
    assert_eq!(bob.get(&format!("/cost?account={none}&epsilon=1"), 403).await.read("quote"), page.replace(other, none));
    assert_eq!(charges(&house, "census"), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cost_that_does_not_fit_says_who_refuses_and_fills_in_what_does() {
    let house = House::new();
    let mut visit = sign_in(&house, "owner").await;
    let page = visit.get("/cost?account=census/alice&kind=epsilon&epsilon=3&note=mine", 200).await;
    let read = page.read("quote");
    for part in ["It does not fit.", "ε = 2.5", "census refuses it", "census/alice takes it", "Fill it in"] {
        assert!(read.contains(part), "{part}: {read}");
    }
    let filled = visit.get(&page.link("fill-in"), 200).await;
    assert!(filled.read("quote").contains("It fits. ε = 2.5 would be charged"), "{}", filled.read("quote"));
    filled.has(&["value=\"mine\"", "value=\"2.5\""]);
}

#[tokio::test(flavor = "multi_thread")]
async fn charging_goes_on_until_it_is_refused() {
    let house = House::new();
    let mut visit = sign_in(&house, "alice").await;
    for round in 1..=2u64 {
        let key = visit.get("/cost", 200).await.hidden("key").unwrap();
        // Sent twice, it is charged once.
        for notice in ["Charged ε = 1 to census/alice: record", "nothing was charged again"] {
            let page = visit.post("/cost", &cost("census/alice", "1", &key), 303).await;
            assert_eq!(page.0.header("location"), "/accounts/census%2Falice");
            visit.get("/cost", 200).await.has(&[notice]);
        }
        assert_eq!(charges(&house, "census"), round);
    }
    // Another form with the key of one that was sent.
    let key = visit.get("/cost", 200).await.hidden("key").unwrap();
    visit.post("/cost", &cost("census/alice", "0.1", &key), 303).await;
    let page = visit.post("/cost", &cost("census/alice", "0.2", &key), 422).await;
    page.has(&["sent before with something else in it"]);
    assert_ne!(page.hidden("key").unwrap(), key);
    // Alice has enough left; of what is above she learns that it refuses, and not what it has.
    let page = visit.post("/cost", &cost("census/alice", "1", "another"), 409).await;
    let read = page.read("quote");
    assert!(read.contains("It was refused.") && read.contains("an account above does not take it"), "{read}");
    page.has(&["value=\"1\"", "role=\"alert\""]).lacks(&["0.4"]);
    // The owner is told which and why, and what fits.
    let mut owner = sign_in(&house, "owner").await;
    let page = owner.post("/cost", &cost("census/alice", "1", "mine"), 409).await;
    assert!(page.read("quote").contains("The largest that fits: ε = 0.4 "), "{}", page.read("quote"));
    owner.get(&page.link("fill-in"), 200).await.has(&["value=\"0.4\""]);
    assert_eq!(charges(&house, "census"), 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn several_costs_on_several_accounts_are_all_charged_or_none() {
    let house = House::new();
    let mut visit = sign_in(&house, "two").await;
    let form = |times: &'static str, key: &'static str| {
        let mut form = cost("census/alice", "0.5", key);
        form.retain(|(name, _)| *name != "times");
        form.extend([("others", "census/bob"), ("times", times), ("note", "both")]);
        form
    };
    visit.post("/cost", &form("7", "too-much"), 409).await.has(&["census/bob"]);
    assert_eq!(charges(&house, "census"), 0);
    visit.post("/cost", &form("2", "fits"), 303).await;
    visit.get("/cost", 200).await.has(&["Charged 2 × (ε = 0.5) to census/alice, census/bob: record"]);
    assert_eq!([charges(&house, "census/alice"), charges(&house, "census/bob")], [1, 1]);
}

#[tokio::test(flavor = "multi_thread")]
async fn auditors_quote_and_neither_charge_nor_ask() {
    let house = House::new();
    let mut visit = sign_in(&house, "auditor").await;
    let page = visit.get("/cost?account=census/alice&epsilon=0.5", 200).await;
    assert!(page.read("quote").contains("It fits."));
    page.lacks(&["Charge it", "href=\"/ask\""]);
    visit.post("/cost", &cost("census/alice", "0.5", "k"), 403).await;
    visit.get("/ask", 403).await.lacks(&["<textarea"]);
    visit.post("/ask", &question(COUNT, "0.1", "k"), 403).await;
    visit.post("/ask/explain", &question(COUNT, "0.1", "k"), 403).await;
    visit.get("/answers/k", 403).await;
    assert_eq!(charges(&house, "census"), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_question_is_explained_with_its_noise_and_the_meter() {
    let house = House::new();
    let mut visit = sign_in(&house, "alice").await;
    let page = visit.get("/ask", 200).await;
    // The schema, an example that fits it, and what would come of that.
    let schema = page.read("schema-heading");
    for part in ["one row, there or not", "age integer", "from 0 to 120, in steps of 1", "'north' , 'south'"] {
        assert!(schema.contains(part), "{part}: {schema}");
    }
    page.has(&[">SELECT region, COUNT(*)\nFROM census\nGROUP BY region</textarea>"]).lacks(&["wages"]);
    let read = page.read("explanation");
    for part in
        ["COUNT(*)", "ε = 0.1", "number of rows", "discrete laplace", "100% → 98% left", "census/alice takes it"]
    {
        assert!(read.contains(part), "{part}: {read}");
    }
    // What it costs to be within so much.
    let error = [("dataset", "census"), ("question", COUNT), ("offer", "error"), ("amount", "100")];
    let read = visit.post("/ask/explain", &error, 200).await.read("explanation");
    assert!(read.contains("100 discrete laplace") && read.contains("It would cost ε = 0.0"), "{read}");
    for (sql, amount, status, parts) in [
        ("SELECT x FROM census", "0.1", 400, ["at character 8", "SELECT x FROM"]),
        ("", "0.1", 400, ["the question is empty", "is empty"]),
        (COUNT, "much", 400, ["much", "much"]),
        (COUNT, "9", 200, ["It does not fit.", "ε = 5"]),
    ] {
        let page = visit.post("/ask/explain", &question(sql, amount, "k"), status).await;
        let read = page.read("explanation");
        assert!(parts.iter().all(|part| read.contains(part)), "{sql}, {amount}: {read}");
        page.has(&[amount]);
    }
    // Other datasets and accounts are not hers.
    visit.get("/ask?dataset=wages", 403).await;
    let mut other = question(COUNT, "0.1", "k");
    other[1] = ("account", "census");
    visit.post("/ask/explain", &other, 403).await;
    assert_eq!(charges(&house, "census"), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_question_is_answered_once_and_its_answer_is_its_askers_alone() {
    let house = House::new();
    let mut alice = sign_in(&house, "alice").await;
    let key = alice.get("/ask", 200).await.hidden("key").unwrap();
    let path = format!("/answers/{key}");
    for notice in ["Charged and answered.", "nothing was charged again"] {
        let page = alice.post("/ask", &question(COUNT, "0.5", &key), 303).await;
        assert_eq!(page.0.header("location"), path);
        alice.get(&path, 200).await.has(&[notice]);
    }
    assert_eq!(charges(&house, "census"), 1);
    // Byte for byte what the API gives again, and without the accounts above.
    let replayed = house.ask("alice", COUNT, "0.5", &key, json!({})).await.expect(200);
    let download = alice.get(&format!("{path}/answer.json"), 200).await;
    assert_eq!(download.0.bytes, replayed.bytes);
    assert!(download.0.header("content-disposition").starts_with("attachment"));
    let (document, page) = (replayed.json(), alice.get(&path, 200).await);
    let read = page.read("numbers-heading");
    let shown = |number: &serde_json::Value| number.to_string();
    for row in document["rows"].as_array().unwrap() {
        let [value, low, high] = [&row[1]["value"], &row[1]["interval"][0], &row[1]["interval"][1]].map(shown);
        let half_width = shown(&document["columns"][1]["parts"][0]["half_width"]);
        let line = format!("{} {value} {low} {high} ± {half_width}", row[0].as_str().unwrap());
        assert!(read.contains(&line), "{line}: {read}");
    }
    page.has(&["<rect class=\"bar\"", "<line class=\"error\"", "ε = 0.5", "aria-valuetext=\"90% left\""]);
    page.lacks(&["left of census\"", "80%"]);
    // To others it is as if there were none.
    for who in ["bob", "above", "two", "owner"] {
        let mut visit = sign_in(&house, who).await;
        let [hidden, none] = [&path, "/answers/nothing"].map(str::to_string);
        let hidden = visit.get(&hidden, 404).await.read("notice");
        assert_eq!(hidden, visit.get(&none, 404).await.read("notice"), "{who}");
        assert!(hidden.contains("you have no answer under this key"), "{hidden}");
        visit.get(&format!("{path}/answer.json"), 404).await;
        visit.get("/ask", 200).await.lacks(&[&key]);
    }
    alice.get("/ask", 200).await.has(&[&format!("href=\"{path}\"")]);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_average_that_is_not_known_is_shown_with_its_sum_and_count() {
    let house = House::new();
    let mut visit = sign_in(&house, "owner").await;
    for (sql, notice) in [
        ("SELECT AVG(age) FROM census", "This average is not known, because there may be no rows."),
        (
            "SELECT region, AVG(age) FROM census GROUP BY region",
            "Some averages are not known, because there may be no rows",
        ),
    ] {
        // The noise on the count is a thousand times the count.
        let fields = [("dataset", "census"), ("question", sql), ("offer", "epsilon"), ("amount", "0.001")];
        let explained = visit.post("/ask/explain", &fields, 200).await.read("explanation");
        assert!(explained.contains("Warning: AVG(age) needs at least"), "{explained}");
        assert!(explained.contains("Its groups have about"), "{explained}");
        let key = visit.get("/ask?dataset=census", 200).await.hidden("key").unwrap();
        visit.post("/ask", &[&fields[..], &[("key", &key)]].concat(), 303).await;
        let path = format!("/answers/{key}");
        let document: serde_json::Value =
            serde_json::from_slice(&visit.get(&format!("{path}/answer.json"), 200).await.0.bytes).unwrap();
        let page = visit.get(&path, 200).await;
        let read = page.read("numbers-heading");
        assert!(read.contains(notice) && !read.contains("too few rows"), "{read}");
        let row = document["rows"][0].as_array().unwrap();
        let average = row.last().unwrap();
        assert!(average["value"].is_null(), "{average}");
        let plain = read.replace(',', "");
        for part in ["sum", "count"] {
            let [value, low, high] =
                [&average[part]["value"], &average[part]["interval"][0], &average[part]["interval"][1]];
            assert!(plain.contains(&format!("{value} {low} {high}")), "{value} {low} {high}: {read}");
        }
    }
    // With more the groups are no longer known to have too few rows.
    let sql = "SELECT AVG(age) FROM census";
    let mut alice = sign_in(&house, "alice").await;
    let explained = alice.post("/ask/explain", &question(sql, "0.1", "k"), 200).await.read("explanation");
    assert!(explained.contains("AVG(age) needs at least") && !explained.contains("Warning"), "{explained}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_may_be_looked_at_as_long_as_it_may_be_asked_for() {
    let house = House::new();
    house.ask("alice", COUNT, "0.1", "k", json!({})).await.expect(201);
    sign_in(&house, "alice").await.get("/answers/k", 200).await;
    let token = r#"{"principal":"alice","role":"analyst","accounts":["census/bob"],"datasets":["census"]}"#;
    let other = house.send("owner", "POST", "/v1/tokens", token).await.expect(201).json();
    let mut visit = Visit::new(&house, other["secret"].as_str().unwrap()).await;
    visit.get("/answers/k", 404).await;
    visit.get("/ask", 200).await.lacks(&["/answers/k"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_earlier_answer_is_given_again_at_no_cost() {
    let house = House::new();
    let mut visit = sign_in(&house, "alice").await;
    visit.post("/ask", &question(COUNT, "0.5", "first"), 303).await;
    let mut again = question(COUNT, "0.5", "second");
    again.push(("reuse", "1"));
    let page = visit.post("/ask", &again, 303).await;
    assert_eq!(page.0.header("location"), "/answers/first");
    visit.get("/answers/first", 200).await.has(&["your earlier answer to the same question"]);
    visit.get("/answers/second", 404).await;
    assert_eq!(charges(&house, "census"), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_question_that_is_refused_or_wrong_keeps_its_form() {
    let house = House::new();
    let mut visit = sign_in(&house, "alice").await;
    let page = visit.post("/ask", &question(COUNT, "9", "k"), 409).await;
    let read = page.read("explanation");
    assert!(read.contains("It was refused.") && read.contains("census/alice"), "{read}");
    page.has(&[&format!(">{COUNT}</textarea>"), "value=\"9\"", "role=\"alert\""]);
    let page = visit.post("/ask", &question("SELECT median(age) FROM census", "0.1", "k"), 400).await;
    page.has(&[">SELECT median(age) FROM census</textarea>", "<mark>", "role=\"alert\""]);
    assert_eq!(charges(&house, "census"), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_charged_question_without_an_answer_is_told_as_such() {
    let house = House::new();
    let mut visit = sign_in(&house, "alice").await;
    visit.post("/ask", &question(COUNT, "0.5", "lost"), 303).await;
    records(&house).execute("UPDATE answers SET document = NULL", []).unwrap();
    visit.get("/answers/lost", 424).await.has(&["Charged, but there is no answer", "(record "]);
    visit.get("/ask", 200).await.has(&["charged, no answer", "GROUP BY"]).lacks(&["/answers/lost"]);
    // Asked again, it is not charged again, and the form keeps its key.
    let page = visit.post("/ask", &question(COUNT, "0.5", "lost"), 424).await;
    assert_eq!(page.hidden("key").unwrap(), "lost");
    assert_eq!(charges(&house, "census"), 1);
}

fn records(house: &House) -> rusqlite::Connection {
    rusqlite::Connection::open(house.folder.path().join("gate").join("gate.db")).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_is_stored_and_not_released_is_not_shown() {
    let tick = Some(Duration::from_secs(3600));
    let house = House::with(Settings { tick, ..Settings::default() });
    let mut visit = sign_in(&house, "alice").await;
    let asking = house.ask("alice", COUNT, "0.5", "k", json!({}));
    let looking = async {
        let count = || records(&house).query_row("SELECT count(*) FROM answers", [], |row| row.get::<_, i64>(0));
        while count().unwrap() == 0 {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        visit.get("/answers/k", 404).await;
        visit.get("/ask", 200).await.lacks(&["/answers/k"]);
        // After the next tick it would be.
        records(&house).execute("UPDATE answers SET time = '2020-01-01T00:00:00Z'", []).unwrap();
        visit.get("/answers/k", 200).await;
        visit.get("/ask", 200).await.has(&["/answers/k"]);
    };
    tokio::select! {
        reply = asking => panic!("the answer was not held back: {}", reply.text()),
        () = looking => {}
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn earlier_answers_come_in_parts() {
    let house = House::new();
    for at in 10..35 {
        house.ask("alice", COUNT, "0.001", &format!("a b/{at}"), json!({})).await.expect(201);
    }
    house.ask("two", COUNT, "0.001", "other", json!({ "account": "census/alice" })).await.expect(201);
    let mut visit = sign_in(&house, "alice").await;
    let mut found = Vec::new();
    let mut path = "/ask".to_string();
    for shown in [20, 5] {
        let page = visit.get(path.split('#').next().unwrap(), 200).await;
        let text = page.text();
        let links: Vec<String> =
            text.split("href=\"/answers/").skip(1).map(|rest| rest.split('"').next().unwrap().to_string()).collect();
        assert_eq!(links.len(), shown, "{path}");
        found.extend(links);
        path = if text.contains("id=\"more\"") { page.link("more") } else { String::new() };
    }
    assert_eq!(path, "", "there is nothing behind the last part");
    let expected: Vec<String> = (10..35).rev().map(|at| format!("a%20b%2F{at}")).collect();
    assert_eq!(found, expected);
    visit.get(&format!("/answers/{}", found[0]), 200).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_script_in_a_note_a_question_or_a_key_stays_text() {
    let house = House::new();
    let mut visit = sign_in(&house, "alice").await;
    let script = "\"><script>alert(1)</script>";
    let sql = format!("SELECT COUNT(*) AS \"{}\" FROM census WHERE region <> '{script}'", script.replace('"', ""));
    let mut form = cost("census/alice", script, script);
    form.extend([("note", script), ("others", script), ("kind", script)]);
    visit.post("/cost/quote", &form, 400).await.lacks(&["<script>alert"]);
    visit.post("/cost", &form, 400).await.lacks(&["<script>alert"]);
    let query = form_urlencoded::Serializer::new(String::new())
        .extend_pairs([("account", script), ("epsilon", script), ("note", script), ("before", script)])
        .finish();
    visit.get(&format!("/cost?{query}"), 400).await.lacks(&["<script>alert"]);
    visit.get(&format!("/ask?{query}"), 200).await.lacks(&["<script>alert"]);
    visit.post("/ask/explain", &question(&format!("{script} {sql}"), "0.1", "k"), 400).await.lacks(&["<script>alert"]);
    let page = visit.post("/ask", &question(&sql, "0.1", script), 303).await;
    let path = page.0.header("location").to_string();
    visit.get(&path, 200).await.has(&["&lt;script&gt;alert"]).lacks(&["<script>alert"]);
    visit.get("/ask", 200).await.has(&["&lt;script&gt;alert"]).lacks(&["<script>alert"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_script_of_a_page_gets_the_part_that_changes_alone() {
    let house = House::new();
    let mut visit = sign_in(&house, "alice").await;
    for (path, id, form) in [
        ("/cost/quote", "quote", cost("census/alice", "0.5", "k")),
        ("/ask/explain", "explanation", question(COUNT, "0.5", "k")),
    ] {
        let whole = visit.post(path, &form, 200).await;
        visit.has_script = true;
        let part = visit.post(path, &form, 200).await;
        visit.has_script = false;
        let words = |page: &Page| page.read(id).split("0.5").count();
        assert!(words(&part) > 1 && words(&part) == words(&whole), "{path}: {}", part.read(id));
        whole.has(&["name=\"key\""]);
        part.lacks(&["name=\"key\""]);
    }
    // What is half written is no failure, and says what is wrong.
    visit.has_script = true;
    let page = visit.post("/ask/explain", &question("SELECT", "0.5", "k"), 200).await;
    assert!(page.read("explanation").contains("at character"), "{}", page.read("explanation"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_form_of_another_session_charges_nothing() {
    let house = House::new();
    let (mut alice, bob) = (sign_in(&house, "alice").await, sign_in(&house, "bob").await);
    alice.form_key = bob.form_key.clone();
    for (path, form) in [
        ("/cost", cost("census/alice", "0.5", "k")),
        ("/ask", question(COUNT, "0.5", "k")),
        ("/cost/quote", Vec::new()),
    ] {
        alice.post(path, &form, 403).await.has(&["another session"]);
    }
    assert_eq!(charges(&house, "census"), 0);
}
