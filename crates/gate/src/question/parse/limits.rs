//! How much a question may be. All of it is checked before anything is charged, most of it before anything is parsed.

/// The longest text, in bytes.
pub(super) const BYTES: usize = 10_000;

/// The most tokens. Commas are not counted: they nest nothing, and so a list of as many literals as there may be fits.
pub(super) const TOKENS: usize = 2_000;

/// How deep parentheses may be nested, and how many NOTs may follow each other.
pub(super) const DEPTH: usize = 32;

/// How often the parser may call itself. Parentheses and NOTs within their limits stay below it; what else nests, such as
/// `a = NOT b = NOT c`, is no question anyway.
pub(super) const RECURSION: usize = DEPTH * 4;

/// How deep expressions may be nested once they are read: a chain of + or = is as deep as it is long, and is read on one stack.
pub(super) const LEVELS: usize = 64;

/// The most literals of a question, in one list or in all.
pub(super) const LITERALS: usize = 1_000;

/// The most conditions of a question; BETWEEN is two. SQLite takes a tree of 1,000 levels, and a chain of AND has as many levels as
/// conditions.
pub(super) const CONDITIONS: usize = 500;

/// The longest pattern of LIKE, in bytes.
pub(super) const PATTERN: usize = 100;

/// The most `%` in a pattern of LIKE: the work on one row grows with the length of its text to this power.
pub(super) const WILDCARDS: usize = 4;

/// The most LIKEs of a question: one row with a long text must not be what a question spends its time on.
pub(super) const PATTERNS: usize = 8;

/// The most aggregates of a question.
pub(super) const AGGREGATES: usize = 16;

/// The most groups of a question: the product of the numbers of categories.
pub(super) const GROUPS: usize = 10_000;

/// The longest name of a column of the answer, in bytes.
pub(super) const NAME: usize = 100;

/// The most operators and functions of a question, and how large its expressions may get in an engine: some are written twice there.
pub(super) const OPERATORS: usize = 200;
pub(super) const WEIGHT: u64 = 2_000;

/// The most SELECTs of a question: those of UNION ALL, and sub-queries.
pub(super) const SELECTS: usize = 8;

/// The most public tables that a SELECT joins.
pub(super) const JOINS: usize = 3;

/// How often the expressions of a question may be looked at while it is read: aliases of aliases, and comparisons of comparisons, are
/// looked at more than once.
pub(super) const READS: usize = 20_000;
