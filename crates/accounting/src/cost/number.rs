//! A number that a cost or a rule is declared with: its name, its range, and words for people.

use std::ops::{Bound, RangeBounds};

use crate::amount::{Amount, Rounding};
use crate::error::Error;

/// A number that a cost or a rule is declared with.
#[derive(Debug)]
pub struct Number {
    /// Its name in JSON and in forms.
    pub name: &'static str,
    /// The symbol or words that people know it by.
    pub label: &'static str,
    /// What it is.
    pub what: &'static str,
    /// A value that it may have.
    pub example: &'static str,
    /// The values that it may have; no amount is below 0.
    pub range: (Bound<Amount>, Bound<Amount>),
    /// Whether it is a whole number.
    pub whole: bool,
    /// What stands for it if it is not given; nothing if it must be, or if a rule chooses it.
    pub default: Option<&'static str>,
    /// What a rule chooses if it is not given, in words; empty for the numbers of costs.
    pub chosen: &'static str,
    /// Which way it is rounded if it has more places than an amount keeps: always against the analyst.
    pub rounding: Rounding,
}

impl Number {
    /// What it is, with its range, an example and its default, in a sentence for people.
    pub fn help(&self) -> String {
        let mut help = self.what.to_string();
        if self.whole {
            help += ", a whole number";
        }
        if let Some(range) = self.range_in_words() {
            help += &format!(", {range}");
        }
        help += &format!(", such as {}", self.example);
        match self.default.unwrap_or(self.chosen) {
            "" => help + ".",
            default => help + &format!(" [default: {default}]."),
        }
    }

    /// The range, for instance "above 0 and at most 1"; nothing if every amount will do.
    pub fn range_in_words(&self) -> Option<String> {
        let bound = |bound: Bound<Amount>, included: &str, excluded: &str| match bound {
            Bound::Unbounded => None,
            Bound::Included(value) => Some(format!("{included} {value}")),
            Bound::Excluded(value) => Some(format!("{excluded} {value}")),
        };
        match (bound(self.range.0, "at least", "above"), bound(self.range.1, "at most", "below")) {
            (Some(least), Some(most)) => Some(format!("{least} and {most}")),
            (least, most) => least.or(most),
        }
    }

    /// An error with the value and the range, if the value is outside of it or not whole where it must be.
    pub fn check(&self, value: Amount) -> Result<(), Error> {
        if self.whole && !value.whole_and_part().1.is_zero() {
            return Err(Error::parameter(self.name, value, "it must be a whole number"));
        }
        if self.range.contains(&value) {
            return Ok(());
        }
        let range = self.range_in_words().unwrap_or_default();
        Err(Error::parameter(self.name, value, format!("it must be {range}")))
    }
}

type Text = &'static str;

/// A number of a cost: it must be given, and may be any amount.
pub(crate) const fn number(name: Text, label: Text, what: Text, example: Text) -> Number {
    let range = (Bound::Unbounded, Bound::Unbounded);
    Number { name, label, what, example, range, whole: false, default: None, chosen: "", rounding: Rounding::Up }
}

/// A number of which more costs less.
pub(crate) const fn noise(name: Text, label: Text, what: Text, example: Text) -> Number {
    Number { range: above(Amount::ZERO), rounding: Rounding::Down, ..number(name, label, what, example) }
}

/// A parameter of a rule: above 0, and chosen by the rule if it is not given.
pub(crate) const fn parameter(name: Text, label: Text, what: Text, example: Text, chosen: Text) -> Number {
    Number { range: above(Amount::ZERO), chosen, ..number(name, label, what, example) }
}

pub(crate) const fn above(least: Amount) -> (Bound<Amount>, Bound<Amount>) {
    (Bound::Excluded(least), Bound::Unbounded)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{CostKind, FilterRule, OdometerRule};

    #[test]
    fn every_example_and_default_is_in_its_range() {
        let costs =
            CostKind::ALL.into_iter().flat_map(|kind| kind.forms()).flat_map(|form| form.numbers.iter().copied());
        let filters = FilterRule::ALL.into_iter().flat_map(FilterRule::parameters);
        let odometers = OdometerRule::ALL.into_iter().flat_map(OdometerRule::parameters);
        for number in costs.chain(filters).chain(odometers) {
            for text in [Some(number.example), number.default].into_iter().flatten() {
                assert_eq!(number.check(Amount::parse_exact(text).unwrap()), Ok(()), "{}", number.name);
            }
            assert!(number.help().contains(number.example), "{}", number.help());
        }
    }

    #[test]
    fn the_ends_of_a_range_are_in_it_or_not_as_it_says() {
        let range = (Bound::Excluded(Amount::ZERO), Bound::Included(Amount::ONE));
        let rate = Number { range, ..number("rate", "Rate", "The chance", "0.01") };
        assert_eq!(rate.help(), "The chance, above 0 and at most 1, such as 0.01.");
        assert!(rate.check(Amount::ONE).is_ok() && rate.check(Amount::UNIT).is_ok());
        let error = rate.check(Amount::ZERO).unwrap_err();
        assert_eq!(error.to_string(), "rate cannot be 0: it must be above 0 and at most 1");
        let whole = Number { whole: true, default: Some("3"), ..number("n", "n", "How many", "7") };
        assert_eq!(whole.help(), "How many, a whole number, such as 7 [default: 3].");
        let error = whole.check(Amount::parse_exact("1.5").unwrap()).unwrap_err();
        assert_eq!(error.to_string(), "n cannot be 1.5: it must be a whole number");
    }
}
