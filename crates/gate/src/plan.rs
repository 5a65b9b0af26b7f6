//! What a question costs and how much noise its answer gets: decided from the schema alone, before any data are touched.

use dashu::base::SquareRoot;
use dashu::integer::UBig;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value as Json;
use taximeter_accounting::{Amount, Cost};

use crate::error::Error;
use crate::measure::Measure;
use crate::noise::Noise;
use crate::number::Number;
use crate::question::{Aggregate, Content, Question};
use crate::schema::Schema;
use crate::sensitivity::Sensitivity;

/// How likely an interval misses the truth.
pub(crate) const MISS: f64 = 0.05;

/// What an analyst offers for an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Price {
    /// A fixed ε, for discrete Laplace noise.
    Epsilon(#[serde(deserialize_with = "offered")] Amount),
    /// A fixed μ, for rounded Gaussian noise: μ-GDP. Accounts with the rules `residue`, `zcdp` and `renyi` take it.
    Gaussian(#[serde(deserialize_with = "offered")] Amount),
    /// The smallest cost for which every 95% interval is at most ± the width.
    Error {
        /// The half width, in the units of the answer.
        #[serde(deserialize_with = "offered_width")]
        width: Number,
        /// Which noise.
        #[serde(default)]
        noise: NoiseKind,
    },
}

/// Which noise an answer gets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "kebab-case")]
pub enum NoiseKind {
    /// The discrete Laplace distribution, paid with ε.
    #[default]
    Laplace,
    /// The rounded Gaussian distribution, paid with μ.
    Gaussian,
}

fn offered<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Amount, D::Error> {
    Amount::parse_exact(&digits(deserializer)?).map_err(D::Error::custom)
}

fn offered_width<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Number, D::Error> {
    Number::parse(&digits(deserializer)?).map_err(D::Error::custom)
}

/// The digits of a JSON number, with or without quotes.
fn digits<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    match Json::deserialize(deserializer)? {
        Json::String(text) => Ok(text),
        Json::Number(number) => Ok(number.as_str().to_string()),
        other => Err(D::Error::custom(format!("{other} is not a number; write for instance 0.1 or \"0.1\""))),
    }
}

/// A question with its costs.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    /// What is paid in all: the ε, or the μ, that the parts add up to.
    pub(crate) total: Cost,
    /// One part for every measure, in the order of the aggregates; an average has two.
    pub(crate) parts: Vec<Part>,
}

/// A measure, and what it is paid with.
#[derive(Clone, Debug)]
pub(crate) struct Part {
    pub(crate) measure: Measure,
    pub(crate) sensitivity: Sensitivity,
    pub(crate) cost: Cost,
    pub(crate) noise: Noise,
}

impl Plan {
    /// Shares a price among the aggregates of a question, in equal parts.
    pub(crate) fn new(question: &Question, schema: &Schema, price: Price) -> Result<Plan, Error> {
        match price {
            Price::Epsilon(epsilon) => Plan::paid(question, schema, Cost::Pure { epsilon }),
            Price::Gaussian(mu) => Plan::paid(question, schema, Cost::Gaussian { mu }),
            Price::Error { width, noise } => Plan::for_error(question, schema, width, noise),
        }
    }

    /// The same plan if it costs no less than this; one for an error is made dearer, since its intervals only get narrower.
    pub(crate) fn at_least(
        self,
        least: Amount,
        question: &Question,
        schema: &Schema,
        price: Price,
    ) -> Result<Plan, Error> {
        match price {
            _ if self.total.size() >= least => Ok(self),
            Price::Error { .. } => Plan::paid(question, schema, self.total.with_size(least)),
            _ => {
                let floor = self.total.with_size(least);
                let needs = format!("the owner has set a floor: a question must cost at least {floor}; offer more");
                Err(Error::value("price", self.total, needs))
            }
        }
    }

    fn paid(question: &Question, schema: &Schema, total: Cost) -> Result<Plan, Error> {
        let measured = measures(question, schema);
        let mut parts = Vec::new();
        for (of_aggregate, share) in measured.iter().zip(shares(total, measured.len())) {
            for (measure, cost) in of_aggregate.iter().zip(shares(share, of_aggregate.len())) {
                let sensitivity = Sensitivity::new(*measure, schema, !question.groups.is_empty());
                let noise = Noise::new(&cost, sensitivity)?;
                parts.push(Part { measure: *measure, sensitivity, cost, noise });
            }
        }
        Ok(Plan { total, parts })
    }

    /// The cheapest plan whose intervals are narrow enough. Costs are tried with six significant digits.
    fn for_error(question: &Question, schema: &Schema, width: Number, noise: NoiseKind) -> Result<Plan, Error> {
        if !width.is_positive() {
            return Err(Error::value("error", width, "it cannot be had; ask for one above 0"));
        }
        let averages = |content: &Content| matches!(content, Content::Aggregate(Aggregate::Average(_)));
        if question.outputs.iter().any(|output| averages(&output.content)) {
            return Err(Error::input(
                "price",
                "how wide the interval of an AVG gets depends on the data, so it cannot be asked for; ask for a SUM and a COUNT, or \
                 offer an epsilon",
            ));
        }
        let cost = |size: Amount| match noise {
            NoiseKind::Laplace => Cost::Pure { epsilon: size },
            NoiseKind::Gaussian => Cost::Gaussian { mu: size },
        };
        let plan = |units: u128| Plan::paid(question, schema, cost(Amount::from_units(units)));
        let narrow = |units: u128| plan(units).is_ok_and(|plan| plan.is_within(width, schema));
        const DIGITS: u128 = 100_000;
        // A hundred thousandth of the decade: the step of its sixth digit.
        let decades = (-9..3).map(|exponent: i32| 10u128.pow((Amount::PLACES as i32 + exponent - 5) as u32));
        let Some(step) = decades.into_iter().find(|step| narrow(10 * DIGITS * step)) else {
            return Err(Error::value("error", width, "it would cost more than 1000; ask for a larger one"));
        };
        let (mut wide, mut enough) = (DIGITS - 1, 10 * DIGITS);
        while enough - wide > 1 {
            let middle = (wide + enough) / 2;
            if narrow(middle * step) { enough = middle } else { wide = middle }
        }
        plan(enough * step)
    }

    fn is_within(&self, width: Number, schema: &Schema) -> bool {
        self.parts.iter().all(|part| {
            let steps = part.noise.half_width(MISS);
            part.grid(schema).times(steps).is_some_and(|half_width| half_width <= width)
        })
    }

    /// The costs in the order in which they are paid.
    pub(crate) fn costs(&self) -> Vec<Cost> {
        self.parts.iter().map(|part| part.cost).collect()
    }

    /// The measures in order.
    pub(crate) fn measures(&self) -> Vec<Measure> {
        self.parts.iter().map(|part| part.measure).collect()
    }
}

impl Part {
    /// What one step of the measure is in the units of the answer.
    pub(crate) fn grid(&self, schema: &Schema) -> Number {
        match self.measure {
            Measure::Steps { column, .. } => schema.columns[column].bounds.map_or(Number::ONE, |bounds| bounds.grid()),
            Measure::Rows | Measure::NonNull(_) | Measure::Units => Number::ONE,
        }
    }
}

/// The measures of every aggregate: an average is a centred sum and a count.
fn measures(question: &Question, schema: &Schema) -> Vec<Vec<Measure>> {
    let aggregates = question.outputs.iter().filter_map(|output| match output.content {
        Content::Aggregate(aggregate) => Some(aggregate),
        Content::Group(_) => None,
    });
    let centre = |column: usize| schema.columns[column].bounds.map_or(0, |bounds| bounds.centre());
    aggregates
        .map(|aggregate| match aggregate {
            Aggregate::Rows => vec![Measure::Rows],
            Aggregate::NonNull(column) => vec![Measure::NonNull(column)],
            Aggregate::Units => vec![Measure::Units],
            Aggregate::Sum(column) => vec![Measure::Steps { column, centre: 0 }],
            Aggregate::Average(column) => {
                vec![Measure::Steps { column, centre: centre(column) }, Measure::NonNull(column)]
            }
        })
        .collect()
}

/// A cost in equal parts that together do not exceed it: ε adds up, and μ adds up by its squares. Rounded down.
fn shares(total: Cost, parts: usize) -> Vec<Cost> {
    let units = UBig::from(total.size().units());
    let share = match total {
        Cost::Gaussian { .. } => (units.clone() * units / UBig::from(parts)).sqrt(),
        _ => units / UBig::from(parts),
    };
    let share = u128::try_from(share).expect("a share is not above the whole");
    vec![total.with_size(Amount::from_units(share)); parts]
}

#[cfg(test)]
mod tests {
    use taximeter_ledger::Neighbours;

    use super::*;
    use crate::schema::{Bounds, Column, ColumnType, PrivacyUnit, Value};

    #[test]
    fn shares_add_up_to_the_whole_and_never_to_more() {
        for text in ["0.1", "1", "0.000000000000000000000000000007", "3.333"] {
            let amount = Amount::parse_exact(text).unwrap();
            for parts in [1, 2, 3, 7, 16] {
                let whole = UBig::from(amount.units());
                // The parts, and parts that are larger by the smallest unit: all of it is spent.
                let sums = |total: Cost, power: usize| {
                    let shares = shares(total, parts);
                    assert_eq!(shares.len(), parts);
                    let units =
                        |more: u128| shares.iter().map(move |cost| UBig::from(cost.size().units() + more).pow(power));
                    (units(0).sum::<UBig>(), units(1).sum::<UBig>())
                };
                let (sum, more) = sums(Cost::Pure { epsilon: amount }, 1);
                assert!(sum <= whole && whole < more, "{text} in {parts}");
                let (squares, more) = sums(Cost::Gaussian { mu: amount }, 2);
                assert!(squares <= whole.pow(2) && whole.pow(2) < more, "{text} in {parts}");
            }
        }
    }

    fn schema(neighbours: Neighbours) -> Schema {
        let bounds = |low: &str, high: &str, grid: &str| {
            Some(Bounds::new(low.parse().unwrap(), high.parse().unwrap(), grid.parse().unwrap()).unwrap())
        };
        let wards = Some((1..=3).map(Value::Integer).collect());
        let columns = [
            Column::new("person", ColumnType::Integer, None, None),
            Column::new("ward", ColumnType::Integer, None, wards),
            Column::new("age", ColumnType::Integer, bounds("-20", "121", "1"), None),
            Column::new("wage", ColumnType::Real, bounds("0", "10", "0.01"), None),
        ];
        let unit = PrivacyUnit::Column { column: "person".to_string(), max_rows_per_unit: 3 };
        Schema::new(unit, neighbours, columns.into_iter().collect::<Result<_, _>>().unwrap()).unwrap()
    }

    fn plan(question: &str, schema: &Schema, price: Price) -> Result<Plan, Error> {
        Plan::new(&Question::parse(question, "people", schema).unwrap(), schema, price)
    }

    fn amount(text: &str) -> Amount {
        Amount::parse_exact(text).unwrap()
    }

    #[test]
    fn every_aggregate_has_its_measures_and_the_sensitivity_of_its_question() {
        let centre = 50;
        let measures = [
            Measure::Rows,
            Measure::Steps { column: 2, centre: 0 },
            Measure::Steps { column: 2, centre },
            Measure::NonNull(2),
            Measure::Units,
        ];
        for neighbours in [Neighbours::AddRemove, Neighbours::Substitute] {
            let schema = schema(neighbours);
            for (group, grouped) in [("", false), (" GROUP BY ward", true)] {
                let question =
                    format!("SELECT COUNT(*), SUM(age), AVG(age), COUNT(DISTINCT person) FROM people{group}");
                let plan = plan(&question, &schema, Price::Epsilon(amount("0.8"))).unwrap();
                assert_eq!(plan.measures(), measures);
                for (part, epsilon) in plan.parts.iter().zip(["0.2", "0.2", "0.1", "0.1", "0.2"]) {
                    let sensitivity = Sensitivity::new(part.measure, &schema, grouped);
                    let cost = Cost::Pure { epsilon: amount(epsilon) };
                    assert_eq!((part.cost, part.sensitivity), (cost, sensitivity));
                    assert_eq!(part.noise, Noise::new(&cost, sensitivity).unwrap());
                }
            }
        }
    }

    #[test]
    fn an_error_costs_no_more_than_it_must() {
        let schema = schema(Neighbours::AddRemove);
        for (question, width) in [
            ("SELECT COUNT(*) FROM people", "1"),
            ("SELECT COUNT(*) FROM people", "20"),
            ("SELECT COUNT(*) FROM people", "12345"),
            ("SELECT COUNT(*) FROM people", "50000000"),
            ("SELECT SUM(wage) FROM people", "0.5"),
            ("SELECT SUM(wage) FROM people", "1000"),
            ("SELECT COUNT(*), SUM(age) FROM people", "700"),
            ("SELECT SUM(wage), COUNT(*) FROM people GROUP BY ward", "33.3"),
        ] {
            for noise in [NoiseKind::Laplace, NoiseKind::Gaussian] {
                let width: Number = width.parse().unwrap();
                let bought = plan(question, &schema, Price::Error { width, noise }).unwrap();
                assert!(bought.is_within(width, &schema), "{question} {width}");
                let price = match (noise, bought.total) {
                    (NoiseKind::Laplace, Cost::Pure { .. }) => Price::Epsilon,
                    (NoiseKind::Gaussian, Cost::Gaussian { .. }) => Price::Gaussian,
                    (_, other) => panic!("{other} pays for other noise"),
                };
                // A hundred thousandth less is not enough.
                let units = bought.total.size().units();
                let cheaper = plan(question, &schema, price(Amount::from_units(units - units / 99_999))).unwrap();
                assert!(!cheaper.is_within(width, &schema), "{question} {width}: {}", bought.total);
                let reach =
                    bought.parts.iter().map(|part| part.grid(&schema).times(part.noise.half_width(MISS)).unwrap());
                assert!(reach.max().unwrap() <= width, "{question} {width}");
            }
        }
    }

    #[test]
    fn an_error_that_cannot_be_had_is_refused() {
        let schema = schema(Neighbours::AddRemove);
        for (question, width) in [
            ("SELECT COUNT(*) FROM people", "0"),
            ("SELECT COUNT(*) FROM people", "-1"),
            ("SELECT SUM(age) FROM people", "0.0001"),
            ("SELECT COUNT(*), AVG(age) FROM people", "100"),
        ] {
            let price = Price::Error { width: width.parse().unwrap(), noise: NoiseKind::Laplace };
            let error = plan(question, &schema, price).unwrap_err();
            assert!(error.is_input(), "{question} {width}: {error}");
        }
    }
}
