//! Window functions: what is computed of several rows of an answer.

use sqlparser::ast::{
    Expr, Function as Call, FunctionArg, FunctionArgExpr, FunctionArguments, OrderByExpr, OrderByOptions, OrderBySort,
    WindowFrame, WindowFrameBound, WindowFrameUnits, WindowSpec, WindowType,
};

use super::super::term::Term;
use super::super::window::{Frame, WindowCall, WindowFunction};
use super::reader::shown;
use super::terms::Terms;
use crate::error::Error;

/// What is said of other window functions.
const ONLY: &str = "the supported window functions are RANK, DENSE_RANK, ROW_NUMBER, NTILE, PERCENT_RANK, CUME_DIST, LAG, LEAD, \
                    FIRST_VALUE and LAST_VALUE, and SUM, AVG, MIN, MAX and COUNT of aggregates, as in RANK() OVER (ORDER BY COUNT(*) DESC) \
                    or SUM(COUNT(*)) OVER (PARTITION BY key ORDER BY key)";

impl Terms<'_, '_, '_> {
    /// A window over the rows of the answer.
    pub(super) fn window(&self, expression: &Expr, call: &Call) -> Result<Term, Error> {
        let refused = || self.reader.refusal(expression, ONLY);
        if let Some(
            WindowType::NamedWindow(name) | WindowType::WindowSpec(WindowSpec { window_name: Some(name), .. }),
        ) = &call.over
        {
            let message = format!(
                "there is no window {} that this can begin with: name it after GROUP BY, as in WINDOW w AS (ORDER BY COUNT(*) DESC)",
                shown(name)
            );
            return Err(self.reader.refusal_at(name.span.start, message));
        }
        let Call {
            name,
            uses_odbc_syntax: false,
            parameters: FunctionArguments::None,
            args: FunctionArguments::List(list),
            within_group,
            filter: None,
            null_treatment: None,
            over: Some(WindowType::WindowSpec(WindowSpec { window_name: None, partition_by, order_by, window_frame })),
        } = call
        else {
            return Err(refused());
        };
        if list.duplicate_treatment.is_some() || !list.clauses.is_empty() || !within_group.is_empty() {
            return Err(refused());
        }
        let partition = partition_by.iter().map(|key| match self.shown(key)? {
            Term::Group(at) => Ok(at),
            _ => Err(self.reader.refusal(key, "PARTITION BY names keys of GROUP BY")),
        });
        let partition = partition.collect::<Result<_, Error>>()?;
        let order = order_by.iter().map(|key| self.window_order(key)).collect::<Result<Vec<_>, Error>>()?;
        let frame = self.frame(expression, window_frame.as_ref(), !order.is_empty())?;
        let name = name.to_string();
        let arguments = list.args.as_slice();
        let of_all_rows = matches!(
            (name.as_str(), arguments),
            ("COUNT", [FunctionArg::Unnamed(FunctionArgExpr::Wildcard)])
                | ("RANK" | "DENSE_RANK" | "ROW_NUMBER" | "PERCENT_RANK" | "CUME_DIST", [])
        );
        let terms = if of_all_rows { Vec::new() } else { self.window_arguments(expression, arguments)? };
        let offset = |sign: i64| match terms.get(1) {
            None => Ok(sign),
            Some(Term::Constant(rows)) if rows.fract() == 0.0 && (0.0..=10_000.0).contains(rows) => {
                Ok(sign * *rows as i64)
            }
            Some(_) => Err(self.reader.refusal(expression, "LAG and LEAD take a whole number of rows")),
        };
        let needs_order = || match order.is_empty() {
            true => Err(self.reader.refusal(expression, format!("{name} needs an order: write OVER (ORDER BY …)"))),
            false => Ok(()),
        };
        let (function, frame) = match (name.as_str(), terms.as_slice()) {
            ("RANK", []) => (WindowFunction::Rank, Frame::All),
            ("DENSE_RANK", []) => (WindowFunction::DenseRank, Frame::All),
            ("ROW_NUMBER", []) => (WindowFunction::RowNumber, Frame::All),
            ("PERCENT_RANK", []) => (WindowFunction::PercentRank, Frame::All),
            ("CUME_DIST", []) => (WindowFunction::CumulativeShare, Frame::All),
            ("NTILE", [Term::Constant(tiles)]) if tiles.fract() == 0.0 && (1.0..=10_000.0).contains(tiles) => {
                (WindowFunction::Tile(*tiles as usize), Frame::All)
            }
            ("NTILE", _) => {
                return Err(self.reader.refusal(expression, "NTILE takes a whole number of parts, as in NTILE(4)"));
            }
            ("COUNT", []) => (WindowFunction::Rows, frame),
            ("SUM", [of]) => (WindowFunction::Sum(of.clone()), frame),
            ("AVG", [of]) => (WindowFunction::Average(of.clone()), frame),
            ("MIN", [of]) => (WindowFunction::Least(of.clone()), frame),
            ("MAX", [of]) => (WindowFunction::Greatest(of.clone()), frame),
            ("FIRST_VALUE", [of]) => (WindowFunction::First(of.clone()), frame),
            ("LAST_VALUE", [of]) => (WindowFunction::Last(of.clone()), frame),
            ("LAG", [of, ..]) if terms.len() <= 3 => (WindowFunction::Offset(of.clone(), offset(-1)?), Frame::All),
            ("LEAD", [of, ..]) if terms.len() <= 3 => (WindowFunction::Offset(of.clone(), offset(1)?), Frame::All),
            _ => return Err(refused()),
        };
        if !matches!(
            function,
            WindowFunction::Rows
                | WindowFunction::Sum(_)
                | WindowFunction::Average(_)
                | WindowFunction::Least(_)
                | WindowFunction::Greatest(_)
        ) {
            needs_order()?;
        }
        let window = WindowCall { function, partition, order, frame };
        if !window.is_flat() {
            return Err(self
                .reader
                .refusal(expression, "a window function cannot contain another one: compute the inner one first"));
        }
        let window = Term::Window(Box::new(window));
        // What stands for a row that is not there.
        Ok(match (name.as_str(), terms.get(2)) {
            ("LAG" | "LEAD", Some(default)) => Term::Coalesce(vec![window, default.clone()]),
            _ => window,
        })
    }

    fn window_arguments(&self, expression: &Expr, arguments: &[FunctionArg]) -> Result<Vec<Term>, Error> {
        let argument = |argument: &FunctionArg| match argument {
            FunctionArg::Unnamed(FunctionArgExpr::Expr(argument)) => match self.term(argument)? {
                Term::Group(_) => {
                    Err(self.reader.refusal(argument, "a window function takes numbers: write an aggregate"))
                }
                term => Ok(term),
            },
            _ => Err(self.reader.refusal(expression, ONLY)),
        };
        arguments.iter().map(argument).collect()
    }

    fn window_order(&self, key: &OrderByExpr) -> Result<(Term, bool), Error> {
        // What is not known comes last in any case.
        let OrderByExpr { expr, options: OrderByOptions { sort, nulls_first: _ }, with_fill: None } = key else {
            return Err(self.reader.beyond());
        };
        let descending = match sort {
            None | Some(OrderBySort::Asc) => false,
            Some(OrderBySort::Desc) => true,
            Some(OrderBySort::Using(_)) => return Err(self.reader.beyond()),
        };
        match self.term(expr)? {
            Term::Constant(_) | Term::Null => Err(self
                .reader
                .refusal(expr, "rows are sorted by a key or an aggregate: write it here, not its position")),
            term => Ok((term, descending)),
        }
    }

    /// Which rows are looked at: all, or with an order those up to this one.
    fn frame(&self, expression: &Expr, frame: Option<&WindowFrame>, sorted: bool) -> Result<Frame, Error> {
        use WindowFrameBound::{CurrentRow, Following, Preceding};
        let Some(WindowFrame { units, start_bound, end_bound }) = frame else {
            return Ok(if sorted { Frame::UpToPeers } else { Frame::All });
        };
        let end_bound = end_bound.as_ref().unwrap_or(&CurrentRow);
        let rows = |bound: &WindowFrameBound| -> Result<Option<i64>, Error> {
            match bound {
                CurrentRow => Ok(Some(0)),
                Preceding(None) | Following(None) => Ok(None),
                Preceding(Some(rows)) => Ok(Some(-self.reader.whole_literal(rows, 0..=10_000)?)),
                Following(Some(rows)) => Ok(Some(self.reader.whole_literal(rows, 0..=10_000)?)),
            }
        };
        let frame = match (units, start_bound, end_bound) {
            (_, Following(None), _) | (_, _, Preceding(None)) => None,
            (_, Preceding(None), Following(None)) => Some(Frame::All),
            (WindowFrameUnits::Rows, start, end) => Some(Frame::Rows(rows(start)?, rows(end)?)),
            (WindowFrameUnits::Range, Preceding(None), CurrentRow) if sorted => Some(Frame::UpToPeers),
            (WindowFrameUnits::Range, Preceding(None), CurrentRow) => Some(Frame::All),
            _ => None,
        };
        frame.ok_or_else(|| {
            let message = "a window has rows from one place to another: write ROWS BETWEEN 2 PRECEDING AND CURRENT ROW";
            self.reader.refusal(expression, message)
        })
    }
}
