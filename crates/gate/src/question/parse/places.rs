//! Words that mean something in their place, and are names elsewhere.

use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::Token;

use super::tokens::QuestionTokens;

impl QuestionTokens {
    /// Whether a word stands where the language has it; nothing for words that it has anywhere, or nowhere.
    pub(super) fn is_in_place(&self, index: usize) -> Option<bool> {
        let Some(Token::Word(word)) = self.get(index) else { return None };
        let next = self.get(index + 1);
        let called = next == Some(&Token::LParen);
        let is_number = |token: Option<&Token>| matches!(token, Some(Token::Number(..)));
        let before = |keyword| index.checked_sub(1).is_some_and(|before| self.is(before, keyword));
        let behind = |keywords: &[Keyword]| keywords.iter().any(|keyword| self.is(index + 1, *keyword));
        Some(match word.keyword {
            Keyword::FILTER => called,
            // It is followed by a window, or by the name of one.
            Keyword::OVER => !matches!(next, None | Some(Token::Comma | Token::RParen)) && !behind(&[Keyword::FROM]),
            Keyword::WITHIN => behind(&[Keyword::GROUP]),
            Keyword::WITH => self.begins_query(index) || behind(&[Keyword::ROLLUP, Keyword::CUBE]),
            Keyword::INTERVAL => is_number(next) || matches!(next, Some(Token::SingleQuotedString(_) | Token::Minus)),
            // Its name and AS follow.
            Keyword::WINDOW => matches!(next, Some(Token::Word(_))) && self.is(index + 2, Keyword::AS),
            Keyword::PARTITION => behind(&[Keyword::BY]),
            Keyword::RANGE => behind(&[Keyword::BETWEEN, Keyword::UNBOUNDED, Keyword::CURRENT]),
            Keyword::UNBOUNDED => behind(&[Keyword::PRECEDING, Keyword::FOLLOWING]),
            Keyword::PRECEDING | Keyword::FOLLOWING => {
                before(Keyword::UNBOUNDED) || is_number(index.checked_sub(1).and_then(|before| self.get(before)))
            }
            Keyword::CURRENT => behind(&[Keyword::ROW]),
            Keyword::ROLLUP | Keyword::CUBE => called || before(Keyword::WITH),
            Keyword::GROUPING => behind(&[Keyword::SETS]),
            Keyword::SETS => before(Keyword::GROUPING),
            Keyword::TOP => before(Keyword::SELECT) && (called || is_number(next)),
            Keyword::POSITION => called,
            // LEFT(text, 1) is a function.
            Keyword::LEFT => !called,
            _ => return None,
        })
    }
}
