//! Expressions over a row: what they are made of decides what they are.

use dashu::rational::RBig;
use sqlparser::ast::{
    BinaryOperator, CaseWhen, CastKind, DataType, ExactNumberInfo, Expr, Function as Call, TypedString, UnaryOperator,
    Value as Written,
};

use super::super::Query;
use super::super::aggregate::Function;
use super::super::predicate::{Operand, Predicate};
use super::super::scalar::{Kind, NumericExpr};
use super::super::term::Term;
use super::functions::step_of;
use super::labels::{Labelled, as_numbers};
use super::literal::Literal;
use super::reader::{Reader, plain};
use crate::error::Error;
use crate::schema::{Column, ColumnType};

/// What an expression over a row is.
pub(super) enum Typed<'e> {
    /// A column as it is, in small or in capital letters.
    Column(Operand),
    /// A literal, which gets its type from what it stands beside.
    Literal(Literal<'e>),
    /// A number, a date or a time.
    Steps(NumericExpr),
    /// True, false or unknown.
    Truth(Predicate),
    /// Text whose values are known.
    Text(Labelled),
    Null,
}

impl Reader<'_> {
    /// Reads an expression, whatever it is.
    pub(super) fn typed<'e>(&self, expression: &'e Expr) -> Result<Typed<'e>, Error> {
        self.deeper(expression, || self.typed_here(expression))
    }

    fn typed_here<'e>(&self, expression: &'e Expr) -> Result<Typed<'e>, Error> {
        let inner = plain(expression);
        if let Some(literal) = Literal::of(self, inner) {
            self.count_literal(inner)?;
            return Ok(Typed::Literal(literal));
        }
        if let Some(column) = self.as_column(inner) {
            return Ok(Typed::Column(Operand::plain(column?)));
        }
        if self.is_textual(inner) {
            return self.labelled(inner).map(Typed::Text);
        }
        match inner {
            Expr::Value(value) if value.value == Written::Null => Ok(Typed::Null),
            Expr::Function(function) => self.function(inner, function),
            Expr::BinaryOp { op: operator, .. } if is_logical(operator) => self.predicate(inner).map(Typed::Truth),
            Expr::UnaryOp { op: UnaryOperator::Not, expr: _ }
            | Expr::IsNull(_)
            | Expr::IsNotNull(_)
            | Expr::IsTrue(_)
            | Expr::IsNotTrue(_)
            | Expr::IsFalse(_)
            | Expr::IsNotFalse(_)
            | Expr::IsUnknown(_)
            | Expr::IsNotUnknown(_)
            | Expr::IsDistinctFrom(..)
            | Expr::IsNotDistinctFrom(..)
            | Expr::InList { .. }
            | Expr::Between { .. }
            | Expr::Like { .. }
            | Expr::ILike { .. } => self.predicate(inner).map(Typed::Truth),
            _ => self.steps(inner).map(Typed::Steps),
        }
    }

    /// Reads a number, a date or a time.
    pub(super) fn scalar(&self, expression: &Expr) -> Result<NumericExpr, Error> {
        match self.typed(expression)? {
            Typed::Steps(scalar) => Ok(scalar),
            Typed::Column(operand) => self.column_scalar(expression, operand),
            Typed::Literal(literal) => literal.scalar(),
            Typed::Truth(predicate) => Ok(NumericExpr::truth(predicate)),
            Typed::Text(_) => {
                Err(self.refusal(expression, "this is text, and a number is needed here: compare it, or use COUNT"))
            }
            Typed::Null => Ok(NumericExpr::null()),
        }
    }

    /// Reads a plain number: not a date, not a time.
    pub(super) fn number(&self, expression: &Expr) -> Result<NumericExpr, Error> {
        let scalar = self.scalar(expression)?;
        match scalar.kind {
            Kind::Integer | Kind::Decimal => Ok(scalar),
            Kind::Date | Kind::Timestamp => {
                let message = "this is a date, and a number is needed here: take a part of it, as in EXTRACT(YEAR FROM …), or \
                               the difference of two";
                Err(self.refusal(expression, message))
            }
            Kind::Duration => {
                let message =
                    "this is a time span, and a number is needed here: write EXTRACT(EPOCH FROM …), its seconds";
                Err(self.refusal(expression, message))
            }
        }
    }

    fn column_scalar(&self, expression: &Expr, operand: Operand) -> Result<NumericExpr, Error> {
        let column = self.declared(operand.column);
        if column.kind == ColumnType::Boolean {
            return Ok(NumericExpr::truth(is_true(operand)));
        }
        self.bounded(operand.column).ok_or_else(|| self.refusal(expression, without_bounds(column, "calculated with")))
    }

    /// Everything that is computed.
    fn steps(&self, expression: &Expr) -> Result<NumericExpr, Error> {
        self.count_operator(expression)?;
        match expression {
            Expr::UnaryOp { op: UnaryOperator::Minus, expr } => Ok(self.number(expr)?.negative()),
            Expr::UnaryOp { op: UnaryOperator::Plus, expr } => self.number(expr),
            Expr::BinaryOp { left, op, right } => self.arithmetic(expression, left, op, right),
            Expr::Floor { expr, field } => self.floor(expression, expr, field, NumericExpr::floor),
            Expr::Ceil { expr, field } => self.floor(expression, expr, field, NumericExpr::ceil),
            Expr::Extract { field, syntax: _, expr } => self.extract(expression, &field.to_string(), expr),
            Expr::Cast { kind: CastKind::Cast | CastKind::DoubleColon, expr, data_type, format: None } => {
                self.cast(expression, expr, data_type)
            }
            Expr::TypedString(TypedString { data_type, value, uses_odbc_syntax: false }) => {
                Literal::dated(self, expression, data_type, &value.value)?.scalar()
            }
            Expr::Case { case_token: _, end_token: _, operand, conditions, else_result } => {
                self.case(expression, operand.as_deref(), conditions, else_result.as_deref())
            }
            Expr::Interval(_) => match self.span(expression)? {
                Some(span) => self.seconds(expression, &span),
                None => Err(self.beyond()),
            },
            Expr::Subquery(query) => self.subquery_value(expression, query),
            Expr::InSubquery { .. } => Err(self.refusal(
                expression,
                "a list is of literals, as in region IN ('north', 'south'): a sub-query is one number",
            )),
            _ => Err(self.refusal(
                expression,
                "this expression is not supported: use columns, literals, + - * /, CASE and functions",
            )),
        }
    }

    /// The answer of a sub-query as a number beside those of a row: within the bounds of what it is about, on a finer grid.
    fn subquery_value(&self, expression: &Expr, query: &sqlparser::ast::Query) -> Result<NumericExpr, Error> {
        let at = self.subquery(expression, query)?;
        let scalars = self.scalars.borrow();
        let Query { outputs, aggregates, .. } = &scalars[at];
        let of = match &outputs[0].term {
            Term::Aggregate(place) => match &aggregates[*place].function {
                Function::Average(of) | Function::Quantile { of, .. } => Some(of),
                _ => None,
            },
            _ => None,
        };
        const FINER: i64 = 1 << 10;
        const WIDEST: i64 = 1 << 50;
        Ok(match of {
            // A date is compared with dates, in days.
            Some(of) if matches!(of.kind, Kind::Date | Kind::Timestamp) => {
                NumericExpr { kind: of.kind, ..NumericExpr::subquery(at, of.grid.clone(), [of.low, of.high]) }
            }
            Some(of) => {
                let range = [of.low, of.high].map(|end| end * FINER);
                NumericExpr::subquery(at, of.grid.clone() / RBig::from(FINER), range)
            }
            None => NumericExpr::subquery(at, RBig::from_parts(1.into(), 1000u32.into()), [-WIDEST, WIDEST]),
        })
    }

    fn arithmetic(
        &self,
        expression: &Expr,
        left: &Expr,
        operator: &BinaryOperator,
        right: &Expr,
    ) -> Result<NumericExpr, Error> {
        if let Some(moved) = self.moved_date(expression, left, operator, right)? {
            return Ok(moved);
        }
        let (one, other) = (self.scalar(left)?, self.scalar(right)?);
        let kind = match (one.kind, operator, other.kind) {
            (Kind::Integer, _, Kind::Integer) => Kind::Integer,
            (Kind::Integer | Kind::Decimal, _, Kind::Integer | Kind::Decimal) => Kind::Decimal,
            (Kind::Date, BinaryOperator::Minus, Kind::Date) => Kind::Integer,
            (Kind::Timestamp, BinaryOperator::Minus, Kind::Timestamp) => Kind::Duration,
            (Kind::Date, BinaryOperator::Plus | BinaryOperator::Minus, Kind::Integer) => Kind::Date,
            (Kind::Timestamp, BinaryOperator::Plus | BinaryOperator::Minus, Kind::Duration) => Kind::Timestamp,
            (Kind::Duration, BinaryOperator::Plus | BinaryOperator::Minus, Kind::Duration) => Kind::Duration,
            (Kind::Duration, BinaryOperator::Multiply | BinaryOperator::Divide, Kind::Integer | Kind::Decimal)
            | (Kind::Integer | Kind::Decimal, BinaryOperator::Multiply, Kind::Duration) => Kind::Duration,
            _ => {
                let message = "subtract two dates to get days, or add days or an INTERVAL to a date; for the seconds between two \
                               timestamps write EXTRACT(EPOCH FROM a - b)";
                return Err(self.refusal(expression, message));
            }
        };
        let made = match operator {
            BinaryOperator::Plus => one.plus(other, kind),
            BinaryOperator::Minus => one.plus(other.negative(), kind),
            BinaryOperator::Multiply => one.times(other, kind),
            BinaryOperator::Divide => return self.quotient(expression, one, right, &other, kind),
            BinaryOperator::Modulo => return self.remainder(expression, one, right, &other),
            _ => return Err(self.refusal(expression, "this operator is not supported: use + - * / and %")),
        };
        self.fitting(expression, made)
    }

    fn cast(&self, expression: &Expr, inner: &Expr, to: &DataType) -> Result<NumericExpr, Error> {
        if let (DataType::Date | DataType::Timestamp(..), Some(literal)) = (to, Literal::of(self, plain(inner))) {
            self.count_literal(inner)?;
            return literal.dated_as(to)?.scalar();
        }
        let scalar = match self.typed(inner)? {
            Typed::Text(labelled) => match as_numbers(&labelled) {
                Some(numbers) => self.fitting(expression, numbers)?,
                None => return Err(self.refusal(expression, "text is converted to a number where all of it is digits")),
            },
            _ => self.scalar(inner)?,
        };
        let number = matches!(scalar.kind, Kind::Integer | Kind::Decimal);
        match to {
            DataType::Int(None)
            | DataType::Integer(None)
            | DataType::BigInt(None)
            | DataType::SmallInt(None)
            | DataType::Int2(None)
            | DataType::Int4(None)
            | DataType::Int8(None)
                if number =>
            {
                self.fitting(expression, scalar.rounded(&RBig::ONE, Kind::Integer))
            }
            DataType::Real
            | DataType::Float(_)
            | DataType::Float4
            | DataType::Float8
            | DataType::Double(_)
            | DataType::DoublePrecision
                if number =>
            {
                Ok(NumericExpr { kind: Kind::Decimal, ..scalar })
            }
            DataType::Numeric(info) | DataType::Decimal(info) if number => match self.scale(expression, info)? {
                Some(places) => self.fitting(expression, scalar.rounded(&step_of(places), Kind::Decimal)),
                None => Ok(NumericExpr { kind: Kind::Decimal, ..scalar }),
            },
            DataType::Date => self.to_date(expression, scalar),
            DataType::Timestamp(..) => self.to_timestamp(expression, scalar),
            _ => {
                let message = "numbers are converted to INTEGER, NUMERIC or REAL, and times to DATE: omit other casts";
                Err(self.refusal(expression, message))
            }
        }
    }

    /// How many digits behind the point NUMERIC(p, s) keeps; nothing if all of them. How many it has before the point is not limited.
    pub(super) fn scale(&self, expression: &Expr, info: &ExactNumberInfo) -> Result<Option<i64>, Error> {
        let places = match info {
            ExactNumberInfo::None => return Ok(None),
            ExactNumberInfo::Precision(_) => 0,
            ExactNumberInfo::PrecisionAndScale(_, places) => *places,
        };
        match (-15..=15).contains(&places) {
            true => Ok(Some(places)),
            false => Err(self.refusal(expression, "NUMERIC has from -15 to 15 digits after the point")),
        }
    }

    fn case(
        &self,
        expression: &Expr,
        operand: Option<&Expr>,
        conditions: &[CaseWhen],
        otherwise: Option<&Expr>,
    ) -> Result<NumericExpr, Error> {
        let branches = conditions
            .iter()
            .map(|CaseWhen { condition, result }| Ok((self.branch(operand, condition)?, self.scalar(result)?)));
        let branches = branches.collect::<Result<Vec<_>, Error>>()?;
        let otherwise = otherwise.map(|otherwise| self.scalar(otherwise)).transpose()?;
        let values = branches.iter().map(|(_, value)| value).chain(&otherwise);
        self.check_kinds(expression, values)?;
        self.fitting(expression, NumericExpr::case(branches, otherwise))
    }

    /// When a branch of CASE is taken.
    pub(super) fn branch(&self, operand: Option<&Expr>, condition: &Expr) -> Result<Predicate, Error> {
        match operand {
            None => self.predicate(condition),
            Some(operand) => self.comparison(operand, &BinaryOperator::Eq, condition),
        }
    }

    /// Refuses to put numbers and dates into one column.
    pub(super) fn check_kinds<'s>(
        &self,
        expression: &Expr,
        values: impl Iterator<Item = &'s NumericExpr>,
    ) -> Result<(), Error> {
        let class = |scalar: &NumericExpr| match scalar.kind {
            Kind::Integer | Kind::Decimal => 0,
            Kind::Date => 1,
            Kind::Timestamp => 2,
            Kind::Duration => 3,
        };
        let mut classes = values.filter(|scalar| !scalar.is_null()).map(class);
        let first = classes.next();
        match classes.all(|other| Some(other) == first) {
            true => Ok(()),
            false => Err(self.refusal(expression, "these are of different types: numbers, dates and times do not mix")),
        }
    }

    /// Whether a function is one of the aggregates.
    pub(super) fn is_aggregate(function: &Call) -> bool {
        super::aggregates::NAMES.contains(&function.name.to_string().as_str())
    }
}

/// A boolean column as a condition.
pub(super) fn is_true(operand: Operand) -> Predicate {
    use super::super::predicate::Comparison;
    use crate::schema::Value;
    Predicate::Compare { operand, comparison: Comparison::Equal, value: Value::Boolean(true) }
}

/// Why a column cannot be used as a number.
pub(super) fn without_bounds(column: &Column, what: &str) -> String {
    match column.kind {
        ColumnType::Text | ColumnType::Boolean => {
            format!("{:?} holds {}, which cannot be {what}: compare it, or use COUNT", column.name, column.kind)
        }
        _ => format!("{:?} has no declared bounds, so it cannot be {what}: ask the owner to declare them", column.name),
    }
}

pub(super) fn is_logical(operator: &BinaryOperator) -> bool {
    matches!(
        operator,
        BinaryOperator::And
            | BinaryOperator::Or
            | BinaryOperator::Eq
            | BinaryOperator::NotEq
            | BinaryOperator::Lt
            | BinaryOperator::LtEq
            | BinaryOperator::Gt
            | BinaryOperator::GtEq
    )
}
