//! The prompt of `taximeter ask NAME`: questions one by one, with the meter after every answer.

use std::io::{self, BufRead, IsTerminal};
use std::path::Path;
use std::process::ExitCode;

use rustyline::error::ReadlineError;
use rustyline::{DefaultEditor, history::History};
use taximeter_accounting::Rounding;
use taximeter_gate::{NoiseKind, Number, Price};
use taximeter_ledger::Key;
use taximeter_service::QuestionOutcome;

use super::ask::{Asker, print_explanation, print_outcome, tell_about};
use super::dataset::column_table;
use super::lines::{PromptInput, QuestionLines, read_line};
use super::render;
use crate::args::flag;
use crate::ledger::show::account_lines;
use crate::office::Office;
use crate::output::{Failure, INTEGRITY_BROKEN, print_json, print_line, tell};

const HELP: &str = "\
SELECT … ;         ask, over as many lines as you like; the charge is paid before the data are touched
\\explain SELECT …  what would run, its noise and cost; charges nothing
\\epsilon 0.01      what the next questions pay
\\gaussian 0.05     the same in mu, for discrete Gaussian noise
\\error 50          the least epsilon whose 95% interval is at most ± 50
\\meter             what is left, and the reading
\\columns           what may be asked about
\\quit              leave";

/// The exit code for what cannot be used as it is written.
const WRONG_USAGE: u8 = 2;

/// Reads questions until there are no more. From a file or a pipe, the last one that fails decides how it ends.
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
        tell(&format!(
            "Ask about {}; a question ends with ; or an empty line. Or \\help. The columns are:\n",
            self.asker.dataset
        ));
        tell(&column_table(&self.office.dataset(&self.asker.dataset)?.schema).to_string());
        let (first, more) = (format!("{}> ", self.asker.dataset), "... ".to_string());
        let mut lines = QuestionLines::default();
        loop {
            match editor.readline(if lines.is_empty() { &first } else { &more }) {
                Ok(line) => {
                    let _ = editor.add_history_entry(&line);
                    for PromptInput { text, .. } in lines.add(&line) {
                        match text.map_err(Failure::Usage).and_then(|text| self.input(&text)) {
                            Ok(Next::Go(_)) => {}
                            Ok(Next::Quit) => return save(&mut editor, &history),
                            Err(Failure::ClosedPipe) => return Err(Failure::ClosedPipe),
                            Err(failure) => tell(&format!("error: {}", failure.message())),
                        }
                    }
                }
                // A question that is half written is given up; at the prompt itself that is leaving.
                Err(ReadlineError::Interrupted) if !lines.is_empty() => lines = QuestionLines::default(),
                Err(ReadlineError::Interrupted | ReadlineError::Eof) => return save(&mut editor, &history),
                Err(error) => return Err(broken(error)),
            }
        }
    }

    fn line_by_line(&mut self, mut input: impl BufRead) -> Result<ExitCode, Failure> {
        let mut last = ExitCode::SUCCESS;
        let mut lines = QuestionLines::piped();
        loop {
            let line = read_line(&mut input).map_err(|error| {
                Failure::Other(format!("the questions cannot be read: {error}; give them in a file or a pipe"))
            })?;
            let is_last = line.is_none();
            let inputs = match line {
                None => lines.end().into_iter().collect(),
                Some(Ok(line)) => lines.add(&line),
                Some(Err(why)) => lines.spoil(why),
            };
            for PromptInput { line, text } in inputs {
                let done = text.map_err(Failure::Usage).and_then(|text| self.input(&text));
                match done.map_err(|failure| failure.in_line(line)) {
                    Ok(Next::Quit) => return Ok(last),
                    Ok(Next::Go(code)) if code == ExitCode::SUCCESS => {}
                    // A refusal leaves room for smaller questions, and a mistake for others; it is told at the end.
                    Ok(Next::Go(code)) => last = code,
                    Err(failure @ (Failure::ClosedPipe | Failure::Integrity(_))) => return Err(failure),
                    Err(failure) => {
                        tell(&format!("error: {}", failure.message()));
                        last = code(&failure);
                    }
                }
            }
            if is_last {
                return Ok(last);
            }
        }
    }

    /// Carries out a question or a command.
    fn input(&mut self, input: &str) -> Result<Next, Failure> {
        let line = input.trim().trim_end_matches(';').trim_end();
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
            QuestionOutcome::Answered { document, origin } if !self.json => {
                tell_about(origin);
                print_line(&render::short_answer(&document)?)?;
                Ok(ExitCode::SUCCESS)
            }
            asked => print_outcome(asked, &key, self.json),
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

/// How the program would end if this were all.
fn code(failure: &Failure) -> ExitCode {
    match failure {
        Failure::Usage(_) | Failure::Question { .. } => ExitCode::from(WRONG_USAGE),
        Failure::Integrity(_) => ExitCode::from(INTEGRITY_BROKEN),
        Failure::ClosedPipe | Failure::Other(_) => ExitCode::FAILURE,
    }
}

/// Remembers what was typed.
fn save(editor: &mut DefaultEditor, path: &Path) -> Result<ExitCode, Failure> {
    if !editor.history().is_empty() {
        editor.save_history(path).map_err(|error| Failure::Other(format!("the prompt: {error}")))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// What is offered, in words.
fn offered(price: Price) -> String {
    match price {
        Price::Epsilon(epsilon) => format!("ε = {epsilon}"),
        Price::Gaussian(mu) => format!("μ = {mu}, for discrete Gaussian noise"),
        Price::Error { width, .. } => format!("the least ε whose 95% interval is within ± {width}"),
    }
}
