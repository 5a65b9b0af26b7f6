//! Stored answers.

use super::*;

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_is_visible_to_its_principal_only() {
    let server = TestServer::new();
    let mut alice = sign_in(&server, "alice").await;
    let key = alice.get("/ask", 200).await.hidden("key").unwrap();
    let path = format!("/answers/{key}");
    for notice in ["Charged and answered.", "nothing was charged again"] {
        let page = alice.post("/ask", &question(COUNT, "0.5", &key), 303).await;
        assert_eq!(page.0.header("location"), path);
        alice.get(&path, 200).await.has(&[notice]);
    }
    assert_eq!(charges(&server, "census"), 1);
    // The same bytes as from the API, without the accounts above.
    let replayed = server.ask("alice", COUNT, "0.5", &key, json!({})).await.expect(200);
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
    // Others get the same error as for a missing answer.
    for who in ["bob", "above", "two", "owner"] {
        let mut visit = sign_in(&server, who).await;
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
async fn an_average_of_too_few_rows_is_shown_with_its_sum_and_count() {
    let server = TestServer::new();
    let mut visit = sign_in(&server, "owner").await;
    for (sql, notice) in [
        ("SELECT AVG(age) FROM census", "Too few rows to show the average with this noise."),
        (
            "SELECT region, AVG(age) FROM census GROUP BY region",
            "Some groups have too few rows to show the average with this noise.",
        ),
    ] {
        // The noise is a thousand times the count.
        let fields = [("dataset", "census"), ("question", sql), ("offer", "epsilon"), ("amount", "0.001")];
        let explained = visit.post("/ask/explain", &fields, 200).await.read("explanation");
        assert!(explained.contains("Warning: AVG(age) needs at least"), "{explained}");
        assert!(explained.contains("Its groups have at most about"), "{explained}");
        let key = visit.get("/ask?dataset=census", 200).await.hidden("key").unwrap();
        visit.post("/ask", &[&fields[..], &[("key", &key)]].concat(), 303).await;
        let path = format!("/answers/{key}");
        let document: serde_json::Value =
            serde_json::from_slice(&visit.get(&format!("{path}/answer.json"), 200).await.0.bytes).unwrap();
        let page = visit.get(&path, 200).await;
        let read = page.read("numbers-heading");
        assert!(read.contains(notice) && read.contains("too few rows"), "{read}");
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
    // With more ε the groups have enough rows.
    let sql = "SELECT AVG(age) FROM census";
    let mut alice = sign_in(&server, "alice").await;
    let explained = alice.post("/ask/explain", &question(sql, "0.1", "k"), 200).await.read("explanation");
    assert!(explained.contains("AVG(age) needs at least") && !explained.contains("Warning"), "{explained}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_is_shown_as_long_as_the_token_covers_its_dataset() {
    let server = TestServer::new();
    server.ask("alice", COUNT, "0.1", "k", json!({})).await.expect(201);
    sign_in(&server, "alice").await.get("/answers/k", 200).await;
    let token = r#"{"principal":"alice","role":"analyst","accounts":["census/bob"],"datasets":["census"]}"#;
    let other = server.send("owner", "POST", "/v1/tokens", token).await.expect(201).json();
    let mut visit = Visit::new(&server, other["secret"].as_str().unwrap()).await;
    visit.get("/answers/k", 404).await;
    visit.get("/ask", 200).await.lacks(&["/answers/k"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_earlier_answer_is_given_again_at_no_cost() {
    let server = TestServer::new();
    let mut visit = sign_in(&server, "alice").await;
    visit.post("/ask", &question(COUNT, "0.5", "first"), 303).await;
    let mut again = question(COUNT, "0.5", "second");
    again.push(("reuse", "1"));
    let page = visit.post("/ask", &again, 303).await;
    assert_eq!(page.0.header("location"), "/answers/first");
    visit.get("/answers/first", 200).await.has(&["your earlier answer to the same question"]);
    visit.get("/answers/second", 404).await;
    assert_eq!(charges(&server, "census"), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stored_answer_is_not_shown_before_its_release() {
    let tick = Some(Duration::from_secs(3600));
    let server = TestServer::with(Settings { tick, ..Settings::default() });
    let mut visit = sign_in(&server, "alice").await;
    let asking = server.ask("alice", COUNT, "0.5", "k", json!({}));
    let looking = async {
        let count = || records(&server).query_row("SELECT count(*) FROM answers", [], |row| row.get::<_, i64>(0));
        while count().unwrap() == 0 {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        visit.get("/answers/k", 404).await;
        visit.get("/ask", 200).await.lacks(&["/answers/k"]);
        // After the next tick it is shown.
        records(&server).execute("UPDATE answers SET time = '2020-01-01T00:00:00Z'", []).unwrap();
        visit.get("/answers/k", 200).await;
        visit.get("/ask", 200).await.has(&["/answers/k"]);
    };
    tokio::select! {
        reply = asking => panic!("the answer was not held back: {}", reply.text()),
        () = looking => {}
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn earlier_answers_are_shown_in_pages() {
    let server = TestServer::new();
    for at in 10..35 {
        server.ask("alice", COUNT, "0.001", &format!("a b/{at}"), json!({})).await.expect(201);
    }
    server.ask("two", COUNT, "0.001", "other", json!({ "account": "census/alice" })).await.expect(201);
    let mut visit = sign_in(&server, "alice").await;
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
