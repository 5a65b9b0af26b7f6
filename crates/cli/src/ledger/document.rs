//! An account as JSON.

use std::collections::BTreeMap;

use serde::Serialize;
use taximeter_accounting::{Amount, OnHalt};
use taximeter_ledger::{Account, AccountName, Neighbours, Standing, Unit};

use crate::args::shown_parameters;
use crate::ledger::show;
use crate::output::{BalanceJson, BudgetJson, Computed};

/// Everything about an account, as JSON.
#[derive(Serialize)]
pub struct AccountJson<'a> {
    account: &'a AccountName,
    standing: &'static str,
    /// The first account from the root that takes no charges, and so keeps this one from taking any.
    blocked_by: Option<&'a AccountName>,
    unit: &'a Unit,
    neighbours: Neighbours,
    filter: Option<FilterJson>,
    odometer: OdometerJson,
    reading: Option<Computed>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reading_reason: Option<&'static str>,
    charges: u64,
    newest_record: u64,
}

#[derive(Serialize)]
struct FilterJson {
    rule: &'static str,
    budget: BudgetJson,
    order: Option<Amount>,
    max_cost: Option<Amount>,
    on_halt: OnHalt,
    guarantee: String,
    citation: &'static str,
    spent: BalanceJson,
    left: BalanceJson,
}

#[derive(Serialize)]
struct OdometerJson {
    rule: &'static str,
    at_delta: Amount,
    mechanism_delta: Amount,
    parameters: BTreeMap<&'static str, String>,
    guarantee: String,
    citation: &'static str,
}

impl<'a> AccountJson<'a> {
    /// An account, and what keeps it from taking charges.
    pub fn new(account: &'a Account, blocked_by: Option<&'a AccountName>) -> AccountJson<'a> {
        let filter = account.filter().map(|filter| {
            let spec = filter.spec();
            FilterJson {
                rule: spec.rule.name(),
                budget: (&spec.budget).into(),
                order: spec.order,
                max_cost: spec.max_cost,
                on_halt: spec.on_halt,
                guarantee: filter.guarantee(),
                citation: spec.rule.citation(),
                spent: filter.spent().into(),
                left: match account.standing() {
                    Standing::Open => filter.left().into(),
                    _ => BalanceJson { epsilon: Some(Amount::ZERO), delta: Amount::ZERO, share: Computed(0.0) },
                },
            }
        });
        let spec = account.odometer().spec();
        let flag = |(name, value): (&'static str, String)| (name.trim_start_matches("--"), value);
        AccountJson {
            account: account.name(),
            standing: account.standing().name(),
            blocked_by,
            unit: &account.privacy().unit,
            neighbours: account.privacy().neighbours,
            filter,
            odometer: OdometerJson {
                rule: spec.rule().name(),
                at_delta: spec.at_delta,
                mechanism_delta: spec.mechanism_delta,
                parameters: shown_parameters(spec).into_iter().map(flag).collect(),
                guarantee: account.odometer().reading().guarantee.to_string(),
                citation: spec.rule().citation(),
            },
            reading: account.reading().map(Computed),
            reading_reason: show::unbounded(account),
            charges: account.charges(),
            newest_record: account.sequence(),
        }
    }
}
