//! Numbers as an answer shows them.

use dashu::base::Abs;
use dashu::integer::IBig;
use dashu::rational::RBig;
use serde_json::Number as Decimal;

/// A number of steps of a grid: exactly where it has a short decimal form, and otherwise to the last digit of a binary number.
pub(crate) fn of_steps(steps: i128, grid: &RBig) -> Decimal {
    const PLACES: usize = 18;
    let scale = IBig::from(10).pow(PLACES);
    let units = grid.clone() * RBig::from(steps) * RBig::from(scale.clone());
    if !units.is_int() {
        let value = (grid.clone() * RBig::from(steps)).to_f64().value();
        return Decimal::from_f64(value).unwrap_or_else(|| 0.into());
    }
    let units = units.numerator().clone();
    let (whole, fraction) = (&units / &scale, u128::try_from((&units % &scale).abs()).unwrap_or(0));
    let sign = if units < IBig::ZERO && whole == IBig::ZERO { "-" } else { "" };
    let fraction = format!("{fraction:018}");
    let text = format!("{sign}{whole}.{}", fraction.trim_end_matches('0'));
    Decimal::from_string_unchecked(text.trim_end_matches('.').to_string())
}

/// A number with its interval. Digits far below the noise tell nothing: two of those in which the ends differ are shown. The interval is
/// rounded outwards.
pub(super) fn meaningful(value: f64, [low, high]: [f64; 2]) -> (Decimal, [Decimal; 2]) {
    let half = (high - low) / 2.0;
    let places = if half > 0.0 { (1.0 - half.log10().floor()).clamp(0.0, 15.0) as u32 } else { 15 };
    (rounded(value, places, 0.0), [rounded(low, places, -1.0), rounded(high, places, 1.0)])
}

/// A number with a given count of decimal places, rounded down or up by the sign of `direction`, or to the nearest.
pub(super) fn rounded(value: f64, places: u32, direction: f64) -> Decimal {
    let scale = 10f64.powi(places as i32);
    let scaled = value * scale;
    let whole = match direction {
        _ if !scaled.is_finite() || scaled.abs() > 1e15 => return Decimal::from_f64(value).unwrap_or_else(|| 0.into()),
        _ if direction < 0.0 => scaled.floor(),
        _ if direction > 0.0 => scaled.ceil(),
        _ => scaled.round(),
    };
    let text = format!("{:.*}", places as usize, whole / scale);
    let text = if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
    Decimal::from_string_unchecked(if text == "-0" { "0".to_string() } else { text.to_string() })
}

/// The binary number to compare by.
pub(super) fn nearest(number: &Decimal) -> f64 {
    number.as_str().parse().unwrap_or(f64::NAN)
}
