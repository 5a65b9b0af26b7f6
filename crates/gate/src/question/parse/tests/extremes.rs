//! The largest questions that are read, the smallest that are too large, and texts that are no questions at all.

use proptest::prelude::*;

use super::*;
use crate::question::parse::limits;

const HEAD: &str = "SELECT COUNT(*) FROM census WHERE ";
/// SELECT COUNT ( * ) FROM census WHERE.
const HEAD_TOKENS: usize = 8;

fn chain(part: &str, word: &str, times: usize) -> String {
    vec![part; times].join(word)
}

fn around(open: &str, inner: &str, close: &str, times: usize) -> String {
    format!("{}{inner}{}", open.repeat(times), close.repeat(times))
}

/// Conditions with what is said about them; nothing, if they are read. The refused ones are far beyond a limit, or just.
fn extremes() -> Vec<(String, Option<&'static str>)> {
    let list = |count: usize| (0..count).map(|n| n.to_string()).collect::<Vec<_>>().join(",");
    let (few, many) = (Some("conditions"), Some("words and signs"));
    let (deep, deeply) = (Some("deep"), Some("nested too deeply"));
    vec![
        (chain("employed", " AND ", 500), None),
        (chain("employed", " OR ", 500), None),
        (chain("age BETWEEN 1 AND 2", " AND ", 250), None),
        (chain("employed", " AND ", 501), few),
        (chain("age BETWEEN 1 AND 2", " OR ", 251), few),
        (chain("employed", " OR ", 601), few),
        (chain("employed AND employed", " OR ", 301), few),
        (chain("b", " OR ", 996), few),
        (chain("b", " OR ", 1_100), many),
        (around("(", "employed", ")", 32), None),
        (around("(", "employed", ")", 33), deep),
        (around("(", "employed", ")", 900), deep),
        (around("(", "employed", ")", 4_000), many),
        ("(".repeat(9_000), many),
        (around("NOT ", "employed", "", 32), None),
        (around("NOT ", "employed", "", 33), deep),
        (around("NOT ", "employed", "", 1_900), deep),
        (around("NOT (", "employed", ")", 32), None),
        (around("NOT (", "employed", ")", 33), deep),
        (around("NOT NOT NOT (", "employed", ")", 32), deeply),
        (around("employed AND (employed OR (", "employed", "))", 16), None),
        (around("employed AND (NOT employed OR NOT (", "employed", "))", 16), None),
        (around("employed AND (employed OR (", "employed", "))", 17), deep),
        (format!("{}employed", "employed = NOT ".repeat(600)), deeply),
        (chain("b", "<", 997), many),
        (format!("age IN {}", around("(", "1", ")", 32)), None),
        (format!("age IN ({})", list(1_000)), None),
        (format!("age IN ({})", list(1_001)), Some("more than 1000 literals")),
        (format!("age = 1 OR age IN ({})", list(1_000)), Some("more than 1000 literals")),
        (format!("age = {}1", ",".repeat(9_000)), Some("expected")),
        (format!("name = '{}'", "é".repeat(500)), None),
        (format!("name = '{}a'", "é".repeat(500)), Some("longer than 1000 bytes")),
        (format!("name LIKE '{}'", "é".repeat(50)), None),
        (format!("name LIKE '{}a'", "é".repeat(50)), Some("longer than 100 bytes")),
        (chain("name LIKE 'a%'", " OR ", 8), None),
        (chain("name LIKE 'a%'", " OR ", 9), Some("more than 8 LIKEs")),
        (format!("age = {}", "9".repeat(9_000)), Some("64 bits")),
        (format!("age = 0.{}", "9".repeat(9_000)), Some("longer than 64 characters")),
        (format!("income = {}", "9".repeat(9_000)), Some("finite")),
        (format!("{} = 1", "a".repeat(9_000)), Some("not found")),
    ]
}

/// The same of everything that nests, in an expression; whatever is said, it is said.
fn nested() -> Vec<String> {
    let forms = [
        ("(", ")"),
        ("-", ""),
        ("- ", ""),
        ("+ ", ""),
        ("ABS(", ")"),
        ("FLOOR(", ")"),
        ("CEIL(", " / 2)"),
        ("ROUND(", ")"),
        ("ROUND(", " / 3)"),
        ("TRUNC(", " / 3, 1)"),
        ("LEAST(age, ", ")"),
        ("GREATEST(", ", wage)"),
        ("COALESCE(", ", 1)"),
        ("NULLIF(", ", 1)"),
        ("IF(employed, ", ", 1)"),
        ("IF(", " > 1, 1, 2)"),
        ("CASE WHEN employed THEN ", " END"),
        ("CASE WHEN ", " > 1 THEN 1 ELSE 2 END"),
        ("CASE ", " WHEN 1 THEN 2 END"),
        ("CASE age WHEN 1 THEN 1 ELSE ", " END"),
        ("CAST(", " AS INTEGER)"),
        ("", "::int"),
        ("WIDTH_BUCKET(", ", 0, 10, 5)"),
        ("1 + ", ""),
        ("", " + 1"),
        ("", " * 2"),
        ("", " - age"),
        ("", " = 1"),
        ("1 = ", ""),
        ("NOT ", ""),
        ("NOT 1 = ", ""),
        ("", " IS NULL"),
        ("(", ") IS NOT TRUE"),
        ("(", ") IN (1, 2)"),
        ("1 IN (", ")"),
        ("(", ") BETWEEN 1 AND 2"),
        ("(", ") BETWEEN SYMMETRIC 1 AND 2"),
        ("", " BETWEEN SYMMETRIC 1 AND 2"),
        ("1 BETWEEN SYMMETRIC 0 AND ", ""),
        ("(", ") IS DISTINCT FROM 1"),
        ("EXTRACT(YEAR FROM ", ")"),
        ("DATE_TRUNC('month', ", ")"),
        ("LOWER(", ")"),
        ("SUM(", ")"),
        ("(SELECT AVG(", ") FROM census)"),
        ("(SELECT AVG(age) FROM census WHERE age > ", ")"),
        ("SUM(age) FILTER (WHERE ", " > 1)"),
        ("[", "]"),
        ("{", "}"),
        ("ARRAY(", ")"),
        ("EXISTS (SELECT ", ")"),
    ];
    let depths = [1, 2, 7, 20, 31, 33, 60, 130, 900, 1_990];
    forms.iter().flat_map(|(open, close)| depths.map(|depth| around(open, "age", close, depth))).collect()
}

/// Runs on a stack of this many bytes.
fn on_a_stack_of(size: usize, work: impl FnOnce() + Send + 'static) {
    std::thread::Builder::new().stack_size(size).spawn(work).unwrap().join().unwrap();
}

/// Half the size of the smallest that threads have by default.
const SMALL: usize = 1 << 20;

#[test]
fn the_largest_questions_are_read_and_larger_ones_refused_on_a_small_stack() {
    on_a_stack_of(SMALL, || {
        for (condition, refusal) in extremes() {
            let shown: String = condition.chars().take(60).collect();
            match (read(&format!("{HEAD}{condition}")), refusal) {
                (Ok(question), None) => {
                    assert_eq!(question.clone(), question);
                    assert!(question.canonical.len() > 40);
                }
                (Err(error), Some(fragment)) => assert!(error.to_string().contains(fragment), "{shown}: {error}"),
                (Ok(_), Some(_)) => panic!("{shown} was read"),
                (Err(error), None) => panic!("{shown}: {error}"),
            }
        }
    });
}

/// Where each depth may stand: whatever it is, it is read or refused with a place, in time and on a small stack.
#[test]
fn whatever_nests_is_read_or_refused_on_a_small_stack() {
    on_a_stack_of(2 * SMALL, || {
        for expression in nested() {
            for text in [
                format!("SELECT SUM({expression}) FROM census"),
                format!("SELECT {expression} FROM census"),
                format!("{HEAD}{expression} > 5"),
                format!("{HEAD}{expression}"),
                format!("SELECT {expression}, COUNT(*) FROM census GROUP BY 1"),
                format!("SELECT COUNT(*) FROM census HAVING {expression} > 5"),
                format!("SELECT COUNT(*) FROM census ORDER BY {expression}"),
            ] {
                match read(&text) {
                    Ok(question) => assert_eq!(read(&question.canonical), Ok(question)),
                    Err(error) => {
                        assert!((1..=text.chars().count() + 1).contains(&error.position().unwrap()), "{error}")
                    }
                }
            }
        }
    });
}

/// Some forms are written more than once in an engine: what is short here may be long there.
#[test]
fn expressions_that_grow_in_an_engine_are_refused() {
    for (open, close) in [("ROUND(", " / 3)"), ("LEAST(1.5, ", " / 3)"), ("WIDTH_BUCKET(", ", 0, 100, 90)")] {
        assert!(read(&format!("SELECT SUM({}) FROM census", around(open, "age", close, 2))).is_ok(), "{open}");
        let error = read(&format!("SELECT SUM({}) FROM census", around(open, "age", close, 20))).unwrap_err();
        assert!(error.to_string().contains("too long") || error.to_string().contains("too large"), "{open}: {error}");
    }
    for (sign, part) in [(" + ", "age"), (" = ", "b"), (" * ", "employed")] {
        let error = read(&format!("SELECT SUM({}) FROM census", chain(part, sign, 300))).unwrap_err();
        assert!(error.to_string().contains("more than 64 deep"), "{error}");
    }
    assert!(read(&format!("SELECT SUM({}) FROM census", chain("age", " + ", 60))).is_ok());
}

/// An alias that stands for itself, and aliases of which each doubles the one before.
#[test]
fn aliases_of_aliases_end() {
    let doubled: Vec<String> = (1..60).map(|n| format!("a{} + a{0} AS a{n}", n - 1)).collect();
    for text in [
        "SELECT x AS y, y AS x FROM census".to_string(),
        "SELECT COUNT(*) + n AS n FROM census".to_string(),
        format!("SELECT COUNT(*) AS a0, {} FROM census", doubled.join(", ")),
    ] {
        let error = read(&text).unwrap_err().to_string();
        assert!(error.contains("too complicated") || error.contains("more than 64 deep"), "{text}: {error}");
    }
}

#[test]
fn limits_are_refused_where_they_are_passed() {
    let at = |condition: String| read(&format!("{HEAD}{condition}")).unwrap_err().position().unwrap() - HEAD.len();
    assert_eq!(at(format!("{}employed", "(".repeat(33))), 33);
    assert_eq!(at(format!("{}employed", "NOT ".repeat(33))), 32 * 4 + 1);
    assert_eq!(at("employed AND ".repeat(600) + "employed"), limits::CONDITIONS * 13 + 1);
    assert_eq!(at(format!("age IN ({}1)", "1,".repeat(1_200))), 8 + 2 * limits::LITERALS + 1);
    assert_eq!(at("1 ".repeat(3_000)), 2 * (limits::TOKENS - HEAD_TOKENS) + 1);
}

#[test]
fn a_text_of_ten_thousand_bytes_is_read_and_a_longer_one_is_not() {
    let text = |letters: usize| format!("{HEAD}name = 'é'{}", " ".repeat(letters - HEAD.len() - 11));
    assert_eq!(text(limits::BYTES).len(), limits::BYTES);
    assert!(read(&text(limits::BYTES)).is_ok());
    // One character has two bytes.
    assert_eq!(read(&text(limits::BYTES + 1)).unwrap_err().position(), Some(limits::BYTES));
    assert!(read(&text(5_000_000)).unwrap_err().to_string().contains("10000 bytes"));
}

/// Pieces of questions and of what is none.
fn piece() -> impl Strategy<Value = String> {
    let known = [
        "SELECT",
        "COUNT",
        "SUM",
        "AVG",
        "(",
        ")",
        "*",
        "FROM",
        "census",
        "WHERE",
        "AND",
        "OR",
        "NOT",
        "IN",
        "BETWEEN",
        "LIKE",
        "IS",
        "NULL",
        "TRUE",
        "GROUP",
        "BY",
        "ORDER",
        "LIMIT",
        "AS",
        "DISTINCT",
        "ASC",
        "DESC",
        ",",
        ";",
        ".",
        "=",
        "<>",
        "<",
        "<=",
        ">",
        ">=",
        "+",
        "-",
        "1",
        "17.5",
        "1e400",
        "'a'",
        "'%'",
        "\"age\"",
        "age",
        "name",
        "employed",
        "region",
        "person",
        "date",
        "--",
        "/*",
        "*/",
        "::",
        "$1",
        "?",
        "CASE",
        "WHEN",
        "THEN",
        "ELSE",
        "END",
        "INTERVAL",
        "WITH",
        "UNION",
        "ALL",
        "JOIN",
        "FILTER",
        "OVER",
        "HAVING",
        "SYMMETRIC",
        "ILIKE",
        "EXTRACT",
        "YEAR",
        "CAST",
        "INTEGER",
        "DATE",
        "TIMESTAMP",
        "'2024-02-29'",
        "FLOOR",
        "ROUND",
        "LEAST",
        "COALESCE",
        "NULLIF",
        "MEDIAN",
        "WITHIN",
        "OFFSET",
        "FETCH",
        "FIRST",
        "ROWS",
        "ONLY",
        "wage",
        "born",
        "seen",
        "/",
        "%",
        "0",
        "\n",
        "'",
        "\"",
        "é",
        "\0",
        "0x",
        "E'a'",
        "[",
        "]",
        "{",
        "}",
        "^",
        "|",
        "@",
        "#",
        "!",
        "~",
        "\\",
    ];
    prop_oneof![9 => proptest::sample::select(known.to_vec()).prop_map(String::from), 1 => any::<char>().prop_map(String::from)]
}

proptest! {
    #[test]
    fn no_text_does_harm(pieces in proptest::collection::vec(piece(), 0..40), head in 0..3) {
        let head = ["", HEAD, "SELECT SUM("][head as usize];
        let text = format!("{head}{}", pieces.join(" "));
        match read(&text) {
            Ok(question) => prop_assert_eq!(read(&question.canonical), Ok(question)),
            Err(error) => {
                let at = error.position().unwrap();
                prop_assert!((1..=text.chars().count() + 1).contains(&at), "{text}: {error}");
            }
        }
    }

    #[test]
    fn no_string_does_harm(text in any::<String>()) {
        let _ = read(&text);
        let _ = read(&format!("{HEAD}{text}"));
    }
}
