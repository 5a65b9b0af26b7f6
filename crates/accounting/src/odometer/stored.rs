//! Odometers as they are stored.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::renyi_mixture::{Divergence, Divergences, WIDE};
use super::{Moments, Odometer, OdometerSpec, Sums};
use crate::amount::FineAmount;
use crate::error::Error;
use crate::version::StateVersion;

/// The fields of a stored [`Odometer`], before they are checked. Its sums are integers, equal on every machine.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct StoredOdometer {
    version: StateVersion,
    spec: OdometerSpec,
    sums: Sums,
}

impl TryFrom<StoredOdometer> for Odometer {
    type Error = Error;

    fn try_from(StoredOdometer { version, spec, sums }: StoredOdometer) -> Result<Odometer, Error> {
        let fresh = Odometer::new(spec)?;
        let alike = match (&sums.moments, &fresh.sums.moments) {
            (Moments::None, Moments::None) => true,
            (Moments::Renyi(Divergences(stored)), Moments::Renyi(Divergences(fresh))) => {
                require_count(stored.len(), fresh.len())?;
                true
            }
            (Moments::Martingale(stored), Moments::Martingale(fresh)) => stored.leaks.limit == fresh.leaks.limit,
            _ => false,
        };
        match alike {
            true => Ok(Odometer { version, sums, ..fresh }),
            false => Err(Error::text("the stored odometer state does not belong to its rule")),
        }
    }
}

/// A mixture has one sum for each order.
fn require_count(found: usize, wanted: usize) -> Result<(), Error> {
    if found == wanted {
        return Ok(());
    }
    let scale = if wanted == WIDE { "without" } else { "with" };
    Err(Error::text(format!("a Rényi mixture {scale} a scale has {wanted} sums; the stored state has {found}")))
}

impl Serialize for Divergences {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.iter().map(|sum| sum.finite()))
    }
}

impl<'de> Deserialize<'de> for Divergences {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let sums = Vec::<Option<FineAmount>>::deserialize(deserializer)?;
        Ok(Divergences(sums.into_iter().map(Divergence::from).collect()))
    }
}
