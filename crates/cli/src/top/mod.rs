//! `taximeter top`: the accounts in a terminal, as they are being spent.

mod screen;

use std::collections::HashMap;
use std::io::{IsTerminal, Write, stdout};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::Args;
use crossterm::cursor::{Hide, MoveTo, Show};
use crossterm::event::{Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers, poll, read};
use crossterm::style::Print;
use crossterm::terminal::{
    Clear, ClearType, EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode, size,
};
use crossterm::{execute, queue};
use taximeter_ledger::AccountName;
use taximeter_service::{AccountDocument, AccountList, RecordDocument, RefusalList};

use crate::backend::Backend;
use crate::ledger::LedgerArgs;
use crate::output::{Failure, print, visible};

/// Watch the accounts: what is left, the reading, and how fast they are being charged
///
/// Keys: ↑ and ↓ choose an account, Enter opens its meter and newest charges, Esc goes back, s sorts by another column, q ends. Shows a
/// ledger of this machine while others charge it, or what a server lets the token see, with its newest refusals.
#[derive(Args)]
#[command(after_help = "\
Examples:
  taximeter top
  taximeter top --server https://budget.example --every 10
  taximeter top --once")]
pub struct TopCommand {
    /// How often to look, in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 2, value_parser = clap::value_parser!(u64).range(1..=3600))]
    every: u64,
    /// Print the accounts once and exit; the default if there is no terminal
    #[arg(long)]
    once: bool,
    #[command(flatten)]
    ledger: LedgerArgs,
}

impl TopCommand {
    pub fn run(&self) -> Result<ExitCode, Failure> {
        let backend = self.ledger.backend()?;
        let list = backend.accounts()?;
        let mut watch = Watch::new(list.clone());
        if self.once || self.ledger.json || !stdout().is_terminal() {
            // Without the line about keys, and the empty one below it.
            let text = || watch.lines(usize::MAX, usize::MAX)[2..].join("\n");
            return print(self.ledger.json, &list, text);
        }
        let _terminal = WholeTerminal::enter()?;
        let every = Duration::from_secs(self.every);
        loop {
            watch.draw()?;
            let until = Instant::now() + every;
            while poll(until.saturating_duration_since(Instant::now()))? {
                match read()? {
                    Event::Key(key) if key.kind != KeyEventKind::Release && watch.press(key) == Next::End => {
                        return Ok(ExitCode::SUCCESS);
                    }
                    _ => {}
                }
                watch.look_at_opened(&*backend);
                watch.draw()?;
            }
            watch.look(&*backend);
        }
    }
}

/// The column that accounts are sorted by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SortedBy {
    Name,
    Left,
    Reading,
    Charges,
    Rate,
}

impl SortedBy {
    fn next(self) -> SortedBy {
        match self {
            SortedBy::Name => SortedBy::Left,
            SortedBy::Left => SortedBy::Reading,
            SortedBy::Reading => SortedBy::Charges,
            SortedBy::Charges => SortedBy::Rate,
            SortedBy::Rate => SortedBy::Name,
        }
    }
}

/// Whether to go on after a key.
#[derive(Debug, PartialEq, Eq)]
enum Next {
    Continue,
    End,
}

/// What is shown, and what has been seen so far.
struct Watch {
    accounts: Vec<AccountDocument>,
    /// Refusals that a server remembers.
    refusals: Option<RefusalList>,
    sorted_by: SortedBy,
    chosen: usize,
    /// The account whose meter is open, with its newest records.
    opened: Option<(AccountName, Vec<RecordDocument>)>,
    /// When the first look was, and how many charges each account had then.
    since: Instant,
    first: HashMap<AccountName, u64>,
    /// Why the last look failed.
    problem: Option<String>,
}

impl Watch {
    /// The number of newest records of an open account.
    const RECORDS: usize = 50;

    fn new(AccountList { accounts, refusals, .. }: AccountList) -> Watch {
        let first = accounts.iter().map(|account| (account.account.clone(), account.charges)).collect();
        let mut watch = Watch {
            accounts,
            refusals,
            sorted_by: SortedBy::Name,
            chosen: 0,
            opened: None,
            since: Instant::now(),
            first,
            problem: None,
        };
        watch.sort();
        watch
    }

    /// Looks again. A server that cannot be reached now may be reached later: what was seen last stays.
    fn look(&mut self, backend: &dyn Backend) {
        let chosen = self.accounts.get(self.chosen).map(|account| account.account.clone());
        match backend.accounts() {
            Ok(list) => {
                (self.accounts, self.refusals) = (list.accounts, list.refusals);
                for account in &self.accounts {
                    // One that is opened meanwhile has been charged since.
                    self.first.entry(account.account.clone()).or_insert(0);
                }
                self.sort();
                let place = chosen.and_then(|name| self.accounts.iter().position(|account| account.account == name));
                self.chosen = place.unwrap_or(0);
                self.problem = None;
            }
            Err(failure) => self.problem = Some(failure.message().to_string()),
        }
        self.look_at_opened(backend);
    }

    fn look_at_opened(&mut self, backend: &dyn Backend) {
        let Some((name, records)) = &mut self.opened else { return };
        match backend.history(name, None, Watch::RECORDS) {
            Ok(history) => *records = history.records,
            Err(failure) => self.problem = Some(failure.message().to_string()),
        }
    }

    fn sort(&mut self) {
        let per_minute: HashMap<AccountName, f64> =
            self.accounts.iter().map(|account| (account.account.clone(), self.per_minute(account))).collect();
        let reading = |account: &AccountDocument| account.reading.map_or(f64::INFINITY, |reading| reading.0);
        let left = |account: &AccountDocument| account.left().unwrap_or(f64::INFINITY);
        self.accounts.sort_by(|one, other| {
            let by_column = match self.sorted_by {
                SortedBy::Name => std::cmp::Ordering::Equal,
                SortedBy::Left => left(one).total_cmp(&left(other)),
                SortedBy::Reading => reading(other).total_cmp(&reading(one)),
                SortedBy::Charges => other.charges.cmp(&one.charges),
                SortedBy::Rate => per_minute[&other.account].total_cmp(&per_minute[&one.account]),
            };
            by_column.then_with(|| one.account.cmp(&other.account))
        });
    }

    /// How many charges a minute an account had since the first look.
    fn per_minute(&self, account: &AccountDocument) -> f64 {
        let before = self.first.get(&account.account).copied().unwrap_or(0);
        let minutes = self.since.elapsed().as_secs_f64().max(1.0) / 60.0;
        account.charges.saturating_sub(before) as f64 / minutes
    }

    fn press(&mut self, key: KeyEvent) -> Next {
        match key.code {
            KeyCode::Char('c') if key.modifiers.contains(KeyModifiers::CONTROL) => return Next::End,
            KeyCode::Char('q') => return Next::End,
            KeyCode::Esc | KeyCode::Backspace => self.opened = None,
            KeyCode::Enter => {
                self.opened = self.accounts.get(self.chosen).map(|account| (account.account.clone(), Vec::new()));
            }
            KeyCode::Up | KeyCode::Char('k') => self.chosen = self.chosen.saturating_sub(1),
            KeyCode::Down | KeyCode::Char('j') => {
                self.chosen = (self.chosen + 1).min(self.accounts.len().saturating_sub(1));
            }
            KeyCode::Char('s') => {
                self.sorted_by = self.sorted_by.next();
                self.sort();
                self.chosen = 0;
            }
            _ => {}
        }
        Next::Continue
    }

    /// Draws everything again: the terminal's memory of a screen is short.
    fn draw(&self) -> Result<(), Failure> {
        let (width, height) = size()?;
        let lines = self.lines(width.into(), height.into());
        let mut out = stdout().lock();
        for row in 0..height {
            let line = lines.get(usize::from(row)).map_or(String::new(), |line| visible(line));
            queue!(out, MoveTo(0, row), Print(line), Clear(ClearType::UntilNewLine))?;
        }
        Ok(out.flush()?)
    }
}

/// The terminal as a whole; given back as it was, also after a failure.
struct WholeTerminal;

impl WholeTerminal {
    fn enter() -> Result<WholeTerminal, Failure> {
        enable_raw_mode()?;
        let terminal = WholeTerminal;
        execute!(stdout(), EnterAlternateScreen, Hide)?;
        Ok(terminal)
    }
}

impl Drop for WholeTerminal {
    fn drop(&mut self) {
        // There is no one left to tell.
        let _ = execute!(stdout(), Show, LeaveAlternateScreen);
        let _ = disable_raw_mode();
    }
}
