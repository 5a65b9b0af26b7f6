//! Numbers, times and names for people. Rounding never makes a budget look better than it is.

use jiff::Timestamp;
use maud::{Markup, html};
use taximeter_ledger::{AccountName, Standing};
use taximeter_service::words::show_number;

/// Warnings as sentences after a notice.
pub(super) fn warnings(warnings: &[String]) -> String {
    warnings.iter().map(|warning| format!(" Warning: {warning}.")).collect()
}

/// A reading, rounded up, or "no bound".
pub(super) fn reading(value: Option<f64>) -> String {
    value.filter(|value| value.is_finite()).map_or_else(|| "no bound".to_string(), show_number)
}

/// A share in percent with one place, rounded down; a positive share is never shown as zero.
pub(super) fn percent(share: f64) -> String {
    match tenths(share) / 10.0 {
        0.0 if share > 0.0 => "under 0.1%".to_string(),
        shown => format!("{shown}%"),
    }
}

/// A share in thousandths, rounded down. The addend corrects binary rounding: 0.6 is 60%, although the binary number is a little less.
pub(super) fn tenths(share: f64) -> f64 {
    (share.clamp(0.0, 1.0) * 1000.0 + 1e-9).floor()
}

/// A spent share in percent with one place, rounded up. It is negative if a charge made the filter switch to a better theorem.
pub(super) fn spent(share: f64) -> String {
    // Corrects the rounding of a difference of two shares; adding zero avoids -0.
    let shown = (share * 1000.0 - 1e-9).ceil() / 10.0 + 0.0;
    if shown.is_finite() { format!("{shown}%").replace('-', "−") } else { "not known".to_string() }
}

/// How fast a budget is spent: in percent per day, hour, minute or second, whichever reads best, with two digits, rounded up.
pub(super) fn pace(per_second: f64) -> String {
    const SPANS: [(f64, f64, &str); 4] = [
        (86_400.0, 24.0, "a day"),
        (3600.0, 60.0, "an hour"),
        (60.0, 60.0, "a minute"),
        (1.0, f64::INFINITY, "a second"),
    ];
    if !(per_second > 0.0) {
        return "nothing lately".to_string();
    }
    let of = |seconds: f64| per_second * seconds * 100.0;
    let fitting = SPANS.into_iter().find(|(seconds, most, _)| of(*seconds) < *most);
    let (seconds, _, name) = fitting.unwrap_or(SPANS[3]);
    match of(seconds) {
        percent if percent < 0.01 => "under 0.01% a day".to_string(),
        percent => format!("{}% {name}", two_digits_up(percent)),
    }
}

fn two_digits_up(value: f64) -> String {
    let places = (1.0 - value.log10().floor()).clamp(0.0, 3.0);
    let scale = 10_f64.powf(places);
    format!("{}", (value * scale).ceil() / scale)
}

/// The time until then as text, rounded down.
pub(super) fn until(now: Timestamp, then: Timestamp) -> String {
    const UNITS: [(i64, i64, &str); 5] = [
        (60, 90, "minute"),
        (3600, 48, "hour"),
        (86_400, 60, "day"),
        (30 * 86_400, 24, "month"),
        (365 * 86_400, i64::MAX, "year"),
    ];
    let seconds = then.duration_since(now).as_secs();
    if seconds < 60 {
        return "in less than a minute".to_string();
    }
    let fitting = UNITS.into_iter().find(|(length, most, _)| seconds / length < *most);
    let (length, _, name) = fitting.unwrap_or(UNITS[4]);
    let count = seconds / length;
    format!("in about {count} {name}{}", if count == 1 { "" } else { "s" })
}

/// A time, to the second.
pub(super) fn time(text: &str) -> Markup {
    let shown = text.parse::<Timestamp>().map(|time| time.strftime("%Y-%m-%d %H:%M:%S UTC").to_string());
    html! { time datetime=(text) { (shown.unwrap_or_else(|_| text.to_string())) } }
}

/// A path with one parameter in its query.
pub(super) fn path_with(path: &str, name: &str, value: &str) -> String {
    format!("{path}?{}", form_urlencoded::Serializer::new(String::new()).append_pair(name, value).finish())
}

/// The path of an account's page.
pub(super) fn account_path(name: &AccountName) -> String {
    format!("/accounts/{}", name.as_str().replace('/', "%2F"))
}

/// A link to an account's page.
pub(super) fn account_link(name: &AccountName) -> Markup {
    html! { a href=(account_path(name)) { (name) } }
}

/// The standing of an account, as a coloured word.
pub(super) fn standing(standing: Standing) -> Markup {
    html! { span class={ "standing " (standing.name()) } { (standing.name()) } }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_is_rounded_down_and_what_is_spent_up() {
        for (share, left, gone) in [
            (0.0, "0%", "0%"),
            (1e-6, "under 0.1%", "0.1%"),
            (0.12345, "12.3%", "12.4%"),
            (0.9999, "99.9%", "100%"),
            (1.0, "100%", "100%"),
        ] {
            assert_eq!((percent(share).as_str(), spent(share).as_str()), (left, gone), "{share}");
        }
        assert_eq!(spent(1.0 - 0.95), "5%");
        assert_eq!(spent(-0.0123), "−1.2%");
        assert_eq!(spent(-1e-9), "0%");
        assert_eq!(spent(f64::NAN), "not known");
    }

    #[test]
    fn a_pace_is_shown_for_the_span_that_reads_best() {
        let day = 1.0 / 86_400.0 / 100.0;
        for (per_second, words) in [
            (0.0, "nothing lately"),
            (-1.0, "nothing lately"),
            (f64::NAN, "nothing lately"),
            (0.001 * day, "under 0.01% a day"),
            (0.5 * day, "0.5% a day"),
            (12.34 * day, "13% a day"),
            (48.0 * day, "2% an hour"),
            (24.0 * 75.0 * day, "1.3% a minute"),
            (0.013, "1.3% a second"),
            (3.0, "300% a second"),
        ] {
            assert_eq!(pace(per_second), words, "{per_second}");
        }
    }

    #[test]
    fn the_time_until_then_is_shown_in_one_unit() {
        let now: Timestamp = "2026-03-01T00:00:00Z".parse().unwrap();
        for (seconds, words) in [
            (-5, "in less than a minute"),
            (59, "in less than a minute"),
            (119, "in about 1 minute"),
            (89 * 60, "in about 89 minutes"),
            (3 * 3600 - 1, "in about 2 hours"),
            (59 * 86_400, "in about 59 days"),
            (90 * 86_400, "in about 3 months"),
            (1000 * 86_400, "in about 2 years"),
        ] {
            let then = now + jiff::SignedDuration::from_secs(seconds);
            assert_eq!(until(now, then), words);
        }
    }
}
