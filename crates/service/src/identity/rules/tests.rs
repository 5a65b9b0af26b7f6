use jiff::Timestamp;
use serde_json::json;
use taximeter_testing::TestKey;

use super::*;
use crate::identity::jwt::SignedToken;
use crate::identity::keys::KeySet;

const FILE: &str = r#"
name = "example"

[[grant]]
claim = "groups"
value = "privacy-owners"
role = "owner"

[[grant]]
claim = ["realm_access", "roles"]
value = "auditor"
role = "auditor"

[[grant]]
claim = "groups"
value = "analysts"
role = "analyst"
accounts = ["census/{name}", "wages/{name}-2026"]
datasets = ["census"]
sees_above = true
"#;

fn claims(claims: serde_json::Value) -> Claims {
    let key = TestKey::ed25519("k");
    let keys = KeySet::parse(&json!({ "keys": [key.published()] })).unwrap();
    let token = key.token(&claims);
    let token = SignedToken::parse(&token).unwrap();
    let key = keys.find(token.key()).unwrap();
    token.verify(&key).unwrap()
}

fn grant(file: &str, given: serde_json::Value) -> Result<TokenDocument, Problem> {
    let [issued, expires] = [1_800_000_000, 1_800_000_300].map(|second| Timestamp::from_second(second).unwrap());
    ClaimRules::parse(file).unwrap().grant(&claims(given), Validity { issued, expires }, "https://login.example.org")
}

#[test]
fn the_first_rule_that_matches_decides() {
    let shown = |token: TokenDocument| {
        let names: Vec<String> = token.accounts.iter().chain(&token.datasets).map(|name| name.to_string()).collect();
        (token.role.name(), names.join(" "), token.sees_above)
    };
    let analyst = ("analyst", "census/alice wages/alice-2026 census".to_string(), true);
    for (given, expected) in [
        (json!({ "groups": ["privacy-owners"] }), ("owner", String::new(), false)),
        (json!({ "groups": ["analysts", "privacy-owners"] }), ("owner", String::new(), false)),
        (json!({ "groups": "analysts" }), analyst.clone()),
        (
            json!({ "groups": ["analysts"], "realm_access": { "roles": ["a", "auditor"] } }),
            ("auditor", String::new(), false),
        ),
        (json!({ "groups": ["analysts"], "realm_access": "auditor" }), analyst),
    ] {
        let mut given = given;
        given["sub"] = "alice".into();
        let token = grant(FILE, given.clone()).unwrap();
        assert_eq!(token.principal, "alice@example");
        assert_eq!(shown(token), expected, "{given}");
    }
    let token = grant(FILE, json!({ "sub": "alice", "groups": "analysts" })).unwrap();
    assert_eq!((token.created.as_str(), token.expires.as_str()), ("2027-01-15T08:00:00Z", "2027-01-15T08:05:00Z"));
    assert_eq!(token.issuer.as_deref(), Some("https://login.example.org"));
    // A new token of the same person does not bring a new rate limit; another person has their own.
    assert_eq!(token.id, grant(FILE, json!({ "sub": "alice", "groups": "privacy-owners" })).unwrap().id);
    assert_ne!(token.id, grant(FILE, json!({ "sub": "alicia", "groups": "analysts" })).unwrap().id);
}

#[test]
fn claims_that_no_rule_matches_grant_nothing_and_the_reason_is_told() {
    let long = "a".repeat(64);
    for (given, part) in [
        (json!({ "sub": "alice" }), "knows you as alice, but no rule"),
        (json!({ "sub": "alice", "groups": ["Analysts"] }), "no rule"),
        (json!({ "sub": "alice", "groups": { "analysts": true } }), "no rule"),
        (json!({ "sub": "alice", "groups": [["analysts"]] }), "no rule"),
        (json!({ "groups": ["privacy-owners"] }), "no claim sub"),
        (json!({ "sub": 7, "groups": ["privacy-owners"] }), "no claim sub"),
        // Names are checked like those of tokens: none can lead to another principal's account, or be the name of a token.
        (json!({ "sub": "", "groups": ["analysts"] }), "is empty"),
        (json!({ "sub": "alice/x", "groups": ["analysts"] }), "contains '/'"),
        (json!({ "sub": "alice@example", "groups": ["analysts"] }), "contains '@'"),
        (json!({ "sub": "alice:k", "groups": ["analysts"] }), "contains ':'"),
        (json!({ "sub": "..", "groups": ["analysts"] }), "does not start with"),
        (json!({ "sub": "alicé", "groups": ["analysts"] }), "contains 'é'"),
        (json!({ "sub": long, "groups": ["analysts"] }), "the limit is 63"),
    ] {
        let problem = grant(FILE, given.clone()).unwrap_err();
        assert_eq!(problem.code, Code::Forbidden, "{given}");
        assert!(problem.detail.contains(part), "{given}: {}", problem.detail);
    }
}

#[test]
fn another_claim_can_name_the_principal() {
    let file = FILE.replace("name = \"example\"", "name = \"example\"\nprincipal = \"preferred_username\"");
    let given = json!({ "sub": "f3a1|7", "preferred_username": "bob", "groups": ["analysts"] });
    assert_eq!(grant(&file, given).unwrap().principal, "bob@example");
}

#[test]
fn a_wrong_file_is_rejected_with_the_place_and_the_nearest_key() {
    for (from, to, part) in [
        ("value = \"analysts\"", "valeu = \"analysts\"", "the key valeu of grant 3 is not known; did you mean value?"),
        ("sees_above", "see_above", "the key see_above of grant 3 is not known; did you mean sees_above?"),
        ("name = \"example\"", "naem = \"example\"", "the key naem is not known; did you mean name?"),
        ("[[grant]]", "[[grants]]", "the key grants is not known; did you mean grant?"),
        ("name = \"example\"", "", "missing field `name`"),
        ("name = \"example\"", "name = \"exa@mple\"", "contains '@'"),
        ("name = \"example\"", "name = \"a-very-long-name-for-an-issuer\"", "more than 24 characters"),
        ("role = \"owner\"", "role = \"king\"", "king"),
        ("role = \"owner\"", "role = \"owner\"\naccounts = [\"census\"]", "grant 1: the role owner sees every account"),
        (
            "accounts = [\"census/{name}\", \"wages/{name}-2026\"]\ndatasets = [\"census\"]",
            "",
            "grant 3: an analyst's token with no",
        ),
        ("census/{name}", "census//{name}", "grant 3: "),
        ("census/{name}", "census/{principal}", "grant 3: "),
        ("value = \"analysts\"", "value = \"\"", "grant 3: claim and value must not be empty"),
        ("claim = [\"realm_access\", \"roles\"]", "claim = []", "grant 2: claim and value must not be empty"),
        ("name = \"example\"", "name = ", "line 2"),
    ] {
        let file = FILE.replacen(from, to, 1);
        assert_ne!(file, FILE);
        let why = ClaimRules::parse(&file).unwrap_err();
        assert!(why.contains(part), "{to}: {why}");
    }
    assert!(ClaimRules::parse("name = \"example\"").unwrap_err().contains("grants nothing"));
    assert_eq!(ClaimRules::parse(FILE).unwrap().scope(), "openid");
    let more = FILE.replace("name = \"example\"", "name = \"example\"\nscopes = [\"openid\", \"groups\"]");
    assert_eq!(ClaimRules::parse(&more).unwrap().scope(), "openid groups");
}

#[test]
fn the_example_in_the_documents_is_a_claims_file() {
    let document = include_str!("../../../../../docs/operations.md");
    let mut blocks = document.split("```toml\n").skip(1).filter_map(|block| block.split("```").next());
    let example = blocks.find(|block| block.contains("[[grant]]")).unwrap();
    assert_eq!(ClaimRules::parse(example).unwrap().grant.len(), 3);
}
