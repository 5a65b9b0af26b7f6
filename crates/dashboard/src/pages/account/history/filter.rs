//! The filter of a history.

use taximeter_ledger::AccountName;
use taximeter_service::{Problem, RecordDocument};

use crate::display::account_path;
use crate::form_data::FormData;

/// The events of an account: their names in documents, and their labels.
pub(super) const EVENTS: [(&str, &str); 6] = [
    ("", "everything"),
    ("charge", "charges"),
    ("open", "opening"),
    ("halt", "halts"),
    ("close", "closing"),
    ("restore", "restoring"),
];

/// The records to show.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct HistoryFilter {
    pub(super) what: Option<String>,
    pub(super) by: Option<String>,
    /// A part of the note, ignoring case.
    pub(super) note: Option<String>,
    pub(super) from: Option<u64>,
    pub(super) to: Option<u64>,
}

impl HistoryFilter {
    /// Reads the query of the page: the filter, and the record to start with.
    pub(super) fn read(asked: &FormData) -> Result<(HistoryFilter, Option<u64>), Problem> {
        let text = |name: &str| asked.get(name).map(str::to_string);
        let number = |name: &str| {
            let given = asked.get(name).map(|given| {
                given.parse().map_err(|_| {
                    Problem::bad_request(format!("{name} is {given:?}; write the number of a record, such as 17"))
                })
            });
            given.transpose()
        };
        let (from, to, start) = (number("from")?, number("to")?, number("start")?);
        Ok((HistoryFilter { what: text("what"), by: text("by"), note: text("note"), from, to }, start))
    }

    /// Whether it hides anything.
    pub(super) fn is_set(&self) -> bool {
        *self != HistoryFilter::default()
    }

    /// Whether a record matches.
    pub(super) fn matches(&self, record: &RecordDocument) -> bool {
        let note = record.note.as_ref().map_or("", |note| note.as_str());
        self.what.as_ref().is_none_or(|what| *what == record.what)
            && self.by.as_ref().is_none_or(|by| record.by.as_ref().is_some_and(|who| who.as_str() == by))
            && self.note.as_ref().is_none_or(|words| note.to_lowercase().contains(&words.to_lowercase()))
            && self.from.is_none_or(|from| record.sequence >= from)
            && self.to.is_none_or(|to| record.sequence <= to)
    }

    /// The path of an account's page with this filter, starting at a record.
    pub(super) fn path(&self, name: &AccountName, start: Option<u64>) -> String {
        let (from, to, start) =
            [self.from, self.to, start].map(|number| number.map(|number| number.to_string())).into();
        let fields = [
            ("what", &self.what),
            ("by", &self.by),
            ("note", &self.note),
            ("from", &from),
            ("to", &to),
            ("start", &start),
        ];
        let mut query = form_urlencoded::Serializer::new(String::new());
        query.extend_pairs(fields.into_iter().filter_map(|(name, value)| Some((name, value.as_ref()?))));
        match query.finish() {
            query if query.is_empty() => format!("{}#history", account_path(name)),
            query => format!("{}?{query}#history", account_path(name)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(query: &str) -> Result<(HistoryFilter, Option<u64>), Problem> {
        HistoryFilter::read(&FormData::from_query(Some(query)))
    }

    #[test]
    fn a_filter_is_read_from_the_path_that_it_makes() {
        let name = AccountName::parse("census/alice").unwrap();
        for query in ["", "what=charge", "by=a%26b&note=%3Cb%3E+%26", "from=3&to=12", "what=halt&by=bob&start=7"] {
            let (filter, start) = read(query).unwrap();
            let path = filter.path(&name, start);
            let mark = if query.is_empty() { "" } else { "?" };
            assert_eq!(path, format!("/accounts/census%2Falice{mark}{query}#history"));
        }
        // As a form sends it, with empty fields.
        let (filter, start) = read("what=&by=+&note=&from=&to=").unwrap();
        assert!(!filter.is_set() && start.is_none());
    }

    #[test]
    fn an_error_names_the_field_that_is_not_a_number() {
        for (query, named) in
            [("from=x", "from is \"x\""), ("to=-1", "to is \"-1\""), ("start=1.5", "start is \"1.5\"")]
        {
            let failure = read(query).unwrap_err();
            assert!(failure.detail.contains(named), "{}", failure.detail);
        }
    }

    #[test]
    fn a_record_matches_if_all_conditions_hold() {
        let record = serde_json::json!({
            "sequence": 7, "hash": null, "what": "charge", "time": "2026-01-01T00:00:00Z", "by": "alice", "note": "Households, in Bern",
            "reading": null, "left": null, "record": null
        });
        let record: RecordDocument = serde_json::from_value(record).unwrap();
        for (query, is_taken) in [
            ("", true),
            ("what=charge", true),
            ("what=halt", false),
            ("by=alice", true),
            ("by=ali", false),
            ("note=households", true),
            ("note=BERN", true),
            ("note=basel", false),
            ("from=7&to=7", true),
            ("from=8", false),
            ("to=6", false),
            ("what=charge&by=bob", false),
        ] {
            assert_eq!(read(query).unwrap().0.matches(&record), is_taken, "{query}");
        }
    }
}
