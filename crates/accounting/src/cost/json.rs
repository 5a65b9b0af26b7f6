//! Costs as JSON: `{"epsilon":"0.05"}`, `{"epsilon":"0.05","delta":"1e-9"}`, `{"gaussian":"0.1"}`,
//! `{"gaussian":{"sigma":"10","sensitivity":"1"}}`, `{"discrete_gaussian":…}` likewise, `{"zcdp":"0.005"}`, `{"laplace":"0.1"}`,
//! `{"laplace":{"scale":"10","sensitivity":"1"}}`, `{"randomized_response":"0.1"}`,
//! `{"randomized_response":{"truth":"0.6"}}`, `{"exponential":"0.1"}`. Numbers may stand with or without quotes; either way they
//! are read from their text.

use serde::de::{MapAccess, Visitor};
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;

use super::{Cost, CostKind, Declared};
use crate::amount::{Amount, Parsed, Rounding};
use crate::error::Error;

impl Cost {
    /// Reads a cost from a JSON object.
    pub fn from_json(text: &str) -> Result<Declared, Error> {
        let entries: Entries = serde_json::from_str(text)
            .map_err(|error| Error::input(format!("not a cost in JSON ({error}); write for instance {EXAMPLE}")))?;
        entries.cost()
    }
}

const EXAMPLE: &str = r#"{"epsilon":"0.05"}"#;

impl Serialize for Cost {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry(self.kind().name(), &self.size())?;
        if let Cost::Approximate { delta, .. } = self {
            map.serialize_entry("delta", delta)?;
        }
        map.end()
    }
}

impl<'de> Deserialize<'de> for Cost {
    /// Reads back what was written, without rounding.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let declared = Declared::deserialize(deserializer)?;
        if declared.rounded {
            return Err(serde::de::Error::custom("a stored cost has more digits than an amount keeps"));
        }
        Ok(declared.cost)
    }
}

impl<'de> Deserialize<'de> for Declared {
    /// Reads what somebody declares, rounded up where it has more digits than an amount keeps.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Entries::deserialize(deserializer)?.cost().map_err(serde::de::Error::custom)
    }
}

/// The entries of a JSON object in order, each value as its text. Repeated names are refused: readers differ in which they take.
struct Entries(Vec<(String, Box<RawValue>)>);

impl<'de> Deserialize<'de> for Entries {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Object;
        impl<'de> Visitor<'de> for Object {
            type Value = Entries;
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                write!(f, "an object such as {EXAMPLE}")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Entries, A::Error> {
                let mut entries: Vec<(String, Box<RawValue>)> = Vec::new();
                while let Some((name, value)) = map.next_entry::<String, _>()? {
                    if entries.iter().any(|(earlier, _)| *earlier == name) {
                        return Err(serde::de::Error::custom(format!("{name:?} stands twice; write it once")));
                    }
                    entries.push((name, value));
                }
                Ok(Entries(entries))
            }
        }
        deserializer.deserialize_map(Object)
    }
}

impl Entries {
    fn cost(mut self) -> Result<Declared, Error> {
        let delta = self.take("delta");
        let Some(kind) = CostKind::ALL.into_iter().find(|kind| self.0.iter().any(|(name, _)| name == kind.name()))
        else {
            let names = CostKind::ALL.map(CostKind::name).join(", ");
            return Err(Error::input(format!("a cost needs one of {names}; write for instance {EXAMPLE}")));
        };
        let value = self.take(kind.name()).expect("the kind was found among the names");
        if let Some((other, _)) = self.0.first() {
            return Err(Error::input(format!("{other:?} cannot stand beside {:?} in a cost", kind.name())));
        }
        let is_object = value.get().starts_with('{');
        let declared = if is_object { described(kind, &value)? } else { parameter(kind, &value)? };
        let Some(delta) = delta else { return Ok(declared) };
        if kind != CostKind::Epsilon {
            return Err(Error::input(format!("\"delta\" goes with \"epsilon\", not with {:?}", kind.name())));
        }
        let delta = amount("delta", &delta)?;
        let cost = Cost::approximate(declared.cost.size(), delta.amount)?;
        Ok(Declared { cost, rounded: declared.rounded || delta.rounded })
    }

    fn take(&mut self, name: &str) -> Option<Box<RawValue>> {
        let at = self.0.iter().position(|(entry, _)| entry == name)?;
        Some(self.0.remove(at).1)
    }
}

/// A cost given by its privacy parameter.
fn parameter(kind: CostKind, value: &RawValue) -> Result<Declared, Error> {
    let parsed = amount(kind.name(), value)?;
    Ok(Declared { cost: kind.of_size(parsed.amount), rounded: parsed.rounded })
}

/// A cost given by what the mechanism does: the noise and the sensitivity, or the probability of the truth.
fn described(kind: CostKind, value: &RawValue) -> Result<Declared, Error> {
    let mut fields: Entries =
        serde_json::from_str(value.get()).map_err(|error| Error::input(format!("{:?}: {error}", kind.name())))?;
    let mut rounded = false;
    let mut field = |name: &str, rounding: Rounding| -> Result<Amount, Error> {
        let value =
            fields.take(name).ok_or_else(|| Error::input(format!("{:?} as an object needs {name:?}", kind.name())))?;
        let parsed = amount_rounding(name, &value, rounding)?;
        rounded |= parsed.rounded;
        Ok(parsed.amount)
    };
    let cost = match kind {
        CostKind::Gaussian | CostKind::DiscreteGaussian => {
            let scale = field("sigma", Rounding::Down)?;
            Cost::from_noise(kind, scale, field("sensitivity", Rounding::Up)?)?
        }
        CostKind::Laplace => {
            let scale = field("scale", Rounding::Down)?;
            Cost::from_noise(kind, scale, field("sensitivity", Rounding::Up)?)?
        }
        CostKind::RandomizedResponse => Cost::from_truth_probability(field("truth", Rounding::Up)?)?,
        CostKind::Epsilon | CostKind::Zcdp | CostKind::Exponential => {
            return Err(Error::input(format!(
                "{:?} takes an amount, for instance \"0.05\", not an object",
                kind.name()
            )));
        }
    };
    match fields.0.first() {
        Some((other, _)) => Err(Error::input(format!("{other:?} is not known in {:?}", kind.name()))),
        None => Ok(Declared { cost, rounded }),
    }
}

fn amount(name: &str, value: &RawValue) -> Result<Parsed, Error> {
    amount_rounding(name, value, Rounding::Up)
}

fn amount_rounding(name: &str, value: &RawValue, rounding: Rounding) -> Result<Parsed, Error> {
    // A number is read from its text, with or without quotes.
    let text = match value.get().as_bytes().first() {
        Some(b'"') => serde_json::from_str(value.get()).map_err(|error| Error::input(format!("{name:?}: {error}")))?,
        Some(b'-' | b'0'..=b'9') => value.get().to_string(),
        _ => return Err(Error::input(format!("{name:?} must be an amount, for instance \"0.05\""))),
    };
    Amount::parse(&text, rounding).map_err(|error| Error::input(format!("{name:?}: {error}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: Result<&str, &str>) {
        match (Cost::from_json(text), expected) {
            (Ok(declared), Ok(shown)) => {
                assert_eq!(declared.cost.to_string(), shown, "{text}");
                let written = serde_json::to_string(&declared.cost).unwrap();
                assert_eq!(serde_json::from_str::<Cost>(&written).unwrap(), declared.cost, "{written}");
            }
            (Err(error), Err(part)) => assert!(error.to_string().contains(part), "{text}: {error}"),
            (got, expected) => panic!("{text}: got {got:?}, expected {expected:?}"),
        }
    }

    #[test]
    fn every_kind_has_a_form() {
        check(r#"{"epsilon":"0.05"}"#, Ok("ε = 0.05"));
        check(r#"{"epsilon":0.05}"#, Ok("ε = 0.05"));
        check(r#"{"epsilon":"0.05","delta":"1e-9"}"#, Ok("ε = 0.05, δ = 1e-9"));
        check(r#"{"delta":0,"epsilon":1e-2}"#, Ok("ε = 0.01"));
        check(r#"{"gaussian":"0.1"}"#, Ok("Gaussian of μ = 0.1"));
        check(r#"{"gaussian":{"sigma":"10","sensitivity":"1"}}"#, Ok("Gaussian of μ = 0.1"));
        check(r#"{"discrete_gaussian":{"sigma":"4","sensitivity":1}}"#, Ok("discrete Gaussian of μ = 0.25"));
        check(r#"{"zcdp":"0.005"}"#, Ok("zCDP of ρ = 0.005"));
        check(r#"{"laplace":"0.1"}"#, Ok("Laplace of ε = 0.1"));
        check(r#"{"laplace":{"scale":"3","sensitivity":"1"}}"#, Ok("Laplace of ε = 0.333333333333333333333333333334"));
        check(r#"{"randomized_response":"0.1"}"#, Ok("randomized response of ε = 0.1"));
        check(r#"{"randomized_response":{"truth":"0.5"}}"#, Ok("randomized response of ε = 0"));
        check(r#"{"exponential":"0.1"}"#, Ok("exponential mechanism of η = 0.1"));
    }

    #[test]
    fn what_is_no_cost_says_why() {
        check("{}", Err("a cost needs one of"));
        check("[1]", Err("an object such as"));
        check(r#"{"epsilon":"0.1","epsilon":"0.0001"}"#, Err("stands twice"));
        check(r#"{"epsilon":"0.1","gaussian":"1"}"#, Err("cannot stand beside"));
        check(r#"{"gaussian":"0.1","delta":"1e-9"}"#, Err("goes with"));
        check(r#"{"epsilon":"0.1","delta":"1"}"#, Err("below 1"));
        check(r#"{"epsilon":null}"#, Err("must be an amount"));
        check(r#"{"epsilon":-0.1}"#, Err("minus sign"));
        check(r#"{"epsilon":NaN}"#, Err("not a cost in JSON"));
        check(r#"{"epsilon":1e400}"#, Err("larger than any amount"));
        check(r#"{"epsilon":{"sigma":1}}"#, Err("takes an amount"));
        check(r#"{"laplace":{"scale":"0","sensitivity":"1"}}"#, Err("gives no privacy"));
        check(r#"{"laplace":{"scale":"1"}}"#, Err("needs \"sensitivity\""));
        check(r#"{"laplace":{"scale":"1","scale":"1000000","sensitivity":"1"}}"#, Err("stands twice"));
        check(r#"{"epsilon":["0.1"]}"#, Err("must be an amount"));
        check(r#"{"laplace":{"scale":"1","sensitivity":"1","bound":2}}"#, Err("is not known"));
        check(r#"{"randomized_response":{"truth":"1"}}"#, Err("below 1"));
        check(r#"{"gaussian":{"sigma":"1e-30","sensitivity":"1"}}"#, Err("more noise"));
    }

    #[test]
    fn a_truth_probability_of_three_quarters_costs_ln_3() {
        let cost = Cost::from_json(r#"{"randomized_response":{"truth":"0.75"}}"#).unwrap().cost;
        let (epsilon, truth) = (cost.size().approximate(), 3f64.ln());
        assert!(epsilon >= truth && epsilon < truth + 1e-14, "{epsilon}");
    }
}
