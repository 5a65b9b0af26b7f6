//! Accounts as a tree: what is below an account follows it, further to the right, under its whole name.

use std::cmp::Ordering;
use std::collections::HashSet;

use jiff::Timestamp;
use maud::{Markup, html};
use taximeter_ledger::{Account, AccountName, Ledger};
use taximeter_service::words::thousands;
use taximeter_service::{AccountDocument, AccountList, Sight};

use super::Asked;
use crate::dashboard::gauge::gauge;
use crate::dashboard::journal_note::journal_note;
use crate::dashboard::pages::account::is_behind;
use crate::dashboard::table::Table;
use crate::dashboard::visitor::Visitor;
use crate::dashboard::words::{account_link, account_path, pace, reading, standing, time, until};
use crate::failure::Failure;
use crate::trails::Rate;

/// The most accounts on a page.
const PAGE: usize = 200;

/// A page of the accounts that may be seen.
pub(super) struct Tree {
    /// How many accounts may be seen.
    pub(super) accounts: u64,
    /// What they were charged: the sum over those at the top.
    pub(super) charges: u64,
    /// How many of the accounts are wanted.
    found: usize,
    /// Which page of them this is, counted from 1.
    page: usize,
    rows: Vec<AccountDocument>,
}

impl Tree {
    /// The accounts of a page.
    pub(super) async fn find(visitor: &Visitor, asked: &Asked) -> Result<Tree, Failure> {
        let asked = asked.clone();
        visitor.caller.blocking(move |caller| Ok(Tree::new(caller.ledger(), &caller.sight, &asked))).await
    }

    fn new(ledger: &Ledger, sight: &Sight, asked: &Asked) -> Tree {
        let name_and_charges =
            |account: &Account| sight.sees(account.name()).then(|| (account.name().clone(), account.charges()));
        let seen = ledger.survey(name_and_charges);
        let is_top = |name: &AccountName| name.parent().is_none_or(|above| !sight.sees(&above));
        let charges = seen.iter().filter(|(name, _)| is_top(name)).map(|(_, charges)| charges).sum();
        let start = asked.starts.as_deref().unwrap_or_default().trim();
        let mut names: Vec<&AccountName> = seen.iter().map(|(name, _)| name).collect();
        names.retain(|name| name.as_str().starts_with(start));
        names.sort_by(|one, other| in_tree(one, other));
        let found = names.len();
        let page = asked.page.unwrap_or(1).clamp(1, found.div_ceil(PAGE).max(1));
        let names: HashSet<&AccountName> = names.into_iter().skip((page - 1) * PAGE).take(PAGE).collect();
        // To read the meters of all would take a while. What keeps one of these from taking charges may stand above it, on another page.
        let paths: HashSet<&str> = names.iter().flat_map(|name| name.path()).collect();
        let chosen = ledger.survey(|account| paths.contains(account.name().as_str()).then(|| account.clone()));
        let mut rows = AccountList::new(ledger.id(), &chosen, sight).accounts;
        rows.retain(|row| names.contains(&row.account));
        Tree { accounts: seen.len() as u64, charges, found, page, rows }
    }

    /// The panel with the table, and how to find the others.
    pub(super) fn panel(&self, visitor: &Visitor, asked: &Asked) -> Markup {
        let start = asked.starts.as_deref().unwrap_or_default().trim();
        html! {
            section.panel #tree data-live aria-labelledby="tree-title" {
                h2 #tree-title { "Budgets" }
                @if self.accounts > 10 || !start.is_empty() { (filter(start)) }
                @if self.rows.is_empty() {
                    p.quiet-text { "No account's name starts like this." }
                } @else {
                    (self.table(visitor))
                }
                (self.pages(start))
            }
        }
    }

    fn table(&self, visitor: &Visitor) -> Markup {
        let now = Timestamp::now();
        let rows: Vec<Row> = self.rows.iter().map(|account| Row::new(account, visitor, now)).collect();
        let least = self.rows.iter().map(depth).min().unwrap_or(0);
        let table =
            Table::new("Accounts", "Accounts; those below an account follow it, under its name").class("tree cards");
        let table = table
            .row_head("Account", "", |row: &Row<'_>| row.name(least))
            .column("Standing", "", Row::standing)
            .column("Left of the budget", "whole", |row| gauge(&row.account.account, row.account.left()))
            .column("Reading, ε", "number", |row| {
                html! {
                    (reading(row.account.reading.map(|reading| reading.0)))
                    span.small { " at δ = " (row.account.odometer.at_delta) }
                }
            })
            .column("Charges", "number", |row| html! { (thousands(row.account.charges)) })
            .column("Spending of the budget", "", |row| {
                html! { (row.rate.map_or_else(|| "–".to_string(), |rate| pace(rate.per_second))) }
            })
            .column("Runs out at this rate", "", |row| match row.rate.and_then(|rate| rate.runs_out) {
                Some(then) => html! { (until(now, then)) span.small { (time(&then.to_string())) } },
                None => html! { "–" },
            });
        html! {
            (table.rows(&rows))
            (journal_note(visitor, rows.iter().any(|row| row.is_behind)))
        }
    }

    fn pages(&self, start: &str) -> Markup {
        let pages = self.found.div_ceil(PAGE);
        let path = |page: usize| {
            let mut query = form_urlencoded::Serializer::new(String::new());
            query.append_pair("starts", start).append_pair("page", &page.to_string());
            format!("/?{}", query.finish())
        };
        html! {
            @if pages > 1 {
                nav.actions aria-label="Pages of the accounts" {
                    @if self.page > 1 { a.button.quiet href=(path(self.page - 1)) { "Earlier names" } }
                    span {
                        "Page " (self.page) " of " (pages) ", " (thousands(self.found as u64)) " accounts"
                    }
                    @if self.page < pages { a.button.quiet href=(path(self.page + 1)) { "Later names" } }
                }
            }
        }
    }
}

/// The order in which what is below an account follows it.
fn in_tree(one: &AccountName, other: &AccountName) -> Ordering {
    one.as_str().split('/').cmp(other.as_str().split('/'))
}

/// How many accounts stand above one.
fn depth(account: &AccountDocument) -> usize {
    account.account.as_str().matches('/').count()
}

fn filter(start: &str) -> Markup {
    html! {
        form.filter method="get" action="/" {
            div.field {
                label for="starts" { "Names that start with" }
                input #starts name="starts" value=(start) autocomplete="off" spellcheck="false" placeholder="census/";
            }
            button.quiet { "Show these" }
            @if !start.is_empty() { a href="/" { "Show all" } }
        }
    }
}

/// A line of the table.
struct Row<'a> {
    account: &'a AccountDocument,
    /// How fast it is spent, where that may be seen and is known.
    rate: Option<Rate>,
    is_behind: bool,
}

impl Row<'_> {
    fn new<'a>(account: &'a AccountDocument, visitor: &Visitor, now: Timestamp) -> Row<'a> {
        let name = &account.account;
        if !visitor.caller.sight.owns(name) {
            return Row { account, rate: None, is_behind: false };
        }
        let trail = visitor.state().trails.trail(name);
        let rate = trail.as_deref().filter(|trail| trail.is_open()).and_then(|trail| Rate::of(trail, now));
        Row { account, rate, is_behind: is_behind(account, trail.as_deref()) }
    }

    /// Its name, further to the right the more accounts stand above it.
    fn name(&self, least: usize) -> Markup {
        let name = &self.account.account;
        let (above, own) = name.as_str().rsplit_once('/').map_or(("", name.as_str()), |(above, own)| (above, own));
        html! {
            div class={ "depth-" (depth(self.account) - least) } {
                a href=(account_path(name)) { @if !above.is_empty() { span.above { (above) "/" } } (own) }
            }
        }
    }

    fn standing(&self) -> Markup {
        let account = self.account;
        html! {
            (standing(account.standing))
            @if let Some(blocking) = account.blocked_by.as_ref().filter(|other| **other != account.account) {
                " " span.help { "stopped by " (account_link(blocking)) }
            }
        }
    }
}
