//! What may be asked for beside a question: weights, a count of clamped rows, fewer groups of a unit, another account that pays.

use serde_json::Value;

use crate::sandbox::{Sandbox, here_and_at_a_server};

here_and_at_a_server! {
    weights_share_the_price,
    clamped_rows_are_counted,
    a_unit_counts_in_fewer_groups,
    another_account_of_the_joined_dataset_pays,
}

/// What each part of an explained question is paid with.
fn paid(explained: &Value) -> Vec<&str> {
    explained["parts"].as_array().unwrap().iter().map(|part| part["cost"]["epsilon"].as_str().unwrap()).collect()
}

fn weights_share_the_price(sandbox: &Sandbox) {
    sandbox.add_people();
    let question = "SELECT COUNT(*) AS n, SUM(age) AS total FROM people";
    let ask = ["ask", "people", question, "--epsilon", "0.4"];
    let explained = |more: &[&str]| sandbox.document(0, &[&ask[..], &["--explain"], more].concat());
    assert_eq!(paid(&explained(&[])), ["0.2", "0.2"]);
    for weights in
        [&["--weights", "n=3,total=1"][..], &["--weights", "n=3"], &["--weights", "n=1.5", "--weights", "total=0.5"]]
    {
        assert_eq!(paid(&explained(weights)), ["0.3", "0.1"], "{weights:?}");
    }
    let answer = sandbox.document(0, &[&ask[..], &["--weights", "n=3"]].concat());
    assert_eq!(answer["columns"][0]["parts"][0]["cost"]["epsilon"], "0.3");
    // A quantile without an interval is twice as precise.
    let ask = ["ask", "people", "SELECT MEDIAN(age) AS middle FROM people", "--epsilon", "0.2", "--explain"];
    let scale = |more: &[&str]| sandbox.document(0, &[&ask[..], more].concat())["parts"][0]["scale"].as_f64().unwrap();
    assert_eq!(scale(&[]), 2.0 * scale(&["--weights", "intervals=0"]));
    for (weights, said) in
        [("total", "column=weight"), ("n=much", "much"), ("wage=2", "wage"), ("n=0", "weight"), ("n=-1", "weight")]
    {
        let message = sandbox.fails(2, &["ask", "people", question, "--epsilon", "0.4", "--weights", weights]);
        assert!(message.contains(said), "{weights}: {message}");
    }
    assert_eq!(sandbox.document(0, &["account", "show", "people"])["charges"], 1);
}

fn clamped_rows_are_counted(sandbox: &Sandbox) {
    sandbox.add_people();
    let add =
        ["dataset", "add", "young", "people.csv", "--unit", "row", "--bounds", "age=0..50", "--budget", "200,1e-6"];
    sandbox.done(&add);
    let ask = ["ask", "young", "SELECT SUM(age) AS total FROM young", "--epsilon", "100", "--count-clamped"];
    let answer = sandbox.document(0, &ask);
    // Of 3,000 ages from 0 to 89.
    let clamped = answer["rows"][0][1]["value"].as_f64().unwrap();
    assert!((clamped - 1287.0).abs() < 5.0, "{answer}");
    assert_eq!(
        (&answer["columns"][1]["name"], answer["columns"].as_array().unwrap().len()),
        (&"clamped rows".into(), 2)
    );
    assert_eq!(answer["columns"][1]["parts"][0]["cost"]["epsilon"], "10", "a tenth of the price");
    let explained = sandbox.done(&[&ask[..], &["--explain"]].concat());
    assert!(explained.contains("number of rows with values outside of their bounds"), "{explained}");
    let count = ["ask", "young", "SELECT COUNT(*) FROM young", "--epsilon", "1", "--count-clamped"];
    assert!(sandbox.fails(2, &count).contains("no value is clamped"));
}

/// Adds `people`, a person each, and `visits` of 300 of them: each visits three towns, which are not declared.
fn add_visits(sandbox: &Sandbox) {
    let people: String = (0..400).map(|person| format!("{person},{}\n", person % 90)).collect();
    let town = |row: usize| ["Ulm", "Jena", "Trier"][row % 3];
    let visits: String = (0..900).map(|row| format!("{},{}\n", row / 3, town(row))).collect();
    for (name, csv, most) in
        [("people", format!("person,age\n{people}"), "1"), ("visits", format!("person,town\n{visits}"), "3")]
    {
        std::fs::write(sandbox.path("data.csv"), csv).unwrap();
        let unit = ["--unit", "person", "--max-rows-per-unit", most];
        let budget = ["--budget", "500,1e-3", "--mechanism-delta", "1e-4"];
        sandbox.done(&[&["dataset", "add", name, "data.csv"][..], &unit, &budget].concat());
    }
}

fn a_unit_counts_in_fewer_groups(sandbox: &Sandbox) {
    add_visits(sandbox);
    let question = "SELECT town, COUNT(DISTINCT person) AS n FROM visits GROUP BY town";
    let ask = ["ask", "visits", question, "--epsilon", "20", "--delta", "1e-6"];
    for (most, sensitivity, expected) in
        [(None, 3, 900.0), (Some("3"), 3, 900.0), (Some("2"), 2, 600.0), (Some("1"), 1, 300.0)]
    {
        let more = most.map_or(vec![], |most| vec!["--max-groups-per-unit", most]);
        let answer = sandbox.document(0, &[&ask[..], &more].concat());
        assert_eq!(answer["columns"][1]["parts"][0]["sensitivity"], sensitivity, "{most:?}: {answer}");
        let counts = answer["rows"].as_array().unwrap().iter().map(|row| row[1]["value"].as_f64().unwrap());
        assert!((counts.sum::<f64>() - expected).abs() < 20.0, "{most:?}: {answer}");
    }
    let none = sandbox.fails(2, &[&ask[..], &["--max-groups-per-unit", "0"]].concat());
    assert!(none.contains("--max-groups-per-unit"), "{none}");
    let all = ["ask", "visits", "SELECT COUNT(*) FROM visits", "--epsilon", "1", "--max-groups-per-unit", "1"];
    assert!(sandbox.fails(2, &all).contains("declared"));
}

fn another_account_of_the_joined_dataset_pays(sandbox: &Sandbox) {
    add_visits(sandbox);
    for analyst in ["alice", "bob"] {
        let rules = ["--budget", "5,1e-4"];
        sandbox.done(&[&["dataset", "add", "visits", "--analyst", analyst][..], &rules].concat());
    }
    let question = "SELECT COUNT(*) FROM people p JOIN visits v ON p.person = v.person WHERE p.age > 30";
    let ask = ["ask", "people", question, "--epsilon", "1"];
    let pays = |more: &[&str]| sandbox.document(0, &[&ask[..], &["--explain"], more].concat())["pays"].clone();
    assert_eq!(pays(&[]), serde_json::json!(["people", "visits"]));
    let alice = ["--joined-account", "visits/alice"];
    assert_eq!(pays(&alice), serde_json::json!(["people", "visits", "visits/alice"]));
    sandbox.done(&[&ask[..], &alice].concat());
    let charges = |account: &str| sandbox.document(0, &["account", "show", account])["charges"].clone();
    assert_eq!(["people", "visits", "visits/alice", "visits/bob"].map(charges), [1, 1, 1, 0].map(Value::from));
    for account in ["people", "visits/carol"] {
        let message = sandbox.fails(2, &[&ask[..], &["--joined-account", account]].concat());
        assert!(message.contains(account), "{account}: {message}");
    }
    assert_eq!(charges("people"), 1);
}
