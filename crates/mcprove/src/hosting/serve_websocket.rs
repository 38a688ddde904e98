//! WebSocket: one message per text frame, subprotocol `mcp`.

use std::net::SocketAddr;
use std::sync::Arc;

use futures_util::{Sink, SinkExt, StreamExt};
use tokio::net::TcpStream;
use tokio::sync::mpsc;
use tokio_tungstenite::tungstenite::handshake::server::{ErrorResponse, Request, Response};
use tokio_tungstenite::tungstenite::http::{HeaderValue, StatusCode};
use tokio_tungstenite::tungstenite::protocol::frame::Frame;
use tokio_tungstenite::tungstenite::protocol::frame::coding::{Data, OpCode};
use tokio_tungstenite::tungstenite::{Error, Message};

use super::caller::{Caller, Way};
use super::changes;
use super::dispatch::{self, Peer};
use super::exchange::{Ending, OUTPUT_QUEUE_MAX, Outgoing};
use super::host::Host;
use super::http_answer;
use super::session::Session;
use super::watch::TurnedAway;

const PROTOCOL: &str = "sec-websocket-protocol";

/// Serves one connection to its end.
pub(super) async fn serve(host: Arc<Host>, stream: TcpStream, remote: SocketAddr) {
    host.ready().await;
    let mut caller = None;
    #[expect(clippy::result_large_err, reason = "the signature is the library's")]
    let mut agree_with = |request: &Request, response| {
        caller = Some(admit(&host, request, remote)?);
        agree(request, response)
    };
    let agreed = tokio_tungstenite::accept_hdr_async(stream, &mut agree_with);
    let (Ok(socket), Some(caller)) = (agreed.await, caller) else {
        return;
    };
    host.behaviour.opened();
    let (sink, mut frames) = socket.split();
    let session = Session::new(Some(host.unique_name()), caller.identity.clone());
    let session = Arc::new(session);
    let (output, answers) = mpsc::channel(OUTPUT_QUEUE_MAX);
    tokio::spawn(changes::forward(
        Arc::clone(&host),
        Arc::clone(&session),
        output.clone(),
    ));
    let peer = Peer {
        host,
        session,
        caller: Arc::new(caller),
    };
    let _closing = Closing(&peer);
    let read = async {
        while let Some(Ok(frame)) = frames.next().await {
            match frame {
                Message::Text(text) => {
                    dispatch::receive(&peer, text.as_bytes(), &output).await;
                }
                Message::Close(_) => break,
                // Binary frames are no messages; pings are answered by the library.
                _ => {}
            }
        }
    };
    tokio::select! {
        () = read => {}
        () = write(sink, answers) => {}
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
fn agree(request: &Request, mut response: Response) -> Result<Response, ErrorResponse> {
    let refuse = |status, text: &str| {
        let mut refused = ErrorResponse::new(Some(text.to_owned()));
        *refused.status_mut() = status;
        Err(refused)
    };
    if http_answer::check_origin(request.headers()).is_err() {
        return refuse(StatusCode::FORBIDDEN, "foreign origin\n");
    }
    let offers_mcp = request
        .headers()
        .get_all(PROTOCOL)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .any(|protocol| protocol.trim() == "mcp");
    if !offers_mcp {
        return refuse(StatusCode::BAD_REQUEST, "the subprotocol is mcp\n");
    }
    let headers = response.headers_mut();
    headers.insert(PROTOCOL, HeaderValue::from_static("mcp"));
    Ok(response)
}

async fn write(
    mut sink: impl Sink<Message, Error = Error> + Unpin,
    mut answers: mpsc::Receiver<Outgoing>,
) {
    while let Some(outgoing) = answers.recv().await {
        let is_cut = matches!(outgoing.ending, Ending::Cut | Ending::Short);
        if is_cut && outgoing.bytes.is_empty() {
            break;
        }
        // Made by hand, because a text frame of the library must be UTF-8.
        let code = OpCode::Data(Data::Text);
        let frame = Frame::message(outgoing.bytes, code, !is_cut && outgoing.ending.is_whole());
        let is_sent = sink.send(Message::Frame(frame)).await.is_ok();
        if !is_sent || is_cut {
            break;
        }
    }
}
