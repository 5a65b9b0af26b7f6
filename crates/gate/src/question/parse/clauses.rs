//! The clauses of a question: what a query and a SELECT may have, and what of them must not be there.

use std::cell::RefCell;

use sqlparser::ast::{
    Distinct, Expr, Fetch, Ident, LimitClause, OrderBy, Query as Written, Select, SelectFlavor, SelectItem, SetExpr,
    SetOperator, SetQuantifier,
};

use super::super::group::Group;
use super::super::term::{Condition, Term};
use super::super::{OrderKey, Output, Query, Question, quoted};
use super::groups::{WrittenGroup, name_of};
use super::limits;
use super::literal::Literal;
use super::reader::{Reader, plain};
use super::screen::ROWS;
use super::terms::Terms;
use crate::error::Error;

impl Reader<'_> {
    /// Takes a question apart.
    pub(super) fn question(&self, query: &Written) -> Result<Question, Error> {
        let (body, order_by, limit_clause, fetch) = self.parts(query)?;
        let written = self.united(body)?;
        let selects = written.iter().map(|select| self.groupings(select)).collect::<Result<Vec<_>, Error>>()?.concat();
        let mut queries: Vec<Query> = Vec::new();
        let (mut order, mut hidden) = (Vec::new(), 0);
        for (at, select) in selects.iter().enumerate() {
            let keys = if selects.len() == 1 { order_by } else { None };
            let (mut query, own_order, sorted_by) = self.query(select, keys)?;
            hidden = sorted_by.len();
            query.outputs.extend(sorted_by);
            if let Some(first) = queries.first()
                && first.outputs.len() != query.outputs.len()
            {
                let message = "the questions that UNION ALL joins have different numbers of columns";
                return Err(self.item_refusal(select.projection.first(), message));
            }
            if at == 0 {
                order = own_order;
            }
            queries.push(query);
        }
        if selects.len() > 1 {
            order = self.order_by_names(order_by, &queries[0].outputs)?;
        }
        let scalars = self.scalars.take();
        if queries.len() + scalars.len() > limits::SELECTS {
            return Err(self.item_refusal(
                selects[0].projection.first(),
                format!("a question has at most {} SELECTs", limits::SELECTS),
            ));
        }
        let mut private = scalars.iter().chain(&queries).filter_map(|query| Some(&query.private.as_ref()?.table));
        let first = private.next();
        if private.any(|table| Some(table) != first) {
            let message = "a question joins at most one other dataset, in all its SELECTs: ask one after the other";
            return Err(self.item_refusal(selects[0].projection.first(), message));
        }
        let (offset, limit) = self.limit(limit_clause, fetch)?;
        let limit = self.top(&written, limit)?;
        let schema = self.schema.clone();
        Ok(Question { queries, scalars, order, hidden, offset, limit, schema, canonical: String::new() })
    }

    /// A sub-query whose answer is one number: its place among those that are asked first.
    pub(super) fn subquery(&self, expression: &Expr, query: &Written) -> Result<usize, Error> {
        let query = match self.parts(query)? {
            (SetExpr::Select(select), None, None, None) => self.query(select, None)?.0,
            _ => {
                return Err(
                    self.refusal(expression, "a sub-query is one SELECT of one aggregate, without ORDER BY and LIMIT")
                );
            }
        };
        if !query.groups.is_empty() || query.outputs.len() != 1 || query.having.is_some() {
            let message = "a sub-query is one aggregate without groups, such as (SELECT AVG(wage) FROM people)";
            return Err(self.refusal(expression, message));
        }
        let mut scalars = self.scalars.borrow_mut();
        let at = scalars.iter().position(|other| *other == query).unwrap_or(scalars.len());
        if at == scalars.len() {
            scalars.push(query);
        }
        Ok(at)
    }

    #[expect(clippy::type_complexity, reason = "the parts of a query, in order")]
    fn parts<'q>(
        &self,
        query: &'q Written,
    ) -> Result<(&'q SetExpr, Option<&'q OrderBy>, Option<&'q LimitClause>, Option<&'q Fetch>), Error> {
        let Written {
            with: None,
            body,
            order_by,
            limit_clause,
            fetch,
            locks,
            for_clause: None,
            settings: None,
            format_clause: None,
            pipe_operators,
        } = query
        else {
            return Err(self.beyond());
        };
        if !locks.is_empty() || !pipe_operators.is_empty() {
            return Err(self.beyond());
        }
        Ok((body, order_by.as_ref(), limit_clause.as_ref(), fetch.as_ref()))
    }

    /// The SELECTs of a UNION ALL, in order.
    fn united<'q>(&self, body: &'q SetExpr) -> Result<Vec<&'q Select>, Error> {
        match body {
            SetExpr::Select(select) => Ok(vec![select]),
            SetExpr::SetOperation { op: SetOperator::Union, set_quantifier: SetQuantifier::All, left, right } => {
                Ok([self.united(left)?, self.united(right)?].concat())
            }
            SetExpr::SetOperation { left, .. } => {
                let first = self.united(left)?.first().and_then(|select| select.projection.first());
                Err(self.item_refusal(
                    first,
                    "questions are joined by UNION ALL only: write ALL, or ask one after the other",
                ))
            }
            _ => Err(self.beyond()),
        }
    }

    /// A SELECT, how it is sorted, and what it is sorted by and does not show.
    fn query(&self, select: &Select, order_by: Option<&OrderBy>) -> Result<(Query, Vec<OrderKey>, Vec<Output>), Error> {
        let Select {
            select_token: _,
            optimizer_hints,
            distinct: None | Some(Distinct::All),
            select_modifiers: None,
            top: _,
            top_before_distinct: false,
            projection,
            exclude: None,
            into: None,
            from,
            lateral_views,
            prewhere: None,
            selection,
            connect_by,
            group_by,
            cluster_by,
            distribute_by,
            sort_by,
            having,
            named_window,
            qualify,
            window_before_qualify: false,
            value_table_mode: None,
            flavor: SelectFlavor::Standard,
        } = select
        else {
            let message = "SELECT DISTINCT is not supported: every group is answered once anyway; omit DISTINCT";
            return Err(match select.distinct {
                Some(_) => self.item_refusal(select.projection.first(), message),
                None => self.beyond(),
            });
        };
        let plain = optimizer_hints.is_empty()
            && lateral_views.is_empty()
            && connect_by.is_empty()
            && cluster_by.is_empty()
            && distribute_by.is_empty()
            && sort_by.is_empty()
            && named_window.is_empty();
        if !plain {
            return Err(self.beyond());
        }
        let tables = self.select_tables(from)?;
        self.tables.borrow_mut().push(tables);
        let filter = selection.as_ref().map(|condition| self.predicate(condition)).transpose()?;
        let groups = self.groups(group_by, projection, filter.as_ref())?;
        let aliases = projection.iter().filter_map(|item| match item {
            SelectItem::ExprWithAlias { expr, alias } => Some((alias.value.clone(), expr)),
            _ => None,
        });
        let aliases = aliases.collect();
        let terms = Terms { reader: self, groups: &groups, aggregates: RefCell::default(), aliases };
        let outputs = self.outputs(projection, &terms)?;
        // Both choose rows of the noisy answer.
        let conditions = having.iter().chain(qualify).map(|condition| terms.condition(condition));
        let mut conditions = conditions.collect::<Result<Vec<_>, Error>>()?;
        let having = if conditions.len() > 1 { Some(Condition::And(conditions)) } else { conditions.pop() };
        let (order, hidden) = self.order(order_by, &terms, &outputs)?;
        let aggregates = terms.aggregates.into_inner();
        let only_scalars = from.is_empty() && outputs.iter().any(|output| output.term.has_scalar());
        if from.is_empty() && !only_scalars {
            let message = format!("say what it is about: add FROM {}", quoted(self.dataset));
            return Err(Error::question(self.tokens.end(), message));
        }
        if aggregates.is_empty() && !only_scalars {
            let message = "nothing is counted or summed: add COUNT(*), COUNT(column), SUM(column) or AVG(column)";
            return Err(self.item_refusal(projection.first(), message));
        }
        let groups = groups.into_iter().map(|written| self.group_that_can_be(written));
        let groups = groups.collect::<Result<_, Error>>()?;
        let tables = self.tables.borrow_mut().pop();
        let (joins, private) = tables.map_or((Vec::new(), None), |tables| (tables.joins, tables.private));
        let group_limit = None;
        Ok((Query { outputs, aggregates, joins, private, filter, groups, group_limit, having }, order, hidden))
    }

    /// A key of which the condition on the rows leaves at least one value.
    fn group_that_can_be(&self, WrittenGroup { expression, group }: WrittenGroup) -> Result<Group, Error> {
        match group.values() {
            Some(values) if values.is_empty() => {
                Err(self.refusal(expression, "the declaration and WHERE leave no group: ask for values that can occur"))
            }
            _ => Ok(group),
        }
    }

    fn outputs(&self, items: &[SelectItem], terms: &Terms) -> Result<Vec<Output>, Error> {
        let mut outputs: Vec<Output> = Vec::new();
        for item in items {
            let (expression, alias) = match item {
                SelectItem::UnnamedExpr(expression) => (expression, None),
                SelectItem::ExprWithAlias { expr, alias } => (expr, Some(alias)),
                SelectItem::Wildcard(options) => {
                    return Err(self.refusal_at(options.wildcard_token.0.span.start, ROWS));
                }
                _ => return Err(self.beyond()),
            };
            let label = Literal::of(self, plain(expression)).and_then(|literal| literal.text());
            let term = match label {
                Some(text) => Term::Label(text.to_string()),
                None => terms.output(expression)?,
            };
            let name = match alias {
                Some(alias) => self.alias(alias)?,
                None => name_of(expression),
            };
            if outputs.iter().any(|other| other.name.eq_ignore_ascii_case(&name)) {
                let message = format!("two columns of the answer are called {name:?}: rename one with AS, or omit it");
                return Err(self.refusal(expression, message));
            }
            outputs.push(Output { name, text: plain(expression).to_string(), term });
        }
        Ok(outputs)
    }

    fn alias(&self, alias: &Ident) -> Result<String, Error> {
        let Ident { value, quote_style: None | Some('"'), span } = alias else { return Err(self.beyond()) };
        if value.is_empty() || value.len() > limits::NAME || value.chars().any(char::is_control) {
            let message =
                format!("a name has 1 to {} bytes and no control characters: choose another one", limits::NAME);
            return Err(self.refusal_at(span.start, message));
        }
        Ok(value.clone())
    }

    pub(super) fn item_refusal(&self, item: Option<&SelectItem>, message: impl Into<String>) -> Error {
        match item {
            Some(SelectItem::UnnamedExpr(first) | SelectItem::ExprWithAlias { expr: first, alias: _ }) => {
                self.refusal(first, message)
            }
            _ => self.beyond(),
        }
    }
}
