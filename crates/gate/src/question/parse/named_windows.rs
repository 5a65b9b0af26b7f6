//! Windows that WINDOW gives a name, written behind each OVER that names them.

use std::ops::ControlFlow;

use sqlparser::ast::{
    Expr, Ident, NamedWindowDefinition, NamedWindowExpr, Query, Select, SetExpr, WindowSpec, WindowType,
};

use super::scope::same;
use super::walk::{Walker, walk};

/// The same query without names of windows. Names that are unknown stay as they are, for the message about them.
pub(super) fn written_out(mut query: Box<Query>) -> Box<Query> {
    let _ = walk(&mut query, &mut NamedWindows { selects: Vec::new() });
    query
}

struct NamedWindows {
    /// The windows of the SELECTs that are being looked at.
    selects: Vec<Vec<(Ident, WindowSpec)>>,
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

    fn enter_expr(&mut self, expression: &mut Expr) {
        let (Expr::Function(function), Some(windows)) = (expression, self.selects.last()) else { return };
        let spec = match &function.over {
            Some(WindowType::NamedWindow(name)) => find(windows, name),
            Some(WindowType::WindowSpec(spec)) => extended(windows, spec),
            None => None,
        };
        if let Some(spec) = spec {
            function.over = Some(WindowType::WindowSpec(spec));
        }
    }
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
