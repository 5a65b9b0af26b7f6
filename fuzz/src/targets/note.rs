//! Signed notes, checkpoints, requests to witnesses, and keys.

use std::sync::LazyLock;

use taximeter_transparency::{
    Checkpoint, CosignRequest, KeyUse, NodeHash, NoteSignature, PublicKey, SecretKey, SignedCheckpoint, Trust,
    TrustedKey, decide,
};

/// A signer of this target alone, and what it signed.
static SIGNED: LazyLock<(Trust, SignedCheckpoint)> = LazyLock::new(|| {
    let origin = Checkpoint::origin_of(&"a".repeat(32));
    let key = SecretKey::generate(&origin, KeyUse::Sign).unwrap();
    let (root, record, time) = (NodeHash::leaf(&[1; 32]), [1; 32], "2026-11-18T12:00:00Z".parse().unwrap());
    let signed = Checkpoint { origin, size: 1, root, record, time }.sign([&key]);
    let signer = TrustedKey { key: key.public().clone(), records: 0..=u64::MAX };
    (Trust { signers: vec![signer], cosigners: Vec::new(), required: 0 }, signed)
});

/// What is read is written as it was. Nothing that a signer did not sign passes, whatever is changed in what it signed.
pub fn check(data: &[u8]) {
    let Some(text) = super::text(data) else { return };
    let (trust, signed) = &*SIGNED;
    if let Ok(checkpoint) = SignedCheckpoint::parse(text) {
        assert_eq!(checkpoint.to_string(), text);
        assert!(checkpoint.check(trust).is_err(), "{text:?} is not signed");
    }
    // The signature of another text, and another text before it.
    let note = signed.to_string();
    let (_, signature) = note.rsplit_once("\n\n").unwrap();
    for changed in [format!("{text}\n{signature}"), format!("{}{text}", signed.note().text())] {
        if let Ok(changed) = SignedCheckpoint::parse(&changed)
            && changed.check(trust).is_ok()
        {
            assert_eq!(changed.note().text(), signed.note().text());
        }
    }
    if let Ok(request) = CosignRequest::parse(text) {
        assert_eq!(request.to_text(), text);
        assert!(decide(&request, &trust.signers, None).is_err());
    }
    if let Ok(lines) = NoteSignature::parse_lines(text) {
        assert_eq!(lines.iter().map(ToString::to_string).collect::<String>(), text);
    }
    if let Ok(key) = PublicKey::parse(text) {
        assert_eq!(PublicKey::parse(&key.to_string()), Ok(key));
    }
    if let Ok(trusted) = TrustedKey::parse(text) {
        assert!(!trusted.records.is_empty());
    }
    if let Ok(key) = SecretKey::parse(text) {
        assert_eq!(SecretKey::parse(&key.to_text()).map(|same| same.public().clone()), Ok(key.public().clone()));
    }
}
