//! An example of each way to declare a cost, with the numbers of the table of kinds.

use taximeter_accounting::{CostForm, CostKind, Number};

use crate::args::forms;

/// An example of a cost: a form of a kind, with all or only the required of its numbers.
pub struct CostExample {
    /// What the cost describes.
    pub title: String,
    kind: CostKind,
    form: &'static CostForm,
    numbers: Vec<&'static Number>,
}

/// All examples, in the order of the table: with the required numbers, and again with the optional ones.
pub fn cost_examples() -> impl Iterator<Item = CostExample> {
    forms().flat_map(|(kind, form)| {
        let example =
            |title: String, numbers: &[&'static Number]| CostExample { title, kind, form, numbers: numbers.to_vec() };
        let (required, optional) = form.numbers.split_at(form.required().count());
        let all = example(form.title.to_string(), form.numbers);
        // Only the direct form may omit numbers in JSON.
        if !all.is_direct() || optional.is_empty() {
            return vec![all];
        }
        let labels = optional.iter().map(|number| number.label).collect::<Vec<_>>().join(", ");
        vec![example(form.title.to_string(), required), example(format!("… with {labels}"), form.numbers)]
    })
}

impl CostExample {
    /// The cost as JSON, with the examples of the numbers.
    pub fn json(&self) -> String {
        let quoted = |number: &&Number| format!(r#""{}":"{}""#, number.name, number.example);
        let fields = |numbers: &[&Number]| numbers.iter().map(quoted).collect::<Vec<_>>().join(",");
        match (self.is_direct(), self.numbers.as_slice()) {
            (true, [first]) => format!(r#"{{"{}":"{}"}}"#, self.kind.name(), first.example),
            (true, [first, others @ ..]) => {
                format!(r#"{{"{}":"{}",{}}}"#, self.kind.name(), first.example, fields(others))
            }
            (_, numbers) => format!(r#"{{"{}":{{{}}}}}"#, self.kind.name(), fields(numbers)),
        }
    }

    /// Whether the JSON has the first number directly, and not in an object.
    fn is_direct(&self) -> bool {
        self.kind.direct_form().is_some_and(|direct| direct.name == self.form.name)
    }
}

#[cfg(test)]
mod tests {
    use taximeter_accounting::{Cost, FilterRule, OdometerRule};

    use super::*;

    const COSTS: &str = include_str!("../../../docs/costs.md");

    #[test]
    fn every_example_is_a_cost() {
        for example in cost_examples() {
            let json = example.json();
            Cost::from_json(&json).unwrap_or_else(|error| panic!("{}: {json}: {error}", example.title));
        }
    }

    /// The cost as flags, with the examples of the numbers.
    fn flags(CostExample { form, numbers, .. }: &CostExample) -> String {
        let (required, optional): (Vec<&Number>, Vec<&Number>) =
            numbers.iter().partition(|number| number.default.is_none());
        let value = match required.as_slice() {
            [number] => number.example.to_string(),
            numbers => {
                let numbers = numbers.iter().map(|number| format!("{}={}", number.name, number.example));
                numbers.collect::<Vec<_>>().join(",")
            }
        };
        let others = optional.iter().map(|number| format!(" --{} {}", number.name, number.example));
        format!("--{} {value}{}", form.name, others.collect::<String>())
    }

    #[test]
    fn the_document_has_every_example_of_a_cost() {
        let rows: Vec<String> = cost_examples()
            .map(|example| format!("| {} | `{}` | `{}` |", example.title, flags(&example), example.json()))
            .collect();
        let table = format!("| cost | flag | JSON |\n|---|---|---|\n{}\n\n", rows.join("\n"));
        assert!(COSTS.contains(&table), "docs/costs.md needs this table:\n{table}");
    }

    /// A table of kinds by rules: a dash where a rule has no theorem, and nowhere else. Rules that count alike share a column.
    fn check_table<Rule: Copy>(
        title: &str,
        rules: &[Rule],
        name: fn(Rule) -> &'static str,
        takes: fn(Rule, CostKind) -> bool,
    ) {
        let section = COSTS.split(&format!("\n## {title}\n")).nth(1).expect(title);
        let lines = section.lines().skip_while(|line| !line.starts_with('|')).take_while(|line| line.starts_with('|'));
        let rows: Vec<Vec<&str>> =
            lines.map(|line| line.trim_matches('|').split('|').map(str::trim).collect()).collect();
        let names = |cell: &str, name: &str| cell.contains(&format!("`{name}`"));
        let mut named = Vec::new();
        for row in &rows[2..] {
            for kind in CostKind::ALL.into_iter().filter(|kind| names(row[0], kind.name())) {
                named.push(kind);
                for &rule in rules {
                    let column = rows[0].iter().position(|cell| names(cell, name(rule)));
                    let column = column.unwrap_or_else(|| panic!("{title} has no column {}", name(rule)));
                    assert_eq!(row[column] != "–", takes(rule, kind), "{title}: {} by {}", kind.name(), name(rule));
                }
            }
        }
        assert!(CostKind::ALL.iter().all(|kind| named.contains(kind)), "{title}: {named:?}");
    }

    #[test]
    fn the_tables_of_rules_in_the_document_are_those_of_the_program() {
        check_table("What a filter charges", &FilterRule::ALL, FilterRule::name, FilterRule::takes);
        check_table("What an odometer counts", &OdometerRule::ALL, OdometerRule::name, OdometerRule::takes);
    }
}
