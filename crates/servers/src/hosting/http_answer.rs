//! HTTP responses, shared by both HTTP transports, and what is refused.

use std::convert::Infallible;

use http_body_util::Full;
use http_body_util::combinators::UnsyncBoxBody;
use hyper::Response;
use hyper::header::{ACCEPT, CACHE_CONTROL, CONNECTION, CONTENT_TYPE, HeaderName, RETRY_AFTER};

use super::dispatch::{too_busy, weight};
use super::http_limits::Read;
use super::http_stream::body;
use crate::prelude::*;

/// The only thing that goes wrong with a body is that a mode breaks it off.
#[derive(Debug, thiserror::Error)]
#[error("broken off")]
pub struct BrokenOff;

pub type Body = UnsyncBoxBody<Bytes, BrokenOff>;
pub type Answer = Response<Body>;

/// Why a request has no answer of its own.
pub enum NoAnswer {
    /// The connection is closed instead.
    HungUp,
    /// It is not let in.
    Refused(Box<Refused>),
}

/// A request that is not let in: what it is answered, and why, for whoever watches.
pub struct Refused {
    pub answer: Answer,
    pub reason: String,
    /// The JSON-RPC error that it is answered with, if it is one.
    pub refusal: Option<Refusal>,
    /// The message that is refused, if it was read.
    pub message: Option<Value>,
}

impl NoAnswer {
    /// The same with one more header.
    pub fn with_header(mut self, name: HeaderName, value: impl Into<HeaderValue>) -> Self {
        if let Self::Refused(refused) = &mut self {
            refused.answer.headers_mut().insert(name, value.into());
        }
        self
    }

    /// The same, after which the connection is closed, for what the client still says is not read.
    fn closing(self) -> Self {
        self.with_header(CONNECTION, HeaderValue::from_static("close"))
    }
}

fn answer(status: StatusCode, content_type: &'static str, body: Body) -> Answer {
    let mut answer = Response::new(body);
    *answer.status_mut() = status;
    let headers = answer.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    answer
}

/// A status with a line of text.
pub fn plain(status: StatusCode, text: impl Into<Bytes>) -> Answer {
    answer(status, "text/plain", whole_body(text.into()))
}

/// 202, for what wants no answer.
pub fn accepted() -> Answer {
    plain(StatusCode::ACCEPTED, "")
}

/// Refuses with a line of text.
pub fn refuse(status: StatusCode, text: impl Into<String>) -> NoAnswer {
    let text = text.into();
    NoAnswer::Refused(Box::new(Refused {
        reason: text.trim_end().to_owned(),
        answer: plain(status, text),
        refusal: None,
        message: None,
    }))
}

/// Refuses with a JSON-RPC error.
pub fn refuse_message(status: StatusCode, id: &Value, refusal: Refusal) -> NoAnswer {
    NoAnswer::Refused(Box::new(Refused {
        answer: json(status, refusal.response(id).to_string().into()),
        reason: refusal.message.clone(),
        refusal: Some(refusal),
        message: None,
    }))
}

/// 503, for a body for which there is no room now.
fn busy() -> NoAnswer {
    let busy = refuse_message(StatusCode::SERVICE_UNAVAILABLE, &Value::Null, too_busy());
    busy.with_header(RETRY_AFTER, BUSY_RETRY_S).closing()
}

/// One message, or bytes that pass for one.
pub fn json(status: StatusCode, bytes: Bytes) -> Answer {
    answer(status, "application/json", whole_body(bytes))
}

/// The beginning of a message, after which the connection is closed.
pub fn json_broken_off(bytes: Bytes) -> Answer {
    let piece = Piece {
        bytes,
        is_cut: true,
    };
    let body = body(futures_util::stream::iter([piece]));
    answer(StatusCode::OK, "application/json", body)
}

/// A status in place of an answer.
pub fn away((status, retry_after_s): Away) -> Answer {
    let mut answer = plain(status, "turned away; see Retry-After\n");
    let headers = answer.headers_mut();
    headers.insert(RETRY_AFTER, retry_after_s.into());
    answer
}

/// A stream of events.
pub fn events(pieces: impl Stream<Item = Piece> + Send + 'static) -> Answer {
    let mut answer = answer(StatusCode::OK, "text/event-stream", body(pieces));
    let unbuffered = HeaderName::from_static("x-accel-buffering");
    for (name, value) in [(CACHE_CONTROL, "no-cache"), (unbuffered, "no")] {
        let headers = answer.headers_mut();
        headers.insert(name, HeaderValue::from_static(value));
    }
    answer
}

fn whole_body(bytes: Bytes) -> Body {
    let body = Full::new(bytes).map_err(|never: Infallible| match never {});
    body.boxed_unsync()
}

/// Refuses a body that is not said to be JSON.
pub fn check_json(headers: &HeaderMap) -> Result<(), NoAnswer> {
    let content_type = headers.get(CONTENT_TYPE);
    let content_type = content_type.and_then(|value| value.to_str().ok()?.split(';').next());
    if content_type.is_some_and(|it| it.trim().eq_ignore_ascii_case("application/json")) {
        return Ok(());
    }
    let text = "Content-Type must be application/json\n";
    Err(refuse(StatusCode::UNSUPPORTED_MEDIA_TYPE, text))
}

/// Reads the whole body, or says why not; with it comes what it is charged.
pub async fn read_body(body: Incoming, budget: &Budget) -> Result<(Bytes, Charge), NoAnswer> {
    match http_limits::read(body, FRAME_BYTES_MAX, budget).await {
        Ok(Read::Whole(body, mut charge)) => {
            let is_held = charge.add(weight(&body) - body.len());
            is_held.then_some((body, charge)).ok_or_else(busy)
        }
        Ok(Read::Long(..)) => {
            let status = StatusCode::PAYLOAD_TOO_LARGE;
            Err(refuse(status, "the body is too large\n").closing())
        }
        Ok(Read::Crowded(..)) => Err(busy()),
        Err(_) => {
            let status = StatusCode::REQUEST_TIMEOUT;
            Err(refuse(status, "the body did not arrive\n").closing())
        }
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
        .any(|range| [content_type, "*/*"].contains(&range.trim()))
}
