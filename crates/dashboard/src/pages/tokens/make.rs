//! Creating a token: the form, and the secret, which is shown only once.

use axum::response::Response;
use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use maud::{Markup, html};
use taximeter_ledger::{AccountName, Key};
use taximeter_service::{Action, Code, CreatedToken, NewToken, Problem, Role};

use super::{TITLE, content, revoke};
use crate::form::{TextField, check, choice, lines};
use crate::form_data::FormData;
use crate::page::Section;
use crate::visitor::Visitor;

/// Up to this number of accounts or datasets have checkboxes; with more, names are typed.
const BOXES: usize = 40;

/// The most common role first.
const ROLES: [Role; 3] = [Role::Analyst, Role::Auditor, Role::Owner];

/// The form, as it was filled in.
pub(super) async fn panel(visitor: &Visitor, filled: &FormData) -> Result<Markup, Problem> {
    let accounts = visitor.caller.accounts().await?.accounts;
    let accounts: Vec<&AccountName> = accounts.iter().map(|account| &account.account).collect();
    let datasets = visitor.caller.datasets().await?.0;
    let datasets: Vec<&AccountName> = datasets.iter().map(|dataset| &dataset.dataset).collect();
    Ok(html! {
        section.panel aria-labelledby="make" {
            h2 #make { "Make a token" }
            form.stacked method="post" action="/tokens" {
                (visitor.form_key())
                // With this key, a form that is sent twice creates one token.
                input type="hidden" name="key" value=(Key::generate()?.as_str());
                div.row {
                    (TextField::new("principal", "Holder", filled).required(true).longest(63)
                        .help("A person or a program, such as alice. The journal records this name."))
                    (choice("role", "Role", ROLES.map(|role| (role.name(), role.name())), filled.get("role"),
                        "An analyst charges its own accounts and asks about its own datasets; an auditor reads everything except what \
                         depends on the data; an owner may do everything."))
                    (TextField::new("expires", "Last day, in UTC", filled).date()
                        .help("The token ends when this day is over. If empty: after 90 days."))
                }
                h3 { "For analysts" }
                (names("accounts", "Accounts that it may charge and see, including those below them", &accounts, filled))
                (names("datasets", "Datasets that it may ask about", &datasets, filled))
                (check("sees_above", "It may also see what the accounts above its own have left", filled))
                button { "Make the token" }
            }
        }
    })
}

/// A checkbox for each name, or a text field if there are many.
fn names(field: &str, label: &str, all: &[&AccountName], filled: &FormData) -> Markup {
    html! {
        @if all.len() > BOXES {
            (lines(field, label, 3, "", "Names, separated by spaces or commas.", filled))
        } @else {
            fieldset {
                legend { (label) }
                @if all.is_empty() { p.help { "There are none yet." } }
                div.choices {
                    @for name in all {
                        label.check {
                            input type="checkbox" name=(field) value=(name) checked[filled.has(field, name.as_str())];
                            span { (name) }
                        }
                    }
                }
            }
        }
    }
}

pub(super) async fn make(visitor: Visitor, fields: FormData) -> Response {
    match made(&visitor, &fields).await {
        Ok(created) => visitor.page(Section::Tokens, "A new token", Ok(secret(&created))),
        Err(failure) => visitor.page_again(Section::Tokens, TITLE, failure, content(&visitor, &fields).await),
    }
}

async fn made(visitor: &Visitor, fields: &FormData) -> Result<CreatedToken, Problem> {
    visitor.caller.require(Action::ChangeTokens)?;
    let key = fields.required("key", "the key of the form")?;
    let new = new_token(fields)?;
    if !visitor.sessions().is_first(&visitor.session(), key) {
        let detail = format!(
            "this form was sent before, and no second token was made. The first page showed the token of {}; if it was not copied, \
             revoke it and make another",
            new.principal
        );
        return Err(Problem::new(Code::BadRequest, detail));
    }
    let created = visitor.caller.create_token(new).await?;
    Ok(created)
}

fn new_token(fields: &FormData) -> Result<NewToken, Problem> {
    let role = fields.required("role", "the role")?;
    let role = ROLES
        .into_iter()
        .find(|known| known.name() == role)
        .ok_or_else(|| Problem::bad_request(format!("unknown role {role:?}; choose owner, auditor or analyst")))?;
    Ok(NewToken {
        principal: fields.required("principal", "the holder")?.to_string(),
        role,
        accounts: fields.names("accounts")?,
        datasets: fields.names("datasets")?,
        sees_above: fields.is_ticked("sees_above"),
        expires: fields.get("expires").map(|day| end_of_day(day).unwrap_or_else(|| day.to_string())),
    })
}

/// The end of a day, in UTC; `None` if the text is not a day.
fn end_of_day(day: &str) -> Option<String> {
    let next = day.parse::<Date>().ok()?.tomorrow().ok()?;
    Some(next.to_zoned(TimeZone::UTC).ok()?.timestamp().to_string())
}

fn secret(CreatedToken { secret, token, warnings }: &CreatedToken) -> Markup {
    html! {
        section.panel aria-labelledby="made" {
            h2 #made { "The token of " (token.principal) }
            div.caution {
                p {
                    strong { "Copy it now: it is shown only once." } " The server stores only a hash of it. Give it to "
                    (token.principal) " over a private channel."
                }
            }
            @for warning in warnings { p.caution { "Warning: " (warning) "." } }
            label for="secret" { strong { "Token" } }
            textarea.secret #secret readonly rows="3" autocomplete="off" spellcheck="false" { (secret) }
            button.quiet type="button" data-copies="secret" hidden { "Copy" }
            (revoke::facts(token, Timestamp::now()))
            p { a href="/tokens" { "Back to the tokens" } }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_day_ends_when_the_next_one_begins() {
        for (day, expected) in [
            ("2026-11-16", Some("2026-11-17T00:00:00Z")),
            ("2026-12-31", Some("2027-01-01T00:00:00Z")),
            ("2028-02-28", Some("2028-02-29T00:00:00Z")),
            ("9999-12-31", None),
            ("2026-02-30", None),
            ("tomorrow", None),
            ("", None),
        ] {
            assert_eq!(end_of_day(day).as_deref(), expected, "{day}");
        }
    }
}
