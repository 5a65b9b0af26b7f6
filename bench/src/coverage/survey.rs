//! A survey whose exact answers are known: people with two rows each, in regions, towns and jobs of very different sizes.

use std::collections::BTreeMap;
use std::fmt::Write;

/// What is declared about it. Nothing is declared about jobs.
const SCHEMA: &str = r#"
    unit = { column = "person", max_rows_per_unit = 2 }
    [columns.age]
    bounds = [0, 100]
    [columns.wage]
    bounds = [0, 4000]
    [columns.hours]
    bounds = [0, 80]
    [columns.region]
    categories = ["east", "north", "south", "west"]
    [columns.half]
    categories = ["first", "second"]
"#;

const TOWNS: usize = 40;

/// Regions, jobs and their numbers of people.
const REGIONS: [(&str, usize); 4] = [("east", 300), ("north", 350), ("south", 400), ("west", 450)];
const JOBS: [(&str, usize); 8] = [
    ("clerk", 700),
    ("farmer", 350),
    ("nurse", 150),
    ("smith", 90),
    ("baker", 75),
    ("cook", 60),
    ("judge", 45),
    ("tailor", 30),
];

/// One row.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    pub person: usize,
    pub region: &'static str,
    pub half: &'static str,
    pub town: usize,
    pub job: &'static str,
    pub age: i64,
    pub wage: Option<i64>,
    pub hours: i64,
}

/// All rows, the same ones every time.
pub fn rows() -> Vec<Row> {
    let people: usize = REGIONS.iter().map(|(_, people)| people).sum();
    let mut state = 2_024u64;
    let mut below = |end: i64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((state >> 33) % end.unsigned_abs()) as i64
    };
    let mut rows = Vec::new();
    for person in 0..people {
        let age = 18 + below(60);
        // Many in few towns, few in many.
        let town = (below(TOWNS as i64) * below(TOWNS as i64) / TOWNS as i64) as usize;
        for _ in 0..2 {
            let hours = 10 + below(25) + below(25);
            let wage = 150 + 15 * age + 20 * hours + below(700);
            rows.push(Row {
                person,
                region: place(&REGIONS, person),
                half: if person % 3 == 0 { "first" } else { "second" },
                town,
                job: place(&JOBS, person * 7 % people),
                age,
                wage: (below(12) > 0).then_some(wage),
                hours,
            });
        }
    }
    rows
}

/// In which of several stretches a place lies.
fn place(stretches: &[(&'static str, usize)], at: usize) -> &'static str {
    let mut end = 0;
    let within = |(_, length): &&(&str, usize)| {
        end += length;
        at < end
    };
    stretches.iter().find(within).map_or("", |(name, _)| name)
}

/// The rows as a CSV file.
pub fn csv(rows: &[Row]) -> String {
    let mut text = "person,region,half,town,job,age,wage,hours\n".to_string();
    for Row { person, region, half, town, job, age, wage, hours } in rows {
        let wage = wage.map(|wage| wage.to_string()).unwrap_or_default();
        writeln!(text, "{person},{region},{half},{town},{job},{age},{wage},{hours}").expect("text can be written");
    }
    text
}

/// What is declared about the rows.
pub fn schema() -> String {
    let towns: Vec<String> = (0..TOWNS).map(|town| town.to_string()).collect();
    format!("{SCHEMA}\n[columns.town]\ncategories = [{}]", towns.join(", "))
}

/// What a row belongs to, as the answer shows it; nothing without groups.
pub type GroupOf = fn(&Row) -> String;

/// A number about the rows of a group.
pub type Statistic = fn(&[&Row]) -> f64;

/// The exact answer, by group.
pub fn exact(rows: &[Row], group: GroupOf, statistic: Statistic) -> BTreeMap<String, f64> {
    let mut groups: BTreeMap<String, Vec<&Row>> = BTreeMap::new();
    for row in rows {
        groups.entry(group(row)).or_default().push(row);
    }
    groups.into_iter().map(|(name, rows)| (name, statistic(&rows))).collect()
}

/// The statistics, computed from the rows as a textbook has them.
pub mod statistics {
    use std::collections::HashSet;

    use super::Row;

    fn wages(rows: &[&Row]) -> Vec<f64> {
        rows.iter().filter_map(|row| row.wage).map(|wage| wage as f64).collect()
    }

    /// Hours and wages of the rows that have both.
    fn pairs(rows: &[&Row]) -> (Vec<f64>, Vec<f64>) {
        rows.iter().filter_map(|row| Some((row.hours as f64, row.wage? as f64))).unzip()
    }

    fn mean(values: &[f64]) -> f64 {
        values.iter().sum::<f64>() / values.len() as f64
    }

    fn products(one: &[f64], other: &[f64]) -> f64 {
        let (first, second) = (mean(one), mean(other));
        one.iter().zip(other).map(|(one, other)| (one - first) * (other - second)).sum()
    }

    pub fn count(rows: &[&Row]) -> f64 {
        rows.len() as f64
    }

    pub fn known_wages(rows: &[&Row]) -> f64 {
        wages(rows).len() as f64
    }

    pub fn people(rows: &[&Row]) -> f64 {
        rows.iter().map(|row| row.person).collect::<HashSet<_>>().len() as f64
    }

    pub fn ages(rows: &[&Row]) -> f64 {
        rows.iter().map(|row| row.age).collect::<HashSet<_>>().len() as f64
    }

    pub fn sum(rows: &[&Row]) -> f64 {
        wages(rows).iter().sum()
    }

    pub fn average(rows: &[&Row]) -> f64 {
        mean(&wages(rows))
    }

    pub fn share_of_high_wages(rows: &[&Row]) -> f64 {
        let wages = wages(rows);
        wages.iter().filter(|wage| **wage > 2_000.0).count() as f64 / wages.len() as f64
    }

    pub fn young(rows: &[&Row]) -> f64 {
        rows.iter().filter(|row| row.age < 30).count() as f64
    }

    pub fn wage_per_hour(rows: &[&Row]) -> f64 {
        sum(rows) / rows.iter().map(|row| row.hours as f64).sum::<f64>()
    }

    pub fn rows_per_person(rows: &[&Row]) -> f64 {
        count(rows) / people(rows)
    }

    pub fn variance(rows: &[&Row]) -> f64 {
        let wages = wages(rows);
        products(&wages, &wages) / (wages.len() as f64 - 1.0)
    }

    pub fn population_variance(rows: &[&Row]) -> f64 {
        let wages = wages(rows);
        products(&wages, &wages) / wages.len() as f64
    }

    pub fn deviation(rows: &[&Row]) -> f64 {
        variance(rows).sqrt()
    }

    pub fn population_deviation(rows: &[&Row]) -> f64 {
        population_variance(rows).sqrt()
    }

    pub fn covariance(rows: &[&Row]) -> f64 {
        let (hours, wages) = pairs(rows);
        products(&hours, &wages) / (wages.len() as f64 - 1.0)
    }

    pub fn population_covariance(rows: &[&Row]) -> f64 {
        let (hours, wages) = pairs(rows);
        products(&hours, &wages) / wages.len() as f64
    }

    pub fn correlation(rows: &[&Row]) -> f64 {
        let (hours, wages) = pairs(rows);
        products(&hours, &wages) / (products(&hours, &hours) * products(&wages, &wages)).sqrt()
    }

    pub fn slope(rows: &[&Row]) -> f64 {
        let (hours, wages) = pairs(rows);
        products(&hours, &wages) / products(&hours, &hours)
    }

    pub fn intercept(rows: &[&Row]) -> f64 {
        let (hours, wages) = pairs(rows);
        mean(&wages) - slope(rows) * mean(&hours)
    }

    fn quantile(rows: &[&Row], place: fn(usize) -> usize) -> f64 {
        let mut wages = wages(rows);
        wages.sort_by(f64::total_cmp);
        wages[place(wages.len())]
    }

    pub fn median(rows: &[&Row]) -> f64 {
        quantile(rows, |rows| rows / 2)
    }

    pub fn first_decile(rows: &[&Row]) -> f64 {
        quantile(rows, |rows| rows / 10)
    }

    pub fn third_quartile(rows: &[&Row]) -> f64 {
        quantile(rows, |rows| 3 * rows / 4)
    }

    pub fn least(rows: &[&Row]) -> f64 {
        quantile(rows, |_| 0)
    }

    pub fn greatest(rows: &[&Row]) -> f64 {
        quantile(rows, |rows| rows - 1)
    }
}
