//! Randomness that can be repeated: every run has generators of its own, fixed by the seed and the run's index alone, so that
//! run i is the same whatever thread plays it.

use std::f64::consts::TAU;

use rand::rngs::ChaCha8Rng;
use rand::{Rng, SeedableRng};

/// One run of an experiment: all of its randomness follows from these two numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run {
    /// The seed of the experiment.
    pub seed: u64,
    /// Which run of the experiment this is.
    pub index: u64,
}

impl Run {
    /// The randomness of the mechanisms.
    pub fn noise(self) -> Generator {
        Generator::new(self, Purpose::Noise)
    }

    /// The coin tosses of the adversary, which are part of its view: apart from the noise, so that how many an adversary takes
    /// does not change the answers.
    pub fn coins(self) -> Generator {
        Generator::new(self, Purpose::Coins)
    }
}

#[derive(Clone, Copy)]
enum Purpose {
    Noise = 0,
    Coins = 1,
}

/// A stream of random numbers, the same on every machine.
///
/// ChaCha with eight rounds: the run's index is the stream number, so streams of different runs do not overlap. It has no copy, so that
/// no noise is used twice.
#[derive(Debug)]
pub struct Generator {
    chacha: ChaCha8Rng,
}

impl Generator {
    fn new(run: Run, purpose: Purpose) -> Generator {
        let mut key = [0; 32];
        key[..8].copy_from_slice(&run.seed.to_le_bytes());
        key[8] = purpose as u8;
        let mut chacha = ChaCha8Rng::from_seed(key);
        chacha.set_stream(run.index);
        Generator { chacha }
    }

    /// A multiple of 2⁻⁵³ in [0, 1).
    pub fn uniform(&mut self) -> f64 {
        (self.chacha.next_u64() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    /// A multiple of 2⁻⁵³ in (0, 1], for a logarithm.
    pub fn positive(&mut self) -> f64 {
        1.0 - self.uniform()
    }

    /// True with a probability.
    pub fn happens(&mut self, probability: f64) -> bool {
        self.uniform() < probability
    }

    /// One of `count`, each as likely up to 2⁻⁵³; zero if there are none.
    pub fn one_of(&mut self, count: usize) -> usize {
        ((self.uniform() * count as f64) as usize).min(count.saturating_sub(1))
    }

    /// A standard normal number (Box and Muller), by correctly rounded functions so that it is the same everywhere.
    pub fn normal(&mut self) -> f64 {
        let radius = (-2.0 * core_math::log(self.positive())).sqrt();
        radius * core_math::cos(TAU * self.uniform())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn first(mut generator: Generator) -> [u64; 4] {
        std::array::from_fn(|_| generator.chacha.next_u64())
    }

    #[test]
    fn a_run_is_the_same_every_time_and_unlike_any_other() {
        let run = Run { seed: 7, index: 3 };
        assert_eq!(first(run.noise()), first(run.noise()));
        let others = [run.coins(), Run { index: 4, ..run }.noise(), Run { seed: 8, ..run }.noise()];
        for other in others {
            assert_ne!(first(run.noise()), first(other));
        }
    }

    #[test]
    fn the_stream_of_a_seed_never_changes() {
        // A repeated experiment must give the published numbers, also after an upgrade of the generator.
        let mut generator = Run { seed: 7, index: 3 }.noise();
        assert_eq!(generator.chacha.next_u64(), FIRST_OF_SEED_7_RUN_3);
    }

    const FIRST_OF_SEED_7_RUN_3: u64 = 12_228_748_295_295_190_366;

    #[test]
    fn normal_numbers_have_mean_zero_and_variance_one() {
        let mut generator = Run { seed: 1, index: 0 }.noise();
        let numbers: Vec<f64> = (0..200_000).map(|_| generator.normal()).collect();
        let mean = numbers.iter().sum::<f64>() / numbers.len() as f64;
        let variance = numbers.iter().map(|x| x * x).sum::<f64>() / numbers.len() as f64;
        // Five standard errors.
        assert!(mean.abs() < 5.0 / (numbers.len() as f64).sqrt(), "{mean}");
        assert!((variance - 1.0).abs() < 5.0 * (2.0 / numbers.len() as f64).sqrt(), "{variance}");
    }

    #[test]
    fn choices_stay_within_their_number() {
        let mut generator = Run { seed: 1, index: 0 }.coins();
        let mut seen = [0; 3];
        (0..300).for_each(|_| seen[generator.one_of(3)] += 1);
        assert!(seen.iter().all(|&count| count > 50), "{seen:?}");
        assert_eq!(generator.one_of(0), 0);
    }
}
