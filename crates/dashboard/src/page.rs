//! The frame of every page: navigation, the signed-in user, notices and problems.

use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Redirect, Response};
use maud::{DOCTYPE, Markup, PreEscaped, html};
use taximeter_service::{Action, Code, Problem};

use super::assets;
use super::form_data::FORM_KEY;
use super::visitor::{Theme, Visitor};

/// A section of the dashboard, with a link in the navigation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Section {
    Accounts,
    Cost,
    Ask,
    Plan,
    Datasets,
    Audit,
    Tokens,
}

impl Section {
    const ALL: [Section; 7] = [
        Section::Accounts,
        Section::Cost,
        Section::Ask,
        Section::Plan,
        Section::Datasets,
        Section::Audit,
        Section::Tokens,
    ];

    /// Its path, its title, and the action that the user must be allowed.
    fn link(self) -> (&'static str, &'static str, Action) {
        match self {
            Section::Accounts => ("/", "Accounts", Action::SeeAccounts),
            Section::Cost => ("/cost", "What would it cost?", Action::SeeAccounts),
            Section::Ask => ("/ask", "Ask", Action::Ask),
            Section::Plan => ("/plan", "Plan", Action::SeeDatasets),
            Section::Datasets => ("/datasets", "Datasets", Action::SeeDatasets),
            Section::Audit => ("/audit", "Audit", Action::Audit),
            Section::Tokens => ("/tokens", "Tokens", Action::ChangeTokens),
        }
    }
}

impl Visitor {
    /// A page of a section, or the problem in the same frame.
    pub(super) fn page(&self, section: Section, title: &str, content: Result<Markup, Problem>) -> Response {
        match content {
            Ok(content) => self.page_with(section, title, StatusCode::OK, content).into_response(),
            Err(failure) => {
                let response = self.page_with(section, title, status(&failure), problem(&failure));
                with_code(response.into_response(), failure.code)
            }
        }
    }

    /// The page of a form that was rejected: the problem, and the form as it was filled in.
    /// Without the form, the problem alone.
    pub(super) fn page_again(
        &self,
        section: Section,
        title: &str,
        failure: Problem,
        form: Result<Markup, Problem>,
    ) -> Response {
        let content = html! { (problem(&failure)) @if let Ok(form) = &form { (form) } };
        with_code(self.page_with(section, title, status(&failure), content).into_response(), failure.code)
    }

    fn page_with(&self, section: Section, title: &str, status: StatusCode, content: Markup) -> (StatusCode, Document) {
        let token = &self.caller.token();
        let content = html! {
            header.top {
                a.brand href="/" { (icon()) span { "Taximeter" } }
                nav aria-label="Pages" {
                    ul {
                        @for other in Section::ALL {
                            @let (path, name, action) = other.link();
                            @if self.may(action) {
                                li { a href=(path) aria-current=[(other == section).then_some("page")] { (name) } }
                            }
                        }
                    }
                }
                div.who {
                    span { strong { (token.principal) } " · " (token.role.name()) }
                    button.quiet #theme type="button" hidden { "Theme" }
                    form method="post" action="/sign-out" { (self.form_key()) button.quiet { "Sign out" } }
                }
            }
            main #main tabindex="-1" {
                h1 { (title) }
                div #notice role="status" { @if let Some(notice) = &self.notice { p.notice { (notice) } } }
                (content)
            }
        };
        (status, Document(frame(self.theme, title, content)))
    }

    /// Redirects to a page, which shows a notice about the form that was sent.
    pub(super) fn done(&self, notice: impl Into<String>, path: &str) -> Response {
        self.sessions().leave_notice(&self.session(), notice.into());
        Redirect::to(path).into_response()
    }

    /// The hidden field that every form has.
    pub(super) fn form_key(&self) -> Markup {
        html! { input type="hidden" name=(FORM_KEY) value=(self.form_key); }
    }
}

/// A whole document.
struct Document(Markup);

impl IntoResponse for Document {
    fn into_response(self) -> Response {
        ([(header::CONTENT_TYPE, "text/html; charset=utf-8")], self.0.into_string()).into_response()
    }
}

/// A page for a visitor who is not signed in.
pub(super) fn outside(theme: Theme, status: StatusCode, title: &str, content: Markup) -> Response {
    let content = html! {
        header.top { span.brand { (icon()) span { "Taximeter" } } }
        main.narrow #main tabindex="-1" { h1 { (title) } (content) }
    };
    (status, Document(frame(theme, title, content))).into_response()
}

/// A problem as a page of its own.
pub(crate) struct ProblemPage(pub(super) Problem);

impl IntoResponse for ProblemPage {
    fn into_response(self) -> Response {
        let failure = self.0;
        let content = html! { (problem(&failure)) p { a href="/" { "Go on" } } };
        with_code(outside(Theme::System, status(&failure), "This did not work", content), failure.code)
    }
}

/// A problem, with what to do.
pub(super) fn problem(failure: &Problem) -> Markup {
    html! {
        div.problem role="alert" {
            p { strong { (failure.title) } }
            p { (failure.detail) }
        }
    }
}

/// The HTTP status of a problem.
pub(super) fn status(failure: &Problem) -> StatusCode {
    StatusCode::from_u16(failure.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
}

/// Adds the code for the log, which has codes and no details.
pub(super) fn with_code(mut response: Response, code: Code) -> Response {
    response.extensions_mut().insert(code);
    response
}

fn frame(theme: Theme, title: &str, content: Markup) -> Markup {
    html! {
        (DOCTYPE)
        html lang="en" data-theme=[theme.name()] {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (title) " · Taximeter" }
                link rel="stylesheet" href=(assets::path("style.css"));
                link rel="icon" type="image/svg+xml" href=(assets::path("icon.svg"));
                script src=(assets::path("dashboard.js")) defer {}
            }
            body {
                a.skip href="#main" { "Skip to the content" }
                (content)
            }
        }
    }
}

/// The icon, inline so that it takes the colours of the text.
fn icon() -> Markup {
    html! { (PreEscaped(include_str!("assets/mark.svg"))) }
}
