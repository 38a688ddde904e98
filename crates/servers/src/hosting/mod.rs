//! Servers inside this program: a [`Behaviour`] served over any transport, in both eras of the protocol.
//! The built-in servers are served this way, and whatever else fails on purpose.
//!
//! What a behaviour leaves alone is done the healthy way (`healthy.rs`). Nothing here knows the client's
//! code, so that neither can hide the other's mistakes.

use std::pin::pin;

use crate::prelude::*;

mod batch;
pub mod behaviour;
pub(crate) mod changes;
pub(crate) mod dispatch;
pub mod exchange;
pub mod healthy;
pub mod host;
mod http_answer;
mod http_headers;
pub mod http_limits;
mod http_sessions;
pub(crate) mod lean;
pub mod listener;
pub mod message;
pub mod names;
mod serve_http;
mod serve_sse;
pub mod serve_stdio;
#[cfg(feature = "ws")]
mod serve_websocket;
mod session;
pub(crate) mod tools;

pub use self::{
    behaviour::*, changes::Change, exchange::*, host::*, listener::*, message::*,
    names::PublicHost, session::*,
};
pub use async_trait::async_trait;
pub use mcprove_settings::sync::lock;

pub(crate) use self::{
    dispatch::{BUSY_RETRY_S, FRAME_BYTES_MAX, Peer, Started},
    http_answer::{BrokenOff, NoAnswer, Piece, Waiting},
    http_sessions::HttpSessions,
    serve_http::HttpServer,
    tools::{structured_result, text_result},
};

/// How many bytes each direction of an in-memory pipe holds.
const PIPE_BYTES: usize = 64 * 1024;

/// Serves on the stdin and stdout of this process until the client leaves or the behaviour ends it, and
/// returns the status with which the process is to exit. The caller then has to exit at once, without
/// waiting for the runtime: a read of stdin may still be under way.
pub async fn serve(host: Arc<Host>) -> u8 {
    if host.behaviour.is_lean() {
        return serve_stdio::run_lean(host).await;
    }
    serve_stdio::run(host, tokio::io::stdin(), tokio::io::stdout()).await
}

/// As [`serve`], and ends with status 0 when `stop` does: what is open then is closed first.
pub async fn serve_until(host: Arc<Host>, stop: impl Future<Output = ()>) -> u8 {
    let mut serving = pin!(serve(Arc::clone(&host)));
    tokio::select! {
        status = &mut serving => status,
        () = stop => {
            host.end(0);
            serving.await
        }
    }
}

/// Serves over the network, on the current runtime. The address may have port 0.
pub async fn listen(
    host: Arc<Host>,
    kind: ListenerKind,
    addr: SocketAddr,
) -> Result<Listening, ListenError> {
    Ok(Listening::start(host, kind, Bound::to(addr).await?))
}

/// Serves over a pipe in memory, on the current runtime, as over stdio: the server's stdout to read from
/// and its stdin to write to.
pub fn spawn_in_memory(host: Arc<Host>) -> (impl AsyncRead + use<>, impl AsyncWrite + use<>) {
    // Two pipes, each used in one direction: dropping a client's end then closes only that one.
    let (client_input, server_output) = tokio::io::duplex(PIPE_BYTES);
    let (server_input, client_output) = tokio::io::duplex(PIPE_BYTES);
    tokio::spawn(serve_stdio::run(host, server_input, server_output));
    (client_input, client_output)
}
