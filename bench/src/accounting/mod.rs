//! What accounting takes: charges and readings, verdicts, and OpenDP on the same costs.

mod against_opendp;
mod charges;
mod costs;
mod verdicts;

use std::fmt;
use std::io::Write;

use clap::Args;
use serde::Serialize;

use against_opendp::OpendpComparison;
use charges::Charges;
use verdicts::Verdicts;

use crate::figure::Figure;

/// What may be spent here: so much that nothing is refused.
pub const BUDGET: &str = "100,1e-6";

/// The arguments of the benchmark.
#[derive(Args)]
pub struct Accounting {
    /// One JSON document on standard output; the tables go to standard error
    #[arg(long)]
    json: bool,
    /// Fewer charges and repetitions: a look, not a measurement
    #[arg(long)]
    quick: bool,
}

/// How much is measured.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Effort {
    /// The charge that is compared with the thousandth.
    late_charge: usize,
    /// How often each of the two is measured.
    flatness_repetitions: usize,
    /// Sizes of a cost in each decade, for the verdicts.
    sizes_per_decade: u32,
    /// How often each verdict is asked for.
    verdict_repetitions: usize,
    /// How often our filters and OpenDP's are run.
    runs: usize,
    opendp_runs: usize,
}

impl Effort {
    const FULL: Effort = Effort {
        late_charge: 1_000_000,
        flatness_repetitions: 201,
        sizes_per_decade: 5,
        verdict_repetitions: 5,
        runs: 21,
        opendp_runs: 3,
    };
    const QUICK: Effort = Effort {
        late_charge: 100_000,
        flatness_repetitions: 51,
        sizes_per_decade: 1,
        verdict_repetitions: 3,
        runs: 5,
        opendp_runs: 1,
    };
}

/// Everything that was measured.
#[derive(Serialize)]
struct Report {
    /// Numbers of a build that is not optimised mean nothing.
    optimised: bool,
    effort: Effort,
    charges: Charges,
    verdicts: Verdicts,
    against_opendp: OpendpComparison,
}

impl Accounting {
    /// Measures and reports. An error means that something was refused or could not be computed, never that it was slow.
    pub fn run(&self) -> Result<(), String> {
        let optimised = !cfg!(debug_assertions);
        if !optimised {
            eprintln!("this build is not optimised and its times mean nothing; run it with --release");
        }
        let effort = if self.quick { Effort::QUICK } else { Effort::FULL };
        let report = Report {
            optimised,
            effort,
            charges: Charges::measure(&effort)?,
            verdicts: Verdicts::measure(&effort)?,
            against_opendp: OpendpComparison::measure(&effort)?,
        };
        let mut stdout = std::io::stdout().lock();
        let written = if self.json {
            eprintln!("\n{report}");
            let document = serde_json::to_string_pretty(&report).map_err(|error| error.to_string())?;
            writeln!(stdout, "{document}")
        } else {
            writeln!(stdout, "{report}")
        };
        written.map_err(|error| format!("the report could not be written: {error}"))
    }
}

impl Report {
    /// How many figures are not as wanted.
    fn missed(&self) -> usize {
        let charges = self.charges.rows.iter().flat_map(|row| [row.nanoseconds, row.flatness]);
        let verdicts = self.verdicts.rows.iter().map(|row| row.slowest_case_nanoseconds);
        let ratios = self.against_opendp.rows.iter().flat_map(|row| [row.residue_ratio, row.basic_ratio]);
        charges.chain(verdicts).chain(ratios).filter(|figure: &Figure| figure.met == Some(false)).count()
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Report { charges, verdicts, against_opendp, .. } = self;
        write!(f, "{charges}\n{verdicts}\n{against_opendp}\n")?;
        match self.missed() {
            0 => write!(f, "Every figure meets its target."),
            1 => write!(f, "1 figure misses its target; it is marked with !"),
            missed => write!(f, "{missed} figures miss their targets; they are marked with !"),
        }
    }
}

/// One line about what is being measured now.
fn progress(what: fmt::Arguments<'_>) {
    eprintln!("measuring {what}");
}
