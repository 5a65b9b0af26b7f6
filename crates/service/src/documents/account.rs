//! Accounts: documents, lists, and requests to open and close them.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;
use taximeter_accounting::{Amount, Balance, Budget, FilterParameters, FilterRule, OdometerParameters, OnHalt};
use taximeter_ledger::{
    Account, AccountName, AccountSpec, Computed, Hash, LedgerId, Neighbours, Note, Privacy, RawRecord, Receipt,
    RefusedCharge, Sight, Standing, Unit, Who,
};
use utoipa::{PartialSchema, ToSchema};

use crate::documents::problem::Problem;
use crate::documents::rules::{FilterRequest, OdometerRequest, named};

/// Everything about an account.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct AccountDocument {
    /// Its name.
    pub account: AccountName,
    /// Whether it takes charges: open, halted, closed or exhausted.
    pub standing: Standing,
    /// The first account from the root that takes no charges and so blocks this one.
    pub blocked_by: Option<AccountName>,
    /// The standing of that account.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub blocked_standing: Option<Standing>,
    /// The unit that is protected.
    pub unit: Unit,
    /// When two datasets count as neighbours: add-remove or substitute.
    pub neighbours: Neighbours,
    /// The filter that decides; null for an account that only reads.
    pub filter: Option<FilterDocument>,
    /// The odometer that reads.
    pub odometer: OdometerDocument,
    /// The odometer's bound; null where there is none.
    pub reading: Option<Computed>,
    /// Why there is no bound, if there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reading_reason: Option<String>,
    /// How many charges it paid.
    pub charges: u64,
    /// The newest journal record about it.
    pub newest_record: u64,
}

/// A filter with what is spent and left.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct FilterDocument {
    /// The rule that decides.
    pub rule: String,
    /// The budget.
    pub budget: BudgetDocument,
    /// The rule's own parameters.
    #[schema(schema_with = FilterParameters::schema)]
    pub parameters: BTreeMap<String, String>,
    /// The largest single cost.
    pub max_cost: Option<Amount>,
    /// What happens on a halt: refuse or stop.
    pub on_halt: OnHalt,
    /// What it promises.
    pub guarantee: String,
    /// The paper, its version and the theorem.
    pub citation: String,
    /// What is spent.
    pub spent: BalanceDocument,
    /// What is left.
    pub left: BalanceDocument,
}

/// A budget.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct BudgetDocument {
    /// ε.
    pub epsilon: Amount,
    /// δ.
    #[serde(default = "zero")]
    pub delta: Amount,
    /// The part of δ that is set aside for the mechanisms' own deltas.
    #[serde(default = "zero")]
    pub mechanism_delta: Amount,
}

pub(crate) fn zero() -> Amount {
    Amount::ZERO
}

impl From<&Budget> for BudgetDocument {
    fn from(budget: &Budget) -> Self {
        let (epsilon, delta) = (budget.epsilon(), budget.delta());
        BudgetDocument { epsilon, delta, mechanism_delta: budget.mechanism_delta() }
    }
}

impl BudgetDocument {
    /// The budget, if it is valid.
    pub fn budget(&self) -> Result<Budget, taximeter_accounting::Error> {
        Budget::new(self.epsilon, self.delta)?.with_mechanism_delta(self.mechanism_delta)
    }
}

/// What is spent or left.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct BalanceDocument {
    /// Σε; null if a cost had none.
    pub epsilon: Option<Amount>,
    /// Σδ.
    pub delta: Amount,
    /// The share of the filter's own budget.
    pub share: Computed,
}

impl From<Balance> for BalanceDocument {
    fn from(balance: Balance) -> Self {
        BalanceDocument { epsilon: balance.epsilon, delta: balance.delta, share: Computed(balance.share) }
    }
}

/// An odometer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct OdometerDocument {
    /// The rule that reads.
    pub rule: String,
    /// The δ at which the reading holds.
    pub at_delta: Amount,
    /// The part of it that is set aside for the mechanisms' own deltas.
    pub mechanism_delta: Amount,
    /// The rule's own parameters.
    #[schema(schema_with = OdometerParameters::schema)]
    pub parameters: BTreeMap<String, String>,
    /// What a reading means.
    pub guarantee: String,
    /// The paper, its version and the theorem.
    pub citation: String,
}

impl AccountDocument {
    /// An account. `blocked_by` is the account that keeps it from taking charges, shown if `sight` allows.
    pub fn new(account: &Account, blocked_by: Option<&Account>, sight: &Sight) -> AccountDocument {
        let blocking = blocked_by.filter(|other| sight.sees(other.name()));
        let spec = account.odometer().spec();
        AccountDocument {
            account: account.name().clone(),
            standing: account.standing(),
            blocked_by: blocking.map(|other| other.name().clone()),
            blocked_standing: blocking.map(Account::standing),
            unit: account.privacy().unit.clone(),
            neighbours: account.privacy().neighbours,
            filter: filter(account),
            odometer: OdometerDocument {
                rule: spec.rule().name().to_string(),
                at_delta: spec.at_delta,
                mechanism_delta: spec.mechanism_delta,
                parameters: named(spec.parameters.named()),
                guarantee: account.odometer().guarantee().to_string(),
                citation: spec.rule().citation().to_string(),
            },
            reading: account.reading().map(Computed),
            reading_reason: unbounded(account).map(str::to_string),
            charges: account.charges(),
            newest_record: account.sequence(),
        }
    }

    /// What it protects.
    pub fn privacy(&self) -> Privacy {
        Privacy { unit: self.unit.clone(), neighbours: self.neighbours }
    }

    /// The share of the budget that is left; `None` without a filter.
    pub fn left(&self) -> Option<f64> {
        self.filter.as_ref().map(|filter| filter.left.share.0)
    }
}

fn filter(account: &Account) -> Option<FilterDocument> {
    let filter = account.filter()?;
    let spec = filter.spec();
    Some(FilterDocument {
        rule: spec.rule().name().to_string(),
        budget: (&spec.budget).into(),
        parameters: named(spec.parameters.named()),
        max_cost: spec.max_cost,
        on_halt: spec.on_halt,
        guarantee: filter.guarantee(),
        citation: spec.rule().citation().to_string(),
        spent: filter.spent().into(),
        left: match account.standing() {
            Standing::Open => filter.left().into(),
            _ => BalanceDocument { epsilon: Some(Amount::ZERO), delta: Amount::ZERO, share: Computed(0.0) },
        },
    })
}

/// Why an account has no reading; `None` if it has one.
pub fn unbounded(account: &Account) -> Option<&'static str> {
    match account.standing() {
        Standing::Exhausted => Some("what was charged is not known: the ledger was restored without it"),
        _ => account.odometer().reading().unbounded,
    }
}

/// The topmost account on the path from the root to this one that takes no charges; `None` if all do.
pub fn blocked_by<'a>(account: &Account, find: impl Fn(&AccountName) -> Option<&'a Account>) -> Option<&'a Account> {
    let mut name = Some(account.name().clone());
    let mut blocking = None;
    while let Some(current) = name {
        blocking = find(&current).filter(|account| account.standing() != Standing::Open).or(blocking);
        name = current.parent();
    }
    blocking
}

/// Accounts, sorted by the parts of their names: the accounts below one follow it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct AccountList {
    /// The ledger.
    pub ledger: LedgerId,
    /// The accounts.
    pub accounts: Vec<AccountDocument>,
    /// Recent refusals; omitted if no server remembers them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refusals: Option<RefusalList>,
}

/// Refusals since the server started: the journal does not have them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct RefusalList {
    /// How many there were; for a token that does not see all accounts, how many of the newest are its own.
    pub count: u64,
    /// The newest, newest first.
    pub newest: Vec<RefusedCharge>,
}

impl AccountList {
    /// The accounts that `sight` shows.
    pub fn new(ledger: LedgerId, all: &[Account], sight: &Sight) -> AccountList {
        let by_name: std::collections::HashMap<&AccountName, &Account> =
            all.iter().map(|account| (account.name(), account)).collect();
        let mut accounts: Vec<&Account> = all.iter().filter(|account| sight.sees(account.name())).collect();
        accounts.sort_by(|one, other| one.name().as_str().split('/').cmp(other.name().as_str().split('/')));
        let document = |account: &&Account| {
            AccountDocument::new(account, blocked_by(account, |name| by_name.get(name).copied()), sight)
        };
        AccountList { ledger, accounts: accounts.iter().map(document).collect(), refusals: None }
    }
}

/// An account to open. Omitted fields have defaults.
#[skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(examples(
    json!({"account": "census/carol", "filter": {"budget": {"epsilon": "0.5", "delta": "1e-6"}}}),
    json!({"account": "surveys", "odometer": {"rule": "renyi-mixture", "at_delta": "1e-6"}})
))]
pub struct NewAccount {
    /// Its name, such as `census` or `census/alice`; the account above it must exist.
    pub account: AccountName,
    /// The unit that is protected [default: record, or that of the account above].
    pub unit: Option<Unit>,
    /// When two datasets count as neighbours [default: add-remove, or that of the account above].
    pub neighbours: Option<Neighbours>,
    /// The filter with its budget; without one the account only reads.
    pub filter: Option<FilterRequest>,
    /// The odometer; left out, the default rule at the budget's δ.
    pub odometer: Option<OdometerRequest>,
}

impl NewAccount {
    /// The request for a specification.
    pub fn new(spec: &AccountSpec, unit: Option<Unit>, neighbours: Option<Neighbours>) -> NewAccount {
        NewAccount {
            account: spec.name.clone(),
            unit,
            neighbours,
            filter: spec.filter.as_ref().map(FilterRequest::from),
            odometer: Some(OdometerRequest::from(&spec.odometer)),
        }
    }

    /// The specification. An omitted unit or relation of neighbours is that of the account above.
    pub fn spec(&self, above: Option<&Account>) -> Result<AccountSpec, Problem> {
        let privacy = above.map_or_else(Privacy::default, |account| account.privacy().clone());
        let (filter, odometer) =
            crate::documents::rules::specs(self.filter.as_ref(), self.odometer.as_ref(), FilterRule::default())?;
        Ok(AccountSpec {
            name: self.account.clone(),
            privacy: Privacy {
                unit: self.unit.clone().unwrap_or(privacy.unit),
                neighbours: self.neighbours.unwrap_or(privacy.neighbours),
            },
            filter,
            odometer,
        })
    }
}

/// An account that was opened.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct Opened {
    /// `opened`.
    pub outcome: String,
    /// The ledger.
    pub ledger: LedgerId,
    /// The place of the record in the journal.
    pub sequence: u64,
    /// The hash of the record.
    pub hash: Hash,
    /// The record as it stands in the journal.
    pub record: RawRecord,
    /// Whether the ledger was created for it; omitted by a server.
    pub ledger_created: Option<bool>,
    /// The path of the witness; omitted by a server.
    pub witness: Option<String>,
    /// The account.
    pub account: AccountDocument,
    /// Warnings for the owner.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
}

/// A request to close an account.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(examples(json!({"note": "the study has ended"})))]
pub struct CloseRequest {
    /// Who closes it, if no token says so.
    pub by: Option<Who>,
    /// Why.
    pub note: Option<Note>,
}

/// An account that was closed.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct Closed {
    /// `closed`.
    pub outcome: String,
    /// The ledger.
    pub ledger: LedgerId,
    /// The place of the record in the journal.
    pub sequence: u64,
    /// The hash of the record.
    pub hash: Hash,
    /// The record as it stands in the journal.
    pub record: RawRecord,
    /// The account.
    pub account: AccountDocument,
}

impl Opened {
    /// An account with the record that opened it.
    pub fn new(receipt: &Receipt, account: &Account, warnings: Vec<String>) -> Opened {
        Opened {
            outcome: "opened".to_string(),
            ledger: receipt.ledger(),
            sequence: receipt.sequence(),
            hash: receipt.hash(),
            record: receipt.raw_record(),
            ledger_created: None,
            witness: None,
            account: AccountDocument::new(account, None, &Sight::All),
            warnings,
        }
    }
}

impl Closed {
    /// An account with the record that closed it.
    pub fn new(receipt: &Receipt, account: &Account) -> Closed {
        Closed {
            outcome: "closed".to_string(),
            ledger: receipt.ledger(),
            sequence: receipt.sequence(),
            hash: receipt.hash(),
            record: receipt.raw_record(),
            account: AccountDocument::new(account, Some(account), &Sight::All),
        }
    }
}
