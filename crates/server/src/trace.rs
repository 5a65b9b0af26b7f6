//! What is known about a request when it is answered, for what happens around a handler.

use std::net::IpAddr;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll};

use axum::extract::{MatchedPath, Request};
use taximeter_api::{Role, TokenDocument};

/// Where a request leaves a note of whose it is and of its path: what is put into the request itself is gone when it is answered.
#[derive(Clone)]
pub(crate) struct Trace(Arc<Noted>);

#[derive(Default)]
struct Noted {
    /// The machine at the other end of the connection.
    peer: Option<IpAddr>,
    token: OnceLock<Arc<TokenDocument>>,
    route: OnceLock<MatchedPath>,
}

impl Trace {
    /// A request from there.
    pub(crate) fn from(peer: Option<IpAddr>) -> Trace {
        Trace(Arc::new(Noted { peer, ..Noted::default() }))
    }

    /// The machine at the other end of the connection.
    pub(crate) fn peer(&self) -> Option<IpAddr> {
        self.0.peer
    }

    /// Says whose it is. A request has one token.
    pub(crate) fn is_of(&self, token: &Arc<TokenDocument>) {
        self.0.token.get_or_init(|| Arc::clone(token));
    }

    /// The token, if there was a valid one.
    pub(crate) fn token(&self) -> Option<&Arc<TokenDocument>> {
        self.0.token.get()
    }

    /// Whether it is an owner's.
    pub(crate) fn is_owner(&self) -> bool {
        self.token().is_some_and(|token| token.role == Role::Owner)
    }

    /// The template of its path, if it is one of ours.
    pub(crate) fn route(&self) -> Option<&MatchedPath> {
        self.0.route.get()
    }
}

/// A handler that notes the template of the path first.
#[derive(Clone)]
pub(crate) struct Noting<S>(pub(crate) S);

impl<S: tower::Service<Request>> tower::Service<Request> for Noting<S> {
    type Response = S::Response;
    type Error = S::Error;
    type Future = S::Future;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.0.poll_ready(context)
    }

    fn call(&mut self, request: Request) -> S::Future {
        let extensions = request.extensions();
        if let (Some(trace), Some(route)) = (extensions.get::<Trace>(), extensions.get::<MatchedPath>()) {
            trace.0.route.get_or_init(|| route.clone());
        }
        self.0.call(request)
    }
}
