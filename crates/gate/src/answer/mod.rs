//! Answers: noise on exact integers, and what is made of the noisy numbers afterwards.

mod describe;
mod estimates;
mod known;
mod numbers;
mod rows;
mod selection;
mod uses;
mod windows;

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::collections::hash_map::{Entry, HashMap};

use taximeter_noise::Randomness;

use self::numbers::nearest;
use self::rows::RowMaker;
use self::selection::Selection;
use crate::document::Cell;
use crate::engine::ExactRow;
use crate::measure::Quantity;
use crate::noise::Noise;
use crate::plan::{Plan, QuantilePart, QueryPlan};
use crate::quantile::DrawnQuantile;
use crate::question::group::{ALL, Group, GroupKey};
use crate::question::term::Term;
use crate::question::window::WindowCall;
use crate::question::{Output, Query, Question};
use crate::schema::Value;
use crate::statistics::NoiseLaw;

pub(crate) use self::describe::{averages, columns, measured_parts, other_parts};
pub(crate) use self::numbers::of_steps;

/// What an engine computed for a SELECT: what must not leave the gate without noise.
pub(crate) struct ExactQuery {
    /// The measures of every group that has rows.
    pub(crate) groups: Vec<ExactRow>,
    /// For every quantile and then for every most frequent value, how many rows have which value: the last key.
    pub(crate) histograms: Vec<Vec<ExactRow>>,
}

/// A noisy answer, one row for every group.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Noisy {
    pub(crate) rows: Vec<Vec<Cell>>,
    /// What was done to the noisy numbers afterwards, in words.
    pub(crate) post_processing: Vec<String>,
}

impl Noisy {
    /// Computes each SELECT, sub-queries first, and adds noise. What is computed may depend on the answers of sub-queries before it.
    pub(crate) fn new(
        question: &Question,
        plan: &Plan,
        clamp: bool,
        compute: impl FnMut(&Query, &QueryPlan, &[Option<f64>]) -> Result<ExactQuery, String>,
    ) -> Result<Noisy, String> {
        let randomness = Randomness::secure().map_err(|error| error.to_string())?;
        Noisy::drawn_from(randomness, question, plan, clamp, compute)
    }

    /// The same with a given source of noise, which must be a secure one for what is computed from data.
    pub(crate) fn drawn_from(
        mut randomness: Randomness,
        question: &Question,
        plan: &Plan,
        clamp: bool,
        mut compute: impl FnMut(&Query, &QueryPlan, &[Option<f64>]) -> Result<ExactQuery, String>,
    ) -> Result<Noisy, String> {
        let (mut noisy, mut answers) = (Vec::new(), Vec::new());
        for (at, (query, plan)) in question.all_queries().zip(&plan.queries).enumerate() {
            let exact = compute(query, plan, &answers)?;
            noisy.push(NoisyQuery::new(query, plan, exact, &mut randomness)?);
            if at < question.scalars.len() {
                let queries = noisy.split_off(at);
                let alone = Answering { question, scalars: &noisy, queries: &queries, clamp };
                let rows = RowMaker::new(&alone, &queries[0], &Selection::none(queries[0].plan)).rows();
                answers.push(rows.first().and_then(|row| row[0].nearest()));
                noisy.extend(queries);
            }
        }
        let queries = noisy.split_off(question.scalars.len());
        Ok(Answering { question, scalars: &noisy, queries: &queries, clamp }.answer())
    }
}

/// A SELECT with its noisy numbers.
struct NoisyQuery<'a> {
    query: &'a Query,
    plan: &'a QueryPlan,
    groups: Vec<NoisyGroup>,
}

struct NoisyGroup {
    keys: Vec<Value>,
    parts: Vec<i128>,
    quantiles: Vec<DrawnQuantile>,
    /// The numbers of most frequent values.
    modes: Vec<i64>,
}

impl<'a> NoisyQuery<'a> {
    fn new(
        query: &'a Query,
        plan: &'a QueryPlan,
        exact: ExactQuery,
        randomness: &mut Randomness,
    ) -> Result<Self, String> {
        let mut measures: HashMap<GroupName, Vec<i64>> = HashMap::new();
        let mut found = Vec::new();
        for ExactRow { keys, measures: numbers } in exact.groups {
            if numbers.len() != plan.parts.len() {
                return Err(format!("{} measures came back for {} parts", numbers.len(), plan.parts.len()));
            }
            let Some(keys) = shown(query, keys)? else { continue };
            match measures.entry(name(&keys)) {
                Entry::Vacant(entry) => {
                    entry.insert(numbers);
                    found.push(keys);
                }
                // Values that the engine tells apart and the gate does not are one group: of the two, none may be lost.
                Entry::Occupied(entry) => {
                    let both = entry.into_mut().iter_mut().zip(numbers).zip(&plan.parts);
                    both.for_each(|((one, other), part)| *one = part.measure.quantity.of_both(*one, other));
                }
            }
        }
        let mut histograms =
            exact.histograms.into_iter().map(|rows| histogram(query, rows)).collect::<Result<Vec<_>, _>>()?;
        let groups = match plan.threshold {
            None => declared(query),
            // In an order that does not depend on that of the data.
            Some(_) => {
                found.sort_by_key(|keys| name(keys));
                found
            }
        };
        let mut noisy = Vec::new();
        for keys in groups {
            let exact = measures.remove(&name(&keys)).unwrap_or_else(|| vec![0; plan.parts.len()]);
            let mut parts = Vec::with_capacity(exact.len());
            for (part, measure) in plan.parts.iter().zip(exact) {
                parts.push(
                    i128::from(measure)
                        .saturating_add(part.noise.sample(randomness).map_err(|error| error.to_string())?),
                );
            }
            let answered = plan.threshold.is_none_or(|(part, least)| parts[part] >= least);
            let mut quantiles = Vec::new();
            for (quantile, histogram) in plan.quantiles.iter().zip(&mut histograms) {
                let values = histogram.remove(&name(&keys)).unwrap_or_default();
                if answered {
                    quantiles.push(quantile.draw(&values, randomness)?);
                }
            }
            let mut modes = Vec::new();
            for (mode, histogram) in plan.modes.iter().zip(histograms.iter_mut().skip(plan.quantiles.len())) {
                let values = histogram.remove(&name(&keys)).unwrap_or_default();
                if answered {
                    modes.push(mode.draw(&values, randomness)?);
                }
            }
            if answered {
                noisy.push(NoisyGroup { keys, parts, quantiles, modes });
            }
        }
        // The values of keys are in the statement as well, so another group means that the engine did something else.
        match measures.len() + histograms.iter().map(HashMap::len).sum::<usize>() {
            0 => Ok(NoisyQuery { query, plan, groups: noisy }),
            more => Err(format!("{more} groups came back that are not declared")),
        }
    }

    /// How many quantiles of groups tell next to nothing: their intervals have nine tenths of what their bounds allow.
    fn unknown_quantiles(&self) -> usize {
        let tells_nothing = |(drawn, part): &(&DrawnQuantile, &QuantilePart)| {
            drawn.interval.is_some_and(|[low, high]| {
                part.of.low < part.of.high
                    && 10 * u128::from(high.abs_diff(low)) >= 9 * u128::from(part.of.high.abs_diff(part.of.low))
            })
        };
        let of_group =
            |group: &NoisyGroup| group.quantiles.iter().zip(&self.plan.quantiles).filter(tells_nothing).count();
        self.groups.iter().map(of_group).sum()
    }

    /// Whether something is computed of several groups.
    fn has_windows(&self) -> bool {
        !self.query.windows().is_empty()
    }

    /// The quantiles of a group, in the units of the answer.
    fn quantile_values(&self, group: usize) -> Vec<f64> {
        let quantiles = self.groups[group].quantiles.iter().zip(&self.plan.quantiles);
        quantiles.map(|(drawn, part)| drawn.value as f64 * part.of.grid.to_f64().value()).collect()
    }
}

/// Everything that is known when the rows of an answer are made.
struct Answering<'a> {
    question: &'a Question,
    scalars: &'a [NoisyQuery<'a>],
    queries: &'a [NoisyQuery<'a>],
    clamp: bool,
}

impl Answering<'_> {
    fn answer(&self) -> Noisy {
        let (mut rows, mut said, mut of_intervals) = (Vec::new(), Vec::new(), Vec::new());
        for query in self.queries {
            let selection = Selection::new(self.question, self.queries, query, self.clamp);
            rows.extend(RowMaker::new(self, query, &selection).rows());
            of_intervals.extend(selection.describe().filter(|text| !of_intervals.contains(text)));
        }
        if self.clamp {
            said.push("counts are clamped at 0".to_string());
        }
        for query in self.queries {
            if let Some(most) = query.plan.groups_per_unit {
                said.push(format!("a unit counts in at most {most} of its groups"));
            }
            if let Some((part, threshold)) = query.plan.threshold {
                let units = query.plan.parts[part].measure.quantity == Quantity::Units;
                let counted = if units { "units" } else { "rows" };
                said.push(format!(
                    "only groups with a noisy number of {counted} of {threshold} or more are answered, and the interval of that number \
                     accounts for it"
                ));
            }
        }
        let unknown: usize = self.queries.iter().map(NoisyQuery::unknown_quantiles).sum();
        if unknown > 0 {
            let which = if unknown == 1 { "1 quantile says".to_string() } else { format!("{unknown} quantiles say") };
            said.push(format!(
                "too few rows for this noise: {which} almost nothing, with an interval nearly as wide as the bounds"
            ));
        }
        for mode in self.queries.iter().flat_map(|query| &query.plan.modes) {
            said.push(format!(
                "in 95 of 100 answers, the value shown as most frequent has at most {} rows fewer than the true one",
                mode.reach()
            ));
        }
        let is_total = |output: &Output| output.term == Term::Label(ALL.to_string());
        if self.question.queries.iter().any(|query| query.outputs.iter().any(is_total)) {
            said.push("totals are measured separately: the noisy groups need not add up to them".to_string());
        }
        if self.question.queries.iter().any(|query| query.having.is_some()) {
            said.push("rows are chosen by the noisy numbers".to_string());
        }
        // SQL takes HAVING first, but not the WHERE of a question around this one, which is read as HAVING.
        if self.queries.iter().any(|noisy| noisy.query.having.is_some() && noisy.has_windows()) {
            said.push("what is computed over all groups includes those that are not shown".to_string());
        }
        let windows: Vec<&WindowCall> = self.queries.iter().flat_map(|noisy| noisy.query.windows()).collect();
        if windows.iter().any(|window| window.is_rank() && window.is_sorted_by_noise()) {
            said.push(
                "ranks are those of the noisy numbers, and the intervals of all of them hold together".to_string(),
            );
        }
        if windows.iter().any(|window| !window.is_rank() && window.is_sorted_by_noise()) {
            said.push("what is computed in the order of noisy numbers has no interval".to_string());
        }
        if !self.question.order.is_empty() {
            // Stable: what is equal stays in the order of the groups.
            rows.sort_by(|one, other| {
                let keys =
                    self.question.order.iter().map(|key| one[key.output].compare(&other[key.output], key.descending));
                keys.fold(Ordering::Equal, Ordering::then)
            });
            let is_noisy = |row: &Vec<Cell>, at: usize| !matches!(row[at], Cell::Group(_));
            if rows.iter().any(|row| self.question.order.iter().any(|key| is_noisy(row, key.output))) {
                said.push("sorted by the noisy numbers".to_string());
            }
        }
        if self.question.offset > 0 {
            let skipped = usize::try_from(self.question.offset).unwrap_or(usize::MAX).min(rows.len());
            rows.drain(..skipped);
            said.push(format!("the first {} rows of the noisy answer are not shown", self.question.offset));
        }
        if let Some(limit) = self.question.limit {
            rows.truncate(usize::try_from(limit).unwrap_or(usize::MAX));
            said.push(format!("at most {limit} rows of the noisy answer are shown"));
        }
        rows.iter_mut().for_each(|row: &mut Vec<Cell>| row.truncate(self.question.shown()));
        said.extend(of_intervals);
        Noisy { rows, post_processing: said }
    }
}

/// The keys of a group as they are shown: different groups have different ones.
type GroupName = Vec<String>;

fn name(keys: &[Value]) -> GroupName {
    keys.iter().map(Value::to_string).collect()
}

/// Keys as they are shown, from those that an engine gave; nothing for rows of a group that is not answered. Those count as rows without a
/// group do, and never as a failure: whether there are any depends on the data.
fn shown(query: &Query, keys: Vec<Value>) -> Result<Option<Vec<Value>>, String> {
    if keys.len() != query.groups.len() {
        return Err(format!("{} keys came back for {} groups", keys.len(), query.groups.len()));
    }
    let show = |(key, group): (Value, &Group)| match (&group.key, key) {
        (GroupKey::Steps { values, .. }, Value::Integer(steps)) => {
            let found = values.binary_search_by_key(&steps, |(steps, _)| *steps);
            Ok(found.ok().map(|at| values[at].1.clone()))
        }
        (GroupKey::Steps { .. }, other) => Err(format!("the key {other} came back, which is not a whole number")),
        // The values of columns are in the statement as well.
        (GroupKey::Column { .. } | GroupKey::Open { .. }, key) => Ok(Some(key)),
    };
    keys.into_iter().zip(&query.groups).map(show).collect()
}

/// The values of every group with their numbers of rows, in ascending order.
fn histogram(query: &Query, rows: Vec<ExactRow>) -> Result<HashMap<GroupName, Vec<(i64, u64)>>, String> {
    let mut groups: HashMap<GroupName, BTreeMap<i64, u64>> = HashMap::new();
    for ExactRow { mut keys, measures } in rows {
        let (Some(Value::Integer(steps)), [count]) = (keys.pop(), measures.as_slice()) else {
            return Err("a value came back without its number of rows".to_string());
        };
        let count = u64::try_from(*count).map_err(|_| "a negative number of rows came back".to_string())?;
        let Some(keys) = shown(query, keys)? else { continue };
        let sum = groups.entry(name(&keys)).or_default().entry(steps).or_default();
        *sum = sum.saturating_add(count);
    }
    Ok(groups.into_iter().map(|(name, values)| (name, values.into_iter().collect())).collect())
}

/// Every combination of the values of the keys, the last one fastest; one empty one without groups.
fn declared(query: &Query) -> Vec<Vec<Value>> {
    query.groups.iter().fold(vec![Vec::new()], |combinations, group| {
        let values = group.values().unwrap_or_default();
        let longer = |keys: &Vec<Value>, value: &Value| [keys.as_slice(), std::slice::from_ref(value)].concat();
        combinations.iter().flat_map(|keys| values.iter().map(move |value| longer(keys, value))).collect()
    })
}

impl Cell {
    /// What is not known comes last, whichever way the others are sorted.
    fn compare(&self, other: &Cell, descending: bool) -> Ordering {
        let ordering = match (self, other) {
            // The rows of a total have text where the others have the value of a key.
            (Cell::Group(one), Cell::Group(other)) if one.is_total() != other.is_total() => {
                return one.is_total().cmp(&other.is_total());
            }
            (Cell::Group(one), Cell::Group(other)) => one.compare(other),
            (Cell::Estimate(one), Cell::Estimate(other)) => match (&one.value, &other.value) {
                (Some(one), Some(other)) => nearest(one).total_cmp(&nearest(other)),
                (one, other) => return other.is_some().cmp(&one.is_some()),
            },
            // Dates and times are written so that their texts have their order.
            (Cell::Dated(one), Cell::Dated(other)) => one.value.cmp(&other.value),
            // The SELECTs of a UNION ALL may show different things in one column.
            _ => self.place_of_kind().cmp(&other.place_of_kind()),
        };
        if descending { ordering.reverse() } else { ordering }
    }

    /// Where cells of its kind are among those that it cannot be compared with.
    fn place_of_kind(&self) -> u8 {
        match self {
            Cell::Group(_) => 0,
            Cell::Estimate(_) => 1,
            Cell::Dated(_) => 2,
        }
    }
}

impl Value {
    /// Whether it stands for all values of a key.
    fn is_total(&self) -> bool {
        matches!(self, Value::Text(text) if text == ALL)
    }
}

impl Noise {
    /// The law of it, for what is computed afterwards.
    fn law(&self) -> NoiseLaw {
        match self {
            Noise::Laplace(_) => NoiseLaw::Laplace { scale: self.scale() },
            Noise::Gaussian(_) => NoiseLaw::Gaussian { sigma: self.scale() },
        }
    }
}

#[cfg(test)]
mod tests;
