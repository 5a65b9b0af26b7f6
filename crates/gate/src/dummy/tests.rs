use std::collections::HashMap;

use super::*;
use crate::number::Number;
use crate::schema::{Bound, ColumnType, Schema, Value};

/// A column of every type, with and without bounds and categories.
const EVERYTHING: &str = r#"
    unit = { column = "person", max_rows_per_unit = 3 }
    [columns.age]
    bounds = [0, 120]
    grid = 10
    [columns.weight]
    bounds = [-1.5, 2.5]
    grid = 0.5
    [columns.price]
    bounds = [0, 1]
    [columns.born]
    bounds = [1990-01-01, 1990-01-03]
    [columns.seen]
    bounds = ["2024-02-29 00:00:00", "2024-02-29 00:10:00"]
    [columns.region]
    categories = ["north", "south, far", "quoted \"east\""]
    [columns.code]
    categories = [7, 9]
"#;

fn schema(declaration: &str, columns: &[(&str, ColumnType)]) -> Schema {
    let columns: Vec<_> = columns.iter().map(|(name, kind)| (name.to_string(), *kind)).collect();
    Declaration::parse(declaration).unwrap().schema(&columns).unwrap()
}

fn everything() -> Schema {
    use ColumnType::{Boolean, Date, Decimal, Integer, Real, Text, Timestamp};
    let declared = [
        ("person", Text),
        ("age", Integer),
        ("weight", Real),
        ("price", Decimal),
        ("born", Date),
        ("seen", Timestamp),
        ("region", Text),
        ("code", Integer),
    ];
    let open =
        [("n", Integer), ("x", Real), ("d", Decimal), ("t", Text), ("b", Boolean), ("day", Date), ("at", Timestamp)];
    schema(EVERYTHING, &[&declared[..], &open[..]].concat())
}

#[test]
fn values_are_of_their_types_within_their_bounds_on_their_grid_and_among_their_categories() {
    let schema = everything();
    let rows: Vec<_> = made_up_rows(&schema, 2000).collect();
    assert_eq!(rows.len(), 2000);
    for (at, column) in schema.columns().iter().enumerate() {
        let mut seen: Vec<&Value> = rows.iter().map(|row| &row[at]).collect();
        for value in &seen {
            assert_eq!(value.kind(), column.kind(), "{}", column.name());
            value.check().unwrap();
            if let Some(bounds) = column.bounds() {
                let number = match column.kind() {
                    ColumnType::Date | ColumnType::Timestamp => {
                        Bound::parse(&value.plain()).unwrap().number(column.kind()).unwrap()
                    }
                    _ => Number::parse(&value.plain()).unwrap(),
                };
                assert!(bounds.low() <= number && number <= bounds.high(), "{value}");
                assert!(number.steps(bounds.grid()).is_some(), "{value}");
            }
        }
        if let Some(categories) = column.categories() {
            assert!(seen.iter().all(|value| categories.contains(value)));
        }
        // Both ends of the small ranges are there, and no column is all the same.
        seen.sort_by(|one, other| one.compare(other));
        seen.dedup();
        assert!(seen.len() >= 2, "{}: {seen:?}", column.name());
        let ends = [seen[0], seen[seen.len() - 1]].map(|value| value.plain());
        match column.name() {
            "age" => assert_eq!(ends, ["0", "120"]),
            "weight" => assert_eq!(ends, ["-1.5", "2.5"]),
            "born" => assert_eq!(ends, ["1990-01-01", "1990-01-03"]),
            "seen" => assert_eq!(ends, ["2024-02-29 00:00:00", "2024-02-29 00:10:00"]),
            _ => {}
        }
    }
}

#[test]
fn no_unit_has_more_rows_than_may_count() {
    for (most, kind) in [(1, ColumnType::Text), (3, ColumnType::Integer), (1_000_000, ColumnType::Date)] {
        let declaration = format!("unit = {{ column = \"person\", max_rows_per_unit = {most} }}");
        let schema = schema(&declaration, &[("person", kind), ("x", ColumnType::Real)]);
        let mut rows_of: HashMap<String, u32> = HashMap::new();
        let rows: Vec<_> = made_up_rows(&schema, 500).collect();
        rows.iter().for_each(|row| *rows_of.entry(row[0].to_string()).or_default() += 1);
        assert_eq!(rows.len(), 500);
        assert!(rows_of.values().all(|rows| *rows <= most) && rows_of.len() > 100, "{most}");
        assert!(most == 1 || rows_of.values().any(|rows| *rows > 1));
    }
    // A unit that has two values ends the rows.
    let declaration = "unit = { column = \"person\", max_rows_per_unit = 2 }";
    assert_eq!(made_up_rows(&schema(declaration, &[("person", ColumnType::Boolean)]), 500).count(), 3);
}

#[test]
fn the_same_declaration_has_the_same_rows_and_a_column_does_not_depend_on_others() {
    let rows = |schema: &Schema| made_up_rows(schema, 50).collect::<Vec<_>>();
    assert_eq!(rows(&everything()), rows(&everything()));
    let both = schema("unit = \"row\"", &[("a", ColumnType::Text), ("x", ColumnType::Real)]);
    let alone = schema("unit = \"row\"", &[("x", ColumnType::Real)]);
    let columns = |rows: Vec<Vec<Value>>, at: usize| rows.into_iter().map(|row| row[at].clone()).collect::<Vec<_>>();
    assert_eq!(columns(rows(&both), 1), columns(rows(&alone), 0));
}

#[test]
fn a_file_of_made_up_rows_has_a_header_and_quotes_where_they_are_needed() {
    let text: String = dummy_csv(&Declaration::of(&everything()), 200).unwrap().collect();
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    assert_eq!(&reader.headers().unwrap()[6], "region");
    let regions: Vec<String> = reader.records().map(|row| row.unwrap()[6].to_string()).collect();
    assert!(regions.len() == 200 && regions.iter().any(|region| region == "quoted \"east\""));
    for rows in [0, DummyAnswer::MOST_ROWS + 1] {
        assert!(dummy_csv(&Declaration::of(&everything()), rows).err().unwrap().is_input());
    }
}
