//! The plan of a study.

use super::*;

fn study(questions: &str) -> String {
    format!("dataset = \"census\"\n{questions}")
}

fn question(name: &str, price: &str) -> String {
    format!("[[questions]]\nname = \"{name}\"\nsql = \"{COUNT}\"\n{price}\n")
}

#[tokio::test(flavor = "multi_thread")]
async fn the_example_is_a_study_that_can_be_planned() {
    let server = TestServer::new();
    for who in ["owner", "auditor", "alice", "two"] {
        let mut visit = sign_in(&server, who).await;
        let page = visit.get("/plan", 200).await;
        page.has(&["<label for=\"study\">", "aria-describedby=\"study-help\"", "aria-current=\"page\">Plan</a>"]);
        let text = page.text();
        let example = text.split_once("<textarea id=\"study\"").unwrap().1.split_once('>').unwrap().1;
        let example = example.split_once("</textarea>").unwrap().0.replace("&quot;", "\"").replace("&lt;", "<");
        // Who has several accounts must name one.
        assert_eq!(example.contains("account = \"census/alice\""), who == "two", "{example}");
        let read = visit.post("/plan", &[("study", &example)], 200).await.read("plan");
        assert!(read.contains("All questions fit now.") && read.contains("12 × every month"), "{who}: {read}");
    }
    assert_eq!(charges(&server, "census"), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_plan_says_what_a_study_needs_and_what_it_leaves() {
    let server = TestServer::new();
    let fits = study(&[question("monthly <1>", "epsilon = 0.1\ntimes = 12"), question("once", "error = 20")].concat());
    let mut owner = sign_in(&server, "owner").await;
    let page = owner.post("/plan", &[("study", &fits)], 200).await;
    let read = page.read("plan");
    for part in [
        "All questions fit now.",
        "monthly &lt;1&gt; 12 ε = 0.1",
        "once 1 ε = 0.1",
        "Best order any",
        "census basic",
        "one more question of up to",
    ] {
        assert!(read.contains(part), "{part}: {read}");
    }
    // The study is still there, and the figure has a bar for each question.
    page.has(&["monthly &lt;1&gt;", "role=\"img\"", "100% → 52%", "12 × monthly &lt;1&gt;", "left of census"]);
    page.lacks(&["<1>", "<script>"]);
    // Alice's own budget takes it. She learns that others pay, and nothing of them.
    let large = study(&question("large", "epsilon = 0.9\ntimes = 5"));
    let mut alice = sign_in(&server, "alice").await;
    let page = alice.post("/plan", &[("study", &large)], 200).await;
    let read = page.read("plan");
    assert!(read.contains("All questions fit now.") && read.contains("You cannot see what they have left"), "{read}");
    page.lacks(&["left of census\"", "/accounts/census\""]);
    // Who sees the account above learns where it stops, and what to do.
    let mut above = sign_in(&server, "above").await;
    let read = above.post("/plan", &[("study", &large)], 200).await.read("plan");
    for part in [
        "2 of 5 × large",
        "100% → 28%",
        "The questions do not all fit now.",
        "census stops at large , which fits 2 times: the budget does not admit it",
    ] {
        assert!(read.contains(part), "{part}: {read}");
    }
    assert!(!read.contains("one more question"), "{read}");
    assert_eq!(charges(&server, "census"), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_study_that_is_wrong_keeps_its_form_and_the_error_names_the_question() {
    let server = TestServer::new();
    let mut visit = sign_in(&server, "alice").await;
    for (text, status, parts) in [
        ("", 400, vec!["The study cannot be read", "missing field `dataset`"]),
        ("dataset = \"census\"\nquestion = 1", 400, vec!["The study cannot be read", "unknown field `question`"]),
        (&study("questions = []"), 400, vec!["it has no questions; add one"]),
        (&study(&question("free", "times = 3")), 400, vec!["free: give one of error"]),
        (
            &study(&question("many", "epsilon = 0.001\ntimes = 10001")),
            400,
            vec!["many: with this question", "10001 costs", "at most 10000"],
        ),
        (
            &study("[[questions]]\nsql = \"SELECT secret(age) FROM census\"\nerror = 1"),
            400,
            vec!["question 1: at character 8", "SELECT s ecret(age)"],
        ),
        ("dataset = \"wages\"\nquestions = []", 403, vec!["does not cover the dataset wages"]),
    ] {
        let page = visit.post("/plan", &[("study", text)], status).await;
        let read = page.read("plan");
        for part in parts {
            assert!(read.contains(part), "{part}: {read}");
        }
        page.has(&["class=\"problem\"", "<textarea id=\"study\""]);
    }
}
