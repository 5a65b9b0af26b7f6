//! Coverage by simulation: noise is added to parts that are known, and intervals are counted that hold. Seeds are fixed.

mod averages;
mod chosen;
mod laws;
mod moments;
mod published;
mod selection;

use taximeter_testing::random_inputs;

use super::ranks::SplitMix;
use super::*;

const MISS: f64 = 0.05;
const DRAWS: usize = 1_000;

/// A group whose true parts are known.
struct Simulated<'a> {
    truth: &'a [f64],
    /// The noise that is added.
    laws: &'a [NoiseLaw],
    statistic: Statistic<'a>,
    /// The part that has to reach its threshold, if only what is published counts.
    given: Option<usize>,
}

/// What came out.
#[derive(Clone, Copy, Debug, Default)]
struct Tally {
    asked: f64,
    said: f64,
    covered: f64,
    /// Estimates above the truth, and half of those at it.
    above: f64,
    width: f64,
}

impl Tally {
    fn coverage(&self) -> f64 {
        self.covered / self.said
    }

    /// Three standard deviations of the coverage.
    fn tolerance(&self) -> f64 {
        3.0 * (MISS * (1.0 - MISS) / self.said).sqrt()
    }

    /// 94 to 97 %, but for chance.
    #[track_caller]
    fn assert_covers(&self, what: &str) {
        self.assert_covers_at_least(what);
        assert!(self.coverage() <= 0.965 + self.tolerance(), "{what}: {} {self:?}", self.coverage());
    }

    #[track_caller]
    fn assert_covers_at_least(&self, what: &str) {
        assert!(self.said >= 20.0, "{what}: {self:?}");
        assert!(self.coverage() >= 0.945 - self.tolerance(), "{what}: {} {self:?}", self.coverage());
    }
}

impl Simulated<'_> {
    fn run(&self, repetitions: u32) -> Tally {
        self.run_with(repetitions, self.laws, MISS)
    }

    /// With laws and a miss that may be wrong.
    fn run_with(&self, repetitions: u32, claimed: &[NoiseLaw], miss: f64) -> Tally {
        let drawn: Vec<NoiseDraws> = (0..16).map(|seed| NoiseDraws::new(&each(claimed), DRAWS, &[seed; 32])).collect();
        let mut generator = SplitMix::new(&[99; 32], 0);
        let parts: Vec<f64> = self.statistic.parts.iter().map(|part| self.truth[*part]).collect();
        let truth = (self.statistic.formula)(&parts).expect("the truth is defined");
        let mut tally = Tally::default();
        for (_, drawn) in (0..repetitions).zip(drawn.iter().cycle()) {
            let noisy = self.noisy(&mut generator);
            tally.asked += 1.0;
            let Some(said) = drawn.group(&noisy, None).estimate(&self.statistic, miss) else { continue };
            assert!(said.low <= said.value && said.value <= said.high, "{said:?}");
            tally.said += 1.0;
            tally.covered += f64::from(u8::from(said.low <= truth && truth <= said.high));
            tally.above += 0.5 * f64::from(u8::from(said.value > truth) + u8::from(said.value >= truth));
            tally.width += said.high - said.low;
        }
        tally
    }

    fn noisy(&self, generator: &mut SplitMix) -> Vec<f64> {
        let mut noisy: Vec<f64> =
            self.truth.iter().zip(self.laws).map(|(truth, law)| truth + law.quantile(generator.unit())).collect();
        if let Some(count) = self.given {
            let (truth, law) = (self.truth[count], self.laws[count]);
            let least = threshold(law);
            let tail = generator.unit() * law.survival(least - truth);
            let noise = if tail < 0.5 { law.upper_quantile(tail) } else { law.quantile(1.0 - tail) };
            noisy[count] = (truth + noise).max(least);
        }
        noisy
    }
}

/// Every part with noise of its own.
fn each(laws: &[NoiseLaw]) -> Vec<SummedNoise> {
    laws.iter().map(|law| SummedNoise::new(*law, 1)).collect()
}

/// The mean of values between −`half` and `half`, from a count and a sum.
fn mean(parts: &[f64]) -> Option<f64> {
    let [count, sum] = *parts else { return None };
    (count >= 1.0).then_some(sum / count)
}

fn average(half: f64) -> Statistic<'static> {
    Statistic { parts: &[0, 1], formula: &mean, range: [-half, half], counts: &[0], divisors: &[], positive: false }
}

/// The laws of a count, of sums and of sums of products of values between −`half` and `half`, as with one ε for each.
fn laws(gaussian: bool, scale: f64, half: f64, degrees: &[i32]) -> Vec<NoiseLaw> {
    let law = |degree: &i32| {
        let size = scale * half.powi(*degree);
        if gaussian { NoiseLaw::Gaussian { sigma: size } } else { NoiseLaw::Laplace { scale: size } }
    };
    degrees.iter().map(law).collect()
}
