//! What a witness cosigns and what it refuses. Each of its rules, left out, would let a ledger go back or fork.

use super::*;
use crate::{Checkpoint, Frontier, KeyUse};

const LEDGER: &str = "0123456789abcdef0123456789abcdef";

struct Ledger {
    leaves: Vec<NodeHash>,
    key: SecretKey,
}

impl Ledger {
    fn new(size: u8) -> Ledger {
        let key = SecretKey::generate(&Checkpoint::origin_of(LEDGER), KeyUse::Sign).unwrap();
        Ledger { leaves: (0..size).map(|at| NodeHash::leaf(&[at; 32])).collect(), key }
    }

    fn request(&self, old: usize, size: usize) -> CosignRequest {
        let (before, all) = (Frontier::of(&self.leaves[..old]), Frontier::of(&self.leaves[..size]));
        let time = "2026-11-18T12:00:00Z".parse().unwrap();
        let origin = Checkpoint::origin_of(LEDGER);
        let checkpoint = Checkpoint { origin, size: size as u64, root: all.root(), record: [0; 32], time };
        let path = before.extension(&self.leaves[old..size]);
        CosignRequest { old: old as u64, path, checkpoint: checkpoint.sign([&self.key]) }
    }

    fn cosigned(&self, size: usize) -> Option<Cosigned> {
        Some(Cosigned { size: size as u64, root: Frontier::of(&self.leaves[..size]).root() })
    }

    fn signers(&self) -> Vec<TrustedKey> {
        vec![TrustedKey::parse(&self.key.public().to_string()).unwrap()]
    }
}

#[test]
fn a_request_reads_back_and_what_extends_is_cosigned() {
    let ledger = Ledger::new(40);
    let mut seen = None;
    for (old, size) in [(0, 3), (3, 4), (4, 4), (4, 17), (17, 40)] {
        let request = ledger.request(old, size);
        assert_eq!(CosignRequest::parse(&request.to_text()).unwrap(), request);
        let now = decide(&request, &ledger.signers(), seen).unwrap();
        assert_eq!(Some(now), ledger.cosigned(size));
        seen = Some(now);
        let witness = SecretKey::generate("witness.example", KeyUse::Cosign).unwrap();
        let mut checkpoint = request.checkpoint.clone();
        checkpoint.add_cosignature(witness.public(), &[request.cosign(&witness, 7)]).unwrap();
        assert_eq!(witness.public().cosigned(checkpoint.note()), Some(7));
    }
}

#[test]
fn a_witness_never_goes_back() {
    let ledger = Ledger::new(40);
    for (old, size) in [(0, 9), (0, 40), (9, 20), (20, 20), (19, 30)] {
        let refused = decide(&ledger.request(old, size), &ledger.signers(), ledger.cosigned(21)).unwrap_err();
        assert_eq!(refused, CosignRefusal::Conflict { cosigned: 21 }, "from {old} to {size}");
    }
    // Even if the ledger says that it knows.
    let request = CosignRequest { old: 21, ..ledger.request(0, 20) };
    assert_eq!(
        decide(&request, &ledger.signers(), ledger.cosigned(21)).unwrap_err(),
        CosignRefusal::WrongSizes { old: 21, size: 20 }
    );
}

#[test]
fn a_witness_does_not_sign_a_fork() {
    let ledger = Ledger::new(40);
    let mut fork = Ledger { leaves: ledger.leaves.clone(), key: SecretKey::parse(&ledger.key.to_text()).unwrap() };
    fork.leaves[7] = NodeHash::leaf(&[99; 32]);
    for size in [22, 32, 40] {
        let refused = decide(&fork.request(21, size), &ledger.signers(), ledger.cosigned(21)).unwrap_err();
        assert!(matches!(refused, CosignRefusal::Inconsistent(ProofError::Fork { old: 21, .. })), "{refused}");
    }
    // Two ledgers with one identity: the same size, and another root.
    let refused = decide(&fork.request(21, 21), &ledger.signers(), ledger.cosigned(21)).unwrap_err();
    assert_eq!(refused, CosignRefusal::Conflict { cosigned: 21 });
    // A proof of another extension.
    let request = CosignRequest { path: ledger.request(21, 39).path, ..ledger.request(21, 40) };
    assert!(decide(&request, &ledger.signers(), ledger.cosigned(21)).is_err());
}

#[test]
fn a_witness_signs_for_the_ledgers_and_keys_that_it_knows() {
    let (ledger, foreign) = (Ledger::new(5), Ledger::new(5));
    let refused = decide(&foreign.request(0, 5), &ledger.signers(), None).unwrap_err();
    assert!(matches!(refused, CosignRefusal::NotSigned(_)), "{refused}");
    let refused = decide(&ledger.request(0, 5), &[], None).unwrap_err();
    assert_eq!(refused, CosignRefusal::UnknownLedger(Checkpoint::origin_of(LEDGER)));
    for text in ["", "old 1\n", "old x\n\nnote", "old 0\nnothing\n\nnote", "new 1\n\nnote"] {
        assert!(CosignRequest::parse(text).is_err(), "{text:?}");
    }
    let long = format!("old 1\n{}\n{}", format!("{}\n", ledger.leaves[0]).repeat(64), ledger.request(0, 5).checkpoint);
    assert!(CosignRequest::parse(&long).is_err());
}

/// `old +3`, `old 03` and lines that end with a carriage return were read too, as the same request. Found by fuzzing.
#[test]
fn a_request_has_one_form() {
    let text = Ledger::new(5).request(3, 5).to_text();
    assert!(CosignRequest::parse(&text).is_ok());
    for other in [text.replace("old 3", "old +3"), text.replace("old 3", "old 03"), text.replacen("=\n", "=\r\n", 1)] {
        assert!(CosignRequest::parse(&other).is_err(), "{other}");
    }
}
