//! WebSocket: one message per text frame, subprotocol `mcp`.

use futures_util::{Sink, SinkExt};
use hyper::header::SEC_WEBSOCKET_PROTOCOL;
use mcprove_trace::guarded::{Pongs, Received};
use tokio_tungstenite::accept_hdr_async_with_config;
use tokio_tungstenite::tungstenite::{
    Error, Message,
    handshake::server::{ErrorResponse, Request, Response},
    protocol::WebSocketConfig,
    protocol::frame::Frame,
    protocol::frame::coding::{Data, OpCode},
};

use super::http_answer::listed;
use super::http_limits::{BODY_PAUSE_MAX, HEAD_BYTES_MAX, HEAD_TIME_MAX};
use super::serve_http::caller;
use crate::prelude::*;

/// How much is read at once.
const READ_BYTES: usize = 16 * 1024;

/// Serves one connection to its end.
pub async fn serve(host: Arc<Host>, stream: GuardedStream, ends: Ends) {
    host.ready().await;
    let mut caller = None;
    #[expect(clippy::result_large_err, reason = "the signature is the library's")]
    let mut agree_with = |request: &Request, response| {
        caller = Some(admit(&host, request, ends)?);
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
    let (peer, answers) = Peer::connect(&host, &Arc::new(caller));
    let _closing = Closing(&peer);
    tokio::select! {
        () = read(&peer, frames, &pongs, &received) => {}
        () = write(sink, answers) => {}
    }
}

/// Serves what arrives until the connection ends, or the client goes beyond what it may take.
async fn read(
    peer: &Peer,
    mut frames: impl Stream<Item = Result<Message, Error>> + Unpin,
    pongs: &Pongs,
    received: &Received,
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
                dispatch::receive(peer, text.as_bytes()).await;
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
        host.close(session);
    }
}

fn refuse(status: StatusCode, text: String) -> ErrorResponse {
    let mut refused = ErrorResponse::new(Some(text));
    *refused.status_mut() = status;
    refused
}

/// Finds out who is asking, before anything else.
#[expect(clippy::result_large_err, reason = "the signature is the library's")]
fn admit(host: &Host, request: &Request, ends: Ends) -> Result<Caller, ErrorResponse> {
    let (caller, unauthorised) = caller(host, ListenerKind::WebSocket, ends, request.headers());
    let Some(Unauthorised { challenge, reason }) = unauthorised else {
        return Ok(caller);
    };
    let status = StatusCode::UNAUTHORIZED;
    let turned_away = TurnedAway {
        status: status.as_u16(),
        reason: &reason,
        request: None,
        refusal: None,
    };
    host.behaviour.turned_away(&caller, turned_away);
    let mut refused = refuse(status, format!("{reason}\n"));
    if let Ok(challenge) = HeaderValue::from_str(&challenge) {
        refused.headers_mut().insert("www-authenticate", challenge);
    }
    Err(refused)
}

#[expect(clippy::result_large_err, reason = "the signature is the library's")]
fn agree(
    host: &Host,
    request: &Request,
    mut response: Response,
    local: SocketAddr,
) -> Result<Response, ErrorResponse> {
    let headers = request.headers();
    let length = |(name, value): (&HeaderName, &HeaderValue)| name.as_str().len() + value.len();
    if headers.iter().map(length).sum::<usize>() > HEAD_BYTES_MAX {
        let text = format!("headers of more than {HEAD_BYTES_MAX} bytes\n");
        return Err(refuse(StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE, text));
    }
    let head = (request.uri(), request.version(), headers);
    names::check(head, local, host.names()).map_err(|(status, why)| refuse(status, why))?;
    if !listed(headers, SEC_WEBSOCKET_PROTOCOL).any(|protocol| protocol.trim() == "mcp") {
        let text = "the subprotocol is mcp\n".to_owned();
        return Err(refuse(StatusCode::BAD_REQUEST, text));
    }
    response
        .headers_mut()
        .insert(SEC_WEBSOCKET_PROTOCOL, HeaderValue::from_static("mcp"));
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
