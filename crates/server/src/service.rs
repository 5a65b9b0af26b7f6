//! One request, from its arrival to its answer: a defect is an answer too, what is inside is told to owners alone, nothing is stored on
//! the way, and the log and the metrics learn of it.

use std::convert::Infallible;
use std::net::IpAddr;
use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Instant;

use axum::Router;
use axum::body::{Body, HttpBody};
use axum::extract::Request;
use axum::http::{HeaderValue, Method, StatusCode, Version, header};
use axum::response::{IntoResponse, Response};
use futures_util::FutureExt;
use hyper::body::Incoming;
use taximeter_service::Code;
use tower::Service as _;

use crate::failure::{Failure, discreet};
use crate::listen::Newcomer;
use crate::log::{AnsweredRequest, Event};
use crate::routes;
use crate::state::State;
use crate::trace::Trace;

/// What answers requests. Cheap to clone.
#[derive(Clone)]
pub struct Service {
    router: Router,
    state: Arc<State>,
    /// The machine at the other end of the connection, and the connection itself.
    peer: Option<IpAddr>,
    newcomer: Option<Arc<Newcomer>>,
}

impl Service {
    /// All paths.
    pub fn new(state: &Arc<State>) -> Service {
        Service { router: routes::router(Arc::clone(state)), state: Arc::clone(state), peer: None, newcomer: None }
    }

    /// The service of a connection from a machine.
    pub(crate) fn for_connection(&self, peer: IpAddr, newcomer: Newcomer) -> Service {
        Service { peer: Some(peer), newcomer: Some(Arc::new(newcomer)), ..self.clone() }
    }

    /// Answers a request.
    pub async fn answer(&self, request: Request) -> Response {
        let (start, method) = (Instant::now(), known_method(request.method()));
        let trace = Trace::new(self.peer, self.newcomer.clone());
        let response = self.route(request, &trace).await;
        self.finish(response, start, method, &trace)
    }

    /// Answers a request that does not say which host it is for.
    fn refuse_host(&self, request: &hyper::Request<Incoming>) -> Response {
        let (start, method) = (Instant::now(), known_method(request.method()));
        let failure = Failure::new(Code::BadRequest, "a request names its host once; send one Host header");
        let trace = Trace::new(self.peer, self.newcomer.clone());
        self.finish(failure.into_response(), start, method, &trace)
    }

    async fn route(&self, mut request: Request, trace: &Trace) -> Response {
        request.extensions_mut().insert(trace.clone());
        let mut router = self.router.clone();
        match AssertUnwindSafe(router.call(request)).catch_unwind().await {
            Ok(Ok(response)) => discreet(response, trace),
            // What a defect says may have data values in it, and is for nobody.
            Err(_) => Failure::new(Code::Storage, "the server failed at this; tell its owner").into_response(),
        }
    }

    /// Adds the headers that every answer has, and tells the log and the metrics of it.
    fn finish(&self, mut response: Response, start: Instant, method: &'static str, trace: &Trace) -> Response {
        let (status, headers) = (response.status(), response.headers_mut());
        // Answers are for whoever has the token, and not for a cache on the way.
        headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
        if self.state.settings.is_encrypted {
            headers.insert(header::STRICT_TRANSPORT_SECURITY, HeaderValue::from_static("max-age=31536000"));
        }
        if matches!(status, StatusCode::REQUEST_TIMEOUT | StatusCode::PAYLOAD_TOO_LARGE) {
            // The rest of the body is not waited for.
            headers.insert(header::CONNECTION, HeaderValue::from_static("close"));
        }
        let (took, state) = (start.elapsed(), &self.state);
        let route = trace.route();
        state.metrics.request(route.map_or("", |route| route.as_str()), status.as_u16(), took);
        if state.log.is_on() {
            state.log.write(Event::Request(AnsweredRequest {
                method,
                route: route.cloned(),
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

impl hyper::service::Service<hyper::Request<Incoming>> for Service {
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

    use super::*;
    use crate::{Log, LogForm, Settings, TokenPlace, Tokens};

    #[test]
    fn a_panic_is_a_problem_without_details() {
        let folder = tempfile::tempdir().unwrap();
        let location = Location::File(folder.path().join("taximeter.db"));
        let ledger = Ledger::open(&location, Options { create: true, ..Options::default() }).unwrap();
        let tokens = Tokens::open(&TokenPlace::of(&location), ledger.id()).unwrap();
        let gate = Gate::open(&folder.path().join("gate"), ledger).unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let _inside = runtime.enter();
        let state = State::new(gate, tokens, Log::new(LogForm::Off), Settings::default()).unwrap();
        async fn panics() -> &'static str {
            panic!("row 17 has the value 42")
        }
        let router = Router::new().route("/panics", get(panics)).route("/fine", get(async || "fine"));
        let service = Service { router, state, peer: None, newcomer: None };
        let ask = |path: &str| {
            let request = Request::get(path).body(Body::empty()).unwrap();
            runtime.block_on(async {
                let response = service.answer(request).await;
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
