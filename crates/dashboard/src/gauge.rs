//! A gauge of the share that is left.

use maud::{Markup, html};
use taximeter_ledger::AccountName;

use super::display::{percent, tenths};

/// The share below which the gauge warns.
const LITTLE: f64 = 0.2;

/// A bar of the share that is left, with its percentage; "no budget" for an account without one.
pub(super) fn gauge(name: &AccountName, left: Option<f64>) -> Markup {
    let Some(left) = left.map(|left| left.clamp(0.0, 1.0)) else {
        return html! { span.gauge.none { "no budget" } };
    };
    let level = match left {
        0.0 => "empty",
        left if left < LITTLE => "little",
        _ => "enough",
    };
    // Rounded down: the bar is never longer than the share.
    let width = tenths(left) / 10.0;
    html! {
        span class={ "gauge " (level) } role="meter" aria-label={ "left of " (name) } aria-valuemin="0" aria-valuemax="100"
            aria-valuenow=(width) aria-valuetext={ (percent(left)) " left" } {
            svg viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true" {
                rect.track width="100" height="10" {}
                rect.fill width=(width) height="10" {}
            }
            span.value { (percent(left)) }
        }
    }
}
