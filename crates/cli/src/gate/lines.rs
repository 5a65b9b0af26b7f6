//! Joins the lines of a prompt or a pipe to questions.

use std::io::{self, BufRead, Read};
use std::mem;

/// The longest line that is read, in bytes. Any question is much shorter.
const LONGEST: u64 = 64 * 1024;

/// Words that cannot end a question.
const INNER: &str = "select distinct from where group order having by and or not in between like escape union except intersect minus \
                     all with as is natural cross inner left right full outer join on using window over qualify limit offset case \
                     when then else";

/// Words that begin a question at the start of a line.
const FIRST: &str = "select with";

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

/// Collects the lines of a question. A semicolon, an empty line, a command or the start of another question ends it. Nothing else does: a
/// question that is cut off would be charged. A command is one line.
#[derive(Default)]
pub struct QuestionLines {
    question: String,
    /// The number of the question's first line.
    begins: u64,
    /// The number of the last line that was added.
    number: u64,
    /// Whether a line of the question cannot be used; the question is then left out.
    is_spoiled: bool,
}

impl QuestionLines {
    pub fn is_empty(&self) -> bool {
        self.question.is_empty()
    }

    /// Adds a line. Returns the questions and commands that it completes.
    pub fn add(&mut self, line: &str) -> Vec<PromptInput> {
        self.number += 1;
        let text = line.trim();
        let word = first_word(text);
        let is_command = text.starts_with('\\') || self.is_empty() && ["exit", "quit", "help"].contains(&word);
        let begins = is_command || is_one_of(word, FIRST) && self.may_be_complete();
        let mut ended: Vec<PromptInput> = Vec::new();
        if begins || text.is_empty() {
            ended.extend(self.end());
        }
        if is_command {
            ended.push(PromptInput { line: self.number, text: Ok(text.to_string()) });
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

    /// Adds a line that cannot be used. It may be a part of the question so far, which is then left out.
    pub fn spoil(&mut self, why: String) -> Vec<PromptInput> {
        self.number += 1;
        self.is_spoiled = true;
        let why = match self.is_empty() {
            true => why,
            false => format!("{why}. The question that begins in line {} is left out", self.begins),
        };
        vec![PromptInput { line: self.number, text: Err(why) }]
    }

    /// Ends the question, if there is one.
    pub fn end(&mut self) -> Option<PromptInput> {
        let (question, is_spoiled) = (mem::take(&mut self.question), mem::take(&mut self.is_spoiled));
        (!question.is_empty() && !is_spoiled).then_some(PromptInput { line: self.begins, text: Ok(question) })
    }

    /// Whether SELECT or WITH begins another question, and not a sub-query, the next part of a union, or what a WITH is for.
    fn may_be_complete(&self) -> bool {
        self.is_empty() || !is_open(&self.question) && selects(&self.question)
    }
}

/// Whether a question has a SELECT of its own, outside parentheses and quotes.
fn selects(question: &str) -> bool {
    let mut depth = 0_usize;
    let mut outer = |sign: char| {
        match sign {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth == 0 { sign } else { ' ' }
    };
    let outer: String = question.split('\'').step_by(2).flat_map(str::chars).map(&mut outer).collect();
    outer.split(|sign: char| !is_of_word(sign)).any(|word| word.eq_ignore_ascii_case("select"))
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
        || is_one_of(last, INNER)
}

fn is_of_word(sign: char) -> bool {
    sign.is_alphanumeric() || sign == '_'
}

fn first_word(text: &str) -> &str {
    let end = text.find(|sign: char| !is_of_word(sign) && sign != '\\').unwrap_or(text.len());
    match &text[..end] {
        "" => text.split_whitespace().next().unwrap_or_default(),
        word => word,
    }
}

fn is_one_of(word: &str, words: &str) -> bool {
    words.split(' ').any(|other| word.eq_ignore_ascii_case(other))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The inputs of a pipe, each with its line.
    fn piped(text: &[u8]) -> Vec<(u64, Result<String, String>)> {
        let (mut input, mut lines) = (text, QuestionLines::default());
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
    fn another_question_begins_with_select_or_with_after_a_whole_one() {
        check(
            "SELECT 1 FROM p\nselect 2 FROM p\nWITH e AS (SELECT a FROM p) SELECT 3 FROM e\nSELECT 4 FROM p",
            &[
                (1, "SELECT 1 FROM p"),
                (2, "select 2 FROM p"),
                (3, "WITH e AS (SELECT a FROM p) SELECT 3 FROM e"),
                (4, "SELECT 4 FROM p"),
            ],
        );
        check("SELECT 1 FROM p\nnonsense\n\nmore", &[(1, "SELECT 1 FROM p\nnonsense"), (4, "more")]);
        // What needs the SELECT in the next line is not a question without it.
        check("EXPLAIN\nSELECT 1 FROM p", &[(1, "EXPLAIN\nSELECT 1 FROM p")]);
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
            // The first line alone was asked and charged.
            "SELECT COUNT(*) FROM p\nRIGHT JOIN q ON p.a = q.a",
            "SELECT COUNT(*) FROM p\nCROSS JOIN q\nNATURAL JOIN r\nFULL OUTER JOIN s ON p.a = s.a",
            "SELECT 1 FROM p\nEXCEPT\nSELECT 2 FROM p\nINTERSECT\nSELECT 3 FROM p\nMINUS SELECT 4 FROM p",
            "SELECT COUNT(*) FROM p\nWINDOW w AS (ORDER BY a)",
            "SELECT COUNT(*) FROM p\na_word_of_tomorrow b",
            // Each line alone is nothing. It is an example of docs/questions.md.
            "WITH earners AS (SELECT region, income * 1.0 / 12 AS monthly FROM people WHERE income > 0)\n\
             SELECT region, AVG(monthly) AS monthly FROM earners GROUP BY region ORDER BY COUNT(*) DESC",
            "WITH e AS (\nSELECT a FROM p\n),\nf AS (SELECT 'select' AS b FROM e)\nSELECT COUNT(*) FROM f",
        ] {
            check(question, &[(1, question)]);
        }
    }

    #[test]
    fn a_line_that_cannot_be_read_leaves_its_question_out() {
        let long = "x".repeat(LONGEST as usize + 1);
        for (bad, why) in [(b"SELECT \xff FROM p".as_slice(), "not UTF-8"), (long.as_bytes(), "longer than 65536")] {
            // It may be the end of the question before it, which would be cut off without it.
            let text = [b"SELECT 1 FROM p\n", bad, b"\nSELECT 2 FROM p\n"].concat();
            let inputs = piped(&text);
            let said = inputs[0].1.as_ref().unwrap_err();
            assert!(said.contains(why) && said.ends_with("line 1 is left out"), "{said}");
            assert_eq!((inputs[0].0, &inputs[1..]), (2, &[(3, Ok("SELECT 2 FROM p".to_string()))][..]));
            // In the middle of a question, the rest of it is left out; after the end of one, there is nothing to leave out.
            for (before, after, expected) in [
                ("SELECT 1\n", "FROM p\nSELECT 2 FROM p", vec![2, 4]),
                ("WITH e AS (\n", ")\nSELECT 1 FROM e\n\nSELECT 2 FROM p", vec![2, 6]),
                ("SELECT 1 FROM p;\n", "SELECT 2 FROM p", vec![1, 2, 3]),
                ("SELECT 1 FROM p\n\n", "WHERE a > 1;\nSELECT 2 FROM p", vec![1, 3, 5]),
            ] {
                let text = [before.as_bytes(), bad, b"\n", after.as_bytes()].concat();
                let lines: Vec<u64> = piped(&text).iter().map(|(line, _)| *line).collect();
                assert_eq!(lines, expected, "{before:?}");
            }
        }
    }
}
