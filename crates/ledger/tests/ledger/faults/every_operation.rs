//! A fault at every single operation of a short life, one life after the other.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use super::disk::{Life, Run};
use super::{EIO, ENOSPC, check, check_silence};

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
    // Enough operations that at least one charge was acknowledged meanwhile; and any number of them.
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
