//! What an owner writes about a dataset before its data are seen: a schema in which types may be left out.

mod column;

use serde::Deserialize;
use taximeter_ledger::{Neighbours, Privacy};

pub use self::column::{Category, DeclaredColumn};
use crate::error::Error;
use crate::number::Number;
use crate::schema::{Bound, Column, ColumnType, PrivacyUnit, Schema};

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
    /// Whose privacy is protected. There is no default: a row is not a person if a person has several.
    pub unit: Option<PrivacyUnit>,
    /// When two datasets count as neighbours.
    pub neighbours: Neighbours,
    columns: Vec<DeclaredColumn>,
}

impl Default for Declaration {
    /// Nothing is declared but that one unit more or less makes a neighbour.
    fn default() -> Self {
        Declaration { unit: None, neighbours: Neighbours::AddRemove, columns: Vec::new() }
    }
}

impl Declaration {
    /// The longest file that is read, in bytes.
    pub const LONGEST: usize = 4 << 20;

    /// A declaration that protects rows unless it says otherwise, for tests of other things.
    #[cfg(test)]
    pub(crate) fn of_rows(text: &str) -> Declaration {
        let declaration = Declaration::parse(text).unwrap();
        Declaration { unit: declaration.unit.clone().or(Some(PrivacyUnit::Row)), ..declaration }
    }

    /// Reads a schema file.
    pub fn parse(text: &str) -> Result<Declaration, Error> {
        if text.len() > Declaration::LONGEST {
            return Err(Error::schema(format!("the schema is longer than {} bytes", Declaration::LONGEST)));
        }
        let file: File = toml::from_str(text).map_err(|error| Error::schema(error.to_string().trim_end()))?;
        let unit = match file.unit {
            None => None,
            Some(UnitEntry::Word(word)) if word == "row" => Some(PrivacyUnit::Row),
            Some(UnitEntry::Word(word)) => {
                return Err(Error::schema(format!(
                    "the unit is {word:?}; write unit = \"row\", or unit = {{ column = {word:?}, max_rows_per_unit = 1 }}"
                )));
            }
            Some(UnitEntry::Column { column, max_rows_per_unit }) => {
                Some(PrivacyUnit::Column { column, max_rows_per_unit })
            }
        };
        let neighbours = file.neighbours.as_deref().map_or(Ok(Neighbours::AddRemove), Neighbours::from_name)?;
        let columns = file.columns.into_iter().map(|(name, column)| column.of_file(name)).collect::<Result<_, _>>()?;
        Ok(Declaration { unit, neighbours, columns })
    }

    /// The columns that are declared.
    pub fn columns(&self) -> &[DeclaredColumn] {
        &self.columns
    }

    /// Declares a column, once.
    pub fn declare(&mut self, column: DeclaredColumn) -> Result<(), Error> {
        if column.name.is_empty() {
            return Err(Error::schema("a column has no name; give one"));
        }
        if self.columns.iter().any(|other| other.name == column.name) {
            return Err(Error::column(&column.name, "it is declared twice; declare it once"));
        }
        self.columns.push(column);
        Ok(())
    }

    /// The declaration of registered data, with all types: for newer data of the same kind.
    pub fn of(schema: &Schema) -> Declaration {
        let column = |column: &Column| DeclaredColumn {
            name: column.name.clone(),
            kind: Some(column.kind),
            bounds: column.bounds.map(|bounds| [bounds.low(), bounds.high()].map(|end| Bound::of(end, column.kind))),
            grid: column.bounds.map(|bounds| bounds.grid()),
            categories: column.categories.as_ref().map(|values| values.iter().cloned().map(Category::Typed).collect()),
        };
        let columns = schema.columns.iter().map(column).collect();
        Declaration { unit: Some(schema.unit.clone()), neighbours: schema.neighbours, columns }
    }

    /// Adds bounds as they are written on a command line: `age=0..120`, with a grid `income=0..200000/0.5`, or for a date
    /// `born=1900-01-01..2024-12-31`. Without a grid they have the default one: that of other bounds may not fit them.
    pub fn add_bounds(&mut self, text: &str) -> Result<(), Error> {
        let form = || {
            let needs = "write for instance age=0..120, income=0..200000/0.5 or born=1900-01-01..2024-12-31";
            Error::value("bounds", format_args!("{text:?}"), needs)
        };
        let (name, range) = text.split_once('=').ok_or_else(form)?;
        let (range, grid) = range.split_once('/').map_or((range, None), |(range, grid)| (range, Some(grid)));
        let (low, high) = range.split_once("..").ok_or_else(form)?;
        let column = self.column(name.trim());
        let grid = grid.map(|grid| Number::parse(grid.trim())).transpose()?;
        // One that was declared without bounds is for these.
        let alone = column.grid.filter(|_| column.bounds.is_none());
        column.bounds = Some([Bound::parse(low.trim())?, Bound::parse(high.trim())?]);
        column.grid = grid.or(alone);
        Ok(())
    }

    /// Adds categories as they are written on a command line: `region=north,south`.
    pub fn add_categories(&mut self, text: &str) -> Result<(), Error> {
        let form = || Error::value("categories", format_args!("{text:?}"), "write for instance region=north,south");
        let (name, list) = text.split_once('=').ok_or_else(form)?;
        let categories = list.split(',').map(|category| Category::Written(category.trim().to_string())).collect();
        self.column(name.trim()).categories = Some(categories);
        Ok(())
    }

    /// Adds a type as it is written on a command line: `zip=text`.
    pub fn add_type(&mut self, text: &str) -> Result<(), Error> {
        let (name, kind) = text
            .split_once('=')
            .ok_or_else(|| Error::value("type", format_args!("{text:?}"), "write for instance zip=text"))?;
        let kind = ColumnType::from_name(kind.trim())?;
        self.column(name.trim()).kind = Some(kind);
        Ok(())
    }

    /// The first column that has two lines such as `age=0..120` in a list: of two, one would be forgotten.
    pub fn column_given_twice(lines: &[String]) -> Option<&str> {
        let mut seen = std::collections::BTreeSet::new();
        let columns = lines.iter().map(|line| line.split('=').next().unwrap_or_default().trim());
        columns.into_iter().find(|column| !seen.insert(*column))
    }

    /// What the ledger calls the unit and the neighbours.
    pub(crate) fn privacy(&self) -> Result<Privacy, Error> {
        self.unit()?.privacy(self.neighbours)
    }

    fn unit(&self) -> Result<&PrivacyUnit, Error> {
        self.unit.as_ref().ok_or_else(|| {
            Error::schema(
                "whose privacy is protected is not declared: the unit is a row if every row is about a different person, otherwise the \
                 column that identifies the person",
            )
        })
    }

    /// The type that is declared for a column, if one is.
    pub(crate) fn declared_type(&self, name: &str) -> Option<ColumnType> {
        self.columns.iter().find(|column| column.name == name)?.kind
    }

    /// The schema, once all types are known.
    pub(crate) fn schema(&self, types: &[(String, ColumnType)]) -> Result<Schema, Error> {
        self.check_names(&types.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>())?;
        let columns = types.iter().map(|(name, kind)| {
            let Some(declared) = self.columns.iter().find(|column| column.name == *name) else {
                return Column::new(name, *kind, None, None);
            };
            declared.column(*kind).map_err(|error| error.in_column(name))
        });
        Schema::new(self.unit()?.clone(), self.neighbours, columns.collect::<Result<_, _>>()?)
    }

    /// The schema of a declaration that has all columns with their types.
    pub(crate) fn with_types(&self) -> Result<Schema, Error> {
        let missing = |name: &str| Error::column(name, "its type is not declared: declare it");
        let types = self.columns.iter().map(|it| Ok((it.name.clone(), it.kind.ok_or_else(|| missing(&it.name))?)));
        self.schema(&types.collect::<Result<Vec<_>, Error>>()?)
    }

    /// Whether the data have every column that is declared, and that of the unit.
    pub(crate) fn check_names(&self, names: &[&str]) -> Result<(), Error> {
        let missing = self.columns.iter().find(|column| !names.contains(&column.name.as_str()));
        if let Some(DeclaredColumn { name, .. }) = missing {
            return Err(Error::schema(format!(
                "the schema declares the column {name:?}, which the data do not have; they have {}",
                names.join(", ")
            )));
        }
        match &self.unit {
            Some(PrivacyUnit::Column { column, .. }) if !names.contains(&column.as_str()) => {
                Err(Error::schema(format!(
                    "the privacy unit is the column {column:?}, which the data do not have; they have {}",
                    names.join(", ")
                )))
            }
            _ => Ok(()),
        }
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

/// A schema file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    unit: Option<UnitEntry>,
    neighbours: Option<String>,
    #[serde(default)]
    columns: std::collections::BTreeMap<String, DeclaredColumn>,
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
    fn neighbours_differ_by_a_unit_that_comes_or_goes_unless_something_else_is_declared() {
        let schema = schema(&Declaration::parse("unit = \"row\"").unwrap()).unwrap();
        assert_eq!((schema.unit(), schema.neighbours()), (&PrivacyUnit::Row, Neighbours::AddRemove));
        assert_eq!(Declaration::parse("").unwrap(), Declaration::default());
    }

    #[test]
    fn the_unit_has_no_default() {
        let error = schema(&Declaration::parse("[columns.age]\nbounds = [0, 120]").unwrap()).unwrap_err();
        assert!(error.is_input() && error.to_string().contains("whose privacy"), "{error}");
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
    }

    #[test]
    fn bounds_and_categories_are_read_by_the_type_of_their_column() {
        use ColumnType::{Date, Decimal, Integer, Real, Text, Timestamp};
        for (kind, bounds, shown) in [
            (Date, "[1900-01-01, 2024-12-31]", "1900-01-01 to 2024-12-31 in steps of 1 day"),
            (Date, "['0001-01-01', '9999-12-31']", "0001-01-01 to 9999-12-31 in steps of 1 day"),
            (Timestamp, "['1970-01-01', '2004-01-01']", "1970-01-01 00:00:00 to 2004-01-01 00:00:00 in steps of 1 s"),
            (
                Timestamp,
                "[2013-01-01, 2013-12-31T23:59:59Z]",
                "2013-01-01 00:00:00 to 2013-12-31 23:59:00 in steps of 60 s",
            ),
            (
                Timestamp,
                "['0001-01-01', '9999-12-31 23:59:59.9']",
                "0001-01-01 00:00:00 to 9999-12-31 23:00:00 in steps of 3600 s",
            ),
            (
                Timestamp,
                "['2013-01-01', '2014-01-01']\ngrid = 86400",
                "2013-01-01 00:00:00 to 2014-01-01 00:00:00 in steps of 86400 s",
            ),
            (Decimal, "[0, 200000]", "0 to 200000 in steps of 0.001"),
            (Decimal, "[-0.5, 0.5]", "-0.5 to 0.5 in steps of 0.000001"),
            (Decimal, "[0, 100000000000]\ngrid = 1000", "0 to 100000000000 in steps of 1000"),
        ] {
            let declaration = Declaration::of_rows(&format!("[columns.x]\nbounds = {bounds}"));
            let schema = declaration.schema(&[("x".to_string(), kind)]).unwrap();
            let again = Declaration::of(&schema);
            assert_eq!(again.columns[0].describe_bounds().as_deref(), Some(shown), "{bounds}");
            assert_eq!(again.schema(&[("x".to_string(), kind)]).unwrap(), schema, "{bounds}");
        }
        for (kind, wrong) in [
            (Date, "bounds = [0, 1]"),
            (Date, "bounds = ['1900-01-01', '2024-12-31 12:00:00']"),
            (Date, "bounds = ['1900-01-01', '2023-02-29']"),
            (Date, "bounds = ['2024-12-31', '1900-01-01']"),
            (Date, "bounds = ['1900-01-01', '2024-12-31']\ngrid = 7"),
            (Timestamp, "bounds = [0, 1]"),
            (Timestamp, "bounds = ['2013-01-01', '2014-01-01']\ngrid = 0.5"),
            (Timestamp, "bounds = ['2013-01-01', '2014-01-01']\ngrid = 1"),
            (Timestamp, "bounds = ['2013-01-01 00:00:01', '2014-01-01']\ngrid = 3600"),
            (Decimal, "bounds = [0, 1]\ngrid = 0.0000001"),
            (Decimal, "bounds = [0, 1e12]\ngrid = 1e6"),
            (Decimal, "bounds = ['1900-01-01', '2024-12-31']"),
            (Integer, "bounds = ['1900-01-01', '2024-12-31']"),
            (Real, "bounds = [0, '2024-12-31']"),
            (Date, "categories = ['2024-02-30']"),
            (Date, "categories = [7]"),
            (Timestamp, "categories = ['noon']"),
            (Decimal, "categories = ['0.0000001']"),
            (Decimal, "categories = [0.5, '0.50']"),
            (Real, "categories = [0.5]"),
            (Text, "categories = [0.5]"),
        ] {
            let declared = Declaration::parse(&format!("unit = 'row'\n[columns.x]\n{wrong}"));
            let declared = declared.and_then(|declaration| declaration.schema(&[("x".to_string(), kind)]));
            assert!(declared.as_ref().is_err_and(Error::is_input), "{kind} {wrong}: {declared:?}");
        }
        for (kind, categories, shown) in [
            (Date, "x=2024-02-29, 1999-12-31", "DATE '2024-02-29' DATE '1999-12-31'"),
            (Timestamp, "x=2024-02-29 13:05", "TIMESTAMP '2024-02-29 13:05:00'"),
            (Decimal, "x=1,0.50", "1 0.5"),
        ] {
            let mut declaration = Declaration::of_rows("");
            declaration.add_categories(categories).unwrap();
            let schema = declaration.schema(&[("x".to_string(), kind)]).unwrap();
            let categories = schema.columns[0].categories().unwrap();
            assert_eq!(categories.iter().map(ToString::to_string).collect::<Vec<_>>().join(" "), shown);
            assert_eq!(Declaration::of(&schema).schema(&[("x".to_string(), kind)]).unwrap(), schema);
        }
    }

    #[test]
    fn a_column_has_a_name() {
        assert!(Declaration::default().declare(DeclaredColumn::default()).unwrap_err().is_input());
    }

    #[test]
    fn what_cannot_be_declared_is_refused() {
        for text in [
            "[columns.wages]\nbounds = [0, 1]",
            "[columns.age]\ngrid = 1",
            "[columns.age]\nbounds = [0]",
            "[columns.age]\nbounds = [0, 1, 2]",
            "[columns.age]\nbound = [0, 1]",
            "[columns.age]\nname = \"age\"",
            "[columns.age]\ncategories = [1.5]",
            "[columns.age]\ncategories = [\"1\"]",
            "unit = \"person\"",
            "unit = { column = \"person\" }",
            "neighbours = \"none\"",
        ] {
            let unit = if text.starts_with("unit") { "" } else { "unit = \"row\"\n" };
            let declared = Declaration::parse(&format!("{unit}{text}")).and_then(|declaration| schema(&declaration));
            assert!(declared.unwrap_err().is_input(), "{text}");
        }
    }
}
