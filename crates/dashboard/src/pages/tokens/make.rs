//! Making a token: the form, and the secret, which is shown this once.

use axum::response::Response;
use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use maud::{Markup, html};
use taximeter_ledger::{AccountName, Key};
use taximeter_service::{Action, Code, CreatedToken, NewToken, Problem, Role};

use super::{TITLE, content, revoke};
use crate::fields::Fields;
use crate::form::{Input, check, choice, lines};
use crate::page::Section;
use crate::visitor::Visitor;

/// Of so many accounts or datasets each has a box to tick; the names of more are written.
const BOXES: usize = 40;

/// The one that is needed most comes first.
const ROLES: [Role; 3] = [Role::Analyst, Role::Auditor, Role::Owner];

/// The form, as it was filled in.
pub(super) async fn panel(visitor: &Visitor, filled: &Fields) -> Result<Markup, Problem> {
    let accounts = visitor.caller.accounts().await?.accounts;
    let accounts: Vec<&AccountName> = accounts.iter().map(|account| &account.account).collect();
    let datasets = visitor.caller.datasets().await?.0;
    let datasets: Vec<&AccountName> = datasets.iter().map(|dataset| &dataset.dataset).collect();
    Ok(html! {
        section.panel aria-labelledby="make" {
            h2 #make { "Make a token" }
            form.stacked method="post" action="/tokens" {
                (visitor.form_key())
                // With it, a form that is sent twice makes one token.
                input type="hidden" name="key" value=(Key::generate()?.as_str());
                div.row {
                    (Input::new("principal", "Whose it is", filled).required(true).longest(63)
                        .help("A person or a program, such as alice. The journal has this name."))
                    (choice("role", "Role", ROLES.map(|role| (role.name(), role.name())), filled.get("role"),
                        "An analyst charges its own accounts and asks about its own datasets; an auditor reads all but what follows \
                         from the data; an owner may do everything."))
                    (Input::new("expires", "Last day, in UTC", filled).date()
                        .help("It ends when this day is over. Left empty: in 90 days."))
                }
                h3 { "For analysts" }
                (names("accounts", "Accounts that it charges and sees, with those below them", &accounts, filled))
                (names("datasets", "Datasets that it asks about", &datasets, filled))
                (check("sees_above", "It may also see what the accounts above its own have left", filled))
                button { "Make the token" }
            }
        }
    })
}

/// A box for each name, or a field to write them in if there are many.
fn names(field: &str, label: &str, all: &[&AccountName], filled: &Fields) -> Markup {
    html! {
        @if all.len() > BOXES {
            (lines(field, label, 3, "", "Their names, with spaces or commas between them.", filled))
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

pub(super) async fn make(visitor: Visitor, fields: Fields) -> Response {
    match made(&visitor, &fields).await {
        Ok(created) => visitor.page(Section::Tokens, "A new token", Ok(secret(&created))),
        Err(failure) => match content(&visitor, &fields).await {
            Ok(content) => visitor.page_again(Section::Tokens, TITLE, failure, content),
            Err(_) => visitor.page(Section::Tokens, TITLE, Err(failure)),
        },
    }
}

async fn made(visitor: &Visitor, fields: &Fields) -> Result<CreatedToken, Problem> {
    visitor.caller.require(Action::ChangeTokens)?;
    let key = fields.required("key", "the key of the form")?;
    let new = new_token(fields)?;
    if !visitor.sessions().is_first(&visitor.session(), key) {
        let detail = format!(
            "this form was sent before, and no second token was made. The first answer had the token of {}; if nobody copied it, revoke \
             it and make another",
            new.principal
        );
        return Err(Problem::new(Code::BadRequest, detail));
    }
    let created = visitor.caller.create_token(new).await?;
    Ok(created)
}

fn new_token(fields: &Fields) -> Result<NewToken, Problem> {
    let role = fields.required("role", "the role")?;
    let role = ROLES.into_iter().find(|known| known.name() == role).ok_or_else(|| {
        Problem::new(Code::BadRequest, format!("there is no role {role:?}; choose owner, auditor or analyst"))
    })?;
    Ok(NewToken {
        principal: fields.required("principal", "whose token it is")?.to_string(),
        role,
        accounts: fields.names("accounts")?,
        datasets: fields.names("datasets")?,
        sees_above: fields.is_ticked("sees_above"),
        expires: fields.get("expires").map(|day| end_of_day(day).unwrap_or_else(|| day.to_string())),
    })
}

/// The moment at which a day is over, in UTC; nothing for what is no day.
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
                    strong { "Copy it now: it is shown this once." } " The server has kept a hash of it and nothing else. Give it to "
                    (token.principal) " in a way that nobody else can read."
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
    fn a_day_is_over_when_the_next_one_begins() {
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
