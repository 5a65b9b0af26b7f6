//! What an engine computes for every group: integers, and how many rows have which value.

use dashu::rational::RBig;

use crate::question::aggregate::Argument;
use crate::question::predicate::Predicate;
use crate::question::scalar::{NumericExpr, products};
use crate::schema::Schema;

/// One integer for every group, of the rows for which a condition holds.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Measure {
    pub(crate) quantity: Quantity,
    pub(crate) filter: Option<Predicate>,
}

/// What is counted or summed.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Quantity {
    /// How many rows.
    Rows,
    /// How many rows where it is not null.
    NonNull(Argument),
    /// How many different units.
    Units,
    /// How many different values.
    Distinct(Argument),
    /// How many rows have values outside of their bounds: its condition says which.
    Clamped,
    /// The sum of an expression.
    Sum(Centred),
    /// The sum of the products of two.
    Products(Centred, Centred),
}

/// An expression in steps away from a point of its grid.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Centred {
    pub(crate) scalar: NumericExpr,
    pub(crate) centre: i64,
}

impl Centred {
    /// Steps away from 0.
    pub(crate) fn plain(scalar: NumericExpr) -> Centred {
        Centred { scalar, centre: 0 }
    }

    /// Steps away from the middle of the range.
    pub(crate) fn middle(scalar: NumericExpr) -> Centred {
        let centre = scalar.centre();
        Centred { scalar, centre }
    }

    /// The least and the greatest value.
    fn range(&self) -> (i64, i64) {
        (self.scalar.low - self.centre, self.scalar.high - self.centre)
    }
}

impl Quantity {
    /// The least and the greatest that one row adds.
    pub(crate) fn of_a_row(&self) -> (i64, i64) {
        match self {
            Quantity::Rows | Quantity::NonNull(_) | Quantity::Units | Quantity::Distinct(_) | Quantity::Clamped => {
                (0, 1)
            }
            Quantity::Sum(centred) => centred.range(),
            Quantity::Products(one, other) => {
                let (low, high) = products(one.range(), other.range());
                // A square is not below 0.
                let low = if one == other { low.max(0) } else { low };
                let narrow = |product| i64::try_from(product).expect("products of moments fit into 32 bits");
                (narrow(low), narrow(high))
            }
        }
    }

    /// What one step is in the units of the answer.
    pub(crate) fn grid(&self) -> RBig {
        match self {
            Quantity::Sum(centred) => centred.scalar.grid.clone(),
            Quantity::Products(one, other) => one.scalar.grid.clone() * other.scalar.grid.clone(),
            Quantity::Rows | Quantity::NonNull(_) | Quantity::Units | Quantity::Distinct(_) | Quantity::Clamped => {
                RBig::ONE
            }
        }
    }

    /// The number of two groups that are one, from those of both. Units and different values may be in both groups: these do not add up,
    /// and the greater number stands for both. One unit moves it no further than it moves both numbers together.
    pub(crate) fn of_both(&self, one: i64, other: i64) -> i64 {
        match self {
            Quantity::Units | Quantity::Distinct(_) => one.max(other),
            Quantity::Rows | Quantity::NonNull(_) | Quantity::Clamped | Quantity::Sum(_) | Quantity::Products(..) => {
                one.saturating_add(other)
            }
        }
    }

    /// The most that one row adds, either way.
    pub(crate) fn reach(&self) -> u64 {
        let (low, high) = self.of_a_row();
        low.unsigned_abs().max(high.unsigned_abs())
    }

    /// What it is, for people.
    pub(crate) fn describe(&self, schema: &Schema) -> String {
        let shown = |scalar: &NumericExpr| scalar.describe(schema);
        let of = |argument: &Argument| match argument {
            Argument::Column(at) => schema.columns[*at].name.clone(),
            Argument::Steps(scalar) => shown(scalar),
        };
        match self {
            Quantity::Rows => "number of rows".to_string(),
            Quantity::NonNull(argument) => format!("number of rows with {}", of(argument)),
            Quantity::Units => "number of units".to_string(),
            Quantity::Distinct(argument) => format!("number of different values of {}", of(argument)),
            Quantity::Clamped => "number of rows with values outside of their bounds".to_string(),
            Quantity::Sum(Centred { scalar, centre: 0 }) => format!("sum of {}", shown(scalar)),
            Quantity::Sum(Centred { scalar, .. }) => format!("sum of {} from the middle of its bounds", shown(scalar)),
            Quantity::Products(one, other) if one == other => {
                format!("sum of squares of {} from the middle of its bounds", shown(&one.scalar))
            }
            Quantity::Products(one, other) => {
                format!(
                    "sum of products of {} and {} from the middles of their bounds",
                    shown(&one.scalar),
                    shown(&other.scalar)
                )
            }
        }
    }
}

impl Measure {
    /// What it is, for people.
    pub(crate) fn describe(&self, schema: &Schema) -> String {
        let text = self.quantity.describe(schema);
        if self.filter.is_some() && self.quantity != Quantity::Clamped {
            format!("{text}, where its condition holds")
        } else {
            text
        }
    }
}
