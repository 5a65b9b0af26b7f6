use serde_json::json;
use taximeter_testing::TestKey;

use super::*;

#[test]
fn keys_that_cannot_verify_are_left_out() {
    let good = TestKey::rsa("good").published();
    let with = |more: Value| {
        let mut key = good.clone();
        key.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        key
    };
    let p256 = TestKey::p256("p256").published();
    let keys = KeySet::parse(&json!({ "keys": [
        { "kty": "oct", "kid": "shared", "k": "c2VjcmV0" },
        { "kty": "OKP", "kid": "x25519", "crv": "X25519", "x": "AAAA" },
        { "kty": "EC", "kid": "p521", "crv": "P-521", "x": "AAAA", "y": "AAAA" },
        { "kty": "EC", "kid": "short", "crv": "P-256", "x": "AAAA", "y": p256["y"] },
        { "kid": "nothing" },
        { "kty": "RSA", "n": good["n"], "e": good["e"] },
        "nonsense",
        with(json!({ "kid": "encrypts", "use": "enc" })),
        with(json!({ "kid": "signs", "key_ops": ["sign"] })),
        with(json!({ "kid": "512", "alg": "RS512" })),
        with(json!({ "kid": "bad", "n": "not base64!" })),
        with(json!({ "kid": "pss", "alg": "PS256" })),
        with(json!({ "kid": "zeros", "n": format!("AAAA{}", good["n"].as_str().unwrap()) })),
        good,
        p256,
    ] }))
    .unwrap();
    let ids: Vec<&str> = keys.0.iter().map(|(kid, _)| kid.as_str()).collect();
    assert_eq!(ids, ["pss", "zeros", "good", "p256"]);
    assert!(keys.find(("pss", Algorithm::PS256)).is_some() && keys.find(("pss", Algorithm::RS256)).is_none());
    assert_eq!(keys.find(("zeros", Algorithm::RS256)), keys.find(("good", Algorithm::RS256)));
    assert!(KeySet::parse(&json!({})).is_none() && KeySet::parse(&json!({ "keys": 1 })).is_none());
    let many: Vec<Value> = (0..500).map(|at| with(json!({ "kid": at.to_string() }))).collect();
    assert_eq!(KeySet::parse(&json!({ "keys": many })).unwrap().0.len(), MOST);
}

/// An RSA key of 1024 bits can be broken.
#[test]
fn a_short_key_verifies_nothing() {
    let key = json!({ "kty": "RSA", "kid": "k", "e": "AQAB", "n": BASE64_URL_SAFE_NO_PAD.encode([0xff; 128]) });
    let keys = KeySet::parse(&json!({ "keys": [key] })).unwrap();
    assert!(!keys.find(("k", Algorithm::RS256)).unwrap().verifies(Algorithm::RS256, b"", &[1; 128]));
}

const TIMES: KeyTimes = KeyTimes { lifetime: Duration::from_secs(3600), pause: Duration::from_secs(10) };

fn second(start: Instant, seconds: u64) -> Instant {
    start + Duration::from_secs(seconds)
}

#[test]
fn keys_are_known_for_an_hour_after_they_were_read() {
    let (mut cache, start) = (KeyCache::new(TIMES), Instant::now());
    let find = |cache: &KeyCache<&'static str>, at, wanted| cache.find(at, |known| (*known == wanted).then_some(()));
    assert_eq!(find(&cache, start, "k"), KeyLookup::Unavailable);
    assert!(cache.ask(start));
    assert_eq!(find(&cache, start, "k"), KeyLookup::Unavailable, "it has not answered yet");
    cache.keep("k", start);
    assert_eq!(find(&cache, start, "k"), KeyLookup::Known(()));
    assert_eq!(find(&cache, start, "other"), KeyLookup::Unknown);
    // The issuer goes away: cached keys stay valid, and the cache cannot say anything about others.
    assert!(cache.ask(second(start, 20)));
    assert_eq!(find(&cache, second(start, 3599), "k"), KeyLookup::Known(()));
    assert_eq!(find(&cache, second(start, 3599), "other"), KeyLookup::Unavailable);
    assert_eq!(find(&cache, second(start, 3600), "k"), KeyLookup::Unavailable);
    assert_eq!(cache.current(second(start, 3600)), None);
    // It comes back with another key.
    assert!(cache.ask(second(start, 4000)));
    cache.keep("other", second(start, 4000));
    assert_eq!(find(&cache, second(start, 4000), "k"), KeyLookup::Unknown);
    assert_eq!(find(&cache, second(start, 4000), "other"), KeyLookup::Known(()));
}

#[test]
fn the_issuer_is_asked_every_ten_seconds_at_most_whether_or_not_it_answers() {
    for answers in [false, true] {
        let (mut cache, start) = (KeyCache::new(TIMES), Instant::now());
        let mut asked = Vec::new();
        for at in 0..60 {
            if cache.ask(second(start, at)) {
                asked.push(at);
                if answers {
                    cache.keep("k", second(start, at));
                }
            }
        }
        assert_eq!(asked, [0, 10, 20, 30, 40, 50]);
    }
}
