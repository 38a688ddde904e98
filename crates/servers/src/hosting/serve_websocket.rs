//! WebSocket: one message per text frame, subprotocol `mcp`.

use std::net::SocketAddr;
use std::sync::Arc;

use futures_util::{Sink, SinkExt, Stream, StreamExt};
use mcprove_trace::guarded::{Pongs, Received};
use tokio_tungstenite::accept_hdr_async_with_config;
use tokio_tungstenite::tungstenite::handshake::server::{ErrorResponse, Request, Response};
use tokio_tungstenite::tungstenite::http::{HeaderName, HeaderValue, StatusCode};
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;
use tokio_tungstenite::tungstenite::protocol::frame::Frame;
use tokio_tungstenite::tungstenite::protocol::frame::coding::{Data, OpCode};
use tokio_tungstenite::tungstenite::{Error, Message};

use super::caller::{Caller, Way};
use super::dispatch::{self, FRAME_BYTES_MAX, Peer};
use super::exchange::{Answers, Ending, Output};
use super::host::Host;
use super::http_answer;
use super::http_limits::{BODY_PAUSE_MAX, HEAD_BYTES_MAX, HEAD_TIME_MAX};
use super::listener::{self, Ends};
use super::names;
use super::watch::TurnedAway;

/// How much is read at once.
const READ_BYTES: usize = 16 * 1024;
const PROTOCOL: &str = "sec-websocket-protocol";

/// Serves one connection to its end.
pub async fn serve(host: Arc<Host>, stream: listener::Stream, ends: Ends) {
    host.ready().await;
    let mut caller = None;
    #[expect(clippy::result_large_err, reason = "the signature is the library's")]
    let mut agree_with = |request: &Request, response| {
        caller = Some(admit(&host, request, ends.remote)?);
        agree(&host, request, response, ends.local)
    };
    let (stream, received) = stream.within(&host.requests);
    let pongs = stream.pongs();
    let config = WebSocketConfig::default()
        .max_message_size(Some(FRAME_BYTES_MAX))
        .max_frame_size(Some(FRAME_BYTES_MAX))
        .read_buffer_size(READ_BYTES);
    let agreed = accept_hdr_async_with_config(stream, &mut agree_with, Some(config));
    let agreed = tokio::time::timeout(HEAD_TIME_MAX, agreed).await;
    let (Ok(Ok(socket)), Some(caller)) = (agreed, caller) else {
        return;
    };
    received.clear();
    host.behaviour.opened();
    let (sink, frames) = socket.split();
    let (peer, output, answers) = Peer::connect(&host, Arc::new(caller));
    let _closing = Closing(&peer);
    tokio::select! {
        () = read(&peer, frames, &output, (&pongs, &received)) => {}
        () = write(sink, answers) => {}
    }
}

/// Serves what arrives until the connection ends, or the client goes beyond what it may take.
async fn read(
    peer: &Peer,
    mut frames: impl Stream<Item = Result<Message, Error>> + Unpin,
    output: &Output,
    (pongs, received): (&Pongs, &Received),
) {
    let mut unfinished = 0;
    loop {
        let Ok(frame) = tokio::time::timeout(BODY_PAUSE_MAX, frames.next()).await else {
            let before = std::mem::replace(&mut unfinished, received.bytes());
            if unfinished > 0 && unfinished == before {
                // It fell silent in the middle of a message.
                return;
            }
            continue;
        };
        unfinished = 0;
        match frame {
            Some(Ok(Message::Text(text))) => {
                received.clear();
                dispatch::receive(peer, text.as_bytes(), output).await;
            }
            Some(Ok(Message::Ping(ping))) => {
                received.pass(&ping);
                // It is answered by the library. A client that does not read the answers is given up.
                if !pongs.owe(&ping) {
                    return;
                }
            }
            Some(Ok(Message::Pong(pong))) => received.pass(&pong),
            Some(Ok(Message::Close(_)) | Err(_)) | None => return,
            // Binary frames are no messages.
            Some(Ok(_)) => received.clear(),
        }
    }
}

/// Closes a session when its connection is gone, also when that is because the server ends.
struct Closing<'p>(&'p Peer);

impl Drop for Closing<'_> {
    fn drop(&mut self) {
        let Peer { host, session, .. } = self.0;
        host.close(session, host.why_closed());
    }
}

/// Finds out who is asking, before anything else.
#[expect(clippy::result_large_err, reason = "the signature is the library's")]
fn admit(host: &Host, request: &Request, remote: SocketAddr) -> Result<Caller, ErrorResponse> {
    let behaviour = &*host.behaviour;
    http_answer::authorise(behaviour, Way::WebSocket, remote, request.headers()).map_err(
        |(caller, unauthorised)| {
            let turned_away = TurnedAway {
                status: StatusCode::UNAUTHORIZED.as_u16(),
                reason: &unauthorised.reason,
                request: None,
                refusal: None,
            };
            behaviour.turned_away(&caller, turned_away);
            let mut refused = ErrorResponse::new(Some(format!("{}\n", unauthorised.reason)));
            *refused.status_mut() = StatusCode::UNAUTHORIZED;
            if let Ok(challenge) = HeaderValue::from_str(&unauthorised.challenge) {
                refused.headers_mut().insert("www-authenticate", challenge);
            }
            refused
        },
    )
}

#[expect(clippy::result_large_err, reason = "the signature is the library's")]
fn agree(
    host: &Host,
    request: &Request,
    mut response: Response,
    local: SocketAddr,
) -> Result<Response, ErrorResponse> {
    let refuse = |status, text: String| {
        let mut refused = ErrorResponse::new(Some(text));
        *refused.status_mut() = status;
        Err(refused)
    };
    let headers = request.headers();
    let length = |(name, value): (&HeaderName, &HeaderValue)| name.as_str().len() + value.len();
    if headers.iter().map(length).sum::<usize>() > HEAD_BYTES_MAX {
        let text = format!("headers of more than {HEAD_BYTES_MAX} bytes\n");
        return refuse(StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE, text);
    }
    let head = (request.uri(), request.version(), headers);
    if let Err((status, why)) = names::check(head, local, host.names()) {
        return refuse(status, why);
    }
    let offers_mcp = request
        .headers()
        .get_all(PROTOCOL)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .any(|protocol| protocol.trim() == "mcp");
    if !offers_mcp {
        let text = "the subprotocol is mcp\n".to_owned();
        return refuse(StatusCode::BAD_REQUEST, text);
    }
    let headers = response.headers_mut();
    headers.insert(PROTOCOL, HeaderValue::from_static("mcp"));
    Ok(response)
}

async fn write(mut sink: impl Sink<Message, Error = Error> + Unpin, mut answers: Answers) {
    while let Some(outgoing) = answers.recv().await {
        let is_cut = matches!(outgoing.ending, Ending::Cut | Ending::Short);
        if is_cut && outgoing.bytes.is_empty() {
            break;
        }
        // Made by hand, because a text frame of the library must be UTF-8.
        let code = OpCode::Data(Data::Text);
        // What it is charged stays charged until it is written: the library copies it.
        let _charged = outgoing.bytes.clone();
        let frame = Frame::message(outgoing.bytes, code, !is_cut && outgoing.ending.is_whole());
        let is_sent = sink.send(Message::Frame(frame)).await.is_ok();
        if !is_sent || is_cut {
            break;
        }
    }
}
