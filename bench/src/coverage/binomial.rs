//! How many of many intervals hold, and what chance explains.

/// P(at most `hits` of `trials`), each with this probability.
pub fn at_most(hits: u64, trials: u64, probability: f64) -> f64 {
    (0..=hits.min(trials)).map(|hit| exactly(hit, trials, probability)).sum::<f64>().min(1.0)
}

/// P(at least `hits` of `trials`).
pub fn at_least(hits: u64, trials: u64, probability: f64) -> f64 {
    (hits..=trials).map(|hit| exactly(hit, trials, probability)).sum::<f64>().min(1.0)
}

fn exactly(hits: u64, trials: u64, probability: f64) -> f64 {
    let times = |count: u64, logarithm: f64| if count == 0 { 0.0 } else { count as f64 * logarithm };
    let ways = log_factorial(trials) - log_factorial(hits) - log_factorial(trials - hits);
    (ways + times(hits, probability.ln()) + times(trials - hits, (-probability).ln_1p())).exp()
}

/// ln n!: Stirling's series, whose error is below 1/(1260·n⁵).
fn log_factorial(n: u64) -> f64 {
    if n < 20 {
        return (2..=n).map(|factor| (factor as f64).ln()).sum();
    }
    let n = n as f64;
    n * n.ln() - n + 0.5 * (2.0 * std::f64::consts::PI * n).ln() + 1.0 / (12.0 * n) - 1.0 / (360.0 * n.powi(3))
}

/// The probabilities that explain `hits` of `trials`, each tail with 2.5 %: Clopper and Pearson, *Biometrika* 26(4), 1934.
pub fn clopper_pearson(hits: u64, trials: u64) -> [f64; 2] {
    let search = |explains: &dyn Fn(f64) -> bool| {
        let (mut low, mut high) = (0.0, 1.0);
        for _ in 0..50 {
            let middle = 0.5 * (low + high);
            if explains(middle) { high = middle } else { low = middle }
        }
        0.5 * (low + high)
    };
    let low = if hits == 0 { 0.0 } else { search(&|probability| at_least(hits, trials, probability) > 0.025) };
    let high = if hits == trials { 1.0 } else { search(&|probability| at_most(hits, trials, probability) < 0.025) };
    [low, high]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(one: f64, other: f64) {
        assert!((one - other).abs() < 1e-4 * other.abs().max(1e-3), "{one} is not {other}");
    }

    #[test]
    fn tails_are_those_of_the_binomial_distribution() {
        near(at_most(0, 10, 0.5), 1.0 / 1024.0);
        near(at_least(9, 10, 0.5), 11.0 / 1024.0);
        near(at_most(940, 1_000, 0.95) + at_least(941, 1_000, 0.95), 1.0);
        assert_eq!(at_least(0, 30, 0.3), 1.0);
    }

    /// The values of R's binom.test.
    #[test]
    fn intervals_are_those_of_clopper_and_pearson() {
        let [low, high] = clopper_pearson(95, 100);
        near(low, 0.887_165);
        near(high, 0.983_568);
        let [low, high] = clopper_pearson(20, 20);
        near(low, 0.831_567);
        assert_eq!(high, 1.0);
        assert_eq!(clopper_pearson(0, 20)[0], 0.0);
    }
}
