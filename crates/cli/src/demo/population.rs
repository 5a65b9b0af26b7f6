//! The simulated population: 100,000 people in 40 districts, some of which have an outbreak. The same seed gives the same people.

use std::fmt::Write as _;
use std::path::Path;

use taximeter_lab::Run;

use crate::output::Failure;

pub const PEOPLE: usize = 100_000;
pub const DISTRICTS: usize = 40;
pub const OCCUPATIONS: [&str; 5] = ["care", "factory", "farm", "office", "school"];

/// Three percent are sick; in a few districts six times more.
const USUAL: f64 = 0.03;
const OUTBREAK: f64 = 0.18;
const OUTBREAKS: usize = 6;

/// What the owner declares about the population.
pub const SCHEMA: &str = r#"# Whose privacy is protected, and the columns.
unit = "row"
neighbours = "add-remove"

[columns.district]
type = "integer"
categories = [
    0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19,
    20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39,
]

[columns.age]
type = "integer"
bounds = [0, 100]

[columns.occupation]
categories = ["care", "factory", "farm", "office", "school"]

[columns.income]
type = "integer"
bounds = [0, 200000]
grid = 100

[columns.sick]
type = "boolean"
categories = [true, false]
"#;

/// The people, and the truth that the analyst does not see: the sick people and the outbreaks.
pub struct Population {
    pub csv: String,
    pub sick: Vec<u64>,
    pub outbreaks: Vec<usize>,
}

impl Population {
    pub fn new(seed: u64) -> Population {
        let mut random = Run { seed, index: 0 }.noise();
        let mut rates = [USUAL; DISTRICTS];
        for _ in 0..OUTBREAKS {
            rates[random.one_of(DISTRICTS)] = OUTBREAK;
        }
        let mut csv = String::from("district,age,occupation,income,sick\n");
        let mut sick = vec![0; DISTRICTS];
        for person in 0..PEOPLE {
            let district = person % DISTRICTS;
            let age = random.one_of(95);
            let occupation = OCCUPATIONS[random.one_of(OCCUPATIONS.len())];
            let income = (12_000.0 - 30_000.0 * random.positive().ln()) as u64;
            let is_sick = random.happens(rates[district]);
            sick[district] += u64::from(is_sick);
            let _ = writeln!(csv, "{district},{age},{occupation},{income},{is_sick}");
        }
        let outbreaks = (0..DISTRICTS).filter(|district| rates[*district] == OUTBREAK).collect();
        Population { csv, sick, outbreaks }
    }

    /// Writes the people and the declaration.
    pub fn write(&self, csv: &Path, schema: &Path) -> Result<(), Failure> {
        for (path, text) in [(csv, self.csv.as_str()), (schema, SCHEMA)] {
            std::fs::write(path, text)
                .map_err(|error| Failure::Other(format!("{} cannot be written: {error}", path.display())))?;
        }
        Ok(())
    }
}
