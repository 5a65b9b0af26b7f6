//! `taximeter demo --serve`: a server with data and a dashboard, and tokens to sign in with.

use std::io::ErrorKind;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::Path;

use jiff::{SignedDuration, Timestamp};
use serde::Serialize;
use taximeter_gate::Gate;
use taximeter_ledger::AccountName;
use taximeter_service::{CreatedToken, NewToken, Role};
use taximeter_service::{Log, LogForm, Settings, TokenPlace, Tokens};

use super::surveys::{JOB, LiveSurvey, THIS_YEAR};
use super::team;
use crate::output::{Failure, print, usage};
use crate::serve::serve;

/// The address of the demo and its tokens, as JSON.
#[derive(Serialize)]
struct Served {
    address: String,
    folder: String,
    tokens: Vec<Holder>,
}

/// A role that a visitor can sign in with.
#[derive(Serialize)]
struct Holder {
    principal: String,
    role: Role,
    /// What the holder does.
    #[serde(skip)]
    description: &'static str,
    expires: String,
    token: String,
}

/// The validity of the tokens.
const DAY: SignedDuration = SignedDuration::from_hours(24);

/// The port of `taximeter serve`.
const PORT: u16 = 7070;

/// The address to listen on: the given one, the usual port, or a free port if that is in use.
pub fn address(given: Option<&str>) -> Result<SocketAddr, Failure> {
    let Some(text) = given else {
        let usual = SocketAddr::from((Ipv4Addr::LOCALHOST, PORT));
        let is_taken = TcpListener::bind(usual).is_err_and(|error| error.kind() == ErrorKind::AddrInUse);
        return Ok(if is_taken { SocketAddr::from((Ipv4Addr::LOCALHOST, 0)) } else { usual });
    };
    let wrong = |why: &str| usage(format!("--listen is {text:?}: {why}"));
    let address: SocketAddr =
        text.parse().map_err(|_| wrong("write an address of this machine and a port, such as 127.0.0.1:7070"))?;
    if !address.ip().is_loopback() {
        return Err(wrong("a demo listens on this machine alone; use 127.0.0.1, or `taximeter serve`"));
    }
    match TcpListener::bind(address) {
        Ok(_) => Ok(address),
        Err(error) => Err(wrong(&format!("{error}; choose another port, or 0 for a free one"))),
    }
}

/// Serves the demo until a signal ends it. Prints the address and the tokens.
pub fn run(gate: Gate, address: SocketAddr, folder: &Path, json: bool) -> Result<(), Failure> {
    let ledger = gate.ledger().clone();
    let tokens = Tokens::open(&TokenPlace::of(ledger.location()), ledger.id())?;
    let holders = issue(&tokens)?;
    let folder = folder.display().to_string();
    serve(gate, tokens, Log::new(LogForm::Off), Settings::default(), (address, None), Ok, |listener| {
        let address = format!("{}://{}/", listener.scheme(), listener.address());
        let served = Served { address, folder, tokens: holders };
        print(json, &served, || served.text())?;
        Ok(LiveSurvey::start(ledger))
    })
}

/// Creates all tokens. Returns those that a visitor may use.
fn issue(tokens: &Tokens) -> Result<Vec<Holder>, Failure> {
    let expires = Timestamp::now().checked_add(DAY).map_err(|error| Failure::Other(error.to_string()))?.to_string();
    let names = |names: &[&str]| names.iter().map(|name| AccountName::parse(name)).collect::<Result<Vec<_>, _>>();
    let make = |principal: &str, role: Role, accounts: &[&str], datasets: &[&str]| -> Result<CreatedToken, Failure> {
        Ok(tokens.create(&NewToken {
            principal: principal.to_string(),
            role,
            accounts: names(accounts)?,
            datasets: names(datasets)?,
            // One of the analysts sees what is left of the dataset's budget.
            sees_above: principal == team::names()[0],
            expires: Some(expires.clone()),
        })?)
    };
    let holder = |description: &'static str, CreatedToken { secret, token, .. }: CreatedToken| Holder {
        principal: token.principal,
        role: token.role,
        description,
        expires: token.expires,
        token: secret,
    };
    make(JOB, Role::Analyst, &[THIS_YEAR], &[])?;
    // A token that was lost.
    tokens.revoke(&make("carol", Role::Analyst, &["people"], &["people"])?.token.id)?;
    let mut holders = vec![
        holder("who may do everything", make(team::OWNER, Role::Owner, &[], &[])?),
        holder("who reads the journal and all accounts", make("vera", Role::Auditor, &[], &[])?),
    ];
    for name in team::names() {
        let created = make(name, Role::Analyst, &[&format!("people/{name}")], &["people"])?;
        holders.push(holder("who asks about the people", created));
    }
    Ok(holders)
}

impl Served {
    /// The address and the tokens for people.
    fn text(&self) -> String {
        let mut holders = String::new();
        for Holder { principal, role, description, token, .. } in &self.tokens {
            // A token is alone on its line, so that it is easy to copy.
            holders += &format!("  {principal} ({}), {description}:\n    {token}\n", role.name());
        }
        format!(
            "\nThe dashboard is at {}\n\
             Open it in a browser and sign in with one of these tokens. They are only for this demo and expire in a day.\n\n\
             {holders}\n\
             Meanwhile {JOB} charges {THIS_YEAR} every two seconds: watch its meter.\n\
             Ctrl-C ends the server; the folder {} stays.",
            self.address, self.folder
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_demo_listens_on_this_machine_alone() {
        let taken = TcpListener::bind("127.0.0.1:0").unwrap();
        let taken = taken.local_addr().unwrap().to_string();
        for (text, expected) in [
            ("127.0.0.1:0", Ok("127.0.0.1:0")),
            ("0.0.0.0:7070", Err("this machine alone")),
            ("192.0.2.1:7070", Err("this machine alone")),
            ("localhost", Err("127.0.0.1:7070")),
            (&taken, Err("choose another port")),
        ] {
            match (address(Some(text)), expected) {
                (Ok(address), Ok(expected)) => assert_eq!(address.to_string(), expected),
                (Err(failure), Err(part)) => assert!(failure.message().contains(part), "{}", failure.message()),
                (found, _) => panic!("{text}: {:?}", found.ok()),
            }
        }
    }
}
