//! A cluster behind Flight SQL, seen from outside: Sail with two workers, which is killed while it is asked.

use std::time::Duration;

use taximeter_accounting::FilterRule;
use taximeter_gate::{Data, DriverChoice, ErrorKind, GateOutcome, Registration, RemoteService, RemoteTable};
use taximeter_testing::{PATIENCE, PrivateSail, wait_until};

use crate::common::{Setup, account, answered, declaration, group_counts, request, rules};
use crate::duckdb::{parquet, value};

const SCHEMA: &str = "
    [columns.age]
    bounds = [0, 120]
    [columns.job]
    categories = [\"a\\\\b\", \"it's\", \"é\"]
";

/// People with ages from 0 to 99, a job each, and one who is older than the bounds.
const PEOPLE: &str = "
    SELECT (range % 100)::INTEGER AS age, ['a\\b', 'it''s', 'é'][1 + range % 3] AS job FROM range(300000)
    UNION ALL SELECT 5000, 'é'";

struct World {
    setup: Setup,
    sail: PrivateSail,
    table: RemoteTable,
}

impl World {
    fn new() -> World {
        let setup = Setup::new();
        let sail = PrivateSail::start(2, setup.path()).unwrap_or_else(|message| panic!("{message}"));
        let path = parquet(&setup, "people.parquet", PEOPLE);
        let table = format!("parquet.{}", path.display());
        let table = RemoteTable { service: RemoteService::Flightsql, uri: sail.uri(), table, credentials: None };
        World { setup, sail, table }
    }

    fn registration(&self, timeout: Duration) -> Registration {
        let driver = DriverChoice { driver: "flightsql".to_string(), entry: None };
        let data = Data::Remote { table: self.table.clone(), driver };
        let rules = Some(rules(FilterRule::Basic, "100000000,1e-6"));
        Registration { rules, timeout, ..Registration::new(account("people"), declaration(SCHEMA), data) }
    }
}

#[test]
fn a_table_of_a_cluster_is_asked_where_it_is() {
    let world = World::new();
    let registered = world.setup.register(world.registration(Registration::TIMEOUT)).unwrap();
    assert!(registered.dataset.data().contains("grpc://127.0.0.1"), "{}", registered.dataset.data());
    let ask = |question: &str| value(&world.setup, "people", question);
    assert_eq!(ask("SELECT COUNT(*) FROM people"), 300_001.0);
    assert_eq!(ask("SELECT SUM(age) FROM people"), 3000.0 * 4950.0 + 120.0);
    assert_eq!(ask("SELECT COUNT(*) FROM people WHERE job LIKE 'a_b' AND age < 50"), 50_000.0);
    assert_eq!(ask("SELECT COUNT(*) FROM people WHERE job = 'it''s' OR UPPER(job) = 'é'"), 200_001.0);
    assert_eq!(ask("SELECT SUM(age / 10 % 3) FROM people WHERE age < 100"), 300_000.0 / 100.0 * 90.0);
    let grouped = answered(world.setup.ask(&request("people", "SELECT job, COUNT(*) FROM people GROUP BY job", "50")));
    let counts: Vec<f64> = (0..3).map(|row| grouped.value(row, 1).unwrap().round()).collect();
    assert_eq!(counts, [100_000.0, 100_000.0, 100_001.0]);
    let named = "SELECT age, COUNT(*) FROM people WHERE age BETWEEN 98 AND 101 GROUP BY age";
    let named: Vec<f64> = group_counts(&world.setup, "people", named).into_iter().map(|(_, count)| count).collect();
    assert_eq!(named, [3000.0, 3000.0, 0.0, 0.0]);
}

#[test]
fn a_public_table_is_joined_on_a_cluster() {
    let world = World::new();
    world.setup.register(world.registration(Registration::TIMEOUT)).unwrap();
    let path = world.setup.path().join("jobs.csv");
    std::fs::write(&path, "job,sector,pay\nit's,one,10\né,two,20\nother,two,\n").unwrap();
    world.setup.add_public("jobs", &path);
    let ask = |question: &str| value(&world.setup, "people", question);
    assert_eq!(
        ask("SELECT SUM(j.pay) FROM people p JOIN jobs j ON p.job = j.job"),
        10.0 * 100_000.0 + 20.0 * 100_001.0
    );
    assert_eq!(
        ask("SELECT COUNT(*) FROM people p LEFT JOIN jobs j ON p.job = j.job WHERE j.sector IS NULL"),
        100_000.0
    );
}

/// The address is written down and shown, so it must not have a password; credentials that cannot be used are not repeated.
#[test]
fn secrets_are_neither_written_down_nor_shown() {
    let mut world = World::new();
    world.table.uri = world.table.uri.replace("grpc://", "grpc://reader:s3cret@");
    let error = world.setup.register(world.registration(Registration::TIMEOUT)).unwrap_err().to_string();
    assert!(error.contains("must not contain a user or a password") && !error.contains("s3cret"), "{error}");
    let file = world.setup.path().join("credentials.toml");
    std::fs::write(&file, "password = \"s3cret\"").unwrap();
    std::fs::set_permissions(&file, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
    world.table.uri = world.sail.uri();
    world.table.credentials = Some(file);
    // This server takes any password.
    match world.setup.register(world.registration(Registration::TIMEOUT)) {
        Ok(registered) => assert!(!format!("{registered:?}").contains("s3cret")),
        Err(error) => assert!(!error.to_string().contains("s3cret"), "{error}"),
    }
    let written = std::fs::read(world.setup.records()).unwrap();
    assert!(!written.windows(6).any(|part| part == b"s3cret"));
}

/// Whatever moment the cluster dies at: a right answer, or *charged, no answer*, or nothing charged; and the next question is answered.
#[test]
fn a_cluster_that_dies_while_it_is_asked_gives_no_wrong_answer_and_is_asked_again() {
    let mut world = World::new();
    world.setup.register(world.registration(Duration::from_secs(60))).unwrap();
    let exact = 3000.0 * 4950.0 + 120.0;
    assert_eq!(value(&world.setup, "people", "SELECT SUM(age) FROM people"), exact);
    let (mut answers, mut unanswered, mut free) = (0, 0, 0);
    for round in 0..16 {
        let before = world.setup.charges("people");
        let World { setup, sail, .. } = &mut world;
        let outcome = std::thread::scope(|scope| {
            let asking = scope.spawn(|| setup.gate.ask(&request("people", "SELECT SUM(age) FROM people", "10000")));
            // From right away to after the answer.
            std::thread::sleep(Duration::from_millis(12 * round));
            sail.kill();
            asking.join().unwrap()
        });
        let charged = world.setup.charges("people") - before;
        match outcome {
            Ok(GateOutcome::Answered(answer)) => {
                assert_eq!((answer.value(0, 0).unwrap().round(), charged), (exact, 1));
                answers += 1;
            }
            Ok(GateOutcome::NoAnswer(_)) => {
                assert_eq!(charged, 1);
                unanswered += 1;
            }
            Ok(GateOutcome::Refused(refusal)) => panic!("{refusal:?}"),
            Err(error) => {
                assert!(matches!(error.kind(), ErrorKind::DataAway { .. }), "{error}");
                assert_eq!(charged, 0);
                free += 1;
            }
        }
        world.sail.start_again().unwrap();
        assert_eq!(value(&world.setup, "people", "SELECT SUM(age) FROM people"), exact, "after round {round}");
    }
    println!("{answers} answered, {unanswered} charged without an answer, {free} not charged");
    assert_eq!(answers + unanswered + free, 16);
}

/// A server that hangs: the question ends in its time, with one outcome, and the next one is answered when the server goes on.
#[test]
fn a_cluster_that_hangs_is_given_up_in_time() {
    let world = World::new();
    world.setup.register(world.registration(Duration::from_secs(5))).unwrap();
    assert_eq!(value(&world.setup, "people", "SELECT COUNT(*) FROM people"), 300_001.0);
    world.sail.freeze(true).unwrap();
    let before = world.setup.charges("people");
    match world.setup.gate.ask(&request("people", "SELECT COUNT(*) FROM people", "50")) {
        Ok(GateOutcome::NoAnswer(_)) => assert_eq!(world.setup.charges("people"), before + 1),
        Err(error) => {
            assert!(matches!(error.kind(), ErrorKind::DataAway { .. }), "{error}");
            assert_eq!(world.setup.charges("people"), before);
        }
        other => panic!("{other:?}"),
    }
    world.sail.freeze(false).unwrap();
    assert_eq!(value(&world.setup, "people", "SELECT COUNT(*) FROM people"), 300_001.0);
}

/// What can be known before the charge is said before it.
#[test]
fn a_table_of_a_cluster_that_vanished_was_cut_or_has_other_types_is_refused_before_the_charge() {
    let world = World::new();
    world.setup.register(world.registration(Registration::TIMEOUT)).unwrap();
    let path = world.setup.path().join("people.parquet");
    let whole = std::fs::read(&path).unwrap();
    let changes: [(&str, &dyn Fn()); 4] = [
        ("gone", &|| std::fs::remove_file(&path).unwrap()),
        ("half of it", &|| std::fs::write(&path, &whole[..whole.len() / 2]).unwrap()),
        ("text", &|| drop(parquet(&world.setup, "people.parquet", "SELECT 'x' AS age, 'é' AS job FROM range(10)"))),
        ("another column", &|| drop(parquet(&world.setup, "people.parquet", "SELECT 1 AS years, 'é' AS job"))),
    ];
    for (what, change) in changes {
        change();
        let error = world.setup.gate.ask(&request("people", "SELECT SUM(age) FROM people", "50")).unwrap_err();
        let ErrorKind::DataAway { why, .. } = error.kind() else { panic!("{what}: {error}") };
        assert!(!why.is_empty() && !error.to_string().contains(why), "{what}: {error}");
        assert_eq!(world.setup.charges("people"), 0, "{what}");
    }
    std::fs::write(&path, &whole).unwrap();
    assert_eq!(value(&world.setup, "people", "SELECT COUNT(*) FROM people"), 300_001.0);
}

/// What cannot be known before the charge has one outcome after it.
#[test]
fn broken_pages_on_a_cluster_are_charged_without_an_answer() {
    let world = World::new();
    world.setup.register(world.registration(Registration::TIMEOUT)).unwrap();
    let path = world.setup.path().join("people.parquet");
    let mut bytes = std::fs::read(&path).unwrap();
    bytes[4..2000].fill(0xff);
    std::fs::write(&path, &bytes).unwrap();
    let asked = request("people", "SELECT SUM(age) FROM people", "50");
    for _ in 0..2 {
        assert!(matches!(world.setup.ask(&asked), GateOutcome::NoAnswer(_)));
        assert_eq!(world.setup.charges("people"), 1);
    }
}

/// The cluster dies after the charge, while it computes: the question is charged once, has no answer, and never gets one. The statements
/// of this question take seconds, and it is the journal that says when they begin.
#[test]
fn a_cluster_that_is_killed_after_the_charge_leaves_charged_no_answer_for_good() {
    let mut world = World::new();
    world.setup.register(world.registration(PATIENCE)).unwrap();
    let medians = "SELECT MEDIAN(age), MEDIAN(age * 2), MEDIAN(age * 3), MEDIAN(age * 5) FROM people";
    let asked = request("people", &[medians; 4].join(" UNION ALL "), "100");
    let World { setup, sail, .. } = &mut world;
    let outcome = std::thread::scope(|scope| {
        let asking = scope.spawn(|| setup.gate.ask(&asked));
        wait_until("the question is charged", || setup.charges("people") == 1 || asking.is_finished());
        sail.kill();
        asking.join().unwrap()
    });
    let Ok(GateOutcome::NoAnswer(receipt)) = outcome else { panic!("{outcome:?}") };
    assert_eq!(setup.charges("people"), 1);
    assert_eq!(setup.gate.catalog().failures(5).unwrap().len(), 1);
    // While the cluster is down, nothing is charged.
    let error = setup.gate.ask(&request("people", "SELECT COUNT(*) FROM people", "50")).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::DataAway { .. }), "{error}");
    sail.start_again().unwrap();
    for _ in 0..3 {
        match setup.ask(&asked) {
            GateOutcome::NoAnswer(again) => assert_eq!(again.sequence(), receipt.sequence()),
            other => panic!("another answer for the same key: {other:?}"),
        }
    }
    assert_eq!(setup.charges("people"), 1);
    assert_eq!(value(setup, "people", "SELECT COUNT(*) FROM people"), 300_001.0);
    assert_eq!(setup.charges("people"), 2);
}
