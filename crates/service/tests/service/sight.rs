//! Documents about accounts show each caller only what it may see.

use serde::Serialize;
use taximeter_accounting::{Budget, Cost, FilterRule, FilterSpec, OdometerRule, OdometerSpec, OnHalt};
use taximeter_ledger::{AccountName, AccountSpec, Charge, Key, Ledger, Location, Options, Outcome, Privacy};
use taximeter_service::{
    AccountList, AnswerDocument, Charged, Code, Committed, HistoryDocument, Problem, QuoteDocument, ReceiptDocument,
    Refused, Sight,
};

fn name(text: &str) -> AccountName {
    AccountName::parse(text).unwrap()
}

fn charge(accounts: &[&str], epsilon: &str) -> Charge {
    let accounts = accounts.iter().map(|account| name(account)).collect();
    Charge::new(Key::generate().unwrap(), accounts, vec![Cost::parse_epsilon(epsilon).unwrap().cost]).unwrap()
}

/// A small tree in which every account has a different share left, with one account that stops at a halt.
fn ledger(folder: &std::path::Path) -> Ledger {
    let location = Location::File(folder.join("ledger.db"));
    let ledger = Ledger::open(&location, Options { create: true, ..Options::default() }).unwrap();
    for (account, budget, on_halt) in [
        ("census", "2.5,1e-6", OnHalt::Refuse),
        ("census/alice", "5,1e-6", OnHalt::Refuse),
        ("census/alice/stop", "0.2,1e-6", OnHalt::Stop),
        ("census/bob", "4,1e-6", OnHalt::Refuse),
    ] {
        let budget = Budget::parse(budget).unwrap();
        let filter = FilterSpec { on_halt, ..FilterSpec::new(FilterRule::Basic, budget) };
        let odometer = OdometerSpec::new(OdometerRule::Basic, budget.delta());
        let spec = AccountSpec { name: name(account), privacy: Privacy::default(), filter: Some(filter), odometer };
        ledger.open_account(spec).unwrap();
    }
    ledger
}

fn sights() -> [(&'static str, Sight); 3] {
    let own = |above| Sight::Own { accounts: vec![name("census/alice")], above };
    [("own", own(false)), ("above", own(true)), ("all", Sight::All)]
}

/// Which of the texts are in a document, for each sight in turn.
fn check<T: Serialize>(what: &str, make: impl Fn(&Sight) -> T, texts: &[(&str, [bool; 3])]) {
    for (at, (who, sight)) in sights().iter().enumerate() {
        let document = serde_json::to_string(&make(sight)).unwrap();
        for (text, expected) in texts {
            assert_eq!(document.contains(text), expected[at], "{what}, {who}: {text} in {document}");
        }
    }
}

#[test]
fn a_charge_on_two_accounts_is_shown_to_each_without_the_other() {
    let folder = tempfile::tempdir().unwrap();
    let ledger = ledger(folder.path());
    let Outcome::Charged(fresh) = ledger.charge(charge(&["census/alice", "census/bob"], "0.125")).unwrap() else {
        panic!("it fits")
    };
    let receipt = fresh.receipt();
    // What is left of alice, census and bob.
    let texts = [
        ("\"left\":0.975", [true, true, true]),
        ("\"left\":0.95", [false, true, true]),
        ("\"left\":0.96875", [false, false, true]),
        ("census/bob", [false, false, true]),
    ];
    check("charge", |sight| Charged::new(Committed::Now, "k", receipt, &ledger, sight).unwrap(), &texts);
    let history = ledger.history(&name("census/alice"), None, 1).unwrap();
    let beside = [texts[0], ("\"left\":0.95", [false, false, true]), texts[2], texts[3]];
    check("history", |sight| HistoryDocument::new(&name("census/alice"), &history, sight).unwrap(), &beside);
    let hidden = ["0.975", "\"left\":0.95", "census/alice", "census/bob"].map(|text| (text, [false, false, true]));
    check("receipt", |sight| ReceiptDocument::new(receipt, sight), &hidden);
    let above = [("\"account\":\"census\"", [false, true, true]), texts[3]];
    check("list", |sight| AccountList::new(ledger.id(), &ledger.accounts(), sight), &above);
}

#[test]
fn a_refusal_by_an_account_above_does_not_name_it() {
    let folder = tempfile::tempdir().unwrap();
    let ledger = ledger(folder.path());
    let Outcome::Refused(refusal) = ledger.charge(charge(&["census/alice"], "3")).unwrap() else { panic!("too much") };
    let texts = [
        ("\"account\":\"census\"", [false, true, true]),
        ("an account above does not take it", [true, false, false]),
        ("\"fits\":[{\"epsilon\":\"2.5\"}]", [false, true, true]),
        ("\"fits\":[{\"epsilon\":\"5\"}]", [true, false, false]),
    ];
    check("refusal", |sight| Refused::new(&refusal, sight), &texts);
    let quote = || ledger.quote(&charge(&["census/alice"], "3")).unwrap();
    let texts = [("\"account\":\"census\"", [false, true, true]), ("\"verdict\":\"refused\"", [false, true, true])];
    check("quote", |sight| QuoteDocument::new(quote(), sight), &texts);
}

/// A record about one account may name others: the refused charge was on all of them.
#[test]
fn a_halt_does_not_name_the_other_accounts_of_its_charge() {
    let folder = tempfile::tempdir().unwrap();
    let ledger = ledger(folder.path());
    let both = charge(&["census/alice/stop", "census/bob"], "0.3");
    let Outcome::Refused(refusal) = ledger.charge(both).unwrap() else { panic!("too much") };
    let halt = refusal.halt().unwrap();
    assert_eq!(halt.after().len(), 1);
    let bob = [("census/bob", [false, false, true])];
    check("refusal", |sight| Refused::new(&refusal, sight), &bob);
    check("receipt", |sight| ReceiptDocument::new(halt, sight), &bob);
    let history = ledger.history(&name("census/alice/stop"), None, 9).unwrap();
    check("history", |sight| HistoryDocument::new(&name("census/alice/stop"), &history, sight).unwrap(), &bob);
}

#[test]
fn an_answer_is_the_stored_bytes_or_omits_hidden_accounts() {
    let hash = "0".repeat(64);
    let account = |name: &str, left: &str| {
        format!(r#"{{"account":"{name}","reading":0.10,"left":{left},"guarantee":"g","filter_guarantee":"f"}}"#)
    };
    let accounts = [account("census", "0.8125"), account("census/alice", "0.7")].join(",");
    let stored = format!(
        r#"{{"dataset":"census","version":1,"key":"k","question":"q","protects":"p","confidence":0.95,"columns":[],
        "rows":[[{{"interval":[1.50,2],"value":1.75}}]],
        "post_processing":[],"cost":{{"epsilon":"0.1"}},"accounts":[{accounts}],
        "receipt":{{"ledger":"{}","sequence":3,"hash":"{hash}","record":{{"after":"0.8125"}}}}}}"#,
        "1".repeat(32)
    );
    for (who, sight) in sights() {
        let seen = AnswerDocument::seen(stored.clone(), &sight).unwrap();
        match who {
            "own" => {
                assert!(!seen.contains("0.8125") && !seen.contains(r#""account":"census","#), "{seen}");
                // Numbers keep their digits.
                assert!(
                    seen.contains("[1.50,2]") && seen.contains("0.7") && seen.contains(r#""record":null"#),
                    "{seen}"
                );
            }
            _ => assert_eq!(seen, stored),
        }
    }
    assert!(AnswerDocument::seen("{}".to_string(), &sights()[0].1).is_err());
}

#[test]
fn an_error_about_unreachable_data_does_not_say_where_they_are() {
    let why = "the data at postgres://db.internal/shop: connection refused".to_string();
    let away = taximeter_gate::Error::from(taximeter_gate::ErrorKind::DataAway { dataset: name("people"), why });
    let problem = Problem::from(away);
    assert_eq!((problem.status, problem.code), (503, Code::Busy));
    assert!(problem.detail.contains("nothing was charged") && !problem.detail.contains("db.internal"), "{problem}");
}
