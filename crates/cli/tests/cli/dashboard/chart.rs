//! The chart of an account with many charges.

use std::thread;

use taximeter_accounting::{Budget, Cost, FilterRule, FilterSpec, OdometerRule, OdometerSpec};
use taximeter_ledger::{AccountName, AccountSpec, Charge, Key, Ledger, Location, Options, Outcome, Privacy};

use crate::sandbox::Sandbox;
use crate::visit::Visit;

/// Small charges before the large one, and after it.
const BEFORE: usize = 1500;
const AFTER: usize = 1700;

#[test]
fn among_thousands_of_charges_a_jump_is_drawn_at_its_very_charge() {
    let sandbox = Sandbox::new();
    charge_thousands(&sandbox);
    let visit = Visit::new(sandbox);
    visit.sign_in(&visit.olga);
    visit.go("/accounts/survey");
    visit.browser.wait_until("the journal is read", |browser| {
        browser.text_of(".chart output").is_some_and(|text| text.contains("3,201 charges"))
    });
    let points: Vec<(u64, f64)> =
        visit.rows("#points").iter().map(|row| (number(&row[0]) as u64, number(&row[3]))).collect();
    let charges: Vec<u64> = points.iter().map(|(charges, _)| *charges).collect();
    assert!(charges.is_sorted_by(|one, next| one < next) && charges.len() < 1000, "{charges:?}");
    let place =
        points.iter().position(|(charges, _)| *charges == BEFORE as u64 + 1).expect("the large charge is drawn");
    let [(before, low), (at, high)] = [points[place - 1], points[place]];
    assert_eq!((before, at), (BEFORE as u64, BEFORE as u64 + 1), "the one before it is drawn too");
    assert!((high - low - 5.0).abs() < 1e-9, "{low} to {high}");
    // All others are small.
    let steps = points.windows(2).map(|two| (two[1].1 - two[0].1) / (two[1].0 - two[0].0) as f64);
    assert_eq!(steps.filter(|step| *step > 0.0011).count(), 1);
    let drawn = charges.iter().filter(|charges| **charges > 0).count();
    let told = visit.browser.find(".chart figcaption").text();
    assert!(told.contains(&format!("{drawn} of 3,201 charges are drawn")), "{told}");
    assert_eq!(jumps(&visit), [(BEFORE as f64 + 1.0) / 3201.0], "where the line rises");
    visit.is_content();
}

/// Where the drawn line of the reading rises by more than a fifth of its height, as a share of its width, to a thousandth.
fn jumps(visit: &Visit) -> Vec<f64> {
    let path = visit.browser.find(".chart path.reading").attribute("d").expect("a line");
    let (mut jumps, mut last) = (Vec::new(), f64::INFINITY);
    for step in path.trim_start_matches('M').split('H') {
        let (x, y) = step.split_once(['V', ' ']).expect("a step across and up");
        let [x, y] = [x, y].map(|text| text.parse::<f64>().expect("a number"));
        if last - y > 30.0 && last.is_finite() {
            jumps.push((x / 1000.0 * 3201.0).round() / 3201.0);
        }
        last = y;
    }
    jumps
}

fn number(text: &str) -> f64 {
    text.replace(',', "").parse().unwrap_or_else(|error| panic!("{text:?}: {error}"))
}

/// Opens an account whose reading is the sum of its charges, and charges it: a thousandth each, and once five.
fn charge_thousands(sandbox: &Sandbox) {
    let location = Location::File(sandbox.path("taximeter.db"));
    let ledger = Ledger::open(&location, Options { create: true, ..Options::default() }).unwrap();
    let budget = Budget::parse("100,1e-6").unwrap();
    ledger
        .open_account(AccountSpec {
            name: name(),
            privacy: Privacy::default(),
            filter: Some(FilterSpec::new(FilterRule::Basic, budget)),
            odometer: OdometerSpec::new(OdometerRule::Basic, budget.delta()),
        })
        .unwrap();
    charge(&ledger, "0.001", BEFORE);
    charge(&ledger, "5", 1);
    charge(&ledger, "0.001", AFTER);
}

/// Repeats a charge, from several threads, whose charges share commits.
fn charge(ledger: &Ledger, epsilon: &str, times: usize) {
    const THREADS: usize = 50;
    let cost = Cost::parse_epsilon(epsilon).unwrap().cost;
    let one = || {
        let charge = Charge::new(Key::generate().unwrap(), vec![name()], vec![cost]).unwrap();
        assert!(matches!(ledger.charge(charge), Ok(Outcome::Charged(_))));
    };
    thread::scope(|scope| {
        for at in 0..THREADS {
            scope.spawn(move || (at..times).step_by(THREADS).for_each(|_| one()));
        }
    });
}

fn name() -> AccountName {
    AccountName::parse("survey").unwrap()
}
