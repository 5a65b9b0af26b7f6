//! The chart of an account: what is left of its budget, and below it the reading, as steps over the charges; with a table of the values.
//!
//! Widths are in percent of the page, so that text keeps its size at any width. Only the lines are stretched, and not their strokes.

mod axis;
mod waterfall;

use std::fmt::Write;

use maud::{Markup, html};
use taximeter_accounting::Amount;
use taximeter_service::timelines::Point;
use taximeter_service::words::{counted, thousands, without_zeros};

use self::axis::Axis;
pub(super) use self::waterfall::{WaterfallStep, waterfall};
use super::display::{percent, reading, time};

/// The points to draw, and the meaning of their numbers.
pub(super) struct Chart<'a> {
    pub(super) points: &'a [Point],
    /// The δ at which the reading holds.
    pub(super) at_delta: Amount,
    /// Whether there is a budget.
    pub(super) has_budget: bool,
}

/// The width of a panel in its own units, and its height.
const WIDTH: f64 = 1000.0;
const HEIGHT: f64 = 150.0;

/// The space above the first panel, between panels, and below the last one for the axis.
const TITLE: f64 = 20.0;
const GAP: f64 = 36.0;
const FOOT: f64 = 40.0;

impl Chart<'_> {
    /// The figure and its table.
    pub(super) fn markup(&self) -> Markup {
        let Some(newest) = self.points.last().filter(|newest| newest.charges > 0) else {
            return html! { p.quiet-text { "Nothing was charged yet; the chart starts with the first charge." } };
        };
        html! {
            figure.chart data-table="points" {
                (self.svg(newest))
                figcaption {
                    output { "Now: " (self.summary(newest)) }
                    (self.notes(newest))
                }
            }
            (self.table())
        }
    }

    fn svg(&self, newest: &Point) -> Markup {
        let panels: Vec<Panel> = [self.left(), Some(self.reading())].into_iter().flatten().collect();
        let top = |at: usize| TITLE + at as f64 * (HEIGHT + GAP);
        let height = top(panels.len()) - GAP;
        let xs: Vec<String> = self.points.iter().map(|point| places(100.0 * self.x(point), 2)).collect();
        let label = format!(
            "Steps over {}: {}. The arrow keys go from point to point; the table has all values.",
            counted(newest.charges, "charge", "charges"),
            self.summary(newest)
        );
        html! {
            svg height=(height + FOOT) data-x=(xs.join(" ")) tabindex="0" role="img" aria-label=(label) {
                @for (at, panel) in panels.iter().enumerate() {
                    (panel.markup(top(at)))
                }
                @for tick in Axis::over_charges(newest.charges).ticks() {
                    @let x = places(100.0 * tick / newest.charges as f64, 2);
                    line.tick x1={ (x) "%" } x2={ (x) "%" } y1=(height) y2=(height + 5.0) {}
                    text x={ (x) "%" } y=(height + 19.0) text-anchor="middle" { (thousands(tick as u64)) }
                }
                text x="50%" y=(height + 36.0) text-anchor="middle" { "charges paid" }
                line.cursor hidden y1=(TITLE) y2=(height) {}
            }
        }
    }

    /// The position of a point between 0 and 1.
    fn x(&self, point: &Point) -> f64 {
        let all = self.points.last().map_or(1, |newest| newest.charges.max(1));
        point.charges as f64 / all as f64
    }

    fn reading(&self) -> Panel {
        let highest = self.points.iter().filter_map(|point| point.reading).fold(0.0, f64::max);
        let axis = Axis::up_to(highest);
        Panel {
            class: "reading",
            title: format!("Reading, ε at δ = {}", self.at_delta),
            path: self.path(&axis, |point| point.reading),
            labels: axis.ticks().map(|tick| (axis.y(tick), axis.label(tick))).collect(),
        }
    }

    fn left(&self) -> Option<Panel> {
        let axis = Axis { end: 1.0, step: 0.25 };
        self.has_budget.then(|| Panel {
            class: "left",
            title: "Left of the budget, %".to_string(),
            path: self.path(&axis, |point| point.left),
            labels: axis.ticks().map(|tick| (axis.y(tick), format!("{}", tick * 100.0))).collect(),
        })
    }

    /// A step line: level from each point to the next, with a gap where there is no value.
    fn path(&self, axis: &Axis, value: impl Fn(&Point) -> Option<f64>) -> String {
        let (mut path, mut is_drawing) = (String::new(), false);
        for point in self.points {
            let x = places(WIDTH * self.x(point), 1);
            let y = value(point).filter(|value| value.is_finite()).map(|value| places(axis.y(value), 1));
            // Writing to a string cannot fail.
            let _ = match &y {
                Some(y) if is_drawing => write!(path, "H{x}V{y}"),
                Some(y) => write!(path, "M{x} {y}"),
                None if is_drawing => write!(path, "H{x}"),
                None => Ok(()),
            };
            is_drawing = y.is_some();
        }
        path
    }

    fn summary(&self, point: &Point) -> String {
        let left = point.left.map(|left| format!(", {} left", percent(left))).unwrap_or_default();
        format!("{}, reading ε = {}{left}", counted(point.charges, "charge", "charges"), reading(point.reading))
    }

    /// Notes on what the lines do not show.
    fn notes(&self, newest: &Point) -> Markup {
        let mut charges: Vec<u64> =
            self.points.iter().map(|point| point.charges).filter(|charges| *charges > 0).collect();
        charges.dedup();
        html! {
            @if self.has_budget {
                p.help {
                    "What is left decides what may still be asked. The reading bounds the loss wherever the analyst stops; it is not \
                     measured against the budget, and may be above the budget's ε while some of it is left."
                }
            }
            @if (charges.len() as u64) < newest.charges {
                p.help {
                    (thousands(charges.len() as u64)) " of " (counted(newest.charges, "charge", "charges"))
                    " are drawn. The largest steps of each line are all among them."
                }
            }
            @if let Some(first) = self.points.iter().find(|point| point.reading.is_none()) {
                p.help { "After " (counted(first.charges, "charge", "charges")) " the reading has no bound, and no line." }
            }
        }
    }

    fn table(&self) -> Markup {
        html! {
            details #points-behind {
                summary { "The values as a table" }
                div.scroll.tall tabindex="0" role="region" aria-label="Values of the chart" {
                    table #points {
                        caption { "The points that are drawn" }
                        thead {
                            tr {
                                th.number scope="col" { "Charges" }
                                th.number scope="col" { "Record" }
                                th scope="col" { "Time" }
                                th.number scope="col" { "Reading, ε" }
                                th.number scope="col" { "Left" }
                            }
                        }
                        tbody {
                            @for point in self.points {
                                tr {
                                    td.number { (thousands(point.charges)) }
                                    td.number { (point.sequence) }
                                    td { (time(&point.time.to_string())) }
                                    td.number { (reading(point.reading)) }
                                    td.number { (point.left.map_or_else(|| "–".to_string(), percent)) }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// One curve with its axis.
struct Panel {
    class: &'static str,
    title: String,
    path: String,
    /// The labels of the axis and their positions.
    labels: Vec<(f64, String)>,
}

impl Panel {
    fn markup(&self, top: f64) -> Markup {
        html! {
            text.title x="0" y=(top - 9.0) { (self.title) }
            @for (y, label) in &self.labels {
                line.grid x1="0" x2="100%" y1=(top + y) y2=(top + y) {}
                text x="-8" y=(top + y + 4.0) text-anchor="end" { (label) }
            }
            svg width="100%" y=(top) height=(HEIGHT) viewBox=(format!("0 0 {WIDTH} {HEIGHT}")) preserveAspectRatio="none" {
                path class=(self.class) d=(self.path) vector-effect="non-scaling-stroke" {}
            }
        }
    }
}

/// A number with at most `places` decimal places.
fn places(value: f64, places: usize) -> String {
    without_zeros(&format!("{value:.places$}")).to_string()
}

/// A text with at most this many characters, cut where it is longer.
pub(super) fn cut(text: &str, longest: usize) -> String {
    match text.chars().count() > longest {
        true => text.chars().take(longest.saturating_sub(1)).chain(['…']).collect(),
        false => text.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Points after 0, 1, 2, … charges.
    fn points(values: &[(Option<f64>, Option<f64>)]) -> Vec<Point> {
        let point = |(at, (reading, left)): (usize, &(Option<f64>, Option<f64>))| Point {
            charges: at as u64,
            sequence: at as u64 + 7,
            time: "2026-01-01T00:00:00Z".parse().unwrap(),
            reading: *reading,
            left: *left,
        };
        values.iter().enumerate().map(point).collect()
    }

    fn chart(points: &[Point], has_budget: bool) -> Chart<'_> {
        Chart { points, at_delta: Amount::parse_exact("1e-6").unwrap(), has_budget }
    }

    #[test]
    fn a_line_is_level_until_the_next_charge_and_has_a_gap_without_a_value() {
        let axis = Axis { end: 1.0, step: 0.5 };
        for (values, path) in [
            (vec![Some(0.0), Some(0.5), Some(1.0)], "M0 150H500V75H1000V0"),
            (vec![Some(1.0), None, Some(0.0)], "M0 0H500M1000 150"),
            (vec![None, Some(1.0), None], "M500 0H1000"),
            (vec![Some(f64::NAN), Some(f64::INFINITY), Some(2.0)], "M1000 0"),
        ] {
            let points = points(&values.iter().map(|value| (*value, None)).collect::<Vec<_>>());
            assert_eq!(chart(&points, false).path(&axis, |point| point.reading), path);
        }
    }

    #[test]
    fn what_is_left_is_above_the_reading_which_is_not_measured_against_the_budget() {
        let points = points(&[(Some(0.0), Some(1.0)), (Some(1.2), Some(0.3))]);
        let page = chart(&points, true).markup().into_string();
        let [left, reading] = [r#"class="left""#, r#"class="reading""#].map(|class| page.find(class).unwrap());
        assert!(left < reading && page.contains("it is not measured against the budget"), "{page}");
        assert!(!page.contains("limit"), "{page}");
    }

    #[test]
    fn every_point_that_is_drawn_has_a_position_and_a_row() {
        let values: Vec<_> = (0..5).map(|at| (Some(f64::from(at) * 0.1), Some(1.0 - f64::from(at) * 0.2))).collect();
        let mut points = points(&values);
        let whole = chart(&points, true).markup().into_string();
        assert!(whole.contains(r#"data-x="0 25 50 75 100""#) && !whole.contains("are drawn. The largest"), "{whole}");
        assert_eq!(whole.matches("<tr>").count(), 1 + 5);
        points.remove(2);
        let thinned = chart(&points, true).markup().into_string();
        assert!(
            thinned.contains(r#"data-x="0 25 75 100""#) && thinned.contains("3 of 4 charges are drawn"),
            "{thinned}"
        );
        assert_eq!(thinned.matches("<tr>").count(), 1 + 4);
    }

    #[test]
    fn without_a_budget_there_is_no_second_line_and_without_charges_no_chart() {
        let values = points(&[(Some(0.0), None), (None, None)]);
        let page = chart(&values, false).markup().into_string();
        assert!(
            !page.contains("Left of the budget") && page.contains("After 1 charge the reading has no bound"),
            "{page}"
        );
        let page = chart(&values[..1], false).markup().into_string();
        assert!(!page.contains("<svg") && page.contains("Nothing was charged yet"), "{page}");
    }
}
