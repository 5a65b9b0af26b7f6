//! PostgreSQL is stopped as in a crash, and started again, while processes charge the same accounts.

use taximeter_ledger::Location;
use taximeter_testing::PrivatePostgres;

use super::journal::Acknowledged;
use super::load::{Log, Request, Running};
use super::{Random, crashes};

/// Who charges.
struct Scene {
    /// What the keys of each process begin with.
    prefixes: &'static [&'static str],
    /// The number in each process.
    threads: u64,
    /// How many charges of a process are acknowledged between two stops, at least.
    between_stops: usize,
    /// The name of a process's witness.
    witness_of: fn(usize) -> String,
}

/// Two of the processes ask for the same charges, under the same keys.
const FOUR: Scene =
    Scene { prefixes: &["a", "b", "c", "c"], threads: 4, between_stops: 30, witness_of: |_| "witness".to_string() };

/// One of the processes: its folder, what it is asked, and what runs.
struct Process {
    folder: tempfile::TempDir,
    request: Request,
    running: Running,
    /// What it said in all its lives.
    log: Log,
    ends: u64,
}

impl Process {
    fn start(request: Request) -> Process {
        let folder = tempfile::tempdir().unwrap();
        let running = Running::start(request.command(), folder.path());
        Process { folder, request, running, log: Log::default(), ends: 0 }
    }

    /// A process may give up, if it does not know what came of a charge, and says so. Then it is started again with the same keys.
    fn wait_for_charges(&mut self, charges: usize) {
        // Of two processes with the same keys, the one behind finds its charges made already.
        let acknowledged =
            |running: &Running| ["charged", "replayed"].iter().map(|verb| running.log().count(verb)).sum::<usize>();
        let before = acknowledged(&self.running);
        let enough = |running: &Running| acknowledged(running) >= before + charges;
        while !self.running.wait_until(enough) {
            assert!(self.running.has_ended(), "no charges come: {:?}", self.running.log().0.last());
            let log = self.running.log();
            require_doubt(&log);
            self.log.0.extend(log.0);
            self.running = Running::start(self.request.command(), self.folder.path());
            self.ends += 1;
        }
    }
}

/// A process that ended by itself did so because of the server, and says about every charge without an answer that it is in doubt.
fn require_doubt(log: &Log) {
    for line in log.errors() {
        let is_in_doubt = matches!(line.verb.as_str(), "unknown" | "stopped");
        // A server that is down can also not be opened.
        let is_opening = line.verb == "failed" && line.rest.contains("cannot be opened");
        assert!(is_in_doubt || is_opening, "{line:?}");
    }
}

fn check(scene: &Scene) {
    let Scene { prefixes, threads, between_stops, witness_of } = *scene;
    let server = PrivatePostgres::start().unwrap();
    let url = server.new_database().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let request = |process: usize, charges| Request {
        location: url.clone(),
        witness: folder.path().join(witness_of(process)),
        threads,
        charges,
        prefix: prefixes[process].to_string(),
        seed: 1,
        times: 1,
    };
    // The ledger is made by one of them; the others get its witness, as one does on another machine.
    let (status, log) = Running::start(request(0, Some(1)).command(), folder.path()).finish();
    assert!(status.success(), "{log:?}");
    for process in 1..prefixes.len() {
        let (from, to) = (request(0, None).witness, request(process, None).witness);
        if from != to {
            std::fs::copy(from, to).unwrap();
        }
    }
    let mut acknowledged = Acknowledged::default();
    acknowledged.add(&log).unwrap();

    let mut random = Random(3);
    let mut processes: Vec<Process> =
        (0..prefixes.len()).map(|process| Process::start(request(process, None))).collect();
    // Four times, or more on request.
    for _ in 0..(crashes() / 50).max(1) {
        processes.iter_mut().for_each(|process| process.wait_for_charges(between_stops));
        std::thread::sleep(random.milliseconds(50));
        server.stop_immediate().unwrap();
        std::thread::sleep(random.milliseconds(300));
        server.start_again().unwrap();
    }
    processes.iter_mut().for_each(|process| process.wait_for_charges(between_stops));

    let (mut ends, mut most) = (0, 0);
    for mut process in processes {
        ends += process.ends;
        let (_, log) = process.running.finish();
        require_doubt(&log);
        process.log.0.extend(log.0);
        let numbers = process.log.0.iter().filter_map(|line| line.key.rsplit('-').next()?.parse().ok());
        most = numbers.fold(most, u64::max);
        acknowledged.add(&process.log).unwrap();
    }
    println!("{} charges acknowledged, {ends} processes ended by themselves", acknowledged.len());

    // Everything is asked for again: nothing is charged twice, and nothing is in doubt any more.
    for process in 0..prefixes.len() {
        let (status, log) = Running::start(request(process, Some(most + 2)).command(), folder.path()).finish();
        assert!(status.success(), "{:?}", log.errors().next());
        acknowledged.add(&log).unwrap();
    }
    let (location, witness) = (Location::Postgres(url.clone()), request(prefixes.len() - 1, None).witness);
    acknowledged.check_and_verify(&location, &witness).unwrap();
    assert!(acknowledged.len() > prefixes.len() * between_stops);
}

#[test]
fn processes_that_share_a_witness_lose_nothing_when_the_server_crashes() {
    check(&FOUR);
}

#[test]
fn processes_with_a_witness_each_lose_nothing_when_the_server_crashes() {
    check(&Scene { witness_of: |process| format!("witness-{process}"), ..FOUR });
}

/// Alone and busy enough that the server writes a part of each transaction while the rest is decided.
#[test]
fn a_process_that_writes_ahead_loses_nothing_when_the_server_crashes() {
    check(&Scene { prefixes: &["a"], threads: 64, between_stops: 64 * 30, ..FOUR });
}
