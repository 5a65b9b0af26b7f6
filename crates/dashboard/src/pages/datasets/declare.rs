//! The fields for a dataset's budget and declaration.

use maud::{Markup, html};
use taximeter_accounting::{Amount, FilterRule};
use taximeter_gate::{Declaration, PrivacyUnit};
use taximeter_ledger::Neighbours;
use taximeter_service::{BudgetDocument, FilterRequest, Problem, SchemaDocument};

use crate::form::{TextField, check, choice, lines};
use crate::form_data::FormData;

/// The fields for a budget.
pub(super) fn budget_fields(filled: &FormData, is_required: bool) -> Markup {
    html! {
        (TextField::amount("epsilon", "Budget ε", filled).placeholder("1").required(is_required))
        (TextField::amount("delta", "Budget δ", filled).placeholder("1e-6")
            .help("Far below 1 divided by the number of people, such as 1e-6. If empty, it is 0: every ε is added up."))
        (TextField::amount("mechanism_delta", "δ set aside", filled)
            .help("The part of δ for questions that group by columns without declared categories, such as 1e-7. If empty, none."))
    }
}

/// How bounds are written.
const BOUNDS: &str =
    "One column per line: age=0..120, with a grid income=0..200000/0.5, or of dates born=1900-01-01..2024-12-31";

/// The fields for the declaration.
pub(super) fn declaration_fields(filled: &FormData) -> Markup {
    let relations = [Neighbours::AddRemove, Neighbours::Substitute].map(|relation| (relation.name(), relation.name()));
    html! {
        h3 { "Declaration" }
        p.help { "The noise of an answer depends on the declaration alone, and never on the data." }
        div.row {
            (TextField::new("unit", "Privacy unit", filled).required(true).placeholder("row")
                .help("Whose privacy is protected: row if every row is about a different person, otherwise the column that identifies the \
                       person."))
            (TextField::new("max_rows", "Most rows per unit that count", filled).help("Only with a column."))
            (choice("neighbours", "Neighbours", relations, filled.get("neighbours"),
                "Which data must look alike: with one unit more or less, or with one unit replaced by another."))
        }
        div.row {
            (lines("bounds", "Bounds", 4, "age=0..120", BOUNDS, filled))
            (lines("categories", "Categories", 4, "region=north,south", "One column per line, such as region=north,south", filled))
            (lines("types", "Types", 4, "zip=text", "One column per line, such as zip=text. Detected from the data if omitted.", filled))
        }
        (check("reuse", "Show analysts their own earlier answer to the same question again at no cost", filled))
    }
}

/// The filter that the fields ask for; `None` without a budget.
pub(super) fn filter(fields: &FormData) -> Result<Option<FilterRequest>, Problem> {
    if fields.get("epsilon").is_none() && fields.get("delta").is_none() {
        return Ok(None);
    }
    fields.required("epsilon", "the budget's ε")?;
    let amount = |name: &str, what: &str| Ok::<_, Problem>(fields.amount(name, what)?.unwrap_or(Amount::ZERO));
    let (epsilon, delta) = (amount("epsilon", "the budget's ε")?, amount("delta", "the budget's δ")?);
    let rule = fields.get("rule").map(FilterRule::from_name).transpose()?;
    let mechanism_delta = amount("mechanism_delta", "the δ set aside")?;
    let budget = BudgetDocument { epsilon, delta, mechanism_delta };
    Ok(Some(FilterRequest::new(rule, budget)))
}

/// The declaration in the fields.
pub(super) fn schema(fields: &FormData) -> Result<SchemaDocument, Problem> {
    let mut declaration = Declaration::default();
    declaration.unit = Some(unit(fields)?);
    if let Some(name) = fields.get("neighbours") {
        declaration.neighbours = Neighbours::from_name(name)?;
    }
    let lines = |name: &str| {
        let lines = fields.get(name).unwrap_or_default().lines().map(str::trim).filter(|line| !line.is_empty());
        let lines: Vec<String> = lines.map(str::to_string).collect();
        match Declaration::column_given_twice(&lines) {
            None => Ok(lines),
            Some(column) => {
                Err(Problem::bad_request(format!("the {name} have two lines for the column {column}; keep one")))
            }
        }
    };
    lines("types")?.iter().try_for_each(|line| declaration.add_type(line))?;
    lines("bounds")?.iter().try_for_each(|line| declaration.add_bounds(line))?;
    lines("categories")?.iter().try_for_each(|line| declaration.add_categories(line))?;
    SchemaDocument::of(&declaration)
}

fn unit(fields: &FormData) -> Result<PrivacyUnit, Problem> {
    let wrong = |detail: String| Err(Problem::bad_request(detail));
    match (fields.required("unit", "the privacy unit")?, fields.get("max_rows")) {
        ("row", None) => Ok(PrivacyUnit::Row),
        ("row", Some(_)) => {
            wrong("a limit of rows per unit needs a column as the unit, not row; empty it, or name the column".into())
        }
        (column, None) => wrong(format!("the unit {column} needs a limit: how many rows of one {column} may count")),
        (column, Some(text)) => match text.parse() {
            Ok(max_rows_per_unit) => Ok(PrivacyUnit::Column { column: column.to_string(), max_rows_per_unit }),
            Err(_) => wrong(format!("the limit of rows per unit is {text:?}; write a whole number, such as 1")),
        },
    }
}

#[cfg(test)]
mod tests {
    use taximeter_service::Code;

    use super::*;
    use crate::form::filter_rule;

    fn fields(pairs: &[(&str, &str)]) -> FormData {
        FormData::new(pairs.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect())
    }

    #[test]
    fn a_declaration_says_the_same_as_the_command_line() {
        let declared = schema(&fields(&[
            ("unit", "person"),
            ("max_rows", "3"),
            ("neighbours", "substitute"),
            ("bounds", "age=0..120\r\n\r\n income=0..200000/0.5 \r\n"),
            ("categories", "region=north,south"),
            ("types", "zip=text"),
        ]));
        let mut expected = Declaration::default();
        expected.unit = Some(PrivacyUnit::Column { column: "person".to_string(), max_rows_per_unit: 3 });
        expected.neighbours = Neighbours::Substitute;
        expected.add_type("zip=text").unwrap();
        expected.add_bounds("age=0..120").unwrap();
        expected.add_bounds("income=0..200000/0.5").unwrap();
        expected.add_categories("region=north,south").unwrap();
        assert_eq!(declared.unwrap(), SchemaDocument::of(&expected).unwrap());
        let mut rows = Declaration::default();
        rows.unit = Some(PrivacyUnit::Row);
        assert_eq!(schema(&fields(&[("unit", "row")])).unwrap(), SchemaDocument::of(&rows).unwrap());
    }

    #[test]
    fn a_declaration_without_a_unit_is_an_error_that_says_so() {
        let failure = schema(&FormData::default()).unwrap_err();
        assert!(failure.code == Code::BadRequest && failure.detail.contains("privacy unit"), "{failure:?}");
    }

    #[test]
    fn an_error_in_a_declaration_has_the_value() {
        for (name, value, word) in [
            ("max_rows", "3", "column"),
            ("neighbours", "none", "none"),
            ("bounds", "age", "age"),
            ("bounds", "age=0..x", "x"),
            ("categories", "region", "region"),
            ("types", "zip=number", "number"),
            ("bounds", "age=0..120\n age =0..90", "column age"),
            ("categories", "region=north\nregion=south", "column region"),
            ("types", "zip=text\nzip=real", "column zip"),
        ] {
            let failure = schema(&fields(&[("unit", "row"), (name, value)])).unwrap_err();
            assert!(failure.code == Code::BadRequest && failure.detail.contains(word), "{failure:?}");
        }
        let failure = schema(&fields(&[("unit", "person")])).unwrap_err();
        assert!(failure.detail.contains("person"), "{failure:?}");
        let failure = schema(&fields(&[("unit", "person"), ("max_rows", "many")])).unwrap_err();
        assert!(failure.detail.contains("many"), "{failure:?}");
    }

    #[test]
    fn every_rule_is_offered_with_a_description_and_the_default_first() {
        let field = filter_rule("Rule", &FormData::default(), "").into_string();
        let places = FilterRule::ALL.map(|rule| field.find(&format!("{}: {}", rule.name(), rule.short())).unwrap());
        assert!(places.is_sorted_by(|one, next| one > next), "{field}");
        assert!(field.contains("as published, without basic composition"), "{field}");
    }

    #[test]
    fn a_budget_is_exact_or_empty() {
        assert_eq!(filter(&fields(&[("rule", "basic")])).unwrap(), None);
        let given = filter(&fields(&[("epsilon", " 0.1 "), ("delta", "1e-6"), ("rule", "zcdp")])).unwrap().unwrap();
        assert_eq!(given.budget.epsilon, Amount::parse_exact("0.1").unwrap());
        assert_eq!(given.budget.delta, Amount::parse_exact("0.000001").unwrap());
        assert_eq!((given.rule, given.budget.mechanism_delta), (Some(FilterRule::Zcdp), Amount::ZERO));
        let aside = fields(&[("epsilon", "1"), ("delta", "1e-6"), ("mechanism_delta", "1e-7")]);
        let aside = filter(&aside).unwrap().unwrap().budget.mechanism_delta;
        assert_eq!(aside, Amount::parse_exact("0.0000001").unwrap());
        assert_eq!(filter(&fields(&[("epsilon", "1")])).unwrap().unwrap().budget.delta, Amount::ZERO);
        for pairs in [
            [("epsilon", "one"), ("delta", "")],
            [("epsilon", "-1"), ("delta", "")],
            [("epsilon", ""), ("delta", "1e-6")],
            [("epsilon", "1"), ("delta", "x")],
            [("epsilon", "1"), ("rule", "best")],
        ] {
            assert_eq!(filter(&fields(&pairs)).unwrap_err().code, Code::BadRequest, "{pairs:?}");
        }
    }
}
