//! ORDER BY, LIMIT and their like: how the rows of an answer are sorted, and how many are shown.

use std::cell::RefCell;

use sqlparser::ast::{
    Expr, Fetch, LimitClause, Offset, OrderBy, OrderByExpr, OrderByKind, OrderByOptions, OrderBySort, Select, Top,
    TopQuantity, Value as WrittenValue,
};

use super::super::term::Term;
use super::super::{OrderKey, Output};
use super::reader::{Reader, is_called, plain};
use super::terms::Terms;
use crate::error::Error;

impl Reader<'_> {
    /// How the rows are sorted, and by what that is not shown.
    pub(super) fn order(
        &self,
        order_by: Option<&OrderBy>,
        terms: &Terms,
        outputs: &[Output],
    ) -> Result<(Vec<OrderKey>, Vec<Output>), Error> {
        let hidden: RefCell<Vec<Output>> = RefCell::default();
        let find = |expression: &Expr| {
            let by_name = self.by_name(expression, outputs);
            if by_name.is_some() {
                return Ok(by_name);
            }
            let term = terms.output(expression)?;
            if matches!(term, Term::Constant(_) | Term::Negative(_) | Term::Null) {
                return Ok(None);
            }
            let shown = outputs.iter().position(|output| output.term == term);
            let mut hidden = hidden.borrow_mut();
            Ok(Some(shown.unwrap_or_else(|| {
                let text = plain(expression).to_string();
                hidden.push(Output { name: text.clone(), text, term });
                outputs.len() + hidden.len() - 1
            })))
        };
        let order = self.order_keys(order_by, find, outputs.len())?;
        Ok((order, hidden.into_inner()))
    }

    pub(super) fn order_by_names(
        &self,
        order_by: Option<&OrderBy>,
        outputs: &[Output],
    ) -> Result<Vec<OrderKey>, Error> {
        let by_text = |expression: &Expr| {
            let text = plain(expression).to_string();
            outputs.iter().position(|output| output.text == text)
        };
        let find = |expression: &Expr| Ok(self.by_name(expression, outputs).or_else(|| by_text(expression)));
        self.order_keys(order_by, find, outputs.len())
    }

    /// The output of a name, or at a place.
    fn by_name(&self, expression: &Expr, outputs: &[Output]) -> Option<usize> {
        match plain(expression) {
            Expr::Value(value) => match &value.value {
                WrittenValue::Number(digits, false) => {
                    digits.parse::<usize>().ok().and_then(|place| place.checked_sub(1)).filter(|at| *at < outputs.len())
                }
                _ => None,
            },
            Expr::Identifier(name) => outputs.iter().position(|output| is_called(name, &output.name)),
            _ => None,
        }
    }

    fn order_keys(
        &self,
        order_by: Option<&OrderBy>,
        find: impl Fn(&Expr) -> Result<Option<usize>, Error>,
        count: usize,
    ) -> Result<Vec<OrderKey>, Error> {
        let Some(OrderBy { kind, interpolate }) = order_by else { return Ok(Vec::new()) };
        let (OrderByKind::Expressions(keys), None) = (kind, interpolate) else { return Err(self.beyond()) };
        let key = |key: &OrderByExpr| {
            // What is not known comes last in any case.
            let OrderByExpr { expr, options: OrderByOptions { sort, nulls_first: _ }, with_fill: None } = key else {
                return Err(self.beyond());
            };
            let descending = match sort {
                None | Some(OrderBySort::Asc) => false,
                Some(OrderBySort::Desc) => true,
                Some(OrderBySort::Using(_)) => return Err(self.beyond()),
            };
            let output = find(expr)?.ok_or_else(|| {
                let message = format!(
                    "an answer is sorted by what it shows: write something listed after SELECT, or its position from 1 to {count}"
                );
                self.refusal(expr, message)
            })?;
            Ok(OrderKey { output, descending })
        };
        keys.iter().map(key).collect()
    }

    /// How many rows are left out at the beginning, and how many are shown.
    pub(super) fn limit(
        &self,
        clause: Option<&LimitClause>,
        fetch: Option<&Fetch>,
    ) -> Result<(u64, Option<u64>), Error> {
        let whole = |expression: &Expr, least: u64, what: &str| {
            let written = match plain(expression) {
                Expr::Value(value) => match &value.value {
                    WrittenValue::Number(digits, false) => digits.parse().ok().filter(|rows| *rows >= least),
                    _ => None,
                },
                _ => None,
            };
            written.ok_or_else(|| {
                self.refusal(expression, format!("{what} is followed by a whole number from {least} on"))
            })
        };
        let (mut offset, mut limit) = (0, None);
        match clause {
            None => {}
            Some(LimitClause::LimitOffset { limit: rows, offset: skipped, limit_by }) if limit_by.is_empty() => {
                limit = rows.as_ref().map(|rows| whole(rows, 1, "LIMIT")).transpose()?;
                if let Some(Offset { value, rows: _ }) = skipped {
                    offset = whole(value, 0, "OFFSET")?;
                }
            }
            Some(_) => return Err(self.beyond()),
        }
        match fetch {
            None => {}
            Some(Fetch { with_ties: false, percent: false, quantity }) if limit.is_none() => {
                limit = Some(quantity.as_ref().map_or(Ok(1), |rows| whole(rows, 1, "FETCH FIRST"))?);
            }
            Some(_) => return Err(self.beyond()),
        }
        Ok((offset, limit))
    }

    /// How many rows TOP shows, in the words of other databases, or LIMIT.
    pub(super) fn top(&self, selects: &[&Select], limit: Option<u64>) -> Result<Option<u64>, Error> {
        let Some(top) = selects.iter().find_map(|select| select.top.as_ref()) else { return Ok(limit) };
        match (top, selects.len(), limit) {
            (Top { with_ties: false, percent: false, quantity: Some(TopQuantity::Constant(rows)) }, 1, None)
                if *rows > 0 =>
            {
                Ok(Some(*rows))
            }
            _ => {
                let message = "an answer is limited once, by LIMIT and a number at the end";
                Err(self.item_refusal(selects[0].projection.first(), message))
            }
        }
    }
}
