//! The two arithmetics against each other, function by function.

use super::{Exact, Real, Wide};
use crate::tests::certified::Random;

/// The same number in `dashu`, from pieces of 53 bits.
fn exact(mut value: Wide) -> Exact {
    let mut sum = Exact::zero();
    for _ in 0..9 {
        let piece = value.to_f64();
        value = value - Wide::from_f64(piece);
        sum = sum + Exact::from_f64(piece);
    }
    sum
}

fn check(name: &str, at: f64, digits: i32, wide: Wide, expected: Exact) {
    let difference = exact(wide) - expected.clone();
    let size = if difference < Exact::zero() { -difference } else { difference };
    let bound = if expected < Exact::zero() { -expected } else { expected };
    let allowed = bound * Exact::from_f64(10f64.powi(-digits));
    assert!(size <= allowed, "{name} at {at:e} differs by {:e}", size.to_f64());
}

/// A function in both arithmetics, at numbers of many decades and of either sign.
fn compare(
    name: &str,
    decades: (f64, f64),
    signs: bool,
    digits: i32,
    wide: fn(&Wide) -> Wide,
    slow: fn(&Exact) -> Exact,
) {
    let mut random = Random::new(name.len() as u64);
    for _ in 0..150 {
        let size = 10f64.powf(random.between(decades.0, decades.1));
        let at = if signs && random.below(2) == 0 { -size } else { size };
        // Not only numbers of 53 bits: a third of them.
        let (fast, expected) = (Wide::from_f64(at) / Wide::whole(3), Exact::from_f64(at) / Exact::whole(3));
        check(name, at, digits, wide(&fast), slow(&expected));
    }
}

#[test]
fn the_fast_arithmetic_agrees_with_dashu() {
    compare("exp", (-40.0, 2.7), true, 108, Wide::exp, Exact::exp);
    compare("exp_m1", (-40.0, 2.7), true, 108, Wide::exp_m1, Exact::exp_m1);
    compare("ln", (-200.0, 200.0), false, 108, Wide::ln, Exact::ln);
    compare("ln_1p", (-60.0, 100.0), false, 105, Wide::ln_1p, Exact::ln_1p);
    compare("sqrt", (-200.0, 200.0), false, 112, Wide::sqrt, Exact::sqrt);
    compare("the square", (-90.0, 90.0), true, 112, Wide::square, Exact::square);
    compare("the sum with 1", (-90.0, 90.0), true, 90, |x| *x + Wide::one(), |x| x.clone() + Exact::one());
    compare("the quotient", (-90.0, 90.0), true, 112, |x| Wide::whole(7) / *x, |x| Exact::whole(7) / x.clone());
}

#[test]
fn normal_tails_agree_with_dashu_and_with_known_values() {
    compare("the tail near 0", (-50.0, 0.5), true, 105, Wide::upper_tail, Exact::upper_tail);
    compare("the tail", (0.0, 1.59), false, 72, Wide::upper_tail, Exact::upper_tail);
    compare("the far tail", (1.6, 1.9), false, 88, Wide::upper_tail, Exact::upper_tail);
    // Φ(−1) and Φ(−12), from tables.
    let at = |z: u64| Wide::whole(z).upper_tail().to_f64();
    assert!((at(1) - 0.158_655_253_931_457_05).abs() < 1e-17);
    assert!((at(12) / 1.776_482_112_077_679e-33 - 1.0).abs() < 1e-15);
}
