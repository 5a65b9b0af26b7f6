//! The ways to declare a cost, as a flag and as JSON, with the examples of the table of kinds.

use taximeter_accounting::{CostForm, CostKind, Number};

use crate::args::forms;

/// A way to declare a cost.
pub struct Way {
    /// What the cost describes.
    pub title: String,
    /// The flags, with an example.
    #[cfg_attr(not(test), expect(dead_code, reason = "a test compares the documents with it"))]
    pub flags: String,
    /// The JSON, with an example.
    pub json: String,
}

/// All ways, in the order of the table: with the required numbers, and again with the optional ones.
pub fn ways() -> impl Iterator<Item = Way> {
    forms().flat_map(|(kind, form)| {
        // A JSON object has all numbers of its form.
        let is_direct = kind.direct_form().is_some_and(|direct| direct.name == form.name);
        let required: Vec<&Number> = form.required().collect();
        let optional = &form.numbers[required.len()..];
        let short = is_direct && !optional.is_empty();
        let first = if short { required } else { form.numbers.to_vec() };
        let first = Way { title: form.title.to_string(), ..way(kind, form, is_direct, &first) };
        let more = short.then(|| {
            let labels = optional.iter().map(|number| number.label).collect::<Vec<_>>().join(", ");
            Way { title: format!("… with {labels}"), ..way(kind, form, is_direct, form.numbers) }
        });
        [Some(first), more].into_iter().flatten()
    })
}

fn way(kind: CostKind, form: &CostForm, is_direct: bool, numbers: &[&Number]) -> Way {
    let (required, optional): (Vec<&Number>, Vec<&Number>) =
        numbers.iter().partition(|number| number.default.is_none());
    let value = match required.as_slice() {
        [number] => number.example.to_string(),
        _ => required.iter().map(|number| format!("{}={}", number.name, number.example)).collect::<Vec<_>>().join(","),
    };
    let others = optional.iter().map(|number| format!(" --{} {}", number.name, number.example)).collect::<String>();
    let quoted = |number: &&Number| format!(r#""{}":"{}""#, number.name, number.example);
    let fields = |numbers: &[&Number]| numbers.iter().map(quoted).collect::<Vec<_>>().join(",");
    let json = match is_direct {
        true => {
            let beside = optional.iter().map(|number| format!(",{}", quoted(number))).collect::<String>();
            format!(r#"{{"{}":"{}"{beside}}}"#, kind.name(), numbers[0].example)
        }
        false => format!(r#"{{"{}":{{{}}}}}"#, kind.name(), fields(numbers)),
    };
    Way { title: String::new(), flags: format!("--{} {value}{others}", form.name), json }
}

#[cfg(test)]
mod tests {
    use taximeter_accounting::{Cost, FilterRule, OdometerRule};

    use super::*;

    const COSTS: &str = include_str!("../../../docs/costs.md");

    #[test]
    fn every_way_is_a_cost_of_its_kind() {
        for Way { title, json, .. } in ways() {
            Cost::from_json(&json).unwrap_or_else(|error| panic!("{title}: {json}: {error}"));
        }
    }

    #[test]
    fn the_document_has_every_way_to_declare_a_cost() {
        let rows: Vec<String> =
            ways().map(|Way { title, flags, json }| format!("| {title} | `{flags}` | `{json}` |")).collect();
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
