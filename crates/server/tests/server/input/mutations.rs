//! Random changes to valid requests break nothing.

use super::*;

/// Reproducible pseudo-random numbers: xorshift.
struct Dice(u64);

impl Dice {
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % end as u64) as usize
    }

    fn of<'a, T: ?Sized>(&mut self, choices: &[&'a T]) -> &'a T {
        choices[self.below(choices.len())]
    }
}

/// Bytes that are inserted at random positions.
const PIECES: [&[u8]; 22] = [
    b"\x00",
    b"\xff",
    b"\"",
    b"{",
    b"}",
    b"[",
    b"]",
    b":",
    b",",
    b"-1",
    b"1e999",
    b"NaN",
    b"null",
    b"%2F",
    b"%00",
    b"..",
    b"'",
    b"\\u0000",
    b"\xf0\x9f\x92\xa5",
    b"99999999999999999999999999",
    b"true",
    b"SELECT",
];

fn mutated(dice: &mut Dice, original: &[u8]) -> Vec<u8> {
    let mut bytes = original.to_vec();
    for _ in 0..=dice.below(3) {
        let at = dice.below(bytes.len() + 1);
        match dice.below(4) {
            0 => drop(bytes.splice(at..at, dice.of(&PIECES).iter().copied())),
            1 => bytes.truncate(at),
            2 if at < bytes.len() => bytes[at] ^= 1 << dice.below(8),
            _ => {
                let end = (at + dice.below(8)).min(bytes.len());
                bytes.drain(at..end);
            }
        }
    }
    bytes
}

#[tokio::test(flavor = "multi_thread")]
async fn mutated_requests_break_nothing() {
    const CASES: usize = 4000;
    let server = TestServer::new();
    let requests: [(&str, &str, &str); 17] = [
        (
            "POST",
            "/v1/charges",
            r#"{"accounts":["census/alice"],"costs":[{"epsilon":"0.0001","delta":"1e-12"}],"note":"x"}"#,
        ),
        ("POST", "/v1/quotes", r#"{"accounts":["census"],"costs":[{"gaussian":{"sigma":"20","sensitivity":"1"}}]}"#),
        (
            "POST",
            "/v1/quotes",
            r#"{"accounts":["wages"],"costs":[{"laplace":{"scale":"9"}},{"randomized_response":{"truth":"0.6"}}]}"#,
        ),
        (
            "POST",
            "/v1/accounts",
            r#"{"account":"x","filter":{"rule":"renyi","parameters":{"order":"8"},"budget":{"epsilon":"1","delta":"1e-6"}}}"#,
        ),
        (
            "POST",
            "/v1/accounts",
            r#"{"account":"y","odometer":{"rule":"stitched","at_delta":"1e-6","parameters":{"v0":"1"}}}"#,
        ),
        (
            "POST",
            "/v1/questions",
            r#"{"dataset":"census","question":"SELECT region, AVG(age) FROM census WHERE age BETWEEN 1 AND 99 GROUP BY region",
                "price":{"epsilon":"0.0001"}}"#,
        ),
        (
            "POST",
            "/v1/questions/explain",
            r#"{"dataset":"census","question":"SELECT SUM(age) FROM census WHERE region LIKE 'n%' OR age IN (1,2)",
                "price":{"error":{"width":"50","noise":"laplace"}}}"#,
        ),
        (
            "POST",
            "/v1/plans",
            r#"{"dataset":"census","questions":[{"sql":"SELECT region, AVG(age) FROM census GROUP BY region","epsilon":"0.1","times":9},
                {"name":"x","sql":"SELECT COUNT(*) FROM census","error":20}]}"#,
        ),
        (
            "POST",
            "/v1/datasets",
            r#"{"dataset":"z","data":{"upload":{"id":"x"}},"schema":{"unit":"row","columns":[{"name":"a","type":"real",
                "bounds":["0","1.5"],"grid":"0.5","categories":[1,"a",true]}]},"timeout_seconds":1.5}"#,
        ),
        (
            "POST",
            "/v1/datasets/census/analysts",
            r#"{"analyst":"zoe","filter":{"budget":{"epsilon":"0.5","delta":"1e-6"}},"odometer":{"rule":"free-x"}}"#,
        ),
        (
            "POST",
            "/v1/tokens",
            r#"{"principal":"zoe","role":"analyst","accounts":["census/zoe"],"datasets":["census"],"expires":"2030-01-01T00:00:00Z"}"#,
        ),
        ("POST", "/v1/accounts/census%2Fbob/close", r#"{"note":"done"}"#),
        ("GET", "/v1/accounts/census%2Falice/history?from=3&limit=5", ""),
        ("GET", "/v1/receipts?key=abc", ""),
        ("GET", "/v1/receipts/3", ""),
        ("GET", "/v1/datasets/census", ""),
        ("GET", "/v1/log?limit=3", ""),
    ];
    let mut dice = Dice(0x9e37_79b9_7f4a_7c15);
    let mut statuses = std::collections::BTreeMap::new();
    for case in 0..CASES {
        let (method, path, body) = requests[dice.below(requests.len())];
        let (mut path, mut body, mut key) = (path.as_bytes().to_vec(), body.as_bytes().to_vec(), b"key".to_vec());
        match dice.below(8) {
            0 => path = mutated(&mut dice, &path),
            1 => key = mutated(&mut dice, &key),
            2 => body = (0..dice.below(200)).map(|_| dice.below(256) as u8).collect(),
            _ => body = mutated(&mut dice, &body),
        }
        let who = dice.of(&["owner", "alice", "above", "auditor"]);
        let mut request = Request::builder().method(method).uri(&path[..]);
        request = request.header("Authorization", format!("Bearer {}", server.secret(who)));
        request = request.header("Content-Type", "application/json");
        if dice.below(2) == 0 {
            request = request.header("Idempotency-Key", &key[..]);
        }
        // A malformed request does not reach the server.
        let Ok(request) = request.body(Body::from(body.clone())) else { continue };
        let reply = server.raw(request).await;
        *statuses.entry(reply.status.as_u16()).or_insert(0) += 1;
        assert!(
            !reply.status.is_server_error(),
            "case {case}: {who} {method} {} {}: {}",
            String::from_utf8_lossy(&path),
            String::from_utf8_lossy(&body),
            reply.text()
        );
        reply.code();
    }
    for status in [200, 201, 400, 403, 404] {
        assert!(statuses.contains_key(&status), "{statuses:?}");
    }
}
