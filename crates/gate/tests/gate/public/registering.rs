//! Registering public tables.

use super::{AIRLINES, airlines_csv, public, setup};
use crate::common::{Setup, account, answered, request, rules};
use taximeter_accounting::FilterRule;
use taximeter_gate::{Error, ErrorKind, Value};

#[test]
fn another_content_of_a_public_table_is_another_question() {
    let setup = setup();
    let joined = request("flights", "SELECT COUNT(*) FROM flights JOIN digits USING (code)", "1000000");
    let first = answered(setup.ask(&joined));
    assert_eq!(answered(setup.ask(&joined)).document, first.document);
    let catalog = setup.gate.catalog();
    let newer = public(&setup, "digits", "code,parity\n0,even\n").unwrap();
    catalog.put_public_table(&newer, true).unwrap();
    let error = setup.gate.ask(&joined).err().unwrap();
    assert!(matches!(error.kind(), ErrorKind::KeyTaken { .. }), "{error}");
    let again = answered(setup.ask(&request("flights", &joined.question, "1000000")));
    assert!((again.value(0, 0).unwrap() - 70.0).abs() < 0.01 && (first.value(0, 0).unwrap() - 280.0).abs() < 0.01);
}

#[test]
fn a_public_table_has_the_types_of_its_fields() {
    let setup = Setup::new();
    let table = public(&setup, "airlines", &airlines_csv()).unwrap();
    let known = |at: usize| {
        let column = &table.columns()[at];
        let bounds =
            column.bounds().map(|bounds| [bounds.low(), bounds.high(), bounds.grid()].map(|end| end.to_string()));
        (column.name().to_string(), column.kind().name(), bounds.map(|bounds| bounds.join(" ")))
    };
    let bounds = |text: &str| Some(text.to_string());
    assert_eq!(known(0), ("code".to_string(), "text", None));
    assert_eq!(known(2), ("aircraft".to_string(), "integer", bounds("-7 900 1")));
    assert_eq!(known(3), ("rate".to_string(), "decimal", bounds("-0.5 2 0.01")));
    assert_eq!(known(4), ("low_cost".to_string(), "boolean", None));
    assert_eq!(known(5).1, "date");
    let texts = |at: usize| table.columns()[at].categories().unwrap().iter().map(Value::plain).collect::<Vec<_>>();
    assert_eq!(texts(1), ["lost", "one", "sky"]);
    assert_eq!(texts(6), ["x, \"y\""]);
    assert_eq!(table.row_count(), AIRLINES.len() + 1);
}

/// Tables of airports have coordinates with more digits than engines have in common.
#[test]
fn long_fractions_keep_six_digits() {
    let setup = Setup::new();
    let airports = "code,lat,lon\nAAA,41.13047222222,-80.61958333333\nBBB,-0.0000005,1e-9\n";
    let table = public(&setup, "airports", airports).unwrap();
    let values = |at: usize| table.columns()[at].categories().unwrap().iter().map(Value::plain).collect::<Vec<_>>();
    assert_eq!(values(1), ["0", "41.130472"]);
    assert_eq!(values(2), ["-80.619583", "0"]);
}

#[test]
fn what_is_no_public_table_is_refused() {
    let setup = Setup::new();
    let many = format!("code\n{}", (0..10_001).map(|row| format!("{row}\n")).collect::<String>());
    let long =
        format!("code,text\n{}", (0..1100).map(|row| format!("{row},{}\n", "x".repeat(999))).collect::<String>());
    let wide = (0..65).map(|column| format!("c{column}")).collect::<Vec<_>>().join(",");
    for (csv, why) in [
        ("code\n", "it has 0 rows"),
        (many.as_str(), "at most 10000 rows"),
        (long.as_str(), "at most 10000 rows and 1048576 bytes"),
        (format!("{wide}\n{wide}\n").as_str(), "it has 65 columns"),
        ("code,name\n1,\n2,\n", "no value in any row"),
        ("code,Code\n1,2\n", "have the same name"),
        ("code,name\n1\n", "line 2: it has 1 fields, and the header 2"),
        ("code,rate\n1,1.5\n2,1e15\n", "line 3, column \"rate\""),
        (format!("code\n{}\n", "x".repeat(1001)).as_str(), "longer than 1000 bytes"),
    ] {
        let error = public(&setup, "codes", csv).unwrap_err();
        assert!(error.is_input() && error.to_string().contains(why), "{error}");
    }
}

#[test]
fn a_name_belongs_to_one_table() {
    let setup = setup();
    let catalog = setup.gate.catalog();
    let table = |name: &str| public(&setup, name, "code\n1\n").unwrap();
    let error = |result: Result<(), Error>| result.unwrap_err();
    assert!(matches!(error(catalog.put_public_table(&table("Flights"), true)).kind(), ErrorKind::NameTaken(..)));
    assert!(matches!(error(catalog.put_public_table(&table("DIGITS"), false)).kind(), ErrorKind::PublicTableExists(_)));
    let dataset = setup.registration("digits", "code\n1\n", "", Some(rules(FilterRule::Basic, "1,1e-6")));
    assert!(matches!(setup.register(dataset.clone()).unwrap_err().kind(), ErrorKind::NameTaken(..)));
    catalog.remove_public_table(&account("digits")).unwrap();
    assert!(matches!(error(catalog.remove_public_table(&account("digits"))).kind(), ErrorKind::NoPublicTable(_)));
    setup.register(dataset).unwrap();
    let names: Vec<String> = catalog.public_tables().unwrap().iter().map(|table| table.name().to_string()).collect();
    assert_eq!(names, ["airlines", "alliances", "calendar", "piers"]);
    assert_eq!(
        catalog.public_table(&account("airlines")).unwrap(),
        public(&setup, "airlines", &airlines_csv()).unwrap()
    );
}
