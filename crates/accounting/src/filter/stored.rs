//! Filters as they are stored.

use super::additive::Additive;
use super::state::RuleState;
use super::{Filter, FilterSpec};
use crate::amount::Amount;
use crate::error::Error;
use crate::version::StateVersion;

/// The fields of a stored [`Filter`], before they are checked. Sums and limits are integers, equal on every machine.
#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct StoredFilter {
    version: StateVersion,
    spec: FilterSpec,
    state: RuleState,
    epsilon_spent: Option<Amount>,
    delta_spent: Amount,
    closed: bool,
}

impl TryFrom<StoredFilter> for Filter {
    type Error = Error;

    /// Limits that were computed when the filter was made are kept as they were.
    fn try_from(stored: StoredFilter) -> Result<Filter, Error> {
        let StoredFilter { version, spec, state, epsilon_spent, delta_spent, closed } = stored;
        let fresh = Filter::beside(spec, Some(&state))?;
        if !state.follows(&fresh.state, epsilon_spent) || delta_spent > fresh.delta_limit() {
            return Err(Error::text("the stored filter state does not belong to its budget and rule"));
        }
        Ok(Filter { version, state, epsilon_spent, delta_spent, closed, ..fresh })
    }
}

impl RuleState {
    /// Whether a stored state can have come from a fresh one of the same account, with this Σε_i.
    ///
    /// The limit was computed when the account was made, perhaps by an earlier version that rounded more; it is kept, but may not
    /// be above what is proven now.
    fn follows(&self, fresh: &RuleState, epsilon_spent: Option<Amount>) -> bool {
        let additive =
            |stored: &Additive, fresh: &Additive| stored.spent <= stored.limit && stored.limit <= fresh.limit;
        match (self, fresh) {
            (RuleState::Basic(stored), RuleState::Basic(fresh)) => {
                stored.limit == fresh.limit && stored.spent <= stored.limit && epsilon_spent == Some(stored.spent)
            }
            (RuleState::Advanced(stored), RuleState::Advanced(fresh)) => stored.follows(fresh),
            (RuleState::Whitehouse(stored), RuleState::Whitehouse(fresh))
            | (RuleState::Zcdp(stored), RuleState::Zcdp(fresh)) => additive(stored, fresh),
            (RuleState::Renyi { order, sum }, RuleState::Renyi { order: fresh_order, sum: fresh }) => {
                order == fresh_order && additive(sum, fresh)
            }
            (RuleState::Residue(stored), RuleState::Residue(fresh)) => stored.follows(fresh, epsilon_spent),
            _ => false,
        }
    }
}
