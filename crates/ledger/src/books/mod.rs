//! The books: all accounts in memory, and drafts of what is about to be written about them.
//!
//! A [`Draft`] decides one command after the other on top of the books and makes their journal records; the books themselves
//! change only when its [`Changes`] are adopted, after they are on disk. The same code makes a record the first time and when the
//! journal is verified, so what is in the journal replays to the same state.

mod draft;

use std::collections::HashMap;

use jiff::Timestamp;

use crate::account::{Account, Neighbours, Privacy};
use crate::charge::Charge;
use crate::error::{Error, ErrorKind};
use crate::hash::{Hash, StateTree};
use crate::journal::{LedgerId, LedgerOrigin, Position, Record};
use crate::name::AccountName;
use crate::witness::Testimony;

pub(crate) use draft::{ChangedAccount, Changes, Draft, Entry};

/// All accounts of a ledger, in the order in which they were opened.
#[derive(Clone, Debug)]
pub(crate) struct Books {
    origin: LedgerOrigin,
    accounts: Vec<Account>,
    numbers: HashMap<AccountName, u32>,
    head: Position,
}

/// An account as it is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct AccountRow {
    /// Its place among the accounts, from 0.
    pub(crate) number: u32,
    pub(crate) name: String,
    /// The newest record about it.
    pub(crate) sequence: u64,
    pub(crate) state: Vec<u8>,
}

impl Books {
    /// The books of a ledger whose first record is not yet written.
    fn empty(origin: LedgerOrigin) -> Books {
        let head = Position { sequence: 0, hash: Hash::NONE };
        Books { origin, accounts: Vec::new(), numbers: HashMap::new(), head }
    }

    /// A new ledger: its books and the changes with its first record.
    pub(crate) fn create(origin: LedgerOrigin, time: Timestamp) -> (Books, StateTree, Changes) {
        let mut tree = StateTree::default();
        let mut books = Books::empty(origin);
        let changes = Draft::create(&books, &mut tree, time);
        books.head = changes.head;
        (books, tree, changes)
    }

    /// The books as they were stored. The states must be what the newest record says.
    pub(crate) fn load(
        origin: LedgerOrigin,
        head: &Record,
        hash: Hash,
        rows: &[AccountRow],
    ) -> Result<(Books, StateTree), Error> {
        let mut books = Books { head: Position { sequence: head.sequence, hash }, ..Books::empty(origin) };
        let mut tree = StateTree::default();
        books.refresh(&mut tree, rows, head)?;
        Ok((books, tree))
    }

    /// Takes over rows that changed since, up to a record, and checks the whole against the digest in it.
    pub(crate) fn refresh(&mut self, tree: &mut StateTree, rows: &[AccountRow], head: &Record) -> Result<(), Error> {
        let broken = |row: &AccountRow, why: String| {
            Error::integrity(format!("the stored state of account {:?} is broken: {why}", row.name))
        };
        for row in rows {
            let account = Account::read_state(&row.state).map_err(|why| broken(row, why))?;
            if account.name().as_str() != row.name || account.sequence() != row.sequence {
                return Err(broken(row, "its columns are not those of its state".to_string()));
            }
            let number = row.number as usize;
            if number > self.accounts.len() {
                return Err(broken(row, format!("account {} of the ledger is missing", self.accounts.len())));
            }
            tree.set(number, Hash::of(&row.state));
            self.put(row.number, account);
        }
        match tree.digest(&self.origin.secret, head.sequence) == head.states {
            true => Ok(()),
            false => Err(Error::integrity(format!(
                "the account states are not those of record {}, the newest of the journal: a state was edited, or accounts are \
                 missing",
                head.sequence
            ))),
        }
    }

    fn put(&mut self, number: u32, account: Account) {
        match self.accounts.get_mut(number as usize) {
            Some(place) => *place = account,
            None => {
                self.numbers.insert(account.name().clone(), number);
                self.accounts.push(account);
            }
        }
    }

    /// The ledger's identity.
    pub(crate) fn id(&self) -> LedgerId {
        self.origin.id
    }

    /// The newest record.
    pub(crate) fn head(&self) -> Position {
        self.head
    }

    /// What a witness is to remember of it.
    pub(crate) fn testimony(&self) -> Testimony {
        Testimony { ledger: self.id(), position: self.head }
    }

    pub(crate) fn set_head(&mut self, head: Position) {
        self.head = head;
    }

    /// All accounts, in the order in which they were opened.
    pub(crate) fn accounts(&self) -> &[Account] {
        &self.accounts
    }

    /// An account by its name.
    pub(crate) fn account(&self, name: &AccountName) -> Result<&Account, Error> {
        let number = self.numbers.get(name).ok_or_else(|| ErrorKind::NoAccount(name.clone()))?;
        Ok(&self.accounts[*number as usize])
    }

    /// The accounts that pay for a charge on these: they and all above them, each once, from the root down.
    pub(crate) fn payers(&self, names: &[AccountName]) -> Result<Vec<&Account>, Error> {
        let numbers = payers(names, |name| self.numbers.get(name).copied())?;
        Ok(numbers.into_iter().map(|number| &self.accounts[number as usize]).collect())
    }

    /// Makes changes that are on disk part of the books.
    pub(crate) fn adopt(&mut self, changes: Changes) {
        // New accounts come in their order.
        for (number, changed) in changes.changed {
            self.put(number, changed.account);
        }
        self.head = changes.head;
    }
}

fn payers(names: &[AccountName], number: impl Fn(&str) -> Option<u32>) -> Result<Vec<u32>, Error> {
    let mut payers: Vec<u32> = Vec::with_capacity(4);
    for name in names {
        for above in name.path() {
            let number = number(above).ok_or_else(|| ErrorKind::NoAccount(name.clone()))?;
            if !payers.contains(&number) {
                payers.push(number);
            }
        }
    }
    Ok(payers)
}

/// What a charge is about must be what every account protects, and the same for all of them.
pub(crate) fn check_privacy<'a>(charge: &Charge, payers: impl Iterator<Item = &'a Account>) -> Result<(), Error> {
    let mut first: Option<&Account> = None;
    for payer in payers {
        let (account, &Privacy { ref unit, neighbours }) = (payer.name().clone(), payer.privacy());
        if let Some(asked) = charge.unit().filter(|asked| *asked != unit) {
            return Err(ErrorKind::OtherUnit { account, unit: unit.clone(), asked: asked.clone() }.into());
        }
        if let Some(asked) = charge.neighbours().filter(|asked| *asked != neighbours) {
            return Err(ErrorKind::OtherNeighbours { account, neighbours, asked }.into());
        }
        if let Some(&cost) = charge.costs().iter().find(|cost| cost.is_for_add_remove_only())
            && neighbours != Neighbours::AddRemove
        {
            return Err(ErrorKind::NeedsAddRemove { account, neighbours, cost }.into());
        }
        let first = *first.get_or_insert(payer);
        if first.privacy() != payer.privacy() {
            let (privacy, other, others) = (payer.privacy().clone(), first.name().clone(), first.privacy().clone());
            return Err(ErrorKind::OtherPrivacy { account, privacy, other, others }.into());
        }
    }
    Ok(())
}
