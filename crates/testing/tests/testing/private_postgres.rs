//! A private server is durable, closed to others, survives crashes, and leaves nothing behind.
//! That nothing stays when its process is killed is tested with `cargo xtask postgres`, in xtask/tests/postgres.rs.

use std::net::TcpListener;
use std::path::Path;
use std::process::{Command, Stdio};

use taximeter_testing::{POSTGRES_VARIABLE, PrivatePostgres, query, wait_until};

#[test]
fn commits_are_durable_and_text_is_unicode() {
    let url = PrivatePostgres::shared().url("postgres");
    for (setting, expected) in [
        ("fsync", "on"),
        ("full_page_writes", "on"),
        ("synchronous_commit", "on"),
        ("server_encoding", "UTF8"),
        ("lc_messages", "C"),
        ("listen_addresses", "127.0.0.1"),
        ("unix_socket_directories", "."),
    ] {
        assert_eq!(query(&url, &format!("SHOW {setting}")).unwrap(), expected, "{setting}");
    }
    assert_eq!(query(&url, "SELECT datcollate FROM pg_database WHERE datname = 'postgres'").unwrap(), "C");
}

#[test]
fn every_new_database_is_another_empty_one() {
    let server = PrivatePostgres::shared();
    let (first, second) = (server.new_database().unwrap(), server.new_database().unwrap());
    assert_ne!(first, second);
    query(&first, "CREATE TABLE books (page int)").unwrap();
    let tables = "SELECT count(*) FROM pg_tables WHERE schemaname = 'public'";
    assert_eq!(query(&first, tables).unwrap(), "1");
    assert_eq!(query(&second, tables).unwrap(), "0");
}

#[test]
fn processes_share_the_server_that_is_named_to_them() {
    let server = PrivatePostgres::start().unwrap();
    let run = || {
        Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "private_postgres::every_new_database_is_another_empty_one"])
            .env(POSTGRES_VARIABLE, server.url("postgres"))
            .stdout(Stdio::null())
            .spawn()
            .unwrap()
    };
    for mut process in [run(), run()] {
        assert!(process.wait().unwrap().success());
    }
    let made = "SELECT count(*) FROM pg_database WHERE datname LIKE 'test%'";
    assert_eq!(query(&server.url("postgres"), made).unwrap(), "4");
}

#[test]
fn nobody_enters_without_the_password() {
    let url = PrivatePostgres::shared().url("postgres");
    let (start, place) = url.split_once('@').unwrap();
    let (start, _) = start.rsplit_once(':').unwrap();
    let refusal = query(&format!("{start}:guessed@{place}"), "SELECT 1").unwrap_err();
    assert!(refusal.contains("password authentication failed"), "{refusal}");
}

#[test]
fn the_folder_is_closed_to_others() {
    let folder = folder(&PrivatePostgres::shared().url("postgres"));
    let output = Command::new("ls").args(["-ld", &folder]).output().unwrap();
    let listing = String::from_utf8(output.stdout).unwrap();
    assert!(listing.starts_with("drwx------"), "{listing}");
    assert!(!Path::new(&folder).join("password").exists());
}

#[test]
fn a_crash_loses_nothing_that_was_committed() {
    let server = PrivatePostgres::start().unwrap();
    let url = server.new_database().unwrap();
    query(&url, "CREATE TABLE books (page int)").unwrap();
    query(&url, "INSERT INTO books VALUES (7)").unwrap();

    server.stop_immediate().unwrap();
    assert!(query(&url, "SELECT page FROM books").unwrap_err().contains("Connection refused"));
    server.stop_immediate().expect("a server that is stopped already stays so");

    server.start_again().unwrap();
    server.start_again().expect("a server that runs already goes on");
    assert_eq!(query(&url, "SELECT page FROM books").unwrap(), "7");
    assert!(server.log().contains("was not properly shut down"), "a stop without a crash: {}", server.log());
}

#[test]
fn a_server_waits_for_its_own_port() {
    let server = PrivatePostgres::start().unwrap();
    let port: u16 = query(&server.url("postgres"), "SHOW port").unwrap().parse().unwrap();
    server.stop_immediate().unwrap();
    let other = TcpListener::bind(("127.0.0.1", port)).unwrap();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            wait_until("it has tried", || server.log().contains("Address already in use"));
            drop(other);
        });
        server.start_again().unwrap();
    });
    assert_eq!(query(&server.url("postgres"), "SHOW port").unwrap(), port.to_string());
}

#[test]
fn settings_hold_from_the_next_connection_on() {
    let server = PrivatePostgres::start().unwrap();
    let url = server.url("postgres");
    let started = || query(&url, "SELECT pg_postmaster_start_time()").unwrap();
    let first_start = started();
    for (setting, value) in [("fsync", "off"), ("synchronous_commit", "local"), ("fsync", "on"), ("FSYNC", "off")] {
        server.set(setting, value).unwrap();
        assert_eq!(query(&url, &format!("SHOW {setting}")).unwrap(), value, "{setting}");
    }
    assert_eq!(started(), first_start, "these settings need no restart");

    server.set("max_connections", "50").unwrap();
    assert_eq!(query(&url, "SHOW max_connections").unwrap(), "50");
    assert_ne!(started(), first_start, "this one does");

    assert!(server.set("fsync = on; --", "on").unwrap_err().contains("not the name of a setting"));
    assert!(server.set("no_such_setting", "on").unwrap_err().contains("no_such_setting"));
    assert!(server.set("fsync", "it's").unwrap_err().contains("requires a Boolean value"));
}

#[test]
fn a_dropped_server_leaves_nothing_behind() {
    for state in ["running", "stopped", "suspended"] {
        let server = PrivatePostgres::start().unwrap();
        let folder = folder(&server.url("postgres"));
        let lock = std::fs::read_to_string(Path::new(&folder).join("data/postmaster.pid")).unwrap();
        let process = lock.lines().next().unwrap();
        assert!(signal("0", process), "the lock file names the server's process");
        match state {
            "stopped" => server.stop_immediate().unwrap(),
            "suspended" => assert!(signal("STOP", process)),
            _ => {}
        }
        drop(server);
        assert!(!Path::new(&folder).exists(), "{state}: {folder} is still there");
        assert!(!signal("0", process), "{state}: process {process} is still there");
    }
}

fn signal(name: &str, process: &str) -> bool {
    let kill = Command::new("sh").args(["-c", "kill -$0 $1", name, process]).stderr(Stdio::null()).status();
    kill.unwrap().success()
}

fn folder(url: &str) -> String {
    let data = query(url, "SHOW data_directory").unwrap();
    Path::new(&data).parent().unwrap().to_str().unwrap().to_string()
}
