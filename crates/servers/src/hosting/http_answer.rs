//! HTTP responses, shared by both HTTP transports, and what is refused. Some are streams of events: to a request, and to
//! whoever opens one with GET. And the client that waits for an answer, and may leave before it comes.

use std::convert::Infallible;

use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{Full, StreamBody};
use hyper::Response;
use hyper::body::Frame;
use hyper::header::{ACCEPT, CACHE_CONTROL, CONNECTION, CONTENT_TYPE, RETRY_AFTER};

use super::http_limits::Read;
use crate::prelude::*;

/// The only thing that goes wrong with a body is that a mode breaks it off.
#[derive(Debug, thiserror::Error)]
#[error("broken off")]
pub struct BrokenOff;

pub type Body = UnsyncBoxBody<Bytes, BrokenOff>;
pub type Answer = Response<Body>;
/// What becomes of a request.
pub type Answered = Result<Answer, NoAnswer>;

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
    answer
        .headers_mut()
        .insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
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
    let busy = refuse_message(
        StatusCode::SERVICE_UNAVAILABLE,
        &Value::Null,
        dispatch::too_busy(),
    );
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
pub fn away((status, retry_after_s): HttpRefusal) -> Answer {
    let mut answer = plain(status, "turned away; see Retry-After\n");
    answer
        .headers_mut()
        .insert(RETRY_AFTER, retry_after_s.into());
    answer
}

pub fn events(pieces: impl Stream<Item = Piece> + Send + 'static) -> Answer {
    let mut answer = answer(StatusCode::OK, "text/event-stream", body(pieces));
    let unbuffered = HeaderName::from_static("x-accel-buffering");
    for (name, value) in [(CACHE_CONTROL, "no-cache"), (unbuffered, "no")] {
        answer
            .headers_mut()
            .insert(name, HeaderValue::from_static(value));
    }
    answer
}

fn whole_body(bytes: Bytes) -> Body {
    Full::new(bytes)
        .map_err(|never: Infallible| match never {})
        .boxed_unsync()
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
        Ok(Read::Whole(body, mut charge)) => charge
            .add(dispatch::weight(&body) - body.len())
            .then_some((body, charge))
            .ok_or_else(busy),
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

/// What a header lists, however often it comes.
pub fn listed(headers: &HeaderMap, name: HeaderName) -> impl Iterator<Item = &str> {
    headers
        .get_all(name)
        .into_iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
}

/// Whether the client takes this content type.
pub fn takes(headers: &HeaderMap, content_type: &str) -> bool {
    let mut ranges = listed(headers, ACCEPT).filter_map(|range| range.split(';').next());
    ranges.any(|range| [content_type, "*/*"].contains(&range.trim()))
}

/// A part of a body.
pub struct Piece {
    pub bytes: Bytes,
    /// Whether the connection is closed after it, in the middle of the body.
    pub is_cut: bool,
}

impl Piece {
    /// One that the body may end with.
    pub const fn whole(bytes: Bytes) -> Self {
        let is_cut = false;
        Self { bytes, is_cut }
    }
}

/// A body of these pieces, up to one after which the connection is closed.
pub fn body(pieces: impl Stream<Item = Piece> + Send + 'static) -> Body {
    let frames = pieces.flat_map(|Piece { bytes, is_cut }| {
        let cut = stream::iter(is_cut.then_some(Err(BrokenOff))).then(async |cut| {
            // Pieces are written only when the next one is not there yet.
            tokio::task::yield_now().await;
            cut
        });
        stream::iter([Ok(Frame::data(bytes))]).chain(cut)
    });
    StreamBody::new(frames).boxed_unsync()
}

/// The answers as they come.
pub fn outgoing(mut answers: Answers) -> impl Stream<Item = Outgoing> + Send {
    stream::poll_fn(move |context| answers.poll_recv(context))
}

/// The answers to a request, for a client that may leave.
pub fn answers(first: Option<Outgoing>, answers: Answers, mut waiting: Waiting) -> Answer {
    let all = stream::iter(first).chain(outgoing(answers));
    events(all.map(move |outgoing| {
        waiting.note(outgoing.ending);
        event(&outgoing)
    }))
}

/// Changes that a session is to hear of, until it is closed. Only the newest stream of a session
/// tells them.
pub fn news(session: Arc<Session>, news: broadcast::Receiver<Change>) -> Answer {
    let number = session.streams.fetch_add(1, Ordering::SeqCst) + 1;
    let open = Piece::whole(Bytes::from_static(b": open\n\n"));
    let told = stream::unfold((session, news), move |(session, mut news)| async move {
        loop {
            let outgoing = changes::next_for(&session, &mut news).await?;
            if session.streams.load(Ordering::SeqCst) == number {
                return Some((event(&outgoing), (session, news)));
            }
        }
    });
    events(stream::iter([open]).chain(told))
}

/// What is written, as an event.
pub fn event(outgoing: &Outgoing) -> Piece {
    let Outgoing { bytes, ending, .. } = outgoing;
    let is_cut = matches!(ending, Ending::Cut | Ending::Short);
    // One that is parked is an event already.
    if *ending == Ending::Parked || is_cut && bytes.is_empty() {
        let bytes = bytes.clone();
        return Piece { bytes, is_cut };
    }
    let mut event = Vec::with_capacity(bytes.len() + 32);
    event.extend_from_slice(b"event: message\n");
    for line in bytes.split(|byte| *byte == b'\n') {
        event.extend_from_slice(b"data: ");
        event.extend_from_slice(line);
        event.push(b'\n');
    }
    if ending.is_whole() && !is_cut {
        event.push(b'\n');
    } else {
        event.pop();
    }
    Piece {
        // What the answer is charged stays charged.
        bytes: kept_with(event, bytes.clone()),
        is_cut,
    }
}

/// Gives up the work on a request when whoever waits for it is gone.
pub struct Waiting {
    /// The work, once it has begun.
    pub work: Option<Started>,
    host: Arc<Host>,
    session: Arc<Session>,
    ids: Vec<Value>,
    is_batch: bool,
    era: Era,
    is_answered: bool,
}

impl Waiting {
    pub fn new(peer: &Peer, message: &Value, era: Era) -> Self {
        let messages = message.as_array();
        let messages = messages.map_or(std::slice::from_ref(message), Vec::as_slice);
        let ids = messages.iter().filter_map(|one| one.get("id").cloned());
        Self {
            work: None,
            host: Arc::clone(&peer.host),
            session: Arc::clone(&peer.session),
            ids: ids.collect(),
            is_batch: message.is_array(),
            era,
            is_answered: false,
        }
    }

    /// Whether there will be no answer because the client wants none: it cancelled the request, or
    /// closed its session.
    pub fn is_unwanted(&self) -> bool {
        let ended = self.work.as_ref().and_then(|work| work.ended.get());
        ended.is_some_and(|how| how.is_unwanted()) || self.session.is_closed()
    }

    /// Notes an answer; after the last one, leaving cancels nothing.
    pub fn note(&mut self, ending: Ending) {
        self.is_answered |= ending.is_final();
        if ending == Ending::Parked {
            self.work = None;
        }
    }

    /// Cancels everything that was asked for, and says whether any of it goes on all the same.
    fn cancel(&self, work: &Started) -> bool {
        // Somebody else may wait for another request with the same id. The work on a batch is only
        // what waits for its answers.
        let which = (!self.is_batch).then(|| work.task.id());
        let how = self.host.why_closed();
        let go_on = self.ids.iter().filter(|id| match self.era {
            // Over HTTP, this is how a client of this era cancels.
            Era::Stateless => self.host.cancel(&self.session, id, which, how),
            // Nobody is left to answer, though nobody said that the work is unwanted.
            Era::Handshake => self.session.in_flight.cancel(id, which, how).1,
        });
        go_on.count() > 0
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        if let Some(work) = &self.work
            && (self.is_answered || !self.cancel(work))
        {
            work.task.abort();
        }
    }
}
