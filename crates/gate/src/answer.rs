//! Answers: noise on exact integers, what is made of the noisy numbers afterwards, and the document that is stored and released.

use std::cmp::Ordering;
use std::collections::HashMap;

use dashu::integer::IBig;
use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Number as JsonNumber, Value as Json};
use taximeter_accounting::Cost;
use taximeter_ledger::{Computed, Hash, LedgerId, Receipt};

use crate::engine::ExactRow;
use crate::number::Number;
use crate::plan::{MISS, Part, Plan};
use crate::question::{Aggregate, Content, Question};
use crate::schema::{Bounds, Schema, Value};

/// A noisy answer, one row for every group.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Noisy {
    pub(crate) rows: Vec<Vec<Cell>>,
    /// What was done to the noisy numbers afterwards, in words.
    pub(crate) post_processing: Vec<String>,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Cell {
    Group(Value),
    Estimate { value: Option<Decimal>, interval: Option<[Decimal; 2]> },
}

/// A decimal number: for JSON its exact text, for sorting its nearest binary number.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Decimal {
    text: String,
    nearest: f64,
}

impl Noisy {
    /// Adds noise to exact rows. Every combination of categories is answered, whether a row falls into it or not.
    pub(crate) fn new(
        question: &Question,
        plan: &Plan,
        schema: &Schema,
        exact: Vec<ExactRow>,
        clamp: bool,
    ) -> Result<Noisy, String> {
        let mut exact: HashMap<String, Vec<i64>> =
            exact.into_iter().map(|ExactRow { keys, measures }| (name(&keys), measures)).collect();
        let mut rows = Vec::new();
        for keys in groups(question, schema) {
            let measures = exact.remove(&name(&keys)).unwrap_or_else(|| vec![0; plan.parts.len()]);
            if measures.len() != plan.parts.len() {
                return Err(format!("{} measures came back for {} parts", measures.len(), plan.parts.len()));
            }
            let mut noisy = Vec::with_capacity(measures.len());
            for (part, measure) in plan.parts.iter().zip(measures) {
                noisy.push(i128::from(measure).saturating_add(part.noise.sample()?));
            }
            rows.push(cells(question, plan, schema, &keys, &noisy, clamp));
        }
        // The categories are in the statement as well, so another group means that the engine did something else.
        match exact.is_empty() {
            true => Ok(Noisy { rows, post_processing: Vec::new() }.post_processed(question, clamp)),
            false => Err(format!("{} groups came back that are not declared", exact.len())),
        }
    }

    fn post_processed(mut self, question: &Question, clamp: bool) -> Noisy {
        if clamp {
            self.post_processing.push("counts are clamped at 0, and averages at their bounds".to_string());
        }
        if !question.order.is_empty() {
            // Stable: what is equal stays in the order of the categories.
            self.rows.sort_by(|one, other| {
                let keys = question.order.iter().map(|key| one[key.output].compare(&other[key.output], key.descending));
                keys.fold(Ordering::Equal, Ordering::then)
            });
            self.post_processing.push("sorted by the noisy numbers".to_string());
        }
        if let Some(limit) = question.limit {
            self.rows.truncate(usize::try_from(limit).unwrap_or(usize::MAX));
            self.post_processing.push(format!("at most {limit} rows of the noisy answer are shown"));
        }
        self
    }
}

/// A group's name: different groups have different ones.
fn name(keys: &[Value]) -> String {
    keys.iter().map(|key| format!("{key}\u{0}")).collect()
}

/// Every combination of the declared categories, the last column fastest; one empty one without groups.
fn groups(question: &Question, schema: &Schema) -> Vec<Vec<Value>> {
    question.groups.iter().fold(vec![Vec::new()], |combinations, column| {
        let categories = schema.columns[*column].categories.as_deref().unwrap_or_default();
        let longer = |keys: &Vec<Value>, category: &Value| [keys.as_slice(), std::slice::from_ref(category)].concat();
        combinations.iter().flat_map(|keys| categories.iter().map(move |category| longer(keys, category))).collect()
    })
}

/// One row of the answer.
fn cells(question: &Question, plan: &Plan, schema: &Schema, keys: &[Value], noisy: &[i128], clamp: bool) -> Vec<Cell> {
    let mut measured = plan.parts.iter().zip(noisy.iter().copied());
    let mut next = || measured.next().expect("every aggregate has its parts");
    question
        .outputs
        .iter()
        .map(|output| match output.content {
            Content::Group(at) => Cell::Group(keys[at].clone()),
            Content::Aggregate(Aggregate::Average(column)) => {
                let Some(bounds) = schema.columns[column].bounds else { unreachable!("averages have bounds") };
                average(next(), next(), &bounds, clamp)
            }
            Content::Aggregate(aggregate) => {
                let (part, steps) = next();
                let lowest = (clamp && !matches!(aggregate, Aggregate::Sum(_))).then_some(0);
                estimate(part, steps, part.grid(schema), lowest)
            }
        })
        .collect()
}

/// A count or a sum with its interval.
fn estimate(part: &Part, steps: i128, grid: Number, lowest: Option<i128>) -> Cell {
    let half_width = part.noise.half_width(MISS);
    let decimal = |steps: i128| Decimal::of_steps(lowest.map_or(steps, |lowest| steps.max(lowest)), grid);
    let interval = [steps.saturating_sub(half_width), steps.saturating_add(half_width)];
    Cell::Estimate { value: Some(decimal(steps)), interval: Some(interval.map(decimal)) }
}

/// A centred sum over a count. Each misses its interval with half the probability, so both hold together with 95%; nothing can be
/// said where the count may be 0.
fn average((sum, steps): (&Part, i128), (count, rows): (&Part, i128), bounds: &Bounds, clamp: bool) -> Cell {
    let (sum_width, count_width) = (sum.noise.half_width(MISS / 2.0), count.noise.half_width(MISS / 2.0));
    let (fewest, most) = (rows.saturating_sub(count_width), rows.saturating_add(count_width));
    if fewest <= 0 {
        return Cell::Estimate { value: None, interval: None };
    }
    let grid = bounds.grid().to_f64();
    let mean = |steps: i128, rows: i128| (bounds.centre() as f64 + steps as f64 / rows as f64) * grid;
    let (lowest, highest) = (steps.saturating_sub(sum_width), steps.saturating_add(sum_width));
    let low = mean(lowest, if lowest < 0 { fewest } else { most });
    let high = mean(highest, if highest < 0 { most } else { fewest });
    // Digits far below the noise tell nothing: two of those in which the ends differ are shown. The interval is rounded outwards.
    let meaningful = 1.0 - ((high - low) / 2.0).log10().floor();
    let places = meaningful.clamp(0.0, f64::from(bounds.grid().places() + 3)) as u32;
    let ends = <[i64; 2]>::from(bounds.steps()).map(|steps| Decimal::of_steps(steps.into(), bounds.grid()));
    // Clamped last: what was rounded outwards may be beyond the bounds.
    let rounded = |value: f64, direction: f64| match (Decimal::rounded(value, places, direction), &ends) {
        (shown, [lowest, _]) if clamp && shown.nearest < lowest.nearest => lowest.clone(),
        (shown, [_, highest]) if clamp && shown.nearest > highest.nearest => highest.clone(),
        (shown, _) => shown,
    };
    Cell::Estimate {
        value: Some(rounded(mean(steps, rows), 0.0)),
        interval: Some([rounded(low, -1.0), rounded(high, 1.0)]),
    }
}

impl Decimal {
    fn of_steps(steps: i128, grid: Number) -> Decimal {
        let units = IBig::from(steps) * IBig::from(grid.units());
        let one = IBig::from(10).pow(Number::PLACES as usize);
        let (whole, fraction) = (&units / &one, u128::try_from(dashu::base::Abs::abs(&units % &one)).unwrap_or(0));
        let sign = if units < IBig::ZERO && whole == IBig::ZERO { "-" } else { "" };
        let fraction = format!("{fraction:018}");
        let text = format!("{sign}{whole}.{}", fraction.trim_end_matches('0'));
        Decimal::from_text(text.trim_end_matches('.').to_string())
    }

    /// A number with so many places, rounded down or up by the sign of `direction`, or to the nearest.
    fn rounded(value: f64, places: u32, direction: f64) -> Decimal {
        let step = 10f64.powi(-(places as i32));
        let nudged = value + direction * step / 2.0;
        let text = format!("{nudged:.*}", places as usize);
        let text = if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
        Decimal::from_text(if text == "-0" { "0".to_string() } else { text.to_string() })
    }

    fn from_text(text: String) -> Decimal {
        Decimal { nearest: text.parse().unwrap_or(f64::NAN), text }
    }

    fn json(&self) -> Json {
        Json::Number(JsonNumber::from_string_unchecked(self.text.clone()))
    }
}

impl Cell {
    /// What is not known comes last, whichever way the others are sorted.
    fn compare(&self, other: &Cell, descending: bool) -> Ordering {
        let ordering = match (self, other) {
            (Cell::Group(Value::Integer(one)), Cell::Group(Value::Integer(other))) => one.cmp(other),
            (Cell::Group(Value::Boolean(one)), Cell::Group(Value::Boolean(other))) => one.cmp(other),
            (Cell::Group(Value::Text(one)), Cell::Group(Value::Text(other))) => one.cmp(other),
            (Cell::Estimate { value: Some(one), .. }, Cell::Estimate { value: Some(other), .. }) => {
                one.nearest.total_cmp(&other.nearest)
            }
            (Cell::Estimate { value: None, .. }, Cell::Estimate { value: Some(_), .. }) => return Ordering::Greater,
            (Cell::Estimate { value: Some(_), .. }, Cell::Estimate { value: None, .. }) => return Ordering::Less,
            _ => Ordering::Equal,
        };
        if descending { ordering.reverse() } else { ordering }
    }

    fn json(&self) -> Json {
        match self {
            Cell::Group(value) => value.json(),
            Cell::Estimate { value, interval } => serde_json::json!({
                "value": value.as_ref().map(Decimal::json),
                "interval": interval.as_ref().map(|ends| ends.iter().map(Decimal::json).collect::<Vec<_>>()),
            }),
        }
    }
}

/// The document that is stored before it is released, and returned byte for byte to whoever asks again with the same key.
#[derive(Serialize)]
pub(crate) struct Document<'a> {
    pub(crate) dataset: &'a str,
    pub(crate) version: u32,
    pub(crate) key: &'a str,
    pub(crate) question: &'a str,
    pub(crate) protects: String,
    pub(crate) confidence: f64,
    pub(crate) columns: Vec<ColumnJson>,
    pub(crate) rows: Vec<Vec<Json>>,
    pub(crate) post_processing: &'a [String],
    pub(crate) cost: Cost,
    pub(crate) accounts: Vec<AccountJson>,
    pub(crate) receipt: ReceiptJson,
}

/// A column of the answer, and how its noise was made.
#[derive(Serialize)]
pub(crate) struct ColumnJson {
    name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    aggregate: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    parts: Vec<PartJson>,
}

/// A number that an engine computes, and the noise on it.
#[derive(Clone, Serialize)]
pub(crate) struct PartJson {
    pub(crate) measure: String,
    pub(crate) cost: Cost,
    pub(crate) noise: &'static str,
    /// In the units of the answer.
    pub(crate) sensitivity: Json,
    /// In the units of the answer.
    pub(crate) scale: f64,
    /// How far the noise reaches with the stated confidence, in the units of the answer.
    pub(crate) half_width: Json,
}

/// An account that paid, after the charge.
#[derive(Serialize)]
pub(crate) struct AccountJson {
    pub(crate) account: String,
    pub(crate) reading: Option<Computed>,
    pub(crate) left: Option<Computed>,
    pub(crate) guarantee: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) filter_guarantee: Option<String>,
}

/// The receipt, with the journal record that it is for.
#[derive(Serialize)]
pub(crate) struct ReceiptJson {
    ledger: LedgerId,
    sequence: u64,
    hash: Hash,
    record: Box<RawValue>,
}

impl ReceiptJson {
    pub(crate) fn new(receipt: &Receipt) -> Result<ReceiptJson, String> {
        let record = RawValue::from_string(receipt.line().to_string()).map_err(|error| error.to_string())?;
        Ok(ReceiptJson { ledger: receipt.ledger(), sequence: receipt.sequence(), hash: receipt.hash(), record })
    }
}

/// The columns of an answer.
pub(crate) fn columns(question: &Question, plan: &Plan, schema: &Schema) -> Vec<ColumnJson> {
    let mut parts = plan.parts.iter();
    question
        .outputs
        .iter()
        .map(|output| match output.content {
            Content::Group(_) => ColumnJson { name: output.name.clone(), aggregate: None, parts: Vec::new() },
            Content::Aggregate(aggregate) => {
                let (count, miss) = match aggregate {
                    Aggregate::Average(_) => (2, MISS / 2.0),
                    _ => (1, MISS),
                };
                let parts = parts.by_ref().take(count).map(|part| PartJson::new(part, schema, miss)).collect();
                ColumnJson { name: output.name.clone(), aggregate: Some(aggregate.canonical(schema)), parts }
            }
        })
        .collect()
}

/// The rows of an answer as JSON.
pub(crate) fn rows(noisy: &Noisy) -> Vec<Vec<Json>> {
    noisy.rows.iter().map(|row| row.iter().map(Cell::json).collect()).collect()
}

impl PartJson {
    pub(crate) fn new(part: &Part, schema: &Schema, miss: f64) -> PartJson {
        let grid = part.grid(schema);
        let sensitivity = match part.cost {
            // The square root of an integer, for people; the noise is made from the square.
            Cost::DiscreteGaussian { .. } => {
                let length = (part.sensitivity.l2_squared as f64).sqrt() * grid.to_f64();
                JsonNumber::from_f64(length).map_or(Json::Null, Json::Number)
            }
            _ => Decimal::of_steps(i128::try_from(part.sensitivity.l1).unwrap_or(i128::MAX), grid).json(),
        };
        PartJson {
            measure: part.measure.describe(schema),
            cost: part.cost,
            noise: part.noise.name(),
            sensitivity,
            scale: part.noise.scale() * grid.to_f64(),
            half_width: Decimal::of_steps(part.noise.half_width(miss), grid).json(),
        }
    }
}

#[cfg(test)]
mod tests;
