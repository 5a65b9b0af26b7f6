//! A cost together with its prices.

use std::sync::OnceLock;

use super::OdometerRule;
use super::renyi_mixture::{NearPrices, WidePrices, near_prices, wide_prices};
use crate::amount::Amount;
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
    wide: OnceLock<WidePrices>,
    /// With the scale that they are for. A slot once taken stays taken. Behind pointers, so that a cost without them is small.
    near: [OnceLock<Box<(Amount, NearPrices)>>; SCALES],
}

/// For how many scales prices are kept: those who pay for one charge seldom have more budgets between them. For a scale beyond
/// them they are worked out every time, which is a sixth of the work.
const SCALES: usize = 8;

impl PricedCost {
    /// A cost with no price worked out yet.
    pub const fn new(cost: Cost) -> PricedCost {
        PricedCost { cost, wide: OnceLock::new(), near: [const { OnceLock::new() }; SCALES] }
    }

    /// The cost.
    pub fn cost(&self) -> &Cost {
        &self.cost
    }

    /// Works out now what every odometer of this rule will need.
    pub fn prepare(&self, rule: OdometerRule) {
        // The other rules add what is cheaper to work out again than to keep.
        if rule == OdometerRule::RenyiMixture {
            self.wide();
        }
    }

    /// What it adds at the orders of the wide prior.
    pub(super) fn wide(&self) -> &WidePrices {
        self.wide.get_or_init(|| wide_prices(&self.cost))
    }

    /// What it adds at the orders of a scale.
    pub(super) fn near(&self, scale: Amount) -> NearPrices {
        let known = self.near.iter().find_map(|slot| {
            let known = slot.get_or_init(|| Box::new((scale, near_prices(&self.cost, scale))));
            (known.0 == scale).then_some(known.1)
        });
        known.unwrap_or_else(|| near_prices(&self.cost, scale))
    }
}
