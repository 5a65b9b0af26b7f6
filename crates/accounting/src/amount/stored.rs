//! Amounts as they are stored.

use std::fmt;

use ethnum::U256;
use serde::de::{Error, Unexpected, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{Amount, FineAmount};

impl Serialize for Amount {
    /// Written as a decimal number where people read it, and as its number of units in a binary format.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if serializer.is_human_readable() { serializer.collect_str(self) } else { serializer.serialize_u128(self.0) }
    }
}

impl<'de> Deserialize<'de> for Amount {
    /// Reads back exactly what was written; anything with more places is an error.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        if !deserializer.is_human_readable() {
            return u128::deserialize(deserializer).map(Amount);
        }
        let text = String::deserialize(deserializer)?;
        Amount::parse_exact(&text).map_err(D::Error::custom)
    }
}

impl Serialize for FineAmount {
    /// Written as its number of units: in decimal where people read it, and in a binary format as bytes, the lowest first and
    /// none after the highest that is not zero.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if serializer.is_human_readable() {
            return serializer.collect_str(&self.0);
        }
        let length = (U256::BITS - self.0.leading_zeros()).div_ceil(8);
        serializer.serialize_bytes(&self.0.to_le_bytes()[..length as usize])
    }
}

impl<'de> Deserialize<'de> for FineAmount {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        if !deserializer.is_human_readable() {
            return deserializer.deserialize_bytes(Units);
        }
        let text = String::deserialize(deserializer)?;
        let canonical = text == "0" || (!text.starts_with('0') && text.bytes().all(|byte| byte.is_ascii_digit()));
        match U256::from_str_radix(&text, 10) {
            Ok(units) if canonical && !text.is_empty() => Ok(FineAmount(units)),
            _ => Err(D::Error::custom("a sum must be a whole number of units of 1e-60, written in digits")),
        }
    }
}

/// Reads the binary form. There is one for every amount: a zero at the high end is refused.
struct Units;

impl Visitor<'_> for Units {
    type Value = FineAmount;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "at most {} bytes, the lowest first and without a zero at the end", size_of::<U256>())
    }

    fn visit_bytes<E: Error>(self, bytes: &[u8]) -> Result<FineAmount, E> {
        let mut units = [0; size_of::<U256>()];
        match units.get_mut(..bytes.len()) {
            Some(low) if bytes.last() != Some(&0) => low.copy_from_slice(bytes),
            _ => return Err(E::invalid_value(Unexpected::Bytes(bytes), &self)),
        }
        Ok(FineAmount(U256::from_le_bytes(units)))
    }
}
