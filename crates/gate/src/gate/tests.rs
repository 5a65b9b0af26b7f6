//! The order of things at its edges: processes that end, answers that are lost, two that ask the same.

use taximeter_accounting::{Amount, Budget, FilterRule, FilterSpec, OdometerRule, OdometerSpec};
use taximeter_ledger::{AccountName, Location, Options};

use super::*;
use crate::engine::ExactRow;
use crate::schema::Schema;
use crate::sql::Statement;
use crate::{Data, Declaration, Price, Registration, Rules};

/// An engine with a defect that one person's row brings out.
struct Defective;

impl Engine for Defective {
    fn check(&mut self, _: &Schema, _: Duration) -> Result<(), Error> {
        Ok(())
    }

    fn run(&mut self, _: &Statement, _: Duration) -> Result<Vec<ExactRow>, String> {
        panic!("eve is 40 years old")
    }
}

fn open(folder: &Path) -> Gate {
    let location = Location::File(folder.join("taximeter.db"));
    let ledger = Ledger::open(&location, Options { create: true, ..Options::default() }).unwrap();
    Gate::open(&folder.join("gate"), ledger).unwrap()
}

/// A gate with people behind it, and a question about them.
fn gate_with_people(folder: &Path) -> (Gate, Request) {
    let gate = open(folder);
    let csv = folder.join("people.csv");
    std::fs::write(&csv, "age\n40\n").unwrap();
    let (people, budget) = (AccountName::parse("people").unwrap(), Budget::parse("1,1e-6").unwrap());
    let declaration = Declaration::of_rows("");
    let registration = Registration {
        rules: Some(Rules {
            filter: Some(FilterSpec::new(FilterRule::Residue, budget)),
            odometer: OdometerSpec::beside(OdometerRule::RenyiMixture, &budget),
        }),
        ..Registration::new(people.clone(), declaration, Data::csv(csv))
    };
    gate.register(&registration, &mut |_, _| {}).unwrap();
    let price = Price::Epsilon(Amount::parse_exact("0.1").unwrap());
    let request = Request::new(&people, "SELECT COUNT(*) FROM people", price).unwrap();
    (gate, request)
}

#[test]
fn a_question_that_was_interrupted_after_its_charge_is_in_the_owners_log_after_the_next_start() {
    let folder = tempfile::tempdir().unwrap();
    let (gate, request) = gate_with_people(folder.path());
    let (charged, uncharged) = (request.clone(), Request { key: Key::parse("key", "never").unwrap(), ..request });
    for request in [&charged, &uncharged] {
        let prepared = Prepared::new(&gate.catalog, request).unwrap();
        assert!(gate.catalog.begin(&prepared.stored(None), &gate.asking).unwrap());
    }
    let prepared = Prepared::new(&gate.catalog, &charged).unwrap();
    assert!(matches!(gate.ledger.charge(prepared.charge.clone()), Ok(Outcome::Charged(_))));
    // As if the process had been killed here.
    drop(gate);
    let gate = open(folder.path());
    let failures = gate.catalog.failures(10).unwrap();
    assert_eq!(failures.len(), 1, "{failures:?}");
    assert_eq!(failures[0].key, charged.key.as_str());
    assert!(failures[0].why.contains("the program ended"), "{failures:?}");
    assert!(matches!(gate.ask(&charged).unwrap(), GateOutcome::NoAnswer(_)));
    assert!(matches!(gate.ask(&uncharged).unwrap(), GateOutcome::Answered(_)));
    drop(gate);
    assert_eq!(open(folder.path()).catalog.failures(10).unwrap().len(), 1, "it is told once");
}

#[test]
fn questions_of_a_process_that_is_alive_are_not_taken_for_interrupted_ones() {
    let folder = tempfile::tempdir().unwrap();
    let (gate, request) = gate_with_people(folder.path());
    let prepared = Prepared::new(&gate.catalog, &request).unwrap();
    gate.catalog.begin(&prepared.stored(None), &gate.asking).unwrap();
    let Ok(Outcome::Charged(fresh)) = gate.ledger.charge(prepared.charge.clone()) else { panic!("0.1 fits 1") };
    let other = Gate::open(&folder.path().join("gate"), gate.ledger.clone()).unwrap();
    assert!(other.catalog.failures(10).unwrap().is_empty());
    let engine = gate.engine(&prepared, Duration::from_secs(60)).unwrap();
    let outcome = gate.answer(fresh, &prepared, engine, Duration::from_secs(60));
    assert!(matches!(outcome, GateOutcome::Answered(_)), "{outcome:?}");
    assert!(gate.catalog.interrupted().unwrap().is_empty());
}

/// Once nobody was told of it until no other process had the folder any more.
#[test]
fn a_question_that_a_process_left_is_in_the_owners_log_while_others_live() {
    let folder = tempfile::tempdir().unwrap();
    let (one, request) = gate_with_people(folder.path());
    let other = Gate::open(&folder.path().join("gate"), one.ledger.clone()).unwrap();
    let prepared = Prepared::new(&one.catalog, &request).unwrap();
    assert!(one.catalog.begin(&prepared.stored(None), &one.asking).unwrap());
    assert!(matches!(one.ledger.charge(prepared.charge.clone()), Ok(Outcome::Charged(_))));
    other.settle().unwrap();
    assert!(other.catalog.failures(10).unwrap().is_empty(), "it is still under way");
    drop(one);
    other.settle().unwrap();
    let failures = other.catalog.failures(10).unwrap();
    assert_eq!(failures.len(), 1, "{failures:?}");
    assert!(failures[0].why.contains("the program ended"), "{failures:?}");
    assert!(matches!(other.ask(&request).unwrap(), GateOutcome::NoAnswer(_)));
    other.settle().unwrap();
    assert_eq!(other.catalog.failures(10).unwrap().len(), 1, "it is told once");
}

#[test]
fn a_replay_that_finds_no_answer_is_in_the_owners_log_once() {
    let folder = tempfile::tempdir().unwrap();
    let (gate, request) = gate_with_people(folder.path());
    assert!(matches!(gate.ask(&request).unwrap(), GateOutcome::Answered(_)));
    // As if an older copy of the records had been put back.
    let records = rusqlite::Connection::open(folder.path().join("gate").join("gate.db")).unwrap();
    assert_eq!(records.execute("DELETE FROM answers", []).unwrap(), 1);
    for _ in 0..2 {
        assert!(matches!(gate.ask(&request).unwrap(), GateOutcome::NoAnswer(_)));
        let failures = gate.catalog.failures(10).unwrap();
        assert_eq!(failures.len(), 1, "{failures:?}");
        assert!(failures[0].why.contains("before the answer was stored"), "{failures:?}");
    }
}

#[test]
fn a_charge_of_which_it_is_not_known_whether_it_was_made_is_in_the_owners_log_if_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let (gate, request) = gate_with_people(folder.path());
    let (witness, aside) = (folder.path().join("taximeter.db.witness"), folder.path().join("aside"));
    // It is charged, and then the ledger cannot say so.
    std::fs::rename(&witness, &aside).unwrap();
    assert!(gate.ask(&request).unwrap_err().is_unknown_outcome());
    let [abandoned] = &gate.catalog.interrupted().unwrap()[..] else { panic!("nobody is at it any more") };
    assert_eq!(abandoned.asker, "");
    assert!(gate.settle().is_err(), "the ledger has stopped, and cannot tell");
    drop(gate);
    std::fs::rename(&aside, &witness).unwrap();
    let failures = open(folder.path()).catalog.failures(10).unwrap();
    assert_eq!(failures.len(), 1, "{failures:?}");
    assert!(failures[0].why.contains("unknown at first"), "{failures:?}");
}

#[test]
fn a_question_that_another_process_works_on_waits_for_its_answer() {
    let folder = tempfile::tempdir().unwrap();
    let (one, request) = gate_with_people(folder.path());
    let other = Gate::open(&folder.path().join("gate"), one.ledger.clone()).unwrap();
    let prepared = Prepared::new(&one.catalog, &request).unwrap();
    assert!(one.catalog.begin(&prepared.stored(None), &one.asking).unwrap());
    let asked = std::thread::scope(|scope| {
        let asking = scope.spawn(|| other.ask(&request));
        let Ok(Outcome::Charged(fresh)) = one.ledger.charge(prepared.charge.clone()) else {
            panic!("it is charged here")
        };
        let engine = one.engine(&prepared, Duration::from_secs(60)).unwrap();
        let outcome = one.answer(fresh, &prepared, engine, Duration::from_secs(60));
        let GateOutcome::Answered(answer) = outcome else { panic!("{outcome:?}") };
        assert_eq!(answer.origin, Origin::Fresh);
        asking.join().unwrap().unwrap()
    });
    assert!(matches!(asked, GateOutcome::Answered(Answer { origin: Origin::Replayed, .. })), "{asked:?}");
    assert!(one.catalog.failures(10).unwrap().is_empty());
    // While it is at it for longer than the question may take, nothing is charged by another.
    let again = Request { key: Key::parse("key", "again").unwrap(), ..request };
    let prepared = Prepared::new(&one.catalog, &again).unwrap();
    assert!(one.catalog.begin(&prepared.stored(None), &one.asking).unwrap());
    let error = other.begin(&Prepared::new(&other.catalog, &again).unwrap(), Instant::now()).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::UnderWay(key) if key.as_str() == "again"), "{error}");
}

/// Once nothing was logged where answers cannot be stored, and the next try waited for this process itself.
#[test]
fn an_answer_that_cannot_be_stored_is_in_the_owners_log_once_and_asking_again_does_not_wait() {
    let folder = tempfile::tempdir().unwrap();
    let (gate, request) = gate_with_people(folder.path());
    let records = rusqlite::Connection::open(folder.path().join("gate").join("gate.db")).unwrap();
    let full = "CREATE TRIGGER full BEFORE INSERT ON answers BEGIN SELECT RAISE(ABORT, 'no room'); END";
    records.execute_batch(full).unwrap();
    for _ in 0..2 {
        assert!(matches!(gate.ask(&request).unwrap(), GateOutcome::NoAnswer(_)));
        let failures = gate.catalog.failures(10).unwrap();
        assert_eq!(failures.len(), 1, "{failures:?}");
        assert!(failures[0].why.contains("no room"), "{failures:?}");
    }
    // A note that this process could not take away keeps nobody waiting.
    records
        .execute_batch("CREATE TRIGGER stuck BEFORE DELETE ON under_way BEGIN SELECT RAISE(ABORT, 'stuck'); END")
        .unwrap();
    let again = Request { key: Key::parse("key", "again").unwrap(), ..request };
    for _ in 0..2 {
        assert!(matches!(gate.ask(&again).unwrap(), GateOutcome::NoAnswer(_)));
    }
}

#[test]
fn a_panic_after_the_charge_is_a_question_without_an_answer() {
    let folder = tempfile::tempdir().unwrap();
    let (gate, request) = gate_with_people(folder.path());
    let prepared = Prepared::new(&gate.catalog, &request).unwrap();
    assert!(gate.catalog.begin(&prepared.stored(None), &gate.asking).unwrap());
    let Ok(Outcome::Charged(fresh)) = gate.ledger.charge(prepared.charge.clone()) else { panic!("0.1 fits 1") };
    let outcome = gate.answer(fresh, &prepared, Box::new(Defective), Duration::from_secs(60));
    assert!(matches!(outcome, GateOutcome::NoAnswer(_)), "{outcome:?}");
    assert!(matches!(gate.ask(&request).unwrap(), GateOutcome::NoAnswer(_)), "and it is not made later");
    assert_eq!(gate.catalog.failures(1).unwrap()[0].why, "the program panicked");
}
