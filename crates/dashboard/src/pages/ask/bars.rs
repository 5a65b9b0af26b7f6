//! Bar charts with error bars, drawn in percent of the width, so that they fit any page without a script.

use maud::{Markup, html};
use taximeter_service::words::{grouped, without_zeros};

use super::stored::{AnswerPoint, ShownEstimate, ShownInterval};
use crate::chart::cut;

/// The most bars of a chart; the table has all numbers.
pub(super) const MOST: usize = 40;

/// The height of a bar with the line of text above it, in pixels.
const STEP: usize = 46;
/// The room for the axis.
const AXIS: usize = 24;
/// The longest label with its value, in characters, that fits a phone.
const LINE: usize = 34;
/// The shortest label after cutting.
const LABEL: usize = 8;

/// Bars of the numbers of a column, with their intervals.
pub(super) fn bars(name: &str, points: &[AnswerPoint]) -> Markup {
    let shown = &points[..points.len().min(MOST)];
    let Some(axis) = BarAxis::over(shown) else {
        return html! { p.quiet-text { "No chart: no value is known." } };
    };
    let foot = shown.len() * STEP;
    html! {
        figure.bars {
            svg width="100%" height=(foot + AXIS) role="img"
                aria-label={ "Bars of " (name) " with their intervals; the table has the same numbers" } {
                @for (value, _) in &axis.ticks {
                    @let place = percent(axis.place(*value));
                    line.grid x1=(place) x2=(place) y1="0" y2=(foot) {}
                }
                @for (place, text) in axis.labels() {
                    text.tick x=(percent(place)) y=(foot + 17) text-anchor=(anchor(place)) { (text) }
                }
                @for (at, point) in shown.iter().enumerate() { (bar(&axis, point, at * STEP)) }
                @let zero = axis.place(0.0);
                line.zero x1=(percent(zero)) x2=(percent(zero)) y1="0" y2=(foot) {}
            }
            @if points.len() > MOST {
                figcaption { "The first " (MOST) " of " (points.len()) " groups. The table has more." }
            }
        }
    }
}

fn bar(axis: &BarAxis, point: &AnswerPoint, top: usize) -> Markup {
    html! {
        text.label x="6" y=(top + 16) { (label(point)) }
        @match &point.estimate {
            None => text.value x="100%" y=(top + 16) text-anchor="end" { "too few to say" },
            Some(ShownEstimate { value, interval }) => {
                @let [zero, end] = [0.0, value.nearest].map(|value| axis.place(value));
                text.value x="100%" y=(top + 16) text-anchor="end" { (value.text) }
                rect.bar x=(percent(zero.min(end))) width=(percent((end - zero).abs())) y=(top + 22) height="16" {}
                @if let Some(ShownInterval { ends, .. }) = interval {
                    @let [low, high] = ends.each_ref().map(|end| percent(axis.place(end.nearest)));
                    // The halo separates the line from the bar, whose colours are similar in the dark theme.
                    line.halo x1=(low) x2=(high) y1=(top + 30) y2=(top + 30) {}
                    line.error x1=(low) x2=(high) y1=(top + 30) y2=(top + 30) {}
                    @for end in [&low, &high] { line.error x1=(end) x2=(end) y1=(top + 24) y2=(top + 36) {} }
                }
            }
        }
    }
}

/// The group of a bar, cut if it is too long to fit beside its value.
fn label(point: &AnswerPoint) -> String {
    let whole = point.group.join(" · ");
    let value = point.estimate.as_ref().map_or(0, |estimate| estimate.value.text.len());
    cut(&whole, LINE.saturating_sub(value).max(LABEL))
}

/// The anchor of a text, so that none of it is cut off.
fn anchor(place: f64) -> &'static str {
    match place {
        place if place < 10.0 => "start",
        place if place > 90.0 => "end",
        _ => "middle",
    }
}

fn percent(place: f64) -> String {
    format!("{}%", without_zeros(&format!("{place:.2}")))
}

/// The range of a chart.
struct BarAxis {
    low: f64,
    high: f64,
    /// Numbers along the axis, as text.
    ticks: Vec<(f64, String)>,
}

impl BarAxis {
    /// The range of all values and intervals, including zero, where bars start.
    fn over(points: &[AnswerPoint]) -> Option<BarAxis> {
        let estimates = points.iter().filter_map(|point| point.estimate.as_ref());
        let ends = estimates.flat_map(|ShownEstimate { value, interval }| {
            let ends = interval.iter().flat_map(|interval| &interval.ends);
            ends.chain([value]).map(|number| number.nearest)
        });
        let (low, high) = ends.fold(None, |reach: Option<(f64, f64)>, end| {
            let (low, high) = reach.unwrap_or((0.0, 0.0));
            Some((low.min(end), high.max(end)))
        })?;
        let (low, high) = if low == high { (0.0, 1.0) } else { (low, high) };
        (high - low).is_finite().then(|| BarAxis { low, high, ticks: ticks(low, high) })
    }

    /// The position of a value, in percent of the width, with a small margin.
    fn place(&self, value: f64) -> f64 {
        0.5 + 99.0 * (value - self.low) / (self.high - self.low)
    }

    /// The labels of the axis and their positions, without those that would overlap on a phone.
    fn labels(&self) -> Vec<(f64, &str)> {
        /// The width of a digit and the gap between two labels, in percent of a phone's width.
        const DIGIT: f64 = 2.4;
        const GAP: f64 = 1.2;
        let mut labels = Vec::new();
        let mut taken = f64::NEG_INFINITY;
        for (value, text) in &self.ticks {
            let (place, width) = (self.place(*value), DIGIT * text.chars().count() as f64);
            let left = match anchor(place) {
                "start" => place,
                "end" => place - width,
                _ => place - width / 2.0,
            };
            if left >= taken {
                taken = left + width + GAP;
                labels.push((place, text.as_str()));
            }
        }
        labels
    }
}

/// Round numbers between two ends, few enough for a phone.
fn ticks(low: f64, high: f64) -> Vec<(f64, String)> {
    const FEWEST: f64 = 3.0;
    let rough = (high - low) / FEWEST;
    let decade = 10f64.powf(rough.log10().floor());
    let step = [5.0, 2.0, 1.0].map(|factor| factor * decade).into_iter().find(|step| *step <= rough).unwrap_or(decade);
    let places = (-step.log10().floor()).clamp(0.0, 18.0) as usize;
    let (first, last) = ((low / step).ceil(), (high / step).floor());
    // A few at most, even if rounding fails for very small or large numbers.
    let steps = std::iter::successors(Some(first), |at| Some(at + 1.0)).take_while(|at| *at <= last).take(9);
    let shown = |value: f64| match value.abs() {
        size if size >= 1e6 || (size > 0.0 && size < 1e-6) => format!("{value:e}"),
        size if size < step / 2.0 => "0".to_string(),
        _ => grouped(&format!("{value:.places$}")),
    };
    steps.map(|at| at * step).map(|value| (value, shown(value))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pages::ask::stored::ShownNumber;

    fn point(group: &str, value: f64, low: f64, high: f64) -> AnswerPoint {
        let shown = |nearest: f64| ShownNumber { text: nearest.to_string(), nearest };
        let estimate = ShownEstimate {
            value: shown(value),
            interval: Some(ShownInterval { ends: [low, high].map(shown), within: String::new() }),
        };
        AnswerPoint { group: vec![group.to_string()], estimate: Some(estimate), sum_and_count: None }
    }

    #[test]
    fn an_axis_covers_all_intervals_and_zero() {
        for (ends, low, high, ticks) in [
            ((20.0, 10.0, 30.0), 0.0, 30.0, "0 10 20 30"),
            ((-20.0, -30.0, -10.0), -30.0, 0.0, "-30 -20 -10 0"),
            ((1.0, -29.0, 31.0), -29.0, 31.0, "-20 0 20"),
            ((0.004, 0.002, 0.009), 0.0, 0.009, "0 0.002 0.004 0.006 0.008"),
            ((0.0, 0.0, 0.0), 0.0, 1.0, "0 0.2 0.4 0.6 0.8 1.0"),
            ((3e12, 2e12, 4e12), 0.0, 4e12, "0 1e12 2e12 3e12 4e12"),
            ((1500.0, 1000.0, 2300.0), 0.0, 2300.0, "0 500 1,000 1,500 2,000"),
        ] {
            let (value, one, other) = ends;
            let axis = BarAxis::over(&[point("", value, one, other)]).unwrap();
            assert_eq!((axis.low, axis.high), (low, high), "{ends:?}");
            let shown: Vec<&str> = axis.ticks.iter().map(|(_, text)| text.as_str()).collect();
            assert_eq!(shown.join(" "), ticks, "{ends:?}");
            for (value, _) in &axis.ticks {
                assert!((0.0..=100.0).contains(&axis.place(*value)), "{value}");
            }
        }
    }

    #[test]
    fn labels_of_the_axis_do_not_overlap() {
        for (high, labels) in [
            (53_000.0, "0 10,000 20,000 30,000 40,000"),
            (59_900.0, "0 10,000 20,000 30,000 40,000 50,000"),
            (20_500.0, "0 5,000 10,000 15,000 20,000"),
            (0.009, "0 0.002 0.004 0.006 0.008"),
            (999_999.0, "0 200,000 400,000 600,000 800,000"),
        ] {
            let axis = BarAxis::over(&[point("", high / 2.0, 0.0, high)]).unwrap();
            let shown: Vec<&str> = axis.labels().iter().map(|(_, text)| *text).collect();
            assert_eq!(shown.join(" "), labels, "{high}");
        }
    }

    #[test]
    fn a_negative_bar_ends_at_zero_and_a_group_stays_text() {
        let chart = bars("n", &[point("<b>", -10.0, -20.0, 0.0), point("south", 20.0, 10.0, 30.0)]).into_string();
        assert!(chart.contains("&lt;b&gt;") && !chart.contains("<b>"), "{chart}");
        // From −20 to 30, zero is at two fifths.
        assert!(chart.contains(r#"<rect class="bar" x="20.3%" width="19.8%" y="22""#), "{chart}");
        assert!(chart.contains(r#"<rect class="bar" x="40.1%" width="39.6%" y="68""#), "{chart}");
        assert!(chart.contains(r#"<line class="error" x1="0.5%" x2="40.1%""#), "{chart}");
    }

    #[test]
    fn an_empty_chart_says_so_and_one_of_many_groups_shows_the_first() {
        let nothing = [AnswerPoint { group: Vec::new(), estimate: None, sum_and_count: None }];
        assert!(bars("n", &nothing).into_string().contains("no value is known"));
        let many: Vec<AnswerPoint> = (0..MOST + 5).map(|at| point(&format!("g{at}"), 1.0, 0.0, 2.0)).collect();
        let chart = bars("n", &many).into_string();
        assert_eq!(chart.matches("<rect").count(), MOST);
        assert!(chart.contains("The first 40 of 45 groups"), "{chart}");
    }

    #[test]
    fn long_groups_are_cut() {
        let long = point(&"ä".repeat(60), 1.0, 0.0, 2.0);
        // Its value is one digit.
        assert_eq!(label(&long), format!("{}…", "ä".repeat(32)));
        assert_eq!(label(&point(&"ä".repeat(60), -1.25e30, 0.0, 2.0)).chars().count(), LABEL);
    }
}
