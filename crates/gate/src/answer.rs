//! Answers: noise on exact integers, and what is made of the noisy numbers afterwards.

use std::cmp::Ordering;
use std::collections::HashMap;

use dashu::integer::IBig;
use serde_json::Number as Decimal;
use taximeter_accounting::Cost;
use taximeter_ledger::Computed;
use taximeter_noise::Randomness;

use crate::document::{AnswerColumn, Cell, Estimate, ExpectedAverage, MeasuredPart};
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
        let mut randomness = Randomness::secure().map_err(|error| error.to_string())?;
        let mut rows = Vec::new();
        for keys in groups(question, schema) {
            let measures = exact.remove(&name(&keys)).unwrap_or_else(|| vec![0; plan.parts.len()]);
            if measures.len() != plan.parts.len() {
                return Err(format!("{} measures came back for {} parts", measures.len(), plan.parts.len()));
            }
            let mut noisy = Vec::with_capacity(measures.len());
            for (part, measure) in plan.parts.iter().zip(measures) {
                let noise = part.noise.sample(&mut randomness).map_err(|error| error.to_string())?;
                noisy.push(i128::from(measure).saturating_add(noise));
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
                Cell::Estimate(average(next(), next(), &bounds, clamp))
            }
            Content::Aggregate(aggregate) => {
                let (part, steps) = next();
                let lowest = (clamp && !matches!(aggregate, Aggregate::Sum(_))).then_some(0);
                Cell::Estimate(estimate(steps, part.noise.half_width(MISS), part.grid(schema), lowest))
            }
        })
        .collect()
}

/// A count or a sum with its interval.
fn estimate(steps: i128, half_width: i128, grid: Number, lowest: Option<i128>) -> Estimate {
    let decimal = |steps: i128| of_steps(lowest.map_or(steps, |lowest| steps.max(lowest)), grid);
    let interval = [steps.saturating_sub(half_width), steps.saturating_add(half_width)];
    Estimate { value: Some(decimal(steps)), interval: Some(interval.map(decimal)), ..Estimate::default() }
}

/// A centred sum over a count, with both. Each misses its interval with half the probability, so both hold together with 95%; no
/// quotient can be said where the count may be 0.
fn average((sum, steps): (&Part, i128), (count, rows): (&Part, i128), bounds: &Bounds, clamp: bool) -> Estimate {
    let (sum_width, count_width) = (sum.noise.half_width(MISS / 2.0), count.noise.half_width(MISS / 2.0));
    let centre = i128::from(bounds.centre());
    // The whole sum has the middle of the bounds once for every row, and so the noise on their number as well.
    let whole = steps.saturating_add(centre.saturating_mul(rows));
    let whole_width = sum_width.saturating_add(centre.abs().saturating_mul(count_width));
    let parts = Estimate {
        sum: Some(Box::new(estimate(whole, whole_width, bounds.grid(), None))),
        count: Some(Box::new(estimate(rows, count_width, Number::ONE, clamp.then_some(0)))),
        ..Estimate::default()
    };
    let (fewest, most) = (rows.saturating_sub(count_width), rows.saturating_add(count_width));
    if fewest <= 0 {
        return parts;
    }
    let grid = bounds.grid().to_f64();
    let mean = |steps: i128, rows: i128| (bounds.centre() as f64 + steps as f64 / rows as f64) * grid;
    let (lowest, highest) = (steps.saturating_sub(sum_width), steps.saturating_add(sum_width));
    let low = mean(lowest, if lowest < 0 { fewest } else { most });
    let high = mean(highest, if highest < 0 { most } else { fewest });
    // Digits far below the noise tell nothing: two of those in which the ends differ are shown. The interval is rounded outwards.
    let meaningful = 1.0 - ((high - low) / 2.0).log10().floor();
    let places = meaningful.clamp(0.0, f64::from(bounds.grid().places() + 3)) as u32;
    let ends = <[i64; 2]>::from(bounds.steps()).map(|steps| of_steps(steps.into(), bounds.grid()));
    // Clamped last: what was rounded outwards may be beyond the bounds.
    let rounded = |value: f64, direction: f64| match (rounded(value, places, direction), &ends) {
        (shown, [lowest, _]) if clamp && nearest(&shown) < nearest(lowest) => lowest.clone(),
        (shown, [_, highest]) if clamp && nearest(&shown) > nearest(highest) => highest.clone(),
        (shown, _) => shown,
    };
    Estimate {
        value: Some(rounded(mean(steps, rows), 0.0)),
        interval: Some([rounded(low, -1.0), rounded(high, 1.0)]),
        ..parts
    }
}

/// A number of steps of a grid, exactly.
fn of_steps(steps: i128, grid: Number) -> Decimal {
    let units = IBig::from(steps) * IBig::from(grid.units());
    let one = IBig::from(10).pow(Number::PLACES as usize);
    let (whole, fraction) = (&units / &one, u128::try_from(dashu::base::Abs::abs(&units % &one)).unwrap_or(0));
    let sign = if units < IBig::ZERO && whole == IBig::ZERO { "-" } else { "" };
    let fraction = format!("{fraction:018}");
    let text = format!("{sign}{whole}.{}", fraction.trim_end_matches('0'));
    Decimal::from_string_unchecked(text.trim_end_matches('.').to_string())
}

/// A number with a given count of decimal places, rounded down or up by the sign of `direction`, or to the nearest.
fn rounded(value: f64, places: u32, direction: f64) -> Decimal {
    let step = 10f64.powi(-(places as i32));
    let nudged = value + direction * step / 2.0;
    let text = format!("{nudged:.*}", places as usize);
    let text = if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
    Decimal::from_string_unchecked(if text == "-0" { "0".to_string() } else { text.to_string() })
}

/// The binary number to compare by.
fn nearest(number: &Decimal) -> f64 {
    number.as_str().parse().unwrap_or(f64::NAN)
}

impl Cell {
    /// What is not known comes last, whichever way the others are sorted.
    fn compare(&self, other: &Cell, descending: bool) -> Ordering {
        let ordering = match (self, other) {
            (Cell::Group(Value::Integer(one)), Cell::Group(Value::Integer(other))) => one.cmp(other),
            (Cell::Group(Value::Boolean(one)), Cell::Group(Value::Boolean(other))) => one.cmp(other),
            (Cell::Group(Value::Text(one)), Cell::Group(Value::Text(other))) => one.cmp(other),
            (Cell::Estimate(one), Cell::Estimate(other)) => match (&one.value, &other.value) {
                (Some(one), Some(other)) => nearest(one).total_cmp(&nearest(other)),
                (one, other) => return other.is_some().cmp(&one.is_some()),
            },
            _ => Ordering::Equal,
        };
        if descending { ordering.reverse() } else { ordering }
    }
}

/// The columns of an answer.
pub(crate) fn columns(question: &Question, plan: &Plan, schema: &Schema) -> Vec<AnswerColumn> {
    let mut parts = plan.parts.iter();
    question
        .outputs
        .iter()
        .map(|output| {
            let (aggregate, count, miss) = match output.content {
                Content::Group(_) => (None, 0, MISS),
                Content::Aggregate(aggregate @ Aggregate::Average(_)) => (Some(aggregate), 2, MISS / 2.0),
                Content::Aggregate(aggregate) => (Some(aggregate), 1, MISS),
            };
            AnswerColumn {
                name: output.name.clone(),
                aggregate: aggregate.map(|aggregate| aggregate.canonical(schema)),
                parts: parts.by_ref().take(count).map(|part| measured(part, schema, miss)).collect(),
            }
        })
        .collect()
}

/// What can be said beforehand about the averages of an answer: at best, a mean in the middle of the bounds, the interval is twice the
/// reach of the noise on the sum over the fewest rows that there may be.
pub(crate) fn averages(question: &Question, plan: &Plan, schema: &Schema) -> Vec<ExpectedAverage> {
    let columns = question.outputs.iter().zip(columns(question, plan, schema));
    let expected = columns.filter_map(|(output, column)| {
        let Content::Aggregate(Aggregate::Average(at)) = output.content else { return None };
        let (bounds, [sum, count]) = (schema.columns[at].bounds?, column.parts.as_slice()) else { return None };
        let (low, high) = (bounds.low(), bounds.high());
        let rows = nearest(&count.half_width) + 2.0 * nearest(&sum.half_width) / (high.to_f64() - low.to_f64());
        let needed_rows = rows.ceil() as u64;
        Some(ExpectedAverage { column: column.name, bounds: [low, high], needed_rows, expected_rows: None })
    });
    expected.collect()
}

/// A number that an engine computes, and the noise on it.
fn measured(part: &Part, schema: &Schema, miss: f64) -> MeasuredPart {
    let grid = part.grid(schema);
    let sensitivity = match part.cost {
        // The square root of an integer, for people; the noise is made from the square.
        Cost::Gaussian { .. } => {
            let length = (part.sensitivity.l2_squared as f64).sqrt() * grid.to_f64();
            Decimal::from_f64(length).unwrap_or_else(|| 0.into())
        }
        _ => of_steps(i128::try_from(part.sensitivity.l1).unwrap_or(i128::MAX), grid),
    };
    MeasuredPart {
        measure: part.measure.describe(schema),
        cost: part.cost,
        noise: part.noise.name().to_string(),
        sensitivity,
        scale: Computed(part.noise.scale() * grid.to_f64()),
        half_width: of_steps(part.noise.half_width(miss), grid),
    }
}

#[cfg(test)]
mod tests;
