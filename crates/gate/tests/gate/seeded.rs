//! Questions, repeated keys, full disks, missing data, restarts and old copies of the gate's records, in an order by seed.
//!
//! After every step each key has been charged at most once, has at most one answer for good, and nothing but the ledger knows more than
//! that.

use std::collections::HashMap;
use std::fs;

use taximeter_gate::{ErrorKind, Gate, GateOutcome, Request};
use taximeter_ledger::{Key, Ledger, Location, Options, verify};
use taximeter_testing::random_inputs;

use crate::common::{Setup, account, request};

const ROWS: &str = "name,age\nann,30\nbob,40\ncyd,50\n";
const SCHEMA: &str = "[columns.age]\nbounds = [0, 120]";
const QUESTIONS: [&str; 4] = [
    "SELECT COUNT(*) FROM people",
    "SELECT SUM(age) FROM people",
    "SELECT MEDIAN(age) FROM people",
    "SELECT COUNT(*) FROM people WHERE age > 35",
];
const FULL: &str = "CREATE TRIGGER full BEFORE INSERT ON answers BEGIN SELECT RAISE(ABORT, 'no room'); END";

/// What is known of a key.
#[derive(Default)]
struct KeyHistory {
    is_charged: bool,
    /// The bytes that were released.
    released: Option<String>,
}

struct Episode {
    /// Nothing while the gate is closed.
    setup: Option<Setup>,
    seed: u64,
    requests: Vec<Request>,
    asked: HashMap<String, KeyHistory>,
    /// A copy of the gate's records from an earlier moment.
    copy: Option<Vec<u8>>,
    is_full: bool,
    is_gone: bool,
}

impl Episode {
    fn new(seed: u64) -> Episode {
        let setup = Setup::new();
        setup.add("people", ROWS, SCHEMA, "1,1e-6");
        let (requests, asked) = (Vec::new(), HashMap::new());
        Episode { setup: Some(setup), seed, requests, asked, copy: None, is_full: false, is_gone: false }
    }

    /// SplitMix64.
    fn below(&mut self, limit: usize) -> usize {
        self.seed = self.seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.seed;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) % limit as u64) as usize
    }

    fn setup(&self) -> &Setup {
        self.setup.as_ref().unwrap()
    }

    fn step(&mut self) {
        match self.below(12) {
            0..=3 => {
                let question = QUESTIONS[self.below(QUESTIONS.len())];
                let epsilon = ["0.01", "0.1", "0.3", "2"][self.below(4)];
                let new = Request { key: Key::generate().unwrap(), ..request("people", question, epsilon) };
                self.requests.push(new.clone());
                self.ask(&new);
            }
            4..=6 if !self.requests.is_empty() => {
                let old = self.old_request();
                self.ask(&old);
            }
            7 if !self.requests.is_empty() => self.ask_another_question(),
            8 => self.fill_the_disk(),
            9 => self.take_the_data_away(),
            10 => self.restart(),
            _ => {}
        }
        let charged = self.asked.values().filter(|asked| asked.is_charged).count();
        assert_eq!(self.setup().charges("people"), charged as u64);
    }

    fn old_request(&mut self) -> Request {
        let at = self.below(self.requests.len());
        self.requests[at].clone()
    }

    fn ask(&mut self, request: &Request) {
        let key = request.key.as_str().to_string();
        let outcome = self.setup().gate.ask(request);
        let known = self.asked.entry(key).or_default();
        match outcome {
            Ok(GateOutcome::Answered(answer)) => {
                assert!(!known.is_charged || known.released.is_some(), "a charged key without an answer got one");
                let first = known.released.get_or_insert_with(|| answer.document.clone());
                assert_eq!(*first, answer.document);
                known.is_charged = true;
            }
            Ok(GateOutcome::NoAnswer(_)) => known.is_charged = true,
            Ok(GateOutcome::Refused(_)) => assert!(!known.is_charged, "a charged key was refused"),
            // The data are looked at before anything is charged, and before the ledger is asked for a key without a stored answer.
            Err(error) => assert!(self.is_gone, "{error}"),
        }
    }

    fn ask_another_question(&mut self) {
        let old = self.old_request();
        if self.asked.get(old.key.as_str()).is_some_and(|asked| asked.is_charged) {
            let other = Request { question: "SELECT COUNT(*) FROM people WHERE age < 20".to_string(), ..old };
            let error = self.setup().gate.ask(&other).unwrap_err();
            assert!(self.is_gone || matches!(error.kind(), ErrorKind::KeyTaken { .. }), "{error}");
        }
    }

    /// No answer can be stored any more, or again.
    fn fill_the_disk(&mut self) {
        let sql = if self.is_full { "DROP TRIGGER full" } else { FULL };
        rusqlite::Connection::open(self.setup().records()).unwrap().execute_batch(sql).unwrap();
        self.is_full = !self.is_full;
    }

    fn take_the_data_away(&mut self) {
        let data = self.setup().path().join("gate").join("people.v1.db");
        let away = data.with_extension("away");
        let (from, to) = if self.is_gone { (away, data) } else { (data, away) };
        // A question that is asked next connects anew.
        fs::rename(from, to).unwrap();
        self.is_gone = !self.is_gone;
        self.reopen(None);
    }

    /// The program ends. The gate's records may then be those of an earlier moment, as after a crash between the charge and the answer, or
    /// after a backup was restored; the ledger's never are.
    fn restart(&mut self) {
        let older = if self.below(2) == 0 { self.copy.take() } else { None };
        self.reopen(older);
    }

    fn reopen(&mut self, older: Option<Vec<u8>>) {
        let Setup { gate, folder } = self.setup.take().unwrap();
        drop(gate);
        let (records, witness) = (folder.path().join("gate").join("gate.db"), folder.path().join("witness"));
        match older {
            Some(older) => {
                for suffix in ["-wal", "-shm"] {
                    let _ = fs::remove_file(records.with_file_name(format!("gate.db{suffix}")));
                }
                fs::write(&records, older).unwrap();
                self.is_full = false;
            }
            None if self.copy.is_none() && !self.is_full => self.copy = Some(fs::read(&records).unwrap()),
            None => {}
        }
        let location = Location::File(folder.path().join("taximeter.db"));
        let options = Options { witness: Some(witness), ..Options::default() };
        let ledger = Ledger::open(&location, options).unwrap();
        self.setup = Some(Setup { gate: Gate::open(&folder.path().join("gate"), ledger).unwrap(), folder });
    }

    fn end(mut self) {
        let Setup { gate, folder } = self.setup.take().unwrap();
        let spent = gate.ledger().account(&account("people")).unwrap();
        assert!(spent.charges() > 0 || self.asked.values().all(|asked| !asked.is_charged));
        drop(gate);
        let location = Location::File(folder.path().join("taximeter.db"));
        verify(&location, Some(&folder.path().join("witness")), &mut |_, _| {}).unwrap();
    }
}

#[test]
fn every_key_is_charged_once_and_answered_once_whatever_goes_wrong() {
    for seed in 0..u64::from(random_inputs(60)) {
        let mut episode = Episode::new(seed);
        (0..60).for_each(|_| episode.step());
        episode.end();
    }
}
