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
    [columns.day]
    bounds = ["2020-01-01", "2020-02-29"]
"#;

/// What is declared about the diary, another dataset about the same people.
pub const DIARY_SCHEMA: &str = "unit = { column = \"person\", max_rows_per_unit = 1 }\n";

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
pub struct SurveyRow {
    pub person: usize,
    pub region: &'static str,
    pub half: &'static str,
    pub town: usize,
    pub job: &'static str,
    pub age: i64,
    pub wage: Option<i64>,
    pub hours: i64,
    /// Days since 2020-01-01, in January or February.
    pub day: u32,
}

/// The last day of January, counted like [`SurveyRow::day`].
const END_OF_JANUARY: u32 = 30;

impl SurveyRow {
    pub fn month(&self) -> u32 {
        if self.day <= END_OF_JANUARY { 1 } else { 2 }
    }

    fn date(&self) -> String {
        let day = if self.month() == 1 { self.day } else { self.day - END_OF_JANUARY - 1 };
        format!("2020-{:02}-{:02}", self.month(), day + 1)
    }

    /// Whether the person keeps a diary.
    pub fn has_diary(&self) -> bool {
        !self.person.is_multiple_of(3)
    }
}

/// All rows, the same ones every time.
pub fn rows() -> Vec<SurveyRow> {
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
        for visit in 0..2 {
            let hours = 10 + below(25) + below(25);
            let wage = 150 + 15 * age + 20 * hours + below(700);
            rows.push(SurveyRow {
                person,
                region: place(&REGIONS, person),
                half: if person % 3 == 0 { "first" } else { "second" },
                town,
                job: place(&JOBS, person * 7 % people),
                age,
                wage: (below(12) > 0).then_some(wage),
                hours,
                day: ((13 * person + 29 * visit) % 60) as u32,
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
pub fn csv(rows: &[SurveyRow]) -> String {
    let mut text = "person,region,half,town,job,age,wage,hours,day\n".to_string();
    for row in rows {
        let SurveyRow { person, region, half, town, job, age, wage, hours, day: _ } = row;
        let (wage, day) = (wage.map(|wage| wage.to_string()).unwrap_or_default(), row.date());
        writeln!(text, "{person},{region},{half},{town},{job},{age},{wage},{hours},{day}")
            .expect("text can be written");
    }
    text
}

/// The diary as a CSV file: a row for each person who keeps one.
pub fn diary_csv(rows: &[SurveyRow]) -> String {
    let mut people: Vec<usize> = rows.iter().filter(|row| row.has_diary()).map(|row| row.person).collect();
    people.dedup();
    people.iter().fold("person\n".to_string(), |text, person| format!("{text}{person}\n"))
}

/// What is declared about the rows.
pub fn schema() -> String {
    let towns: Vec<String> = (0..TOWNS).map(|town| town.to_string()).collect();
    format!("{SCHEMA}\n[columns.town]\ncategories = [{}]", towns.join(", "))
}

/// What a row belongs to, as the answer shows it; nothing without groups.
pub type GroupOf = fn(&SurveyRow) -> String;

/// A number about the rows of a group.
pub type SurveyStatistic = fn(&[&SurveyRow]) -> f64;

/// The name of the group of all rows, in an answer with totals.
pub const TOTAL: &str = "(all)";

/// The exact answer, by group, and for all rows together.
pub fn exact(rows: &[SurveyRow], group: GroupOf, statistic: SurveyStatistic) -> BTreeMap<String, f64> {
    let mut groups: BTreeMap<String, Vec<&SurveyRow>> = BTreeMap::new();
    for row in rows {
        groups.entry(group(row)).or_default().push(row);
    }
    groups.insert(TOTAL.to_string(), rows.iter().collect());
    groups.into_iter().map(|(name, rows)| (name, statistic(&rows))).collect()
}

/// The statistics, computed from the rows as a textbook has them.
pub mod statistics {
    use std::collections::HashSet;

    use super::SurveyRow;

    fn wages(rows: &[&SurveyRow]) -> Vec<f64> {
        rows.iter().filter_map(|row| row.wage).map(|wage| wage as f64).collect()
    }

    /// Hours and wages of the rows that have both.
    fn pairs(rows: &[&SurveyRow]) -> (Vec<f64>, Vec<f64>) {
        rows.iter().filter_map(|row| Some((row.hours as f64, row.wage? as f64))).unzip()
    }

    fn mean(values: &[f64]) -> f64 {
        values.iter().sum::<f64>() / values.len() as f64
    }

    fn products(one: &[f64], other: &[f64]) -> f64 {
        let (first, second) = (mean(one), mean(other));
        one.iter().zip(other).map(|(one, other)| (one - first) * (other - second)).sum()
    }

    pub fn count(rows: &[&SurveyRow]) -> f64 {
        rows.len() as f64
    }

    pub fn known_wages(rows: &[&SurveyRow]) -> f64 {
        wages(rows).len() as f64
    }

    pub fn people(rows: &[&SurveyRow]) -> f64 {
        rows.iter().map(|row| row.person).collect::<HashSet<_>>().len() as f64
    }

    pub fn ages(rows: &[&SurveyRow]) -> f64 {
        rows.iter().map(|row| row.age).collect::<HashSet<_>>().len() as f64
    }

    pub fn sum(rows: &[&SurveyRow]) -> f64 {
        wages(rows).iter().sum()
    }

    pub fn average(rows: &[&SurveyRow]) -> f64 {
        mean(&wages(rows))
    }

    pub fn share_of_high_wages(rows: &[&SurveyRow]) -> f64 {
        let wages = wages(rows);
        wages.iter().filter(|wage| **wage > 2_000.0).count() as f64 / wages.len() as f64
    }

    pub fn young(rows: &[&SurveyRow]) -> f64 {
        rows.iter().filter(|row| row.age < 30).count() as f64
    }

    pub fn wage_per_hour(rows: &[&SurveyRow]) -> f64 {
        sum(rows) / rows.iter().map(|row| row.hours as f64).sum::<f64>()
    }

    pub fn rows_per_person(rows: &[&SurveyRow]) -> f64 {
        count(rows) / people(rows)
    }

    pub fn variance(rows: &[&SurveyRow]) -> f64 {
        let wages = wages(rows);
        products(&wages, &wages) / (wages.len() as f64 - 1.0)
    }

    pub fn population_variance(rows: &[&SurveyRow]) -> f64 {
        let wages = wages(rows);
        products(&wages, &wages) / wages.len() as f64
    }

    pub fn deviation(rows: &[&SurveyRow]) -> f64 {
        variance(rows).sqrt()
    }

    pub fn population_deviation(rows: &[&SurveyRow]) -> f64 {
        population_variance(rows).sqrt()
    }

    pub fn covariance(rows: &[&SurveyRow]) -> f64 {
        let (hours, wages) = pairs(rows);
        products(&hours, &wages) / (wages.len() as f64 - 1.0)
    }

    pub fn population_covariance(rows: &[&SurveyRow]) -> f64 {
        let (hours, wages) = pairs(rows);
        products(&hours, &wages) / wages.len() as f64
    }

    pub fn correlation(rows: &[&SurveyRow]) -> f64 {
        let (hours, wages) = pairs(rows);
        products(&hours, &wages) / (products(&hours, &hours) * products(&wages, &wages)).sqrt()
    }

    pub fn correlation_squared(rows: &[&SurveyRow]) -> f64 {
        correlation(rows).powi(2)
    }

    pub fn mean_day(rows: &[&SurveyRow]) -> f64 {
        rows.iter().map(|row| f64::from(row.day)).sum::<f64>() / rows.len() as f64
    }

    pub fn with_diary(rows: &[&SurveyRow]) -> f64 {
        rows.iter().filter(|row| row.has_diary()).count() as f64
    }

    pub fn average_with_diary(rows: &[&SurveyRow]) -> f64 {
        let with: Vec<&SurveyRow> = rows.iter().filter(|row| row.has_diary()).copied().collect();
        average(&with)
    }

    /// No value is outside of its bounds.
    pub fn none(_: &[&SurveyRow]) -> f64 {
        0.0
    }

    pub fn slope(rows: &[&SurveyRow]) -> f64 {
        let (hours, wages) = pairs(rows);
        products(&hours, &wages) / products(&hours, &hours)
    }

    pub fn intercept(rows: &[&SurveyRow]) -> f64 {
        let (hours, wages) = pairs(rows);
        mean(&wages) - slope(rows) * mean(&hours)
    }

    fn quantile(rows: &[&SurveyRow], place: fn(usize) -> usize) -> f64 {
        let mut wages = wages(rows);
        wages.sort_by(f64::total_cmp);
        wages[place(wages.len())]
    }

    pub fn median(rows: &[&SurveyRow]) -> f64 {
        quantile(rows, |rows| rows / 2)
    }

    pub fn first_decile(rows: &[&SurveyRow]) -> f64 {
        quantile(rows, |rows| rows / 10)
    }

    pub fn third_quartile(rows: &[&SurveyRow]) -> f64 {
        quantile(rows, |rows| 3 * rows / 4)
    }

    pub fn least(rows: &[&SurveyRow]) -> f64 {
        quantile(rows, |_| 0)
    }

    pub fn greatest(rows: &[&SurveyRow]) -> f64 {
        quantile(rows, |rows| rows - 1)
    }
}
