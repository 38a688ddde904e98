//! Listening on the network: one accept loop for all transports, and the handle on it.

use mcprove_settings::message::Message;
use mcprove_settings::own_limits::LimitWatch;
use mcprove_trace::guarded::{Guarded, UNREAD_TIME_MAX};
use tokio::net::TcpListener;
use tokio::task::{JoinHandle, JoinSet};

use crate::prelude::*;

#[cfg(feature = "ws")]
use super::serve_websocket;

/// How long what was said before the end may take to reach the client.
const LAST_WORDS: Duration = Duration::from_millis(100);

/// A transport over the network.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ListenerKind {
    /// Streamable HTTP, at `/mcp`.
    Http,
    /// HTTP+SSE of 2024-11-05, at `/sse`.
    Sse,
    /// One message per text frame, subprotocol `mcp`.
    #[cfg(feature = "ws")]
    WebSocket,
}

/// Why an address cannot be listened on.
#[derive(Debug, thiserror::Error)]
#[error("cannot listen on {addr}: {source}")]
pub struct ListenError {
    /// The address.
    pub addr: SocketAddr,
    /// What the system says.
    pub source: std::io::Error,
}

impl UserError for ListenError {
    fn hint(&self) -> Message {
        "check that the address is one of this machine and that its port is free; port 0 takes any"
            .into()
    }
}

/// An address that is ours, though nobody is served on it yet.
#[derive(Debug)]
pub struct Bound {
    /// The address, with the port that was chosen.
    pub addr: SocketAddr,
    listener: TcpListener,
}

impl Bound {
    /// Takes this address, or any free port of it if the port is 0.
    pub async fn to(addr: SocketAddr) -> Result<Self, ListenError> {
        let cannot = |source| ListenError { addr, source };
        let listener = TcpListener::bind(addr).await.map_err(cannot)?;
        let addr = listener.local_addr().map_err(cannot)?;
        Ok(Self { addr, listener })
    }
}

/// A server that listens, until it is shut down or dropped.
#[derive(Debug)]
pub struct Listening {
    /// The address, with the port that was chosen.
    pub addr: SocketAddr,
    kind: ListenerKind,
    host: Arc<Host>,
    task: JoinHandle<()>,
    limits: LimitWatch,
}

impl Listening {
    pub fn start(host: Arc<Host>, kind: ListenerKind, bound: Bound) -> Self {
        let Bound { addr, listener } = bound;
        let limits = LimitWatch::default();
        let accepting = accept(Arc::clone(&host), listener, kind, limits.clone());
        let task = tokio::spawn(accepting);
        Self {
            addr,
            kind,
            host,
            task,
            limits,
        }
    }

    /// What this process ran out of while it accepted connections; they wait meanwhile.
    pub fn limits(&self) -> &LimitWatch {
        &self.limits
    }

    /// Where a client connects.
    pub fn url(&self) -> String {
        match self.kind {
            ListenerKind::Http => format!("http://{}/mcp", self.addr),
            ListenerKind::Sse => format!("http://{}/sse", self.addr),
            #[cfg(feature = "ws")]
            ListenerKind::WebSocket => format!("ws://{}/", self.addr),
        }
    }

    /// Waits until the mode ends the server, and says with which exit status.
    pub async fn ended(&self) -> u8 {
        let status = self.host.ended().await;
        tokio::time::sleep(LAST_WORDS).await;
        status
    }

    /// Stops listening and closes all connections.
    pub async fn shutdown(mut self) {
        self.host.end(0);
        // It can only fail by panicking, which has been reported.
        let _ = (&mut self.task).await;
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// The addresses of a connection.
#[derive(Debug, Clone, Copy)]
pub struct Ends {
    pub remote: SocketAddr,
    pub local: SocketAddr,
}

/// A connection whose client has to read.
#[cfg(feature = "ws")]
pub type GuardedStream = Guarded<tokio::net::TcpStream>;

async fn accept(host: Arc<Host>, listener: TcpListener, kind: ListenerKind, limits: LimitWatch) {
    let server = HttpServer::new(Arc::clone(&host), kind);
    // Dropping the set closes every connection.
    let mut connections = JoinSet::new();
    let work = async {
        host.behaviour.start(&host).await;
        loop {
            tokio::select! {
                Some(_) = connections.join_next() => {}
                accepted = listener.accept(), if connections.len() < http_limits::CONNECTIONS_MAX => {
                    match accepted {
                        Ok((stream, remote)) => {
                            // Only slower without.
                            let _ = stream.set_nodelay(true);
                            let Ok(local) = stream.local_addr() else { continue };
                            let stream = Guarded::new(stream).unread_at_most(UNREAD_TIME_MAX);
                            let ends = Ends { remote, local };
                            match kind {
                                #[cfg(feature = "ws")]
                                ListenerKind::WebSocket => {
                                    let host = Arc::clone(&host);
                                    connections.spawn(serve_websocket::serve(host, stream, ends))
                                }
                                _ => connections.spawn(Arc::clone(&server).serve(stream, ends)),
                            };
                        }
                        Err(error) => limits.accept_failed(&error).await,
                    }
                }
            }
        }
    };
    tokio::select! {
        _ = host.ended() => {}
        () = work => {}
    }
    drop(listener);
    tokio::time::sleep(LAST_WORDS).await;
    connections.shutdown().await;
    // With it go the sessions that no connection belongs to.
    drop(server);
    host.settled().await;
}
