//! Our filters and OpenDP's on the same costs; what is compared, and how fairly, stands in [`crate::opendp_filter`].

use std::fmt;
use std::time::Instant;

use serde::Serialize;
use taximeter_accounting::{Budget, Filter, FilterRule, FilterSpec, Verdict};

use super::costs::{RANGE, cost, epsilons};
use super::{BUDGET, Effort, progress};
use crate::figure::{Figure, Wanted, duration, median, ratio};
use crate::opendp_filter;
use crate::table::PrintedTable;
use crate::table::TableColumn::Number;

/// Total times for several numbers of queries.
#[derive(Serialize)]
pub struct OpendpComparison {
    opendp_version: &'static str,
    /// One row for each number of queries.
    pub rows: Vec<OpendpRow>,
}

/// Total times for one number of queries, a filter made and every query admitted.
#[derive(Serialize)]
pub struct OpendpRow {
    queries: usize,
    opendp_nanoseconds: f64,
    residue_nanoseconds: f64,
    /// OpenDP's time over that of the residue rule.
    pub residue_ratio: Figure,
    basic_nanoseconds: f64,
    /// OpenDP's time over that of the basic rule.
    pub basic_ratio: Figure,
}

const QUERIES: [usize; 3] = [1000, 2000, 4000];

/// Wanted at the largest number of queries; the ratio grows with it.
const WANTED: (usize, Wanted) = (4000, Wanted::AtLeast(1000.0));

impl OpendpComparison {
    /// Runs all three filters.
    pub fn measure(effort: &Effort) -> Result<OpendpComparison, String> {
        let budget = Budget::parse(BUDGET).map_err(|error| error.to_string())?;
        let rows = QUERIES.into_iter().map(|queries| {
            progress(format_args!("OpenDP {}: {queries} queries", opendp_filter::VERSION));
            let costs: Vec<f64> = epsilons(RANGE).into_iter().cycle().take(queries).collect();
            let ours = |rule| total(effort.runs, queries, || admitted(rule, budget, &costs));
            let opendp =
                total(effort.opendp_runs, queries, || opendp_filter::admitted(&costs, budget.epsilon().approximate()))?;
            let (residue, basic) = (ours(FilterRule::Residue)?, ours(FilterRule::Basic)?);
            let wanted = (queries == WANTED.0).then_some(WANTED.1);
            Ok(OpendpRow {
                queries,
                opendp_nanoseconds: opendp,
                residue_nanoseconds: residue,
                residue_ratio: Figure::new(opendp / residue, wanted),
                basic_nanoseconds: basic,
                basic_ratio: Figure::new(opendp / basic, wanted),
            })
        });
        Ok(OpendpComparison { opendp_version: opendp_filter::VERSION, rows: rows.collect::<Result<_, String>>()? })
    }
}

/// The median time of a run that must admit every query.
fn total(runs: usize, queries: usize, run: impl Fn() -> Result<usize, String>) -> Result<f64, String> {
    let times = (0..runs).map(|_| {
        let start = Instant::now();
        let admitted = run()?;
        let elapsed = start.elapsed().as_nanos() as f64;
        if admitted != queries {
            return Err(format!("only {admitted} of {queries} queries were admitted"));
        }
        Ok(elapsed)
    });
    Ok(median(times.collect::<Result<_, _>>()?))
}

/// Asks one of our filters about each cost and returns how many were admitted.
fn admitted(rule: FilterRule, budget: Budget, costs: &[f64]) -> Result<usize, String> {
    let mut filter = Filter::new(FilterSpec::new(rule, budget)).map_err(|error| error.to_string())?;
    let mut admitted = 0;
    for &epsilon in costs {
        match filter.charge(&cost(epsilon)?).map_err(|error| error.to_string())? {
            Verdict::Continue => admitted += 1,
            Verdict::Halt(_) => break,
        }
    }
    Ok(admitted)
}

impl fmt::Display for OpendpComparison {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "Against OpenDP {}: a filter made and every query admitted, in total; it goes through all earlier queries at each one\n",
            self.opendp_version
        )?;
        let mut table = PrintedTable::new([
            Number("queries"),
            Number("OpenDP"),
            Number("residue"),
            Number("ratio"),
            Number("basic"),
            Number("ratio"),
            Number("target"),
        ]);
        for row in &self.rows {
            table.row([
                row.queries.to_string(),
                duration(row.opendp_nanoseconds),
                duration(row.residue_nanoseconds),
                row.residue_ratio.show(ratio),
                duration(row.basic_nanoseconds),
                row.basic_ratio.show(ratio),
                row.residue_ratio.show_wanted(ratio),
            ]);
        }
        write!(f, "{table}")
    }
}
