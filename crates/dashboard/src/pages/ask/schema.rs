//! The schema beside the question: the columns, what is protected, and what can be asked.

use maud::{Markup, html};
use taximeter_gate::{Category, ColumnType, DeclaredColumn};
use taximeter_ledger::Neighbours;
use taximeter_service::{DatasetDocument, SchemaDocument};

use crate::table::DataTable;

/// Categories that are shown at once.
const SHOWN: usize = 12;

/// What an owner declared about a dataset.
pub(super) fn schema(dataset: &DatasetDocument) -> Markup {
    let schema = &dataset.schema;
    let caption = format!("Columns of {}", dataset.dataset);
    let table = DataTable::new("Columns", &caption)
        .class("schema cards")
        .row_head("Column", "wrap", |column: &DeclaredColumn| html! { code { (column.name) } })
        .column("Type", "whole", |column| html! { (column.kind.map_or("–", ColumnType::name)) })
        .column("Can be", "wrap whole", |column| uses(column, column.name == schema.unit));
    html! {
        p { "Protected: " strong { (protected(schema)) } "." }
        (table.rows(&schema.columns))
        (language(schema))
    }
}

/// What is protected, as text.
fn protected(schema: &SchemaDocument) -> String {
    let unit = match (schema.unit.as_str(), schema.max_rows_per_unit) {
        ("row", _) => "one row".to_string(),
        (column, Some(1)) => format!("one {column}, of which one row counts"),
        (column, most) => format!("one {column}, of which at most {} rows count", most.unwrap_or_default()),
    };
    match schema.neighbours {
        Neighbours::AddRemove => format!("{unit}, present or absent"),
        Neighbours::Substitute => format!("{unit}, replaced by another"),
    }
}

/// How a question can use a column.
fn uses(column: &DeclaredColumn, is_unit: bool) -> Markup {
    let is_of_calendar = matches!(column.kind, Some(ColumnType::Date | ColumnType::Timestamp));
    let categories = column.categories.as_deref().unwrap_or_default();
    html! {
        @if let Some([low, high]) = &column.bounds {
            p {
                @if is_of_calendar { "cut to months or years, subtracted, from " } @else { "summed and averaged, from " }
                (low) " to " (high)
                @if let Some(grid) = column.describe_grid() { ", in steps of " (grid) }
            }
        }
        @if !categories.is_empty() {
            p { "grouped by: " (list(&categories[..categories.len().min(SHOWN)])) }
            @if categories.len() > SHOWN {
                details id={ "categories-" (column.name) } {
                    summary { (categories.len() - SHOWN) " more" }
                    p { (list(&categories[SHOWN..])) }
                }
            }
        }
        @if column.bounds.is_none() && categories.is_empty() {
            p { "counted, and used in WHERE" @if !is_unit { "; grouped by, with a δ" } }
        }
    }
}

fn list(categories: &[Category]) -> Markup {
    html! { @for (at, category) in categories.iter().enumerate() { @if at > 0 { ", " } code { (category) } } }
}

/// A summary of the question language.
fn language(schema: &SchemaDocument) -> Markup {
    let counted = if schema.max_rows_per_unit.is_some() { name(&schema.unit) } else { "column".to_string() };
    html! {
        h3 { "What can be asked" }
        ul.language {
            li {
                code { "COUNT(*)" } ", " code { "COUNT(DISTINCT " (counted) ")" } ", " code { "SUM" } ", " code { "AVG" } ", "
                code { "VARIANCE" } ", " code { "STDDEV" } ", " code { "CORR" } ", " code { "MEDIAN" } ", " code { "PERCENTILE_CONT" }
                ", " code { "MIN" } ", " code { "MAX" } ": up to 16, sharing the price, also with " code { "FILTER (WHERE …)" } "."
            }
            li {
                "Arguments are columns, and expressions that cannot fail on any row: " code { "+ - *" } ", " code { "/" } " by a number, "
                code { "ABS ROUND FLOOR LEAST COALESCE CASE CAST date_trunc EXTRACT" } "."
            }
            li {
                code { "WHERE" } " with = <> < <= > >=, " code { "AND OR NOT IN BETWEEN LIKE IS NULL" } "."
            }
            li {
                code { "GROUP BY" } " columns with categories, and expressions with few values. Every group has an answer, and all \
                groups cost as much as one. Other columns need a δ; then only groups above a threshold are answered."
            }
            li {
                "What is computed from the noisy numbers is free: ratios, " code { "HAVING" } ", " code { "ORDER BY" } ", " code { "LIMIT" }
                ", shares of the total, " code { "UNION ALL" } "."
            }
        }
    }
}

/// A question that can be asked of a dataset.
pub(in crate::pages) fn example(dataset: &DatasetDocument) -> String {
    let columns = &dataset.schema.columns;
    let table = name(dataset.dataset.as_str());
    let grouped = columns.iter().find(|column| column.categories.is_some());
    let bounded = columns.iter().find(|column| column.bounds.is_some());
    match (grouped, bounded) {
        (Some(column), _) => {
            let column = name(&column.name);
            format!("SELECT {column}, COUNT(*)\nFROM {table}\nGROUP BY {column}")
        }
        (None, Some(column)) => format!("SELECT COUNT(*), SUM({})\nFROM {table}", name(&column.name)),
        (None, None) => format!("SELECT COUNT(*)\nFROM {table}"),
    }
}

/// A name as it is written in a question: quoted, unless it is a plain identifier and no SQL keyword.
fn name(text: &str) -> String {
    const WORDS: [&str; 39] = [
        "all", "and", "any", "as", "asc", "avg", "between", "by", "case", "cast", "count", "desc", "distinct", "else",
        "end", "exists", "false", "from", "group", "having", "ilike", "in", "is", "join", "like", "limit", "not",
        "null", "on", "or", "order", "select", "sum", "table", "then", "true", "union", "when", "where",
    ];
    let is_plain = text.starts_with(|first: char| first.is_ascii_alphabetic())
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
        && !WORDS.iter().any(|word| word.eq_ignore_ascii_case(text));
    if is_plain { text.to_string() } else { format!("\"{}\"", text.replace('"', "\"\"")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_are_not_plain_identifiers_are_quoted() {
        for (text, written) in [
            ("age", "age"),
            ("zip_code2", "zip_code2"),
            ("census/2020", "\"census/2020\""),
            ("Order", "\"Order\""),
            ("2020", "\"2020\""),
            ("a \"b\"", "\"a \"\"b\"\"\""),
            ("größe", "\"größe\""),
        ] {
            assert_eq!(name(text), written);
        }
    }
}
