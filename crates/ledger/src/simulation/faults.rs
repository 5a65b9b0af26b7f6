//! What goes wrong, and how often.

use fastrand::Rng;

/// How an exchange over the network fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    /// At once.
    Refused,
    /// After all the time that the caller has.
    Hung,
}

/// What is simulated in one episode, drawn from its seed.
#[derive(Clone, Debug)]
pub(super) struct EpisodeSetting {
    /// Whether processes share a server, or one process has a file.
    pub(super) is_shared: bool,
    pub(super) processes: usize,
    /// Witnesses on other machines, and how many must cosign.
    pub(super) cosigners: usize,
    pub(super) demanded: usize,
    /// Faults are this many times rarer than usual; 0 is none at all.
    pub(super) rarity: u32,
    pub(super) overlap: bool,
}

impl EpisodeSetting {
    /// How many witnesses may lie at the same time, and the ledger still opens.
    pub(super) fn most_liars(&self) -> usize {
        let awaited = self.demanded.max(self.cosigners + 1 - self.demanded);
        self.cosigners.saturating_sub(awaited)
    }

    pub(super) fn draw(random: &mut Rng) -> EpisodeSetting {
        let is_shared = random.bool();
        let cosigners = [0, 0, 1, 2, 3, 3, 5][random.usize(..7)];
        EpisodeSetting {
            is_shared,
            processes: if is_shared { random.usize(1..=3) } else { 1 },
            cosigners,
            demanded: if cosigners == 0 { 0 } else { random.usize(1..=cosigners) },
            rarity: [1, 1, 2, 5, 20][random.usize(..5)],
            overlap: random.bool(),
        }
    }
}
