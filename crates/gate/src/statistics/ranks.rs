//! Ranks of draws: where in its distribution each draw of a part's noise lies.

/// The ranks of one part's draws, between 0 and 1: the middles of equal steps in random order, and then the same mirrored. So every
/// part's draws follow its law as closely as their number allows (a Latin hypercube: McKay, Beckman, Conover, *Technometrics* 21(2),
/// 1979), and to every draw of the noise on all parts there is one with all signs turned: half of the draws of a quotient are then
/// below it, exactly.
pub(super) fn shuffled_ranks(draws: usize, seed: &[u8; 32], part: usize) -> Vec<f64> {
    let half = draws.div_ceil(2);
    let mut ranks: Vec<f64> = (0..half).map(|at| (at as f64 + 0.5) / half as f64).collect();
    let mut generator = SplitMix::new(seed, part as u64);
    for at in (1..ranks.len()).rev() {
        ranks.swap(at, generator.below(at as u64 + 1) as usize);
    }
    let mirrored: Vec<f64> = ranks.iter().map(|rank| 1.0 - rank).collect();
    ranks.extend(mirrored);
    ranks
}

/// The generator of Steele, Lea, Flood, *Fast splittable pseudorandom number generators*, OOPSLA 2014. Nothing about privacy rests on
/// it: the draws say how accurate an answer is, from numbers that are public by then.
#[derive(Clone, Debug)]
pub(super) struct SplitMix(u64);

impl SplitMix {
    pub(super) fn new(seed: &[u8; 32], stream: u64) -> SplitMix {
        let mut generator = SplitMix(stream);
        for word in seed.chunks_exact(8) {
            generator.0 ^= u64::from_le_bytes(word.try_into().expect("chunks of eight bytes"));
            generator.0 = generator.next();
        }
        generator
    }

    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `end`; that some are likelier by `end`/2⁶⁴ does not matter here.
    fn below(&mut self, end: u64) -> u64 {
        ((u128::from(self.next()) * u128::from(end)) >> 64) as u64
    }

    /// A number strictly between 0 and 1.
    #[cfg(test)]
    pub(super) fn unit(&mut self) -> f64 {
        ((self.next() >> 11) as f64 + 0.5) / (1u64 << 53) as f64
    }
}
