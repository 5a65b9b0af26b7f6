//! Limits and input that cannot be used: a clear error, and nothing changes.

use taximeter_accounting::{Amount, Budget, Cost, CostKind, FilterRule, FilterSpec, OdometerRule, OdometerSpec};
use taximeter_ledger::{AccountName, AccountSpec, Charge, ErrorKind, Event, Key, Neighbours, Note, Privacy, Unit, Who};

use super::place::*;

pub fn names_keys_and_notes_have_limits(place: &Place) {
    let deep = ["p"; 8].join("/");
    assert!(AccountName::parse(&format!("{deep}/p")).is_err());
    let longest = vec!["x".repeat(64); 8].join("/");
    check_input(AccountName::parse(&"x".repeat(65)), &["64"]);
    for bad in ["", "/a", "a/", "a//b", ".a", "a b", "ä", "a\0b", "a\nb", "a\\b", "a%", "A/../b"] {
        check_input(AccountName::parse(bad), &["account name"]);
    }
    check_input(Key::parse("key", &"k".repeat(129)), &["key", "128"]);
    check_input(Who::parse("by", &"w".repeat(129)), &["by", "128"]);
    check_input(Note::parse("note", &"n".repeat(1025)), &["note", "1024"]);
    // Bytes are counted, not characters.
    check_input(Key::parse("key", &"ü".repeat(65)), &["130 bytes"]);
    check_input(Key::parse("key", ""), &["empty"]);
    check_input(Note::parse("note", "two\nlines"), &["control character"]);
    for misleading in ["nul\0", "\u{feff}", "\u{200b}", "\u{2028}", "turned \u{202e} around", "\u{7f}", "\u{85}"] {
        check_input(Key::parse("key", misleading), &["control character"]);
    }
    check_input(Unit::parse("two words"), &["unit"]);

    // The longest of all of them are stored and come back.
    let ledger = place.create();
    let path: Vec<String> = name(&longest).path().map(String::from).collect();
    for account in &path {
        ledger.open_account(budgeted(account, "1,1e-6")).unwrap();
    }
    let request = charge(&"k".repeat(128), &[&longest], &[epsilon("0.1")])
        .by(Some(Who::parse("by", &"w".repeat(128)).unwrap()))
        .with_note(Some(Note::parse("note", &"ü".repeat(512)).unwrap()));
    let fresh = charged(ledger.charge(request.clone()));
    assert_eq!(fresh.receipt().after().len(), 8);
    drop(ledger);
    assert_eq!(place.journal().last().unwrap().event, Event::Charge(request.clone()));
    assert_eq!(&replayed(place.open().unwrap().charge(request)), fresh.receipt());
    place.verify();
}

pub fn a_charge_names_at_most_16_accounts_and_64_costs(place: &Place) {
    let accounts: Vec<AccountName> = (0..17).map(|at| name(&format!("a{at}"))).collect();
    let cost = epsilon("0.001");
    let new = |accounts: usize, costs: usize| {
        Charge::new(
            key(&format!("{accounts}-{costs}")),
            (0..accounts).map(|at| name(&format!("a{at}"))).collect(),
            vec![cost; costs],
        )
    };
    check_input(new(0, 1), &["0 accounts", "16"]);
    check_input(new(17, 1), &["17 accounts", "16"]);
    check_input(new(1, 0), &["0 costs", "64"]);
    check_input(new(1, 65), &["65 costs", "64"]);
    let ledger = place.create();
    for account in &accounts {
        ledger.open_account(budgeted(account.as_str(), "1,1e-6")).unwrap();
    }
    assert_eq!(charged(ledger.charge(new(16, 64).unwrap())).receipt().after().len(), 16);
    // Named twice, it is still one account.
    let doubled: Vec<AccountName> = accounts[..16].iter().chain(&accounts[..16]).cloned().collect();
    charged(ledger.charge(Charge::new(key("doubled"), doubled, vec![cost]).unwrap()));
    place.verify();
}

pub fn the_largest_charge_is_paid_by_128_accounts(place: &Place) {
    let ledger = place.create();
    let mut leaves = Vec::new();
    for tree in 0..16 {
        let mut account = format!("tree{tree}");
        ledger.open_account(reading(&account)).unwrap();
        for depth in 1..8 {
            account += &format!("/{depth}");
            ledger.open_account(reading(&account)).unwrap();
        }
        leaves.push(name(&account));
    }
    let fresh = charged(ledger.charge(Charge::new(key("k"), leaves, vec![epsilon("0.01"); 64]).unwrap()));
    assert_eq!(fresh.receipt().after().len(), 128);
    assert!(ledger.accounts().iter().all(|account| account.charges() == 1));
    place.verify();
}

pub fn an_account_that_is_named_twice_pays_once(place: &Place) {
    let ledger = place.create();
    ledger.open_account(ruled("census", FilterRule::Basic, "1")).unwrap();
    ledger.open_account(ruled("census/alice", FilterRule::Basic, "1")).unwrap();
    let accounts = ["census/alice", "census", "census/alice", "census"];
    let fresh = charged(ledger.charge(charge("k", &accounts, &[epsilon("0.5")])));
    assert_eq!(fresh.receipt().after().len(), 2);
    // Naming the parent as well is another request, and still one payment.
    charged(ledger.charge(charge("l", &["census/alice"], &[epsilon("0.5")])));
    refused(ledger.charge(charge("m", &["census"], &[epsilon("1e-30")])));
    assert!(ledger.charge(charge("k", &["census/alice"], &[epsilon("0.5")])).unwrap_err().is_key_taken());
}

pub fn a_list_of_costs_is_paid_as_a_whole_or_not_at_all(place: &Place) {
    let ledger = place.create();
    ledger.open_account(ruled("census", FilterRule::Basic, "1")).unwrap();
    let (position, accounts) = (ledger.position(), ledger.accounts());
    let mut costs = vec![epsilon("0.01"); 63];
    costs.push(epsilon("0.38"));
    refused(ledger.charge(charge("k", &["census"], &costs)));
    assert_eq!((ledger.position(), ledger.accounts()), (position, accounts));
    costs[63] = epsilon("0.37");
    charged(ledger.charge(charge("k", &["census"], &costs)));
    assert_eq!(ledger.account(&name("census")).unwrap().charges(), 1);
    refused(ledger.charge(charge("l", &["census"], &[epsilon("1e-30")])));
}

pub fn what_costs_nothing_is_charged_and_changes_no_reading(place: &Place) {
    let ledger = place.create();
    ledger.open_account(ruled("census", FilterRule::Basic, "0.1")).unwrap();
    ledger.open_account(ruled("closed", FilterRule::Basic, "0.1")).unwrap();
    let before = charged(ledger.charge(charge("all", &["census"], &[epsilon("0.1")]))).into_receipt();
    let free: Vec<Cost> = CostKind::ALL.map(|kind| kind.example().with_size(Amount::ZERO)).into_iter().collect();
    let takes: Vec<Cost> = free.into_iter().filter(|cost| FilterRule::Basic.takes(cost.kind())).collect();
    let after = charged(ledger.charge(charge("free", &["census"], &takes)));
    assert_eq!(after.receipt().after()[0].reading, before.after()[0].reading);
    assert_eq!(after.receipt().after()[0].left, before.after()[0].left);
    // The smallest amount that there is does not pass for nothing.
    refused(ledger.charge(charge("tiny", &["census"], &[epsilon("1e-40")])));
    ledger.close_account(name("closed"), None, None).unwrap();
    refused(ledger.charge(charge("closed", &["closed"], &[epsilon("0")])));
    place.verify();
}

pub fn enormous_costs_are_refused_by_budgets_and_counted_by_odometers(place: &Place) {
    let ledger = place.create();
    for rule in FilterRule::ALL {
        ledger.open_account(ruled(rule.name(), rule, "1,1e-6")).unwrap();
    }
    let before = ledger.accounts();
    for (at, rule) in FilterRule::ALL.into_iter().enumerate() {
        for kind in CostKind::ALL.into_iter().filter(|kind| rule.takes(*kind)) {
            let enormous = kind.example().with_size(Amount::MAX);
            for (again, costs) in [vec![enormous], vec![enormous; 64]].into_iter().enumerate() {
                let key = format!("{at}-{}-{again}", kind.name());
                let request = charge(&key, &[rule.name()], &costs);
                assert!(!ledger.quote(&request).unwrap().is_admitted());
                refused(ledger.charge(request)).fits();
            }
        }
    }
    assert_eq!(ledger.accounts(), before);

    // Sums that are past every number stay so, and read as unbounded or as enormous.
    for rule in OdometerRule::ALL {
        let account = format!("odometer-{}", rule.name());
        let odometer = OdometerSpec::new(rule, Amount::parse_exact("1e-6").unwrap());
        ledger.open_account(AccountSpec { odometer, ..reading(&account) }).unwrap();
        let ask = |key: &str, costs: &[Cost]| {
            let fresh = charged(ledger.charge(charge(&format!("{account}-{key}"), &[&account], costs)));
            let reading = fresh.receipt().after()[0].reading;
            assert!(reading.is_none_or(|reading| reading.0 > 1e8), "{account} after {key}: {reading:?}");
        };
        for kind in CostKind::ALL.into_iter().filter(|kind| rule.takes(*kind)) {
            ask(kind.name(), &[kind.example().with_size(Amount::MAX); 64]);
        }
        ask("a little more", &[epsilon("0.01")]);
    }
    let accounts = ledger.accounts();
    drop(ledger);
    assert_eq!(place.open().unwrap().accounts(), accounts);
    place.verify();
}

pub fn a_cost_that_a_rule_cannot_take_is_an_error_that_names_the_account(place: &Place) {
    let ledger = place.create();
    ledger.open_account(ruled("census", FilterRule::Zcdp, "1,1e-6")).unwrap();
    ledger.open_account(ruled("census/basic", FilterRule::Basic, "0.1")).unwrap();
    let basic = OdometerSpec::new(OdometerRule::Basic, Amount::ZERO);
    ledger.open_account(AccountSpec { odometer: basic, ..reading("census/reading") }).unwrap();
    ledger.open_account(ruled("census/closed", FilterRule::Basic, "1")).unwrap();
    ledger.close_account(name("census/closed"), None, None).unwrap();
    let (position, accounts) = (ledger.position(), ledger.accounts());
    for account in ["census/basic", "census/reading", "census/closed"] {
        // Also behind a cost that would be refused: it is an error first.
        for costs in
            [vec![gaussian("0.1")], vec![epsilon("0.01"), gaussian("0.1")], vec![epsilon("99"), gaussian("0.1")]]
        {
            let (request, parts) = (charge("k", &[account], &costs), [&format!("account {account}"), "Gaussian"]);
            check_input(ledger.charge(request.clone()), &parts);
            check_input(ledger.quote(&request), &parts);
            check_input(place.reader().unwrap().quote(&request), &parts);
        }
    }
    assert_eq!((ledger.position(), ledger.accounts()), (position, accounts));
    charged(ledger.charge(charge("k", &["census"], &[gaussian("0.1")])));
}

pub fn a_charge_about_another_unit_is_an_error(place: &Place) {
    let ledger = place.create();
    let person = Privacy { unit: Unit::parse("person").unwrap(), neighbours: Neighbours::Substitute };
    ledger.open_account(AccountSpec { privacy: person, ..budgeted("census", "1,1e-6") }).unwrap();
    let position = ledger.position();
    let request = || charge("k", &["census"], &[epsilon("0.1")]);
    let record = Some(Unit::parse("record").unwrap());
    check_input(ledger.charge(request().with_unit(record.clone())), &["record", "person", "census"]);
    check_input(ledger.quote(&request().with_unit(record)), &["record", "person", "census"]);
    let add_remove = Some(Neighbours::AddRemove);
    check_input(ledger.charge(request().with_neighbours(add_remove)), &["add-remove", "substitute", "census"]);
    let kind = |request: Charge| ledger.charge(request).unwrap_err().kind().clone();
    let (account, record, neighbours) = (name("census"), Unit::parse("record").unwrap(), Neighbours::Substitute);
    let (unit, asked) = (Unit::parse("person").unwrap(), record.clone());
    let expected = ErrorKind::OtherUnit { account: account.clone(), unit, asked };
    assert_eq!(kind(request().with_unit(Some(record))), expected);
    let expected = ErrorKind::OtherNeighbours { account: account.clone(), neighbours, asked: Neighbours::AddRemove };
    assert_eq!(kind(request().with_neighbours(add_remove)), expected);
    let cost = CostKind::SampledGaussian.example();
    let expected = ErrorKind::NeedsAddRemove { account, neighbours, cost };
    assert_eq!(kind(charge("k", &["census"], &[cost])), expected);
    assert_eq!(ledger.position(), position);
    let person = Some(Unit::parse("person").unwrap());
    charged(ledger.charge(request().with_unit(person).with_neighbours(Some(Neighbours::Substitute))));
}

pub fn trees_of_different_units_are_not_charged_together(place: &Place) {
    let ledger = place.create();
    let person = Privacy { unit: Unit::parse("person").unwrap(), neighbours: Neighbours::AddRemove };
    let substitute = Privacy { neighbours: Neighbours::Substitute, ..Privacy::default() };
    ledger.open_account(budgeted("records", "1,1e-6")).unwrap();
    ledger.open_account(AccountSpec { privacy: person, ..budgeted("people", "1,1e-6") }).unwrap();
    ledger.open_account(AccountSpec { privacy: substitute, ..budgeted("swapped", "1,1e-6") }).unwrap();
    let (position, accounts) = (ledger.position(), ledger.accounts());
    for pair in [["records", "people"], ["records", "swapped"], ["people", "swapped"]] {
        let request = charge("k", &pair, &[epsilon("0.1")]);
        check_input(ledger.quote(&request), &[pair[0], pair[1], "separately"]);
        check_input(ledger.charge(request), &[pair[0], pair[1], "separately"]);
    }
    assert_eq!((ledger.position(), ledger.accounts()), (position, accounts));
}

pub fn an_account_needs_a_parent_that_is_open_and_alike(place: &Place) {
    let ledger = place.create();
    check_input(ledger.open_account(budgeted("census/alice", "1,1e-6")), &["census/alice", "create census first"]);
    ledger.open_account(budgeted("census", "1,1e-6")).unwrap();
    check_input(ledger.open_account(budgeted("census/alice/thesis", "1,1e-6")), &["create census/alice first"]);
    let person = Privacy { unit: Unit::parse("person").unwrap(), ..Privacy::default() };
    let other = AccountSpec { privacy: person, ..budgeted("census/alice", "1,1e-6") };
    check_input(ledger.open_account(other), &["census/alice", "person", "record"]);
    ledger.open_account(budgeted("census/alice", "1,1e-6")).unwrap();
    ledger.close_account(name("census/alice"), None, None).unwrap();
    check_input(ledger.open_account(budgeted("census/alice/thesis", "1,1e-6")), &["census/alice", "closed"]);
    ledger.open_account(stopping(budgeted("halted", "1,1e-6"))).unwrap();
    refused(ledger.charge(charge("k", &["halted"], &[epsilon("9")])));
    check_input(ledger.open_account(budgeted("halted/below", "1,1e-6")), &["halted"]);

    // Rules with parameters that do not go together.
    let position = ledger.position();
    let without_delta = FilterSpec::new(FilterRule::Zcdp, Budget::parse("1").unwrap());
    check_input(ledger.open_account(AccountSpec { filter: Some(without_delta), ..reading("bad") }), &["delta"]);
    let odometer = OdometerSpec::new(OdometerRule::RenyiMixture, Amount::ZERO);
    check_input(ledger.open_account(AccountSpec { odometer, ..reading("bad") }), &["delta"]);
    assert_eq!(ledger.position(), position);
    ledger.open_account(reading("bad")).unwrap();
    place.verify();
}

pub fn an_account_that_does_not_exist_is_an_error(place: &Place) {
    let ledger = place.create();
    ledger.open_account(budgeted("census", "1,1e-6")).unwrap();
    let position = ledger.position();
    for accounts in [&["nobody"] as &[&str], &["census/alice"], &["census", "nobody"], &["nobody", "census"]] {
        let error = ledger.charge(charge("k", accounts, &[epsilon("0.1")])).unwrap_err();
        assert!(error.is_no_account() && error.is_input(), "{error}");
        assert!(ledger.quote(&charge("k", accounts, &[epsilon("0.1")])).unwrap_err().is_no_account());
    }
    assert!(ledger.account(&name("nobody")).unwrap_err().is_no_account());
    assert!(ledger.close_account(name("nobody"), None, None).unwrap_err().is_no_account());
    assert!(place.reader().unwrap().account(&name("nobody")).unwrap_err().is_no_account());
    assert_eq!(ledger.position(), position);
}

pub fn accounts_are_never_replaced(place: &Place) {
    let ledger = place.create();
    ledger.open_account(ruled("census", FilterRule::Basic, "1")).unwrap();
    charged(ledger.charge(charge("k", &["census"], &[epsilon("1")])));
    check_input(ledger.open_account(ruled("census", FilterRule::Basic, "100")), &["already", "census"]);
    ledger.close_account(name("census"), None, None).unwrap();
    check_input(ledger.open_account(ruled("census", FilterRule::Basic, "100")), &["already", "census"]);
    // A name is its bytes.
    ledger.open_account(ruled("Census", FilterRule::Basic, "1")).unwrap();
    assert_eq!(ledger.accounts().len(), 2);
}

pub fn odd_texts_come_back_as_they_were(place: &Place) {
    let ledger = place.create();
    ledger.open_account(reading("census")).unwrap();
    let odd = [
        "'; DROP TABLE journal; --",
        "\"quoted\" \\ back\\slashed \\u0000 %s {} $1 ?1",
        "{\"end\":{\"sequence\":0}}",
        "für Ägypten, 東京, 🦀, e\u{301} is not \u{e9}",
        "</script>&amp;",
    ];
    for text in odd {
        let request = charge(text, &["census"], &[epsilon("0.01")])
            .by(Some(Who::parse("by", text).unwrap()))
            .with_note(Some(Note::parse("note", text).unwrap()));
        charged(ledger.charge(request.clone()));
        replayed(ledger.charge(request));
    }
    ledger.close_account(name("census"), Some(Who::parse("by", odd[1]).unwrap()), None).unwrap();
    drop(ledger);
    assert_eq!(place.charged_keys(), odd);
    place.verify();
    let copy = place.another();
    copy.import(&place.export()).unwrap();
    assert_eq!(copy.journal(), place.journal());
}
