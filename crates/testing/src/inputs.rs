//! How many random inputs a test tries, and how long a simulation runs.

/// The variable that makes tests quick: `cargo xtask test --quick` sets it.
pub const QUICK_VARIABLE: &str = "TAXIMETER_TEST_QUICK";

/// How many random inputs a test tries that tries this many in full: all of them, or a tenth if the tests are to be quick. This is the
/// one place that decides it.
pub fn random_inputs(full: u32) -> u32 {
    match std::env::var_os(QUICK_VARIABLE) {
        Some(_) => full.div_ceil(10),
        None => full,
    }
}

/// What `cargo xtask simulate` asks a simulation to do.
const SEED_VARIABLE: &str = "TAXIMETER_SIMULATE_SEED";
const STEPS_VARIABLE: &str = "TAXIMETER_SIMULATE_STEPS";

/// A run of a simulation.
pub struct SimulatedRun {
    /// The seed of the first episode.
    pub seed: u64,
    /// How many steps all episodes have together.
    pub steps: u64,
}

impl SimulatedRun {
    /// The run that is asked for, or else one of this many steps from seed 1 on.
    ///
    /// # Panics
    ///
    /// If a variable is not a number.
    pub fn wanted(steps: u32) -> SimulatedRun {
        let seed = number(SEED_VARIABLE).unwrap_or(1);
        SimulatedRun { seed, steps: number(STEPS_VARIABLE).unwrap_or_else(|| random_inputs(steps).into()) }
    }
}

fn number(variable: &str) -> Option<u64> {
    let text = std::env::var(variable).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{variable} is not a number: {text:?}")))
}
