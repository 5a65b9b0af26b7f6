//! The process is killed in the middle of its work, again and again: nothing that was acknowledged is lost, and nothing is paid twice.

pub mod journal;
pub mod load;
#[cfg(feature = "server-tests")]
mod postgres;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use taximeter_ledger::Location;

use journal::Acknowledged;
use load::{Request, Running};

/// How often the process is killed in all, unless TAXIMETER_CRASHES says otherwise.
const CRASHES: u64 = 200;

/// One kill in this number comes while a ledger is being made.
const WHILE_MADE: u64 = 5;

/// How long a ledger is kept.
const CRASHES_OF_A_LEDGER: u64 = 20;

fn crashes() -> u64 {
    match std::env::var("TAXIMETER_CRASHES") {
        Ok(number) => number.parse().unwrap_or_else(|_| panic!("TAXIMETER_CRASHES={number} is not a number")),
        Err(_) => CRASHES,
    }
}

/// Numbers that look random and are the same in every run: SplitMix64.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % limit
    }

    fn milliseconds(&mut self, limit: u64) -> Duration {
        Duration::from_micros(self.below(limit * 1000))
    }
}

/// A ledger in a folder of its own that is killed several times, and what was acknowledged of it.
struct Victim {
    folder: tempfile::TempDir,
    acknowledged: Acknowledged,
    /// How often the database itself had just begun to change when the kill came: in a checkpoint, or right after it.
    checkpoints: u64,
}

impl Victim {
    fn new() -> Victim {
        let folder = tempfile::tempdir().unwrap();
        Victim { folder, acknowledged: Acknowledged::default(), checkpoints: 0 }
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("ledger.db")
    }

    fn witness(&self) -> PathBuf {
        self.folder.path().join("ledger.witness")
    }

    fn request(&self, generation: u64, threads: u64, charges: Option<u64>) -> Request {
        Request {
            location: self.path().to_str().unwrap().to_string(),
            witness: self.witness(),
            threads,
            charges,
            prefix: format!("g{generation}"),
            seed: 1,
            times: 1,
        }
    }

    fn check(&self, how: &str) {
        let location = Location::File(self.path());
        let result = self.acknowledged.check(&location, &self.witness());
        result.unwrap_or_else(|why| panic!("{how}: {why}"));
    }

    fn verify(&self, how: &str) {
        let location = Location::File(self.path());
        let result = self.acknowledged.check_and_verify(&location, &self.witness());
        result.unwrap_or_else(|why| panic!("{how}: {why}"));
    }

    /// Starts the program, kills it, and takes down what it acknowledged.
    fn crash(&mut self, request: &Request, moment: Moment, random: &mut Random, how: &str) {
        let mut running = Running::start(request.command(), self.folder.path());
        match moment {
            Moment::Opening => std::thread::sleep(random.milliseconds(20)),
            Moment::Working | Moment::Checkpoint => {
                let opened = running.wait_until(|running| !running.log().0.is_empty());
                assert!(opened, "{how}: it does not open: {}", running.errors());
                std::thread::sleep(random.milliseconds(80));
            }
        }
        assert!(!running.has_ended(), "{how}: it ended by itself: {}", running.errors());
        if let Moment::Checkpoint = moment {
            let (path, before) = (self.path(), modified(&self.path()));
            running.ask_to_end();
            let seen = running.wait_until(|_| modified(&path) != before);
            self.checkpoints += u64::from(seen && !running.has_ended());
        }
        running.kill();
        let log = running.log();
        assert_eq!(log.errors().next(), None, "{how}");
        self.acknowledged.add(&log).unwrap_or_else(|why| panic!("{how}: {why}"));
    }

    /// Asks for everything again that may have been asked for, to the end.
    fn retry(&mut self, generation: u64, threads: u64, charges: u64, how: &str) {
        let running = Running::start(self.request(generation, threads, Some(charges)).command(), self.folder.path());
        let (status, log) = running.finish();
        assert!(status.success(), "{how}: {:?}", log.errors().next());
        let answered = ["charged", "replayed", "refused"].map(|verb| log.count(verb)).iter().sum::<usize>();
        assert_eq!(answered as u64, threads * charges, "{how}");
        self.acknowledged.add(&log).unwrap_or_else(|why| panic!("{how}: {why}"));
    }
}

#[derive(Clone, Copy, Debug)]
enum Moment {
    Opening,
    Working,
    /// While it is closed: what is in the write-ahead file is then brought into the database.
    Checkpoint,
}

fn modified(path: &Path) -> Option<SystemTime> {
    path.metadata().and_then(|metadata| metadata.modified()).ok()
}

/// Kills one ledger this number of times. Returns what is left of it.
fn crash_often(crashes: u64, seed: u64) -> Victim {
    let mut random = Random(seed);
    let mut victim = Victim::new();
    let (mut generation, mut threads) = (0, 8 + random.below(41));
    for crash in 1..=crashes {
        let moment = match random.below(8) {
            0 => Moment::Opening,
            1 | 2 => Moment::Checkpoint,
            _ => Moment::Working,
        };
        let how = format!("crash {crash} of ledger {seed} ({moment:?}, generation {generation})");
        let request = victim.request(generation, threads, None);
        victim.crash(&request, moment, &mut random, &how);
        match crash % 10 {
            0 => victim.verify(&how),
            // A ledger that was killed before its first record cannot be read yet.
            _ if victim.acknowledged.len() > 0 => victim.check(&how),
            _ => {}
        }
        // Until now the same keys were asked for again after every crash.
        if random.below(4) == 0 {
            victim.retry(generation, threads, 40, &how);
            (generation, threads) = (generation + 1, 8 + random.below(41));
        }
    }
    victim.verify(&format!("ledger {seed} at the end"));
    victim
}

/// Runs a piece of work for each of these numbers, on a few threads, since most of it is waiting for the disk.
fn for_each(numbers: std::ops::Range<u64>, work: impl Fn(u64) + Sync) {
    let next = AtomicU64::new(numbers.start);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                while let number = next.fetch_add(1, Ordering::Relaxed)
                    && number < numbers.end
                {
                    work(number);
                }
            });
        }
    });
}

#[test]
fn a_ledger_that_is_killed_keeps_what_it_acknowledged_and_charges_nothing_twice() {
    let (checkpoints, acknowledged) = (AtomicU64::new(0), AtomicU64::new(0));
    let total = crashes() - crashes() / WHILE_MADE;
    for_each(0..total.div_ceil(CRASHES_OF_A_LEDGER), |ledger| {
        let victim = crash_often(CRASHES_OF_A_LEDGER.min(total - ledger * CRASHES_OF_A_LEDGER), ledger);
        checkpoints.fetch_add(victim.checkpoints, Ordering::Relaxed);
        acknowledged.fetch_add(victim.acknowledged.len() as u64, Ordering::Relaxed);
    });
    let (checkpoints, acknowledged) = (checkpoints.into_inner(), acknowledged.into_inner());
    println!("{total} crashes, {checkpoints} of them around a checkpoint, {acknowledged} charges acknowledged");
    assert!(acknowledged > total, "hardly anything was acknowledged");
}

#[test]
fn a_ledger_that_is_killed_while_it_is_made_opens_all_the_same() {
    for_each(0..crashes() / WHILE_MADE, |crash| {
        let how = format!("crash {crash}");
        let mut random = Random(crash);
        let mut victim = Victim::new();
        // Twice: what is half made is then opened and killed again.
        for _ in 0..2 {
            let request = victim.request(0, 4, None);
            victim.crash(&request, Moment::Opening, &mut random, &how);
        }
        victim.verify(&how);
    });
}
