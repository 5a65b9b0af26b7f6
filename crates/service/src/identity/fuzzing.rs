//! The way of a token of an issuer, without the issuer.

use super::*;

/// Admits a token, with the keys that the issuer publishes and a claims file.
pub fn admit(token: &str, keys: &str, rules: &str) -> Result<TokenDocument, Problem> {
    let rules = ClaimRules::parse(rules).map_err(Problem::bad_request)?;
    let token = SignedToken::parse(token)?;
    let keys = serde_json::from_str(keys).ok().and_then(|keys| keys::KeySet::parse(&keys));
    let key = keys.and_then(|keys| keys.find(token.key())).ok_or(TokenFault::UnknownKey)?;
    let claims = token.verify(&key)?;
    let expected = ExpectedClaims { issuer: "https://issuer", audience: "taximeter", nonce: None };
    // Some time in the year 2024.
    let now = Timestamp::from_second(1_720_000_000).map_err(|error| Problem::bad_request(error.to_string()))?;
    let validity = claims.check(&expected, now)?;
    rules.grant(&claims, validity, expected.issuer)
}
