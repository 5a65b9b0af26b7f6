//! Answers to questions with joins, from both engines, beside an evaluation in the language of the tests.

use std::collections::BTreeMap;

use super::{AIRLINES, Airline, Flight, flights, prepare, setup};
use crate::common::{Setup, answered, request};
use taximeter_gate::{AnswerDocument, Cell};

fn airline(flight: &Flight) -> Option<&'static Airline> {
    AIRLINES.iter().find(|airline| Some(airline.code) == flight.carrier)
}

/// The numbers of every group, by its keys.
type Numbers = BTreeMap<String, Vec<f64>>;

/// Asks at such a price that there is no noise to speak of.
fn ask(setup: &Setup, question: &str) -> Numbers {
    let answer = answered(setup.ask(&request("flights", question, "1000000")));
    let document = AnswerDocument::read(&answer.document).unwrap();
    let mut numbers = Numbers::new();
    for row in &document.rows {
        let keys = row.iter().filter_map(|cell| match cell {
            Cell::Group(value) => Some(value.plain()),
            Cell::Estimate(_) | Cell::Dated(_) => None,
        });
        let values = row.iter().filter_map(Cell::estimate).map(|estimate| estimate.nearest().unwrap_or(f64::NAN));
        numbers.insert(keys.collect::<Vec<_>>().join(" "), values.collect());
    }
    numbers
}

fn check(setup: &Setup, question: &str, expected: &[(&str, &[f64])]) {
    let found = ask(setup, question);
    let names: Vec<&str> = found.keys().map(String::as_str).collect();
    let mut expected: Vec<_> = expected.to_vec();
    expected.sort_by_key(|(name, _)| *name);
    assert_eq!(names, expected.iter().map(|(name, _)| *name).collect::<Vec<_>>(), "{question}");
    for ((name, found), (_, numbers)) in found.iter().zip(&expected) {
        for (found, number) in found.iter().zip(*numbers) {
            assert!((found - number).abs() < 0.01, "{question}: {name} is {found}, and should be {number}");
        }
    }
}

/// Every question beside an evaluation of the same in the language of the tests.
fn check_answers(setup: &Setup) {
    let flights = flights();
    let count = |holds: &dyn Fn(&Flight) -> bool| flights.iter().filter(|flight| holds(flight)).count() as f64;
    let sum = |of: &dyn Fn(&Flight) -> Option<f64>| flights.iter().filter_map(of).sum::<f64>();
    let delay = |flight: &Flight| flight.delay.clamp(-60, 60) as f64;
    let join = "SELECT COUNT(*) FROM flights f JOIN airlines a ON f.carrier = a.code";
    let left = "SELECT COUNT(*) FROM flights f LEFT JOIN airlines a ON a.code = f.carrier";
    let matched = count(&|flight| airline(flight).is_some());
    check(setup, join, &[("", &[matched])]);
    check(setup, left, &[("", &[flights.len() as f64])]);
    check(setup, &format!("{left} WHERE a.code IS NULL"), &[("", &[flights.len() as f64 - matched])]);
    check(
        setup,
        "SELECT COUNT(*) FROM airlines JOIN flights ON code_of = carrier".replace("code_of", "airlines.code").as_str(),
        &[("", &[matched])],
    );

    // Several codes make one group, and rows without a value none.
    let of_alliance = |name: &str| {
        let is = |flight: &Flight| airline(flight).and_then(|airline| airline.alliance) == Some(name);
        [count(&is), sum(&|flight| is(flight).then(|| delay(flight)))]
    };
    let [one, sky] = ["one", "sky"].map(of_alliance);
    for join in ["JOIN", "LEFT JOIN"] {
        let question = format!(
            "SELECT alliance, COUNT(*), SUM(delay) FROM flights {join} airlines ON carrier = airlines.code GROUP BY 1"
        );
        check(setup, &question, &[("lost", &[0.0, 0.0]), ("one", &one), ("sky", &sky)]);
    }

    // Rows without a counterpart, and those of an airline without an alliance, have a group where it is asked for.
    let others = flights.len() as f64 - one[0] - sky[0];
    check(
        setup,
        "SELECT COALESCE(alliance, 'none') AS a, COUNT(*) FROM flights LEFT JOIN airlines ON carrier = airlines.code GROUP BY a",
        &[("lost", &[0.0]), ("none", &[others]), ("one", &one[..1]), ("sky", &sky[..1])],
    );

    // Codes that look like numbers in the public table are text where the dataset has text.
    let at_pier =
        |from: usize, to: usize| (0..flights.len()).filter(|at| (from..=to).contains(&(at % 10))).count() as f64;
    let piers = [("A", &[at_pier(0, 1)][..]), ("B", &[at_pier(2, 2)])];
    check(setup, "SELECT hall, COUNT(*) FROM flights JOIN piers USING (pier) GROUP BY hall", &piers);
    check(
        setup,
        "SELECT SUM(p.pier - 100), COUNT(*) FROM flights f LEFT JOIN piers p ON p.pier = f.pier",
        &[("", &[at_pier(1, 1) + 2.0 * at_pier(2, 2), flights.len() as f64])],
    );

    // Conditions of every type.
    type Holds = fn(&Airline) -> bool;
    let conditions: [(&str, Holds); 9] = [
        ("alliance = 'one'", |airline| airline.alliance == Some("one")),
        ("upper(alliance) LIKE '%NE'", |airline| airline.alliance == Some("one")),
        ("aircraft > 100", |airline| airline.aircraft.is_some_and(|aircraft| aircraft > 100)),
        ("aircraft * 2 - 1 < 0", |airline| airline.aircraft.is_some_and(|aircraft| aircraft * 2 - 1 < 0)),
        ("aircraft IS NULL", |airline| airline.aircraft.is_none()),
        ("rate >= 1.25", |airline| airline.rate >= 1.25),
        ("low_cost", |airline| airline.low_cost),
        ("founded < DATE '1998-08-02'", |airline| airline.founded < "1998-08-02"),
        ("EXTRACT(YEAR FROM founded) = 2000", |airline| airline.founded.starts_with("2000")),
    ];
    for (condition, holds) in conditions {
        let expected = count(&|flight| airline(flight).is_some_and(holds));
        check(setup, &format!("{join} WHERE {condition}"), &[("", &[expected])]);
    }

    // Numbers of both tables together.
    let from = "FROM flights JOIN airlines ON carrier = airlines.code";
    let aircraft = |flight: &Flight| airline(flight)?.aircraft.map(|aircraft| aircraft as f64);
    check(
        setup,
        &format!(
            "SELECT SUM(aircraft), SUM(delay * rate), COUNT(aircraft), SUM(CASE WHEN low_cost THEN delay END) {from}"
        ),
        &[(
            "",
            &[
                sum(&aircraft),
                sum(&|flight| Some(delay(flight) * airline(flight)?.rate)),
                count(&|flight| aircraft(flight).is_some()),
                sum(&|flight| airline(flight)?.low_cost.then(|| delay(flight))),
            ],
        )],
    );

    // Three tables, one of them behind another one, and a key of dates.
    let seat = |name: &str, kind: &str| {
        let is = move |flight: &Flight| {
            let at_home = airline(flight).and_then(|airline| airline.alliance) == Some(name);
            at_home && flight.day <= 30 && (flight.day % 7 == 1) == (kind == "holiday")
        };
        [count(&is)]
    };
    let question = "SELECT seat, kind, COUNT(*) FROM flights f JOIN airlines a ON a.code = f.carrier
        JOIN alliances USING (alliance) JOIN calendar c ON f.day = c.day GROUP BY seat, kind";
    let (none, [first, second]) = ([0.0], [seat("one", "holiday"), seat("one", "workday")]);
    let [third, fourth] = [seat("sky", "holiday"), seat("sky", "workday")];
    let groups: [(&str, &[f64]); 6] = [
        ("Texas holiday", &first),
        ("Texas workday", &second),
        ("Atlanta holiday", &third),
        ("Atlanta workday", &fourth),
        ("nowhere holiday", &none),
        ("nowhere workday", &none),
    ];
    check(setup, question, &groups);

    // A column that both tables have, and one table twice.
    let digits = flights.iter().enumerate().filter(|(at, _)| at % 10 < 4 && at % 2 == 0).count() as f64;
    check(
        setup,
        "SELECT COUNT(*) FROM flights JOIN digits USING (code) WHERE parity = 'even' AND code < 9",
        &[("", &[digits])],
    );
    let twice = "SELECT COUNT(*) FROM flights f JOIN airlines a ON f.carrier = a.code LEFT JOIN airlines b ON b.code = f.carrier
        WHERE a.low_cost AND NOT b.low_cost OR b.alliance = 'sky'";
    check(setup, twice, &[("", &[sky[0]])]);

    // SELECTs of one question join what they like.
    let united = "SELECT 'a' AS what, COUNT(*) AS n FROM flights JOIN airlines ON carrier = airlines.code
        UNION ALL SELECT 'b', COUNT(*) FROM flights JOIN calendar USING (day)";
    let found = answered(setup.ask(&request("flights", united, "1000000")));
    assert!((found.value(0, 1).unwrap() - matched).abs() < 0.01, "{}", found.document);
    assert!((found.value(1, 1).unwrap() - count(&|flight| flight.day <= 30)).abs() < 0.01, "{}", found.document);
}

#[test]
fn joins_are_answered_from_a_file() {
    check_answers(&setup());
}

/// The embedded engine looks every key up, and goes through the rows of the dataset once: anything else takes hours.
#[test]
fn keys_are_looked_up_by_an_index() {
    let setup = setup();
    let file = rusqlite::Connection::open(setup.path().join("gate/flights.v1.db")).unwrap();
    for (from, tables) in [
        ("JOIN airlines a ON carrier = a.code", 1),
        ("LEFT JOIN airlines a ON carrier = a.code", 1),
        (
            "LEFT JOIN airlines a ON carrier = a.code LEFT JOIN alliances USING (alliance) JOIN calendar c ON c.day = flights.day",
            3,
        ),
        ("LEFT JOIN digits d ON d.code = flights.code JOIN airlines a ON carrier = a.code", 2),
    ] {
        for rest in ["", "WHERE low_cost AND aircraft > 3", "GROUP BY a.alliance"] {
            let prepared =
                prepare(&setup, &format!("SELECT COUNT(*), SUM(aircraft) FROM flights {from} {rest}")).unwrap();
            let mut statements = prepared.sql();
            let (sql, parameters) = statements.pop().unwrap();
            statements
                .iter()
                .filter(|(_, rows)| rows.is_empty())
                .for_each(|(create, _)| file.execute_batch(create).unwrap());
            let mut plan = file.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).unwrap();
            let steps = plan.query_map(rusqlite::params_from_iter(parameters), |row| row.get::<_, String>(3)).unwrap();
            let steps: Vec<String> = steps.map(Result::unwrap).collect();
            assert_eq!(steps[0], "SCAN rows", "{sql}: {steps:?}");
            let (looked_up, others): (Vec<&String>, Vec<&String>) =
                steps[1..].iter().partition(|step| step.starts_with("SEARCH public") && step.contains("PRIMARY KEY"));
            assert!(others.is_empty(), "{sql}: {steps:?}");
            // Where rows are read one by one, SQLite leaves out a LEFT JOIN of which no column is used.
            let is_left_out = rest.starts_with("GROUP") && looked_up.len() < tables;
            assert!(looked_up.len() == tables || is_left_out, "{sql}: {steps:?}");
        }
    }
}

#[cfg(feature = "server-tests")]
#[test]
fn joins_are_answered_from_postgres() {
    use super::SCHEMA;
    use crate::common::{account, declaration, rules};
    use taximeter_accounting::FilterRule;
    use taximeter_gate::{Data, Registration};
    use taximeter_testing::{PrivatePostgres, query};

    let (setup, url) = (Setup::new(), PrivatePostgres::shared().new_database().unwrap());
    let row = |(at, flight): (usize, Flight)| {
        let carrier = flight.carrier.map_or("NULL".to_string(), |carrier| format!("'{}'", carrier.replace('\'', "''")));
        format!("({carrier}, {}, '2024-01-{:02}', {}, '{}', '{{}}')", flight.delay, flight.day, at % 10, 100 + at % 10)
    };
    let rows: Vec<String> = flights().into_iter().enumerate().map(row).collect();
    // Columns that cannot be asked about may have the names that the gate itself uses.
    let table = "CREATE TABLE flights (carrier varchar(9), delay int2, day date, code int4, pier text, \"c5\" json)";
    query(&url, &format!("{table}; INSERT INTO flights VALUES {}", rows.join(","))).unwrap();
    let data = Data::Postgres { url, table: "flights".to_string() };
    let rules = Some(rules(FilterRule::Basic, "100000000,1e-6"));
    setup.register(Registration { rules, ..Registration::new(account("flights"), declaration(SCHEMA), data) }).unwrap();
    super::add_tables(&setup);
    check_answers(&setup);
}

/// Tables of few rows with a key of text are functions there, and the others are joined.
#[cfg(feature = "driver-tests")]
#[test]
fn joins_are_answered_from_duckdb() {
    use super::{SCHEMA, flights_csv};
    use crate::common::{account, declaration, rules};
    use taximeter_accounting::FilterRule;
    use taximeter_gate::{CsvEngine, CsvForm, Data, DriverChoice, Registration};

    let setup = Setup::new();
    let (path, form) = (setup.csv(&flights_csv()), CsvForm::default());
    let engine = CsvEngine::Duckdb(DriverChoice::default());
    let data = Data::Csv { path, form, bad_rows: Default::default(), engine };
    let rules = Some(rules(FilterRule::Basic, "100000000,1e-6"));
    setup.register(Registration { rules, ..Registration::new(account("flights"), declaration(SCHEMA), data) }).unwrap();
    super::add_tables(&setup);
    check_answers(&setup);
    for (join, is_function) in [("airlines ON carrier = airlines.code", true), ("calendar USING (day)", false)] {
        let prepared = prepare(&setup, &format!("SELECT COUNT(*) FROM flights JOIN {join}")).unwrap();
        let (sql, _) = prepared.sql().pop().unwrap();
        assert_eq!((sql.contains(" IN ("), sql.contains(" JOIN ")), (is_function, !is_function), "{sql}");
    }
}
