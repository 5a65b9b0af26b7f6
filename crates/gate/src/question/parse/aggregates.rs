//! Aggregates: what is computed of the rows of a group.

use sqlparser::ast::{
    CaseWhen, DuplicateTreatment, Expr, Function as Call, FunctionArg, FunctionArgExpr, FunctionArgumentList,
    FunctionArguments, ObjectNamePart, OrderByExpr, OrderByOptions, OrderBySort,
};

use super::super::aggregate::{Aggregate, Argument, Function, PairFunction, both_known};
use super::super::predicate::{Operand, Predicate};
use super::super::scalar::{Kind, NumericExpr};
use super::functions::number_of_arguments;
use super::labels::Labelled;
use super::reader::{Reader, plain, shown};
use super::scalar::{Typed, without_bounds};
use crate::error::Error;
use crate::number::Number;
use crate::schema::ColumnType;

/// The names of all aggregates.
pub(super) const NAMES: [&str; 33] = [
    "COUNT",
    "SUM",
    "AVG",
    "MEAN",
    "MIN",
    "MAX",
    "MEDIAN",
    "MODE",
    "QUANTILE",
    "QUANTILE_CONT",
    "QUANTILE_DISC",
    "APPROX_QUANTILE",
    "APPROX_PERCENTILE",
    "PERCENTILE",
    "PERCENTILE_CONT",
    "PERCENTILE_DISC",
    "VARIANCE",
    "VAR_SAMP",
    "VAR_POP",
    "STDDEV",
    "STDDEV_SAMP",
    "STDDEV_POP",
    "VAR",
    "STDEV",
    "COVAR_POP",
    "COVAR_SAMP",
    "CORR",
    "REGR_SLOPE",
    "REGR_INTERCEPT",
    "REGR_R2",
    "REGR_COUNT",
    "COUNT_IF",
    "COUNTIF",
];

impl Reader<'_> {
    /// Reads an aggregate.
    pub(super) fn aggregate(&self, expression: &Expr, call: &Call) -> Result<Aggregate, Error> {
        let Call {
            name,
            uses_odbc_syntax: false,
            parameters: FunctionArguments::None,
            args: FunctionArguments::List(FunctionArgumentList { duplicate_treatment, args, clauses }),
            within_group,
            filter,
            null_treatment: None,
            over: None,
        } = call
        else {
            return Err(
                self.refusal(expression, "this form of the aggregate is not supported: write only its arguments")
            );
        };
        let [ObjectNamePart::Identifier(name)] = name.0.as_slice() else { return Err(self.beyond()) };
        if !clauses.is_empty() {
            return Err(self.refusal(expression, "an aggregate takes nothing after its arguments: use FILTER or WHERE"));
        }
        let distinct = match duplicate_treatment {
            None | Some(DuplicateTreatment::All) => false,
            Some(DuplicateTreatment::Distinct) => true,
        };
        let filter = filter.as_ref().map(|filter| self.predicate(filter)).transpose()?;
        let (function, own) = match (name.value.as_str(), args.as_slice(), within_group.as_slice()) {
            ("COUNT", [FunctionArg::Unnamed(FunctionArgExpr::Wildcard)], []) if !distinct => (Function::Rows, None),
            ("COUNT", [FunctionArg::Unnamed(FunctionArgExpr::Expr(argument))], []) if distinct => {
                self.different(argument)?
            }
            ("COUNT", [FunctionArg::Unnamed(FunctionArgExpr::Expr(argument))], []) => (self.counted(argument)?, None),
            ("MODE", [FunctionArg::Unnamed(FunctionArgExpr::Expr(of))], []) if !distinct => {
                (self.most_frequent(of)?, None)
            }
            ("MODE", [], [OrderByExpr { expr: of, options: _, with_fill: None }]) if !distinct => {
                (self.most_frequent(of)?, None)
            }
            ("REGR_COUNT", [y, x], []) if !distinct => {
                let [y, x] = [y, x].map(|one| self.expressions(expression, std::slice::from_ref(one)));
                let (y, x) = (self.summed(y?[0])?, self.summed(x?[0])?);
                (Function::Rows, Some(Predicate::all(both_known([&y, &x]))))
            }
            (_, _, []) if !distinct => {
                (self.of_numbers(expression, &name.value, &self.expressions(expression, args)?)?, None)
            }
            (
                "PERCENTILE_CONT" | "PERCENTILE_DISC",
                [FunctionArg::Unnamed(FunctionArgExpr::Expr(fraction))],
                [order],
            ) if !distinct => (self.percentile(expression, fraction, order)?, None),
            _ => {
                let message = "DISTINCT is only for COUNT, and WITHIN GROUP for PERCENTILE_CONT and MODE: omit it";
                return Err(self.refusal(expression, message));
            }
        };
        let conditions: Vec<Predicate> = own.into_iter().chain(filter).collect();
        let filter = if conditions.is_empty() { None } else { Some(Predicate::all(conditions)) };
        Ok(Aggregate { function, filter })
    }

    fn expressions<'e>(&self, expression: &Expr, args: &'e [FunctionArg]) -> Result<Vec<&'e Expr>, Error> {
        let argument = |argument: &'e FunctionArg| match argument {
            FunctionArg::Unnamed(FunctionArgExpr::Expr(argument)) => Ok(argument),
            FunctionArg::Unnamed(FunctionArgExpr::Wildcard) => {
                Err(self.refusal(expression, "only COUNT takes *: write a column or an expression"))
            }
            _ => Err(self.refusal(expression, "arguments are expressions, without names")),
        };
        args.iter().map(argument).collect()
    }

    fn of_numbers(&self, expression: &Expr, name: &str, arguments: &[&Expr]) -> Result<Function, Error> {
        let spread = |of: &Expr, sample, root| Ok(Function::Spread { of: self.summed(of)?, sample, root });
        let pair =
            |function, y: &Expr, x: &Expr| Ok(Function::Pair { function, y: self.summed(y)?, x: self.summed(x)? });
        let quantile = |of: &Expr, fraction| Ok(Function::Quantile { of: self.sorted(of)?, fraction });
        let number = |text: &str| Number::parse(text).expect("it is a number");
        match (name, arguments) {
            ("SUM", [of]) => Ok(Function::Sum(self.summed(of)?)),
            ("AVG" | "MEAN", [of]) => Ok(Function::Average(self.summed(of)?)),
            ("VARIANCE" | "VAR_SAMP" | "VAR", [of]) => spread(of, true, false),
            ("VAR_POP", [of]) => spread(of, false, false),
            ("STDDEV" | "STDDEV_SAMP" | "STDEV", [of]) => spread(of, true, true),
            ("STDDEV_POP", [of]) => spread(of, false, true),
            ("COVAR_POP", [y, x]) => pair(PairFunction::PopulationCovariance, y, x),
            ("COVAR_SAMP", [y, x]) => pair(PairFunction::SampleCovariance, y, x),
            // Its square is taken of the noisy correlation.
            ("CORR" | "REGR_R2", [y, x]) => pair(PairFunction::Correlation, y, x),
            ("REGR_SLOPE", [y, x]) => pair(PairFunction::Slope, y, x),
            ("REGR_INTERCEPT", [y, x]) => pair(PairFunction::Intercept, y, x),
            ("MEDIAN", [of]) => quantile(of, number("0.5")),
            ("MIN", [of]) => quantile(of, Number::ZERO),
            ("MAX", [of]) => quantile(of, Number::ONE),
            (
                "QUANTILE" | "QUANTILE_CONT" | "QUANTILE_DISC" | "APPROX_QUANTILE" | "APPROX_PERCENTILE" | "PERCENTILE",
                [of, fraction],
            ) => quantile(of, self.fraction(fraction)?),
            ("COUNT_IF" | "COUNTIF", [condition]) => Ok(Function::Sum(NumericExpr::truth(self.predicate(condition)?))),
            _ => {
                let message = format!(
                    "{name} is not supported with {}: quantiles take an expression and a fraction, CORR, COVAR and REGR take two \
                     expressions, and the others take one",
                    number_of_arguments(arguments.len())
                );
                Err(self.refusal(expression, message))
            }
        }
    }

    /// `PERCENTILE_CONT(fraction) WITHIN GROUP (ORDER BY …)`.
    fn percentile(&self, expression: &Expr, fraction: &Expr, order: &OrderByExpr) -> Result<Function, Error> {
        let OrderByExpr { expr, options: OrderByOptions { sort, nulls_first: None }, with_fill: None } = order else {
            return Err(self.refusal(expression, "WITHIN GROUP is followed by (ORDER BY expression)"));
        };
        let fraction = self.fraction(fraction)?;
        let fraction = match sort {
            None | Some(OrderBySort::Asc) => fraction,
            Some(OrderBySort::Desc) => Number::ONE.minus(fraction),
            Some(OrderBySort::Using(_)) => return Err(self.beyond()),
        };
        Ok(Function::Quantile { of: self.sorted(expr)?, fraction })
    }

    /// A fraction from 0 to 1.
    fn fraction(&self, expression: &Expr) -> Result<Number, Error> {
        let literal = super::literal::Literal::of(self, plain(expression));
        let fraction = literal.and_then(|literal| literal.number());
        fraction
            // Scores count in steps of the fraction's denominator: a million of them leaves room for 10¹² rows in 64 bits.
            .filter(|fraction| {
                (Number::ZERO..=Number::ONE).contains(fraction) && fraction.steps(Number::MILLIONTH).is_some()
            })
            .ok_or_else(|| {
                let message = "a quantile needs a literal from 0 to 1 with at most 6 decimal places, such as 0.5";
                self.refusal(expression, message)
            })
    }

    /// `COUNT(…)`.
    fn counted(&self, argument: &Expr) -> Result<Function, Error> {
        Ok(match self.typed(argument)? {
            Typed::Column(operand) => Function::NonNull(Argument::Column(operand.column)),
            Typed::Steps(scalar) | Typed::Text(Labelled { scalar, .. }) => Function::NonNull(Argument::Steps(scalar)),
            Typed::Truth(predicate) => Function::NonNull(Argument::Steps(NumericExpr::truth(predicate))),
            Typed::Literal(_) => Function::Rows,
            Typed::Null => return Err(self.refusal(argument, "NULL is never counted: write COUNT(*) to count rows")),
        })
    }

    /// `COUNT(DISTINCT …)`, also of a column under a condition: `COUNT(DISTINCT CASE WHEN … THEN column END)`.
    fn different(&self, argument: &Expr) -> Result<(Function, Option<Predicate>), Error> {
        if let Expr::Case { operand, conditions, else_result: None, case_token: _, end_token: _ } = plain(argument)
            && let [CaseWhen { condition, result }] = conditions.as_slice()
            && let Some(column) = self.as_column(plain(result))
        {
            let condition = self.branch(operand.as_deref(), condition)?;
            return Ok((self.different_column(column?), Some(condition)));
        }
        match self.typed(argument)? {
            Typed::Column(Operand { column, case: super::super::predicate::LetterCase::AsWritten }) => {
                Ok((self.different_column(column), None))
            }
            Typed::Steps(scalar) | Typed::Text(Labelled { scalar, .. }) => {
                Ok((Function::Distinct(Argument::Steps(scalar)), None))
            }
            _ => Err(self.refusal(argument, "COUNT(DISTINCT …) takes a column or a number")),
        }
    }

    fn different_column(&self, column: usize) -> Function {
        // In an inner join the unit is the same in both tables.
        let tables = self.tables.borrow();
        let private = tables.last().and_then(|tables| tables.private.as_ref());
        let is_joined = private.is_some_and(|join| join.unit == column && !join.keeps_all);
        match self.schema.unit_column() == Some(column) || is_joined {
            true => Function::Units,
            false => Function::Distinct(Argument::Column(column)),
        }
    }

    /// What can be summed.
    fn summed(&self, argument: &Expr) -> Result<NumericExpr, Error> {
        self.check_summed(argument)?;
        Ok(self.number(argument)?.summed())
    }

    /// What has a least and a greatest value: also dates and times.
    fn sorted(&self, argument: &Expr) -> Result<NumericExpr, Error> {
        self.check_summed(argument)?;
        let scalar = self.scalar(argument)?;
        match scalar.kind {
            Kind::Date | Kind::Timestamp => Ok(scalar.summed()),
            _ => self.summed(argument),
        }
    }

    fn check_summed(&self, argument: &Expr) -> Result<(), Error> {
        if let Typed::Column(operand) = self.typed(argument)? {
            let column = self.declared(operand.column);
            if NumericExpr::column(operand.column, column).is_none() && column.kind != ColumnType::Boolean {
                return Err(self.refusal(argument, without_bounds(column, "summed")));
            }
        }
        if let Typed::Null = self.typed(argument)? {
            return Err(self.refusal(argument, "NULL has no sum: write a column"));
        }
        Ok(())
    }

    /// A column that stands alone where an aggregate is needed.
    pub(super) fn not_grouped(&self, expression: &Expr, name: &sqlparser::ast::Ident) -> Error {
        let message =
            format!("{} must be in GROUP BY, or in COUNT, SUM or AVG: single rows are never shown", shown(name));
        self.refusal(expression, message)
    }
}
