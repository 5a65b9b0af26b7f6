//! The disk fails: at every single operation of a short life of a ledger an error, a full disk, or a power cut. What was
//! acknowledged is there afterwards, the ledger opens without help, and nothing is acknowledged after a sync that failed.
//!
//! The operations of the program `load` are counted and failed by a library that is put before the C library; see disk.c.

#![cfg(target_os = "linux")]

mod disk;
#[path = "../crash/journal.rs"]
mod journal;
#[path = "../crash/load.rs"]
mod load;

use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use disk::{Disk, Life, Run};
use journal::Acknowledged;

const EIO: u32 = 5;
const ENOSPC: u32 = 28;

/// Tries a fault at every operation of a life, until it comes after the end of it. Returns at how many.
fn at_every_operation(what: &str, attempt: impl Fn(u64) -> Result<Reached, String> + Sync) -> u64 {
    let (next, end) = (AtomicU64::new(1), AtomicU64::new(u64::MAX));
    let failures = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                while let at = next.fetch_add(1, Ordering::Relaxed)
                    && at < end.load(Ordering::Relaxed)
                {
                    match attempt(at) {
                        Ok(Reached::Fault) => {}
                        Ok(Reached::End) => drop(end.fetch_min(at, Ordering::Relaxed)),
                        Err(why) => failures.lock().unwrap().push((at, why)),
                    }
                }
            });
        }
    });
    let mut failures = failures.into_inner().unwrap();
    failures.sort();
    let end = end.into_inner();
    println!("{what}: {} operations, {} failures", end - 1, failures.len());
    let first: Vec<String> = failures.iter().take(10).map(|(at, why)| format!("operation {at}: {why}")).collect();
    assert!(failures.is_empty(), "{what}: {} of {} operations:\n{}", failures.len(), end - 1, first.join("\n"));
    assert!(end > 50, "{what}: only {end} operations");
    end - 1
}

/// Whether the fault came.
enum Reached {
    Fault,
    End,
}

fn reached(run: &Run, verb: &str) -> Reached {
    if run.log.count(verb) > 0 { Reached::Fault } else { Reached::End }
}

/// What must hold after any fault: all that was acknowledged is there, once, and the ledger opens and verifies.
fn check(disk: &Disk, runs: &[&Run]) -> Result<(), String> {
    let mut acknowledged = Acknowledged::default();
    for run in runs {
        acknowledged.add(&run.log)?;
    }
    if acknowledged.len() > 0 {
        // As the crash left it, before anybody wrote to it.
        acknowledged.check(&disk.location(), &disk.witness()).map_err(|why| format!("for reading: {why}"))?;
    }
    acknowledged.check_and_verify(&disk.location(), &disk.witness())
}

/// After a sync that failed, the ledger must not acknowledge anything until it is opened again. SQLite passes over a folder whose sync
/// fails; that this loses nothing is shown by a power cut after it.
fn check_silence(run: &Run) -> Result<(), String> {
    let mut failed = None;
    for line in &run.log.0 {
        match line.verb.as_str() {
            "fault" if line.rest.starts_with("sync ") && line.rest != "sync ." => failed = Some(line),
            "opened" => failed = None,
            _ => {}
        }
        if let Some(sync) = failed.filter(|_| line.is_acknowledged()) {
            return Err(format!("{} {} came after a failed {}", line.verb, line.key, sync.rest));
        }
    }
    Ok(())
}

/// Runs with an error at an operation: once or from then on.
fn fails(life: &Life, error: u32, settings: &[(&str, &str)]) {
    at_every_operation(&format!("{} with error {error} {settings:?}", life.name()), |at| {
        let disk = life.disk();
        let (at, error) = (at.to_string(), error.to_string());
        let run = disk.run(&[&[("DISK_FAIL_AT", at.as_str()), ("DISK_ERROR", &error)], settings].concat());
        check_silence(&run)?;
        check(&disk, &[&run])?;
        Ok(reached(&run, "fault"))
    });
}

#[test]
fn every_write_and_sync_of_the_ledger_passes_through_the_failing_disk() {
    let disk = Life::whole().disk();
    let run = disk.run(&[("DISK_TRACE", "1")]);
    assert!(run.succeeded, "{:?}", run.log);
    for file in ["ledger.db", "ledger.db.witness", "ledger.db.lock"] {
        assert!(run.log.0.iter().any(|line| line.verb == "same" && line.key == file), "{file}: {:?}", run.log);
    }
    assert_eq!(run.log.count("differs"), 0, "{:?}", run.log);
    for operation in [
        "write ledger.db",
        "sync ledger.db",
        "write ledger.db-wal",
        "sync ledger.db-wal",
        "sync ledger.db.witness.new-",
        "link ledger.db.witness.new-",
        "write ledger.db.witness",
        "sync ledger.db.witness",
        "sync .",
    ] {
        // The name of a new witness ends with the number of the process.
        let is_it = |rest: &str| if operation.ends_with('-') { rest.starts_with(operation) } else { rest == operation };
        assert!(run.log.0.iter().any(|line| line.verb == "operation" && is_it(&line.rest)), "no {operation}");
    }
    // Each charge is committed and witnessed before it is acknowledged.
    let syncs =
        run.log.0.iter().filter(|line| line.verb == "operation" && line.rest == "sync ledger.db.witness").count();
    assert!(syncs >= run.log.count("charged"), "{:?}", run.log);
    check(&disk, &[&run]).unwrap();
}

#[test]
fn an_error_at_any_operation_loses_nothing() {
    fails(&Life::whole(), EIO, &[]);
}

#[test]
fn errors_from_any_operation_on_lose_nothing() {
    fails(&Life::whole(), EIO, &[("DISK_FOREVER", "1")]);
}

#[test]
fn a_full_disk_at_any_operation_loses_nothing() {
    fails(&Life::whole(), ENOSPC, &[]);
    fails(&Life::whole(), ENOSPC, &[("DISK_FOREVER", "1")]);
}

#[test]
fn a_short_write_at_any_operation_loses_nothing() {
    fails(&Life::whole(), ENOSPC, &[("DISK_SHORT", "1")]);
    fails(&Life::whole(), ENOSPC, &[("DISK_SHORT", "1"), ("DISK_FOREVER", "1")]);
}

#[test]
fn an_error_in_a_checkpoint_loses_nothing() {
    let life = Life::with_checkpoint();
    let log = life.disk().run(&[("DISK_TRACE", "1")]).log;
    let place = |operation: &str| log.0.iter().position(|line| line.verb == "operation" && line.rest == operation);
    let checkpoint = place("sync ledger.db").expect("a sync of the database");
    assert!(log.0[checkpoint..].iter().any(|line| line.verb == "charged"), "no checkpoint between charges: {log:?}");
    fails(&life, EIO, &[]);
}

fn cut(life: &Life, seed: u64) {
    at_every_operation(&format!("{} and power cut with seed {seed}", life.name()), |at| {
        let disk = life.disk();
        // Another choice of sectors at every operation.
        let seed = if seed == 0 { 0 } else { seed + 4 * at };
        let run = disk.run(&[("DISK_CUT_AT", &at.to_string()), ("DISK_SEED", &seed.to_string())]);
        check(&disk, &[&run])?;
        Ok(reached(&run, "cut"))
    });
}

#[test]
fn a_power_cut_before_any_operation_loses_nothing() {
    for seed in [0, 1, 3] {
        cut(&Life::whole(), seed);
    }
}

#[test]
fn a_power_cut_around_a_checkpoint_loses_nothing() {
    let life = Life::with_checkpoint();
    for seed in [0, 1] {
        cut(&life, seed);
    }
}

/// A process that is killed leaves writes that are not synced. The next one sees them, and must not acknowledge them before they
/// are on disk: a repeated key is answered from them.
#[test]
fn a_power_cut_after_the_process_was_killed_loses_nothing() {
    at_every_operation("killed, opened again, power cut", |at| {
        let disk = Life::whole().disk();
        let state = disk.state();
        let killed = disk.run(&[("DISK_KILL_AT", &at.to_string()), ("DISK_STATE", &state)]);
        let next = 1 + at % 3;
        let cut = disk.run(&[("DISK_CUT_AT", &next.to_string()), ("DISK_STATE", &state)]);
        check(&disk, &[&killed, &cut])?;
        Ok(reached(&killed, "end"))
    });
}

/// What a failed sync was about never gets to the disk. The ledger must not build on it, nor must one that is opened again after it.
#[test]
fn a_power_cut_after_an_error_loses_nothing() {
    let cuts = AtomicU64::new(0);
    // So many operations that at least one charge was acknowledged meanwhile; and any number of them.
    for later in [|_| 16, |at| 1 + at * 7 % 60] {
        at_every_operation("an error and then a power cut", |at| {
            let disk = Life::whole().disk();
            let (fail_at, cut_at, error) = (at.to_string(), (at + later(at)).to_string(), EIO.to_string());
            let run = disk.run(&[("DISK_FAIL_AT", &fail_at), ("DISK_ERROR", &error), ("DISK_CUT_AT", &cut_at)]);
            cuts.fetch_add(run.log.count("cut") as u64, Ordering::Relaxed);
            check(&disk, &[&run])?;
            Ok(reached(&run, "fault"))
        });
    }
    assert!(cuts.into_inner() > 100, "the power was hardly ever cut");
}

/// These tests can fail: on a disk that only says that it synced, a power cut loses what was acknowledged, and that is found out.
#[test]
fn a_disk_that_lies_about_its_syncs_is_found_out() {
    let disk = Life::whole().disk();
    let operations = disk.run(&[("DISK_TRACE", "1")]).log.count("operation");
    let found_out = (1..=operations).step_by(10).filter(|at| {
        let disk = Life::whole().disk();
        let run = disk.run(&[("DISK_CUT_AT", &at.to_string()), ("DISK_LIE", "1")]);
        let acknowledged = run.log.0.iter().any(|line| line.is_acknowledged());
        let result = check(&disk, &[&run]);
        assert_eq!(result.is_err(), acknowledged, "operation {at}: {result:?}");
        acknowledged
    });
    assert!(found_out.count() >= 5);
}

/// A disk that is full, and one that has room again.
fn full(what: &str, fill: impl Fn(&Disk, u64) -> Run) {
    let mut errors = 0;
    for size in [1, 4, 9, 16, 20, 33, 50, 70, 100, 150] {
        let disk = Life::whole().disk();
        let run = fill(&disk, size);
        for line in run.log.errors() {
            // A person must learn that it is the disk.
            let clear = ["disk is full", "disk full", "No space left", "File too large"];
            assert!(clear.iter().any(|part| line.rest.contains(part)), "{what}, {size}: not clear: {}", line.rest);
            errors += 1;
        }
        assert_eq!(run.succeeded, run.log.errors().next().is_none(), "{what}, {size}");
        check(&disk, &[&run]).unwrap_or_else(|why| panic!("{what}, {size}: {why}"));
        // There is room again, and the same is asked for.
        let again = disk.start(disk.request().command());
        assert!(again.succeeded, "{what}, {size}: {:?}", again.log);
        check(&disk, &[&run, &again]).unwrap_or_else(|why| panic!("{what}, {size}: {why}"));
    }
    assert!(errors >= 10, "{what}: only {errors} errors");
}

#[test]
fn files_that_may_not_grow_are_a_clear_error_and_lose_nothing() {
    full("a limit of so many KiB", |disk, kibibytes| {
        let mut command = Command::new("sh");
        // Without the signal, a write beyond the limit is an error. The limit is in blocks of 512 bytes.
        command.args(["-c", "trap '' XFSZ; ulimit -f \"$1\"; shift; exec \"$@\"", "sh", &(2 * kibibytes).to_string()]);
        command.arg(load::program()).args(disk.request().arguments());
        disk.start(command)
    });
}

#[test]
fn a_full_disk_is_a_clear_error_and_loses_nothing() {
    full("a disk that is full after so many operations", |disk, operations| {
        let (at, error) = ((2 * operations).to_string(), ENOSPC.to_string());
        disk.run(&[("DISK_FAIL_AT", &at), ("DISK_ERROR", &error), ("DISK_FOREVER", "1")])
    });
}
