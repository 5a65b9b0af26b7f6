//! The accounts as a tree: the accounts below one follow it, indented.

use jiff::Timestamp;
use maud::{Markup, html};
use taximeter_service::timelines::Rate;
use taximeter_service::words::thousands;
use taximeter_service::{AccountDocument, Problem, TreePage, TreeQuery};

use crate::display::{account_link, account_path, pace, reading, standing, time, until};
use crate::gauge::gauge;
use crate::journal_note::journal_note;
use crate::pages::account::is_behind;
use crate::table::DataTable;
use crate::visitor::Visitor;

/// A page of the accounts that the visitor may see.
pub(super) struct Tree {
    pub(super) page: TreePage,
    /// The prefix of the names.
    starts: String,
}

impl Tree {
    /// The accounts of a page.
    pub(super) async fn find(visitor: &Visitor, query: TreeQuery) -> Result<Tree, Problem> {
        let starts = query.starts.clone();
        Ok(Tree { page: visitor.caller.tree(query).await?, starts })
    }

    /// The panel with the table and the links to other pages.
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
        let rows: Vec<TreeRow> = self.page.rows.iter().map(|account| TreeRow::new(account, visitor, now)).collect();
        let least = self.page.rows.iter().map(depth).min().unwrap_or(0);
        let table = DataTable::new("Accounts", "Accounts; the accounts below one follow it").class("tree cards");
        let table = table
            .row_head("Account", "", |row: &TreeRow<'_>| row.name(least))
            .column("Standing", "", TreeRow::standing)
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

/// How many accounts are above one.
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
            button.quiet { "Filter" }
            @if !start.is_empty() { a href="/" { "Show all" } }
        }
    }
}

/// A row of the table.
struct TreeRow<'a> {
    account: &'a AccountDocument,
    /// How fast the budget is spent, if that is known and the visitor may see it.
    rate: Option<Rate>,
    is_behind: bool,
}

impl TreeRow<'_> {
    fn new<'a>(account: &'a AccountDocument, visitor: &Visitor, now: Timestamp) -> TreeRow<'a> {
        let name = &account.account;
        if !visitor.caller.sight().owns(name) {
            return TreeRow { account, rate: None, is_behind: false };
        }
        let timeline = visitor.caller.timeline(name);
        let rate =
            timeline.as_deref().filter(|timeline| timeline.is_open()).and_then(|timeline| Rate::of(timeline, now));
        TreeRow { account, rate, is_behind: is_behind(account, timeline.as_deref()) }
    }

    /// Its name, indented by the number of accounts above it.
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
