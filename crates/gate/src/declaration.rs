//! What an owner writes about a dataset before its data are seen: a schema in which types may be left out.

use serde::Deserialize;
use taximeter_ledger::{Neighbours, Privacy};

use crate::error::Error;
use crate::number::Number;
use crate::schema::{Bounds, Column, ColumnType, PrivacyUnit, Schema, Value};

/// A schema in which types may be left out: those are found in the data.
///
/// ```
/// let declaration = taximeter_gate::Declaration::parse(r#"
///     neighbours = "add-remove"
///     unit = { column = "person", max_rows_per_unit = 3 }
///
///     [columns.income]
///     type = "real"
///     bounds = [0, 200000]
///     grid = 0.5
///
///     [columns.region]
///     categories = ["north", "south"]
/// "#)?;
/// # Ok::<(), taximeter_gate::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Declaration {
    /// Whose privacy is protected.
    pub unit: PrivacyUnit,
    /// When two datasets count as neighbours.
    pub neighbours: Neighbours,
    columns: Vec<DeclaredColumn>,
}

/// What is declared about a column.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DeclaredColumn {
    /// Its name.
    pub name: String,
    /// Its type; found in the data if it is left out.
    pub kind: Option<ColumnType>,
    /// The lowest and the highest value.
    pub bounds: Option<(Number, Number)>,
    /// The grid that values are put on.
    pub grid: Option<Number>,
    /// The categories that may be grouped by.
    pub categories: Option<Vec<Category>>,
}

/// A category as it is written: text on the command line, which is read by the type of its column.
#[derive(Clone, Debug, PartialEq)]
pub enum Category {
    /// A value of a type.
    Typed(Value),
    /// Text, to be read by the type of its column.
    Written(String),
}

impl Default for Declaration {
    /// A row is protected, and one more or less makes a neighbour.
    fn default() -> Self {
        Declaration { unit: PrivacyUnit::Row, neighbours: Neighbours::AddRemove, columns: Vec::new() }
    }
}

impl Declaration {
    /// The longest file that is read, in bytes.
    pub const LONGEST: usize = 4 << 20;

    /// Reads a schema file.
    pub fn parse(text: &str) -> Result<Declaration, Error> {
        if text.len() > Declaration::LONGEST {
            return Err(Error::input(format!("the schema is longer than {} bytes", Declaration::LONGEST)));
        }
        let file: File = toml::from_str(text).map_err(|error| {
            Error::input(format!("{}\n`dataset add --help` shows a schema", error.to_string().trim_end()))
        })?;
        let unit = match file.unit {
            None => PrivacyUnit::Row,
            Some(UnitEntry::Word(word)) if word == "row" => PrivacyUnit::Row,
            Some(UnitEntry::Word(word)) => {
                return Err(Error::input(format!(
                    "the unit is {word:?}; write unit = \"row\", or unit = {{ column = {word:?}, max_rows_per_unit = 1 }}"
                )));
            }
            Some(UnitEntry::Column { column, max_rows_per_unit }) => PrivacyUnit::Column { column, max_rows_per_unit },
        };
        let neighbours = file.neighbours.as_deref().map_or(Ok(Neighbours::AddRemove), Neighbours::from_name)?;
        let mut declaration = Declaration { unit, neighbours, columns: Vec::new() };
        for (name, entry) in file.columns {
            let number = |value: &toml::Value| match value {
                toml::Value::Integer(value) => Number::parse(&value.to_string()),
                toml::Value::Float(value) => Number::parse(&value.to_string()),
                toml::Value::String(text) => Number::parse(text),
                other => Err(Error::input(format!("{other} is not a number"))),
            };
            let wrong = |error: Error| Error::input(format!("the column {name:?}: {error}"));
            let column = declaration.column(&name);
            column.kind = entry.kind;
            column.grid = entry.grid.as_ref().map(number).transpose().map_err(wrong)?;
            column.bounds = match entry.bounds.as_deref() {
                None => None,
                Some([low, high]) => Some((number(low).map_err(wrong)?, number(high).map_err(wrong)?)),
                Some(other) => {
                    return Err(wrong(Error::input(format!(
                        "bounds are two numbers, such as [0, 120], and here are {}",
                        other.len()
                    ))));
                }
            };
            let category = |value: toml::Value| match value {
                toml::Value::Integer(value) => Ok(Category::Typed(Value::Integer(value))),
                toml::Value::Boolean(value) => Ok(Category::Typed(Value::Boolean(value))),
                toml::Value::String(text) => Ok(Category::Typed(Value::Text(text))),
                other => Err(Error::input(format!(
                    "{other} cannot be a category; categories are whole numbers, text or booleans"
                ))),
            };
            let categories = entry.categories.map(|values| values.into_iter().map(category).collect::<Result<_, _>>());
            column.categories = categories.transpose().map_err(wrong)?;
        }
        Ok(declaration)
    }

    /// The columns that are declared.
    pub fn columns(&self) -> &[DeclaredColumn] {
        &self.columns
    }

    /// Declares a column, once.
    pub fn declare(&mut self, column: DeclaredColumn) -> Result<(), Error> {
        if self.columns.iter().any(|other| other.name == column.name) {
            return Err(Error::input(format!("the column {:?} is declared twice; declare it once", column.name)));
        }
        self.columns.push(column);
        Ok(())
    }

    /// The declaration of data that are there already, with all types: for newer data of the same kind.
    pub fn of(schema: &Schema) -> Declaration {
        let column = |column: &Column| DeclaredColumn {
            name: column.name.clone(),
            kind: Some(column.kind),
            bounds: column.bounds.map(|bounds| (bounds.low(), bounds.high())),
            grid: column.bounds.map(|bounds| bounds.grid()),
            categories: column.categories.as_ref().map(|values| values.iter().cloned().map(Category::Typed).collect()),
        };
        let columns = schema.columns.iter().map(column).collect();
        Declaration { unit: schema.unit.clone(), neighbours: schema.neighbours, columns }
    }

    /// Adds bounds as they are written on a command line: `age=0..120`, or with a grid `income=0..200000/0.5`.
    pub fn add_bounds(&mut self, text: &str) -> Result<(), Error> {
        let form =
            || Error::input(format!("{text:?} are no bounds; write for instance age=0..120 or income=0..200000/0.5"));
        let (name, range) = text.split_once('=').ok_or_else(form)?;
        let (range, grid) = range.split_once('/').map_or((range, None), |(range, grid)| (range, Some(grid)));
        let (low, high) = range.split_once("..").ok_or_else(form)?;
        let column = self.column(name.trim());
        column.bounds = Some((Number::parse(low.trim())?, Number::parse(high.trim())?));
        column.grid = grid.map(|grid| Number::parse(grid.trim())).transpose()?.or(column.grid);
        Ok(())
    }

    /// Adds categories as they are written on a command line: `region=north,south`.
    pub fn add_categories(&mut self, text: &str) -> Result<(), Error> {
        let form = || Error::input(format!("{text:?} are no categories; write for instance region=north,south"));
        let (name, list) = text.split_once('=').ok_or_else(form)?;
        let categories = list.split(',').map(|category| Category::Written(category.trim().to_string())).collect();
        self.column(name.trim()).categories = Some(categories);
        Ok(())
    }

    /// Adds a type as it is written on a command line: `zip=text`.
    pub fn add_type(&mut self, text: &str) -> Result<(), Error> {
        let (name, kind) = text
            .split_once('=')
            .ok_or_else(|| Error::input(format!("{text:?} is no type; write for instance zip=text")))?;
        let kind = ColumnType::from_name(kind.trim())?;
        self.column(name.trim()).kind = Some(kind);
        Ok(())
    }

    /// What the ledger calls the unit and the neighbours.
    pub(crate) fn privacy(&self) -> Result<Privacy, Error> {
        self.unit.privacy(self.neighbours)
    }

    /// The type that is declared for a column, if one is.
    pub(crate) fn declared_type(&self, name: &str) -> Option<ColumnType> {
        self.columns.iter().find(|column| column.name == name)?.kind
    }

    /// The schema, once all types are known.
    pub(crate) fn schema(&self, types: &[(String, ColumnType)]) -> Result<Schema, Error> {
        for DeclaredColumn { name, .. } in &self.columns {
            if !types.iter().any(|(other, _)| other == name) {
                let known = types.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>().join(", ");
                return Err(Error::input(format!(
                    "the schema declares the column {name:?}, which the data do not have; they have {known}"
                )));
            }
        }
        let columns = types.iter().map(|(name, kind)| {
            let Some(declared) = self.columns.iter().find(|column| column.name == *name) else {
                return Column::new(name, *kind, None, None);
            };
            declared.column(*kind).map_err(|error| match error.to_string() {
                message if message.starts_with("the column") => error,
                message => Error::input(format!("the column {name:?}: {message}")),
            })
        });
        Schema::new(self.unit.clone(), self.neighbours, columns.collect::<Result<_, _>>()?)
    }

    /// What is declared about a column; nothing yet, if it is new.
    fn column(&mut self, name: &str) -> &mut DeclaredColumn {
        let at = self.columns.iter().position(|column| column.name == name).unwrap_or_else(|| {
            self.columns.push(DeclaredColumn { name: name.to_string(), ..DeclaredColumn::default() });
            self.columns.len() - 1
        });
        &mut self.columns[at]
    }
}

impl DeclaredColumn {
    fn column(&self, kind: ColumnType) -> Result<Column, Error> {
        let bounds = match (self.bounds, self.grid) {
            (None, None) => None,
            (None, Some(_)) => return Err(Error::input("a grid needs bounds: declare both, or leave the grid out")),
            (Some((low, high)), Some(grid)) => Some(Bounds::new(low, high, grid)?),
            (Some((low, high)), None) => Some(Bounds::with_default_grid(low, high, kind)?),
        };
        let category = |category: &Category| match category {
            Category::Typed(value) => Ok(value.clone()),
            Category::Written(text) => Value::parse(text, kind),
        };
        let categories = self.categories.as_ref().map(|categories| categories.iter().map(category).collect());
        Column::new(&self.name, kind, bounds, categories.transpose()?)
    }
}

/// A schema file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    unit: Option<UnitEntry>,
    neighbours: Option<String>,
    #[serde(default)]
    columns: std::collections::BTreeMap<String, ColumnEntry>,
}

#[derive(Deserialize)]
#[serde(untagged, expecting = "the unit must be \"row\" or { column = \"…\", max_rows_per_unit = … }")]
enum UnitEntry {
    Word(String),
    #[serde(rename_all = "snake_case")]
    Column {
        column: String,
        max_rows_per_unit: u32,
    },
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ColumnEntry {
    #[serde(rename = "type")]
    kind: Option<ColumnType>,
    bounds: Option<Vec<toml::Value>>,
    grid: Option<toml::Value>,
    categories: Option<Vec<toml::Value>>,
}

#[cfg(test)]
mod tests {
    use super::*;

    const TYPES: [(&str, ColumnType); 4] = [
        ("person", ColumnType::Text),
        ("age", ColumnType::Integer),
        ("wage", ColumnType::Real),
        ("region", ColumnType::Text),
    ];

    fn schema(declaration: &Declaration) -> Result<Schema, Error> {
        declaration.schema(&TYPES.map(|(name, kind)| (name.to_string(), kind)))
    }

    const WRITTEN: &str = r#"
        neighbours = "substitute"
        unit = { column = "person", max_rows_per_unit = 3 }
        [columns.age]
        bounds = [0, 120]
        grid = 10
        [columns.wage]
        bounds = [-0.5, 1000]
        [columns.region]
        categories = ["north", "south"]
    "#;

    #[test]
    fn a_row_that_comes_or_goes_is_protected_unless_something_else_is_declared() {
        let schema = schema(&Declaration::parse("").unwrap()).unwrap();
        assert_eq!((schema.unit(), schema.neighbours()), (&PrivacyUnit::Row, Neighbours::AddRemove));
        assert_eq!(Declaration::parse("").unwrap(), Declaration::default());
    }

    #[test]
    fn newer_data_are_declared_like_those_before() {
        let first = schema(&Declaration::parse(WRITTEN).unwrap()).unwrap();
        assert_eq!(schema(&Declaration::of(&first)).unwrap(), first);
    }

    #[test]
    fn the_command_line_says_the_same_as_a_file() {
        let mut declaration = Declaration::parse(&WRITTEN[..WRITTEN.find('[').unwrap()]).unwrap();
        declaration.add_bounds("age=0..120/10").unwrap();
        declaration.add_bounds("wage = -0.5..1000").unwrap();
        declaration.add_categories("region=north, south").unwrap();
        assert_eq!(schema(&declaration).unwrap(), schema(&Declaration::parse(WRITTEN).unwrap()).unwrap());
        // Other bounds leave the grid as it was.
        declaration.add_bounds("age=0..100").unwrap();
        let bounds = schema(&declaration).unwrap().columns[1].bounds.unwrap();
        assert_eq!(bounds.to_string(), "0 to 100 in steps of 10");
    }

    #[test]
    fn what_cannot_be_declared_is_refused() {
        for text in [
            "[columns.wages]\nbounds = [0, 1]",
            "[columns.age]\ngrid = 1",
            "[columns.age]\nbounds = [0]",
            "[columns.age]\nbounds = [0, 1, 2]",
            "[columns.age]\nbound = [0, 1]",
            "[columns.age]\ncategories = [1.5]",
            "[columns.age]\ncategories = [\"1\"]",
            "unit = \"person\"",
            "unit = { column = \"person\" }",
            "neighbours = \"none\"",
        ] {
            let declared = Declaration::parse(text).and_then(|declaration| schema(&declaration));
            assert!(declared.unwrap_err().is_input(), "{text}");
        }
    }
}
