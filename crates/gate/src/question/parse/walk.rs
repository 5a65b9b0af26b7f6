//! A walk over all nodes of a syntax tree.
//!
//! The parser's own walk is compiled anew for each type that walks, with hundreds of types of nodes. Here it is compiled once, for all of
//! ours: that takes a minute off the build of this crate.

use std::ops::ControlFlow;

use sqlparser::ast::{Expr, ObjectName, Query, Select, ValueWithSpan, VisitMut, VisitorMut};

/// What is done at the nodes of a tree: on the way down before the nodes below are visited, on the way up after them.
pub(super) trait Walker {
    /// A query, on the way down. Breaking ends the walk.
    fn enter_query(&mut self, _: &mut Query) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
    /// A query, on the way up.
    fn leave_query(&mut self) {}
    /// A SELECT, on the way down.
    fn enter_select(&mut self, _: &mut Select) {}
    /// A SELECT, on the way up.
    fn leave_select(&mut self) {}
    /// The name of a table.
    fn relation(&mut self, _: &mut ObjectName) {}
    /// An expression, on the way down.
    fn enter_expr(&mut self, _: &mut Expr) {}
    /// An expression, on the way up.
    fn leave_expr(&mut self, _: &mut Expr) {}
    /// A literal.
    fn value(&mut self, _: &mut ValueWithSpan) {}
}

/// Walks over a node and all below it.
pub(super) fn walk(node: &mut impl VisitMut, walker: &mut dyn Walker) -> ControlFlow<()> {
    node.visit(&mut Walk(walker))
}

struct Walk<'w>(&'w mut dyn Walker);

impl VisitorMut for Walk<'_> {
    type Break = ();

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<()> {
        self.0.enter_query(query)
    }

    fn post_visit_query(&mut self, _: &mut Query) -> ControlFlow<()> {
        self.0.leave_query();
        ControlFlow::Continue(())
    }

    fn pre_visit_select(&mut self, select: &mut Select) -> ControlFlow<()> {
        self.0.enter_select(select);
        ControlFlow::Continue(())
    }

    fn post_visit_select(&mut self, _: &mut Select) -> ControlFlow<()> {
        self.0.leave_select();
        ControlFlow::Continue(())
    }

    fn pre_visit_relation(&mut self, relation: &mut ObjectName) -> ControlFlow<()> {
        self.0.relation(relation);
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expression: &mut Expr) -> ControlFlow<()> {
        self.0.enter_expr(expression);
        ControlFlow::Continue(())
    }

    fn post_visit_expr(&mut self, expression: &mut Expr) -> ControlFlow<()> {
        self.0.leave_expr(expression);
        ControlFlow::Continue(())
    }

    fn pre_visit_value(&mut self, value: &mut ValueWithSpan) -> ControlFlow<()> {
        self.0.value(value);
        ControlFlow::Continue(())
    }
}
