//! `taximeter token`: who may use a server, and what they may do.

use std::process::ExitCode;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Args, Subcommand};
use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use taximeter_ledger::AccountName;
use taximeter_service::{CreatedToken, NewToken, Role, TokenDocument};

use crate::ledger::LedgerArgs;
use crate::output::{Failure, print, print_line, tell, usage, warn};
use crate::table::TextTable;

/// Tokens: who may use a server, and what they may do
#[derive(Subcommand)]
pub enum TokenCommand {
    Create(TokenArgs),
    /// List all tokens, including expired and revoked ones
    #[command(after_help = "Example: taximeter token list")]
    List(LedgerArgs),
    Revoke(RevokeArgs),
}

impl TokenCommand {
    pub fn run(&self) -> Result<ExitCode, Failure> {
        match self {
            TokenCommand::Create(args) => args.run(),
            TokenCommand::List(ledger) => {
                let list = ledger.backend()?.tokens()?;
                print(ledger.json, &list, || text(&list.tokens))
            }
            TokenCommand::Revoke(RevokeArgs { id, ledger }) => {
                let token = ledger.backend()?.revoke_token(id)?;
                print(ledger.json, &token, || {
                    let when = token.revoked.as_deref().unwrap_or("now");
                    format!("the token {} of {} is revoked since {when}", token.id, token.principal)
                })
            }
        }
    }
}

/// Create a token; it is shown only once
///
/// Standard output has only the token; messages about it go to standard error. A running server accepts it within about two seconds.
#[derive(Args)]
#[command(after_help = "\
Examples:
  taximeter token create olga --role owner
  taximeter token create alice --role analyst --account census/alice --dataset census --expires 30d
  taximeter token create board --role auditor --expires 2027-01-01")]
pub struct TokenArgs {
    /// Who the token belongs to: keys and stored answers belong to this name, and the journal records it
    name: String,
    /// What the token allows
    #[arg(long, value_name = "ROLE", value_parser = roles())]
    role: Role,
    /// An account of an analyst, with all accounts below it (may be repeated)
    #[arg(long = "account", value_name = "ACCOUNT")]
    accounts: Vec<String>,
    /// A dataset that an analyst may ask about (may be repeated)
    #[arg(long = "dataset", value_name = "DATASET")]
    datasets: Vec<String>,
    /// Let an analyst see what is left on the accounts above its own
    #[arg(long)]
    sees_above: bool,
    /// When the token expires: after a number of days, such as 90d, or at the start of a day in UTC, such as 2027-01-01
    #[arg(long, value_name = "TIME", default_value = "90d")]
    expires: String,
    #[command(flatten)]
    ledger: LedgerArgs,
}

/// The names of the roles, each with what it allows.
fn roles() -> impl TypedValueParser<Value = Role> {
    let help = |role| match role {
        Role::Owner => "Everything",
        Role::Auditor => "Read everything except what depends on the data; change nothing",
        Role::Analyst => "Charge its own accounts, and ask about its own datasets",
    };
    let names = ROLES.map(|role| PossibleValue::new(role.name()).help(help(role)));
    let role = |name: String| ROLES.into_iter().find(|role| role.name() == name).ok_or("this role is not known");
    PossibleValuesParser::new(names).try_map(role)
}

const ROLES: [Role; 3] = [Role::Owner, Role::Auditor, Role::Analyst];

impl TokenArgs {
    fn run(&self) -> Result<ExitCode, Failure> {
        let new = self.new_token()?;
        let created = self.ledger.backend()?.create_token(&new)?;
        warn(&created.warnings);
        if self.ledger.json {
            return print(true, &created, String::new);
        }
        let CreatedToken { secret, token, .. } = created;
        tell(&format!(
            "created the token {} of {}: {}, until {}\n",
            token.id,
            token.principal,
            describe(&token),
            token.expires
        ));
        print_line(&secret)?;
        tell(&format!(
            "\nThe token is shown only once; only its hash is stored. Send it to {} over a secure channel. Commands read it from the\n\
             variable TAXIMETER_TOKEN; on a command line other users could see it.",
            token.principal
        ));
        Ok(ExitCode::SUCCESS)
    }

    fn new_token(&self) -> Result<NewToken, Failure> {
        let names = |names: &[String]| names.iter().map(|name| AccountName::parse(name)).collect::<Result<Vec<_>, _>>();
        Ok(NewToken {
            principal: self.name.clone(),
            role: self.role,
            accounts: names(&self.accounts)?,
            datasets: names(&self.datasets)?,
            sees_above: self.sees_above,
            expires: Some(expiry(&self.expires, Timestamp::now())?.to_string()),
        })
    }
}

/// When a token expires: after a number of days, at the start of a day, or at a time.
fn expiry(text: &str, now: Timestamp) -> Result<Timestamp, Failure> {
    let days = text.strip_suffix('d').and_then(|days| days.parse::<u32>().ok());
    let after = |days: u32| now.checked_add(SignedDuration::from_hours(24 * i64::from(days))).ok();
    let at_midnight = |date: Date| date.to_zoned(TimeZone::UTC).ok().map(|midnight| midnight.timestamp());
    let time = match days {
        Some(days) => after(days),
        None => text.parse::<Timestamp>().ok().or_else(|| at_midnight(text.parse().ok()?)),
    };
    time.ok_or_else(|| {
        usage(format!("--expires is {text:?}; write for instance 90d, 2027-01-01, or 2027-01-01T12:00:00Z"))
    })
}

fn text(tokens: &[TokenDocument]) -> String {
    if tokens.is_empty() {
        return "there are no tokens; `token create NAME --role owner` makes the first".to_string();
    }
    let now = Timestamp::now();
    let mut table = TextTable::new(&["id", "principal", "allows", "expires", "standing"]);
    for token in tokens {
        table.row([&token.id, &token.principal, &describe(token), &token.expires, standing(token, now)]);
    }
    table.to_string()
}

/// Revoke a token
///
/// A running server refuses it within about two seconds.
#[derive(Args)]
#[command(after_help = "Example: taximeter token revoke 0123456789abcdef")]
pub struct RevokeArgs {
    /// The id of the token, as in `token list`: the 16 digits after txm_
    id: String,
    #[command(flatten)]
    ledger: LedgerArgs,
}

/// What a token allows.
fn describe(token: &TokenDocument) -> String {
    let list = |names: &[AccountName]| names.iter().map(AccountName::as_str).collect::<Vec<_>>().join(", ");
    let mut text = token.role.name().to_string();
    if !token.accounts.is_empty() {
        text += &format!(" of {}", list(&token.accounts));
    }
    if !token.datasets.is_empty() {
        text += &format!(", asks about {}", list(&token.datasets));
    }
    if token.sees_above {
        text += ", sees above";
    }
    text
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
    fn a_token_expires_after_days_or_on_a_day() {
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
