//! Expressions and rows that are made up from a seed.

use super::conditions::{Condition, fits};
use super::dataset::{AMOUNT, BORN, FLAG, LABEL, PRICE, SEEN, TENS, WHOLE, WORD, WORDS, values};
use super::meaning::{Expression, Row, Type};
use crate::question::predicate::Comparison;
use crate::schema::{Schema, Value};

/// Numbers that look random, the same ones for the same seed: SplitMix64.
pub(crate) struct Dice {
    seed: u64,
    schema: Schema,
}

const DATES: [&str; 6] = ["1999-12-31", "2000-02-29", "2000-03-01", "2001-01-01", "1998-05-05", "2000-12-30"];
const TIMES: [&str; 5] =
    ["2000-02-28 23:59:59", "2000-02-29 00:00:00", "2000-03-01 12:30:15", "1999-01-01 00:00:00", "2000-03-02 06:00:01"];
const NUMBERS: [&str; 14] =
    ["0", "1", "-1", "2", "7", "-20", "45", "1000", "0.5", "-2.5", "3.75", "0.05", "1e2", "9.999"];

impl Dice {
    pub(crate) fn new(seed: u64, schema: Schema) -> Dice {
        Dice { seed, schema }
    }

    fn roll(&mut self) -> u64 {
        self.seed = self.seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.seed;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below another one.
    pub(crate) fn below(&mut self, limit: usize) -> usize {
        (self.roll() % limit as u64) as usize
    }

    pub(crate) fn coin(&mut self) -> bool {
        self.below(2) == 0
    }

    pub(crate) fn of<T: Clone>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len())].clone()
    }

    pub(crate) fn rows(&mut self, count: usize) -> Vec<Row> {
        let columns = self.schema.columns.len();
        let mut row = |_| (0..columns).map(|at| (self.below(7) != 0).then(|| self.of(&values(at)))).collect();
        (0..count).map(&mut row).collect()
    }

    fn literal(&mut self) -> Expression {
        Expression::number(self.of(&NUMBERS))
    }

    /// A literal other than 0.
    fn divisor(&mut self) -> Expression {
        Expression::number(self.of(&["2", "3", "-3", "7", "10", "-1", "0.25", "1.5", "-12.5"]))
    }

    pub(crate) fn number(&mut self, depth: usize) -> Expression {
        if depth == 0 || self.below(6) == 0 {
            return match self.below(5) {
                0 => self.literal(),
                1 => Expression::column(&self.schema, WHOLE),
                2 => Expression::column(&self.schema, TENS),
                3 => Expression::column(&self.schema, AMOUNT),
                _ => Expression::column(&self.schema, PRICE),
            };
        }
        let depth = depth - 1;
        let inner = self.number(depth);
        match self.below(24) {
            22 | 23 => {
                let (one, by) = (self.number(0), self.number(0));
                one.divided_by(if self.coin() { self.whole(by) } else { by })
            }
            0..=2 => inner.binary(self.of(&["+", "-", "*"]), self.number(depth)),
            3 | 4 => inner.divided(self.divisor()),
            5 => self.whole(inner).remainder(Expression::number(self.of(&["2", "3", "-4", "10", "7"]))),
            6 => inner.negative(),
            7 => inner.absolute(),
            8 => inner.rounded(self.of(&["FLOOR", "CEIL", "ROUND", "TRUNC"]), None),
            9 | 10 => {
                let places = self.of(&[-2, -1, 0, 1, 2]);
                inner.rounded(self.of(&["ROUND", "TRUNC"]), Some(places))
            }
            11 | 12 => {
                let parts = vec![inner, self.number(depth), self.number(0)];
                Expression::several(self.of(&["LEAST", "GREATEST", "COALESCE"]), parts)
            }
            13 => inner.null_if(self.number(depth)),
            14 => {
                let otherwise = self.coin().then(|| self.number(depth));
                let second = (self.condition(depth), self.number(0));
                Expression::case(vec![(self.condition(depth), inner), second], otherwise)
            }
            15 => {
                let mut branches = vec![(self.literal(), self.number(depth)), (self.number(0), self.literal())];
                branches.retain(|(when, _)| inner.may_equal(when));
                branches.push((Expression::number("1"), Expression::number("0.5")));
                inner.switch(branches, self.coin().then(|| self.number(0)))
            }
            16 => inner.cast(self.of(&["INTEGER", "NUMERIC"])),
            17 => {
                let (low, high) = self.of(&[("-10", "30"), ("0", "1"), ("-2.5", "5"), ("3", "100")]);
                let count = self.of(&[1, 3, 7, 10]);
                inner.bucket(Expression::number(low), Expression::number(high), count)
            }
            18 => self.condition(depth).number(),
            19 => self.part(depth),
            20 => self.date(depth).binary("-", self.date(0)),
            _ => self.time(0).seconds_since(self.time(depth)),
        }
    }

    fn whole(&mut self, inner: Expression) -> Expression {
        if inner.kind == Type::Whole { inner } else { inner.cast("INTEGER") }
    }

    pub(crate) fn part(&mut self, depth: usize) -> Expression {
        match self.coin() {
            true => {
                let part = self.of(&["YEAR", "QUARTER", "MONTH", "WEEK", "DAY", "DOW", "ISODOW", "DOY"]);
                self.date(depth).part(part)
            }
            false => {
                let part =
                    self.of(&["YEAR", "MONTH", "WEEK", "DAY", "DOW", "DOY", "HOUR", "MINUTE", "SECOND", "EPOCH"]);
                self.time(depth).part(part)
            }
        }
    }

    pub(crate) fn date(&mut self, depth: usize) -> Expression {
        if depth == 0 || self.below(3) == 0 {
            return match self.below(4) {
                0 => Expression::dated(Type::Date, self.of(&DATES)),
                _ => Expression::column(&self.schema, BORN),
            };
        }
        let inner = self.date(depth - 1);
        match self.below(6) {
            5 => {
                let (span, months, days) = self.of(&[
                    ("1 month", 1, 0),
                    ("3 mons", 3, 0),
                    ("1 year 2 months", 14, 0),
                    ("-13 months 5 days", -13, 5),
                    ("30 days", 0, 30),
                    ("2 weeks", 0, 14),
                ]);
                inner.moved(span, months, days * 86_400, self.of(&[1, -1]))
            }
            0 => inner.cut_off(self.of(&["year", "quarter", "month", "week", "day"])),
            1 => self.time(depth - 1).cast("DATE"),
            2 => inner.binary(self.of(&["+", "-"]), Expression::number(self.of(&["1", "30", "366"]))),
            3 => Expression::several(self.of(&["LEAST", "GREATEST", "COALESCE"]), vec![inner, self.date(0)]),
            _ => Expression::case(vec![(self.condition(depth - 1), inner)], Some(self.date(0))),
        }
    }

    fn time(&mut self, depth: usize) -> Expression {
        if depth == 0 || self.below(3) == 0 {
            return match self.below(4) {
                0 => Expression::dated(Type::Time, self.of(&TIMES)),
                _ => Expression::column(&self.schema, SEEN),
            };
        }
        let inner = self.time(depth - 1);
        match self.below(5) {
            4 => {
                let (span, months, seconds) = self.of(&[
                    ("1 month", 1, 0),
                    ("1 month -36 hours", 1, -129_600),
                    ("90 minutes", 0, 5_400),
                    ("1 day 01:30:15", 0, 91_815),
                    ("1 year", 12, 0),
                ]);
                let from = if self.coin() { inner } else { self.date(0).cast_to_time() };
                from.moved(span, months, seconds, self.of(&[1, -1]))
            }
            0 | 1 => inner.cut_off(self.of(&["year", "quarter", "month", "week", "day", "hour", "minute"])),
            2 => Expression::several(self.of(&["LEAST", "GREATEST", "COALESCE"]), vec![inner, self.time(0)]),
            _ => Expression::case(vec![(self.condition(depth - 1), inner)], None),
        }
    }

    fn comparison(&mut self) -> Comparison {
        self.of(&Comparison::ALL)
    }

    pub(crate) fn condition(&mut self, depth: usize) -> Condition {
        if depth > 0 && self.below(3) == 0 {
            let depth = depth - 1;
            let inner = self.condition(depth);
            return match self.below(4) {
                0 => inner.negation(),
                1 => inner.is(self.of(&[Some(true), Some(false), None]), self.coin()),
                word => {
                    let parts = vec![inner, self.condition(depth), self.condition(0)];
                    Condition::joined(parts, if word == 2 { "AND" } else { "OR" })
                }
            };
        }
        match self.below(9) {
            0 => self.of_text(),
            1 => self.of_flag(),
            2 => self.of_dates(depth),
            _ => self.of_numbers(depth),
        }
    }

    /// Bounds of one or two columns, also multiplied, moved, or as another type.
    pub(crate) fn bounds(&mut self) -> Condition {
        let first = self.bound();
        match self.below(4) {
            0 => Condition::joined(vec![first, self.bound()], "AND"),
            1 => Condition::joined(vec![first, self.bound()], "OR"),
            _ => first,
        }
    }

    fn bound(&mut self) -> Condition {
        let comparison = self.comparison();
        let (date, time) = (self.of(&DATES), self.of(&TIMES));
        let schema = self.schema.clone();
        let column = |at| Expression::column(&schema, at);
        let (one, other) = match self.below(8) {
            0 => (column(BORN), Expression::quoted(Type::Date, date)),
            1 => (column(BORN), Expression::dated(Type::Date, date)),
            2 => (column(BORN), Expression::dated(Type::Time, time)),
            3 => (column(SEEN), Expression::quoted(Type::Time, time)),
            4 => (column(SEEN).cast("DATE"), Expression::dated(Type::Date, date)),
            at => {
                let column = column([WHOLE, TENS, AMOUNT][at - 5]);
                let one = match self.below(4) {
                    0 => column.binary("*", Expression::number("2")),
                    1 => column.divided(Expression::number("2.5")),
                    2 => column.negative(),
                    _ => column,
                };
                (one, self.literal())
            }
        };
        match one.may_equal(&other) {
            true => one.compared(comparison, other),
            false => one.compared(Comparison::GreaterOrEqual, other),
        }
    }

    fn of_numbers(&mut self, depth: usize) -> Condition {
        let (one, other) = (self.number(depth), if self.coin() { self.literal() } else { self.number(depth) });
        let negated = self.coin();
        let fitting = one.may_equal(&other);
        match self.below(7) {
            0 => one.null_test(negated),
            1 if fitting => one.distinct_from(other, negated),
            2 if fitting => one.in_list(vec![other, Expression::number("2"), Expression::number("-20")], negated),
            3 => one.between(other, self.literal(), negated, false),
            4 => one.between(other, self.number(0), negated, true),
            _ if fitting => one.compared(self.comparison(), other),
            _ => one.compared(self.of(&[Comparison::Less, Comparison::GreaterOrEqual]), other),
        }
    }

    fn of_dates(&mut self, depth: usize) -> Condition {
        let negated = self.coin();
        let (kind, one) = if self.coin() { (Type::Date, self.date(depth)) } else { (Type::Time, self.time(depth)) };
        let mut literal = || match kind {
            Type::Date => Expression::quoted(kind, self.of(&DATES)),
            _ => Expression::quoted(kind, self.of(&TIMES)),
        };
        let (first, second) = (literal(), literal());
        match self.below(6) {
            0 => one.compared(self.comparison(), self.time(depth)),
            1 => one.compared(self.comparison(), self.date(depth)),
            2 => one.null_test(negated),
            3 => one.in_list(vec![first, second], negated),
            4 => one.between(first, second, negated, self.coin()),
            _ => one.compared(self.comparison(), first),
        }
    }

    fn of_flag(&mut self) -> Condition {
        let flag = |row: &Row| match row[FLAG] {
            Some(Value::Boolean(flag)) => Some(flag),
            _ => None,
        };
        match self.below(4) {
            0 => Condition::new("flag = FALSE".to_string(), move |row| flag(row).map(|flag| !flag)),
            1 => Condition::new("flag IS NULL".to_string(), move |row| Some(flag(row).is_none())),
            2 => Condition::new("TRUE".to_string(), |_| Some(true)),
            _ => Condition::new("flag".to_string(), flag),
        }
    }

    fn of_text(&mut self) -> Condition {
        let (name, at) = self.of(&[("word", WORD), ("label", LABEL)]);
        let case = self.of(&["", "", "LOWER", "UPPER"]);
        let operand = if case.is_empty() { name.to_string() } else { format!("{case}({name})") };
        let text = move |row: &Row, at: usize| match (&row[at], case) {
            (Some(Value::Text(text)), "LOWER") => Some(text.to_ascii_lowercase()),
            (Some(Value::Text(text)), "UPPER") => Some(text.to_ascii_uppercase()),
            (Some(Value::Text(text)), _) => Some(text.clone()),
            _ => None,
        };
        let literal = self.of(&["a", "b", "Ab", "AB", "ab", "é", "", "it''s"]);
        let plain = literal.replace("''", "'");
        let negated = self.coin();
        let not = if negated { "NOT " } else { "" };
        match self.below(11) {
            7 => {
                let (count, sign) = (1 + self.below(2), self.of(&["=", "<>"]));
                let (function, from_end) = self.of(&[("LEFT", false), ("RIGHT", true), ("SUBSTR", false)]);
                let start = if function == "SUBSTR" { ", 1" } else { "" };
                let condition = format!("{function}({operand}{start}, {count}) {sign} '{literal}'");
                Condition::new(condition, move |row| {
                    let text: Vec<char> = text(row, at)?.chars().collect();
                    let count = count.min(text.len());
                    let part = if from_end { &text[text.len() - count..] } else { &text[..count] };
                    Some((part.iter().collect::<String>() == plain) == (sign == "="))
                })
            }
            8 => {
                let (comparison, length) = (self.comparison(), self.below(4));
                Condition::new(format!("LENGTH({operand}) {} {length}", comparison.symbol()), move |row| {
                    Some(comparison.holds(text(row, at)?.chars().count().cmp(&length)))
                })
            }
            9 => {
                let plain = if plain.is_empty() { "b".to_string() } else { plain };
                let found = format!("POSITION('{}' IN {operand})", plain.replace('\'', "''"));
                let comparison = if negated { "= 0" } else { "> 0" };
                Condition::new(format!("{found} {comparison}"), move |row| {
                    Some(text(row, at)?.contains(&plain) != negated)
                })
            }
            // Text that is computed is of the declared words alone.
            10 => {
                let comparison = self.comparison();
                let (of, changed): (String, fn(&str) -> String) = match self.below(4) {
                    0 => ("word || '-'".to_string(), |word| format!("{word}-")),
                    1 => ("LEFT(word || 'x', 1)".to_string(), |word| format!("{word}x").chars().take(1).collect()),
                    2 => ("REPLACE(UPPER(TRIM(word)), 'A', 'b')".to_string(), |word| {
                        word.to_ascii_uppercase().replace('A', "b")
                    }),
                    _ => ("CASE WHEN word = 'a' THEN 'c' ELSE CONCAT(word, word) END".to_string(), |word| {
                        if word == "a" { "c".to_string() } else { format!("{word}{word}") }
                    }),
                };
                let known = move |row: &Row| match &row[WORD] {
                    Some(Value::Text(word)) if WORDS.contains(&word.as_str()) => Some(changed(word)),
                    _ => None,
                };
                Condition::new(format!("{of} {} '{literal}'", comparison.symbol()), move |row| {
                    Some(comparison.holds(known(row)?.cmp(&plain)))
                })
            }
            0 => Condition::new(format!("{name} IS {not}NULL"), move |row| Some(row[at].is_none() != negated)),
            1 => Condition::new(format!("{operand} {not}IN ('{literal}', 'b')"), move |row| {
                let text = text(row, at)?;
                Some((text == plain || text == "b") != negated)
            }),
            2 | 3 => {
                let pattern = self.of(&["a%", "_b", "%", "%B%", "É", "_", ""]);
                let any_case = case.is_empty() && self.coin();
                let word = if any_case { "ILIKE" } else { "LIKE" };
                Condition::new(format!("{operand} {not}{word} '{pattern}'"), move |row| {
                    let lower = |text: &str| {
                        if any_case { text.to_ascii_lowercase() } else { text.to_string() }
                    };
                    let letters = |text: &str| lower(text).chars().collect::<Vec<_>>();
                    Some(fits(&letters(&text(row, at)?), &letters(pattern)) != negated)
                })
            }
            4 => Condition::new(format!("{operand} IS {not}DISTINCT FROM '{literal}'"), move |row| {
                Some((text(row, at) == Some(plain.clone())) == negated)
            }),
            5 => {
                let comparison = self.comparison();
                let condition = format!("{operand} {} {}", comparison.symbol(), operand.replace(name, "label"));
                Condition::new(condition, move |row| Some(comparison.holds(text(row, at)?.cmp(&text(row, LABEL)?))))
            }
            _ => {
                let comparison = self.comparison();
                Condition::new(format!("{operand} {} '{literal}'", comparison.symbol()), move |row| {
                    Some(comparison.holds(text(row, at)?.cmp(&plain)))
                })
            }
        }
    }
}
