//! Bounds: how much noise they mean, and which ones to declare.

use serde_json::Value;

use crate::sandbox::{Sandbox, check_contains, here_and_at_a_server};

here_and_at_a_server! {
    the_noise_of_sums_stands_beside_the_bounds,
    bounds_are_suggested_for_the_price_that_was_offered,
    what_cannot_be_suggested_is_not_charged,
}

fn the_noise_of_sums_stands_beside_the_bounds(sandbox: &Sandbox) {
    sandbox.add_people();
    check_contains(&sandbox.done(&["dataset", "show", "people"]), &["SUM at ε = 0.1", "± 3,595"]);
    let add =
        ["dataset", "add", "wide", "people.csv", "--unit", "row", "--bounds", "age=0..1200", "--budget", "1,1e-6"];
    let added = sandbox.document(0, &add);
    let question = "SELECT SUM(age) FROM wide";
    let explained = sandbox.document(0, &["ask", "wide", question, "--epsilon", "0.1", "--explain"]);
    let half_width = &explained["parts"][0]["half_width"];
    let sums = &added["sums"];
    assert_eq!((&sums["epsilon"], &sums["columns"][0]["column"]), (&"0.1".into(), &"age".into()));
    assert_eq!(&sums["columns"][0]["half_width"], half_width);
    assert_eq!(sums["columns"].as_array().unwrap().len(), 1, "text has no sum: {sums}");
    assert_eq!(sandbox.document(0, &["dataset", "show", "wide"])["sums"], *sums);
    assert!(half_width.as_f64().unwrap() > 30_000.0, "{half_width}");
}

/// Adds a dataset of 4,000 incomes of four kinds, without bounds.
fn add_incomes(sandbox: &Sandbox, budget: &str) {
    let income = |row: usize| ["1100,2.5,x", "5000,0.75,y", "20000,40,x", "60000,,"][row % 4];
    let rows: String = (0..4_000).map(|row| format!("{}\n", income(row))).collect();
    std::fs::write(sandbox.path("incomes.csv"), format!("income,fee,letter\n{rows}")).unwrap();
    let add =
        ["dataset", "add", "incomes", "incomes.csv", "--unit", "row", "--type", "fee=decimal", "--budget", budget];
    sandbox.done(&add);
}

fn suggest<'a>(column: &'a str, epsilon: &'a str) -> [&'a str; 7] {
    ["dataset", "suggest-bounds", "incomes", "--column", column, "--epsilon", epsilon]
}

fn account(sandbox: &Sandbox) -> Value {
    sandbox.document(0, &["account", "show", "incomes"])
}

fn bounds_are_suggested_for_the_price_that_was_offered(sandbox: &Sandbox) {
    add_incomes(sandbox, "101,1e-6");
    let shown = sandbox.done(&suggest("Income", "40"));
    assert_eq!(
        shown,
        "income: nearly all values are from 1024 to 65536; declare them with --bounds income=1024..65536 and --new-version\n"
    );
    let document = sandbox.document(0, &suggest("fee", "40"));
    let expected = serde_json::json!({ "low": "0.5", "high": "64" });
    assert_eq!((&document["column"], &document["bounds"]), (&"fee".into(), &expected));
    let paid = account(sandbox);
    assert_eq!((&paid["charges"], &paid["filter"]["spent"]["epsilon"]), (&2.into(), &"80".into()), "{paid}");
    // The suggestion is declared as it is printed.
    let add = ["dataset", "add", "incomes", "incomes.csv", "--new-version", "--bounds", "income=1024..65536"];
    assert_eq!(sandbox.document(0, &add)["sums"]["columns"][0]["column"], "income");
    // Where the noise hides every bucket, the price is paid, too. Once in a hundred answers it looks like rows.
    let hidden = || sandbox.done(&suggest("income", "0.0001")).contains("the noise is larger than every bucket");
    assert!((0..3).any(|_| hidden()));
    assert!(account(sandbox)["charges"].as_u64() > Some(2));
}

fn what_cannot_be_suggested_is_not_charged(sandbox: &Sandbox) {
    add_incomes(sandbox, "1,1e-6");
    for (column, epsilon, said) in [
        ("wage", "0.1", "the columns are income, fee, letter"),
        ("letter", "0.1", "it holds text; bounds are suggested for integer, real and decimal columns"),
        ("income", "much", "--epsilon"),
        ("income", "-1", "--epsilon"),
        ("income", "0", "spend more"),
    ] {
        let message = sandbox.fails(2, &suggest(column, epsilon));
        assert!(message.contains(said), "{column} {epsilon}: {message}");
    }
    sandbox.ends(3, &suggest("income", "40"));
    assert_eq!(account(sandbox)["charges"], 0);
    sandbox.fails(2, &["dataset", "suggest-bounds", "nothing", "--column", "income", "--epsilon", "0.1"]);
}
