//! Every formula of the crate a second time, as the papers print it, in arithmetic of more than a hundred digits.
//!
//! Where a formula subtracts nearly equal numbers, it does so here too: there are digits enough. The formulas are written once,
//! for any [`Real`]. [`Wide`] is fast and serves for the bulk of the inputs; [`Exact`] is `dashu`, slow, and serves for a part
//! of them, so that a mistake in one arithmetic cannot hide.

mod agreement;
mod exact;
mod wide;

use std::fmt::Debug;
use std::ops::{Add, Div, Mul, Neg, Sub};

use ethnum::U256;

use crate::amount::{Amount, FineAmount};

pub(crate) use exact::Exact;
pub(crate) use wide::Wide;

/// A real number of more than a hundred digits.
pub(crate) trait Real:
    Clone
    + Debug
    + PartialOrd
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Neg<Output = Self>
{
    /// A floating-point number, exactly.
    fn from_f64(value: f64) -> Self;
    /// A whole number, exactly.
    fn whole(value: u64) -> Self;
    /// A number of units of 10⁻³⁰ or 10⁻⁶⁰.
    fn units(units: U256, places: u32) -> Self;
    fn to_f64(&self) -> f64;
    fn sqrt(&self) -> Self;
    fn exp(&self) -> Self;
    fn exp_m1(&self) -> Self;
    fn ln(&self) -> Self;
    fn ln_1p(&self) -> Self;
    /// Φ(−self), to at least seventy digits of its own; nothing at all beyond [`NO_TAIL_BEYOND`].
    fn upper_tail(&self) -> Self;

    fn amount(amount: Amount) -> Self {
        Self::units(amount.units().into(), Amount::PLACES)
    }
    fn fine(fine: FineAmount) -> Self {
        Self::units(fine.units(), FineAmount::PLACES)
    }
    /// A fraction of whole numbers: 28.04 is `ratio(2804, 100)`.
    fn ratio(above: u64, below: u64) -> Self {
        Self::whole(above) / Self::whole(below)
    }
    fn square(&self) -> Self {
        self.clone() * self.clone()
    }
    fn half(&self) -> Self {
        self.clone() * Self::from_f64(0.5)
    }
    fn twice(&self) -> Self {
        self.clone() + self.clone()
    }
    fn power(&self, exponent: u64) -> Self {
        (0..exponent).fold(Self::whole(1), |product, _| product * self.clone())
    }
    fn one() -> Self {
        Self::whole(1)
    }
    fn zero() -> Self {
        Self::whole(0)
    }
}

/// Beyond this number of standard deviations a tail, below e^{−10¹¹}, counts as nothing.
const NO_TAIL_BEYOND: f64 = 1e6;

/// How many terms of 1/(z + 1/(z + 2/(z + …))) give the digits that are wanted: the n-th brings the error down by about
/// (√(4n + z²) − z)/(√(4n + z²) + z).
fn fraction_terms(z: f64, digits: f64) -> u64 {
    let (mut terms, mut log) = (1, 0.0);
    while log > -digits {
        let root = (4.0 * terms as f64 + z * z).sqrt();
        log += (4.0 * terms as f64 / (root + z).powi(2)).log10();
        terms += 1;
    }
    terms + 5
}

/// ε(e^ε − 1)/2.
pub(crate) fn printed_mean<R: Real>(epsilon: R) -> R {
    (epsilon.clone() * epsilon.exp_m1()).half()
}

/// ε tanh(ε/2) = ε (e^ε − 1)/(e^ε + 1).
pub(crate) fn tight_mean<R: Real>(epsilon: R) -> R {
    let grown = epsilon.exp_m1();
    epsilon * grown.clone() / (grown + R::whole(2))
}

/// ε + e^{−ε} − 1.
pub(crate) fn zcdp_of_laplace<R: Real>(epsilon: R) -> R {
    epsilon.clone() + (-epsilon).exp() - R::one()
}

/// ln(cosh((α−½)ε)/cosh(ε/2))/(α−1), from α − 1.
pub(crate) fn renyi_of_pure<R: Real>(above_one: R, epsilon: R) -> R {
    let twice_cosh = |x: R| x.exp() + (-x).exp();
    let numerator = twice_cosh((above_one.clone() + R::from_f64(0.5)) * epsilon.clone());
    (numerator / twice_cosh(epsilon.half())).ln() / above_one
}

/// ln(α/(2α−1)·e^{(α−1)ε} + (α−1)/(2α−1)·e^{−αε})/(α−1), from α − 1.
pub(crate) fn renyi_of_laplace<R: Real>(above_one: R, epsilon: R) -> R {
    let alpha = above_one.clone() + R::one();
    let up = alpha.clone() * (above_one.clone() * epsilon.clone()).exp();
    let down = above_one.clone() * (-(alpha.clone() * epsilon)).exp();
    ((up + down) / (alpha + above_one.clone())).ln() / above_one
}

/// The bound on A_{n+p} of the sampled Gaussian: Σ_k C(n,k)(1−q)^{n−k} q^k e^{k(k−1)/(2σ²)} (1 − q + q e^{k/σ²})^p.
pub(crate) fn moment_of_sampled_gaussian<R: Real>(n: u64, part: &R, rate: &R, sigma: &R) -> R {
    let unsampled = R::one() - rate.clone();
    let odds = rate.clone() / unsampled.clone();
    let growth = (R::one() / sigma.square()).exp();
    // The weight of k = 0; then, at each step, the next weight of the binomial and e^{k/σ²}.
    let mut term = (R::whole(n) * (-rate.clone()).ln_1p()).exp();
    let mut sum = term.clone();
    let mut grown = R::one();
    for k in 0..n {
        term = term * R::ratio(n - k, k + 1) * odds.clone() * grown.clone();
        grown = grown * growth.clone();
        let mean = unsampled.clone() + rate.clone() * grown.clone();
        let power = if *part > R::zero() { (part.clone() * mean.ln()).exp() } else { R::one() };
        sum = sum + term.clone() * power;
    }
    sum
}

/// The bound on A_α of the sampled Gaussian for α < 2: 1 + α(α−1)/6·(2 + (1−q)^{α−2})·q²(e^{1/σ²} − 1), from α − 1.
pub(crate) fn moment_of_sampled_gaussian_below_two<R: Real>(above_one: &R, rate: &R, sigma: &R) -> R {
    let weight = (above_one.clone() + R::one()) * above_one.clone() / R::whole(6);
    let bend = ((above_one.clone() - R::one()) * (-rate.clone()).ln_1p()).exp();
    R::one() + weight * (R::whole(2) + bend) * rate.square() * (R::one() / sigma.square()).exp_m1()
}

/// κ = δ(1 + e^{−2ε})/(1 − e^{−ε}).
pub(crate) fn kappa<R: Real>(epsilon: R, delta: R) -> R {
    delta * (R::one() + (-epsilon.twice()).exp()) / -(-epsilon).exp_m1()
}

/// K of Theorem 5.1, from the sum of the printed means and S.
pub(crate) fn theorem_5_1<R: Real>(mean: R, squares: R, epsilon_g: R, delta_g: R) -> R {
    let log = -delta_g.ln();
    let x = epsilon_g.square() / (R::ratio(2804, 100) * log.clone());
    let inner = R::one() + (squares.clone() / x.clone()).ln_1p().half();
    mean + ((squares + x).twice() * inner * log).sqrt()
}

/// ½S + √(2 S ln(1/δ)).
pub(crate) fn whitehouse<R: Real>(squares: R, delta: R) -> R {
    squares.half() + (-(squares.twice() * delta.ln())).sqrt()
}

/// ε_g − ln(1−1/α) − (ln(1/δ) − ln α)/(α−1), from α − 1.
pub(crate) fn renyi_limit<R: Real>(above_one: R, epsilon_g: R, delta: R) -> R {
    let alpha = above_one.clone() + R::one();
    let share = above_one.clone() / alpha.clone();
    epsilon_g - share.ln() + (delta.ln() + alpha.ln()) / above_one
}

/// ln δ of the conversion from ρ-zCDP: the least over α of (α−1)(αρ−ε) + (α−1) ln(1−1/α) − ln α.
///
/// It is convex in α, with derivative (2α−1)ρ − ε + ln(1−1/α). That rises in s = ln(α−1), where Newton's method is used within
/// a bracket: first in floating point, then with all digits.
pub(crate) fn log_delta_of_zcdp<R: Real>(rho: R, epsilon: R) -> R {
    let (near_rho, near_epsilon) = (rho.to_f64(), epsilon.to_f64());
    let slope = |s: f64| (2.0 * s.exp() + 1.0) * near_rho - near_epsilon - (-s).exp().ln_1p();
    let (mut left, mut right) = (-700.0, 700.0);
    for _ in 0..70 {
        let middle = 0.5 * (left + right);
        if slope(middle) < 0.0 { left = middle } else { right = middle }
    }
    let mut above_one = R::from_f64(left.exp());
    for _ in 0..3 {
        let alpha = above_one.clone() + R::one();
        let slope =
            (alpha.twice() - R::one()) * rho.clone() - epsilon.clone() + (above_one.clone() / alpha.clone()).ln();
        let rise = rho.twice() + R::one() / (alpha * above_one.clone());
        above_one = above_one - slope / rise;
    }
    let alpha = above_one.clone() + R::one();
    let share = above_one.clone() / alpha.clone();
    above_one * (alpha.clone() * rho - epsilon + share.ln()) - alpha.ln()
}

/// δ_w(t) = Φ(√w/2 − t/√w) − e^t Φ(−√w/2 − t/√w), for w > 0.
pub(crate) fn gaussian_profile<R: Real>(w: R, t: R) -> R {
    let root = w.sqrt();
    let distance = t.clone() / root.clone();
    (distance.clone() - root.half()).upper_tail() - t.exp() * (distance + root.half()).upper_tail()
}

/// Whether join(ε, rest) ≤ whole: (1 + e^ε) Φ(−√W/2) ≤ Φ(ε/√w − √w/2) + e^ε Φ(−ε/√w − √w/2).
pub(crate) fn joins_within<R: Real>(epsilon: R, rest: R, whole: R) -> bool {
    let odds = epsilon.exp();
    let left = (R::one() + odds.clone()) * whole.sqrt().half().upper_tail();
    if rest <= R::zero() {
        return left <= R::one();
    }
    let root = rest.sqrt();
    let distance = epsilon / root.clone();
    left <= (root.half() - distance.clone()).upper_tail() + odds * (root.half() + distance).upper_tail()
}

/// 1 − δ_w(t) = Φ(t/√w − √w/2) + e^t Φ(−√w/2 − t/√w), for w > 0.
fn complement<R: Real>(w: R, t: R) -> R {
    let root = w.sqrt();
    let distance = t.clone() / root.clone();
    (root.half() - distance.clone()).upper_tail() + t.exp() * (root.half() + distance).upper_tail()
}

/// Whether p δ_{rest}(τ−ε) + (1−p) δ_{rest}(τ+ε) ≤ δ_{whole}(τ), p = e^ε/(1+e^ε); taken from 1 where the profiles are so close to it
/// that even here digits would be missing.
pub(crate) fn reaches_within<R: Real>(epsilon: R, tau: R, rest: R, whole: R) -> bool {
    let odds = epsilon.exp();
    let (near, far) = (tau.clone() - epsilon.clone(), tau.clone() + epsilon);
    let is_near_one = whole.half() > tau;
    let side = |t: R| {
        let nothing = if t < R::zero() { t.exp() } else { R::one() };
        match (rest <= R::zero(), is_near_one) {
            (true, true) => nothing,
            (true, false) => R::one() - nothing,
            (false, true) => complement(rest.clone(), t),
            (false, false) => gaussian_profile(rest.clone(), t),
        }
    };
    let left = odds.clone() * side(near) + side(far);
    let all = R::one() + odds;
    match is_near_one {
        true => left >= all * complement(whole, tau),
        false => left <= all * gaussian_profile(whole, tau),
    }
}

/// Theorem 6.5, from the sums, γ = 1/n², ln n and log₂ n. S is a multiple of 10⁻⁶⁰, so the ends of the range are told apart
/// from what is beside them with room to spare.
pub(crate) fn theorem_6_5<R: Real>(sums: (R, R), smallest: R, log: R, log_2: R, delta: R) -> R {
    let (mean, squares) = sums;
    let (below_one, above_one) = (R::one() - R::from_f64(1e-61), R::one() + R::from_f64(1e-61));
    let inside = if squares.clone() / smallest.clone() >= below_one && squares <= above_one {
        let constant = R::whole(110).ln() + R::one();
        squares.twice() * (constant + (log / delta).ln().twice())
    } else {
        let inner = R::one() + (squares.clone() / smallest.clone()).ln_1p().half();
        (smallest + squares).twice() * inner * (R::whole(4) * log_2 / delta).ln()
    };
    mean + inside.sqrt()
}

/// Lemma 6.4.
pub(crate) fn free_x<R: Real>(sums: (R, R), x: R, delta: R) -> R {
    let (mean, squares) = sums;
    let inner = R::one() + (squares.clone() / x.clone()).ln_1p().half();
    mean + ((squares + x).twice() * inner * (R::whole(2) / delta).ln()).sqrt()
}

/// A + √((V + γ)(2 ln(1/δ) + ln(1 + V/γ))).
pub(crate) fn normal_mixture<R: Real>(sums: (R, R), gamma: R, delta: R) -> R {
    let (mean, squares) = sums;
    let inner = (squares.clone() / gamma.clone()).ln_1p() - delta.ln().twice();
    mean + ((squares + gamma) * inner).sqrt()
}

/// V/2 + 1.7 √(V (ln ln(2V/v₀) + 0.72 ln(5.2/δ))), with v₀ for V inside the root where V is smaller.
pub(crate) fn stitched<R: Real>(squares: R, v0: R, delta: R) -> R {
    let inside = if squares > v0 { squares.clone() } else { v0.clone() };
    let iterated = (inside.twice() / v0).ln().ln();
    let level = R::ratio(72, 100) * (R::ratio(52, 10) / delta).ln();
    squares.half() + R::ratio(17, 10) * (inside * (iterated + level)).sqrt()
}

/// α_j − 1 and the weight of every order of the Rényi mixture: the wide prior, and with a scale a fifth of it and four more fifths.
pub(crate) fn renyi_mixture_prior<R: Real>(scale: Option<Amount>) -> Vec<(R, R)> {
    let by_index = |j: i32| R::from_f64([1.0, 1.625, 2.5][j.rem_euclid(3) as usize] * 4f64.powi(j.div_euclid(3)));
    let core = (-4..=15).map(|j| (j, [1, 2, 3, 4, 5, 6, 7, 8].get((j + 4) as usize).copied().unwrap_or(8)));
    let wide = [(-10, 1), (-8, 1), (-6, 1)].into_iter().chain(core).chain([(17, 1), (19, 1)]);
    let all = if scale.is_some() { 685 } else { 137 };
    let near = scale
        .into_iter()
        .flat_map(|scale| [10, 16, 25, 40].map(|tenths| (R::amount(scale) * R::ratio(tenths, 10), R::ratio(137, all))));
    wide.map(|(j, weight)| (by_index(j), R::ratio(weight, all))).chain(near).collect()
}

/// δ Σ_j w_j e^{(α_j−1)(u − R_j)}, which is 1 at the reading u. Terms below e^{−200} are left out.
pub(crate) fn renyi_mixture<R: Real>(prior: &[(R, R)], divergences: &[R], u: &R, delta: &R) -> R {
    prior.iter().zip(divergences).fold(R::zero(), |sum, ((above_one, weight), divergence)| {
        let exponent = above_one.clone() * (u.clone() - divergence.clone());
        if exponent.to_f64() < -200.0 {
            return sum;
        }
        sum + weight.clone() * exponent.exp() * delta.clone()
    })
}

/// KOV15: 1 − (1−δ)^k (1 − Σ_l C(k,l) [e^{(k−l)ε} − e^{ε_g + lε}]_+/(1 + e^ε)^k).
pub(crate) fn optimal_delta<R: Real>(epsilon: R, delta: R, rounds: u64, epsilon_g: R) -> R {
    let (odds, odds_g) = (epsilon.exp(), epsilon_g.exp());
    let mut sum = R::zero();
    let mut choices = 1u64;
    for l in 0..=rounds {
        let excess = odds.power(rounds - l) - odds_g.clone() * odds.power(l);
        if excess <= R::zero() {
            break;
        }
        sum = sum + R::whole(choices) * excess;
        choices = choices * (rounds - l) / (l + 1);
    }
    let pure = sum / (R::one() + odds).power(rounds);
    R::one() - (R::one() - delta).power(rounds) * (R::one() - pure)
}

/// MV16: 1 − Π(1−δ_i)(1 − Σ_T max(e^{Σ_T ε} − e^{ε_g} e^{Σ_{T^c} ε}, 0)/Π(1 + e^{ε_i})), over all subsets T.
pub(crate) fn optimal_delta_of_all<R: Real>(costs: &[(R, R)], epsilon_g: R) -> R {
    let odds: Vec<R> = costs.iter().map(|(epsilon, _)| epsilon.exp()).collect();
    let odds_g = epsilon_g.exp();
    let mut sum = R::zero();
    for subset in 0..1u32 << costs.len() {
        let product = |inside: u32| {
            odds.iter()
                .enumerate()
                .filter(|(at, _)| subset >> at & 1 == inside)
                .fold(R::one(), |p, (_, o)| p * o.clone())
        };
        let excess = product(1) - odds_g.clone() * product(0);
        if excess > R::zero() {
            sum = sum + excess;
        }
    }
    let pure = odds.iter().fold(sum, |rest, odds| rest / (R::one() + odds.clone()));
    let kept = costs.iter().fold(R::one(), |kept, (_, delta)| kept * (R::one() - delta.clone()));
    R::one() - kept * (R::one() - pure)
}
