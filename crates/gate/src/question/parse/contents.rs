//! What a SELECT contains, before it is read.

use std::ops::ControlFlow;

use sqlparser::ast::{Expr, GroupByExpr, Query, Select, SelectItem};

use super::aggregates;
use super::walk::{Walker, walk};

/// Whether a SELECT groups or aggregates.
pub(super) fn is_aggregate(select: &Select) -> bool {
    let grouped = !matches!(&select.group_by, GroupByExpr::Expressions(keys, _) if keys.is_empty());
    grouped || select.having.is_some() || select.projection.iter().any(has_aggregate)
}

/// Whether a column of an answer has an aggregate of its own.
pub(super) fn has_aggregate(item: &SelectItem) -> bool {
    #[derive(Default)]
    struct Aggregates {
        found: bool,
        /// Sub-queries that are a number have aggregates of their own.
        sub_queries: usize,
    }
    impl Walker for Aggregates {
        fn enter_query(&mut self, _: &mut Query) -> ControlFlow<()> {
            self.sub_queries += 1;
            ControlFlow::Continue(())
        }
        fn leave_query(&mut self) {
            self.sub_queries -= 1;
        }
        fn enter_expr(&mut self, expression: &mut Expr) {
            // A window function is of what is aggregated already.
            if let Expr::Function(function) = expression
                && function.over.is_none()
            {
                let name = function.name.to_string().to_ascii_uppercase();
                self.found |= self.sub_queries == 0 && aggregates::NAMES.contains(&name.as_str());
            }
        }
    }
    let mut aggregates = Aggregates::default();
    let _ = walk(&mut item.clone(), &mut aggregates);
    aggregates.found
}

/// How many expressions an expression is made of.
pub(super) fn size(expression: &Expr) -> usize {
    struct Size(usize);
    impl Walker for Size {
        fn enter_expr(&mut self, _: &mut Expr) {
            self.0 += 1;
        }
    }
    let mut size = Size(0);
    let _ = walk(&mut expression.clone(), &mut size);
    size.0
}
