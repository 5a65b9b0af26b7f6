//! The prompt of `taximeter ask NAME`: questions one by one, with the meter after every answer.

use std::io::{self, BufRead, IsTerminal, Read};
use std::process::ExitCode;

use rustyline::error::ReadlineError;
use rustyline::{DefaultEditor, history::History};
use taximeter_accounting::Rounding;
use taximeter_gate::{NoiseKind, Number, Price};
use taximeter_ledger::Key;

use super::ask::{Asker, print_asked, print_explanation, tell_about};
use super::dataset::column_table;
use super::render;
use crate::args::flag;
use crate::ledger::show::account_lines;
use crate::office::{Asked, Office};
use crate::output::{Failure, NO_ANSWER, REFUSED, print_json, print_line, tell};

const HELP: &str = "\
SELECT …           ask; the charge is paid before the data are touched
\\explain SELECT …  what would run, its noise and cost; charges nothing
\\epsilon 0.01      what the next questions pay
\\gaussian 0.05     the same in mu, for discrete Gaussian noise
\\error 50          the least epsilon whose 95% interval is at most so wide
\\meter             what is left, and the reading
\\columns           what may be asked about
\\quit              leave";

/// The longest line that is read: much longer than any question.
const LONGEST_LINE: u64 = 64 * 1024;

/// Reads questions until there are no more. From a file or a pipe, the first one that fails ends it.
pub fn run(office: &dyn Office, asker: &Asker, price: Option<Price>, json: bool) -> Result<ExitCode, Failure> {
    let mut session = Session { office, asker, price, json };
    office.dataset(&asker.dataset)?;
    match io::stdin().is_terminal() {
        true => session.at_the_terminal(),
        false => session.line_by_line(io::stdin().lock()),
    }
}

struct Session<'a> {
    office: &'a dyn Office,
    asker: &'a Asker,
    price: Option<Price>,
    json: bool,
}

/// What to do after a line.
enum Next {
    Go(ExitCode),
    Quit,
}

impl Session<'_> {
    fn at_the_terminal(&mut self) -> Result<ExitCode, Failure> {
        let broken = |error: ReadlineError| Failure::Other(format!("the prompt: {error}"));
        let mut editor = DefaultEditor::new().map_err(broken)?;
        let history = self.office.typed_lines()?;
        // The first time there is none.
        let _ = editor.load_history(&history);
        tell(&format!("Ask about {}, or \\help. The columns are:\n", self.asker.dataset));
        tell(&column_table(&self.office.dataset(&self.asker.dataset)?.schema).to_string());
        let prompt = format!("{}> ", self.asker.dataset);
        loop {
            match editor.readline(&prompt) {
                Ok(line) => {
                    let _ = editor.add_history_entry(&line);
                    match self.line(&line) {
                        Ok(Next::Go(_)) => {}
                        Ok(Next::Quit) => break,
                        Err(Failure::ClosedPipe) => return Err(Failure::ClosedPipe),
                        Err(failure) => tell(&format!("error: {}", failure.message())),
                    }
                }
                Err(ReadlineError::Interrupted | ReadlineError::Eof) => break,
                Err(error) => return Err(broken(error)),
            }
        }
        if !editor.history().is_empty() {
            editor.save_history(&history).map_err(broken)?;
        }
        Ok(ExitCode::SUCCESS)
    }

    fn line_by_line(&mut self, mut lines: impl BufRead) -> Result<ExitCode, Failure> {
        let mut last = ExitCode::SUCCESS;
        let mut line = Vec::new();
        for number in 1.. {
            line.clear();
            lines.by_ref().take(LONGEST_LINE + 1).read_until(b'\n', &mut line).map_err(|error| {
                Failure::Other(format!("the questions cannot be read: {error}; give them in a file or a pipe"))
            })?;
            if line.is_empty() {
                break;
            }
            if line.len() as u64 > LONGEST_LINE {
                let why = format!("the line is longer than {LONGEST_LINE} bytes, and so not a question: shorten it");
                return Err(Failure::Usage(why).in_line(number));
            }
            let line = str::from_utf8(&line).map_err(|_| {
                Failure::Usage(format!("the questions are not UTF-8 in line {number}; write them in UTF-8"))
            })?;
            match self.line(line).map_err(|failure| failure.in_line(number))? {
                Next::Go(code) if code == ExitCode::SUCCESS => {}
                // A refusal leaves room for smaller questions; it is told at the end.
                Next::Go(code) if code == ExitCode::from(REFUSED) || code == ExitCode::from(NO_ANSWER) => last = code,
                Next::Go(code) => return Ok(code),
                Next::Quit => break,
            }
        }
        Ok(last)
    }

    fn line(&mut self, line: &str) -> Result<Next, Failure> {
        let line = line.trim().trim_end_matches(';').trim_end();
        let (word, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        let rest = rest.trim();
        match word {
            "" => {}
            "\\quit" | "\\q" | "exit" | "quit" => return Ok(Next::Quit),
            // Documents alone go to standard output, if such are wanted.
            "\\help" | "\\?" | "help" if self.json => tell(HELP),
            "\\help" | "\\?" | "help" => print_line(HELP)?,
            "\\epsilon" => self.price = Some(Price::Epsilon(flag("\\epsilon", rest, Rounding::Up)?)),
            "\\gaussian" => self.price = Some(Price::Gaussian(flag("\\gaussian", rest, Rounding::Up)?)),
            "\\error" => {
                let width = Number::parse(rest).map_err(|error| Failure::Usage(format!("\\error: {error}")))?;
                self.price = Some(Price::Error { width, noise: NoiseKind::Laplace });
            }
            "\\meter" => self.meter()?,
            "\\columns" => self.columns()?,
            "\\explain" => self.explain(rest)?,
            _ if word.starts_with('\\') => {
                return Err(Failure::Usage(format!("there is no command {word}; \\help shows them")));
            }
            _ => return Ok(Next::Go(self.ask(line)?)),
        }
        if let ("\\epsilon" | "\\gaussian" | "\\error", Some(price)) = (word, self.price) {
            tell(&format!("the next questions pay {}", offered(price)));
        }
        Ok(Next::Go(ExitCode::SUCCESS))
    }

    fn price(&self) -> Result<Price, Failure> {
        self.price.ok_or_else(|| {
            Failure::Usage("say first what a question may cost, for instance \\epsilon 0.01".to_string())
        })
    }

    fn ask(&self, question: &str) -> Result<ExitCode, Failure> {
        let (request, key) = (self.asker.request(question, self.price()?), Key::generate()?);
        match self.office.ask(&request, self.asker.by.as_ref(), &key)? {
            Asked::Answered { document, origin, closed } if !self.json => {
                tell_about(origin, &closed);
                print_line(&render::short_answer(&document)?)?;
                Ok(ExitCode::SUCCESS)
            }
            asked => print_asked(asked, &key, self.json),
        }
    }

    fn explain(&self, question: &str) -> Result<(), Failure> {
        let explanation = self.office.explain(&self.asker.request(question, self.price()?))?;
        print_explanation(&explanation, self.json).map(|_| ())
    }

    fn columns(&self) -> Result<(), Failure> {
        let schema = self.office.dataset(&self.asker.dataset)?.schema;
        match self.json {
            true => print_json(&schema),
            false => print_line(&column_table(&schema).to_string()),
        }
    }

    fn meter(&self) -> Result<(), Failure> {
        let name = match &self.asker.account {
            Some(account) => account.clone(),
            None => self.office.payer(&self.asker.dataset)?,
        };
        let account = self.office.account(&name)?;
        match self.json {
            true => print_json(&account),
            false => print_line(&account_lines(&account).to_string()),
        }
    }
}

/// What is offered, in words.
fn offered(price: Price) -> String {
    match price {
        Price::Epsilon(epsilon) => format!("ε = {epsilon}"),
        Price::Gaussian(mu) => format!("μ = {mu}, for discrete Gaussian noise"),
        Price::Error { width, .. } => format!("the least ε whose 95% interval is within ± {width}"),
    }
}
