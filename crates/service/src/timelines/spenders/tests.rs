use std::collections::BTreeMap;

use proptest::prelude::*;
use taximeter_accounting::FilterRule;
use taximeter_ledger::{Ledger, Outcome};

use super::super::tests::support::*;
use super::super::timeline::Timeline;
use super::*;

const ACCOUNTS: [&str; 5] = ["census", "census/alice", "census/bob", "other", "other/reads"];

/// Accounts under different rules. Two of them stop at their first halt, and one has no budget.
fn open_accounts(ledger: &Ledger) {
    let budget = "1,1e-6";
    ledger.open_account(spec("census", Some((FilterRule::Residue, budget)))).unwrap();
    ledger.open_account(stopping(spec("census/alice", Some((FilterRule::Basic, "0.7"))))).unwrap();
    ledger.open_account(spec("census/bob", Some((FilterRule::Zcdp, budget)))).unwrap();
    ledger.open_account(stopping(spec("other", Some((FilterRule::Renyi, "3,1e-6"))))).unwrap();
    ledger.open_account(spec("other/reads", None)).unwrap();
}

/// What may happen to the accounts.
#[derive(Clone, Debug)]
enum Deed {
    Charge { accounts: Vec<usize>, epsilon: &'static str, by: Option<&'static str> },
    Close(usize),
}

fn deed() -> impl Strategy<Value = Deed> {
    let by = prop_oneof![Just(None), Just(Some("alice")), Just(Some("bob")), Just(Some("nightly job"))];
    let epsilon = prop_oneof![4 => Just("0.01"), 4 => Just("0.05"), 2 => Just("0.2"), 1 => Just("0.6"), 1 => Just("0")];
    let charge = (proptest::collection::vec(0..ACCOUNTS.len(), 1..4), epsilon, by)
        .prop_map(|(accounts, epsilon, by)| Deed::Charge { accounts, epsilon, by });
    prop_oneof![40 => charge, 1 => (0..ACCOUNTS.len()).prop_map(Deed::Close)]
}

/// What the accounts paid, by account and by who charged: how often.
type Paid = BTreeMap<(String, Option<&'static str>), u64>;

fn live(ledger: &Ledger, deeds: &[Deed]) -> Paid {
    let mut paid = Paid::new();
    for deed in deeds {
        match deed {
            Deed::Charge { accounts, epsilon, by } => {
                let accounts: Vec<&str> = accounts.iter().map(|at| ACCOUNTS[*at]).collect();
                if let Outcome::Charged(fresh) = charge(ledger, &accounts, epsilon, *by) {
                    for after in fresh.receipt().after() {
                        *paid.entry((after.account.to_string(), *by)).or_default() += 1;
                    }
                }
            }
            // It may be closed already.
            Deed::Close(at) => drop(ledger.close_account(name(ACCOUNTS[*at]), None, None)),
        }
    }
    paid
}

/// All shares, what was given up and what is left add up to the whole; all additions add up to the reading.
fn check_sums(ledger: &Ledger, paid: &Paid) -> Result<(), TestCaseError> {
    let timelines = read(ledger, 1000);
    for account in ledger.accounts() {
        let timeline = timeline(&timelines, account.name().as_str());
        let all = timeline.spenders().by_budget();
        for (spender, spent) in &all {
            let by = spender.name();
            let expected = paid.iter().find(|((name, who), _)| name == account.name().as_str() && *who == by);
            prop_assert_eq!(Some(&spent.charges), expected.map(|(_, count)| count), "{:?}", spender);
        }
        prop_assert_eq!(all.iter().map(|(_, spent)| spent.charges).sum::<u64>(), account.charges());
        let budget: f64 = all.iter().map(|(_, spent)| spent.budget).sum();
        let whole = if account.filter().is_some() { 1.0 } else { 0.0 };
        let sum = budget + timeline.spenders().given_up() + account.left().unwrap_or(0.0);
        prop_assert!((sum - whole).abs() < 1e-9, "{}: {} and {:?}", account.name(), sum, all);
        prop_assert!(account.standing() != taximeter_ledger::Standing::Open || timeline.spenders().given_up() == 0.0);
        let added: Option<f64> = all.iter().map(|(_, spent)| spent.reading).sum();
        let points = timeline.curve().points();
        // A restored account has no reading any more, but earlier additions stay.
        let reading = points.iter().rev().find_map(|point| point.reading).unwrap() - points[0].reading.unwrap();
        prop_assert!((added.unwrap() - reading).abs() < 1e-9, "{}: {:?} and {}", account.name(), added, reading);
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: taximeter_testing::random_inputs(12), max_shrink_iters: 50, ..ProptestConfig::default() })]

    #[test]
    fn all_shares_and_what_is_left_and_given_up_make_up_the_whole(deeds in proptest::collection::vec(deed(), 1..60)) {
        let place = Place::new();
        let ledger = place.open();
        open_accounts(&ledger);
        let paid = live(&ledger, &deeds);
        check_sums(&ledger, &paid)?;
        drop(ledger);
        place.lose_witness();
        let ledger = place.open();
        prop_assert!(ledger.accounts().iter().all(|account| account.left().unwrap_or(0.0) == 0.0));
        check_sums(&ledger, &paid)?;
    }
}

/// A point of an account that has paid the given number of charges.
fn point(charges: u64, reading: Option<f64>, left: Option<f64>) -> Point {
    let time = Timestamp::from_second(charges as i64).unwrap();
    Point { charges, sequence: charges + 1, time, reading, left }
}

#[test]
fn the_spender_who_removes_the_bound_is_known() {
    let mut spenders = Spenders::default();
    let points = [
        point(0, Some(0.0), None),
        point(1, Some(0.5), None),
        point(2, Some(0.75), None),
        point(3, None, None),
        point(4, None, None),
    ];
    for (at, by) in ["alice", "bob", "bob", "alice"].into_iter().enumerate() {
        spenders.charge(Some(who(by)), Some(&points[at]), &points[at + 1]);
    }
    let (alice, bob) = (who("alice"), who("bob"));
    let spent = |charges, reading, newest: usize| Spent { charges, budget: 0.0, reading, newest: points[newest].time };
    let expected = [(Spender::Named(&bob), &spent(2, None, 3)), (Spender::Named(&alice), &spent(2, Some(0.5), 4))];
    assert_eq!(spenders.by_budget(), expected);
}

#[test]
fn a_charge_after_which_more_is_left_took_less_than_nothing() {
    let mut spenders = Spenders::default();
    let points = [(1.0), (0.25), (0.5)].map(|left| point(0, Some(0.0), Some(left)));
    spenders.charge(Some(who("alice")), Some(&points[0]), &points[1]);
    spenders.charge(None, Some(&points[1]), &points[2]);
    let budgets: Vec<f64> = spenders.by_budget().iter().map(|(_, spent)| spent.budget).collect();
    assert_eq!(budgets, [0.75, -0.25]);
}

#[test]
fn after_a_thousand_names_the_rest_are_others() {
    let mut spenders = Spenders::default();
    let left = |charges: u64| Some(1.0 - charges as f64 / 4096.0);
    let mut charges = 0;
    let mut charge = |by: Option<&str>| {
        let before = point(charges, Some(0.0), left(charges));
        charges += 1;
        spenders.charge(by.map(who), Some(&before), &point(charges, Some(0.0), left(charges)));
    };
    for _ in 0..2 {
        for at in 0..Spenders::NAMES + 7 {
            charge(Some(&format!("analyst {at}")));
        }
        charge(None);
    }
    charge(Some("analyst 3"));
    let all = spenders.by_budget();
    assert_eq!(all.len(), Spenders::NAMES + 2);
    assert_eq!((all[0].0.name(), all[0].1.charges), (Some("analyst 3"), 3), "the largest spender comes first");
    assert!(all.iter().any(|(spender, spent)| *spender == Spender::Unnamed && spent.charges == 2));
    let (last, spent) = all.last().unwrap();
    assert_eq!((*last, spent.charges, spent.budget), (Spender::Others, 14, 14.0 / 4096.0));
    let sum: f64 = all.iter().map(|(_, spent)| spent.budget).sum();
    assert_eq!(Some(1.0 - sum), left(charges));
    assert!(Timeline::default().spenders().by_budget().is_empty());
}
