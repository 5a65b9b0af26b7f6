//! Parameters of rules, given by name.

use std::collections::BTreeMap;

use crate::amount::Amount;
use crate::cost::Number;
use crate::error::{Error, ErrorKind, excerpt};

/// The parameters that were given, by name, as text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Given(BTreeMap<String, String>);

impl Given {
    /// Whether a parameter was given.
    pub fn has(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    /// An amount, which must not need rounding; nothing if it was not given.
    pub(crate) fn amount(&self, name: &'static str) -> Result<Option<Amount>, Error> {
        let parse = |text: &String| Amount::parse_exact(text).map_err(|error| unreadable(name, text, error));
        self.0.get(name).map(parse).transpose()
    }

    /// A whole number; nothing if it was not given.
    pub(crate) fn whole(&self, name: &'static str) -> Result<Option<u64>, Error> {
        let parse = |text: &String| text.trim().parse().map_err(|_| unreadable(name, text, "write a whole number"));
        self.0.get(name).map(parse).transpose()
    }

    /// Those of these parameters that a rule has.
    pub fn only(&self, parameters: &[Number]) -> Given {
        let has = |name: &str| parameters.iter().any(|parameter| parameter.name == name);
        Given(self.0.iter().filter(|(name, _)| has(name)).map(|(name, text)| (name.clone(), text.clone())).collect())
    }

    /// The names.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }
}

impl<Name: ToString, Text: ToString> FromIterator<(Name, Text)> for Given {
    fn from_iter<I: IntoIterator<Item = (Name, Text)>>(named: I) -> Given {
        Given(named.into_iter().map(|(name, text)| (name.to_string(), text.to_string())).collect())
    }
}

impl IntoIterator for Given {
    type Item = (String, String);
    type IntoIter = std::collections::btree_map::IntoIter<String, String>;
    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

fn unreadable(name: &'static str, text: &str, needs: impl ToString) -> Error {
    Error::parameter(name, excerpt(text), needs.to_string())
}

/// A parameter that a rule does not have is a mistake.
pub(crate) fn require_known(rule: &'static str, parameters: &[Number], given: &Given) -> Result<(), Error> {
    match given.names().find(|name| parameters.iter().all(|parameter| parameter.name != *name)) {
        None => Ok(()),
        Some(foreign) => Err(Error::new(ErrorKind::ForeignParameter {
            rule,
            name: foreign.to_string(),
            known: parameters.iter().map(|parameter| parameter.name).collect(),
        })),
    }
}
