//! Shutdown, and the log.

use super::*;

#[test]
fn shutdown_answers_accepted_requests_and_accepts_no_new_ones() {
    let mut server = ListeningServer::start(patient());
    let (mut accepted, body) = server.opening_slowly("census");
    let mut idle = server.connect();
    idle.write_all(server.head("GET", "").as_bytes()).unwrap();
    let mut start_of_answer = [0; 12];
    idle.read_exact(&mut start_of_answer).unwrap();
    server.ask_to_end();
    let answer = rest(&mut idle);
    assert!(answer.contains("\"accounts\":[]"), "{answer:?}");
    wait_until("it listens no more", || TcpStream::connect(server.address).is_err());
    accepted.write_all(body.as_bytes()).unwrap();
    let answer = rest(&mut accepted);
    check_answer(&answer, 201, "census");
    let log = server.ended();
    assert!(log.lines().last().unwrap().contains("\"event\":\"end\",\"cut_off\":0"), "{log}");
}

#[test]
fn shutdown_does_not_wait_forever() {
    // The body would time out later; the shutdown limit comes first.
    let mut server = ListeningServer::start(Settings { shutdown: Duration::from_millis(300), ..patient() });
    let (mut stuck, _) = server.opening_slowly("census");
    server.ask_to_end();
    let log = server.ended();
    assert!(log.contains("\"cut_off\":1"), "{log}");
    assert_eq!(rest(&mut stuck), "");
}

#[test]
fn the_log_has_no_secrets_and_no_names() {
    let server = ListeningServer::start(patient());
    let (head, body) = server.opening("payroll");
    let mut stream = server.connect();
    stream.write_all((head + &body).as_bytes()).unwrap();
    check_answer(&rest(&mut stream), 201, "payroll");
    let wrong = format!("txm_{}_{}", "0".repeat(16), "5ec4e7".repeat(11).get(..64).unwrap());
    let token = server.token.clone();
    for (method, path, token) in [
        ("GET", "/v1/accounts/payroll?note=5ec4e7", &token),
        ("GET", "/v1/accounts/payroll%2F5ec4e7", &token),
        ("GET", "/5ec4e7/payroll", &token),
        ("5EC4E7", "/v1/accounts", &token),
        ("GET", "/v1/accounts", &wrong),
        ("GET", "/v1/accounts/payroll/history?limit=5ec4e7", &token),
    ] {
        let mut stream = server.connect();
        let request = format!(
            "{method} {path} HTTP/1.1\r\nHost: 5ec4e7\r\nCookie: 5ec4e7\r\nAuthorization: Bearer {token}\r\nConnection: close\r\n\r\n"
        );
        stream.write_all(request.as_bytes()).unwrap();
        rest(&mut stream);
    }
    let log = server.end();
    let bits = &token[21..];
    for hidden in [bits, "txm_", "5ec4e7", "5EC4E7", "payroll", "Bearer", "epsilon"] {
        assert!(!log.contains(hidden), "{hidden:?} is in the log:\n{log}");
    }
    for shown in ["\"principal\":\"olga\"", &token[4..20], "/v1/accounts/{name}/history", "\"code\":\"unauthorized\""] {
        assert!(log.contains(shown), "{shown:?} is not in the log:\n{log}");
    }
    assert_eq!(log.matches("\"event\":\"request\"").count(), 7, "{log}");
}

/// A server whose ledger had stopped went on answering 503, and was never restarted.
#[test]
fn a_server_exits_with_an_error_when_its_ledger_has_stopped() {
    let mut server = ListeningServer::start(patient());
    // Without its witness a ledger must stop.
    std::fs::write(server.folder.path().join("taximeter.db.witness"), "").unwrap();
    let answer = server.open_account("census");
    assert!(answer.starts_with("HTTP/1.1 5"), "{answer}");
    let runtime = server.runtime.take().unwrap();
    let ended = runtime.block_on(server.serving.take().unwrap()).unwrap();
    assert_eq!(ended.unwrap_err().code, Code::Stopped);
    runtime.shutdown_timeout(PATIENCE);
    drop(server.state.take());
    assert!(server.page.text().contains("\"event\":\"ledger-stopped\""), "{}", server.page.text());
}
