//! What is made of noisy numbers. The first two tests fail by chance with a probability of at most 10⁻⁹, the others never.

use taximeter_accounting::Amount;

use super::*;
use crate::declaration::Declaration;
use crate::plan::Price;
use crate::schema::ColumnType;

const SCHEMA: &str = r#"
    [columns.age]
    bounds = [0, 121]
    [columns.debt]
    bounds = [-2, 2]
    grid = 0.05
    [columns.region]
    categories = ["north", "south", "west"]
    [columns.ward]
    categories = [1, 11]
    [columns.floor]
    categories = [1, 11]
"#;

fn schema() -> Schema {
    let types = [
        ("age", ColumnType::Integer),
        ("debt", ColumnType::Real),
        ("region", ColumnType::Text),
        ("ward", ColumnType::Integer),
        ("floor", ColumnType::Integer),
    ];
    let types = types.map(|(name, kind)| (name.to_string(), kind));
    Declaration::of_rows(SCHEMA).schema(&types).unwrap()
}

/// A question that is paid with an ε.
struct Paid {
    schema: Schema,
    question: Question,
    plan: Plan,
}

impl Paid {
    fn new(question: &str, epsilon: &str) -> Paid {
        let schema = schema();
        let question = Question::parse(question, "people", &schema).unwrap();
        let price = Price::Epsilon(Amount::parse_exact(epsilon).unwrap());
        let plan = Plan::new(&question, &schema, price).unwrap();
        Paid { schema, question, plan }
    }

    /// The answer to exact rows, with noise.
    fn answer(&self, exact: Vec<ExactRow>) -> Result<Vec<Vec<Cell>>, String> {
        Noisy::new(&self.question, &self.plan, &self.schema, exact, false).map(|noisy| noisy.rows)
    }

    /// The only row, from numbers that have their noise already.
    fn row(&self, noisy: &[i128], clamp: bool) -> Vec<Cell> {
        cells(&self.question, &self.plan, &self.schema, &[], noisy, clamp)
    }

    /// The rows of these regions, each with one number that has its noise already, after ORDER BY and LIMIT.
    fn regions(&self, rows: &[(&str, &[i128])]) -> Vec<String> {
        let row = |(region, noisy): &(&str, &[i128])| {
            let keys = [Value::Text(region.to_string())];
            cells(&self.question, &self.plan, &self.schema, &keys, noisy, false)
        };
        let noisy = Noisy { rows: rows.iter().map(row).collect(), post_processing: Vec::new() };
        let name = |row: &Vec<Cell>| group(&row[0]).as_str().unwrap().to_string();
        noisy.post_processed(&self.question, false).rows.iter().map(name).collect()
    }

    /// How far the noise of the parts reaches.
    fn widths(&self, miss: f64) -> Vec<i128> {
        self.plan.parts.iter().map(|part| part.noise.half_width(miss)).collect()
    }
}

fn group(cell: &Cell) -> serde_json::Value {
    let Cell::Group(value) = cell else { panic!("{cell:?} is not a group") };
    value.json()
}

fn value(cell: &Cell) -> f64 {
    let Cell::Estimate(Estimate { value: Some(value), .. }) = cell else { panic!("{cell:?} has no value") };
    nearest(value)
}

fn interval(cell: &Cell) -> [f64; 2] {
    let Cell::Estimate(Estimate { interval: Some(interval), .. }) = cell else { panic!("{cell:?} has no interval") };
    [nearest(&interval[0]), nearest(&interval[1])]
}

fn counted(keys: &[i64], measures: &[i64]) -> ExactRow {
    ExactRow { keys: keys.iter().copied().map(Value::Integer).collect(), measures: measures.to_vec() }
}

#[test]
fn every_number_has_noise_of_its_own() {
    let paid = Paid::new("SELECT ward, floor, COUNT(*), COUNT(age) FROM people GROUP BY ward, floor", "0.000001");
    let rows = paid.answer(vec![counted(&[1, 11], &[5, 5])]).unwrap();
    let mut numbers: Vec<f64> = rows.iter().flat_map(|row| [value(&row[2]), value(&row[3])]).collect();
    assert_eq!(numbers.len(), 8);
    numbers.sort_by(f64::total_cmp);
    // Two of them are equal about once in 100,000 times, four of them never.
    let equal = numbers.windows(2).filter(|pair| pair[0] == pair[1]).count();
    assert!(equal <= 1, "{numbers:?}");
}

#[test]
fn every_group_has_its_own_numbers() {
    // At ε = 100 there is no noise to speak of.
    let paid = Paid::new("SELECT floor, ward, COUNT(*) FROM people GROUP BY ward, floor", "100");
    let rows = paid.answer(vec![counted(&[1, 11], &[7]), counted(&[11, 1], &[9])]).unwrap();
    let shown: Vec<_> = rows.iter().map(|row| (group(&row[0]), group(&row[1]), value(&row[2]))).collect();
    assert_eq!(
        shown,
        [
            (1.into(), 1.into(), 0.0),
            (11.into(), 1.into(), 7.0),
            (1.into(), 11.into(), 9.0),
            (11.into(), 11.into(), 0.0)
        ]
    );
}

#[test]
fn an_engine_that_does_something_else_gives_no_answer() {
    let paid = Paid::new("SELECT ward, COUNT(*) FROM people GROUP BY ward", "100");
    for (rows, wrong) in [
        (vec![counted(&[1], &[7])], false),
        (vec![counted(&[1], &[7]), counted(&[2], &[1])], true),
        (vec![counted(&[1, 11], &[7])], true),
        (vec![counted(&[1], &[7, 7])], true),
        (vec![counted(&[1], &[])], true),
    ] {
        assert_eq!(paid.answer(rows.clone()).is_err(), wrong, "{rows:?}");
    }
}

#[test]
fn counts_and_sums_have_the_interval_of_their_noise_and_counts_alone_are_clamped() {
    let paid = Paid::new("SELECT COUNT(*), SUM(age), SUM(debt) FROM people", "3");
    let [rows, age, debt] = paid.widths(MISS)[..] else { panic!("three parts") };
    let near = |count: i128, width: i128, grid: f64| [(count - width) as f64 * grid, (count + width) as f64 * grid];
    let row = paid.row(&[-1, -500, -7], false);
    assert_eq!([value(&row[0]), value(&row[1]), value(&row[2])], [-1.0, -500.0, -0.35]);
    assert_eq!(interval(&row[0]), near(-1, rows, 1.0));
    assert_eq!(interval(&row[1]), near(-500, age, 1.0));
    let [low, high] = near(-7, debt, 0.05);
    assert!((interval(&row[2])[0] - low).abs() < 1e-9 && (interval(&row[2])[1] - high).abs() < 1e-9);

    let clamped = paid.row(&[-1, -500, -7], true);
    assert_eq!(value(&clamped[0]), 0.0);
    assert_eq!(interval(&clamped[0]), [0.0, (rows - 1) as f64]);
    assert_eq!(clamped[1..], row[1..]);
    assert_eq!(paid.row(&[1000, 1, 1], true), paid.row(&[1000, 1, 1], false));
}

/// A sum and a count of which the noise reaches so far may be any within; so may their quotient.
#[test]
fn the_interval_of_an_average_holds_all_that_its_parts_may_be() {
    let paid = Paid::new("SELECT AVG(age) FROM people", "1");
    let [sum_width, count_width] = paid.widths(MISS / 2.0)[..] else { panic!("two parts") };
    for steps in [-60_000, -9_000, -500, -100, -1, 0, 1, 100, 500, 9_000, 60_000] {
        for rows in [count_width + 1, 100, 1_000, 100_000] {
            let row = paid.row(&[steps, rows], false);
            // The middle of 0 and 121, on the grid.
            let mean = |steps: i128, rows: i128| 60.0 + steps as f64 / rows as f64;
            let corners = [-sum_width, sum_width]
                .map(|sum| [-count_width, count_width].map(|count| mean(steps + sum, rows + count)))
                .concat();
            let (least, most) =
                (corners.iter().copied().fold(f64::MAX, f64::min), corners.iter().copied().fold(f64::MIN, f64::max));
            let [low, high] = interval(&row[0]);
            assert!(low <= least && most <= high, "{steps} of {rows}: {low} to {high}, not {least} to {most}");
            // Two digits of it are shown, rounded outwards, but no more than three places.
            assert!(
                high - low <= 1.1 * (most - least) + 0.002,
                "{steps} of {rows}: {low} to {high}, not {least} to {most}"
            );
            assert!((value(&row[0]) - mean(steps, rows)).abs() <= 0.05 * (most - least) + 0.001);
        }
    }
}

#[test]
fn an_average_is_unknown_where_the_count_may_be_0() {
    let paid = Paid::new("SELECT AVG(age) FROM people", "1");
    let count_width = paid.widths(MISS / 2.0)[1];
    for (rows, known) in [(-5, false), (0, false), (1, false), (count_width, false), (count_width + 1, true)] {
        let row = paid.row(&[100, rows], false);
        let Cell::Estimate(average) = &row[0] else { panic!("{row:?}") };
        assert_eq!((average.value.is_some(), average.interval.is_some()), (known, known), "{rows}");
    }
}

/// What is paid for is told, whether or not it is enough for a quotient.
#[test]
fn an_average_always_has_its_sum_and_its_count() {
    let paid = Paid::new("SELECT AVG(age) FROM people", "1");
    let [sum_width, count_width] = paid.widths(MISS / 2.0)[..] else { panic!("two parts") };
    for rows in [-5, 0, 1, count_width, 1000] {
        for clamp in [false, true] {
            let row = paid.row(&[100, rows], clamp);
            let Cell::Estimate(Estimate { sum: Some(sum), count: Some(count), .. }) = &row[0] else {
                panic!("{row:?}")
            };
            let fewest = |rows: i128| if clamp { rows.max(0) } else { rows };
            let ends = [fewest(rows - count_width), fewest(rows + count_width)].map(|end| end as f64);
            assert_eq!(interval(&Cell::Estimate(*count.clone())), ends);
            assert_eq!(value(&Cell::Estimate(*count.clone())), fewest(rows) as f64);
            // The middle of 0 and 121 is 60, on the grid: the whole sum has it once for every row.
            assert_eq!(value(&Cell::Estimate(*sum.clone())), (100 + 60 * rows) as f64);
            let width = sum_width + 60 * count_width;
            assert_eq!(
                interval(&Cell::Estimate(*sum.clone())),
                [100 + 60 * rows - width, 100 + 60 * rows + width].map(|end| end as f64)
            );
        }
    }
}

#[test]
fn with_fewer_rows_than_needed_the_interval_of_an_average_is_wider_than_its_bounds() {
    let paid = Paid::new("SELECT COUNT(*), AVG(age) FROM people", "0.2");
    let expected = averages(&paid.question, &paid.plan, &paid.schema);
    assert_eq!((expected.len(), expected[0].column.as_str()), (1, "AVG(age)"));
    let needed = i128::from(expected[0].needed_rows);
    let width = |rows: i128| {
        let [low, high] = interval(&paid.row(&[0, 0, rows], false)[1]);
        high - low
    };
    assert!(width(needed + 2) <= 121.5 && width(needed - 2) > 120.5, "{needed}");
}

#[test]
fn a_clamped_average_and_its_interval_are_within_the_bounds() {
    for (question, bounds) in
        [("SELECT AVG(age) FROM people", [0.0, 121.0]), ("SELECT AVG(debt) FROM people", [-2.0, 2.0])]
    {
        let paid = Paid::new(question, "1");
        for (steps, value_is, ends) in [
            (-100_000, bounds[0], [bounds[0]; 2]),
            (100_000, bounds[1], [bounds[1]; 2]),
            // Less than the noise away from the middle: the interval alone is clamped.
            (0, f64::NAN, bounds),
        ] {
            let rows = if steps == 0 { paid.widths(MISS / 2.0)[1] + 1 } else { 300 };
            let row = paid.row(&[steps, rows], true);
            assert!(value_is.is_nan() || value(&row[0]) == value_is, "{question} {steps}: {row:?}");
            assert_eq!(interval(&row[0]), ends, "{question} {steps}");
        }
    }
}

#[test]
fn rows_are_sorted_by_all_keys_before_some_are_left_out() {
    let few: &[i128] = &[3];
    let more: &[i128] = &[4];
    for (order, rows, sorted) in [
        ("n", [("north", more), ("south", few), ("west", few)], vec!["south", "west", "north"]),
        ("n DESC", [("north", few), ("south", more), ("west", few)], vec!["south", "north", "west"]),
        ("n, region DESC", [("north", few), ("south", few), ("west", more)], vec!["south", "north", "west"]),
        ("region DESC", [("north", few), ("south", few), ("west", more)], vec!["west", "south", "north"]),
        ("n DESC LIMIT 1", [("north", few), ("south", few), ("west", more)], vec!["west"]),
        ("n LIMIT 2", [("north", more), ("south", few), ("west", few)], vec!["south", "west"]),
    ] {
        let paid =
            Paid::new(&format!("SELECT region, COUNT(*) AS n FROM people GROUP BY region ORDER BY {order}"), "1");
        assert_eq!(paid.regions(&rows), sorted, "{order}");
    }
}

#[test]
fn what_is_not_known_comes_behind_what_is() {
    let paid = Paid::new("SELECT region, AVG(age) AS a FROM people GROUP BY region ORDER BY a", "1");
    let rows: [(&str, &[i128]); 3] = [("north", &[0, 0]), ("south", &[9000, 1000]), ("west", &[0, 1000])];
    for order in [[0, 1, 2], [1, 0, 2], [1, 2, 0], [2, 1, 0]] {
        assert_eq!(paid.regions(&order.map(|at| rows[at])), ["west", "south", "north"], "{order:?}");
    }
}

#[test]
fn steps_are_written_exactly() {
    for (steps, grid, text) in [
        (0, "0.05", "0"),
        (1, "0.05", "0.05"),
        (-1, "0.05", "-0.05"),
        (-19, "0.05", "-0.95"),
        (-20, "0.05", "-1"),
        (-21, "0.05", "-1.05"),
        (20, "0.5", "10"),
        (-3, "1000", "-3000"),
        (1, "0.000000000000000001", "0.000000000000000001"),
        (-1_000_000_000_000_000_001, "0.000000000000000001", "-1.000000000000000001"),
        (i128::MAX, "1", "170141183460469231731687303715884105727"),
        (i128::MIN, "10", "-1701411834604692317316873037158841057280"),
    ] {
        assert_eq!(of_steps(steps, grid.parse().unwrap()).to_string(), text, "{steps} of {grid}");
    }
}

#[test]
fn numbers_are_rounded_where_they_are_told_to() {
    for (value, places, down, nearest, up) in [
        (12.34, 1, "12.3", "12.3", "12.4"),
        (12.36, 1, "12.3", "12.4", "12.4"),
        (-12.34, 1, "-12.4", "-12.3", "-12.3"),
        (-0.01, 1, "-0.1", "0", "0"),
        (0.01, 1, "0", "0", "0.1"),
        (1234.2, 0, "1234", "1234", "1235"),
        (100.4, 0, "100", "100", "101"),
    ] {
        let text = |direction| rounded(value, places, direction).to_string();
        assert_eq!([text(-1.0), text(0.0), text(1.0)], [down, nearest, up], "{value}");
    }
}

#[test]
fn what_is_not_known_comes_last_in_both_directions() {
    let known = Cell::Estimate(Estimate { value: Some(1.into()), ..Estimate::default() });
    let unknown = Cell::Estimate(Estimate::default());
    for descending in [false, true] {
        assert_eq!(unknown.compare(&known, descending), Ordering::Greater);
        assert_eq!(known.compare(&unknown, descending), Ordering::Less);
    }
}
