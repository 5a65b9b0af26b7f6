//! What is known about a request when it is answered, for what happens around a handler.

use std::net::IpAddr;
use std::sync::{Arc, OnceLock};

use axum::extract::{MatchedPath, Request};
use taximeter_service::{Role, TokenDocument};

use crate::listen::Newcomer;

/// Where a request leaves a note of whose it is and of its path: what is put into the request itself is gone when it is answered.
#[derive(Clone)]
pub(crate) struct Trace(Arc<Noted>);

#[derive(Default)]
struct Noted {
    /// The machine at the other end of the connection.
    peer: Option<IpAddr>,
    /// The connection, until it has shown a token.
    newcomer: Option<Arc<Newcomer>>,
    token: OnceLock<Arc<TokenDocument>>,
    route: OnceLock<MatchedPath>,
}

impl Trace {
    /// A request from a machine, over a connection.
    pub(crate) fn new(peer: Option<IpAddr>, newcomer: Option<Arc<Newcomer>>) -> Trace {
        Trace(Arc::new(Noted { peer, newcomer, ..Noted::default() }))
    }

    /// The machine at the other end of the connection.
    pub(crate) fn peer(&self) -> Option<IpAddr> {
        self.0.peer
    }

    /// Says whose it is. A request has one token.
    pub(crate) fn is_of(&self, token: &Arc<TokenDocument>) {
        self.0.token.get_or_init(|| Arc::clone(token));
        if let Some(newcomer) = &self.0.newcomer {
            newcomer.prove();
        }
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

/// Notes the template of the path.
pub(crate) async fn note_route(request: Request) -> Request {
    let extensions = request.extensions();
    if let (Some(trace), Some(route)) = (extensions.get::<Trace>(), extensions.get::<MatchedPath>()) {
        trace.0.route.get_or_init(|| route.clone());
    }
    request
}
