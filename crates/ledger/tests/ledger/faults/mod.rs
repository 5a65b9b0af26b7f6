//! The disk fails: at every single operation of a short life of a ledger an error, a full disk, or a power cut. What was
//! acknowledged is there afterwards, the ledger opens without help, and nothing is acknowledged after a sync that failed.
//!
//! The operations of the program `load` are counted and failed by a library that is put before the C library; see disk.c.

mod disk;
mod every_operation;

use std::process::Command;

use crate::crash::journal::Acknowledged;
use disk::{Disk, Life, Run};

const EIO: u32 = 5;
const ENOSPC: u32 = 28;

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
    full("a limit in KiB", |disk, kibibytes| {
        let mut command = Command::new("sh");
        // Without the signal, a write beyond the limit is an error. The limit is in blocks of 512 bytes.
        command.args(["-c", "trap '' XFSZ; ulimit -f \"$1\"; shift; exec \"$@\"", "sh", &(2 * kibibytes).to_string()]);
        command.arg(crate::crash::load::program()).args(disk.request().arguments());
        disk.start(command)
    });
}

#[test]
fn a_full_disk_is_a_clear_error_and_loses_nothing() {
    full("a disk that is full after a number of operations", |disk, operations| {
        let (at, error) = ((2 * operations).to_string(), ENOSPC.to_string());
        disk.run(&[("DISK_FAIL_AT", &at), ("DISK_ERROR", &error), ("DISK_FOREVER", "1")])
    });
}
