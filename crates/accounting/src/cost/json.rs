//! Costs as JSON: the name of a kind with its parameter, `{"epsilon":"0.05"}`, or with the numbers of another of its forms,
//! `{"laplace":{"scale":"10","sensitivity":"1"}}`; δ stands beside ε. Numbers may stand with or without quotes; either way they are
//! read from their text.

use std::collections::BTreeMap;

use serde::de::{MapAccess, Visitor};
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;

use super::{Cost, CostForm, CostKind, Declared, Number};
use crate::amount::{Amount, Parsed};
use crate::error::Error;

impl Cost {
    /// Reads a cost from a JSON object.
    ///
    /// ```
    /// use taximeter_accounting::Cost;
    ///
    /// let cost = Cost::from_json(r#"{"laplace":{"scale":"10","sensitivity":"1"}}"#)?.cost;
    /// assert_eq!(cost.to_string(), "Laplace of ε = 0.1");
    /// # Ok::<(), taximeter_accounting::Error>(())
    /// ```
    pub fn from_json(text: &str) -> Result<Declared, Error> {
        let entries: Entries = serde_json::from_str(text)
            .map_err(|error| Error::text(format!("not a cost in JSON ({error}); write for instance {EXAMPLE}")))?;
        entries.cost()
    }
}

const EXAMPLE: &str = r#"{"epsilon":"0.05"}"#;

impl Serialize for Cost {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        match self.kind().direct_form() {
            Some(_) => map.serialize_entry(self.kind().name(), &self.size())?,
            None => map.serialize_entry(self.kind().name(), &self.numbers().into_iter().collect::<BTreeMap<_, _>>())?,
        }
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
    /// Reads a declaration, rounded against the analyst where it has more digits than an amount keeps.
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
                        return Err(serde::de::Error::custom(format!("{name:?} appears twice; write it once")));
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
            return Err(Error::text(format!("a cost needs one of {names}; write for instance {EXAMPLE}")));
        };
        let value = self.take(kind.name()).expect("the kind was found among the names");
        if let Some((other, _)) = self.0.first() {
            return Err(Error::text(format!("{other:?} cannot be combined with {:?} in a cost", kind.name())));
        }
        if delta.is_some() && kind != CostKind::Epsilon {
            return Err(Error::text(format!("\"delta\" goes with \"epsilon\", not with {:?}", kind.name())));
        }
        if value.get().starts_with('{') {
            return described(kind, &value);
        }
        let Some(form) = kind.direct_form() else {
            let names: Vec<_> = kind.forms()[0].numbers.iter().map(|number| number.name).collect();
            return Err(Error::text(format!("{:?} takes an object with {}", kind.name(), names.join(", "))));
        };
        let read = |(at, number): (usize, &&Number)| match (at, &delta) {
            (0, _) => amount(kind.name(), number, &value),
            (_, Some(delta)) => amount(number.name, number, delta),
            (_, None) => Amount::parse(number.default.unwrap_or("0"), number.rounding),
        };
        declared(form, form.numbers.iter().enumerate().map(read).collect::<Result<Vec<Parsed>, Error>>()?)
    }

    fn take(&mut self, name: &str) -> Option<Box<RawValue>> {
        let at = self.0.iter().position(|(entry, _)| entry == name)?;
        Some(self.0.remove(at).1)
    }
}

/// A cost given by what the mechanism does: an object with the numbers of one of the kind's other forms.
fn described(kind: CostKind, value: &RawValue) -> Result<Declared, Error> {
    let mut fields: Entries =
        serde_json::from_str(value.get()).map_err(|error| Error::text(format!("{:?}: {error}", kind.name())))?;
    let direct = kind.direct_form();
    let mut others = kind.forms().iter().filter(|form| direct.is_none_or(|direct| direct.name != form.name));
    let Some(form) = others.next() else {
        return Err(Error::text(format!("{:?} takes an amount, for instance \"0.05\", not an object", kind.name())));
    };
    let mut numbers = Vec::new();
    for number in form.numbers {
        let value = fields
            .take(number.name)
            .ok_or_else(|| Error::text(format!("{:?} as an object needs {:?}", kind.name(), number.name)))?;
        numbers.push(amount(number.name, number, &value)?);
    }
    match fields.0.first() {
        Some((other, _)) => Err(Error::text(format!("{other:?} is not known in {:?}", kind.name()))),
        None => declared(form, numbers),
    }
}

fn declared(form: &CostForm, numbers: Vec<Parsed>) -> Result<Declared, Error> {
    let rounded = numbers.iter().any(|parsed| parsed.rounded);
    let amounts: Vec<Amount> = numbers.into_iter().map(|parsed| parsed.amount).collect();
    Ok(Declared { cost: form.cost(&amounts)?, rounded })
}

/// A number, read from its text, with or without quotes.
fn amount(name: &str, number: &Number, value: &RawValue) -> Result<Parsed, Error> {
    let text = match value.get().as_bytes().first() {
        Some(b'"') => serde_json::from_str(value.get()).map_err(|error| Error::text(format!("{name:?}: {error}")))?,
        Some(b'-' | b'0'..=b'9') => value.get().to_string(),
        _ => return Err(Error::text(format!("{name:?} must be an amount, for instance \"0.05\""))),
    };
    Amount::parse(&text, number.rounding).map_err(|error| error.within(&format!("{name:?}")))
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
        check(r#"{"discrete_laplace":{"scale":"4","sensitivity":"1"}}"#, Ok("discrete Laplace of ε = 0.25"));
        let sampled = r#"{"sampled_gaussian":{"rate":"0.01","sigma":1.1,"steps":1000}}"#;
        check(sampled, Ok("1000 steps of a sampled Gaussian of rate 0.01 and σ = 1.1"));
        // Nothing costs nothing, as with an ε of 0, and a list that is scaled down to what fits can be read back.
        let none = r#"{"sampled_gaussian":{"rate":"0.01","sigma":1.1,"steps":0}}"#;
        check(none, Ok("0 steps of a sampled Gaussian of rate 0.01 and σ = 1.1"));
        check(r#"{"randomized_response":"0.1"}"#, Ok("randomized response of ε = 0.1"));
        check(r#"{"randomized_response":{"truth":"0.5"}}"#, Ok("randomized response of ε = 0"));
        check(r#"{"exponential":"0.1"}"#, Ok("exponential mechanism of η = 0.1"));
    }

    #[test]
    fn what_is_no_cost_says_why() {
        check("{}", Err("a cost needs one of"));
        check("[1]", Err("an object such as"));
        check(r#"{"epsilon":"0.1","epsilon":"0.0001"}"#, Err("appears twice"));
        check(r#"{"epsilon":"0.1","gaussian":"1"}"#, Err("cannot be combined with"));
        check(r#"{"gaussian":"0.1","delta":"1e-9"}"#, Err("goes with"));
        check(r#"{"epsilon":"0.1","delta":"1"}"#, Err("below 1"));
        check(r#"{"epsilon":null}"#, Err("must be an amount"));
        check(r#"{"epsilon":-0.1}"#, Err("minus sign"));
        check(r#"{"epsilon":NaN}"#, Err("not a cost in JSON"));
        check(r#"{"epsilon":1e400}"#, Err("larger than any amount"));
        check(r#"{"epsilon":{"sigma":1}}"#, Err("takes an amount"));
        check(r#"{"laplace":{"scale":"0","sensitivity":"1"}}"#, Err("cannot be 0: it must be above 0"));
        check(r#"{"laplace":{"scale":"1"}}"#, Err("needs \"sensitivity\""));
        check(r#"{"laplace":{"scale":"1","scale":"1000000","sensitivity":"1"}}"#, Err("appears twice"));
        check(r#"{"epsilon":["0.1"]}"#, Err("must be an amount"));
        check(r#"{"laplace":{"scale":"1","sensitivity":"1","bound":2}}"#, Err("is not known"));
        check(r#"{"sampled_gaussian":"0.1"}"#, Err("takes an object with rate, sigma, steps"));
        check(r#"{"sampled_gaussian":{"rate":"0","sigma":"1","steps":"1"}}"#, Err("above 0 and at most 1"));
        check(r#"{"sampled_gaussian":{"rate":"1","sigma":"0","steps":"1"}}"#, Err("cannot be 0: it must be above 0"));
        check(r#"{"sampled_gaussian":{"rate":"1","sigma":"1","steps":"1.5"}}"#, Err("a whole number"));
        check(r#"{"sampled_gaussian":{"rate":"1","sigma":"1","steps":"-1"}}"#, Err("minus sign"));
        check(r#"{"sampled_gaussian":{"rate":"1","sigma":"1"}}"#, Err("needs \"steps\""));
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
