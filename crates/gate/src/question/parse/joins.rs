//! FROM: the dataset, and the tables that are joined to it: public ones, and another dataset on the unit of both.

use sqlparser::ast::{
    BinaryOperator, Expr, Ident, Join as WrittenJoin, JoinConstraint, JoinOperator, ObjectName, ObjectNamePart,
    TableFactor, TableWithJoins,
};

use super::super::private::{PrivateJoin, PrivateTable};
use super::super::{Join, quoted};
use super::limits;
use super::reader::{JoinedTables, Reader, is_called, plain, shown};
use super::scope::{JoinableTable, Scope, ScopeTable, same};
use crate::error::Error;
use crate::schema::ColumnType;

impl Reader<'_> {
    /// The tables of a SELECT: the dataset, and what is joined to it. Without FROM it is about the dataset, too, and names nothing of it.
    pub(super) fn select_tables(&self, from: &[TableWithJoins]) -> Result<JoinedTables, Error> {
        let (table, joins) = match from {
            [] => return Ok(JoinedTables::new(Scope::dataset(self.view, Vec::new()))),
            [TableWithJoins { relation, joins }] => (relation, joins),
            [_, TableWithJoins { relation, .. }, ..] => {
                let message = "FROM takes no list of tables: join a public table by JOIN … ON, as in JOIN airlines ON carrier = code";
                return Err(self.refusal_at(self.table_name(relation)?.0.span.start, message));
            }
        };
        let (name, alias) = self.table_name(table)?;
        if !is_called(name, self.dataset) {
            let message = format!("dataset {} not found here: ask FROM {}", shown(name), quoted(self.dataset));
            return Err(self.refusal_at(name.span.start, message));
        }
        let names: Vec<Ident> = std::iter::once(name).chain(alias).cloned().collect();
        self.check_names(names.clone(), joins)?;
        let mut tables = JoinedTables::new(Scope::dataset(self.view, names));
        for join in joins {
            self.join(join, &mut tables)?;
        }
        match alias {
            None => Ok(tables),
            Some(_) => Err(self.beyond()),
        }
    }

    /// What is joined must be tables under names of their own.
    fn check_names(&self, mut names: Vec<Ident>, joins: &[WrittenJoin]) -> Result<(), Error> {
        for join in joins {
            let (name, alias) = self.table_name(&join.relation)?;
            self.joinable(name)?;
            let own = alias.unwrap_or(name);
            if names.iter().any(|other| same(other, own)) {
                let message = format!("two tables are called {}: call this one something else with AS", shown(own));
                return Err(self.refusal_at(own.span.start, message));
            }
            names.push(own.clone());
        }
        Ok(())
    }

    /// Joins a table to those before it.
    fn join(&self, join: &WrittenJoin, tables: &mut JoinedTables) -> Result<(), Error> {
        let WrittenJoin { relation, global: false, join_operator } = join else { return Err(self.beyond()) };
        let (name, alias) = self.table_name(relation)?;
        let table = self.joinable(name)?;
        if matches!(table, JoinableTable::Public(_)) && tables.joins.len() == limits::JOINS {
            let message = format!("a question joins at most {} public tables", limits::JOINS);
            return Err(self.refusal_at(name.span.start, message));
        }
        let called = alias.map_or(table.name(), |alias| alias.value.as_str());
        let (table, columns) = self.view.joined(called).ok_or_else(|| self.beyond())?;
        let first = columns.start;
        let mut added =
            ScopeTable { names: vec![alias.unwrap_or(name).clone()], called: called.to_string(), columns, using: None };
        let (keeps_all, constraint) = match join_operator {
            JoinOperator::Join(constraint) | JoinOperator::Inner(constraint) => (false, constraint),
            JoinOperator::Left(constraint) | JoinOperator::LeftOuter(constraint) => (true, constraint),
            _ => {
                let message = "a table is joined by JOIN or LEFT JOIN … ON: other joins are not supported";
                return Err(self.refusal_at(name.span.start, message));
            }
        };
        let (on, key) = match constraint {
            JoinConstraint::On(condition) => self.keys(condition, tables, &added)?,
            JoinConstraint::Using(columns) => {
                let keys = self.using(columns, tables, &added)?;
                added.using = Some(keys.1);
                keys
            }
            JoinConstraint::Natural | JoinConstraint::None => {
                let message = "say which columns are equal: write ON and the two columns, as in ON carrier = code";
                return Err(self.refusal_at(name.span.start, message));
            }
        };
        let table = match table {
            JoinableTable::Public(table) => table,
            JoinableTable::Private(table) => {
                let join = self.private_join(&table, (on, key), first, keeps_all, tables);
                tables.private = Some(join.map_err(|why| self.refusal_at(name.span.start, why))?);
                tables.scope.tables.push(added);
                return Ok(());
            }
        };
        let key = key - first;
        let as_text =
            (self.declared(on).kind(), table.columns()[key].kind()) == (ColumnType::Text, ColumnType::Integer);
        let join = Join { table, first, on, key, as_text, keeps_all };
        self.check_key(&join, name)?;
        tables.scope.tables.push(added);
        tables.joins.push(join);
        Ok(())
    }

    /// A join of another dataset, on the unit of both.
    fn private_join(
        &self,
        table: &PrivateTable,
        columns: (usize, usize),
        first: usize,
        keeps_all: bool,
        tables: &JoinedTables,
    ) -> Result<PrivateJoin, String> {
        if tables.private.is_some() {
            return Err("a SELECT joins at most one other dataset: ask about the others separately".to_string());
        }
        let rows_per_unit = PrivateJoin::rows_per_unit(self.schema, table, keeps_all)?;
        let unit = first + table.schema.unit_column().unwrap_or(0);
        if (self.schema.unit_column(), columns.1) != (Some(columns.0), unit) {
            return Err(format!(
                "two private tables can be joined only on the unit of both, {:?}: in a join on another column, one unit could change any \
                 number of joined rows, and no noise would cover that",
                self.declared(unit).name()
            ));
        }
        Ok(PrivateJoin { table: table.name.clone(), first, unit, keeps_all, rows_per_unit })
    }

    /// A table of a name that may be joined. Of a dataset that may not be asked nothing is said, not even that it is there.
    fn joinable(&self, name: &Ident) -> Result<JoinableTable, Error> {
        if is_called(name, self.dataset) {
            let message = "a dataset cannot be joined to itself: use its own columns, or ask the owner to register the \
                           joined rows as one dataset";
            return Err(self.refusal_at(name.span.start, message));
        }
        self.view.table(name).ok_or_else(|| {
            let message = format!(
                "{} is neither a public table nor another dataset that you may ask, and only those can be joined: is the name right?",
                shown(name)
            );
            self.refusal_at(name.span.start, message)
        })
    }

    /// The two columns of `ON column = key`, in any order: one of the tables before, and one of the table that is joined.
    fn keys(&self, condition: &Expr, tables: &JoinedTables, added: &ScopeTable) -> Result<(usize, usize), Error> {
        let refusal = || {
            let message = "a table is joined on the equality of one column and its key, as in ON carrier = code: write other conditions \
                           after WHERE";
            self.refusal(condition, message)
        };
        let Expr::BinaryOp { left, op: BinaryOperator::Eq, right } = plain(condition) else { return Err(refusal()) };
        let mut scope = tables.scope.clone();
        scope.tables.push(added.clone());
        self.tables.borrow_mut().push(JoinedTables::new(scope));
        let columns = [left, right].map(|side| self.as_column(plain(side)));
        self.tables.borrow_mut().pop();
        let [Some(left), Some(right)] = columns else { return Err(refusal()) };
        let (left, right) = (left?, right?);
        match (added.columns.contains(&left), added.columns.contains(&right)) {
            (false, true) => Ok((left, right)),
            (true, false) => Ok((right, left)),
            _ => Err(refusal()),
        }
    }

    /// The two columns of `USING (key)`.
    fn using(
        &self,
        columns: &[ObjectName],
        tables: &JoinedTables,
        added: &ScopeTable,
    ) -> Result<(usize, usize), Error> {
        let [ObjectName(parts)] = columns else {
            return Err(self.refusal_at(added.names[0].span.start, "a table is joined on one key: write one column"));
        };
        let [ObjectNamePart::Identifier(name)] = parts.as_slice() else { return Err(self.beyond()) };
        match (tables.scope.unqualified(self.view, name).as_slice(), added.column(self.view, name)) {
            ([on], Some(key)) => Ok((*on, key)),
            _ => {
                let message = format!("both tables must have a column {}: write ON and the two columns", shown(name));
                Err(self.refusal_at(name.span.start, message))
            }
        }
    }

    /// A key must be unique, so that no row of the dataset counts more than once; and of the type of what it equals.
    fn check_key(&self, Join { table, on, key, as_text, .. }: &Join, name: &Ident) -> Result<(), Error> {
        let (on, key_column) = (self.declared(*on), &table.columns()[*key]);
        if on.kind() != key_column.kind() && !as_text {
            let message = format!(
                "the column {:?} holds {}, and the key {:?} of {} holds {}: join columns of one type",
                on.name(),
                on.kind(),
                key_column.name(),
                table.name(),
                key_column.kind()
            );
            return Err(self.refusal_at(name.span.start, message));
        }
        if !table.is_unique(*key) {
            let keys = match table.unique_columns().as_slice() {
                [] => "it has no column that could be a key".to_string(),
                keys => format!("its keys are {}", keys.join(", ")),
            };
            let message = format!(
                "several rows of {} have the same {:?}, so a row of the dataset would count more than once: {keys}",
                table.name(),
                key_column.name()
            );
            return Err(self.refusal_at(name.span.start, message));
        }
        Ok(())
    }

    /// The name of a plain table and its alias.
    fn table_name<'t>(&self, table: &'t TableFactor) -> Result<(&'t Ident, Option<&'t Ident>), Error> {
        let TableFactor::Table {
            name,
            alias,
            args: None,
            with_hints,
            version: None,
            with_ordinality: false,
            partitions,
            json_path: None,
            sample: None,
            index_hints,
        } = table
        else {
            return Err(self.beyond());
        };
        let plain = with_hints.is_empty() && partitions.is_empty() && index_hints.is_empty();
        let (true, [ObjectNamePart::Identifier(name)]) = (plain, name.0.as_slice()) else { return Err(self.beyond()) };
        match alias {
            None => Ok((name, None)),
            Some(alias) if alias.columns.is_empty() && alias.at.is_none() => Ok((name, Some(&alias.name))),
            Some(_) => Err(self.beyond()),
        }
    }
}
