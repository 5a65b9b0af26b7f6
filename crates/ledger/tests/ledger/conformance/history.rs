//! The history of an account.

use taximeter_ledger::Standing;

use super::place::*;

pub fn pages_cover_everything_exactly_once(place: &Place) {
    let ledger = place.create();
    ledger.open_account(budgeted("census", "1,1e-6")).unwrap();
    ledger.open_account(stopping(budgeted("census/alice", "0.5,1e-6"))).unwrap();
    ledger.open_account(budgeted("other", "1,1e-6")).unwrap();
    for at in 0..12 {
        let accounts: &[&str] = [&["census"] as &[&str], &["census/alice"], &["other"], &["other", "census"]][at % 4];
        charged(ledger.charge(charge(&format!("k{at}"), accounts, &[epsilon("0.01")])));
    }
    refused(ledger.charge(charge("halt", &["census/alice"], &[epsilon("0.9")])));
    ledger.close_account(name("other"), None, None).unwrap();
    assert_eq!(ledger.account(&name("census/alice")).unwrap().standing(), Standing::Halted);
    drop(ledger);

    let journal = place.journal();
    for account in ["census", "census/alice", "other"].map(name) {
        let about = journal.iter().filter(|record| record.after.iter().any(|after| after.account == account));
        let mut expected: Vec<u64> = about.map(|record| record.sequence).collect();
        expected.reverse();
        assert!(expected.len() > 3);
        let mut reader = place.reader().unwrap();
        for most in [1, 2, 3, expected.len() - 1, expected.len(), expected.len() + 1, usize::MAX] {
            let (mut seen, mut from) = (Vec::new(), None);
            loop {
                let page = reader.history(&account, from, most).unwrap();
                assert!(page.records.len() <= most);
                assert!(page.next.is_none() || page.records.len() == most);
                seen.extend(page.records.iter().map(|receipt| receipt.sequence()));
                from = page.next;
                if from.is_none() {
                    break;
                }
            }
            assert_eq!(seen, expected, "{account}, {most} at a time");
        }
        let page = reader.history(&account, None, usize::MAX).unwrap();
        for receipt in page.records {
            assert_eq!(receipt.record().unwrap(), journal[receipt.sequence() as usize]);
        }
    }
}

pub fn a_place_that_is_not_in_the_history_is_an_error(place: &Place) {
    let ledger = place.create();
    ledger.open_account(budgeted("census", "1,1e-6")).unwrap();
    ledger.open_account(budgeted("other", "1,1e-6")).unwrap();
    charged(ledger.charge(charge("k", &["other"], &[epsilon("0.01")])));
    let mut reader = place.reader().unwrap();
    check_input(reader.history(&name("census"), Some(3), 10), &["record 3", "census"]);
    check_input(reader.history(&name("other"), Some(1), 10), &["record 1", "other"]);
    check_input(reader.history(&name("nobody"), None, 10), &["nobody"]);
    check_input(reader.history(&name("nobody"), Some(1), 10), &["nobody"]);
    check_input(reader.history(&name("census"), Some(99), 10), &["record 99"]);
    check_input(reader.history(&name("census"), Some(u64::MAX), 10), &["census"]);
}
