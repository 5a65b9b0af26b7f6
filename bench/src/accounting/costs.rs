//! The costs that are charged.

use taximeter_accounting::{Amount, Cost};

/// How many different costs there are: too many for a memory of the last ones to help.
pub const COSTS: usize = 500;

/// The smallest and the largest ε. A million of the largest is within the budget.
pub const RANGE: (f64, f64) = (1e-6, 2e-5);

/// Costs that are large steps from [`LARGE_BUDGET`]: a single one takes from a fiftieth to nine tenths of its ε.
pub const LARGE_RANGE: (f64, f64) = (0.02, 0.9);
/// Where the large steps begin.
pub const LARGE_BUDGET: &str = "1,1e-6";

/// Different ε, in no order, spread evenly over the logarithms of a range; the same in every run.
pub fn epsilons((smallest, largest): (f64, f64)) -> Vec<f64> {
    let mut state = 20_160_528u64;
    let mut share = || (split_mix(&mut state) >> 11) as f64 / (1u64 << 53) as f64;
    (0..COSTS).map(|_| smallest * (largest / smallest).powf(share())).collect()
}

/// ε-DP, with the exact amount that is not below a number.
pub fn cost(epsilon: f64) -> Result<Cost, String> {
    let amount = Amount::at_least(epsilon).ok_or_else(|| format!("{epsilon} is not an amount"))?;
    Ok(Cost::Pure { epsilon: amount })
}

/// The costs of [`epsilons`].
pub fn costs(range: (f64, f64)) -> Result<Vec<Cost>, String> {
    epsilons(range).into_iter().map(cost).collect()
}

/// Steele, Lea, Flood, *Fast splittable pseudorandom number generators*, 2014.
fn split_mix(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut mixed = *state;
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_costs_are_all_different_and_within_their_range() {
        let mut sizes: Vec<_> = costs(RANGE).unwrap().iter().map(Cost::size).collect();
        sizes.sort();
        sizes.dedup();
        assert_eq!(sizes.len(), COSTS);
        assert!(epsilons(RANGE).iter().all(|epsilon| (RANGE.0..=RANGE.1).contains(epsilon)));
    }
}
