//! Computed numbers: shortest text that reads back the same, and nothing where there is no finite number.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Number;

/// A computed number as JSON, or null where it is not finite.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Computed(pub f64);

impl Serialize for Computed {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if !self.0.is_finite() {
            return serializer.serialize_none();
        }
        // As many digits as it takes to read back the same number.
        let plain = format!("{}", self.0);
        let text = if plain.len() <= 24 { plain } else { format!("{:e}", self.0) };
        Number::from_string_unchecked(text).serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Computed {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        // From the text of the number, which the standard library reads correctly rounded.
        match Option::<Number>::deserialize(deserializer)? {
            None => Ok(Computed(f64::INFINITY)),
            Some(number) => number.as_str().parse().map(Computed).map_err(serde::de::Error::custom),
        }
    }
}

impl From<taximeter_ledger::Computed> for Computed {
    fn from(computed: taximeter_ledger::Computed) -> Computed {
        Computed(computed.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_back_as_they_were() {
        for value in [0.0, 0.1, 1.0 / 3.0, 1e-300, 1e300, 5e-324, 123456789.0, 1.7976931348623157e308] {
            let text = serde_json::to_string(&Computed(value)).unwrap();
            assert_eq!(serde_json::from_str::<Computed>(&text).unwrap(), Computed(value), "{text}");
        }
        assert_eq!(serde_json::to_string(&Computed(f64::INFINITY)).unwrap(), "null");
        assert_eq!(serde_json::from_str::<Computed>("null").unwrap(), Computed(f64::INFINITY));
    }
}
