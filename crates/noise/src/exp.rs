//! Certified bounds on e^{−x} for a rational x ≥ 0, in integers of any precision.

use dashu::base::BitTest;
use dashu::integer::UBig;
use dashu::rational::RBig;

/// Bits beyond those asked for: squaring loses one at a time, up to the bits of the precision's own length.
const GUARD: usize = 32;

/// low ≤ 2^bits·e^{−x} ≤ high.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ExpBounds {
    pub(crate) low: UBig,
    pub(crate) high: UBig,
}

/// Bounds on 2^bits·e^{−x}, a few units apart. x is not negative.
///
/// With t = x/2^j below ½, e^{−x} = (e^{−t})^{2^j}. All numbers are integers, in units of 2^{−(bits + GUARD)}.
///
/// *Series.* e^{−t} = a₀ − a₁ + a₂ − …, with a₀ = 1 and aₙ = aₙ₋₁·t/n. Each stored term is rounded down, and so is t, by less than a unit;
/// what the n-th has lost is at most lost(n−1)·t/n + 1 + 1 ≤ lost(n−1)/2 + 2 units, so never more than 4. From the first term on that
/// is stored as 0 the terms alternate and fall, so together they are at most that one, which is at most 4 units. So the sum of N terms
/// is wrong by at most 4·(N + 1).
///
/// *Squares.* The lower bound is rounded down and the upper one up, each time.
pub(crate) fn exp_minus(x: &RBig, bits: usize) -> ExpBounds {
    let (numerator, denominator) = (magnitude(x), x.denominator());
    let whole = &numerator / denominator;
    if whole >= UBig::from(bits) {
        // e^{−bits} < 2^{−bits}.
        return ExpBounds { low: UBig::ZERO, high: UBig::ONE };
    }
    let (places, halvings) = (bits + GUARD, whole.bit_len() + 1);
    let t = (numerator << places) / (denominator << halvings);
    let (sum, wrong) = alternating_series(&t, places);
    let one = UBig::ONE << places;
    let mut high = (&sum + &wrong).min(one);
    let mut low = if sum > wrong { sum - wrong } else { UBig::ZERO };
    for _ in 0..halvings {
        low = low.sqr() >> places;
        high = (high.sqr() >> places) + UBig::ONE;
    }
    ExpBounds { low: low >> GUARD, high: (high >> GUARD) + UBig::ONE }
}

/// The sum 1 − t + t²/2! − …, and by how much it may be wrong, in units of 2^−places.
fn alternating_series(t: &UBig, places: usize) -> (UBig, UBig) {
    let mut term = UBig::ONE << places;
    let mut sums = [UBig::ZERO, UBig::ZERO];
    let mut n = 0u32;
    while !term.is_zero() {
        sums[n as usize % 2] += &term;
        n += 1;
        term = ((term * t) >> places) / n;
    }
    let [even, odd] = sums;
    (even - odd, UBig::from(4 * (n + 1)))
}

/// |x|, without its denominator.
fn magnitude(x: &RBig) -> UBig {
    x.numerator().clone().into_parts().1
}

#[cfg(test)]
mod tests {
    use taximeter_testing::random_inputs;

    use super::*;
    use crate::Randomness;

    fn rational(numerator: u128, denominator: u128) -> RBig {
        RBig::from_parts(numerator.into(), denominator.into())
    }

    /// e^{−1} and e^{−1/3} to fifty digits, from tables.
    #[test]
    fn bounds_hold_known_values() {
        for (x, digits) in [
            (rational(1, 1), "36787944117144232159552377016146086744581113103176"),
            (rational(1, 3), "71653131057378925042560409692537966745311205982147"),
            (rational(10, 1), "00004539992976248485153559151556055061023791808886"),
        ] {
            let digits = digits.parse::<UBig>().unwrap();
            for bits in [8, 60, 120, 160] {
                let bounds = exp_minus(&x, bits);
                let ten = UBig::from(10u8).pow(50);
                let (below, above) = ((&digits << bits) / &ten, ((digits.clone() + UBig::ONE) << bits) / ten);
                assert!(bounds.low <= above && below <= bounds.high, "{x} in {bits} bits: {bounds:?}");
                assert!(&bounds.high - &bounds.low <= UBig::from(2u8), "{x} in {bits} bits: {bounds:?}");
            }
        }
    }

    #[test]
    fn zero_and_what_underflows_have_bounds() {
        let zero = exp_minus(&RBig::ZERO, 64);
        assert!(zero.low <= UBig::ONE << 64 && UBig::ONE << 64 <= zero.high);
        for x in [rational(64, 1), rational(1 << 100, 1), rational((64 << 20) + 1, 1 << 20)] {
            assert_eq!(exp_minus(&x, 64), ExpBounds { low: UBig::ZERO, high: UBig::ONE }, "{x}");
        }
    }

    /// Bounds of few bits hold those of many, for numbers of all sizes.
    #[test]
    fn bounds_of_few_bits_hold_bounds_of_many() {
        let mut random = Randomness::repeatable(1);
        for _ in 0..random_inputs(2_000) {
            let mut draw = |most: u64| u64::try_from(random.below(&most.into()).unwrap()).unwrap() as usize;
            let (bits, more, sizes) = (draw(200) + 1, draw(200), [draw(100) + 1, draw(100) + 1]);
            let [numerator, denominator] = sizes.map(|bits| random.bits(bits).unwrap() + UBig::ONE);
            let x = RBig::from_parts(numerator.into(), denominator);
            let (few, many) = (exp_minus(&x, bits), exp_minus(&x, bits + more));
            // The true value is in both.
            assert!(
                few.low.clone() << more <= many.high && many.low <= few.high.clone() << more,
                "{x}, {bits}, {more}"
            );
            assert!(&few.high - &few.low <= UBig::from(2u8), "{x}, {bits}: {few:?}");
        }
    }
}
