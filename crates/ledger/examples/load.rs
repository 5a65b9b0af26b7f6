//! Charges a ledger from many threads, and says what came of every charge as soon as it is known.
//!
//! ```text
//! cargo run -p taximeter-ledger --example load -- LOCATION WITNESS THREADS CHARGES PREFIX SEED [TIMES]
//! ```
//!
//! LOCATION is a file or a `postgres://` URL, WITNESS a file or `-` for the usual place. Each of THREADS makes CHARGES charges, or
//! goes on `forever`: until standard input ends. TIMES, if it is given, is how often the ledger is closed and opened again with
//! new charges. What a key asks for follows from the key and SEED alone, so a second run with the same PREFIX and SEED asks for the
//! same again, and is charged for nothing twice.
//!
//! A line on standard output is one of
//!
//! ```text
//! opened SEQUENCE                 the ledger is open, and that is its newest record
//! charged KEY SEQUENCE HASH       it is on disk
//! replayed KEY SEQUENCE HASH      it was on disk before, under this key
//! refused KEY ACCOUNT             a budget does not allow it
//! unknown KEY MESSAGE             it may be on disk: the same key tells, when the ledger is open again
//! stopped KEY MESSAGE             the ledger takes nothing more
//! failed KEY MESSAGE              nothing was charged
//! ```
//!
//! and the exit code is 1 if there was an error. The tests kill this program, fail its disk and stop its server, and look for every
//! `charged` line in the journal.

use std::error::Error;
use std::io::{self, Read, Write};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use taximeter_accounting::{Budget, Cost, FilterRule, FilterSpec, OdometerRule, OdometerSpec};
use taximeter_ledger::{AccountName, AccountSpec, Charge, Key, Ledger, Location, Options, Outcome, Privacy};

/// Every charge is paid by the first of these too. The last one is too small for all that is asked of it.
const ACCOUNTS: [(&str, &str); 6] = [
    ("survey", "1000000,1e-6"),
    ("survey/north", "1000000,1e-6"),
    ("survey/south", "1000000,1e-6"),
    ("survey/south/island", "1000000,1e-6"),
    ("survey/west", "1000000,1e-6"),
    ("survey/small", "0.1,1e-6"),
];

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match Load::parse(&arguments).and_then(|load| load.run()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

/// What is to be done.
struct Load {
    location: Location,
    options: Options,
    threads: u64,
    /// How many charges each thread makes; nothing for no end.
    charges: Option<u64>,
    prefix: String,
    seed: u64,
    times: u64,
    is_ended: AtomicBool,
    first_error: Mutex<Option<String>>,
    /// The charges whose outcome is not known.
    in_doubt: Mutex<Vec<(u64, u64)>>,
}

impl Load {
    fn parse(arguments: &[String]) -> Result<Arc<Load>, Box<dyn Error>> {
        let [location, witness, threads, charges, prefix, seed, times @ ..] = arguments else {
            return Err("give LOCATION WITNESS THREADS CHARGES PREFIX SEED [TIMES]".into());
        };
        let witness = (witness != "-").then(|| witness.into());
        Ok(Arc::new(Load {
            location: Location::parse(location)?,
            options: Options { witness, create: true, ..Options::default() },
            threads: threads.parse()?,
            charges: if charges == "forever" { None } else { Some(charges.parse()?) },
            prefix: prefix.clone(),
            seed: seed.parse()?,
            times: times.first().map_or(Ok(1), |times| times.parse())?,
            is_ended: AtomicBool::new(false),
            first_error: Mutex::new(None),
            in_doubt: Mutex::new(Vec::new()),
        }))
    }

    fn run(self: Arc<Load>) -> Result<(), Box<dyn Error>> {
        if self.charges.is_none() {
            let load = Arc::clone(&self);
            thread::spawn(move || {
                // Nothing is said there; its end is what counts.
                let _ = io::stdin().read_to_end(&mut Vec::new());
                load.is_ended.store(true, Ordering::Relaxed);
            });
        }
        for time in 0..self.times {
            // A ledger that cannot be opened now may be opened the next time.
            if let Err(error) = self.open_and_charge(time) {
                self.note_error("failed", "-", error.to_string());
            }
        }
        match lock(&self.first_error).take() {
            Some(error) => Err(error.into()),
            None => Ok(()),
        }
    }

    fn open_and_charge(self: &Arc<Load>, time: u64) -> Result<(), Box<dyn Error>> {
        let ledger = Ledger::open(&self.location, self.options.clone())?;
        say(format_args!("opened {}", ledger.position().sequence));
        for (name, budget) in ACCOUNTS {
            open_account(&ledger, AccountName::parse(name)?, Budget::parse(budget)?)?;
        }
        let in_doubt = std::mem::take(&mut *lock(&self.in_doubt));
        for (thread, number) in in_doubt {
            self.charge(&ledger, thread, number)?;
        }
        let threads: Vec<_> = (0..self.threads)
            .map(|thread| {
                let (load, ledger) = (Arc::clone(self), ledger.clone());
                thread::spawn(move || load.charge_all(&ledger, time, thread))
            })
            .collect();
        for thread in threads {
            thread.join().map_err(|_| "a thread panicked")?.map_err(|error| error.to_string())?;
        }
        Ok(())
    }

    fn charge_all(&self, ledger: &Ledger, time: u64, thread: u64) -> Result<(), taximeter_ledger::Error> {
        match self.charges {
            Some(charges) => (time * charges..(time + 1) * charges).try_for_each(|number| {
                self.charge(ledger, thread, number)?;
                Ok(())
            }),
            None => {
                let mut number = 0;
                while !self.is_ended.load(Ordering::Relaxed) && self.charge(ledger, thread, number)? {
                    number += 1;
                }
                Ok(())
            }
        }
    }

    /// Makes one charge and says what came of it. Whether it was answered; an error if the request itself is wrong.
    fn charge(&self, ledger: &Ledger, thread: u64, number: u64) -> Result<bool, taximeter_ledger::Error> {
        let key = format!("{}-{thread}-{number}", self.prefix);
        let charge = self.request(&key)?;
        match ledger.charge(charge) {
            Ok(Outcome::Charged(fresh)) => {
                let receipt = fresh.receipt();
                say(format_args!("charged {key} {} {}", receipt.sequence(), receipt.hash()));
            }
            Ok(Outcome::Replayed(receipt)) => {
                say(format_args!("replayed {key} {} {}", receipt.sequence(), receipt.hash()))
            }
            Ok(Outcome::Refused(refusal)) => say(format_args!("refused {key} {}", refusal.refused()[0].0)),
            Err(error) if error.is_input() => return Err(error),
            Err(error) => {
                let kind = if error.is_unknown_outcome() {
                    lock(&self.in_doubt).push((thread, number));
                    "unknown"
                } else if error.is_stopped() {
                    "stopped"
                } else {
                    "failed"
                };
                self.note_error(kind, &key, error.to_string());
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// One to three accounts that overlap with those of other threads, and a cost.
    fn request(&self, key: &str) -> Result<Charge, taximeter_ledger::Error> {
        let mut random = key.bytes().fold(mix(self.seed), |state, byte| mix(state ^ u64::from(byte)));
        let mut below = |limit: usize| {
            random = mix(random);
            (random % limit as u64) as usize
        };
        let names: Result<Vec<_>, _> =
            (0..=below(3)).map(|_| AccountName::parse(ACCOUNTS[below(ACCOUNTS.len())].0)).collect();
        let cost = Cost::parse_epsilon(["0.001", "0.002", "0.0005"][below(3)])?.cost;
        Charge::new(Key::parse("key", key)?, names?, vec![cost])
    }

    fn note_error(&self, kind: &str, key: &str, message: String) {
        say(format_args!("{kind} {key} {message}"));
        lock(&self.first_error).get_or_insert(message);
    }
}

/// Opens an account unless it is there. Another process may be doing the same.
fn open_account(ledger: &Ledger, name: AccountName, budget: Budget) -> Result<(), taximeter_ledger::Error> {
    if ledger.account(&name).is_ok() {
        return Ok(());
    }
    let spec = AccountSpec {
        name: name.clone(),
        privacy: Privacy::default(),
        filter: Some(FilterSpec::new(FilterRule::Basic, budget)),
        odometer: OdometerSpec::beside(OdometerRule::RenyiMixture, &budget),
    };
    match ledger.open_account(spec) {
        Err(error) if error.is_input() && ledger.account(&name).is_ok() => Ok(()),
        result => result.map(|_| ()),
    }
}

/// Writes a line, all of it at once, so that a test that kills this program finds every answer that was given.
fn say(line: std::fmt::Arguments<'_>) {
    let mut out = io::stdout().lock();
    // If this fails the listener is gone; the ledger knows all the same.
    let _ = writeln!(out, "{line}").and_then(|()| out.flush());
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// SplitMix64: a number that looks unlike the one before.
fn mix(state: u64) -> u64 {
    let mut z = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}
