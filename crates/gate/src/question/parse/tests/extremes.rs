//! The largest questions that are read, the smallest that are too large, and texts that are no questions at all.

use proptest::prelude::*;

use super::*;
use crate::question::parse::limits;

const HEAD: &str = "SELECT COUNT(*) FROM census WHERE ";
/// SELECT COUNT ( * ) FROM census WHERE.
const HEAD_TOKENS: usize = 8;

/// Conditions with what is said about them; nothing, if they are read. The refused ones are far beyond a limit, or just.
fn extremes() -> Vec<(String, Option<&'static str>)> {
    let chain = |part: &str, word: &str, times: usize| vec![part; times].join(word);
    let around = |open: &str, inner: &str, close: &str, times: usize| {
        format!("{}{inner}{}", open.repeat(times), close.repeat(times))
    };
    let list = |count: usize| (0..count).map(|n| n.to_string()).collect::<Vec<_>>().join(",");
    let (few, many) = (Some("conditions"), Some("words and signs"));
    let deep = Some("deep");
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
        (around("NOT NOT NOT (", "employed", ")", 32), Some("nested too deeply")),
        (around("employed AND (employed OR (", "employed", "))", 16), None),
        (around("employed AND (NOT employed OR NOT (", "employed", "))", 16), None),
        (around("employed AND (employed OR (", "employed", "))", 17), deep),
        (format!("{}employed", "employed = NOT ".repeat(600)), Some("nested too deeply")),
        (chain("b", "=", 996), Some("only a column and a literal")),
        (chain("b", "<", 997), many),
        (format!("age{}", " IS NULL".repeat(990)), Some("this condition is about a column")),
        (format!("age{}", " IN (1)".repeat(400)), Some("this condition is about a column")),
        (format!("age{}", " BETWEEN 1 AND 2".repeat(400)), Some("this condition is about a column")),
        (chain("name", " LIKE ", 900), Some("about a column")),
        (around("age IN (", "1", ")", 32), Some("a literal is needed")),
        (around("age IN ((", "1", "))", 16), Some("a literal is needed")),
        (format!("age IN {}", around("(", "1", ")", 32)), None),
        (around("COUNT(", "1", ")", 32), Some("conditions on columns")),
        (format!("age IN ({})", list(1_000)), None),
        (format!("age IN ({})", list(1_001)), Some("more than 1000 literals")),
        (format!("age = 1 OR age IN ({})", list(1_000)), Some("more than 1000 literals")),
        (format!("age = {}1", ",".repeat(9_000)), Some("expected")),
        (format!("name = '{}'", "é".repeat(500)), None),
        (format!("name = '{}a'", "é".repeat(500)), Some("longer than 1000 bytes")),
        (format!("name LIKE '{}'", "é".repeat(50)), None),
        (format!("name LIKE '{}a'", "é".repeat(50)), Some("longer than 100 bytes")),
        (format!("age = {}", "9".repeat(9_000)), Some("64 bits")),
        (format!("age = 0.{}", "9".repeat(9_000)), Some("longer than 64 characters")),
        (format!("income = {}", "9".repeat(9_000)), Some("finite")),
        (format!("{} = 1", "a".repeat(9_000)), Some("there is no column")),
        (format!("age IN (SELECT {}", "(".repeat(30)), Some("sub-queries")),
    ]
}

/// Everything that is ever done with a question, on a stack half the size of the smallest that threads have by default.
fn on_a_small_stack(work: impl FnOnce() + Send + 'static) {
    std::thread::Builder::new().stack_size(1 << 20).spawn(work).unwrap().join().unwrap();
}

#[test]
fn the_largest_questions_are_read_and_larger_ones_refused_on_a_small_stack() {
    on_a_small_stack(|| {
        for (condition, refusal) in extremes() {
            let shown: String = condition.chars().take(60).collect();
            match (read(&format!("{HEAD}{condition}")), refusal) {
                (Ok(question), None) => {
                    assert_eq!(question.clone(), question);
                    assert!(question.canonical(DATASET, &schema()).len() > 40);
                }
                (Err(error), Some(fragment)) => assert!(error.to_string().contains(fragment), "{shown}: {error}"),
                (Ok(_), Some(_)) => panic!("{shown} was read"),
                (Err(error), None) => panic!("{shown}: {error}"),
            }
        }
    });
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
        "SELECT", "COUNT", "SUM", "AVG", "(", ")", "*", "FROM", "census", "WHERE", "AND", "OR", "NOT", "IN", "BETWEEN",
        "LIKE", "IS", "NULL", "TRUE", "GROUP", "BY", "ORDER", "LIMIT", "AS", "DISTINCT", "ASC", "DESC", ",", ";", ".",
        "=", "<>", "<", "<=", ">", ">=", "+", "-", "1", "17.5", "1e400", "'a'", "'%'", "\"age\"", "age", "name",
        "employed", "region", "person", "date", "--", "/*", "*/", "::", "$1", "?", "CASE", "INTERVAL", "WITH", "UNION",
        "JOIN", "FILTER", "\n", "'", "\"", "é", "\0", "0x", "E'a'", "[", "]", "{", "}", "^", "|", "@", "#", "!", "~",
        "\\",
    ];
    prop_oneof![9 => proptest::sample::select(known.to_vec()).prop_map(String::from), 1 => any::<char>().prop_map(String::from)]
}

proptest! {
    #[test]
    fn no_text_does_harm(pieces in proptest::collection::vec(piece(), 0..40), head in any::<bool>()) {
        let text = format!("{}{}", if head { HEAD } else { "" }, pieces.join(" "));
        match read(&text) {
            Ok(question) => prop_assert_eq!(read(&question.canonical(DATASET, &schema())), Ok(question)),
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
