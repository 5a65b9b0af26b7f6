//! Dates, timestamps and decimal numbers in files.

use super::*;

const PRICE: &str = "[columns.price]\ntype = \"decimal\"";

#[test]
fn dates_timestamps_and_decimals_are_stored_as_whole_numbers() {
    let place = Place::new(
        "born,seen,price\n1970-01-02,1970-01-01T00:00:01.5Z,12.50\n0001-01-01,1969-12-31,-0.000001\n,,NaN\n2024-02-29,2024-02-29 \
         13:05+02:00,7\n",
    );
    let imported = place.import(PRICE, BadRows::Refuse).unwrap();
    let kinds: Vec<_> = imported.schema.columns().iter().map(|column| column.kind().to_string()).collect();
    assert_eq!(kinds, ["date", "timestamp", "decimal"]);
    let expected = [
        ["-719162", "-86400000000", "-1"],
        ["1", "1500000", "12500000"],
        ["19782", "1709204700000000", "7000000"],
        ["null", "null", "null"],
    ];
    assert_eq!(place.rows(), expected);
}

#[test]
fn what_is_no_date_timestamp_or_decimal_is_a_bad_row() {
    let declaration = format!("{PRICE}\n[columns.born]\ntype = \"date\"\n[columns.seen]\ntype = \"timestamp\"");
    for (row, why) in [
        (
            "2023-02-29,,",
            r#""2023-02-29" in the column "born" is not date: correct it, or declare the column's type as text"#,
        ),
        ("2024-02-29 13:05:00,,", "declare the column's type as timestamp"),
        ("10000-01-01,,", "is not date"),
        ("infinity,,", "is not date"),
        (",2024-02-29 24:00,", r#"in the column "seen" is not timestamp"#),
        (",9999-12-31 23:59-01:00,", "is not timestamp"),
        (",,1.2345678", r#""1.2345678" in the column "price" has more than 12 digits before the point or 6 after it"#),
        (",,1000000000000", "declare the column's type as real"),
        (",,\"1,5\"", "is not decimal"),
        (",,inf", "is not decimal"),
    ] {
        let place = Place::new(format!("born,seen,price\n{row}\n2024-02-29,2024-02-29,1\n"));
        let imported = place.import(&declaration, BadRows::Skip).unwrap();
        assert_eq!((imported.rows.bad_rows, imported.rows.kept), (1, 1), "{row}");
        let bad = &imported.rows.first_bad_rows[0];
        assert!(bad.line == 2 && bad.why.contains(why), "{row}: {}", bad.why);
    }
}

#[test]
fn a_date_can_be_the_unit() {
    let place = Place::new("born,x\n1970-01-02,1\n1970-01-02,2\n1970-01-03,3\n,4\n");
    let unit = "unit = { column = \"born\", max_rows_per_unit = 1 }";
    let imported = place.import(unit, BadRows::Refuse).unwrap();
    assert_eq!((imported.rows.kept, imported.rows.without_unit), (2, 1));
    let refused = Place::new("price\n1.5\n").import(
        "unit = { column = \"price\", max_rows_per_unit = 1 }\n[columns.price]\ntype = \"decimal\"",
        BadRows::Refuse,
    );
    assert!(refused.unwrap_err().to_string().contains("decimal numbers, which do not identify units"));
}
