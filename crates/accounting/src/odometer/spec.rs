//! What is fixed when an odometer is made: its rule, the parameters of the rule, and the level at which it reads.

use super::rule::{GAMMA, SCALE, SLACK, V0, X};
use super::slack::Slack;
use super::{Granularity, OdometerRule, advanced, free_x, normal_mixture, renyi_mixture, stitched};
use crate::amount::Amount;
use crate::budget::Budget;
use crate::cost::Number;
use crate::error::Error;
use crate::filter::advanced::require_delta_below_one_over_e;
use crate::parameter::{self, Given};

/// Everything about an odometer that is fixed when it is made.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(deny_unknown_fields))]
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

    /// The odometer of an account with a filter: it reads at the budget's δ, sets aside what the budget does, and knows the scale
    /// of its ride. A budget without a δ goes with the odometer basic alone.
    ///
    /// ```
    /// use taximeter_accounting::{Budget, Odometer, OdometerRule, OdometerSpec};
    ///
    /// let budget = Budget::parse("1,1e-6")?;
    /// let odometer = Odometer::new(OdometerSpec::beside(OdometerRule::RenyiMixture, &budget))?;
    /// assert_eq!(odometer.spec().at_delta, budget.delta());
    /// # Ok::<(), taximeter_accounting::Error>(())
    /// ```
    pub fn beside(rule: OdometerRule, budget: &Budget) -> OdometerSpec {
        let spec = OdometerSpec {
            mechanism_delta: budget.mechanism_delta(),
            expected: budget.epsilon(),
            ..OdometerSpec::new(rule, budget.delta())
        };
        spec.with_scale_of(budget)
    }

    /// The same with the scale of a budget, where the rule has one and none was given: for an odometer beside a filter whose δ or
    /// slack was chosen by hand.
    pub fn with_scale_of(mut self, budget: &Budget) -> OdometerSpec {
        // The order that matters depends on the level that is left when the mechanisms' own δ_i are paid for. Where nothing is left
        // there is no odometer either, which is told when it is made.
        let level = Slack::new(&mut self.clone()).map(|slack| slack.level());
        if let (OdometerParameters::RenyiMixture { scale: scale @ None, .. }, Ok(level)) = (&mut self.parameters, level)
        {
            *scale = renyi_mixture::default_scale(budget, level);
        }
        self
    }

    /// The theorem that reads.
    pub fn rule(&self) -> OdometerRule {
        self.parameters.rule()
    }

    /// The scale of the Rényi mixture, if it has one.
    pub(super) fn scale(&self) -> Option<Amount> {
        match self.parameters {
            OdometerParameters::RenyiMixture { scale, .. } => scale,
            _ => None,
        }
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
            return Err(Error::parameter("at_delta", self.at_delta, "it must be below 1"));
        }
        if !self.level().is_zero() && self.mechanism_delta >= self.at_delta {
            let needs = format!("the reading holds at a delta of {} in all; set less aside", self.at_delta);
            return Err(Error::parameter("mechanism_delta", self.mechanism_delta, needs));
        }
        if rule.needs_delta() && self.at_delta.is_zero() {
            let sure = OdometerRule::default_at(Amount::ZERO).name();
            let needs = format!("the odometer {} needs a delta above 0 to read at; or use {sure}", rule.name());
            return Err(Error::parameter("at_delta", self.at_delta, needs));
        }
        let slack = Slack::new(&mut self)?;
        if rule.uses_lemma() {
            let left = self.at_delta.checked_sub(self.mechanism_delta).unwrap_or(Amount::ZERO);
            require_delta_below_one_over_e(left, rule.name())?;
        }
        let (expected, at_delta) = (self.expected, self.at_delta);
        match &mut self.parameters {
            OdometerParameters::Advanced { granularity } => {
                granularity.get_or_insert(advanced::DEFAULT_GRANULARITY).check()?;
            }
            OdometerParameters::FreeX { x } => {
                x.get_or_insert_with(|| free_x::default_x(expected, at_delta));
            }
            OdometerParameters::NormalMixture { gamma, .. } => {
                gamma.get_or_insert_with(|| normal_mixture::default_gamma(expected, at_delta));
            }
            OdometerParameters::Stitched { v0, .. } => {
                v0.get_or_insert_with(|| stitched::default_v0(expected, at_delta));
            }
            // Without a scale the prior is wide: nothing is filled in.
            OdometerParameters::Basic { .. } | OdometerParameters::RenyiMixture { .. } => {}
        }
        for (number, value) in self.parameters.amounts() {
            value.map_or(Ok(()), |value| number.check(value))?;
        }
        Ok((self, slack))
    }
}

/// A rule with the parameters that it has, and no others. Where nothing is given, the default is filled in when an odometer is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(rename_all = "kebab-case", deny_unknown_fields)
)]
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
        /// s, where the scale of the ride is known: the smallest α − 1 of the four orders that take most of the weight.
        scale: Option<Amount>,
        /// c of the slack lemma, where something is set aside.
        slack: Option<Amount>,
    },
}

impl OdometerParameters {
    /// The default parameters of every rule, in the order of the rules.
    const DEFAULTS: [Self; 6] = [
        Self::Basic { slack: None },
        Self::Advanced { granularity: None },
        Self::FreeX { x: None },
        Self::NormalMixture { gamma: None, slack: None },
        Self::Stitched { v0: None, slack: None },
        Self::RenyiMixture { scale: None, slack: None },
    ];

    /// A rule with parameters that were given by name; those that it does not have are an error.
    pub fn read(rule: OdometerRule, given: Given) -> Result<OdometerParameters, Error> {
        parameter::require_known(rule.name(), rule.parameters(), &given)?;
        let mut parameters = rule.into();
        if let OdometerParameters::Advanced { granularity } = &mut parameters {
            *granularity = Granularity::read(&given)?;
        }
        for (number, value) in parameters.amounts() {
            *value = given.amount(number.name)?;
        }
        Ok(parameters)
    }

    /// The parameters that are fixed, by name.
    pub fn named(&self) -> Vec<(&'static str, String)> {
        match *self {
            OdometerParameters::Advanced { granularity } => granularity.iter().map(Granularity::named).collect(),
            mut parameters => {
                let amounts = parameters.amounts().into_iter();
                amounts.filter_map(|(number, value)| Some((number.name, (*value)?.to_string()))).collect()
            }
        }
    }

    /// The parameters that are amounts: all but the granularity.
    fn amounts(&mut self) -> Vec<(Number, &mut Option<Amount>)> {
        match self {
            OdometerParameters::Basic { slack } => vec![(SLACK, slack)],
            OdometerParameters::Advanced { .. } => vec![],
            OdometerParameters::FreeX { x } => vec![(X, x)],
            OdometerParameters::NormalMixture { gamma, slack } => vec![(GAMMA, gamma), (SLACK, slack)],
            OdometerParameters::Stitched { v0, slack } => vec![(V0, v0), (SLACK, slack)],
            OdometerParameters::RenyiMixture { scale, slack } => vec![(SCALE, scale), (SLACK, slack)],
        }
    }

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
        self.amounts().into_iter().find(|(number, _)| number.name == SLACK.name).map(|(_, slack)| slack)
    }
}

impl From<OdometerRule> for OdometerParameters {
    /// The rule with its default parameters.
    fn from(rule: OdometerRule) -> OdometerParameters {
        OdometerParameters::DEFAULTS[rule as usize]
    }
}
