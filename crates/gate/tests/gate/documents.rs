//! The questions in docs/questions.md are answered.

use crate::common::{Setup, account, amount, answered};
use taximeter_accounting::{Budget, FilterRule, FilterSpec, OdometerRule, OdometerSpec};
use taximeter_gate::{Price, Request, Rules};

const SCHEMA: &str = r#"
unit = { column = "person", max_rows_per_unit = 2 }
[columns.age]
bounds = [0, 120]
[columns.income]
type = "real"
bounds = [0, 200000]
grid = 0.5
[columns.region]
categories = ["north", "south"]
[columns.born]
bounds = ["1920-01-01", "2020-12-31"]
"#;

fn people() -> String {
    let row = |person: u32| {
        let region = ["north", "south"][person as usize % 2];
        let job = ["nurse", "none", "", "pilot"][person as usize % 4];
        let (age, income) = (20 + person % 70, (person * 617) % 150_000);
        format!("{person},{age},{income}.5,{region},{job},{}-03-01\n", 2020 - age)
    };
    "person,age,income,region,job,born\n".to_string() + &(0..2_000).map(row).collect::<String>()
}

#[test]
fn every_question_of_the_document_is_answered() {
    let setup = Setup::new();
    let budget = Budget::parse("10000,0.5").unwrap().with_mechanism_delta(amount("0.4")).unwrap();
    let rules = || Rules {
        filter: Some(FilterSpec::new(FilterRule::Basic, budget)),
        odometer: OdometerSpec::beside(OdometerRule::RenyiMixture, &budget),
    };
    setup.register(setup.registration("people", &people(), SCHEMA, Some(rules()))).unwrap();
    let jobs =
        "job,sector,usual_income,licensed\nnurse,health,42000.50,true\npilot,transport,90000,true\nnone,,0,false\n";
    setup.add_public("jobs", &setup.csv(jobs));
    let visit = |row: u32| format!("{},{},w{}\n", row % 900, row % 250, row % 2);
    let visits = "person,cost,ward\n".to_string() + &(0..3_000).map(visit).collect::<String>();
    let schema = "unit = { column = \"person\", max_rows_per_unit = 3 }\n[columns.cost]\nbounds = [0, 500]\n\
                  [columns.ward]\ncategories = [\"w0\", \"w1\"]";
    setup.register(setup.registration("visits", &visits, schema, Some(rules()))).unwrap();
    let document = include_str!("../../../../docs/questions.md");
    let questions: Vec<&str> = document.split("```sql\n").skip(1).filter_map(|rest| rest.split("```").next()).collect();
    assert!(questions.len() >= 8, "{}", questions.len());
    for question in questions {
        let price = Price::Approximate { epsilon: amount("50"), delta: amount("1e-6") };
        let request = Request::new(&account("people"), question, price).unwrap();
        answered(setup.ask(&request));
    }
}
