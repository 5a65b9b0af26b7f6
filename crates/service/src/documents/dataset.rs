//! Datasets: what is declared, what came of a registration, and the owner's log.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value as Json;
use serde_with::skip_serializing_none;
use taximeter_accounting::FilterRule;
use taximeter_gate::{
    BadRow, Category, Column, ColumnType, Counted, CsvForm, Dataset, Declaration, DeclaredColumn, FailedQuestion,
    Number, PrivacyUnit, Registered, Rules, Schema, Value,
};
use taximeter_ledger::{Account, AccountName, Neighbours};
use utoipa::ToSchema;

use crate::documents::account::AccountDocument;
use crate::documents::cost::AmountDocument;
use crate::documents::problem::Problem;
use crate::documents::rules::{FilterRequest, OdometerRequest, specs};
use crate::documents::sight::Sight;
use crate::documents::text::{NumberSchema, PartSchema};

/// A dataset, as far as it may be seen.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct DatasetDocument {
    /// Its name, and that of its account.
    pub dataset: AccountName,
    /// The newest version, from 1.
    pub version: u32,
    /// When the version was registered, in UTC.
    pub registered: String,
    /// The rows that count, as far as they were counted; for the owner alone.
    pub rows: Option<u64>,
    /// Whether an analyst's own earlier answer may be given again at no cost.
    pub reuse: bool,
    /// How long a question may take, in seconds.
    pub timeout_seconds: f64,
    /// The least that a question must cost, if there is a floor: its ε, or its μ.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_epsilon: Option<AmountDocument>,
    /// Where the data are, without passwords; for the owner alone.
    pub data: Option<String>,
    /// What the owner declared.
    pub schema: SchemaDocument,
    /// Its account, if it may be seen.
    pub account: Option<AccountDocument>,
    /// The accounts of its analysts that may be seen.
    pub analysts: Vec<AccountName>,
}

/// Datasets, by name.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(transparent)]
pub struct DatasetList(pub Vec<DatasetDocument>);

/// A dataset that is as it was registered.
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
    #[serde(default = "add_remove")]
    pub neighbours: Neighbours,
    /// The columns.
    #[serde(default)]
    pub columns: Vec<ColumnDocument>,
}

fn add_remove() -> Neighbours {
    Neighbours::AddRemove
}

/// What is declared about a column.
#[skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ColumnDocument {
    /// Its name.
    pub name: String,
    /// Its type; found in the data if it is left out.
    #[serde(rename = "type")]
    #[schema(value_type = Option<ColumnTypeSchema>)]
    pub kind: Option<String>,
    /// The bounds that its values are clamped to.
    #[schema(value_type = Option<Vec<NumberSchema>>, min_items = 2, max_items = 2)]
    pub bounds: Option<[String; 2]>,
    /// The grid that its values are put on.
    #[schema(value_type = Option<NumberSchema>)]
    pub grid: Option<String>,
    /// The categories that may be grouped by.
    #[schema(value_type = Option<Vec<CategorySchema>>)]
    pub categories: Option<Vec<Json>>,
}

#[skip_serializing_none]
#[derive(ToSchema)]
#[schema(as = ColumnType, rename_all = "kebab-case")]
#[allow(dead_code, reason = "only its schema is used")]
enum ColumnTypeSchema {
    Integer,
    Real,
    Text,
    Boolean,
}

/// A category: text, a whole number, or true or false.
#[derive(ToSchema)]
#[schema(as = Category)]
#[serde(untagged)]
#[allow(dead_code, reason = "only its schema is used")]
enum CategorySchema {
    Text(String),
    Integer(i64),
    Boolean(bool),
}

impl SchemaDocument {
    /// What was declared, with all types.
    pub fn new(schema: &Schema) -> SchemaDocument {
        let (unit, max_rows_per_unit) = unit_parts(schema.unit());
        let column = |column: &Column| ColumnDocument {
            name: column.name().to_string(),
            kind: Some(column.kind().to_string()),
            bounds: column.bounds().map(|bounds| [bounds.low().to_string(), bounds.high().to_string()]),
            grid: column.bounds().map(|bounds| bounds.grid().to_string()),
            categories: column.categories().map(|categories| categories.iter().map(Value::json).collect()),
        };
        let columns = schema.columns().iter().map(column).collect();
        SchemaDocument { unit, max_rows_per_unit, neighbours: schema.neighbours(), columns }
    }

    /// What is declared before the data are seen.
    pub fn of(declaration: &Declaration) -> Result<SchemaDocument, Problem> {
        let (unit, max_rows_per_unit) = unit_parts(declaration.unit.as_ref().ok_or_else(unit_missing)?);
        let category = |category: &Category| match category {
            Category::Typed(value) => value.json(),
            Category::Written(text) => Json::String(text.clone()),
        };
        let column = |column: &DeclaredColumn| ColumnDocument {
            name: column.name.clone(),
            kind: column.kind.map(|kind| kind.to_string()),
            bounds: column.bounds.map(|(low, high)| [low.to_string(), high.to_string()]),
            grid: column.grid.map(|grid| grid.to_string()),
            categories: column.categories.as_ref().map(|categories| categories.iter().map(category).collect()),
        };
        let columns = declaration.columns().iter().map(column).collect();
        Ok(SchemaDocument { unit, max_rows_per_unit, neighbours: declaration.neighbours, columns })
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

    /// The declaration, if it is one.
    pub fn declaration(&self) -> Result<Declaration, Problem> {
        let mut declaration = Declaration::default();
        declaration.unit = Some(self.privacy_unit()?);
        declaration.neighbours = self.neighbours;
        for column in &self.columns {
            declaration.declare(column.declared().map_err(|problem| {
                Problem::bad_request(format!("the column {:?}: {}", column.name, problem.detail))
            })?)?;
        }
        Ok(declaration)
    }
}

/// There is no default: for data in which a person has several rows, a row as the unit would protect nobody.
fn unit_missing() -> Problem {
    let detail = "the schema's unit is missing: say whose privacy is protected, row if every row is about another person, or the \
                  column that tells whose rows they are";
    Problem { parameter: Some("unit".to_string()), ..Problem::bad_request(detail) }
}

fn unit_parts(unit: &PrivacyUnit) -> (String, Option<u32>) {
    match unit {
        PrivacyUnit::Row => ("row".to_string(), None),
        PrivacyUnit::Column { column, max_rows_per_unit } => (column.clone(), Some(*max_rows_per_unit)),
    }
}

impl ColumnDocument {
    fn declared(&self) -> Result<DeclaredColumn, Problem> {
        let number = |text: &String| Number::parse(text).map_err(Problem::from);
        let category = |value: &Json| match value {
            Json::String(text) => Ok(Category::Written(text.clone())),
            Json::Bool(value) => Ok(Category::Typed(Value::Boolean(*value))),
            Json::Number(number) => match number.as_str().parse() {
                Ok(value) => Ok(Category::Typed(Value::Integer(value))),
                Err(_) => Err(Problem::bad_request(format!(
                    "{number} cannot be a category; categories are whole numbers, text or booleans"
                ))),
            },
            other => Err(Problem::bad_request(format!(
                "{other} cannot be a category; categories are whole numbers, text or booleans"
            ))),
        };
        let bounds = match &self.bounds {
            Some([low, high]) => Some((number(low)?, number(high)?)),
            None => None,
        };
        let categories = self.categories.as_ref().map(|values| values.iter().map(category).collect::<Result<_, _>>());
        Ok(DeclaredColumn {
            name: self.name.clone(),
            kind: self.kind.as_deref().map(ColumnType::from_name).transpose()?,
            bounds,
            grid: self.grid.as_ref().map(number).transpose()?,
            categories: categories.transpose()?,
        })
    }
}

/// The accounts right below a dataset's, but for those of other datasets.
pub fn analysts<'a>(
    datasets: &[Dataset],
    dataset: &AccountName,
    accounts: impl Iterator<Item = &'a AccountName>,
) -> Vec<&'a AccountName> {
    let is_dataset = |name: &AccountName| datasets.iter().any(|other| other.name == *name);
    accounts.filter(|name| name.parent().as_ref() == Some(dataset) && !is_dataset(name)).collect()
}

impl DatasetDocument {
    /// A dataset among all, with its account if there is one. What follows from the data is told to owners only.
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
            min_epsilon: dataset.min_epsilon.map(AmountDocument),
            data: is_owner.then(|| dataset.data()),
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
    /// What is declared; left out for newer data, it is what was declared before.
    pub schema: Option<SchemaDocument>,
    /// The filter of its account with the budget; left out if the account is there already, or only reads.
    pub filter: Option<FilterRequest>,
    /// The odometer of its account; left out with the filter if the account is there already.
    pub odometer: Option<OdometerRequest>,
    /// Whether these are newer data of a dataset that is there already.
    #[serde(default)]
    pub new_version: bool,
    /// Whether an analyst's own earlier answer may be given again at no cost [default: no, or as before].
    pub reuse: Option<bool>,
    /// How long a question may take, in seconds [default: 60, or as before].
    pub timeout_seconds: Option<f64>,
    /// The least that a question must cost: its ε, or its μ [default: anything, or as before].
    pub min_epsilon: Option<AmountDocument>,
}

impl NewDataset {
    /// The rules of its account; nothing if none are given, since the account is there already.
    pub fn rules(&self) -> Result<Option<Rules>, Problem> {
        if self.filter.is_none() && self.odometer.is_none() {
            return Ok(None);
        }
        let (filter, odometer) = specs(self.filter.as_ref(), self.odometer.as_ref(), FilterRule::default())?;
        Ok(Some(Rules { filter, odometer }))
    }

    /// What is declared: what is said, or else what was declared about the version before.
    pub fn declaration(&self, before: Option<&Dataset>) -> Result<Declaration, Problem> {
        match &self.schema {
            Some(schema) => schema.declaration(),
            None => before.map(|before| Declaration::of(&before.schema)).ok_or_else(unit_missing),
        }
    }

    /// How long a question may take, if it is said.
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
        /// Whether rows that cannot be read are left out; otherwise they refuse the file.
        #[serde(default)]
        skip_bad_rows: bool,
        /// How the file is written [default: found in its first line, in UTF-8].
        #[serde(default)]
        form: CsvFormDocument,
    },
    /// A table of PostgreSQL, which stays where it is.
    Postgres {
        /// The URL of the database.
        url: String,
        /// The table, with or without its schema.
        table: String,
    },
}

/// How a CSV file is written.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CsvFormDocument {
    /// What stands between two fields [default: what the first line has most often].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, min_length = 1, max_length = 1)]
    pub delimiter: Option<char>,
    /// The encoding, by a name of the Web such as latin1 [default: utf-8, or what a byte order mark says].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub encoding: Option<String>,
    /// Texts that stand for a missing value, besides an empty field.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<String>,
}

impl From<CsvFormDocument> for CsvForm {
    fn from(CsvFormDocument { delimiter, encoding, missing }: CsvFormDocument) -> CsvForm {
        CsvForm { delimiter, encoding, missing }
    }
}

impl From<CsvForm> for CsvFormDocument {
    fn from(CsvForm { delimiter, encoding, missing }: CsvForm) -> CsvFormDocument {
        CsvFormDocument { delimiter, encoding, missing }
    }
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
    /// What names it in a registration; it is gone after an hour.
    pub upload: String,
    /// How many bytes it has.
    pub bytes: u64,
}

/// What came of a registration.
#[skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct RegisteredDocument {
    /// The dataset.
    pub dataset: AccountName,
    /// Its newest version.
    pub version: u32,
    /// What is declared, with all types.
    pub schema: SchemaDocument,
    /// What came of the rows; left out for a table that is asked as it is.
    pub imported: Option<ImportedDocument>,
    /// Columns of a table that cannot be asked about, and their types.
    pub left_out: Vec<[String; 2]>,
    /// Other datasets that were made from the same data: what is learned through both adds up.
    pub same_data: Vec<String>,
    /// Whether the version before has the same data.
    #[serde(default)]
    pub unchanged: bool,
    /// Why the gate's table of the version before is still in PostgreSQL, if it is.
    pub not_dropped: Option<String>,
    /// The account that pays.
    pub account: AccountDocument,
    /// What the owner should know about it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
}

/// What came of the rows of a dataset.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ImportedDocument {
    /// Rows of the file or table.
    pub rows: u64,
    /// Rows that count.
    pub kept: u64,
    /// Rows without a unit, which are left out.
    pub without_unit: u64,
    /// Rows that cannot be read.
    pub bad_rows: u64,
    /// The first of those.
    pub first_bad_rows: Vec<BadRowDocument>,
}

/// A row that cannot be read.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct BadRowDocument {
    /// Its line in the file.
    pub line: u64,
    /// Why.
    pub why: String,
}

impl RegisteredDocument {
    /// What came of a registration, with the account that pays.
    pub fn new(registered: &Registered, account: &Account, warnings: Vec<String>) -> RegisteredDocument {
        let Registered { dataset, counted, bad, left_out, same_data, unchanged, not_dropped } = registered;
        let bad_row = |row: &BadRow| BadRowDocument { line: row.line, why: row.why.clone() };
        let imported = counted.map(|Counted { rows, kept, without_unit, bad_rows }| ImportedDocument {
            rows,
            kept,
            without_unit,
            bad_rows,
            first_bad_rows: bad.iter().map(bad_row).collect(),
        });
        RegisteredDocument {
            dataset: dataset.name.clone(),
            version: dataset.version,
            schema: SchemaDocument::new(&dataset.schema),
            imported,
            left_out: left_out.iter().map(|(column, kind)| [column.clone(), kind.clone()]).collect(),
            same_data: same_data.clone(),
            unchanged: *unchanged,
            not_dropped: not_dropped.clone(),
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
    #[schema(value_type = PartSchema)]
    pub analyst: String,
    /// The filter with the budget; without one the account only reads.
    pub filter: Option<FilterRequest>,
    /// The odometer.
    pub odometer: Option<OdometerRequest>,
}

impl NewAnalyst {
    /// The rules of the analyst's account. A filter that says no rule has that of the dataset's account, so that the analyst may ask
    /// whatever the dataset takes.
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
pub struct FailedQuestionList(pub Vec<FailedQuestionDocument>);

/// Why a charged question has no answer. For the owner alone: it may depend on the data.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct FailedQuestionDocument {
    /// When, in UTC.
    pub time: String,
    /// The ledger's key of the charge.
    pub key: String,
    /// The dataset.
    pub dataset: String,
    /// What went wrong.
    pub why: String,
}

impl From<FailedQuestion> for FailedQuestionDocument {
    fn from(failure: FailedQuestion) -> FailedQuestionDocument {
        let FailedQuestion { time, key, dataset, why } = failure;
        FailedQuestionDocument { time: time.to_string(), key, dataset, why }
    }
}
