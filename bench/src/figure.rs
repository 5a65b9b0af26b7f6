//! A measured number beside what is wanted of it, and how both are shown.

use serde::Serialize;

/// A measured number, with the limit wanted for it if there is one.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Figure {
    /// What was measured.
    pub value: f64,
    /// What is wanted.
    pub wanted: Option<Wanted>,
    /// Whether the number is as wanted; nothing where nothing is wanted.
    pub met: Option<bool>,
}

/// A limit.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Wanted {
    /// Smaller is better.
    AtMost(f64),
    /// Larger is better.
    AtLeast(f64),
}

impl Figure {
    /// A number beside what is wanted of it.
    pub fn new(value: f64, wanted: Option<Wanted>) -> Figure {
        let met = wanted.map(|wanted| match wanted {
            Wanted::AtMost(limit) => value <= limit,
            Wanted::AtLeast(limit) => value >= limit,
        });
        Figure { value, wanted, met }
    }

    /// The number in words, marked if it is not as wanted.
    pub fn show(&self, words: fn(f64) -> String) -> String {
        let mark = if self.met == Some(false) { "! " } else { "" };
        format!("{mark}{}", words(self.value))
    }

    /// What is wanted, in words.
    pub fn show_wanted(&self, words: fn(f64) -> String) -> String {
        match self.wanted {
            Some(Wanted::AtMost(limit)) => format!("≤ {}", words(limit)),
            Some(Wanted::AtLeast(limit)) => format!("≥ {}", words(limit)),
            None => String::new(),
        }
    }
}

/// The middle one of some measurements: one pause of the machine does not move it.
pub fn median(mut measured: Vec<f64>) -> f64 {
    measured.sort_by(f64::total_cmp);
    measured.get(measured.len() / 2).copied().unwrap_or(f64::NAN)
}

/// Nanoseconds, in the unit that a person would choose.
pub fn duration(nanoseconds: f64) -> String {
    let (value, unit) = match nanoseconds {
        ns if ns < 1e3 => (ns, "ns"),
        ns if ns < 1e6 => (ns / 1e3, "us"),
        ns if ns < 1e9 => (ns / 1e6, "ms"),
        ns => (ns / 1e9, "s"),
    };
    format!("{} {unit}", three_digits(value))
}

/// How many times.
pub fn ratio(value: f64) -> String {
    format!("{}x", three_digits(value))
}

/// Three digits tell all that a measurement of time can.
fn three_digits(value: f64) -> String {
    let places = if value < 10.0 {
        2
    } else if value < 100.0 {
        1
    } else {
        0
    };
    let text = format!("{value:.places$}");
    // A limit of 100 or 1.2 reads best as it was written.
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_string() } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_outside_its_limit_is_marked() {
        let check = |value, wanted, shown: &str| assert_eq!(Figure::new(value, wanted).show(duration), shown);
        check(99.0, Some(Wanted::AtMost(100.0)), "99 ns");
        check(101.0, Some(Wanted::AtMost(100.0)), "! 101 ns");
        check(101.0, Some(Wanted::AtLeast(1000.0)), "! 101 ns");
        check(101.0, None, "101 ns");
        check(f64::NAN, Some(Wanted::AtMost(100.0)), "! NaN s");
    }

    #[test]
    fn times_are_shown_in_the_unit_a_person_would_choose() {
        let check = |nanoseconds, shown: &str| assert_eq!(duration(nanoseconds), shown);
        check(38.26, "38.3 ns");
        check(100.0, "100 ns");
        check(2000.0, "2 us");
        check(1.5e6, "1.5 ms");
        check(2.345e9, "2.35 s");
    }

    #[test]
    fn the_median_is_not_moved_by_one_pause() {
        assert_eq!(median(vec![3.0, 1.0, 1e9]), 3.0);
    }
}
