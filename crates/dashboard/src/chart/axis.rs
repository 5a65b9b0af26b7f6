//! Axes with round numbers.

use taximeter_service::words::thousands;

use super::HEIGHT;

/// An axis from zero on, with a tick at every step.
#[derive(Debug, PartialEq)]
pub(super) struct Axis {
    pub(super) end: f64,
    pub(super) step: f64,
}

impl Axis {
    /// An axis that ends at the first tick that is not below a value.
    pub(super) fn up_to(value: f64) -> Axis {
        let step = round_step(value);
        // Corrects rounding: a value of three steps needs three.
        let count = (value / step - 1e-9).ceil().max(1.0);
        Axis { end: step * count, step }
    }

    /// An axis of whole numbers that ends with the charges.
    pub(super) fn over_charges(charges: u64) -> Axis {
        Axis { end: charges as f64, step: round_step(charges as f64).max(1.0) }
    }

    pub(super) fn ticks(&self) -> impl Iterator<Item = f64> {
        // Corrects rounding, so that the last tick is included.
        let count = (self.end / self.step + 1e-6).floor() as u32;
        let step = self.step;
        (0..=count.min(20)).map(move |tick| f64::from(tick) * step)
    }

    pub(super) fn y(&self, value: f64) -> f64 {
        HEIGHT * (1.0 - (value / self.end).clamp(0.0, 1.0))
    }

    /// The label of a tick, with the decimal places that the steps need.
    pub(super) fn label(&self, tick: f64) -> String {
        let places = -self.step.log10().floor();
        match places {
            _ if tick == 0.0 => "0".to_string(),
            ..=0.0 if tick < 1e6 => thousands(tick as u64),
            1.0..=4.0 => format!("{tick:.*}", places as usize),
            _ => format!("{tick:.1e}").replace(".0e", "e"),
        }
    }
}

/// The smallest step of 1, 2 or 5 times a power of ten that divides a value into at most five.
fn round_step(value: f64) -> f64 {
    let least = if value > 0.0 { value / 5.0 } else { 0.2 };
    let power = 10_f64.powf(least.log10().floor());
    // The fallback is for a power that was rounded down.
    [1.0, 2.0, 5.0].map(|digit| digit * power).into_iter().find(|step| *step >= least).unwrap_or(10.0 * power)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axes_have_round_ticks_and_reach_the_value() {
        for (value, step, end) in [
            (0.0, 0.2, 0.2),
            (1.0, 0.2, 1.0),
            (0.3, 0.1, 0.3),
            (0.31, 0.1, 0.4),
            (7.0, 2.0, 8.0),
            (99_999.0, 20_000.0, 100_000.0),
            (1e-9, 2e-10, 1e-9),
        ] {
            let axis = Axis::up_to(value);
            let is_near = |one: f64, other: f64| (one / other - 1.0).abs() < 1e-9;
            assert!(is_near(axis.step, step) && is_near(axis.end, end), "{value}: {axis:?}");
            let last = axis.ticks().last().unwrap();
            assert!(is_near(last, axis.end) && axis.ticks().count() <= 6, "{value}: {axis:?}");
        }
    }

    #[test]
    fn ticks_of_charges_are_whole_and_within_them() {
        for (charges, ticks) in [
            (1, vec![0.0, 1.0]),
            (3, vec![0.0, 1.0, 2.0, 3.0]),
            (12, vec![0.0, 5.0, 10.0]),
            (100_000, vec![0.0, 20_000.0, 40_000.0, 60_000.0, 80_000.0, 100_000.0]),
        ] {
            assert_eq!(Axis::over_charges(charges).ticks().collect::<Vec<_>>(), ticks, "{charges}");
        }
    }

    #[test]
    fn labels_have_the_places_of_their_steps() {
        for (value, labels) in [
            (2.0, vec!["0", "0.5", "1.0", "1.5", "2.0"]),
            (0.04, vec!["0", "0.01", "0.02", "0.03", "0.04"]),
            (40_000.0, vec!["0", "10,000", "20,000", "30,000", "40,000"]),
            (4e-7, vec!["0", "1e-7", "2e-7", "3e-7", "4e-7"]),
            (4e6, vec!["0", "1e6", "2e6", "3e6", "4e6"]),
        ] {
            let axis = Axis::up_to(value);
            assert_eq!(axis.ticks().map(|tick| axis.label(tick)).collect::<Vec<_>>(), labels, "{value}");
        }
    }
}
