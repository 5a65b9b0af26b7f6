//! Amounts, budgets, and the numbers and bounds of a schema, from text.

use std::str::FromStr;

use dashu::float::DBig;
use dashu::integer::{IBig, UBig};
use dashu::rational::RBig;
use taximeter_accounting::{Amount, Budget, Rounding};
use taximeter_gate::{Bound, Number};

/// Costs round up, budgets down, neither by more than a unit; what is printed reads back as the same.
pub fn check(data: &[u8]) {
    let Some(text) = super::text(data) else { return };
    let (up, down) = (Amount::parse(text, Rounding::Up), Amount::parse(text, Rounding::Down));
    match (&up, &down) {
        (Ok(up), Ok(down)) => {
            assert_eq!((up.rounded, up.amount.units() - down.amount.units()), (down.rounded, up.rounded.into()));
            for amount in [up.amount, down.amount] {
                assert_eq!(Amount::parse_exact(&amount.to_string()), Ok(amount));
                assert!(Amount::at_most(amount.upper()) >= amount && amount.upper().is_finite());
                let printed = Amount::parse(&amount.printed().to_string(), Rounding::Up);
                assert!(printed.map_or(amount > Amount::MAX.significant(9), |printed| printed.amount >= amount));
            }
            if let Some(exact) = exact(text) {
                assert!(value(down.amount) <= exact && exact <= value(up.amount), "{text:?} is rounded wrongly");
                assert_eq!(up.rounded, value(up.amount) != exact, "{text:?}");
            }
        }
        // The next amount above the largest one is not there.
        (Err(_), Ok(down)) => assert!(down.rounded && down.amount == Amount::MAX),
        (Ok(_), Err(error)) => panic!("{text:?} can be rounded up, but not down: {error}"),
        (Err(_), Err(_)) => {}
    }
    if let Ok(budget) = Budget::parse(text) {
        let written = serde_json::to_string(&budget).unwrap();
        assert_eq!(serde_json::from_str::<Budget>(&written).unwrap(), budget, "{written}");
    }
    if let Ok(number) = Number::parse(text) {
        assert_eq!(Number::parse(&number.to_string()).ok(), Some(number));
    }
    if let Ok(bound) = Bound::parse(text) {
        let written = serde_json::to_string(&bound).unwrap();
        assert_eq!(serde_json::from_str::<Bound>(&written).unwrap(), bound, "{written}");
    }
}

fn value(amount: Amount) -> RBig {
    RBig::from_parts(IBig::from(amount.units()), UBig::from(10u8).pow(Amount::PLACES as usize))
}

/// What the text says, by another reader; nothing where its exponent would take memory to write out.
fn exact(text: &str) -> Option<RBig> {
    let text = text.trim();
    let exponent = text.split(['e', 'E']).nth(1).unwrap_or("0");
    let is_small = exponent.len() <= 4;
    (is_small && !text.contains('_'))
        .then(|| DBig::from_str(text).ok())
        .flatten()
        .and_then(|exact| RBig::try_from(exact).ok())
}
