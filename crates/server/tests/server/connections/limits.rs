//! Limits on time, size and number of connections.

use super::*;

#[test]
fn a_slow_client_does_not_delay_others() {
    // No connection times out while the test waits for the others.
    let server = ListeningServer::start(Settings { arrival: 10 * PATIENCE, ..patient() });
    let silent = server.connect();
    let mut headers = server.connect();
    headers.write_all(b"GET / HTTP/1.1\r\nX: x").unwrap();
    let (body, _) = server.opening_slowly("slow");
    check_answer(&server.list(), 200, "\"accounts\":[]");
    drop((silent, headers, body));
    server.end();
}

#[test]
fn a_slow_connection_is_cut_off() {
    // Long enough for a head that is sent in one piece.
    let server = ListeningServer::start(Settings { arrival: Duration::from_secs(2), ..patient() });
    // A silent connection, and two whose headers or body trickle in until they are cut off.
    let trickle = |mut stream: TcpStream| {
        std::thread::spawn(move || {
            while stream.write_all(b" ").is_ok() {
                std::thread::sleep(Duration::from_millis(50));
            }
        })
    };
    let mut silent = server.connect();
    let mut headers = server.connect();
    headers.write_all(b"GET / HTTP/1.1\r\nX: x").unwrap();
    let slow_headers = trickle(headers.try_clone().unwrap());
    let mut bodies = server.connect();
    let more = "Content-Type: application/json\r\nContent-Length: 10000\r\n";
    bodies.write_all(server.head("POST", more).as_bytes()).unwrap();
    let slow_body = trickle(bodies.try_clone().unwrap());
    assert_eq!(rest(&mut silent), "");
    assert_eq!(rest(&mut headers), "");
    let answer = rest(&mut bodies);
    check_answer(&answer, 408, "request-timeout");
    assert!(answer.to_ascii_lowercase().contains("connection: close"), "{answer:?}");
    for slow in [slow_headers, slow_body] {
        slow.join().unwrap();
    }
    check_answer(&server.list(), 200, "\"accounts\":[]");
    server.end();
}

#[test]
fn a_body_may_arrive_in_two_parts() {
    let server = ListeningServer::start(patient());
    let (mut stream, body) = server.opening_slowly("census");
    stream.write_all(&body.as_bytes()[..20]).unwrap();
    // Usually the server has read the first part by then.
    std::thread::sleep(Duration::from_millis(100));
    stream.write_all(&body.as_bytes()[20..]).unwrap();
    check_answer(&rest(&mut stream), 201, "census");
    server.end();
}

#[test]
fn a_request_that_is_too_large_is_not_read() {
    let server = ListeningServer::start(patient());
    let json = "Content-Type: application/json\r\n";
    let large = format!("\"{}\"", "x".repeat(300_000));
    let chunk = format!("{:x}\r\n{large}\r\n0\r\n\r\n", large.len());
    for (more, body, status, part) in [
        (format!("{json}Content-Length: {}\r\n", large.len()), large.as_str(), 413, "too-large"),
        (format!("{json}Transfer-Encoding: chunked\r\n"), chunk.as_str(), 413, "too-large"),
        // Only the head is sent, with an enormous length.
        (format!("{json}Content-Length: 1000000000000\r\n"), "", 413, "too-large"),
        (format!("X: {}\r\n", "x".repeat(40_000)), "", 431, ""),
        (format!("{json}Content-Length: 3\r\nContent-Length: 4\r\n"), "123", 400, ""),
        (format!("{json}Content-Length: -3\r\n"), "123", 400, ""),
    ] {
        let mut stream = server.connect();
        let _ = stream.write_all(server.head("POST", &more).as_bytes());
        let _ = stream.write_all(body.as_bytes());
        check_answer(&rest(&mut stream), status, part);
    }
    check_answer(&server.list(), 200, "\"accounts\":[]");
    server.end();
}

#[test]
fn a_client_that_does_not_read_is_disconnected() {
    let server = ListeningServer::start(Settings { arrival: Duration::from_millis(400), ..patient() });
    let mut stream = server.connect();
    // Answers fill the send buffer until the server can neither send nor read; then it times out and closes the connection.
    let request = "GET /openapi.json HTTP/1.1\r\nHost: here\r\n\r\n".repeat(200);
    let error = (0..10_000).find_map(|_| stream.write_all(request.as_bytes()).err()).unwrap();
    assert!(matches!(error.kind(), io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe), "{error}");
    server.end();
}

#[test]
fn connections_above_the_limit_wait() {
    let server = ListeningServer::start(Settings { connections: 2, ..patient() });
    // These have shown their tokens and stay idle; connections are accepted in order.
    let [first, second] = [(); 2].map(|()| {
        let mut stream = server.connect();
        ask(&mut stream, &server);
        stream
    });
    std::thread::scope(|scope| {
        let waiting: Vec<_> = (0..8).map(|_| scope.spawn(|| (server.list(), Instant::now()))).collect();
        // Enough time for an answer, if there were room.
        std::thread::sleep(Duration::from_millis(300));
        let released = Instant::now();
        drop((first, second));
        for waited in waiting {
            let (answer, when) = waited.join().unwrap();
            check_answer(&answer, 200, "\"accounts\":[]");
            assert!(when > released, "there was no room before");
        }
    });
    server.end();
}

#[test]
fn each_token_has_its_own_rate_limit() {
    let server = ListeningServer::start(Settings { requests_per_second: 3, ..patient() });
    // At three a second, these would take half a minute.
    let mut stream = server.connect();
    let requests = server.head("GET", "").repeat(99) + &server.head("GET", "Connection: close\r\n");
    stream.write_all(requests.as_bytes()).unwrap();
    let answers = rest(&mut stream);
    let answers: Vec<&str> = answers.split("HTTP/1.1 ").skip(1).collect();
    assert_eq!(answers.len(), 100);
    assert!(answers[..3].iter().all(|answer| answer.starts_with("200 ")), "{answers:?}");
    let refused = answers[3..].iter().find(|answer| answer.starts_with("429 "));
    assert!(refused.expect("too many").contains("too-many-requests"), "{answers:?}");

    // A token created by another process is valid soon, and invalid soon after it is revoked.
    let location = Location::File(server.folder.path().join("taximeter.db"));
    let id = taximeter_ledger::LedgerReader::open(&location, None).unwrap().id();
    let beside = Tokens::open(&TokenPlace::of(&location), id).unwrap();
    let made = beside.create(&owner("another")).unwrap();
    let ask = || {
        let mut stream = server.connect();
        let secret = &made.secret;
        let request = format!(
            "GET /v1/accounts HTTP/1.1\r\nHost: here\r\nAuthorization: Bearer {secret}\r\nConnection: close\r\n\r\n"
        );
        stream.write_all(request.as_bytes()).unwrap();
        rest(&mut stream)[9..12].to_string()
    };
    wait_until("the token counts", || ask() == "200");
    beside.revoke(&made.token.id).unwrap();
    wait_until("the token counts no longer", || ask() == "401");
    server.end();
}

/// Two thousand idle connections kept a health check waiting for twelve seconds.
#[test]
fn connections_without_a_token_make_room_for_health_checks_and_for_those_with_one() {
    // Long enough that none of them times out.
    let mut server =
        ListeningServer::start(Settings { connections: 8, arrival: Duration::from_secs(3600), ..patient() });
    let mut idle: Vec<TcpStream> = (0..20).map(|_| server.connect()).collect();
    let mut health = server.connect();
    health.write_all(b"GET /healthz HTTP/1.1\r\nHost: here\r\n\r\n").unwrap();
    let mut status = [0; 15];
    health.read_exact(&mut status).unwrap();
    assert_eq!(&status, b"HTTP/1.1 200 OK");
    // A connection that has shown a token stays open.
    let mut shown = server.connect();
    ask(&mut shown, &server);
    idle.extend((0..20).map(|_| server.connect()));
    assert!(server.list().starts_with("HTTP/1.1 200 OK"));
    ask(&mut shown, &server);
    drop((idle, health, shown));
    server.ask_to_end();
    server.ended();
}

/// Asks for the accounts on a connection that stays open.
fn ask(stream: &mut TcpStream, server: &ListeningServer) {
    stream.write_all(server.head("GET", "").as_bytes()).unwrap();
    let mut status = [0; 15];
    stream.read_exact(&mut status).unwrap();
    assert_eq!(&status, b"HTTP/1.1 200 OK");
    read_body(stream);
}

/// Reads to the end of an answer whose head is being read, by its length.
fn read_body(stream: &mut TcpStream) {
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") {
        stream.read_exact(&mut byte).unwrap();
        head.push(byte[0]);
    }
    let head = String::from_utf8(head).unwrap().to_lowercase();
    let length = head.split_once("content-length: ").unwrap().1.split_once("\r\n").unwrap().0;
    stream.read_exact(&mut vec![0; length.parse().unwrap()]).unwrap();
}

#[test]
fn a_request_without_exactly_one_host_is_rejected_and_logged() {
    let mut server = ListeningServer::start(Settings { is_encrypted: true, ..patient() });
    for (hosts, status) in
        [("", "400"), ("Host: a\r\nHost: a\r\n", "400"), ("Host: a\r\nHost: b\r\n", "400"), ("Host: a\r\n", "200")]
    {
        let mut stream = server.connect();
        stream.write_all(format!("GET /healthz HTTP/1.1\r\n{hosts}Connection: close\r\n\r\n").as_bytes()).unwrap();
        let answer = rest(&mut stream).to_lowercase();
        assert!(answer.starts_with(&format!("http/1.1 {status}")), "{hosts:?}: {answer}");
        assert!(answer.contains("strict-transport-security: ") && answer.contains("no-store"), "{hosts:?}: {answer}");
    }
    let counted = "taximeter_http_requests_total{route=\"\",status=\"400\"} 3";
    let metrics = server.get("/metrics");
    assert!(metrics.contains(counted), "{metrics}");
    server.ask_to_end();
    let log = server.ended();
    assert_eq!(log.matches("\"status\":400,\"code\":\"bad-request\"").count(), 3, "{log}");
}
