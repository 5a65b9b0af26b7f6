//! The names of the odometer rules, what each takes, and their parameters.

use serde::{Deserialize, Serialize};

use super::slack::Slack;
use super::{Granularity, advanced, free_x, normal_mixture, stitched};
use crate::amount::Amount;
use crate::cost::{Cost, CostKind};
use crate::error::Error;
use crate::filter::advanced::require_delta_below_one_over_e;

/// The theorem that reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OdometerRule {
    /// Σε_i: Theorem 3.4 of the paper.
    Basic,
    /// Theorem 6.5 of the paper.
    Advanced,
    /// Lemma 6.4 of the paper.
    FreeX,
    /// A normal mixture over the martingale's rate.
    NormalMixture,
    /// Whitehouse's stitched odometer.
    Stitched,
    /// A mixture over Rényi orders: the default.
    RenyiMixture,
}

impl OdometerRule {
    /// Every rule, the paper's own first and the default last.
    pub const ALL: [OdometerRule; 6] = [
        OdometerRule::Basic,
        OdometerRule::Advanced,
        OdometerRule::FreeX,
        OdometerRule::NormalMixture,
        OdometerRule::Stitched,
        OdometerRule::RenyiMixture,
    ];

    /// The name in commands and documents.
    pub fn name(self) -> &'static str {
        match self {
            OdometerRule::Basic => "basic",
            OdometerRule::Advanced => "advanced",
            OdometerRule::FreeX => "free-x",
            OdometerRule::NormalMixture => "normal-mixture",
            OdometerRule::Stitched => "stitched",
            OdometerRule::RenyiMixture => "renyi-mixture",
        }
    }

    /// The rule of a name.
    pub fn from_name(name: &str) -> Result<OdometerRule, Error> {
        OdometerRule::ALL.into_iter().find(|rule| rule.name() == name).ok_or_else(|| {
            let names = OdometerRule::ALL.map(OdometerRule::name).join(", ");
            Error::input(format!("there is no odometer rule {name:?}; the rules are {names}"))
        })
    }

    /// The paper, its version and the theorem.
    pub fn citation(self) -> &'static str {
        match self {
            OdometerRule::Basic => "Rogers, Roth, Ullman, Vadhan, arXiv:1605.08294 (revised), Theorem 3.4",
            OdometerRule::Advanced => "Rogers, Roth, Ullman, Vadhan, arXiv:1605.08294 (revised), Theorem 6.5",
            OdometerRule::FreeX => "Rogers, Roth, Ullman, Vadhan, arXiv:1605.08294 (revised), Lemma 6.4",
            OdometerRule::NormalMixture => {
                "Howard et al., arXiv:1810.08240v7, Section 3.2; Whitehouse et al., arXiv:2203.05481v3"
            }
            OdometerRule::Stitched => "Whitehouse, Ramdas, Rogers, Wu, arXiv:2203.05481v3, Theorem 4",
            OdometerRule::RenyiMixture => {
                "mixture of the supermartingales of Feldman, Zrnic, arXiv:2008.11193v3; docs/theory.md"
            }
        }
    }

    /// Whether the rule has a theorem for a kind of cost.
    pub fn takes(self, kind: CostKind) -> bool {
        match kind {
            CostKind::Epsilon | CostKind::Laplace | CostKind::RandomizedResponse | CostKind::Exponential => true,
            CostKind::Gaussian | CostKind::DiscreteGaussian | CostKind::Zcdp => self == OdometerRule::RenyiMixture,
        }
    }

    /// An error that names a rule that takes the cost, if this one does not.
    pub fn require_takes(self, cost: &Cost) -> Result<(), Error> {
        if self.takes(cost.kind()) {
            return Ok(());
        }
        Err(Error::unsupported_cost(format!(
            "the odometer {} has no theorem for a cost known as {cost}; use the odometer renyi-mixture",
            self.name()
        )))
    }

    /// Whether mechanisms with their own δ_i go through the corrected Lemma 3.3: the paper's own odometers. The others go
    /// through the slack lemma.
    pub(crate) fn uses_lemma(self) -> bool {
        matches!(self, OdometerRule::Advanced | OdometerRule::FreeX)
    }

    /// Whether the reading bounds |loss|.
    pub(crate) fn is_two_sided(self, spec: &OdometerSpec) -> bool {
        match self {
            OdometerRule::Advanced | OdometerRule::FreeX | OdometerRule::NormalMixture => true,
            OdometerRule::Basic => spec.mechanism_delta.is_zero(),
            OdometerRule::Stitched | OdometerRule::RenyiMixture => false,
        }
    }
}

/// Everything about an odometer that is fixed when it is made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OdometerSpec {
    /// The theorem that reads, with the parameters of its own.
    pub parameters: OdometerParameters,
    /// The δ at which the reading holds, the mechanisms' own δ_i included.
    pub at_delta: Amount,
    /// The part of it that is set aside for the mechanisms' own δ_i.
    pub mechanism_delta: Amount,
    /// The reading for which the default parameters are chosen.
    pub expected: Amount,
}

impl OdometerSpec {
    /// A rule with its default parameters.
    pub fn new(rule: OdometerRule, at_delta: Amount) -> OdometerSpec {
        OdometerSpec { parameters: rule.into(), at_delta, mechanism_delta: Amount::ZERO, expected: Amount::ONE }
    }

    /// The theorem that reads.
    pub fn rule(&self) -> OdometerRule {
        self.parameters.rule()
    }

    /// The probability with which the loss may exceed the reading.
    pub(crate) fn level(&self) -> Amount {
        let surely = self.rule() == OdometerRule::Basic && self.mechanism_delta.is_zero();
        if surely { Amount::ZERO } else { self.at_delta }
    }

    /// Checks the parameters and fills in the defaults.
    pub(super) fn resolve(mut self) -> Result<(OdometerSpec, Slack), Error> {
        let rule = self.rule();
        if self.at_delta >= Amount::ONE {
            return Err(Error::input(format!("a reading at delta {}: delta must be below 1", self.at_delta)));
        }
        if !self.level().is_zero() && self.mechanism_delta >= self.at_delta {
            return Err(Error::input(format!(
                "{} is set aside for the mechanisms, but the reading holds at a delta of {} in all; set less aside",
                self.mechanism_delta, self.at_delta
            )));
        }
        if rule != OdometerRule::Basic && self.at_delta.is_zero() {
            return Err(Error::input(format!(
                "the odometer {} needs a delta above 0 to read at (--at-delta), or use the odometer basic",
                rule.name()
            )));
        }
        let slack = Slack::new(&mut self)?;
        if rule.uses_lemma() {
            let left = self.at_delta.checked_sub(self.mechanism_delta).unwrap_or(Amount::ZERO);
            require_delta_below_one_over_e(left, &format!("the odometer {}", rule.name()))?;
        }
        let (expected, at_delta) = (self.expected, self.at_delta);
        match &mut self.parameters {
            OdometerParameters::Advanced { granularity } => {
                granularity.get_or_insert(advanced::DEFAULT_GRANULARITY).check()?;
            }
            OdometerParameters::FreeX { x } => {
                require_positive("x", *x.get_or_insert_with(|| free_x::default_x(expected, at_delta)))?;
            }
            OdometerParameters::NormalMixture { gamma, .. } => {
                let default = || normal_mixture::default_gamma(expected, at_delta);
                require_positive("gamma", *gamma.get_or_insert_with(default))?;
            }
            OdometerParameters::Stitched { v0, .. } => {
                require_positive("v0", *v0.get_or_insert_with(|| stitched::default_v0(expected, at_delta)))?;
            }
            OdometerParameters::Basic { .. } | OdometerParameters::RenyiMixture { .. } => {}
        }
        Ok((self, slack))
    }
}

/// A rule with the parameters that it has, and no others. Where nothing is given, the default is filled in when an odometer is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum OdometerParameters {
    /// Σε_i.
    Basic {
        /// c of the slack lemma, where something is set aside.
        slack: Option<Amount>,
    },
    /// Theorem 6.5 of the paper.
    Advanced {
        /// The smallest Σε_i² that matters.
        granularity: Option<Granularity>,
    },
    /// Lemma 6.4 of the paper.
    FreeX {
        /// x.
        x: Option<Amount>,
    },
    /// A normal mixture over the martingale's rate.
    NormalMixture {
        /// γ.
        gamma: Option<Amount>,
        /// c of the slack lemma, where something is set aside.
        slack: Option<Amount>,
    },
    /// Whitehouse's stitched odometer.
    Stitched {
        /// v₀.
        v0: Option<Amount>,
        /// c of the slack lemma, where something is set aside.
        slack: Option<Amount>,
    },
    /// A mixture over Rényi orders.
    RenyiMixture {
        /// c of the slack lemma, where something is set aside.
        slack: Option<Amount>,
    },
}

impl OdometerParameters {
    /// The rule whose parameters these are.
    pub fn rule(&self) -> OdometerRule {
        match self {
            OdometerParameters::Basic { .. } => OdometerRule::Basic,
            OdometerParameters::Advanced { .. } => OdometerRule::Advanced,
            OdometerParameters::FreeX { .. } => OdometerRule::FreeX,
            OdometerParameters::NormalMixture { .. } => OdometerRule::NormalMixture,
            OdometerParameters::Stitched { .. } => OdometerRule::Stitched,
            OdometerParameters::RenyiMixture { .. } => OdometerRule::RenyiMixture,
        }
    }

    /// Where the c of the slack lemma stands; the paper's own odometers have none.
    pub(crate) fn slack_mut(&mut self) -> Option<&mut Option<Amount>> {
        match self {
            OdometerParameters::Basic { slack }
            | OdometerParameters::NormalMixture { slack, .. }
            | OdometerParameters::Stitched { slack, .. }
            | OdometerParameters::RenyiMixture { slack } => Some(slack),
            OdometerParameters::Advanced { .. } | OdometerParameters::FreeX { .. } => None,
        }
    }
}

impl From<OdometerRule> for OdometerParameters {
    /// The rule with its default parameters.
    fn from(rule: OdometerRule) -> OdometerParameters {
        match rule {
            OdometerRule::Basic => OdometerParameters::Basic { slack: None },
            OdometerRule::Advanced => OdometerParameters::Advanced { granularity: None },
            OdometerRule::FreeX => OdometerParameters::FreeX { x: None },
            OdometerRule::NormalMixture => OdometerParameters::NormalMixture { gamma: None, slack: None },
            OdometerRule::Stitched => OdometerParameters::Stitched { v0: None, slack: None },
            OdometerRule::RenyiMixture => OdometerParameters::RenyiMixture { slack: None },
        }
    }
}

/// A parameter that must be above zero.
fn require_positive(name: &str, value: Amount) -> Result<(), Error> {
    if value.is_zero() {
        return Err(Error::input(format!("the parameter {name} must be above 0")));
    }
    Ok(())
}
