//! Filters as they are stored.

use serde::de::Error as _;
use serde::ser::SerializeStruct;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::additive::Additive;
use super::state::State;
use super::{Filter, FilterSpec};
use crate::amount::Amount;
use crate::error::Error;

/// The version of the stored form of filters and odometers. It stands first, and another one is refused before anything else is read.
pub(crate) struct StateVersion;

impl StateVersion {
    const PRESENT: u32 = 2;
}

impl Serialize for StateVersion {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        StateVersion::PRESENT.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for StateVersion {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match u32::deserialize(deserializer)? {
            StateVersion::PRESENT => Ok(StateVersion),
            other => Err(D::Error::custom(Error::state(format!(
                "the state has version {other}; this program reads version {}",
                StateVersion::PRESENT
            )))),
        }
    }
}

/// A filter as it is stored: its sums and limits are integers, equal on every machine.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Stored {
    #[serde(rename = "version")]
    _version: StateVersion,
    spec: FilterSpec,
    state: State,
    epsilon_spent: Option<Amount>,
    delta_spent: Amount,
    closed: bool,
}

impl Serialize for Filter {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut stored = serializer.serialize_struct("Filter", 6)?;
        stored.serialize_field("version", &StateVersion)?;
        stored.serialize_field("spec", &self.spec)?;
        stored.serialize_field("state", &self.state)?;
        stored.serialize_field("epsilon_spent", &self.epsilon_spent)?;
        stored.serialize_field("delta_spent", &self.delta_spent)?;
        stored.serialize_field("closed", &self.closed)?;
        stored.end()
    }
}

impl<'de> Deserialize<'de> for Filter {
    /// Reads a stored filter. Limits that were computed when it was made are kept as they were.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let Stored { spec, state, epsilon_spent, delta_spent, closed, .. } = Stored::deserialize(deserializer)?;
        let read = || {
            let fresh = Filter::beside(spec, Some(&state))?;
            if !state.follows(&fresh.state, epsilon_spent) || delta_spent > fresh.delta_limit() {
                return Err(Error::state("the stored filter state does not belong to its budget and rule"));
            }
            Ok(Filter { state, epsilon_spent, delta_spent, closed, ..fresh })
        };
        read().map_err(D::Error::custom)
    }
}

impl State {
    /// Whether a stored state can have come from a fresh one of the same account, with this Σε_i.
    ///
    /// The limit was computed when the account was made, perhaps by an earlier version that rounded more; it is kept, but may not
    /// be above what is proven now.
    fn follows(&self, fresh: &State, sum: Option<Amount>) -> bool {
        let additive =
            |stored: &Additive, fresh: &Additive| stored.spent() <= stored.limit() && stored.limit() <= fresh.limit();
        match (self, fresh) {
            (State::Basic(stored), State::Basic(fresh)) => {
                stored.limit() == fresh.limit() && stored.spent() <= stored.limit() && sum == Some(stored.spent())
            }
            (State::Advanced(stored), State::Advanced(fresh)) => stored.follows(fresh),
            (State::Whitehouse(stored), State::Whitehouse(fresh)) | (State::Zcdp(stored), State::Zcdp(fresh)) => {
                additive(stored, fresh)
            }
            (State::Renyi { order, sum }, State::Renyi { order: fresh_order, sum: fresh }) => {
                order == fresh_order && additive(sum, fresh)
            }
            (State::Residue(stored), State::Residue(fresh)) => stored.follows(fresh, sum),
            _ => false,
        }
    }
}
