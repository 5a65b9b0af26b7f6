use taximeter_ledger::Neighbours;

use super::*;
use crate::measure::Centred;
use crate::question::aggregate::{Argument, Function};
use crate::schema::{Bounds, Column, ColumnType, PrivacyUnit, Value};

#[test]
fn shares_add_up_to_the_whole_and_never_to_more() {
    for text in ["0.1", "1", "0.000000000000000000000000000007", "3.333"] {
        let amount = amount(text);
        for parts in [1usize, 2, 3, 7, 16] {
            let whole = UBig::from(amount.units());
            // The parts, and parts that are larger by the smallest unit: all of it is spent.
            let sums = |total: Cost, power: usize| {
                let offer = Offer { total, whole: &RBig::from(parts), delta: None, intervals: RBig::ONE };
                let share = offer.share(&RBig::ONE).size().units();
                let sum = |share: u128| UBig::from(parts) * UBig::from(share).pow(power);
                (sum(share), sum(share + 1))
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
        Column::new("town", ColumnType::Text, None, None),
    ];
    let unit = PrivacyUnit::Column { column: "person".to_string(), max_rows_per_unit: 3 };
    Schema::new(unit, neighbours, columns.into_iter().collect::<Result<_, _>>().unwrap()).unwrap()
}

fn plan(question: &str, schema: &Schema, price: Price) -> Result<Plan, Error> {
    Plan::new(&Question::parse(question, "people", schema).unwrap(), schema, price, &Weights::default())
}

fn amount(text: &str) -> Amount {
    Amount::parse_exact(text).unwrap()
}

fn column(schema: &Schema, at: usize) -> NumericExpr {
    NumericExpr::column(at, &schema.columns[at]).unwrap()
}

#[test]
fn every_aggregate_has_its_measures_and_the_sensitivity_of_its_question() {
    for neighbours in [Neighbours::AddRemove, Neighbours::Substitute] {
        let schema = schema(neighbours);
        let age = || column(&schema, 2);
        let quantities = [
            Quantity::Rows,
            Quantity::Sum(Centred::plain(age())),
            Quantity::Sum(Centred { scalar: age(), centre: 50 }),
            Quantity::NonNull(Argument::Column(2)),
            Quantity::Units,
        ];
        for (group, groups) in [("", Some(1)), (" GROUP BY ward", Some(3))] {
            let question = format!("SELECT COUNT(*), SUM(age), AVG(age), COUNT(DISTINCT person) FROM people{group}");
            let plan = plan(&question, &schema, Price::Epsilon(amount("0.8"))).unwrap();
            let measures: Vec<&Measure> = plan.parts().map(|part| &part.measure).collect();
            assert_eq!(measures, quantities.clone().map(Measure::of).iter().collect::<Vec<_>>());
            for (part, epsilon) in plan.parts().zip(["0.2", "0.2", "0.1", "0.1", "0.2"]) {
                let sensitivity = Sensitivity::new(&part.measure.quantity, &schema, groups);
                let cost = Cost::Pure { epsilon: amount(epsilon) };
                assert_eq!((part.cost, part.sensitivity), (cost, sensitivity));
                assert_eq!(part.noise, Noise::new(&cost, sensitivity).unwrap());
            }
        }
    }
}

/// How many integers are measured for a question, and what each aggregate takes of them.
fn check_shared(question: &str, parts: usize, aggregates: &[&[usize]]) {
    let schema = schema(Neighbours::AddRemove);
    let plan = plan(question, &schema, Price::Epsilon(amount("1"))).unwrap();
    let made: Vec<Made> = aggregates.iter().map(|parts| Made::Parts(parts.to_vec())).collect();
    assert_eq!((plan.parts().count(), &plan.queries[0].aggregates), (parts, &made), "{question}");
    let spent: u128 = plan.costs().iter().map(|cost| cost.size().units()).sum();
    let whole = amount("1").units();
    assert!(spent <= whole && whole - spent <= parts as u128, "{question}: {spent}");
}

#[test]
fn aggregates_that_are_made_of_the_same_integers_share_them() {
    check_shared("SELECT COUNT(*), COUNT(*) / 2 FROM people", 1, &[&[0]]);
    check_shared("SELECT AVG(age), COUNT(age) FROM people", 2, &[&[0, 1], &[1]]);
    let spread: &[usize] = &[0, 1, 2];
    let question = "SELECT COUNT(age), AVG(age), VARIANCE(age), STDDEV_POP(age) FROM people";
    check_shared(question, 3, &[&[0], &[1, 0], spread, spread]);
    let pair: &[usize] = &[0, 1, 2, 3, 4, 5];
    check_shared("SELECT CORR(age, wage), COVAR_POP(age, wage) FROM people", 6, &[pair, pair]);
    // The same of other rows is something else.
    check_shared("SELECT COUNT(*), COUNT(*) FILTER (WHERE age > 5) FROM people", 2, &[&[0], &[1]]);
    check_shared("SELECT SUM(age), SUM(age) FILTER (WHERE age > 5), SUM(age + 1) FROM people", 3, &[&[0], &[1], &[2]]);
}

#[test]
fn all_selects_and_quantiles_are_paid_from_one_price() {
    let schema = schema(Neighbours::AddRemove);
    for (question, costs) in [
        // Half for the quantile, half for the ends of its interval; of an extreme only one is drawn.
        ("SELECT MEDIAN(age) FROM people", vec!["0.45", "0.225", "0.225"]),
        ("SELECT MAX(age) FROM people", vec!["0.45", "0.45"]),
        ("SELECT MEDIAN(age), COUNT(*) FROM people GROUP BY ward", vec!["0.45", "0.225", "0.1125", "0.1125"]),
        ("SELECT COUNT(*) FROM people UNION ALL SELECT SUM(age) FROM people", vec!["0.45"; 2]),
        ("SELECT COUNT(*), (SELECT SUM(age) FROM people) FROM people", vec!["0.45"; 2]),
    ] {
        let plan = plan(question, &schema, Price::Epsilon(amount("0.9"))).unwrap();
        let paid: Vec<Amount> = plan.costs().iter().map(Cost::size).collect();
        assert_eq!(paid, costs.into_iter().map(amount).collect::<Vec<_>>(), "{question}");
    }
    for (weight, costs) in [("0", vec!["0.9"]), ("2", vec!["0.3"; 3])] {
        let question = Question::parse("SELECT MEDIAN(age) AS m FROM people", "people", &schema).unwrap();
        let weights = [("intervals".to_string(), weight.parse().unwrap())].into();
        let weights = Weights::new(&weights, &question).unwrap();
        let plan = Plan::new(&question, &schema, Price::Epsilon(amount("0.9")), &weights).unwrap();
        let paid: Vec<Amount> = plan.costs().iter().map(Cost::size).collect();
        assert_eq!(paid, costs.into_iter().map(amount).collect::<Vec<_>>(), "{weight}");
    }
    let error = plan("SELECT MEDIAN(age) FROM people", &schema, Price::Gaussian(amount("1"))).unwrap_err();
    assert!(error.is_input() && error.to_string().contains("epsilon"), "{error}");
}

#[test]
fn groups_of_which_nothing_is_declared_need_a_delta_and_get_a_threshold() {
    let schema = schema(Neighbours::AddRemove);
    let question = "SELECT town, SUM(age) FROM people GROUP BY town";
    let error = plan(question, &schema, Price::Epsilon(amount("1"))).unwrap_err();
    assert!(error.is_input() && error.to_string().contains("delta"), "{error}");
    let (epsilon, delta) = (amount("1"), amount("0.000001"));
    let paid = plan(question, &schema, Price::Approximate { epsilon, delta }).unwrap();
    let (at, threshold) = paid.queries[0].threshold.unwrap();
    let part = &paid.queries[0].parts[at];
    assert_eq!(part.measure, Measure::of(Quantity::Rows));
    assert_eq!(part.cost, Cost::approximate(amount("0.5"), delta).unwrap());
    // The least t with P(noise ≥ t − 3) ≤ δ/3, for noise of scale 3/0.5 = 6.
    let tail = |from: i128| (-(from as f64) / 6.0).exp() / (1.0 + (-1f64 / 6.0).exp());
    assert!(tail(threshold - 3) <= 1e-6 / 3.0 && 1e-6 / 3.0 < tail(threshold - 4), "{threshold}");
    // Where the groups are declared, no δ is paid.
    let declared = "SELECT ward, SUM(age) FROM people GROUP BY ward";
    let paid = plan(declared, &schema, Price::Approximate { epsilon, delta }).unwrap();
    assert_eq!((paid.total, paid.queries[0].threshold), (Cost::Pure { epsilon }, None));
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
        ("SELECT SUM(wage * 100 - age) FROM people", "50000"),
        ("SELECT COUNT(*), SUM(age) FROM people", "700"),
        ("SELECT COUNT(DISTINCT town) FROM people", "7"),
        ("SELECT SUM(wage), COUNT(*) FROM people GROUP BY ward", "33.3"),
    ] {
        for noise in [NoiseKind::Laplace, NoiseKind::Gaussian] {
            let width: Number = width.parse().unwrap();
            let bought = plan(question, &schema, Price::Error { width, noise }).unwrap();
            assert!(bought.is_within(width), "{question} {width}");
            let price = match (noise, bought.total) {
                (NoiseKind::Laplace, Cost::Pure { .. }) => Price::Epsilon,
                (NoiseKind::Gaussian, Cost::Gaussian { .. }) => Price::Gaussian,
                (_, other) => panic!("{other} pays for other noise"),
            };
            // A hundred thousandth less is not enough.
            let units = bought.total.size().units();
            let cheaper = plan(question, &schema, price(Amount::from_units(units - units / 99_999))).unwrap();
            assert!(!cheaper.is_within(width), "{question} {width}: {}", bought.total);
            let reach = bought.parts().map(|part| part.grid() * RBig::from(part.noise.half_width(MISS)));
            assert!(reach.max().unwrap() <= rational(width), "{question} {width}");
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
        ("SELECT MEDIAN(age) FROM people", "100"),
        ("SELECT COUNT(*) / 2 FROM people", "100"),
    ] {
        let price = Price::Error { width: width.parse().unwrap(), noise: NoiseKind::Laplace };
        let error = plan(question, &schema, price).unwrap_err();
        assert!(error.is_input(), "{question} {width}: {error}");
    }
}

#[test]
fn moments_are_of_few_enough_steps_for_their_products() {
    let columns = |low: &str, high: &str, grid: &str| {
        let bounds = Bounds::new(low.parse().unwrap(), high.parse().unwrap(), grid.parse().unwrap()).unwrap();
        vec![Column::new("x", ColumnType::Real, Some(bounds), None).unwrap()]
    };
    for (low, high, grid) in [
        ("-1073741824", "1073741824", "1"),
        ("0", "1073741824", "1"),
        ("1073741823", "1073741824", "1"),
        ("-1", "1", "0.000000001"),
    ] {
        let schema = Schema::new(PrivacyUnit::Row, Neighbours::AddRemove, columns(low, high, grid)).unwrap();
        for of in ["x", "x * x", "x * 3 - 1"] {
            let question = Question::parse(&format!("SELECT VAR_POP({of}) FROM t"), "t", &schema).unwrap();
            assert!(matches!(question.queries[0].aggregates[0].function, Function::Spread { .. }));
            let plan = Plan::new(&question, &schema, Price::Epsilon(Amount::ONE), &Weights::default()).unwrap();
            for part in plan.parts() {
                let (least, most) = part.measure.quantity.of_a_row();
                assert!(-(1 << 30) <= least && most <= 1 << 30, "{of} of {low} to {high}: {least} to {most}");
            }
        }
    }
}

/// A sub-query has one column, and was looked at once for the column that the answer is sorted by.
#[test]
fn the_order_of_an_answer_is_not_that_of_its_sub_queries() {
    let schema = schema(Neighbours::AddRemove);
    let question = "SELECT ward, COUNT(*) AS n, MEDIAN(age) / (SELECT MEDIAN(age) FROM people) AS share FROM people GROUP BY ward \
                    ORDER BY n DESC, share LIMIT 2";
    let plan = plan(question, &schema, Price::Epsilon(amount("1"))).unwrap();
    assert_eq!(plan.queries.len(), 2);
}
