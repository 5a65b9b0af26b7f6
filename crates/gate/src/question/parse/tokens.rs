//! The tokens of a question and where they are, within the limits on its size.

use sqlparser::ast::Query;
use sqlparser::dialect::Dialect;
use sqlparser::keywords::Keyword;
use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::{Location, Token, TokenWithSpan, Tokenizer, Whitespace, Word};

use super::{keywords, limits};
use crate::error::Error;

/// The tokens of a question, without the space between them.
pub(super) struct QuestionTokens {
    tokens: Vec<TokenWithSpan>,
    /// How many characters there are before each line.
    lines: Vec<usize>,
    /// How many characters there are.
    characters: usize,
}

impl QuestionTokens {
    /// Takes a text apart.
    pub(super) fn read(text: &str) -> Result<QuestionTokens, Error> {
        if text.len() > limits::BYTES {
            let fitting =
                text.char_indices().take_while(|(at, letter)| at + letter.len_utf8() <= limits::BYTES).count();
            return Err(Error::question(
                fitting + 1,
                format!("the question is longer than {} bytes: ask something shorter", limits::BYTES),
            ));
        }
        let newlines = text.chars().enumerate().filter(|(_, letter)| *letter == '\n').map(|(at, _)| at + 1);
        let lines = std::iter::once(0).chain(newlines).collect();
        let mut read = QuestionTokens { tokens: Vec::new(), lines, characters: text.chars().count() };
        let mut tokens = Vec::new();
        if Tokenizer::new(&Language, text).tokenize_with_location_into_buf(&mut tokens).is_err() {
            // What cannot be read, such as quotes left open, begins where the last token ends.
            let at = tokens.last().map_or(1, |last| read.position(last.span.end));
            return Err(Error::question(at, "this cannot be read: close all quotes and comments"));
        }
        read.refuse_odd_spaces(text, &tokens)?;
        tokens.retain(|token| !is_space(&token.token));
        tokens.iter_mut().for_each(|token| in_double_quotes(&mut token.token));
        read.tokens = tokens;
        read.refuse_too_many()?;
        Ok(read)
    }

    /// The character where a place of the text is, counted from 1; the end of the text if the place is none.
    fn position(&self, location: Location) -> usize {
        let line = usize::try_from(location.line).ok().and_then(|line| line.checked_sub(1));
        let before = line.and_then(|line| self.lines.get(line));
        before.map_or(self.end(), |before| before + usize::try_from(location.column).unwrap_or(0))
    }

    /// The character behind the last one.
    pub(super) fn end(&self) -> usize {
        self.characters + 1
    }

    /// The character where a token begins; the end of the text behind the last one.
    pub(super) fn at(&self, index: usize) -> usize {
        self.tokens.get(index).map_or(self.end(), |token| self.position(token.span.start))
    }

    /// The token that begins at a place.
    pub(super) fn index(&self, location: Location) -> usize {
        self.tokens.partition_point(|token| token.span.start < location)
    }

    pub(super) fn len(&self) -> usize {
        self.tokens.len()
    }

    pub(super) fn get(&self, index: usize) -> Option<&Token> {
        self.tokens.get(index).map(|token| &token.token)
    }

    /// Whether a token is this keyword, out of quotes.
    pub(super) fn is(&self, index: usize, keyword: Keyword) -> bool {
        matches!(self.get(index), Some(Token::Word(word)) if word.keyword == keyword)
    }

    /// Whether a token is the WITH before a query: at the beginning, or behind a parenthesis.
    pub(super) fn begins_query(&self, index: usize) -> bool {
        let before = index.checked_sub(1).and_then(|before| self.get(before));
        self.is(index, Keyword::WITH) && matches!(before, None | Some(Token::LParen))
    }

    /// The same tokens, in which only words that `keeps` are still keywords, some of them only in their place: the parser would drop a
    /// name such as `filter` without a word.
    pub(super) fn with_keywords(mut self, keeps: impl Fn(Keyword) -> bool) -> QuestionTokens {
        let is_name = |index: usize| match self.get(index) {
            Some(Token::Word(word)) => !self.is_in_place(index).unwrap_or_else(|| keeps(word.keyword)),
            _ => false,
        };
        let names: Vec<usize> = (0..self.len()).filter(|index| is_name(*index)).collect();
        for index in names {
            if let Token::Word(word) = &mut self.tokens[index].token {
                word.keyword = Keyword::NoKeyword;
            }
        }
        self
    }

    /// The tokens for the parser, which does not know the SYMMETRIC of BETWEEN: a sign that no question has stands for it, and
    /// [`super::names`] puts the word in its place.
    fn for_parser(&self) -> Vec<TokenWithSpan> {
        let mut tokens = self.tokens.clone();
        for (index, token) in tokens.iter_mut().enumerate() {
            if self.is_symmetric(index) {
                token.token = Token::Tilde;
            }
        }
        tokens
    }

    /// Whether a token is the SYMMETRIC of BETWEEN: a column of that name stands before AND.
    pub(super) fn is_symmetric(&self, index: usize) -> bool {
        let is_word = |word: &Word| word.quote_style.is_none() && word.value.eq_ignore_ascii_case("SYMMETRIC");
        matches!(self.get(index), Some(Token::Word(word)) if is_word(word))
            && index.checked_sub(1).is_some_and(|before| self.is(before, Keyword::BETWEEN))
            && !self.is(index + 1, Keyword::AND)
    }

    /// The syntax tree.
    pub(super) fn query(&self) -> Result<Box<Query>, Error> {
        let mut tokens = self.for_parser();
        // One at the very end is good manners; the others are refused already.
        tokens.pop_if(|last| last.token == Token::SemiColon);
        let mut parser =
            Parser::new(&Language).with_recursion_limit(limits::RECURSION).with_tokens_with_locations(tokens);
        let parsed = parser.parse_query().and_then(|query| match parser.peek_token() {
            rest if rest.token == Token::EOF => Ok(query),
            rest => parser.expected("the end of the question", rest),
        });
        parsed.map_err(|error| match error {
            ParserError::RecursionLimitExceeded => {
                Error::question(self.at(parser.index()), "this is nested too deeply: ask something simpler")
            }
            ParserError::ParserError(message) | ParserError::TokenizerError(message) => self.misread(&message),
        })
    }

    /// What the parser could not read.
    fn misread(&self, message: &str) -> Error {
        let (message, location) = located(message);
        let at = location.map_or(self.end(), |location| self.position(location));
        if let Some(message) = location.and_then(|location| self.limit_with_comma(self.index(location))) {
            return Error::question(at, message);
        }
        const AFTER_IS: &str = "[NOT] NULL | TRUE | FALSE | DISTINCT | [NOT] JSON [VALUE | SCALAR | ARRAY | OBJECT] [WITH | WITHOUT \
                                UNIQUE [KEYS]] | [form] NORMALIZED FROM";
        let message = message.replacen(AFTER_IS, "NULL, TRUE, FALSE, UNKNOWN or DISTINCT FROM", 1);
        let message = message.replacen("Expected: ", "expected ", 1).replacen(", found: EOF", " before the end", 1);
        let message: String = message.replacen(", found: ", ", found ", 1).chars().take(200).collect();
        Error::question(
            at,
            format!(
                "{message}; a question reads SELECT … FROM … and then, if you like, WHERE, GROUP BY, ORDER BY and LIMIT"
            ),
        )
    }

    /// `LIMIT 5, 10`, as MySQL skips five rows, in the words that are read.
    fn limit_with_comma(&self, comma: usize) -> Option<String> {
        /// The most digits that are repeated.
        const DIGITS: usize = 20;
        let number = |index: usize| match self.get(index) {
            Some(Token::Number(digits, false)) if digits.len() <= DIGITS => Some(digits),
            _ => None,
        };
        let is_limit = self.get(comma) == Some(&Token::Comma) && self.is(comma.checked_sub(2)?, Keyword::LIMIT);
        let (skipped, rows) = (number(comma - 1)?, number(comma + 1)?);
        is_limit.then(|| format!("LIMIT is followed by one number: write LIMIT {rows} OFFSET {skipped}"))
    }

    /// Space is a blank, a tab or a new line: other characters look like one, and engines disagree about them.
    fn refuse_odd_spaces(&self, text: &str, tokens: &[TokenWithSpan]) -> Result<(), Error> {
        let mut letters = text.chars();
        let mut passed = 0;
        for token in tokens.iter().filter(|token| token.token == Token::Whitespace(Whitespace::Space)) {
            let at = self.position(token.span.start);
            let letter = letters.nth(at.saturating_sub(passed + 1)).unwrap_or(' ');
            passed = at;
            if letter != ' ' {
                return Err(Error::question(
                    at,
                    format!("the character U+{:04X} only looks like a blank: write a blank", u32::from(letter)),
                ));
            }
        }
        Ok(())
    }

    fn refuse_too_many(&self) -> Result<(), Error> {
        let mut counted = (0..self.len()).filter(|index| self.get(*index) != Some(&Token::Comma));
        if let Some(index) = counted.nth(limits::TOKENS) {
            let message =
                format!("the question has more than {} words and signs: ask something shorter", limits::TOKENS);
            return Err(Error::question(self.at(index), message));
        }
        let (mut depth, mut negations) = (0usize, 0usize);
        for index in 0..self.len() {
            match self.get(index) {
                Some(Token::LParen) => depth += 1,
                Some(Token::RParen) => depth = depth.saturating_sub(1),
                _ => {}
            }
            negations = if self.is(index, Keyword::NOT) { negations + 1 } else { 0 };
            if depth.max(negations) > limits::DEPTH {
                let message = format!("this is nested more than {} deep: ask something simpler", limits::DEPTH);
                return Err(Error::question(self.at(index), message));
            }
        }
        Ok(())
    }
}

/// What the parser says, and where that is; nothing at the end of the text.
///
/// The errors of sqlparser 0.63 are texts alone, and this is the only place where they say where. Should another version write them
/// differently, every place would be the end of the question: a test of [`located`] fails then.
fn located(told: &str) -> (&str, Option<Location>) {
    let parse = |place: &str| {
        let (line, column) = place.split_once(", Column: ")?;
        Some(Location { line: line.parse().ok()?, column: column.parse().ok()? })
    };
    told.rsplit_once(" at Line: ").map_or((told, None), |(what, place)| (what, parse(place)))
}

/// Names in the quotes of other databases are names.
fn in_double_quotes(token: &mut Token) {
    if let Token::Word(Word { quote_style: Some(quotes @ ('`' | '[')), .. }) = token {
        *quotes = '"';
    }
}

/// Space and comments.
fn is_space(token: &Token) -> bool {
    matches!(token, Token::Whitespace(_))
}

/// The smallest dialect: words of letters and digits, names in quotes, and of the parser's extensions only FILTER, WITHIN GROUP, and
/// ROLLUP and the like behind GROUP BY.
#[derive(Debug)]
struct Language;

impl Dialect for Language {
    fn is_delimited_identifier_start(&self, letter: char) -> bool {
        matches!(letter, '"' | '`' | '[')
    }

    fn is_identifier_start(&self, letter: char) -> bool {
        letter.is_alphabetic() || letter == '_'
    }

    fn is_identifier_part(&self, letter: char) -> bool {
        letter.is_alphanumeric() || letter == '_'
    }

    fn supports_filter_during_aggregation(&self) -> bool {
        true
    }

    fn supports_group_by_expr(&self) -> bool {
        true
    }

    fn supports_group_by_with_modifier(&self) -> bool {
        true
    }

    /// The parser would otherwise take NOT for a name when what follows is nested too deeply.
    fn is_reserved_for_identifier(&self, keyword: Keyword) -> bool {
        keywords::is_reserved(keyword)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parser_still_says_where_it_stopped() {
        let stopped = |text: &str| {
            let error = Parser::new(&Language).try_with_sql(text).unwrap().parse_query().unwrap_err();
            let ParserError::ParserError(told) = error else { panic!("{error:?}") };
            let (what, location) = located(&told);
            (what.to_string(), location)
        };
        let (what, location) = stopped("SELECT COUNT(*)\nFROM people\nWHERE )");
        assert_eq!(location, Some(Location { line: 3, column: 7 }), "{what}");
        assert!(what.starts_with("Expected: ") && what.ends_with(", found: )"), "{what}");
        let (what, location) = stopped("SELECT COUNT(*) FROM people WHERE");
        assert_eq!(location, None, "{what}");
        assert!(what.ends_with(", found: EOF"), "{what}");
    }
}
