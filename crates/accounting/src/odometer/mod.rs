//! Odometers: a running bound on the privacy loss, whenever one looks.
//!
//! One file for each rule. [`Odometer`] adds up what they need, exactly, and reads the bound from the sums.

mod advanced;
mod free_x;
pub(crate) mod normal_mixture;
mod priced;
mod renyi_mixture;
mod rule;
mod slack;
mod spec;
pub(crate) mod stitched;
#[cfg(feature = "serde")]
mod stored;

use std::fmt;

use crate::amount::{Amount, FineAmount};
use crate::cost::Cost;
use crate::error::Error;
use crate::lemma::Leaks;
use crate::numeric::{Interval, require_correct_rounding};
use crate::price;
use crate::version::StateVersion;

pub use advanced::Granularity;
pub use priced::PricedCost;
use renyi_mixture::Divergences;
pub use rule::OdometerRule;
use slack::Slack;
pub use spec::{OdometerParameters, OdometerSpec};

/// A privacy odometer: a rule and what was charged.
///
/// ```
/// use taximeter_accounting::{Amount, Cost, Odometer, OdometerRule, OdometerSpec};
///
/// let at_delta = Amount::parse_exact("1e-6")?;
/// let mut odometer = Odometer::new(OdometerSpec::new(OdometerRule::RenyiMixture, at_delta))?;
/// let cost = Cost::parse_epsilon("0.01")?.cost;
/// for _ in 0..1000 {
///     odometer.charge(&cost)?;
/// }
/// let reading = odometer.reading();
/// assert!(reading.value < 2.0, "basic composition would read 10");
/// # Ok::<(), taximeter_accounting::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(try_from = "stored::StoredOdometer"))]
pub struct Odometer {
    version: StateVersion,
    spec: OdometerSpec,
    /// Follows from the specification.
    #[cfg_attr(feature = "serde", serde(skip))]
    slack: Slack,
    sums: Sums,
}

/// What was charged, as the rules need it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(deny_unknown_fields))]
struct Sums {
    /// Σε_i; nothing if it is infinite.
    epsilon: Option<Amount>,
    /// Σδ_i; nothing if it is infinite.
    delta: Option<Amount>,
    moments: Moments,
}

/// What a rule adds up beside Σε_i. Behind a pointer, so that an account is only as large as its own rule needs.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "snake_case"))]
enum Moments {
    /// Basic composition needs Σε_i alone.
    None,
    /// The mean loss and how far it strays.
    Martingale(Box<Martingale>),
    /// Σ D_α at every order of the mixture.
    Renyi(Divergences),
}

/// What is known of the loss as a martingale.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(deny_unknown_fields))]
struct Martingale {
    /// The sum of the mean losses; nothing if it is infinite.
    mean: Option<FineAmount>,
    /// V = Σε_i²; nothing if it is infinite.
    squares: Option<FineAmount>,
    /// What the corrected lemma adds.
    leaks: Leaks,
}

impl Martingale {
    fn new(set_aside: Amount) -> Martingale {
        Martingale { mean: Some(FineAmount::ZERO), squares: Some(FineAmount::ZERO), leaks: Leaks::new(set_aside) }
    }

    /// Adds `times` charges, as a rule counts them.
    fn add(&mut self, rule: OdometerRule, cost: &Cost, times: u64) {
        let counted = cost.epsilon().and_then(|epsilon| self.leaks.counted(epsilon));
        let (mean, squares) = match counted {
            Some(epsilon) if epsilon.is_zero() => (Some(FineAmount::ZERO), Some(FineAmount::ZERO)),
            Some(epsilon) => (rule.mean(epsilon), Some(epsilon.square())),
            None => (None, None),
        };
        let add = |sum: Option<FineAmount>, more: Option<FineAmount>| sum?.checked_add(more?.checked_times(times)?);
        self.mean = add(self.mean, mean);
        self.squares = add(self.squares, squares);
        if rule.uses_lemma() {
            self.leaks = self.leaks.counting(cost, times);
        }
    }
}

/// A number together with the guarantee that it carries.
#[derive(Clone, Debug, PartialEq)]
pub struct Reading {
    /// The bound on the loss; infinite if there is none.
    pub value: f64,
    /// The same without rounding, where it is the sum of every ε.
    pub exact: Option<Amount>,
    /// Why the bound is infinite, with what to do.
    pub unbounded: Option<&'static str>,
    /// What the bound promises.
    pub guarantee: Guarantee,
}

impl Reading {
    /// The bound as a number to write down: its shortest decimal form is not below the truth, and is the sum itself where that is the
    /// bound and has few digits. (As a binary number 0.24 is a little below 24/100, and the next one prints as 0.24000000000000002.)
    pub fn printed(&self) -> f64 {
        self.exact.map_or(self.value, Amount::printed)
    }
}

/// What a reading promises.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Guarantee {
    /// Whether it bounds |loss|, or the loss in either order of the two worlds separately.
    pub two_sided: bool,
    /// The probability with which the loss may ever exceed the reading.
    pub delta: Amount,
}

impl fmt::Display for Guarantee {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let loss = if self.two_sided { "|loss| ≤ reading" } else { "loss ≤ reading (one-sided, in either order)" };
        match self.delta.is_zero() {
            true => write!(f, "{loss}, surely"),
            false => write!(f, "{loss} at every moment, except with probability {}", self.delta),
        }
    }
}

impl Odometer {
    /// An odometer with nothing charged.
    pub fn new(spec: OdometerSpec) -> Result<Odometer, Error> {
        require_correct_rounding()?;
        let (spec, slack) = spec.resolve()?;
        let moments = match spec.rule() {
            OdometerRule::Basic => Moments::None,
            OdometerRule::RenyiMixture => Moments::Renyi(Divergences::new(spec.scale())),
            rule => {
                let set_aside = if rule.uses_lemma() { spec.mechanism_delta } else { Amount::ZERO };
                Moments::Martingale(Box::new(Martingale::new(set_aside)))
            }
        };
        let sums = Sums { epsilon: Some(Amount::ZERO), delta: Some(Amount::ZERO), moments };
        Ok(Odometer { version: StateVersion, spec, slack, sums })
    }

    /// What was fixed when the odometer was made, with every default filled in.
    pub fn spec(&self) -> &OdometerSpec {
        &self.spec
    }

    /// Counts a charge. An error means that the rule has no theorem for such a cost; nothing is counted then.
    pub fn charge(&mut self, cost: &Cost) -> Result<(), Error> {
        self.charge_times(cost, 1)
    }

    /// Counts `times` equal charges at once, with the same result as one by one.
    pub fn charge_times(&mut self, cost: &Cost, times: u64) -> Result<(), Error> {
        self.add(&PricedCost::new(*cost), times)
    }

    /// Counts a charge whose prices may be known already, with the same result as [`charge`](Odometer::charge).
    pub fn charge_priced(&mut self, priced: &PricedCost) -> Result<(), Error> {
        self.add(priced, 1)
    }

    fn add(&mut self, priced: &PricedCost, times: u64) -> Result<(), Error> {
        let (rule, cost) = (self.spec.rule(), priced.cost());
        rule.require_takes(cost)?;
        if cost.is_free() || times == 0 {
            return Ok(());
        }
        let Sums { epsilon, delta, moments } = &mut self.sums;
        *epsilon = epsilon.and_then(|sum| sum.checked_add(cost.epsilon()?.checked_times(times)?));
        *delta = delta.and_then(|sum| sum.checked_add(cost.delta().checked_times(times)?));
        match moments {
            Moments::None => {}
            Moments::Martingale(martingale) => martingale.add(rule, cost, times),
            Moments::Renyi(divergences) => divergences.add(priced, self.spec.scale(), times),
        }
        Ok(())
    }

    /// What its readings mean, whatever was charged.
    pub fn guarantee(&self) -> Guarantee {
        Guarantee { two_sided: self.spec.rule().is_two_sided(&self.spec), delta: self.spec.level() }
    }

    /// The bound on the loss of everything charged so far.
    pub fn reading(&self) -> Reading {
        let guarantee = self.guarantee();
        let read = self.within_mechanism_delta().and_then(|()| {
            let sum = self.sums.epsilon.map_or(f64::INFINITY, Amount::upper);
            let bound = self.slack.add_to(self.pure_bound(Interval::point(sum)));
            // The slack pays for mechanisms with a δ of their own; as long as there was none, the sum of all ε needs no slack.
            let value = match self.sums.delta {
                Some(delta) if delta.is_zero() && !self.spec.rule().uses_lemma() => bound.min(Interval::point(sum)),
                _ => bound,
            };
            // Not a number means that there is no bound. What was computed goes up once more, so that its shortest decimal form is not
            // below it either; the sum is such a number already.
            match value.hi() {
                hi if hi == sum && hi < f64::INFINITY => Ok((hi, self.sums.epsilon)),
                hi if hi < f64::INFINITY => Ok((hi.max(0.0).next_up(), None)),
                _ => Err(TOO_LARGE),
            }
        });
        match read {
            Ok((value, exact)) => Reading { value, exact, unbounded: None, guarantee },
            Err(why) => Reading { value: f64::INFINITY, exact: None, unbounded: Some(why), guarantee },
        }
    }

    /// Whether the mechanisms' own δ_i are within what is set aside for them.
    fn within_mechanism_delta(&self) -> Result<(), &'static str> {
        let within = match &self.sums.moments {
            Moments::Martingale(martingale) if self.spec.rule().uses_lemma() => martingale.leaks.within(),
            _ => self.sums.delta.is_some_and(|delta| delta <= self.spec.mechanism_delta),
        };
        match within {
            true => Ok(()),
            false if self.spec.mechanism_delta.is_zero() => Err(NOTHING_SET_ASIDE),
            false => Err(SET_ASIDE_USED_UP),
        }
    }

    /// The bound for pure costs, at the level that is left when the mechanisms' own δ_i are paid for; `basic` is Σε_i.
    fn pure_bound(&self, basic: Interval) -> Interval {
        let delta = self.slack.level().interval();
        let none = Interval::point(f64::INFINITY);
        let bound = match &self.sums.moments {
            Moments::None => basic,
            Moments::Renyi(divergences) => divergences.bound(self.spec.scale(), delta),
            Moments::Martingale(martingale) => self.martingale_bound(martingale, delta).unwrap_or(none),
        };
        // Free for pure costs, and infinite for others; the paper's own odometers stand as printed.
        if self.spec.rule().uses_lemma() || bound.hi() <= basic.hi() { bound } else { basic }
    }

    /// The bound of the rules that look at the loss as a martingale; nothing if a sum is infinite.
    fn martingale_bound(&self, martingale: &Martingale, delta: Interval) -> Option<Interval> {
        let Martingale { mean, squares, leaks } = martingale;
        let (mean, squares) = ((*mean)?, (*squares)?);
        let bound = match self.spec.parameters {
            OdometerParameters::Advanced { granularity } => advanced::bound(granularity?, mean, squares, delta),
            OdometerParameters::FreeX { x } => free_x::bound(x?, mean, squares, delta),
            OdometerParameters::NormalMixture { gamma, .. } => normal_mixture::bound(gamma?, mean, squares, delta),
            OdometerParameters::Stitched { v0, .. } => stitched::bound(v0?, squares, delta),
            OdometerParameters::Basic { .. } | OdometerParameters::RenyiMixture { .. } => return None,
        };
        Some(bound + leaks.shift())
    }
}

const TOO_LARGE: &str = "the sums are too large for this rule to bound the loss";
const NOTHING_SET_ASIDE: &str = "a mechanism had a delta of its own, and nothing is set aside for it; set a part of delta aside \
                                 when the account is opened";
const SET_ASIDE_USED_UP: &str = "the mechanisms' own delta has used up what was set aside for it";

impl OdometerRule {
    /// The mean loss of one round, as the rule counts it.
    fn mean(self, epsilon: Amount) -> Option<FineAmount> {
        match self {
            OdometerRule::Advanced | OdometerRule::FreeX => {
                FineAmount::at_least(price::printed_mean(epsilon.interval().raised()).hi())
            }
            OdometerRule::NormalMixture => FineAmount::at_least(price::tight_mean(epsilon.interval().raised()).hi()),
            // Stitched counts V/2, and the others count no mean.
            _ => Some(FineAmount::ZERO),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::filter::Filter;

    #[test]
    fn an_account_takes_under_1600_bytes_so_that_hundreds_of_thousands_fit_into_memory() {
        let sums = 29 * size_of::<FineAmount>();
        let account = size_of::<Filter>() + size_of::<Odometer>() + sums;
        assert!(account < 1600, "an account takes {account} bytes");
    }
}
