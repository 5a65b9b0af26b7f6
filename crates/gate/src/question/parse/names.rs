//! Names in one way of writing: tables and columns as they are declared, a table before a column only where several tables have a
//! column of that name, no aliases of tables, functions in capital letters, and
//! SYMMETRIC around the whole lower end of BETWEEN.

use std::ops::ControlFlow;

use sqlparser::ast::{
    CastKind, Expr, Ident, JoinOperator, ObjectNamePart, Query, Select, SetExpr, TableAlias, TableFactor,
    TableWithJoins, UnaryOperator,
};

use super::keywords;
use super::reader::is_called;
use super::scope::{JoinableTable, SchemaView, Scope, ScopeTable, table_name, using};
use super::walk::{Walker, walk};

/// The same query with its names written in one way, and the tables that it joins added to the view. Names that are unknown stay as they
/// are, for the message about them.
pub(super) fn written_in_one_way(mut query: Box<Query>, view: &mut SchemaView) -> Box<Query> {
    let mut names = Names { view, scopes: Vec::new() };
    let _ = walk(&mut query, &mut names);
    query
}

struct Names<'v, 'a> {
    view: &'v mut SchemaView<'a>,
    /// The tables of the SELECTs that are being looked at.
    scopes: Vec<Scope>,
}

impl Walker for Names<'_, '_> {
    /// ORDER BY is a part of the query, and names what its SELECT does.
    fn enter_query(&mut self, query: &mut Query) -> ControlFlow<()> {
        let scope = match query.body.as_ref() {
            SetExpr::Select(select) => self.scope(&mut select.from.clone()),
            _ => Scope::dataset(self.view, Vec::new()),
        };
        self.scopes.push(scope);
        ControlFlow::Continue(())
    }

    fn leave_query(&mut self) {
        self.scopes.pop();
    }

    fn enter_select(&mut self, select: &mut Select) {
        let scope = self.scope(&mut select.from);
        self.scopes.push(scope);
    }

    fn leave_select(&mut self) {
        self.scopes.pop();
    }

    fn enter_expr(&mut self, expression: &mut Expr) {
        let Some(scope) = self.scopes.last() else { return };
        if let Expr::Between { low, .. } = expression
            && take_symmetric(low)
        {
            **low = Expr::Prefixed { prefix: Ident::new("SYMMETRIC"), value: low.clone() };
        }
        match expression {
            Expr::CompoundIdentifier(parts) => {
                if let [table, column] = parts.as_slice()
                    && let Some(written) = self.qualified(scope, table, column)
                {
                    *expression = written;
                }
            }
            Expr::Identifier(name) => {
                if let [at] = scope.unqualified(self.view, name).as_slice() {
                    *name = written(&self.view.schema.columns[*at].name, name);
                }
            }
            Expr::Function(function) => {
                if let [ObjectNamePart::Identifier(name)] = function.name.0.as_mut_slice()
                    && name.quote_style.is_none()
                {
                    name.value = name.value.to_ascii_uppercase();
                }
            }
            _ => {}
        }
    }
}

impl Names<'_, '_> {
    /// A column with its table: without it where the name alone is enough.
    fn qualified(&self, scope: &Scope, table: &Ident, column: &Ident) -> Option<Expr> {
        let found = scope.table(table)?;
        let Some(at) = found.column(self.view, column) else {
            // Where there is one table, the message is about the column.
            return Some(match scope.tables.len() {
                1 => Expr::Identifier(column.clone()),
                _ => Expr::CompoundIdentifier(vec![written(&found.called, table), column.clone()]),
            });
        };
        let name = written(&self.view.schema.columns[at].name, column);
        Some(match scope.unqualified(self.view, &name).as_slice() == [at] {
            true => Expr::Identifier(name),
            false => Expr::CompoundIdentifier(vec![written(&found.called, table), name]),
        })
    }

    /// The tables of a SELECT, which are written in one way; as they are, where one of them is unknown or two have one name.
    fn scope(&mut self, from: &mut [TableWithJoins]) -> Scope {
        let [TableWithJoins { relation, joins }] = from else { return Scope::dataset(self.view, Vec::new()) };
        // Which of two tables is named first makes no difference to an inner join.
        if let Some(first) = joins.first_mut()
            && matches!(first.join_operator, JoinOperator::Join(_) | JoinOperator::Inner(_))
            && self.is_dataset(&mut first.relation)
            && !self.is_dataset(relation)
        {
            std::mem::swap(relation, &mut first.relation);
        }
        let names = table_name(relation).into_iter().flat_map(|(name, alias)| {
            [Some(name.clone()), alias.as_ref().map(|alias| alias.name.clone())].into_iter().flatten()
        });
        let mut scope = Scope::dataset(self.view, names.collect());
        let mut tables: Vec<JoinableTable> = Vec::new();
        for join in joins.iter_mut() {
            let Some((name, alias)) = table_name(&mut join.relation) else { return scope };
            let Some(table) = self.view.table(name) else { return scope };
            let names = vec![alias.as_ref().map_or_else(|| name.clone(), |alias| alias.name.clone())];
            // No table has a name with a blank.
            let called = match tables.iter().filter(|other| other.name() == table.name()).count() {
                0 => table.name().to_string(),
                before => format!("{} {}", table.name(), before + 1),
            };
            let columns = self.view.join(&called, &table);
            let mut joined = ScopeTable { names, called, columns, using: None };
            joined.using = using(&mut join.join_operator).and_then(|column| joined.column(self.view, column));
            scope.tables.push(joined);
            tables.push(table);
        }
        if !scope.has_duplicates() {
            rename(relation, self.view.dataset, self.view.dataset);
            for ((join, table), joined) in joins.iter_mut().zip(tables).zip(&scope.tables[1..]) {
                rename(&mut join.relation, table.name(), &joined.called);
                if let (Some(column), Some(at)) = (using(&mut join.join_operator), joined.using) {
                    *column = written(&self.view.schema.columns[at].name, column);
                }
            }
        }
        scope
    }

    fn is_dataset(&self, factor: &mut TableFactor) -> bool {
        table_name(factor).is_some_and(|(name, _)| is_called(name, self.view.dataset))
    }
}

/// Writes a table with its name, and an alias only if it is called otherwise.
fn rename(factor: &mut TableFactor, table: &str, called: &str) {
    if let Some((name, alias)) = table_name(factor)
        && is_called(name, table)
        && alias.as_ref().is_none_or(|alias| alias.columns.is_empty() && alias.at.is_none())
    {
        *name = written(table, name);
        *alias = (table != called).then(|| {
            let name = written(called, name);
            TableAlias { explicit: true, name, columns: Vec::new(), at: None }
        });
    }
}

/// A name as it is declared, in the place of another one.
fn written(name: &str, before: &Ident) -> Ident {
    Ident { value: name.to_string(), quote_style: quotes(name), span: before.span }
}

/// The quotes that a name needs, if any.
pub(super) fn quotes(name: &str) -> Option<char> {
    let plain = name.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_')
        && !name.starts_with(|letter: char| letter.is_ascii_digit())
        && !keywords::is_word(name);
    if plain { None } else { Some('"') }
}

/// Takes the sign of BETWEEN SYMMETRIC out of the lower end, which begins with it.
fn take_symmetric(low: &mut Expr) -> bool {
    match low {
        Expr::UnaryOp { op: UnaryOperator::BitwiseNot, expr } => {
            *low = (**expr).clone();
            true
        }
        Expr::BinaryOp { left, .. } | Expr::Cast { kind: CastKind::DoubleColon, expr: left, .. } => {
            take_symmetric(left)
        }
        _ => false,
    }
}
