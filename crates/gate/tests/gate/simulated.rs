//! The gate on a simulated ledger, by seed: its processes crash at every exchange with the ledger, commits get lost, witnesses hang and
//! lie, disks are full, data are missing, and old copies of the gate's own records are put back.
//!
//! After every step the ledger's own checks hold (`ledger/src/simulation`), and: nothing is answered without its charge on the journal, a
//! key is charged once and has one answer for good, and an error that is no unknown outcome charged nothing. In the end the owner's log
//! has every question that was charged and has no answer.
//!
//! The gate's records are in the real SQLite. All that the gate writes is on disk when a call to the ledger begins or returns, so a crash
//! there leaves every state that a crash can leave.

use std::collections::HashMap;
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::PathBuf;

use fastrand::Rng;
use taximeter_accounting::FilterRule;
use taximeter_gate::{AnswerDocument, Data, Gate, GateOutcome, Origin, Registration, Request};
use taximeter_ledger::simulation::SimulatedLedger;
use taximeter_ledger::{Key, ReceiptDocument, Sight};
use taximeter_testing::SimulatedRun;
use tempfile::TempDir;

use crate::common::{account, declaration, request, rules};

const ROWS: &str = "name,age\nann,30\nbob,40\ncyd,50\n";
const SCHEMA: &str = "[columns.age]\nbounds = [0, 120]";
const QUESTIONS: [&str; 4] = [
    "SELECT COUNT(*) FROM people",
    "SELECT SUM(age) FROM people",
    "SELECT MEDIAN(age) FROM people",
    "SELECT COUNT(*) FROM people WHERE age > 35",
];
const FULL: &str = "CREATE TRIGGER full BEFORE INSERT ON answers BEGIN SELECT RAISE(ABORT, 'no room'); END";
/// How many steps an episode has.
const STEPS: u64 = 150;

/// What callers know of a key.
#[derive(Default)]
struct KnownKey {
    /// The document that was released.
    released: Option<String>,
    /// How often old records had been put back when it was released last.
    stored_after: u64,
    /// How often old records had been put back when the gate's records last had something about it.
    noted_after: u64,
    /// Whether a caller was told that there is no answer.
    is_lost: bool,
    /// Whether an attempt ended without a clear word.
    is_uncertain: bool,
}

/// How often things happened in all episodes.
#[derive(Debug, Default)]
struct Seen {
    answers: u64,
    replays: u64,
    refusals: u64,
    no_answers: u64,
    unknown: u64,
    crashes: u64,
    errors: u64,
    old_records: u64,
}

/// A gate, and which start of its process opened it.
struct OpenGate {
    gate: Gate,
    start: u64,
}

struct Episode<'a> {
    /// One for each process of the ledger; all have the same records. They end before their ledger does.
    gates: Vec<Option<OpenGate>>,
    ledger: SimulatedLedger,
    folder: TempDir,
    random: Rng,
    requests: Vec<Request>,
    keys: HashMap<String, KnownKey>,
    /// The records of the gate at an earlier moment.
    copy: Option<Vec<u8>>,
    is_full: bool,
    is_gone: bool,
    seen: &'a mut Seen,
}

impl Episode<'_> {
    fn new(seed: u64, seen: &mut Seen) -> Episode<'_> {
        let ledger = SimulatedLedger::begin(seed).unwrap();
        let mut episode = Episode {
            gates: (0..ledger.processes()).map(|_| None).collect(),
            ledger,
            folder: tempfile::tempdir().unwrap(),
            random: Rng::with_seed(seed),
            requests: Vec::new(),
            keys: HashMap::new(),
            copy: None,
            is_full: false,
            is_gone: false,
            seen,
        };
        episode.open(0);
        let csv = episode.folder.path().join("data.csv");
        fs::write(&csv, ROWS).unwrap();
        let rules = Some(rules(FilterRule::Residue, "1,1e-6"));
        let people =
            Registration { rules, ..Registration::new(account("people"), declaration(SCHEMA), Data::csv(csv)) };
        let gate = &episode.gates[0].as_ref().unwrap().gate;
        episode.ledger.run(0, || gate.register(&people, &mut |_, _| {})).unwrap().unwrap();
        episode.ledger.trouble();
        episode
    }

    fn gate_folder(&self) -> PathBuf {
        self.folder.path().join("gate")
    }

    /// Opens the gate of a process, if that runs.
    fn open(&mut self, process: usize) {
        self.close(process);
        let (Some(start), Some(handle)) = (self.ledger.start_of(process), self.ledger.handle(process)) else { return };
        let folder = self.gate_folder();
        match self.ledger.run(process, || Gate::open(&folder, handle)) {
            Some(Ok(gate)) => self.gates[process] = Some(OpenGate { gate, start }),
            // The ledger cannot be reached now.
            Some(Err(_)) => self.ledger.kill(process),
            None => self.seen.crashes += 1,
        }
    }

    /// The process of a gate ends.
    fn close(&mut self, process: usize) {
        if let Some(OpenGate { gate, start }) = self.gates[process].take() {
            drop(gate);
            if self.ledger.start_of(process) == Some(start) {
                self.ledger.kill(process);
            }
        }
    }

    /// A process whose gate is open. One that runs without is given one.
    fn ready(&mut self) -> Option<usize> {
        let process = self.random.usize(..self.gates.len());
        let start = self.ledger.start_of(process);
        if self.gates[process].as_ref().map(|open| open.start) != start {
            self.open(process);
        }
        self.gates[process].is_some().then_some(process)
    }

    fn step(&mut self) {
        match self.random.u8(..20) {
            0..5 => self.ask_new(),
            5..9 => self.ask_again(),
            9 => self.ask_another_question(),
            10 if !self.is_full => self.fill_the_disk(),
            11 if !self.is_gone => self.take_the_data_away(),
            12 => {
                let process = self.random.usize(..self.gates.len());
                self.close(process);
            }
            13 => self.change_records(),
            14..17 if self.is_full => self.fill_the_disk(),
            17..20 if self.is_gone => self.take_the_data_away(),
            _ => {}
        }
        for _ in 0..self.random.usize(..6) {
            self.ledger.step().unwrap();
        }
    }

    fn ask_new(&mut self) {
        let question = QUESTIONS[self.random.usize(..QUESTIONS.len())];
        let epsilon = ["0.01", "0.1", "0.3", "2"][self.random.usize(..4)];
        let key = Key::parse("key", &format!("q{}", self.requests.len())).unwrap();
        let new = Request { key, ..request("people", question, epsilon) };
        self.requests.push(new.clone());
        if let Some(process) = self.ready() {
            self.ask(process, &new);
        }
    }

    fn ask_again(&mut self) {
        if let (Some(process), Some(old)) = (self.ready(), self.random.choice(&self.requests).cloned()) {
            self.ask(process, &old);
        }
    }

    fn ask(&mut self, process: usize, request: &Request) {
        let name = request.key.as_str().to_string();
        let before = self.ledger.record_of(&name).unwrap();
        let gate = &self.gates[process].as_ref().unwrap().gate;
        let outcome = self.ledger.run(process, || gate.ask(request));
        let record = self.ledger.record_of(&name).unwrap();
        assert!(before.is_none() || before == record, "{name} was charged in record {before:?}, and now in {record:?}");
        let key = self.keys.entry(name.clone()).or_default();
        let seen = &mut *self.seen;
        let is_noted = outcome.as_ref().is_none_or(|outcome| match outcome {
            Ok(_) => true,
            Err(error) => error.is_unknown_outcome(),
        });
        if is_noted {
            key.noted_after = seen.old_records;
        }
        match outcome {
            None => {
                seen.crashes += 1;
                key.is_uncertain = true;
                self.close(process);
            }
            Some(Ok(GateOutcome::Answered(answer))) => {
                assert!(record.is_some(), "{name} was answered without a charge");
                assert!(answer.origin != Origin::Fresh || before.is_none(), "{name} was charged before, and made anew");
                assert!(key.released.is_some() || !key.is_lost, "{name} had no answer, and has one now");
                let first = key.released.get_or_insert_with(|| answer.document.clone());
                assert_eq!(*first, answer.document, "{name} has two answers");
                key.stored_after = seen.old_records;
                let receipt = AnswerDocument::read(&answer.document).unwrap().receipt;
                assert_eq!(Some(receipt.sequence), record);
                if answer.origin == Origin::Fresh {
                    seen.answers += 1;
                    self.acknowledge(process, &receipt);
                } else {
                    // A stored answer tells again what was acknowledged before, perhaps by another process.
                    seen.replays += 1;
                }
            }
            Some(Ok(GateOutcome::NoAnswer(receipt))) => {
                assert_eq!(Some(receipt.sequence()), record, "{name} is said to be charged");
                let is_stored = key.released.is_some() && key.stored_after == seen.old_records;
                assert!(!is_stored, "{name} lost its answer");
                key.is_lost = true;
                seen.no_answers += 1;
                self.acknowledge(process, &ReceiptDocument::new(&receipt, &Sight::All));
            }
            Some(Ok(GateOutcome::Refused(_))) => {
                assert_eq!(record, None, "{name} was refused, and is charged");
                key.is_uncertain = false;
                seen.refusals += 1;
            }
            Some(Err(error)) if error.is_unknown_outcome() => {
                key.is_uncertain = true;
                seen.unknown += 1;
            }
            Some(Err(error)) => {
                let is_charged_now = before.is_none() && record.is_some() && !key.is_uncertain;
                assert!(!is_charged_now, "{name} was charged, and the error says that it was not: {error}");
                seen.errors += 1;
            }
        }
    }

    fn acknowledge(&mut self, process: usize, receipt: &ReceiptDocument) {
        self.ledger.acknowledge(process, receipt.sequence, receipt.hash.unwrap()).unwrap();
    }

    /// A key that was charged takes no other question.
    fn ask_another_question(&mut self) {
        let (Some(process), Some(old)) = (self.ready(), self.random.choice(&self.requests).cloned()) else { return };
        if self.ledger.record_of(old.key.as_str()).unwrap().is_some() {
            let other = Request { question: "SELECT COUNT(*) FROM people WHERE age < 20".to_string(), ..old };
            let gate = &self.gates[process].as_ref().unwrap().gate;
            match self.ledger.run(process, || gate.ask(&other)) {
                Some(Ok(outcome)) => panic!("{} took another question: {outcome:?}", other.key),
                Some(Err(_)) => {}
                None => self.close(process),
            }
        }
    }

    /// No answer can be stored any more, or again.
    fn fill_the_disk(&mut self) {
        let sql = if self.is_full { "DROP TRIGGER full" } else { FULL };
        rusqlite::Connection::open(self.gate_folder().join("gate.db")).unwrap().execute_batch(sql).unwrap();
        self.is_full = !self.is_full;
    }

    fn take_the_data_away(&mut self) {
        let data = self.gate_folder().join("people.v1.db");
        let away = data.with_extension("away");
        let (from, to) = if self.is_gone { (away, data) } else { (data, away) };
        // A question that is asked next connects anew.
        (0..self.gates.len()).for_each(|process| self.close(process));
        fs::rename(from, to).unwrap();
        self.is_gone = !self.is_gone;
    }

    /// All processes end. The records are copied, or become those of an earlier moment, as after a backup was restored.
    fn change_records(&mut self) {
        (0..self.gates.len()).for_each(|process| self.close(process));
        let records = self.gate_folder().join("gate.db");
        match self.copy.take() {
            Some(older) => {
                for suffix in ["-wal", "-shm"] {
                    let _ = fs::remove_file(records.with_file_name(format!("gate.db{suffix}")));
                }
                fs::write(&records, older).unwrap();
                self.is_full = false;
                self.seen.old_records += 1;
            }
            None if !self.is_full => self.copy = Some(fs::read(&records).unwrap()),
            None => {}
        }
    }

    /// Whether a question was answered, or is in the owner's log.
    fn is_settled(&self, name: &str) -> bool {
        let gate = &self.gates.iter().flatten().next().expect("a gate is open").gate;
        let is_in_log = || gate.catalog().failures(10_000).unwrap().iter().any(|failure| failure.key == name);
        self.keys[name].released.is_some() || is_in_log()
    }

    /// Nothing goes wrong any more: every charged question is answered as before, or the owner's log has it, and no key is charged again.
    fn end(mut self) {
        if self.is_full {
            self.fill_the_disk();
        }
        if self.is_gone {
            self.take_the_data_away();
        }
        (0..self.gates.len()).for_each(|process| self.close(process));
        self.ledger.calm_down().unwrap();
        self.ready().expect("the gate opens, and finds out what came of interrupted questions");
        for request in self.requests.clone() {
            let name = request.key.as_str();
            if self.ledger.record_of(name).unwrap().is_none() {
                continue;
            }
            // Records that were put back may know nothing of the question before it is asked again.
            let is_known = self.keys[name].noted_after == self.seen.old_records;
            assert!(!is_known || self.is_settled(name), "{name} has no answer, and the owner is not told");
            let process = self.ready().expect("the gate opens");
            self.ask(process, &request);
            assert!(self.is_settled(name), "{name} has no answer, and the owner was not told");
        }
        (0..self.gates.len()).for_each(|process| self.close(process));
        self.ledger.calm_down().unwrap();
        self.ledger.end().unwrap();
    }
}

#[test]
fn every_key_is_charged_once_and_answered_once_whatever_goes_wrong() {
    let mut seen = Seen::default();
    let SimulatedRun { seed, steps } = SimulatedRun::wanted(15_000);
    let episodes = steps.div_ceil(STEPS);
    for seed in (0..episodes).map(|at| seed.wrapping_add(at)) {
        let played = catch_unwind(AssertUnwindSafe(|| {
            let mut episode = Episode::new(seed, &mut seen);
            (0..STEPS).for_each(|_| episode.step());
            episode.end();
        }));
        if let Err(panic) = played {
            eprintln!("to repeat it: cargo xtask simulate --gate --seed {seed} --steps {STEPS}");
            resume_unwind(panic);
        }
    }
    println!("{steps} steps: {seen:?}");
    let Seen { answers, replays, refusals, no_answers, unknown, crashes, errors, old_records } = seen;
    let rare = [answers, replays, refusals, no_answers, unknown, crashes, errors, old_records];
    assert!(episodes < 30 || rare.iter().all(|count| *count > 0), "something never happened");
}
