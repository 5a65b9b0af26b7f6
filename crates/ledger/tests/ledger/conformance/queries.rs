//! What a running ledger tells: its accounts, its journal, and how it fares.

use std::path::Path;

use taximeter_accounting::FilterRule;
use taximeter_ledger::{AccountName, Location};

use super::place::*;

pub fn a_record_is_found_by_its_number_and_a_charge_by_its_key(place: &Place) {
    let ledger = place.create();
    ledger.open_account(stopping(budgeted("census", "1,1e-6"))).unwrap();
    let early = charged(ledger.charge(charge("early", &["census"], &[epsilon("0.1")]))).into_receipt();
    let mut reader = place.reader().unwrap();
    let late = charged(ledger.charge(charge("late", &["census"], &[epsilon("0.1")]))).into_receipt();
    refused(ledger.charge(charge("halt", &["census"], &[epsilon("9")])));

    let journal = place.journal();
    assert_eq!(journal.len(), 5);
    for record in &journal {
        let receipt = ledger.receipt(record.sequence).unwrap().expect("it is in the journal");
        assert_eq!((receipt.record().unwrap(), receipt.ledger()), (record.clone(), ledger.id()));
    }
    for nowhere in [5, u64::MAX] {
        assert_eq!(ledger.receipt(nowhere).unwrap(), None);
    }
    assert_eq!(ledger.receipt_of(&key("early")).unwrap(), Some(early.clone()));
    assert_eq!(ledger.receipt_of(&key("late")).unwrap(), Some(late.clone()));
    // A halt is in the journal, but nothing was paid.
    for unpaid in ["halt", "never", "earl", "EARLY"] {
        assert_eq!(ledger.receipt_of(&key(unpaid)).unwrap(), None, "{unpaid}");
    }

    // A reader tells the same, up to when it was opened.
    assert_eq!(reader.receipt(early.sequence()).unwrap().as_ref(), Some(&early));
    assert_eq!(reader.receipt_of(&key("early")).unwrap(), Some(early));
    assert_eq!(reader.receipt(late.sequence()).unwrap(), None);
    assert_eq!(reader.receipt_of(&key("late")).unwrap(), None);
    assert_eq!(place.reader().unwrap().receipt_of(&key("late")).unwrap(), Some(late));
}

pub fn records_are_read_in_order_from_a_number_on(place: &Place) {
    let ledger = place.create();
    ledger.open_account(budgeted("census", "1,1e-6")).unwrap();
    ledger.open_account(stopping(budgeted("census/alice", "1,1e-6"))).unwrap();
    for at in 0..4 {
        charged(ledger.charge(charge(&format!("k{at}"), &["census/alice"], &[epsilon("0.1")])));
    }
    refused(ledger.charge(charge("halt", &["census/alice"], &[epsilon("9")])));
    ledger.close_account(name("census"), None, None).unwrap();
    assert_eq!(ledger.position().sequence, 8);
    let check = |from: u64, most: usize, expected: std::ops::Range<u64>| {
        let one_by_one: Vec<_> = expected.map(|sequence| ledger.receipt(sequence).unwrap().unwrap()).collect();
        assert_eq!(ledger.records(from, most).unwrap(), one_by_one, "{most} from {from} on");
    };
    check(0, 1, 0..1);
    check(0, 4, 0..4);
    check(3, 4, 3..7);
    check(0, 9, 0..9);
    check(0, usize::MAX, 0..9);
    check(5, 1000, 5..9);
    check(8, 1, 8..9);
    check(0, 0, 0..0);
    for beyond in [9, 10, i64::MAX as u64, i64::MAX as u64 + 1, u64::MAX] {
        check(beyond, 10, 0..0);
        check(beyond, usize::MAX, 0..0);
    }
    // What is charged now is there at once.
    ledger.open_account(budgeted("other", "1,1e-6")).unwrap();
    check(9, 10, 9..10);
}

pub fn a_running_ledger_and_a_reader_tell_the_same_history(place: &Place) {
    let ledger = place.create();
    ledger.open_account(budgeted("census", "1,1e-6")).unwrap();
    ledger.open_account(budgeted("census/alice", "1,1e-6")).unwrap();
    for at in 0..10 {
        let account = ["census", "census/alice"][at % 2];
        charged(ledger.charge(charge(&format!("k{at}"), &[account], &[epsilon("0.01")])));
    }
    let mut reader = ledger.reader().unwrap();
    let mut check = |account: &AccountName, from: Option<u64>, most: usize| {
        let (live, read) = (ledger.history(account, from, most), reader.history(account, from, most));
        match (live, read) {
            (Ok(live), Ok(read)) => {
                assert_eq!((&live.records, live.next), (&read.records, read.next));
                live.records.len()
            }
            (Err(live), Err(read)) => {
                assert_eq!(live, read);
                0
            }
            (live, read) => panic!("{live:?}, {read:?}"),
        }
    };
    for (account, from, most, expected) in [
        ("census", None, usize::MAX, 11),
        ("census", None, 4, 4),
        ("census", Some(5), 100, 4),
        ("census/alice", None, 100, 6),
        // No part of the history, or of any.
        ("census/alice", Some(3), 100, 0),
        ("census", Some(99), 100, 0),
        ("nobody", None, 100, 0),
    ] {
        assert_eq!(check(&name(account), from, most), expected, "{account}, {from:?}, {most}");
    }
    // What is charged now is there at once.
    let newest = charged(ledger.charge(charge("new", &["census"], &[epsilon("0.01")]))).into_receipt();
    assert_eq!(ledger.history(&name("census"), None, 1).unwrap().records, [newest]);
}

/// The last process that closes a file tidies it up, and a copy of the file alone must be complete.
pub fn readers_leave_nothing_behind(place: &Place) {
    let ledger = place.create();
    ledger.open_account(reading("census")).unwrap();
    charged(ledger.charge(charge("k", &["census"], &[epsilon("0.1")])));
    assert!(ledger.receipt_of(&key("k")).unwrap().is_some());
    drop(ledger);
    if let Location::File(path) = &place.location {
        let beside = format!("{}-wal", path.display());
        assert!(!Path::new(&beside).exists(), "{beside} is left");
    }
    assert_eq!(place.copy().open().unwrap().account(&name("census")).unwrap().charges(), 1);
}

/// A connection to PostgreSQL cannot be ended on a thread that runs tasks.
pub fn a_task_may_hold_the_last_handle(place: &Place) {
    let ledger = place.create();
    ledger.open_account(reading("census")).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(async move {
        let handle = ledger.clone();
        let look = move || handle.history(&name("census"), None, 10).map(|history| history.records.len());
        assert_eq!(tokio::task::spawn_blocking(look).await.unwrap().unwrap(), 1);
        ledger.refresh_async().await.unwrap();
        drop(ledger);
    });
    place.open().unwrap();
}

pub fn the_accounts_that_changed_since_a_record_are_told(place: &Place) {
    let ledger = place.create();
    for account in ["census", "census/alice", "other"] {
        ledger.open_account(budgeted(account, "1,1e-6")).unwrap();
    }
    let opened = ledger.position().sequence;
    charged(ledger.charge(charge("a", &["other"], &[epsilon("0.1")])));
    charged(ledger.charge(charge("b", &["census"], &[epsilon("0.1")])));
    let changed = |since: u64| -> Vec<String> {
        let changed = ledger.changed_since(since);
        for account in &changed {
            assert_eq!(*account, ledger.account(account.name()).unwrap());
        }
        changed.iter().map(|account| account.name().to_string()).collect()
    };
    assert_eq!(changed(0), ["census", "census/alice", "other"]);
    assert_eq!(changed(opened), ["census", "other"]);
    assert_eq!(changed(opened + 1), ["census"]);
    assert_eq!(changed(opened + 2), Vec::<String>::new());
    assert_eq!(changed(u64::MAX), Vec::<String>::new());
}

pub fn a_running_ledger_tells_how_it_fares(place: &Place) {
    let ledger = place.create();
    assert_eq!((ledger.charges(), ledger.commits(), ledger.commit_times().count), (0, 0, 0));
    ledger.open_account(budgeted("census", "1,1e-6")).unwrap();
    for at in 0..3 {
        charged(ledger.charge(charge(&format!("k{at}"), &["census"], &[epsilon("0.1")])));
    }
    replayed(ledger.charge(charge("k0", &["census"], &[epsilon("0.1")])));
    refused(ledger.charge(charge("k3", &["census"], &[epsilon("9")])));
    ledger.refresh().unwrap();
    assert_eq!((ledger.charges(), ledger.commits(), ledger.refusals().0), (3, 4, 1));
    let times = ledger.commit_times();
    assert_eq!(times.count, 4);
    assert_eq!(times.buckets.last(), Some(&(f64::INFINITY, 4)));
    assert!(times.sum_seconds > 0.0 && times.buckets.is_sorted_by(|one, next| one.0 < next.0 && one.1 <= next.1));
    assert!(ledger.is_running() && ledger.cause().is_none());
    assert_eq!(*ledger.location(), place.location);
}

/// What fits depends on the filters of the accounts that the caller sees, and on nothing else.
pub fn what_fits_says_nothing_about_accounts_that_are_not_seen(place: &Place) {
    let ledger = place.create();
    for (account, budget) in [("census", "0.1"), ("census/alice", "0.5"), ("census/bob", "0.3")] {
        ledger.open_account(ruled(account, FilterRule::Basic, budget)).unwrap();
    }
    ledger.open_account(reading("census/reads")).unwrap();
    ledger.open_account(budgeted("census/closed", "1,1e-6")).unwrap();
    ledger.close_account(name("census/closed"), None, None).unwrap();
    let check = |accounts: &[&str], seen: &[&str], expected: Option<&str>| {
        let request = charge("k", accounts, &[epsilon("0.6")]);
        let sees = |account: &AccountName| seen.contains(&account.as_str());
        let expected = expected.map(|text| vec![epsilon(text)]);
        let refusal = refused(ledger.charge(request.clone()));
        assert_eq!(refusal.fits_on(sees), expected, "{accounts:?} seen as {seen:?}");
        let quote = ledger.quote(&request).unwrap().seen_by(sees);
        assert_eq!(quote.fits().map(<[_]>::to_vec), expected, "{accounts:?} seen as {seen:?}");
        let shown: Vec<&str> = quote.accounts().iter().map(|quoted| quoted.before.name().as_str()).collect();
        assert!(shown.iter().all(|account| seen.contains(account)), "{shown:?}");
    };
    let both = ["census/alice", "census/bob"];
    check(&both, &["census", "census/alice", "census/bob"], Some("0.1"));
    check(&both, &both, Some("0.3"));
    check(&both, &["census/alice"], Some("0.5"));
    check(&both, &["other"], None);
    check(&["census/reads"], &["census/reads"], None);
    // That an account is closed counts where it is seen.
    check(&["census/alice", "census/closed"], &["census/alice"], Some("0.5"));
    check(&["census/alice", "census/closed"], &["census/alice", "census/closed"], None);

    // What a quote says of the accounts that are seen, it says of them alone.
    let quote = || ledger.quote(&charge("k", &["census/alice"], &[epsilon("0.2")])).unwrap();
    assert_eq!((quote().is_admitted(), quote().count().unwrap().count), (false, 0));
    let seen = quote().seen_by(|account| *account == name("census/alice"));
    assert_eq!((seen.is_admitted(), seen.count().unwrap().count), (true, 2));
}

/// The same for an account that this very charge stops.
pub fn a_halt_says_nothing_about_accounts_that_are_not_seen(place: &Place) {
    let ledger = place.create();
    ledger.open_account(stopping(ruled("census", FilterRule::Basic, "0.1"))).unwrap();
    ledger.open_account(ruled("census/alice", FilterRule::Basic, "0.5")).unwrap();
    let refusal = refused(ledger.charge(charge("k", &["census/alice"], &[epsilon("0.4")])));
    assert!(refusal.halt().is_some() && refusal.is_not_open());
    assert_eq!(refusal.fits_on(|account| *account == name("census/alice")), Some(vec![epsilon("0.5")]));
    assert_eq!(refusal.fits_on(|account| *account == name("census")), None);
    assert_eq!(refusal.fits(), None);
}

pub fn a_refresh_changes_nothing_where_nobody_else_writes(place: &Place) {
    let ledger = place.create();
    ledger.open_account(budgeted("census", "1,1e-6")).unwrap();
    let before = (ledger.position(), ledger.accounts(), ledger.commits());
    ledger.refresh().unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(ledger.refresh_async()).unwrap();
    assert_eq!((ledger.position(), ledger.accounts(), ledger.commits()), before);
}
