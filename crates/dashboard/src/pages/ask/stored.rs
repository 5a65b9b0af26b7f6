//! A stored answer, prepared for display: numbers keep the digits that they were released with.

use serde_json::Number as Decimal;
use taximeter_gate::{AnswerColumn, AnswerDocument, Cell, Estimate};
use taximeter_service::words::{grouped, without_zeros};

/// The numbers of one column, one for every group.
pub(super) struct Series<'a> {
    pub(super) column: &'a AnswerColumn,
    pub(super) points: Vec<AnswerPoint>,
}

/// A number with its interval; an average that is not known has only its sum and count.
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
    pub(super) interval: [ShownNumber; 2],
    /// The half width of the interval before clamping.
    pub(super) half_width: String,
}

/// A number as text, and the nearest binary number to draw it by.
pub(super) struct ShownNumber {
    pub(super) text: String,
    pub(super) nearest: f64,
}

/// The names of the columns of groups.
pub(super) fn groups(answer: &AnswerDocument) -> Vec<&str> {
    let groups = answer.columns.iter().filter(|column| column.aggregate.is_none());
    groups.map(|column| column.name.as_str()).collect()
}

/// The numbers, column by column.
pub(super) fn series(answer: &AnswerDocument) -> Vec<Series<'_>> {
    let numbers = answer.columns.iter().enumerate().filter(|(_, column)| column.aggregate.is_some());
    numbers.map(|(at, column)| Series { column, points: points(answer, at, column) }).collect()
}

fn points(answer: &AnswerDocument, at: usize, column: &AnswerColumn) -> Vec<AnswerPoint> {
    let group = |row: &[Cell]| {
        let groups = row.iter().filter_map(|cell| match cell {
            Cell::Group(value) => Some(value.plain()),
            Cell::Estimate(_) => None,
        });
        groups.collect()
    };
    // For a single measure, its half width before clamping is known.
    let half_width = match column.parts.as_slice() {
        [part] => Some(grouped(part.half_width.as_str())),
        _ => None,
    };
    let point = |row: &Vec<Cell>| {
        let cell = row.get(at).and_then(Cell::estimate);
        let estimate = cell.and_then(ShownEstimate::new).map(|estimate| match &half_width {
            Some(half_width) => ShownEstimate { half_width: half_width.clone(), ..estimate },
            None => estimate,
        });
        let part = |part: &Option<Box<Estimate>>| part.as_deref().and_then(ShownEstimate::new);
        let sum_and_count = cell.and_then(|average| Some([part(&average.sum)?, part(&average.count)?]));
        AnswerPoint { group: group(row), estimate, sum_and_count }
    };
    answer.rows.iter().map(point).collect()
}

impl ShownEstimate {
    fn new(estimate: &Estimate) -> Option<ShownEstimate> {
        let [low, high] = estimate.interval.as_ref()?.each_ref().map(ShownNumber::new);
        let (value, low, high) = (ShownNumber::new(estimate.value.as_ref()?)?, low?, high?);
        let half_width = half(&low, &high);
        Some(ShownEstimate { value, interval: [low, high], half_width })
    }
}

impl ShownNumber {
    fn new(number: &Decimal) -> Option<ShownNumber> {
        let digits = number.as_str();
        let nearest = digits.parse().ok().filter(|nearest: &f64| nearest.is_finite())?;
        Some(ShownNumber { text: grouped(digits), nearest })
    }
}

/// Half the difference of two numbers, with one more decimal place than they have.
fn half(low: &ShownNumber, high: &ShownNumber) -> String {
    let places = |shown: &ShownNumber| shown.text.split_once('.').map_or(0, |(_, fraction)| fraction.len());
    let places = places(low).max(places(high)) + 1;
    grouped(without_zeros(&format!("{:.places$}", (high.nearest - low.nearest) / 2.0)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_read_with_its_groups_and_intervals() {
        let document = r#"{"dataset":"d","version":1,"key":"k","question":"q","protects":"p","confidence":0.95,
            "columns":[{"name":"region"},
                {"name":"n","aggregate":"COUNT(*)","parts":[{"measure":"number of rows","cost":{"epsilon":"0.1"},
                    "noise":"discrete-laplace","sensitivity":1,"scale":10.0,"half_width":1029}]},
                {"name":"a","aggregate":"AVG(x)","parts":[]}],
            "rows":[["north",{"value":-2003.50,"interval":[-3032.5,-974.5]},{"value":4.5,"interval":[4.25,5]}],
                [true,{"value":7,"interval":[0,1036]},{"value":null,"interval":null,
                    "sum":{"value":-12.5,"interval":[-20,-5]},"count":{"value":3,"interval":[-1,7]}}]],
            "post_processing":[],"cost":{"epsilon":"0.1"},"accounts":[],
            "receipt":{"ledger":"0123456789abcdef0123456789abcdef","sequence":7,"hash":null,"record":null}}"#;
        let answer = AnswerDocument::read(document).unwrap();
        assert_eq!(groups(&answer), ["region"]);
        let series = series(&answer);
        let shown: Vec<Vec<String>> = series
            .iter()
            .map(|series| {
                let point = |point: &AnswerPoint| match &point.estimate {
                    None => format!("{}: nothing", point.group.join(" ")),
                    Some(ShownEstimate { value, interval: [low, high], half_width }) => {
                        format!(
                            "{}: {} in {} to {}, ± {half_width}",
                            point.group.join(" "),
                            value.text,
                            low.text,
                            high.text
                        )
                    }
                };
                series.points.iter().map(point).collect()
            })
            .collect();
        let counts = ["north: -2,003.50 in -3,032.5 to -974.5, ± 1,029", "true: 7 in 0 to 1,036, ± 1,029"];
        assert_eq!(shown, [counts, ["north: 4.5 in 4.25 to 5, ± 0.375", "true: nothing"]]);
        assert_eq!(series[0].points[0].estimate.as_ref().unwrap().value.nearest, -2003.5);
        // An average without a value has its sum and count.
        let [sum, count] = series[1].points[1].sum_and_count.as_ref().unwrap();
        assert_eq!([&sum.value.text, &sum.interval[0].text, &sum.half_width], ["-12.5", "-20", "7.5"]);
        assert_eq!([&count.value.text, &count.interval[1].text, &count.half_width], ["3", "7", "4"]);
        assert!(series[0].points[0].sum_and_count.is_none());
    }
}
