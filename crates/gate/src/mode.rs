//! The most frequent value of a group, by the exponential mechanism over all values that there may be, exactly.
//!
//! A value that n rows have is drawn with a probability in proportion to e^{αn}. One unit more or less moves all numbers in one direction,
//! each by at most m, its rows: so α = ε/m is enough for ε, and not ε/(2m). For substitute neighbours one unit takes rows away and another
//! one brings some, 2m of them together, so there α = ε/(2m). In groups these rows are spread, and what each group loses adds up to no
//! more. With k values the one that is drawn has at most ln(k/β)/α rows fewer than the most frequent one, but for a probability of β
//! (McSherry, Talwar, *Mechanism design via differential privacy*, FOCS 2007).

use dashu::rational::RBig;
use serde_json::Number as Decimal;
use taximeter_accounting::{Amount, Cost};
use taximeter_ledger::{Computed, Neighbours};
use taximeter_noise::{Candidate, Randomness, choose};

use crate::document::MeasuredPart;
use crate::plan::MISS;
use crate::question::predicate::Predicate;
use crate::question::scalar::NumericExpr;
use crate::schema::{Schema, Value};

/// A most frequent value, and what it is paid with.
#[derive(Clone, Debug)]
pub(crate) struct ModePart {
    /// The number of a row's value.
    pub(crate) of: NumericExpr,
    pub(crate) filter: Option<Predicate>,
    /// All values by their numbers, in ascending order.
    pub(crate) values: Vec<(i64, Value)>,
    pub(crate) cost: Cost,
    /// How many rows one unit moves, those that it takes away and those that it brings.
    pub(crate) moved_rows: u32,
}

impl ModePart {
    /// How many rows a unit takes away and brings.
    pub(crate) fn moved_rows(schema: &Schema) -> u32 {
        match schema.neighbours {
            Neighbours::AddRemove => schema.rows_per_unit(),
            Neighbours::Substitute => schema.rows_per_unit().saturating_mul(2),
        }
    }

    /// Draws the number of a value from those of a group, each with how many rows have it.
    pub(crate) fn draw(&self, counts: &[(i64, u64)], randomness: &mut Randomness) -> Result<i64, String> {
        let is_known = |number: &i64| self.values.binary_search_by_key(number, |(number, _)| *number).is_ok();
        if !counts.iter().all(|(number, _)| is_known(number)) {
            return Err("a value came back that is not declared".to_string());
        }
        let most = counts.iter().map(|(_, rows)| *rows).max().unwrap_or(0);
        let rows = |number: i64| counts.iter().find(|(other, _)| *other == number).map_or(0, |(_, rows)| *rows);
        // What every number is below the greatest one changes no proportion.
        let candidate = |(number, _): &(i64, Value)| Candidate { weight: 1, score: most - rows(*number) };
        let candidates: Vec<Candidate> = self.values.iter().map(candidate).collect();
        let chosen = choose(&candidates, &self.rate(), randomness).map_err(|error| error.to_string())?;
        Ok(self.values[chosen].0)
    }

    /// How much likelier a value gets with a row more, as a logarithm: α.
    fn rate(&self) -> RBig {
        let epsilon = RBig::from_parts(self.cost.size().units().into(), Amount::ONE.units().into());
        epsilon / RBig::from(self.moved_rows)
    }

    /// How many rows fewer than the most frequent value the drawn one has in 95 of 100 answers, at most.
    pub(crate) fn reach(&self) -> u64 {
        let points = self.values.len().max(1) as f64;
        (core_math::log(points / MISS) / self.rate().to_f64().value()).ceil().min(1e15) as u64
    }

    /// The value of a number.
    pub(crate) fn value(&self, number: i64) -> Option<&Value> {
        let at = self.values.binary_search_by_key(&number, |(number, _)| *number).ok()?;
        Some(&self.values[at].1)
    }

    /// How it is drawn.
    pub(crate) fn measured(&self) -> MeasuredPart {
        MeasuredPart {
            measure: format!("most frequent of {} values, in rows", self.values.len()),
            cost: self.cost,
            noise: "exponential-mechanism".to_string(),
            sensitivity: Decimal::from(self.moved_rows),
            scale: Computed(1.0 / self.rate().to_f64().value()),
            half_width: self.reach().into(),
        }
    }
}

#[cfg(test)]
mod tests;
