//! Questions about the dataset, and the exact answers that they must get.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use dashu::rational::RBig;
use taximeter_accounting::Amount;

use super::conditions::Condition;
use super::dataset::{AMOUNT, BORN, FLAG, SEEN, WHOLE, WORD, WORDS, schema};
use super::meaning::{Expression, Row, Type, nearest};
use super::random::Dice;
use crate::engine::{Engine, ExactRow};
use crate::measure::{Centred, Quantity};
use crate::plan::{Made, Plan, Price, QueryPlan, Weights};
use crate::question::aggregate::Function;
use crate::question::group::GroupKey;
use crate::question::scalar::{Node, NumericExpr};
use crate::question::term::Term;
use crate::question::{Output, Query, Question};
use crate::schema::Value;
use crate::sql::{Statement, Target};

/// An aggregate of the rows for which its condition holds.
struct Wanted {
    function: &'static str,
    of: Vec<Expression>,
    filter: Option<Condition>,
}

/// A value of a row as text; nothing if it is null.
type Shown = dyn Fn(&Row) -> Option<String>;

/// What is grouped by.
struct WantedKey {
    text: String,
    value: Box<Shown>,
}

/// A question, with what it means.
pub(crate) struct RandomQuestion {
    pub(crate) text: String,
    wanted: Vec<Wanted>,
    filter: Option<Condition>,
    key: Option<WantedKey>,
}

/// The integers of every group, and the steps of quantiles with how many rows have them.
type Integers = BTreeMap<Vec<String>, Vec<i64>>;

impl RandomQuestion {
    pub(crate) fn random(dice: &mut Dice) -> RandomQuestion {
        let depth = dice.below(4);
        let functions = ["SUM", "AVG", "COUNT", "VAR_POP", "CORR", "MEDIAN", "DISTINCT", "*"];
        let wanted = (0..1 + dice.below(3)).map(|_| {
            let function = dice.of(&functions);
            let count = if function == "CORR" { 2 } else { 1 };
            let of = (0..count).map(|_| dice.number(depth)).collect();
            Wanted { function, of, filter: (dice.below(4) == 0).then(|| dice.condition(depth.min(1))) }
        });
        let wanted: Vec<Wanted> = wanted.collect();
        let key = dice.coin().then(|| WantedKey::random(dice));
        // Bounds of a column leave groups of it out.
        let filter = match key.is_some() && dice.coin() {
            true => Some(dice.bounds()),
            false => dice.coin().then(|| dice.condition(depth)),
        };
        RandomQuestion { text: text(&wanted, filter.as_ref(), key.as_ref()), wanted, filter, key }
    }

    /// How the answers of an engine differ from what the question means, if they do; an error if the gate does not take the question.
    /// The SQL is changed first.
    pub(crate) fn difference(
        &self,
        rows: &[Row],
        engine: &mut dyn Engine,
        target: Target,
        change: impl Fn(&str) -> String,
    ) -> Result<Option<String>, crate::Error> {
        let question = Question::parse(&self.text, "t", target.schema)?;
        let plan = Plan::new(&question, target.schema, Price::Epsilon(Amount::ONE), &Weights::default())?;
        let (query, plan) = (&question.queries[0], &plan.queries[0]);
        let mut compare = |mut statement: Statement, expected: Integers| {
            statement.sql = change(&statement.sql);
            let measured = engine.run(&statement, Duration::from_secs(600)).map(|rows| shown(query, rows));
            let differs = measured.as_ref() != Ok(&expected);
            differs.then(|| format!("{measured:?}\nand not {expected:?}\n{}\n{}", self.text, statement.sql))
        };
        let mut differences = Vec::new();
        if !plan.parts.is_empty() {
            let statement = Statement::measuring(query, plan.parts.iter().map(|part| &part.measure), target);
            differences.push(compare(statement, self.measured(rows, query, plan)));
        }
        for (wanted, _, made) in self.aggregates(query, plan) {
            let Made::Quantile(at) = made else { continue };
            let quantile = &plan.quantiles[*at];
            let statement = Statement::histogram(query, &quantile.of, quantile.filter.as_ref(), target);
            differences.push(compare(statement, self.histogram(rows, wanted, &quantile.of)));
        }
        Ok(differences.into_iter().flatten().next())
    }

    /// What is wanted, beside what it was understood as and what that is made of.
    fn aggregates<'q>(&'q self, query: &'q Query, plan: &'q QueryPlan) -> Vec<(&'q Wanted, &'q Function, &'q Made)> {
        let place = |output: &Output| match output.term {
            Term::Aggregate(at) => at,
            _ => unreachable!("only aggregates are wanted"),
        };
        let places = query.outputs.iter().map(place);
        self.wanted
            .iter()
            .zip(places)
            .map(|(wanted, at)| (wanted, &query.aggregates[at].function, &plan.aggregates[at]))
            .collect()
    }

    /// The rows of every group.
    fn groups<'r>(&self, rows: &'r [Row]) -> BTreeMap<Vec<String>, Vec<&'r Row>> {
        let mut groups: BTreeMap<Vec<String>, Vec<&Row>> = BTreeMap::new();
        if self.key.is_none() {
            groups.insert(Vec::new(), Vec::new());
        }
        for row in rows.iter().filter(|row| holds(self.filter.as_ref(), row)) {
            let key = self.key.as_ref().map(|key| (key.value)(row).map(|key| vec![key]));
            if let Some(key) = key.unwrap_or(Some(Vec::new())) {
                groups.entry(key).or_default().push(row);
            }
        }
        groups
    }

    fn measured(&self, rows: &[Row], query: &Query, plan: &QueryPlan) -> Integers {
        let of_group = |rows: &[&Row]| {
            let mut integers = vec![0; plan.parts.len()];
            for (wanted, function, made) in self.aggregates(query, plan) {
                let Made::Parts(places) = made else { continue };
                let quantities = places.iter().map(|at| &plan.parts[*at].measure.quantity).collect();
                let rows: Vec<&Row> = rows.iter().copied().filter(|row| holds(wanted.filter.as_ref(), row)).collect();
                let values = wanted.integers(&rows, function, quantities);
                places.iter().zip(values).for_each(|(at, value)| integers[*at] = value);
            }
            integers
        };
        self.groups(rows).into_iter().map(|(key, rows)| (key, of_group(&rows))).collect()
    }

    fn histogram(&self, rows: &[Row], wanted: &Wanted, of: &NumericExpr) -> Integers {
        let mut counts = Integers::new();
        for (key, rows) in self.groups(rows) {
            for row in rows.into_iter().filter(|row| holds(wanted.filter.as_ref(), row)) {
                let Some(value) = wanted.of[0].value(row) else { continue };
                let key = key.iter().cloned().chain([steps(&value, of, of).to_string()]).collect();
                counts.entry(key).or_insert_with(|| vec![0])[0] += 1;
            }
        }
        counts
    }
}

fn text(wanted: &[Wanted], filter: Option<&Condition>, key: Option<&WantedKey>) -> String {
    let mut text = "SELECT ".to_string();
    for (at, Wanted { function, of, filter }) in wanted.iter().enumerate() {
        let of: Vec<&str> = of.iter().map(|of| of.text.as_str()).collect();
        text += if at == 0 { "" } else { ", " };
        text += &match *function {
            "*" => "COUNT(*)".to_string(),
            "DISTINCT" => format!("COUNT(DISTINCT {})", of[0]),
            _ => format!("{function}({})", of.join(", ")),
        };
        text += &filter.as_ref().map_or(String::new(), |filter| format!(" FILTER (WHERE {})", filter.text));
        text += &format!(" AS column{at}");
    }
    text += " FROM t";
    text += &filter.map_or(String::new(), |filter| format!(" WHERE {}", filter.text));
    text + &key.map_or(String::new(), |key| format!(" GROUP BY {}", key.text))
}

fn holds(condition: Option<&Condition>, row: &Row) -> bool {
    condition.is_none_or(|condition| condition.holds(row) == Some(true))
}

/// How many steps a value is, first on the grid of what is aggregated and then on that of what is measured. Only what would have too
/// many steps is rounded; and no value lies outside of the derived range.
fn steps(value: &RBig, of: &NumericExpr, measured: &NumericExpr) -> i64 {
    let on = |value: RBig, scalar: &NumericExpr| {
        let exact = value / scalar.grid.clone();
        assert!(exact.is_int() || matches!(scalar.node, Node::Rounded(..)), "{exact} steps of {scalar:?}");
        let steps = i64::try_from(nearest(&exact).numerator().clone()).unwrap();
        assert!((scalar.low..=scalar.high).contains(&steps), "{steps} of {scalar:?}");
        steps
    };
    let first = on(value.clone(), of);
    on(RBig::from(first) * of.grid.clone(), measured)
}

impl Wanted {
    /// What is measured, in the order in which an aggregate is made of it.
    fn integers(&self, rows: &[&Row], function: &Function, quantities: Vec<&Quantity>) -> Vec<i64> {
        let values: Vec<Vec<Option<RBig>>> =
            rows.iter().map(|row| self.of.iter().map(|of| of.value(row)).collect()).collect();
        let centred = |row: &[Option<RBig>], place: usize, of: &NumericExpr, centred: &Centred| {
            row[place].as_ref().map(|value| steps(value, of, &centred.scalar) - centred.centre)
        };
        let scalars: Vec<&NumericExpr> = match function {
            Function::Sum(of) | Function::Average(of) | Function::Spread { of, .. } => vec![of],
            Function::Pair { y, x, .. } => vec![y, x],
            _ => Vec::new(),
        };
        let is_pair = scalars.len() == 2;
        let known = values.iter().filter(|row| !is_pair || row.iter().all(Option::is_some));
        let known: Vec<&Vec<Option<RBig>>> = known.collect();
        // The moments of two are those of x, of y, and of both.
        let places = |quantity: usize| match quantity {
            _ if !is_pair => [0, 0],
            1 | 2 => [1, 1],
            3 | 4 => [0, 0],
            _ => [1, 0],
        };
        let integer = |(at, quantity): (usize, &&Quantity)| match quantity {
            Quantity::Rows => known.len() as i64,
            Quantity::NonNull(_) => known.iter().filter(|row| row[0].is_some()).count() as i64,
            Quantity::Distinct(_) => self.different(rows),
            Quantity::Sum(one) => {
                let place = places(at)[0];
                known.iter().filter_map(|row| centred(row, place, scalars[place], one)).sum()
            }
            Quantity::Products(one, other) => {
                // The product of both is written in either order.
                let is_reversed = at == 5 && !matches!(quantities[1], Quantity::Sum(x) if x == one);
                let [first, second] = if is_reversed { [0, 1] } else { places(at) };
                let product = |row: &&Vec<Option<RBig>>| {
                    Some(centred(row, first, scalars[first], one)? * centred(row, second, scalars[second], other)?)
                };
                known.iter().filter_map(product).sum()
            }
            Quantity::Units | Quantity::Clamped => unreachable!("a row is the unit, and none is clamped"),
        };
        quantities.iter().enumerate().map(integer).collect()
    }

    /// How many different values there are: of a column as it is, where −0 is 0.
    fn different(&self, rows: &[&Row]) -> i64 {
        let values: BTreeSet<String> = match self.of[0].column {
            Some(at) => {
                let shown = |value: &Value| match value {
                    Value::Real(value) => format!("{:?}", value + 0.0),
                    other => other.plain(),
                };
                rows.iter().filter_map(|row| row[at].as_ref().map(shown)).collect()
            }
            None => rows.iter().filter_map(|row| self.of[0].value(row)).map(|value| value.to_string()).collect(),
        };
        values.len() as i64
    }
}

impl WantedKey {
    fn random(dice: &mut Dice) -> WantedKey {
        let of = |expression: Expression| {
            let text = expression.text.clone();
            let value = move |row: &Row| expression.value(row).map(|value| value.to_string());
            WantedKey { text, value: Box::new(value) }
        };
        let schema = schema();
        let column = |at| Expression::column(&schema, at);
        let number = Expression::number;
        let text_of = |text: &str, value: fn(&str) -> String| WantedKey {
            text: text.to_string(),
            value: Box::new(move |row| match &row[WORD] {
                Some(Value::Text(word)) if WORDS.contains(&word.as_str()) => Some(value(word)),
                _ => None,
            }),
        };
        let formatted = |format: &'static str, of: Expression, shown: fn(jiff::civil::DateTime) -> String| {
            let text = format!("TO_CHAR({}, '{format}')", of.text);
            let unit = if of.kind == Type::Date { 86_400 } else { 1 };
            WantedKey {
                text,
                value: Box::new(move |row| {
                    let seconds = i64::try_from(of.value(row)?.floor()).unwrap() * unit;
                    let epoch = jiff::civil::DateTime::constant(1970, 1, 1, 0, 0, 0, 0);
                    Some(shown(epoch.checked_add(jiff::SignedDuration::from_secs(seconds)).unwrap()))
                }),
            }
        };
        match dice.below(17) {
            10 => text_of("LEFT(word, 1)", |word| word.chars().take(1).collect()),
            11 => text_of("word || '/' || UPPER(word)", |word| format!("{word}/{}", word.to_ascii_uppercase())),
            12 => formatted("YYYY-MM", column(BORN), |time| time.strftime("%Y-%m").to_string()),
            13 => formatted("Dy DD Mon", column(BORN), |time| time.strftime("%a %d %b").to_string()),
            14 => formatted("HH24:MI", column(SEEN), |time| time.strftime("%H:%M").to_string()),
            15 => formatted("YYYY-\"Q\"Q IW", column(BORN), |time| {
                let quarter = (time.month() + 2) / 3;
                format!("{}-Q{quarter} {:02}", time.year(), time.date().iso_week_date().week())
            }),
            16 => of(column(BORN).moved("1 month", 1, 0, 1).cut_off("month")),
            0 => WantedKey {
                text: "word".to_string(),
                value: Box::new(|row| match &row[WORD] {
                    Some(Value::Text(word)) if WORDS.contains(&word.as_str()) => Some(word.clone()),
                    _ => None,
                }),
            },
            1 => WantedKey { text: "flag".to_string(), value: Box::new(|row| row[FLAG].as_ref().map(Value::plain)) },
            2 => {
                let condition = dice.condition(2);
                let text = format!("({})", condition.text);
                WantedKey { text, value: Box::new(move |row| condition.holds(row).map(|holds| holds.to_string())) }
            }
            3 => of(column(WHOLE)),
            4 => of(column(AMOUNT).divided(number("2.5")).rounded("FLOOR", None).binary("*", number("2.5"))),
            5 => of(dice.number(1).bucket(number("-10"), number("30"), 8)),
            6 => of(column(BORN).cut_off(dice.of(&["year", "quarter", "month", "week"]))),
            7 => of(column(BORN).part(dice.of(&["YEAR", "QUARTER", "MONTH", "WEEK", "DAY", "DOW", "ISODOW", "DOY"]))),
            8 => of(column(SEEN).part(dice.of(&["HOUR", "MINUTE", "SECOND", "DAY"]))),
            _ => {
                let branches = vec![(dice.condition(1), number("2")), (dice.condition(1), number("0.5"))];
                of(Expression::case(branches, dice.coin().then(|| number("-7"))))
            }
        }
    }
}

/// The answer of an engine with the keys as they are expected; behind those of the groups are the steps of a histogram.
fn shown(query: &Query, rows: Vec<ExactRow>) -> Integers {
    let key = |(at, value): (usize, Value)| match (query.groups.get(at).map(|group| &group.key), value) {
        (Some(GroupKey::Steps { scalar, values }), Value::Integer(steps)) => {
            match values.iter().find(|(other, _)| *other == steps).map(|(_, shown)| shown) {
                None => format!("{steps} steps, which are not answered"),
                Some(shown @ (Value::Boolean(_) | Value::Text(_))) => shown.plain(),
                Some(_) => (RBig::from(steps) * scalar.grid.clone()).to_string(),
            }
        }
        (_, value) => value.plain(),
    };
    let row = |row: ExactRow| (row.keys.into_iter().enumerate().map(key).collect(), row.measures);
    rows.into_iter().map(row).collect()
}
