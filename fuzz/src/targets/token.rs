//! Tokens of a server, tokens of an issuer, and the claims file.

use std::sync::LazyLock;

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use ring::signature::{Ed25519KeyPair, KeyPair};
use taximeter_ledger::LedgerId;
use taximeter_service::{TokenPlace, Tokens, fuzzing};

/// What an issuer's tokens are checked with.
const RULES: &str = "name = \"corp\"\n[[grant]]\nclaim = \"groups\"\nvalue = \"staff\"\nrole = \"auditor\"\n";

static KEY: LazyLock<Ed25519KeyPair> = LazyLock::new(|| Ed25519KeyPair::from_seed_unchecked(&[7; 32]).unwrap());

/// No text is a token of a server that made none, or of an issuer who did not sign it. Claims that are signed grant what the rules
/// say, and nothing else.
pub fn check(data: &[u8]) {
    let Some(text) = super::text(data) else { return };
    static TOKENS: LazyLock<Tokens> = LazyLock::new(|| {
        let folder = tempfile::tempdir().unwrap();
        let place = TokenPlace::File(folder.path().join("tokens"));
        Tokens::open(&place, LedgerId::parse(&"a".repeat(32)).unwrap()).unwrap()
    });
    assert!(TOKENS.find(text).is_none());
    assert!(fuzzing::admit(text, &keys(), RULES).is_err(), "it is not signed");
    let _ = fuzzing::admit(&signed(r#"{"iss":"https://issuer"}"#), text, RULES);
    let _ = fuzzing::admit(&signed(CLAIMS), &keys(), text);
    if let Ok(granted) = fuzzing::admit(&signed(text), &keys(), RULES) {
        assert_eq!(granted.role, taximeter_service::Role::Auditor);
        assert!(granted.principal.ends_with("@corp") && text.contains("groups"), "{granted:?}");
    }
}

/// Claims that are admitted.
const CLAIMS: &str =
    r#"{"iss":"https://issuer","aud":"taximeter","exp":1800000000,"iat":1700000000,"sub":"alice","groups":["staff"]}"#;

/// A token of the issuer with these claims.
fn signed(claims: &str) -> String {
    let encode = |part: &[u8]| BASE64_URL_SAFE_NO_PAD.encode(part);
    let message = format!("{}.{}", encode(br#"{"alg":"EdDSA","kid":"k"}"#), encode(claims.as_bytes()));
    let signature = KEY.sign(message.as_bytes());
    format!("{message}.{}", encode(signature.as_ref()))
}

/// The keys that the issuer publishes.
fn keys() -> String {
    let point = BASE64_URL_SAFE_NO_PAD.encode(KEY.public_key().as_ref());
    format!(r#"{{"keys":[{{"kty":"OKP","crv":"Ed25519","kid":"k","x":"{point}"}}]}}"#)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Otherwise nothing behind the signature would be tried.
    #[test]
    fn claims_that_are_signed_are_admitted() {
        let granted = fuzzing::admit(&signed(CLAIMS), &keys(), RULES).unwrap();
        assert_eq!(granted.principal, "alice@corp");
    }
}
