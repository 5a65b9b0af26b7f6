//! Joins the lines of a prompt or a pipe to questions.

use std::io::{self, BufRead, Read};

/// The longest line that is read, in bytes. Any question is much shorter.
const LONGEST: u64 = 64 * 1024;

/// Words that cannot end a question.
const INNER: [&str; 23] = [
    "select", "distinct", "from", "where", "group", "order", "having", "by", "and", "or", "not", "in", "between",
    "like", "union", "all", "join", "on", "using", "case", "when", "then", "else",
];
/// Further words that continue a question.
const LATER: [&str; 16] = [
    "limit", "offset", "fetch", "as", "is", "null", "asc", "desc", "escape", "filter", "inner", "left", "qualify",
    "over", "within", "end",
];

/// The next line, or why it cannot be used. None at the end of the input.
pub fn read_line(input: &mut impl BufRead) -> io::Result<Option<Result<String, String>>> {
    let mut line = Vec::new();
    if input.by_ref().take(LONGEST + 1).read_until(b'\n', &mut line)? == 0 {
        return Ok(None);
    }
    if line.len() as u64 > LONGEST {
        if !line.ends_with(b"\n") {
            input.skip_until(b'\n')?;
        }
        return Ok(Some(Err(format!("the line is longer than {LONGEST} bytes; shorten it"))));
    }
    Ok(Some(String::from_utf8(line).map_err(|_| "the line is not UTF-8; write the questions in UTF-8".to_string())))
}

/// A question or a command, or why a line cannot be used.
#[derive(Debug, PartialEq)]
pub struct PromptInput {
    /// The first line of the question, or the line that cannot be used.
    pub line: u64,
    pub text: Result<String, String>,
}

/// Collects the lines of a question. A semicolon, an empty line or the start of another question ends it. A command is one line.
#[derive(Default)]
pub struct QuestionLines {
    /// Whether the input is not a terminal: a line that cannot continue the question then starts another.
    is_piped: bool,
    question: String,
    /// The number of the question's first line.
    begins: u64,
    /// The number of the last line that was added.
    number: u64,
    /// Whether a line of the question cannot be used; its other lines are then ignored.
    is_spoiled: bool,
}

impl QuestionLines {
    /// For the lines of a pipe or a file.
    pub fn piped() -> QuestionLines {
        QuestionLines { is_piped: true, ..QuestionLines::default() }
    }

    pub fn is_empty(&self) -> bool {
        self.question.is_empty()
    }

    /// Adds a line. Returns the questions and commands that it completes.
    pub fn add(&mut self, line: &str) -> Vec<PromptInput> {
        self.number += 1;
        let text = line.trim();
        let word = first_word(text);
        let is_command = text.starts_with('\\') || self.is_empty() && ["exit", "quit", "help"].contains(&word);
        // SELECT also begins a sub-query and the next part of a union.
        let selects = word.eq_ignore_ascii_case("select") && !is_open(&self.question);
        let begins = is_command || selects || self.is_piped && self.is_over(word);
        let mut ended: Vec<PromptInput> = Vec::new();
        if begins || text.is_empty() {
            ended.extend(self.end());
            self.is_spoiled = false;
        }
        if is_command {
            ended.push(PromptInput { line: self.number, text: Ok(text.to_string()) });
        } else if self.is_spoiled {
            self.is_spoiled = !text.ends_with(';');
        } else if !text.is_empty() {
            if self.is_empty() {
                self.begins = self.number;
            } else {
                self.question.push('\n');
            }
            self.question.push_str(line.trim_end());
            if text.ends_with(';') {
                ended.extend(self.end());
            }
        }
        ended
    }

    /// Adds a line that cannot be used. It spoils the question it is in, unless that may be complete.
    pub fn spoil(&mut self, why: String) -> Vec<PromptInput> {
        self.number += 1;
        let mut ended: Vec<PromptInput> = Vec::new();
        match can_be_complete(&self.question) {
            true => ended.extend(self.end()),
            false => {
                self.is_spoiled = !self.is_empty();
                self.question.clear();
            }
        }
        ended.push(PromptInput { line: self.number, text: Err(why) });
        ended
    }

    /// Ends the question, if there is one.
    pub fn end(&mut self) -> Option<PromptInput> {
        (!self.is_empty()).then(|| PromptInput { line: self.begins, text: Ok(std::mem::take(&mut self.question)) })
    }

    /// Whether a line that starts with this word cannot continue the question.
    fn is_over(&self, word: &str) -> bool {
        let goes_on = !word.starts_with(|first: char| first.is_alphabetic() || first == '_') || is_one_of(word, &LATER);
        !goes_on && !is_one_of(word, &INNER) && (self.is_spoiled || can_be_complete(&self.question))
    }
}

/// Whether a question may be complete: it has a FROM with a name, and nothing is open.
fn can_be_complete(question: &str) -> bool {
    let mut words = question.split_whitespace();
    words.any(|word| word.eq_ignore_ascii_case("from")) && words.next().is_some() && !is_open(question)
}

/// Whether a question cannot end here: a quote or a parenthesis is open, or its last word or sign needs another.
fn is_open(question: &str) -> bool {
    let unquoted: String = question.split('\'').step_by(2).collect();
    let count = |sign: char| unquoted.matches(sign).count();
    let last = question.split_whitespace().next_back().unwrap_or_default();
    question.matches('\'').count() % 2 == 1
        || count('"') % 2 == 1
        || count('(') != count(')')
        || last.ends_with([',', '(', '=', '<', '>', '+', '-', '*', '/', '.'])
        || is_one_of(last, &INNER)
}

fn first_word(text: &str) -> &str {
    let end = text.find(|sign: char| !(sign.is_alphanumeric() || sign == '_' || sign == '\\')).unwrap_or(text.len());
    match &text[..end] {
        "" => text.split_whitespace().next().unwrap_or_default(),
        word => word,
    }
}

fn is_one_of(word: &str, words: &[&str]) -> bool {
    words.iter().any(|other| word.eq_ignore_ascii_case(other))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The inputs of a pipe, each with its line.
    fn piped(text: &[u8]) -> Vec<(u64, Result<String, String>)> {
        let (mut input, mut lines) = (text, QuestionLines::piped());
        let mut inputs = Vec::new();
        while let Some(line) = read_line(&mut input).unwrap() {
            inputs.extend(match line {
                Ok(line) => lines.add(&line),
                Err(why) => lines.spoil(why),
            });
        }
        inputs.extend(lines.end());
        inputs.into_iter().map(|PromptInput { line, text }| (line, text)).collect()
    }

    #[track_caller]
    fn check(text: &str, expected: &[(u64, &str)]) {
        let expected: Vec<_> = expected.iter().map(|(line, text)| (*line, Ok(text.to_string()))).collect();
        assert_eq!(piped(text.as_bytes()), expected);
    }

    #[test]
    fn a_line_that_cannot_go_on_with_a_question_begins_another() {
        check(
            "SELECT 1 FROM p\nSELEC 2 FROM p\nSELECT 3 FROM p",
            &[(1, "SELECT 1 FROM p"), (2, "SELEC 2 FROM p"), (3, "SELECT 3 FROM p")],
        );
        check("SELECT 1 FROM p\nnonsense\n\nmore", &[(1, "SELECT 1 FROM p"), (2, "nonsense"), (4, "more")]);
    }

    #[test]
    fn a_question_goes_on_with_a_clause_a_sign_or_what_is_missing() {
        for question in [
            "SELECT COUNT(*)\nFROM p\nWHERE a > 1\n  and b = 'x'\nGROUP BY r\nLIMIT 3",
            "SELECT\na,\nCOUNT(*)\nFROM\np\nGROUP BY\na\nORDER BY a\nDESC",
            "SELECT 1 FROM p WHERE a >\n3",
            "SELECT 1 FROM p WHERE r IN (\nnorth\n)",
            "SELECT 1 FROM p WHERE r = 'a\nb'",
            "SELECT 1 FROM p WHERE a BETWEEN 1\nAND 3 AND\nb IS\nNOT NULL",
            "SELECT 1 FROM p\nUNION ALL\nSELECT 2 FROM p",
            "SELECT 1 FROM p WHERE a > (\nSELECT AVG(a) FROM p\n)",
            "SELECT 1 FROM p\nLEFT JOIN q\nUSING (r)\nWHERE r <> ':('\nGROUP BY r",
            "SELECT SUM(CASE\nWHEN a > 1 THEN a\nELSE 0\nEND)\nFROM p",
        ] {
            check(question, &[(1, question)]);
        }
    }

    #[test]
    fn a_line_that_cannot_be_read_is_an_error_of_its_own_question() {
        let long = "x".repeat(LONGEST as usize + 1);
        for (bad, why) in [(b"SELECT \xff FROM p".as_slice(), "not UTF-8"), (long.as_bytes(), "longer than 65536")] {
            let text = [b"SELECT 1 FROM p\n", bad, b"\nSELECT 2 FROM p\n"].concat();
            let inputs = piped(&text);
            assert_eq!(inputs[0], (1, Ok("SELECT 1 FROM p".to_string())));
            assert!(inputs[1].0 == 2 && inputs[1].1.as_ref().unwrap_err().contains(why), "{inputs:?}");
            assert_eq!(inputs[2..], [(3, Ok("SELECT 2 FROM p".to_string()))]);
            // In the middle of a question, the rest of it is left out.
            let text = [b"SELECT 1\n", bad, b"\nFROM p\nSELECT 2 FROM p\n"].concat();
            let lines: Vec<u64> = piped(&text).iter().map(|(line, _)| *line).collect();
            assert_eq!(lines, [2, 4]);
        }
    }
}
