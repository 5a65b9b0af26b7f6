//! Callers that charge a ledger as fast as it answers.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use futures_util::TryStreamExt;
use futures_util::stream::FuturesUnordered;
use serde::Serialize;
use taximeter_accounting::{Budget, Cost, FilterRule, FilterSpec, OdometerRule, OdometerSpec};
use taximeter_ledger::{AccountName, AccountSpec, Charge, Error, Hash, Key, Ledger, Outcome, Privacy};

/// What the callers got done.
pub struct Done {
    pub per_second: f64,
    pub per_commit: f64,
}

/// The name of one of the accounts.
pub fn account(number: usize) -> Result<AccountName, Error> {
    AccountName::parse(&format!("account-{number}"))
}

/// Opens so many accounts, with budgets that no benchmark exhausts and the default rules.
pub fn open_accounts(ledger: &Ledger, accounts: usize) -> Result<(), Error> {
    let budget = Budget::parse("100,1e-6")?;
    let odometer =
        OdometerSpec { expected: budget.epsilon(), ..OdometerSpec::new(OdometerRule::RenyiMixture, budget.delta()) };
    let callers = 64.min(accounts);
    thread::scope(|scope| {
        let open = |caller: usize| {
            let odometer = odometer.clone();
            scope.spawn(move || {
                for number in (caller..accounts).step_by(callers) {
                    ledger.open_account(AccountSpec {
                        name: account(number)?,
                        privacy: Privacy::default(),
                        filter: Some(FilterSpec::new(FilterRule::Residue, budget)),
                        odometer: odometer.clone(),
                    })?;
                }
                Ok(())
            })
        };
        let callers: Vec<_> = (0..callers).map(open).collect();
        callers.into_iter().try_for_each(|caller| caller.join().unwrap_or_else(|_| panic!("a caller panicked")))
    })
}

/// Who charges: so many threads that block, or so many tasks on one thread.
#[derive(Clone, Copy, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Callers {
    Threads(usize),
    Tasks(usize),
}

impl fmt::Display for Callers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Callers::Threads(1) => f.write_str("1 thread"),
            Callers::Threads(count) => write!(f, "{count} threads"),
            Callers::Tasks(count) => write!(f, "{count} tasks"),
        }
    }
}

/// What keys look like.
#[derive(Clone, Copy)]
pub enum Keys {
    /// As the ledger makes them: later ones sort later.
    Rising,
    /// As some callers make them: in no order.
    Random,
}

impl Keys {
    fn key(self) -> Result<Key, Error> {
        let rising = Key::generate()?;
        match self {
            Keys::Rising => Ok(rising),
            Keys::Random => Key::parse("key", &Hash::of(rising.as_str().as_bytes()).to_string()[..32]),
        }
    }
}

/// Charges for a time.
pub fn charge_for(
    ledger: &Ledger,
    callers: Callers,
    keys: Keys,
    accounts: usize,
    time: Duration,
) -> Result<Done, Error> {
    let until = Instant::now() + time;
    run(ledger, callers, keys, accounts, &|_| Instant::now() < until)
}

/// Charges so often in all; the charges a second.
pub fn charge_so_many(ledger: &Ledger, callers: Callers, accounts: usize, charges: u64) -> Result<f64, Error> {
    Ok(run(ledger, callers, Keys::Rising, accounts, &|done| done < charges)?.per_second)
}

fn run(
    ledger: &Ledger,
    callers: Callers,
    keys: Keys,
    accounts: usize,
    goes_on: &(dyn Fn(u64) -> bool + Sync),
) -> Result<Done, Error> {
    let (done, commits, started) = (AtomicU64::new(0), ledger.commits(), Instant::now());
    let goes_on = || goes_on(done.load(Ordering::Relaxed));
    let count = |outcome: Outcome| match outcome {
        Outcome::Charged(_) => done.fetch_add(1, Ordering::Relaxed),
        other => panic!("a benchmark's charge came out as {other:?}"),
    };
    match callers {
        Callers::Threads(threads) => thread::scope(|scope| {
            let charge = |caller: usize| -> Result<(), Error> {
                let mut charges = charges(keys, caller, accounts)?;
                while goes_on() {
                    count(ledger.charge(charges()?)?);
                }
                Ok(())
            };
            let threads: Vec<_> = (0..threads).map(|caller| scope.spawn(move || charge(caller))).collect();
            threads.into_iter().try_for_each(|thread| thread.join().unwrap_or_else(|_| panic!("a caller panicked")))
        })?,
        Callers::Tasks(tasks) => {
            let charge = async |caller: usize| -> Result<(), Error> {
                let mut charges = charges(keys, caller, accounts)?;
                while goes_on() {
                    count(ledger.charge_async(charges()?).await?);
                }
                Ok(())
            };
            let tasks: FuturesUnordered<_> = (0..tasks).map(charge).collect();
            futures_executor::block_on(tasks.try_collect::<()>())?;
        }
    }
    let (done, commits) = (done.into_inner() as f64, (ledger.commits() - commits) as f64);
    Ok(Done { per_second: done / started.elapsed().as_secs_f64(), per_commit: done / commits.max(1.0) })
}

/// One small charge after the other, on accounts in an order that no cache foresees.
fn charges(keys: Keys, caller: usize, accounts: usize) -> Result<impl FnMut() -> Result<Charge, Error>, Error> {
    let cost = Cost::parse_epsilon("0.00001")?.cost;
    let mut number = caller;
    Ok(move || {
        number = number.wrapping_add(7919);
        Charge::new(keys.key()?, vec![account(number % accounts)?], vec![cost])
    })
}
