//! `taximeter lab certify`: attacks every rule.

use std::process::ExitCode;

use clap::Args;
use serde::Serialize;
use taximeter_lab::certify::{CertifyEffort, Check, Claim, battery};
use taximeter_service::Computed;

use crate::output::{Failure, INTEGRITY_BROKEN, print_json, print_line, show_number};
use crate::progress::Progress;

/// Attack every rule: the valid ones must hold, the invalid ones must be caught
#[derive(Args)]
#[command(after_help = "Exits with 4 if a valid rule exceeds its delta or an invalid one is not caught.")]
pub struct CertifyCommand {
    /// Fewer checks, in less than a minute
    #[arg(long)]
    quick: bool,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Document {
    passed: bool,
    checks: Vec<CheckJson>,
}

#[derive(Serialize)]
struct CheckJson {
    name: String,
    claim: &'static str,
    ratio_lower: Computed,
    ratio_upper: Computed,
    passed: bool,
}

impl CertifyCommand {
    pub fn run(&self) -> Result<ExitCode, Failure> {
        let effort = if self.quick { CertifyEffort::Quick } else { CertifyEffort::Full };
        let progress = Progress::new("certifying");
        let mut broken_pipe = None;
        let mut tell = |check: &Check| {
            if !self.json && broken_pipe.is_none() {
                broken_pipe = progress.suspend(|| print_line(&line(check))).err();
            }
        };
        let checks = battery(effort, &mut tell, &|done| progress.share(done))?;
        drop(progress);
        if let Some(failure) = broken_pipe {
            return Err(failure);
        }
        let failed = checks.iter().filter(|check| !check.passes()).count();
        if self.json {
            let passed = failed == 0;
            print_json(&Document { passed, checks: checks.iter().map(CheckJson::from).collect() })?;
        } else {
            print_line(&format!("\n{} checks, {failed} failed", checks.len()))?;
        }
        Ok(if failed == 0 { ExitCode::SUCCESS } else { ExitCode::from(INTEGRITY_BROKEN) })
    }
}

impl From<&Check> for CheckJson {
    fn from(check: &Check) -> Self {
        CheckJson {
            name: check.name.clone(),
            claim: if check.claim == Claim::Valid { "valid" } else { "invalid" },
            ratio_lower: Computed(check.ratio().lower),
            ratio_upper: Computed(check.ratio().upper),
            passed: check.passes(),
        }
    }
}

fn line(check: &Check) -> String {
    let (mark, verdict) = match (check.passes(), check.claim) {
        (true, Claim::Valid) => ("ok    ", "holds"),
        (true, Claim::Invalid) => ("ok    ", "caught"),
        (false, Claim::Valid) if check.worst.lower <= check.delta => ("FAILED", "undecided"),
        (false, Claim::Valid) => ("FAILED", "exceeds its delta"),
        (false, Claim::Invalid) => ("FAILED", "not caught"),
    };
    // The upper bound decides about a valid rule, the lower bound about an invalid one.
    let end = if check.claim == Claim::Valid { check.ratio().upper } else { check.ratio().lower };
    format!("{mark}  {:>11} of δ  {}: {verdict}", show_number(end), check.name)
}
