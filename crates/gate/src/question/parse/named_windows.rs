//! Windows that WINDOW gives a name, written behind each OVER that names them.
//!
//! On the way up, so that what has been written is not looked at again: a name inside of a named window stays, and is refused later.

use std::ops::ControlFlow;

use sqlparser::ast::{
    Expr, Ident, NamedWindowDefinition, NamedWindowExpr, Query, Select, SetExpr, WindowSpec, WindowType,
};

use super::contents::size;
use super::inline;
use super::scope::same;
use super::tokens::QuestionTokens;
use super::walk::{Walker, walk};
use crate::error::Error;

/// The same query without names of windows. Names that are unknown stay as they are, for the message about them.
pub(super) fn written_out(mut query: Box<Query>, tokens: &QuestionTokens) -> Result<Box<Query>, Error> {
    let mut windows = NamedWindows { selects: Vec::new(), written: 0, too_long: None };
    let _ = walk(&mut query, &mut windows);
    match windows.too_long {
        None => Ok(query),
        Some(name) => Err(Error::question(
            tokens.at(tokens.index(name.span.start)),
            "this gets too long when its named windows are written out: ask something simpler",
        )),
    }
}

struct NamedWindows {
    /// The windows of the SELECTs that are being looked at.
    selects: Vec<Vec<(Ident, WindowSpec)>>,
    /// How many expressions have been written in the place of names.
    written: usize,
    /// The name at which it was too much.
    too_long: Option<Ident>,
}

impl Walker for NamedWindows {
    /// ORDER BY is a part of the query, and names the windows of its SELECT.
    fn enter_query(&mut self, query: &mut Query) -> ControlFlow<()> {
        let windows = match query.body.as_ref() {
            SetExpr::Select(select) => windows_of(&select.named_window),
            _ => Vec::new(),
        };
        self.selects.push(windows);
        ControlFlow::Continue(())
    }

    fn leave_query(&mut self) {
        self.selects.pop();
    }

    fn enter_select(&mut self, select: &mut Select) {
        self.selects.push(windows_of(&select.named_window));
        select.named_window.clear();
        select.window_before_qualify = false;
    }

    fn leave_select(&mut self) {
        self.selects.pop();
    }

    fn leave_expr(&mut self, expression: &mut Expr) {
        let (Expr::Function(function), Some(windows)) = (expression, self.selects.last()) else { return };
        let (name, spec) = match &function.over {
            Some(WindowType::NamedWindow(name)) => (name, find(windows, name)),
            Some(WindowType::WindowSpec(spec @ WindowSpec { window_name: Some(name), .. })) => {
                (name, extended(windows, spec))
            }
            Some(WindowType::WindowSpec(_)) | None => return,
        };
        let Some(spec) = spec else { return };
        self.written = self.written.saturating_add(expressions(&spec));
        if self.written > inline::MOST {
            self.too_long.get_or_insert_with(|| name.clone());
            return;
        }
        function.over = Some(WindowType::WindowSpec(spec));
    }
}

/// How many expressions a window is made of.
fn expressions(WindowSpec { window_name: _, partition_by, order_by, window_frame: _ }: &WindowSpec) -> usize {
    1 + partition_by.iter().chain(order_by.iter().map(|order| &order.expr)).map(size).sum::<usize>()
}

/// The windows that a SELECT names: each may begin with one that is named before it.
fn windows_of(definitions: &[NamedWindowDefinition]) -> Vec<(Ident, WindowSpec)> {
    definitions.iter().fold(Vec::new(), |mut windows, NamedWindowDefinition(name, window)| {
        let spec = match window {
            NamedWindowExpr::NamedWindow(other) => find(&windows, other),
            NamedWindowExpr::WindowSpec(spec) => Some(extended(&windows, spec).unwrap_or_else(|| spec.clone())),
        };
        windows.extend(spec.map(|spec| (name.clone(), spec)));
        windows
    })
}

fn find(windows: &[(Ident, WindowSpec)], name: &Ident) -> Option<WindowSpec> {
    windows.iter().find(|(other, _)| same(other, name)).map(|(_, spec)| spec.clone())
}

/// A window that begins with a named one. As in SQL, it adds an order or a frame that the named one does not have, and no PARTITION BY.
fn extended(windows: &[(Ident, WindowSpec)], spec: &WindowSpec) -> Option<WindowSpec> {
    let WindowSpec { window_name: Some(name), partition_by, order_by, window_frame } = spec else { return None };
    let mut named = find(windows, name)?;
    let adds = partition_by.is_empty()
        && (named.order_by.is_empty() || order_by.is_empty())
        && named.window_frame.is_none()
        && named.window_name.is_none();
    if !adds {
        return None;
    }
    named.order_by.extend(order_by.iter().cloned());
    named.window_frame.clone_from(window_frame);
    Some(named)
}
