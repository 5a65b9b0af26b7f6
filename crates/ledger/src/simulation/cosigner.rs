//! A witness on another machine. What it may cosign is decided by the code of real ones.

use fastrand::Rng;
use taximeter_transparency::{
    Checkpoint, CosignRefusal, CosignRequest, Cosigned, KeyUse, NodeHash, SecretKey, SignedCheckpoint, TrustedKey,
    decide,
};

pub(super) struct SimulatedCosigner {
    pub(super) key: SecretKey,
    signers: Vec<TrustedKey>,
    /// What it goes by, and shows.
    remembered: Option<(Cosigned, SignedCheckpoint)>,
    /// What is on its disk.
    stored: Option<(Cosigned, SignedCheckpoint)>,
    /// It refuses connections.
    pub(super) is_away: bool,
    /// It takes requests, and does not answer.
    pub(super) is_hung: bool,
    /// It says that it cosigned something else.
    pub(super) lies: bool,
    /// The key that it signs checkpoints with which no ledger has made.
    forger: SecretKey,
    time: u64,
}

impl SimulatedCosigner {
    /// A witness. Its forger's key is one that no ledger trusts, unless another is given.
    pub(super) fn new(at: usize, signers: Vec<TrustedKey>, forger: Option<&SecretKey>) -> SimulatedCosigner {
        let key = SecretKey::generate(&format!("witness{at}.example"), KeyUse::Cosign).expect("a key");
        let own = || SecretKey::generate(signers[0].key.name(), KeyUse::Sign).expect("a key");
        let forger = forger.map_or_else(own, |key| SecretKey::parse(&key.to_text()).expect("its own text"));
        SimulatedCosigner {
            key,
            signers,
            remembered: None,
            stored: None,
            is_away: false,
            is_hung: false,
            lies: false,
            forger,
            time: 1_800_000_000,
        }
    }

    /// How many records it has on its disk that it cosigned.
    pub(super) fn stored(&self) -> Option<u64> {
        self.stored.as_ref().map(|(cosigned, _)| cosigned.size)
    }

    /// Answers a request. What it cosigns is stored first, unless a defect makes it careless.
    pub(super) fn answer(&mut self, path: &str, body: &str, is_careless: bool, random: &mut Rng) -> (u16, String) {
        match path {
            "latest-checkpoint" if self.lies => self.show_something(body, random),
            "latest-checkpoint" => match &self.remembered {
                Some((_, shown)) => (200, shown.to_string()),
                None => (404, String::new()),
            },
            _ => self.cosign(body, is_careless, random),
        }
    }

    fn cosign(&mut self, body: &str, is_careless: bool, random: &mut Rng) -> (u16, String) {
        let Ok(request) = CosignRequest::parse(body) else { return (400, String::new()) };
        if self.lies {
            let size = request.checkpoint.checkpoint().size;
            return match random.u8(..4) {
                0 => (422, String::new()),
                1 => (409, format!("{}\n", request.old)),
                2 => (409, format!("{}\n", size + 1)),
                _ => (409, format!("{}\n", size + random.u64(2..1 << 40))),
            };
        }
        self.time += 1;
        match decide(&request, &self.signers, self.remembered.as_ref().map(|(cosigned, _)| *cosigned)) {
            Ok(cosigned) => {
                let before = self.remembered.replace((cosigned, request.checkpoint.signed_by(&self.signers)));
                // What it cosigned before is on its disk by now.
                self.stored = if is_careless { before } else { self.remembered.clone() };
                (200, request.cosign(&self.key, self.time).to_string())
            }
            Err(CosignRefusal::Conflict { cosigned }) => (409, format!("{cosigned}\n")),
            Err(CosignRefusal::UnknownLedger(_)) => (404, String::new()),
            Err(CosignRefusal::NotSigned(_)) => (403, String::new()),
            Err(CosignRefusal::WrongSizes { .. }) => (400, String::new()),
            Err(CosignRefusal::Inconsistent(_)) => (422, String::new()),
        }
    }

    /// Something that proves nothing: an old checkpoint, one that no ledger signed, what it was sent, nothing.
    fn show_something(&self, body: &str, random: &mut Rng) -> (u16, String) {
        let Ok(asks) = SignedCheckpoint::parse(body) else { return (400, String::new()) };
        match (random.u8(..4), &self.remembered) {
            (0, Some((_, shown))) => (200, shown.to_string()),
            (1, _) => (200, body.to_string()),
            (2, _) => (404, String::new()),
            _ => {
                let (size, root) = (asks.checkpoint().size + random.u64(..3), NodeHash::leaf(&[7; 32]));
                let forged = Checkpoint { size, root, ..asks.checkpoint().clone() };
                (200, forged.sign([&self.forger]).to_string())
            }
        }
    }

    /// It loses its power, and starts again.
    pub(super) fn restart(&mut self) {
        self.remembered = self.stored.clone();
    }
}
