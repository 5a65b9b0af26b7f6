//! How joins are read, and what is refused.

use super::{add_public, prepare, setup};
use crate::common::{Setup, rules};
use taximeter_accounting::FilterRule;

#[test]
fn one_join_is_written_in_one_way() {
    let setup = setup();
    for (question, canonical) in [
        (
            "select A.Alliance, count(*) from FLIGHTS as f inner join AIRLINES a on (a.CODE = f.carrier) group by alliance",
            "SELECT alliance, COUNT(*) FROM flights INNER JOIN airlines ON (airlines.code = carrier) GROUP BY alliance",
        ),
        (
            "SELECT COUNT(*) FROM flights f LEFT JOIN digits d USING (CODE) WHERE d.code IS NULL AND f.code = 3 AND code > 1",
            "SELECT COUNT(*) FROM flights LEFT JOIN digits USING(code) WHERE digits.code IS NULL AND code = 3 AND code > 1",
        ),
        (
            "SELECT COUNT(*) FROM flights x JOIN airlines y ON carrier = y.code JOIN airlines z ON carrier = z.code WHERE z.low_cost",
            "SELECT COUNT(*) FROM flights JOIN airlines ON carrier = airlines.code JOIN airlines AS \"airlines 2\" ON carrier = \
             \"airlines 2\".code WHERE \"airlines 2\".low_cost",
        ),
        (
            "SELECT COUNT(*) FROM airlines a JOIN flights f ON f.carrier = a.code",
            "SELECT COUNT(*) FROM flights JOIN airlines ON carrier = airlines.code",
        ),
        (
            "SELECT COUNT(*) FROM flights JOIN digits ON flights.code = digits.code",
            "SELECT COUNT(*) FROM flights JOIN digits ON flights.code = digits.code",
        ),
    ] {
        let written = |text: &str| match prepare(&setup, text) {
            Ok(prepared) => prepared.canonical().to_string(),
            Err(error) => panic!("{text}: {error}"),
        };
        assert_eq!(written(question), canonical, "{question}");
        assert_eq!(written(canonical), canonical, "{question}");
    }
}

#[test]
fn what_cannot_be_joined_is_refused_where_it_is_written() {
    let setup = setup();
    setup
        .register(setup.registration("people", "carrier\nAA\n", "", Some(rules(FilterRule::Basic, "1,1e-6"))))
        .unwrap();
    add_public(&setup, "again", "code,name\nAA,x\nAA,x\n");
    for (question, at, why) in [
        ("SELECT COUNT(*) FROM flights f JOIN flights g ON f.code = g.code", "flights g", "cannot be joined to itself"),
        ("SELECT COUNT(*) FROM flights f JOIN people p ON f.carrier = p.carrier", "people", "of people is a row"),
        ("SELECT COUNT(*) FROM flights JOIN nothing ON carrier = x", "nothing", "neither a public table nor"),
        ("SELECT COUNT(*) FROM flights JOIN again a ON carrier = a.code", "again", "has no column that could be a key"),
        ("SELECT COUNT(*) FROM flights JOIN airlines ON carrier = alliance", "airlines", "its keys are code"),
        ("SELECT COUNT(*) FROM flights JOIN airlines a ON carrier > a.code", "carrier", "equality of one column"),
        ("SELECT COUNT(*) FROM flights JOIN airlines a ON carrier = a.code AND low_cost", "carrier", "after WHERE"),
        ("SELECT COUNT(*) FROM flights JOIN airlines a ON a.code = a.note", "a.code", "equality of one column"),
        ("SELECT COUNT(*) FROM flights JOIN airlines a ON upper(carrier) = a.code", "upper", "equality of one column"),
        ("SELECT COUNT(*) FROM flights JOIN airlines a ON delay = a.code", "airlines", "join columns of one type"),
        ("SELECT COUNT(*) FROM flights JOIN airlines ON carrier = code", "code", "several tables have a column"),
        ("SELECT COUNT(*) FROM flights JOIN airlines", "airlines", "say which columns are equal"),
        ("SELECT COUNT(*) FROM flights JOIN airlines USING (carrier)", "carrier", "both tables must have"),
        ("SELECT COUNT(*) FROM flights, airlines WHERE carrier = airlines.code", "airlines", "JOIN … ON"),
        ("SELECT COUNT(*) FROM flights CROSS JOIN airlines", "CROSS", "other joins are not supported"),
        ("SELECT COUNT(*) FROM flights NATURAL JOIN digits", "NATURAL", "other joins are not supported"),
        ("SELECT COUNT(*) FROM flights RIGHT JOIN digits USING (code)", "RIGHT", "other joins are not supported"),
        ("SELECT COUNT(*) FROM flights FULL JOIN digits USING (code)", "FULL", "other joins are not supported"),
        (
            "SELECT COUNT(*) FROM airlines a LEFT JOIN flights f ON f.carrier = a.code",
            "airlines",
            "ask FROM \"flights\"",
        ),
        (
            "SELECT COUNT(*) FROM flights JOIN digits x USING (code) JOIN airlines x ON carrier = x.code",
            "x ON",
            "two tables are called",
        ),
        (
            "SELECT COUNT(*) FROM flights f JOIN airlines a ON f.carrier = a.code WHERE a.carrier = 'x'",
            "carrier = 'x'",
            "has no column",
        ),
        (
            "SELECT COUNT(*) FROM flights f JOIN airlines a ON f.carrier = a.code WHERE b.code = 'x'",
            "b.code",
            "not found",
        ),
        ("SELECT a.note, COUNT(*) FROM flights f JOIN airlines a ON f.carrier = a.code", "note", "must be in GROUP BY"),
        (
            "SELECT COUNT(*) FROM flights JOIN digits a USING (code) JOIN digits b USING (code) JOIN digits c USING (code) JOIN digits d \
             USING (code)",
            "digits d",
            "at most 3 public tables",
        ),
    ] {
        let error = prepare(&setup, question).err().unwrap_or_else(|| panic!("{question} is answered"));
        assert!(error.to_string().contains(why), "{question}: {error}");
        let begins = error.position().map(|position| &question[position - 1..]);
        assert!(begins.is_some_and(|rest| rest.starts_with(at)), "{question}: {error}, at {begins:?}");
    }
}

#[test]
fn the_protected_unit_is_not_shown_through_a_key_that_equals_it() {
    let setup = Setup::new();
    let schema = "unit = { column = \"person\", max_rows_per_unit = 1 }";
    setup.add("flights", "person,age\nann,1\nbob,2\n", schema, "10,1e-6");
    add_public(&setup, "towns", "name,town\nann,Ulm\nbob,Bonn\n");
    let from = "FROM flights JOIN towns ON person = name GROUP BY";
    prepare(&setup, &format!("SELECT town, COUNT(*) {from} town")).unwrap();
    let error = prepare(&setup, &format!("SELECT name, COUNT(*) {from} name")).err().unwrap();
    assert!(error.to_string().contains("what is protected"), "{error}");
}
