//! Finds the records of one page, within a limit of records to search.

use taximeter_service::timelines::Timeline;
use taximeter_service::{AccountDocument, Problem, RecordDocument};

use super::filter::HistoryFilter;
use crate::visitor::Visitor;

/// The most records on a page.
const PAGE: usize = 25;

/// The most records that are searched for a page with a filter, and per read.
const MOST: u64 = 5000;
const AT_ONCE: u32 = 500;

/// A page of a history.
#[derive(Debug, Default)]
pub(super) struct HistoryPage {
    /// The records, newest first.
    pub(super) records: Vec<RecordDocument>,
    /// How many were searched for it.
    pub(super) looked: u64,
    /// The next record; `None` at the end.
    pub(super) next: Option<u64>,
}

/// Finds the records of a page.
pub(super) async fn find(
    visitor: &Visitor,
    account: &AccountDocument,
    timeline: Option<&Timeline>,
    filter: &HistoryFilter,
    start: Option<u64>,
) -> Result<HistoryPage, Problem> {
    let limit = Some(if filter.is_set() { AT_ONCE } else { PAGE as u32 });
    let mut part = HistoryPage { next: start.or_else(|| near(account, timeline, filter)), ..HistoryPage::default() };
    while let Some(from) = part.next
        && part.records.len() < PAGE
        && part.looked < MOST
    {
        let document = visitor.caller.history(&account.account, Some(from), limit).await?;
        part.take(document.records, document.next, filter);
    }
    Ok(part)
}

impl HistoryPage {
    /// Takes the matching ones of consecutive records; `next` is the record after them.
    fn take(&mut self, records: Vec<RecordDocument>, next: Option<u64>, filter: &HistoryFilter) {
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
            if filter.matches(&record) {
                self.records.push(record);
            }
        }
        self.next = next;
    }
}

/// A record of the account close to the first one to search.
fn near(account: &AccountDocument, timeline: Option<&Timeline>, filter: &HistoryFilter) -> Option<u64> {
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
        let halts = || HistoryFilter { what: Some("halt".to_string()), ..HistoryFilter::default() };
        let from = |from| HistoryFilter { from: Some(from), ..HistoryFilter::default() };
        for (filter, numbers, next, found, looked, goes_on) in [
            (HistoryFilter::default(), 101..=125, Some(100), 25, 25, Some(100)),
            (HistoryFilter::default(), 1..=3, None, 3, 3, None),
            (halts(), 1..=200, Some(0), 20, 200, Some(0)),
            (halts(), 1..=500, Some(0), 25, 241, Some(259)),
            (from(190), 1..=200, Some(0), 11, 11, None),
        ] {
            let mut part = HistoryPage::default();
            part.take(records(numbers.clone()), next, &filter);
            assert_eq!(
                (part.records.len(), part.looked, part.next),
                (found, looked, goes_on),
                "{numbers:?} {filter:?}"
            );
        }
    }
}
