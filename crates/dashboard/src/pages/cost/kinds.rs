//! The ways to declare a cost in a form, from the table of kinds.

use taximeter_accounting::{Amount, Cost, CostForm, CostKind, Declared, Number};
use taximeter_service::Problem;

use crate::form_data::FormData;

/// All forms, the common kinds first.
pub(super) fn forms() -> impl Iterator<Item = &'static CostForm> {
    CostKind::ALL.into_iter().flat_map(|kind| kind.forms())
}

/// All numbers of all forms, each name once.
pub(super) fn numbers() -> Vec<&'static Number> {
    let mut numbers: Vec<&'static Number> = Vec::new();
    for number in forms().flat_map(|form| form.numbers.iter().copied()) {
        if numbers.iter().all(|other| other.name != number.name) {
            numbers.push(number);
        }
    }
    numbers
}

/// The chosen form, or the first.
pub(super) fn chosen(fields: &FormData) -> &'static CostForm {
    let name = fields.get("kind").unwrap_or_default();
    forms().find(|form| form.name == name).unwrap_or(&CostKind::Epsilon.forms()[0])
}

/// The cost that a form declares.
pub(super) fn cost(fields: &FormData) -> Result<Declared, Problem> {
    let form = chosen(fields);
    let mut rounded = false;
    let mut amounts = Vec::new();
    for number in form.numbers {
        let text = match (fields.get(number.name), number.default) {
            (None, Some(default)) => default,
            _ => fields.required(number.name, number.label)?,
        };
        let parsed = Amount::parse(text, number.rounding)
            .map_err(|error| Problem::bad_request(format!("{}: {error}", number.label)))?;
        rounded |= parsed.rounded;
        amounts.push(parsed.amount);
    }
    Ok(Declared { cost: form.cost(&amounts)?, rounded })
}

/// Whether all required numbers are filled in.
pub(super) fn is_complete(fields: &FormData) -> bool {
    chosen(fields).required().all(|number| fields.get(number.name).is_some())
}

/// How a form declares a cost: its name, and the numbers.
pub(super) fn declaring(cost: &Cost) -> (&'static str, Vec<(&'static str, Amount)>) {
    (cost.kind().forms()[0].name, cost.numbers())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields(kind: &str, numbers: &[(&str, &str)]) -> FormData {
        let fields = std::iter::once(("kind", kind)).chain(numbers.iter().copied());
        FormData::new(fields.map(|(name, value)| (name.to_string(), value.to_string())).collect())
    }

    #[test]
    fn every_form_is_declared_by_its_numbers_and_filled_in_again() {
        for form in forms() {
            let numbers: Vec<_> = form.numbers.iter().map(|number| (number.name, number.example)).collect();
            let filled = fields(form.name, &numbers);
            assert!(is_complete(&filled), "{}", form.name);
            let cost = cost(&filled).unwrap_or_else(|failure| panic!("{}: {}", form.name, failure.detail)).cost;
            let (kind, numbers) = declaring(&cost);
            let numbers: Vec<(&str, String)> = numbers.iter().map(|(name, size)| (*name, size.to_string())).collect();
            let numbers: Vec<(&str, &str)> = numbers.iter().map(|(name, size)| (*name, size.as_str())).collect();
            assert_eq!(self::cost(&fields(kind, &numbers)).ok().map(|read| read.cost), Some(cost), "{}", form.name);
        }
        assert_eq!(chosen(&fields("something else", &[])).name, "epsilon");
    }

    #[test]
    fn an_error_names_the_number_that_is_wrong() {
        for (kind, numbers, part) in [
            ("epsilon", &[][..], "ε is empty"),
            ("laplace-scale", &[("sensitivity", "3")], "Scale of the noise is empty"),
            ("sampled-gaussian", &[("rate", "0.01"), ("sigma", "1")], "Steps is empty"),
            ("epsilon", &[("epsilon", "a lot")], "ε: "),
            ("epsilon", &[("epsilon", "-1")], "minus sign"),
            ("epsilon", &[("epsilon", "\",\"zcdp\":\"0")], "ε: "),
            ("randomized-response-truth", &[("truth", "0.2")], "at least 0.5"),
            ("gaussian-sigma", &[("sigma", "0"), ("sensitivity", "1")], "sigma cannot be 0"),
        ] {
            let failure = cost(&fields(kind, numbers)).unwrap_err();
            assert!(failure.detail.contains(part), "{kind}: {}", failure.detail);
        }
    }
}
