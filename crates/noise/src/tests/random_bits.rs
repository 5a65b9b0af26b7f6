//! The primitives: uniform integers and Bernoulli variables.

use dashu::integer::UBig;
use dashu::rational::RBig;

use super::fit::{SAMPLES, fits};
use super::rational;
use crate::Randomness;

#[test]
fn integers_below_a_limit_are_uniform() {
    // Split into few equal parts: those of a limit that is a multiple of their number.
    for (limit, parts) in
        [("2", 2), ("3", 3), ("7", 7), ("2^64", 16), ("2^65", 16), ("55340232221128654848", 3), ("2^200", 8)]
    {
        let limit = rational(limit).numerator().clone().into_parts().1;
        let mut random = Randomness::repeatable(11);
        let mut counted = vec![0; parts];
        for _ in 0..SAMPLES {
            let drawn = random.below(&limit).unwrap();
            assert!(drawn < limit);
            counted[usize::try_from(drawn * UBig::from(parts) / &limit).unwrap()] += 1;
        }
        fits(counted.into_iter().map(|counted| (counted, 1.0 / parts as f64)))
            .unwrap_or_else(|why| panic!("{limit}: {why}"));
    }
    assert_eq!(Randomness::repeatable(1).below(&UBig::ONE).unwrap(), UBig::ZERO);
}

#[test]
fn every_bit_is_fair() {
    let mut random = Randomness::repeatable(12);
    let mut ones = [0; 130];
    for _ in 0..SAMPLES {
        let drawn = random.bits(130).unwrap();
        ones.iter_mut().enumerate().for_each(|(at, ones)| *ones += u64::from(dashu::base::BitTest::bit(&drawn, at)));
    }
    for (at, ones) in ones.into_iter().enumerate() {
        fits([(ones, 0.5), (u64::from(SAMPLES) - ones, 0.5)]).unwrap_or_else(|why| panic!("bit {at}: {why}"));
    }
}

fn check(x: &str, probability: f64, draw: impl Fn(&mut Randomness, &RBig) -> bool) {
    let (mut random, x) = (Randomness::repeatable(13), rational(x));
    let successes = (0..SAMPLES).filter(|_| draw(&mut random, &x)).count() as u64;
    let bins = [(successes, probability), (u64::from(SAMPLES) - successes, 1.0 - probability)];
    fits(bins).unwrap_or_else(|why| panic!("{x}: {why}"));
}

#[test]
fn bernoulli_has_its_probability() {
    for (p, probability) in [("1/3", 1.0 / 3.0), ("1/2", 0.5), ("355/1130", 355.0 / 1130.0), ("99/100", 0.99)] {
        check(p, probability, |random, p| random.bernoulli(p).unwrap());
    }
    let mut random = Randomness::repeatable(1);
    for (p, always) in [("0", false), ("-1", false), ("1", true), ("3/2", true)] {
        assert!((0..1000).all(|_| random.bernoulli(&rational(p)).unwrap() == always), "{p}");
    }
}

#[test]
fn bernoulli_of_e_to_the_minus_x_has_its_probability() {
    for x in ["1/2", "1", "1/1000", "7/3", "4", "2", "123456789123456789/100000000000000000", "31/10", "1/7", "5"] {
        check(x, (-rational(x).to_f64().value()).exp(), |random, x| random.bernoulli_exp(x).unwrap());
    }
    let mut random = Randomness::repeatable(1);
    for (x, always) in [("0", true), ("-1", true), ("2^100", false)] {
        assert!((0..1000).all(|_| random.bernoulli_exp(&rational(x)).unwrap() == always), "{x}");
    }
}
