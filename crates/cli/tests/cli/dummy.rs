//! `ask --dummy` and `dataset dummy`: made-up rows.

use crate::questions::COUNT;
use crate::sandbox::{Sandbox, check_contains, here_and_at_a_server};

here_and_at_a_server! {
    a_made_up_answer_is_marked_repeatable_and_free,
    made_up_rows_can_be_registered,
}

const GROUPED: &str = "SELECT region, COUNT(*) AS n, AVG(age) AS age FROM people GROUP BY region";

fn a_made_up_answer_is_marked_repeatable_and_free(sandbox: &Sandbox) {
    sandbox.add_people();
    let before = sandbox.document(0, &["account", "show", "people"]);
    let ask = ["ask", "people", GROUPED, "--epsilon", "0.5", "--dummy"];
    let shown = sandbox.done(&ask);
    check_contains(
        &shown,
        &[
            "MADE UP: these numbers say nothing about the data.",
            "95% interval",
            "charged     nothing, and no data were read",
            "would cost  ε = 0.5",
            "1,000 made-up rows of people",
        ],
    );
    assert_eq!(sandbox.done(&ask), shown, "it is repeatable");
    let document = sandbox.document(0, &ask);
    assert_eq!((&document["dummy"], &document["dummy_rows"]), (&true.into(), &1000.into()));
    assert!(document.get("receipt").is_none() && document.get("accounts").is_none(), "{document}");
    assert_eq!(document["rows"][1][0], "south");
    let count = sandbox.document(0, &["ask", "people", COUNT, "--epsilon", "100", "--dummy=50"]);
    assert_eq!(count["rows"][0][0]["value"], 50);
    // The form of a paid answer.
    let paid = sandbox.document(0, &["ask", "people", GROUPED, "--epsilon", "0.01"]);
    for part in ["columns", "rows"] {
        assert_eq!(paid[part].as_array().unwrap().len(), document[part].as_array().unwrap().len());
    }
    let after = sandbox.document(0, &["account", "show", "people"]);
    assert_eq!(before["charges"].as_u64().unwrap() + 1, after["charges"].as_u64().unwrap());
    for (arguments, part) in [
        (["--dummy", "--key", "k"], "cannot be used with"),
        (["--dummy", "--explain", "--json"], "cannot be used with"),
        (["--dummy=0", "--json", "--clamp"], "0 is not in"),
    ] {
        assert!(sandbox.fails(2, &[&ask[..5], &arguments].concat()).contains(part), "{arguments:?}");
    }
    let wrong = sandbox.fails(2, &["ask", "people", "SELECT agee FROM people", "--epsilon", "0.5", "--dummy"]);
    check_contains(&wrong, &["at character 8", "^"]);
}

fn made_up_rows_can_be_registered(sandbox: &Sandbox) {
    sandbox.add_people();
    let csv = sandbox.done(&["dataset", "dummy", "people", "--rows", "200"]);
    assert_eq!(csv.lines().next(), Some("age,region"));
    assert_eq!(csv.lines().count(), 201);
    assert_eq!(csv, sandbox.done(&["dataset", "dummy", "people", "--rows", "200"]));
    std::fs::write(sandbox.path("dummy.csv"), &csv).unwrap();
    let added =
        sandbox.document(0, &["dataset", "add", "dummy", "dummy.csv", "--schema", "people.toml", "--budget", "1,1e-6"]);
    assert_eq!((&added["imported"]["kept"], &added["imported"]["bad_rows"]), (&200.into(), &0.into()));
    assert!(sandbox.fails(2, &["dataset", "dummy", "people", "--json"]).contains("written as CSV"));
    assert!(sandbox.fails(2, &["dataset", "dummy", "nothing"]).contains("not found"));
}

/// The file with the data is gone: asking fails, and trying does not.
#[test]
fn no_data_are_read() {
    let sandbox = Sandbox::with_people();
    let shown = sandbox.done(&["ask", "people", GROUPED, "--epsilon", "0.5", "--dummy"]);
    std::fs::remove_file(sandbox.path("taximeter.db.gate").join("people.v1.db")).unwrap();
    std::fs::remove_file(sandbox.path("people.csv")).unwrap();
    sandbox.fails(1, &["ask", "people", COUNT, "--epsilon", "0.1"]);
    assert_eq!(sandbox.done(&["ask", "people", GROUPED, "--epsilon", "0.5", "--dummy"]), shown);
    sandbox.done(&["dataset", "dummy", "people", "--rows", "10"]);
}

#[test]
fn the_prompt_tries_questions_too() {
    let sandbox = Sandbox::with_people();
    let mut command = sandbox.command(&["ask", "people", "--epsilon", "0.5"]);
    let output = command.write_stdin(format!("\\dummy {COUNT};\n\\meter\n")).output().unwrap();
    let printed = String::from_utf8(output.stdout).unwrap();
    check_contains(&printed, &["MADE UP", "left", "100.00 %"]);
}
