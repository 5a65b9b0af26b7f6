//! The exponential mechanism against exact probabilities, and its bounds against those of more bits.

use dashu::integer::UBig;
use dashu::rational::RBig;
use proptest::prelude::*;
use taximeter_testing::random_inputs;

use super::fit::{SAMPLES, fits};
use super::rational;
use crate::exponential::Shares;
use crate::{Candidate, Choice, NoiseError, Randomness, choose};

/// Candidates as (weight, score), with a rate.
type Case = (&'static [(u64, u64)], &'static str);

const BILLIONS: u64 = 1 << 31;

const CASES: [Case; 10] = [
    (&[(1, 0), (1, 1)], "1"),
    (&[(1, 2), (1, 1), (1, 0), (1, 1), (1, 2)], "1/3"),
    (&[(5, 3), (1, 0), (7, 4), (0, 0), (2, 1)], "1/2"),
    // The best is one of many: 2^31·e^{−21.5} = 0.99….
    (&[(BILLIONS, 43), (1, 0), (BILLIONS, 44)], "1/2"),
    (&[(1, 0), (BILLIONS, 43), (BILLIONS, 1_000_000), (3, 1)], "1/2"),
    (&[(1, 1_000_000_000), (1, 1_000_000_001), (2, 1_000_000_003)], "7/10"),
    (&[(u64::MAX, 0), (u64::MAX, 1), (1 << 63, 0)], "1/1000000000000000000000000000000"),
    (&[(3, u64::MAX), (2, 0), (1, 5)], "1/20"),
    (&[(10, 0), (20, 100), (30, 300), (40, 700), (50, 4_000)], "123456789/100000000000"),
    (&[(1, 1 << 40), (1, 0), (1, 1 << 41)], "1/1099511627776"),
];

fn candidates(pairs: &[(u64, u64)]) -> Vec<Candidate> {
    pairs.iter().map(|(weight, score)| Candidate { weight: *weight, score: *score }).collect()
}

/// The probabilities in floating point.
fn probabilities(candidates: &[Candidate], rate: &str) -> Vec<f64> {
    let rate = rational(rate).to_f64().value();
    let best = candidates.iter().filter(|one| one.weight > 0).map(|one| one.score).min().unwrap();
    let weigh = |one: &Candidate| match one.weight {
        0 => 0.0,
        weight => weight as f64 * (-rate * (one.score - best) as f64).exp(),
    };
    let weights: Vec<f64> = candidates.iter().map(weigh).collect();
    let total: f64 = weights.iter().sum();
    weights.into_iter().map(|weight| weight / total).collect()
}

fn counts(first: usize, candidates: &[Candidate], rate: &str, count: u32) -> Vec<u64> {
    let (rate, mut random, mut counted) = (rational(rate), Randomness::repeatable(41), vec![0; candidates.len()]);
    for _ in 0..count {
        counted[Choice::with_bits(first, &rate, &mut random).unwrap().among_all(candidates).unwrap()] += 1;
    }
    counted
}

/// With few bits at first, so that many draws need more, and with as many as usual.
#[test]
fn choices_have_the_declared_probabilities() {
    for (pairs, rate) in CASES {
        let candidates = candidates(pairs);
        for (first, count) in [(120, SAMPLES / 4), (3, SAMPLES / 10), (20, SAMPLES / 10)] {
            let bins = counts(first, &candidates, rate, count).into_iter().zip(probabilities(&candidates, rate));
            fits(bins).unwrap_or_else(|why| panic!("{pairs:?} from {first} bits: {why}"));
        }
    }
}

#[test]
fn wrong_probabilities_are_found() {
    let found = |wrong: &str, declared: &[(u64, u64)], rate: &str, pairs: &[(u64, u64)], off: &str| {
        let counted = counts(120, &candidates(pairs), off, SAMPLES);
        let bins = counted.into_iter().zip(probabilities(&candidates(declared), rate));
        assert!(fits(bins).is_err(), "{wrong} passes for {declared:?}");
    };
    let pairs = [(1, 2), (2, 1), (3, 0), (2, 1), (1, 2)];
    found("a rate that is off by 5%", &pairs, "1", &pairs, "21/20");
    found("half the rate", &pairs, "1", &pairs, "1/2");
    found("weights that are ignored", &pairs, "1", &pairs.map(|(_, score)| (1, score)), "1");
    found("scores that are off by one", &pairs, "1", &pairs.map(|(weight, score)| (weight, score.max(1) - 1)), "1");
    found("a candidate too far", &pairs, "1", &[pairs[4], pairs[0], pairs[1], pairs[2], pairs[3]], "1");
}

#[test]
fn a_candidate_that_is_far_from_the_best_is_never_chosen() {
    let far = vec![Candidate { weight: BILLIONS, score: 1_000_000 }; 100];
    let mut candidates = [far.clone(), vec![Candidate { weight: 1, score: 0 }], far].concat();
    assert_eq!(counts(120, &candidates, "1", 1_000)[100], 1_000);
    // Without weight the best is none, whatever its score.
    candidates[100].weight = 0;
    let counted = counts(120, &candidates, "1", SAMPLES / 10);
    assert_eq!(counted[100], 0);
    fits(counted.into_iter().zip(probabilities(&candidates, "1"))).unwrap();
}

/// Candidates as those of a quantile: the scores fall to the middle, and the widest gaps are far from it.
#[test]
fn a_million_candidates_are_chosen_from() {
    let count = u64::from(random_inputs(1_000_000));
    let middle = count / 2;
    let width = |at: u64| if at.abs_diff(middle) > count / 4 { BILLIONS } else { 1 };
    let candidates: Vec<_> = (0..count).map(|at| Candidate { weight: width(at), score: at.abs_diff(middle) }).collect();
    let mut random = Randomness::repeatable(42);
    for rate in ["1/20", "1/1000"] {
        let chosen = choose(&candidates, &rational(rate), &mut random).unwrap() as u64;
        // e^{−40} of the rest.
        let reach = 40.0 / rational(rate).to_f64().value();
        assert!((chosen.abs_diff(middle) as f64) < reach, "{rate}: {chosen}");
    }
}

#[test]
fn what_cannot_be_chosen_from_is_refused() {
    let mut random = Randomness::repeatable(1);
    let one = candidates(&[(1, 0)]);
    assert_eq!(choose(&[], &RBig::ONE, &mut random), Err(NoiseError::NoCandidate));
    assert_eq!(choose(&candidates(&[(0, 0), (0, 3)]), &RBig::ONE, &mut random), Err(NoiseError::NoCandidate));
    assert!(matches!(choose(&one, &RBig::ZERO, &mut random), Err(NoiseError::Rate { .. })));
    assert!(matches!(choose(&one, &rational("-1"), &mut random), Err(NoiseError::Rate { .. })));
    assert_eq!(choose(&one, &RBig::ONE, &mut random), Ok(0));
}

fn any_candidates() -> impl Strategy<Value = Vec<Candidate>> {
    let size = |most: u32| (0..most).prop_flat_map(|bits| 0..=(1u64 << bits));
    let candidate = (size(40), size(22)).prop_map(|(weight, score)| Candidate { weight, score });
    prop::collection::vec(candidate, 1..8).prop_map(|mut candidates| {
        candidates[0].weight += 1;
        candidates
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: random_inputs(2_000), failure_persistence: None, ..ProptestConfig::default() })]

    /// A uniform number of 960 bits: wherever its first bits decide, all of them decide the same.
    #[test]
    fn what_few_bits_decide_many_bits_decide_too(
        candidates in any_candidates(),
        rate in (1u64..10_000, 1u64..1_000_000),
        words in prop::collection::vec(prop_oneof![3 => any::<u64>(), 1 => Just(0), 1 => Just(u64::MAX)], 15),
    ) {
        let most = 960;
        let rate = RBig::from_parts(rate.0.into(), rate.1.into());
        let best = candidates.iter().filter(|one| one.weight > 0).map(|one| one.score).min().unwrap();
        let uniform = words.iter().fold(UBig::ZERO, |all, word| (all << 64) + UBig::from(*word));
        let decided = Shares::new(&candidates, best, &rate, most).find(&uniform);
        for bits in [2, 5, 10, 20, 30, 50, 80, 120, 240, 480] {
            let early = Shares::new(&candidates, best, &rate, bits).find(&(&uniform >> (most - bits)));
            prop_assert!(early.is_none() || early == decided, "{early:?} from {bits} bits, {decided:?} from {most}");
        }
        if let Some(index) = decided {
            prop_assert!(candidates[index].weight > 0);
        }
    }
}

/// Candidates as those of a quantile, with all that are at least so far above the best as two: those before it and those after it.
fn bundled(candidates: &[Candidate], far: u64) -> (usize, Vec<Candidate>) {
    let best = candidates.iter().map(|one| one.score).min().unwrap();
    let is_near = |one: &Candidate| one.score - best < far;
    let first = candidates.iter().position(is_near).unwrap();
    let end = candidates.iter().rposition(is_near).unwrap() + 1;
    let together =
        |part: &[Candidate]| Candidate { weight: part.iter().map(|one| one.weight).sum(), score: best + far };
    let before = together(&candidates[..first]);
    (first, [&[before][..], &candidates[first..end], &[together(&candidates[end..])]].concat())
}

/// How often which candidate is chosen, if those that are so far above the best stand together.
fn counts_of_bundled(candidates: &[Candidate], rate: &RBig, far: impl Fn(&Choice) -> u64) -> Vec<u64> {
    let (mut random, mut counted) = (Randomness::repeatable(43), vec![0; candidates.len()]);
    for _ in 0..SAMPLES / 10 {
        // With so few bits that what is far weighs enough to be seen, and some draws need all candidates.
        let choice = Choice::with_bits(8, rate, &mut random).unwrap();
        let (first, near) = bundled(candidates, far(&choice));
        let chosen = match choice.among_near(&near).unwrap() {
            Some(index) => (first + index).saturating_sub(1).min(candidates.len() - 1),
            None => choice.among_all(candidates).unwrap(),
        };
        counted[chosen] += 1;
    }
    counted
}

#[test]
fn candidates_that_stand_together_change_no_probability() {
    let candidates: Vec<_> =
        (0..400u64).map(|at| Candidate { weight: 1 + at % 3 * 50, score: at.abs_diff(150) }).collect();
    let rate = rational("1/10");
    let declared = || probabilities(&candidates, "1/10");
    let right = counts_of_bundled(&candidates, &rate, |choice| choice.far().unwrap());
    fits(right.into_iter().zip(declared())).unwrap();
    // Too near to the best for that: what stands together is taken for its first or last neighbour.
    let wrong = counts_of_bundled(&candidates, &rate, |choice| choice.far().unwrap() / 8);
    assert!(fits(wrong.into_iter().zip(declared())).is_err());
}

#[test]
fn what_stands_together_is_never_chosen_and_changes_no_choice() {
    let candidates: Vec<_> =
        (0..3_000u64).map(|at| Candidate { weight: 1 + at % 7, score: 3 * at.abs_diff(1_000) }).collect();
    let rate = rational("1/4");
    for seed in 0..2_000 {
        let mut random = Randomness::repeatable(seed);
        let choice = Choice::begin(&rate, &mut random).unwrap();
        let (first, near) = bundled(&candidates, choice.far().unwrap());
        assert!(near.len() < 200, "{}", near.len());
        let index = choice.among_near(&near).unwrap().expect("sixty bits decide");
        assert!(0 < index && index < near.len() - 1);
        assert_eq!(choose(&candidates, &rate, &mut Randomness::repeatable(seed)), Ok(first + index - 1));
    }
}
