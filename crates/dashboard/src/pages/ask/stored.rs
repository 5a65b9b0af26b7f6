//! A stored answer, prepared for display: numbers keep the digits that they were released with.

use serde_json::Number as Decimal;
use taximeter_gate::{AnswerColumn, Cell, DatedEstimate, Estimate};
use taximeter_service::words::{grouped, without_zeros};

/// The numbers of one column, one for every group.
pub(super) struct Series<'a> {
    pub(super) column: &'a AnswerColumn,
    pub(super) points: Vec<AnswerPoint>,
    /// Whether they are dates, times or values that were chosen, which have no bars.
    pub(super) has_no_bars: bool,
}

/// A number with its interval; an average of too few rows has only its sum and count.
pub(super) struct AnswerPoint {
    /// The group, by the values of its columns.
    pub(super) group: Vec<String>,
    pub(super) estimate: Option<ShownEstimate>,
    /// The noisy sum and count of an average.
    pub(super) sum_and_count: Option<[ShownEstimate; 2]>,
}

/// A noisy value and its interval.
pub(super) struct ShownEstimate {
    pub(super) value: ShownNumber,
    /// The interval, where it is known.
    pub(super) interval: Option<ShownInterval>,
}

/// Where the truth is, in 95 of 100 answers.
pub(super) struct ShownInterval {
    pub(super) ends: [ShownNumber; 2],
    /// How far the end that is farther from the value is from it.
    pub(super) within: String,
}

/// A number as text, and the nearest binary number to draw it by.
pub(super) struct ShownNumber {
    pub(super) text: String,
    pub(super) nearest: f64,
}

/// The names of the columns of groups.
pub(super) fn groups(columns: &[AnswerColumn]) -> Vec<&str> {
    let groups = columns.iter().filter(|column| column.aggregate.is_none());
    groups.map(|column| column.name.as_str()).collect()
}

/// The numbers, column by column.
pub(super) fn series<'a>(columns: &'a [AnswerColumn], rows: &[Vec<Cell>]) -> Vec<Series<'a>> {
    let numbers = columns.iter().enumerate().filter(|(_, column)| column.aggregate.is_some());
    let has_no_bars = |at: usize| rows.iter().any(|row| matches!(row.get(at), Some(Cell::Dated(_) | Cell::Group(_))));
    let series = |(at, column)| Series { column, points: points(columns, rows, at), has_no_bars: has_no_bars(at) };
    numbers.map(series).collect()
}

fn points(columns: &[AnswerColumn], rows: &[Vec<Cell>], at: usize) -> Vec<AnswerPoint> {
    // A value that is chosen, such as the most frequent one, is in a column of its own, and no group.
    let group = |row: &[Cell]| {
        let groups = row.iter().zip(columns).filter_map(|(cell, column)| match cell {
            Cell::Group(value) if column.aggregate.is_none() => Some(value.plain()),
            Cell::Group(_) | Cell::Estimate(_) | Cell::Dated(_) => None,
        });
        groups.collect()
    };
    let point = |row: &Vec<Cell>| {
        let cell = row.get(at).and_then(Cell::estimate);
        let estimate = match row.get(at) {
            Some(Cell::Dated(dated)) => ShownEstimate::dated(dated),
            Some(Cell::Group(value)) => Some(ShownEstimate::chosen(value.plain())),
            _ => cell.and_then(ShownEstimate::new),
        };
        let part = |part: &Option<Box<Estimate>>| part.as_deref().and_then(ShownEstimate::new);
        let sum_and_count = cell.and_then(|average| Some([part(&average.sum)?, part(&average.count)?]));
        AnswerPoint { group: group(row), estimate, sum_and_count }
    };
    rows.iter().map(point).collect()
}

impl ShownEstimate {
    fn new(estimate: &Estimate) -> Option<ShownEstimate> {
        let value = ShownNumber::new(estimate.value.as_ref()?)?;
        let interval = estimate.interval.as_ref().and_then(|ends| {
            let [low, high] = ends.each_ref().map(ShownNumber::new);
            let ends = [low?, high?];
            Some(ShownInterval { within: within(&value, &ends), ends })
        });
        Some(ShownEstimate { value, interval })
    }

    /// A value that was chosen with noise. It has no interval.
    fn chosen(text: String) -> ShownEstimate {
        ShownEstimate { value: ShownNumber { text, nearest: 0.0 }, interval: None }
    }

    /// A date or a time.
    fn dated(dated: &DatedEstimate) -> Option<ShownEstimate> {
        let shown = |text: &String| Some(ShownNumber { text: text.clone(), nearest: DatedEstimate::number(text)? });
        let value = shown(&dated.value)?;
        let interval = dated.interval.as_ref().and_then(|ends| {
            let [low, high] = ends.each_ref().map(shown);
            let ends = [low?, high?];
            let distance = (value.nearest - ends[0].nearest).max(ends[1].nearest - value.nearest);
            let within = match dated.value.contains(':') {
                true => format!("{} s", grouped(without_zeros(&format!("{distance:.6}")))),
                false => format!("{} days", grouped(&format!("{distance:.0}"))),
            };
            Some(ShownInterval { ends, within })
        });
        Some(ShownEstimate { value, interval })
    }

    /// An end of the interval, 0 or 1, as text.
    pub(super) fn end(&self, at: usize) -> &str {
        self.interval.as_ref().map_or("not known", |interval| &interval.ends[at].text)
    }

    /// How far the truth may be from the value.
    pub(super) fn within(&self) -> String {
        self.interval.as_ref().map_or("not known".to_string(), |interval| format!("± {}", interval.within))
    }
}

impl ShownNumber {
    fn new(number: &Decimal) -> Option<ShownNumber> {
        let digits = number.as_str();
        let nearest = digits.parse().ok().filter(|nearest: &f64| nearest.is_finite())?;
        Some(ShownNumber { text: grouped(digits), nearest })
    }
}

/// The largest distance between a value and an end of its interval, with as many decimal places as they have.
fn within(value: &ShownNumber, [low, high]: &[ShownNumber; 2]) -> String {
    let places = |shown: &ShownNumber| shown.text.split_once('.').map_or(0, |(_, fraction)| fraction.len());
    let places = places(low).max(places(high)).max(places(value));
    let distance = (value.nearest - low.nearest).max(high.nearest - value.nearest);
    let text = format!("{distance:.places$}");
    grouped(if places > 0 { without_zeros(&text) } else { &text })
}

#[cfg(test)]
mod tests {
    use taximeter_gate::AnswerDocument;

    use super::*;

    #[test]
    fn an_answer_is_read_with_its_groups_and_intervals() {
        let document = r#"{"dataset":"d","version":1,"key":"k","question":"q","protects":"p","confidence":0.95,
            "columns":[{"name":"region"},
                {"name":"n","aggregate":"COUNT(*)","parts":[{"measure":"number of rows","cost":{"epsilon":"0.1"},
                    "noise":"discrete-laplace","sensitivity":1,"scale":10.0,"half_width":1029}]},
                {"name":"a","aggregate":"AVG(x)","parts":[]}],
            "rows":[["2024-02-29",{"value":12,"interval":[2,15]},{"value":3.25,"interval":null}],
            ["north",{"value":-2003.50,"interval":[-3032.5,-974.5]},{"value":4.5,"interval":[4.25,5]}],
                [true,{"value":7,"interval":[0,1036]},{"value":null,"interval":null,
                    "sum":{"value":-12.5,"interval":[-20,-5]},"count":{"value":3,"interval":[-1,7]}}]],
            "post_processing":[],"cost":{"epsilon":"0.1"},"accounts":[],
            "receipt":{"ledger":"0123456789abcdef0123456789abcdef","sequence":7,"hash":null,"record":null}}"#;
        let answer = AnswerDocument::read(document).unwrap();
        assert_eq!(groups(&answer.columns), ["region"]);
        let series = series(&answer.columns, &answer.rows);
        let shown: Vec<Vec<String>> = series
            .iter()
            .map(|series| {
                let point = |point: &AnswerPoint| match &point.estimate {
                    None => format!("{}: nothing", point.group.join(" ")),
                    Some(shown) => {
                        let [low, high] = [0, 1].map(|at| shown.end(at));
                        let (group, value) = (point.group.join(" "), &shown.value.text);
                        format!("{group}: {value} in {low} to {high}, {}", shown.within())
                    }
                };
                series.points.iter().map(point).collect()
            })
            .collect();
        let counts = [
            "2024-02-29: 12 in 2 to 15, ± 10",
            "north: -2,003.50 in -3,032.5 to -974.5, ± 1,029",
            "true: 7 in 0 to 1,036, ± 1,029",
        ];
        let without = "2024-02-29: 3.25 in not known to not known, not known";
        assert_eq!(shown, [counts, [without, "north: 4.5 in 4.25 to 5, ± 0.5", "true: nothing"]]);
        assert_eq!(series[0].points[1].estimate.as_ref().unwrap().value.nearest, -2003.5);
        // An average without a value has its sum and count.
        let [sum, count] = series[1].points[2].sum_and_count.as_ref().unwrap();
        assert_eq!([&sum.value.text, sum.end(0), &sum.within()], ["-12.5", "-20", "± 7.5"]);
        assert_eq!([&count.value.text, count.end(1), &count.within()], ["3", "7", "± 4"]);
        assert!(series[0].points[0].sum_and_count.is_none());
    }

    #[test]
    fn dates_and_times_are_shown_as_such() {
        let dated = |value: &str, low: &str, high: &str| {
            let estimate = DatedEstimate { interval: Some([low, high].map(str::to_string)), value: value.to_string() };
            let shown = ShownEstimate::dated(&estimate).unwrap();
            format!("{} in {} to {}, {}", shown.value.text, shown.end(0), shown.end(1), shown.within())
        };
        let days = dated("2024-02-29", "2024-02-28", "2024-03-04");
        assert_eq!(days, "2024-02-29 in 2024-02-28 to 2024-03-04, ± 4 days");
        let time = dated("2024-02-29 13:05:00", "2024-02-29 13:04:59.5", "2024-02-29 13:05:00");
        assert_eq!(time, "2024-02-29 13:05:00 in 2024-02-29 13:04:59.5 to 2024-02-29 13:05:00, ± 0.5 s");
    }
}
