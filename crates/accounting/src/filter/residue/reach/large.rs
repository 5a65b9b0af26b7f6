//! Steps that are not small: the inequality as it stands, or taken from 1 where the profiles are near 1. Both sides are divided by
//! the density of the right one, so that nothing underflows.

use super::Step;
use crate::amount::FineAmount;
use crate::numeric::normal::{self, Profile, ROOT_TWO_PI};
use crate::numeric::{Interval, Scalar};

/// The largest rest that is proven; nothing if the cost is refused.
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

/// Which of two equivalent inequalities is used.
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

impl<'a, N: Scalar> Sides<'a, N> {
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
