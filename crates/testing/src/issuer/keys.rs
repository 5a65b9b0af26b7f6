//! Keys of an issuer, and tokens signed with them.

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use ring::rand::SystemRandom;
use ring::rsa::PublicKeyComponents;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, Ed25519KeyPair, KeyPair, RSA_PKCS1_SHA256, RSA_PSS_SHA256,
    RsaKeyPair,
};
use serde_json::{Value, json};

/// A key of an issuer.
pub struct TestKey {
    kid: String,
    pair: KeyPairKind,
}

enum KeyPairKind {
    Rsa(RsaKeyPair),
    P256(EcdsaKeyPair),
    Ed25519(Ed25519KeyPair),
}

fn encode(bytes: impl AsRef<[u8]>) -> String {
    BASE64_URL_SAFE_NO_PAD.encode(bytes)
}

#[allow(clippy::missing_panics_doc, reason = "a test cannot go on without its keys")]
impl TestKey {
    /// An RSA key, always the same: it signs nothing but tests.
    pub fn rsa(kid: &str) -> TestKey {
        let pair = RsaKeyPair::from_pkcs8(include_bytes!("rsa.der")).unwrap();
        TestKey { kid: kid.to_string(), pair: KeyPairKind::Rsa(pair) }
    }

    /// A new key on P-256.
    pub fn p256(kid: &str) -> TestKey {
        let (kind, random) = (&ECDSA_P256_SHA256_FIXED_SIGNING, SystemRandom::new());
        let document = EcdsaKeyPair::generate_pkcs8(kind, &random).unwrap();
        let pair = EcdsaKeyPair::from_pkcs8(kind, document.as_ref(), &random).unwrap();
        TestKey { kid: kid.to_string(), pair: KeyPairKind::P256(pair) }
    }

    /// A new key on Ed25519.
    pub fn ed25519(kid: &str) -> TestKey {
        let document = Ed25519KeyPair::generate_pkcs8(&SystemRandom::new()).unwrap();
        let pair = Ed25519KeyPair::from_pkcs8(document.as_ref()).unwrap();
        TestKey { kid: kid.to_string(), pair: KeyPairKind::Ed25519(pair) }
    }

    /// Its id.
    pub fn kid(&self) -> &str {
        &self.kid
    }

    /// The algorithm that it signs with if nothing else is said.
    pub fn algorithm(&self) -> &'static str {
        match self.pair {
            KeyPairKind::Rsa(_) => "RS256",
            KeyPairKind::P256(_) => "ES256",
            KeyPairKind::Ed25519(_) => "EdDSA",
        }
    }

    /// Its public part, as bytes: what a confused server would take as a shared secret.
    pub fn public_bytes(&self) -> Vec<u8> {
        match &self.pair {
            KeyPairKind::Rsa(pair) => pair.public_key().as_ref().to_vec(),
            KeyPairKind::P256(pair) => pair.public_key().as_ref().to_vec(),
            KeyPairKind::Ed25519(pair) => pair.public_key().as_ref().to_vec(),
        }
    }

    /// Its public part, as an issuer publishes it.
    pub fn published(&self) -> Value {
        let public = self.public_bytes();
        let mut key = match &self.pair {
            KeyPairKind::Rsa(pair) => {
                let PublicKeyComponents { n, e } = PublicKeyComponents::<Vec<u8>>::from(pair.public());
                json!({ "kty": "RSA", "n": encode(n), "e": encode(e) })
            }
            KeyPairKind::P256(_) => {
                json!({ "kty": "EC", "crv": "P-256", "x": encode(&public[1..33]), "y": encode(&public[33..]) })
            }
            KeyPairKind::Ed25519(_) => json!({ "kty": "OKP", "crv": "Ed25519", "x": encode(public) }),
        };
        key["kid"] = self.kid.as_str().into();
        key["use"] = "sig".into();
        key
    }

    /// A token with these claims.
    pub fn token(&self, claims: &Value) -> String {
        self.token_with(&json!({ "alg": self.algorithm(), "kid": self.kid, "typ": "JWT" }), claims)
    }

    /// A token with this header, signed with the header's algorithm if the key can, and else with its own.
    pub fn token_with(&self, header: &Value, claims: &Value) -> String {
        let message = format!("{}.{}", encode(header.to_string()), encode(claims.to_string()));
        let random = SystemRandom::new();
        let signature = match &self.pair {
            KeyPairKind::Rsa(pair) => {
                let padding: &dyn ring::signature::RsaEncoding =
                    if header["alg"] == "PS256" { &RSA_PSS_SHA256 } else { &RSA_PKCS1_SHA256 };
                let mut signature = vec![0; pair.public().modulus_len()];
                pair.sign(padding, &random, message.as_bytes(), &mut signature).unwrap();
                signature
            }
            KeyPairKind::P256(pair) => pair.sign(&random, message.as_bytes()).unwrap().as_ref().to_vec(),
            KeyPairKind::Ed25519(pair) => pair.sign(message.as_bytes()).as_ref().to_vec(),
        };
        format!("{message}.{}", encode(signature))
    }

    /// A forged token: its "signature" is made with the public key as if it were a shared secret.
    pub fn confused_token(&self, claims: &Value) -> String {
        let header = json!({ "alg": "HS256", "kid": self.kid, "typ": "JWT" });
        let message = format!("{}.{}", encode(header.to_string()), encode(claims.to_string()));
        let secret = ring::hmac::Key::new(ring::hmac::HMAC_SHA256, &self.public_bytes());
        let signature = encode(ring::hmac::sign(&secret, message.as_bytes()));
        format!("{message}.{signature}")
    }

    /// A token that says that it needs no signature.
    pub fn unsigned_token(&self, claims: &Value) -> String {
        let header = json!({ "alg": "none", "kid": self.kid, "typ": "JWT" });
        format!("{}.{}.", encode(header.to_string()), encode(claims.to_string()))
    }
}
