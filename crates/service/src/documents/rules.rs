//! The rules requested for a new account, in the same shape in which an account shows them.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;
use taximeter_accounting::{
    Amount, Filter, FilterParameters, FilterRule, FilterSpec, Odometer, OdometerParameters, OdometerRule, OdometerSpec,
    OnHalt,
};
use utoipa::{PartialSchema, ToSchema};

use crate::documents::account::{BudgetDocument, zero};
use crate::documents::cost::DeclaredCost;
use crate::documents::problem::Problem;

/// A filter to create.
#[skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct FilterRequest {
    /// The rule that decides [default: the default rule; for an analyst of a dataset, the rule of the dataset's account].
    pub rule: Option<FilterRule>,
    /// The budget.
    pub budget: BudgetDocument,
    /// The rule's own parameters, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schema(schema_with = FilterParameters::schema)]
    pub parameters: BTreeMap<String, String>,
    /// An expected cost: omitted parameters are chosen for it.
    #[serde(rename = "for")]
    pub expected: Option<DeclaredCost>,
    /// The largest single cost.
    pub max_cost: Option<Amount>,
    /// After a halt: refuse, and go on with smaller costs, or stop for good.
    #[serde(default = "refuse")]
    pub on_halt: OnHalt,
}

/// An odometer to create.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct OdometerRequest {
    /// The rule that reads [default: the default rule, or basic if there is no δ to read at].
    pub rule: Option<OdometerRule>,
    /// The δ at which the reading holds [default: the budget's].
    pub at_delta: Option<Amount>,
    /// The part of it that is set aside for the mechanisms' own deltas, if there is no budget that says so.
    #[serde(default = "zero")]
    pub mechanism_delta: Amount,
    /// The rule's own parameters, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schema(schema_with = OdometerParameters::schema)]
    pub parameters: BTreeMap<String, String>,
}

fn refuse() -> OnHalt {
    OnHalt::Refuse
}

impl FilterRequest {
    /// A filter for a budget, with every default.
    pub fn new(rule: Option<FilterRule>, budget: BudgetDocument) -> FilterRequest {
        let parameters = BTreeMap::new();
        FilterRequest { rule, budget, parameters, expected: None, max_cost: None, on_halt: OnHalt::Refuse }
    }

    /// The specification, with all defaults filled in.
    fn spec(&self, default: FilterRule) -> Result<FilterSpec, Problem> {
        let rule = self.rule.unwrap_or(default);
        let mut spec = FilterSpec {
            parameters: FilterParameters::read(rule, self.parameters.iter().collect())?,
            max_cost: self.max_cost,
            on_halt: self.on_halt,
            ..FilterSpec::new(rule, self.budget.budget()?)
        };
        if let Some(expected) = &self.expected {
            spec = spec.expecting(&expected.0)?;
        }
        Ok(Filter::new(spec)?.spec().clone())
    }
}

impl From<&FilterSpec> for FilterRequest {
    /// A filter with every field given.
    fn from(spec: &FilterSpec) -> FilterRequest {
        FilterRequest {
            parameters: named(spec.parameters.named()),
            max_cost: spec.max_cost,
            on_halt: spec.on_halt,
            ..FilterRequest::new(Some(spec.rule()), (&spec.budget).into())
        }
    }
}

impl From<&OdometerSpec> for OdometerRequest {
    /// An odometer with every field given.
    fn from(spec: &OdometerSpec) -> OdometerRequest {
        OdometerRequest {
            rule: Some(spec.rule()),
            at_delta: Some(spec.at_delta),
            mechanism_delta: spec.mechanism_delta,
            parameters: named(spec.parameters.named()),
        }
    }
}

/// The filter, if there is a budget, and the odometer, with all defaults filled in; `default` is the rule of a filter that names none.
pub fn specs(
    filter: Option<&FilterRequest>,
    odometer: Option<&OdometerRequest>,
    default: FilterRule,
) -> Result<(Option<FilterSpec>, OdometerSpec), Problem> {
    let filter = filter.map(|filter| filter.spec(default)).transpose()?;
    let all_defaults = OdometerRequest::default();
    let OdometerRequest { rule, at_delta, mechanism_delta, parameters } = odometer.unwrap_or(&all_defaults);
    let budget = filter.as_ref().map(|filter| &filter.budget);
    let at_delta = match (at_delta, budget) {
        (Some(at_delta), _) => *at_delta,
        (None, Some(budget)) => budget.delta(),
        (None, None) if rule.is_some_and(|rule| !rule.needs_delta()) && mechanism_delta.is_zero() => Amount::ZERO,
        (None, None) => {
            return Err(Problem::bad_request(
                "without a budget the odometer needs a delta to read at; give one, for instance at_delta 1e-6",
            ));
        }
    };
    let rule = rule.unwrap_or_else(|| OdometerRule::default_at(at_delta));
    let spec = OdometerSpec {
        parameters: OdometerParameters::read(rule, parameters.iter().collect())?,
        at_delta,
        mechanism_delta: match budget {
            Some(budget) if mechanism_delta.is_zero() => budget.mechanism_delta(),
            _ => *mechanism_delta,
        },
        expected: budget.map_or(Amount::ONE, |budget| budget.epsilon()),
    };
    let spec = budget.map_or_else(|| spec.clone(), |budget| spec.clone().with_scale_of(budget));
    Ok((filter, Odometer::new(spec)?.spec().clone()))
}

/// Fixed parameters, by name.
pub(crate) fn named(parameters: Vec<(&'static str, String)>) -> BTreeMap<String, String> {
    parameters.into_iter().map(|(name, value)| (name.to_string(), value)).collect()
}
