//! What follows from a declaration alone: what a count costs before there is a dataset, and how much noise the bounds of a column mean.

use serde::Serialize;
use serde_json::Number as Decimal;
use taximeter_accounting::{Amount, Cost};
use taximeter_ledger::Neighbours;

use crate::answer::of_steps;
use crate::declaration::Declaration;
use crate::error::Error;
use crate::measure::{Centred, Quantity};
use crate::noise::Noise;
use crate::number::Number;
use crate::plan::{MISS, NoiseKind, Plan, Price, Weights};
use crate::question::Question;
use crate::question::scalar::NumericExpr;
use crate::schema::{Column, ColumnType, PrivacyUnit, Schema};
use crate::sensitivity::Sensitivity;

/// The cost of a count whose 95% interval is at most ± a width, where this number of rows of a unit may count: what the same question
/// about a dataset would cost.
pub fn cost_of_count(width: Number, noise: NoiseKind, rows_per_unit: u32) -> Result<Cost, Error> {
    const NAME: &str = "rows";
    let unit = PrivacyUnit::Column { column: NAME.to_string(), max_rows_per_unit: rows_per_unit };
    let schema = Schema::new(unit, Neighbours::AddRemove, vec![Column::new(NAME, ColumnType::Integer, None, None)?])?;
    let question = Question::parse("SELECT COUNT(*) FROM rows", NAME, &schema)?;
    let weights = Weights::new(&Default::default(), &question)?;
    Ok(Plan::new(&question, &schema, Price::Error { width, noise }, &weights)?.total)
}

/// The noise on the sum of a column, as a question for that sum alone would have it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ExpectedSum {
    /// The column.
    pub column: String,
    /// The 95% interval of the sum is ± this.
    pub half_width: Decimal,
}

/// The noise on the sum of every column that can be summed, each paid with this ε: an owner sees what the bounds cost before anyone asks.
/// All types must be declared, as those of registered data are.
pub fn noise_of_sums(declaration: &Declaration, epsilon: Amount) -> Result<Vec<ExpectedSum>, Error> {
    let schema = declaration.with_types()?;
    let can_be_summed =
        |column: &Column| matches!(column.kind, ColumnType::Integer | ColumnType::Real | ColumnType::Decimal);
    let mut sums = Vec::new();
    for (at, column) in schema.columns.iter().enumerate().filter(|(_, column)| can_be_summed(column)) {
        let Some(scalar) = NumericExpr::column(at, column) else { continue };
        let sum = Quantity::Sum(Centred::plain(scalar));
        let noise = Noise::new(&Cost::Pure { epsilon }, Sensitivity::new(&sum, &schema, Some(1)))?;
        let half_width = of_steps(noise.half_width(MISS), &sum.grid());
        sums.push(ExpectedSum { column: column.name.clone(), half_width });
    }
    Ok(sums)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::answer::measured_parts;
    use crate::question::quoted;

    const DECLARED: &str = r#"
        unit = { column = "person", max_rows_per_unit = 3 }
        [columns.person]
        type = "text"
        [columns.age]
        type = "integer"
        bounds = [0, 120]
        [columns."the \"wage"]
        type = "real"
        bounds = [-100, 2000]
        grid = 0.5
        [columns.price]
        type = "decimal"
        bounds = [0, 99.99]
        [columns.rank]
        type = "integer"
        [columns.born]
        type = "date"
        bounds = ["1900-01-01", "2024-12-31"]
    "#;

    #[test]
    fn the_noise_of_sums_is_that_of_the_questions() {
        for neighbours in ["add-remove", "substitute"] {
            let declaration = Declaration::parse(&format!("neighbours = \"{neighbours}\"\n{DECLARED}")).unwrap();
            let schema = declaration.with_types().unwrap();
            let epsilon = Amount::parse_exact("0.1").unwrap();
            let sums = noise_of_sums(&declaration, epsilon).unwrap();
            let columns: Vec<&str> = sums.iter().map(|sum| sum.column.as_str()).collect();
            assert_eq!(columns, ["age", "price", "the \"wage"]);
            for ExpectedSum { column, half_width } in sums {
                let text = format!("SELECT SUM({}) FROM t", quoted(&column));
                let question = Question::parse(&text, "t", &schema).unwrap();
                let plan = Plan::new(&question, &schema, Price::Epsilon(epsilon), &Weights::default()).unwrap();
                assert_eq!(measured_parts(&plan, &schema)[0].half_width, half_width, "{column}, {neighbours}");
            }
        }
    }

    #[test]
    fn wider_bounds_mean_more_noise() {
        let half_width = |high: u32| {
            let text = format!("unit = \"row\"\n[columns.age]\ntype = \"integer\"\nbounds = [0, {high}]");
            let sums = noise_of_sums(&Declaration::parse(&text).unwrap(), Amount::parse_exact("0.1").unwrap()).unwrap();
            sums[0].half_width.as_f64().unwrap()
        };
        // 95% of discrete Laplace noise of scale 1200 is within 3595.
        assert_eq!(half_width(120), 3595.0);
        assert!(half_width(240) > 1.99 * half_width(120));
    }
}
