//! Accounts: a named budget with its rules, and what was charged to it.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use taximeter_accounting::{Cost, Filter, FilterSpec, Odometer, OdometerSpec, PricedCost, Verdict};

use crate::error::{Error, ErrorKind};
use crate::name::{AccountName, check_part, excerpt};

/// Everything about an account that is fixed when it is opened.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AccountSpec {
    /// Its name. The account above it must exist.
    pub name: AccountName,
    /// What is protected: one for the whole tree, so an account below another takes it from there.
    pub privacy: Privacy,
    /// The filter that decides; nothing for an account that only reads.
    pub filter: Option<FilterSpec>,
    /// The odometer that reads.
    pub odometer: OdometerSpec,
}

/// Whose privacy an ε is about. Without it an ε means nothing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Privacy {
    /// The unit that is protected: a record, a person, a household.
    pub unit: Unit,
    /// When two datasets count as neighbours.
    pub neighbours: Neighbours,
}

impl Default for Privacy {
    fn default() -> Self {
        Privacy { unit: Unit("record".into()), neighbours: Neighbours::AddRemove }
    }
}

impl fmt::Display for Privacy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.neighbours {
            Neighbours::AddRemove => write!(f, "one {} added or removed", self.unit),
            Neighbours::Substitute => write!(f, "one {} substituted", self.unit),
        }
    }
}

/// The name of a privacy unit, such as `record` or `person`; written like a part of an account's name.
#[derive(Clone, Debug, PartialEq, Eq, derive_more::Display, Serialize, Deserialize)]
#[serde(try_from = "String")]
pub struct Unit(Arc<str>);

impl Unit {
    /// Reads the name of a unit.
    pub fn parse(text: &str) -> Result<Unit, Error> {
        check_part("unit", text, text)?;
        Ok(Unit(text.into()))
    }

    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for Unit {
    type Error = Error;
    fn try_from(text: String) -> Result<Unit, Error> {
        Unit::parse(&text)
    }
}

/// When two datasets count as neighbours.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Neighbours {
    /// One has a unit more than the other.
    #[default]
    AddRemove,
    /// One unit differs.
    Substitute,
}

impl Neighbours {
    /// The name in commands and documents.
    pub fn name(self) -> &'static str {
        match self {
            Neighbours::AddRemove => "add-remove",
            Neighbours::Substitute => "substitute",
        }
    }

    /// The relation of a name.
    pub fn from_name(name: &str) -> Result<Neighbours, Error> {
        [Neighbours::AddRemove, Neighbours::Substitute].into_iter().find(|relation| relation.name() == name).ok_or_else(
            || Error::parameter("neighbouring relation", excerpt(name), "there are add-remove and substitute"),
        )
    }
}

/// Whether an account still takes charges.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Standing {
    /// It does.
    Open,
    /// Its filter halted, and it was set to stop.
    Halted,
    /// Its owner closed it.
    Closed,
    /// The ledger was restored without knowing what was charged since; what is left is unknown, so nothing is.
    Exhausted,
}

impl Standing {
    /// The name in documents.
    pub fn name(self) -> &'static str {
        match self {
            Standing::Open => "open",
            Standing::Halted => "halted",
            Standing::Closed => "closed",
            Standing::Exhausted => "exhausted",
        }
    }
}

/// An account: a named budget with its rules, and what was charged to it.
#[derive(Clone, Debug, PartialEq)]
pub struct Account {
    name: AccountName,
    privacy: Privacy,
    filter: Option<Filter>,
    odometer: Odometer,
    standing: Standing,
    charges: u64,
    sequence: u64,
}

/// Why an account does not take a charge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// Its filter says halt.
    Filter(taximeter_accounting::Refusal),
    /// It is not open.
    NotOpen(Standing),
}

impl Reason {
    /// The parameter of the account that sets the limit, if it is not the budget itself.
    pub fn parameter(&self) -> Option<&'static str> {
        match self {
            Reason::Filter(refusal) => refusal.parameter(),
            Reason::NotOpen(_) => None,
        }
    }

    /// The reason in words.
    pub fn text(&self) -> String {
        match self {
            Reason::Filter(refusal) => refusal.reason(),
            Reason::NotOpen(Standing::Halted) => "its filter halted before, and it is set to stop for good".to_string(),
            Reason::NotOpen(Standing::Exhausted) => {
                "it is exhausted: the ledger was restored without knowing what had been charged".to_string()
            }
            Reason::NotOpen(_) => "its owner closed it".to_string(),
        }
    }
}

/// What an account makes of a charge.
#[allow(clippy::large_enum_variant, reason = "it lives for as long as a decision, and one for each payer")]
pub(crate) enum Decision {
    /// It takes it, and this is its filter afterwards.
    Admitted(Option<Filter>),
    /// It does not. `halts` says that its rule halted for good.
    Refused { reason: Reason, halts: bool },
}

impl Account {
    pub(crate) fn open(spec: AccountSpec) -> Result<Account, Error> {
        let filter = spec.filter.map(Filter::new).transpose()?;
        let odometer = Odometer::new(spec.odometer)?;
        let AccountSpec { name, privacy, .. } = spec;
        Ok(Account { name, privacy, filter, odometer, standing: Standing::Open, charges: 0, sequence: 0 })
    }

    /// Its name.
    pub fn name(&self) -> &AccountName {
        &self.name
    }

    /// What it protects.
    pub fn privacy(&self) -> &Privacy {
        &self.privacy
    }

    /// Its filter with what is spent; nothing for an account that only reads.
    pub fn filter(&self) -> Option<&Filter> {
        self.filter.as_ref()
    }

    /// Its odometer.
    pub fn odometer(&self) -> &Odometer {
        &self.odometer
    }

    /// Whether it still takes charges.
    pub fn standing(&self) -> Standing {
        self.standing
    }

    /// How many charges it paid.
    pub fn charges(&self) -> u64 {
        self.charges
    }

    /// The newest journal record about it.
    pub fn sequence(&self) -> u64 {
        self.sequence
    }

    /// The odometer's bound; nothing where there is none, or where what was charged is not known.
    pub fn reading(&self) -> Option<f64> {
        let value = self.odometer.reading().printed();
        (value.is_finite() && self.standing != Standing::Exhausted).then_some(value)
    }

    /// The share of the filter's own budget that is left, for showing; nothing without a filter.
    pub fn left(&self) -> Option<f64> {
        match self.standing {
            Standing::Open => self.filter.as_ref().map(|filter| filter.left().share),
            _ => self.filter.as_ref().map(|_| 0.0),
        }
    }

    /// What was fixed when it was opened.
    pub fn spec(&self) -> AccountSpec {
        AccountSpec {
            name: self.name.clone(),
            privacy: self.privacy.clone(),
            filter: self.filter.as_ref().map(|filter| filter.spec().clone()),
            odometer: self.odometer.spec().clone(),
        }
    }

    /// How many bytes its state takes in a store.
    pub fn stored_bytes(&self) -> usize {
        let mut state = Vec::new();
        self.write_state(&mut state);
        state.len()
    }

    /// What it makes of a list of costs, all or nothing. Changes nothing. An error means that one of its rules has no theorem for a
    /// cost.
    pub(crate) fn decide(&self, costs: &[Cost]) -> Result<Decision, Error> {
        self.require_takes(costs)?;
        if self.standing != Standing::Open {
            return Ok(Decision::Refused { reason: Reason::NotOpen(self.standing), halts: false });
        }
        let mut filter = self.filter.clone();
        let Some(after) = &mut filter else { return Ok(Decision::Admitted(None)) };
        for cost in costs {
            if let Verdict::Halt(refusal) = after.charge(cost).map_err(|source| self.unsupported(source))? {
                return Ok(Decision::Refused { reason: Reason::Filter(refusal), halts: after.is_closed() });
            }
        }
        Ok(Decision::Admitted(filter))
    }

    /// An error if one of its rules has no theorem for a cost.
    pub(crate) fn require_takes(&self, costs: &[Cost]) -> Result<(), Error> {
        for cost in costs {
            self.odometer.spec().rule().require_takes(cost).map_err(|source| self.unsupported(source))?;
            if let Some(filter) = &self.filter {
                filter.spec().rule().require_takes(cost).map_err(|source| self.unsupported(source))?;
            }
        }
        Ok(())
    }

    fn unsupported(&self, source: taximeter_accounting::Error) -> Error {
        ErrorKind::UnsupportedCost { account: self.name.clone(), source }.into()
    }

    /// Counts what was admitted.
    pub(crate) fn charge(&mut self, costs: &[Arc<PricedCost>], filter: Option<Filter>) -> Result<(), Error> {
        for cost in costs {
            self.odometer.charge_priced(cost)?;
        }
        self.filter = filter;
        self.charges += 1;
        Ok(())
    }

    /// Takes over its filter after a charge that nothing else is counted of, for a quote.
    pub(crate) fn set_filter(&mut self, filter: Option<Filter>) {
        self.filter = filter;
    }

    pub(crate) fn set_standing(&mut self, standing: Standing) {
        self.standing = standing;
    }

    pub(crate) fn set_sequence(&mut self, sequence: u64) {
        self.sequence = sequence;
    }

    /// The state in canonical bytes: what is stored and hashed.
    pub(crate) fn write_state(&self, bytes: &mut Vec<u8>) {
        let Account { name, privacy, filter, odometer, standing, charges, sequence } = self;
        let stored = (STATE_VERSION, name, privacy, standing, charges, sequence, filter, odometer);
        bytes.clear();
        postcard::to_io(&stored, bytes).expect("a state can be written to memory");
    }

    /// Reads a state, with all its checks.
    pub(crate) fn read_state(bytes: &[u8]) -> Result<Account, String> {
        let version = bytes.first().copied().unwrap_or(0);
        if version != STATE_VERSION {
            return Err(format!("it has the format {version}; this program reads format {STATE_VERSION}"));
        }
        let ((_, name, privacy, standing, charges, sequence, filter, odometer), rest) =
            postcard::take_from_bytes::<(u8, _, _, _, _, _, _, _)>(bytes).map_err(|error| error.to_string())?;
        match rest.len() {
            0 => Ok(Account { name, privacy, filter, odometer, standing, charges, sequence }),
            more => Err(format!("{more} bytes follow its end")),
        }
    }
}

/// The version of the stored form of an account.
const STATE_VERSION: u8 = 2;
