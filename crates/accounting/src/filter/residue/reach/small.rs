//! Steps that are small against the residue, where the two sides agree in many digits.
//!
//! Subtracting δ_{w′}(τ) from both and dividing by its density leaves integrals of positive terms. With c = w − w′, a = ε/√w′ and
//! t = τ/√w′ the inequality reads
//!
//! ```text
//! (4ε/cosh(ε/2)) ∫_0^1 cosh(aty) e^{−a²y²/2} sinh(ε(1−y)/2) dy  ≤  ∫_0^c (1+r/w′)^{−½} exp(−r/8 + t²r/(2(w′+r))) dr
//! ```

use super::Step;
use crate::amount::FineAmount;
use crate::numeric::{Interval, Scalar};

/// How much more than the root is offered, as a share of the price; the first that is proven is taken.
const MARGINS: [f64; 4] = [4e-11, 1e-10, 1e-9, 1e-8];
/// What is left out of a sum that is about ½.
const NEGLIGIBLE: f64 = 2e-12;

/// The rest of the smallest price that is proven; nothing if none is.
pub(super) fn rest(near: &Step<f64>, exact: &Step<Interval>, residue: FineAmount) -> Option<FineAmount> {
    let price = root(near, residue.interval().middle());
    MARGINS.iter().find_map(|margin| {
        let price = FineAmount::at_least(price * (1.0 + margin))?;
        let rest = residue.checked_sub(price)?;
        is_proven(exact, rest.interval(), price.interval()).then_some(rest)
    })
}

/// Whether what is needed is at most what the price covers.
fn is_proven(step: &Step<Interval>, rest: Interval, price: Interval) -> bool {
    let root = rest.sqrt();
    let (a, t, ratio) = (step.epsilon / root, step.tau / root, price / rest);
    // Within these the remainders of `needed` and `covered` are as stated.
    let is_small_step = step.epsilon.hi() <= 0.26 && a.hi() <= 0.26 && (a * t).hi() <= 0.26;
    let is_small_price = price.hi() <= 0.08 && ratio.hi() <= 0.074 && (t.square() * ratio).hi() <= 0.08;
    is_small_step && is_small_price && needed(step.epsilon, a, t).hi() <= covered(rest, t, price).lo()
}

/// The price in plain floating point, by Newton's method on covered(c) = needed.
fn root(step: &Step<f64>, whole: f64) -> f64 {
    let square = step.epsilon * step.epsilon;
    let excess = (step.tau * step.tau / whole - 1.0) * square / whole;
    let mut price = square * (1.0 - excess / 6.0 - square / 24.0);
    for _ in 0..6 {
        let rest = whole - price;
        let root = rest.sqrt();
        let t = step.tau / root;
        let ratio = price / rest;
        let slope = core_math::exp(0.5 * t * t * ratio / (1.0 + ratio) - price / 8.0) / (1.0 + ratio).sqrt();
        let missing = (needed(step.epsilon, step.epsilon / root, t) - covered(rest, t, price)) / slope;
        price += missing;
        if missing.abs() <= 1e-6 * price {
            break;
        }
    }
    price
}

/// The left side, summed as a series.
///
/// cosh(aty) e^{−a²y²/2} = Σ_n c_{2n} y^{2n} with c_n = aⁿ He_n(t)/n!, so c_{n+1} = (at c_n − a² c_{n−1})/(n+1), and
/// ∫_0^1 y^{2n} sinh(ε(1−y)/2) dy = (ε/2) S_n. A term is at most (a + at)^{2n}/(2n)!! · 1.01/((2n+1)(2n+2)), and with
/// a + at ≤ 0.52 each of these is below a fifteenth of the one before; it ends where they no longer matter.
fn needed<N: Scalar>(epsilon: N, a: N, t: N) -> N {
    let (at, square) = (a * t, a.square());
    let quarter = (epsilon * 0.5).square();
    let growth = (a + at).square().hi();
    // c_{2n−1} and c_{2n}, the bound on c_{2n}, and the sum.
    let (mut odd, mut even, mut most) = (N::point(0.0), N::point(1.0), 1.0);
    let mut sum = N::point(0.0);
    for n in 0.. {
        let left_out = 1.1 * most / ((2 * n + 1) * (2 * n + 2)) as f64;
        if left_out <= NEGLIGIBLE {
            sum = sum + N::between(-left_out, left_out);
            break;
        }
        sum = sum + even * weight(n, quarter);
        odd = (at * even - square * odd) * reciprocal::<N>(2 * n + 1);
        even = (at * odd - square * even) * reciprocal::<N>(2 * n + 2);
        most *= growth / (2 * n + 2) as f64;
    }
    epsilon.square() * sum * 2.0 / (epsilon * 0.5).cosh()
}

/// S_n = Σ_j (ε/2)^{2j} (2n)!/(2n+2j+2)! from (ε/2)², of which a term is below a hundredth of the one before.
fn weight<N: Scalar>(n: usize, quarter: N) -> N {
    let first = reciprocal::<N>((2 * n + 1) * (2 * n + 2));
    let (mut term, mut sum) = (first, first);
    for j in n + 1.. {
        term = term * quarter * reciprocal::<N>((2 * j + 1) * (2 * j + 2));
        if term.hi() <= NEGLIGIBLE {
            sum = sum + N::between(0.0, 1.1 * term.hi());
            break;
        }
        sum = sum + term;
    }
    sum
}

/// 1/n.
fn reciprocal<N: Scalar>(n: usize) -> N {
    N::constant(1.0 / n as f64)
}

/// The right side. With v = w′(1+q)², it is 2w′ ∫_0^{q₁} e^{α(q)} dq with α(q) = (2q+q²)(t²/(2(1+q)²) − w′/8) and
/// (1+q₁)² = 1 + c/w′: Gauss' rule of four points.
///
/// The error of n points is (q₁/R)²ⁿ (n!)⁴/((2n+1) (2n)!²) times the largest |e^α| within R of [0, q₁] (Cauchy), as a share of
/// q₁. For small prices q₁ ≤ 1/27, t²q₁ ≤ 0.04 and w′q₁ ≤ 0.04; with R = 7q₁ there |α| < 1, and the error of four points is below
/// 10⁻¹¹ of the integral. Where the three are a fortieth of that, R = 280q₁ does, and two points are enough.
fn covered<N: Scalar>(rest: N, t: N, price: N) -> N {
    const FOUR: [(f64, f64); 4] = [
        (0.069_431_844_202_973_71, 0.173_927_422_568_726_93),
        (0.330_009_478_207_571_87, 0.326_072_577_431_273_07),
        (0.669_990_521_792_428_1, 0.326_072_577_431_273_07),
        (0.930_568_155_797_026_3, 0.173_927_422_568_726_93),
    ];
    const TWO: [(f64, f64); 2] = [(0.211_324_865_405_187_13, 0.5), (0.788_675_134_594_812_9, 0.5)];
    const FORTIETH: f64 = 0.0018;
    let ratio = price / rest;
    let is_tiny = price.hi().max(ratio.hi()).max((t.square() * ratio).hi()) <= FORTIETH;
    let nodes: &[_] = if is_tiny { &TWO } else { &FOUR };
    let end = ratio / ((ratio + 1.0).sqrt() + 1.0);
    let half_square = t.square() * 0.5;
    let eighth = rest * 0.125;
    let mean = nodes.iter().fold(N::point(0.0), |sum, &(node, weight)| {
        let q = end * N::constant(node);
        let exponent = q * (q + 2.0) * (half_square / (q + 1.0).square() - eighth);
        sum + exponent.exp() * N::constant(weight)
    });
    rest * end * mean * 2.0 * N::between(1.0 - 1e-11, 1.0 + 1e-11)
}
