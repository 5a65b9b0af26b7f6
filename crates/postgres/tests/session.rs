//! On private servers: which connections are encrypted, which certificates are accepted, and that a silent server blocks no caller.
#![cfg(feature = "server-tests")]

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::sync::{Arc, LazyLock, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use taximeter_postgres::{Connection, PostgresAddress, SessionError, SessionSetup};
use taximeter_testing::{Authority, PATIENCE, PrivatePostgres, query, wait_until};

const SETUP: SessionSetup = SessionSetup { settings: &[], is_durable: true };

static SERVER: LazyLock<PrivatePostgres> = LazyLock::new(|| PrivatePostgres::start_with_tls().unwrap());

fn connection(url: &str) -> Connection {
    Connection::new(PostgresAddress::parse(url).unwrap(), SETUP).unwrap()
}

/// Whether a connection by this URL is encrypted.
fn is_encrypted(url: &str) -> Result<bool, SessionError> {
    connection(url).once(PATIENCE, async |client| {
        let statement = "SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()";
        Ok(client.query_typed_one(statement, &[]).await?.try_get(0)?)
    })
}

/// Options that check the server by the authority in a file.
fn verify(root: &Path) -> String {
    format!("sslmode=verify-full&sslrootcert={}", root.display())
}

/// The same server by another name.
fn named(url: &str, host: &str) -> String {
    url.replace("@127.0.0.1:", &format!("@{host}:"))
}

fn check_fails(url: &str, why: &str) {
    let error = is_encrypted(url).unwrap_err();
    let secret = url.split(':').nth(2).unwrap().split('@').next().unwrap();
    let text = error.to_string();
    assert!(matches!(error, SessionError::Lost(_)) && text.contains(why) && !text.contains(secret), "{url}: {text}");
}

#[test]
fn the_mode_decides_whether_a_connection_is_encrypted() {
    let url = SERVER.url("postgres");
    for (mode, encrypted) in [("disable", false), ("prefer", true), ("require", true)] {
        assert_eq!(is_encrypted(&format!("{url}?sslmode={mode}")).unwrap(), encrypted, "{mode}");
    }
    assert!(!is_encrypted(&url).unwrap(), "loopback is plain by default");
}

#[test]
fn a_certificate_is_checked_by_its_authority_and_its_host() {
    let url = SERVER.url("postgres");
    let right = verify(&SERVER.root_certificate());
    for host in ["127.0.0.1", "localhost"] {
        assert!(is_encrypted(&format!("{}?{right}", named(&url, host))).unwrap(), "{host}");
    }
    // An address alone is a host too.
    let (who, place) = url.split_once('@').unwrap();
    let port = place.trim_start_matches("127.0.0.1:").trim_end_matches("/postgres");
    assert!(is_encrypted(&format!("{who}@/postgres?hostaddr=127.0.0.1&port={port}&{right}")).unwrap());

    check_fails(&format!("{}?hostaddr=127.0.0.1&{right}", named(&url, "db.example.org")), "not valid for name");
    let folder = tempfile::tempdir().unwrap();
    let other = folder.path().join("other.pem");
    std::fs::write(&other, Authority::new().unwrap().root()).unwrap();
    check_fails(&format!("{url}?{}", verify(&other)), "certificate is not accepted");
    check_fails(&format!("{url}?sslmode=verify-full"), "certificate");
    // This mode checks neither.
    assert!(is_encrypted(&format!("{}?hostaddr=127.0.0.1&sslmode=require", named(&url, "db.example.org"))).unwrap());
}

#[test]
fn without_a_file_the_roots_are_those_of_the_system() {
    // The system's roots are looked for in the file that a variable names, which a process may not set for itself.
    const URL: &str = "TAXIMETER_TEST_URL";
    if let Ok(url) = std::env::var(URL) {
        assert!(is_encrypted(&url).unwrap());
        return;
    }
    let mut again = std::process::Command::new(std::env::current_exe().unwrap());
    again.args(["--exact", "without_a_file_the_roots_are_those_of_the_system"]);
    again.env(URL, format!("{}?sslmode=verify-full", SERVER.url("postgres")));
    again.env("SSL_CERT_FILE", SERVER.root_certificate()).env_remove("SSL_CERT_DIR");
    let output = again.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
}

#[test]
fn roots_that_cannot_be_read_are_an_error() {
    let url = SERVER.url("postgres");
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("root.pem");
    check_fails(&format!("{url}?{}", verify(&file)), "root.pem (sslrootcert) cannot be used");
    std::fs::write(&file, "not a certificate").unwrap();
    check_fails(&format!("{url}?{}", verify(&file)), "there is no certificate in it");
    // A file that is put right counts at the next connection.
    let mut later = connection(&format!("{url}?{}", verify(&file)));
    later.once(PATIENCE, async |_| Ok(())).unwrap_err();
    std::fs::copy(SERVER.root_certificate(), &file).unwrap();
    later.once(PATIENCE, async |_| Ok(())).unwrap();
}

#[test]
fn a_server_without_tls_is_refused_where_tls_is_needed() {
    let url = PrivatePostgres::shared().url("postgres");
    for options in ["sslmode=require".to_string(), verify(&SERVER.root_certificate())] {
        check_fails(&format!("{url}?{options}"), "does not offer TLS");
    }
    assert!(!is_encrypted(&format!("{url}?sslmode=prefer")).unwrap());
    // An answer of the server is not mistaken for that.
    let error = is_encrypted(&format!("{}?sslmode=require", SERVER.url("nowhere"))).unwrap_err();
    assert!(matches!(&error, SessionError::Refused { code, .. } if code == "3D000"), "{error}");
}

/// A proxy to the server that keeps what clients send on every connection.
fn watched(url: &str) -> (String, Arc<Mutex<Vec<Vec<u8>>>>) {
    let (who, place) = url.split_once('@').unwrap();
    let (address, database) = place.split_once('/').unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let here = format!("{who}@{}/{database}", listener.local_addr().unwrap());
    let seen = Arc::new(Mutex::new(Vec::new()));
    let (address, noted) = (address.to_string(), Arc::clone(&seen));
    thread::spawn(move || {
        for near in listener.incoming().flatten() {
            let far = TcpStream::connect(&address).unwrap();
            let at = noted.lock().unwrap().len();
            noted.lock().unwrap().push(Vec::new());
            let back = (far.try_clone().unwrap(), near.try_clone().unwrap());
            let noted = Arc::clone(&noted);
            thread::spawn(move || copy(near, far, |bytes| noted.lock().unwrap()[at].extend_from_slice(bytes)));
            thread::spawn(move || copy(back.0, back.1, |_| ()));
        }
    });
    (here, seen)
}

fn copy(mut from: TcpStream, mut to: TcpStream, note: impl Fn(&[u8])) {
    let mut bytes = [0; 4096];
    while let Ok(read @ 1..) = from.read(&mut bytes) {
        note(&bytes[..read]);
        if to.write_all(&bytes[..read]).is_err() {
            break;
        }
    }
    // The other side sees the end.
    let _ = to.shutdown(std::net::Shutdown::Write);
}

#[test]
fn a_late_statement_is_stopped_by_a_request_that_is_encrypted_too() {
    let url = SERVER.new_database().unwrap();
    let (here, seen) = watched(&url);
    let mut connection = connection(&format!("{here}?{}", verify(&SERVER.root_certificate())));
    connection.once(PATIENCE, async |_| Ok(())).unwrap();
    let (started, most) = (Instant::now(), Duration::from_secs(5));
    let late = connection.once(most, async |client| Ok(client.batch_execute("SELECT pg_sleep(3600)").await?));
    assert!(late.unwrap_err().to_string().contains("was told to stop"));
    assert!(started.elapsed() < 2 * most, "{:?}", started.elapsed());
    let at_work =
        "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND query LIKE '%sleep(3600)'";
    wait_until("the statement has ended", || query(&url, at_work).unwrap() == "0");
    // Each connection first asks for TLS and then begins a handshake: nothing else is readable on the network.
    let seen = seen.lock().unwrap();
    assert_eq!(seen.len(), 2, "the session and the request to stop it");
    for bytes in &*seen {
        let request: [u8; 8] = [0, 0, 0, 8, 4, 210, 22, 47];
        assert_eq!((&bytes[..8], &bytes[8..10]), (&request[..], &[0x16, 3][..]), "{:?}", &bytes[..16]);
    }
}

#[test]
fn a_silent_server_blocks_a_caller_no_longer_than_its_limit() {
    // It accepts connections and never answers.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = silent.local_addr().unwrap();
    for mode in ["disable", "require"] {
        let started = Instant::now();
        let most = Duration::from_secs(1);
        let url = format!("postgres://ann:secret@{address}/books?sslmode={mode}");
        let error = connection(&url).ask(most, async |_| Ok(())).unwrap_err();
        assert!(matches!(error, SessionError::Lost(_)) && started.elapsed() < 5 * most, "{error}");
    }
}

#[test]
fn a_connection_that_was_cut_is_made_again() {
    let url = SERVER.new_database().unwrap();
    let mut connection = connection(&format!("{url}?sslmode=require"));
    let pid = |connection: &mut Connection| {
        connection.ask(PATIENCE, async |client| {
            Ok(client.query_typed_one("SELECT pg_backend_pid()", &[]).await?.try_get::<_, i32>(0)?)
        })
    };
    let first = pid(&mut connection).unwrap();
    assert_eq!(query(&url, &format!("SELECT pg_terminate_backend({first}, 60000)")).unwrap(), "t");
    assert_ne!(pid(&mut connection).unwrap(), first);
}
