//! What a charge takes, by every filter and every odometer, early and late.

use std::fmt;
use std::hint::black_box;
use std::time::Instant;

use serde::Serialize;
use taximeter_accounting::{
    Budget, Cost, Filter, FilterRule, FilterSpec, Odometer, OdometerRule, OdometerSpec, Verdict,
};

use super::costs::{COSTS, LARGE_BUDGET, LARGE_RANGE, RANGE, costs};
use super::{BUDGET, Effort, progress};
use crate::figure::{Figure, Wanted, duration, median, ratio};
use crate::table::PrintedTable;
use crate::table::TableColumn::{Number, Text};

/// What every filter and odometer takes.
#[derive(Serialize)]
pub struct Charges {
    budget: &'static str,
    distinct_costs: usize,
    late_charge: usize,
    /// One row for each meter.
    pub rows: Vec<ChargeRow>,
}

/// What one meter takes.
#[derive(Serialize)]
pub struct ChargeRow {
    meter: &'static str,
    rule: &'static str,
    step: &'static str,
    /// The median over passes through all costs, on the way to the late charge.
    pub nanoseconds: Figure,
    thousandth_nanoseconds: f64,
    late_nanoseconds: f64,
    /// Late over early.
    pub flatness: Figure,
}

/// A charge may take this much longer late than early: what a clock and caches do, not what a sum does.
const FLAT: Wanted = Wanted::AtMost(1.2);

impl Charges {
    /// Charges every meter, and reads the odometers.
    pub fn measure(effort: &Effort) -> Result<Charges, String> {
        let usual = costs(RANGE)?;
        let bench = Bench { costs: &usual, effort };
        let budget = Budget::parse(BUDGET).map_err(|error| error.to_string())?;
        let mut rows = Vec::new();
        for rule in FilterRule::ALL {
            let filter = Filter::new(FilterSpec::new(rule, budget)).map_err(|error| error.to_string())?;
            let charge = |filter: &mut Filter, cost: &Cost| filter.charge(cost).is_ok_and(Verdict::continues);
            rows.push(bench.row(["filter", rule.name(), "charge"], wanted_of_filter(rule), filter, charge)?);
        }
        rows.push(large_steps(effort)?);
        for rule in OdometerRule::ALL {
            let spec = OdometerSpec::beside(rule, &budget);
            let odometer = Odometer::new(spec).map_err(|error| error.to_string())?;
            let charge = |odometer: &mut Odometer, cost: &Cost| odometer.charge(cost).is_ok();
            rows.push(bench.row(["odometer", rule.name(), "charge"], None, odometer.clone(), charge)?);
            let read = |odometer: &mut Odometer, cost: &Cost| {
                odometer.charge(cost).is_ok() && black_box(odometer.reading()).value.is_finite()
            };
            let wanted = (rule == OdometerRule::RenyiMixture).then_some(Wanted::AtMost(10_000.0));
            rows.push(bench.row(["odometer", rule.name(), "charge, reading"], wanted, odometer, read)?);
        }
        Ok(Charges { budget: BUDGET, distinct_costs: COSTS, late_charge: effort.late_charge, rows })
    }
}

/// Decisions of the residue rule about costs that are large against the budget, from a fresh filter each time.
fn large_steps(effort: &Effort) -> Result<ChargeRow, String> {
    let large = costs(LARGE_RANGE)?;
    let budget = Budget::parse(LARGE_BUDGET).map_err(|error| error.to_string())?;
    let filter = Filter::new(FilterSpec::new(FilterRule::Residue, budget)).map_err(|error| error.to_string())?;
    let decide = |filter: &mut Filter, cost: &Cost| filter.decide(cost).is_ok_and(Verdict::continues);
    let wanted = wanted_of_filter(FilterRule::Residue);
    Bench { costs: &large, effort }.row(["filter", "residue", "decide, large step"], wanted, filter, decide)
}

/// Rules that add a price to a sum have less to do than the one that solves for what is left.
fn wanted_of_filter(rule: FilterRule) -> Option<Wanted> {
    Some(Wanted::AtMost(if rule == FilterRule::Residue { 3_000.0 } else { 100.0 }))
}

struct Bench<'a> {
    costs: &'a [Cost],
    effort: &'a Effort,
}

impl Bench<'_> {
    /// Measures one meter; a step says whether it went well.
    fn row<M: Clone>(
        &self,
        [meter, rule, step]: [&'static str; 3],
        wanted: Option<Wanted>,
        fresh: M,
        take: impl Fn(&mut M, &Cost) -> bool,
    ) -> Result<ChargeRow, String> {
        progress(format_args!("{meter} {rule}: {step}"));
        let pass = |state: &mut M, costs: &[Cost]| {
            let start = Instant::now();
            let taken = costs.iter().filter(|cost| take(black_box(&mut *state), black_box(cost))).count();
            let elapsed = start.elapsed().as_nanos() as f64 / costs.len() as f64;
            match costs.len() - taken {
                0 => Ok(elapsed),
                refused => Err(format!("the {meter} {rule} did not take {refused} of {} costs", costs.len())),
            }
        };
        // A pass is as long as the list of costs, so half a pass before a point puts the point into its middle.
        let half = self.costs.len() / 2;
        let mut early = fresh;
        pass(&mut early, self.costs)?;
        pass(&mut early, &self.costs[..half])?;
        let mut late = early.clone();
        let passes = (self.effort.late_charge - 1000) / self.costs.len();
        let all = (0..passes).map(|_| pass(&mut late, self.costs)).collect::<Result<Vec<_>, _>>()?;
        // By turns, so that a machine that slows down slows both.
        let (mut at_thousandth, mut at_late) = (Vec::new(), Vec::new());
        for _ in 0..self.effort.flatness_repetitions {
            at_thousandth.push(pass(&mut early.clone(), self.costs)?);
            at_late.push(pass(&mut late.clone(), self.costs)?);
        }
        let (thousandth_nanoseconds, late_nanoseconds) = (median(at_thousandth), median(at_late));
        Ok(ChargeRow {
            meter,
            rule,
            step,
            nanoseconds: Figure::new(median(all), wanted),
            thousandth_nanoseconds,
            late_nanoseconds,
            flatness: Figure::new(late_nanoseconds / thousandth_nanoseconds, Some(FLAT)),
        })
    }
}

impl fmt::Display for Charges {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Charges { budget, distinct_costs, late_charge, .. } = self;
        let (smallest, largest) = RANGE;
        writeln!(
            f,
            "A charge: budget ({budget}), {distinct_costs} different ε from {smallest:e} to {largest:e}, \
             nothing refused;\n\
             large steps: budget ({LARGE_BUDGET}), ε from {} to {};\n\
             the time in the middle of {late_charge} charges, at the 1000th and, late, at the {late_charge}th\n",
            LARGE_RANGE.0, LARGE_RANGE.1
        )?;
        let mut table = PrintedTable::new([
            Text("meter"),
            Text("rule"),
            Text("step"),
            Number("time"),
            Number("target"),
            Number("1000th"),
            Number("late"),
            Number("flatness"),
            Number("target"),
        ]);
        for row in &self.rows {
            table.row([
                row.meter.to_string(),
                row.rule.to_string(),
                row.step.to_string(),
                row.nanoseconds.show(duration),
                row.nanoseconds.show_wanted(duration),
                duration(row.thousandth_nanoseconds),
                duration(row.late_nanoseconds),
                row.flatness.show(ratio),
                row.flatness.show_wanted(ratio),
            ]);
        }
        write!(f, "{table}")
    }
}
