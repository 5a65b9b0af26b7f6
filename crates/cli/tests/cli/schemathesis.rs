//! The API against its own description: thousands of requests, well formed and not, and no answer that was not declared.

use std::process::Command;

use crate::sandbox::{Sandbox, Serving};
use serde_json::Value;
use taximeter_testing::random_inputs;

/// What must hold for every answer: all that can be checked, but for two. That what fits the description is taken
/// (`positive_data_acceptance`) does not hold, since the rules of accounting cannot be written in it: a budget may refuse, and an
/// account exist already. Who may see what (`object_level_authorization`) needs two tokens at a time, and has tests of its own.
const CHECKS: &str = "not_a_server_error,status_code_conformance,content_type_conformance,response_headers_conformance,\
                      response_schema_conformance,negative_data_rejection,missing_required_header,unsupported_method,\
                      allow_header_conformance,ignored_auth,use_after_free,ensure_resource_availability";

/// Checks the API with a token of a role. `reached` are requests that must have been made with success: a check that gets nothing but
/// errors checks little.
fn check(role: &str, more: &[&str], examples: u32, reached: &[(&str, &str, u16)]) {
    let program = std::env::var_os("TAXIMETER_SCHEMATHESIS")
        .expect("`cargo xtask test` installs schemathesis and says where it is in TAXIMETER_SCHEMATHESIS");
    let sandbox = Sandbox::with_accounts();
    sandbox.add_people();
    sandbox.done(&["dataset", "add", "people", "--analyst", "alice", "--budget", "0.5,1e-6"]);
    let secret = sandbox.token("someone", role, more);
    spare_the_token(&sandbox);
    let mut server = Serving::start(&sandbox, &["--requests-per-second", "0", "--log", "json"]);
    let output = Command::new(program)
        .current_dir(sandbox.folder.path())
        .args(["run", &format!("http://{}/openapi.json", server.address)])
        .args(["--header", &format!("Authorization: Bearer {secret}"), "--checks", CHECKS])
        // A stream of events has no end.
        .args(["--exclude-path", "/v1/events"])
        // More than one worker is not faster, and some versions of Python fail at it.
        .args(["--workers", "1", "--seed", "1", "--no-color", "--request-timeout", "120"])
        .args(["--max-examples", &random_inputs(examples).to_string()])
        .env("NO_COLOR", "1")
        .output()
        .expect("schemathesis runs");
    let told = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{told}{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(server.status(&secret), 200, "the token holds to the end");
    server.kill();
    let log = server.told();
    assert!(!log.contains("panic"), "{log}");
    let answered: Vec<Value> = log.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    for (method, path, status) in reached {
        let is_it = |line: &Value| line["method"] == *method && line["path"] == *path && line["status"] == *status;
        assert!(answered.iter().any(is_it), "{role}: no {status} for {method} {path}");
    }
}

/// Has another token revoked than the one that is used.
fn spare_the_token(sandbox: &Sandbox) {
    let other = sandbox.document(0, &["token", "create", "other", "--role", "auditor"]);
    let id = other["token"]["id"].as_str().expect("an id");
    let settings =
        format!("[[operations]]\ninclude-path = \"/v1/tokens/{{id}}/revoke\"\nparameters = {{ id = \"{id}\" }}\n");
    std::fs::write(sandbox.path("schemathesis.toml"), settings).unwrap();
}

/// What everybody may do.
const READS: [(&str, &str, u16); 6] = [
    ("GET", "/v1/me", 200),
    ("GET", "/v1/accounts", 200),
    ("GET", "/v1/accounts/{name}", 200),
    ("GET", "/v1/accounts/{name}/history", 200),
    ("GET", "/v1/datasets/{name}", 200),
    ("POST", "/v1/quotes", 200),
];

#[test]
fn an_owner_gets_nothing_that_is_not_declared() {
    let changes = [
        ("POST", "/v1/accounts", 201),
        ("POST", "/v1/accounts/{name}/close", 200),
        ("POST", "/v1/charges", 201),
        ("POST", "/v1/datasets/{name}/analysts", 201),
        ("POST", "/v1/questions", 201),
        ("POST", "/v1/tokens", 201),
        ("POST", "/v1/tokens/{id}/revoke", 200),
        ("POST", "/v1/uploads", 201),
    ];
    check("owner", &[], 40, &[&READS[..], &changes].concat());
}

#[test]
fn an_auditor_gets_nothing_that_is_not_declared() {
    let audits = [("GET", "/v1/export", 200), ("POST", "/v1/verify", 202), ("GET", "/v1/datasets/{name}/check", 200)];
    check("auditor", &[], 15, &[&READS[..], &audits].concat());
}

#[test]
fn an_analyst_gets_nothing_that_is_not_declared() {
    let own = ["--account", "census/alice", "--account", "people/alice", "--dataset", "people"];
    let asks = [("POST", "/v1/charges", 201), ("POST", "/v1/questions", 201), ("POST", "/v1/questions/explain", 200)];
    check("analyst", &own, 25, &[&READS[..], &asks].concat());
}
