//! Random bits: ChaCha20 (RFC 8439, with a counter of 64 bits), seeded by the operating system.
//!
//! * **Reseeded** by the operating system after [`RESEED_AFTER`] bytes, so that a state that leaks tells nothing about what is drawn
//!   after the next seed.
//! * **Never continued by a forked process:** before every draw the process is compared with the one that was seeded. (A process that
//!   has the same number as the ancestor it was copied from, as may happen between containers, is not noticed; nor is a copy of the whole
//!   machine while it runs. So make a new [`Randomness`] for every answer: it costs a system call.)
//! * **Wiped:** the seed, the state and unused output are overwritten when they are dropped or replaced.

use chacha20::ChaCha20Rng;
use dashu::base::BitTest;
use dashu::integer::UBig;
use dashu::rational::RBig;
use rand_core::{Rng, SeedableRng};
use zeroize::Zeroizing;

use crate::error::NoiseError;

/// After how many bytes a new seed is taken, before the next draw begins.
const RESEED_AFTER: u64 = 1 << 20;

/// A source of independent fair bits. Do not share it between threads: make one for each.
pub struct Randomness {
    bits: RandomBits,
    /// The process that was seeded; none if the seed was given.
    process: Option<u32>,
}

impl Randomness {
    /// A secure source, seeded by the operating system.
    pub fn secure() -> Result<Randomness, NoiseError> {
        Ok(Randomness { bits: RandomBits::from_system()?, process: Some(std::process::id()) })
    }

    /// The same bits for the same seed, and so no secret: for tests and simulations, never for an answer.
    pub fn repeatable(seed: u64) -> Randomness {
        Randomness { bits: RandomBits::new(ChaCha20Rng::seed_from_u64(seed)), process: None }
    }

    /// A uniform integer below 2^count.
    pub fn bits(&mut self, count: usize) -> Result<UBig, NoiseError> {
        Ok(self.ready()?.bits(count))
    }

    /// A uniform integer below a limit, which is not 0.
    pub fn below(&mut self, limit: &UBig) -> Result<UBig, NoiseError> {
        Ok(self.ready()?.below(limit))
    }

    /// True with this probability; never below 0, always from 1 on.
    pub fn bernoulli(&mut self, probability: &RBig) -> Result<bool, NoiseError> {
        Ok(match probability.numerator().as_ubig() {
            Some(numerator) => self.ready()?.bernoulli(numerator, probability.denominator()),
            None => false,
        })
    }

    /// True with probability e^{−x}; always for x below 0.
    pub fn bernoulli_exp(&mut self, x: &RBig) -> Result<bool, NoiseError> {
        Ok(match x.numerator().as_ubig() {
            Some(numerator) => self.ready()?.bernoulli_exp(numerator, x.denominator()),
            None => true,
        })
    }

    /// The bits for one draw, with a new seed if it is time.
    pub(crate) fn ready(&mut self) -> Result<&mut RandomBits, NoiseError> {
        let process = std::process::id();
        if self.process.is_some_and(|seeded| seeded != process || self.bits.drawn >= RESEED_AFTER) {
            self.bits = RandomBits::from_system()?;
            self.process = Some(process);
        }
        Ok(&mut self.bits)
    }
}

/// It does not show its state.
impl std::fmt::Debug for Randomness {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(if self.process.is_some() { "Randomness(secure)" } else { "Randomness(repeatable)" })
    }
}

/// The bits of one seed. Its methods cannot fail, so that algorithms read as they are printed.
pub(crate) struct RandomBits {
    /// It wipes itself.
    generator: ChaCha20Rng,
    /// How many bytes were taken.
    drawn: u64,
}

impl RandomBits {
    fn new(generator: ChaCha20Rng) -> RandomBits {
        RandomBits { generator, drawn: 0 }
    }

    fn from_system() -> Result<RandomBits, NoiseError> {
        let mut seed = Zeroizing::new([0; 32]);
        getrandom::fill(&mut *seed).map_err(NoiseError::NoRandomBytes)?;
        Ok(RandomBits::new(ChaCha20Rng::from_seed(*seed)))
    }

    /// 64 bits.
    pub(crate) fn word(&mut self) -> u64 {
        self.drawn += 8;
        self.generator.next_u64()
    }

    /// A fair coin.
    pub(crate) fn coin(&mut self) -> bool {
        self.word() >> 63 == 1
    }

    /// A uniform integer below 2^count.
    pub(crate) fn bits(&mut self, count: usize) -> UBig {
        let words = (0..count.div_ceil(64)).map(|_| self.word());
        let bytes: Vec<u8> = words.flat_map(u64::to_le_bytes).collect();
        let mut bits = UBig::from_le_bytes(&bytes);
        bits.clear_high_bits(count);
        bits
    }

    /// A uniform integer below a limit, which is not 0: one with its number of bits, drawn until it is below.
    pub(crate) fn below(&mut self, limit: &UBig) -> UBig {
        if let Ok(limit) = u64::try_from(limit) {
            return self.below_word(limit).into();
        }
        let count = limit.bit_len();
        loop {
            let drawn = self.bits(count);
            if drawn < *limit {
                return drawn;
            }
        }
    }

    /// The same for a limit of 64 bits.
    pub(crate) fn below_word(&mut self, limit: u64) -> u64 {
        assert!(limit > 0, "no integer is below 0");
        if limit == 1 {
            return 0;
        }
        let unused = (limit - 1).leading_zeros();
        loop {
            let drawn = self.word() >> unused;
            if drawn < limit {
                return drawn;
            }
        }
    }

    /// True with probability numerator/denominator.
    pub(crate) fn bernoulli(&mut self, numerator: &UBig, denominator: &UBig) -> bool {
        self.below(denominator) < *numerator
    }

    /// True with probability e^{−x}, x = numerator/denominator: Canonne, Kamath, Steinke, arXiv:2004.00010v5, Algorithm 1.
    ///
    /// e^{−x} is e^{−1} for every whole part of x, and e^{−r} for the rest; the first that fails decides.
    pub(crate) fn bernoulli_exp(&mut self, numerator: &UBig, denominator: &UBig) -> bool {
        let (whole, rest) = (numerator / denominator, numerator % denominator);
        let mut passed = UBig::ZERO;
        while passed < whole {
            if !self.bernoulli_exp_fraction(&UBig::ONE, &UBig::ONE) {
                return false;
            }
            passed += UBig::ONE;
        }
        self.bernoulli_exp_fraction(&rest, denominator)
    }

    /// The same for x in [0, 1]: a run of successes with probabilities x/1, x/2, x/3, …, each a success of x and one of 1/k.
    ///
    /// k successes or more have probability x^k/k!, so the first failure is at an odd place with probability
    /// (1 − x) + (x²/2! − x³/3!) + … = e^{−x}.
    fn bernoulli_exp_fraction(&mut self, numerator: &UBig, denominator: &UBig) -> bool {
        let mut place = 1;
        while self.below_word(place) == 0 && self.bernoulli(numerator, denominator) {
            place += 1;
        }
        place % 2 == 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seed(randomness: &Randomness) -> [u8; 32] {
        randomness.bits.generator.get_seed()
    }

    #[test]
    fn every_secure_source_has_a_seed_of_its_own() {
        let [one, other] = [(), ()].map(|()| Randomness::secure().unwrap());
        assert_ne!(seed(&one), seed(&other));
        assert_eq!(format!("{one:?}"), "Randomness(secure)");
    }

    #[test]
    fn a_new_seed_is_taken_after_the_stated_number_of_bytes() {
        let mut randomness = Randomness::secure().unwrap();
        let first = seed(&randomness);
        let bits = 8 * (RESEED_AFTER as usize - 8);
        randomness.bits(bits).unwrap();
        randomness.bits(64).unwrap();
        assert_eq!(seed(&randomness), first);
        randomness.bits(64).unwrap();
        assert_ne!(seed(&randomness), first);
        assert_eq!(randomness.bits.drawn, 8);
    }

    #[test]
    fn another_process_takes_a_new_seed_before_it_draws() {
        let mut randomness = Randomness::secure().unwrap();
        let first = seed(&randomness);
        // What a child finds after a fork: the state of the parent, whose number is not its own.
        randomness.process = Some(std::process::id() ^ 1);
        randomness.bits(1).unwrap();
        assert_ne!(seed(&randomness), first);
        assert_eq!(randomness.process, Some(std::process::id()));
    }

    #[test]
    fn a_repeatable_source_repeats_itself_and_stays_with_its_seed() {
        let drawn = |seed| Randomness::repeatable(seed).bits(200).unwrap();
        assert_eq!(drawn(1), drawn(1));
        assert_ne!(drawn(1), drawn(2));
        let mut randomness = Randomness::repeatable(1);
        let first = seed(&randomness);
        randomness.bits(16 * RESEED_AFTER as usize).unwrap();
        randomness.bits(1).unwrap();
        assert_eq!(seed(&randomness), first);
    }

    /// RFC 8439, section 2.3.2 has another nonce; this is the first block of a zero key, as in its appendix A.1, test vector 1.
    #[test]
    fn the_generator_is_chacha20() {
        let mut bits = RandomBits::new(ChaCha20Rng::from_seed([0; 32]));
        let expected =
            [0x76u8, 0xb8, 0xe0, 0xad, 0xa0, 0xf1, 0x3d, 0x90, 0x40, 0x5d, 0x6a, 0xe5, 0x53, 0x86, 0xbd, 0x28];
        assert_eq!(*bits.bits(128).to_le_bytes(), expected);
    }
}
