//! How a budget is used step by step: a bar for each step, of what is left before and after it. Widths are in percent of the page.

use maud::{Markup, html};

use super::axis::Axis;
use super::{cut, places};
use crate::display::percent;

/// A step: its label, and the share that is left after it.
pub(crate) struct WaterfallStep {
    pub(crate) label: String,
    pub(crate) left: f64,
}

/// The most steps of a figure.
const MOST: usize = 40;

/// The height of a bar with the line of text above it, in pixels.
const STEP: usize = 46;
/// The room for the axis.
const AXIS: usize = 24;
/// The longest label with its shares, in characters, that fits a phone, and the shortest label after cutting.
const LINE: usize = 36;
const LABEL: usize = 8;

/// What is left of a budget, from now on. `name` is whose budget it is.
pub(crate) fn waterfall(name: &str, now: f64, steps: &[WaterfallStep]) -> Markup {
    let shown = &steps[..steps.len().min(MOST)];
    let befores = std::iter::once(now).chain(shown.iter().map(|step| step.left));
    let foot = shown.len() * STEP;
    html! {
        figure.bars {
            svg width="100%" height=(foot + AXIS) role="img" aria-label=(summary(name, now, steps)) {
                @for (at, (before, step)) in befores.zip(shown).enumerate() { (bar(before, step, at * STEP)) }
                @for tick in (Axis { end: 1.0, step: 0.25 }).ticks() {
                    @let place = width(tick);
                    @let anchor = if tick == 0.0 { "start" } else if tick == 1.0 { "end" } else { "middle" };
                    line.grid x1=(place) x2=(place) y1="0" y2=(foot) {}
                    text.tick x=(place) y=(foot + 17) text-anchor=(anchor) { (place) }
                }
            }
            figcaption {
                "Left of the budget of " (name) " after each question, in percent. The part in another colour is what the question uses."
                @if steps.len() > MOST { " The first " (MOST) " of " (steps.len()) " are drawn." }
            }
        }
    }
}

fn bar(before: f64, step: &WaterfallStep, top: usize) -> Markup {
    let shares = format!("{} → {}", percent(before), percent(step.left));
    let label = cut(&step.label, LINE.saturating_sub(shares.chars().count()).max(LABEL));
    html! {
        text.label x="6" y=(top + 16) { (label) }
        text.value x="100%" y=(top + 16) text-anchor="end" { (shares) }
        rect.track width="100%" y=(top + 22) height="16" {}
        rect.going width=(width(before)) y=(top + 22) height="16" {}
        rect.rest width=(width(step.left)) y=(top + 22) height="16" {}
    }
}

fn width(share: f64) -> String {
    format!("{}%", places(100.0 * share.clamp(0.0, 1.0), 2))
}

/// The first and the last share, for those who do not see the figure.
fn summary(name: &str, now: f64, steps: &[WaterfallStep]) -> String {
    let last = steps.last().map_or(now, |step| step.left);
    format!("Left of {name}: {} now, {} after the last question that is drawn", percent(now), percent(last))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn steps(lefts: &[f64]) -> Vec<WaterfallStep> {
        lefts.iter().enumerate().map(|(at, left)| WaterfallStep { label: format!("q{at}"), left: *left }).collect()
    }

    #[test]
    fn each_step_begins_where_the_one_before_ends() {
        let figure = waterfall("people", 0.9, &steps(&[0.6, 0.25])).into_string();
        for part in [
            "90% → 60%",
            "60% → 25%",
            r#"class="going" width="90%""#,
            r#"class="rest" width="60%""#,
            r#"class="going" width="60%""#,
            r#"class="rest" width="25%""#,
            "Left of people: 90% now, 25% after the last question",
        ] {
            assert!(figure.contains(part), "{part}: {figure}");
        }
    }

    #[test]
    fn long_labels_are_cut_and_of_many_steps_the_first_are_drawn() {
        let mut many = steps(&[0.5; MOST + 5]);
        many[0].label = "ä".repeat(60);
        let figure = waterfall("people", 1.0, &many).into_string();
        assert!(figure.contains(&format!("{}…", "ä".repeat(25))) && !figure.contains(&"ä".repeat(26)), "{figure}");
        assert_eq!(figure.matches("class=\"rest\"").count(), MOST);
        assert!(figure.contains("The first 40 of 45 are drawn"), "{figure}");
    }
}
