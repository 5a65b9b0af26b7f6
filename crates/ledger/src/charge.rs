//! Charges: what is asked, and what comes of it.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock, PoisonError, RwLock};

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use taximeter_accounting::{Amount, Cost, Filter, FilterRule, OdometerRule, PricedCost};

use crate::account::{Neighbours, Reason, Unit};
use crate::error::{Error, ErrorKind};
use crate::hash::Hash;
use crate::journal::{After, Event, LedgerId, Position, Record};
use crate::name::{AccountName, Key, Note, Who};
use crate::store::StoredRecord;

/// A charge as it is asked for: a list of costs on one or more accounts. These and all accounts above them pay, each once, all or
/// nothing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Charge {
    key: Key,
    accounts: Vec<AccountName>,
    costs: Vec<Cost>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    unit: Option<Unit>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    neighbours: Option<Neighbours>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    by: Option<Who>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    note: Option<Note>,
}

impl Charge {
    /// The most accounts that a charge may name.
    pub const ACCOUNTS: usize = 16;
    /// The most costs in a charge.
    pub const COSTS: usize = 64;

    /// A charge with an idempotency key. The order in which accounts are named does not matter.
    pub fn new(key: Key, accounts: Vec<AccountName>, costs: Vec<Cost>) -> Result<Charge, Error> {
        let mut charge = Charge { key, accounts, costs, unit: None, neighbours: None, by: None, note: None };
        charge.accounts.sort_unstable();
        charge.accounts.dedup();
        charge.check()?;
        Ok(charge)
    }

    /// The same charge with the unit that its costs are about; an account that protects another refuses it as an error.
    pub fn with_unit(self, unit: Option<Unit>) -> Charge {
        Charge { unit, ..self }
    }

    /// The same charge with the neighbouring relation that its costs are about.
    pub fn with_neighbours(self, neighbours: Option<Neighbours>) -> Charge {
        Charge { neighbours, ..self }
    }

    /// The same charge with who asks. A note, not a proof.
    pub fn by(self, by: Option<Who>) -> Charge {
        Charge { by, ..self }
    }

    /// The same charge with a note.
    pub fn with_note(self, note: Option<Note>) -> Charge {
        Charge { note, ..self }
    }

    /// The idempotency key.
    pub fn key(&self) -> &Key {
        &self.key
    }

    /// The accounts that are named, in order.
    pub fn accounts(&self) -> &[AccountName] {
        &self.accounts
    }

    /// The costs, in the order in which they are paid.
    pub fn costs(&self) -> &[Cost] {
        &self.costs
    }

    /// The unit that the costs are about, if it was declared.
    pub fn unit(&self) -> Option<&Unit> {
        self.unit.as_ref()
    }

    /// The neighbouring relation that the costs are about, if it was declared.
    pub fn neighbours(&self) -> Option<Neighbours> {
        self.neighbours
    }

    /// Who asked.
    pub fn who(&self) -> Option<&Who> {
        self.by.as_ref()
    }

    /// The note.
    pub fn note(&self) -> Option<&Note> {
        self.note.as_ref()
    }

    /// The limits, also for a charge that was read.
    pub(crate) fn check(&self) -> Result<(), Error> {
        for (what, count, most) in [
            ("accounts of a charge", self.accounts.len(), Charge::ACCOUNTS),
            ("costs of a charge", self.costs.len(), Charge::COSTS),
        ] {
            if count == 0 || count > most {
                return Err(ErrorKind::Count { what, count, most }.into());
            }
        }
        // A cost that is made by hand may not be one that can be declared, and then the journal could not be read back.
        for cost in &self.costs {
            if let Cost::Approximate { epsilon, delta } = *cost
                && Cost::approximate(epsilon, delta)? != *cost
            {
                return Err(Error::parameter("cost", cost.to_string(), "its delta is 0; declare it as a pure one"));
            }
        }
        if !self.accounts.is_sorted_by(|one, next| one < next) {
            return Err(Error::parameter("accounts", "", "are not in order"));
        }
        Ok(())
    }
}

/// What a charge needs that does not depend on any account. Made on the caller's thread.
#[derive(Clone, Debug)]
pub(crate) struct PreparedCharge {
    pub(crate) charge: Charge,
    pub(crate) costs: Vec<Arc<PricedCost>>,
    /// The event of the charge, in canonical JSON.
    pub(crate) event: Box<RawValue>,
}

impl PreparedCharge {
    pub(crate) fn new(charge: Charge) -> PreparedCharge {
        let costs = charge.costs.iter().map(priced).collect();
        PreparedCharge { costs, event: Event::Charge(charge.clone()).json(), charge }
    }

    /// What comes of it if its key has a receipt: that one, if it was for the same request.
    pub(crate) fn replayed(&self, receipt: Receipt) -> Result<Outcome, Error> {
        let record = receipt.record()?;
        match &record.event {
            Event::Charge(charge) if *charge == self.charge => Ok(Outcome::Replayed(receipt)),
            _ => Err(ErrorKind::KeyTaken { key: self.charge.key.clone(), record: record.sequence }.into()),
        }
    }
}

/// A cost with its prices. What the default odometer needs takes longer to work out than all the rest of a charge, and most charges
/// cost what an earlier one did.
pub(crate) fn priced(cost: &Cost) -> Arc<PricedCost> {
    const MOST: usize = 1000;
    static PRICES: LazyLock<RwLock<HashMap<Cost, Arc<PricedCost>>>> = LazyLock::new(Default::default);
    if let Some(known) = PRICES.read().unwrap_or_else(PoisonError::into_inner).get(cost) {
        return Arc::clone(known);
    }
    let priced = Arc::new(PricedCost::new(*cost));
    priced.prepare(OdometerRule::default());
    let mut prices = PRICES.write().unwrap_or_else(PoisonError::into_inner);
    if prices.len() >= MOST {
        prices.clear();
    }
    prices.insert(*cost, Arc::clone(&priced));
    priced
}

/// What came of a charge.
#[derive(Debug)]
pub enum Outcome {
    /// It was committed just now.
    Charged(FreshReceipt),
    /// It had been committed before, under the same key; nothing was charged again.
    Replayed(Receipt),
    /// An account does not take it. Nothing was charged.
    Refused(Box<Refusal>),
}

/// A committed charge: the record in the journal, and its hash.
#[derive(Clone, Debug, PartialEq)]
pub struct Receipt {
    pub(crate) ledger: LedgerId,
    pub(crate) sequence: u64,
    pub(crate) hash: Hash,
    pub(crate) line: Arc<str>,
    pub(crate) after: Arc<[After]>,
}

impl Receipt {
    /// The receipt of a record that was read from a store.
    pub(crate) fn from_stored(ledger: LedgerId, stored: &StoredRecord) -> Result<Receipt, Error> {
        let record = stored.parse().map_err(|why| Error::record(stored.sequence, why))?;
        let StoredRecord { sequence, hash, line, .. } = stored;
        Ok(Receipt { ledger, sequence: *sequence, hash: *hash, line: line.as_str().into(), after: record.after.into() })
    }

    /// The journal record, taken apart.
    pub fn record(&self) -> Result<Record, Error> {
        Record::parse(&self.line).map_err(|why| Error::record(self.sequence, why))
    }

    /// The ledger that it is from.
    pub fn ledger(&self) -> LedgerId {
        self.ledger
    }

    /// The place in the journal.
    pub fn sequence(&self) -> u64 {
        self.sequence
    }

    /// The hash of the journal record.
    pub fn hash(&self) -> Hash {
        self.hash
    }

    /// The place and the hash.
    pub(crate) fn position(&self) -> Position {
        Position { sequence: self.sequence, hash: self.hash }
    }

    /// The journal record, in canonical JSON: its BLAKE3 hash is [`hash`](Receipt::hash).
    pub fn line(&self) -> &str {
        &self.line
    }

    /// What every account that paid reads afterwards, from the root down.
    pub fn after(&self) -> &[After] {
        &self.after
    }
}

/// A receipt that was returned by the commit that made it, and only there: what lets a mechanism run, once.
///
/// It cannot be copied or made elsewhere. A repeated key gives a plain [`Receipt`].
///
/// ```compile_fail
/// fn twice(fresh: taximeter_ledger::FreshReceipt) -> [taximeter_ledger::FreshReceipt; 2] {
///     [fresh.clone(), fresh]
/// }
/// ```
#[derive(Debug, PartialEq)]
pub struct FreshReceipt(pub(crate) Receipt);

impl FreshReceipt {
    /// The receipt.
    pub fn receipt(&self) -> &Receipt {
        &self.0
    }

    /// Gives up its freshness.
    pub fn into_receipt(self) -> Receipt {
        self.0
    }
}

/// Why a charge was refused: a value, not an error.
#[derive(Clone, Debug)]
pub struct Refusal {
    pub(crate) refused: Vec<(AccountName, Reason)>,
    pub(crate) costs: Vec<Cost>,
    /// The filters of all accounts that would pay and have one, as they were when it was refused.
    pub(crate) filters: Vec<(AccountName, Filter)>,
    pub(crate) halt: Option<Receipt>,
}

impl Refusal {
    /// The accounts that refused and why, from the root down; at least one.
    pub fn refused(&self) -> &[(AccountName, Reason)] {
        &self.refused
    }

    /// What was asked.
    pub fn costs(&self) -> &[Cost] {
        &self.costs
    }

    /// The journal record by which accounts that are set to stop were closed, if any were.
    pub fn halt(&self) -> Option<&Receipt> {
        self.halt.as_ref()
    }

    /// Whether an account is no longer open, since before or since this refusal; then nothing fits.
    pub fn is_not_open(&self) -> bool {
        self.is_not_open_on(|_| true)
    }

    /// Whether one of the accounts that may be seen is no longer open.
    pub fn is_not_open_on(&self, sees: impl Fn(&AccountName) -> bool) -> bool {
        let refused = self.refused.iter().filter(|(_, reason)| matches!(reason, Reason::NotOpen(_)));
        let halted = self.halt.iter().flat_map(|halt| halt.after().iter().map(|after| &after.account));
        refused.map(|(account, _)| account).chain(halted).any(sees)
    }

    /// The largest costs of the same kinds, in the same proportions, that all accounts would still have taken; nothing if none.
    ///
    /// Computed here, on the thread that asks, so that refusals cost the ledger nothing.
    pub fn fits(&self) -> Option<Vec<Cost>> {
        self.fits_on(|_| true)
    }

    /// The largest costs that fit on the accounts that may be seen. They tell nothing about the others. Nothing if none of them
    /// has a filter.
    pub fn fits_on(&self, sees: impl Fn(&AccountName) -> bool) -> Option<Vec<Cost>> {
        if self.is_not_open_on(&sees) {
            return None;
        }
        let seen = self.filters.iter().filter(|(account, _)| sees(account));
        largest_on_all(&seen.map(|(_, filter)| filter).collect::<Vec<_>>(), &self.costs)
    }
}

/// The largest costs of the same kinds and proportions that all filters take; nothing if none, or if there is no filter.
pub(crate) fn largest_on_all(filters: &[&Filter], costs: &[Cost]) -> Option<Vec<Cost>> {
    if filters.is_empty() {
        return None;
    }
    let fits = |costs: &[Cost]| filters.iter().all(|filter| filter.admits_all(costs));
    if let [cost] = costs {
        let sizes = filters.iter().map(|filter| Some(filter.largest(cost, 1).ok()??.size()));
        let smallest = sizes.collect::<Option<Vec<Amount>>>()?.into_iter().min().unwrap_or(Amount::MAX);
        let largest = vec![cost.with_size(smallest)];
        return fits(&largest).then_some(largest);
    }
    // Shares of 2⁻²⁰, by bisection.
    const SHARES: u128 = 1 << 20;
    let scaled = |share: u128| -> Vec<Cost> {
        let part = |size: u128| size / SHARES * share + size % SHARES * share / SHARES;
        costs.iter().map(|cost| cost.with_size(Amount::from_units(part(cost.size().units())))).collect()
    };
    // What fits, fits in every smaller share; but not under the corrected lemma, where a smaller ε weighs more for its δ.
    let is_monotone = costs.iter().all(|cost| cost.delta().is_zero())
        || filters.iter().all(|filter| filter.spec().rule() != FilterRule::Advanced);
    let parts = if is_monotone { 1 } else { 64 };
    let part = SHARES / parts;
    let found = (1..=parts).rev().map(|at| at * part).find(|&share| fits(&scaled(share)));
    let (mut fitting, mut too_large) = found.map_or((0, part), |share| (share, (share + part).min(SHARES + 1)));
    while too_large - fitting > 1 {
        let middle = (fitting + too_large) / 2;
        if fits(&scaled(middle)) { fitting = middle } else { too_large = middle }
    }
    let largest = scaled(fitting);
    (fitting > 0 && largest.iter().any(|cost| !cost.size().is_zero())).then_some(largest)
}
