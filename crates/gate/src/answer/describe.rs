//! What an answer is made of, in words and numbers: before it is paid for, and beside it.

use dashu::rational::RBig;
use serde_json::Number as Decimal;
use taximeter_accounting::Cost;
use taximeter_ledger::Computed;

use super::numbers::{nearest, of_steps};
use crate::document::{AnswerColumn, ExpectedAverage, MeasuredPart};
use crate::mode::ModePart;
use crate::plan::{MISS, Made, Part, Plan, QuantilePart, QueryPlan};
use crate::question::aggregate::Function;
use crate::question::term::Term;
use crate::question::{Query, Question};
use crate::schema::Schema;
use crate::statistics::threshold;

/// The columns of an answer.
pub(crate) fn columns(question: &Question, plan: &Plan, schema: &Schema) -> Vec<AnswerColumn> {
    let column = |(at, output): (usize, &crate::question::Output)| {
        let is_number = !matches!(output.term, Term::Group(_) | Term::Label(_));
        let mut parts: Vec<MeasuredPart> = Vec::new();
        for (query, plan) in shown_queries(question, plan) {
            for part in parts_of(&query.outputs[at].term, plan, schema) {
                if !parts.contains(&part) {
                    parts.push(part);
                }
            }
        }
        AnswerColumn { name: output.name.clone(), aggregate: is_number.then(|| output.text.clone()), parts }
    };
    question.outputs().iter().take(question.shown()).enumerate().map(column).collect()
}

/// Every number that is paid for, once.
pub(crate) fn measured_parts(plan: &Plan, schema: &Schema) -> Vec<MeasuredPart> {
    let of = |query: &QueryPlan| {
        let parts = query.parts.iter().map(|part| measured(part, schema));
        let quantiles = query.quantiles.iter().map(|quantile| quantile.measured(schema));
        parts.chain(quantiles).chain(query.modes.iter().map(ModePart::measured)).collect::<Vec<_>>()
    };
    plan.queries.iter().flat_map(of).collect()
}

/// Numbers that are paid for and that no column shows.
pub(crate) fn other_parts(question: &Question, plan: &Plan, schema: &Schema) -> Vec<MeasuredPart> {
    let columns = columns(question, plan, schema);
    let is_shown = |part: &MeasuredPart| columns.iter().any(|column| column.parts.contains(part));
    measured_parts(plan, schema).into_iter().filter(|part| !is_shown(part)).collect()
}

/// The SELECTs whose rows are shown, with their plans.
fn shown_queries<'a>(question: &'a Question, plan: &'a Plan) -> impl Iterator<Item = (&'a Query, &'a QueryPlan)> {
    question.queries.iter().zip(&plan.queries[question.scalars.len()..])
}

fn parts_of(term: &Term, plan: &QueryPlan, schema: &Schema) -> Vec<MeasuredPart> {
    let mut parts = Vec::new();
    term.walk(&mut |inner| {
        if let Term::Aggregate(at) = inner {
            match &plan.aggregates[*at] {
                Made::Parts(places) => parts.extend(places.iter().map(|place| measured(&plan.parts[*place], schema))),
                Made::Quantile(at) => parts.push(plan.quantiles[*at].measured(schema)),
                Made::Mode(at) => parts.push(plan.modes[*at].measured()),
            }
        }
    });
    parts
}

/// What can be said beforehand about the averages of an answer: at best, a mean in the middle of the bounds, the interval is twice the
/// reach of the noise on the sum over the fewest rows that there may be.
pub(crate) fn averages(question: &Question, plan: &Plan) -> Vec<ExpectedAverage> {
    let expected = |(query, plan): (&Query, &QueryPlan)| {
        let of = |output: &crate::question::Output| {
            let Term::Aggregate(at) = output.term else { return None };
            let (Function::Average(of), Made::Parts(places)) = (&query.aggregates[at].function, &plan.aggregates[at])
            else {
                return None;
            };
            let [sum, count] = [places[0], places[1]].map(|place| &plan.parts[place]);
            let [low, high] = of.range();
            let reach = |part: &Part| nearest(&of_steps(part.noise.half_width(MISS), &part.grid()));
            let width = (high.clone() - low.clone()).to_f64().value();
            let rows = (reach(count) + 2.0 * reach(sum) / width).max(threshold(count.noise.law()));
            let bounds = [low, high].map(|end| of_end(&end));
            Some(ExpectedAverage {
                column: output.name.clone(),
                bounds,
                needed_rows: rows.ceil() as u64,
                expected_rows: None,
            })
        };
        query.outputs.iter().filter_map(of).collect::<Vec<_>>()
    };
    shown_queries(question, plan).flat_map(expected).collect()
}

/// The end of a range, for people.
fn of_end(end: &RBig) -> crate::number::Number {
    let shown = of_steps(1, end);
    crate::number::Number::parse(shown.as_str()).unwrap_or(crate::number::Number::ZERO)
}

/// A number that an engine computes, and the noise on it.
fn measured(part: &Part, schema: &Schema) -> MeasuredPart {
    let grid = part.grid();
    let sensitivity = match part.cost {
        // The square root of an integer, for people; the noise is made from the square.
        Cost::Gaussian { .. } => {
            let length = (part.sensitivity.l2_squared as f64).sqrt() * grid.to_f64().value();
            Decimal::from_f64(length).unwrap_or_else(|| 0.into())
        }
        _ => of_steps(i128::try_from(part.sensitivity.l1).unwrap_or(i128::MAX), &grid),
    };
    MeasuredPart {
        measure: part.measure.describe(schema),
        cost: part.cost,
        noise: part.noise.name().to_string(),
        sensitivity,
        scale: Computed(part.noise.scale() * grid.to_f64().value()),
        half_width: of_steps(part.noise.half_width(MISS), &grid),
    }
}

impl QuantilePart {
    /// How it is drawn: in rows, since that is what the mechanism misses by.
    fn measured(&self, schema: &Schema) -> MeasuredPart {
        let what = match self.fraction {
            crate::number::Number::ZERO => "least value".to_string(),
            crate::number::Number::ONE => "greatest value".to_string(),
            fraction => format!("quantile {fraction}"),
        };
        MeasuredPart {
            measure: format!(
                "{what} of {}{}, in rows",
                self.of.describe(schema),
                if self.end_cost.is_some() { " with its interval" } else { "" }
            ),
            cost: self.total(),
            noise: "exponential-mechanism".to_string(),
            sensitivity: Decimal::from_f64(self.rows_moved()).unwrap_or_else(|| 0.into()),
            scale: Computed(self.scale()),
            half_width: self.reach().into(),
        }
    }
}
