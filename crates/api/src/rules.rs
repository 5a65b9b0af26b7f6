//! The rules of a new account, as they are asked for: the same shape in which an account shows them.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use taximeter_accounting::{
    Amount, Filter, FilterRule, FilterSpec, Granularity, Odometer, OdometerParameters, OdometerRule, OdometerSpec,
    OnHalt,
};
use utoipa::ToSchema;

use crate::account::{BudgetDocument, zero};
use crate::cost::AmountDocument;
use crate::problem::Problem;

/// A filter to decide with.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct FilterRequest {
    /// The rule that decides [default: residue; for an analyst of a dataset, the rule of the dataset's account].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<FilterRuleSchema>)]
    pub rule: Option<FilterRule>,
    /// The budget.
    pub budget: BudgetDocument,
    /// The order of the rule renyi [default: the best one for the budget].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<AmountDocument>)]
    pub order: Option<Amount>,
    /// The largest single cost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<AmountDocument>)]
    pub max_cost: Option<Amount>,
    /// After a halt: refuse, and go on with smaller costs, or stop for good.
    #[serde(default = "refuse")]
    #[schema(value_type = OnHaltSchema)]
    pub on_halt: OnHalt,
}

/// An odometer to read with.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct OdometerRequest {
    /// The rule that reads.
    #[serde(default = "renyi_mixture")]
    #[schema(value_type = OdometerRuleSchema)]
    pub rule: OdometerRule,
    /// The δ at which the reading holds [default: the budget's].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<AmountDocument>)]
    pub at_delta: Option<Amount>,
    /// The part of it that is set aside for the mechanisms' own deltas, where there is no budget to say it.
    #[serde(default = "zero")]
    #[schema(value_type = AmountDocument)]
    pub mechanism_delta: Amount,
    /// The rule's own parameters: n or granularity, x, gamma, v0, slack.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub parameters: BTreeMap<String, String>,
}

fn refuse() -> OnHalt {
    OnHalt::Refuse
}

fn renyi_mixture() -> OdometerRule {
    OdometerRule::RenyiMixture
}

#[derive(ToSchema)]
#[schema(as = FilterRule, rename_all = "kebab-case")]
#[allow(dead_code, reason = "only its schema is used")]
enum FilterRuleSchema {
    Basic,
    Advanced,
    Whitehouse,
    Zcdp,
    Renyi,
    Residue,
}

#[derive(ToSchema)]
#[schema(as = OdometerRule, rename_all = "kebab-case")]
#[allow(dead_code, reason = "only its schema is used")]
enum OdometerRuleSchema {
    Basic,
    Advanced,
    FreeX,
    NormalMixture,
    Stitched,
    RenyiMixture,
}

#[derive(ToSchema)]
#[schema(as = OnHalt, rename_all = "snake_case")]
#[allow(dead_code, reason = "only its schema is used")]
enum OnHaltSchema {
    Refuse,
    Stop,
}

impl FilterRequest {
    /// A filter with everything said.
    pub fn new(spec: &FilterSpec) -> FilterRequest {
        let FilterSpec { rule, budget, order, max_cost, on_halt } = spec.clone();
        FilterRequest { rule: Some(rule), budget: (&budget).into(), order, max_cost, on_halt }
    }

    /// The specification, with all defaults in their places.
    fn spec(&self, default: FilterRule) -> Result<FilterSpec, Problem> {
        let rule = self.rule.unwrap_or(default);
        let spec = FilterSpec {
            order: self.order,
            max_cost: self.max_cost,
            on_halt: self.on_halt,
            ..FilterSpec::new(rule, self.budget.budget()?)
        };
        if self.order.is_some() && rule != FilterRule::Renyi {
            return Err(Problem::bad_request(format!(
                "the rule {} has no order; leave it out, or choose the rule renyi",
                rule.name()
            )));
        }
        Ok(Filter::new(spec)?.spec().clone())
    }
}

impl OdometerRequest {
    /// An odometer with everything said.
    pub fn new(spec: &OdometerSpec) -> OdometerRequest {
        OdometerRequest {
            rule: spec.rule(),
            at_delta: Some(spec.at_delta),
            mechanism_delta: spec.mechanism_delta,
            parameters: parameters(spec),
        }
    }

    fn rule_with_parameters(&self) -> Result<OdometerParameters, Problem> {
        let mut given = self.parameters.clone();
        let mut amount = |name: &str| match given.remove(name) {
            Some(text) => {
                Amount::parse_exact(&text).map(Some).map_err(|error| Problem::bad_request(format!("{name}: {error}")))
            }
            None => Ok(None),
        };
        let parameters = match self.rule {
            OdometerRule::Basic => OdometerParameters::Basic { slack: amount("slack")? },
            OdometerRule::RenyiMixture => OdometerParameters::RenyiMixture { slack: amount("slack")? },
            OdometerRule::FreeX => OdometerParameters::FreeX { x: amount("x")? },
            OdometerRule::NormalMixture => {
                OdometerParameters::NormalMixture { gamma: amount("gamma")?, slack: amount("slack")? }
            }
            OdometerRule::Stitched => OdometerParameters::Stitched { v0: amount("v0")?, slack: amount("slack")? },
            OdometerRule::Advanced => {
                let gamma = amount("granularity")?.map(Granularity::Gamma);
                let records = match given.remove("n") {
                    None => None,
                    Some(text) => Some(Granularity::Records(text.parse().map_err(|_| {
                        Problem::bad_request(format!(
                            "n: {text:?} is not a number of records; write for instance 1000000"
                        ))
                    })?)),
                };
                if gamma.is_some() && records.is_some() {
                    return Err(Problem::bad_request("n and granularity say the same; give one"));
                }
                OdometerParameters::Advanced { granularity: records.or(gamma) }
            }
        };
        match given.keys().next() {
            None => Ok(parameters),
            Some(foreign) => Err(Problem::bad_request(format!(
                "the odometer {} has no parameter {foreign:?}; leave it out or choose another rule",
                self.rule.name()
            ))),
        }
    }
}

impl Default for OdometerRequest {
    fn default() -> OdometerRequest {
        let (rule, parameters) = (OdometerRule::RenyiMixture, BTreeMap::new());
        OdometerRequest { rule, at_delta: None, mechanism_delta: Amount::ZERO, parameters }
    }
}

/// The filter, if there is a budget, and the odometer, with all defaults in their places; `default` is the rule of a filter that says
/// none.
pub(crate) fn specs(
    filter: Option<&FilterRequest>,
    odometer: Option<&OdometerRequest>,
    default: FilterRule,
) -> Result<(Option<FilterSpec>, OdometerSpec), Problem> {
    let filter = filter.map(|filter| filter.spec(default)).transpose()?;
    let default = OdometerRequest::default();
    let odometer = odometer.unwrap_or(&default);
    let budget = filter.as_ref().map(|filter| &filter.budget);
    let at_delta = match (odometer.at_delta, budget) {
        (Some(at_delta), _) => at_delta,
        (None, Some(budget)) => budget.delta(),
        (None, None) => {
            return Err(Problem::bad_request(
                "without a filter the odometer needs a delta to read at; give odometer.at_delta, for instance \"1e-6\"",
            ));
        }
    };
    let mechanism_delta = match budget {
        Some(budget) if odometer.mechanism_delta.is_zero() => budget.mechanism_delta(),
        _ => odometer.mechanism_delta,
    };
    let spec = OdometerSpec {
        parameters: odometer.rule_with_parameters()?,
        at_delta,
        mechanism_delta,
        expected: budget.map_or(Amount::ONE, |budget| budget.epsilon()),
    };
    Ok((filter, Odometer::new(spec)?.spec().clone()))
}

/// The parameters of an odometer that are fixed, by name.
pub(crate) fn parameters(spec: &OdometerSpec) -> BTreeMap<String, String> {
    let amount = |name: &str, value: Option<Amount>| value.map(|value| (name.to_string(), value.to_string()));
    let granularity = |granularity: Granularity| match granularity {
        Granularity::Records(n) => ("n".to_string(), n.to_string()),
        Granularity::Gamma(gamma) => ("granularity".to_string(), gamma.to_string()),
    };
    let (own, slack) = match spec.parameters {
        OdometerParameters::Basic { slack } | OdometerParameters::RenyiMixture { slack } => (None, slack),
        OdometerParameters::Advanced { granularity: given } => (given.map(granularity), None),
        OdometerParameters::FreeX { x } => (amount("x", x), None),
        OdometerParameters::NormalMixture { gamma, slack } => (amount("gamma", gamma), slack),
        OdometerParameters::Stitched { v0, slack } => (amount("v0", v0), slack),
    };
    own.into_iter().chain(amount("slack", slack)).collect()
}
