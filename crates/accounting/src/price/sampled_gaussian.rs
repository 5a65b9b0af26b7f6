//! *The sampled Gaussian*, a step of DP-SGD: every record takes part with probability q, independently, and noise of standard
//! deviation σ times the sensitivity is added.
//!
//! D_α = ln A_α/(α−1), where A_α is the mean of X^α, X = 1 − q + qL, L = e^{(2x−1)/(2σ²)}, for x from N(0, σ²): Mironov, Talwar,
//! Zhang, arXiv:1908.10530v1, Section 3.3. It bounds both orders of the worlds, for neighbours that differ by one record added or
//! removed (Theorems 4 and 5). With T_k = C(n,k)(1−q)^{n−k} q^k e^{k(k−1)/(2σ²)} and y_k = 1 − q + q e^{k/σ²}, the smallest of
//! these is taken:
//!
//! | order | bound on A_α |
//! |---|---|
//! | n, a whole number | Σ_k T_k, which is A_n itself: the paper, Section 3.3 |
//! | n + p, between two | Σ_k T_k y_k^p |
//! | below 2 | 1 + α(α−1)/6·(2 + (1−q)^{α−2})·q²(e^{1/σ²} − 1) |
//! | any | e^{α(α−1)/(2σ²)}, without sampling |
//!
//! The second: X^n is a sum whose k-th term has the mean T_k, and makes x a number from N(k, σ²), for which X has the mean y_k;
//! X^p is concave, so its mean is at most y_k^p. By Hölder's inequality the sum is at most A_n^{1−p} A_{n+1}^p, the chord of the
//! convex function (α−1)D_α = ln A_α, and where one term takes over it is far below. The third: with z = X − 1, which is at least
//! −q and has mean 0, X^α = 1 + αz + α(α−1)z² ∫₀¹ (1−t)(1+tz)^{α−2} dt. There 1 + tz ≥ 1 − tq, and (1−tq)^{α−2} is convex in t, so
//! at most 1 − t + t(1−q)^{α−2}.
//!
//! Why the numbers are safe: A_α rises in q and in 1/σ², so both are raised to their upper ends. The weights of the binomial
//! add up to 1, so A_α − 1 is at most Σ_k T_k y_k^p (1 − e^{−k(k−1)/(2σ²)} y_k^{−p}), where nothing cancels. Each term comes from the
//! one beside it by a factor that is rounded up, and is kept as a [`Scaled`] number, so nothing overflows. The terms that are
//! left out are bounded by a geometric series, for which it is enough that k(k−1) is convex.

use super::Order;
use crate::numeric::{Interval, Scaled};

/// From this order on a step costs what it costs without sampling. Below it, k(k−1)/2 is exact in floating point.
const LARGEST_ORDER: f64 = (1u64 << 26) as f64;
/// No more terms than this are added up, which takes a few milliseconds. An order up to this needs no more; one above it may get a
/// coarser bound in closed form.
const MOST_TERMS: usize = 1 << 14;
/// What is a smaller share of the sum is bounded together.
const NEGLIGIBLE: f64 = 1e-14;

/// D_α of one step at rate q, 0 < q ≤ 1, and noise σ > 0. Only the upper end is proven.
pub(crate) fn renyi(order: &Order, rate: Interval, sigma: Interval) -> Interval {
    let inverse_variance = (Interval::ONE / sigma.square()).raised();
    let without_sampling = order.alpha * inverse_variance * 0.5;
    if rate.hi() >= 1.0 || order.whole >= LARGEST_ORDER {
        return without_sampling;
    }
    let moment = Moment::new(order, rate.raised(), inverse_variance);
    let log_moment = if order.whole < 2.0 { moment.log().min(moment.log_below_two(order)) } else { moment.log() };
    (log_moment / order.above_one).min(without_sampling)
}

/// A_α for α = n + p, from q and 1/σ² that count as exact.
struct Moment {
    n: f64,
    p: f64,
    rate: Interval,
    /// q/(1−q).
    odds: Interval,
    /// (1−q)/q.
    odds_against: Interval,
    inverse_variance: Interval,
}

impl Moment {
    fn new(order: &Order, rate: Interval, inverse_variance: Interval) -> Moment {
        let rest = 1.0 - rate;
        let (odds, odds_against) = (rate / rest, rest / rate);
        Moment { n: order.whole, p: order.part.hi(), rate, odds, odds_against, inverse_variance }
    }

    /// ln A_α at most.
    fn log(&self) -> Interval {
        let log_last = self.n * self.rate.ln() + self.exponent(self.n);
        // The terms have a peak near k = nq and may have another one near n. The last term tells which one is higher, roughly.
        let sum = if log_last.hi() > 0.0 { self.sum_downwards(log_last) } else { self.sum_upwards() };
        sum.map_or_else(|| self.log_in_closed_form(), Scaled::ln_1p)
    }

    /// ln A_α at most, for α < 2.
    fn log_below_two(&self, order: &Order) -> Interval {
        let weight = order.alpha * order.above_one / 6.0;
        let bend = ((order.above_one - 1.0) * (-self.rate).ln_1p()).exp();
        (weight * (2.0 + bend) * self.rate.square() * self.inverse_variance.exp_m1()).ln_1p()
    }

    /// ln A_α at most, since k − 1 ≤ n − 1 and y_k ≤ e^{k/σ²}: n ln(1 + q(e^{((n−1)/2 + p)/σ²} − 1)).
    fn log_in_closed_form(&self) -> Interval {
        let exponent = (0.5 * (self.n - 1.0) + self.p).next_up() * self.inverse_variance;
        self.n * (self.rate * exponent.exp_m1()).ln_1p()
    }

    /// A_α − 1 from the last term down.
    fn sum_downwards(&self, log_last: Interval) -> Option<Scaled> {
        let descending = std::iter::successors(Some(self.n), |k| (*k > 1.0).then_some(k - 1.0));
        let next = |k: f64| k / Interval::point(self.n - k + 1.0) * self.odds_against * self.grown(1.0 - k);
        self.sum(Scaled::ZERO, Scaled::exp(log_last)?, descending, next, |k| self.ratio_before(k))
    }

    /// A_α − 1 from the first term up, or from nine standard deviations below the mean of k.
    fn sum_upwards(&self) -> Option<Scaled> {
        let mean = self.n * self.rate.hi();
        let first = (mean - 9.0 * mean.sqrt()).floor().max(1.0);
        if first > MOST_TERMS as f64 {
            return None;
        }
        let weight = |k: f64| (self.n - k) / Interval::point(k + 1.0) * self.odds;
        let at_zero = Scaled::exp(self.n * (-self.rate).ln_1p() + self.exponent(first))?;
        let term = (0..first as u32).fold(at_zero, |term, k| term.times(weight(f64::from(k))));
        let before =
            if first > 1.0 { self.summand(first, term)?.1.rest(self.ratio_before(first))? } else { Scaled::ZERO };
        let ascending = std::iter::successors(Some(first), |k| (*k < self.n).then_some(k + 1.0));
        // Above k the exponent is below its chord from k to n, which rises by (n+k−1)/(2σ²) at each step, and y_k rises by
        // 1/σ² at most.
        let ratio_after = |k: f64| weight(k) * self.grown((0.5 * (self.n + k - 1.0) + self.p).next_up());
        self.sum(before, term, ascending, |k| weight(k) * self.grown(k), ratio_after)
    }

    /// Adds up the summands at `ks`, given the first term and the factor from each to the next, until those that follow hardly
    /// matter: the m-th T_k y_k^p after k is at most `ratio(k)`^m times the one at k. Nothing if there are too many.
    fn sum(
        &self,
        before: Scaled,
        first: Scaled,
        ks: impl Iterator<Item = f64>,
        next: impl Fn(f64) -> Interval,
        ratio: impl Fn(f64) -> Interval,
    ) -> Option<Scaled> {
        let (mut sum, mut term) = (before, first);
        for (count, k) in ks.enumerate() {
            if count == MOST_TERMS {
                return None;
            }
            let (raised, summand) = self.summand(k, term)?;
            sum = sum.plus(summand);
            if raised.share_of(sum) < NEGLIGIBLE
                && let Some(rest) = raised.rest(ratio(k))
                && rest.share_of(sum) < NEGLIGIBLE
            {
                return Some(sum.plus(rest));
            }
            term = term.times(next(k));
        }
        Some(sum)
    }

    /// T_k y_k^p from T_k, and what it adds to A_α − 1: T_k y_k^p (1 − e^{−k(k−1)/(2σ²)} y_k^{−p}), a factor that rises in k.
    fn summand(&self, k: f64, term: Scaled) -> Option<(Scaled, Scaled)> {
        let log_power = if self.p == 0.0 { Interval::ZERO } else { self.p * self.log_mean(k) };
        let raised = if self.p == 0.0 { term } else { term.times_scaled(Scaled::exp(log_power)?) };
        let exponent = (self.exponent(k) + log_power).raised();
        Some((raised, if exponent.hi() > 40.0 { raised } else { raised.times(-(-exponent).exp_m1()) }))
    }

    /// ln y_k = ln(1 − q + q e^{k/σ²}).
    fn log_mean(&self, k: f64) -> Interval {
        let exponent = k * self.inverse_variance;
        if exponent.hi() <= 600.0 {
            return (self.rate * exponent.raised().exp_m1()).raised().ln_1p();
        }
        exponent + (self.rate + (-exponent).exp()).ln()
    }

    /// The r for which the m-th term below k is at most r^m times the one at k: there the exponent is below its chord from 0
    /// to k, which rises by (k−1)/(2σ²) at each step.
    fn ratio_before(&self, k: f64) -> Interval {
        k / Interval::point(self.n - k + 1.0) * self.odds_against * self.grown(0.5 * (1.0 - k))
    }

    /// k(k−1)/(2σ²).
    fn exponent(&self, k: f64) -> Interval {
        0.5 * k * (k - 1.0) * self.inverse_variance
    }

    /// e^{x/σ²}.
    fn grown(&self, x: f64) -> Interval {
        (x * self.inverse_variance).raised().exp()
    }
}
