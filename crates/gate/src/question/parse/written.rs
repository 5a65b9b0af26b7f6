//! A query as text that is read as the same query.

use std::ops::ControlFlow;

use sqlparser::ast::{
    Expr, Ident, ObjectName, ObjectNamePart, Query, Select, SelectItem, SetExpr, Value, ValueWithSpan,
};

use super::super::quoted;
use super::walk::{Walker, walk};

/// The query in one way of writing, with all names and texts as they are read again: the parser's own way leaves some quotes single.
pub(super) fn written(query: &Query) -> String {
    let mut query = query.clone();
    let _ = walk(&mut query, &mut Quotes);
    query.to_string()
}

/// Puts quotes around names and texts.
struct Quotes;

impl Walker for Quotes {
    fn enter_query(&mut self, query: &mut Query) -> ControlFlow<()> {
        selects(&mut query.body, &mut |select| {
            for item in &mut select.projection {
                if let SelectItem::ExprWithAlias { alias, .. } = item {
                    quote(alias);
                }
            }
        });
        ControlFlow::Continue(())
    }

    fn relation(&mut self, relation: &mut ObjectName) {
        for part in &mut relation.0 {
            if let ObjectNamePart::Identifier(name) = part {
                quote(name);
            }
        }
    }

    fn enter_expr(&mut self, expression: &mut Expr) {
        match expression {
            Expr::Identifier(name) => quote(name),
            Expr::CompoundIdentifier(names) => names.iter_mut().for_each(quote),
            _ => {}
        }
    }

    fn value(&mut self, value: &mut ValueWithSpan) {
        if let Value::SingleQuotedString(text) = &value.value {
            // A number is written as it is.
            value.value = Value::Number(format!("'{}'", text.replace('\'', "''")), false);
        }
    }
}

fn quote(name: &mut Ident) {
    if name.quote_style.take().is_some() {
        name.value = quoted(&name.value);
    }
}

/// Calls a function with every SELECT of a body.
fn selects(body: &mut SetExpr, see: &mut impl FnMut(&mut Select)) {
    match body {
        SetExpr::Select(select) => see(select),
        SetExpr::SetOperation { left, right, .. } => {
            selects(left, see);
            selects(right, see);
        }
        _ => {}
    }
}
