//! Questions tried on made-up rows.

use taximeter_accounting::FilterRule;
use taximeter_gate::{
    AnswerDocument, CsvEngine, Declaration, DummyAnswer, Prepared, Price, Registration, Request, dummy_csv,
};

use crate::common::{Setup, account, amount, answered, request, rules};
use crate::corpus;

const SCHEMA: &str = r#"
    unit = "row"
    [columns.age]
    bounds = [0, 120]
    [columns.region]
    categories = ["north", "south"]
"#;

const QUESTION: &str = "SELECT region, COUNT(*) AS n, AVG(age), MEDIAN(age) FROM people GROUP BY region";

fn setup() -> Setup {
    let setup = Setup::new();
    setup.add("people", "age,region\n30,north\n40,south\n", SCHEMA, "1,1e-6");
    setup
}

fn dummy(setup: &Setup, question: &str, epsilon: &str) -> DummyAnswer {
    DummyAnswer::new(setup.gate.catalog(), &request("people", question, epsilon), DummyAnswer::ROWS).unwrap()
}

/// The data file is away, then another file is in its place, then it is damaged: what touches the data fails, and this does not.
#[test]
fn data_are_never_touched() {
    let setup = setup();
    let before = (dummy(&setup, QUESTION, "0.5"), setup.gate.ledger().position());
    let file = setup.path().join("gate").join("people.v1.db");
    let whole = std::fs::read(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    let fails = || setup.gate.ask(&request("people", QUESTION, "0.1")).is_err();
    for poison in [None, Some(&b"no database at all"[..]), Some(&whole[..whole.len() / 2])] {
        std::fs::remove_file(&file).or_else(|error| if file.exists() { Err(error) } else { Ok(()) }).unwrap();
        if let Some(bytes) = poison {
            std::fs::write(&file, bytes).unwrap();
        }
        assert_eq!(dummy(&setup, QUESTION, "0.5"), before.0);
        assert!(poison.is_some_and(|bytes| bytes.len() > 100) || fails(), "the data are there");
    }
    assert_eq!(setup.gate.ledger().position(), before.1, "nothing was charged");
    assert_eq!(setup.charges("people"), 0);
}

#[test]
fn an_answer_has_the_form_of_a_real_one_and_says_that_it_is_made_up() {
    let setup = setup();
    let made_up = dummy(&setup, QUESTION, "0.5");
    let real = answered(setup.ask(&request("people", QUESTION, "0.5")));
    let real = AnswerDocument::read(&real.document).unwrap();
    assert!(made_up.dummy && made_up.dummy_rows == 1000);
    assert_eq!((&made_up.question, &made_up.protects, made_up.cost), (&real.question, &real.protects, real.cost));
    assert_eq!((&made_up.columns, made_up.rows.len()), (&real.columns, real.rows.len()));
    // A thousand rows, about half of them in the north, with noise of scale 2 or so.
    let count = made_up.rows[0][1].estimate().unwrap();
    let nearest = count.nearest().unwrap();
    assert!((400.0..600.0).contains(&nearest) && count.interval.is_some(), "{nearest}");
    // The same question has the same made-up answer; at another price it has other noise.
    assert_eq!(dummy(&setup, QUESTION, "0.5"), made_up);
    assert_ne!(dummy(&setup, QUESTION, "0.4").rows, made_up.rows);
    // What is not understood is refused as it would be.
    let wrong = request("people", "SELECT age FROM people", "0.5");
    let error = DummyAnswer::new(setup.gate.catalog(), &wrong, 10).unwrap_err();
    assert_eq!(error.position(), Prepared::new(setup.gate.catalog(), &wrong).err().unwrap().position());
    for rows in [0, DummyAnswer::MOST_ROWS + 1] {
        let request = request("people", QUESTION, "0.5");
        assert!(DummyAnswer::new(setup.gate.catalog(), &request, rows).unwrap_err().is_input());
    }
}

#[test]
fn the_noise_is_that_of_the_price() {
    let setup = setup();
    let width = |epsilon: &str| {
        let answer = dummy(&setup, "SELECT COUNT(*) FROM people", epsilon);
        let interval = answer.rows[0][0].estimate().unwrap().interval.clone().unwrap();
        let [low, high] = interval.map(|end| end.as_f64().unwrap());
        // The number without noise is known here.
        assert!((low..=high).contains(&1000.0), "{low} to {high}");
        high - low
    };
    assert_eq!(width("1000"), 0.0);
    assert!(width("0.05") > 90.0);
}

#[test]
fn two_datasets_are_joined_as_they_would_be() {
    let setup = Setup::new();
    let unit = |most: u32| format!("unit = {{ column = \"person\", max_rows_per_unit = {most} }}\n");
    setup.add("people", "person,age\na,30\n", &(unit(1) + "[columns.age]\nbounds = [0, 120]"), "1,1e-6");
    setup.add("visits", "person,cost\na,3\n", &(unit(3) + "[columns.cost]\nbounds = [0, 100]"), "1,1e-6");
    let sql = "SELECT COUNT(*) FROM visits JOIN people ON visits.person = people.person WHERE age < 200";
    let answer = DummyAnswer::new(setup.gate.catalog(), &request("visits", sql, "100"), 1000).unwrap();
    // Every made-up visitor is one of the made-up people.
    assert_eq!(answer.rows[0][0].estimate().unwrap().nearest(), Some(1000.0));
    assert_eq!(answer.joined.unwrap().dataset, account("people"));
}

/// Which groups of a unit count is decided by a secret of each dataset, and no made-up answer may tell anything about it.
#[test]
fn an_answer_depends_on_no_secret_of_the_dataset() {
    let answers = [(); 3].map(|()| {
        let setup = Setup::new();
        let schema = "unit = { column = \"person\", max_rows_per_unit = 4 }";
        setup.add("visits", "person,town\na,Kiel\n", schema, "1,1e-6");
        let price = Price::Approximate { epsilon: amount("5"), delta: amount("1e-6") };
        let sql = "SELECT town, COUNT(*) FROM visits GROUP BY town";
        let request = Request::new(&account("visits"), sql, price).unwrap();
        let limited = Request { max_groups_per_unit: Some(1), ..request.clone() };
        [request, limited].map(|request| DummyAnswer::new(setup.gate.catalog(), &request, 1000).unwrap())
    });
    assert!(answers.iter().all(|answer| *answer == answers[0]));
    let [all, limited] = &answers[0];
    assert!(all.rows.len() == 20 && limited.rows != all.rows);
}

/// An answer takes a few seconds at most, however many columns there are.
#[test]
fn many_columns_have_fewer_rows() {
    let setup = Setup::new();
    let names: Vec<String> = (0..100).map(|column| format!("c{column}")).collect();
    let csv = format!("{}\n{}\n", names.join(","), vec!["1"; 100].join(","));
    setup.add("wide", &csv, "unit = \"row\"", "1,1e-6");
    let request = request("wide", "SELECT COUNT(*) FROM wide", "1");
    assert!(DummyAnswer::new(setup.gate.catalog(), &request, 10_000).is_ok());
    let error = DummyAnswer::new(setup.gate.catalog(), &request, 10_001).unwrap_err();
    assert!(error.is_input() && error.to_string().contains("at most 10000 made-up rows"), "{error}");
}

/// Everything that analysts ask can be tried, and made-up rows are rows that could be registered.
#[test]
fn the_whole_corpus_can_be_tried() {
    for name in ["labour", "health", "flights"] {
        let setup = corpus::setup(name, CsvEngine::Sqlite);
        let charged = setup.charges(name);
        for question in
            ["questions.sql", "more.sql", "styles.sql"].iter().flat_map(|file| corpus::questions(name, file))
        {
            let price = Price::Approximate { epsilon: amount("20"), delta: amount("1e-6") };
            let request = Request::new(&account(name), &question, price).unwrap();
            let answer = DummyAnswer::new(setup.gate.catalog(), &request, 200);
            assert!(answer.is_ok(), "{question}: {}", answer.unwrap_err());
        }
        assert_eq!(setup.charges(name), charged);
        let declaration = Declaration::of(&setup.gate.catalog().dataset(&account(name)).unwrap().schema);
        let csv: String = dummy_csv(&declaration, 300).unwrap().collect();
        let other = Setup::new();
        let registration = other.registration("again", &csv, "", None);
        let rules = Some(rules(FilterRule::Residue, "1,1e-6"));
        let imported = other.register(Registration { declaration, rules, ..registration }).unwrap().imported;
        let rows = imported.unwrap();
        assert_eq!((rows.rows, rows.kept, rows.bad_rows, rows.without_unit), (300, 300, 0, 0), "{name}");
    }
}
