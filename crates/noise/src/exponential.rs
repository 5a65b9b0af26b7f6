//! The exponential mechanism: one of many candidates, P(i) ∝ wᵢ·e^{−rate·scoreᵢ}, exactly.
//!
//! *Privacy.* McSherry, Talwar, Mechanism design via differential privacy, FOCS 2007, Theorem 6: if one unit moves every score by at most
//! Δ, it is ε-differentially private for rate = ε/(2Δ), and for ε/Δ if it moves all scores in the same direction.
//!
//! *Sampled* by inversion, with bounds in place of real numbers. Write aᵢ = wᵢ·e^{−rate·(scoreᵢ − least score)} and Sᵢ = a₁ + … + aᵢ. For U
//! uniform in [0, 1), the index i with Sᵢ₋₁ ≤ U·Sₙ < Sᵢ has probability aᵢ/Sₙ: the one that is wanted. With P bits there are integers
//! Lᵢ ≤ 2^P·Sᵢ ≤ Hᵢ, and from P bits of U an integer u with u ≤ 2^P·U < u + 1. Take the first i with Hᵢ > u·Lₙ/2^P.
//!
//! * For every k < i, 2^P·S_k ≤ H_k ≤ u·Lₙ/2^P ≤ U·2^P·Sₙ; so the index is none of these.
//! * If also (u + 1)·Hₙ/2^P ≤ Lᵢ, then U·2^P·Sₙ < Lᵢ ≤ 2^P·Sᵢ; so the index is i.
//!
//! Otherwise P is doubled, and U gets more bits. U and the aᵢ stay what they are, whatever P decides; so the result is exactly
//! the index for U. It ends unless U·Sₙ is one of the Sᵢ, which has probability 0. Candidates whose e^{−…} is below 2^−P count with
//! the lower bound 0 and an upper bound above it: none is left out.
//!
//! With the first P, neighbours whose e^{−…} is below 2^−P have the same bounds one by one and together, as one candidate that weighs as
//! much as they do. It is never chosen: if i is such a candidate, Lᵢ = Lᵢ₋₁ ≤ Hᵢ₋₁ ≤ u·Lₙ/2^P, so that (u + 1)·Hₙ/2^P ≤ Lᵢ does not hold.
//! So the sums at all others, and what they decide, are the same with and without it. Where it might be one of them, all are needed.

use dashu::base::BitTest;
use dashu::integer::UBig;
use dashu::rational::RBig;

use crate::error::NoiseError;
use crate::exp::exp_minus;
use crate::randomness::Randomness;

/// The first P: products of two numbers up to 2^P fit into 128 bits, which processors multiply. It decides all but one of many millions of
/// draws.
const FIRST_BITS: usize = 60;

/// What may be chosen: as likely as `weight`·e^{−rate·`score`}, relatively.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// How many equal choices it stands for.
    pub weight: u64,
    /// How far it is from the best.
    pub score: u64,
}

/// The index of a candidate i, with probability ∝ weightᵢ·e^{−rate·scoreᵢ}.
pub fn choose(candidates: &[Candidate], rate: &RBig, randomness: &mut Randomness) -> Result<usize, NoiseError> {
    Choice::begin(rate, randomness)?.among_all(candidates)
}

/// A choice that is made: U, of which as many bits are drawn as are needed.
pub struct Choice<'a> {
    rate: &'a RBig,
    randomness: &'a mut Randomness,
    uniform: UBig,
    bits: usize,
}

impl<'a> Choice<'a> {
    /// Draws the first bits, for a rate above 0.
    pub fn begin(rate: &'a RBig, randomness: &'a mut Randomness) -> Result<Choice<'a>, NoiseError> {
        Choice::with_bits(FIRST_BITS, rate, randomness)
    }

    /// The same with another first P, which makes no difference to the choice.
    pub(crate) fn with_bits(
        bits: usize,
        rate: &'a RBig,
        randomness: &'a mut Randomness,
    ) -> Result<Choice<'a>, NoiseError> {
        if *rate <= RBig::ZERO {
            return Err(NoiseError::Rate { rate: rate.clone() });
        }
        let uniform = randomness.bits(bits)?;
        Ok(Choice { rate, randomness, uniform, bits })
    }

    /// How far above the best a score is from which on neighbours may stand together in [`Choice::among_near`]; nothing if that is beyond
    /// 64 bits.
    pub fn far(&self) -> Option<u64> {
        u64::try_from(negligible(self.rate, self.bits)).ok()
    }

    /// The index of the candidate, if the first bits decide it. Neighbours that are all [`Choice::far`] above the best may stand together,
    /// as one candidate with all their weight and any score that is that far: it is never the one.
    pub fn among_near(&self, candidates: &[Candidate]) -> Result<Option<usize>, NoiseError> {
        Ok(Shares::new(candidates, best(candidates)?, self.rate, self.bits).find(&self.uniform))
    }

    /// The index of the candidate, with as many bits as it takes. Each candidate stands for itself.
    pub fn among_all(mut self, candidates: &[Candidate]) -> Result<usize, NoiseError> {
        let best = best(candidates)?;
        loop {
            if let Some(index) = Shares::new(candidates, best, self.rate, self.bits).find(&self.uniform) {
                return Ok(index);
            }
            self.uniform = (self.uniform << self.bits) + self.randomness.bits(self.bits)?;
            self.bits *= 2;
        }
    }
}

/// The least score of those that have a weight.
fn best(candidates: &[Candidate]) -> Result<u64, NoiseError> {
    let likely = candidates.iter().filter(|candidate| candidate.weight > 0);
    likely.map(|candidate| candidate.score).min().ok_or(NoiseError::NoCandidate)
}

/// From this n on e^{−rate·n} is at most e^{−bits}, and 0 is as good a lower bound.
fn negligible(rate: &RBig, bits: usize) -> UBig {
    (RBig::from(bits) / rate).ceil().into_parts().1
}

/// The candidates with bounds on their e^{−…}: 2^bits of it is between `low` and `low` + `slack`.
pub(crate) struct Shares<'a> {
    candidates: &'a [Candidate],
    low: LowBounds,
    slack: UBig,
    bits: usize,
}

/// The lower bounds: in numbers whose sums, times all weights, fit into 128 bits, or in any.
enum LowBounds {
    Narrow(Vec<u128>),
    Wide(Vec<UBig>),
}

impl Shares<'_> {
    pub(crate) fn new<'a>(candidates: &'a [Candidate], best: u64, rate: &RBig, bits: usize) -> Shares<'a> {
        // Candidates without weight may have any score.
        let distance = |candidate: &Candidate| candidate.score.saturating_sub(best);
        let powers = Powers::new(rate, candidates.iter().map(distance).max().unwrap_or(0), bits);
        let all: u128 = candidates.iter().map(|candidate| u128::from(candidate.weight)).sum();
        // A bound with its slack is below 2^61, and so are 2^64 of them below 2^125.
        let is_narrow = bits <= FIRST_BITS && all <= u64::MAX.into() && powers.slack.bit_len() <= FIRST_BITS;
        let low = if is_narrow {
            let narrow = NarrowPowers::new(&powers);
            LowBounds::Narrow(candidates.iter().map(|candidate| narrow.low(distance(candidate))).collect())
        } else {
            LowBounds::Wide(candidates.iter().map(|candidate| powers.low(distance(candidate))).collect())
        };
        Shares { candidates, low, slack: powers.slack, bits }
    }

    /// The index for all uniform numbers that begin with these bits, if it is the same.
    pub(crate) fn find(&self, uniform: &UBig) -> Option<usize> {
        let reached = |low: UBig| (uniform * low) >> self.bits;
        let (index, low, high) = match &self.low {
            LowBounds::Narrow(bounds) => {
                let slack = u128::try_from(self.slack.clone()).ok()?;
                let (low, high) = self.narrow_sums(bounds, slack).last()?;
                let reached = u128::try_from(reached(low.into())).ok()?;
                let (index, (low, _)) =
                    self.narrow_sums(bounds, slack).enumerate().find(|(_, (_, high))| *high > reached)?;
                (index, low.into(), high.into())
            }
            LowBounds::Wide(bounds) => {
                let (low, high) = self.wide_sums(bounds).last()?;
                let reached = reached(low);
                let (index, (low, _)) = self.wide_sums(bounds).enumerate().find(|(_, (_, high))| *high > reached)?;
                (index, low, high)
            }
        };
        let is_decided = (uniform + UBig::ONE) * high <= low << self.bits;
        is_decided.then_some(index)
    }

    /// Lᵢ and Hᵢ.
    fn narrow_sums(&self, bounds: &[u128], slack: u128) -> impl Iterator<Item = (u128, u128)> {
        let terms = self.candidates.iter().zip(bounds);
        terms.scan((0, 0), move |(low_sum, high_sum), (candidate, low)| {
            let weight = u128::from(candidate.weight);
            *low_sum += low * weight;
            *high_sum += (low + slack) * weight;
            Some((*low_sum, *high_sum))
        })
    }

    /// The same in numbers of any size.
    fn wide_sums(&self, bounds: &[UBig]) -> impl Iterator<Item = (UBig, UBig)> {
        let terms = self.candidates.iter().zip(bounds);
        terms.scan((UBig::ZERO, UBig::ZERO), |(low_sum, high_sum), (candidate, low)| {
            let weight = UBig::from(candidate.weight);
            *low_sum += low * &weight;
            *high_sum += (low + &self.slack) * weight;
            Some((low_sum.clone(), high_sum.clone()))
        })
    }
}

/// Lower bounds on 2^bits·e^{−rate·n}, by multiplication: for every digit of n in base 64 there is a table.
///
/// Each entry, and each product, is rounded down. A product of two numbers up to 1 has lost at most what both had lost, and one unit. The
/// first entry of a table, e^{−rate·64^i}, has lost at most s units; so the d-th one at most d·(s + 1), and a product from m tables
/// at most 63·m·(s + 1) + m ≤ 64·m·(s + 1). That is the slack, for all n.
struct Powers {
    tables: Vec<Vec<UBig>>,
    negligible: UBig,
    slack: UBig,
    bits: usize,
}

/// The bits of a digit.
const DIGIT_BITS: usize = 6;

/// A digit of a number.
fn digit(n: u64, place: usize) -> usize {
    (n >> (DIGIT_BITS * place)) as usize % (1 << DIGIT_BITS)
}

/// The same bounds where no product needs more than 128 bits.
struct NarrowPowers {
    tables: Vec<Vec<u128>>,
    negligible: u128,
    bits: usize,
}

impl NarrowPowers {
    fn new(Powers { tables, negligible, bits, .. }: &Powers) -> NarrowPowers {
        let narrow = |entry: &UBig| u128::try_from(entry.clone()).expect("no bound is above 2^bits");
        NarrowPowers {
            tables: tables.iter().map(|table| table.iter().map(narrow).collect()).collect(),
            negligible: u128::try_from(negligible.clone()).unwrap_or(u128::MAX),
            bits: *bits,
        }
    }

    fn low(&self, n: u64) -> u128 {
        if u128::from(n) >= self.negligible {
            return 0;
        }
        let tables = self.tables.iter().enumerate();
        tables.fold(1 << self.bits, |product, (place, table)| match digit(n, place) {
            0 => product,
            digit => (product * table[digit]) >> self.bits,
        })
    }
}

impl Powers {
    /// For all n up to the largest.
    fn new(rate: &RBig, largest: u64, bits: usize) -> Powers {
        let negligible = negligible(rate, bits);
        let digits = UBig::from(largest).min(negligible.clone()).bit_len().div_ceil(DIGIT_BITS).max(1);
        let first = |digit: usize| exp_minus(&(rate * RBig::from(UBig::ONE << (DIGIT_BITS * digit))), bits);
        let bounds: Vec<_> = (0..digits).map(first).collect();
        let lost = bounds.iter().map(|bounds| &bounds.high - &bounds.low).max().unwrap_or(UBig::ZERO);
        let slack = (lost + UBig::ONE) * UBig::from(digits << DIGIT_BITS);
        let table = |first: UBig| {
            let next = |last: &UBig| Some((last * &first) >> bits);
            std::iter::successors(Some(UBig::ONE << bits), next).take(1 << DIGIT_BITS).collect()
        };
        Powers { tables: bounds.into_iter().map(|bounds| table(bounds.low)).collect(), negligible, slack, bits }
    }

    fn low(&self, n: u64) -> UBig {
        if UBig::from(n) >= self.negligible {
            return UBig::ZERO;
        }
        let (first, others) = self.tables.split_first().expect("there is a table for the last digit");
        let more = others.iter().zip(1..).filter(|(_, place)| digit(n, *place) > 0);
        more.fold(first[digit(n, 0)].clone(), |product, (table, place)| {
            (product * &table[digit(n, place)]) >> self.bits
        })
    }
}
