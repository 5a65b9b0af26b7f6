//! Receipts: what a caller holds in hand.

use taximeter_ledger::{FreshReceipt, Hash, Receipt, Record};

use super::place::*;

/// A receipt of every kind, in order.
fn some_receipts(place: &Place) -> Vec<Receipt> {
    let ledger = place.create();
    let mut receipts = vec![
        ledger.open_account(budgeted("census", "1,1e-6")).unwrap(),
        ledger.open_account(reading("census/alice")).unwrap(),
    ];
    for at in 0..6 {
        let accounts = [["census"], ["census/alice"]][at % 2];
        receipts.push(charged(ledger.charge(charge(&format!("k{at}"), &accounts, &[epsilon("0.05")]))).into_receipt());
    }
    receipts.push(ledger.close_account(name("census/alice"), None, None).unwrap());
    receipts
}

pub fn a_receipt_is_a_journal_line_and_its_blake3_hash(place: &Place) {
    let receipts = some_receipts(place);
    let journal = place.journal();
    let id = place.reader().unwrap().id();
    for receipt in &receipts {
        assert_eq!(receipt.hash().to_string(), blake3::hash(receipt.line().as_bytes()).to_hex().as_str());
        let record = receipt.record().unwrap();
        assert_eq!(record, journal[receipt.sequence() as usize]);
        assert_eq!((record.sequence, record.line().as_str()), (receipt.sequence(), receipt.line()));
        assert_eq!(record.after, receipt.after());
        assert_eq!(receipt.ledger(), id);
    }
}

pub fn receipts_chain_to_the_first_record(place: &Place) {
    let receipts = some_receipts(place);
    let journal = place.journal();
    let mut before = Hash::of(journal[0].line().as_bytes());
    assert_eq!(journal[0].previous, Hash::NONE);
    for (at, receipt) in receipts.iter().enumerate() {
        assert_eq!(receipt.sequence(), at as u64 + 1);
        assert_eq!(receipt.record().unwrap().previous, before);
        before = receipt.hash();
    }
    assert_eq!(place.reader().unwrap().position().hash, before);
}

pub fn what_a_receipt_reads_is_what_the_account_reads(place: &Place) {
    let receipts = some_receipts(place);
    let mut reader = place.reader().unwrap();
    for account in reader.accounts().to_vec() {
        let newest = &receipts[account.sequence() as usize - 1];
        let after = newest.after().iter().find(|after| after.account == *account.name()).unwrap();
        assert_eq!(after.reading.map(|reading| reading.0), account.reading());
        assert_eq!(after.left.map(|left| left.0), account.left());
        assert_eq!(&reader.history(account.name(), None, 1).unwrap().records[0], newest);
    }
}

pub fn a_fresh_receipt_cannot_be_copied(_: &Place) {
    trait IsNotClone<Marker> {
        fn is_not_clone() {}
    }
    impl<T> IsNotClone<()> for T {}
    struct IsClone;
    impl<T: Clone> IsNotClone<IsClone> for T {}
    // If it could be copied, both would hold, and this would not compile.
    <FreshReceipt as IsNotClone<_>>::is_not_clone();
}

/// An analyst whose account is the root of a tree gets whole records: the hash of the record before and the digest of all states are
/// in them. The analyst makes ledgers of their own in which the other account is charged with every guess, and compares. To make it
/// as easy as can be, the key and the time of the other's charge are known.
pub fn a_record_tells_nothing_about_other_accounts_to_who_guesses(place: &Place) {
    /// The records of a charge on the other account and of one on the analyst's own.
    fn play(place: &Place, spent: &str) -> [Record; 2] {
        let ledger = place.create();
        for account in ["other", "own"] {
            ledger.open_account(budgeted(account, "10,1e-6")).unwrap();
        }
        [("other", spent), ("own", "0.1")].map(|(account, cost)| {
            charged(ledger.charge(charge(account, &[account], &[epsilon(cost)]))).receipt().record().unwrap()
        })
    }
    let [theirs, own] = play(place, "0.7");
    assert_eq!(own.previous, Hash::of(theirs.line().as_bytes()));
    for guess in ["0.1", "0.2", "0.3", "0.4", "0.5", "0.6", "0.7", "0.8"] {
        let [mut guessed, made] = play(&Place::sqlite(), guess);
        assert_ne!(own.states, made.states, "the digest of the states tells that {guess} was spent");
        (guessed.previous, guessed.time) = (theirs.previous, theirs.time);
        assert_ne!(own.previous, Hash::of(guessed.line().as_bytes()), "the hash tells that {guess} was spent");
    }
}
