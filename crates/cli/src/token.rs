//! `taximeter token`: who may use a server, and for what.

use std::process::ExitCode;

use clap::{Args, Subcommand, ValueEnum};
use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use taximeter_ledger::AccountName;
use taximeter_service::{CreatedToken, NewToken, Role, TokenDocument};

use crate::ledger::LedgerArgs;
use crate::output::{Failure, print, print_line, tell, warn};
use crate::table::Table;

/// Tokens: who may use a server, and for what
#[derive(Args)]
pub struct TokenCommand {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    Create(Create),
    List(List),
    Revoke(Revoke),
}

impl TokenCommand {
    pub fn run(&self) -> Result<ExitCode, Failure> {
        match &self.verb {
            Verb::Create(create) => create.run(),
            Verb::List(list) => list.run(),
            Verb::Revoke(revoke) => revoke.run(),
        }
    }
}

/// Make a token; it is shown this once
///
/// The token alone is printed to standard output, the words about it to standard error. A running server takes it within about two
/// seconds.
#[derive(Args)]
#[command(after_help = "\
Examples:
  taximeter token create olga --role owner
  taximeter token create alice --role analyst --account census/alice --dataset census --expires 30d
  taximeter token create board --role auditor --expires 2027-01-01")]
struct Create {
    /// Whose it is: keys and stored answers belong to this name, and the journal has it
    name: String,
    /// What it allows
    #[arg(long, value_name = "ROLE")]
    role: RoleName,
    /// An account of an analyst; those below it are its own too (may be repeated)
    #[arg(long = "account", value_name = "ACCOUNT")]
    accounts: Vec<String>,
    /// A dataset that an analyst may ask about (may be repeated)
    #[arg(long = "dataset", value_name = "DATASET")]
    datasets: Vec<String>,
    /// An analyst may see what the accounts above its own have left
    #[arg(long)]
    sees_above: bool,
    /// When it ends: after a number of days, such as 90d, or at the beginning of a day in UTC, such as 2027-01-01
    #[arg(long, value_name = "TIME", default_value = "90d")]
    expires: String,
    #[command(flatten)]
    ledger: LedgerArgs,
}

/// What a token allows.
#[derive(Clone, Copy, ValueEnum)]
enum RoleName {
    /// Everything
    Owner,
    /// To read everything but what follows from the data, and to change nothing
    Auditor,
    /// To charge its own accounts, and to ask about its own datasets
    Analyst,
}

impl Create {
    fn run(&self) -> Result<ExitCode, Failure> {
        let new = self.new_token()?;
        let created = self.ledger.office()?.create_token(&new)?;
        warn(&created.warnings);
        if self.ledger.json {
            return print(true, &created, String::new);
        }
        let CreatedToken { secret, token, .. } = created;
        tell(&format!(
            "made the token {} of {}: {}, until {}\n",
            token.id,
            token.principal,
            describe(&token),
            token.expires
        ));
        print_line(&secret)?;
        tell(&format!(
            "\nIt is shown this once, and only a hash of it is kept. Send it to {} over a secure channel. Commands take it from the\n\
             variable TAXIMETER_TOKEN; on a command line other users could see it.",
            token.principal
        ));
        Ok(ExitCode::SUCCESS)
    }

    fn new_token(&self) -> Result<NewToken, Failure> {
        let names = |names: &[String]| names.iter().map(|name| AccountName::parse(name)).collect::<Result<Vec<_>, _>>();
        Ok(NewToken {
            principal: self.name.clone(),
            role: match self.role {
                RoleName::Owner => Role::Owner,
                RoleName::Auditor => Role::Auditor,
                RoleName::Analyst => Role::Analyst,
            },
            accounts: names(&self.accounts)?,
            datasets: names(&self.datasets)?,
            sees_above: self.sees_above,
            expires: Some(expiry(&self.expires, Timestamp::now())?.to_string()),
        })
    }
}

/// When a token ends: so many days from now, at the beginning of a day, or at a time.
fn expiry(text: &str, now: Timestamp) -> Result<Timestamp, Failure> {
    let days = text.strip_suffix('d').and_then(|days| days.parse::<u32>().ok());
    let after = |days: u32| now.checked_add(SignedDuration::from_hours(24 * i64::from(days))).ok();
    let at_midnight = |date: Date| date.to_zoned(TimeZone::UTC).ok().map(|midnight| midnight.timestamp());
    let time = match days {
        Some(days) => after(days),
        None => text.parse::<Timestamp>().ok().or_else(|| at_midnight(text.parse().ok()?)),
    };
    time.ok_or_else(|| {
        Failure::Usage(format!("--expires is {text:?}; write for instance 90d, 2027-01-01, or 2027-01-01T12:00:00Z"))
    })
}

/// List all tokens, those that ended included
#[derive(Args)]
#[command(after_help = "Example: taximeter token list")]
struct List {
    #[command(flatten)]
    ledger: LedgerArgs,
}

impl List {
    fn run(&self) -> Result<ExitCode, Failure> {
        let list = self.ledger.office()?.tokens()?;
        print(self.ledger.json, &list, || text(&list.tokens))
    }
}

fn text(tokens: &[TokenDocument]) -> String {
    if tokens.is_empty() {
        return "there are no tokens; `token create NAME --role owner` makes the first".to_string();
    }
    let now = Timestamp::now();
    let mut table = Table::new(&["id", "principal", "allows", "expires", "standing"]);
    for token in tokens {
        table.row([&token.id, &token.principal, &describe(token), &token.expires, standing(token, now)]);
    }
    table.to_string()
}

/// End a token
///
/// A running server refuses it within about two seconds.
#[derive(Args)]
#[command(after_help = "Example: taximeter token revoke 0123456789abcdef")]
struct Revoke {
    /// Its id, as `token list` shows it: the 16 digits after txm_
    id: String,
    #[command(flatten)]
    ledger: LedgerArgs,
}

impl Revoke {
    fn run(&self) -> Result<ExitCode, Failure> {
        let token = self.ledger.office()?.revoke_token(&self.id)?;
        print(self.ledger.json, &token, || {
            let when = token.revoked.as_deref().unwrap_or("now");
            format!("the token {} of {} is revoked since {when}", token.id, token.principal)
        })
    }
}

/// What a token allows, in words.
fn describe(token: &TokenDocument) -> String {
    let list = |names: &[AccountName]| names.iter().map(AccountName::as_str).collect::<Vec<_>>().join(", ");
    let mut words = token.role.name().to_string();
    if !token.accounts.is_empty() {
        words += &format!(" of {}", list(&token.accounts));
    }
    if !token.datasets.is_empty() {
        words += &format!(", asks about {}", list(&token.datasets));
    }
    if token.sees_above {
        words += ", sees above";
    }
    words
}

fn standing(token: &TokenDocument, now: Timestamp) -> &'static str {
    match (&token.revoked, token.expires.parse::<Timestamp>()) {
        (Some(_), _) => "revoked",
        (None, Ok(expires)) if expires > now => "valid",
        _ => "expired",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_ends_after_days_or_on_a_day() {
        let now: Timestamp = "2026-07-28T10:00:00Z".parse().unwrap();
        for (text, expected) in [
            ("90d", Some("2026-10-26T10:00:00Z")),
            ("1d", Some("2026-07-29T10:00:00Z")),
            ("2027-01-01", Some("2027-01-01T00:00:00Z")),
            ("2027-01-01T12:00:00Z", Some("2027-01-01T12:00:00Z")),
            ("2027-01-01T12:00:00+02:00", Some("2027-01-01T10:00:00Z")),
            ("90", None),
            ("90 days", None),
            ("-1d", None),
            ("4294967295d", None),
            ("2027-13-01", None),
            ("", None),
        ] {
            assert_eq!(expiry(text, now).ok().map(|time| time.to_string()).as_deref(), expected, "{text}");
        }
    }
}
