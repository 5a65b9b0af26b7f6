//! Public tables: registering them, and questions that join them to a dataset.

use std::collections::BTreeMap;

use crate::common::{House, account, answered, request, rules};
use taximeter_accounting::FilterRule;
use taximeter_gate::{AnswerDocument, Cell, CsvForm, Error, ErrorKind, Prepared, PublicTable, Value};

/// A flight: its carrier, which may be unknown or missing, a delay, and a day of January.
#[derive(Clone, Copy)]
struct Flight {
    carrier: Option<&'static str>,
    delay: i64,
    day: u32,
}

/// An airline: its alliance, its aircraft and its rate may be missing.
#[derive(Clone, Copy)]
struct Airline {
    code: &'static str,
    alliance: Option<&'static str>,
    aircraft: Option<i64>,
    rate: f64,
    low_cost: bool,
    founded: &'static str,
}

const AIRLINES: [Airline; 5] = [
    Airline {
        code: "AA",
        alliance: Some("one"),
        aircraft: Some(900),
        rate: 1.25,
        low_cost: false,
        founded: "1926-04-15",
    },
    Airline { code: "B6", alliance: None, aircraft: Some(250), rate: -0.5, low_cost: true, founded: "1998-08-01" },
    Airline { code: "DL", alliance: Some("sky"), aircraft: None, rate: 2.0, low_cost: false, founded: "1925-03-02" },
    Airline {
        code: "it's",
        alliance: Some("one"),
        aircraft: Some(-7),
        rate: 0.0,
        low_cost: true,
        founded: "2000-02-29",
    },
    Airline {
        code: "zz",
        alliance: Some("sky"),
        aircraft: Some(40),
        rate: 0.75,
        low_cost: false,
        founded: "2010-12-31",
    },
];

const SCHEMA: &str = r#"
    [columns.carrier]
    type = "text"
    [columns.delay]
    bounds = [-60, 60]
    [columns.day]
    type = "date"
    bounds = ["2024-01-01", "2024-01-31"]
    [columns.code]
    type = "integer"
    bounds = [0, 9]
"#;

/// Of all combinations about equally many, in no order.
fn flights() -> Vec<Flight> {
    let carriers = [Some("AA"), Some("B6"), Some("DL"), Some("it's"), Some("??"), Some("aa"), None];
    let flight = |at: u64| {
        let mixed = at.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 20;
        Flight {
            carrier: carriers[(mixed % 7) as usize],
            delay: (mixed / 7 % 141) as i64 - 70,
            day: (mixed / 1000 % 31) as u32 + 1,
        }
    };
    (1..=700).map(flight).collect()
}

fn flights_csv() -> String {
    let row = |(at, flight): (usize, &Flight)| {
        let Flight { carrier, delay, day } = flight;
        format!("{},{delay},2024-01-{day:02},{}\n", carrier.unwrap_or(""), at % 10)
    };
    let rows: String = flights().iter().enumerate().map(row).collect();
    format!("carrier,delay,day,code\n{rows}")
}

fn airlines_csv() -> String {
    let row = |airline: &Airline| {
        let Airline { code, alliance, aircraft, rate, low_cost, founded } = airline;
        let aircraft = aircraft.map(|aircraft| aircraft.to_string()).unwrap_or_default();
        format!("{code},{},{aircraft},{rate},{low_cost},{founded},\"x, \"\"y\"\"\"\n", alliance.unwrap_or(""))
    };
    // A row without a key has no counterpart, not even a flight without a carrier.
    let rows: String = AIRLINES.iter().map(row).collect();
    format!("code,alliance,aircraft,rate,low_cost,founded,note\n{rows},lost,1,1,true,2001-01-01,\n")
}

fn public(house: &House, name: &str, csv: &str) -> Result<PublicTable, Error> {
    let path = house.path().join(format!("{name}.csv"));
    std::fs::write(&path, csv).unwrap();
    PublicTable::from_csv(account(name), &path, &CsvForm::default())
}

fn add_public(house: &House, name: &str, csv: &str) {
    house.gate.catalog().put_public_table(&public(house, name, csv).unwrap(), false).unwrap();
}

/// Public tables beside flights.
fn add_tables(house: &House) {
    add_public(house, "airlines", &airlines_csv());
    add_public(house, "alliances", "alliance,seat\none,Texas\nsky,Atlanta\nlost,nowhere\n");
    let day = |day: u32| format!("2024-01-{day:02},{}\n", if day % 7 == 1 { "holiday" } else { "workday" });
    add_public(house, "calendar", &format!("day,kind\n{}", (1..=30).map(day).collect::<String>()));
    add_public(house, "digits", "code,parity\n0,even\n1,odd\n2,even\n3,odd\n");
}

fn house() -> House {
    let house = House::new();
    let rules = rules(FilterRule::Basic, "100000000,1e-6");
    house.register(house.registration("flights", &flights_csv(), SCHEMA, Some(rules))).unwrap();
    add_tables(&house);
    house
}

fn airline(flight: &Flight) -> Option<&'static Airline> {
    AIRLINES.iter().find(|airline| Some(airline.code) == flight.carrier)
}

/// The numbers of every group, by its keys.
type Numbers = BTreeMap<String, Vec<f64>>;

/// Asks at such a price that there is no noise to speak of.
fn ask(house: &House, question: &str) -> Numbers {
    let answer = answered(house.ask(&request("flights", question, "1000000")));
    let document = AnswerDocument::read(&answer.document).unwrap();
    let mut numbers = Numbers::new();
    for row in &document.rows {
        let keys = row.iter().filter_map(|cell| match cell {
            Cell::Group(value) => Some(value.plain()),
            Cell::Estimate(_) => None,
        });
        let values = row.iter().filter_map(Cell::estimate).map(|estimate| estimate.nearest().unwrap_or(f64::NAN));
        numbers.insert(keys.collect::<Vec<_>>().join(" "), values.collect());
    }
    numbers
}

fn check(house: &House, question: &str, expected: &[(&str, &[f64])]) {
    let found = ask(house, question);
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
fn check_answers(house: &House) {
    let flights = flights();
    let count = |holds: &dyn Fn(&Flight) -> bool| flights.iter().filter(|flight| holds(flight)).count() as f64;
    let sum = |of: &dyn Fn(&Flight) -> Option<f64>| flights.iter().filter_map(of).sum::<f64>();
    let delay = |flight: &Flight| flight.delay.clamp(-60, 60) as f64;
    let join = "SELECT COUNT(*) FROM flights f JOIN airlines a ON f.carrier = a.code";
    let left = "SELECT COUNT(*) FROM flights f LEFT JOIN airlines a ON a.code = f.carrier";
    let matched = count(&|flight| airline(flight).is_some());
    check(house, join, &[("", &[matched])]);
    check(house, left, &[("", &[flights.len() as f64])]);
    check(house, &format!("{left} WHERE a.code IS NULL"), &[("", &[flights.len() as f64 - matched])]);
    check(
        house,
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
        check(house, &question, &[("lost", &[0.0, 0.0]), ("one", &one), ("sky", &sky)]);
    }

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
        check(house, &format!("{join} WHERE {condition}"), &[("", &[expected])]);
    }

    // Numbers of both tables together.
    let from = "FROM flights JOIN airlines ON carrier = airlines.code";
    let aircraft = |flight: &Flight| airline(flight)?.aircraft.map(|aircraft| aircraft as f64);
    check(
        house,
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
    check(house, question, &groups);

    // A column that both tables have, and one table twice.
    let digits = flights.iter().enumerate().filter(|(at, _)| at % 10 < 4 && at % 2 == 0).count() as f64;
    check(
        house,
        "SELECT COUNT(*) FROM flights JOIN digits USING (code) WHERE parity = 'even' AND code < 9",
        &[("", &[digits])],
    );
    let twice = "SELECT COUNT(*) FROM flights f JOIN airlines a ON f.carrier = a.code LEFT JOIN airlines b ON b.code = f.carrier
        WHERE a.low_cost AND NOT b.low_cost OR b.alliance = 'sky'";
    check(house, twice, &[("", &[sky[0]])]);

    // SELECTs of one question join what they like.
    let united = "SELECT 'a' AS what, COUNT(*) AS n FROM flights JOIN airlines ON carrier = airlines.code
        UNION ALL SELECT 'b', COUNT(*) FROM flights JOIN calendar USING (day)";
    let found = answered(house.ask(&request("flights", united, "1000000")));
    assert!((found.value(0, 1).unwrap() - matched).abs() < 0.01, "{}", found.document);
    assert!((found.value(1, 1).unwrap() - count(&|flight| flight.day <= 30)).abs() < 0.01, "{}", found.document);
}

#[test]
fn joins_are_answered_from_a_file() {
    check_answers(&house());
}

/// The embedded engine looks every key up, and goes through the rows of the dataset once: anything else takes hours.
#[test]
fn keys_are_looked_up_by_an_index() {
    let house = house();
    let file = rusqlite::Connection::open(house.path().join("gate/flights.v1.db")).unwrap();
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
                prepare(&house, &format!("SELECT COUNT(*), SUM(aircraft) FROM flights {from} {rest}")).unwrap();
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
            let looked_up =
                steps.iter().filter(|step| step.starts_with("SEARCH public") && step.contains("PRIMARY KEY"));
            assert_eq!(looked_up.count(), tables, "{sql}: {steps:?}");
        }
    }
}

#[cfg(feature = "server-tests")]
#[test]
fn joins_are_answered_from_postgres() {
    use crate::common::declaration;
    use taximeter_gate::{Data, Registration};
    use taximeter_testing::{PrivatePostgres, query};

    let (house, url) = (House::new(), PrivatePostgres::shared().new_database().unwrap());
    let row = |(at, flight): (usize, Flight)| {
        let carrier = flight.carrier.map_or("NULL".to_string(), |carrier| format!("'{}'", carrier.replace('\'', "''")));
        format!("({carrier}, {}, '2024-01-{:02}', {}, '{{}}')", flight.delay, flight.day, at % 10)
    };
    let rows: Vec<String> = flights().into_iter().enumerate().map(row).collect();
    // Columns that cannot be asked about may have the names that the gate itself uses.
    let table = "CREATE TABLE flights (carrier varchar(9), delay int2, day date, code int4, \"c5\" json)";
    query(&url, &format!("{table}; INSERT INTO flights VALUES {}", rows.join(","))).unwrap();
    let data = Data::Postgres { url, table: "flights".to_string() };
    let rules = Some(rules(FilterRule::Basic, "100000000,1e-6"));
    house.register(Registration { rules, ..Registration::new(account("flights"), declaration(SCHEMA), data) }).unwrap();
    add_tables(&house);
    check_answers(&house);
}

fn prepare(house: &House, question: &str) -> Result<Prepared, Error> {
    Prepared::new(house.gate.catalog(), &request("flights", question, "1"))
}

#[test]
fn one_join_is_written_in_one_way() {
    let house = house();
    for (question, canonical) in [
        (
            "select A.Alliance, count(*) from FLIGHTS as f inner join AIRLINES a on (a.CODE = f.carrier) group by alliance",
            "SELECT alliance, COUNT(*) FROM flights INNER JOIN airlines ON (airlines.code = carrier) GROUP BY alliance",
        ),
        (
            "SELECT COUNT(*) FROM flights f LEFT JOIN digits d USING (CODE) WHERE d.code IS NULL AND f.code = 3 AND code > 1",
            "SELECT COUNT(*) FROM flights LEFT JOIN digits USING(code) WHERE digits.code IS NULL AND code = 3 AND code > 1",
        ),
        (
            "SELECT COUNT(*) FROM flights x JOIN airlines y ON carrier = y.code JOIN airlines z ON carrier = z.code WHERE z.low_cost",
            "SELECT COUNT(*) FROM flights JOIN airlines ON carrier = airlines.code JOIN airlines AS \"airlines 2\" ON carrier = \
             \"airlines 2\".code WHERE \"airlines 2\".low_cost",
        ),
        (
            "SELECT COUNT(*) FROM airlines a JOIN flights f ON f.carrier = a.code",
            "SELECT COUNT(*) FROM flights JOIN airlines ON carrier = airlines.code",
        ),
        (
            "SELECT COUNT(*) FROM flights JOIN digits ON flights.code = digits.code",
            "SELECT COUNT(*) FROM flights JOIN digits ON flights.code = digits.code",
        ),
    ] {
        let written = |text: &str| match prepare(&house, text) {
            Ok(prepared) => prepared.canonical().to_string(),
            Err(error) => panic!("{text}: {error}"),
        };
        assert_eq!(written(question), canonical, "{question}");
        assert_eq!(written(canonical), canonical, "{question}");
    }
}

#[test]
fn what_cannot_be_joined_is_refused_where_it_is_written() {
    let house = house();
    house
        .register(house.registration("people", "carrier\nAA\n", "", Some(rules(FilterRule::Basic, "1,1e-6"))))
        .unwrap();
    add_public(&house, "again", "code,name\nAA,x\nAA,x\n");
    for (question, at, why) in [
        ("SELECT COUNT(*) FROM flights f JOIN flights g ON f.code = g.code", "flights g", "not joined to itself"),
        ("SELECT COUNT(*) FROM flights f JOIN people p ON f.carrier = p.carrier", "people", "not a public table"),
        ("SELECT COUNT(*) FROM flights JOIN nothing ON carrier = x", "nothing", "not a public table"),
        ("SELECT COUNT(*) FROM flights JOIN again a ON carrier = a.code", "again", "has no column that could be a key"),
        ("SELECT COUNT(*) FROM flights JOIN airlines ON carrier = alliance", "airlines", "its keys are code"),
        ("SELECT COUNT(*) FROM flights JOIN airlines a ON carrier > a.code", "carrier", "equality of one column"),
        ("SELECT COUNT(*) FROM flights JOIN airlines a ON carrier = a.code AND low_cost", "carrier", "behind WHERE"),
        ("SELECT COUNT(*) FROM flights JOIN airlines a ON a.code = a.note", "a.code", "equality of one column"),
        ("SELECT COUNT(*) FROM flights JOIN airlines a ON upper(carrier) = a.code", "upper", "equality of one column"),
        ("SELECT COUNT(*) FROM flights JOIN airlines a ON delay = a.code", "airlines", "join columns of one type"),
        ("SELECT COUNT(*) FROM flights JOIN airlines ON carrier = code", "code", "several tables have a column"),
        ("SELECT COUNT(*) FROM flights JOIN airlines", "airlines", "say which columns are equal"),
        ("SELECT COUNT(*) FROM flights JOIN airlines USING (carrier)", "carrier", "both tables must have"),
        ("SELECT COUNT(*) FROM flights, airlines WHERE carrier = airlines.code", "airlines", "JOIN … ON"),
        ("SELECT COUNT(*) FROM flights CROSS JOIN airlines", "CROSS", "other joins are not answered"),
        ("SELECT COUNT(*) FROM flights NATURAL JOIN digits", "NATURAL", "other joins are not answered"),
        ("SELECT COUNT(*) FROM flights RIGHT JOIN digits USING (code)", "RIGHT", "other joins are not answered"),
        ("SELECT COUNT(*) FROM flights FULL JOIN digits USING (code)", "FULL", "other joins are not answered"),
        (
            "SELECT COUNT(*) FROM airlines a LEFT JOIN flights f ON f.carrier = a.code",
            "airlines",
            "ask FROM \"flights\"",
        ),
        (
            "SELECT COUNT(*) FROM flights JOIN digits x USING (code) JOIN airlines x ON carrier = x.code",
            "x ON",
            "two tables are called",
        ),
        (
            "SELECT COUNT(*) FROM flights f JOIN airlines a ON f.carrier = a.code WHERE a.carrier = 'x'",
            "carrier = 'x'",
            "has no column",
        ),
        (
            "SELECT COUNT(*) FROM flights f JOIN airlines a ON f.carrier = a.code WHERE b.code = 'x'",
            "b.code",
            "not found",
        ),
        ("SELECT a.note, COUNT(*) FROM flights f JOIN airlines a ON f.carrier = a.code", "note", "must be in GROUP BY"),
        (
            "SELECT COUNT(*) FROM flights JOIN digits a USING (code) JOIN digits b USING (code) JOIN digits c USING (code) JOIN digits d \
             USING (code)",
            "digits d",
            "at most 3 public tables",
        ),
    ] {
        let error = prepare(&house, question).err().unwrap_or_else(|| panic!("{question} is answered"));
        assert!(error.to_string().contains(why), "{question}: {error}");
        let begins = error.position().map(|position| &question[position - 1..]);
        assert!(begins.is_some_and(|rest| rest.starts_with(at)), "{question}: {error}, at {begins:?}");
    }
}

#[test]
fn the_protected_unit_is_not_shown_through_a_key_that_equals_it() {
    let house = House::new();
    let schema = "unit = { column = \"person\", max_rows_per_unit = 1 }";
    house.add("flights", "person,age\nann,1\nbob,2\n", schema, "10,1e-6");
    add_public(&house, "towns", "name,town\nann,Ulm\nbob,Bonn\n");
    let from = "FROM flights JOIN towns ON person = name GROUP BY";
    prepare(&house, &format!("SELECT town, COUNT(*) {from} town")).unwrap();
    let error = prepare(&house, &format!("SELECT name, COUNT(*) {from} name")).err().unwrap();
    assert!(error.to_string().contains("what is protected"), "{error}");
}

#[test]
fn another_content_of_a_public_table_is_another_question() {
    let house = house();
    let joined = request("flights", "SELECT COUNT(*) FROM flights JOIN digits USING (code)", "1000000");
    let first = answered(house.ask(&joined));
    assert_eq!(answered(house.ask(&joined)).document, first.document);
    let catalog = house.gate.catalog();
    let newer = public(&house, "digits", "code,parity\n0,even\n").unwrap();
    catalog.put_public_table(&newer, true).unwrap();
    let error = house.gate.ask(&joined).err().unwrap();
    assert!(matches!(error.kind(), ErrorKind::KeyTaken { .. }), "{error}");
    let again = answered(house.ask(&request("flights", &joined.question, "1000000")));
    assert!((again.value(0, 0).unwrap() - 70.0).abs() < 0.01 && (first.value(0, 0).unwrap() - 280.0).abs() < 0.01);
}

#[test]
fn a_public_table_has_the_types_of_its_fields() {
    let house = House::new();
    let table = public(&house, "airlines", &airlines_csv()).unwrap();
    let known = |at: usize| {
        let column = &table.columns()[at];
        let bounds =
            column.bounds().map(|bounds| [bounds.low(), bounds.high(), bounds.grid()].map(|end| end.to_string()));
        (column.name().to_string(), column.kind().name(), bounds.map(|bounds| bounds.join(" ")))
    };
    let bounds = |text: &str| Some(text.to_string());
    assert_eq!(known(0), ("code".to_string(), "text", None));
    assert_eq!(known(2), ("aircraft".to_string(), "integer", bounds("-7 900 1")));
    assert_eq!(known(3), ("rate".to_string(), "decimal", bounds("-0.5 2 0.01")));
    assert_eq!(known(4), ("low_cost".to_string(), "boolean", None));
    assert_eq!(known(5).1, "date");
    let texts = |at: usize| table.columns()[at].categories().unwrap().iter().map(Value::plain).collect::<Vec<_>>();
    assert_eq!(texts(1), ["lost", "one", "sky"]);
    assert_eq!(texts(6), ["x, \"y\""]);
    assert_eq!(table.row_count(), AIRLINES.len() + 1);
}

#[test]
fn what_is_no_public_table_is_refused() {
    let house = House::new();
    let many = format!("code\n{}", (0..10_001).map(|row| format!("{row}\n")).collect::<String>());
    let long =
        format!("code,text\n{}", (0..1100).map(|row| format!("{row},{}\n", "x".repeat(999))).collect::<String>());
    let wide = (0..65).map(|column| format!("c{column}")).collect::<Vec<_>>().join(",");
    for (csv, why) in [
        ("code\n", "it has 0 rows"),
        (many.as_str(), "at most 10000 rows"),
        (long.as_str(), "at most 10000 rows and 1048576 bytes"),
        (format!("{wide}\n{wide}\n").as_str(), "it has 65 columns"),
        ("code,name\n1,\n2,\n", "no value in any row"),
        ("code,Code\n1,2\n", "have the same name"),
        ("code,name\n1\n", "line 2: it has 1 fields, and the header 2"),
        ("code,rate\n1,1.5\n2,1e-9\n", "line 3, column \"rate\""),
        (format!("code\n{}\n", "x".repeat(1001)).as_str(), "longer than 1000 bytes"),
    ] {
        let error = public(&house, "codes", csv).unwrap_err();
        assert!(error.is_input() && error.to_string().contains(why), "{error}");
    }
}

#[test]
fn a_name_belongs_to_one_table() {
    let house = house();
    let catalog = house.gate.catalog();
    let table = |name: &str| public(&house, name, "code\n1\n").unwrap();
    let error = |result: Result<(), Error>| result.unwrap_err();
    assert!(matches!(error(catalog.put_public_table(&table("Flights"), true)).kind(), ErrorKind::NameTaken(..)));
    assert!(matches!(error(catalog.put_public_table(&table("DIGITS"), false)).kind(), ErrorKind::PublicTableExists(_)));
    let dataset = house.registration("digits", "code\n1\n", "", Some(rules(FilterRule::Basic, "1,1e-6")));
    assert!(matches!(house.register(dataset.clone()).unwrap_err().kind(), ErrorKind::NameTaken(..)));
    catalog.remove_public_table(&account("digits")).unwrap();
    assert!(matches!(error(catalog.remove_public_table(&account("digits"))).kind(), ErrorKind::NoPublicTable(_)));
    house.register(dataset).unwrap();
    let names: Vec<String> = catalog.public_tables().unwrap().iter().map(|table| table.name().to_string()).collect();
    assert_eq!(names, ["airlines", "alliances", "calendar"]);
    assert_eq!(
        catalog.public_table(&account("airlines")).unwrap(),
        public(&house, "airlines", &airlines_csv()).unwrap()
    );
}
