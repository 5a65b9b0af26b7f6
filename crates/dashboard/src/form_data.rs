//! What somebody filled in: the fields of a form that is one of ours.

use axum::body::HttpBody;
use axum::extract::{FromRequest, Request};
use taximeter_ledger::AccountName;
use taximeter_service::{Code, Problem};

use super::cookies::Cookie;
use super::page::ProblemPage;
use super::parts::{FileStream, Part, Parts};
use super::sessions::{Sessions, Ticket};
use super::visitor::{Visitor, require_own_page};
use crate::Dashboard;
use crate::body::is_of_type;
use crate::body::{Unread, read_whole};

/// The fields of a form, checked to come from a page that this server made for the same session.
#[derive(Clone, Default)]
pub(crate) struct Fields(Vec<(String, String)>);

/// A form that did not come from a page of ours, or not to whom it was given.
pub(super) fn not_ours(detail: &str) -> Problem {
    let title = "This form cannot be used".to_string();
    Problem { title, ..Problem::new(Code::Forbidden, detail) }
}

/// The field that says that a form is one of ours.
pub(super) const FORM_KEY: &str = "form_key";

impl FromRequest<Dashboard> for Fields {
    type Rejection = ProblemPage;

    async fn from_request(request: Request, state: &Dashboard) -> Result<Fields, ProblemPage> {
        Fields::read(request, state, Cookie::Session).await.map_err(ProblemPage)
    }
}

impl Fields {
    /// Reads a form that was made for the ticket in a cookie.
    pub(super) async fn read(request: Request, state: &Dashboard, of: Cookie) -> Result<Fields, Problem> {
        let headers = request.headers();
        require_own_page(headers)?;
        if !is_of_type(headers, "application/x-www-form-urlencoded") {
            return Err(Problem::new(
                Code::UnsupportedMediaType,
                "a form is sent as application/x-www-form-urlencoded",
            ));
        }
        let ticket = of.ticket(headers, &state.service.settings);
        let bytes =
            read_whole(request.into_body(), state.service.settings.largest_body, state.service.settings.arrival)
                .await?;
        let fields = Fields::new(form_urlencoded::parse(&bytes).into_owned().collect());
        fields.require_key(&state.sessions, ticket.as_ref())?;
        Ok(fields)
    }

    /// Reads a form with a file at its end, if one was chosen. Its first field must say that it is one of ours, so that nothing else
    /// is read of one that is not. The file is left to whoever takes it.
    pub(super) async fn read_with_file(
        request: Request,
        visitor: &Visitor,
    ) -> Result<(Fields, Option<FileStream>), Problem> {
        let settings = &visitor.service().settings;
        let (head, body) = request.into_parts();
        require_own_page(&head.headers)?;
        let ticket = Cookie::Session.ticket(&head.headers, settings);
        visitor.caller.require_upload_size(body.size_hint().lower().saturating_sub(settings.largest_body as u64))?;
        let mut parts = Parts::new(&head.headers, body, settings.largest_body)?;
        let reading = async move {
            let (first, mut fields) = (parts.first().await?, Fields::default());
            if first.name == FORM_KEY && first.file.is_none() {
                fields.0.push((first.name, parts.text().await?));
            }
            fields.require_key(visitor.sessions(), ticket.as_ref())?;
            while let Some(Part { name, file }) = parts.next().await? {
                if file.is_some_and(|file| !file.is_empty()) {
                    return Ok((fields, Some(parts.into_file())));
                }
                fields.0.push((name, parts.text().await?));
            }
            Ok((fields, None))
        };
        tokio::time::timeout(settings.arrival, reading).await.unwrap_or_else(|_| Err(Unread::Late.into()))
    }

    /// What stands behind the question mark of a path, as if it had been filled in.
    pub(super) fn from_query(query: Option<&str>) -> Fields {
        Fields(form_urlencoded::parse(query.unwrap_or_default().as_bytes()).into_owned().collect())
    }

    /// Fields that were read in another way.
    pub(super) fn new(fields: Vec<(String, String)>) -> Fields {
        Fields(fields)
    }

    /// The form must be one of ours.
    fn require_key(&self, sessions: &Sessions, ticket: Option<&Ticket>) -> Result<(), Problem> {
        let is_ours = ticket.zip(self.get(FORM_KEY)).is_some_and(|(ticket, key)| sessions.is_form_key(ticket, key));
        match is_ours {
            true => Ok(()),
            false => Err(not_ours(
                "this form is of another session, or none, and nothing was done; open the page again and send it from there, with \
                 cookies allowed",
            )),
        }
    }

    /// The same, with this value of a field in the place of any other.
    pub(super) fn with(mut self, name: &str, value: &str) -> Fields {
        self.0.retain(|(other, _)| other != name);
        self.0.push((name.to_string(), value.to_string()));
        self
    }

    /// A field that is filled in, without the spaces around it.
    pub(super) fn get(&self, name: &str) -> Option<&str> {
        let field = self.0.iter().find(|(other, _)| other == name)?;
        Some(field.1.trim()).filter(|value| !value.is_empty())
    }

    /// A field that has to be filled in.
    pub(super) fn required(&self, name: &str, what: &str) -> Result<&str, Problem> {
        self.get(name).ok_or_else(|| Problem::new(Code::BadRequest, format!("{what} is empty; fill it in")))
    }

    /// Whether a box is ticked.
    pub(super) fn is_ticked(&self, name: &str) -> bool {
        self.get(name).is_some()
    }

    /// Whether a field of that name has this value, such as one box of several.
    pub(super) fn has(&self, name: &str, value: &str) -> bool {
        self.0.iter().any(|(other, given)| other == name && given == value)
    }

    /// The names in a field, which are separated by spaces, commas or lines, and in all fields of that name.
    pub(super) fn names(&self, name: &str) -> Result<Vec<AccountName>, Problem> {
        let all = self.0.iter().filter(|(other, _)| other == name);
        let words =
            all.flat_map(|(_, value)| value.split([' ', ',', '\n', '\r', '\t'])).filter(|word| !word.is_empty());
        Ok(words.map(AccountName::parse).collect::<Result<_, _>>()?)
    }
}
