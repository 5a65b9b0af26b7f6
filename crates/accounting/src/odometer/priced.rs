//! A cost together with its prices.

use std::sync::OnceLock;

use super::OdometerRule;
use super::renyi_mixture::Divergences;
use crate::cost::Cost;

/// A cost whose prices are worked out once, however many odometers it is charged to.
///
/// Prices depend on the cost alone, not on what was charged before. They are worked out when an odometer first needs them, or
/// ahead of that by [`prepare`](PricedCost::prepare), on whatever thread has the time.
///
/// ```
/// use taximeter_accounting::{Amount, Cost, Odometer, OdometerRule, OdometerSpec, PricedCost};
///
/// let fresh = Odometer::new(OdometerSpec::new(OdometerRule::RenyiMixture, Amount::parse_exact("1e-6")?))?;
/// let (mut by_user, mut by_team) = (fresh.clone(), fresh);
/// let cost = PricedCost::new(Cost::parse_epsilon("0.01")?.cost);
/// by_user.charge_priced(&cost)?;
/// by_team.charge_priced(&cost)?;
/// assert_eq!(by_user, by_team);
/// # Ok::<(), taximeter_accounting::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct PricedCost {
    cost: Cost,
    divergences: OnceLock<Divergences>,
}

impl PricedCost {
    /// A cost with no price worked out yet.
    pub const fn new(cost: Cost) -> PricedCost {
        PricedCost { cost, divergences: OnceLock::new() }
    }

    /// The cost.
    pub fn cost(&self) -> &Cost {
        &self.cost
    }

    /// Works out now what an odometer of this rule will need.
    pub fn prepare(&self, rule: OdometerRule) {
        // The other rules add what is cheaper to work out again than to keep.
        if rule == OdometerRule::RenyiMixture {
            self.divergences();
        }
    }

    /// D_α at every order of the mixture.
    pub(super) fn divergences(&self) -> &Divergences {
        self.divergences.get_or_init(|| Divergences::of(&self.cost))
    }
}
