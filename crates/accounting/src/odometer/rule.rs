//! The names of the odometer rules, what each takes, and their parameters.

use serde::{Deserialize, Serialize};

use super::slack::Slack;
use super::{advanced, free_x, normal_mixture, stitched};
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
    pub(crate) fn require_takes(self, cost: &Cost) -> Result<(), Error> {
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
    /// The theorem that reads.
    pub rule: OdometerRule,
    /// The δ at which the reading holds, the mechanisms' own δ_i included.
    pub at_delta: Amount,
    /// The part of it that is set aside for the mechanisms' own δ_i.
    pub mechanism_delta: Amount,
    /// The reading for which the default parameters are chosen.
    pub expected: Amount,
    /// The size of the dataset, for the advanced odometer.
    pub n: Option<u64>,
    /// The granularity γ in place of 1/n², for the advanced odometer.
    pub granularity: Option<Amount>,
    /// x, for the free-x odometer.
    pub x: Option<Amount>,
    /// γ, for the normal mixture.
    pub gamma: Option<Amount>,
    /// v₀, for the stitched odometer.
    pub v0: Option<Amount>,
    /// c of the slack lemma, for odometers beyond the paper with something set aside.
    pub slack: Option<Amount>,
}

impl OdometerSpec {
    /// A rule with its default parameters.
    pub fn new(rule: OdometerRule, at_delta: Amount) -> OdometerSpec {
        OdometerSpec {
            rule,
            at_delta,
            mechanism_delta: Amount::ZERO,
            expected: Amount::ONE,
            n: None,
            granularity: None,
            x: None,
            gamma: None,
            v0: None,
            slack: None,
        }
    }

    /// The probability with which the loss may exceed the reading.
    pub(crate) fn level(&self) -> Amount {
        let surely = self.rule == OdometerRule::Basic && self.mechanism_delta.is_zero();
        if surely { Amount::ZERO } else { self.at_delta }
    }

    /// Checks the parameters and fills in the defaults.
    pub(super) fn resolve(mut self) -> Result<(OdometerSpec, Slack), Error> {
        self.refuse_foreign_parameters()?;
        if self.at_delta >= Amount::ONE {
            return Err(Error::input(format!("a reading at delta {}: delta must be below 1", self.at_delta)));
        }
        if !self.level().is_zero() && self.mechanism_delta >= self.at_delta {
            return Err(Error::input(format!(
                "{} is set aside for the mechanisms, but the reading holds at a delta of {} in all; set less aside",
                self.mechanism_delta, self.at_delta
            )));
        }
        if self.rule != OdometerRule::Basic && self.at_delta.is_zero() {
            return Err(Error::input(format!(
                "the odometer {} needs a delta above 0 to read at (--at-delta), or use the odometer basic",
                self.rule.name()
            )));
        }
        let slack = Slack::new(&mut self)?;
        if self.rule.uses_lemma() {
            let left = self.at_delta.checked_sub(self.mechanism_delta).unwrap_or(Amount::ZERO);
            require_delta_below_one_over_e(left, &format!("the odometer {}", self.rule.name()))?;
        }
        match self.rule {
            OdometerRule::Advanced => advanced::resolve(&mut self)?,
            OdometerRule::FreeX => free_x::resolve(&mut self)?,
            OdometerRule::NormalMixture => normal_mixture::resolve(&mut self)?,
            OdometerRule::Stitched => stitched::resolve(&mut self)?,
            OdometerRule::Basic | OdometerRule::RenyiMixture => {}
        }
        Ok((self, slack))
    }

    /// A parameter of another rule is a mistake, not something to pass over.
    fn refuse_foreign_parameters(&self) -> Result<(), Error> {
        let own = |rule: OdometerRule| self.rule == rule;
        for (name, given, belongs) in [
            ("n", self.n.is_some(), own(OdometerRule::Advanced)),
            ("granularity", self.granularity.is_some(), own(OdometerRule::Advanced)),
            ("x", self.x.is_some(), own(OdometerRule::FreeX)),
            ("gamma", self.gamma.is_some(), own(OdometerRule::NormalMixture)),
            ("v0", self.v0.is_some(), own(OdometerRule::Stitched)),
            ("slack", self.slack.is_some(), !self.rule.uses_lemma()),
        ] {
            if given && !belongs {
                return Err(Error::input(format!("the odometer {} has no parameter {name}", self.rule.name())));
            }
        }
        Ok(())
    }
}

/// A parameter that must be above zero.
pub(super) fn require_positive(name: &str, value: Amount) -> Result<(), Error> {
    if value.is_zero() {
        return Err(Error::input(format!("the parameter {name} must be above 0")));
    }
    Ok(())
}
