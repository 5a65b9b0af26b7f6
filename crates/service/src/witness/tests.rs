//! What a witness remembers survives its process, and a damaged file is not used.

use taximeter_transparency::{Checkpoint, Frontier};

use super::*;

struct Fixture {
    folder: tempfile::TempDir,
    key: String,
    ledgers: Vec<SecretKey>,
}

impl Fixture {
    fn new() -> Fixture {
        let key = SecretKey::generate("witness.example", KeyUse::Cosign).unwrap();
        let folder = tempfile::tempdir().unwrap();
        CosigningWitness::create(&folder.path().join("state"), key.public()).unwrap();
        let origin = |digit: &str| Checkpoint::origin_of(&digit.repeat(32));
        let ledgers = ["a", "b", "c"].map(|digit| SecretKey::generate(&origin(digit), KeyUse::Sign).unwrap());
        Fixture { folder, key: key.to_text(), ledgers: ledgers.into() }
    }

    fn state(&self) -> PathBuf {
        self.folder.path().join("state")
    }

    fn open(&self) -> Result<CosigningWitness, Problem> {
        let signers = self.ledgers.iter().map(|key| TrustedKey::parse(&key.public().to_string()).unwrap()).collect();
        CosigningWitness::open(SecretKey::parse(&self.key).unwrap(), &self.state(), signers)
    }

    /// A request of a ledger, whose records are numbered from a number on.
    fn request(&self, ledger: usize, old: usize, size: usize, from: u8) -> String {
        let leaves: Vec<NodeHash> = (0..size).map(|at| NodeHash::leaf(&[from + at as u8; 32])).collect();
        let key = &self.ledgers[ledger];
        let time = "2026-11-18T12:00:00Z".parse().unwrap();
        let (origin, root) = (key.public().name().to_string(), Frontier::of(&leaves).root());
        let checkpoint = Checkpoint { origin, size: size as u64, root, record: [0; 32], time }.sign([key]);
        let path = Frontier::of(&leaves[..old]).extension(&leaves[old..]);
        CosignRequest { old: old as u64, path, checkpoint }.to_text()
    }
}

fn status(witness: &CosigningWitness, request: &str) -> u16 {
    witness.answer(request, 7).unwrap().status
}

#[test]
fn what_was_cosigned_is_remembered_after_a_restart() {
    let fixture = Fixture::new();
    for (old, size) in [(0, 3), (3, 4), (4, 9)] {
        for ledger in 0..3 {
            assert_eq!(status(&fixture.open().unwrap(), &fixture.request(ledger, old, size, 0)), 200);
        }
    }
    let witness = fixture.open().unwrap();
    // It never goes back and never signs another history.
    let back = witness.answer(&fixture.request(1, 0, 9, 0), 7).unwrap();
    assert_eq!((back.status, back.body.as_str(), back.is_evidence), (409, "9\n", false));
    let fork = witness.answer(&fixture.request(1, 9, 12, 100), 7).unwrap();
    assert_eq!((fork.status, fork.is_evidence), (422, true));
    let same_size = witness.answer(&fixture.request(1, 9, 9, 100), 7).unwrap();
    assert_eq!((same_size.status, same_size.is_evidence), (409, true));
    assert_eq!(status(&witness, "nonsense"), 400);
    assert_eq!(status(&witness, &fixture.request(2, 9, 12, 0)), 200);
    assert!(fixture.open().is_err(), "one process at a time");
}

/// What it cosigned last is its proof, also after a restart, and for those alone who have a checkpoint of the ledger.
#[test]
fn what_was_cosigned_is_shown_to_the_ledger_that_signed_it() {
    let fixture = Fixture::new();
    let note = |ledger, size, from| {
        let request = CosignRequest::parse(&fixture.request(ledger, 0, size, from)).unwrap();
        request.checkpoint.to_string()
    };
    assert_eq!(fixture.open().unwrap().show(&note(0, 2, 0)).status, 404, "it has cosigned nothing yet");
    for (old, size) in [(0, 3), (3, 4), (4, 9)] {
        assert_eq!(status(&fixture.open().unwrap(), &fixture.request(1, old, size, 0)), 200);
    }
    // Refused, and so not shown.
    assert_eq!(status(&fixture.open().unwrap(), &fixture.request(1, 9, 12, 100)), 422);
    let shown = fixture.open().unwrap().show(&note(1, 2, 50));
    assert_eq!((shown.status, shown.body.as_str()), (200, note(1, 9, 0).as_str()));
    let witness = fixture.open().unwrap();
    assert_eq!(witness.show(&note(0, 2, 0)).status, 404);
    assert_eq!(witness.show("nonsense").status, 400);
    let stranger = SecretKey::generate(fixture.ledgers[1].public().name(), KeyUse::Sign).unwrap();
    let asks = SignedCheckpoint::parse(&note(1, 2, 0)).unwrap().checkpoint().clone().sign([&stranger]);
    assert_eq!(witness.show(&asks.to_string()).status, 403);
    drop(witness);

    // A crash in the middle of a write left the line of it, or the file is of an earlier version: it cosigns as ever.
    let mut bytes = std::fs::read(fixture.state()).unwrap();
    for (place, size) in [(1, 4), (2, 0)] {
        bytes[place * PLACE + SHOWN..(place + 1) * PLACE].fill(b' ');
        std::fs::write(fixture.state(), &bytes).unwrap();
        let shown = fixture.open().unwrap().show(&note(1, 2, 0));
        let expected = if size > 0 { (200, note(1, size, 0)) } else { (404, shown.body.clone()) };
        assert_eq!((shown.status, shown.body), expected);
    }
    assert_eq!(status(&fixture.open().unwrap(), &fixture.request(1, 9, 12, 0)), 200);
    assert_eq!(fixture.open().unwrap().show(&note(1, 2, 0)).body, note(1, 12, 0));
}

#[test]
fn a_memory_that_was_cut_off_or_damaged_is_not_used() {
    let fixture = Fixture::new();
    for (ledger, old, size) in [(0, 0, 3), (1, 0, 5), (0, 3, 4)] {
        assert_eq!(status(&fixture.open().unwrap(), &fixture.request(ledger, old, size, 0)), 200);
    }
    let whole = std::fs::read(fixture.state()).unwrap();
    let refused = |bytes: &[u8], what: &str| {
        std::fs::write(fixture.state(), bytes).unwrap();
        let problem = fixture.open().err().unwrap_or_else(|| panic!("{what} should be refused"));
        assert_eq!(problem.code, Code::Integrity, "{what}: {problem}");
    };
    for length in [0, 1, PLACE - 1, PLACE, 2 * PLACE, 3 * PLACE, whole.len() - PLACE, whole.len() - 1] {
        refused(&whole[..length], &format!("a memory of {length} bytes"));
    }
    for place in 0..whole.len() / PLACE {
        let line = whole[place * PLACE..].iter().position(|byte| *byte == b'\n').unwrap();
        for at in (0..line).step_by(7) {
            let mut damaged = whole.clone();
            damaged[place * PLACE + at] ^= 1;
            refused(&damaged, &format!("byte {at} of place {place}"));
        }
    }
    std::fs::write(fixture.state(), &whole).unwrap();
    fixture.open().unwrap();
    // The file of another witness is not used, and a missing file is not created again.
    let other = Fixture::new();
    std::fs::copy(fixture.state(), other.state()).unwrap();
    assert_eq!(other.open().err().unwrap().code, Code::Integrity);
    std::fs::remove_file(other.state()).unwrap();
    assert!(other.open().is_err() && !other.state().exists());
}
