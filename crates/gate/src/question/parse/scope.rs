//! Which columns a question may name: those of the dataset, and in each SELECT those of the tables that it joins.

use std::ops::Range;
use std::sync::Arc;

use sqlparser::ast::{Ident, JoinConstraint, JoinOperator, ObjectName, ObjectNamePart, TableAlias, TableFactor};

use super::super::private::PrivateTable;
use super::reader::is_called;
use crate::public::PublicTable;
use crate::schema::{Column, Schema};

/// The columns of all SELECTs of a question.
pub(super) struct SchemaView<'a> {
    pub(super) dataset: &'a str,
    /// The columns of the dataset, and behind them those of the tables that are joined anywhere.
    pub(super) schema: Schema,
    /// How many columns the dataset has.
    own: usize,
    /// All public tables that may be joined.
    public: &'a [Arc<PublicTable>],
    /// All other datasets that may be joined.
    private: &'a [Arc<PrivateTable>],
    joined: Vec<Joined>,
}

/// A table under the name that the question has for it.
struct Joined {
    called: String,
    table: JoinableTable,
    first: usize,
}

/// A table that may be joined to the dataset.
#[derive(Clone)]
pub(super) enum JoinableTable {
    Public(Arc<PublicTable>),
    Private(Arc<PrivateTable>),
}

impl JoinableTable {
    pub(super) fn name(&self) -> &str {
        match self {
            JoinableTable::Public(table) => table.name().as_str(),
            JoinableTable::Private(table) => table.name.as_str(),
        }
    }

    fn columns(&self) -> &[Column] {
        match self {
            JoinableTable::Public(table) => table.columns(),
            JoinableTable::Private(table) => &table.schema.columns,
        }
    }
}

impl<'a> SchemaView<'a> {
    pub(super) fn new(
        dataset: &'a str,
        schema: &Schema,
        public: &'a [Arc<PublicTable>],
        private: &'a [Arc<PrivateTable>],
    ) -> SchemaView<'a> {
        SchemaView { dataset, schema: schema.clone(), own: schema.columns.len(), public, private, joined: Vec::new() }
    }

    /// Whether a word may be the name of a table or a column.
    pub(super) fn is_name(&self, word: &str) -> bool {
        let is = |name: &str| name.eq_ignore_ascii_case(word);
        is(self.dataset)
            || self.schema.columns.iter().any(|column| is(&column.name))
            || self.tables().any(|table| is(table.name()) || table.columns().iter().any(|column| is(column.name())))
    }

    /// Whether a name is that of the dataset or of a table that may be joined.
    pub(super) fn is_table(&self, name: &Ident) -> bool {
        is_called(name, self.dataset) || self.table(name).is_some()
    }

    fn tables(&self) -> impl Iterator<Item = JoinableTable> {
        let public = self.public.iter().cloned().map(JoinableTable::Public);
        public.chain(self.private.iter().cloned().map(JoinableTable::Private))
    }

    /// A table that may be joined.
    pub(super) fn table(&self, name: &Ident) -> Option<JoinableTable> {
        self.tables().find(|table| is_called(name, table.name()))
    }

    /// Makes room for the columns of a table under a name, unless it is there.
    pub(super) fn join(&mut self, called: &str, table: &JoinableTable) -> Range<usize> {
        if self.joined(called).is_none() {
            let first = self.schema.columns.len();
            self.schema.columns.extend_from_slice(table.columns());
            self.joined.push(Joined { called: called.to_string(), table: table.clone(), first });
        }
        self.joined(called).map_or(0..0, |(_, columns)| columns)
    }

    /// The table under a name in one way of writing, and its columns.
    pub(super) fn joined(&self, called: &str) -> Option<(JoinableTable, Range<usize>)> {
        let Joined { table, first, .. } = self.joined.iter().find(|joined| joined.called == called)?;
        Some((table.clone(), *first..first + table.columns().len()))
    }
}

/// The tables of one SELECT.
#[derive(Clone, Default)]
pub(super) struct Scope {
    pub(super) tables: Vec<ScopeTable>,
}

/// A table of a SELECT.
#[derive(Clone)]
pub(super) struct ScopeTable {
    /// What the SELECT calls it.
    pub(super) names: Vec<Ident>,
    /// Its name in one way of writing.
    pub(super) called: String,
    pub(super) columns: Range<usize>,
    /// A column that USING takes for one with the same column of the table before: its name alone means that one.
    pub(super) using: Option<usize>,
}

impl Scope {
    /// The dataset alone.
    pub(super) fn dataset(view: &SchemaView, names: Vec<Ident>) -> Scope {
        let (called, columns) = (view.dataset.to_string(), 0..view.own);
        Scope { tables: vec![ScopeTable { names, called, columns, using: None }] }
    }

    /// The columns that a name alone may mean.
    pub(super) fn unqualified(&self, view: &SchemaView, name: &Ident) -> Vec<usize> {
        let columns =
            |table: &ScopeTable| table.columns.clone().filter(|at| Some(*at) != table.using).collect::<Vec<_>>();
        let is = |at: &usize| is_called(name, &view.schema.columns[*at].name);
        self.tables.iter().flat_map(columns).filter(is).collect()
    }

    /// A table by a name of its own.
    pub(super) fn table(&self, name: &Ident) -> Option<&ScopeTable> {
        self.tables.iter().find(|table| table.names.iter().any(|own| same(own, name)))
    }

    /// Whether two tables have one name.
    pub(super) fn has_duplicates(&self) -> bool {
        let of_others = |at: usize| self.tables.iter().take(at).flat_map(|table| &table.names);
        let is_taken = |at: usize, name: &Ident| of_others(at).any(|other| same(other, name));
        let mut tables = self.tables.iter().enumerate();
        tables.any(|(at, table)| table.names.iter().any(|name| is_taken(at, name)))
    }
}

impl ScopeTable {
    /// The column of a name.
    pub(super) fn column(&self, view: &SchemaView, name: &Ident) -> Option<usize> {
        self.columns.clone().find(|at| is_called(name, &view.schema.columns[*at].name))
    }
}

/// The name of a table and its alias, if it is a plain one.
pub(super) fn table_name(factor: &mut TableFactor) -> Option<(&mut Ident, &mut Option<TableAlias>)> {
    match factor {
        TableFactor::Table { name: ObjectName(parts), alias, .. } => match parts.as_mut_slice() {
            [ObjectNamePart::Identifier(name)] => Some((name, alias)),
            _ => None,
        },
        _ => None,
    }
}

/// The one column of USING.
pub(super) fn using(operator: &mut JoinOperator) -> Option<&mut Ident> {
    use JoinOperator::{Inner, Join, Left, LeftOuter};
    let (Join(constraint) | Inner(constraint) | Left(constraint) | LeftOuter(constraint)) = operator else {
        return None;
    };
    let JoinConstraint::Using(columns) = constraint else { return None };
    match columns.as_mut_slice() {
        [ObjectName(parts)] => match parts.as_mut_slice() {
            [ObjectNamePart::Identifier(name)] => Some(name),
            _ => None,
        },
        _ => None,
    }
}

/// Whether two names of a question are the same.
pub(super) fn same(one: &Ident, other: &Ident) -> bool {
    match (one.quote_style, other.quote_style) {
        (Some(_), Some(_)) => one.value == other.value,
        _ => one.value.eq_ignore_ascii_case(&other.value),
    }
}
