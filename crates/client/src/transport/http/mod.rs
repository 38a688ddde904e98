//! Streamable HTTP: every message is a POST, answered in its response.
//!
//! [`HttpChannel`] knows the headers, the session and the streams of each revision. Messages
//! come from the session above; answers go into its inbox. The parts, from the outside in:
//! `pool` decides who sends when, `exchange` does one POST and reads refusals, `stream` reads events and resumes,
//! `headers` holds what every request carries; `connection` and `address`
//! are the way to the server, on which `head` tells messages apart.

use self::prelude::*;
pub use self::prelude::{ContentType, content_type};
use super::tls::Root;

pub mod address;
pub(super) mod connection;
pub(super) mod exchange;
pub(super) mod head;
pub(super) mod headers;
pub(super) mod pool;
pub mod post;
pub(super) mod stream;
#[cfg(test)]
mod tests;

/// What the transports over TCP use of each other.
pub(super) mod prelude {
    pub use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, Uri};

    pub use super::address::{Address, Wire};
    pub use super::connection::{Connection, ContentType, KeepLimits, content_type, read_body};
    pub use super::head::{Head, Request};
    pub use super::headers::Headers;
    #[cfg(feature = "ws")]
    pub use super::headers::parse_header;
    pub use super::pool::{Answers, Job, Pool};
    pub use crate::prelude::*;
}

/// How long a connection may take to open, unless set otherwise.
pub const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// How many requests run at the same time, unless set otherwise.
pub const MAX_CONNECTIONS: usize = 1024;
/// How long the session waits for the listening stream to be accepted or refused.
const LISTEN_WAIT: Duration = Duration::from_secs(1);
/// How long the server may take to end the session.
const DELETE_TIMEOUT: Duration = Duration::from_secs(2);

/// What the transports over TCP can be told: HTTP, HTTP+SSE and WebSocket.
#[derive(Debug, Clone)]
pub struct HttpOptions {
    /// The largest message accepted.
    pub max_frame: usize,
    /// How many requests run at the same time, each on a connection of its own. A few more
    /// connections may be open for replies, notifications and the listening stream.
    pub max_connections: usize,
    /// How long a connection may take to open, TLS included.
    pub connect_timeout: Duration,
    /// Certificates trusted besides the system's.
    pub extra_roots: Vec<Root>,
}

impl Default for HttpOptions {
    fn default() -> Self {
        Self {
            max_frame: CALL_LIMITS.max_frame,
            max_connections: MAX_CONNECTIONS,
            connect_timeout: CONNECT_TIMEOUT,
            extra_roots: Vec::new(),
        }
    }
}

/// A channel to a streamable HTTP endpoint, or to a server of revision 2024-11-05 ([`sse`](super::sse)).
pub struct HttpChannel {
    pool: Arc<Pool>,
    listener: Mutex<Option<AbortHandle>>,
}

impl HttpChannel {
    /// Prepares a channel to `url`. Nothing is sent yet: connections open on demand.
    ///
    /// Must be called within a tokio runtime, which then runs the channel's tasks.
    pub fn connect(
        url: &str,
        headers: &BTreeMap<String, String>,
        options: HttpOptions,
        inbox: Arc<dyn Inbox>,
    ) -> Result<Arc<Self>, Failure> {
        let address = Address::parse(url, ("http", "https"), &options)?;
        let headers = Headers::new(&address.host_header, headers)?;
        let pool = Pool::new(address, options, Answers::InResponse, headers, inbox);
        Ok(Self::new(pool, None))
    }

    /// A channel whose stream `listener` reads, if that is open already.
    pub fn new(pool: Arc<Pool>, listener: Option<AbortHandle>) -> Arc<Self> {
        Arc::new(Self {
            pool,
            listener: Mutex::new(listener),
        })
    }

    fn is_streamable(&self) -> bool {
        self.pool.answers == Answers::InResponse
    }

    /// Closes the stream that belongs to no request.
    fn stop_listening(&self) {
        self.pool.set_listening(false);
        if let Some(listener) = lock(&self.listener).take() {
            listener.abort();
        }
    }

    async fn delete_session(&self) {
        let headers = {
            let headers = self.pool.headers();
            if !headers.has_session() {
                return;
            }
            headers.get()
        };
        let request = Request::new(&Method::DELETE, &self.pool.address.path, &headers);
        // Whether the server takes it or not (405), this was only a courtesy.
        let response = exchange::request(&self.pool, None, &request);
        let _ = tokio::time::timeout(DELETE_TIMEOUT, response).await;
    }
}

impl Channel for HttpChannel {
    fn name(&self) -> &'static str {
        if self.is_streamable() { "http" } else { "sse" }
    }

    fn send(&self, message: Outgoing<'_>) -> Result<(), SendError> {
        self.pool.submit(&message)
    }

    fn room(&self) -> BoxFuture<'_, ()> {
        Box::pin(self.pool.wait_for_room())
    }

    fn abandon(&self, id: u64) -> bool {
        self.is_streamable() && self.pool.abandon(id)
    }

    fn set_revision(&self, revision: Option<Revision>) {
        if !self.is_streamable() {
            return;
        }
        self.pool.headers().set_revision(revision);
        if revision.map(Revision::era) != Some(Era::Handshake) {
            self.stop_listening();
        }
    }

    fn listen(&self) -> BoxFuture<'_, ()> {
        if self.pool.headers().era() != Some(Era::Handshake) {
            return Box::pin(std::future::ready(()));
        }
        let (tried, first_try) = oneshot::channel();
        self.stop_listening();
        self.pool.set_listening(true);
        let task = self
            .pool
            .runtime()
            .spawn(stream::listen(Arc::clone(&self.pool), tried));
        *lock(&self.listener) = Some(task.abort_handle());
        Box::pin(async move {
            // A server that neither accepts nor refuses does not hold up the session.
            let _ = tokio::time::timeout(LISTEN_WAIT, first_try).await;
        })
    }

    fn sever(&self) {
        self.stop_listening();
        self.pool.close();
    }

    fn close(&self) -> BoxFuture<'_, Closing> {
        Box::pin(async {
            self.stop_listening();
            if self.pool.close() && self.is_streamable() {
                self.delete_session().await;
            }
            Closing::default()
        })
    }
}

impl Drop for HttpChannel {
    fn drop(&mut self) {
        self.sever();
    }
}
