//! `ask`: questions and their answers.

use serde_json::Value;

use crate::sandbox::{Sandbox, here_and_at_a_server, text};

here_and_at_a_server! {
    a_file_becomes_a_dataset_that_answers,
    the_same_key_prints_the_same_bytes,
    a_budget_that_is_gone_refuses_with_3_and_a_question_without_an_answer_ends_with_5,
    an_explanation_charges_nothing,
    what_is_wrong_with_a_question_is_marked,
    a_question_that_is_only_explained_is_marked_as_well,
    the_history_shows_what_was_asked,
    an_analyst_pays_from_a_budget_of_their_own,
    a_floor_keeps_questions_from_being_too_cheap,
    an_average_tells_what_was_paid_for,
    groups_that_nobody_declared_are_paid_with_a_delta,
    quantiles_and_expressions_are_shown_with_their_intervals,
    a_chosen_value_is_shown_without_an_interval,
    the_noise_that_costs_less_is_taken,
}

pub const COUNT: &str = "SELECT COUNT(*) FROM people";

fn value(answer: &Value) -> f64 {
    answer["rows"][0][0]["value"].as_f64().unwrap()
}

fn a_file_becomes_a_dataset_that_answers(sandbox: &Sandbox) {
    sandbox.add_people();
    let answer = sandbox.document(0, &["ask", "people", COUNT, "--epsilon", "0.5"]);
    assert!((value(&answer) - 3000.0).abs() < 100.0);
    let shown =
        sandbox.done(&["ask", "people", "SELECT region, COUNT(*) FROM people GROUP BY region", "--epsilon", "0.1"]);
    for part in
        ["north", "south", "95% interval", "charged", "discrete-laplace", "one record added or removed", "reading"]
    {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    let list = sandbox.document(0, &["dataset", "list"]);
    assert_eq!((&list[0]["dataset"], &list[0]["rows"]), (&"people".into(), &3000.into()));
    let show = sandbox.done(&["dataset", "show", "people"]);
    assert!(show.contains("0 to 120 in steps of 1") && show.contains("'north', 'south'"), "{show}");
    assert!(sandbox.done(&["dataset", "check", "people"]).contains("unchanged since it was registered"));
    assert!(sandbox.done(&["history", "people"]).contains("charge"));
    sandbox.done(&["verify"]);
}

fn the_same_key_prints_the_same_bytes(sandbox: &Sandbox) {
    sandbox.add_people();
    let ask = ["ask", "people", COUNT, "--epsilon", "0.1", "--key", "k", "--json"];
    assert_eq!(sandbox.done(&ask), sandbox.done(&ask));
    let again = sandbox.run(&ask);
    assert!(text(&again).contains("nothing was charged now"));
    assert!(sandbox.fails(2, &["ask", "people", COUNT, "--epsilon", "0.2", "--key", "k"]).contains("another question"));
}

fn a_budget_that_is_gone_refuses_with_3_and_a_question_without_an_answer_ends_with_5(sandbox: &Sandbox) {
    sandbox.add_people();
    let ask = ["ask", "people", COUNT, "--epsilon", "0.6", "--key", "k"];
    sandbox.done(&ask);
    let refused = sandbox.document(3, &["ask", "people", COUNT, "--epsilon", "0.6"]);
    assert_eq!((&refused["outcome"], &refused["refused"][0]["account"]), (&"refused".into(), &"people".into()));
    let records = rusqlite::Connection::open(sandbox.path("taximeter.db.gate/gate.db")).unwrap();
    records.execute_batch("DELETE FROM answers").unwrap();
    drop(records);
    assert!(sandbox.ends(5, &ask).contains("charged, but there is no answer (no-answer)"));
    assert_eq!(sandbox.document(5, &ask)["code"], "no-answer");
}

fn an_explanation_charges_nothing(sandbox: &Sandbox) {
    sandbox.add_people();
    let question = "SELECT SUM(age) FROM people WHERE region = 'north'";
    let explained = sandbox.done(&["ask", "people", question, "--epsilon", "0.1", "--explain"]);
    for part in ["WHERE \"region\" = ?1", "'north'", "1,200", "discrete-laplace", "ε = 0.1", "would be answered"] {
        assert!(explained.contains(part), "{part}: {explained}");
    }
    let document = sandbox.document(0, &["ask", "people", question, "--error", "500", "--explain"]);
    assert_eq!(document["parts"][0]["half_width"], 500);
    assert!(sandbox.ends(3, &["ask", "people", question, "--epsilon", "7", "--explain"]).contains("would be refused"));
    assert_eq!(sandbox.document(0, &["account", "show", "people"])["charges"], 0);
}

fn what_is_wrong_with_a_question_is_marked(sandbox: &Sandbox) {
    sandbox.add_people();
    let message =
        sandbox.fails(2, &["ask", "people", "SELECT COUNT(*) FROM people WHERE wage > 3", "--epsilon", "0.1"]);
    assert!(message.contains("at character 35"), "{message}");
    let lines: Vec<&str> = message.lines().collect();
    let mark = lines.iter().position(|line| line.trim() == "^").expect("a mark");
    assert_eq!(&lines[mark - 1][lines[mark].len() - 1..lines[mark].len() + 3], "wage");
}

fn a_question_that_is_only_explained_is_marked_as_well(sandbox: &Sandbox) {
    sandbox.add_people();
    let message = sandbox.fails(2, &["ask", "people", "SELECT COUNT(*) FROM men", "--epsilon", "0.1", "--explain"]);
    assert!(message.lines().any(|line| line.trim() == "^"), "{message}");
    assert!(!sandbox.fails(2, &["ask", "people", "", "--epsilon", "0.1"]).contains('^'));
}

#[test]
fn asking_makes_no_folder() {
    let sandbox = Sandbox::with_people();
    assert!(sandbox.fails(2, &["ask", "people", COUNT, "--epsilon", "0.1", "--data", "nowhere"]).contains("--data"));
    assert!(!sandbox.path("nowhere").exists());
}

fn the_history_shows_what_was_asked(sandbox: &Sandbox) {
    sandbox.add_people();
    sandbox.done(&["ask", "people", COUNT, "--epsilon", "0.1"]);
    let history = sandbox.done(&["history", "people"]);
    assert!(history.contains("SELECT COUNT(*)"), "{history}");
}

fn a_floor_keeps_questions_from_being_too_cheap(sandbox: &Sandbox) {
    sandbox.add_people();
    let add = ["dataset", "add", "dear", "people.csv", "--unit", "row", "--budget", "1,1e-6", "--min-epsilon", "0.05"];
    sandbox.done(&add);
    assert!(sandbox.done(&["dataset", "show", "dear"]).contains("at least ε = 0.05"));
    let question = "SELECT COUNT(*) FROM dear";
    let message = sandbox.fails(2, &["ask", "dear", question, "--epsilon", "0.01"]);
    assert!(message.contains("at least ε = 0.05") && message.contains("ε = 0.01"), "{message}");
    assert_eq!(sandbox.document(0, &["account", "show", "dear"])["charges"], 0);
    let explained = sandbox.document(0, &["ask", "dear", question, "--error", "10000", "--explain"]);
    assert_eq!(explained["cost"]["epsilon"], "0.05", "an error is made smaller than was asked for");
    sandbox.done(&["ask", "dear", question, "--epsilon", "0.05"]);
    sandbox.done(&["dataset", "add", "dear", "people.csv", "--new-version"]);
    sandbox.fails(2, &["ask", "dear", question, "--epsilon", "0.01"]);
}

fn an_average_tells_what_was_paid_for(sandbox: &Sandbox) {
    sandbox.add_people();
    let question = "SELECT region, AVG(age) FROM people GROUP BY region";
    let explained = sandbox.done(&["ask", "people", question, "--epsilon", "0.002", "--explain"]);
    assert!(
        explained.contains("warning: AVG(age) needs at least") && explained.contains("about 1,500 rows"),
        "{explained}"
    );
    let explained = sandbox.done(&["ask", "people", question, "--epsilon", "0.5", "--explain"]);
    assert!(explained.contains("note: AVG(age) needs at least") && !explained.contains("warning"), "{explained}");
    // The noise on the count is a hundred times the count: there is no average to tell.
    let answer = sandbox.done(&["ask", "people", question, "--epsilon", "0.00002"]);
    assert!(answer.contains("too few rows: sum "), "{answer}");
}

/// Adds the dataset `trips`, whose towns are not declared.
fn add_trips(sandbox: &Sandbox, name: &str, more: &[&str]) {
    let rows: String = (0..3000)
        .map(|row| format!("{},2024-0{}-15,{}.25\n", ["Ulm", "Köln"][usize::from(row % 3 == 0)], row % 3 + 1, row % 90))
        .collect();
    std::fs::write(sandbox.path("trips.csv"), format!("town,day,price\n7 unique,2024-01-01,1.25\n{rows}")).unwrap();
    let bounds = ["--bounds", "day=2024-01-01..2024-03-31", "--bounds", "price=0..100/0.25"];
    let add = ["dataset", "add", name, "trips.csv", "--unit", "row", "--type", "price=decimal"];
    sandbox.done(&[&add[..], &bounds, more].concat());
}

fn groups_that_nobody_declared_are_paid_with_a_delta(sandbox: &Sandbox) {
    add_trips(sandbox, "trips", &["--budget", "5,1e-6", "--mechanism-delta", "1e-7"]);
    let question = "SELECT town, COUNT(*) AS n FROM trips GROUP BY town ORDER BY n DESC LIMIT 10";
    let told = sandbox.fails(2, &["ask", "trips", question, "--epsilon", "0.5"]);
    for part in ["above a threshold", "--epsilon 0.5 --delta 1e-9", "--mechanism-delta"] {
        assert!(told.contains(part), "{part}: {told}");
    }
    let ask = ["ask", "trips", question, "--epsilon", "0.5", "--delta", "1e-9"];
    let explained = sandbox.document(0, &[&ask[..], &["--explain"]].concat());
    assert!(explained["groups"].is_null() && explained["charges"][0]["delta"] == "1e-9", "{explained}");
    assert!(sandbox.done(&[&ask[..], &["--explain"]].concat()).contains("above a threshold"));
    let answer = sandbox.document(0, &ask);
    let towns: Vec<&Value> = answer["rows"].as_array().unwrap().iter().map(|row| &row[0]).collect();
    assert_eq!(towns, ["Ulm", "Köln"], "the town of one row is not told");
    let shown = sandbox.done(&ask);
    assert!(shown.contains("afterwards") && shown.contains("only groups with a noisy number of rows"), "{shown}");
    // Declared groups need no δ, and pay none.
    let declared = "SELECT EXTRACT(MONTH FROM day), COUNT(*) FROM trips GROUP BY 1";
    let explained =
        sandbox.document(0, &["ask", "trips", declared, "--epsilon", "0.5", "--delta", "1e-9", "--explain"]);
    assert_eq!((&explained["cost"]["epsilon"], &explained["cost"]["delta"]), (&"0.5".into(), &Value::Null));
    // Nor do groups that the question names.
    let named = "SELECT town, COUNT(*) FROM trips WHERE town IN ('Ulm', 'nowhere') GROUP BY town";
    let ask = ["ask", "trips", named, "--epsilon", "0.5"];
    let explained = sandbox.document(0, &[&ask[..], &["--explain"]].concat());
    assert_eq!((&explained["groups"], &explained["named_groups"]), (&2.into(), &serde_json::json!(["town"])));
    assert!(sandbox.done(&[&ask[..], &["--explain"]].concat()).contains("2, of the values that WHERE names: town"));
    let rows = sandbox.document(0, &ask)["rows"].clone();
    assert_eq!((&rows[0][0], &rows[1][0], rows.as_array().unwrap().len()), (&"Ulm".into(), &"nowhere".into(), 2));
    // Without a part that is set aside, the account refuses and says how to set one aside.
    add_trips(sandbox, "others", &["--budget", "5,1e-6"]);
    let question = "SELECT town, COUNT(*) FROM others GROUP BY town";
    let refused = sandbox.ends(3, &["ask", "others", question, "--epsilon", "0.5", "--delta", "1e-9"]);
    assert!(refused.contains("set aside") && refused.contains("--mechanism-delta"), "{refused}");
    sandbox.fails(2, &["ask", "trips", question, "--gaussian", "0.5", "--delta", "1e-9"]);
}

fn quantiles_and_expressions_are_shown_with_their_intervals(sandbox: &Sandbox) {
    add_trips(sandbox, "trips", &["--budget", "100"]);
    let question = "SELECT date_trunc('month', day) AS month, MEDIAN(price) AS middle, STDDEV(price) AS spread, AVG(price > 50) FROM trips \
                    GROUP BY 1 ORDER BY 1";
    let ask = ["ask", "trips", question, "--epsilon", "20"];
    let explained = sandbox.document(0, &[&ask[..], &["--explain"]].concat());
    assert_eq!(
        (explained["statements"].as_array().unwrap().len(), &explained["groups"]),
        (2, &3.into()),
        "{explained}"
    );
    let answer = sandbox.document(0, &ask);
    let months: Vec<&Value> = answer["rows"].as_array().unwrap().iter().map(|row| &row[0]).collect();
    assert_eq!(months, ["2024-01-01", "2024-02-01", "2024-03-01"]);
    for row in answer["rows"].as_array().unwrap() {
        for cell in &row.as_array().unwrap()[1..] {
            let [low, high] = [0, 1].map(|at| cell["interval"][at].as_f64().unwrap());
            assert!((low..=high).contains(&cell["value"].as_f64().unwrap()), "{cell}");
        }
    }
    assert_eq!(answer["columns"][3]["aggregate"], answer["columns"][3]["name"]);
    let shown = sandbox.done(&ask);
    for part in ["month", "2024-02-01", "middle", "spread", "exponential-mechanism"] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    // Of one row, nothing can be said.
    let shown =
        sandbox.done(&["ask", "trips", "SELECT STDDEV(price) FROM trips WHERE town = '7 unique'", "--epsilon", "0.1"]);
    assert!(shown.contains("too few rows") && !shown.contains("sum –"), "{shown}");
}

fn a_chosen_value_is_shown_without_an_interval(sandbox: &Sandbox) {
    sandbox.add_people();
    let sql = "SELECT MODE() WITHIN GROUP (ORDER BY region) AS most FROM people WHERE region = 'north'";
    let shown = sandbox.done(&["ask", "people", sql, "--epsilon", "0.5"]);
    assert!(shown.starts_with("most\n─────\nnorth\n\n"), "{shown}");
}

fn the_noise_that_costs_less_is_taken(sandbox: &Sandbox) {
    sandbox.add_people();
    let ask = ["ask", "people", COUNT, "--error", "100", "--noise", "auto", "--explain"];
    let output = sandbox.run(&ask);
    assert!(text(&output).contains("noise, which takes"), "{}", text(&output));
    sandbox.done(&ask[..ask.len() - 1]);
    assert!(sandbox.fails(2, &[&ask[..ask.len() - 1], &["--key", "k"]].concat()).contains("name the noise"));
}

fn an_analyst_pays_from_a_budget_of_their_own(sandbox: &Sandbox) {
    sandbox.add_people();
    let added = sandbox.done(&["dataset", "add", "people", "--analyst", "alice", "--budget", "0.2,1e-6"]);
    assert!(added.contains("alice may ask"), "{added}");
    sandbox.done(&["ask", "people", COUNT, "--epsilon", "0.15", "--by", "alice"]);
    sandbox.ends(3, &["ask", "people", COUNT, "--epsilon", "0.15", "--by", "alice"]);
    assert!(sandbox.fails(2, &["ask", "people", COUNT, "--epsilon", "0.1", "--by", "bob"]).contains("not an analyst"));
    sandbox.done(&["ask", "people", COUNT, "--epsilon", "0.15"]);
}

#[test]
fn a_token_speaks_for_its_own_person_alone() {
    let sandbox = Sandbox::at_server();
    sandbox.add_people();
    for analyst in ["alice", "bob"] {
        sandbox.done(&["dataset", "add", "people", "--analyst", analyst, "--budget", "0.2,1e-6"]);
    }
    let token = sandbox.token("alice", "analyst", &["--account", "people/alice", "--dataset", "people"]);
    let run = |arguments: &[&str]| sandbox.command(arguments).env("TAXIMETER_TOKEN", &token).output().unwrap();
    let asked = run(&["ask", "people", COUNT, "--epsilon", "0.1", "--by", "bob"]);
    let told = text(&asked);
    assert_eq!(asked.status.code(), Some(2), "{told}");
    assert!(told.contains("this token belongs to alice; omit --by, or use bob's token"), "{told}");
    let charged = run(&["charge", "people/alice", "--epsilon", "0.1", "--by", "bob"]);
    let told = text(&charged);
    assert_eq!(charged.status.code(), Some(2), "{told}");
    assert!(told.contains("this token belongs to alice") && told.contains("omit --by"), "{told}");
    let other = run(&["charge", "people/bob", "--epsilon", "0.1"]);
    assert!(text(&other).contains("alice's token does not cover the account people/bob"), "{}", text(&other));
    for by in [&[][..], &["--by", "alice"]] {
        let asked = run(&[&["ask", "people", COUNT, "--epsilon", "0.05"][..], by].concat());
        assert_eq!(asked.status.code(), Some(0), "{}", text(&asked));
    }
}

/// A process that is killed anywhere between the question and the answer: asking again with the same key pays once, and always gives
/// the same answer, or always none.
#[test]
fn a_question_that_is_killed_is_charged_at_most_once_and_never_answered_anew() {
    let sandbox = Sandbox::with_people();
    let (mut charged, mut without) = (0, 0);
    for round in 0u32..40 {
        let key = format!("k{round}");
        let ask = ["ask", "people", COUNT, "--epsilon", "0.001", "--key", &key, "--json"];
        let mut child = std::process::Command::new(assert_cmd::cargo::cargo_bin("taximeter"))
            .args(ask)
            .current_dir(sandbox.folder.path())
            .stdout(std::process::Stdio::null())
            .stderr(std::process::Stdio::null())
            .spawn()
            .unwrap();
        // From before the ledger is open to after the answer is printed.
        std::thread::sleep(std::time::Duration::from_micros(u64::from(round) * 700));
        // It may have ended by itself.
        let _ = child.kill();
        child.wait().unwrap();
        let before = sandbox.document(0, &["account", "show", "people"])["charges"].as_u64().unwrap();
        let first = sandbox.run(&ask);
        let again = sandbox.run(&ask);
        assert_eq!((first.status.code(), &first.stdout), (again.status.code(), &again.stdout), "{}", text(&again));
        assert!(matches!(first.status.code(), Some(0 | 5)), "{}", text(&first));
        charged += 1;
        without += u32::from(first.status.code() == Some(5));
        let after = sandbox.document(0, &["account", "show", "people"])["charges"].as_u64().unwrap();
        assert!(after == charged && before >= charged - 1, "round {round}: {before} and {after} charges");
    }
    assert!(without < 40, "no question survived");
    sandbox.done(&["verify"]);
}
