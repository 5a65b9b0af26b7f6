//! What is made of noisy numbers. A test whose outcome depends on noise fails by chance with a probability of at most 10⁻⁹.

mod windows;

use taximeter_accounting::Amount;

use super::numbers::{of_steps, rounded};
use super::*;
use crate::declaration::Declaration;
use crate::document::Estimate;
use crate::measure::{Centred, Quantity};
use crate::number::Number;
use crate::plan::{MISS, Part, Price, Weights};
use crate::question::scalar::{Node, rational};
use crate::schema::{ColumnType, PrivacyUnit, Schema};
use crate::statistics::{simultaneous_miss, threshold};

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

/// The places of the columns with bounds.
const AGE: usize = 0;

fn schema() -> Schema {
    let types = [
        ("age", ColumnType::Integer),
        ("debt", ColumnType::Real),
        ("region", ColumnType::Text),
        ("ward", ColumnType::Integer),
        ("floor", ColumnType::Integer),
        ("cell", ColumnType::Integer),
        ("name", ColumnType::Text),
    ];
    let types = types.map(|(name, kind)| (name.to_string(), kind));
    let cells: Vec<String> = (1..=CELLS).map(|cell| cell.to_string()).collect();
    let declared = format!("{SCHEMA}\n[columns.cell]\ncategories = [{}]", cells.join(", "));
    Declaration::of_rows(&declared).schema(&types).unwrap()
}

/// How many groups a question by `cell` has: each is a fresh answer.
const CELLS: i64 = 250;

/// How many of 250 intervals may miss: more than 41 do so with a probability of at most 10⁻⁹ if each misses with 5 %, since
/// 250·KL(0.164 ‖ 0.05) is above 20.8 (Chernoff).
const MOST_MISSES: usize = 41;

/// A question that is paid.
struct Paid {
    question: Question,
    plan: Plan,
}

impl Paid {
    fn new(question: &str, epsilon: &str) -> Paid {
        Paid::priced(question, Price::Epsilon(Amount::parse_exact(epsilon).unwrap()))
    }

    fn priced(question: &str, price: Price) -> Paid {
        Paid::of(schema(), question, price)
    }

    fn of(schema: Schema, question: &str, price: Price) -> Paid {
        let question = Question::parse(question, "people", &schema).unwrap();
        let plan = Plan::new(&question, &schema, price, &Weights::default()).unwrap();
        Paid { question, plan }
    }

    /// The noisy answer to exact rows, those of sub-queries first.
    fn answer(&self, exact: Vec<Vec<ExactRow>>) -> Result<Noisy, String> {
        self.answer_with(exact, false)
    }

    fn answer_with(&self, exact: Vec<Vec<ExactRow>>, clamp: bool) -> Result<Noisy, String> {
        let mut exact = exact.into_iter();
        Noisy::new(&self.question, &self.plan, clamp, |_, plan, _| {
            let groups = exact.next().expect("rows for every SELECT");
            Ok(ExactQuery { groups, histograms: vec![Vec::new(); plan.quantiles.len() + plan.modes.len()] })
        })
    }

    /// The noisy answer where every group has the same people.
    fn of_people(&self, people: &[[f64; 2]]) -> Noisy {
        self.of_groups(|_| people.to_vec())
    }

    /// The noisy answer where the people of a group are known by its keys.
    fn of_groups(&self, people: impl Fn(&[Value]) -> Vec<[f64; 2]>) -> Noisy {
        let compute = |query: &Query, plan: &QueryPlan, _: &[Option<f64>]| {
            let groups = declared(query).into_iter().map(|keys| {
                let people = people(&keys);
                let measures = plan.parts.iter().map(|part| measure(part, &people)).collect();
                ExactRow { keys, measures }
            });
            Ok(ExactQuery { groups: groups.collect(), histograms: Vec::new() })
        };
        Noisy::new(&self.question, &self.plan, false, compute).unwrap()
    }

    fn half_width(&self, part: usize, miss: f64) -> f64 {
        self.plan.queries[0].parts[part].noise.half_width(miss) as f64
    }
}

/// What an engine computes of these people.
fn measure(part: &Part, people: &[[f64; 2]]) -> i64 {
    let steps = |Centred { scalar, centre }: &Centred, person: &[f64; 2]| {
        let Node::Column(at) = scalar.node else { panic!("only columns are computed here") };
        (person[at] / scalar.grid.to_f64().value()).round() as i64 - centre
    };
    match &part.measure.quantity {
        Quantity::Rows | Quantity::NonNull(_) => people.len() as i64,
        Quantity::Sum(centred) => people.iter().map(|person| steps(centred, person)).sum(),
        Quantity::Products(one, other) => people.iter().map(|person| steps(one, person) * steps(other, person)).sum(),
        other => panic!("{other:?} is not computed here"),
    }
}

/// People of many ages, who owe the more the older they are.
fn people(count: usize) -> Vec<[f64; 2]> {
    let person =
        |at: usize| [(at * 37 % 100) as f64, ((at * 37 % 100) as f64 - 50.0) / 40.0 + 0.25 * (at % 5) as f64 - 0.5];
    (0..count).map(person).map(|[age, debt]| [age, (debt / 0.05).round() * 0.05]).collect()
}

fn mean(people: &[[f64; 2]], column: usize) -> f64 {
    people.iter().map(|person| person[column]).sum::<f64>() / people.len() as f64
}

/// The average product of two columns away from their means.
fn covariance(people: &[[f64; 2]], one: usize, other: usize) -> f64 {
    let (first, second) = (mean(people, one), mean(people, other));
    people.iter().map(|person| (person[one] - first) * (person[other] - second)).sum::<f64>() / people.len() as f64
}

fn estimate(cell: &Cell) -> &Estimate {
    cell.estimate().unwrap_or_else(|| panic!("{cell:?} is not a number"))
}

fn group(cell: &Cell) -> serde_json::Value {
    let Cell::Group(value) = cell else { panic!("{cell:?} is not a group") };
    value.json()
}

fn value(cell: &Cell) -> f64 {
    nearest(estimate(cell).value.as_ref().unwrap_or_else(|| panic!("{cell:?} has no value")))
}

fn interval(cell: &Cell) -> [f64; 2] {
    let ends = estimate(cell).interval.as_ref().unwrap_or_else(|| panic!("{cell:?} has no interval"));
    [nearest(&ends[0]), nearest(&ends[1])]
}

fn covers(cell: &Cell, truth: f64) -> bool {
    let [low, high] = interval(cell);
    (low - 1e-9..=high + 1e-9).contains(&truth)
}

fn counted(keys: &[i64], measures: &[i64]) -> ExactRow {
    ExactRow { keys: keys.iter().copied().map(Value::Integer).collect(), measures: measures.to_vec() }
}

fn in_region(region: &str, measures: &[i64]) -> ExactRow {
    ExactRow { keys: vec![Value::Text(region.to_string())], measures: measures.to_vec() }
}

fn says(noisy: &Noisy, words: &str) -> bool {
    noisy.post_processing.iter().any(|said| said.contains(words))
}

#[test]
fn every_number_has_noise_of_its_own() {
    let paid = Paid::new("SELECT ward, floor, COUNT(*), COUNT(age) FROM people GROUP BY ward, floor", "0.000001");
    let rows = paid.answer(vec![vec![counted(&[1, 11], &[5, 5])]]).unwrap().rows;
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
    let rows = paid.answer(vec![vec![counted(&[1, 11], &[7]), counted(&[11, 1], &[9])]]).unwrap().rows;
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
        assert_eq!(paid.answer(vec![rows.clone()]).is_err(), wrong, "{rows:?}");
    }
    let bins = Paid::new("SELECT FLOOR(age / 50), COUNT(*) FROM people GROUP BY 1", "100");
    for (rows, wrong) in [
        (vec![counted(&[0], &[7]), counted(&[2], &[7])], false),
        // Values of expressions are not in the statement. Whether rows have one that is not listed says something about the data.
        (vec![counted(&[0], &[7]), counted(&[3], &[7])], false),
        (vec![in_region("north", &[7])], true),
    ] {
        assert_eq!(bins.answer(vec![rows.clone()]).is_err(), wrong, "{rows:?}");
    }
}

#[test]
fn counts_and_sums_have_the_interval_of_their_noise_and_counts_alone_are_clamped() {
    let paid = Paid::new("SELECT COUNT(*), SUM(age), SUM(debt) FROM people", "0.3");
    for clamp in [false, true] {
        for _ in 0..50 {
            let noisy = paid.answer_with(vec![vec![counted(&[], &[2, 500, -7])]], clamp).unwrap();
            assert_eq!(says(&noisy, "clamped at 0"), clamp);
            let row = &noisy.rows[0];
            for (at, grid) in [1.0, 1.0, 0.05].into_iter().enumerate() {
                let (value, width) = (value(&row[at]), paid.half_width(at, MISS) * grid);
                let near = [value - width, value + width];
                let [low, high] = interval(&row[at]);
                if clamp && at == 0 {
                    assert!(value >= 0.0 && low >= 0.0 && (value == 0.0 || high == near[1]), "{row:?}");
                } else {
                    assert!((low - near[0]).abs() < 1e-6 && (high - near[1]).abs() < 1e-6, "{row:?}: {near:?}");
                }
            }
        }
    }
}

/// What is paid for is told, whether or not it is enough for a quotient; and only the noisy count decides whether it is.
#[test]
fn an_average_is_published_by_a_fixed_threshold_and_always_has_its_sum_and_its_count() {
    let paid = Paid::new("SELECT AVG(age) FROM people", "1");
    let least = threshold(paid.plan.queries[0].parts[1].noise.law());
    let [sum_width, count_width] = [paid.half_width(0, MISS), paid.half_width(1, MISS)];
    let mut published = 0;
    for rows in [0, 3, least as usize - 2, least as usize, least as usize + 2, 500] {
        for _ in 0..20 {
            let noisy = paid.of_people(&people(rows));
            let average = estimate(&noisy.rows[0][0]);
            let (Some(sum), Some(count)) = (&average.sum, &average.count) else { panic!("{average:?}") };
            let (sum, count) = (Cell::Estimate(*sum.clone()), Cell::Estimate(*count.clone()));
            let said = average.value.is_some();
            assert_eq!((said, average.interval.is_some()), (value(&count) >= least, said), "{average:?}");
            published += usize::from(said);
            assert_eq!(interval(&count), [-1.0, 1.0].map(|side| value(&count) + side * paid.half_width(1, MISS)));
            // The middle of 0 and 121 is 60, on the grid: the whole sum has it once for every row.
            let [low, high] = interval(&sum);
            assert_eq!(value(&sum) - low, high - value(&sum));
            assert!((sum_width..sum_width + 60.0 * count_width).contains(&(high - value(&sum))), "{average:?}");
        }
    }
    assert!((20..=100).contains(&published), "{published}");
}

/// Too noisy to say: without rows, a variance or a correlation is said at most once in 10,000 times.
#[test]
fn statistics_of_no_rows_say_nothing() {
    let paid =
        Paid::new("SELECT cell, VARIANCE(age), CORR(debt, age), STDDEV_POP(debt) FROM people GROUP BY cell", "1");
    let rows = paid.of_people(&[]).rows;
    for column in 1..=3 {
        let said = rows.iter().filter(|row| estimate(&row[column]).value.is_some()).count();
        assert!(said <= 4, "{said} of {} in column {column}", rows.len());
    }
}

/// Of 250 fresh answers, intervals cover the truth and estimates are above it as often as below.
fn check_coverage(expression: &str, epsilon: &str, people: &[[f64; 2]], truth: f64) {
    let paid = Paid::new(&format!("SELECT cell, {expression} AS x FROM people GROUP BY cell"), epsilon);
    let rows = paid.of_people(people).rows;
    assert_eq!(rows.len() as i64, CELLS);
    let missed = rows.iter().filter(|row| !covers(&row[1], truth)).count();
    assert!(missed <= MOST_MISSES, "{expression}: {missed} intervals miss {truth}, such as {:?}", rows[0][1]);
    // A sum of 250 numbers of at most 1 that are 0 on average is beyond 104 with a probability of 10⁻⁹ (Hoeffding).
    let side = |row: &Vec<Cell>| (value(&row[1]) - truth).partial_cmp(&0.0).map_or(0, |ordering| ordering as i32);
    let sides: i32 = rows.iter().map(side).sum();
    assert!(sides.abs() <= 104, "{expression}: {sides} more are above {truth} than below");
}

#[test]
fn intervals_cover_the_truth() {
    let people = people(2_000);
    let (count, debt, age) = (people.len() as f64, mean(&people, 1), mean(&people, AGE));
    let (variance, both) = (covariance(&people, AGE, AGE), covariance(&people, AGE, 1));
    let debts = covariance(&people, 1, 1);
    for (expression, truth) in [
        ("COUNT(*)", count),
        ("SUM(age)", age * count),
        ("SUM(debt)", debt * count),
        ("AVG(age)", age),
        ("AVG(debt)", debt),
        ("SUM(age) / COUNT(*)", age),
        ("SUM(debt) / SUM(age)", debt / age),
        ("100.0 * COUNT(age) / COUNT(*)", 100.0),
        ("COUNT(*) - COUNT(age)", 0.0),
        ("-2 * SUM(age) + COUNT(*)", count - 2.0 * age * count),
        ("VAR_POP(age)", variance),
        ("VARIANCE(age)", variance * count / (count - 1.0)),
        ("STDDEV_POP(age)", variance.sqrt()),
        ("COVAR_POP(debt, age)", both),
        ("CORR(debt, age)", both / (variance * debts).sqrt()),
        ("REGR_SLOPE(debt, age)", both / variance),
        ("REGR_INTERCEPT(debt, age)", debt - age * both / variance),
        ("ROUND(AVG(age), 3) * 2", 2.0 * age),
    ] {
        check_coverage(expression, "1", &people, truth);
    }
}

#[test]
fn intervals_cover_the_truth_with_gaussian_noise() {
    let people = people(2_000);
    let price = Price::Gaussian(Amount::parse_exact("0.5").unwrap());
    let question = "SELECT cell, COUNT(*) AS n, AVG(age) AS a, SUM(debt) / COUNT(*) AS d FROM people GROUP BY cell";
    let rows = Paid::priced(question, price).of_people(&people).rows;
    for (column, truth) in [(1, people.len() as f64), (2, mean(&people, AGE)), (3, mean(&people, 1))] {
        let missed = rows.iter().filter(|row| !covers(&row[column], truth)).count();
        assert!(missed <= MOST_MISSES, "{missed} intervals of column {column} miss {truth}");
    }
}

/// A share of the total is of the group's own noise and of everybody else's.
#[test]
fn shares_of_the_total_cover_the_truth() {
    let question = "SELECT region, 100.0 * COUNT(*) / SUM(COUNT(*)) OVER () AS share FROM people GROUP BY region";
    let paid = Paid::new(question, "0.5");
    let sizes = [("north", 300), ("south", 100), ("west", 600)];
    let size = |keys: &[Value]| sizes.iter().find(|(name, _)| keys[0] == Value::Text(name.to_string())).unwrap().1;
    let mut missed = 0;
    for _ in 0..250 {
        let rows = paid.of_groups(|keys| people(size(keys))).rows;
        let shares: f64 = rows.iter().map(|row| value(&row[1])).sum();
        assert!((shares - 100.0).abs() < 3.0, "{rows:?}");
        missed += usize::from(!covers(&rows[1][1], 10.0));
    }
    assert!(missed <= MOST_MISSES, "{missed} of 250 miss");
}

/// The largest of many noisy counts is not as large as it looks: its interval accounts for the choice, or holds together with all others.
#[test]
fn what_noise_chooses_still_covers_the_truth() {
    for (tail, said) in [
        ("ORDER BY n DESC LIMIT 1", "in which its row is shown"),
        ("ORDER BY n LIMIT 1", "in which its row is shown"),
        ("HAVING COUNT(*) >= 24", "in which its row is shown"),
        ("ORDER BY n DESC LIMIT 1 OFFSET 1", "hold together"),
    ] {
        let paid = Paid::new(&format!("SELECT cell, COUNT(*) AS n FROM people GROUP BY cell {tail}"), "0.5");
        let mut missed = 0;
        for _ in 0..250 {
            let noisy = paid.of_people(&people(20));
            assert!(says(&noisy, said), "{noisy:?}");
            missed += noisy.rows.first().map_or(0, |row| usize::from(!covers(&row[1], 20.0)));
        }
        assert!(missed <= MOST_MISSES, "{tail}: {missed} of 250 miss");
    }
}

/// Only a choice by noisy numbers widens intervals, and only those that it is made by.
#[test]
fn intervals_are_wider_only_where_noise_chooses() {
    let together = simultaneous_miss(MISS, CELLS as usize);
    for (tail, miss, said) in [
        ("", MISS, None),
        ("ORDER BY n DESC", MISS, None),
        ("ORDER BY cell LIMIT 3", MISS, None),
        ("LIMIT 3", MISS, None),
        ("ORDER BY n DESC LIMIT 1000", MISS, None),
        ("ORDER BY n DESC, cell LIMIT 3", 0.9 * MISS, Some("in which its row is shown")),
        ("HAVING COUNT(*) > 0", 0.9 * MISS, Some("in which its row is shown")),
        ("HAVING COUNT(*) > 0 ORDER BY n DESC LIMIT 3", 0.9 * MISS, Some("in which its row is shown")),
        ("ORDER BY n DESC LIMIT 3 OFFSET 1", together, Some("hold together")),
        ("ORDER BY cell, n OFFSET 3", together, Some("hold together")),
        ("HAVING COUNT(*) > 0 AND COUNT(*) < 1000", together, Some("hold together")),
        ("HAVING COUNT(*) < 1000 ORDER BY n DESC LIMIT 3", together, Some("hold together")),
    ] {
        let sql = format!("SELECT cell, COUNT(*) AS n, SUM(age) AS s FROM people GROUP BY cell {tail}");
        let paid = Paid::new(&sql, "0.5");
        let noisy = paid.of_people(&people(200));
        let row = &noisy.rows[0];
        assert_eq!(interval(&row[1])[1] - value(&row[1]), paid.half_width(0, miss), "{tail}");
        assert_eq!(interval(&row[2])[1] - value(&row[2]), paid.half_width(1, MISS), "{tail}");
        let all = ["hold together", "in which its row is shown"].into_iter().filter(|words| says(&noisy, words));
        assert_eq!(all.collect::<Vec<_>>(), said.into_iter().collect::<Vec<_>>(), "{tail}");
    }
}

/// At ε = 100 there is no noise to speak of.
#[test]
fn rows_are_chosen_sorted_and_shortened() {
    for (tail, sorted) in [
        ("ORDER BY n", vec!["south", "west", "north"]),
        ("ORDER BY n DESC", vec!["north", "south", "west"]),
        ("ORDER BY n, region DESC", vec!["west", "south", "north"]),
        ("ORDER BY region DESC", vec!["west", "south", "north"]),
        ("ORDER BY n DESC LIMIT 1", vec!["north"]),
        ("ORDER BY n LIMIT 2", vec!["south", "west"]),
        ("ORDER BY n LIMIT 1 OFFSET 1", vec!["west"]),
        ("OFFSET 2", vec!["west"]),
        ("OFFSET 18446744073709551615", vec![]),
        ("ORDER BY n OFFSET 1 ROW FETCH FIRST 5 ROWS ONLY", vec!["west", "north"]),
        ("HAVING COUNT(*) > 3", vec!["north"]),
        ("HAVING n <= 3", vec!["south", "west"]),
        ("HAVING NOT n <= 3 OR n IS NULL", vec!["north"]),
        ("HAVING n BETWEEN SYMMETRIC 5 AND 4", vec!["north"]),
        ("HAVING COUNT(*) > 100", vec![]),
    ] {
        let paid = Paid::new(&format!("SELECT region, COUNT(*) AS n FROM people GROUP BY region {tail}"), "100");
        let exact = vec![in_region("north", &[4]), in_region("south", &[3]), in_region("west", &[3])];
        let noisy = paid.answer(vec![exact]).unwrap();
        let shown: Vec<_> = noisy.rows.iter().map(|row| group(&row[0]).as_str().unwrap().to_string()).collect();
        assert_eq!(shown, sorted, "{tail}");
        assert_eq!(says(&noisy, "chosen by the noisy"), tail.starts_with("HAVING"), "{tail}");
    }
}

/// Half steps: every other key is a whole number, and has another type than its neighbours.
#[test]
fn bins_that_are_whole_numbers_and_others_are_sorted_by_their_size() {
    let ascending = [-2.0, -1.5, -1.0, -0.5, 0.0, 0.5, 1.0, 1.5, 2.0];
    let descending = ascending.map(|bin| -bin);
    for (tail, expected) in [
        ("ORDER BY 1", &ascending[..]),
        ("ORDER BY 1 DESC", &descending[..]),
        ("ORDER BY bin DESC LIMIT 1", &[2.0]),
        ("ORDER BY bin LIMIT 3", &[-2.0, -1.5, -1.0]),
    ] {
        let question = "SELECT FLOOR(debt / 0.5) * 0.5 AS bin, COUNT(*) AS n FROM people GROUP BY bin";
        let noisy = Paid::new(&format!("{question} {tail}"), "100").answer(vec![Vec::new()]).unwrap();
        let bins: Vec<f64> = noisy.rows.iter().map(|row| group(&row[0]).as_f64().unwrap()).collect();
        assert_eq!(bins, expected, "{tail}");
    }
}

/// Numbers, texts and noisy numbers: enough rows for sorting to notice an order that is none.
#[test]
fn rows_with_different_things_in_one_column_are_sorted() {
    let cells = "SELECT cell AS x, COUNT(*) AS n FROM people GROUP BY cell";
    let texts = "SELECT region, COUNT(*) FROM people GROUP BY region";
    let noisy = "SELECT COUNT(*), SUM(age) FROM people";
    let question = [texts, cells, noisy, texts].join(" UNION ALL ");
    for (tail, expected) in [("ORDER BY x", "cell text noisy"), ("ORDER BY x DESC", "noisy text cell")] {
        let paid = Paid::new(&format!("{} {tail}", question.replacen("region,", "region AS x,", 1)), "3000");
        let answer = paid.answer(vec![Vec::new(); 4]).unwrap();
        let kind = |row: &Vec<Cell>| match &row[0] {
            Cell::Group(Value::Integer(_)) => "cell",
            Cell::Group(_) => "text",
            _ => "noisy",
        };
        let mut kinds: Vec<&str> = answer.rows.iter().map(kind).collect();
        assert_eq!(kinds.len(), 3 + CELLS as usize + 1 + 3);
        kinds.dedup();
        assert_eq!(kinds.join(" "), expected, "{tail}");
    }
}

#[test]
fn questions_that_are_joined_are_answered_one_after_the_other() {
    let paid = Paid::new(
        "SELECT 'west' AS what, COUNT(*) AS n FROM people WHERE region = 'west'
         UNION ALL SELECT 'all', COUNT(*) FROM people UNION ALL SELECT region, COUNT(*) FROM people GROUP BY region",
        "300",
    );
    let exact = vec![
        vec![counted(&[], &[5])],
        vec![counted(&[], &[9])],
        vec![in_region("north", &[4]), in_region("west", &[5])],
    ];
    let rows = paid.answer(exact).unwrap().rows;
    let shown: Vec<_> = rows.iter().map(|row| (group(&row[0]).as_str().unwrap().to_string(), value(&row[1]))).collect();
    let expected = [("west", 5.0), ("all", 9.0), ("north", 4.0), ("south", 0.0), ("west", 5.0)];
    assert_eq!(shown, expected.map(|(name, count)| (name.to_string(), count)));
}

/// Sub-queries are asked first; their answers are known to what comes after, and their noise is in the intervals.
#[test]
fn sub_queries_are_parts_of_what_is_computed() {
    for (question, exact, expected) in [
        ("SELECT COUNT(*) / (SELECT COUNT(*) FROM people) AS x FROM people WHERE age > 50", vec![400, 100], 0.25),
        (
            "SELECT (SELECT COUNT(*) FROM people WHERE age > 5) - (SELECT COUNT(*) FROM people) AS x",
            vec![400, 100],
            300.0,
        ),
        (
            "SELECT COUNT(*) + (SELECT COUNT(*) - (SELECT COUNT(*) FROM people WHERE age > 7) FROM people) AS x FROM people",
            vec![30, 400, 100],
            470.0,
        ),
        (
            "SELECT COUNT(*) + (SELECT SUM(COUNT(*)) OVER () FROM people WHERE age > 7) AS x FROM people",
            vec![30, 100],
            130.0,
        ),
    ] {
        let paid = Paid::new(question, "3000");
        let selects = paid.plan.queries.iter().map(|plan| plan.parts.len());
        let mut exact = exact.into_iter();
        let rows = selects.map(|parts| vec![counted(&[], &exact.by_ref().take(parts).collect::<Vec<_>>())]).collect();
        let noisy = paid.answer(rows).unwrap();
        assert!((value(&noisy.rows[0][0]) - expected).abs() < 0.01, "{question}: {noisy:?}");
        assert!(covers(&noisy.rows[0][0], expected), "{question}: {noisy:?}");
    }
}

#[test]
fn the_answer_of_a_sub_query_reaches_the_next_question() {
    let paid = Paid::new("SELECT COUNT(*) FROM people WHERE age > (SELECT AVG(age) FROM people)", "3000");
    let mut seen = Vec::new();
    let answered = Noisy::new(&paid.question, &paid.plan, false, |_, plan, asked| {
        seen.push(asked.to_vec());
        let measures = plan.parts.iter().map(|part| measure(part, &people(1_000))).collect();
        Ok(ExactQuery { groups: vec![ExactRow { keys: Vec::new(), measures }], histograms: Vec::new() })
    });
    assert!(answered.is_ok() && seen.len() == 2 && seen[0].is_empty(), "{seen:?}");
    assert!((seen[1][0].unwrap() - mean(&people(1_000), AGE)).abs() < 0.1, "{seen:?}");
}

/// Only groups above the threshold are shown, and the answer says so.
#[test]
fn open_groups_are_answered_above_the_threshold() {
    let [epsilon, delta] = ["1", "0.000000001"].map(|amount| Amount::parse_exact(amount).unwrap());
    let paid =
        Paid::priced("SELECT name, COUNT(*) AS n FROM people GROUP BY name", Price::Approximate { epsilon, delta });
    let (part, least) = paid.plan.queries[0].threshold.unwrap();
    assert_eq!((part, (20..30).contains(&least)), (0, true), "{least}");
    for _ in 0..50 {
        let exact = (0..40).map(|at| in_region(&format!("name {at}"), &[if at % 2 == 0 { 1 } else { 200 }])).collect();
        let noisy = paid.answer(vec![exact]).unwrap();
        // A group of one is answered with a probability of 10⁻⁹, one of 200 is not with e⁻¹⁷⁰.
        assert_eq!(noisy.rows.len(), 20);
        assert!(noisy.rows.iter().all(|row| value(&row[1]) >= least as f64), "{noisy:?}");
        assert!(says(&noisy, &format!("{least} or more")), "{noisy:?}");
    }
}

/// No engine does that. Units and different values may be in both groups, and one unit alone must count as one.
#[test]
fn groups_of_one_name_add_up_what_adds_up() {
    let mut declaration = Declaration::of(&schema());
    declaration.unit = Some(PrivacyUnit::Column { column: "cell".to_string(), max_rows_per_unit: 3 });
    let question =
        "SELECT name, COUNT(DISTINCT cell) AS units, COUNT(DISTINCT floor) AS floors, COUNT(*) AS n, SUM(age) AS years
                    FROM people GROUP BY name";
    let [epsilon, delta] = ["300000", "0.000000001"].map(|amount| Amount::parse_exact(amount).unwrap());
    let paid = Paid::of(declaration.with_types().unwrap(), question, Price::Approximate { epsilon, delta });
    let plan = &paid.plan.queries[0];
    let number = |size: i64, part: &Part| match part.measure.quantity {
        Quantity::Units => size,
        Quantity::Distinct(_) => 2,
        Quantity::Sum(_) => 40 * size,
        _ => 3 * size,
    };
    let row = |size: i64| in_region("a", &plan.parts.iter().map(|part| number(size, part)).collect::<Vec<_>>());
    let rows = paid.answer(vec![vec![row(200), row(300), row(100)]]).unwrap().rows;
    let shown: Vec<f64> = rows.iter().flat_map(|row| row[1..].iter().map(value)).collect();
    assert_eq!(shown, [300.0, 2.0, 1800.0, 24_000.0]);
    // One unit with a row in each of three groups.
    assert_eq!(paid.answer(vec![vec![row(1), row(1), row(1)]]).unwrap().rows, Vec::<Vec<Cell>>::new());
}

#[test]
fn values_of_groups_of_one_name_are_counted_together() {
    let paid = Paid::new("SELECT region, MEDIAN(age) FROM people GROUP BY region", "1");
    let row = |region: &str, steps: i64, count: i64| ExactRow {
        keys: vec![Value::Text(region.to_string()), Value::Integer(steps)],
        measures: vec![count],
    };
    let rows = vec![row("north", 7, 1), row("south", 7, 10), row("north", 5, 100), row("north", 7, 1000)];
    let groups = histogram(&paid.question.queries[0], rows).unwrap();
    let of = |region: &str| groups[&name(&[Value::Text(region.to_string())])].clone();
    assert_eq!((groups.len(), of("north"), of("south")), (2, vec![(5, 100), (7, 1001)], vec![(7, 10)]));
}

#[test]
fn quantiles_are_drawn_with_their_interval() {
    let paid = Paid::new(
        "SELECT MEDIAN(age) AS m, MIN(age) AS least, MAX(age) AS most, MEDIAN(age) * 2 AS twice FROM people",
        "4",
    );
    let mut missed = 0;
    for _ in 0..250 {
        let noisy = Noisy::new(&paid.question, &paid.plan, false, |_, plan, _| {
            let rows = |_: &_| (0..=100).map(|age| counted(&[age], &[10])).collect();
            Ok(ExactQuery { groups: Vec::new(), histograms: plan.quantiles.iter().map(rows).collect() })
        });
        let row = noisy.unwrap().rows.remove(0);
        for cell in &row {
            let [low, high] = interval(cell);
            assert!(0.0 <= low && low <= value(cell) && value(cell) <= high && high <= 242.0, "{cell:?}");
        }
        missed += usize::from(!covers(&row[0], 50.0) || !covers(&row[3], 100.0));
        assert!((value(&row[0]) - 50.0).abs() < 30.0 && value(&row[1]) < 60.0 && value(&row[2]) > 40.0, "{row:?}");
    }
    assert!(missed <= MOST_MISSES, "{missed} of 250 miss");
}

#[test]
fn labels_and_keys_are_shown_as_they_are() {
    let paid = Paid::new("SELECT 'all' AS what, ward, ward * 2 AS twice, COUNT(*) FROM people GROUP BY ward", "100");
    let rows = paid.answer(vec![vec![counted(&[1], &[7])]]).unwrap().rows;
    assert_eq!((group(&rows[1][0]), group(&rows[1][1]), value(&rows[1][2])), ("all".into(), 11.into(), 22.0));
    assert_eq!(interval(&rows[1][2]), [22.0, 22.0]);
}

#[test]
fn what_can_be_said_of_averages_beforehand() {
    let paid = Paid::new("SELECT COUNT(*), AVG(age) AS a, AVG(debt) FROM people", "0.2");
    let expected = averages(&paid.question, &paid.plan);
    let shown: Vec<_> = expected.iter().map(|average| (average.column.as_str(), average.bounds)).collect();
    let number = |text: &str| Number::parse(text).unwrap();
    assert_eq!(shown, [("a", [number("0"), number("121")]), ("AVG(debt)", [number("-2"), number("2")])]);
    for (average, part) in expected.iter().zip([2, 2]) {
        let least = threshold(paid.plan.queries[0].parts[part].noise.law());
        assert!(average.needed_rows as f64 >= least, "{average:?}");
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
        assert_eq!(of_steps(steps, &rational(grid.parse().unwrap())).to_string(), text, "{steps} of {grid}");
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
