//! The version of the stored form of filters and odometers.

/// Stands first in a stored state. Another version is refused before anything else is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(into = "u32", try_from = "u32"))]
pub(crate) struct StateVersion;

#[cfg(feature = "serde")]
impl StateVersion {
    const PRESENT: u32 = 2;
}

#[cfg(feature = "serde")]
impl From<StateVersion> for u32 {
    fn from(_: StateVersion) -> u32 {
        StateVersion::PRESENT
    }
}

#[cfg(feature = "serde")]
impl TryFrom<u32> for StateVersion {
    type Error = crate::Error;
    fn try_from(version: u32) -> Result<StateVersion, crate::Error> {
        if version == StateVersion::PRESENT {
            return Ok(StateVersion);
        }
        let present = StateVersion::PRESENT;
        Err(crate::Error::text(format!("the state has version {version}; this program reads version {present}")))
    }
}
