//! Datasets: the declaration, the result of a registration, and the owner's log.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;
use taximeter_accounting::{Amount, FilterRule};
use taximeter_gate::{
    CsvForm, Dataset, Declaration, DeclaredColumn, FailedQuestion, ImportedRows, PrivacyUnit, Registered, Rules, Schema,
};
use taximeter_ledger::{Account, AccountName, Neighbours, Sight};
use utoipa::ToSchema;

use crate::documents::account::AccountDocument;
use crate::documents::problem::Problem;
use crate::documents::rules::{FilterRequest, OdometerRequest, specs};

/// A dataset, without what the caller may not see.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct DatasetDocument {
    /// Its name, and that of its account.
    pub dataset: AccountName,
    /// The newest version, from 1.
    pub version: u32,
    /// When the version was registered, in UTC.
    pub registered: String,
    /// The number of rows that count, if it is known; for the owner alone.
    pub rows: Option<u64>,
    /// Whether an analyst's own earlier answer may be given again at no cost.
    pub reuse: bool,
    /// How long a question may take, in seconds.
    pub timeout_seconds: f64,
    /// The least that a question must cost, if there is a floor: its ε, or its μ.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_epsilon: Option<Amount>,
    /// Where the data are, without passwords; for the owner alone.
    pub data: Option<String>,
    /// Whether the data stay in a PostgreSQL database; for the owner alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub in_postgres: Option<bool>,
    /// What the owner declared.
    pub schema: SchemaDocument,
    /// Its account, if the caller may see it.
    pub account: Option<AccountDocument>,
    /// The accounts of its analysts that the caller may see.
    pub analysts: Vec<AccountName>,
}

/// Datasets, by name.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(transparent)]
pub struct DatasetList(pub Vec<DatasetDocument>);

/// A dataset whose data are unchanged since it was registered.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(transparent)]
pub struct CheckedDataset(pub DatasetDocument);

/// What is declared about a dataset.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SchemaDocument {
    /// Whose privacy is protected: row, or the name of a column.
    pub unit: String,
    /// The most rows of one unit that count; goes with a column as the unit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_rows_per_unit: Option<u32>,
    /// When two datasets count as neighbours.
    #[serde(default)]
    pub neighbours: Neighbours,
    /// The columns.
    #[serde(default)]
    pub columns: Vec<DeclaredColumn>,
}

impl SchemaDocument {
    /// The declaration of registered data, with all types.
    pub fn new(schema: &Schema) -> SchemaDocument {
        SchemaDocument::with_unit(schema.unit(), &Declaration::of(schema))
    }

    /// The declaration before the data are seen.
    pub fn of(declaration: &Declaration) -> Result<SchemaDocument, Problem> {
        let unit = declaration.unit.as_ref().ok_or_else(unit_missing)?;
        Ok(SchemaDocument::with_unit(unit, declaration))
    }

    fn with_unit(unit: &PrivacyUnit, declaration: &Declaration) -> SchemaDocument {
        let (unit, max_rows_per_unit) = match unit {
            PrivacyUnit::Row => ("row".to_string(), None),
            PrivacyUnit::Column { column, max_rows_per_unit } => (column.clone(), Some(*max_rows_per_unit)),
        };
        let (neighbours, columns) = (declaration.neighbours, declaration.columns().to_vec());
        SchemaDocument { unit, max_rows_per_unit, neighbours, columns }
    }

    /// Whose privacy is protected.
    pub fn privacy_unit(&self) -> Result<PrivacyUnit, Problem> {
        match (self.unit.as_str(), self.max_rows_per_unit) {
            ("row", None) => Ok(PrivacyUnit::Row),
            ("row", Some(_)) => {
                Err(Problem::bad_request("max_rows_per_unit goes with a column as the unit, not with row"))
            }
            (column, Some(max_rows_per_unit)) => {
                Ok(PrivacyUnit::Column { column: column.to_string(), max_rows_per_unit })
            }
            (column, None) => Err(Problem::bad_request(format!(
                "with the unit {column:?}, say how many rows of one {column} may count: max_rows_per_unit"
            ))),
        }
    }

    /// The declaration, if it is valid.
    pub fn declaration(&self) -> Result<Declaration, Problem> {
        let mut declaration = Declaration::default();
        declaration.unit = Some(self.privacy_unit()?);
        declaration.neighbours = self.neighbours;
        for column in &self.columns {
            declaration.declare(column.clone())?;
        }
        Ok(declaration)
    }
}

/// There is no default: for data in which a person has several rows, a row as the unit would protect no one.
fn unit_missing() -> Problem {
    let detail = "the schema's unit is missing: say whose privacy is protected, row if every row is about a different person, otherwise \
                  the column that identifies the person";
    Problem { parameter: Some("unit".to_string()), ..Problem::bad_request(detail) }
}

/// The accounts directly below a dataset's, without those of other datasets.
pub fn analysts<'a>(
    datasets: &[Dataset],
    dataset: &AccountName,
    accounts: impl Iterator<Item = &'a AccountName>,
) -> Vec<&'a AccountName> {
    let is_dataset = |name: &AccountName| datasets.iter().any(|other| other.name == *name);
    accounts.filter(|name| name.parent().as_ref() == Some(dataset) && !is_dataset(name)).collect()
}

impl DatasetDocument {
    /// A dataset from the list of all, with its account if it has one. Only owners see what follows from the data.
    pub fn new(
        dataset: &Dataset,
        datasets: &[Dataset],
        accounts: &[Account],
        sight: &Sight,
        is_owner: bool,
    ) -> DatasetDocument {
        let account = accounts.iter().find(|account| *account.name() == dataset.name);
        let analysts = analysts(datasets, &dataset.name, accounts.iter().map(Account::name));
        DatasetDocument {
            dataset: dataset.name.clone(),
            version: dataset.version,
            registered: dataset.registered.to_string(),
            rows: dataset.rows.filter(|_| is_owner),
            reuse: dataset.reuse,
            timeout_seconds: dataset.timeout.as_secs_f64(),
            min_epsilon: dataset.min_epsilon,
            data: is_owner.then(|| dataset.data()),
            in_postgres: is_owner.then(|| dataset.is_in_postgres()),
            schema: SchemaDocument::new(&dataset.schema),
            account: account.filter(|_| sight.sees(&dataset.name)).map(|account| {
                let find = |name: &AccountName| accounts.iter().find(|account| account.name() == name);
                AccountDocument::new(account, crate::documents::account::blocked_by(account, find), sight)
            }),
            analysts: analysts.into_iter().filter(|name| sight.sees(name)).cloned().collect(),
        }
    }
}

/// A dataset to register, or newer data of one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(examples(json!({
    "dataset": "people",
    "data": {"upload": {"id": "0123456789abcdef0123456789abcdef"}},
    "schema": {"unit": "row", "columns": [
        {"name": "age", "type": "integer", "bounds": ["0", "120"]},
        {"name": "region", "categories": ["north", "south"]}
    ]},
    "filter": {"budget": {"epsilon": "1", "delta": "1e-6"}}
})))]
pub struct NewDataset {
    /// Its name, and that of its account.
    pub dataset: AccountName,
    /// Where the data are.
    pub data: NewData,
    /// The declaration; if omitted for newer data, the earlier declaration.
    pub schema: Option<SchemaDocument>,
    /// The filter of its account with the budget; omitted if the account exists already, or only reads.
    pub filter: Option<FilterRequest>,
    /// The odometer of its account; omitted with the filter if the account exists already.
    pub odometer: Option<OdometerRequest>,
    /// Whether these are newer data of an existing dataset.
    #[serde(default)]
    pub new_version: bool,
    /// Whether an analyst's own earlier answer may be given again at no cost [default: no, or as before].
    pub reuse: Option<bool>,
    /// How long a question may take, in seconds [default: 60, or as before].
    pub timeout_seconds: Option<f64>,
    /// The least that a question must cost: its ε, or its μ [default: anything, or as before].
    pub min_epsilon: Option<Amount>,
}

impl NewDataset {
    /// The rules of its account; `None` if none are given because the account exists already.
    pub fn rules(&self) -> Result<Option<Rules>, Problem> {
        if self.filter.is_none() && self.odometer.is_none() {
            return Ok(None);
        }
        let (filter, odometer) = specs(self.filter.as_ref(), self.odometer.as_ref(), FilterRule::default())?;
        Ok(Some(Rules { filter, odometer }))
    }

    /// The given declaration, or that of the version before.
    pub fn declaration(&self, before: Option<&Dataset>) -> Result<Declaration, Problem> {
        match &self.schema {
            Some(schema) => schema.declaration(),
            None => before.map(|before| Declaration::of(&before.schema)).ok_or_else(unit_missing),
        }
    }

    /// The given time limit of a question.
    pub fn timeout(&self) -> Result<Option<Duration>, Problem> {
        let duration = |seconds: f64| {
            Duration::try_from_secs_f64(seconds).map_err(|error| {
                Problem::bad_request(format!("timeout_seconds is {seconds}: {error}; give for instance 60"))
            })
        };
        self.timeout_seconds.map(duration).transpose()
    }
}

/// Where the data of a new dataset are.
#[derive(Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum NewData {
    /// A CSV file that was uploaded before.
    Upload {
        /// What the upload returned.
        id: String,
        /// Whether to skip rows that cannot be read; otherwise such a row makes the whole file an error.
        #[serde(default)]
        skip_bad_rows: bool,
        /// How the file is written [default: found in its first line, in UTF-8].
        #[serde(default)]
        form: CsvForm,
    },
    /// A table of PostgreSQL, which stays where it is.
    Postgres {
        /// The URL of the database.
        url: String,
        /// The table, with or without its schema.
        table: String,
    },
}

impl std::fmt::Debug for NewData {
    /// A URL may have a password in it.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            NewData::Upload { id, .. } => write!(f, "upload {id}"),
            NewData::Postgres { table, .. } => write!(f, "{table} of PostgreSQL"),
        }
    }
}

/// A file that was uploaded.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Upload {
    /// The name to use in a registration; it expires after an hour.
    pub upload: String,
    /// How many bytes it has.
    pub bytes: u64,
}

/// The result of a registration.
#[skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct RegisteredDocument {
    /// The dataset.
    pub dataset: AccountName,
    /// Its newest version.
    pub version: u32,
    /// What is declared, with all types.
    pub schema: SchemaDocument,
    /// How many rows were kept, clamped and skipped; omitted for a table that is queried in place.
    pub imported: Option<ImportedRows>,
    /// Columns of a table that questions cannot use, with their types.
    pub left_out: Vec<[String; 2]>,
    /// Other datasets made from the same data: what is learned through both adds up.
    pub same_data: Vec<String>,
    /// Whether the version before has the same data.
    #[serde(default)]
    pub unchanged: bool,
    /// Why the gate's table of the version before is still in PostgreSQL, if it is.
    pub not_dropped: Option<String>,
    /// Why the rows are in SQLite and not in DuckDB, if there are many, and DuckDB is available but failed.
    pub not_in_duckdb: Option<String>,
    /// The account that pays.
    pub account: AccountDocument,
    /// What the owner should know about it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
}

impl RegisteredDocument {
    /// The result of a registration, with the account that pays.
    pub fn new(registered: &Registered, account: &Account, warnings: Vec<String>) -> RegisteredDocument {
        let Registered { dataset, imported, left_out, same_data, unchanged, not_dropped, not_in_duckdb } = registered;
        RegisteredDocument {
            dataset: dataset.name.clone(),
            version: dataset.version,
            schema: SchemaDocument::new(&dataset.schema),
            imported: imported.clone(),
            left_out: left_out.iter().map(|(column, kind)| [column.clone(), kind.clone()]).collect(),
            same_data: same_data.clone(),
            unchanged: *unchanged,
            not_dropped: not_dropped.clone(),
            not_in_duckdb: not_in_duckdb.clone(),
            account: AccountDocument::new(account, None, &Sight::All),
            warnings,
        }
    }
}

/// An analyst to add to a dataset: an account below the dataset's.
#[skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(examples(json!({"analyst": "carol", "filter": {"budget": {"epsilon": "0.1", "delta": "1e-7"}}})))]
pub struct NewAnalyst {
    /// The last part of the account's name.
    #[schema(pattern = "^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$")]
    pub analyst: String,
    /// The filter with the budget; without one the account only reads.
    pub filter: Option<FilterRequest>,
    /// The odometer.
    pub odometer: Option<OdometerRequest>,
}

impl NewAnalyst {
    /// The rules of the analyst's account. A filter without a rule gets that of the dataset's account, so that the analyst may ask every
    /// question that the dataset takes.
    pub fn rules(&self, dataset: &Account) -> Result<Rules, Problem> {
        if self.filter.is_none() && self.odometer.is_none() {
            return Err(Problem::bad_request(format!(
                "{} needs a budget; give a filter with one, for instance {{\"budget\":{{\"epsilon\":\"0.5\",\"delta\":\"1e-6\"}}}}",
                self.analyst
            )));
        }
        let rule = dataset.filter().map_or(FilterRule::default(), |filter| filter.spec().rule());
        let (filter, odometer) = specs(self.filter.as_ref(), self.odometer.as_ref(), rule)?;
        Ok(Rules { filter, odometer })
    }
}

/// An analyst who may ask about a dataset.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct NewAnalystDocument {
    /// The dataset.
    pub dataset: AccountName,
    /// The analyst's account.
    pub account: AccountDocument,
    /// What the owner should know about it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
}

/// The newest lines of the owner's log: why charged questions have no answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(transparent)]
pub struct FailedQuestionList(pub Vec<FailedQuestion>);
