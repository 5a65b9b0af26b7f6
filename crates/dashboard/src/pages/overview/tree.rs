//! Accounts as a tree: what is below an account follows it, further to the right, under its whole name.

use jiff::Timestamp;
use maud::{Markup, html};
use taximeter_service::timelines::Rate;
use taximeter_service::words::thousands;
use taximeter_service::{AccountDocument, Problem, TreePage, TreeQuery};

use crate::gauge::gauge;
use crate::journal_note::journal_note;
use crate::pages::account::is_behind;
use crate::table::Table;
use crate::visitor::Visitor;
use crate::words::{account_link, account_path, pace, reading, standing, time, until};

/// A page of the accounts that may be seen.
pub(super) struct Tree {
    pub(super) page: TreePage,
    /// How the names of its accounts start.
    starts: String,
}

impl Tree {
    /// The accounts of a page.
    pub(super) async fn find(visitor: &Visitor, query: TreeQuery) -> Result<Tree, Problem> {
        let starts = query.starts.clone();
        Ok(Tree { page: visitor.caller.tree(query).await?, starts })
    }

    /// The panel with the table, and how to find the others.
    pub(super) fn panel(&self, visitor: &Visitor) -> Markup {
        let start = &self.starts;
        html! {
            section.panel #tree data-live aria-labelledby="tree-title" {
                h2 #tree-title { "Budgets" }
                @if self.page.accounts > 10 || !start.is_empty() { (filter(start)) }
                @if self.page.rows.is_empty() {
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
        let rows: Vec<Row> = self.page.rows.iter().map(|account| Row::new(account, visitor, now)).collect();
        let least = self.page.rows.iter().map(depth).min().unwrap_or(0);
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
        let pages = self.page.found.div_ceil(TreePage::LENGTH);
        let path = |page: usize| {
            let mut query = form_urlencoded::Serializer::new(String::new());
            query.append_pair("starts", start).append_pair("page", &page.to_string());
            format!("/?{}", query.finish())
        };
        html! {
            @if pages > 1 {
                nav.actions aria-label="Pages of the accounts" {
                    @if self.page.page > 1 { a.button.quiet href=(path(self.page.page - 1)) { "Earlier names" } }
                    span {
                        "Page " (self.page.page) " of " (pages) ", " (thousands(self.page.found as u64)) " accounts"
                    }
                    @if self.page.page < pages { a.button.quiet href=(path(self.page.page + 1)) { "Later names" } }
                }
            }
        }
    }
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
        if !visitor.caller.sight().owns(name) {
            return Row { account, rate: None, is_behind: false };
        }
        let timeline = visitor.caller.timeline(name);
        let rate =
            timeline.as_deref().filter(|timeline| timeline.is_open()).and_then(|timeline| Rate::of(timeline, now));
        Row { account, rate, is_behind: is_behind(account, timeline.as_deref()) }
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
