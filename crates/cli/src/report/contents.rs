//! What a report is about: an account, the accounts below it, its datasets, and what its charges paid for.

use std::collections::BTreeMap;

use taximeter_accounting::Cost;
use taximeter_gate::question_in_note;
use taximeter_ledger::AccountName;
use taximeter_service::{AccountDocument, CheckpointDocument, DatasetDocument, RecordDocument};

use crate::backend::Backend;
use crate::output::Failure;
use crate::progress::Progress;

/// How many records are read at a time.
const PAGE: usize = 1000;
/// The most points of the curve.
const POINTS: usize = 400;

/// All that a report says.
pub struct PublicReport {
    pub account: AccountDocument,
    /// The accounts below it.
    pub below: Vec<AccountDocument>,
    /// The datasets that it or an account below it pays for.
    pub datasets: Vec<DatasetDocument>,
    pub paid: PaidCharges,
    /// The newest record, whose hash stands for the whole journal.
    pub newest: String,
    /// The newest signed checkpoint, if there is one.
    pub checkpoint: Option<CheckpointDocument>,
    pub ledger: String,
}

/// What the charges of an account paid for.
#[derive(Default)]
pub struct PaidCharges {
    /// When it was opened, and when it was charged last, in UTC.
    pub opened: String,
    pub last: Option<String>,
    /// How many questions used an aggregate, by its name.
    pub questions: BTreeMap<&'static str, u64>,
    /// How many charges were for questions that the gate answered, and how many for mechanisms elsewhere.
    pub asked: u64,
    pub elsewhere: u64,
    /// How many charges had a kind of cost, by its name.
    pub mechanisms: BTreeMap<&'static str, u64>,
    /// What was left after each charge, as a share of the budget, thinned.
    pub left: Vec<f64>,
}

impl PublicReport {
    /// Recomputes the journal, and reads it all. There is no report about a journal that is not whole.
    pub fn gather(backend: &dyn Backend, name: &AccountName) -> Result<PublicReport, Failure> {
        let verified = backend.verify(&Progress::new("verifying").shares())?;
        if verified.whole != Some(true) {
            let reason = verified.reason.as_deref().unwrap_or("the verification did not finish");
            return Err(Failure::Integrity(format!("{reason}; `taximeter verify` says what to do")));
        }
        let account = backend.account(name)?;
        let is_below = |other: &AccountName| other.path().any(|above| above == name.as_str()) && other != name;
        let below = backend.accounts()?.accounts.into_iter().filter(|other| is_below(&other.account)).collect();
        let is_paid = |dataset: &DatasetDocument| dataset.dataset == *name || is_below(&dataset.dataset);
        let datasets = backend.datasets()?.0.into_iter().filter(is_paid).collect();
        let paid = PaidCharges::read(backend, &account)?;
        let checkpoint = match backend.checkpoint() {
            Ok(checkpoint) => Some(checkpoint),
            // None was signed yet.
            Err(Failure::Usage(_)) => None,
            Err(failure) => return Err(failure),
        };
        let ledger = backend.ledger()?;
        let newest = format!("record {}, hash {}", ledger.newest.sequence, ledger.newest.hash);
        Ok(PublicReport { account, below, datasets, paid, newest, checkpoint, ledger: ledger.ledger.to_string() })
    }
}

impl PaidCharges {
    /// Walks the history of an account back to its beginning.
    fn read(backend: &dyn Backend, account: &AccountDocument) -> Result<PaidCharges, Failure> {
        let (progress, mut paid, mut from, mut done) =
            (Progress::new("reading the history"), PaidCharges::default(), None, 0);
        loop {
            let page = backend.history(&account.account, from, PAGE)?;
            for record in &page.records {
                paid.add(record);
            }
            done += page.records.len() as u64;
            progress.count(done);
            from = page.next;
            if from.is_none() {
                break;
            }
        }
        paid.left.reverse();
        thin(&mut paid.left);
        Ok(paid)
    }

    fn add(&mut self, record: &RecordDocument) {
        match record.what.as_str() {
            "open" => {
                self.opened = record.time.clone();
                self.left.push(1.0);
            }
            "charge" => {
                self.last.get_or_insert_with(|| record.time.clone());
                self.left.extend(record.left.map(|left| left.0));
                let mut kinds: Vec<&str> = record.costs.iter().map(kind).collect();
                kinds.sort_unstable();
                kinds.dedup();
                for kind in kinds {
                    *self.mechanisms.entry(kind).or_default() += 1;
                }
                match record.note.as_ref().and_then(|note| question_in_note(note.as_str())) {
                    None => self.elsewhere += 1,
                    Some((_, sql)) => {
                        self.asked += 1;
                        for name in aggregates(sql) {
                            *self.questions.entry(name).or_default() += 1;
                        }
                    }
                }
            }
            _ => {}
        }
    }
}

fn kind(cost: &Cost) -> &'static str {
    cost.kind().name()
}

/// Keeps the first and the last point, and others at even distances.
fn thin(points: &mut Vec<f64>) {
    let all = points.len();
    if all > POINTS {
        *points = (0..POINTS).map(|at| points[at * (all - 1) / (POINTS - 1)]).collect();
    }
}

/// The aggregates that a report counts.
const AGGREGATES: [&str; 17] = [
    "AVG",
    "CORR",
    "COUNT",
    "COVAR_POP",
    "COVAR_SAMP",
    "MAX",
    "MEDIAN",
    "MIN",
    "MODE",
    "PERCENTILE_CONT",
    "PERCENTILE_DISC",
    "QUANTILE",
    "REGR_INTERCEPT",
    "REGR_SLOPE",
    "STDDEV",
    "SUM",
    "VARIANCE",
];

/// The aggregates in a question, each once. What stands in quotes is a text or a name, not an aggregate.
fn aggregates(sql: &str) -> impl Iterator<Item = &'static str> + '_ {
    let plain: String = sql.split(['\'', '"']).step_by(2).collect::<Vec<_>>().join(" ").to_ascii_uppercase();
    AGGREGATES.into_iter().filter(move |name| {
        plain
            .match_indices(&format!("{name}("))
            .any(|(at, _)| !plain[..at].ends_with(|before: char| before.is_ascii_alphanumeric() || before == '_'))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn aggregates_are_counted_once_and_not_in_texts() {
        let found = |sql: &str| aggregates(sql).collect::<Vec<_>>();
        assert_eq!(found("SELECT AVG(x), avg(y), count(*) FROM t"), ["AVG", "COUNT"]);
        assert_eq!(found("SELECT COUNT(*) FROM t WHERE a = 'SUM(x)' AND \"MAX(\" > 1"), ["COUNT"]);
        assert_eq!(found("SELECT DISCOUNT(x) FROM t"), Vec::<&str>::new());
    }

    #[test]
    fn a_long_curve_keeps_its_ends() {
        let mut points: Vec<f64> = (0..=10_000).map(f64::from).collect();
        thin(&mut points);
        assert_eq!((points.len(), points[0], points[POINTS - 1]), (POINTS, 0.0, 10_000.0));
    }
}
