//! The words of the language, and what is said about those of SQL that are not among them.

use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::Token;

/// The words that mean something. All others are names.
pub(super) fn is_ours(keyword: Keyword) -> bool {
    matches!(
        keyword,
        Keyword::SELECT
            | Keyword::DISTINCT
            | Keyword::AS
            | Keyword::FROM
            | Keyword::WHERE
            | Keyword::AND
            | Keyword::OR
            | Keyword::NOT
            | Keyword::IN
            | Keyword::BETWEEN
            | Keyword::LIKE
            | Keyword::IS
            | Keyword::NULL
            | Keyword::TRUE
            | Keyword::FALSE
            | Keyword::GROUP
            | Keyword::ORDER
            | Keyword::BY
            | Keyword::ASC
            | Keyword::DESC
            | Keyword::LIMIT
    )
}

/// Whether a name without quotes is one of those words: the parser takes them for names where it finds no other sense.
pub(super) fn is_word(name: &str) -> bool {
    matches!(Token::make_word(name, None), Token::Word(word) if is_ours(word.keyword))
}

/// Whether a word is the name of an aggregate.
pub(super) fn is_aggregate(word: &str) -> bool {
    ["COUNT", "SUM", "AVG"].iter().any(|name| name.eq_ignore_ascii_case(word))
}

/// Why a word of SQL is refused, unless it is a name here.
pub(super) fn refusal(word: &str) -> Option<&'static str> {
    let refused = |(words, _): &&(&[&str], _)| words.iter().any(|other| other.eq_ignore_ascii_case(word));
    REFUSED.iter().find(refused).map(|(_, why)| *why)
}

const REFUSED: &[(&[&str], &str)] = &[
    (&["WITH", "RECURSIVE"], "WITH is not answered: ask one SELECT about the dataset itself"),
    (&["UNION", "EXCEPT", "INTERSECT", "MINUS"], "only one SELECT is answered: ask one question after the other"),
    (
        &["JOIN", "INNER", "OUTER", "CROSS", "NATURAL", "LATERAL", "USING"],
        "a question is about one table: joins are not answered; leave them out",
    ),
    (
        &["EXISTS", "UNNEST", "VALUES", "TABLE"],
        "sub-queries and lists of rows are not answered: ask about the columns of the dataset",
    ),
    (
        &["HAVING", "QUALIFY"],
        "groups cannot be left out by their answer: ask for all of them, and sort them with ORDER BY",
    ),
    (&["FILTER"], "FILTER is not answered: put the condition into WHERE, and ask one question for each condition"),
    (&["OVER", "WINDOW", "PARTITION", "WITHIN"], "window functions are not answered: use GROUP BY"),
    (&["ROLLUP", "CUBE", "GROUPING"], "only plain columns are grouped by: ask one question for each grouping"),
    (&["OFFSET", "FETCH", "TOP"], "only LIMIT shortens an answer: write LIMIT and a number at the end"),
    (&["NULLS"], "nothing in an answer is null: leave NULLS FIRST or NULLS LAST out"),
    (&["FOR", "INTO", "TABLESAMPLE"], "a question only reads, all rows and without locks: leave this out"),
    (&["CASE", "WHEN", "THEN", "ELSE", "END", "IF"], "CASE is not answered: put the condition into WHERE"),
    (&["CAST", "TRY_CAST", "SAFE_CAST", "CONVERT"], "casts are not answered: write literals of the column's own type"),
    (
        &["INTERVAL", "DATE", "TIME", "TIMESTAMP", "TIMESTAMPTZ", "DATETIME"],
        "there are no literals of time: compare with a literal of the column's own type",
    ),
    (
        &["ILIKE"],
        "LIKE tells small and capital letters apart, and ILIKE is not answered: write LIKE, joined by OR if need be",
    ),
    (
        &["SIMILAR", "REGEXP", "RLIKE", "GLOB", "MATCH"],
        "regular expressions are not answered: write LIKE, where % stands for any text and _ for one character",
    ),
    (&["ESCAPE"], "LIKE has no escapes here: use _ for a character that cannot be written"),
    (&["ANY", "SOME", "ALL"], "ANY, SOME and ALL are not answered: write IN and a list of literals"),
    (&["COLLATE"], "text is compared by its bytes: leave COLLATE out"),
    (&["UNKNOWN", "ISNULL", "NOTNULL"], "this is written IS NULL or IS NOT NULL"),
    (&["XOR", "DIV", "MOD", "OVERLAPS", "OPERATOR"], "this operator is not answered: compare a column with a literal"),
    (&["ARRAY", "ROW", "STRUCT", "MAP"], "only single columns and single literals are compared"),
];
