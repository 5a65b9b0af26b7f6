//! A query as text that is read as the same query.

use std::ops::ControlFlow;

use sqlparser::ast::{
    Expr, Ident, ObjectName, ObjectNamePart, Query, Select, SelectItem, SetExpr, Value, ValueWithSpan, VisitMut,
    VisitorMut,
};

use super::super::quoted;

/// The query in one way of writing, with all names and texts as they are read again: the parser's own way leaves some quotes single.
pub(super) fn written(query: &Query) -> String {
    let mut query = query.clone();
    let _ = VisitMut::visit(&mut query, &mut Quotes);
    query.to_string()
}

/// Puts quotes around names and texts.
struct Quotes;

impl VisitorMut for Quotes {
    type Break = ();

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<()> {
        selects(&mut query.body, &mut |select| {
            for item in &mut select.projection {
                if let SelectItem::ExprWithAlias { alias, .. } = item {
                    quote(alias);
                }
            }
        });
        ControlFlow::Continue(())
    }

    fn pre_visit_relation(&mut self, relation: &mut ObjectName) -> ControlFlow<()> {
        for part in &mut relation.0 {
            if let ObjectNamePart::Identifier(name) = part {
                quote(name);
            }
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expression: &mut Expr) -> ControlFlow<()> {
        match expression {
            Expr::Identifier(name) => quote(name),
            Expr::CompoundIdentifier(names) => names.iter_mut().for_each(quote),
            _ => {}
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_value(&mut self, value: &mut ValueWithSpan) -> ControlFlow<()> {
        if let Value::SingleQuotedString(text) = &value.value {
            // A number is written as it is.
            value.value = Value::Number(format!("'{}'", text.replace('\'', "''")), false);
        }
        ControlFlow::Continue(())
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
