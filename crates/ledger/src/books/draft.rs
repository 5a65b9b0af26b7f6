//! Drafts: what is about to be written about the accounts.
//!
//! A draft decides one command after the other on top of the books and makes their journal records. The same code makes a record
//! the first time and when the journal is verified, so what is in the journal replays to the same state.

use std::collections::{BTreeMap, HashMap};

use jiff::Timestamp;
use serde_json::value::RawValue;

use super::{Books, check_privacy, payers};
use crate::account::{Account, AccountSpec, Decision, Reason, Standing};
use crate::charge::{Charge, FreshReceipt, Outcome, PreparedCharge, Receipt, Refusal};
use crate::error::{Error, ErrorKind};
use crate::hash::{Hash, StateTree};
use crate::journal::{After, Computed, Event, FORMAT, LedgerId, LedgerOrigin, Position, Record};
use crate::name::{AccountName, Key, Note, Who};

/// The most accounts that a ledger holds.
const MOST_ACCOUNTS: usize = 1_000_000;

/// Commands decided on top of the books, with their records, before they are on disk.
pub(crate) struct Draft<'a> {
    books: &'a Books,
    tree: &'a mut StateTree,
    /// When it is written.
    time: Timestamp,
    is_first: bool,
    changed: BTreeMap<u32, Box<Changed>>,
    opened: HashMap<AccountName, u32>,
    /// The leaves of the tree as they were.
    before: Vec<(usize, Hash)>,
    accounts_before: usize,
    entries: Vec<Entry>,
    /// How many of the entries were taken to be written ahead of the rest.
    taken: usize,
    by_key: HashMap<Key, usize>,
    head: Position,
}

/// A record, and the key that it is found by.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) receipt: Receipt,
    pub(crate) key: Option<Key>,
}

/// An account that changed, and its state in bytes.
pub(super) struct Changed {
    pub(super) account: Account,
    state: Vec<u8>,
}

/// What a draft writes.
pub(crate) struct Changes {
    /// By the account's number.
    pub(super) changed: BTreeMap<u32, Box<Changed>>,
    entries: Vec<Entry>,
    taken: usize,
    pub(super) head: Position,
    before: Vec<(usize, Hash)>,
    accounts_before: usize,
}

/// An account that is to be written.
pub(crate) struct ChangedAccount<'a> {
    pub(crate) number: u32,
    pub(crate) account: &'a Account,
    /// Its state in bytes.
    pub(crate) state: &'a [u8],
    /// Whether it was opened just now.
    pub(crate) is_new: bool,
}

impl<'a> Draft<'a> {
    /// Nothing decided yet. The tree belongs to the books.
    pub(crate) fn new(books: &'a Books, tree: &'a mut StateTree, time: Timestamp) -> Draft<'a> {
        let accounts_before = tree.len();
        Draft {
            books,
            tree,
            time,
            is_first: false,
            changed: BTreeMap::new(),
            opened: HashMap::new(),
            before: Vec::new(),
            accounts_before,
            entries: Vec::new(),
            taken: 0,
            by_key: HashMap::new(),
            head: books.head,
        }
    }

    /// The ledger's identity.
    pub(crate) fn ledger(&self) -> LedgerId {
        self.books.id()
    }

    /// The records so far, to be written ahead of the rest.
    pub(crate) fn take_entries(&mut self) -> &[Entry] {
        let from = std::mem::replace(&mut self.taken, self.entries.len());
        &self.entries[from..]
    }

    /// What is to be written.
    pub(crate) fn finish(self) -> Changes {
        let Draft { changed, entries, taken, head, before, accounts_before, .. } = self;
        Changes { changed, entries, taken, head, before, accounts_before }
    }

    /// What makes a ledger: its first record, and nothing else.
    pub(super) fn create(books: &'a Books, tree: &'a mut StateTree, time: Timestamp) -> Changes {
        let mut draft = Draft { is_first: true, ..Draft::new(books, tree, time) };
        let LedgerOrigin { id, secret } = books.origin;
        draft.record(&Event::Ledger { id, format: FORMAT, secret }.json(), &[], None);
        draft.finish()
    }

    /// Opens an account.
    pub(crate) fn open(&mut self, spec: AccountSpec) -> Result<Receipt, Error> {
        if self.number(spec.name.as_str()).is_some() {
            return Err(ErrorKind::AccountExists(spec.name).into());
        }
        if self.tree.len() >= MOST_ACCOUNTS {
            let count = self.tree.len() + 1;
            return Err(ErrorKind::Count { what: "accounts of a ledger", count, most: MOST_ACCOUNTS }.into());
        }
        if let Some(parent) = spec.name.parent() {
            let Some(number) = self.number(parent.as_str()) else {
                return Err(ErrorKind::NoParent { account: spec.name, parent }.into());
            };
            let above = self.account(number);
            if *above.privacy() != spec.privacy {
                let (account, privacy, others) = (spec.name, spec.privacy, above.privacy().clone());
                return Err(ErrorKind::OtherPrivacy { account, privacy, other: parent, others }.into());
            }
            if above.standing() != Standing::Open {
                return Err(ErrorKind::NotOpen { standing: above.standing(), account: parent }.into());
            }
        }
        let account = Account::open(spec)?;
        // The record has every default filled in.
        let event = Event::Open(Box::new(account.spec()));
        let number = u32::try_from(self.tree.len()).expect("the number of accounts is limited");
        self.opened.insert(account.name().clone(), number);
        self.changed.insert(number, Box::new(Changed { account, state: Vec::new() }));
        Ok(self.record(&event.json(), &[number], None))
    }

    /// Closes an account.
    pub(crate) fn close(&mut self, name: AccountName, by: Option<Who>, note: Option<Note>) -> Result<Receipt, Error> {
        let number = self.number(name.as_str()).ok_or_else(|| ErrorKind::NoAccount(name.clone()))?;
        // What is exhausted stays so: closed, it would show a reading again, which is not known.
        if let standing @ (Standing::Closed | Standing::Exhausted) = self.account(number).standing() {
            return Err(ErrorKind::NotOpen { account: name, standing }.into());
        }
        self.change(number).account.set_standing(Standing::Closed);
        let event = Event::Close { account: name, by, note };
        Ok(self.record(&event.json(), &[number], None))
    }

    /// Exhausts every account, since what was charged is not known.
    pub(crate) fn restore(&mut self, witness: Option<Position>, by: Option<Who>, note: Option<Note>) -> Receipt {
        let numbers: Vec<u32> = (0..self.tree.len() as u32).collect();
        for number in &numbers {
            self.change(*number).account.set_standing(Standing::Exhausted);
        }
        let event = Event::Restore { witness, by, note };
        self.record(&event.json(), &numbers, None)
    }

    /// Decides about a charge whose key is not in the journal. If all accounts take it, it is paid; otherwise nothing changes,
    /// unless an account is set to stop and its own rule halted.
    pub(crate) fn charge(&mut self, prepared: &PreparedCharge) -> Result<Outcome, Error> {
        let PreparedCharge { charge, costs, event } = prepared;
        if let Some(at) = self.by_key.get(charge.key()) {
            return prepared.replayed(self.entries[*at].receipt.clone());
        }
        let payers = payers(charge.accounts(), |name| self.number(name))?;
        check_privacy(charge, payers.iter().map(|number| self.account(*number)))?;
        let (mut admitted, mut refused, mut halted) = (Vec::with_capacity(payers.len()), Vec::new(), Vec::new());
        for &number in &payers {
            let account = self.account(number);
            match account.decide(charge.costs())? {
                Decision::Admitted(filter) => admitted.push(filter),
                Decision::Refused { reason, halts } => {
                    refused.push((account.name().clone(), reason));
                    halted.extend(halts.then_some(number));
                }
            }
        }
        if !refused.is_empty() {
            let mut refusal = self.refusal(charge, &payers, refused);
            if !halted.is_empty() {
                for &number in &halted {
                    self.change(number).account.set_standing(Standing::Halted);
                }
                refusal.halt = Some(self.record(&Event::Halt(charge.clone()).json(), &halted, None));
            }
            return Ok(Outcome::Refused(Box::new(refusal)));
        }
        for (&number, filter) in payers.iter().zip(admitted) {
            self.change(number).account.charge(costs, filter)?;
        }
        Ok(Outcome::Charged(FreshReceipt(self.record(event, &payers, Some(charge.key().clone())))))
    }

    fn refusal(&self, charge: &Charge, payers: &[u32], refused: Vec<(AccountName, Reason)>) -> Refusal {
        let payers = payers.iter().map(|number| self.account(*number));
        let filters = payers.filter_map(|payer| Some((payer.name().clone(), payer.filter()?.clone()))).collect();
        Refusal { refused, costs: charge.costs().to_vec(), filters, halt: None }
    }

    /// Makes a record again from what it says happened. What it makes must be equal to what was stored.
    pub(crate) fn replay(&mut self, event: &Event) -> Result<Receipt, Error> {
        match event {
            Event::Ledger { .. } => Err(Error::integrity("a ledger is made only once, by its first record")),
            Event::Open(spec) => self.open((**spec).clone()),
            Event::Close { account, by, note } => self.close(account.clone(), by.clone(), note.clone()),
            Event::Restore { witness, by, note } => Ok(self.restore(*witness, by.clone(), note.clone())),
            Event::Charge(charge) | Event::Halt(charge) => match self.charge(&PreparedCharge::new(charge.clone()))? {
                Outcome::Charged(FreshReceipt(receipt)) | Outcome::Replayed(receipt) => Ok(receipt),
                Outcome::Refused(refusal) => match (event, refusal.halt, &refusal.refused[0]) {
                    (Event::Halt(_), Some(halt), _) => Ok(halt),
                    (Event::Halt(_), None, _) => {
                        Err(Error::integrity("it says that a charge made an account stop, but none does"))
                    }
                    (_, _, (account, reason)) => Err(Error::integrity(format!(
                        "its charge does not fit: account {account} refuses it: {}",
                        reason.text()
                    ))),
                },
            },
        }
    }

    fn number(&self, name: &str) -> Option<u32> {
        self.books.numbers.get(name).or_else(|| self.opened.get(name)).copied()
    }

    fn account(&self, number: u32) -> &Account {
        match self.changed.get(&number) {
            Some(changed) => &changed.account,
            None => &self.books.accounts[number as usize],
        }
    }

    fn change(&mut self, number: u32) -> &mut Changed {
        let account = || self.books.accounts[number as usize].clone();
        self.changed.entry(number).or_insert_with(|| Box::new(Changed { account: account(), state: Vec::new() }))
    }

    /// Makes the record of an event that changed these accounts.
    fn record(&mut self, event: &RawValue, numbers: &[u32], key: Option<Key>) -> Receipt {
        let sequence = if self.is_first && self.entries.is_empty() { 0 } else { self.head.sequence + 1 };
        let mut after = Vec::with_capacity(numbers.len());
        for &number in numbers {
            let at = number as usize;
            let is_new = at >= self.tree.len();
            let Changed { account, state } = self.change(number);
            let before = (!is_new).then(|| account.sequence());
            account.set_sequence(sequence);
            account.write_state(state);
            let leaf = Hash::of(state);
            after.push(After {
                account: account.name().clone(),
                before,
                reading: account.reading().map(Computed),
                left: account.left().map(Computed),
            });
            if at < self.accounts_before {
                self.before.push((at, self.tree.leaf(at)));
            }
            self.tree.set(at, leaf);
        }
        let states = self.tree.digest(&self.books.origin.secret, sequence);
        let (previous, time) = (self.head.hash, self.time);
        let record = Record { sequence, previous, time, event, after, states };
        let line = record.line();
        let hash = Hash::of(line.as_bytes());
        let receipt =
            Receipt { ledger: self.books.id(), sequence, hash, line: line.into(), after: record.after.into() };
        self.head = Position { sequence, hash };
        if let Some(key) = &key {
            self.by_key.insert(key.clone(), self.entries.len());
        }
        self.entries.push(Entry { receipt: receipt.clone(), key });
        receipt
    }
}

impl Changes {
    /// Whether there is nothing to write.
    pub(crate) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The newest record.
    pub(crate) fn head(&self) -> Position {
        self.head
    }

    /// The records, in order.
    pub(crate) fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// The records that were not written ahead.
    pub(crate) fn rest(&self) -> &[Entry] {
        &self.entries[self.taken..]
    }

    /// How many of the records are charges: only those have a key.
    pub(crate) fn charges(&self) -> u64 {
        self.entries.iter().filter(|entry| entry.key.is_some()).count() as u64
    }

    /// The accounts that changed, in the order of their numbers, and their states in bytes.
    pub(crate) fn accounts(&self) -> Vec<ChangedAccount<'_>> {
        let changed = self.changed.iter().map(|(&number, changed)| ChangedAccount {
            number,
            account: &changed.account,
            state: &changed.state,
            is_new: number as usize >= self.accounts_before,
        });
        changed.collect()
    }

    /// Puts the tree back as it was before the draft.
    pub(crate) fn undo(self, tree: &mut StateTree) {
        tree.truncate(self.accounts_before);
        for (at, leaf) in self.before.into_iter().rev() {
            tree.set(at, leaf);
        }
    }
}
