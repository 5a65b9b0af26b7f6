//! A ledger where nothing may be written: on a read-only file system, or for a user who may only read it.

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use taximeter_accounting::{Amount, Cost, OdometerRule, OdometerSpec};
use taximeter_ledger::{
    AccountName, AccountSpec, Charge, Key, Ledger, LedgerReader, Location, Options, Outcome, Privacy, verify,
};

/// Names the ledger to the process that may only read.
const LEDGER: &str = "TAXIMETER_TEST_READ_ONLY";

fn make(path: &Path) -> Ledger {
    let ledger = Ledger::open(&Location::File(path.into()), Options { create: true, ..Options::default() }).unwrap();
    let name = AccountName::parse("census").unwrap();
    let odometer = OdometerSpec::new(OdometerRule::RenyiMixture, Amount::parse_exact("1e-6").unwrap());
    let spec = AccountSpec { name: name.clone(), privacy: Privacy::default(), filter: None, odometer };
    ledger.open_account(spec).unwrap();
    let cost = Cost::parse_epsilon("0.1").unwrap().cost;
    let charge = Charge::new(Key::parse("key", "k").unwrap(), vec![name], vec![cost]).unwrap();
    assert!(matches!(ledger.charge(charge), Ok(Outcome::Charged(_))));
    ledger
}

/// What the process does that may only read.
fn read(path: &Path) {
    let location = Location::File(path.into());
    assert!(fs::write(path.with_extension("new"), "").is_err(), "it may write");
    assert_eq!(verify(&location, None, &mut |_, _| {}).unwrap().records, 3);
    let mut reader = LedgerReader::open(&location, None).unwrap();
    assert_eq!(reader.history(&AccountName::parse("census").unwrap(), None, 9).unwrap().records.len(), 2);
    let mut export = Vec::new();
    reader.export(&mut export, &mut |_, _| {}).unwrap();
    assert_eq!(export.split(|byte| *byte == b'\n').count(), 5);
}

/// Runs this test again, in a process that may read the folder and write nothing.
fn read_elsewhere(folder: &Path, path: &Path) {
    let program = folder.join("program");
    fs::copy(std::env::current_exe().unwrap(), &program).unwrap();
    for file in fs::read_dir(folder).unwrap() {
        fs::set_permissions(file.unwrap().path(), Permissions::from_mode(0o555)).unwrap();
    }
    fs::set_permissions(folder, Permissions::from_mode(0o555)).unwrap();
    let mut command = Command::new(&program);
    command
        .args(["--exact", "read_only::what_may_only_be_read_is_read", "--nocapture"])
        .env(LEDGER, path)
        .current_dir("/");
    // Permissions mean nothing to root, so the test runs as another user.
    if fs::metadata(folder).unwrap().uid() == 0 {
        command.uid(65534).gid(65534);
    }
    let output = command.output().unwrap();
    fs::set_permissions(folder, Permissions::from_mode(0o755)).unwrap();
    assert!(
        output.status.success(),
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
}

#[test]
fn what_may_only_be_read_is_read() {
    if let Some(path) = std::env::var_os(LEDGER) {
        return read(Path::new(&path));
    }
    for is_in_use in [false, true] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("ledger ?#%41.db");
        let ledger = make(&path);
        // The writer's own handles are open already.
        let _writer = is_in_use.then_some(ledger);
        read_elsewhere(folder.path(), &path);
    }
}
