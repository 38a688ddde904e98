//! Who sent a request, and which way it came.

use crate::prelude::*;

/// Who a client is known to be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    /// The name.
    pub user: String,
    /// How it was proved, for instance `api_key`.
    pub auth_type: &'static str,
}

/// Where a message came from.
#[derive(Debug, Clone, Default)]
pub struct Caller {
    /// The transport; none is stdio, or a pipe in memory.
    pub kind: Option<Kind>,
    /// The address at the other end, over the network.
    pub remote: Option<SocketAddr>,
    /// The headers: of the HTTP request that brought the message, or of the one that became a WebSocket.
    pub headers: HeaderMap,
    /// Who it is, if the server asked for proof.
    pub identity: Option<Identity>,
}

impl Caller {
    /// The name of the transport, as it is written in files and on the command line.
    pub const fn transport(&self) -> &'static str {
        match self.kind {
            None => "stdio",
            Some(Kind::Http) => "http",
            Some(Kind::Sse) => "sse",
            #[cfg(feature = "ws")]
            Some(Kind::WebSocket) => "ws",
        }
    }

    /// A header as text.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).and_then(|value| value.to_str().ok())
    }
}

/// The refusal of a client that did not prove who it is: 401 over HTTP.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unauthorised {
    /// The value of `WWW-Authenticate`.
    pub challenge: String,
    /// What is wrong, in a line of text.
    pub reason: String,
}
