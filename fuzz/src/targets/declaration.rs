//! What an owner declares about a dataset, in TOML.

use taximeter_gate::{ColumnType, Declaration, Schema, fuzzing};

/// A declaration is read or refused, and so are its columns, of whatever type they are.
pub fn check(data: &[u8]) {
    let Some(text) = super::text(data) else { return };
    let Ok(declaration) = Declaration::parse(text) else { return };
    use ColumnType::{Boolean, Date, Decimal, Integer, Real, Text, Timestamp};
    for kind in [Boolean, Date, Decimal, Integer, Real, Text, Timestamp] {
        let columns = ["person", "age", "wage", "town", "seen"].map(|name| (name.to_string(), kind));
        if let Ok(schema) = fuzzing::schema(&declaration, &columns) {
            let written = serde_json::to_string(&schema).unwrap();
            assert_eq!(serde_json::from_str::<Schema>(&written).unwrap(), schema, "{written}");
        }
    }
}
