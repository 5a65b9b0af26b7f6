//! Checkpoints: one form, signatures that hold for one text and one range of records.

use super::*;
use crate::{Frontier, KeyUse};

const LEDGER: &str = "0123456789abcdef0123456789abcdef";

fn checkpoint(size: u64) -> Checkpoint {
    let leaves: Vec<NodeHash> = (0..size).map(|at| NodeHash::leaf(&[at as u8; 32])).collect();
    let time = "2026-11-18T12:00:00Z".parse().unwrap();
    let (origin, root) = (Checkpoint::origin_of(LEDGER), Frontier::of(&leaves).root());
    Checkpoint { origin, size, root, record: [size as u8 - 1; 32], time }
}

fn signer() -> SecretKey {
    SecretKey::generate(&Checkpoint::origin_of(LEDGER), KeyUse::Sign).unwrap()
}

fn trust(signers: &[&str], cosigners: &[&SecretKey], required: usize) -> Trust {
    let signers = signers.iter().map(|text| TrustedKey::parse(text).unwrap()).collect();
    Trust { signers, cosigners: cosigners.iter().map(|key| key.public().clone()).collect(), required }
}

#[test]
fn a_checkpoint_reads_back_as_it_was_signed() {
    let key = signer();
    let signed = checkpoint(42).sign([&key]);
    let text = signed.to_string();
    assert_eq!(SignedCheckpoint::parse(&text).unwrap(), signed);
    assert!(text.starts_with("taximeter/0123456789abcdef0123456789abcdef\n42\n"), "{text}");
    assert_eq!(signed.checkpoint().ledger(), LEDGER);
    signed.check(&trust(&[&key.public().to_string()], &[], 0)).unwrap();
    for (from, to) in [
        ("42\n", "+42\n"),
        ("42\n", "042\n"),
        ("record 41", "record 40"),
        ("\ntime", "\nTime"),
        ("taximeter/", "other/"),
    ] {
        assert!(SignedCheckpoint::parse(&text.replacen(from, to, 1)).is_err(), "{to}");
    }
}

#[test]
fn any_change_of_the_text_breaks_the_signature() {
    let key = signer();
    let text = checkpoint(42).sign([&key]).to_string();
    let trust = trust(&[&key.public().to_string()], &[], 0);
    let end = text.find("\n\n").unwrap();
    for at in 0..end {
        let mut bytes = text.clone().into_bytes();
        bytes[at] ^= 1;
        let changed = String::from_utf8(bytes).ok().and_then(|text| SignedCheckpoint::parse(&text).ok());
        assert!(changed.is_none_or(|changed| changed.check(&trust).is_err()), "byte {at}");
    }
}

#[test]
fn a_foreign_key_and_one_of_another_ledger_do_not_count() {
    let (key, foreign) = (signer(), signer());
    let other = SecretKey::generate(&Checkpoint::origin_of(&"b".repeat(32)), KeyUse::Sign).unwrap();
    let signed = checkpoint(3).sign([&key]);
    for wrong in [&foreign, &other] {
        let error = signed.check(&trust(&[&wrong.public().to_string()], &[], 0)).unwrap_err();
        assert!(error.is_failed_check(), "{error}");
    }
    // A key of the right bytes under another use is another key.
    let witness = SecretKey::generate("witness.example", KeyUse::Cosign).unwrap();
    assert!(!witness.public().signed(signed.note()));
}

#[test]
fn a_key_counts_for_the_records_that_it_is_valid_for() {
    let (old, new) = (signer(), signer());
    let keys = [format!("{}@..41", old.public()), format!("{}@42..", new.public())];
    let trust = trust(&[&keys[0], &keys[1]], &[], 0);
    // The newest record of a checkpoint of 42 is 41.
    for (size, key, holds) in [(42, &old, true), (43, &old, false), (42, &new, false), (43, &new, true)] {
        assert_eq!(checkpoint(size).sign([key]).check(&trust).is_ok(), holds, "{size}");
    }
    checkpoint(43).sign([&old, &new]).check(&trust).unwrap();
    for text in ["@", "@5", "@9..3", "@a..b", "@1..2..3"] {
        assert!(TrustedKey::parse(&format!("{}{text}", old.public())).is_err(), "{text}");
    }
}

#[test]
fn as_many_witnesses_as_required_must_have_cosigned_and_each_counts_once() {
    let key = signer();
    let witnesses = ["one", "two", "three"].map(|name| SecretKey::generate(name, KeyUse::Cosign).unwrap());
    let [one, two, three] = &witnesses;
    let mut signed = checkpoint(5).sign([&key]);
    for witness in [one, two] {
        let lines = [witness.cosign(signed.note().text(), 1_700_000_000)];
        signed.add_cosignature(witness.public(), &lines).unwrap();
        signed.add_cosignature(witness.public(), &lines).unwrap();
    }
    let own = key.public().to_string();
    assert_eq!(signed.note().signatures().len(), 3);
    assert_eq!(signed.check(&trust(&[&own], &[one, two, three], 2)).unwrap().len(), 2);
    assert!(signed.check(&trust(&[&own], &[one, two, three], 3)).is_err());
    assert!(signed.check(&trust(&[&own], &[one, one, three], 2)).is_err(), "one that is named twice counts once");
    // So does one that has two names.
    let twice = ["one", "uno"].map(|name| SecretKey::from_seed(name, KeyUse::Cosign, [7; 32]).unwrap());
    for witness in &twice {
        signed.add_cosignature(witness.public(), &[witness.cosign(signed.note().text(), 1)]).unwrap();
    }
    let [name, other_name] = &twice;
    assert_eq!(signed.check(&trust(&[&own], &[name, other_name], 1)).unwrap(), [name.public()]);
    assert!(signed.check(&trust(&[&own], &[name, other_name], 2)).is_err());
    // A cosignature of another text, and one under the name of another.
    let other = checkpoint(6).sign([&key]);
    assert!(signed.clone().add_cosignature(three.public(), &[three.cosign(other.note().text(), 1)]).is_err());
    assert!(signed.add_cosignature(three.public(), &[two.cosign(other.note().text(), 1)]).is_err());
}

#[test]
fn keys_read_back_and_say_what_is_wrong_with_them() {
    let key = signer();
    let again = SecretKey::parse(&key.to_text()).unwrap();
    assert_eq!(again.public(), key.public());
    assert_eq!(PublicKey::parse(&key.public().to_string()).unwrap(), *key.public());
    assert!(!format!("{key:?}").contains(key.to_text().trim().rsplit('+').next().unwrap()));
    for wrong in
        ["", "name", "a+b+c", "PRIVATE+KEY+a+b+c", &key.public().to_string().replacen("taximeter", "taximetre", 1)]
    {
        assert!(PublicKey::parse(wrong).is_err(), "{wrong}");
        assert!(SecretKey::parse(wrong).is_err(), "{wrong}");
    }
    for name in ["", "a b", "a+b", "a@b", "a\nb", &"x".repeat(129)] {
        assert!(SecretKey::generate(name, KeyUse::Cosign).is_err(), "{name:?}");
    }
}
