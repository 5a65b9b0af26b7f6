//! Tables that differ in one unit, and how far their answers lie apart.

use std::collections::HashSet;

use taximeter_ledger::Neighbours;

use super::database::{Database, TABLE};
use super::{Claim, Keep, Row};
use crate::measure::Measure;
use crate::question::Query;
use crate::schema::Schema;
use crate::sensitivity::Sensitivity;
use crate::sql::{Dialect, Statement, Target};

/// A table without one unit, and all that this unit may be.
pub(super) struct Family {
    pub(super) rest: Vec<Row>,
    /// The rows of each possible unit, at least one, none of them in the rest; also rows without a unit, each of
    /// which belongs to some person.
    pub(super) units: Vec<Vec<Row>>,
}

/// The furthest that two answers lie apart, over all groups.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Reach {
    pub(super) l1: u128,
    pub(super) l2_squared: u128,
}

impl Reach {
    fn between(one: &[i64], other: &[i64]) -> Reach {
        let mut reach = Reach::default();
        for (one, other) in one.iter().zip(other) {
            let change = u128::from(one.abs_diff(*other));
            reach.l1 += change;
            reach.l2_squared += change * change;
        }
        reach
    }

    pub(super) fn widen(&mut self, other: Reach) {
        self.l1 = self.l1.max(other.l1);
        self.l2_squared = self.l2_squared.max(other.l2_squared);
    }
}

impl Family {
    /// How far the answers of neighbours lie apart at most, for every measure; an error if that is further than is
    /// claimed.
    pub(super) fn check(
        &self,
        schema: &Schema,
        query: &Query,
        measures: &[Measure],
        keep: Keep,
        claim: Claim,
    ) -> Result<Vec<Reach>, String> {
        let target = Target { schema, dialect: Dialect::Sqlite, table: TABLE, asked: &[] };
        let statement = Statement::measuring(query, measures, target);
        let database = Database::new(schema);
        let ask = |unit: &[Row]| {
            let table: Vec<Row> = unit.iter().chain(&self.rest).cloned().collect();
            database.fill(&keep(schema, &table));
            database.ask(&statement, query)
        };
        let without = ask(&[]);
        let with: Vec<_> = self.units.iter().map(|unit| ask(unit)).collect();
        let mut reaches = Vec::new();
        for (at, measure) in measures.iter().enumerate() {
            // Units of which the answers are the same need not be compared twice.
            let answers: HashSet<&[i64]> = with.iter().map(|answers| answers[at].as_slice()).collect();
            let reach = match schema.neighbours {
                Neighbours::AddRemove => furthest(&answers, &HashSet::from([without[at].as_slice()])),
                Neighbours::Substitute => furthest(&answers, &answers),
            };
            let Sensitivity { l1, l2_squared } = claim(&measure.quantity, schema, query.group_count());
            if reach.l1 > l1 || reach.l2_squared > l2_squared {
                return Err(format!(
                    "{measure:?} moves by {reach:?}, more than L1 = {l1}, L2² = {l2_squared}: {query:?}, {schema:?}, \
                     {:?}",
                    self.rest
                ));
            }
            reaches.push(reach);
        }
        Ok(reaches)
    }
}

fn furthest(some: &HashSet<&[i64]>, others: &HashSet<&[i64]>) -> Reach {
    let mut furthest = Reach::default();
    for one in some {
        for other in others {
            furthest.widen(Reach::between(one, other));
        }
    }
    furthest
}
