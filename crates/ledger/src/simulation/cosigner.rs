//! A witness on another machine. What it may cosign is decided by the code of real ones.

use taximeter_transparency::{CosignRefusal, CosignRequest, Cosigned, KeyUse, SecretKey, TrustedKey, decide};

pub(super) struct SimulatedCosigner {
    pub(super) key: SecretKey,
    signers: Vec<TrustedKey>,
    /// What it goes by.
    remembered: Option<Cosigned>,
    /// What is on its disk.
    pub(super) stored: Option<Cosigned>,
    /// It refuses connections.
    pub(super) is_away: bool,
    /// It takes requests, and does not answer.
    pub(super) is_hung: bool,
    time: u64,
}

impl SimulatedCosigner {
    pub(super) fn new(at: usize, signers: Vec<TrustedKey>) -> SimulatedCosigner {
        let key = SecretKey::generate(&format!("witness{at}.example"), KeyUse::Cosign).expect("a key");
        SimulatedCosigner {
            key,
            signers,
            remembered: None,
            stored: None,
            is_away: false,
            is_hung: false,
            time: 1_800_000_000,
        }
    }

    /// Answers a request. What it cosigns is stored first, unless a defect makes it careless.
    pub(super) fn answer(&mut self, body: &str, is_careless: bool) -> (u16, String) {
        let Ok(request) = CosignRequest::parse(body) else { return (400, String::new()) };
        self.time += 1;
        match decide(&request, &self.signers, self.remembered) {
            Ok(cosigned) => {
                if is_careless {
                    // What it cosigned before is on its disk by now.
                    self.stored = self.remembered.replace(cosigned);
                } else {
                    self.remembered = Some(cosigned);
                    self.stored = self.remembered;
                }
                (200, request.cosign(&self.key, self.time).to_string())
            }
            Err(CosignRefusal::Conflict { cosigned }) => (409, format!("{cosigned}\n")),
            Err(CosignRefusal::UnknownLedger(_)) => (404, String::new()),
            Err(CosignRefusal::NotSigned(_)) => (403, String::new()),
            Err(CosignRefusal::WrongSizes { .. }) => (400, String::new()),
            Err(CosignRefusal::Inconsistent(_)) => (422, String::new()),
        }
    }

    /// It loses its power, and starts again.
    pub(super) fn restart(&mut self) {
        self.remembered = self.stored;
    }
}
