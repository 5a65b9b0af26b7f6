//! One request, from its arrival to its answer: a defect is an answer too, nothing is stored on the way, and the log and the metrics
//! learn of it.

use std::convert::Infallible;
use std::net::IpAddr;
use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use axum::Router;
use axum::body::{Body, HttpBody};
use axum::extract::{FromRequestParts, MatchedPath, Request};
use axum::http::request::Parts;
use axum::http::{HeaderValue, Method, StatusCode, Version, header};
use axum::response::{IntoResponse, Response};
use futures_util::FutureExt;
use hyper::body::Incoming;
use taximeter_dashboard::Dashboard;
use taximeter_service::log::{AnsweredRequest, Event};
use taximeter_service::{Caller, Code, Problem, Service, Trace};
use tower::Service as _;

use crate::failure::Failure;
use crate::listen::Newcomer;
use crate::metrics::Metrics;
use crate::routes;

/// What all requests to the API share. Cheap to clone.
#[derive(Clone)]
pub(crate) struct AppState {
    pub(crate) service: Arc<Service>,
    pub(crate) metrics: Arc<Metrics>,
}

/// What answers requests. Cheap to clone.
#[derive(Clone)]
pub struct App {
    router: Router,
    state: AppState,
    /// The machine at the other end of the connection, and the connection itself.
    peer: Option<IpAddr>,
    newcomer: Option<Arc<Newcomer>>,
}

impl App {
    /// All paths.
    pub fn new(service: &Arc<Service>) -> Result<App, Problem> {
        let state = AppState { service: Arc::clone(service), metrics: Arc::default() };
        let router = routes::router(state.clone(), Dashboard::new(service)?);
        Ok(App { router, state, peer: None, newcomer: None })
    }

    /// The service that it is an edge of.
    pub(crate) fn service(&self) -> &Arc<Service> {
        &self.state.service
    }

    /// The same, for a connection from a machine.
    pub(crate) fn for_connection(&self, peer: IpAddr, newcomer: Newcomer) -> App {
        App { peer: Some(peer), newcomer: Some(Arc::new(newcomer)), ..self.clone() }
    }

    /// Answers a request.
    pub async fn answer(&self, request: Request) -> Response {
        let (start, method) = (Instant::now(), known_method(request.method()));
        let (trace, route) = (self.trace(), Route::default());
        let response = self.route(request, &trace, &route).await;
        self.finish(response, start, method, &trace, &route)
    }

    /// Answers a request that does not say which host it is for.
    fn refuse_host(&self, request: &hyper::Request<Incoming>) -> Response {
        let (start, method) = (Instant::now(), known_method(request.method()));
        let failure = Failure::new(Code::BadRequest, "a request names its host once; send one Host header");
        self.finish(failure.into_response(), start, method, &self.trace(), &Route::default())
    }

    /// A connection that shows a valid token is not closed to make room for others.
    fn trace(&self) -> Trace {
        let newcomer = self.newcomer.clone();
        Trace::new(self.peer, move || newcomer.iter().for_each(|newcomer| newcomer.prove()))
    }

    async fn route(&self, mut request: Request, trace: &Trace, route: &Route) -> Response {
        request.extensions_mut().insert(trace.clone());
        request.extensions_mut().insert(route.clone());
        let mut router = self.router.clone();
        match AssertUnwindSafe(router.call(request)).catch_unwind().await {
            Ok(Ok(response)) => response,
            // The message of a panic may have data values in it, so it is not passed on.
            Err(_) => Failure::new(Code::Storage, "the server failed at this; tell its owner").into_response(),
        }
    }

    /// Adds the headers that every answer has, and tells the log and the metrics of it.
    fn finish(
        &self,
        mut response: Response,
        start: Instant,
        method: &'static str,
        trace: &Trace,
        route: &Route,
    ) -> Response {
        let AppState { service, metrics } = &self.state;
        let (status, headers) = (response.status(), response.headers_mut());
        // Answers are for the holder of the token, and not for a cache on the way.
        headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
        if service.settings.is_encrypted {
            headers.insert(header::STRICT_TRANSPORT_SECURITY, HeaderValue::from_static("max-age=31536000"));
        }
        if matches!(status, StatusCode::REQUEST_TIMEOUT | StatusCode::PAYLOAD_TOO_LARGE) {
            // The rest of the body is not waited for.
            headers.insert(header::CONNECTION, HeaderValue::from_static("close"));
        }
        let took = start.elapsed();
        metrics.request(route.template().unwrap_or_default(), status.as_u16(), took);
        if service.log.is_on() {
            service.log.write(Event::Request(AnsweredRequest {
                method,
                route: route.template().map(str::to_string),
                status: status.as_u16(),
                code: response.extensions().get().copied(),
                token: trace.token().cloned(),
                took,
                bytes: response.body().size_hint().exact(),
            }));
        }
        response
    }
}

/// The template of a request's path, noted for the log: what is put into the request itself is gone when it is answered.
#[derive(Clone, Default)]
struct Route(Arc<OnceLock<MatchedPath>>);

impl Route {
    /// The template, if the path is one of ours.
    fn template(&self) -> Option<&str> {
        self.0.get().map(MatchedPath::as_str)
    }
}

/// Notes the template of the path.
pub(crate) async fn note_route(request: Request) -> Request {
    let extensions = request.extensions();
    if let (Some(route), Some(path)) = (extensions.get::<Route>(), extensions.get::<MatchedPath>()) {
        route.0.get_or_init(|| path.clone());
    }
    request
}

impl FromRequestParts<AppState> for Caller {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, state: &AppState) -> Result<Caller, Failure> {
        let unauthorized = |detail: &str| Failure::new(Code::Unauthorized, detail);
        let mut values = parts.headers.get_all(header::AUTHORIZATION).iter();
        let value = match (values.next(), values.next()) {
            (Some(value), None) => value,
            (None, _) => return Err(unauthorized("the token is missing; send it as `Authorization: Bearer TOKEN`")),
            (Some(_), Some(_)) => return Err(unauthorized("there are two Authorization headers; send one")),
        };
        let secret = value.to_str().ok().and_then(|text| {
            let (scheme, secret) = text.split_once(' ')?;
            scheme.eq_ignore_ascii_case("bearer").then(|| secret.trim())
        });
        let secret = secret.ok_or_else(|| unauthorized("the token is sent as `Authorization: Bearer TOKEN`"))?;
        let token = state.service.tokens.find(secret).ok_or_else(|| {
            unauthorized("the token is not known, has expired, or was revoked; ask the owner for a new one")
        })?;
        Ok(Caller::admit(&state.service, token, parts.extensions.get())?)
    }
}

impl hyper::service::Service<hyper::Request<Incoming>> for App {
    type Response = Response;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Response, Infallible>> + Send>>;

    fn call(&self, request: hyper::Request<Incoming>) -> Self::Future {
        let service = self.clone();
        Box::pin(async move {
            let hosts = request.headers().get_all(header::HOST).iter().count();
            // Which host is meant is not for the server to guess (RFC 9112, section 3.2).
            if hosts > 1 || (hosts == 0 && request.version() != Version::HTTP_10) {
                return Ok(service.refuse_host(&request));
            }
            Ok(service.answer(request.map(Body::new)).await)
        })
    }
}

/// The method, if it is one that anybody uses: another is whatever somebody liked to send.
fn known_method(method: &Method) -> &'static str {
    match *method {
        Method::GET => "GET",
        Method::HEAD => "HEAD",
        Method::POST => "POST",
        Method::PUT => "PUT",
        Method::PATCH => "PATCH",
        Method::DELETE => "DELETE",
        Method::OPTIONS => "OPTIONS",
        _ => "other",
    }
}

#[cfg(test)]
mod tests {
    use axum::routing::get;
    use taximeter_gate::Gate;
    use taximeter_ledger::{Ledger, Location, Options};
    use taximeter_service::{Log, LogForm, Settings, TokenPlace, Tokens};

    use super::*;

    #[test]
    fn a_panic_is_a_problem_without_details() {
        let folder = tempfile::tempdir().unwrap();
        let location = Location::File(folder.path().join("taximeter.db"));
        let ledger = Ledger::open(&location, Options { create: true, ..Options::default() }).unwrap();
        let tokens = Tokens::open(&TokenPlace::of(&location), ledger.id()).unwrap();
        let gate = Gate::open(&folder.path().join("gate"), ledger).unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let _inside = runtime.enter();
        let service = Service::new(gate, tokens, Log::new(LogForm::Off), Settings::default()).unwrap();
        async fn panics() -> &'static str {
            panic!("row 17 has the value 42")
        }
        let router = Router::new().route("/panics", get(panics)).route("/fine", get(async || "fine"));
        let state = AppState { service, metrics: Arc::default() };
        let app = App { router, state, peer: None, newcomer: None };
        let ask = |path: &str| {
            let request = Request::get(path).body(Body::empty()).unwrap();
            runtime.block_on(async {
                let response = app.answer(request).await;
                let status = response.status().as_u16();
                let body = axum::body::to_bytes(response.into_body(), 10_000).await.unwrap();
                (status, String::from_utf8(body.to_vec()).unwrap())
            })
        };
        let (status, body) = ask("/panics");
        assert_eq!(status, 500);
        assert!(body.contains("\"code\":\"storage\"") && !body.contains("42"), "{body}");
        assert_eq!(ask("/fine"), (200, "fine".to_string()));
    }
}
