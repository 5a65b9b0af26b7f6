//! The data of a submitted form, checked to come from one of our own pages.

use axum::body::HttpBody;
use axum::extract::{FromRequest, Request};
use taximeter_accounting::Amount;
use taximeter_ledger::AccountName;
use taximeter_service::{Code, Problem};

use super::cookies::TicketCookie;
use super::multipart::{FileStream, Multipart, PartHead};
use super::page::ProblemPage;
use super::sessions::{Sessions, Ticket};
use super::visitor::{Visitor, require_own_page};
use crate::Dashboard;
use crate::body::{Unread, is_of_type, read_whole};

/// The fields of a form that this server made for the same session.
#[derive(Clone, Default)]
pub(crate) struct FormData(Vec<(String, String)>);

/// The error for a form from another site or another session.
pub(super) fn not_ours(detail: &str) -> Problem {
    let title = "This form cannot be used".to_string();
    Problem { title, ..Problem::new(Code::Forbidden, detail) }
}

/// The hidden field that proves where a form comes from.
pub(super) const FORM_KEY: &str = "form_key";

impl FromRequest<Dashboard> for FormData {
    type Rejection = ProblemPage;

    async fn from_request(request: Request, state: &Dashboard) -> Result<FormData, ProblemPage> {
        FormData::read(request, state, TicketCookie::Session).await.map_err(ProblemPage)
    }
}

impl FormData {
    /// Reads a form made for the ticket in a cookie.
    pub(super) async fn read(request: Request, state: &Dashboard, of: TicketCookie) -> Result<FormData, Problem> {
        let headers = request.headers();
        require_own_page(headers)?;
        if !is_of_type(headers, "application/x-www-form-urlencoded") {
            return Err(Problem::new(Code::UnsupportedMediaType, "a form must be application/x-www-form-urlencoded"));
        }
        let ticket = of.ticket(headers, &state.service.settings);
        let bytes =
            read_whole(request.into_body(), state.service.settings.largest_body, state.service.settings.arrival)
                .await?;
        let fields = FormData::new(form_urlencoded::parse(&bytes).into_owned().collect());
        fields.require_key(&state.sessions, ticket.as_ref())?;
        Ok(fields)
    }

    /// Reads the fields of a form that may end with a file; the file is returned as a stream. The first field must be the form key, so
    /// that nothing else is read of a foreign form.
    pub(super) async fn read_with_file(
        request: Request,
        visitor: &Visitor,
    ) -> Result<(FormData, Option<FileStream>), Problem> {
        let settings = &visitor.service().settings;
        let (head, body) = request.into_parts();
        require_own_page(&head.headers)?;
        let ticket = TicketCookie::Session.ticket(&head.headers, settings);
        visitor.caller.require_upload_size(body.size_hint().lower().saturating_sub(settings.largest_body as u64))?;
        let mut parts = Multipart::new(&head.headers, body, settings.largest_body)?;
        let reading = async move {
            let (first, mut fields) = (parts.first().await?, FormData::default());
            if first.name == FORM_KEY && first.file.is_none() {
                fields.0.push((first.name, parts.text().await?));
            }
            fields.require_key(visitor.sessions(), ticket.as_ref())?;
            while let Some(PartHead { name, file }) = parts.next().await? {
                if file.is_some_and(|file| !file.is_empty()) {
                    return Ok((fields, Some(parts.into_file())));
                }
                fields.0.push((name, parts.text().await?));
            }
            Ok((fields, None))
        };
        tokio::time::timeout(settings.arrival, reading).await.unwrap_or_else(|_| Err(Unread::Late.into()))
    }

    /// The query of a path, as if it had been entered in a form.
    pub(super) fn from_query(query: Option<&str>) -> FormData {
        FormData(form_urlencoded::parse(query.unwrap_or_default().as_bytes()).into_owned().collect())
    }

    /// The fields from names and values.
    pub(super) fn new(fields: Vec<(String, String)>) -> FormData {
        FormData(fields)
    }

    /// The form key must belong to the ticket.
    fn require_key(&self, sessions: &Sessions, ticket: Option<&Ticket>) -> Result<(), Problem> {
        let is_ours = ticket.zip(self.get(FORM_KEY)).is_some_and(|(ticket, key)| sessions.is_form_key(ticket, key));
        match is_ours {
            true => Ok(()),
            false => Err(not_ours(
                "this form belongs to another session, or none, and nothing was done; open the page again and send it from there, with \
                 cookies allowed",
            )),
        }
    }

    /// The fields with one value replaced.
    pub(super) fn with(mut self, name: &str, value: &str) -> FormData {
        self.0.retain(|(other, _)| other != name);
        self.0.push((name.to_string(), value.to_string()));
        self
    }

    /// The trimmed value of a field; `None` if it is empty.
    pub(super) fn get(&self, name: &str) -> Option<&str> {
        let field = self.0.iter().find(|(other, _)| other == name)?;
        Some(field.1.trim()).filter(|value| !value.is_empty())
    }

    /// The value of a required field.
    pub(super) fn required(&self, name: &str, what: &str) -> Result<&str, Problem> {
        self.get(name).ok_or_else(|| Problem::bad_request(format!("{what} is empty; fill it in")))
    }

    /// An amount that may be empty; `what` names it in the error.
    pub(super) fn amount(&self, name: &str, what: &str) -> Result<Option<Amount>, Problem> {
        let parse = |text| Amount::parse_exact(text).map_err(|error| Problem::bad_request(format!("{what}: {error}")));
        self.get(name).map(parse).transpose()
    }

    /// Whether a checkbox is ticked.
    pub(super) fn is_ticked(&self, name: &str) -> bool {
        self.get(name).is_some()
    }

    /// Whether a field of that name has this value, such as one checkbox of several.
    pub(super) fn has(&self, name: &str, value: &str) -> bool {
        self.0.iter().any(|(other, given)| other == name && given == value)
    }

    /// The account names in all fields of that name, separated by spaces, commas or lines.
    pub(super) fn names(&self, name: &str) -> Result<Vec<AccountName>, Problem> {
        let all = self.0.iter().filter(|(other, _)| other == name);
        let words =
            all.flat_map(|(_, value)| value.split([' ', ',', '\n', '\r', '\t'])).filter(|word| !word.is_empty());
        Ok(words.map(AccountName::parse).collect::<Result<_, _>>()?)
    }
}
