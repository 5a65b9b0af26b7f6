//! Names in one way of writing: columns as they are declared, without the table before them, functions in capital letters,
//! and SYMMETRIC around the whole lower end of BETWEEN.

use std::ops::ControlFlow;

use sqlparser::ast::{
    CastKind, Expr, Ident, ObjectName, ObjectNamePart, Query, Select, SelectItem, SetExpr, TableFactor, UnaryOperator,
    Value, ValueWithSpan, VisitMut, VisitorMut,
};

use super::super::quoted;
use super::keywords;
use super::reader::is_called;
use crate::schema::Schema;

/// The same query with its names written in one way. Names that are unknown stay as they are, for the message about them.
pub(super) fn written_in_one_way(mut query: Box<Query>, dataset: &str, schema: &Schema) -> Box<Query> {
    let mut names = Names { dataset, schema, tables: Vec::new() };
    let _ = VisitMut::visit(&mut query, &mut names);
    query
}

struct Names<'a> {
    dataset: &'a str,
    schema: &'a Schema,
    /// What the dataset is called in the SELECTs that are being looked at.
    tables: Vec<Vec<Ident>>,
}

impl VisitorMut for Names<'_> {
    type Break = ();

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<()> {
        let mut names = Vec::new();
        selects(&mut query.body, &mut |select| {
            for table in &mut select.from {
                if let TableFactor::Table { name: ObjectName(parts), alias, .. } = &mut table.relation
                    && let [ObjectNamePart::Identifier(name)] = parts.as_mut_slice()
                    && is_called(name, self.dataset)
                {
                    name.value = self.dataset.to_string();
                    name.quote_style = quotes(self.dataset);
                    names.push(name.clone());
                    if let Some(alias) = alias.take_if(|alias| alias.columns.is_empty()) {
                        names.push(alias.name);
                    }
                }
            }
        });
        self.tables.push(names);
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, _: &mut Query) -> ControlFlow<()> {
        self.tables.pop();
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expression: &mut Expr) -> ControlFlow<()> {
        if let Expr::CompoundIdentifier(parts) = expression
            && let [table, column] = parts.as_slice()
            && self.tables.last().is_some_and(|names| names.iter().any(|name| same(table, name)))
        {
            *expression = Expr::Identifier(column.clone());
        }
        if let Expr::Between { low, .. } = expression
            && take_symmetric(low)
        {
            **low = Expr::Prefixed { prefix: Ident::new("SYMMETRIC"), value: low.clone() };
        }
        match expression {
            Expr::Identifier(name) => {
                if let Some(column) = self.schema.columns.iter().find(|column| is_called(name, &column.name)) {
                    name.value = column.name.clone();
                    name.quote_style = quotes(&column.name);
                }
            }
            Expr::Function(function) => {
                if let [ObjectNamePart::Identifier(name)] = function.name.0.as_mut_slice()
                    && name.quote_style.is_none()
                {
                    name.value = name.value.to_ascii_uppercase();
                }
            }
            _ => {}
        }
        ControlFlow::Continue(())
    }
}

/// Takes the sign of BETWEEN SYMMETRIC out of the lower end, which begins with it.
fn take_symmetric(low: &mut Expr) -> bool {
    match low {
        Expr::UnaryOp { op: UnaryOperator::BitwiseNot, expr } => {
            *low = (**expr).clone();
            true
        }
        Expr::BinaryOp { left, .. } | Expr::Cast { kind: CastKind::DoubleColon, expr: left, .. } => {
            take_symmetric(left)
        }
        _ => false,
    }
}

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

fn same(one: &Ident, other: &Ident) -> bool {
    match (one.quote_style, other.quote_style) {
        (Some(_), Some(_)) => one.value == other.value,
        _ => one.value.eq_ignore_ascii_case(&other.value),
    }
}

/// The quotes that a name needs, if any.
pub(super) fn quotes(name: &str) -> Option<char> {
    let plain = name.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_')
        && !name.starts_with(|letter: char| letter.is_ascii_digit())
        && !keywords::is_word(name);
    if plain { None } else { Some('"') }
}
