use std::sync::Arc;

use serde_json::json;
use taximeter_testing::TestKey;

use super::*;
use crate::identity::keys::KeySet;

const ISSUER: &str = "https://login.example.org";
const NOW: i64 = 1_800_000_000;

fn now() -> Timestamp {
    Timestamp::from_second(NOW).unwrap()
}

/// Valid claims, with the given ones added or replaced; a null removes one.
fn claims(more: Value) -> Value {
    let mut claims = json!({
        "iss": ISSUER, "aud": "taximeter", "sub": "alice", "iat": NOW - 10, "exp": NOW + 300, "nonce": "n",
    });
    let members = claims.as_object_mut().unwrap();
    members.extend(more.as_object().unwrap().clone());
    members.retain(|_, value| !value.is_null());
    claims
}

fn published(key: &TestKey) -> KeySet {
    KeySet::parse(&json!({ "keys": [key.published()] })).unwrap()
}

fn expected(nonce: Option<&str>) -> ExpectedClaims<'_> {
    ExpectedClaims { issuer: ISSUER, audience: "taximeter", nonce }
}

/// Checks a token as the server does, without fetching keys and applying rules.
fn check(keys: &KeySet, token: &str, expected: &ExpectedClaims<'_>) -> Result<Validity, TokenFault> {
    let token = SignedToken::parse(token)?;
    let key: Arc<IssuerKey> = keys.find(token.key()).ok_or(TokenFault::UnknownKey)?;
    token.verify(&key)?.check(expected, now())
}

#[test]
fn tokens_of_every_algorithm_are_verified_and_those_of_another_key_are_not() {
    for key in [TestKey::rsa("k"), TestKey::p256("k"), TestKey::ed25519("k")] {
        let (keys, other) = (published(&key), published(&TestKey::p256("k")));
        let mut algorithms = vec![key.algorithm()];
        algorithms.extend((key.algorithm() == "RS256").then_some("PS256"));
        for algorithm in algorithms {
            let token = key.token_with(&json!({ "alg": algorithm, "kid": "k" }), &claims(json!({})));
            let validity = check(&keys, &token, &expected(None)).unwrap();
            assert_eq!(validity.expires.as_second(), NOW + 300);
            assert!(check(&other, &token, &expected(None)).is_err(), "{algorithm}");
            // One bit of the payload, and of the signature.
            for at in [token.find('.').unwrap() + 5, token.len() - 8] {
                let mut bytes = token.clone().into_bytes();
                bytes[at] = if bytes[at] == b'A' { b'B' } else { b'A' };
                assert!(check(&keys, &String::from_utf8(bytes).unwrap(), &expected(None)).is_err(), "{algorithm} {at}");
            }
        }
    }
}

/// The examples of RFC 7515 (A.2, A.3) and RFC 8037 (A.4), made by other implementations.
#[test]
fn the_examples_of_the_standards_are_verified() {
    let rsa = json!({ "kty": "RSA", "kid": "k", "e": "AQAB", "n":
        "ofgWCuLjybRlzo0tZWJjNiuSfb4p4fAkd_wWJcyQoTbji9k0l8W26mPddxHmfHQp-Vaw-4qPCJrcS2mJPMEzP1Pt0Bm4d4QlL-yRT-SFd2lZS-pCgNMs\
         D1W_YpRPEwOWvG6b32690r2jZ47soMZo9wGzjb_7OMg0LOL-bSf63kpaSHSXndS5z5rexMdbBYUsLA9e-KXBdQOS-UTo7WTBEMa2R2CapHg665xsmtdV\
         MTBQY4uDZlxvb3qCo5ZwKh9kG4LT6_I5IhlJH7aGhyxXFvUK-DWNmoudF8NAco9_h9iaGNj8q2ethFkMLs91kzk2PAcDTW9gb54h4FRWyuXpoQ" });
    let p256 = json!({ "kty": "EC", "crv": "P-256", "kid": "k", "x": "f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU",
        "y": "x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0" });
    let ed25519 =
        json!({ "kty": "OKP", "crv": "Ed25519", "kid": "k", "x": "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo" });
    let payload = "eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ";
    for (key, algorithm, message, signature) in [
        (
            rsa,
            Algorithm::RS256,
            format!("eyJhbGciOiJSUzI1NiJ9.{payload}"),
            "cC4hiUPoj9Eetdgtv3hF80EGrhuB__dzERat0XF9g2VtQgr9PJbu3XOiZj5RZmh7AAuHIm4Bh-0Qc_lF5YKt_O8W2Fp5jujGbds9uJdbF9CUAr7t\
             1dnZcAcQjbKBYNX4BAynRFdiuB--f_nZLgrnbyTyWzO75vRK5h6xBArLIARNPvkSjtQBMHlb1L07Qe7K0GarZRmB_eSN9383LcOLn6_dO--xi12j\
             zDwusC-eOkHWEsqtFZESc6BfI7noOPqvhJ1phCnvWh6IeYI2w9QOYEUipUTI8np6LbgGY9Fs98rqVt5AXLIhWkWywlVmtVrBp0igcN_IoypGlUPQ\
             Ge77Rw",
        ),
        (
            p256,
            Algorithm::ES256,
            format!("eyJhbGciOiJFUzI1NiJ9.{payload}"),
            "DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSApmWQxfKTUJqPP3-Kg6NU1Q",
        ),
        (
            ed25519,
            Algorithm::EdDSA,
            "eyJhbGciOiJFZERTQSJ9.RXhhbXBsZSBvZiBFZDI1NTE5IHNpZ25pbmc".to_string(),
            "hgyY0il_MGCjP0JzlnLWG1PPOt7-09PGcvMg3AIbQR6dWbhijcNR4ki4iylGjg5BhVsPt9g7sVvpAr_MuM0KAg",
        ),
    ] {
        let keys = KeySet::parse(&json!({ "keys": [key] })).unwrap();
        let key = keys.find(("k", algorithm)).unwrap();
        let signature = BASE64_URL_SAFE_NO_PAD.decode(signature).unwrap();
        assert!(key.verifies(algorithm, message.as_bytes(), &signature), "{algorithm:?}");
        assert!(!key.verifies(algorithm, format!("{message}A").as_bytes(), &signature), "{algorithm:?}");
    }
}

#[test]
fn claims_must_be_for_this_server_and_for_now() {
    let key = TestKey::ed25519("k");
    let keys = published(&key);
    for (more, fault) in [
        (json!({}), None),
        (json!({ "aud": ["other", "taximeter"] }), None),
        (json!({ "exp": NOW - 59 }), None),
        (json!({ "exp": NOW as f64 + 0.5 }), None),
        (json!({ "nbf": NOW + 60, "iat": NOW + 60 }), None),
        (json!({ "iss": "https://login.example.org/" }), Some(TokenFault::Issuer)),
        (json!({ "iss": "https://elsewhere.example" }), Some(TokenFault::Issuer)),
        (json!({ "iss": [ISSUER] }), Some(TokenFault::Issuer)),
        (json!({ "iss": null }), Some(TokenFault::Issuer)),
        (json!({ "aud": "other" }), Some(TokenFault::Audience)),
        (json!({ "aud": ["other"] }), Some(TokenFault::Audience)),
        (json!({ "aud": [] }), Some(TokenFault::Audience)),
        (json!({ "aud": { "taximeter": "taximeter" } }), Some(TokenFault::Audience)),
        (json!({ "aud": null }), Some(TokenFault::Audience)),
        (json!({ "exp": NOW - 60 }), Some(TokenFault::Expired)),
        (json!({ "exp": 0 }), Some(TokenFault::Expired)),
        (json!({ "exp": null }), Some(TokenFault::NoExpiry)),
        (json!({ "exp": (NOW + 300).to_string() }), Some(TokenFault::NoExpiry)),
        (json!({ "exp": 1e300 }), Some(TokenFault::NoExpiry)),
        (json!({ "exp": -1 }), Some(TokenFault::NoExpiry)),
        (json!({ "nbf": NOW + 61 }), Some(TokenFault::NotYet)),
        (json!({ "nbf": "soon" }), Some(TokenFault::NotYet)),
        (json!({ "iat": NOW + 61 }), Some(TokenFault::Issued)),
        (json!({ "iat": "now" }), Some(TokenFault::Issued)),
        (json!({ "iat": null }), Some(TokenFault::Issued)),
    ] {
        let result = check(&keys, &key.token(&claims(more.clone())), &expected(None));
        assert_eq!(result.err(), fault, "{more}");
    }
}

#[test]
fn an_id_token_belongs_to_its_sign_in_and_its_client() {
    let key = TestKey::ed25519("k");
    let keys = published(&key);
    for (more, fault) in [
        (json!({}), None),
        (json!({ "azp": "taximeter", "aud": ["taximeter", "other"] }), None),
        (json!({ "nonce": "other" }), Some(TokenFault::Nonce)),
        (json!({ "nonce": null }), Some(TokenFault::Nonce)),
        (json!({ "nonce": ["n"] }), Some(TokenFault::Nonce)),
        (json!({ "aud": ["taximeter", "other"] }), Some(TokenFault::Audience)),
        (json!({ "azp": "other" }), Some(TokenFault::Audience)),
    ] {
        let result = check(&keys, &key.token(&claims(more.clone())), &expected(Some("n")));
        assert_eq!(result.err(), fault, "{more}");
    }
}

#[test]
fn only_signed_tokens_of_the_right_kind_are_read() {
    let key = TestKey::rsa("k");
    let keys = published(&key);
    let good = claims(json!({}));
    let with = |header: Value| key.token_with(&header, &good);
    for (token, fault) in [
        (key.unsigned_token(&good), TokenFault::Algorithm),
        (key.confused_token(&good), TokenFault::Algorithm),
        (with(json!({ "alg": "NONE", "kid": "k" })), TokenFault::Algorithm),
        (with(json!({ "alg": "rs256", "kid": "k" })), TokenFault::Algorithm),
        (with(json!({ "alg": "RS512", "kid": "k" })), TokenFault::Algorithm),
        (with(json!({ "alg": "RS256" })), TokenFault::NoKey),
        (with(json!({ "alg": "RS256", "kid": "a".repeat(257) })), TokenFault::NoKey),
        (with(json!({ "alg": "RS256", "kid": "other" })), TokenFault::UnknownKey),
        // The key has another kind.
        (with(json!({ "alg": "ES256", "kid": "k" })), TokenFault::UnknownKey),
        (with(json!({ "alg": "EdDSA", "kid": "k" })), TokenFault::UnknownKey),
        (with(json!({ "alg": "RS256", "kid": "k", "typ": "logout+jwt" })), TokenFault::Kind),
        (with(json!({ "alg": "RS256", "kid": "k", "crit": ["exp"] })), TokenFault::Critical),
        (with(json!({ "kid": "k" })), TokenFault::NotAToken),
        (with(json!(["RS256"])), TokenFault::NotAToken),
        (key.token_with(&json!({ "alg": "RS256", "kid": "k" }), &json!(["alice"])), TokenFault::NotAToken),
        (key.token(&claims(json!({ "more": "a".repeat(LONGEST) }))), TokenFault::TooLong),
        (format!("{}=", key.token(&good)), TokenFault::NotAToken),
        (format!("{}.a", key.token(&good)), TokenFault::NotAToken),
        ("a.b.c".to_string(), TokenFault::NotAToken),
        ("..".to_string(), TokenFault::NotAToken),
        (String::new(), TokenFault::NotAToken),
    ] {
        assert_eq!(check(&keys, &token, &expected(None)).err(), Some(fault), "{token}");
    }
    check(&keys, &with(json!({ "alg": "RS256", "kid": "k", "typ": "at+jwt" })), &expected(None)).unwrap();
}

/// Attacks on a server with a missing check: each is refused, and each would succeed without its check.
#[test]
fn broken_versions_would_be_caught() {
    let key = TestKey::rsa("k");
    let keys = published(&key);
    // A version that does not check the audience: it takes what the token says.
    let foreign = key.token(&claims(json!({ "aud": "payroll" })));
    let broken = ExpectedClaims { audience: "payroll", ..expected(None) };
    assert_eq!(check(&keys, &foreign, &expected(None)), Err(TokenFault::Audience));
    assert!(check(&keys, &foreign, &broken).is_ok());
    // A version that does not check the nonce: a token of another sign-in is accepted.
    let injected = key.token(&claims(json!({ "nonce": "another" })));
    assert_eq!(check(&keys, &injected, &expected(Some("n"))), Err(TokenFault::Nonce));
    assert!(check(&keys, &injected, &expected(None)).is_ok());
    // A version that lets the token choose how it is verified, with the issuer's public key as a shared secret.
    let forged = key.confused_token(&claims(json!({ "sub": "olga" })));
    assert_eq!(check(&keys, &forged, &expected(None)), Err(TokenFault::Algorithm));
    let (message, signature) = forged.rsplit_once('.').unwrap();
    let secret = ring::hmac::Key::new(ring::hmac::HMAC_SHA256, &key.public_bytes());
    let signature = BASE64_URL_SAFE_NO_PAD.decode(signature).unwrap();
    assert!(ring::hmac::verify(&secret, message.as_bytes(), &signature).is_ok());
    // A version that accepts tokens without a signature has nothing to verify.
    let unsigned = key.unsigned_token(&claims(json!({})));
    assert_eq!(check(&keys, &unsigned, &expected(None)), Err(TokenFault::Algorithm));
}
