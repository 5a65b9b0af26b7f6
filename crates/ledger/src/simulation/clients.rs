//! The clients: what they asked, what they were told, and what they may rely on from then on.

use std::collections::HashMap;

use fastrand::Rng;
use oneshot::{Receiver, TryRecvError};
use taximeter_accounting::{Budget, Cost, FilterRule, FilterSpec, OdometerRule, OdometerSpec, OnHalt};

use super::edges::with;
use crate::account::{AccountSpec, Privacy};
use crate::charge::{Charge, Outcome, PreparedCharge, Receipt};
use crate::error::Error;
use crate::journal::Position;
use crate::name::{AccountName, Key};
use crate::writer::Command;

/// The accounts at the beginning, and their budgets in thousandths. The rule of those that have one is basic composition, whose sums
/// anyone can check.
const ACCOUNTS: [(&str, Option<u64>); 5] =
    [("a", Some(900)), ("a/b", Some(300)), ("a/c", Some(500)), ("d", Some(200)), ("e", None)];

/// The account that its first halt closes.
const STOPPING: &str = "d";

#[derive(Default)]
pub(super) struct Clients {
    pub(super) requests: Vec<SimulatedRequest>,
    pub(super) by_key: HashMap<String, usize>,
    /// The budgets of accounts, in thousandths.
    pub(super) budgets: HashMap<String, u64>,
    waiting: Vec<Waiting>,
    /// Whether callers that are not of the simulation charge as well.
    pub(super) are_others_there: bool,
    /// Every record that was acknowledged.
    pub(super) acknowledged: Vec<Position>,
}

/// A charge under a key, asked for once or more.
pub(super) struct SimulatedRequest {
    charge: Charge,
    /// What it costs, in thousandths.
    pub(super) cost: u64,
    pub(super) acknowledged: Option<Position>,
    /// Whether a caller was told that it was charged just now, and may run a mechanism.
    was_fresh: bool,
    /// Whether some attempt may have been charged without a word.
    is_uncertain: bool,
    attempts_under_way: usize,
    /// Whether it is certain that it was not charged.
    pub(super) is_denied: bool,
}

/// A client that waits for a reply of a process.
struct Waiting {
    process: usize,
    what: Awaited,
}

enum Awaited {
    Charge {
        request: usize,
        reply: Receiver<Result<Outcome, Error>>,
    },
    /// Another charge under a key that was used.
    OtherCharge(Receiver<Result<Outcome, Error>>),
    Account(Receiver<Result<Receipt, Error>>),
    Refreshed(Receiver<Result<(), Error>>),
}

impl Clients {
    /// Asks for the accounts of the beginning.
    pub(super) fn open_accounts(&mut self, process: usize) {
        for (name, budget) in ACCOUNTS {
            self.open_account(process, name, budget);
        }
    }

    fn open_account(&mut self, process: usize, name: &str, budget: Option<u64>) {
        let on_halt = if name == STOPPING { OnHalt::Stop } else { OnHalt::Refuse };
        let (rule, text) = match budget {
            Some(thousandths) => (FilterRule::Basic, format!("{}", thousandths as f64 / 1000.0)),
            None => (FilterRule::Residue, "1,1e-6".to_string()),
        };
        let parsed = Budget::parse(&text).expect("a budget");
        let spec = AccountSpec {
            name: AccountName::parse(name).expect("a name"),
            privacy: Privacy::default(),
            filter: Some(FilterSpec { on_halt, ..FilterSpec::new(rule, parsed) }),
            odometer: OdometerSpec::beside(OdometerRule::Basic, &parsed),
        };
        self.budgets.extend(budget.map(|budget| (name.to_string(), budget)));
        let (to, reply) = oneshot::channel();
        self.ask(process, Command::Open(Box::new(spec), to), Awaited::Account(reply));
    }

    fn ask(&mut self, process: usize, command: Command, what: Awaited) {
        if with(|world| world.processes[process].ask(command)) {
            if let Awaited::Charge { request, .. } = &what {
                let request = &mut self.requests[*request];
                request.attempts_under_way += 1;
                request.is_denied = false;
            }
            self.waiting.push(Waiting { process, what });
        }
    }

    /// A client asks a process for something.
    pub(super) fn ask_something(&mut self, process: usize, random: &mut Rng) {
        match random.u8(..100) {
            0..60 => self.ask_new(process, random),
            60..85 => self.ask_again(process, random),
            85..90 => self.ask_otherwise(process, random),
            90..92 => {
                let name = format!("x{}", self.budgets.len());
                self.open_account(process, &name, Some(100));
            }
            92 => {
                let name = AccountName::parse(ACCOUNTS[random.usize(1..ACCOUNTS.len())].0).expect("a name");
                let (to, reply) = oneshot::channel();
                self.ask(process, Command::Close(name, None, None, to), Awaited::Account(reply));
            }
            _ => {
                let (to, reply) = oneshot::channel();
                self.ask(process, Command::Refresh(to), Awaited::Refreshed(reply));
            }
        }
    }

    /// A new charge.
    pub(super) fn ask_new(&mut self, process: usize, random: &mut Rng) {
        let number = self.requests.len();
        let name = |at: usize| AccountName::parse(ACCOUNTS[at].0).expect("a name");
        let mut accounts = vec![name(random.usize(..ACCOUNTS.len()))];
        if random.u8(..4) == 0 {
            accounts.push(name(random.usize(..ACCOUNTS.len())));
        }
        let cost = random.u64(1..20);
        let charge = charge(&format!("k{number}"), accounts, cost);
        self.by_key.insert(charge.key().as_str().to_string(), number);
        self.requests.push(SimulatedRequest {
            charge,
            cost,
            acknowledged: None,
            was_fresh: false,
            is_uncertain: false,
            attempts_under_way: 0,
            is_denied: true,
        });
        self.ask_for(process, number);
    }

    /// The same charge once more.
    pub(super) fn ask_again(&mut self, process: usize, random: &mut Rng) {
        if !self.requests.is_empty() {
            // Newer ones more often.
            let back = random.usize(..self.requests.len()).min(random.usize(..self.requests.len()));
            self.ask_for(process, self.requests.len() - 1 - back);
        }
    }

    fn ask_for(&mut self, process: usize, request: usize) {
        let (to, reply) = oneshot::channel();
        let prepared = PreparedCharge::new(self.requests[request].charge.clone());
        self.ask(process, Command::Charge(prepared, to), Awaited::Charge { request, reply });
    }

    /// Another charge under a key that has a receipt.
    fn ask_otherwise(&mut self, process: usize, random: &mut Rng) {
        let used = self.requests.iter().filter(|request| request.acknowledged.is_some());
        let used: Vec<&SimulatedRequest> = used.collect();
        let Some(request) = random.choice(used) else { return };
        let other = charge(request.charge.key().as_str(), request.charge.accounts().to_vec(), request.cost + 1);
        let (to, reply) = oneshot::channel();
        self.ask(process, Command::Charge(PreparedCharge::new(other), to), Awaited::OtherCharge(reply));
    }

    /// Takes the replies that are there. The error says which of them contradicts another.
    pub(super) fn take_replies(&mut self) -> Result<(), String> {
        for waiting in std::mem::take(&mut self.waiting) {
            let process = waiting.process;
            match &waiting.what {
                Awaited::Charge { request, reply } => match reply.try_recv() {
                    Err(TryRecvError::Empty) => self.waiting.push(waiting),
                    Err(TryRecvError::Disconnected) => self.told(*request, process, None)?,
                    Ok(told) => self.told(*request, process, Some(told))?,
                },
                Awaited::OtherCharge(reply) => match reply.try_recv() {
                    Err(TryRecvError::Empty) => self.waiting.push(waiting),
                    Err(TryRecvError::Disconnected) | Ok(Err(_)) => {}
                    Ok(Ok(outcome)) => return Err(format!("a used key took another charge: {outcome:?}")),
                },
                Awaited::Account(reply) => match reply.try_recv() {
                    Err(TryRecvError::Empty) => self.waiting.push(waiting),
                    Ok(Ok(receipt)) => self.acknowledge(process, receipt.position()),
                    Err(TryRecvError::Disconnected) | Ok(Err(_)) => {}
                },
                Awaited::Refreshed(reply) => {
                    if reply.try_recv() == Err(TryRecvError::Empty) {
                        self.waiting.push(waiting);
                    }
                }
            }
        }
        Ok(())
    }

    pub(super) fn acknowledge(&mut self, process: usize, position: Position) {
        self.acknowledged.push(position);
        with(|world| {
            let newest = &mut world.processes[process].acknowledged;
            *newest = Some(newest.map_or(position.sequence, |newest| newest.max(position.sequence)));
        });
    }

    /// What a client was told about a charge; nothing if its process is gone.
    fn told(&mut self, at: usize, process: usize, told: Option<Result<Outcome, Error>>) -> Result<(), String> {
        let request = &mut self.requests[at];
        request.attempts_under_way -= 1;
        let known = request.acknowledged;
        let receipt = match told {
            None => {
                request.is_uncertain = true;
                return Ok(());
            }
            Some(Err(error)) if error.is_unknown_outcome() => {
                request.is_uncertain = true;
                return Ok(());
            }
            Some(Err(error)) => {
                if error.is_key_taken() || error.is_no_account() && known.is_some() {
                    return Err(format!("k{at} was asked again, and told: {error}"));
                }
                request.is_denied = !request.is_uncertain && request.attempts_under_way == 0 && known.is_none();
                return Ok(());
            }
            Some(Ok(Outcome::Refused(refusal))) => {
                if let Some(known) = known {
                    return Err(format!("k{at} was charged in record {}, and refused later", known.sequence));
                }
                if request.attempts_under_way == 0 {
                    // The decision was made after every attempt before it was decided.
                    (request.is_uncertain, request.is_denied) = (false, true);
                }
                if let Some(halt) = refusal.halt() {
                    let position = halt.position();
                    self.acknowledge(process, position);
                }
                return Ok(());
            }
            Some(Ok(Outcome::Charged(fresh))) => {
                // Others may have been told of the record before the one whose commit got no answer at first.
                if std::mem::replace(&mut request.was_fresh, true) {
                    return Err(format!("k{at} was charged in record {known:?}, and charged anew later"));
                }
                fresh.into_receipt()
            }
            Some(Ok(Outcome::Replayed(receipt))) => receipt,
        };
        let position = receipt.position();
        if known.is_some_and(|known| known != position) {
            return Err(format!("k{at} was charged in record {known:?}, and later in {position:?}"));
        }
        request.acknowledged = Some(position);
        self.acknowledge(process, position);
        Ok(())
    }

    /// The accounts that a charge names, with those above them.
    pub(super) fn payers(&self, request: usize) -> Vec<String> {
        let mut payers: Vec<String> = Vec::new();
        for name in self.requests[request].charge.accounts() {
            payers.extend(name.path().map(str::to_string));
        }
        payers.sort();
        payers.dedup();
        payers
    }

    pub(super) fn is_same_charge(&self, request: usize, charge: &Charge) -> bool {
        self.requests[request].charge == *charge
    }
}

fn charge(key: &str, accounts: Vec<AccountName>, thousandths: u64) -> Charge {
    let cost = Cost::parse_epsilon(&format!("0.{thousandths:03}")).expect("a cost").cost;
    Charge::new(Key::parse("key", key).expect("a key"), accounts, vec![cost]).expect("a charge")
}
