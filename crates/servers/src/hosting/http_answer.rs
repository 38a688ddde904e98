//! HTTP responses, shared by both HTTP transports.

#![expect(
    clippy::result_large_err,
    reason = "a refusal is a whole response, made once per request"
)]

use std::net::SocketAddr;

use bytes::Bytes;
use futures_util::stream;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full, StreamBody};
use hyper::body::{Frame, Incoming};
use hyper::header::{
    ACCEPT, CACHE_CONTROL, CONNECTION, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue,
    RETRY_AFTER, WWW_AUTHENTICATE,
};
use hyper::{Response, StatusCode};
use mcprove_trace::budget::{Budget, Charge};
use mcprove_trace::protocol::Era;
use serde_json::Value;

use super::behaviour::Behaviour;
use super::caller::{Caller, Unauthorised, Way};
use super::dispatch::{BUSY_RETRY_S, FRAME_BYTES_MAX, too_busy, weight};
use super::exchange::{Away, Ending, Outgoing, kept_with};
use super::http_limits::{self, Read};
use super::message::{METHOD_NOT_FOUND, Message, Refusal};
use super::watch::TurnedAway;

/// The only thing that goes wrong with a body is that a mode breaks it off.
#[derive(Debug, thiserror::Error)]
#[error("broken off")]
pub struct BrokenOff;

pub type Body = UnsyncBoxBody<Bytes, BrokenOff>;
pub type Answer = Response<Body>;

/// Why a request was refused, kept with the refusal for whoever watches.
#[derive(Clone)]
struct Reason(String);

/// The error that a request was answered with, kept with it for whoever watches.
#[derive(Clone)]
struct Said(Refusal);

/// The message that was refused, kept with the refusal for whoever watches.
#[derive(Clone)]
struct Refused(Value);

/// A part of a body.
pub struct Piece {
    bytes: Bytes,
    /// Whether the connection is closed after it, in the middle of the body.
    is_cut: bool,
}

impl Piece {
    /// One that the body may end with.
    pub const fn whole(bytes: Bytes) -> Self {
        Self {
            bytes,
            is_cut: false,
        }
    }
}

fn answer(status: StatusCode, content_type: &'static str, body: Body) -> Answer {
    let mut answer = Response::new(body);
    *answer.status_mut() = status;
    with_header(answer, CONTENT_TYPE, HeaderValue::from_static(content_type))
}

pub fn with_header(mut answer: Answer, name: HeaderName, value: HeaderValue) -> Answer {
    answer.headers_mut().insert(name, value);
    answer
}

/// An answer with something for whoever watches, or writes it.
fn with<T: Clone + Send + Sync + 'static>(mut answer: Answer, kept: T) -> Answer {
    answer.extensions_mut().insert(kept);
    answer
}

/// A status with a line of text.
pub fn plain(status: StatusCode, text: impl AsRef<str> + Into<Bytes>) -> Answer {
    let reason = Reason(text.as_ref().trim_end().to_owned());
    with(
        answer(status, "text/plain", whole_body(text.into())),
        reason,
    )
}

/// A refusal that remembers what was refused.
pub fn of_message(answer: Answer, message: Value) -> Answer {
    with(answer, Refused(message))
}

/// Tells the server of a request that was not let in.
pub fn tell(behaviour: &dyn Behaviour, caller: &Caller, answer: &Answer) {
    let extensions = answer.extensions();
    let refused = extensions.get::<Refused>();
    let message = refused.map(|Refused(message)| Message::from_value(message.clone()));
    let reason = extensions.get::<Reason>();
    let refused = TurnedAway {
        status: answer.status().as_u16(),
        reason: reason.map_or("", |Reason(reason)| reason.as_str()),
        request: match &message {
            Some(Message::Request(request)) => Some(request),
            _ => None,
        },
        refusal: extensions.get::<Said>().map(|Said(refusal)| refusal),
    };
    behaviour.turned_away(caller, refused);
}

/// Finds out who is asking. What is refused comes back with who was refused.
pub fn authorise(
    behaviour: &dyn Behaviour,
    way: Way,
    remote: SocketAddr,
    headers: &HeaderMap,
) -> Result<Caller, (Caller, Unauthorised)> {
    let mut caller = Caller {
        way,
        remote: Some(remote),
        headers: headers.clone(),
        identity: None,
    };
    match behaviour.authorise(headers) {
        Ok(identity) => {
            caller.identity = identity;
            Ok(caller)
        }
        Err(refused) => Err((caller, refused)),
    }
}

/// 401, with what would be accepted.
pub fn unauthorised(refused: &Unauthorised) -> Answer {
    let answer = plain(StatusCode::UNAUTHORIZED, format!("{}\n", refused.reason));
    match HeaderValue::from_str(&refused.challenge) {
        Ok(challenge) => with_header(answer, WWW_AUTHENTICATE, challenge),
        Err(_) => answer,
    }
}

/// An answer after which the connection is closed, for what the client still says is not read.
fn closing(answer: Answer) -> Answer {
    with_header(answer, CONNECTION, HeaderValue::from_static("close"))
}

/// 503, for a body for which there is no room now.
fn busy() -> Answer {
    let answer = refused(StatusCode::SERVICE_UNAVAILABLE, &Value::Null, &too_busy());
    closing(with_header(answer, RETRY_AFTER, BUSY_RETRY_S.into()))
}

/// 202, for what wants no answer.
pub fn accepted() -> Answer {
    plain(StatusCode::ACCEPTED, "")
}

/// One message, or bytes that pass for one.
pub fn json(status: StatusCode, bytes: Bytes) -> Answer {
    answer(status, "application/json", whole_body(bytes))
}

/// The beginning of a message, after which the connection is closed.
pub fn json_broken_off(bytes: Bytes) -> Answer {
    let body = body(Some(bytes), |bytes| async {
        let (bytes, is_cut) = (bytes?, true);
        Some((Piece { bytes, is_cut }, None))
    });
    answer(StatusCode::OK, "application/json", body)
}

/// Marks an answer that is none: the connection is closed instead.
#[derive(Debug, Clone, Copy)]
struct HungUp;

/// The end of the connection, without an answer.
pub fn hang_up() -> Answer {
    with(plain(StatusCode::INTERNAL_SERVER_ERROR, ""), HungUp)
}

/// What is given to whoever writes answers: an error closes the connection.
pub fn or_hung_up(answer: Answer) -> Result<Answer, BrokenOff> {
    match answer.extensions().get::<HungUp>() {
        Some(HungUp) => Err(BrokenOff),
        None => Ok(answer),
    }
}

/// A status in place of an answer.
pub fn away(away: Away) -> Answer {
    let status = StatusCode::from_u16(away.status).unwrap_or(StatusCode::SERVICE_UNAVAILABLE);
    let answer = plain(status, "turned away; see Retry-After\n");
    with_header(answer, RETRY_AFTER, away.retry_after_s.into())
}

/// The status of an answer: that of a success, unless the server refused to look at the request.
pub fn status(outgoing: &Outgoing, era: Era) -> StatusCode {
    match (outgoing.refused, era) {
        (Some(METHOD_NOT_FOUND), Era::Stateless) => StatusCode::NOT_FOUND,
        (Some(METHOD_NOT_FOUND), Era::Handshake) | (None, _) => StatusCode::OK,
        (Some(_), _) => StatusCode::BAD_REQUEST,
    }
}

/// A JSON-RPC error.
pub fn refused(status: StatusCode, id: &Value, refusal: &Refusal) -> Answer {
    let answer = json(status, refusal.response(id).to_string().into());
    let reason = Reason(refusal.message.clone());
    with(with(answer, Said(refusal.clone())), reason)
}

/// A stream of events that `next` makes, until it has no more.
pub fn events<State, Next, Future>(state: State, next: Next) -> Answer
where
    State: Send + 'static,
    Next: Fn(State) -> Future + Send + 'static,
    Future: std::future::Future<Output = Option<(Piece, State)>> + Send + 'static,
{
    let answer = answer(StatusCode::OK, "text/event-stream", body(state, next));
    let answer = with_header(answer, CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    let unbuffered = HeaderName::from_static("x-accel-buffering");
    with_header(answer, unbuffered, HeaderValue::from_static("no"))
}

fn whole_body(bytes: Bytes) -> Body {
    let body = Full::new(bytes).map_err(|never| match never {});
    body.boxed_unsync()
}

/// A body of the pieces that `next` makes, until it has no more.
fn body<State, Next, Future>(state: State, next: Next) -> Body
where
    State: Send + 'static,
    Next: Fn(State) -> Future + Send + 'static,
    Future: std::future::Future<Output = Option<(Piece, State)>> + Send + 'static,
{
    let frames = stream::unfold((Some(state), next), |(state, next)| async move {
        let Some(state) = state else {
            // Pieces are written only when the next one is not there yet.
            tokio::task::yield_now().await;
            return Some((Err(BrokenOff), (None, next)));
        };
        let (piece, state) = next(state).await?;
        let state = (!piece.is_cut).then_some(state);
        Some((Ok(Frame::data(piece.bytes)), (state, next)))
    });
    StreamBody::new(frames).boxed_unsync()
}

/// What is written, as an event.
pub fn event(outgoing: &Outgoing) -> Piece {
    if outgoing.ending == Ending::Parked {
        // It is an event already.
        return Piece::whole(outgoing.bytes.clone());
    }
    let is_cut = matches!(outgoing.ending, Ending::Cut | Ending::Short);
    if is_cut && outgoing.bytes.is_empty() {
        return Piece {
            bytes: Bytes::new(),
            is_cut,
        };
    }
    let mut event = Vec::with_capacity(outgoing.bytes.len() + 32);
    event.extend_from_slice(b"event: message\n");
    for line in outgoing.bytes.split(|byte| *byte == b'\n') {
        event.extend_from_slice(b"data: ");
        event.extend_from_slice(line);
        event.push(b'\n');
    }
    if outgoing.ending.is_whole() && !is_cut {
        event.push(b'\n');
    } else {
        event.pop();
    }
    Piece {
        // What the answer is charged stays charged.
        bytes: kept_with(event, outgoing.bytes.clone()),
        is_cut,
    }
}

/// Reads the whole body, or says why not; with it comes what it is charged.
pub async fn read_body(body: Incoming, budget: &Budget) -> Result<(Bytes, Charge), Answer> {
    match http_limits::read(body, FRAME_BYTES_MAX, budget).await {
        Ok(Read::Whole(body, mut charge)) => {
            let is_held = charge.add(weight(&body) - body.len());
            is_held.then_some((body, charge)).ok_or_else(busy)
        }
        Ok(Read::Long(..)) => Err(closing(plain(
            StatusCode::PAYLOAD_TOO_LARGE,
            "the body is too large\n",
        ))),
        Ok(Read::Crowded(..)) => Err(busy()),
        Err(_) => Err(closing(plain(
            StatusCode::REQUEST_TIMEOUT,
            "the body did not arrive\n",
        ))),
    }
}

/// Whether the client takes this content type.
pub fn takes(headers: &HeaderMap, content_type: &str) -> bool {
    headers
        .get_all(ACCEPT)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .filter_map(|range| range.split(';').next())
        .any(|range| matches!(range.trim(), "*/*") || range.trim() == content_type)
}

/// Whether the body is said to be JSON.
pub fn is_json(headers: &HeaderMap) -> bool {
    headers
        .get(CONTENT_TYPE)
        .and_then(|value| value.to_str().ok())
        .and_then(|value| value.split(';').next())
        .is_some_and(|value| value.trim().eq_ignore_ascii_case("application/json"))
}
