//! Questions: explained, asked, refused.

use super::*;

#[tokio::test(flavor = "multi_thread")]
async fn a_question_is_explained_with_its_noise_and_the_meter() {
    let server = TestServer::new();
    let mut visit = sign_in(&server, "alice").await;
    let page = visit.get("/ask", 200).await;
    // The schema, an example question for it, and its effect.
    let schema = page.read("schema-heading");
    for part in ["one row, present or absent", "age integer", "from 0 to 120, in steps of 1", "'north' , 'south'"] {
        assert!(schema.contains(part), "{part}: {schema}");
    }
    page.has(&[">SELECT region, COUNT(*)\nFROM census\nGROUP BY region</textarea>"]).lacks(&["wages"]);
    let read = page.read("explanation");
    for part in
        ["COUNT(*)", "ε = 0.1", "number of rows", "discrete laplace", "100% → 98% left", "census/alice takes it"]
    {
        assert!(read.contains(part), "{part}: {read}");
    }
    // The price of a target error.
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
    // Her token does not cover other datasets and accounts.
    visit.get("/ask?dataset=wages", 403).await;
    let mut other = question(COUNT, "0.1", "k");
    other[1] = ("account", "census");
    visit.post("/ask/explain", &other, 403).await;
    assert_eq!(charges(&server, "census"), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_question_is_tried_on_made_up_rows_at_no_cost() {
    let server = TestServer::new();
    let mut visit = sign_in(&server, "alice").await;
    visit.get("/ask", 200).await.has(&["formaction=\"/ask/dummy\"", "Try on made-up rows"]);
    let page = visit.post("/ask/dummy", &question(COUNT, "0.5", "k"), 200).await;
    page.has(&[&format!(">{COUNT}</textarea>"), "value=\"0.5\""]);
    let read = page.read("explanation");
    for part in
        ["Made up:", "1,000 made-up rows", "Nothing was charged.", "it would cost ε = 0.5", "number of rows", "Within"]
    {
        assert!(read.contains(part), "{part}: {read}");
    }
    // A value that is chosen is shown too.
    let mode = "SELECT MODE() WITHIN GROUP (ORDER BY region) AS most FROM census";
    let read = visit.post("/ask/dummy", &question(mode, "0.5", "k"), 200).await.read("explanation");
    assert!(read.contains("Value north") || read.contains("Value south"), "{read}");
    // More than the budget can be tried, and what is wrong is marked.
    visit.post("/ask/dummy", &question(COUNT, "9", "k"), 200).await;
    let wrong = visit.post("/ask/dummy", &question("SELECT x FROM census", "0.1", "k"), 400).await.read("explanation");
    assert!(wrong.contains("at character 8"), "{wrong}");
    let mut other = question(COUNT, "0.1", "k");
    other[1] = ("account", "census");
    visit.post("/ask/dummy", &other, 403).await;
    assert_eq!(charges(&server, "census"), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_question_that_is_refused_or_wrong_keeps_its_form() {
    let server = TestServer::new();
    let mut visit = sign_in(&server, "alice").await;
    let page = visit.post("/ask", &question(COUNT, "9", "k"), 409).await;
    let read = page.read("explanation");
    assert!(read.contains("It was refused.") && read.contains("census/alice"), "{read}");
    page.has(&[&format!(">{COUNT}</textarea>"), "value=\"9\"", "role=\"alert\""]);
    let page = visit.post("/ask", &question("SELECT secret(age) FROM census", "0.1", "k"), 400).await;
    page.has(&[">SELECT secret(age) FROM census</textarea>", "<mark>", "role=\"alert\""]);
    assert_eq!(charges(&server, "census"), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_charged_question_without_an_answer_is_shown_as_such() {
    let server = TestServer::new();
    let mut visit = sign_in(&server, "alice").await;
    visit.post("/ask", &question(COUNT, "0.5", "lost"), 303).await;
    records(&server).execute("UPDATE answers SET document = NULL", []).unwrap();
    visit.get("/answers/lost", 424).await.has(&["Charged, but there is no answer", "(record "]);
    visit.get("/ask", 200).await.has(&["charged, no answer", "GROUP BY"]).lacks(&["/answers/lost"]);
    // A retry is not charged again, and the form keeps its key.
    let page = visit.post("/ask", &question(COUNT, "0.5", "lost"), 424).await;
    assert_eq!(page.hidden("key").unwrap(), "lost");
    assert_eq!(charges(&server, "census"), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_script_in_a_note_a_question_or_a_key_is_escaped() {
    let server = TestServer::new();
    let mut visit = sign_in(&server, "alice").await;
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
async fn the_script_of_a_page_gets_only_the_part_that_changes() {
    let server = TestServer::new();
    let mut visit = sign_in(&server, "alice").await;
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
    // An incomplete question is not an error, and shows the problem.
    visit.has_script = true;
    let page = visit.post("/ask/explain", &question("SELECT", "0.5", "k"), 200).await;
    assert!(page.read("explanation").contains("at character"), "{}", page.read("explanation"));
}
