//! The order of things: pay first, answer once, and whatever fails afterwards stays charged and tells nothing.

use std::time::Duration;

use crate::common::{Setup, account, amount, answered, document, request, rules};
use taximeter_accounting::{Cost, FilterRule};
use taximeter_gate::{Answer, ErrorKind, Gate, GateOutcome, Origin, Prepared, Price, Request};
use taximeter_ledger::{Event, Key, Ledger, Location, Options, Who};

const PEOPLE: &str = "name,age,region\nann,30,north\nbob,40,south\ncyd,50,north\ndan,,south\n";
const SCHEMA: &str = r#"
    [columns.age]
    bounds = [0, 120]
    [columns.region]
    categories = ["north", "south", "west"]
"#;
const COUNT: &str = "SELECT COUNT(*) FROM people";

fn setup() -> Setup {
    let setup = Setup::new();
    setup.add("people", PEOPLE, SCHEMA, "1,1e-6");
    setup
}

fn is_key_taken(error: &taximeter_gate::Error) -> bool {
    matches!(error.kind(), ErrorKind::KeyTaken { .. })
}

/// Changes the gate's records by hand.
fn tamper(setup: &Setup, sql: &str) {
    rusqlite::Connection::open(setup.records()).unwrap().execute_batch(sql).unwrap();
}

#[test]
fn a_question_is_charged_once_and_answered_with_its_receipt() {
    let setup = setup();
    let answer = answered(setup.ask(&request("people", COUNT, "0.5")));
    assert_eq!(answer.origin, Origin::Fresh);
    let document = document(&answer);
    assert_eq!(setup.charges("people"), 1);
    assert_eq!(document["columns"][0]["parts"][0]["scale"], 2.0);
    assert_eq!(document["cost"]["epsilon"], "0.5");
    assert_eq!(document["receipt"]["sequence"], 2);
    assert_eq!(document["protects"], "one record added or removed");
    let (value, interval) = (&document["rows"][0][0]["value"], &document["rows"][0][0]["interval"]);
    let half_width = document["columns"][0]["parts"][0]["half_width"].as_i64().unwrap();
    assert_eq!(interval[0].as_i64().unwrap() + half_width, value.as_i64().unwrap());
    assert!(document["accounts"][0]["reading"].as_f64().unwrap() > 0.4);
}

#[test]
fn the_same_key_gives_the_same_bytes_and_charges_once() {
    let setup = setup();
    let request = request("people", COUNT, "0.1");
    let first = answered(setup.ask(&request));
    let again = answered(setup.ask(&request));
    assert_eq!((first.document, Origin::Replayed), (again.document, again.origin));
    assert_eq!(setup.charges("people"), 1);
}

#[test]
fn the_same_key_gives_the_same_bytes_after_the_data_have_changed() {
    let setup = setup();
    let request = request("people", COUNT, "0.1");
    let first = answered(setup.ask(&request));
    let mut newer = setup.registration("people", "name,age,region\neve,20,west\n", SCHEMA, None);
    newer.new_version = true;
    assert_eq!(setup.register(newer).unwrap().dataset.version, 2);
    assert_eq!(answered(setup.ask(&request)).document, first.document);
    assert_eq!(setup.charges("people"), 1);
}

#[test]
fn a_key_belongs_to_one_question_at_one_price() {
    let setup = setup();
    let first = request("people", COUNT, "0.1");
    answered(setup.ask(&first));
    for other in [
        Request { question: "SELECT COUNT(*) FROM people WHERE age > 30".to_string(), ..first.clone() },
        Request { price: Price::Epsilon(amount("0.2")), ..first.clone() },
        Request { clamp: true, ..first.clone() },
    ] {
        let error = setup.gate.ask(&other).unwrap_err();
        assert!(error.is_input() && is_key_taken(&error) && error.to_string().contains("another"), "{error}");
        // Also where the answer is lost: the ledger remembers what the key was for.
        tamper(&setup, "DELETE FROM answers");
        assert!(is_key_taken(&setup.gate.ask(&other).unwrap_err()));
    }
    assert_eq!(setup.charges("people"), 1);
}

#[test]
fn a_lost_answer_is_never_made_again() {
    let setup = setup();
    let request = request("people", COUNT, "0.1");
    answered(setup.ask(&request));
    tamper(&setup, "DELETE FROM answers");
    for _ in 0..2 {
        let outcome = setup.ask(&request);
        assert!(matches!(outcome, GateOutcome::NoAnswer(_)), "{outcome:?}");
    }
    assert_eq!(setup.charges("people"), 1);
}

#[test]
fn a_question_that_fails_after_its_charge_stays_charged_and_says_why_to_the_owner_alone() {
    let setup = Setup::new();
    let rows: String = (0..20_000).map(|row| format!("{row},{}\n", row % 100)).collect();
    setup.add("people", &format!("person,age\n{rows}"), "[columns.age]\nbounds = [0, 120]", "1,1e-6");
    // The first page says what the table looks like; the rows behind it are torn.
    let file = setup.path().join("gate").join("people.v1.db");
    let mut bytes = std::fs::read(&file).unwrap();
    let length = bytes.len();
    bytes[length / 2..].fill(0xff);
    std::fs::write(&file, bytes).unwrap();
    let request = request("people", "SELECT SUM(age) FROM people", "0.1");
    for _ in 0..2 {
        let outcome = setup.ask(&request);
        assert!(matches!(outcome, GateOutcome::NoAnswer(_)), "{outcome:?}");
    }
    assert_eq!(setup.charges("people"), 1);
    let log = setup.gate.catalog().failures(10).unwrap();
    assert_eq!(log.len(), 1);
    assert!(log[0].key == request.key.as_str() && !log[0].why.is_empty());
}

/// A full disk, say. What was not stored must not be seen: with the same key it could not be given again.
#[test]
fn an_answer_that_cannot_be_stored_is_not_given() {
    let setup = setup();
    tamper(&setup, "CREATE TRIGGER full BEFORE INSERT ON answers BEGIN SELECT RAISE(ABORT, 'no room'); END");
    let request = request("people", COUNT, "0.1");
    assert!(matches!(setup.ask(&request), GateOutcome::NoAnswer(_)));
    tamper(&setup, "DROP TRIGGER full");
    assert!(matches!(setup.ask(&request), GateOutcome::NoAnswer(_)));
    assert_eq!(setup.charges("people"), 1);
    assert!(setup.gate.catalog().failures(1).unwrap()[0].why.contains("no room"));
}

#[test]
fn a_question_that_takes_too_long_is_charged_and_has_no_answer() {
    let setup = Setup::new();
    let rows: String = (0..300_000).map(|row| format!("{row},{}\n", row % 100)).collect();
    let mut slow = setup.registration(
        "people",
        &format!("person,age\n{rows}"),
        "[columns.age]\nbounds = [0, 120]",
        Some(rules(FilterRule::Residue, "1,1e-6")),
    );
    slow.timeout = Duration::from_millis(1);
    setup.register(slow).unwrap();
    // Thirty million comparisons take longer than the clock can be looked at late.
    let conditions: String = (100..200).map(|age| format!(" AND age <> {age}")).collect();
    let request = request("people", &format!("SELECT SUM(age) FROM people WHERE age <> 3{conditions}"), "0.1");
    assert!(matches!(setup.ask(&request), GateOutcome::NoAnswer(_)));
    assert!(matches!(setup.ask(&request), GateOutcome::NoAnswer(_)));
    assert_eq!(setup.charges("people"), 1);
    assert_eq!(setup.gate.catalog().failures(10).unwrap().len(), 1);
}

#[test]
fn data_that_are_gone_are_noticed_before_anybody_pays() {
    let setup = setup();
    std::fs::remove_file(setup.path().join("gate").join("people.v1.db")).unwrap();
    assert!(setup.gate.ask(&request("people", COUNT, "0.1")).is_err());
    assert_eq!(setup.charges("people"), 0);
}

#[test]
fn data_that_are_not_what_was_registered_are_noticed_before_anybody_pays() {
    let setup = setup();
    let file = rusqlite::Connection::open(setup.path().join("gate").join("people.v1.db")).unwrap();
    file.execute_batch("ALTER TABLE data ADD COLUMN wage INTEGER").unwrap();
    let error = setup.gate.ask(&request("people", COUNT, "0.1")).unwrap_err();
    assert!(error.is_integrity(), "{error}");
    assert_eq!(setup.charges("people"), 0);
}

#[test]
fn a_question_is_asked_of_its_own_dataset_in_the_newest_version() {
    let setup = Setup::new();
    setup.add("people", PEOPLE, SCHEMA, "1000,1e-6");
    setup.add("others", "name,age,region\neve,20,west\n", SCHEMA, "1000,1e-6");
    // At ε = 100 there is no noise to speak of.
    let count = |dataset: &str| {
        let question = format!("SELECT COUNT(*) FROM {dataset}");
        answered(setup.ask(&request(dataset, &question, "100"))).value(0, 0)
    };
    assert_eq!([count("people"), count("others"), count("people")], [Some(4.0), Some(1.0), Some(4.0)]);
    let mut newer = setup.registration("people", "name,age,region\neve,20,west\nfay,30,west\n", SCHEMA, None);
    newer.new_version = true;
    setup.register(newer).unwrap();
    assert_eq!([count("people"), count("others")], [Some(2.0), Some(1.0)]);
}

#[test]
fn a_question_beyond_the_budget_is_refused_and_changes_nothing() {
    let setup = setup();
    let GateOutcome::Refused(refusal) = setup.ask(&request("people", COUNT, "1.5")) else { panic!("1.5 fits 1") };
    assert_eq!(refusal.fits().map(|fits| fits.len()), Some(1));
    assert_eq!(setup.charges("people"), 0);
    answered(setup.ask(&request("people", COUNT, "1")));
    assert!(matches!(setup.ask(&request("people", COUNT, "0.1")), GateOutcome::Refused(_)));
}

#[test]
fn a_wrong_question_charges_nothing() {
    let setup = setup();
    let error = setup.gate.ask(&request("people", "SELECT COUNT(*) FROM people WHERE wage > 3", "0.1")).unwrap_err();
    assert_eq!(error.position(), Some(35));
    assert_eq!(setup.charges("people"), 0);
}

#[test]
fn several_aggregates_share_the_cost_in_equal_parts() {
    let setup = setup();
    let question = "SELECT COUNT(*), SUM(age), AVG(age) FROM people";
    let document = document(&answered(setup.ask(&request("people", question, "0.6"))));
    let record =
        setup.gate.ledger().reader().unwrap().history(&account("people"), None, 1).unwrap().records[0].record();
    let Event::Charge(charge) = record.unwrap().event else { panic!("the newest record is the charge") };
    let paid: Vec<String> = charge.costs().iter().map(Cost::to_string).collect();
    assert_eq!(paid, ["ε = 0.2", "ε = 0.2", "ε = 0.1", "ε = 0.1"]);
    // One person has at most 120 of the sum, and is at most 60 away from the middle.
    let scale = |column: usize, part: usize| document["columns"][column]["parts"][part]["scale"].as_f64().unwrap();
    assert_eq!([scale(0, 0), scale(1, 0), scale(2, 0), scale(2, 1)], [5.0, 600.0, 600.0, 10.0]);
    assert!(charge.note().unwrap().as_str().contains("SELECT COUNT(*)"));
}

#[test]
fn an_average_of_too_few_is_unknown_and_one_of_enough_is_within_its_interval() {
    let setup = Setup::new();
    let rows: String = (0..5000).map(|row| format!("{}\n", 40 + row % 3)).collect();
    setup.add("people", &format!("age\n{rows}"), "[columns.age]\nbounds = [0, 120]", "200,1e-6");
    // At ε = 100 the count of nobody is 0.
    let few = answered(setup.ask(&request("people", "SELECT AVG(age) FROM people WHERE age > 100", "100")));
    let few = &document(&few)["rows"][0][0];
    assert!(few["value"].is_null() && few["interval"].is_null(), "{few}");
    // They are paid for. At this ε the noise on the count is 0, and that on the sum is never 60.
    assert!(few["count"]["value"] == 0 && few["sum"]["value"].as_f64().unwrap().abs() < 60.0, "{few}");
    let enough = document(&answered(setup.ask(&request("people", "SELECT AVG(age) FROM people", "5"))));
    let (value, end) =
        (&enough["rows"][0][0]["value"], |at: usize| enough["rows"][0][0]["interval"][at].as_f64().unwrap());
    let value = value.as_f64().unwrap();
    // The interval need not hold 41, once in a while; the noise on the sum is never a thousand.
    assert!((value - 41.0).abs() < 0.25 && end(0) < value && value < end(1) && end(1) - end(0) < 1.0, "{enough}");
}

#[test]
fn every_category_is_answered_and_the_noisy_answer_is_sorted() {
    let setup = Setup::new();
    setup.add("people", PEOPLE, SCHEMA, "1000,1e-6");
    let question = "SELECT region, COUNT(*) AS n FROM people GROUP BY region ORDER BY n DESC, region LIMIT 2";
    let answer = document(&answered(setup.ask(&request("people", question, "100"))));
    let rows: Vec<(&str, i64)> = answer["rows"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| (row[0].as_str().unwrap(), row[1]["value"].as_i64().unwrap()))
        .collect();
    // At ε = 100 there is no noise to speak of.
    assert_eq!(rows, [("north", 2), ("south", 2)]);
    let said = answer["post_processing"].as_array().unwrap();
    let words = ["sorted by the noisy numbers", "at most 2 rows", "in which its row is shown"];
    assert!(
        said.len() == 3 && said.iter().zip(words).all(|(said, words)| said.as_str().unwrap().contains(words)),
        "{said:?}"
    );
}

#[test]
fn gaussian_noise_needs_an_account_whose_rule_takes_it() {
    let setup = setup();
    let gaussian = |dataset: &str| {
        Request::new(&account(dataset), &format!("SELECT COUNT(*) FROM {dataset}"), Price::Gaussian(amount("0.1")))
            .unwrap()
    };
    let register = |dataset: &str, rule: FilterRule, budget: &str| {
        setup.register(setup.registration(dataset, "age\n1\n2\n", "", Some(rules(rule, budget)))).unwrap();
    };
    register("pure", FilterRule::Whitehouse, "1,1e-6");
    let error = setup.gate.ask(&gaussian("pure")).unwrap_err();
    assert!(error.is_input() && error.to_string().contains("residue"), "{error}");
    assert_eq!(setup.charges("pure"), 0);
    register("zcdp", FilterRule::Zcdp, "1,1e-6");
    // The default rule takes it.
    for dataset in ["people", "zcdp"] {
        let answer = document(&answered(setup.ask(&gaussian(dataset))));
        let part = &answer["columns"][0]["parts"][0];
        assert_eq!(
            (part["noise"].as_str(), part["cost"]["gaussian"].as_str()),
            (Some("rounded-gaussian"), Some("0.1"))
        );
        let scale = part["scale"].as_f64().unwrap();
        assert!((10.0..10.000001).contains(&scale), "{dataset}: {scale}");
    }
}

#[test]
fn an_error_is_bought_at_the_least_cost() {
    let setup = setup();
    let price = |width: &str| Price::Error { width: width.parse().unwrap(), noise: taximeter_gate::NoiseKind::Laplace };
    let answer = document(&answered(setup.ask(&Request::new(&account("people"), COUNT, price("50")).unwrap())));
    assert_eq!(answer["columns"][0]["parts"][0]["half_width"], 50);
    let paid: f64 = answer["cost"]["epsilon"].as_str().unwrap().parse().unwrap();
    // P(|noise| > 50) is 2·e^(-51ε)/(1 + e^(-ε)): 0.05 at this ε, and more at one that is a little smaller.
    let misses = |epsilon: f64| 2.0 * (-51.0 * epsilon).exp() / (1.0 + (-epsilon).exp());
    assert!(misses(paid) <= 0.05 && misses(paid * 0.9999) > 0.05, "{paid}");
    let averaged = Request::new(&account("people"), "SELECT AVG(age) FROM people", price("1")).unwrap();
    assert!(setup.gate.ask(&averaged).unwrap_err().to_string().contains("depend on the data"));
}

#[test]
fn an_analyst_pays_beside_the_dataset() {
    let setup = setup();
    let alice = setup.gate.add_analyst(&account("people"), "alice", rules(FilterRule::Residue, "0.3,1e-6")).unwrap();
    let ask = |epsilon| setup.ask(&Request { account: Some(alice.clone()), ..request("people", COUNT, epsilon) });
    answered(ask("0.2"));
    assert_eq!((setup.charges("people"), setup.charges("people/alice")), (1, 1));
    let GateOutcome::Refused(refusal) = ask("0.2") else { panic!("0.4 fits 0.3") };
    assert_eq!(refusal.refused()[0].0, alice);
    let bob = setup.gate.add_analyst(&account("people"), "bob", rules(FilterRule::Residue, "0.3,1e-6")).unwrap();
    let hers = Request { account: Some(alice.clone()), ..request("people", COUNT, "0.01") };
    answered(setup.ask(&hers));
    let error = setup.gate.ask(&Request { account: Some(bob), ..hers }).unwrap_err();
    assert!(is_key_taken(&error) && error.to_string().contains("another account paid"), "{error}");
    setup.add("others", PEOPLE, SCHEMA, "1,1e-6");
    let foreign = Request { account: Some(alice.clone()), ..request("others", "SELECT COUNT(*) FROM others", "0.1") };
    assert!(setup.gate.ask(&foreign).unwrap_err().to_string().contains("does not pay"));
}

#[test]
fn an_account_whose_name_only_begins_like_the_datasets_does_not_pay() {
    let setup = setup();
    setup.add("people2", PEOPLE, SCHEMA, "1,1e-6");
    setup.gate.add_analyst(&account("people2"), "alice", rules(FilterRule::Residue, "1,1e-6")).unwrap();
    for foreign in ["people2", "people2/alice"] {
        let foreign = Request { account: Some(account(foreign)), ..request("people", COUNT, "0.1") };
        assert!(setup.gate.ask(&foreign).unwrap_err().to_string().contains("does not pay"));
    }
    assert_eq!((setup.charges("people"), setup.charges("people2")), (0, 0));
}

#[test]
fn the_journal_says_who_asked_what_and_whose_privacy_was_spent() {
    let setup = Setup::new();
    let schema = "neighbours = \"substitute\"\nunit = { column = \"Name\", max_rows_per_unit = 1 }";
    setup.add("people", "Name,age\nann,30\n", schema, "1,1e-6");
    // One that fits into a note, one that is longer, and one with a character that no note has.
    for (literal, shown) in [("ann".to_string(), true), ("é".repeat(499), true), ("a\u{7}".to_string(), false)] {
        let question = format!("SELECT COUNT(*) FROM people WHERE name = '{literal}' OR name = '{literal}'");
        let request = Request { by: Some(Who::parse("who", "alice").unwrap()), ..request("people", &question, "0.1") };
        answered(setup.ask(&request));
        let newest = setup.gate.ledger().reader().unwrap().history(&account("people"), None, 1).unwrap();
        let Event::Charge(charge) = newest.records[0].record().unwrap().event else { panic!("no charge") };
        assert_eq!(charge.unit().unwrap().as_str(), "name");
        assert_eq!(charge.neighbours(), Some(taximeter_ledger::Neighbours::Substitute));
        assert_eq!(charge.who().unwrap().as_str(), "alice");
        let note = charge.note().unwrap().as_str();
        assert!(note.starts_with("question ") && note.contains(": SELECT") == shown, "{note}");
    }
}

#[test]
fn an_answer_is_clamped_if_that_is_asked_for_and_says_so() {
    let setup = setup();
    for clamp in [false, true] {
        let question = "SELECT COUNT(*) FROM people WHERE age > 200";
        let request = Request { clamp, ..request("people", question, "0.01") };
        let answer = document(&answered(setup.ask(&request)));
        assert_eq!(answer["post_processing"].as_array().unwrap().len(), usize::from(clamp));
        let lowest = answer["rows"][0][0]["interval"][0].as_i64().unwrap();
        assert!(!clamp || lowest >= 0, "{answer}");
    }
}

#[test]
fn what_is_explained_beforehand_is_what_the_answer_says() {
    let setup = setup();
    let question = "SELECT region, COUNT(*), AVG(age), SUM(age) FROM people GROUP BY region";
    let request = request("people", question, "0.6");
    let prepared = Prepared::new(setup.gate.catalog(), &request).unwrap();
    let answer = document(&answered(setup.ask(&request)));
    let parts = answer["columns"].as_array().unwrap().iter().filter_map(|column| column["parts"].as_array()).flatten();
    let told: Vec<_> = parts
        .map(|part| {
            (
                part["measure"].as_str().unwrap().to_string(),
                part["half_width"].to_string(),
                part["scale"].as_f64().unwrap(),
            )
        })
        .collect();
    let explained: Vec<_> =
        prepared.parts().into_iter().map(|part| (part.measure, part.half_width.to_string(), part.scale.0)).collect();
    assert_eq!(explained, told);
    // Of scale/width: P(|noise| > w) is close to e^(-w/s), 0.05 for every number.
    let misses: Vec<f64> =
        told.iter().map(|(_, width, scale)| (-width.parse::<f64>().unwrap() / scale).exp()).collect();
    assert!(misses.len() == 4 && misses.iter().all(|miss| (0.04..0.0625).contains(miss)), "{misses:?}");
}

#[test]
fn an_earlier_answer_is_used_again_only_by_its_own_account_on_the_same_version_if_the_owner_lets() {
    let setup = Setup::new();
    let registration = |rules| {
        let mut registration = setup.registration("people", PEOPLE, SCHEMA, rules);
        registration.reuse = true;
        registration
    };
    setup.register(registration(Some(rules(FilterRule::Residue, "1,1e-6")))).unwrap();
    let alice = setup.gate.add_analyst(&account("people"), "alice", rules(FilterRule::Residue, "1,1e-6")).unwrap();
    let again = || Request { reuse: true, ..request("people", COUNT, "0.1") };
    let first = answered(setup.ask(&again()));
    assert_eq!(first.origin, Origin::Fresh);
    let second = answered(setup.ask(&again()));
    assert_eq!((&second.document, second.origin), (&first.document, Origin::Reused));
    assert_eq!(answered(setup.ask(&request("people", "select count(*) from PEOPLE", "0.1"))).origin, Origin::Fresh);
    for other in [
        Request { account: Some(alice), ..again() },
        Request { price: Price::Epsilon(amount("0.2")), ..again() },
        Request { clamp: true, ..again() },
    ] {
        assert_eq!(answered(setup.ask(&other)).origin, Origin::Fresh);
    }
    let mut newer = registration(None);
    newer.new_version = true;
    assert!(setup.register(newer).unwrap().unchanged);
    assert_eq!(answered(setup.ask(&again())).origin, Origin::Fresh);

    let strict = self::setup();
    assert!(strict.gate.ask(&again()).unwrap_err().to_string().contains("does not let"));
}

/// A question of a principal under a key.
fn asked_by(principal: Option<&str>, key: &str) -> Request {
    let key = Key::parse("key", key).unwrap();
    Request { principal: principal.map(String::from), key, ..request("people", COUNT, "0.01") }
}

#[test]
fn a_key_is_its_principals_own() {
    let setup = setup();
    let whose = [None, Some("alice"), Some("bob"), Some("alic")];
    // Noise may be the same by chance, but the receipts are not.
    let first = whose.map(|principal| answered(setup.ask(&asked_by(principal, "k"))));
    assert!(first.iter().all(|answer| answer.origin == Origin::Fresh));
    assert_eq!(setup.charges("people"), 4);
    for (principal, first) in whose.into_iter().zip(&first) {
        let again = answered(setup.ask(&asked_by(principal, "k")));
        assert_eq!((&again.document, again.origin), (&first.document, Origin::Replayed));
        // Each sees the key that it gave; the ledger and the records know whose it is.
        let on_ledger = principal.map_or("k".to_string(), |principal| format!("{principal}:k"));
        assert_eq!(document(first)["key"], "k");
        assert_eq!(document(first)["receipt"]["record"]["event"]["charge"]["key"], on_ledger);
        let receipt = setup.gate.ledger().receipt_of(&Key::parse("key", &on_ledger).unwrap()).unwrap().unwrap();
        assert_eq!(document(first)["receipt"]["sequence"], receipt.sequence());
        // Another question under it is an error of its principal alone.
        let other = Request { price: Price::Epsilon(amount("0.02")), ..asked_by(principal, "k") };
        let error = setup.gate.ask(&other).unwrap_err();
        assert!(is_key_taken(&error) && error.to_string().contains("\"k\""), "{error}");
    }
    assert_eq!(setup.charges("people"), 4);
    // Another person's key cannot be spelled out.
    assert_eq!(answered(setup.ask(&asked_by(Some("bob"), "alice:k"))).origin, Origin::Fresh);
    let error = setup.gate.ask(&asked_by(Some("alice:k"), "k")).unwrap_err();
    assert!(error.is_input() && error.to_string().contains("no colon"), "{error}");
}

#[test]
fn a_principal_uses_only_its_own_earlier_answers_again() {
    let setup = Setup::new();
    let mut registration = setup.registration("people", PEOPLE, SCHEMA, Some(rules(FilterRule::Residue, "1,1e-6")));
    registration.reuse = true;
    setup.register(registration).unwrap();
    let ask = |principal, key| answered(setup.ask(&Request { reuse: true, ..asked_by(principal, key) }));
    let check = |principal, key, expected: Option<&Answer>| {
        let answer = ask(principal, key);
        let origin = if expected.is_some() { Origin::Reused } else { Origin::Fresh };
        assert_eq!(answer.origin, origin, "{principal:?}, {key}");
        assert!(expected.is_none_or(|expected| expected.document == answer.document), "{principal:?}, {key}");
        answer
    };
    let alices = check(Some("alice"), "1", None);
    check(Some("alice"), "2", Some(&alices));
    // Neither another principal, nor one whose name begins or ends alike, nor a pattern.
    let bobs = check(Some("bob"), "1", None);
    for other in ["alic", "alice2", "ALICE", "al_ce", "%", "*", "lice"] {
        check(Some(other), "1", None);
    }
    check(Some("alice"), "3", Some(&alices));
    check(Some("bob"), "2", Some(&bobs));
    // A person at the machine gets the newest answer of the account.
    assert_eq!(ask(None, "1").origin, Origin::Reused);
}

#[test]
fn a_failed_question_is_logged_under_the_ledgers_key() {
    let setup = setup();
    tamper(&setup, "CREATE TRIGGER full BEFORE INSERT ON answers BEGIN SELECT RAISE(ABORT, 'no room'); END");
    assert!(matches!(setup.ask(&asked_by(Some("alice"), "k")), GateOutcome::NoAnswer(_)));
    assert_eq!(setup.gate.catalog().failures(1).unwrap()[0].key, "alice:k");
}

#[test]
fn an_error_says_of_what_kind_it_is() {
    let setup = setup();
    let nowhere = setup.gate.ask(&request("nowhere", "SELECT COUNT(*) FROM nowhere", "0.1")).unwrap_err();
    assert!(matches!(nowhere.kind(), ErrorKind::NoDataset(_)), "{nowhere}");
    let nobody = Request { account: Some(account("people/nobody")), ..request("people", COUNT, "0.1") };
    let nobody = setup.gate.ask(&nobody).unwrap_err();
    assert!(matches!(nobody.kind(), ErrorKind::Ledger(error) if error.is_no_account()), "{nobody}");
    let unclear = setup.gate.ask(&request("people", "SELECT * FROM people", "0.1")).unwrap_err();
    assert!(matches!(unclear.kind(), ErrorKind::Question { .. }), "{unclear}");
    for error in [nowhere, nobody, unclear] {
        assert!(error.is_input() && !error.is_unknown_outcome() && !error.is_integrity(), "{error}");
    }
}

#[test]
fn the_same_data_under_two_names_are_told() {
    let setup = setup();
    assert_eq!(setup.add("copy", PEOPLE, SCHEMA, "1,1e-6").same_data, ["people"]);
}

#[test]
fn an_account_that_protects_something_else_does_not_pay() {
    let setup = setup();
    let mut other = setup.registration("people", PEOPLE, SCHEMA, None);
    other.new_version = true;
    other.declaration.neighbours = taximeter_ledger::Neighbours::Substitute;
    let error = setup.register(other).unwrap_err();
    assert!(error.to_string().contains("protects one record added or removed"), "{error}");
}

#[test]
fn the_gate_of_another_ledger_does_not_open() {
    let setup = setup();
    let options = Options { create: true, ..Options::default() };
    let other = Ledger::open(&Location::File(setup.path().join("other.db")), options).unwrap();
    let error = Gate::open(&setup.path().join("gate"), other).unwrap_err();
    assert!(error.to_string().contains("budgets could be spent twice"), "{error}");
}

#[test]
fn many_analysts_at_once_stay_within_the_budget() {
    let setup = setup();
    let answered: usize = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..8)
            .map(|_| {
                scope.spawn(|| {
                    let asked = (0..20).map(|_| setup.ask(&request("people", COUNT, "0.05")));
                    asked.filter(|outcome| matches!(outcome, GateOutcome::Answered(_))).count()
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).sum()
    });
    assert_eq!(answered as u64, setup.charges("people"));
    assert!(answered < 160 && matches!(setup.ask(&request("people", COUNT, "0.05")), GateOutcome::Refused(_)));
}

#[test]
fn one_key_from_many_threads_is_charged_once_and_has_one_answer() {
    let setup = setup();
    for _ in 0..20 {
        let before = setup.charges("people");
        let shared = Request { key: Key::generate().unwrap(), ..request("people", COUNT, "0.001") };
        let answers: Vec<Answer> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..8).map(|_| scope.spawn(|| answered(setup.ask(&shared)))).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        assert!(answers.iter().all(|answer| answer.document == answers[0].document));
        assert_eq!(answers.iter().filter(|answer| answer.origin == Origin::Fresh).count(), 1);
        assert_eq!(setup.charges("people"), before + 1);
    }
}
