//! What may be spent in all.

use std::fmt;

use crate::amount::{Amount, Rounding};
use crate::error::Error;

/// (ε_g, δ_g), with the part of δ_g set aside for the mechanisms' own δ_i.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(try_from = "Fields"))]
pub struct Budget {
    epsilon: Amount,
    delta: Amount,
    mechanism_delta: Amount,
}

impl Budget {
    /// A budget with nothing set aside for the mechanisms' own δ_i.
    pub fn new(epsilon: Amount, delta: Amount) -> Result<Budget, Error> {
        if delta >= Amount::ONE {
            let needs = "its delta must be below 1, and well below 1 to mean anything";
            return Err(Error::parameter("budget", format_args!("({epsilon}, {delta})"), needs));
        }
        Ok(Budget { epsilon, delta, mechanism_delta: Amount::ZERO })
    }

    /// The same budget with a part of δ_g set aside for the mechanisms' own δ_i.
    pub fn with_mechanism_delta(self, mechanism_delta: Amount) -> Result<Budget, Error> {
        if mechanism_delta > self.delta {
            let needs = format!("the budget's whole delta is {}; set aside a part of it", self.delta);
            return Err(Error::parameter("mechanism_delta", mechanism_delta, needs));
        }
        Ok(Budget { mechanism_delta, ..self })
    }

    /// Reads `epsilon,delta`, or `epsilon` alone for δ_g = 0. Digits beyond the resolution round down.
    ///
    /// ```
    /// let budget = taximeter_accounting::Budget::parse("1,1e-6")?;
    /// assert_eq!(budget.to_string(), "(1, 1e-6)");
    /// # Ok::<(), taximeter_accounting::Error>(())
    /// ```
    pub fn parse(text: &str) -> Result<Budget, Error> {
        let (epsilon, delta) = text.split_once(',').unwrap_or((text, "0"));
        let part = |name: &str, text: &str| {
            Amount::parse(text, Rounding::Down)
                .map(|parsed| parsed.amount)
                .map_err(|error| error.within(&format!("the budget's {name}")))
        };
        Budget::new(part("epsilon", epsilon)?, part("delta", delta)?)
    }

    /// ε_g.
    pub fn epsilon(&self) -> Amount {
        self.epsilon
    }

    /// δ_g.
    pub fn delta(&self) -> Amount {
        self.delta
    }

    /// The part of δ_g that the mechanisms' own δ_i may use up.
    pub fn mechanism_delta(&self) -> Amount {
        self.mechanism_delta
    }

    /// The part of δ_g that is left for the composition theorem.
    pub fn composition_delta(&self) -> Amount {
        self.delta.checked_sub(self.mechanism_delta).expect("what is set aside is a part of delta")
    }
}

impl fmt::Display for Budget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "({}, {})", self.epsilon, self.delta)
    }
}

/// The fields as they are stored, checked again when they are read.
#[cfg(feature = "serde")]
#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Fields {
    epsilon: Amount,
    delta: Amount,
    mechanism_delta: Amount,
}

#[cfg(feature = "serde")]
impl TryFrom<Fields> for Budget {
    type Error = Error;
    fn try_from(fields: Fields) -> Result<Budget, Error> {
        Budget::new(fields.epsilon, fields.delta)?.with_mechanism_delta(fields.mechanism_delta)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: Result<&str, &str>) {
        match (Budget::parse(text), expected) {
            (Ok(budget), Ok(shown)) => assert_eq!(budget.to_string(), shown),
            (Err(error), Err(part)) => assert!(error.to_string().contains(part), "{text:?}: {error}"),
            (got, expected) => panic!("{text:?}: got {got:?}, expected {expected:?}"),
        }
    }

    #[test]
    fn budgets_are_read_and_round_down() {
        check("1,1e-6", Ok("(1, 1e-6)"));
        check("0.5", Ok("(0.5, 0)"));
        check("1 , 0.9999999999999999999999999999999", Ok("(1, 0.999999999999999999999999999999)"));
        check("1,1", Err("below 1"));
        check("-1,1e-6", Err("the budget's epsilon"));
        check("1,nan", Err("the budget's delta"));
        check("", Err("missing"));
    }

    #[test]
    fn what_is_set_aside_is_a_part_of_delta() {
        let budget = Budget::parse("1,1e-6").unwrap();
        let half = Amount::parse_exact("5e-7").unwrap();
        assert_eq!(budget.with_mechanism_delta(half).unwrap().composition_delta(), half);
        assert!(budget.with_mechanism_delta(Amount::ONE).is_err());
    }
}
