//! Odometers as they are stored.

use serde::de::Error as _;
use serde::ser::SerializeStruct;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::renyi_mixture::{Divergence, Divergences, WIDE};
use super::{Moments, Odometer, OdometerSpec, Sums};
use crate::amount::FineAmount;
use crate::error::Error;
use crate::filter::StateVersion;

/// An odometer as it is stored: its sums are integers, equal on every machine.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Stored {
    #[serde(rename = "version")]
    _version: StateVersion,
    spec: OdometerSpec,
    sums: Sums,
}

impl Serialize for Odometer {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut stored = serializer.serialize_struct("Odometer", 3)?;
        stored.serialize_field("version", &StateVersion)?;
        stored.serialize_field("spec", &self.spec)?;
        stored.serialize_field("sums", &self.sums)?;
        stored.end()
    }
}

impl<'de> Deserialize<'de> for Odometer {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let Stored { spec, sums, .. } = Stored::deserialize(deserializer)?;
        let read = || {
            let fresh = Odometer::new(spec)?;
            let alike = match (&sums.moments, &fresh.sums.moments) {
                (Moments::None, Moments::None) => true,
                (Moments::Renyi(stored), Moments::Renyi(fresh)) => {
                    stored.check_count(fresh)?;
                    true
                }
                (Moments::Martingale(stored), Moments::Martingale(fresh)) => {
                    stored.leaks.set_aside() == fresh.leaks.set_aside()
                }
                _ => false,
            };
            match alike {
                true => Ok(Odometer { sums, ..fresh }),
                false => Err(Error::state("the stored odometer state does not belong to its rule")),
            }
        };
        read().map_err(D::Error::custom)
    }
}

impl Divergences {
    /// Whether these are as many as those of an odometer of the same specification.
    fn check_count(&self, fresh: &Divergences) -> Result<(), Error> {
        let (found, wanted) = (self.0.len(), fresh.0.len());
        if found == wanted {
            return Ok(());
        }
        let scale = if wanted == WIDE { "without" } else { "with" };
        Err(Error::state(format!("a Rényi mixture {scale} a scale has {wanted} sums; the stored state has {found}")))
    }
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
