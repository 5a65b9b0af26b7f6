//! The report as one page for everyone: no script, nothing from elsewhere, in light and dark.

use maud::{DOCTYPE, Markup, PreEscaped, html};
use taximeter_service::words::{counted, show_number, show_share, thousands};

use super::ToldArgs;
use super::contents::PublicReport;
use super::registry::{actors, composition, title};
use crate::ledger::show::{budget, to_the_second};

const STYLE: &str = "
:root { color-scheme: light dark; --ink: light-dark(#1b1b1b, #ececec); --paper: light-dark(#fff, #161616);
  --quiet: light-dark(#595959, #a8a8a8); --left: light-dark(#0b6e4f, #5bc8a0); --line: light-dark(#ccc, #444) }
body { font: 17px/1.55 system-ui, sans-serif; color: var(--ink); background: var(--paper);
  max-width: 44rem; margin: 2rem auto; padding: 0 1rem }
h1 { font-size: 1.7rem; line-height: 1.2 } h2 { font-size: 1.15rem; margin-top: 2rem }
table { border-collapse: collapse; width: 100% } th, td { text-align: left; vertical-align: top; padding: .35rem .8rem .35rem 0 }
tr + tr { border-top: 1px solid var(--line) } th { font-weight: 600; width: 34% } td.n { text-align: right; padding-right: 0 }
figure { margin: 1.5rem 0 } figcaption, footer { color: var(--quiet); font-size: .9rem } svg { width: 100%; height: auto; display: block }
code { overflow-wrap: anywhere } pre { white-space: pre-wrap; font-size: .85rem }";

/// The page.
pub fn render(report: &PublicReport, told: &ToldArgs) -> String {
    let (account, title) = (&report.account, title(report, told));
    let unit = account.unit.as_str();
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                title { "Privacy report: " (title) }
                style { (PreEscaped(STYLE)) }
            }
            body {
                main {
                    h1 { "Privacy report: " (title) }
                    p {
                        "Every answer about these data contains random noise, so that it looks nearly the same with or without any one "
                        (unit) ". A budget limits how much all answers together can reveal about one " (unit)
                        ", and it is checked before each answer."
                    }
                    (promise(report))
                    (figure(report))
                    h2 { "What is protected" }
                    table {
                        tr { th { "Protected unit" } td { (account.privacy()) } }
                        @if let Some(filter) = &account.filter {
                            tr { th { "Budget" } td { (budget(&filter.budget)) } }
                            tr { th { "Guarantee" } td { (filter.guarantee) } }
                            tr { th { "Theorem" } td { (filter.rule) ": " (filter.citation) } }
                        }
                        tr { th { "How answers add up" } td { (composition(report)) } }
                        @if let Some(reading) = account.reading {
                            tr { th { "Bound on the loss so far" } td { (show_number(reading.0)) ": " (account.odometer.guarantee) } }
                        }
                        tr { th { "Who takes part" } td { (actors(report)) } }
                        @if !told.curator.is_empty() { tr { th { "Held by" } td { (told.curator.join(", ")) } } }
                        @if let Some(purpose) = &told.intended_use { tr { th { "Purpose" } td { (purpose) } } }
                    }
                    (asked(report))
                    (data(report))
                    (proof(report))
                    h2 { "What this does not protect" }
                    ul {
                        li { "What is true of everyone: that smoking causes cancer can be learned about a smoker who is not in the data." }
                        li { "A person who counts as several units, for instance under two identifiers." }
                        li { "Other data about the same people: the losses under other budgets come on top." }
                        li { "Declared bounds, categories and limits, which are public, and the time that an answer takes." }
                    }
                }
                footer { p { "Made by Taximeter " (env!("CARGO_PKG_VERSION")) " from the journal of charges and the declarations alone." } }
            }
        }
    }
    .into_string()
}

/// The budget in plain words.
fn promise(report: &PublicReport) -> Markup {
    let Some(filter) = &report.account.filter else { return html! {} };
    let unit = report.account.unit.as_str();
    // Rounded up: a bound is never shown smaller than it is.
    let factor = (filter.budget.epsilon.upper().exp() * 100.0).ceil() / 100.0;
    let but = match filter.budget.delta.is_zero() {
        true => String::new(),
        false => format!(
            ", except with probability {} (1 in {})",
            filter.budget.delta,
            thousands((1.0 / filter.budget.delta.upper()).floor() as u64)
        ),
    };
    html! {
        p {
            "In numbers: no conclusion that anyone draws from all answers together, including all that the rest of the budget can still \
             pay for, becomes more than "
            strong { (show_number(factor)) " times" }
            " as likely because one " (unit) " is in the data" (but) "."
        }
    }
}

/// What is left, charge by charge.
fn figure(report: &PublicReport) -> Markup {
    let (left, Some(filter)) = (&report.paid.left, &report.account.filter) else { return html! {} };
    let (width, height) = (600.0, 160.0);
    let x = |at: usize| at as f64 / (left.len().max(2) - 1) as f64 * width;
    let y = |share: f64| height * (1.0 - share.clamp(0.0, 1.0));
    let mut line = String::new();
    for (at, share) in left.iter().enumerate() {
        // What is left stays until the next charge.
        if at > 0 {
            line.push_str(&format!("{:.1},{:.1} ", x(at), y(left[at - 1])));
        }
        line.push_str(&format!("{:.1},{:.1} ", x(at), y(*share)));
    }
    let area = format!("0,{height} {line}{:.1},{height}", x(left.len().saturating_sub(1)));
    let caption = format!(
        "{} of the budget is left after {}.",
        show_share(filter.left.share.0),
        counted(report.account.charges, "charge", "charges")
    );
    html! {
        figure {
            svg viewBox="-52 -12 664 210" role="img" aria-label=(caption) {
                g stroke="var(--line)" {
                    @for share in [0.0, 0.5, 1.0] { line x1="0" x2=(width) y1=(y(share)) y2=(y(share)) {} }
                }
                polygon points=(area) fill="var(--left)" opacity="0.18" {}
                polyline points=(line) fill="none" stroke="var(--left)" stroke-width="2.5" {}
                g fill="var(--quiet)" font-size="13" {
                    @for (share, label) in [(0.0, "0 %"), (0.5, "50 %"), (1.0, "100 %")] {
                        text x="-6" y=(y(share) + 4.0) text-anchor="end" { (label) }
                    }
                    text x="0" y="186" { "opened " (day(&report.paid.opened)) }
                    @if let Some(last) = &report.paid.last { text x=(width) y="186" text-anchor="end" { "last charge " (day(last)) } }
                }
            }
            figcaption { (caption) }
        }
    }
}

fn day(time: &str) -> &str {
    time.split('T').next().unwrap_or(time)
}

/// Which kinds of questions were answered, and with which noise.
fn asked(report: &PublicReport) -> Markup {
    let paid = &report.paid;
    html! {
        h2 { "What was asked" }
        p {
            (counted(paid.asked, "charge was for a question", "charges were for questions")) " that the gate answered, and "
            (counted(paid.elsewhere, "charge", "charges")) " for computations elsewhere. A question may use several aggregates."
        }
        @if !paid.questions.is_empty() {
            table {
                @for (name, count) in &paid.questions { tr { th { (name) } td.n { (counted(*count, "question", "questions")) } } }
            }
        }
        @if !paid.mechanisms.is_empty() {
            h2 { "How noise was paid for" }
            table {
                @for (name, count) in &paid.mechanisms { tr { th { (name) } td.n { (counted(*count, "charge", "charges")) } } }
            }
        }
    }
}

/// What is declared about the data.
fn data(report: &PublicReport) -> Markup {
    html! {
        @for dataset in &report.datasets {
            h2 { "The data " (dataset.dataset) }
            table {
                tr { th { "Version" } td { (dataset.version) } }
                tr {
                    th { "Rows of one unit" }
                    td {
                        @match dataset.schema.max_rows_per_unit {
                            None => { "a row is the unit" }
                            Some(most) => { (counted(most.into(), "row", "rows")) " at most" }
                        }
                    }
                }
                tr {
                    th { "Columns" }
                    td { @for (at, column) in dataset.schema.columns.iter().enumerate() { @if at > 0 { ", " } (column.name) } }
                }
            }
        }
    }
}

/// What shows that the journal is whole.
fn proof(report: &PublicReport) -> Markup {
    html! {
        h2 { "Proof" }
        p {
            "The journal of all charges was recomputed from its first record when this page was made: every hash, every decision and every \
             balance matches the stored one."
        }
        table {
            tr { th { "Ledger" } td { code { (report.ledger) } } }
            tr { th { "Newest" } td { code { (report.newest) } } }
            tr { th { "Opened" } td { (to_the_second(&report.paid.opened)) " UTC" } }
        }
        @if let Some(checkpoint) = &report.checkpoint {
            p { "The newest signed checkpoint covers " (counted(checkpoint.size, "record", "records")) ":" }
            pre { code { (checkpoint.checkpoint) } }
        }
        p {
            "The hash of the newest record stands for all records before it. Anyone who kept an older receipt can check that it is \
             still there."
        }
    }
}
