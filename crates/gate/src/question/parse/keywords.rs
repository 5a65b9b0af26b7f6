//! The words of the language, and what is said about those of SQL that are not among them.

use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::Token;

/// The words that are of the language wherever they stand; a column of that name is written in quotes.
pub(super) fn is_reserved(keyword: Keyword) -> bool {
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
            | Keyword::ILIKE
            | Keyword::IS
            | Keyword::NULL
            | Keyword::TRUE
            | Keyword::FALSE
            | Keyword::CASE
            | Keyword::WHEN
            | Keyword::THEN
            | Keyword::ELSE
            | Keyword::END
            | Keyword::JOIN
            | Keyword::ON
            | Keyword::UNION
            | Keyword::HAVING
            | Keyword::GROUP
            | Keyword::ORDER
            | Keyword::BY
            | Keyword::ASC
            | Keyword::DESC
            | Keyword::LIMIT
    )
}

/// The words that mean something, some of them only in their place. All others are names.
pub(super) fn is_ours(keyword: Keyword) -> bool {
    is_reserved(keyword) || IN_PLACE.contains(&keyword)
}

/// Words that are names unless they stand where the language has them.
const IN_PLACE: &[Keyword] = &[
    Keyword::ALL,
    Keyword::WITH,
    Keyword::FILTER,
    Keyword::OVER,
    Keyword::WITHIN,
    Keyword::INNER,
    Keyword::LEFT,
    Keyword::OUTER,
    Keyword::USING,
    Keyword::OFFSET,
    Keyword::FETCH,
    Keyword::FIRST,
    Keyword::NEXT,
    Keyword::ROW,
    Keyword::ROWS,
    Keyword::ONLY,
    Keyword::NULLS,
    Keyword::LAST,
    Keyword::UNKNOWN,
    Keyword::CAST,
    Keyword::FLOOR,
    Keyword::CEIL,
    Keyword::EXTRACT,
    Keyword::DATE,
    Keyword::TIMESTAMP,
    Keyword::WITHOUT,
    Keyword::TIME,
    Keyword::ZONE,
    Keyword::INT,
    Keyword::INT2,
    Keyword::INT4,
    Keyword::INT8,
    Keyword::INTEGER,
    Keyword::BIGINT,
    Keyword::SMALLINT,
    Keyword::REAL,
    Keyword::FLOAT,
    Keyword::FLOAT4,
    Keyword::FLOAT8,
    Keyword::DOUBLE,
    Keyword::PRECISION,
    Keyword::DECIMAL,
    Keyword::NUMERIC,
    Keyword::YEAR,
    Keyword::QUARTER,
    Keyword::MONTH,
    Keyword::WEEK,
    Keyword::DAY,
    Keyword::DOW,
    Keyword::ISODOW,
    Keyword::DOY,
    Keyword::HOUR,
    Keyword::MINUTE,
    Keyword::SECOND,
    Keyword::EPOCH,
    Keyword::INTERVAL,
    Keyword::YEARS,
    Keyword::MONTHS,
    Keyword::WEEKS,
    Keyword::DAYS,
    Keyword::HOURS,
    Keyword::MINUTES,
    Keyword::SECONDS,
    Keyword::WINDOW,
    Keyword::PARTITION,
    Keyword::RANGE,
    Keyword::UNBOUNDED,
    Keyword::PRECEDING,
    Keyword::FOLLOWING,
    Keyword::CURRENT,
    Keyword::QUALIFY,
    Keyword::ROLLUP,
    Keyword::CUBE,
    Keyword::GROUPING,
    Keyword::SETS,
    Keyword::TOP,
    Keyword::POSITION,
];

/// Whether a name without quotes is one of the reserved words: the parser takes them for names where it finds no other sense.
pub(super) fn is_word(name: &str) -> bool {
    matches!(Token::make_word(name, None), Token::Word(word) if is_reserved(word.keyword))
}

/// Why a word of SQL is refused, unless it is a name here.
pub(super) fn refusal(word: &str) -> Option<&'static str> {
    let refused = |(words, _): &&(&[&str], _)| words.iter().any(|other| other.eq_ignore_ascii_case(word));
    REFUSED.iter().find(refused).map(|(_, why)| *why)
}

const REFUSED: &[(&[&str], &str)] = &[
    (&["WITH", "RECURSIVE"], "WITH is not supported here: it stands before a SELECT, without RECURSIVE"),
    (&["EXCEPT", "INTERSECT", "MINUS"], "only UNION ALL joins questions: ask one question after the other"),
    (
        &["CROSS", "NATURAL", "LATERAL", "FULL", "RIGHT"],
        "a dataset is joined to a public table by JOIN or LEFT JOIN … ON: other joins are not supported",
    ),
    (
        &["EXISTS", "UNNEST", "VALUES", "TABLE"],
        "lists of rows and sub-queries about rows are not supported: ask about the columns of the dataset",
    ),
    (&["WINDOW"], "a window is named after GROUP BY and HAVING, as in WINDOW w AS (ORDER BY COUNT(*) DESC)"),
    (&["TOP"], "an answer is limited by LIMIT: write LIMIT and a number at the end"),
    (&["FOR", "INTO", "TABLESAMPLE"], "a question only reads, all rows and without locks: omit this"),
    (&["TRY_CAST", "SAFE_CAST", "CONVERT"], "a conversion is written CAST(… AS …), and is of numbers and dates"),
    (&["TIMESTAMPTZ", "DATETIME"], "times have no zone here: write TIMESTAMP"),
    (
        &["SIMILAR", "REGEXP", "RLIKE", "GLOB", "MATCH"],
        "regular expressions are not supported: write LIKE, where % stands for any text and _ for one character",
    ),
    (&["ESCAPE"], "LIKE has no escapes here: use _ for a character that cannot be written"),
    (&["ANY", "SOME"], "ANY and SOME are not supported: write IN and a list of literals"),
    (&["COLLATE"], "text is compared by its bytes: omit COLLATE"),
    (&["ISNULL", "NOTNULL"], "this is written IS NULL or IS NOT NULL"),
    (
        &["XOR", "DIV", "OVERLAPS", "OPERATOR"],
        "this operator is not supported: use + - * / %, comparisons, AND, OR and NOT",
    ),
    (
        &["CURRENT_DATE", "CURRENT_TIME", "CURRENT_TIMESTAMP", "LOCALTIME", "LOCALTIMESTAMP", "NOW"],
        "an answer does not depend on when it is asked for: write the day, such as DATE '2024-02-29'",
    ),
    (&["INTERVAL"], "a span of time is written out, as in born + INTERVAL '30 days'"),
    (&["ARRAY", "STRUCT", "MAP"], "only single columns and single literals are compared"),
];
