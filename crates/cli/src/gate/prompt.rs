//! The prompt of `taximeter ask NAME`: questions one by one, with the meter after every answer.

use std::io::{self, BufRead, IsTerminal};
use std::path::Path;
use std::process::ExitCode;

use rustyline::error::ReadlineError;
use rustyline::{DefaultEditor, history::History};
use taximeter_gate::DummyAnswer;
use taximeter_ledger::Key;
use taximeter_service::{QuestionOutcome, QuestionRequest};

use super::ask::{Asker, print_dummy, print_explanation, print_outcome, tell_origin};
use super::dataset::column_table;
use super::lines::{PromptInput, QuestionLines, read_line};
use super::offer::Offer;
use super::render;
use crate::backend::Backend;
use crate::ledger::show::account_lines;
use crate::output::{Failure, print, print_line, tell, usage};

const HELP: &str = "\
SELECT … ;         ask, on one or more lines; the charge is paid before the data are read
\\explain SELECT …  show the SQL that would run, its noise and cost; charges nothing
\\dummy SELECT …    try it on made-up rows; charges nothing
\\epsilon 0.01      set the cost of the next questions
\\delta 1e-9        add a delta to it, to group by columns without categories
\\gaussian 0.05     set it as mu, for Gaussian noise
\\error 50          pay the least epsilon whose 95% interval is at most ± 50
\\meter             show what is left, and the reading
\\columns           show the columns
\\quit              leave";

/// Reads questions to the end of the input. From a file or a pipe, the last failure decides the exit code.
pub fn run(backend: &dyn Backend, asker: &Asker, offer: Option<Offer>, json: bool) -> Result<ExitCode, Failure> {
    let mut prompt = Prompt { backend, asker, offer, json };
    backend.dataset(&asker.dataset)?;
    match io::stdin().is_terminal() {
        true => prompt.at_the_terminal(),
        false => prompt.line_by_line(io::stdin().lock()),
    }
}

struct Prompt<'a> {
    backend: &'a dyn Backend,
    asker: &'a Asker,
    offer: Option<Offer>,
    json: bool,
}

/// What to do after a question or a command.
enum Next {
    Continue(ExitCode),
    Quit,
}

impl Prompt<'_> {
    fn at_the_terminal(&mut self) -> Result<ExitCode, Failure> {
        let broken = |error: ReadlineError| Failure::Other(format!("the prompt: {error}"));
        let mut editor = DefaultEditor::new().map_err(broken)?;
        let history = self.backend.typed_lines()?;
        // There is no history the first time.
        let _ = editor.load_history(&history);
        tell(&format!(
            "Ask about {}. A question ends with ; or an empty line; \\help lists the commands. The columns are:\n",
            self.asker.dataset
        ));
        tell(&column_table(&self.backend.dataset(&self.asker.dataset)?.schema)?.to_string());
        let (first, more) = (format!("{}> ", self.asker.dataset), "... ".to_string());
        let mut lines = QuestionLines::default();
        loop {
            match editor.readline(if lines.is_empty() { &first } else { &more }) {
                Ok(line) => {
                    let _ = editor.add_history_entry(&line);
                    for PromptInput { text, .. } in lines.add(&line) {
                        match text.map_err(Failure::Usage).and_then(|text| self.execute(&text)) {
                            Ok(Next::Continue(_)) => {}
                            Ok(Next::Quit) => return save(&mut editor, &history),
                            Err(Failure::ClosedPipe) => return Err(Failure::ClosedPipe),
                            Err(failure) => tell(&format!("error: {}", failure.message())),
                        }
                    }
                }
                // Ctrl-C discards an unfinished question, and otherwise leaves the prompt.
                Err(ReadlineError::Interrupted) if !lines.is_empty() => lines = QuestionLines::default(),
                Err(ReadlineError::Interrupted | ReadlineError::Eof) => return save(&mut editor, &history),
                Err(error) => return Err(broken(error)),
            }
        }
    }

    fn line_by_line(&mut self, mut input: impl BufRead) -> Result<ExitCode, Failure> {
        let mut last = ExitCode::SUCCESS;
        let mut lines = QuestionLines::default();
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
                let done = text.map_err(Failure::Usage).and_then(|text| self.execute(&text));
                match done.map_err(|failure| failure.in_line(line)) {
                    Ok(Next::Quit) => return Ok(last),
                    Ok(Next::Continue(code)) if code == ExitCode::SUCCESS => {}
                    // The others may still succeed; the exit code reports this one at the end.
                    Ok(Next::Continue(code)) => last = code,
                    Err(failure @ (Failure::ClosedPipe | Failure::Integrity(_))) => return Err(failure),
                    Err(failure) => {
                        tell(&format!("error: {}", failure.message()));
                        last = failure.exit_code();
                    }
                }
            }
            if is_last {
                return Ok(last);
            }
        }
    }

    /// Executes a question or a command.
    fn execute(&mut self, input: &str) -> Result<Next, Failure> {
        let line = input.trim().trim_end_matches(';').trim_end();
        let (word, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        let rest = rest.trim();
        match word {
            "" => {}
            "\\quit" | "\\q" | "exit" | "quit" => return Ok(Next::Quit),
            // With --json, only documents go to standard output.
            "\\help" | "\\?" | "help" if self.json => tell(HELP),
            "\\help" | "\\?" | "help" => print_line(HELP)?,
            "\\epsilon" | "\\gaussian" | "\\error" => {
                self.set_offer(Offer::named(word, rest)?);
            }
            "\\delta" => {
                let offer = self.offer.ok_or_else(|| usage("set an epsilon first, for instance \\epsilon 0.5"))?;
                self.set_offer(offer.with_delta(word, rest)?);
            }
            "\\meter" => self.meter()?,
            "\\columns" => self.columns()?,
            "\\explain" => self.explain(rest)?,
            "\\dummy" => self.dummy(rest)?,
            _ if word.starts_with('\\') => {
                return Err(usage(format!("there is no command {word}; \\help lists the commands")));
            }
            _ => return Ok(Next::Continue(self.ask(line)?)),
        }
        Ok(Next::Continue(ExitCode::SUCCESS))
    }

    fn set_offer(&mut self, offer: Offer) {
        tell(&format!("the next questions pay {}", offer.describe()));
        self.offer = Some(offer);
    }

    fn request(&self, question: &str) -> Result<QuestionRequest, Failure> {
        let offer = self.offer.ok_or_else(|| usage("set the cost of a question first, for instance \\epsilon 0.01"))?;
        Ok(self.asker.request(question, offer.price(self.backend, self.asker, question)?))
    }

    fn ask(&self, question: &str) -> Result<ExitCode, Failure> {
        let (request, key) = (self.request(question)?, Key::generate()?);
        match self.backend.ask(&request, self.asker.by.as_ref(), &key)? {
            QuestionOutcome::Answered { document, origin } if !self.json => {
                tell_origin(origin);
                print_line(&render::short_answer(&document)?)?;
                Ok(ExitCode::SUCCESS)
            }
            outcome => print_outcome(outcome, &key, self.json),
        }
    }

    fn explain(&self, question: &str) -> Result<(), Failure> {
        let explanation = self.backend.explain(&self.request(question)?)?;
        print_explanation(&explanation, self.json).map(|_| ())
    }

    fn dummy(&self, question: &str) -> Result<(), Failure> {
        let answer = self.backend.ask_dummy(&self.request(question)?, DummyAnswer::ROWS)?;
        print_dummy(&answer, self.json).map(|_| ())
    }

    fn columns(&self) -> Result<(), Failure> {
        let schema = self.backend.dataset(&self.asker.dataset)?.schema;
        let columns = column_table(&schema)?;
        print(self.json, &schema, || columns.to_string()).map(|_| ())
    }

    fn meter(&self) -> Result<(), Failure> {
        let name = match &self.asker.account {
            Some(account) => account.clone(),
            None => self.backend.payer(&self.asker.dataset)?,
        };
        let account = self.backend.account(&name)?;
        print(self.json, &account, || account_lines(&account).to_string()).map(|_| ())
    }
}

/// Saves the lines that were typed.
fn save(editor: &mut DefaultEditor, path: &Path) -> Result<ExitCode, Failure> {
    if !editor.history().is_empty() {
        editor.save_history(path).map_err(|error| Failure::Other(format!("the prompt: {error}")))?;
    }
    Ok(ExitCode::SUCCESS)
}
