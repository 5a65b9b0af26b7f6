//! The kinds of cost that can be declared, and the numbers that each is declared with.

use serde_json::{Map, Value, json};
use taximeter_accounting::{Amount, Cost, CostKind, Declared};

use crate::dashboard::fields::Fields;
use crate::failure::Failure;

/// A way to declare a cost.
pub(super) struct Kind {
    /// Its name in the form.
    pub(super) name: &'static str,
    /// What people choose it by.
    pub(super) title: &'static str,
    /// The numbers that it needs.
    pub(super) numbers: &'static [&'static str],
    /// The kind of cost.
    kind: CostKind,
    /// Whether it is declared by what the mechanism does, and not by the parameter itself.
    is_described: bool,
}

/// A number of the form.
pub(super) struct Number {
    /// Its name in the form, and in JSON where the mechanism is described.
    pub(super) name: &'static str,
    pub(super) label: &'static str,
    pub(super) help: &'static str,
}

const fn kind(name: &'static str, title: &'static str, kind: CostKind, numbers: &'static [&'static str]) -> Kind {
    Kind { name, title, numbers, kind, is_described: false }
}

const fn described(name: &'static str, title: &'static str, kind: CostKind, numbers: &'static [&'static str]) -> Kind {
    Kind { name, title, numbers, kind, is_described: true }
}

/// All kinds, the usual ones first.
pub(super) const KINDS: [Kind; 12] = [
    kind("epsilon", "ε, pure differential privacy", CostKind::Epsilon, &["epsilon"]),
    kind("approximate", "ε and δ", CostKind::Epsilon, &["epsilon", "delta"]),
    described("laplace-scale", "Laplace noise, by scale and sensitivity", CostKind::Laplace, &["scale", "sensitivity"]),
    kind("laplace", "Laplace noise, by its ε", CostKind::Laplace, &["epsilon"]),
    described("gaussian-sigma", "Gaussian noise, by σ and sensitivity", CostKind::Gaussian, &["sigma", "sensitivity"]),
    kind("gaussian", "Gaussian noise, by its μ", CostKind::Gaussian, &["mu"]),
    described(
        "discrete-gaussian-sigma",
        "discrete Gaussian noise, by σ and sensitivity",
        CostKind::DiscreteGaussian,
        &["sigma", "sensitivity"],
    ),
    kind("discrete-gaussian", "discrete Gaussian noise, by its μ", CostKind::DiscreteGaussian, &["mu"]),
    kind("zcdp", "zCDP, by its ρ", CostKind::Zcdp, &["rho"]),
    described("truth", "randomized response, by how often it is true", CostKind::RandomizedResponse, &["truth"]),
    kind("randomized-response", "randomized response, by its ε", CostKind::RandomizedResponse, &["epsilon"]),
    kind("exponential", "exponential mechanism, by its η", CostKind::Exponential, &["eta"]),
];

/// All numbers, in the order of the form.
pub(super) const NUMBERS: [Number; 9] = [
    Number { name: "epsilon", label: "ε", help: "A decimal number, such as 0.1." },
    Number { name: "delta", label: "δ", help: "The mechanism's own δ, below 1, such as 1e-9." },
    Number { name: "mu", label: "μ", help: "Sensitivity over σ, such as 0.05." },
    Number { name: "sigma", label: "σ", help: "The standard deviation of the noise, such as 20." },
    Number { name: "rho", label: "ρ", help: "Such as 0.005." },
    Number { name: "scale", label: "Scale of the noise", help: "The b of Laplace noise, such as 10." },
    Number { name: "sensitivity", label: "Sensitivity", help: "How far one unit can move the value, such as 1." },
    Number { name: "truth", label: "Probability of the truth", help: "From 0.5 and below 1, such as 0.6." },
    Number { name: "eta", label: "η", help: "The weights are e to the power ηu/(2Δ); such as 0.1." },
];

impl Kind {
    /// The kind that a form chose; the first if it chose none of them.
    pub(super) fn chosen(fields: &Fields) -> &'static Kind {
        let name = fields.get("kind").unwrap_or_default();
        KINDS.iter().find(|kind| kind.name == name).unwrap_or(&KINDS[0])
    }

    /// The cost that a form declares.
    pub(super) fn cost(&self, fields: &Fields) -> Result<Declared, Failure> {
        let mut numbers = Map::new();
        for name in self.numbers {
            let label = NUMBERS.iter().find(|number| number.name == *name).map_or(*name, |number| number.label);
            numbers.insert((*name).to_string(), Value::from(fields.required(name, label)?));
        }
        let declared = match (self.is_described, self.numbers) {
            (true, _) => json!({ self.kind.name(): numbers }),
            (false, [name]) => json!({ self.kind.name(): numbers[*name] }),
            // What stands beside ε.
            (false, _) => Value::Object(numbers),
        };
        Ok(Cost::from_json(&declared.to_string())?)
    }

    /// Whether all numbers that it needs are filled in.
    pub(super) fn is_complete(&self, fields: &Fields) -> bool {
        self.numbers.iter().all(|name| fields.get(name).is_some())
    }

    /// How a form declares a cost: the kind, and the numbers.
    pub(super) fn declaring(cost: &Cost) -> (&'static str, Vec<(&'static str, Amount)>) {
        if let Cost::Approximate { epsilon, delta } = *cost {
            return ("approximate", vec![("epsilon", epsilon), ("delta", delta)]);
        }
        let of_kind =
            KINDS.iter().find(|kind| kind.kind == cost.kind() && !kind.is_described && kind.numbers.len() == 1);
        let kind = of_kind.unwrap_or(&KINDS[0]);
        (kind.name, vec![(kind.numbers[0], cost.size())])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields(kind: &str, numbers: &[(&str, &str)]) -> Fields {
        let fields = std::iter::once(("kind", kind)).chain(numbers.iter().copied());
        Fields::new(fields.map(|(name, value)| (name.to_string(), value.to_string())).collect())
    }

    #[test]
    fn every_kind_is_declared_by_its_numbers() {
        let all = [
            ("epsilon", "0.1"),
            ("delta", "1e-9"),
            ("mu", "0.05"),
            ("sigma", "20"),
            ("rho", "0.005"),
            ("scale", "10"),
            ("sensitivity", "1"),
            ("truth", "0.5"),
            ("eta", "0.3"),
        ];
        for (kind, shown) in [
            ("epsilon", "ε = 0.1"),
            ("approximate", "ε = 0.1, δ = 1e-9"),
            ("laplace-scale", "Laplace of ε = 0.1"),
            ("laplace", "Laplace of ε = 0.1"),
            ("gaussian-sigma", "Gaussian of μ = 0.05"),
            ("gaussian", "Gaussian of μ = 0.05"),
            ("discrete-gaussian-sigma", "discrete Gaussian of μ = 0.05"),
            ("discrete-gaussian", "discrete Gaussian of μ = 0.05"),
            ("zcdp", "zCDP of ρ = 0.005"),
            ("truth", "randomized response of ε = 0"),
            ("randomized-response", "randomized response of ε = 0.1"),
            ("exponential", "exponential mechanism of η = 0.3"),
            ("something else", "ε = 0.1"),
        ] {
            let fields = fields(kind, &all);
            let chosen = Kind::chosen(&fields);
            assert!(chosen.is_complete(&fields));
            let cost = chosen.cost(&fields).unwrap().cost;
            assert_eq!(cost.to_string(), shown, "{kind}");
            // A form that is filled in with it declares the same.
            let (kind, numbers) = Kind::declaring(&cost);
            let numbers: Vec<(&str, String)> = numbers.iter().map(|(name, size)| (*name, size.to_string())).collect();
            let numbers: Vec<(&str, &str)> = numbers.iter().map(|(name, size)| (*name, size.as_str())).collect();
            let again = self::fields(kind, &numbers);
            assert_eq!(Kind::chosen(&again).cost(&again).unwrap().cost, cost, "{kind}");
        }
    }

    #[test]
    fn numbers_that_are_none_are_errors_that_say_which() {
        for (kind, numbers, part) in [
            ("epsilon", &[][..], "ε is empty"),
            ("approximate", &[("epsilon", "1")], "δ is empty"),
            ("laplace-scale", &[("scale", "3")], "Sensitivity is empty"),
            ("epsilon", &[("epsilon", "a lot")], "epsilon"),
            ("epsilon", &[("epsilon", "-1")], "minus sign"),
            ("epsilon", &[("epsilon", "\",\"zcdp\":\"0")], "epsilon"),
            ("truth", &[("truth", "0.2")], "at least 0.5"),
            ("gaussian-sigma", &[("sigma", "0"), ("sensitivity", "1")], "no privacy"),
        ] {
            let fields = fields(kind, numbers);
            let failure = Kind::chosen(&fields).cost(&fields).unwrap_err();
            assert!(failure.0.detail.contains(part), "{kind}: {}", failure.0.detail);
        }
    }
}
