//! Which tokens are let through to the parser, each judged with its neighbours.

use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, Whitespace, Word};

use super::super::quoted;
use super::keywords;
use super::tokens::Tokens;
use crate::error::Error;
use crate::schema::Schema;

impl Tokens {
    /// The tokens, if a question can be made of them. Words that are not of the language are names from here on.
    pub(super) fn screened(self, dataset: &str, schema: &Schema) -> Result<Tokens, Error> {
        if self.len() == 0 {
            return Err(Error::question(
                1,
                format!("nothing is asked: write SELECT COUNT(*) FROM {}", quoted(dataset)),
            ));
        }
        if !self.is(0, Keyword::SELECT) && !matches!(self.get(0), Some(Token::Whitespace(_))) {
            return Err(Error::question(self.at(0), "a question begins with SELECT: nothing else is answered"));
        }
        let is_name = |word: &str| {
            word.eq_ignore_ascii_case(dataset)
                || schema.columns.iter().any(|column| column.name.eq_ignore_ascii_case(word))
        };
        (0..self.len()).try_for_each(|index| self.check(index, dataset, &is_name))?;
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
                | Token::Eq
                | Token::Neq
                | Token::Lt
                | Token::LtEq
                | Token::Gt
                | Token::GtEq,
            ) => Ok(()),
            Some(Token::Word(word)) if keywords::is_ours(word.keyword) => {
                self.check_keyword(index, word.keyword, dataset)
            }
            Some(Token::Word(word)) => self.check_word(index, word, is_name),
            Some(Token::SingleQuotedString(_)) => self.check_text(index),
            Some(Token::Plus | Token::Minus) => self.check_sign(index),
            Some(Token::Mul) => self.check_star(index),
            Some(Token::SemiColon) if index + 1 == self.len() => Ok(()),
            Some(Token::SemiColon) => {
                self.refuse(index, "only one question is answered at a time: leave out what follows")
            }
            Some(Token::Whitespace(Whitespace::SingleLineComment { .. } | Whitespace::MultiLineComment(_))) => {
                self.refuse(index, "comments are not read: leave them out")
            }
            Some(other) => self.refuse(index, reason(other)),
        }
    }

    fn check_keyword(&self, index: usize, keyword: Keyword, dataset: &str) -> Result<(), Error> {
        match keyword {
            Keyword::SELECT if index > 0 => {
                self.refuse(index, "sub-queries are not answered: ask one SELECT about the dataset itself")
            }
            Keyword::DISTINCT if index == 1 => self.refuse(
                index,
                "SELECT DISTINCT is not answered: every group is answered once anyway; leave DISTINCT out",
            ),
            Keyword::FROM => self.check_table(index, dataset),
            Keyword::IS => {
                let what = if self.is(index + 1, Keyword::NOT) { index + 2 } else { index + 1 };
                match self.is(what, Keyword::NULL) {
                    true => Ok(()),
                    false => self.refuse(what, "IS is for NULL alone: write IS NULL or IS NOT NULL, or compare with ="),
                }
            }
            Keyword::NULL => {
                let before = index.saturating_sub(if self.is(index.saturating_sub(1), Keyword::NOT) { 2 } else { 1 });
                match self.is(before, Keyword::IS) {
                    true => Ok(()),
                    false => self.refuse(index, "nothing equals NULL, not even NULL: write IS NULL or IS NOT NULL"),
                }
            }
            _ => Ok(()),
        }
    }

    /// One name follows FROM, and then a clause or nothing. The parser itself would look much further.
    fn check_table(&self, index: usize, dataset: &str) -> Result<(), Error> {
        let before = index.saturating_sub(1);
        if self.is(before, Keyword::SELECT) || self.get(before) == Some(&Token::Comma) {
            return self.refuse(index, "nothing is asked for before FROM: add COUNT(*), SUM(column) or AVG(column)");
        }
        let is_name = |token: &Token| matches!(token, Token::Word(word) if !keywords::is_ours(word.keyword));
        if !self.get(index + 1).is_some_and(is_name) {
            let why =
                format!("FROM is followed by the name of the dataset, and by nothing else: write {}", quoted(dataset));
            return self.refuse(index + 1, why);
        }
        let clauses = [Keyword::WHERE, Keyword::GROUP, Keyword::ORDER, Keyword::LIMIT];
        let ends = matches!(self.get(index + 2), None | Some(Token::SemiColon | Token::Whitespace(_)));
        if ends || clauses.iter().any(|clause| self.is(index + 2, *clause)) {
            return Ok(());
        }
        if let Some(why) = self.get(index + 2).and_then(|token| match token {
            Token::Word(word) if word.quote_style.is_none() => keywords::refusal(&word.value),
            _ => None,
        }) {
            return self.refuse(index + 2, why);
        }
        // A name with a slash, a dash or a point is one name only in quotes.
        if dataset.contains(['/', '-', '.'])
            && matches!(self.get(index + 2), Some(Token::Div | Token::Minus | Token::Period))
        {
            let why = format!("this is not the dataset's name: write {}, with the quotes", quoted(dataset));
            return self.refuse(index + 1, why);
        }
        let why = "the dataset's name is followed by WHERE, GROUP BY, ORDER BY, LIMIT or nothing: joins, aliases, schemas, samples \
                   and hints are not answered; leave them out";
        self.refuse(index + 2, why)
    }

    /// A word that is not of the language: a name, or an aggregate.
    fn check_word(&self, index: usize, word: &Word, is_name: &impl Fn(&str) -> bool) -> Result<(), Error> {
        let called = self.get(index + 1) == Some(&Token::LParen);
        if self.get(index + 1) == Some(&Token::Period) {
            return self.refuse(index, "names are written without a dot: only the column's name");
        }
        let plain = word.quote_style.is_none();
        let named = index.checked_sub(1).is_some_and(|before| self.is(before, Keyword::AS)) || is_name(&word.value);
        if plain
            && (called || !named)
            && let Some(why) = keywords::refusal(&word.value)
        {
            return self.refuse(index, why);
        }
        if called && !(plain && keywords::is_aggregate(&word.value)) {
            let shown: String = word.value.chars().take(40).collect();
            let why = format!("{shown}(…) is not answered: the functions are COUNT, SUM and AVG, and WHERE has none");
            return self.refuse(index, why);
        }
        Ok(())
    }

    /// Text is compared; it is neither a name nor of a type of its own.
    fn check_text(&self, index: usize) -> Result<(), Error> {
        let Some(before) = index.checked_sub(1) else { return Ok(()) };
        match self.get(before) {
            Some(Token::Word(word)) if word.keyword == Keyword::AS => {
                self.refuse(index, "names are written in double quotes, text in single ones")
            }
            Some(Token::Word(word)) if !keywords::is_ours(word.keyword) => {
                let why = "text is written in single quotes with nothing before them: leave the type or the prefix out";
                self.refuse(before, why)
            }
            Some(Token::RParen | Token::SingleQuotedString(_) | Token::Number(..)) => {
                self.refuse(index, "text cannot follow here: it is compared with a column, as in name = 'text'")
            }
            _ => Ok(()),
        }
    }

    /// A sign belongs to a number and follows no other operand.
    fn check_sign(&self, index: usize) -> Result<(), Error> {
        let operand = match index.checked_sub(1).and_then(|before| self.get(before)) {
            Some(Token::Word(word)) => !keywords::is_ours(word.keyword) || is_literal(word.keyword),
            Some(Token::Number(..) | Token::SingleQuotedString(_) | Token::RParen) => true,
            _ => false,
        };
        if operand {
            return self.refuse(index, ARITHMETIC);
        }
        match self.get(index + 1) {
            Some(Token::Number(..)) => Ok(()),
            _ => self.refuse(index, "a sign is written once, and directly before a number"),
        }
    }

    /// A star stands in COUNT(*) and nowhere else.
    fn check_star(&self, index: usize) -> Result<(), Error> {
        let before = index.checked_sub(1);
        let opened = before.is_some_and(|before| self.get(before) == Some(&Token::LParen));
        if opened && self.get(index + 1) == Some(&Token::RParen) {
            return Ok(());
        }
        let listed = before.is_some_and(|before| {
            self.is(before, Keyword::SELECT)
                || self.is(before, Keyword::DISTINCT)
                || self.get(before) == Some(&Token::Comma)
        });
        match listed {
            true => self.refuse(index, "rows are never shown: ask for COUNT(*), SUM(column) or AVG(column)"),
            false => self.refuse(index, ARITHMETIC),
        }
    }
}

const ARITHMETIC: &str =
    "there is no arithmetic in questions: compare a column with a literal, and compute with the answers";

fn is_literal(keyword: Keyword) -> bool {
    matches!(keyword, Keyword::TRUE | Keyword::FALSE | Keyword::NULL)
}

/// Why a token that is in no question is refused.
fn reason(token: &Token) -> String {
    let why = match token {
        Token::Period => "names are written without a dot: only the column's name",
        Token::DoubleColon => "casts are not answered: write literals of the column's own type",
        Token::Placeholder(_) | Token::Question | Token::Colon | Token::AtSign => {
            "there are no parameters: write the literals into the question"
        }
        Token::Div | Token::Mod | Token::Caret | Token::StringConcat | Token::Ampersand | Token::Pipe => ARITHMETIC,
        Token::DoubleEq => "this is written =",
        Token::Tilde
        | Token::TildeAsterisk
        | Token::ExclamationMarkTilde
        | Token::ExclamationMarkTildeAsterisk
        | Token::DoubleTilde
        | Token::DoubleTildeAsterisk
        | Token::ExclamationMarkDoubleTilde
        | Token::ExclamationMarkDoubleTildeAsterisk => {
            "regular expressions are not answered: write LIKE, where % stands for any text and _ for one character"
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
        _ => "this sign is not of the language: compare with =, <>, <, <=, > or >=",
    };
    why.to_string()
}
