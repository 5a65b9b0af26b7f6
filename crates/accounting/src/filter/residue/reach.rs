//! *The reach theorem* in numbers: one step of the residue filter.
//!
//! An ε-DP cost at residue w and level τ is admitted iff there is a w′ ≥ 0 with
//!
//! ```text
//! p δ_{w′}(τ−ε) + (1−p) δ_{w′}(τ+ε) ≤ δ_w(τ),      p = e^ε/(1+e^ε),
//! ```
//!
//! and leaves the largest such w′. The left side rises in w′, so a w′ for which the inequality is *proven* is never above the true
//! one. Here it is searched for in plain floating point and proven in intervals, in one of two forms.
//!
//! * **Large steps**: as it stands, or taken from 1 where the profiles are near 1. Both sides are divided by the density of the right
//!   one, so that nothing underflows.
//! * **Small steps** (ε, ε/√w and ετ/w at most ¼), where the two sides agree in many digits: subtracting δ_{w′}(τ) from both and
//!   dividing by its density leaves integrals of positive terms. With c = w − w′, a = ε/√w′ and t = τ/√w′ the inequality reads
//!
//! ```text
//! (4ε/cosh(ε/2)) ∫_0^1 cosh(aty) e^{−a²y²/2} sinh(ε(1−y)/2) dy  ≤  ∫_0^c (1+r/w′)^{−½} exp(−r/8 + t²r/(2(w′+r))) dr
//! ```
//!
//! For ε → 0 the price c is ε². It is least where τ is large: what is admitted at a level is admitted at every higher one. At τ = 0,
//! the join theorem, c ≤ ε² + ε⁴/(6(w − 1.6ε²)) for ε ≤ 3 and w ≥ 2.6ε², so that bounds the price at every level.

use crate::amount::{Amount, FineAmount};
use crate::numeric::normal::{self, Profile, ROOT_TWO_PI};
use crate::numeric::{Interval, Number};

/// The w′ that is left of a residue w after an ε-DP cost at level τ: the largest that is proven, to about ten digits of the price;
/// nothing if the cost is refused.
pub(crate) fn rest(epsilon: Amount, tau: Amount, residue: FineAmount) -> Option<FineAmount> {
    if epsilon.is_zero() {
        return Some(residue);
    }
    if residue.is_zero() {
        return (epsilon <= tau).then_some(residue);
    }
    let (whole, exact) = (residue.interval(), Step::<Interval>::new(epsilon, tau));
    let near = Step::<f64>::new(epsilon, tau);
    if near.is_small(whole.middle())
        && let Some(rest) = small::rest(&near, &exact, residue)
    {
        return Some(rest);
    }
    large::rest(&near, &exact, residue)
}

/// A cost at a level.
struct Step<N> {
    epsilon: N,
    tau: N,
    /// |τ − ε|, from the difference of exact amounts.
    gap: N,
    /// Whether ε > τ.
    overshoots: bool,
}

impl<N: Number> Step<N> {
    fn new(epsilon: Amount, tau: Amount) -> Step<N> {
        let number = |amount: Amount| N::between(amount.interval().lo(), amount.interval().hi());
        let (gap, overshoots) = match tau.checked_sub(epsilon) {
            Some(gap) => (gap, false),
            None => (epsilon.checked_sub(tau).unwrap_or(Amount::ZERO), true),
        };
        Step { epsilon: number(epsilon), tau: number(tau), gap: number(gap), overshoots }
    }

    /// Whether ε, ε/√w and ετ/w are at most a quarter.
    fn is_small(&self, residue: f64) -> bool {
        let epsilon = self.epsilon.hi();
        epsilon <= 0.25 && epsilon * epsilon <= residue / 16.0 && epsilon * self.tau.hi() <= residue / 4.0
    }
}

impl Step<f64> {
    /// About the rest that is left of a residue. With b = ετ/w the price is near 2w² ln(cosh b)/τ², which is ε² where b is small, as
    /// long as it is small against w; and where ε is near τ, w′ is near w (1 − ε/τ)².
    fn first_guess(&self, whole: f64) -> f64 {
        let b = self.epsilon * self.tau / whole;
        let log_cosh = b + core_math::log1p(core_math::exp(-2.0 * b)) - std::f64::consts::LN_2;
        let share = if b > 1e-4 { 2.0 * log_cosh / (b * b) } else { 1.0 };
        let kept = if self.overshoots { 0.0 } else { self.gap / self.tau };
        whole * (1.0 - share * self.epsilon * self.epsilon / whole).max(kept * kept).max(1e-3)
    }
}

/// Steps that are small against the residue.
mod small {
    use super::*;

    /// How much more than the root is offered, as a share of the price; the first that is proven is taken.
    const MARGINS: [f64; 4] = [4e-11, 1e-10, 1e-9, 1e-8];
    /// What is left out of a sum that is about ½.
    const NEGLIGIBLE: f64 = 2e-12;

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
    fn needed<N: Number>(epsilon: N, a: N, t: N) -> N {
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
    fn weight<N: Number>(n: usize, quarter: N) -> N {
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
    fn reciprocal<N: Number>(n: usize) -> N {
        N::constant(1.0 / n as f64)
    }

    /// The right side. With v = w′(1+q)², it is 2w′ ∫_0^{q₁} e^{α(q)} dq with α(q) = (2q+q²)(t²/(2(1+q)²) − w′/8) and
    /// (1+q₁)² = 1 + c/w′: Gauss' rule of four points.
    ///
    /// The error of n points is (q₁/R)²ⁿ (n!)⁴/((2n+1) (2n)!²) times the largest |e^α| within R of [0, q₁] (Cauchy), as a share of
    /// q₁. For small prices q₁ ≤ 1/27, t²q₁ ≤ 0.04 and w′q₁ ≤ 0.04; with R = 7q₁ there |α| < 1, and the error of four points is below
    /// 10⁻¹¹ of the integral. Where the three are a fortieth of that, R = 280q₁ does, and two points are enough.
    fn covered<N: Number>(rest: N, t: N, price: N) -> N {
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
}

/// All other steps.
mod large {
    use super::*;

    pub(super) fn rest(near: &Step<f64>, exact: &Step<Interval>, residue: FineAmount) -> Option<FineAmount> {
        let whole = residue.interval();
        let form = Form::of(near, whole.middle());
        let exact = Sides::new(exact, form, whole);
        if !exact.admits_with_nothing_left() {
            return None;
        }
        let (root, rise) = exact.approximate(near).root(whole.middle());
        // A steep side says more about the root than a flat one.
        let first = 2e-15 + 4e-12 / rise.max(1e-3);
        let margins = (0..12).map(|step| first * f64::from(1u32 << (2 * step))).take_while(|margin| *margin < 0.5);
        let proven = margins
            .filter_map(|margin| Some(FineAmount::at_most(root * (1.0 - margin))?.min(residue)))
            .find(|rest| !rest.is_zero() && exact.ratio(rest.interval()).hi() <= 1.0);
        Some(proven.unwrap_or(FineAmount::ZERO))
    }

    /// Which of two equal inequalities is looked at.
    #[derive(Clone, Copy, PartialEq)]
    enum Form {
        /// Profiles.
        Tail,
        /// Profiles taken from 1.
        Complement,
    }

    impl Form {
        fn of(step: &Step<f64>, whole: f64) -> Form {
            let root = whole.sqrt();
            if 0.5 * root - step.tau / root > 1.0 { Form::Complement } else { Form::Tail }
        }
    }

    /// What the inequality is made of, for one residue.
    struct Sides<'a, N> {
        step: &'a Step<N>,
        form: Form,
        whole: Profile<N>,
        /// p and 1 − p.
        weights: [N; 2],
        /// e^{−|τ−ε|} where ε > τ, otherwise 1: δ(−s) = 1 − e^{−s} + e^{−s} δ(s).
        folded: N,
        /// 1 − e^{−|τ−ε|} where ε > τ, otherwise 0; as a share of the right side.
        certain: N,
    }

    impl<'a, N: Number> Sides<'a, N> {
        fn new(step: &'a Step<N>, form: Form, whole: N) -> Sides<'a, N> {
            let zero = N::point(0.0);
            let whole = match form {
                Form::Tail => normal::profile(whole, step.tau),
                Form::Complement => normal::complement(whole, step.tau),
            };
            let odds = (zero - step.epsilon).exp();
            let weights = [N::point(1.0) / (odds + 1.0), odds / (odds + 1.0)];
            let (folded, certain) = match step.overshoots {
                true => ((zero - step.gap).exp(), zero - (zero - step.gap).exp_m1()),
                false => (N::point(1.0), zero),
            };
            let scale = (zero - whole.exponent).exp() * N::constant(ROOT_TWO_PI) / whole.factor;
            let certain = if certain.hi() > 0.0 { certain * scale } else { zero };
            Sides { step, form, whole, weights, folded, certain }
        }

        /// Whether w′ = 0 satisfies the inequality: p(1 − e^{τ−ε}) ≤ δ_w(τ).
        fn admits_with_nothing_left(&self) -> bool {
            if !self.step.overshoots {
                return true;
            }
            let certain = self.weights[0] * self.certain;
            match self.form {
                Form::Tail => certain.hi() <= 1.0,
                Form::Complement => {
                    // 1 − p(1 − e^{−s}) ≥ 1 − δ_w(τ).
                    let scale = (N::point(0.0) - self.whole.exponent).exp() * N::constant(ROOT_TWO_PI);
                    let kept = self.weights[0] * self.folded + self.weights[1];
                    (kept * scale / self.whole.factor).lo() >= 1.0
                }
            }
        }

        /// The left side over the right one, or in the complement the right one over the left; at most 1 where w′ is admitted.
        fn ratio(&self, rest: N) -> N {
            let sum = self.parts(rest).into_iter().fold(self.start(), |sum, part| sum + part.density * part.factor);
            match self.form {
                Form::Tail => sum,
                Form::Complement => N::point(1.0) / sum,
            }
        }

        /// What the sum of the parts begins with.
        fn start(&self) -> N {
            match self.form {
                Form::Tail => self.weights[0] * self.certain,
                Form::Complement => N::point(0.0),
            }
        }

        /// The two profiles of w′ on the left side.
        fn parts(&self, rest: N) -> [Part<N>; 2] {
            let Sides { step, form, whole, weights, folded, .. } = self;
            [(step.gap, weights[0] * *folded), (step.tau + step.epsilon, weights[1])].map(|(level, weight)| {
                let side = match form {
                    Form::Tail => normal::profile(rest, level),
                    Form::Complement => normal::complement(rest, level),
                };
                let density = weight * (side.exponent - whole.exponent).exp() / whole.factor;
                Part { level, density, factor: side.factor, slope: side.slope }
            })
        }
    }

    /// A profile on the left side, as a share of the right side: density · factor, and density · slope for its derivative.
    struct Part<N> {
        level: N,
        density: N,
        factor: N,
        slope: N,
    }

    impl Sides<'_, Interval> {
        /// The same in plain floating point.
        fn approximate<'a>(&self, step: &'a Step<f64>) -> Sides<'a, f64> {
            let Profile { exponent, factor, slope } = self.whole;
            Sides {
                step,
                form: self.form,
                whole: Profile { exponent: exponent.middle(), factor: factor.middle(), slope: slope.middle() },
                weights: self.weights.map(Interval::middle),
                folded: self.folded.middle(),
                certain: self.certain.middle(),
            }
        }
    }

    impl Sides<'_, f64> {
        /// About where the ratio is 1, and how fast its logarithm rises there with that of w′: Halley's method on the logarithms,
        /// within a bracket. Near the root a step triples the number of correct digits, so from the third digit on the next is the last.
        fn root(&self, whole: f64) -> (f64, f64) {
            const CLOSE: f64 = 1e-3;
            let (mut low, mut high) = (whole * 1e-70, whole);
            let mut rest = self.step.first_guess(whole);
            let mut slope = 1.0;
            for _ in 0..100 {
                let (log, rise, bend) = self.logarithm(rest);
                *(if log <= 0.0 { &mut low } else { &mut high }) = rest;
                let newton = -log / rise;
                let step = newton / (1.0 + 0.5 * newton * bend / rise).clamp(0.5, 2.0);
                let next = rest * core_math::exp(step);
                if step.is_finite() {
                    slope = rise;
                    if step.abs().max(log.abs()) <= CLOSE {
                        return (next, slope);
                    }
                }
                // Far from the root a step may leave the bracket; halving it on a logarithmic scale helps.
                rest = if next > low && next < high { next } else { (low * high).sqrt() };
                if high - low <= 1e-15 * high {
                    break;
                }
            }
            (rest, slope)
        }

        /// The logarithm of the ratio, and its first and second derivative in ln w′.
        ///
        /// With h = √w/2 and a = t/√w, dδ_w(t)/d(ln w) = φ(a−h) h and d²δ_w(t)/d(ln w)² = φ(a−h) h (1 + a² − h²)/2.
        fn logarithm(&self, rest: f64) -> (f64, f64, f64) {
            let half = 0.5 * rest.sqrt();
            let (mut sum, mut first, mut second) = (self.start(), 0.0, 0.0);
            for Part { level, density, factor, slope } in self.parts(rest) {
                sum += density * factor;
                first += density * slope * half;
                second += density * slope * half * 0.5 * (1.0 + level * level / rest - half * half);
            }
            let (first, second) = (first / sum, second / sum);
            match self.form {
                Form::Tail => (core_math::log(sum), first, second - first * first),
                Form::Complement => (-core_math::log(sum), first, second + first * first),
            }
        }
    }
}

/// A number of ε-DP charges that surely fit, in a few steps whatever it is: while the residue falls from w to w/2 each price is at most
/// that of the bound at w/2.
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

/// ε² + ε⁴/(6(w − 1.6ε²)), rounded up: enough at every level where ε ≤ 3 and w ≥ 2.6ε². What a step really takes is up to a
/// hundred-millionth more than it needs, so this has ten times as much on top.
pub(crate) fn bounded_price(epsilon: Interval, residue: FineAmount) -> Option<FineAmount> {
    let square = epsilon.square();
    let residue = residue.interval();
    if !(epsilon.hi() <= 3.0 && residue.lo() >= (2.6000001 * square).hi()) {
        return None;
    }
    let price = square + square.square() / (6.0 * (residue - Interval::around(1.6, 1) * square));
    FineAmount::at_least((price * (1.0 + 1e-7)).hi())
}
