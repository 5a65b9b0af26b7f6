//! How many random inputs a test tries.

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
