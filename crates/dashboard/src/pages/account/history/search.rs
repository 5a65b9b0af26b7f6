//! Looking for records of an account: never at more of them than one page may cost.

use taximeter_service::timelines::Timeline;
use taximeter_service::{AccountDocument, Problem, RecordDocument};

use super::filter::Filter;
use crate::visitor::Visitor;

/// The most records on a page.
const PAGE: usize = 25;

/// The most records that are looked at for a page with a filter, and at a time.
const MOST: u64 = 5000;
const AT_ONCE: u32 = 500;

/// A page of a history.
#[derive(Debug, Default)]
pub(super) struct Part {
    /// The records, newest first.
    pub(super) records: Vec<RecordDocument>,
    /// How many were looked at for it.
    pub(super) looked: u64,
    /// The record that comes next; nothing at the end.
    pub(super) next: Option<u64>,
}

/// Finds the records of a page.
pub(super) async fn find(
    visitor: &Visitor,
    account: &AccountDocument,
    timeline: Option<&Timeline>,
    filter: &Filter,
    start: Option<u64>,
) -> Result<Part, Problem> {
    let limit = Some(if filter.is_set() { AT_ONCE } else { PAGE as u32 });
    let mut part = Part { next: start.or_else(|| near(account, timeline, filter)), ..Part::default() };
    while let Some(from) = part.next
        && part.records.len() < PAGE
        && part.looked < MOST
    {
        let document = visitor.caller.history(&account.account, Some(from), limit).await?;
        part.take(document.records, document.next, filter);
    }
    Ok(part)
}

impl Part {
    /// Takes what is wanted of records that follow each other; `next` is where they go on.
    fn take(&mut self, records: Vec<RecordDocument>, next: Option<u64>, filter: &Filter) {
        for record in records {
            if filter.from.is_some_and(|from| record.sequence < from) {
                self.next = None;
                return;
            }
            if self.records.len() == PAGE {
                self.next = Some(record.sequence);
                return;
            }
            self.looked += 1;
            if filter.takes(&record) {
                self.records.push(record);
            }
        }
        self.next = next;
    }
}

/// A record of the account from which it is not far to the first that is wanted.
fn near(account: &AccountDocument, timeline: Option<&Timeline>, filter: &Filter) -> Option<u64> {
    let newest = account.newest_record;
    let points = filter.to.zip(timeline).map(|(to, timeline)| (to, timeline.curve().points()));
    let first_above =
        points.and_then(|(to, points)| points.iter().map(|point| point.sequence).find(|known| *known >= to));
    Some(first_above.unwrap_or(newest))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn records(numbers: std::ops::RangeInclusive<u64>) -> Vec<RecordDocument> {
        let record = |sequence: u64| {
            let what = if sequence.is_multiple_of(10) { "halt" } else { "charge" };
            let record = serde_json::json!({
                "sequence": sequence, "hash": null, "what": what, "time": "", "reading": null, "left": null, "record": null
            });
            serde_json::from_value(record).unwrap()
        };
        numbers.rev().map(record).collect()
    }

    #[test]
    fn a_page_ends_when_it_is_full_at_the_lower_end_or_with_the_history() {
        let halts = || Filter { what: Some("halt".to_string()), ..Filter::default() };
        let from = |from| Filter { from: Some(from), ..Filter::default() };
        for (filter, numbers, next, found, looked, goes_on) in [
            (Filter::default(), 101..=125, Some(100), 25, 25, Some(100)),
            (Filter::default(), 1..=3, None, 3, 3, None),
            (halts(), 1..=200, Some(0), 20, 200, Some(0)),
            (halts(), 1..=500, Some(0), 25, 241, Some(259)),
            (from(190), 1..=200, Some(0), 11, 11, None),
        ] {
            let mut part = Part::default();
            part.take(records(numbers.clone()), next, &filter);
            assert_eq!(
                (part.records.len(), part.looked, part.next),
                (found, looked, goes_on),
                "{numbers:?} {filter:?}"
            );
        }
    }
}
