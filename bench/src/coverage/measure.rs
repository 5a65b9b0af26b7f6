//! Asks every form of question on fresh ledgers, and compares.

use std::collections::BTreeMap;
use std::error::Error;
use std::io;
use std::path::Path;

use serde::Serialize;
use taximeter_accounting::{Amount, Budget, OdometerRule, OdometerSpec};
use taximeter_gate::{
    AnswerDocument, Cell, Data, Declaration, Gate, GateOutcome, Price, Registration, Request, Rules, folder_beside,
};
use taximeter_ledger::{AccountName, Ledger, Location, Options};
use tempfile::TempDir;

use super::binomial::{at_least, at_most, clopper_pearson};
use super::forms::{CoverageForm, WantedCoverage};
use super::survey;

pub type Fallible<T> = Result<T, Box<dyn Error>>;

/// How often the intervals of one form held.
#[derive(Clone, Debug, Serialize)]
pub struct MeasuredForm {
    pub form: &'static str,
    pub price: String,
    pub sql: String,
    /// How many intervals were compared.
    pub intervals: u64,
    pub held: u64,
    /// How many numbers were not said, being too noisy.
    pub withheld: u64,
    pub coverage: f64,
    /// What the coverage may be, by Clopper and Pearson with 95 %.
    pub between: [f64; 2],
    /// Why more than 97 % may hold; nothing where 94 to 97 % are wanted.
    pub conservative: Option<&'static str>,
    pub as_wanted: bool,
}

/// What is counted of a form.
#[derive(Clone, Copy, Default)]
struct Tally {
    intervals: u64,
    held: u64,
    withheld: u64,
}

/// Asks every form on fresh ledgers.
pub fn measure(forms: &[CoverageForm], ledgers: u32, asks: u32) -> Fallible<Vec<MeasuredForm>> {
    let rows = survey::rows();
    let truths: Vec<_> = forms.iter().map(|form| survey::exact(&rows, form.group, form.statistic)).collect();
    let (csv, schema, diary) = (survey::csv(&rows), survey::schema(), survey::diary_csv(&rows));
    let mut tallies = vec![Tally::default(); forms.len()];
    for ledger in 0..ledgers {
        let folder = in_memory()?;
        let gate = open(folder.path(), &csv, &schema)?;
        register(&gate, folder.path(), "diary", &diary, survey::DIARY_SCHEMA)?;
        for ((form, truth), tally) in forms.iter().zip(&truths).zip(&mut tallies) {
            for time in 0..asks {
                let turn = (ledger * asks + time) as usize;
                tally.look(form, truth, &ask(&gate, &form.request()?)?, turn)?;
            }
        }
    }
    Ok(forms.iter().zip(tallies).map(|(form, tally)| tally.measured(form, forms.len())).collect())
}

/// A folder in memory, where the system has such: the disk is not what is measured, and most of the time would be spent waiting for it.
fn in_memory() -> io::Result<TempDir> {
    tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir())
}

/// A gate on a new ledger, with a survey behind it.
pub fn open(folder: &Path, csv: &str, schema: &str) -> Fallible<Gate> {
    let file = folder.join("taximeter.db");
    let ledger = Ledger::open(&Location::File(file.clone()), Options { create: true, ..Options::default() })?;
    let gate = Gate::open(&folder_beside(&file), ledger)?;
    register(&gate, folder, "survey", csv, schema)?;
    Ok(gate)
}

/// Registers a dataset whose account has no budget.
fn register(gate: &Gate, folder: &Path, name: &str, csv: &str, schema: &str) -> Fallible<()> {
    let data = folder.join(format!("{name}.csv"));
    std::fs::write(&data, csv)?;
    let budget = Budget::parse("1000,0.5")?.with_mechanism_delta(Amount::parse_exact("0.4")?)?;
    // No budget is to end: only the odometer runs.
    let rules = Rules { filter: None, odometer: OdometerSpec::beside(OdometerRule::RenyiMixture, &budget) };
    let registration = Registration::new(AccountName::parse(name)?, Declaration::parse(schema)?, Data::csv(data));
    gate.register(&Registration { rules: Some(rules), ..registration }, &mut |_, _| {})?;
    Ok(())
}

/// A question under a new key.
pub fn request(question: &str, price: Price) -> Fallible<Request> {
    Ok(Request::new(&AccountName::parse("survey")?, question, price)?)
}

/// The answer to a question.
pub fn ask(gate: &Gate, request: &Request) -> Fallible<AnswerDocument> {
    let question = &request.question;
    let outcome = gate.ask(request).map_err(|error| format!("{question}: {error}"))?;
    let GateOutcome::Answered(answer) = outcome else {
        return Err(format!("{question} was not answered").into());
    };
    Ok(AnswerDocument::read(&answer.document)?)
}

impl Tally {
    /// Counts the intervals of an answer that hold: all, or one of them in turn.
    fn look(
        &mut self,
        form: &CoverageForm,
        truth: &BTreeMap<String, f64>,
        answer: &AnswerDocument,
        turn: usize,
    ) -> Fallible<()> {
        let one = turn.checked_rem(answer.rows.len());
        for (at, row) in answer.rows.iter().enumerate() {
            if !form.independent && Some(at) != one {
                continue;
            }
            let keys: Vec<String> = row.iter().filter_map(key).collect();
            // Of a group without rows, only the number of rows is said.
            let truth = truth.get(&keys.join(" ")).copied().unwrap_or(0.0);
            let estimate = row.last().and_then(Cell::estimate).and_then(|estimate| form.looked_at.of(estimate));
            let estimate = estimate.ok_or_else(|| format!("{}: the last column is no number", form.sql))?;
            match &estimate.interval {
                Some(ends) => {
                    let [low, high] = ends.each_ref().map(|end| end.as_f64().unwrap_or(f64::NAN));
                    self.intervals += 1;
                    // A decimal is not always a binary number.
                    let slack = 1e-9 * truth.abs();
                    self.held += u64::from(low <= truth + slack && truth - slack <= high);
                }
                None => self.withheld += 1,
            }
        }
        Ok(())
    }

    fn measured(self, form: &CoverageForm, forms: usize) -> MeasuredForm {
        let Tally { intervals, held, withheld } = self;
        MeasuredForm {
            form: form.name,
            price: form.offer.describe(),
            sql: form.sql.clone(),
            intervals,
            held,
            withheld,
            coverage: held as f64 / intervals as f64,
            between: clopper_pearson(held, intervals),
            conservative: match form.wanted {
                WantedCoverage::Near => None,
                WantedCoverage::AtLeast(why) => Some(why),
            },
            as_wanted: is_as_wanted(held, intervals, form.wanted, forms),
        }
    }
}

/// With which probability chance makes any of all forms look unlike what is wanted, at most.
const FALSE_ALARM: f64 = 1e-6;

/// Whether chance explains how many intervals held, with a coverage of 94 to 97 %, or of 94 % or more. A form whose coverage is as
/// wanted fails with at most a part of [`FALSE_ALARM`]: one of all forms, and of two sides.
fn is_as_wanted(held: u64, intervals: u64, wanted: WantedCoverage, forms: usize) -> bool {
    let rare = FALSE_ALARM / (2 * forms) as f64;
    let enough = intervals > 0 && at_most(held, intervals, 0.94) >= rare;
    match wanted {
        WantedCoverage::Near => enough && at_least(held, intervals, 0.97) >= rare,
        WantedCoverage::AtLeast(_) => enough,
    }
}

/// The text of a group's value; nothing for a number.
fn key(cell: &Cell) -> Option<String> {
    match cell {
        Cell::Group(value) => Some(value.to_string().trim_matches('\'').to_string()),
        Cell::Estimate(_) | Cell::Dated(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use taximeter_testing::random_inputs;

    use super::super::forms::forms;
    use super::*;

    /// 250 fresh ledgers. Fails by chance with a probability of at most 10⁻⁶.
    #[test]
    fn the_intervals_of_every_form_hold_as_often_as_they_say() {
        let measured = measure(&forms(), random_inputs(250), 1).unwrap();
        let wrong: Vec<_> = measured.iter().filter(|measured| !measured.as_wanted).collect();
        assert!(wrong.is_empty(), "{wrong:#?}");
    }

    #[test]
    fn intervals_that_are_too_narrow_or_too_wide_are_noticed() {
        let conservative = WantedCoverage::AtLeast("");
        for (held, near, enough) in
            [(880, false, false), (920, true, true), (950, true, true), (980, true, true), (999, false, true)]
        {
            assert_eq!(is_as_wanted(held, 1_000, WantedCoverage::Near, 100), near, "{held}");
            assert_eq!(is_as_wanted(held, 1_000, conservative, 100), enough, "{held}");
        }
        assert!(!is_as_wanted(0, 0, conservative, 100));
    }
}
