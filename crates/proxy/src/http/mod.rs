//! A proxy between HTTP clients and a server at an address.
//!
//! Methods, paths, queries, statuses, bodies and end-to-end headers pass as they are, event streams as
//! they come; only `Host` is the server's own. Every path leads to the same path of the server, so
//! that what lies beside the endpoint (`/.well-known`) is found too. A client that leaves ends the
//! request to the server, and the other way round.
//!
//! Calls that faults strike are answered as JSON, or as an event stream where the server answers with
//! one or the fault says more than one thing (`duplicate`, `noise`, `progress_forever`).

mod body;
mod events;
mod exchange;
mod faulted;
mod hub;
mod prelude;
mod tap;
mod upstream;

#[cfg(test)]
mod tests;

use std::net::SocketAddr;

use hyper::service::service_fn;
use mcprove_servers::hosting::http_limits::CONNECTIONS_MAX;
use mcprove_servers::hosting::{PublicHost, names};
use mcprove_settings::message::assignment;
use mcprove_settings::secret::redact_urls;
use mcprove_trace::guarded::{Guarded, UNREAD_TIME_MAX};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

use self::prelude::*;

/// The most headers of a request or a response. Room for all of them is made each time.
const HEADERS_MAX: usize = 256;

/// Why a proxy cannot listen.
#[derive(Debug, thiserror::Error)]
pub enum ProxyListenError {
    /// The address cannot be listened on.
    #[error("cannot listen on {addr}: {source}")]
    Bind {
        /// The address.
        addr: SocketAddr,
        /// What the system says.
        source: std::io::Error,
    },
    /// The server's address is none.
    #[error("{0}")]
    Url(String),
    /// A header for the server is none.
    #[error("the header {0:?} holds what HTTP does not allow in a header")]
    Header(String),
}

impl UserError for ProxyListenError {
    fn hint(&self) -> Message {
        let hint = match self {
            Self::Bind { .. } => "try port 0 for any free port",
            Self::Url(_) => "use http:// or https://, such as http://127.0.0.1:8080/mcp",
            Self::Header(_) => {
                return sentence!(
                    "write {}, in visible characters",
                    assignment("headers", "\"Name: value\"")
                );
            }
        };
        hint.into()
    }
}

/// A proxy that listens, and is about to serve.
pub struct HttpProxy {
    listener: TcpListener,
    addr: SocketAddr,
    upstream: Arc<Upstream>,
    target: String,
    public_hosts: Arc<[PublicHost]>,
}

/// Listens on `addr` for the server at `url`, to which `headers` are added.
pub async fn listen(
    addr: SocketAddr,
    url: &str,
    headers: Vec<(String, String)>,
) -> Result<HttpProxy, ProxyListenError> {
    let headers = headers.into_iter().map(header);
    let headers = headers.collect::<Result<Vec<_>, _>>()?;
    let upstream =
        Upstream::new(url, headers).map_err(|failure| ProxyListenError::Url(failure.message))?;
    let bind = |source| ProxyListenError::Bind { addr, source };
    let listener = TcpListener::bind(addr).await.map_err(bind)?;
    let addr = listener.local_addr().map_err(bind)?;
    Ok(HttpProxy {
        listener,
        addr,
        upstream,
        target: redact_urls(url),
        public_hosts: Arc::default(),
    })
}

fn header((name, value): (String, String)) -> Result<(HeaderName, HeaderValue), ProxyListenError> {
    name.parse::<HeaderName>()
        .ok()
        .zip(HeaderValue::from_str(&value).ok())
        .ok_or(ProxyListenError::Header(name))
}

impl HttpProxy {
    /// Further names that the proxy answers to, besides loopback names and the address that it is reached at.
    pub fn public_hosts(mut self, hosts: Vec<PublicHost>) -> Self {
        self.public_hosts = hosts.into();
        self
    }

    /// Where a client connects instead of the server's own address.
    pub fn url(&self) -> String {
        format!("http://{}{}", self.addr, self.upstream.path())
    }

    /// What the proxy itself ran out of.
    pub fn limits(&self) -> &LimitWatch {
        &self.upstream.limits
    }

    /// Serves until `stop` resolves, or a fault ends it all.
    pub async fn run(self, settings: Settings, stop: impl Future<Output = ()>) -> Ended {
        let hub = Hub::new(Watch::new(settings), Arc::clone(&self.upstream));
        let was_stopped = {
            // Dropping the set closes every connection.
            let mut connections = JoinSet::new();
            tokio::select! {
                () = self.accept(&hub, &mut connections) => false,
                () = hub.crashed.wait() => false,
                () = stop => true,
            }
        };
        if !was_stopped {
            hub.watch.journal.ended_by_fault();
        }
        let faulted = &hub.watch.faulted;
        faulted.give_up(|_| true, RecordedRequest::cancel);
        let ended = Instant::now();
        // Those that were told to end do so now, so that the recording has their ends.
        faulted.settle(|_| Some(ended + GRACE)).await;
        hub.watch.end_open(RecordedRequest::cancel);
        Ended {
            summary: ProxySummary::new(&self.target, &hub.watch),
            status: if was_stopped { 0 } else { CRASHED },
            was_stopped,
        }
    }

    async fn accept(&self, hub: &Arc<Hub>, connections: &mut JoinSet<()>) {
        loop {
            tokio::select! {
                Some(_) = connections.join_next() => {}
                accepted = self.listener.accept(), if connections.len() < CONNECTIONS_MAX => {
                    match accepted {
                        Ok((stream, _)) => {
                            // Only slower without.
                            let _ = stream.set_nodelay(true);
                            let public_hosts = Arc::clone(&self.public_hosts);
                            connections.spawn(serve(Arc::clone(hub), stream, public_hosts));
                        }
                        Err(error) => self.limits().accept_failed(&error).await,
                    }
                }
            }
        }
    }
}

/// Serves one connection to its end.
async fn serve(hub: Arc<Hub>, stream: TcpStream, public_hosts: Arc<[PublicHost]>) {
    let Ok(local) = stream.local_addr() else {
        return;
    };
    let stream = Guarded::new(stream).unread_at_most(UNREAD_TIME_MAX);
    let connection = hub.connection();
    let service = service_fn(move |mut request: Request<Incoming>| {
        let checked = names::check(
            (request.uri(), request.version(), request.headers()),
            local,
            &public_hosts,
        );
        if let Some(recording) = &hub.watch.settings.recording {
            for (name, value) in request.headers() {
                let value = String::from_utf8_lossy(value.as_bytes());
                recording.header(name.as_str(), &value);
            }
        }
        request.extensions_mut().insert(connection.clone());
        Arc::clone(&hub).handle(request, checked)
    });
    let connection = http_limits::builder()
        .preserve_header_case(true)
        .auto_date_header(false)
        .max_headers(HEADERS_MAX)
        .serve_connection(TokioIo::new(stream), service);
    // A peer that breaks off is no failure of ours.
    let _ = connection.await;
}
