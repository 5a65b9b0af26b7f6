//! The peer and the token of a request, for the log and for the limits on connections.

use std::net::IpAddr;
use std::sync::{Arc, OnceLock};

use crate::TokenDocument;

/// Who sent a request. The token is set when it is found. Cheap to clone.
#[derive(Clone, Default)]
pub struct Trace(Arc<TraceState>);

#[derive(Default)]
struct TraceState {
    peer: Option<IpAddr>,
    token: OnceLock<Arc<TokenDocument>>,
    on_token: Option<Box<dyn Fn() + Send + Sync>>,
}

impl Trace {
    /// A request from a peer. `on_token` is called when it shows a valid token.
    pub fn new(peer: Option<IpAddr>, on_token: impl Fn() + Send + Sync + 'static) -> Trace {
        Trace(Arc::new(TraceState { peer, token: OnceLock::new(), on_token: Some(Box::new(on_token)) }))
    }

    /// The address at the other end of the connection.
    pub fn peer(&self) -> Option<IpAddr> {
        self.0.peer
    }

    /// The token, if a valid one was shown.
    pub fn token(&self) -> Option<&Arc<TokenDocument>> {
        self.0.token.get()
    }

    /// Sets the token; a request has at most one.
    pub(crate) fn identify(&self, token: &Arc<TokenDocument>) {
        self.0.token.get_or_init(|| Arc::clone(token));
        if let Some(on_token) = &self.0.on_token {
            on_token();
        }
    }
}
