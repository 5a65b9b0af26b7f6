//! The clauses of a question: what a query and a SELECT may have, and what of them must not be there.

use sqlparser::ast::{
    Expr, GroupByExpr, LimitClause, ObjectNamePart, OrderBy, OrderByExpr, OrderByKind, OrderByOptions, OrderBySort,
    Query, Select, SelectFlavor, SetExpr, TableFactor, TableWithJoins, Value as Written,
};

use super::super::{OrderKey, Output, Question, quoted};
use super::limits;
use super::predicate::Filter;
use super::reader::{Reader, is_called, plain, shown};
use crate::error::Error;

impl Reader<'_> {
    /// Takes a query apart.
    pub(super) fn question(&self, query: &Query) -> Result<Question, Error> {
        let Query {
            with: None,
            body,
            order_by,
            limit_clause,
            fetch: None,
            locks,
            for_clause: None,
            settings: None,
            format_clause: None,
            pipe_operators,
        } = query
        else {
            return Err(self.beyond());
        };
        let plain = locks.is_empty() && pipe_operators.is_empty();
        let (true, SetExpr::Select(select)) = (plain, body.as_ref()) else { return Err(self.beyond()) };
        let mut question = self.select(select)?;
        question.order = self.order(order_by.as_ref(), &question)?;
        question.limit = self.limit(limit_clause.as_ref())?;
        Ok(question)
    }

    fn select(&self, select: &Select) -> Result<Question, Error> {
        let Select {
            select_token: _,
            optimizer_hints,
            distinct: None,
            select_modifiers: None,
            top: None,
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
            having: None,
            named_window,
            qualify: None,
            window_before_qualify: false,
            value_table_mode: None,
            flavor: SelectFlavor::Standard,
        } = select
        else {
            return Err(self.beyond());
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
        self.table(from)?;
        let groups = self.groups(group_by)?;
        let outputs = self.outputs(projection, &groups)?;
        let filter = selection.as_ref().map(|condition| Filter::new(self).read(condition)).transpose()?;
        Ok(Question { outputs, filter, groups, order: Vec::new(), limit: None })
    }

    /// The one table is the dataset.
    fn table(&self, from: &[TableWithJoins]) -> Result<(), Error> {
        let (table, joins) = match from {
            [] => {
                let message = format!("say what it is about: add FROM {}", quoted(self.dataset));
                return Err(Error::question(self.tokens.end(), message));
            }
            [TableWithJoins { relation, joins }] => (relation, joins),
            _ => return Err(self.beyond()),
        };
        let TableFactor::Table {
            name,
            alias: None,
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
        let plain = joins.is_empty() && with_hints.is_empty() && partitions.is_empty() && index_hints.is_empty();
        let (true, [ObjectNamePart::Identifier(name)]) = (plain, name.0.as_slice()) else { return Err(self.beyond()) };
        if !is_called(name, self.dataset) {
            let message = format!("there is no dataset {} here: ask FROM {}", shown(name), quoted(self.dataset));
            return Err(self.refusal_at(name.span.start, message));
        }
        Ok(())
    }

    /// The columns that are grouped by.
    fn groups(&self, group_by: &GroupByExpr) -> Result<Vec<usize>, Error> {
        let (columns, modifiers) = match group_by {
            GroupByExpr::Expressions(columns, modifiers) => (columns, modifiers),
            GroupByExpr::All(_) => return Err(self.beyond()),
        };
        if !modifiers.is_empty() {
            return Err(self.beyond());
        }
        let mut groups = Vec::new();
        let mut cells = 1usize;
        for expression in columns {
            let Expr::Identifier(name) = plain(expression) else {
                return Err(self.refusal(expression, "only columns are grouped by: write the column's name"));
            };
            let column = self.column(name)?;
            let Some(categories) = &self.declared(column).categories else {
                let message = format!(
                    "the column {} has no declared categories, so it cannot be grouped by: ask the owner to \
                     declare them, or use WHERE",
                    shown(name)
                );
                return Err(self.refusal(expression, message));
            };
            if groups.contains(&column) {
                return Err(self.refusal(expression, format!("{} is grouped by already: leave it out", shown(name))));
            }
            cells = cells.saturating_mul(categories.len());
            if cells > limits::GROUPS {
                let message =
                    format!("this makes {cells} groups, more than {}: group by fewer columns", limits::GROUPS);
                return Err(self.refusal(expression, message));
            }
            groups.push(column);
        }
        Ok(groups)
    }

    fn order(&self, order_by: Option<&OrderBy>, question: &Question) -> Result<Vec<OrderKey>, Error> {
        let Some(OrderBy { kind, interpolate }) = order_by else { return Ok(Vec::new()) };
        let (OrderByKind::Expressions(keys), None) = (kind, interpolate) else { return Err(self.beyond()) };
        keys.iter().map(|key| self.order_key(key, question)).collect()
    }

    fn order_key(&self, key: &OrderByExpr, question: &Question) -> Result<OrderKey, Error> {
        let OrderByExpr { expr, options: OrderByOptions { sort, nulls_first: None }, with_fill: None } = key else {
            return Err(self.beyond());
        };
        let descending = match sort {
            None | Some(OrderBySort::Asc) => false,
            Some(OrderBySort::Desc) => true,
            Some(OrderBySort::Using(_)) => return Err(self.beyond()),
        };
        let outputs = &question.outputs;
        let by_content = |content| outputs.iter().position(|output: &Output| output.content == content);
        let output = match plain(expr) {
            Expr::Value(value) => match &value.value {
                Written::Number(digits, false) => {
                    digits.parse::<usize>().ok().and_then(|place| place.checked_sub(1)).filter(|at| *at < outputs.len())
                }
                _ => None,
            },
            Expr::Identifier(name) => match outputs.iter().position(|output| is_called(name, &output.name)) {
                Some(output) => Some(output),
                None => by_content(self.group(expr, name, &question.groups)?),
            },
            Expr::Function(function) => by_content(self.aggregate(expr, function)?),
            _ => None,
        };
        let output = output.ok_or_else(|| {
            let message = format!(
                "an answer is sorted by what it shows: write something that is behind SELECT, or its place from 1 to {}",
                outputs.len()
            );
            self.refusal(expr, message)
        })?;
        Ok(OrderKey { output, descending })
    }

    fn limit(&self, clause: Option<&LimitClause>) -> Result<Option<u64>, Error> {
        let Some(clause) = clause else { return Ok(None) };
        let LimitClause::LimitOffset { limit: Some(limit), offset: None, limit_by } = clause else {
            return Err(self.beyond());
        };
        if !limit_by.is_empty() {
            return Err(self.beyond());
        }
        let rows = match plain(limit) {
            Expr::Value(value) => match &value.value {
                Written::Number(digits, false) => digits.parse().ok().filter(|rows| *rows > 0),
                _ => None,
            },
            _ => None,
        };
        rows.map(Some).ok_or_else(|| self.refusal(limit, "LIMIT is followed by a whole number from 1 on"))
    }
}
