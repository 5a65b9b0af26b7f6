use taximeter_accounting::FilterRule;
use taximeter_ledger::{Ledger, Outcome};

use super::super::tests::support::*;
use super::*;

/// Two trees, an account opened later, charges on several accounts, a halt, a closed account, a restore, and an account opened after it.
fn lived_through() -> (Place, Ledger) {
    let place = Place::new();
    let ledger = place.open();
    ledger.open_account(spec("census", Some((FilterRule::Residue, "1,1e-6")))).unwrap();
    ledger.open_account(stopping(spec("census/alice", Some((FilterRule::Basic, "0.5"))))).unwrap();
    ledger.open_account(spec("other", None)).unwrap();
    charge(&ledger, &["census/alice"], "0.1", Some("alice"));
    charge(&ledger, &["census", "other"], "0.05", None);
    ledger.open_account(spec("census/bob", Some((FilterRule::Zcdp, "1,1e-6")))).unwrap();
    charge(&ledger, &["census/alice", "census/bob", "other"], "0.1", Some("Älice \"the\" analyst"));
    assert!(matches!(charge(&ledger, &["census/alice"], "0.4", Some("alice")), Outcome::Refused(_)));
    charge(&ledger, &["census/bob"], "0.01", Some("bob"));
    ledger.close_account(name("other"), Some(who("olga")), None).unwrap();
    drop(ledger);
    place.lose_witness();
    let ledger = place.open();
    ledger.open_account(spec("later", Some((FilterRule::Basic, "1")))).unwrap();
    charge(&ledger, &["later"], "0.1", Some("alice"));
    (place, ledger)
}

#[test]
fn a_glance_at_a_record_sees_what_is_in_it() {
    let (_place, ledger) = lived_through();
    let mut kinds = std::collections::BTreeSet::new();
    for receipt in ledger.records(0, 100).unwrap() {
        let record = receipt.record().unwrap();
        let event = match record.event {
            taximeter_ledger::Event::Ledger { .. } => TimelineEvent::Ledger(IgnoredAny),
            taximeter_ledger::Event::Open(_) => TimelineEvent::Open(IgnoredAny),
            taximeter_ledger::Event::Charge(charge) => TimelineEvent::Charge(ChargedBy { by: charge.who().cloned() }),
            taximeter_ledger::Event::Halt(_) => TimelineEvent::Halt(IgnoredAny),
            taximeter_ledger::Event::Close { .. } => TimelineEvent::Close(IgnoredAny),
            taximeter_ledger::Event::Restore { .. } => TimelineEvent::Restore(IgnoredAny),
        };
        kinds.insert(format!("{event:?}").split('(').next().unwrap().to_string());
        assert_eq!(TimelineRecord::read(&receipt).unwrap(), TimelineRecord { time: record.time, event });
    }
    assert_eq!(kinds.len(), 6, "{kinds:?}");
}

#[test]
fn a_trail_is_what_the_history_says() {
    let (_place, ledger) = lived_through();
    let timelines = read(&ledger, 1000);
    let accounts = ledger.accounts();
    assert_eq!(accounts.len(), 5);
    for account in accounts {
        let timeline = timeline(&timelines, account.name().as_str());
        let mut history = ledger.history(account.name(), None, 100).unwrap().records;
        history.reverse();
        let about = |receipt: &Receipt| {
            let after = receipt.after().iter().find(|after| after.account == *account.name()).unwrap();
            let time = receipt.record().unwrap().time;
            (receipt.sequence(), time, after.reading.map(|bound| bound.0), after.left.map(|share| share.0))
        };
        let points = timeline.curve().points();
        let seen: Vec<_> = points.iter().map(|point| (point.sequence, point.time, point.reading, point.left)).collect();
        assert_eq!(seen, history.iter().map(about).collect::<Vec<_>>(), "{}", account.name());

        let newest = timeline.newest().unwrap();
        let now = (account.charges(), account.reading(), account.left());
        assert_eq!((newest.charges, newest.reading, newest.left), now, "{}", account.name());
        assert!(points.first().unwrap().charges == 0 && points.is_sorted_by_key(|point| point.charges));
        assert_eq!(timeline.is_open(), account.standing() == taximeter_ledger::Standing::Open, "{}", account.name());
    }
}

#[test]
fn a_record_that_is_added_twice_counts_once() {
    let mut timeline = Timeline::default();
    for (sequence, event, left) in [(1, "open", 1.0), (4, "charge", 0.9), (4, "charge", 0.9), (3, "charge", 0.95)] {
        push(&mut timeline, sequence, event, "2026-01-01T00:00:00Z", (Some(0.0), Some(left)));
    }
    assert_eq!(timeline.curve().points().len(), 2);
    assert_eq!(timeline.newest().unwrap().charges, 1);
    assert_eq!(timeline.spenders().by_budget()[0].1.charges, 1);
}
