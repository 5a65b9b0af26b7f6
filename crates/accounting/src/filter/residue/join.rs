//! *The join theorem.* Randomized response RR_ε followed by anything √w-GDP, chosen after seeing the outcome, is √W-GDP, and
//! no smaller W will do, for 2Φ(√W/2) − 1 = tanh(ε/2) + (1 − tanh(ε/2)) δ_w(ε). W is join(ε, w).
//!
//! What is needed is the *price* c = join(ε, w) − w, to many digits also where it is far smaller than w. With x = √w/2, a = ε/√w
//! and y = √W/2 there are three exact forms, none of which subtracts nearly equal numbers in its own range:
//!
//! * **small steps** (ε ≤ ¼, a ≤ ¼). Differentiating the equation in ε, at fixed w, leaves only positive terms:
//!   ∫_x^y φ(v)/φ(x) dv = x a² ∫_0^1 e^{−a²u²/2} sinh(ε(1−u)/2)/((ε/2) cosh(ε/2)) du. The right side is a double power series
//!   in a²/2 and (ε/2)²; the left side gives y − x, and c = 4(y − x)(y + x).
//! * **small residues** (ε ≤ 1, x ≤ ¼). The equation as printed, with the profile summed as a series.
//! * **otherwise** its complement Φ(−y) = [Φ(a − x) + e^ε Φ(−a − x)]/(1 + e^ε).
//!
//! For ε ≤ 3 the price is at most ε² + ε⁴/(6w), for w ≥ ε², and always at most join(ε, 0).

use std::f64::consts::FRAC_1_SQRT_2;

use crate::amount::{Amount, FineAmount};
use crate::numeric::{Interval, normal};

/// Below this in ε and in a = ε/√w a step counts as small; also the largest x for which a residue does.
const SMALL: f64 = 0.25;

/// A candidate that passed is kept if the room it leaves is at most this share of its price.
const CLOSE_ENOUGH: f64 = 1e-10;
/// How much more than the root is offered, as a share of the price, so that the certified price of the rest fits into it.
const A_LITTLE: f64 = 2e-11;

/// The largest w′ that is proven to satisfy join(ε, w′) ≤ w; nothing if join(ε, 0) > w.
///
/// Newton's method on the price, with every candidate tried by the certified price: only what passed is returned.
pub(crate) fn rest(epsilon: Amount, residue: FineAmount) -> Option<FineAmount> {
    // The price is never below 8 ln cosh(ε/2) ≥ ε²/(1 + ε²/4), so what is far larger than the residue needs no search.
    let eps = epsilon.interval();
    let floor = eps.square() / (1.0 + 0.25 * eps.square());
    if !(floor.lo() <= residue.interval().hi()) {
        return None;
    }
    let bounded = bounded_price(eps, residue).and_then(|price| residue.checked_sub(price));
    let mut best = bounded;
    let mut paid = match bounded {
        // The bound is close already; one step of its own expansion brings the first candidate closer.
        Some(rest) => first_guess(eps, rest),
        None => {
            let all = FineAmount::at_least(price(eps, Interval::ZERO))?;
            if all > residue {
                return None;
            }
            best = Some(FineAmount::ZERO);
            residue.interval().middle() * 0.75
        }
    };
    const MOST_STEPS: u32 = 60;
    let (mut too_little, mut enough) = (0.0f64, residue.interval().hi());
    for _ in 0..MOST_STEPS {
        let Some(candidate) = FineAmount::at_least(paid).and_then(|paid| residue.checked_sub(paid)) else {
            enough = enough.min(paid);
            paid = 0.5 * (too_little + enough);
            continue;
        };
        let rest = candidate.interval();
        let needed = price(eps, rest);
        let passes = FineAmount::at_least(needed)
            .and_then(|needed| candidate.checked_add(needed))
            .is_some_and(|joined| joined <= residue);
        let room = paid - needed;
        let slope = slope(eps, rest, needed);
        let step = room / slope;
        if passes {
            best = best.max(Some(candidate));
            enough = enough.min(paid);
            if step <= CLOSE_ENOUGH * paid {
                break;
            }
        } else {
            too_little = too_little.max(paid);
        }
        // Newton's step, a little short of the root so that the next candidate passes.
        let next = (paid - step) * (1.0 + A_LITTLE);
        paid = if next > too_little && next < enough { next } else { 0.5 * (too_little + enough) };
        if enough - too_little <= 1e-15 * enough {
            break;
        }
    }
    best
}

/// ε² + ε⁴/(6(w − 1.6ε²)), rounded up: proven to be enough where ε ≤ 3 and w ≥ 2.6ε².
fn bounded_price(epsilon: Interval, residue: FineAmount) -> Option<FineAmount> {
    let square = epsilon.square();
    let residue = residue.interval();
    if !(epsilon.hi() <= 3.0 && residue.lo() >= (2.6000001 * square).hi()) {
        return None;
    }
    let price = square + square.square() / (6.0 * (residue - Interval::around(1.6, 1) * square));
    FineAmount::at_least(price.hi())
}

/// The price to a few digits where the residue is large: a start for the search, not a bound.
fn first_guess(epsilon: Interval, rest: FineAmount) -> f64 {
    let (square, rest) = (epsilon.hi() * epsilon.hi(), rest.interval().lo());
    (square + square * square / 6.0 * (1.0 / rest - 0.5)) * (1.0 + A_LITTLE)
}

/// join(ε, w) − w, rounded up; NaN where no bound was found.
pub(crate) fn price(epsilon: Interval, rest: Interval) -> f64 {
    let root = rest.sqrt();
    let half = 0.5 * root;
    let distance = if root.lo() > 0.0 { epsilon / root } else { Interval::point(f64::INFINITY) };
    if epsilon.hi() <= SMALL && distance.hi() <= SMALL {
        return small_step(epsilon, half, distance);
    }
    let guess = 0.5 * (rest.middle() + epsilon.middle() * epsilon.middle()).sqrt();
    let joined = if epsilon.hi() <= 1.0 && half.hi() <= SMALL {
        let bias = (0.5 * epsilon).tanh();
        inverse_within(bias + (1.0 - bias) * normal::gaussian_profile(rest, epsilon), guess)
    } else {
        inverse_upper_tail(complement(epsilon, half, distance), guess)
    };
    (4.0 * (joined - half) * (joined + half)).hi()
}

/// The price of a small step: the double series, then the integral inverted.
fn small_step(epsilon: Interval, half: Interval, distance: Interval) -> f64 {
    // Σ_m (−a²/2)^m/m! Σ_j (ε/2)^{2j} (2m)!/(2m+2j+2)!, both sums nested. Behind the last term of the outer sum stands what
    // an alternating series leaves, between 0 and its first term; behind the inner ones a factor that is hardly above 1.
    let square = distance.square();
    let half_square = 0.5 * square;
    let quarter = (0.5 * epsilon).square();
    let (depth, hardly_above_one) = if quarter.hi() < 1e-6 { (1, 1.0001) } else { (3, 1.01) };
    let inner = |m: usize| {
        let behind = Interval::between(1.0, hardly_above_one);
        let nested = (m + 1..=m + depth).rev().fold(behind, |rest, at| 1.0 + quarter * rest * OVER_NEIGHBOURS[at]);
        nested * OVER_NEIGHBOURS[m]
    };
    let terms = if square.hi() < 1e-4 { 3 } else { 7 };
    let left_out = Interval::between(0.0, inner(terms).hi());
    let outer = (0..terms).rev().fold(left_out, |rest, m| inner(m) - half_square * rest * OVER[m]);
    let integral = half * square * outer / (0.5 * epsilon).cosh();
    let step = Interval::point(invert_integral(half, integral));
    (4.0 * step * (2.0 * half + step)).hi()
}

/// 1/((2n+1)(2n+2)) and 1/(n+1).
const OVER_NEIGHBOURS: [Interval; 11] = {
    let mut table = [Interval::ZERO; 11];
    let mut n = 0;
    while n < table.len() {
        table[n] = Interval::around(1.0 / ((2 * n + 1) * (2 * n + 2)) as f64, 1);
        n += 1;
    }
    table
};
const OVER: [Interval; 7] = {
    let mut table = [Interval::ZERO; 7];
    let mut n = 0;
    while n < table.len() {
        table[n] = Interval::around(1.0 / (n + 1) as f64, 1);
        n += 1;
    }
    table
};

/// The h with ∫_0^h e^{−xv − v²/2} dv = r, rounded up, for small steps: there xh ≤ 1/128 and h ≤ 1/64.
fn invert_integral(x: Interval, r: Interval) -> f64 {
    let (x_near, r_near) = (x.middle(), r.middle());
    // h − xh²/2 + (x²−1)h³/6 + … is turned round by Newton's method in plain numbers; the density ratio at h is near 1.
    let mut h = r_near * (1.0 + 0.5 * x_near * r_near);
    for _ in 0..2 {
        let (g, q) = (x_near * h, 0.5 * h * h);
        let mean =
            1.0 - (g / 2.0 + q / 3.0) + (g * g / 6.0 + g * q / 4.0 + q * q / 10.0) - (g + q) * (g + q) * (g + q) / 24.0;
        h -= (h * mean - r_near) * (1.0 + g + q);
    }
    round_up(h, |h| {
        let point = Interval::point(h);
        (point * mean_density_ratio(x * h, 0.5 * point.square())).lo() >= r.hi()
    })
}

/// ∫_0^1 e^{−(gu + qu²)} du for g + q ≤ 1/64: the exponential to its fourth power, integrated term by term.
fn mean_density_ratio(g: Interval, q: Interval) -> Interval {
    let [_, _, third, _, fifth, _, seventh] = OVER;
    let first_power = 0.5 * g + q * third;
    let second_power = g.square() * third + 0.5 * (g * q) + q.square() * fifth;
    let third_power = 0.25 * (g * g.square()) + g * q * (3.0 * g * fifth + 0.5 * q) + q * q.square() * seventh;
    // The fourth power adds at most (g + q)⁴/24, and what is left out after it only takes something away from that.
    let rest = Interval::between(0.0, ((g + q).square().square() * third * 0.125).hi());
    1.0 - first_power + 0.5 * second_power - third_power * OVER[5] + rest
}

/// [Φ(a − x) + e^ε Φ(−a − x)]/(1 + e^ε).
fn complement(epsilon: Interval, half: Interval, distance: Interval) -> Interval {
    let odds = epsilon.exp();
    if distance.lo() == f64::INFINITY {
        return Interval::ONE / (1.0 + odds);
    }
    (normal::upper_tail(half - distance) + odds * normal::upper_tail(half + distance)) / (1.0 + odds)
}

/// The y with Φ(−y) = tail, rounded up, for a tail below ½.
fn inverse_upper_tail(tail: Interval, guess: f64) -> f64 {
    let target = core_math::log(tail.middle());
    let plain = |y: f64| 0.5 * core_math::erfc(y * FRAC_1_SQRT_2);
    // ln Φ(−y) is concave and falls: Newton's method converges, with slope −φ(y)/Φ(−y).
    // Φ(−y) ≤ e^{−y²/2}: the root is not beyond √(2 ln(1/tail)), where Φ(−y) does not underflow.
    let mut y = guess.min((-2.0 * target).sqrt());
    for _ in 0..20 {
        let at = plain(y);
        let step = (core_math::log(at) - target) * at * ROOT_TWO_PI * core_math::exp(0.5 * y * y);
        y = (y + step).max(0.0);
        if step.abs() <= 1e-8 * y {
            break;
        }
    }
    round_up(y, |y| normal::upper_tail(Interval::point(y)).hi() <= tail.lo())
}

/// The y with 2Φ(y) − 1 = share, rounded up, for a share below 0.8.
fn inverse_within(share: Interval, guess: f64) -> f64 {
    let target = share.middle();
    let mut y = guess;
    for _ in 0..20 {
        let step = 0.5 * (target - core_math::erf(y * FRAC_1_SQRT_2)) * ROOT_TWO_PI * core_math::exp(0.5 * y * y);
        y += step;
        if step.abs() <= 1e-8 * y {
            break;
        }
    }
    round_up(y, |y| normal::within(Interval::point(y)).lo() >= share.hi())
}

/// The first of a few numbers from an approximate root upwards that is proven not to be below it; NaN if none is.
fn round_up(root: f64, is_proven: impl Fn(f64) -> bool) -> f64 {
    (0..20)
        .map(|try_| root * (1.0 + f64::EPSILON * f64::from(32u32 << try_)))
        .find(|&end| is_proven(end))
        .unwrap_or(f64::NAN)
}

const ROOT_TWO_PI: f64 = 2.506_628_274_631_000_7;

/// dW/dw at fixed ε, roughly: (√W/√w)·2φ(x − a)/((1 + e^ε) φ(y)). It steers the search and proves nothing.
fn slope(epsilon: Interval, rest: Interval, price: f64) -> f64 {
    let (epsilon, rest) = (epsilon.middle(), rest.middle());
    if rest <= 0.0 {
        return 1e-3;
    }
    let joined = rest + price;
    let (x, a, y) = (0.5 * rest.sqrt(), epsilon / rest.sqrt(), 0.5 * joined.sqrt());
    let exponent = 0.5 * (y * y - (x - a) * (x - a));
    let slope = (joined / rest).sqrt() * 2.0 * core_math::exp(exponent) / (1.0 + core_math::exp(epsilon));
    if slope.is_finite() { slope.clamp(1e-300, 1.0) } else { 1.0 }
}

/// A number of ε-DP charges that surely fit, in a few steps whatever it is.
///
/// While the residue falls from w to w/2 each price is at most ε² + ε⁴/(6 w/2 − 10ε²), the bound of [`bounded_price`] at its
/// smallest residue.
pub(crate) fn count_at_least(epsilon: Amount, residue: FineAmount) -> u64 {
    let eps = epsilon.interval();
    let Some(enough) = epsilon.square().checked_times(16) else { return 0 };
    let (mut left, mut count) = (residue, 0u64);
    while left > enough {
        let half = left.half();
        let Some(price) = bounded_price(eps, half) else { break };
        let Some(stretch) = left.checked_sub(half) else { break };
        let fits = stretch.count_of(price);
        if fits == u64::MAX {
            return u64::MAX;
        }
        let Some(rest) = price.checked_times(fits).and_then(|spent| left.checked_sub(spent)) else { break };
        if fits == 0 {
            break;
        }
        (left, count) = (rest, count.saturating_add(fits));
    }
    count
}

/// An ε such that so many charges of it use up about all of a residue: the charges are joined backwards from nothing.
pub(crate) fn near_largest(residue: f64, times: u64) -> Amount {
    let joined = |epsilon: f64| {
        let epsilon = Interval::point(epsilon);
        (0..times).fold(0.0, |rest, _| rest + price(epsilon, Interval::point(rest)))
    };
    // k charges need at least about kε² and at most (π/2)kε², and the dependence on ε is close to a square.
    let mut epsilon = (residue / times as f64).sqrt();
    for _ in 0..8 {
        let ratio = residue / joined(epsilon);
        epsilon *= ratio.sqrt();
        if !((ratio - 1.0).abs() > 1e-13) {
            break;
        }
    }
    Amount::at_most(epsilon * (1.0 - 1e-9))
}
