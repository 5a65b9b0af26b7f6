//! The pages of accounts: the overview, and one account.

mod account;
mod history;
mod open_and_close;
mod overview;

use crate::fixture::visit::Visit;
use crate::fixture::{Reply, TestServer, name};
use axum::body::Body;
use axum::http::{Request, header};
use serde_json::Value;
use taximeter_accounting::{Budget, Cost, FilterRule, FilterSpec, OdometerRule, OdometerSpec, OnHalt};
use taximeter_gate::Gate;
use taximeter_ledger::{AccountSpec, Charge, Key, Ledger, Location, Note, Options, Outcome, Privacy, Who};
use taximeter_server::App;
use taximeter_service::{Log, LogForm, Service, Settings, TokenPlace, Tokens};
use taximeter_service::{NewToken, Role};

/// A page after the journal was read.
async fn settled(visit: &mut Visit<'_>, path: &str) -> String {
    crate::fixture::eventually(&format!("{path} is read"), async || {
        let page = visit.get(path).await.expect(200).text();
        (!page.contains("data-again")).then_some(page)
    })
    .await
}

/// The part of a page from the tag with an id to the first `end` tag.
fn part<'a>(page: &'a str, id: &str, end: &str) -> &'a str {
    let from = page.find(&format!("id=\"{id}\"")).unwrap_or_else(|| panic!("no {id} in {page}"));
    let to = page[from..].find(end).unwrap_or_else(|| panic!("no end of {id} in {page}"));
    &page[from..from + to]
}

/// The text of a page, without tags.
fn words(html: &str) -> String {
    let mut text = String::new();
    for piece in html.split('<') {
        text.push_str(piece.split_once('>').map_or(piece, |(_, text)| text));
        text.push(' ');
    }
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn check_says(page: &str, expected: &[&str]) {
    let text = words(page);
    for expected in expected {
        assert!(text.contains(expected), "{expected:?} is not in: {text}");
    }
}

fn check_says_nothing_of(reply: &Reply, hidden: &[&str]) {
    let page = reply.text();
    for hidden in hidden {
        assert!(!page.contains(hidden), "{hidden:?} is in: {page}");
    }
}

fn open(server: &TestServer, account: &str, budget: &str, on_halt: OnHalt) {
    let budget = Budget::parse(budget).unwrap();
    server
        .ledger
        .open_account(AccountSpec {
            name: name(account),
            privacy: Privacy::default(),
            filter: Some(FilterSpec { on_halt, ..FilterSpec::new(FilterRule::Basic, budget) }),
            odometer: OdometerSpec::new(OdometerRule::Basic, budget.delta()),
        })
        .unwrap();
}

fn charge(server: &TestServer, account: &str, epsilon: &str, by: &str, note: &str) -> Outcome {
    let cost = Cost::parse_epsilon(epsilon).unwrap().cost;
    let charge = Charge::new(Key::generate().unwrap(), vec![name(account)], vec![cost]).unwrap();
    let note = (!note.is_empty()).then(|| Note::parse("note", note).unwrap());
    server.ledger.charge(charge.by(Some(Who::parse("by", by).unwrap())).with_note(note)).unwrap()
}
