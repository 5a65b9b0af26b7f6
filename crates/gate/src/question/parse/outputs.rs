//! What is asked for: aggregates, and the columns that are grouped by.

use sqlparser::ast::{
    DuplicateTreatment, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArgumentList, FunctionArguments, Ident,
    ObjectName, ObjectNamePart, SelectItem,
};

use super::super::{Aggregate, Content, Output};
use super::limits;
use super::reader::{Reader, plain, shown};
use crate::error::Error;
use crate::schema::ColumnType;

impl Reader<'_> {
    pub(super) fn outputs(&self, items: &[SelectItem], groups: &[usize]) -> Result<Vec<Output>, Error> {
        let mut outputs: Vec<Output> = Vec::new();
        let mut aggregates = 0;
        for item in items {
            let (expression, alias) = match item {
                SelectItem::UnnamedExpr(expression) => (expression, None),
                SelectItem::ExprWithAlias { expr, alias } => (expr, Some(alias)),
                _ => return Err(self.beyond()),
            };
            let content = self.content(expression, groups)?;
            aggregates += usize::from(matches!(content, Content::Aggregate(_)));
            if aggregates > limits::AGGREGATES {
                let message =
                    format!("a question has at most {} aggregates: ask the others separately", limits::AGGREGATES);
                return Err(self.refusal(expression, message));
            }
            let name = match alias {
                Some(alias) => self.alias(alias)?,
                None => self.name(content, groups),
            };
            if outputs.iter().any(|other| other.name.eq_ignore_ascii_case(&name)) {
                let message =
                    format!("two columns of the answer are called {name:?}: rename one with AS, or leave it out");
                return Err(self.refusal(expression, message));
            }
            outputs.push(Output { name, content });
        }
        if aggregates == 0 {
            let message = "nothing is counted or summed: add COUNT(*), COUNT(column), SUM(column) or AVG(column)";
            return Err(match items.first() {
                Some(SelectItem::UnnamedExpr(first) | SelectItem::ExprWithAlias { expr: first, alias: _ }) => {
                    self.refusal(first, message)
                }
                _ => self.beyond(),
            });
        }
        Ok(outputs)
    }

    fn content(&self, expression: &Expr, groups: &[usize]) -> Result<Content, Error> {
        match plain(expression) {
            Expr::Identifier(name) => self.group(expression, name, groups),
            Expr::Function(function) => self.aggregate(expression, function),
            _ => {
                let message = "only COUNT, SUM, AVG and columns that are grouped by can be asked for";
                Err(self.refusal(expression, message))
            }
        }
    }

    /// A column of the answer that shows the group.
    pub(super) fn group(&self, expression: &Expr, name: &Ident, groups: &[usize]) -> Result<Content, Error> {
        let column = self.column(name)?;
        let place = groups.iter().position(|other| *other == column);
        place.map(Content::Group).ok_or_else(|| {
            let message =
                format!("{} must be in GROUP BY, or in COUNT, SUM or AVG: single rows are never shown", shown(name));
            self.refusal(expression, message)
        })
    }

    /// A noisy number.
    pub(super) fn aggregate(&self, expression: &Expr, function: &Function) -> Result<Content, Error> {
        let Function {
            name: ObjectName(parts),
            uses_odbc_syntax: false,
            parameters: FunctionArguments::None,
            args: FunctionArguments::List(arguments),
            within_group,
            filter: None,
            null_treatment: None,
            over: None,
        } = function
        else {
            return Err(self.beyond());
        };
        if !within_group.is_empty() {
            return Err(self.beyond());
        }
        let [ObjectNamePart::Identifier(Ident { value: name, quote_style: None, span: _ })] = parts.as_slice() else {
            return Err(self.beyond());
        };
        let FunctionArgumentList { duplicate_treatment, args, clauses } = arguments;
        if !clauses.is_empty() {
            return Err(
                self.refusal(expression, "an aggregate is of one column or *, with nothing behind it: use WHERE")
            );
        }
        let [FunctionArg::Unnamed(argument)] = args.as_slice() else {
            return Err(self.refusal(expression, "an aggregate is of exactly one column, or * for COUNT"));
        };
        let aggregate = match (name.to_ascii_uppercase().as_str(), duplicate_treatment, argument) {
            ("COUNT", None, FunctionArgExpr::Wildcard) => Aggregate::Rows,
            ("COUNT", None, FunctionArgExpr::Expr(column)) => Aggregate::NonNull(self.counted(column)?),
            ("COUNT", Some(DuplicateTreatment::Distinct), FunctionArgExpr::Expr(column)) => self.units(column)?,
            ("SUM", None, FunctionArgExpr::Expr(column)) => Aggregate::Sum(self.summed(column)?),
            ("AVG", None, FunctionArgExpr::Expr(column)) => Aggregate::Average(self.summed(column)?),
            (_, Some(_), _) => {
                let message = "DISTINCT is only for counting the units that are protected: leave it out";
                return Err(self.refusal(expression, message));
            }
            _ => return Err(self.refusal(expression, "SUM and AVG are of one column; only COUNT is of *")),
        };
        Ok(Content::Aggregate(aggregate))
    }

    fn counted(&self, argument: &Expr) -> Result<usize, Error> {
        match plain(argument) {
            Expr::Identifier(name) => self.column(name),
            _ => Err(self.refusal(argument, "COUNT is of * or of a column: write COUNT(*) to count rows")),
        }
    }

    /// COUNT(DISTINCT unit).
    fn units(&self, argument: &Expr) -> Result<Aggregate, Error> {
        let column = self.counted(argument)?;
        let Some(unit) = self.schema.unit_column() else {
            let message = "what is protected here is a row, and every row is different: write COUNT(*)";
            return Err(self.refusal(argument, message));
        };
        if unit != column {
            let unit = &self.declared(unit).name;
            let message =
                format!("only different units are counted: write COUNT(DISTINCT {unit}), or COUNT without DISTINCT");
            return Err(self.refusal(argument, message));
        }
        Ok(Aggregate::Units)
    }

    /// A column that can be summed.
    fn summed(&self, argument: &Expr) -> Result<usize, Error> {
        let Expr::Identifier(name) = plain(argument) else {
            return Err(self.refusal(argument, "SUM and AVG are of one column, as it is: write its name"));
        };
        let at = self.column(name)?;
        let column = self.declared(at);
        if !matches!(column.kind, ColumnType::Integer | ColumnType::Real | ColumnType::Decimal) {
            let message = format!("{} holds {}, which cannot be summed: use COUNT", shown(name), column.kind);
            return Err(self.refusal(argument, message));
        }
        if column.bounds.is_none() {
            let message = format!(
                "{} has no declared bounds, so it cannot be summed: ask the owner to declare them",
                shown(name)
            );
            return Err(self.refusal(argument, message));
        }
        Ok(at)
    }

    /// The name that an output has without an alias: always the same for the same content.
    fn name(&self, content: Content, groups: &[usize]) -> String {
        match content {
            Content::Group(at) => self.declared(groups[at]).name.clone(),
            Content::Aggregate(aggregate) => aggregate.written(self.schema, str::to_string),
        }
    }

    fn alias(&self, alias: &Ident) -> Result<String, Error> {
        let Ident { value, quote_style: None | Some('"'), span } = alias else { return Err(self.beyond()) };
        if value.is_empty() || value.len() > limits::NAME || value.chars().any(char::is_control) {
            let message =
                format!("a name has 1 to {} bytes and no control characters: choose another one", limits::NAME);
            return Err(self.refusal_at(span.start, message));
        }
        Ok(value.clone())
    }
}
