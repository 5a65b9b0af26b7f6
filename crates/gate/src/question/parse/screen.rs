//! Which tokens are let through to the parser, each judged with its neighbours.

use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, Word};

use super::super::quoted;
use super::keywords;
use super::tokens::QuestionTokens;
use crate::error::Error;

impl QuestionTokens {
    /// The tokens, if a question can be made of them. Words that are not of the language are names from here on.
    pub(super) fn screened(self, dataset: &str, is_name: &impl Fn(&str) -> bool) -> Result<QuestionTokens, Error> {
        if self.len() == 0 {
            return Err(Error::question(
                1,
                format!("nothing is asked: write SELECT COUNT(*) FROM {}", quoted(dataset)),
            ));
        }
        if !self.is(0, Keyword::SELECT) && !self.is(0, Keyword::WITH) {
            return Err(Error::question(self.at(0), "a question begins with SELECT: nothing else is answered"));
        }
        (0..self.len()).try_for_each(|index| self.check(index, dataset, is_name))?;
        Ok(self.with_keywords(keywords::is_ours))
    }

    /// A refusal of what begins with a token.
    fn refuse(&self, index: usize, why: impl Into<String>) -> Result<(), Error> {
        Err(Error::question(self.at(index), why))
    }

    /// Looks at one token; what is wrong begins with it or with another one.
    fn check(&self, index: usize, dataset: &str, is_name: &impl Fn(&str) -> bool) -> Result<(), Error> {
        match self.get(index) {
            None
            | Some(
                Token::Number(_, false)
                | Token::Comma
                | Token::LParen
                | Token::RParen
                | Token::Period
                | Token::Eq
                | Token::Neq
                | Token::Lt
                | Token::LtEq
                | Token::Gt
                | Token::GtEq
                | Token::Div
                | Token::Mod
                | Token::StringConcat
                | Token::DoubleColon,
            ) => Ok(()),
            Some(Token::Word(word)) if word.keyword == Keyword::FROM => {
                self.check_from(index)?;
                self.check_table(index, dataset, is_name)
            }
            Some(Token::Word(word)) if keywords::is_reserved(word.keyword) => Ok(()),
            Some(Token::Word(word)) => self.check_word(index, word, is_name),
            Some(Token::SingleQuotedString(_)) => self.check_text(index),
            Some(Token::Mul) => self.check_star(index),
            Some(Token::Plus | Token::Minus) => self.check_sign(index),
            Some(Token::SemiColon) if index + 1 == self.len() => Ok(()),
            Some(Token::SemiColon) => {
                self.refuse(index, "only one question is answered at a time: leave out what follows")
            }
            Some(other) => self.refuse(index, reason(other)),
        }
    }

    /// Something is asked for before FROM.
    fn check_from(&self, index: usize) -> Result<(), Error> {
        let Some(before) = index.checked_sub(1) else { return Ok(()) };
        match self.is(before, Keyword::SELECT) || self.get(before) == Some(&Token::Comma) {
            true => self.refuse(index, "nothing is asked for before FROM: write an aggregate, such as COUNT(*)"),
            false => Ok(()),
        }
    }

    /// A name with a slash, a dash or a point is one name only in quotes. EXTRACT has a FROM too, with a column behind it.
    fn check_table(&self, index: usize, dataset: &str, is_name: &impl Fn(&str) -> bool) -> Result<(), Error> {
        let unquoted = |index: usize| match self.get(index) {
            Some(Token::Word(word)) if word.quote_style.is_none() => Some(word.value.as_str()),
            _ => None,
        };
        let sign = match self.get(index + 2) {
            Some(Token::Div) => '/',
            Some(Token::Minus) => '-',
            Some(Token::Period) => '.',
            _ => return Ok(()),
        };
        let Some(word) = unquoted(index + 1) else { return Ok(()) };
        let begins = format!("{word}{sign}{}", unquoted(index + 3).unwrap_or_default());
        match dataset.contains(['/', '-', '.']) && (!is_name(word) || dataset.starts_with(&begins)) {
            true => self.refuse(
                index + 1,
                format!("this is not the dataset's name: write {}, with the quotes", quoted(dataset)),
            ),
            false => Ok(()),
        }
    }

    /// A word that is not reserved: a name, a function, or a word of SQL that is not answered.
    fn check_word(&self, index: usize, word: &Word, is_name: &impl Fn(&str) -> bool) -> Result<(), Error> {
        let called = self.get(index + 1) == Some(&Token::LParen);
        if word.keyword == Keyword::FILTER && called && !self.is(index + 2, Keyword::WHERE) {
            return self.refuse(index, "FILTER is followed by its condition, as in COUNT(*) FILTER (WHERE age < 30)");
        }
        if self.begins_query(index) {
            return Ok(());
        }
        // Some are functions as well: RIGHT(text, 1) and ISNULL(column, 0).
        let is_function = called && (word.keyword == Keyword::RIGHT || word.value.eq_ignore_ascii_case("ISNULL"));
        if is_function || self.is_in_place(index) == Some(true) {
            return Ok(());
        }
        let plain = word.quote_style.is_none();
        let before = index.checked_sub(1);
        let named = before
            .is_some_and(|before| self.is(before, Keyword::AS) || self.get(before) == Some(&Token::Period))
            || is_name(&word.value)
            // TOP stands behind SELECT, and is a name elsewhere.
            || (word.value.eq_ignore_ascii_case("TOP") && !before.is_some_and(|before| self.is(before, Keyword::SELECT)));
        match keywords::refusal(&word.value) {
            Some(why) if plain && (called || !named) => self.refuse(index, why),
            _ => Ok(()),
        }
    }

    /// Text is compared; it is neither a name nor of a type of its own, dates and times aside.
    fn check_text(&self, index: usize) -> Result<(), Error> {
        let Some(before) = index.checked_sub(1) else { return Ok(()) };
        match self.get(before) {
            Some(Token::Word(word)) if word.keyword == Keyword::AS => {
                self.refuse(index, "names are written in double quotes, text in single ones")
            }
            Some(Token::Word(word)) if word.keyword == Keyword::FROM && !self.is_from_of_values(before) => {
                self.refuse(index, "names are written in double quotes, text in single ones")
            }
            Some(Token::Word(word)) if matches!(word.keyword, Keyword::DATE | Keyword::TIMESTAMP) => Ok(()),
            Some(Token::Word(word)) if !keywords::is_ours(word.keyword) => {
                let why = "text is written in single quotes with nothing before them: omit the type or the prefix";
                self.refuse(before, why)
            }
            Some(Token::RParen | Token::SingleQuotedString(_) | Token::Number(..)) => {
                self.refuse(index, "text cannot follow here: it is compared with a column, as in name = 'text'")
            }
            _ => Ok(()),
        }
    }

    /// A sign stands between two numbers, or once before one.
    fn check_sign(&self, index: usize) -> Result<(), Error> {
        let is_sign = |index: usize| matches!(self.get(index), Some(Token::Plus | Token::Minus));
        let is_between = match index.checked_sub(1).and_then(|before| self.get(before)) {
            Some(Token::Number(..) | Token::SingleQuotedString(_) | Token::RParen) => true,
            Some(Token::Word(_)) if self.is_symmetric(index - 1) => false,
            Some(Token::Word(word)) => {
                !keywords::is_reserved(word.keyword)
                    || matches!(word.keyword, Keyword::END | Keyword::NULL | Keyword::TRUE | Keyword::FALSE)
            }
            _ => false,
        };
        match !is_between && is_sign(index + 1) {
            true => self.refuse(index, "a sign is written once: omit one"),
            false => Ok(()),
        }
    }

    /// Whether a FROM is that of EXTRACT(field FROM …) or of IS DISTINCT FROM, behind which a value stands.
    fn is_from_of_values(&self, index: usize) -> bool {
        let before = |steps: usize, keyword| index.checked_sub(steps).is_some_and(|index| self.is(index, keyword));
        before(1, Keyword::DISTINCT) || before(3, Keyword::EXTRACT)
    }

    /// A star stands in COUNT(*) and between two factors.
    fn check_star(&self, index: usize) -> Result<(), Error> {
        let before = index.checked_sub(1);
        let listed = before.is_some_and(|before| {
            self.is(before, Keyword::SELECT)
                || self.is(before, Keyword::DISTINCT)
                || matches!(self.get(before), Some(Token::Comma | Token::Period))
        });
        // All columns of a sub-query are named by a star, and it is looked at later whether they are rows.
        let of_query = self.is(0, Keyword::WITH)
            || (0..self.len()).any(|at| self.is(at, Keyword::FROM) && self.get(at + 1) == Some(&Token::LParen));
        let alone = of_query && before.is_some_and(|before| self.is(before, Keyword::SELECT));
        match listed && !alone {
            true => self.refuse(index, ROWS),
            false => Ok(()),
        }
    }
}

/// Why rows are not answered.
pub(super) const ROWS: &str = "rows are never shown: ask for COUNT(*), SUM(column) or AVG(column)";

/// Why a token that is in no question is refused.
fn reason(token: &Token) -> String {
    let why = match token {
        Token::Placeholder(_) | Token::Question | Token::Colon | Token::AtSign => {
            "there are no parameters: write the literals into the question"
        }
        Token::Caret | Token::Ampersand | Token::Pipe => "this operator is not supported: use + - * / and %",
        Token::DoubleEq => "this is written =",
        Token::Tilde
        | Token::TildeAsterisk
        | Token::ExclamationMarkTilde
        | Token::ExclamationMarkTildeAsterisk
        | Token::DoubleTilde
        | Token::DoubleTildeAsterisk
        | Token::ExclamationMarkDoubleTilde
        | Token::ExclamationMarkDoubleTildeAsterisk => {
            "regular expressions are not supported: write LIKE, where % stands for any text and _ for one character"
        }
        Token::Number(..) => "numbers have no suffix: write the digits alone",
        Token::HexStringLiteral(_)
        | Token::NationalStringLiteral(_)
        | Token::EscapedStringLiteral(_)
        | Token::UnicodeStringLiteral(_)
        | Token::DollarQuotedString(_) => {
            "numbers are written in decimal digits, and text in single quotes with nothing before them"
        }
        Token::Char(letter) => {
            return format!(
                "the character U+{:04X} is not of the language: text is written in single quotes, names with other characters than \
                 ASCII letters, digits and _ in double ones",
                u32::from(*letter)
            );
        }
        _ => "this sign is not of the language: use + - * / %, =, <>, <, <=, > and >=",
    };
    why.to_string()
}
