//! The checks on a new token.

use jiff::{SignedDuration, Timestamp, Unit};
use taximeter_ledger::AccountName;

use super::secret::TokenId;
use crate::{NewToken, Problem, Role, TokenDocument};

/// The default lifetime of a token.
const LASTS: SignedDuration = SignedDuration::from_hours(90 * 24);

/// The longest lifetime of a token: ten years.
const LONGEST: SignedDuration = SignedDuration::from_hours(3653 * 24);

/// The most characters of a principal.
const PRINCIPAL: usize = 63;

/// The most accounts, and the most datasets, of one token.
const NAMES: usize = 256;

/// The token for a request, if the request is valid.
pub(super) fn grant(new: &NewToken, id: TokenId, now: Timestamp) -> Result<TokenDocument, Problem> {
    check_principal("principal", &new.principal)?;
    check_role(new)?;
    let now = whole_seconds(now);
    let expires = match &new.expires {
        Some(text) => expiry(text, now)?,
        None => now + LASTS,
    };
    Ok(TokenDocument {
        id: id.to_string(),
        principal: new.principal.clone(),
        role: new.role,
        accounts: names("accounts", &new.accounts)?,
        datasets: names("datasets", &new.datasets)?,
        sees_above: new.sees_above,
        created: now.to_string(),
        expires: expires.to_string(),
        revoked: None,
        issuer: None,
    })
}

/// A time rounded to seconds.
pub(super) fn whole_seconds(time: Timestamp) -> Timestamp {
    time.round(Unit::Second).unwrap_or(time)
}

/// The principal is recorded in the journal and prefixes the ledger's keys, before a colon. `what` it is called in the error.
pub(crate) fn check_principal(what: &str, principal: &str) -> Result<(), Problem> {
    let why = match principal.as_bytes() {
        [] => "is empty".to_string(),
        bytes if bytes.len() > PRINCIPAL => {
            format!("has {} characters, and the limit is {PRINCIPAL}", bytes.len())
        }
        [first, ..] if !first.is_ascii_alphanumeric() => "does not start with a letter or a digit".to_string(),
        _ => match principal.chars().find(|c| !(c.is_ascii_alphanumeric() || "-_.".contains(*c))) {
            Some(other) => format!("contains {other:?}"),
            None => return Ok(()),
        },
    };
    let shown: String = principal.chars().take(PRINCIPAL + 1).collect();
    Err(Problem::bad_request(format!(
        "the {what} {shown:?} {why}; use the letters a to z, digits, -, _ and ., for instance alice"
    )))
}

/// An analyst needs something to see, and others see everything.
pub(crate) fn check_role(new: &NewToken) -> Result<(), Problem> {
    let has_names = !(new.accounts.is_empty() && new.datasets.is_empty());
    match new.role {
        Role::Analyst if !has_names => Err(Problem::bad_request(
            "an analyst's token with no account and no dataset would allow nothing; name at least one",
        )),
        Role::Owner | Role::Auditor if has_names || new.sees_above => Err(Problem::bad_request(format!(
            "the role {} sees every account and dataset; omit accounts, datasets and sees_above, or choose the role analyst",
            new.role.name()
        ))),
        _ => Ok(()),
    }
}

fn expiry(text: &str, now: Timestamp) -> Result<Timestamp, Problem> {
    let expires = text.parse::<Timestamp>().map(whole_seconds).map_err(|_| {
        let shown: String = text.chars().take(64).collect();
        Problem::bad_request(format!(
            "expires is {shown:?}, which is not a time in UTC; write it as 2027-01-01T00:00:00Z"
        ))
    })?;
    if expires <= now {
        return Err(Problem::bad_request(format!("expires is {expires}, which has passed; now it is {now}")));
    }
    if expires > now + LONGEST {
        return Err(Problem::bad_request(format!(
            "expires is {expires}, more than ten years away; choose an earlier time"
        )));
    }
    Ok(expires)
}

/// The names without repetitions, in the order given.
pub(crate) fn names(what: &str, given: &[AccountName]) -> Result<Vec<AccountName>, Problem> {
    let mut names: Vec<AccountName> = Vec::new();
    for name in given {
        if names.len() == NAMES {
            return Err(Problem::bad_request(format!(
                "there are more than {NAMES} {what}; name an account above them, or make several tokens"
            )));
        }
        if !names.contains(name) {
            names.push(name.clone());
        }
    }
    Ok(names)
}
