//! One request, from its arrival to its answer: a panic is answered too, answers are not cached, and the log and the metrics record
//! them.

use std::convert::Infallible;
use std::net::IpAddr;
use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::time::Instant;
#[cfg(feature = "otlp")]
use std::time::SystemTime;

use axum::Router;
use axum::body::{Body, HttpBody};
use axum::extract::{FromRequestParts, MatchedPath, Request};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, Version, header};
use axum::response::{IntoResponse, Response};
use futures_util::FutureExt;
use hyper::body::Incoming;
use taximeter_dashboard::Dashboard;
use taximeter_service::log::{AnsweredRequest, LogEvent};
use taximeter_service::{Caller, Code, Issuer, Problem, Service, Trace};
use tower::Service as _;

use crate::failure::FailedResponse;
use crate::listen::UnauthenticatedConnection;
use crate::metrics::Metrics;
#[cfg(feature = "otlp")]
use crate::otlp::{OtlpSettings, RequestSpan, Telemetry, TraceContext, new_id};
use crate::routes;

/// The state of the API. Cheap to clone.
#[derive(Clone)]
pub(crate) struct AppState {
    pub(crate) service: Arc<Service>,
    pub(crate) metrics: Arc<Metrics>,
}

/// The application, which answers requests. Cheap to clone.
#[derive(Clone)]
pub struct App {
    router: Router,
    state: AppState,
    /// The peer of the connection, and the connection until it is authenticated.
    peer: Option<IpAddr>,
    connection: Option<Arc<UnauthenticatedConnection>>,
    /// The way to a collector, if there is one.
    #[cfg(feature = "otlp")]
    telemetry: Option<Arc<Telemetry>>,
}

impl App {
    /// All paths.
    pub fn new(service: &Arc<Service>) -> Result<App, Problem> {
        let state = AppState { service: Arc::clone(service), metrics: Arc::default() };
        let router = routes::router(state.clone(), Dashboard::new(service)?);
        Ok(App {
            router,
            state,
            peer: None,
            connection: None,
            #[cfg(feature = "otlp")]
            telemetry: None,
        })
    }

    /// The application, which also sends spans and metrics to a collector.
    #[cfg(feature = "otlp")]
    pub fn with_otlp(self, settings: &OtlpSettings) -> Result<App, Problem> {
        let telemetry = Some(Arc::new(Telemetry::start(settings, &self.state)?));
        Ok(App { telemetry, ..self })
    }

    /// The service.
    pub(crate) fn service(&self) -> &Arc<Service> {
        &self.state.service
    }

    /// The application for one connection.
    pub(crate) fn for_connection(&self, peer: IpAddr, connection: UnauthenticatedConnection) -> App {
        App { peer: Some(peer), connection: Some(Arc::new(connection)), ..self.clone() }
    }

    /// Answers a request.
    pub async fn answer(&self, request: Request) -> Response {
        let (begun, method) = (self.begin(request.headers()), known_method(request.method()));
        let (trace, route) = (self.trace(), RouteTemplate::default());
        let response = self.route(request, &trace, &route).await;
        self.finish(response, &begun, method, &trace, &route)
    }

    /// When a request began, and the trace that it belongs to.
    fn begin(&self, _headers: &HeaderMap) -> BegunRequest {
        BegunRequest {
            start: Instant::now(),
            #[cfg(feature = "otlp")]
            traced: self.telemetry.as_ref().and_then(|_| TraceContext::of(_headers)).map(|of| (of, SystemTime::now())),
        }
    }

    /// Rejects a request without exactly one host.
    fn refuse_host(&self, request: &hyper::Request<Incoming>) -> Response {
        let (begun, method) = (self.begin(request.headers()), known_method(request.method()));
        let failure = FailedResponse::new(Code::BadRequest, "a request must have one Host header; send it once");
        self.finish(failure.into_response(), &begun, method, &self.trace(), &RouteTemplate::default())
    }

    /// A connection that shows a valid token is not closed to make room for others.
    fn trace(&self) -> Trace {
        let connection = self.connection.clone();
        Trace::new(self.peer, move || connection.iter().for_each(|connection| connection.authenticate()))
    }

    async fn route(&self, mut request: Request, trace: &Trace, route: &RouteTemplate) -> Response {
        request.extensions_mut().insert(trace.clone());
        request.extensions_mut().insert(route.clone());
        let mut router = self.router.clone();
        match AssertUnwindSafe(router.call(request)).catch_unwind().await {
            Ok(Ok(response)) => response,
            // The message of a panic may contain data values, so it is not shown.
            Err(_) => FailedResponse::new(Code::Storage, "the server failed because of a defect; tell its owner")
                .into_response(),
        }
    }

    /// Adds the common headers, and records the answer in the log and the metrics.
    fn finish(
        &self,
        mut response: Response,
        begun: &BegunRequest,
        method: &'static str,
        trace: &Trace,
        route: &RouteTemplate,
    ) -> Response {
        let AppState { service, metrics } = &self.state;
        let (status, headers) = (response.status(), response.headers_mut());
        // Answers are for the holder of the token, and not for caches.
        headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
        if service.settings.is_encrypted {
            headers.insert(header::STRICT_TRANSPORT_SECURITY, HeaderValue::from_static("max-age=31536000"));
        }
        if matches!(status, StatusCode::REQUEST_TIMEOUT | StatusCode::PAYLOAD_TOO_LARGE) {
            // The rest of the body is not read.
            headers.insert(header::CONNECTION, HeaderValue::from_static("close"));
        }
        let took = begun.start.elapsed();
        metrics.request(route.template().unwrap_or_default(), status.as_u16(), took);
        #[cfg(feature = "otlp")]
        if let (Some(telemetry), Some((context, start))) = (&self.telemetry, begun.traced)
            && context.is_sampled
            && let Some(id) = new_id()
        {
            let (route, code) = (route.template().map(str::to_string), response.extensions().get().copied());
            telemetry.send(RequestSpan { context, id, method, route, status: status.as_u16(), code, start, took });
        }
        if service.log.is_on() {
            service.log.write(LogEvent::Request(AnsweredRequest {
                method,
                route: route.template().map(str::to_string),
                status: status.as_u16(),
                code: response.extensions().get().copied(),
                principal: trace.token().map(|token| token.principal.clone()),
                token: trace.token().map(|token| token.id.clone()),
                took,
                bytes: response.body().size_hint().exact(),
            }));
        }
        response
    }
}

/// A request that is not answered yet.
struct BegunRequest {
    start: Instant,
    #[cfg(feature = "otlp")]
    traced: Option<(TraceContext, SystemTime)>,
}

/// The template of a request's path, for the log: the request itself is gone when it is answered.
#[derive(Clone, Default)]
struct RouteTemplate(Arc<OnceLock<MatchedPath>>);

impl RouteTemplate {
    /// The template, if the path is known.
    fn template(&self) -> Option<&str> {
        self.0.get().map(MatchedPath::as_str)
    }
}

/// Stores the template of the path.
pub(crate) async fn note_route(request: Request) -> Request {
    let extensions = request.extensions();
    if let (Some(route), Some(path)) = (extensions.get::<RouteTemplate>(), extensions.get::<MatchedPath>()) {
        route.0.get_or_init(|| path.clone());
    }
    request
}

impl FromRequestParts<AppState> for Caller {
    type Rejection = FailedResponse;

    async fn from_request_parts(parts: &mut Parts, state: &AppState) -> Result<Caller, FailedResponse> {
        let unauthorized = |detail: &str| FailedResponse::new(Code::Unauthorized, detail);
        let mut values = parts.headers.get_all(header::AUTHORIZATION).iter();
        let value = match (values.next(), values.next()) {
            (Some(value), None) => value,
            (None, _) => return Err(unauthorized("the token is missing; send it as `Authorization: Bearer TOKEN`")),
            (Some(_), Some(_)) => return Err(unauthorized("the Authorization header is sent twice; send it once")),
        };
        let secret = value.to_str().ok().and_then(|text| {
            let (scheme, secret) = text.split_once(' ')?;
            scheme.eq_ignore_ascii_case("bearer").then(|| secret.trim())
        });
        let secret = secret.ok_or_else(|| unauthorized("the token is sent as `Authorization: Bearer TOKEN`"))?;
        let token = match &state.service.issuer {
            Some(issuer) if Issuer::may_be_token(secret) => issuer.identify(secret, state.service.tokens.now()).await?,
            _ => state.service.tokens.find(secret).ok_or_else(|| {
                unauthorized("the token is not known, has expired, or was revoked; ask the owner for a new one")
            })?,
        };
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
            // A server must reject a request without exactly one host (RFC 9112, section 3.2).
            if hosts > 1 || (hosts == 0 && request.version() != Version::HTTP_10) {
                return Ok(service.refuse_host(&request));
            }
            Ok(service.answer(request.map(Body::new)).await)
        })
    }
}

/// The method for the log: an unknown one may be any text, so it is not logged.
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
        let app = App { router, ..App::new(&state.service).unwrap() };
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
