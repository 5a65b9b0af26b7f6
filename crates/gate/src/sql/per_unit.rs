//! The most groups of a unit: in how many groups the rows of one unit count.
//!
//! Every row is numbered by the place of its group among the groups of its unit, in the order of a keyed hash of both, and rows of
//! later groups are left out. The numbers of a unit depend on its own rows alone, so one unit more or less changes nothing else. Rows
//! that WHERE leaves out are not numbered: which groups are chosen may depend on the question, but not on other units. Where two
//! hashes are equal, the groups themselves decide: different groups never share a number.

use super::Writer;
use crate::question::group::GroupLimit;
use crate::question::predicate::Operand;
use crate::question::{Query, commas};
use crate::schema::Value;
use crate::steps::unused_name;

impl Writer<'_> {
    /// The rows that are asked: of every unit those of the chosen groups. Joins to public tables stay outside of it as well, since each
    /// row meets the same row there again.
    pub(super) fn limited(
        &mut self,
        query: &Query,
        GroupLimit { most, key }: &GroupLimit,
        groups: &[String],
        conditions: &str,
    ) -> (String, String) {
        let unit = self.target.schema.unit_column().expect("only groups of units are limited");
        let unit = self.compared(Operand::plain(unit));
        let hash = self.hash(key, &unit, groups);
        let place = self.grammar().name(&unused_name(self.target.schema, "place of the group"));
        let number = format!("dense_rank() OVER (PARTITION BY {unit} ORDER BY {hash}, {})", commas(groups));
        let all =
            if query.joins.is_empty() { "*".to_string() } else { format!("{}.*", self.grammar().name(super::ROWS)) };
        let from = self.source(self.target.table);
        (format!("(SELECT {all}, {number} AS {place} FROM {from} WHERE {conditions})"), format!("{place} <= {most}"))
    }

    /// A keyed hash of a unit and a group, which orders the groups of the unit.
    fn hash(&mut self, key: &str, unit: &str, groups: &[String]) -> String {
        let key = self.literal(&Value::Text(key.to_string()));
        let parts = commas([&key, &unit.to_string()].into_iter().chain(groups));
        self.grammar().hash(&parts).expect("groups are limited only where the engine has a hash")
    }
}
