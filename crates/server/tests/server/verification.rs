//! Verification by the server itself.

use std::time::Duration;

use rusqlite::Connection;
use taximeter_ledger::{Location, clear_alarm};
use taximeter_service::Settings;
use taximeter_testing::wait_until;

use crate::connections::{ListeningServer, patient};

fn hasty() -> Settings {
    Settings { verify_every: Some(Duration::from_millis(50)), ..patient() }
}

/// A server once found an edit, went on charging and reported that it was ready.
#[test]
fn a_server_verifies_by_itself_and_its_alarm_names_no_account() {
    let server = ListeningServer::start(hasty());
    assert!(server.open_account("census").starts_with("HTTP/1.1 201"));
    server.wait_for_log("\"event\":\"verified\",\"state\":\"whole\"");
    assert!(server.get("/readyz").starts_with("HTTP/1.1 200"));
    assert!(server.get("/metrics").contains("taximeter_ledger_alarm 0"));
    let path = server.folder.path().join("taximeter.db");
    let tables = Connection::open(&path).unwrap();
    let state: Vec<u8> = tables.query_row("SELECT state FROM accounts", [], |row| row.get(0)).unwrap();
    tables.execute("UPDATE accounts SET state = x'00'", []).unwrap();
    wait_until("it is not ready", || server.get("/readyz").starts_with("HTTP/1.1 503"));
    // An owner learns more from a charge; a readiness check does not.
    let answer = server.get("/readyz");
    assert!(answer.contains("\"code\":\"alarm\"") && answer.contains("raised the alarm"), "{answer}");
    assert!(server.get("/metrics").contains("taximeter_ledger_alarm 1"));
    let refused = server.open_account("wages");
    assert!(refused.starts_with("HTTP/1.1 503") && refused.contains("account census: its stored state"), "{refused}");
    tables.execute("UPDATE accounts SET state = ?1", [state]).unwrap();
    drop(tables);
    clear_alarm(&Location::File(path)).unwrap().expect("an alarm");
    wait_until("it is ready", || server.get("/readyz").starts_with("HTTP/1.1 200"));
    assert!(server.open_account("wages").starts_with("HTTP/1.1 201"));
    let log = server.end();
    for event in ["\"verified\",\"state\":\"broken\"", "\"alarm-raised\"", "\"alarm-cleared\""] {
        assert!(log.contains(event), "{event} is not in {log}");
    }
    for word in ["store-lost", "census", "wages"] {
        assert!(!log.contains(word), "{word} is in {log}");
    }
}

/// Flips a bit in the place of the witness that has the newer record.
fn damage_witness(server: &ListeningServer) {
    let path = server.folder.path().join("taximeter.db.witness");
    let mut bytes = std::fs::read(&path).unwrap();
    let sequence = |at: usize| -> u64 {
        let line = String::from_utf8_lossy(&bytes[at..at + 200]).into_owned();
        line.split(' ').nth(2).and_then(|number| number.parse().ok()).unwrap()
    };
    let newest = if sequence(0) > sequence(4096) { 0 } else { 4096 };
    bytes[newest + 30] ^= 1;
    std::fs::write(&path, bytes).unwrap();
}

#[test]
fn a_damaged_copy_of_the_witness_is_logged_and_repaired_by_the_next_write() {
    let server = ListeningServer::start(hasty());
    assert!(server.open_account("census").starts_with("HTTP/1.1 201"));
    damage_witness(&server);
    server.wait_for_log("\"event\":\"witness-damaged\"");
    let verified = || server.get("/v1/verify");
    wait_until("the warning is in the document", || verified().contains("one of the two slots of the witness"));
    assert!(server.open_account("wages").starts_with("HTTP/1.1 201"));
    wait_until("the witness is whole", || {
        let document = verified();
        document.contains("\"state\":\"whole\"") && !document.contains("\"warning\"")
    });
    server.end();
}
