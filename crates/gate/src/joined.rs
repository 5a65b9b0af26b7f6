//! A question about two datasets: which other one it joins, whether it may, and who pays for it.

use std::collections::BTreeMap;
use std::sync::Arc;

use taximeter_ledger::AccountName;

use crate::catalog::{Catalog, Dataset};
use crate::error::Error;
use crate::question::Question;
use crate::question::private::{PrivateJoin, PrivateTable};
use crate::schema::Schema;
use crate::sql::{PrivateRows, joined_rows, with_own_names};

/// The other datasets that a question may join, and who pays for them.
#[derive(Clone, Debug)]
pub enum JoinableDatasets {
    /// Any, paid for by this account, or by the dataset's own.
    Any(Option<AccountName>),
    /// These, each paid for by an account; nothing where it must still be named.
    These(BTreeMap<AccountName, Option<AccountName>>),
}

/// The other dataset that a question joins.
pub(crate) struct JoinedDataset {
    pub(crate) dataset: Dataset,
    /// The account that pays for it: its own, or one below.
    pub(crate) account: AccountName,
    /// All columns of the question, each with a name of its own.
    names: Schema,
    /// The place of its first column there.
    first: usize,
}

impl JoinableDatasets {
    /// The datasets beside one that a question may mean, in the version that its key was answered from, or else in the newest.
    pub(crate) fn in_question(
        &self,
        catalog: &Catalog,
        question: &str,
        own: &Dataset,
        key: &str,
    ) -> Result<Vec<Dataset>, Error> {
        let may_join = |name: &AccountName| match self {
            JoinableDatasets::Any(_) => true,
            JoinableDatasets::These(those) => those.contains_key(name),
        };
        let mut named = catalog.dataset_names_in(question)?;
        named.retain(|name| *name != own.name && may_join(name));
        named.iter().map(|name| catalog.joined_for_key(name, key)).collect()
    }

    /// The account that pays for a dataset.
    fn payer(&self, dataset: &AccountName) -> Result<AccountName, Error> {
        let account = match self {
            JoinableDatasets::Any(account) => account.as_ref().unwrap_or(dataset),
            JoinableDatasets::These(those) => those.get(dataset).and_then(Option::as_ref).ok_or_else(|| {
                let needs =
                    "the question joins it, and several accounts or none could pay for it; name the one that pays";
                Error::value("dataset", dataset, needs)
            })?,
        };
        match account.path().any(|above| above == dataset.as_str()) {
            true => Ok(account.clone()),
            false => {
                let needs = format!("it does not pay for the joined dataset {dataset}; name one below {dataset}");
                Err(Error::value("account", account, needs))
            }
        }
    }

    /// Whether an account was named.
    fn names_account(&self) -> Option<&AccountName> {
        match self {
            JoinableDatasets::Any(account) => account.as_ref(),
            JoinableDatasets::These(_) => None,
        }
    }
}

/// A dataset as the language knows it.
pub(crate) fn private_table(dataset: &Dataset) -> Arc<PrivateTable> {
    Arc::new(PrivateTable { name: dataset.name.clone(), schema: dataset.schema.clone() })
}

impl JoinedDataset {
    /// The other dataset of a question, if it joins one: both must be where one statement reads them.
    pub(crate) fn new(
        question: &Question,
        own: &Dataset,
        others: Vec<Dataset>,
        joinable: &JoinableDatasets,
    ) -> Result<Option<JoinedDataset>, Error> {
        let Some(PrivateJoin { table, first, .. }) = question.private_join() else {
            return match joinable.names_account() {
                None => Ok(None),
                Some(account) => {
                    let needs = "it would pay for a joined dataset, but the question joins none; omit it";
                    Err(Error::value("account", account, needs))
                }
            };
        };
        let found = others.into_iter().find(|dataset| dataset.name == *table);
        let dataset = found.ok_or_else(|| Error::integrity(format!("the joined dataset {table} was not read")))?;
        if !own.source.is_beside(&dataset.source) {
            let needs = format!(
                "it cannot be joined to {}: two datasets can be joined only if both are imported into SQLite, or both are in PostgreSQL \
                 under one URL; ask about each separately, or ask the owner to register both in one place",
                own.name
            );
            return Err(Error::value("dataset", table, needs));
        }
        let account = joinable.payer(table)?;
        let names = with_own_names(&question.schema, *first..first + dataset.schema.columns.len());
        Ok(Some(JoinedDataset { dataset, account, names, first: *first }))
    }

    /// What a SELECT that joins both asks: the table and its columns.
    pub(crate) fn rows(&self, own: &Dataset, join: &PrivateJoin) -> (String, &Schema) {
        let (dialect, table) = own.source.address();
        let joined = self.dataset.source.joined_address();
        let one = PrivateRows { schema: &own.schema, table: &table };
        let two = PrivateRows { schema: &self.dataset.schema, table: &joined };
        (joined_rows(one, two, &self.names, self.first, join.keeps_all, dialect), &self.names)
    }
}
