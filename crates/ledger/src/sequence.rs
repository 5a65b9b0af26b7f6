//! Quotes of sequences: what charges would do one after the other, however many they are. Nothing is charged or written.

use taximeter_accounting::{Cost, Filter};

use crate::account::{Account, Decision, Reason};
use crate::books::check_privacy;
use crate::charge::{Charge, largest_on_all};
use crate::error::Error;
use crate::name::AccountName;

/// A charge that is made a number of times.
#[derive(Clone, Debug)]
pub struct RepeatedCharge {
    /// The charge. Its key is not used.
    pub charge: Charge,
    /// How many times.
    pub times: u32,
}

/// What charges would do one after the other, account by account.
#[derive(Clone, Debug)]
pub struct SequenceQuote {
    accounts: Vec<SequencedAccount>,
}

/// What charges would do to one of the accounts that would pay, up to the first that it refuses.
#[derive(Clone, Debug)]
pub struct SequencedAccount {
    /// The account as it is.
    pub before: Account,
    /// The share of the budget that is left after each charge with its repetitions; the last is the first that it refuses, as often as it
    /// is taken.
    pub left: Vec<Option<f64>>,
    /// Its filter after all of them, if it has one, or the first that it refuses.
    pub after: Result<Option<Filter>, RefusedInSequence>,
}

/// The first charge of a sequence that an account refuses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RefusedInSequence {
    /// Its index in the sequence.
    pub at: usize,
    /// How many times it is taken before.
    pub taken: u32,
    /// Why it is refused.
    pub reason: Reason,
}

impl SequenceQuote {
    /// The quote of charges that these accounts pay for, from the root down.
    pub(crate) fn new(payers: Vec<Account>, charges: &[RepeatedCharge]) -> Result<SequenceQuote, Error> {
        for RepeatedCharge { charge, .. } in charges {
            check_privacy(charge, payers.iter().filter(|account| pays(account, charge)))?;
        }
        let accounts = payers.into_iter().map(|account| sequenced(account, charges)).collect::<Result<_, Error>>()?;
        Ok(SequenceQuote { accounts })
    }

    /// The part of the quote about the accounts that may be seen. It tells nothing about the others.
    pub fn seen_by(mut self, sees: impl Fn(&AccountName) -> bool) -> SequenceQuote {
        self.accounts.retain(|account| sees(account.before.name()));
        self
    }

    /// The accounts that would pay, from the root down.
    pub fn accounts(&self) -> &[SequencedAccount] {
        &self.accounts
    }

    /// Whether all accounts would take all charges.
    pub fn is_admitted(&self) -> bool {
        self.accounts.iter().all(|account| account.after.is_ok())
    }

    /// The largest cost of the same kind that all accounts would still take after all charges; nothing if there is none, if a charge is
    /// refused, or if no account has a filter.
    pub fn largest_after(&self, cost: &Cost) -> Option<Cost> {
        let filters = self.accounts.iter().map(|account| account.after.as_ref().ok());
        let filters: Vec<&Filter> = filters.collect::<Option<Vec<_>>>()?.into_iter().flatten().collect();
        largest_on_all(&filters, &[*cost])?.first().copied()
    }
}

impl SequencedAccount {
    /// The costs of a sequence that it would pay, in this order.
    pub fn costs(&self, charges: &[RepeatedCharge]) -> Vec<Cost> {
        let paid = charges.iter().filter(|repeated| pays(&self.before, &repeated.charge));
        paid.flat_map(|RepeatedCharge { charge, times }| charge.costs().repeat(*times as usize)).collect()
    }
}

/// The accounts that charges name, each once.
pub(crate) fn named(charges: &[RepeatedCharge]) -> Vec<AccountName> {
    let mut names: Vec<AccountName> = Vec::new();
    for name in charges.iter().flat_map(|repeated| repeated.charge.accounts()) {
        if !names.contains(name) {
            names.push(name.clone());
        }
    }
    names
}

/// Whether an account is among those that a charge names, or above one of them.
fn pays(account: &Account, charge: &Charge) -> bool {
    charge.accounts().iter().any(|named| named.path().any(|above| above == account.name().as_str()))
}

fn sequenced(before: Account, charges: &[RepeatedCharge]) -> Result<SequencedAccount, Error> {
    let paid = charges.iter().map(|repeated| pays(&before, &repeated.charge)).collect::<Vec<_>>();
    for (RepeatedCharge { charge, .. }, _) in charges.iter().zip(&paid).filter(|(_, pays)| **pays) {
        before.require_takes(charge.costs())?;
    }
    let (mut now, mut left) = (before.clone(), Vec::with_capacity(charges.len()));
    for (at, (RepeatedCharge { charge, times }, pays)) in charges.iter().zip(paid).enumerate() {
        for taken in 0..if pays { *times } else { 0 } {
            match now.decide(charge.costs())? {
                Decision::Admitted(filter) => now.set_filter(filter),
                Decision::Refused { reason, .. } => {
                    left.push(now.left());
                    return Ok(SequencedAccount { before, left, after: Err(RefusedInSequence { at, taken, reason }) });
                }
            }
        }
        left.push(now.left());
    }
    Ok(SequencedAccount { before, left, after: Ok(now.filter().cloned()) })
}
