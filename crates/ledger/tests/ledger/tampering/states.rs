//! Changed states of accounts.

use super::*;

#[test]
fn a_changed_byte_in_a_state_is_noticed_in_that_account_and_keeps_the_ledger_closed() {
    let tampered = Tampered::new();
    for StateRow { number, name, state, .. } in tampered.accounts() {
        let rows = [(number, state.clone(), format!("account {name}:"))];
        tampered.check_every_byte("accounts", "state", &rows, |at, byte| byte ^ (1 << (at % 8)));
        for at in 0..state.len() {
            let mut changed = state.clone();
            changed[at] = changed[at].wrapping_add(1);
            tampered.set("accounts", "state", number, &Value::Blob(changed));
            let error = LedgerReader::open(&tampered.location, None).err().expect("a state was edited");
            assert!(error.is_integrity(), "byte {at} of {name}: {error}");
            if at % 64 == 0 {
                tampered.check_does_not_open(&format!("byte {at} of {name}"));
            }
        }
        for other in [Vec::new(), state[..state.len() - 1].to_vec(), [&state[..], &[0]].concat()] {
            tampered.set("accounts", "state", number, &Value::Blob(other));
            tampered.check_named(&format!("account {name}:"), "a state of another length");
            tampered.check_does_not_open("a state of another length");
        }
        tampered.set("accounts", "state", number, &Value::Blob(state));
    }
    LedgerReader::open(&tampered.location, None).unwrap();
    Ledger::open(&tampered.location, Options::default()).unwrap();
}

#[test]
fn a_removed_added_or_renamed_account_is_noticed_and_keeps_the_ledger_closed() {
    let tampered = Tampered::new();
    let accounts = tampered.accounts();
    let check = |rows: &[StateRow], start: &str, what: &str| {
        tampered.write_accounts(rows);
        tampered.check_named(start, what);
        tampered.check_does_not_open(what);
    };
    for at in 0..accounts.len() {
        let name = &accounts[at].name;
        let mut removed = accounts.clone();
        removed.remove(at);
        check(&removed, &format!("account {name}:"), &format!("{name} is removed"));
        removed.iter_mut().enumerate().for_each(|(number, row)| row.number = number as i64);
        check(&removed, &format!("account {name}:"), &format!("{name} is removed, and those after it moved up"));
        for other in ["census-3", "census/", "Census", ""] {
            let mut renamed = accounts.clone();
            renamed[at].name = other.to_string();
            check(&renamed, &format!("account {name}:"), &format!("{name} is renamed {other:?}"));
        }
        for moved in [-1, 99, i64::from(u32::MAX) + 1, i64::MAX] {
            let mut rows = accounts.clone();
            rows[at].number = moved;
            check(&rows, "account", &format!("{name} is moved to {moved}"));
        }
        for swapped in at + 1..accounts.len() {
            let mut rows = accounts.clone();
            (rows[at].number, rows[swapped].number) = (swapped as i64, at as i64);
            check(&rows, &format!("account {name}:"), &format!("{name} is swapped with {swapped}"));
            let mut rows = accounts.clone();
            (rows[at].state, rows[swapped].state) = (accounts[swapped].state.clone(), accounts[at].state.clone());
            check(&rows, &format!("account {name}:"), &format!("{name} has the state of {swapped}"));
        }
        let mut added = accounts.clone();
        let number = accounts.len() as i64;
        added.push(StateRow { number, name: "more".to_string(), ..accounts[at].clone() });
        check(&added, "account \"more\":", "an account is added");
    }
    check(&[], "account census:", "all accounts are removed");
}

#[test]
fn a_changed_sequence_of_an_account_is_noticed_and_keeps_the_ledger_closed() {
    let tampered = Tampered::new();
    for StateRow { number, name, sequence, .. } in tampered.accounts() {
        for other in [0, 1, sequence - 1, sequence + 1, 29, 30, -1, i64::MAX, i64::MIN] {
            if other != sequence {
                tampered.set("accounts", "sequence", number, &Value::Integer(other));
                tampered.check_named(&format!("account {name}:"), &format!("sequence {other} instead of {sequence}"));
                tampered.check_does_not_open(&format!("sequence {other} instead of {sequence}"));
            }
        }
        tampered.set("accounts", "sequence", number, &Value::Integer(sequence));
    }
    tampered.verify().unwrap();
}
