//! Numbers and costs as text for people. Rounding never makes a budget look better than it is.

use taximeter_accounting::{Amount, Cost, Count};

/// A count as text.
pub fn show_count(count: Count) -> String {
    match count {
        Count { count: u64::MAX, .. } => "more than 10^19".to_string(),
        Count { count, at_least: true } => format!("at least {}", thousands(count)),
        Count { count, .. } => thousands(count),
    }
}

/// A number with thousands separators.
pub fn thousands(number: u64) -> String {
    grouped(&number.to_string())
}

/// A decimal number with its own digits and thousands separators; other text as it is.
pub fn grouped(number: &str) -> String {
    let (sign, digits) = number.strip_prefix('-').map_or(("", number), |digits| ("-", digits));
    let (whole, fraction) = digits.find('.').map_or((digits, ""), |point| digits.split_at(point));
    if !whole.bytes().all(|byte| byte.is_ascii_digit()) {
        return number.to_string();
    }
    let mut shown = sign.to_string();
    for (at, digit) in whole.chars().enumerate() {
        if at > 0 && (whole.len() - at).is_multiple_of(3) {
            shown.push(',');
        }
        shown.push(digit);
    }
    shown + fraction
}

/// The scale of noise: the nearest six digits.
pub fn show_scale(value: f64) -> String {
    if !(1e-4..1e15).contains(&value) {
        return show_number(value);
    }
    let places = (5.0 - value.log10().floor()).max(0.0) as usize;
    grouped(without_zeros(&format!("{value:.places$}")))
}

/// A number without trailing zeros in its fraction.
pub fn without_zeros(number: &str) -> &str {
    if number.contains('.') { number.trim_end_matches('0').trim_end_matches('.') } else { number }
}

/// A count with its noun: 1 row, 1,500 rows.
pub fn counted(count: u64, one: &str, many: &str) -> String {
    format!("{} {}", thousands(count), if count == 1 { one } else { many })
}

/// A computed number: six significant digits, rounded up.
pub fn show_number(value: f64) -> String {
    if !value.is_finite() {
        return "∞".to_string();
    }
    if value <= 0.0 {
        return "0".to_string();
    }
    // The nearest six digits, or the next number up if they are below the value.
    let nearest = format!("{value:.5e}");
    let (mantissa, exponent) = nearest.split_once('e').unwrap_or((&nearest, "0"));
    let mut digits: u64 = mantissa.replace('.', "").parse().unwrap_or(0);
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let number = |digits: u64| format!("{digits}e{}", exponent - 5).parse::<f64>().unwrap_or(value);
    digits += u64::from(number(digits) < value);
    if (-4..6).contains(&exponent) {
        return without_zeros(&format!("{:.*}", (5 - exponent).max(0) as usize, number(digits))).to_string();
    }
    format!("{:e}", number(digits))
}

/// A share of a budget in percent with two places, rounded down; a positive share is never shown as zero.
pub fn show_share(share: f64) -> String {
    // The addend corrects the binary rounding of exact hundredths.
    match (share.clamp(0.0, 1.0) * 10_000.0 + 1e-8).floor() {
        0.0 if share > 0.0 => "under 0.01 %".to_string(),
        hundredths => format!("{:.2} %", hundredths / 100.0),
    }
}

/// The sum of what was spent to eight significant digits, rounded up; without one, it is infinite. The JSON has all digits.
pub fn show_spent(sum: Option<Amount>) -> String {
    sum.map_or("∞".to_string(), |sum| sum.significant_up(8).unwrap_or(sum).to_string())
}

/// A cost with at most eight significant digits; the JSON has all.
pub fn show_cost(cost: &Cost) -> String {
    let size = cost.size();
    let short = size.significant(8);
    let mark = if short == size { "" } else { "…" };
    format!("{}{mark}", cost.with_size(short))
}

/// A short form of a list of costs.
pub fn show_costs(costs: &[Cost]) -> String {
    const SHOWN: usize = 3;
    match costs {
        [cost] => show_cost(cost),
        [cost, others @ ..] if others.iter().all(|other| other == cost) => {
            format!("{} × ({})", costs.len(), show_cost(cost))
        }
        _ => {
            let shown: Vec<String> = costs.iter().take(SHOWN).map(show_cost).collect();
            match costs.len().saturating_sub(SHOWN) {
                0 => shown.join(" + "),
                more => format!("{} + {more} more", shown.join(" + ")),
            }
        }
    }
}

/// The text if no cost like the one asked fits on accounts that are open.
pub fn nothing_fits(asked: &[Cost]) -> &'static str {
    let has_delta = |cost: &Cost| cost.numbers().iter().any(|(name, size)| *name == "delta" && !size.is_zero());
    match asked.iter().any(has_delta) {
        true => "nothing with this δ, however small its ε",
        false => "nothing of this kind: the budget is spent",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_shown_with_six_digits_and_rounded_up() {
        for (value, shown) in [
            (10.0, "10"),
            (10.000000000000002, "10.0001"),
            (0.999_999_9, "1"),
            (1.0000001, "1.00001"),
            (0.1, "0.1"),
            (1234567.0, "1.23457e6"),
            (1e-6, "1e-6"),
            (3.14159265e-9, "3.1416e-9"),
            (0.0, "0"),
            (f64::INFINITY, "∞"),
        ] {
            assert_eq!(show_number(value), shown);
        }
    }

    #[test]
    fn a_share_of_a_budget_is_never_shown_as_more_than_it_is() {
        for (share, shown) in [
            (1.0, "100.00 %"),
            (0.99996, "99.99 %"),
            (0.6, "60.00 %"),
            (0.29, "29.00 %"),
            (0.123_499, "12.34 %"),
            (0.000_03, "under 0.01 %"),
            (0.0, "0.00 %"),
            (-1e-12, "0.00 %"),
        ] {
            assert_eq!(show_share(share), shown);
        }
    }

    #[test]
    fn what_was_spent_is_rounded_up() {
        for (spent, shown) in
            [("0.3", "0.3"), ("0.299999999999999999999999999998", "0.3"), ("1.234567812", "1.2345679")]
        {
            assert_eq!(show_spent(Amount::parse_exact(spent).ok()), shown);
        }
        assert_eq!(show_spent(None), "∞");
    }

    #[test]
    fn numbers_have_thousands_separators() {
        assert_eq!([0, 999, 1000, 1234567].map(thousands), ["0", "999", "1,000", "1,234,567"]);
        for (number, shown) in [
            ("0", "0"),
            ("-1234567", "-1,234,567"),
            ("1234.5000", "1,234.5000"),
            ("-0.25", "-0.25"),
            ("1234567890123456789012", "1,234,567,890,123,456,789,012"),
            ("1e300", "1e300"),
            ("north", "north"),
        ] {
            assert_eq!(grouped(number), shown);
        }
    }

    #[test]
    fn scales_have_six_digits() {
        for (value, shown) in [
            (100.0, "100"),
            (8571428.571428573, "8,571,429"),
            (42.857142857142854, "42.8571"),
            (0.008345274, "0.00834527"),
            (1e30, "1e30"),
        ] {
            assert_eq!(show_scale(value), shown);
        }
    }

    #[test]
    fn a_cost_with_its_own_delta_may_not_fit_although_nothing_is_spent() {
        let cost = |text: &str| serde_json::from_str::<crate::DeclaredCost>(text).unwrap().0;
        assert!(nothing_fits(&[cost(r#"{"epsilon":"0.1"}"#)]).contains("spent"));
        assert!(!nothing_fits(&[cost(r#"{"epsilon":"0.1","delta":"1e-9"}"#)]).contains("spent"));
    }
}
