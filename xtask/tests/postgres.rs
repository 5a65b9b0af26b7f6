//! However `cargo xtask postgres` ends, and with it any process that has a private server, nothing of the server is left.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use taximeter_testing::{query, wait_until};

/// Starts the task, ends it, and waits until its server is gone.
fn check(end: impl FnOnce(&mut Child)) {
    let mut task = Command::new(env!("CARGO_BIN_EXE_xtask"))
        .arg("postgres")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut url = String::new();
    BufReader::new(task.stdout.take().unwrap()).read_line(&mut url).unwrap();
    let url = url.trim_end();

    let folder = query(url, "SHOW data_directory").unwrap();
    let folder = Path::new(&folder).parent().unwrap().to_path_buf();
    // The first line of the lock file is the server itself, the others work for it.
    let server = query(url, "SELECT split_part(pg_read_file('postmaster.pid'), chr(10), 1)").unwrap();
    let workers = query(url, "SELECT pid FROM pg_stat_activity WHERE pid <> pg_backend_pid()").unwrap();
    let processes: Vec<&str> = workers.lines().chain([server.as_str()]).collect();
    assert!(processes.len() > 3 && is_alive(&server), "{processes:?}");

    end(&mut task);
    task.wait().unwrap();
    wait_until(&format!("{} and {processes:?} are gone", folder.display()), || {
        !folder.exists() && !processes.iter().any(|process| is_alive(process))
    });
}

fn is_alive(process: &str) -> bool {
    signal("0", process)
}

fn signal(name: &str, process: &str) -> bool {
    let kill = Command::new("sh").args(["-c", "kill -$0 $1", name, process]).stderr(Stdio::null()).status();
    kill.unwrap().success()
}

#[test]
fn the_end_of_the_input_removes_the_server() {
    check(|task| {
        let mut input = task.stdin.take().unwrap();
        input.write_all(b"nothing in particular\n").unwrap();
    });
}

#[test]
fn an_interrupt_removes_the_server() {
    check(|task| assert!(signal("INT", &task.id().to_string())));
}

#[test]
fn a_killed_process_leaves_no_server_behind() {
    // SIGKILL, so that nothing of the process runs any more.
    check(|task| task.kill().unwrap());
}
