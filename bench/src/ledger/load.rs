//! Callers that charge a ledger as fast as it answers.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use futures_util::TryStreamExt;
use futures_util::stream::FuturesUnordered;
use serde::Serialize;
use taximeter_accounting::{Budget, Cost, FilterRule, FilterSpec, OdometerRule, OdometerSpec};
use taximeter_ledger::{AccountName, AccountSpec, Charge, Error, Hash, Key, Ledger, Outcome, Privacy, Who};

/// What the callers got done.
pub struct ChargeRate {
    pub per_second: f64,
    pub per_commit: f64,
}

/// The name of one of the accounts.
pub fn account(number: usize) -> Result<AccountName, Error> {
    AccountName::parse(&format!("account-{number}"))
}

/// The names of this number of accounts.
pub fn accounts(count: usize) -> Result<Vec<AccountName>, Error> {
    (0..count).map(account).collect()
}

/// The names of this number of analysts' accounts, which stand below one that all of them spend from.
pub fn team(analysts: usize) -> Result<Vec<AccountName>, Error> {
    (0..analysts).map(|number| AccountName::parse(&format!("team/analyst-{number}"))).collect()
}

/// Opens accounts, and those above them, with budgets that no benchmark exhausts and the default rules.
pub fn open_accounts(ledger: &Ledger, names: &[AccountName]) -> Result<(), Error> {
    let above: BTreeSet<AccountName> = names.iter().filter_map(AccountName::parent).collect();
    if !above.is_empty() {
        open_accounts(ledger, &Vec::from_iter(above))?;
    }
    let budget = Budget::parse("100,1e-6")?;
    let odometer = OdometerSpec::beside(OdometerRule::RenyiMixture, &budget);
    let callers = 64.min(names.len());
    thread::scope(|scope| {
        let open = |caller: usize| {
            let odometer = odometer.clone();
            scope.spawn(move || {
                for name in names.iter().skip(caller).step_by(callers) {
                    ledger.open_account(AccountSpec {
                        name: name.clone(),
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

/// Who charges: threads that block, or tasks on one thread.
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

/// What is asked for: one small charge after the other.
#[derive(Clone, Copy)]
pub enum ChargePattern<'a> {
    /// Everybody charges all accounts, in an order that no cache foresees.
    Spread(&'a [AccountName], Keys),
    /// Everybody is an analyst and charges her own account, with keys of her own, as through a server.
    Team(&'a [AccountName]),
}

/// Charges for a time.
pub fn charge_for(
    ledger: &Ledger,
    callers: Callers,
    asked: ChargePattern<'_>,
    time: Duration,
) -> Result<ChargeRate, Error> {
    let until = Instant::now() + time;
    run(ledger, callers, asked, &|_| Instant::now() < until)
}

/// Charges accounts so often in all; the charges a second.
pub fn charge_so_many(ledger: &Ledger, callers: Callers, names: &[AccountName], charges: u64) -> Result<f64, Error> {
    Ok(run(ledger, callers, ChargePattern::Spread(names, Keys::Rising), &|done| done < charges)?.per_second)
}

fn run(
    ledger: &Ledger,
    callers: Callers,
    asked: ChargePattern<'_>,
    goes_on: &(dyn Fn(u64) -> bool + Sync),
) -> Result<ChargeRate, Error> {
    let (done, commits, started) = (AtomicU64::new(0), ledger.commits(), Instant::now());
    let goes_on = || goes_on(done.load(Ordering::Relaxed));
    let count = |outcome: Outcome| match outcome {
        Outcome::Charged(_) => done.fetch_add(1, Ordering::Relaxed),
        other => panic!("a benchmark's charge came out as {other:?}"),
    };
    match callers {
        Callers::Threads(threads) => thread::scope(|scope| {
            let charge = |caller: usize| -> Result<(), Error> {
                let mut charges = charges(asked, caller)?;
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
                let mut charges = charges(asked, caller)?;
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
    Ok(ChargeRate { per_second: done / started.elapsed().as_secs_f64(), per_commit: done / commits.max(1.0) })
}

/// The charges of one of the callers.
fn charges<'a>(
    asked: ChargePattern<'a>,
    caller: usize,
) -> Result<Box<dyn FnMut() -> Result<Charge, Error> + 'a>, Error> {
    let cost = Cost::parse_epsilon("0.00001")?.cost;
    Ok(match asked {
        ChargePattern::Spread(names, keys) => {
            let mut number = caller;
            Box::new(move || {
                number = number.wrapping_add(7919);
                Charge::new(keys.key()?, vec![names[number % names.len()].clone()], vec![cost])
            })
        }
        ChargePattern::Team(names) => {
            let name = &names[caller % names.len()];
            let analyst = analyst(name);
            let who = Who::parse("by", analyst)?;
            Box::new(move || {
                let key = Key::belonging_to(analyst, Key::generate()?.as_str())?;
                Ok(Charge::new(key, vec![name.clone()], vec![cost])?.by(Some(who.clone())))
            })
        }
    })
}

/// Whose account it is: the last part of its name.
pub fn analyst(name: &AccountName) -> &str {
    name.as_str().rsplit('/').next().unwrap_or_default()
}
