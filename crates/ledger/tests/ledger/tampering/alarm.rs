//! A change that a verification finds stops writers until the owner clears the alarm.

use super::*;

/// Once an edit was found and charges went on all the same.
#[test]
fn what_a_verification_finds_stops_writers_until_the_owner_clears_it() {
    let tampered = Tampered::new();
    let cost = taximeter_accounting::Cost::parse_epsilon("0.001").unwrap().cost;
    let charge = |ledger: &Ledger, key: &str| {
        ledger.charge(Charge::new(Key::parse("key", key).unwrap(), vec![name("census-2")], vec![cost]).unwrap())
    };
    let open = || Ledger::open(&tampered.location, Options::default());
    let ledger = open().unwrap();
    assert!(matches!(charge(&ledger, "before"), Ok(Outcome::Charged(_))));
    let edited = tampered.journal()[3].line.replacen("\"time\":\"2", "\"time\":\"1", 1);
    tampered.set("journal", "line", 3, &Value::Text(edited));
    tampered.check_named("record 3:", "an edited time");
    // A writer that is open takes nothing more, and no other one opens. Readers do.
    for error in [charge(&ledger, "after").unwrap_err(), ledger.health().unwrap_err()] {
        assert!(error.is_integrity() && error.to_string().contains("alarm: record 3:"), "{error}");
    }
    drop(ledger);
    let error = open().err().expect("the alarm keeps it closed");
    assert!(error.is_integrity() && error.to_string().contains("alarm: record 3:"), "{error}");
    assert!(LedgerReader::open(&tampered.location, None).is_ok());
    assert!(clear_alarm(&tampered.location).unwrap().unwrap().starts_with("record 3:"));
    assert_eq!(clear_alarm(&tampered.location).unwrap(), None);
    let ledger = open().unwrap();
    assert!(matches!(charge(&ledger, "after"), Ok(Outcome::Charged(_))));
    // Once it is cleared a writer that was stopped goes on by itself.
    tampered.check_named("record 3:", "an edited time");
    assert!(charge(&ledger, "again").is_err());
    clear_alarm(&tampered.location).unwrap();
    assert!(matches!(charge(&ledger, "again"), Ok(Outcome::Charged(_))));
}

/// Once these were found before the alarm could be raised, and charges went on.
#[test]
fn what_a_verification_finds_before_it_reads_the_journal_stops_writers_too() {
    let cost = taximeter_accounting::Cost::parse_epsilon("0.001").unwrap().cost;
    let charge = |ledger: &Ledger, key: &str| {
        ledger.charge(Charge::new(Key::parse("key", key).unwrap(), vec![name("census-2")], vec![cost]).unwrap())
    };
    for (change, start) in [
        ("UPDATE journal SET line = line || ' ' WHERE sequence = 0", "record 0:"),
        ("CREATE TRIGGER later AFTER INSERT ON journal BEGIN DELETE FROM alarm; END", "the tables"),
        ("CREATE TRIGGER at_once AFTER INSERT ON alarm BEGIN DELETE FROM alarm; END", "the tables"),
        ("CREATE TABLE more (number INTEGER)", "the tables"),
    ] {
        let tampered = Tampered::new();
        let ledger = Ledger::open(&tampered.location, Options::default()).unwrap();
        assert!(matches!(charge(&ledger, "before"), Ok(Outcome::Charged(_))));
        tampered.tables.execute_batch(change).unwrap();
        tampered.check_named(start, change);
        let error = charge(&ledger, "after").err().unwrap_or_else(|| panic!("charged after: {change}"));
        assert!(error.to_string().contains(&format!("alarm: {start}")), "{change}: {error}");
        assert!(ledger.health().unwrap_err().is_integrity(), "{change}");
        assert!(clear_alarm(&tampered.location).unwrap().unwrap().starts_with(start), "{change}");
    }
}
