//! Two datasets joined on the unit of both: what is answered, who pays, and what is refused.

use taximeter_accounting::FilterRule;
use taximeter_gate::{Answer, ErrorKind, GateOutcome, JoinableDatasets, Origin, Prepared, Registration, Request};
use taximeter_ledger::Key;

use crate::common::{Setup, account, amount, answered, document, request, rules};

const PEOPLE: &str = r#"
    unit = { column = "person", max_rows_per_unit = 1 }
    [columns.age]
    bounds = [0, 120]
    [columns.region]
    categories = ["north", "south"]
"#;

const VISITS: &str = r#"
    unit = { column = "person", max_rows_per_unit = 3 }
    [columns.cost]
    bounds = [0, 100]
    [columns.age]
    bounds = [0, 10]
"#;

/// 100 people; of the first 60, every third has three visits, and the others one. Two more visitors are no known people.
fn people_csv() -> String {
    let row = |n: u32| format!("p{n},{},{}\n", 20 + n % 50, ["north", "south"][n as usize % 2]);
    format!("person,age,region\n{},30,north\n", (0..100).map(row).collect::<String>())
}

fn visits_csv() -> String {
    let row = |n: u32| format!("p{n},{},{},w{}\n", n % 7, 1, n % 2).repeat(if n.is_multiple_of(3) { 3 } else { 1 });
    format!("person,cost,age,ward\n{}x1,5,1,w0\nx2,5,1,w0\n,5,1,w0\n", (0..60).map(row).collect::<String>())
}

/// Joined rows, as (person's number, region, cost).
fn joined() -> Vec<(u32, &'static str, u32)> {
    let rows = |n: u32| vec![(n, ["north", "south"][n as usize % 2], n % 7); if n.is_multiple_of(3) { 3 } else { 1 }];
    (0..60).flat_map(rows).collect()
}

fn setup() -> Setup {
    let setup = Setup::new();
    for (name, csv, schema) in [("people", people_csv(), PEOPLE), ("visits", visits_csv(), VISITS)] {
        let rules = Some(rules(FilterRule::Basic, "1000000,1e-6"));
        setup.register(Registration { reuse: true, ..setup.registration(name, &csv, schema, rules) }).unwrap();
    }
    setup
}

/// A number of an answer, almost without noise.
fn value(setup: &Setup, question: &str) -> f64 {
    answered(setup.ask(&request("people", question, "20000"))).value(0, 0).unwrap().round()
}

const COUNT: &str = "SELECT COUNT(*) FROM people JOIN visits USING (person)";

#[test]
fn every_row_of_a_unit_meets_each_of_its_rows_in_the_other_dataset() {
    let setup = setup();
    let ask = |question: &str| value(&setup, question);
    let all = joined();
    assert_eq!(ask(COUNT), all.len() as f64);
    assert_eq!(ask("SELECT COUNT(*) FROM visits v JOIN people p ON v.person = p.person"), all.len() as f64);
    assert_eq!(ask("SELECT COUNT(DISTINCT v.person) FROM people p JOIN visits v ON p.person = v.person"), 60.0);
    let cost: u32 = all.iter().map(|(_, _, cost)| cost).sum();
    assert_eq!(ask("SELECT SUM(cost) FROM people JOIN visits USING (person)"), f64::from(cost));
    // Both have a column of this name, with other bounds.
    let ages: u32 = all.iter().map(|(n, ..)| 20 + n % 50 + 1).sum();
    assert_eq!(ask("SELECT SUM(p.age + v.age) FROM people p JOIN visits v USING (person)"), f64::from(ages));
    let south = all.iter().filter(|(n, region, _)| *region == "south" && n % 2 == 1).count();
    let where_both = "WHERE region = 'south' AND ward = 'w1' AND ward IN ('w1', 'w2')";
    let grouped = format!("SELECT ward, COUNT(*) FROM people JOIN visits USING (person) {where_both} GROUP BY ward");
    let answer = answered(setup.ask(&request("people", &grouped, "20000")));
    assert_eq!((answer.value(0, 1).unwrap().round(), answer.value(1, 1)), (south as f64, None));
    assert_eq!(ask("SELECT COUNT(*) FROM people LEFT JOIN visits USING (person)"), (all.len() + 40) as f64);
    assert_eq!(ask("SELECT COUNT(*) FROM people p LEFT JOIN visits v USING (person) WHERE v.person IS NULL"), 40.0);
    assert_eq!(ask("SELECT MAX(cost) FROM people JOIN visits USING (person)"), 6.0);
    // A SELECT of one dataset alone beside one of both.
    let share = "SELECT COUNT(*) * 100 / (SELECT COUNT(*) FROM people) AS share FROM people JOIN visits USING (person)";
    assert_eq!(ask(share), all.len() as f64);
    std::fs::write(setup.path().join("wards.csv"), "ward,beds\nw0,10\nw1,20\n").unwrap();
    setup.add_public("wards", &setup.path().join("wards.csv"));
    let beds: u32 = all.iter().map(|(n, ..)| 10 + 10 * (n % 2)).sum();
    let three = "FROM people JOIN visits USING (person) JOIN wards w ON visits.ward = w.ward";
    assert_eq!(ask(&format!("SELECT SUM(beds) {three}")), f64::from(beds));
    let clamped = Request { count_clamped: true, ..request("people", &format!("SELECT SUM(cost) {three}"), "20000") };
    assert_eq!(answered(setup.ask(&clamped)).value(0, 1).unwrap().round(), 0.0);
}

#[test]
fn noise_is_for_the_product_of_both_limits() {
    let setup = setup();
    let sensitivity = |question: &str| {
        let prepared = Prepared::new(setup.gate.catalog(), &request("people", question, "1")).unwrap();
        prepared.parts().iter().map(|part| part.sensitivity.to_string()).collect::<Vec<_>>()
    };
    assert_eq!(sensitivity(COUNT), ["3"]);
    assert_eq!(sensitivity("SELECT COUNT(*) FROM people LEFT JOIN visits USING (person)"), ["4"]);
    assert_eq!(sensitivity("SELECT SUM(people.age) FROM people JOIN visits USING (person)"), ["360"]);
    assert_eq!(sensitivity("SELECT COUNT(DISTINCT visits.person) FROM people JOIN visits USING (person)"), ["1"]);
    let both = "SELECT COUNT(*) / (SELECT COUNT(*) FROM people) AS mean FROM people JOIN visits USING (person)";
    assert_eq!(sensitivity(both), ["1", "3"]);
}

#[test]
fn both_datasets_pay_or_neither() {
    let setup = setup();
    answered(setup.ask(&request("people", COUNT, "1")));
    answered(setup.ask(&request("visits", "SELECT COUNT(*) FROM visits JOIN people USING (person)", "1")));
    assert_eq!((setup.charges("people"), setup.charges("visits")), (2, 2));
    answered(setup.ask(&request("people", "SELECT COUNT(*) FROM people", "1")));
    assert_eq!((setup.charges("people"), setup.charges("visits")), (3, 2));
    let alice = setup.gate.add_analyst(&account("visits"), "alice", rules(FilterRule::Basic, "1,1e-6")).unwrap();
    let paid = |joinable, epsilon| Request { joinable, ..request("people", COUNT, epsilon) };
    let hers = || JoinableDatasets::Any(Some(alice.clone()));
    let outcome = setup.ask(&paid(hers(), "2"));
    assert!(matches!(outcome, GateOutcome::Refused(_)), "{outcome:?}");
    assert_eq!((setup.charges("people"), setup.charges("visits")), (3, 2));
    let answer = answered(setup.ask(&paid(hers(), "0.5")));
    let document = document(&answer);
    let accounts: Vec<_> = document["accounts"].as_array().unwrap().iter().map(|it| &it["account"]).collect();
    assert_eq!(accounts, ["people", "visits", "visits/alice"]);
    assert_eq!((&document["joined"]["dataset"], &document["joined"]["version"]), (&"visits".into(), &1.into()));
    assert_eq!((setup.charges("people"), setup.charges("visits"), setup.charges("visits/alice")), (4, 3, 1));
    for (joinable, part) in [
        (JoinableDatasets::Any(Some(account("people"))), "does not pay for the joined dataset visits"),
        (JoinableDatasets::These([(account("visits"), None)].into()), "name the one that pays"),
        // A dataset that may not be asked is as one that is not there.
        (JoinableDatasets::These([].into()), "\"visits\" is neither a public table nor another dataset"),
    ] {
        let error = setup.gate.ask(&paid(joinable, "1")).unwrap_err();
        assert!(error.is_input() && error.to_string().contains(part), "{error}");
    }
    let error = setup.gate.ask(&Request { joinable: hers(), ..request("people", "SELECT COUNT(*) FROM people", "1") });
    assert!(error.unwrap_err().to_string().contains("joins none"));
    assert_eq!((setup.charges("people"), setup.charges("visits")), (4, 3));
}

fn again(setup: &Setup, csv: &str) {
    let newer = setup.registration("visits", csv, VISITS, None);
    setup.register(Registration { new_version: true, reuse: true, ..newer }).unwrap();
}

#[test]
fn an_answer_is_of_the_versions_of_both_datasets() {
    let setup = setup();
    let first = Request { key: Key::parse("key", "mine").unwrap(), ..request("people", COUNT, "20000") };
    let answer = answered(setup.ask(&first));
    let reused = || Request { reuse: true, ..request("people", COUNT, "20000") };
    assert_eq!(answered(setup.ask(&reused())).origin, Origin::Reused);
    again(&setup, "person,cost,age,ward\np1,1,1,w0\n");
    // The same key gives the same bytes; a new question sees the new rows, and the old answer is not taken for it.
    let replayed = answered(setup.ask(&first));
    assert_eq!((&replayed.document, replayed.origin), (&answer.document, Origin::Replayed));
    let newer: Answer = answered(setup.ask(&reused()));
    assert_eq!((newer.origin, newer.value(0, 0).unwrap().round()), (Origin::Fresh, 1.0));
    assert_eq!(document(&newer)["joined"]["version"], 2);
    assert_eq!(answered(setup.ask(&reused())).document, newer.document);
    // The key belongs to the accounts that paid.
    let alice = setup.gate.add_analyst(&account("visits"), "alice", rules(FilterRule::Basic, "100000,1e-6")).unwrap();
    let other = Request { joinable: JoinableDatasets::Any(Some(alice)), ..first.clone() };
    assert!(matches!(setup.gate.ask(&other).unwrap_err().kind(), ErrorKind::KeyTaken { .. }));
    assert_eq!(setup.charges("visits"), 2);
}

#[test]
fn the_stricter_owner_decides_on_price_and_reuse() {
    let setup = Setup::new();
    let free = || Some(rules(FilterRule::Basic, "1000000,1e-6"));
    setup
        .register(Registration { reuse: true, ..setup.registration("people", &people_csv(), PEOPLE, free()) })
        .unwrap();
    let floor = Some(amount("0.5"));
    let visits = Registration { min_epsilon: floor, ..setup.registration("visits", &visits_csv(), VISITS, free()) };
    setup.register(visits).unwrap();
    let error = setup.gate.ask(&request("people", COUNT, "0.4")).unwrap_err();
    assert!(error.to_string().contains("the owner has set a floor"), "{error}");
    answered(setup.ask(&request("people", COUNT, "0.5")));
    let error = setup.gate.ask(&Request { reuse: true, ..request("people", COUNT, "0.5") }).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::NoReuse(name) if name.as_str() == "visits"), "{error}");
}

/// Everything that is wrong with the other file is noticed before the charge.
#[test]
fn a_joined_file_that_is_damaged_or_gone_is_noticed_before_the_charge() {
    let setup = setup();
    let file = setup.path().join("gate").join("visits.v1.db");
    let bytes = std::fs::read(&file).unwrap();
    std::fs::copy(setup.path().join("gate").join("people.v1.db"), &file).unwrap();
    let error = setup.gate.ask(&request("people", COUNT, "1")).unwrap_err();
    assert!(error.to_string().contains("is not what was registered"), "{error}");
    std::fs::remove_file(&file).unwrap();
    assert!(setup.gate.ask(&request("people", COUNT, "1")).is_err());
    assert_eq!((setup.charges("people"), setup.charges("visits")), (0, 0));
    std::fs::write(&file, bytes).unwrap();
    answered(setup.ask(&request("people", COUNT, "1")));
}
