//! When a count is large enough to divide by, and what is known of it then.
//!
//! **The rule.** A statistic that divides by a count is published iff the noisy count reaches a threshold that follows from the law of
//! its noise alone: a group without rows reaches it with a probability of at most [`RARE`]. It is 8.5 scales of Laplace noise and 3.7
//! standard deviations of a Gaussian. Nothing else decides, neither the other noisy parts nor how wide the interval is.
//!
//! **What publication tells.** Given that it was published, the likelihood of a true count n is P(noise = c − n) / P(noise ≥ c₀ − n),
//! with the noisy count c ≥ c₀. The divisor counts against luck: a group of few rows is published only if the noise was large, and
//! given that it was, c says little about n. With Laplace noise it says nothing: for every n below c₀, c − c₀ has the same geometric
//! distribution. So no rule covers all n given publication and still says something; one has to say for which n it is right. Here
//! counts are taken to be as likely as each other from n₁ on, where n₁ is published with the probability `floor`; with a low floor the
//! interval is wide and the estimate pulled away from the middle of the bounds, with a high one it is the other way round.
//! [`FLOORS`] has two: the estimate is the median with the first, and the interval spans those of both.
//!
//! **What simulation shows**, for averages over the range of their bounds, budgets split evenly (tests/published.rs): given
//! publication, the intervals cover in at least 94 % for every count that is published with a probability of 5 % or more; from c₀ on
//! the estimate is above the truth in 40 to 60 %; below, it is still pulled to the middle, by up to four tenths where 5 % are
//! published. Smaller groups are almost never published: half of c₀ in 0.7 % (Laplace) and 3.4 % (Gaussian), a tenth of it in
//! 0.02 % and 0.05 %. From 2·c₀ on the condition changes nothing.

use super::law::NoiseLaw;

/// With which probability a group without rows is published, at most.
const RARE: f64 = 1e-4;

/// The probabilities of publication from which on counts are thought possible: for the estimate and the interval, and for an interval
/// that also holds for smaller groups.
pub(super) const FLOORS: [f64; 2] = [0.05, 0.005];

/// Where the condition changes the distribution of the count by less than this, it is left out.
const NEGLIGIBLE: f64 = 1e-6;

/// In how many cells the possible counts are divided at most.
const CELLS: f64 = 512.0;

/// The least noisy count by which a statistic is divided.
pub(crate) fn threshold(law: NoiseLaw) -> f64 {
    law.upper_quantile(RARE) + 1.0
}

/// The distribution of a true count given its noisy one, and that it reached the threshold.
#[derive(Clone, Debug)]
pub(super) struct TrueCount {
    /// The first count of the first cell, and how many counts are in each.
    first: f64,
    width: f64,
    /// The probability of all cells up to each.
    cumulative: Vec<f64>,
}

impl TrueCount {
    /// `None` where the condition changes nothing, so that the count is the noisy one less its noise.
    pub(super) fn new(noisy: f64, law: NoiseLaw, threshold: f64, floor: f64) -> Option<TrueCount> {
        let spread = law.upper_quantile(0.25) + 1.0;
        if law == NoiseLaw::Exact || law.survival(noisy - threshold) * (threshold / spread).max(1.0) < NEGLIGIBLE {
            return None;
        }
        let first = (threshold - law.upper_quantile(floor)).max(1.0);
        let counts = noisy + law.upper_quantile(NEGLIGIBLE) + 1.0 - first;
        let width = (counts / CELLS).ceil().max(1.0);
        let likelihood = |cell: usize| {
            let middle = first + cell as f64 * width + ((width - 1.0) / 2.0).floor();
            law.probability(noisy - middle) / law.survival(threshold - middle)
        };
        let mut total = 0.0;
        let mut cumulative: Vec<f64> = Vec::new();
        for cell in 0..(counts / width).ceil() as usize {
            total += likelihood(cell);
            cumulative.push(total);
        }
        cumulative.iter_mut().for_each(|upto| *upto /= total);
        Some(TrueCount { first, width, cumulative })
    }

    /// The count at a rank between 0 and 1.
    pub(super) fn quantile(&self, rank: f64) -> f64 {
        let cell = self.cumulative.partition_point(|upto| *upto < rank).min(self.cumulative.len() - 1);
        let below = if cell == 0 { 0.0 } else { self.cumulative[cell - 1] };
        let inside = ((rank - below) / (self.cumulative[cell] - below)).clamp(0.0, 1.0);
        self.first + cell as f64 * self.width + (inside * self.width).floor().min(self.width - 1.0)
    }
}
