//! WITH and sub-queries behind FROM, written as one SELECT about the dataset itself.
//!
//! Two kinds are taken in. One that only chooses, renames and computes columns: its expressions and its condition become a part of the
//! SELECT around it. And one that groups or aggregates, from which the SELECT around it only takes columns, computes, chooses by WHERE,
//! which becomes HAVING, sorts and shortens: that is computed from noisy numbers and free. What comes out is read like any other
//! question, so nothing here decides what may be asked.

use std::ops::ControlFlow;

use sqlparser::ast::{
    BinaryOperator, Cte, Expr, GroupByExpr, Ident, ObjectName, ObjectNamePart, Query, Select, SelectItem, SetExpr,
    TableAlias, TableFactor, TableWithJoins, WildcardAdditionalOptions, With,
};

use super::contents::{is_aggregate, size};
use super::reader::{is_called, plain};
use super::scope::same;
use super::tokens::QuestionTokens;
use super::walk::{Walker, walk};
use crate::error::Error;

/// How much may be written in the place of names: a name that stands for names that stand for names grows fast.
pub(super) const MOST: usize = 2_000;

/// The same query without WITH and without sub-queries behind FROM. `is_taken` says which names tables have already.
pub(super) fn inlined(
    mut query: Box<Query>,
    tokens: &QuestionTokens,
    is_taken: &dyn Fn(&Ident) -> bool,
) -> Result<Box<Query>, Error> {
    let mut inliner = Inliner { tokens, is_taken, named: Vec::new(), counts: Vec::new(), written: 0, refusal: None };
    inliner.take_in(&mut query)?;
    Ok(query)
}

struct Inliner<'t> {
    tokens: &'t QuestionTokens,
    is_taken: &'t dyn Fn(&Ident) -> bool,
    /// What WITH has named, of all queries that are being looked at.
    named: Vec<(Ident, Query)>,
    /// How many of them each query has named.
    counts: Vec<usize>,
    written: usize,
    /// Why the walk was ended.
    refusal: Option<Error>,
}

impl Walker for Inliner<'_> {
    fn enter_query(&mut self, query: &mut Query) -> ControlFlow<()> {
        match self.query(query) {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => {
                self.refusal = Some(error);
                ControlFlow::Break(())
            }
        }
    }

    fn leave_query(&mut self) {
        let before = self.named.len() - self.counts.pop().unwrap_or(0);
        self.named.truncate(before);
    }
}

impl Inliner<'_> {
    fn query(&mut self, query: &mut Query) -> Result<(), Error> {
        let before = self.named.len();
        if let Some(With { with_token: _, recursive, cte_tables }) = query.with.take() {
            for Cte { alias: TableAlias { name, columns, .. }, query, from, materialized: _, closing_paren_token: _ } in
                cte_tables
            {
                if recursive || !columns.is_empty() || from.is_some() {
                    return Err(
                        self.refusal(&name, "WITH is supported only without RECURSIVE and without a list of columns")
                    );
                }
                if (self.is_taken)(&name) {
                    return Err(self.refusal(&name, "a table has this name already: call it something else"));
                }
                let inner = self.inner(*query)?;
                self.named.push((name, inner));
            }
        }
        self.counts.push(self.named.len() - before);
        if let SetExpr::Select(select) = query.body.as_mut() {
            let Some((inner, names)) = self.source(select)? else { return Ok(()) };
            return self.merge(query, inner, &names);
        }
        self.united(&mut query.body)
    }

    /// The SELECTs of a UNION ALL, which have no ORDER BY of their own.
    fn united(&mut self, body: &mut SetExpr) -> Result<(), Error> {
        match body {
            SetExpr::SetOperation { left, right, .. } => {
                self.united(left)?;
                self.united(right)
            }
            SetExpr::Select(select) => {
                let Some((inner, names)) = self.source(select)? else { return Ok(()) };
                let mut alone = query_of(select.clone());
                self.merge(&mut alone, inner, &names)?;
                match (*alone.body, alone.order_by, alone.limit_clause, alone.fetch) {
                    (SetExpr::Select(merged), None, None, None) => *select = merged,
                    _ => return Err(self.refused(&names, "in a UNION ALL it has neither ORDER BY nor LIMIT")),
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// Takes in WITH and sub-queries of a query and of all queries in it.
    fn take_in(&mut self, query: &mut Query) -> Result<(), Error> {
        let _ = walk(query, self);
        self.refusal.take().map_or(Ok(()), Err)
    }

    /// A query that stands for a table, with its own WITH and sub-queries taken in.
    fn inner(&mut self, mut query: Query) -> Result<Query, Error> {
        self.take_in(&mut query)?;
        Ok(query)
    }

    /// What a SELECT is about, if that is a query: and what the SELECT calls it.
    fn source(&mut self, select: &Select) -> Result<Option<(Query, Vec<Ident>)>, Error> {
        for join in select.from.iter().flat_map(|table| &table.joins) {
            if let TableFactor::Derived { alias, .. } = &join.relation {
                let names: Vec<Ident> = alias.iter().map(|alias| alias.name.clone()).collect();
                return Err(self.refused(&names, "it cannot be joined: only registered tables can"));
            }
            if let Some(name) = self.named_table(&join.relation) {
                return Err(self.refusal(&name, "it cannot be joined: only registered tables can"));
            }
        }
        let [TableWithJoins { relation, joins }] = select.from.as_slice() else { return Ok(None) };
        let (inner, names): (Query, Vec<Ident>) = match relation {
            TableFactor::Derived { lateral: false, subquery, alias, sample: None } => {
                let names: Vec<Ident> = alias.iter().map(|alias| alias.name.clone()).collect();
                if alias.as_ref().is_some_and(|alias| !alias.columns.is_empty()) {
                    return Err(self.refused(&names, "its columns are named after its own SELECT, with AS"));
                }
                (self.inner((**subquery).clone())?, names)
            }
            TableFactor::Table { alias, .. } => match self.named_table(relation) {
                None => return Ok(None),
                Some(name) => {
                    let found = self.named.iter().rev().find(|(other, _)| same(other, &name));
                    let Some((_, query)) = found.cloned() else { return Ok(None) };
                    (query, std::iter::once(name).chain(alias.as_ref().map(|alias| alias.name.clone())).collect())
                }
            },
            _ => return Ok(None),
        };
        match joins.is_empty() {
            true => Ok(Some((inner, names))),
            false => Err(self.refused(&names, "join public tables inside it, not to it")),
        }
    }

    /// The name of a plain table that WITH has named.
    fn named_table(&self, factor: &TableFactor) -> Option<Ident> {
        let TableFactor::Table { name: ObjectName(parts), args: None, .. } = factor else { return None };
        let [ObjectNamePart::Identifier(name)] = parts.as_slice() else { return None };
        self.named.iter().any(|(other, _)| same(other, name)).then(|| name.clone())
    }

    /// Puts the query that a SELECT is about into it.
    fn merge(&mut self, query: &mut Query, inner: Query, names: &[Ident]) -> Result<(), Error> {
        let Query { with: None, body, order_by, limit_clause, fetch, .. } = inner else {
            let why = "this kind of sub-query is not supported: write it as SELECT … FROM … WHERE … GROUP BY …";
            return Err(self.refused(names, why));
        };
        let SetExpr::Select(mut inner) = *body else {
            return Err(self.refused(names, "UNION is not supported here: write UNION ALL around whole questions"));
        };
        let SetExpr::Select(outer) = query.body.as_mut() else { return Ok(()) };
        if inner.distinct.is_some() {
            return Err(self.refused(names, "SELECT DISTINCT is not supported: use GROUP BY"));
        }
        let shortened = order_by.is_some() || limit_clause.is_some() || fetch.is_some();
        let mut writing =
            Writing { columns: columns(&inner.projection), names, most: MOST - self.written.min(MOST), size: 0 };
        if !is_aggregate(&inner) {
            if shortened {
                return Err(self.refused(names, "rows cannot be sorted or limited: omit ORDER BY and LIMIT there"));
            }
            outer.projection = self.expanded(outer.projection.drain(..), &inner.projection, &mut writing)?;
            writing.conditions(outer);
            if let Some(order_by) = &mut query.order_by {
                let _ = walk(order_by, &mut writing);
            }
            outer.from = inner.from;
            outer.selection = both(inner.selection, outer.selection.take());
        } else {
            let grouped = !matches!(&outer.group_by, GroupByExpr::Expressions(keys, _) if keys.is_empty());
            if grouped || outer.having.is_some() || outer.distinct.is_some() || is_aggregate(outer) {
                let why = "groups of groups are not supported: use the columns of the inner question, compute with them or sort by them";
                return Err(self.refused(names, why));
            }
            if shortened && (query.order_by.is_some() || query.limit_clause.is_some() || outer.selection.is_some()) {
                return Err(
                    self.refused(names, "sort and limit once: after the inner question, or after the outer one")
                );
            }
            let projection = self.expanded(outer.projection.drain(..), &inner.projection, &mut writing)?;
            let mut selection = outer.selection.take();
            let _ = walk(&mut selection, &mut writing);
            if let Some(order_by) = &mut query.order_by {
                writing.columns.retain(|(name, _)| !projection.iter().any(|item| is_named(item, name)));
                let _ = walk(order_by, &mut writing);
            }
            inner.projection = projection;
            inner.having = both(inner.having, selection);
            *outer = inner;
            if shortened {
                (query.order_by, query.limit_clause, query.fetch) = (order_by, limit_clause, fetch);
            }
        }
        self.written += writing.size;
        match self.written > MOST {
            true => {
                Err(self.refused(names, "this gets too long when it is written as one SELECT: ask something simpler"))
            }
            false => Ok(()),
        }
    }

    /// The columns of a SELECT about a query: `*` are all columns of the query, as it has them, and others are written with its columns.
    fn expanded(
        &self,
        outer: impl Iterator<Item = SelectItem>,
        inner: &[SelectItem],
        writing: &mut Writing<'_>,
    ) -> Result<Vec<SelectItem>, Error> {
        let mut projection = Vec::new();
        for mut item in outer {
            match &mut item {
                SelectItem::Wildcard(options) if *options == WildcardAdditionalOptions::default() => {
                    projection.extend(inner.iter().cloned());
                }
                SelectItem::Wildcard(_) => {
                    return Err(self.refused(writing.names, "* means all columns: name the columns that you need"));
                }
                _ => {
                    name_output(&mut item);
                    let _ = walk(&mut item, writing);
                    projection.push(item);
                }
            }
        }
        Ok(projection)
    }

    fn refusal(&self, name: &Ident, why: &str) -> Error {
        Error::question(self.tokens.at(self.tokens.index(name.span.start)), why)
    }

    fn refused(&self, names: &[Ident], why: &str) -> Error {
        match names.first() {
            Some(name) => self.refusal(name, why),
            None => Error::question(1, why),
        }
    }
}

/// A query that is one SELECT.
fn query_of(select: Box<Select>) -> Query {
    Query {
        with: None,
        body: Box::new(SetExpr::Select(select)),
        order_by: None,
        limit_clause: None,
        fetch: None,
        locks: Vec::new(),
        for_clause: None,
        settings: None,
        format_clause: None,
        pipe_operators: Vec::new(),
    }
}

/// Writes expressions in the place of the names of columns.
struct Writing<'n> {
    columns: Vec<(Ident, Expr)>,
    /// What the query with these columns is called.
    names: &'n [Ident],
    most: usize,
    size: usize,
}

impl Writing<'_> {
    /// Everything of a SELECT but its columns.
    fn conditions(&mut self, select: &mut Select) {
        let _ = walk(&mut select.selection, self);
        let _ = walk(&mut select.group_by, self);
        let _ = walk(&mut select.having, self);
    }
}

impl Walker for Writing<'_> {
    /// On the way up, so that what is written is not looked at again.
    fn leave_expr(&mut self, expression: &mut Expr) {
        let name = match &*expression {
            Expr::Identifier(name) => name,
            Expr::CompoundIdentifier(parts) => match parts.as_slice() {
                [table, name] if self.names.iter().any(|other| same(other, table)) => name,
                _ => return,
            },
            _ => return,
        };
        match self.columns.iter().find(|(column, _)| same(column, name)) {
            Some((_, written)) => {
                self.size += size(written);
                // What is too long is refused when all is written; it must not grow without end before that.
                if self.size <= self.most {
                    *expression = Expr::Nested(Box::new(written.clone()));
                }
            }
            None if matches!(expression, Expr::CompoundIdentifier(_)) => *expression = Expr::Identifier(name.clone()),
            None => {}
        }
    }
}

/// What the columns of a SELECT are called. Those that are called what they are need not be written anew.
fn columns(projection: &[SelectItem]) -> Vec<(Ident, Expr)> {
    let column = |item: &SelectItem| match item {
        SelectItem::ExprWithAlias { expr, alias } => Some((alias.clone(), expr.clone())),
        SelectItem::UnnamedExpr(expr) => match plain(expr) {
            Expr::CompoundIdentifier(parts) => parts.last().map(|name| (name.clone(), expr.clone())),
            _ => None,
        },
        _ => None,
    };
    projection.iter().filter_map(column).collect()
}

/// Columns that are names keep them, whatever is written in their place.
fn name_output(item: &mut SelectItem) {
    let alias = match item {
        SelectItem::UnnamedExpr(Expr::Identifier(name)) => name.clone(),
        SelectItem::UnnamedExpr(Expr::CompoundIdentifier(parts)) if !parts.is_empty() => parts[parts.len() - 1].clone(),
        _ => return,
    };
    if let SelectItem::UnnamedExpr(expr) = item.clone() {
        *item = SelectItem::ExprWithAlias { expr, alias };
    }
}

fn is_named(item: &SelectItem, name: &Ident) -> bool {
    matches!(item, SelectItem::ExprWithAlias { alias, .. } if is_called(name, &alias.value))
}

/// Both conditions.
fn both(one: Option<Expr>, other: Option<Expr>) -> Option<Expr> {
    match (one, other) {
        (Some(one), Some(other)) => {
            let [left, right] = [one, other].map(|condition| Box::new(Expr::Nested(Box::new(condition))));
            Some(Expr::BinaryOp { left, op: BinaryOperator::And, right })
        }
        (one, other) => one.or(other),
    }
}
