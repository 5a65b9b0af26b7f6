//! What a question is written as is read as the same question.

use proptest::prelude::*;

use super::*;

/// One of some texts.
fn of(texts: &'static [&'static str]) -> impl Strategy<Value = String> + Clone {
    proptest::sample::select(texts).prop_map(String::from)
}

fn column() -> impl Strategy<Value = String> + Clone {
    of(&["age", "AGE", "\"age\"", "wage", "größe", "\"größe\"", "\"_Odd \"\"one\"\"\"", "census.age", "income"])
}

fn date() -> impl Strategy<Value = String> + Clone {
    of(&[
        "born",
        "seen",
        "DATE '2001-02-03'",
        "CAST('2001-02-03' AS DATE)",
        "born + 3",
        "DATE(seen)",
        "date_trunc('month', born)",
    ])
}

/// An expression of a number.
fn number() -> BoxedStrategy<String> {
    let leaf = prop_oneof![
        4 => column(),
        2 => (0u32..5000).prop_map(|n| n.to_string()),
        1 => (0u32..50_000).prop_map(|n| format!("{}.{}", n / 100, n % 100)),
        1 => date().prop_map(|date| format!("extract(year FROM {date})")),
        1 => Just("employed".to_string()),
        1 => Just("NULL".to_string()),
    ];
    let expression = leaf.prop_recursive(3, 12, 3, |inner| {
        let pair = (inner.clone(), inner.clone());
        prop_oneof![
            (pair.clone(), of(&["+", "-", "*"])).prop_map(|((one, other), sign)| format!("{one} {sign} {other}")),
            (inner.clone(), 1u32..20).prop_map(|(one, by)| format!("({one}) / {by}")),
            (inner.clone(), 1u32..20).prop_map(|(one, by)| format!("CAST({one} AS INTEGER) % {by}")),
            inner.clone().prop_map(|one| format!("- {one}")),
            inner.clone().prop_map(|one| format!("3 - - ({one})")),
            inner.clone().prop_map(|one| format!("({one})")),
            (of(&["abs", "FLOOR", "ceil", "Round", "trunc"]), inner.clone())
                .prop_map(|(name, one)| format!("{name}({one})")),
            (inner.clone(), 0..3).prop_map(|(one, places)| format!("round({one}, {places})")),
            (of(&["least", "GREATEST", "coalesce", "NULLIF"]), pair.clone())
                .prop_map(|(name, (one, other))| format!("{name}({one}, {other})")),
            (condition_of(inner.clone()), pair.clone())
                .prop_map(|(condition, (one, other))| format!("CASE WHEN {condition} THEN {one} ELSE {other} END")),
            pair.prop_map(|(one, other)| format!("case {one} when 1 then {other} end")),
            inner.clone().prop_map(|one| format!("{one}::numeric")),
            condition_of(inner).prop_map(|condition| format!("({condition})")),
        ]
    });
    expression.boxed()
}

/// A condition on numbers like these.
fn condition_of(number: impl Strategy<Value = String> + Clone + 'static) -> BoxedStrategy<String> {
    let negation = of(&["", "NOT "]);
    let pair = (number.clone(), number.clone());
    prop_oneof![
        (pair.clone(), of(&["=", "<>", "!=", "<", "<=", ">", ">="]))
            .prop_map(|((one, other), sign)| format!("{one} {sign} {other}")),
        (number.clone(), negation.clone(), of(&["", "SYMMETRIC "]), pair.clone())
            .prop_map(|(one, not, symmetric, (low, high))| format!("{one} {not}BETWEEN {symmetric}{low} AND {high}")),
        (number.clone(), negation.clone()).prop_map(|(one, not)| format!("{one} IS {not}NULL")),
        (number.clone(), negation.clone(), pair).prop_map(|(one, not, (a, b))| format!("{one} {not}IN ({a}, {b})")),
        (number, negation.clone()).prop_map(|(one, not)| format!("{one} IS {not}DISTINCT FROM 5")),
        (of(&["name", "lower(name)", "UPPER(region)"]), negation.clone(), "[^\0\\\\%']{0,5}%?")
            .prop_map(|(text, not, pattern)| format!("{text} {not}LIKE '{pattern}'")),
        (of(&["name", "region"]), "[^\0']{0,5}").prop_map(|(name, text)| format!("{name} = '{text}'''")),
        (of(&["=", "<", ">="]), date()).prop_map(|(sign, date)| format!("born {sign} {date}")),
        of(&[
            "employed",
            "b IS NOT TRUE",
            "name ILIKE 'a%'",
            "region IN ('north', 'it''s')",
            "seen < '2024-05-06 07:08:09'"
        ]),
    ]
    .boxed()
}

fn condition() -> BoxedStrategy<String> {
    let condition = condition_of(number()).prop_recursive(2, 6, 2, |inner| {
        prop_oneof![
            (inner.clone(), of(&["AND", "or"]), inner.clone())
                .prop_map(|(one, word, other)| format!("{one} {word} {other}")),
            inner.clone().prop_map(|one| format!("NOT ({one})")),
            inner.prop_map(|one| format!("({one}) IS UNKNOWN")),
        ]
    });
    condition.boxed()
}

fn aggregate() -> BoxedStrategy<String> {
    let of_one = of(&["SUM", "avg", "count", "stddev", "VAR_POP", "median", "max", "COUNT_IF"]);
    prop_oneof![
        2 => of(&["COUNT(*)", "count(1)", "COUNT(DISTINCT person)", "COUNT(DISTINCT name)", "count(name)"]),
        4 => (of_one, number()).prop_map(|(name, of)| format!("{name}({of})")),
        1 => (number(), number()).prop_map(|(y, x)| format!("corr({y}, {x})")),
        1 => number().prop_map(|of| format!("percentile_cont(0.25) WITHIN GROUP (ORDER BY {of} DESC)")),
        1 => (number(), condition()).prop_map(|(of, condition)| format!("SUM({of}) FILTER (WHERE {condition})")),
        1 => condition().prop_map(|condition| format!("COUNT(DISTINCT CASE WHEN {condition} THEN person END)")),
        1 => condition().prop_map(|condition| format!("(SELECT COUNT(*) FROM census x WHERE {condition})")),
    ]
    .boxed()
}

fn term() -> BoxedStrategy<String> {
    let term = aggregate().prop_recursive(2, 4, 2, |inner| {
        prop_oneof![
            (inner.clone(), of(&["+", "-", "*", "/"]), inner.clone())
                .prop_map(|(one, sign, other)| format!("{one} {sign} ({other})")),
            inner.clone().prop_map(|one| format!("round({one}, 2)")),
            inner.clone().prop_map(|one| format!("- {one} * 100.0")),
            (inner.clone(), inner).prop_map(|(one, other)| format!("CASE WHEN {one} > 5 THEN {other} END")),
            Just("SUM(COUNT(*)) OVER ()".to_string()),
        ]
    });
    term.boxed()
}

fn key() -> impl Strategy<Value = String> {
    prop_oneof![
        of(&[
            "region",
            "employed",
            "zone",
            "b",
            "name",
            "EXTRACT(YEAR FROM born)",
            "date_trunc('month', seen)",
            "Upper(region)"
        ]),
        condition(),
        number().prop_map(|of| format!("floor(({of}) / 100)")),
        condition().prop_map(|condition| format!("CASE WHEN {condition} THEN 'yes' ELSE 'no' END")),
    ]
}

fn question() -> impl Strategy<Value = String> {
    let tail = of(&[
        "",
        "ORDER BY 1",
        "ORDER BY 1 DESC, k LIMIT 5",
        "limit 3 offset 2",
        "OFFSET 1 ROW FETCH FIRST 2 ROWS ONLY",
        ";",
    ]);
    let parts =
        (term(), proptest::option::of(key()), proptest::option::of(condition()), proptest::option::of(term()), tail);
    let question = parts.prop_map(|(term, key, filter, having, tail)| {
        let filter = filter.map_or(String::new(), |filter| format!("WHERE {filter}"));
        let having = having.map_or(String::new(), |having| format!("HAVING {having} > 5"));
        let (shown, grouped) = match key {
            Some(key) => (format!(", {key} AS k"), "GROUP BY k"),
            None => (", 'all' AS k".to_string(), ""),
        };
        format!("SELECT {term} AS t{shown} /* a */ FROM census c -- b\n{filter} {grouped} {having} {tail}")
    });
    (question, any::<bool>()).prop_map(|(question, twice)| match twice {
        true => format!("SELECT COUNT(*), 'all' FROM census UNION ALL {question}"),
        false => question,
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(taximeter_testing::random_inputs(3_000)))]

    #[test]
    fn a_question_is_read_as_it_is_written(text in question()) {
        // Some are too large, or divide by what they must not.
        if let Ok(question) = read(&text) {
            prop_assert_eq!(read(&question.canonical), Ok(question), "{}", text);
        }
    }

    /// Most random conditions and expressions are read at all: the grammar above is of the language.
    #[test]
    fn a_condition_is_read_as_it_is_written(condition in condition()) {
        let text = format!("SELECT COUNT(*) FROM census WHERE {condition}");
        match read(&text) {
            Ok(question) => prop_assert_eq!(read(&question.canonical), Ok(question), "{}", text),
            Err(error) => {
                let known = ["too large", "too long", "more than", "literal", "NULL", "different types", "calculated", "digits",
                    "none equals", "a sign is written once", "true or false", "LIKE is for", "column of text"];
                prop_assert!(known.iter().any(|why| error.to_string().contains(why)), "{}: {}", text, error);
            }
        }
    }
}
