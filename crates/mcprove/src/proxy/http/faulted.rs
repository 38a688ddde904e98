//! A call over HTTP that met a fault.
//!
//! Its answer is a JSON body, or an event stream where the server answers with one or the fault says
//! more than one thing. Over the transport of 2024-11-05 it comes on the stream that the client opened.

use std::sync::Arc;
use std::time::Instant;

use bytes::Bytes;
use http::header::{ACCEPT_ENCODING, CACHE_CONTROL, CONTENT_LENGTH, CONTENT_TYPE, RETRY_AFTER};
use http::request::Parts;
use http::{HeaderValue, Request, Response, StatusCode, response};
use mcprove_score::trace::ErrorCategory;
use serde_json::Value;
use tokio::sync::{Mutex, MutexGuard, mpsc, oneshot};

use super::body::{ProxyBody, Said};
use super::events::{Piece, RawEvents, encode};
use super::exchange::{bad_gateway, plain};
use super::headers::{BodyKind, body_kind, remove_hop_by_hop};
use super::hub::{CallKey, Hub, OldStream};
use super::passing::Passing;
use super::sessions::Session;
use crate::fault::{FaultKind, FaultedCall, Injection};
use crate::protocol::sse::Event;
use crate::proxy::LOOK_BYTES_MAX;
use crate::proxy::journal::Page;
use crate::proxy::message::{IdKey, Seen, ToolCall};
use crate::proxy::struck::{CallState, Struck, has_last_word, needed};
use crate::recording::RecordedRequest;
use crate::transport::BoxFuture;

/// How many pieces of a stream wait for a client that does not read.
const SAID_MAX: usize = 64;

/// A request that is struck.
pub(super) struct StruckRequest {
    pub parts: Parts,
    pub body: Bytes,
    pub call: ToolCall,
    pub injection: Injection,
    pub page: Page,
    pub recorded: Option<RecordedRequest>,
    pub session: Session,
}

/// What the client of a struck call gets.
pub(super) enum Head {
    /// A response.
    Response(Box<Response<ProxyBody>>),
    /// The connection closes.
    Close,
}

struct FaultedExchange {
    hub: Arc<Hub>,
    parts: Parts,
    body: Bytes,
    call: ToolCall,
    key: CallKey,
    serial: u64,
    state: Arc<CallState>,
    page: Page,
    recorded: Option<RecordedRequest>,
    /// Whether nothing of the answer may be heard.
    is_lost: bool,
    /// Where the answer comes, over the transport of 2024-11-05.
    stream: Option<Arc<OldStream>>,
    answer: Mutex<Answer>,
}

/// How far the answer is.
struct Answer {
    head: Option<oneshot::Sender<Head>>,
    /// The head of the server's own answer.
    own: Option<response::Parts>,
    /// The event of the server's reply, in whose place ours is.
    like: Option<Event>,
    /// The stream that was begun.
    said: Option<mpsc::Sender<Said>>,
}

/// Lets a fault act on a call, in a task of its own. The client gets what comes out of the returned end, and
/// tells by the guard that it is still there.
pub(super) fn strike(
    hub: &Arc<Hub>,
    request: StruckRequest,
) -> (oneshot::Receiver<Head>, Presence) {
    let StruckRequest {
        mut parts,
        body,
        mut call,
        injection,
        page,
        recorded,
        session,
    } = request;
    let kind = injection.fault().kind;
    // No fault reads the arguments.
    call.arguments = String::new();
    let body = needed(kind, body);
    let bytes = body.len();
    let (head, answer) = oneshot::channel();
    let mut head = Some(head);
    let key: CallKey = (Arc::clone(&session.name), IdKey::new(&call.id));
    let stream = hub.stream(&parts).filter(|_| kind != FaultKind::HttpStatus);
    if stream.is_some()
        && let Some(head) = head.take()
    {
        let accepted = plain(StatusCode::ACCEPTED, "Accepted");
        let _ = head.send(Head::Response(Box::new(accepted)));
    }
    // What is compressed could not be read.
    parts.headers.remove(ACCEPT_ENCODING);
    let due = injection.delay().map(|delay| Instant::now() + delay);
    let is_on_stream = stream.is_some();
    let mut number = 0;
    hub.struck.strike(&key, |serial| {
        number = serial;
        let state = Arc::new(CallState::default());
        if kind == FaultKind::ReplyAfterCancel {
            // Before it acts for the first time, for a cancellation may be here already.
            state.ignore_cancellation();
        }
        let faulted = FaultedExchange {
            hub: Arc::clone(hub),
            parts,
            body,
            call,
            key: key.clone(),
            serial,
            state: Arc::clone(&state),
            page,
            recorded: recorded.clone(),
            is_lost: kind == FaultKind::LoseReply,
            stream,
            answer: Mutex::new(Answer {
                head,
                own: None,
                like: None,
                said: None,
            }),
        };
        let task = Box::pin(async move {
            injection.apply(&faulted).await;
        });
        let struck = Struck {
            state,
            page,
            recorded,
            due,
            bytes,
            is_heard: has_last_word(kind),
        };
        (struck, task)
    });
    let presence = Presence {
        hub: Arc::clone(hub),
        // On a stream of its own, the end of the request says nothing.
        call: (!is_on_stream).then_some((key, number)),
    };
    (answer, presence)
}

/// The client of a struck call, as long as it is there.
pub(super) struct Presence {
    hub: Arc<Hub>,
    call: Option<(CallKey, u64)>,
}

impl Drop for Presence {
    fn drop(&mut self) {
        if let Some((key, serial)) = self.call.take() {
            // If it is over, there is nothing to leave.
            let journal = &self.hub.watch.journal;
            self.hub.struck.leave(&key, serial, Some(journal));
        }
    }
}

/// Whether it ends by itself or is cancelled, it is over.
impl Drop for FaultedExchange {
    fn drop(&mut self) {
        self.hub.struck.finish(&self.key, self.serial);
        if let Some(stream) = &self.stream {
            stream.stop_taking(&self.key.1, self.is_lost);
        }
        if let Some(recorded) = self.recorded.take().filter(|open| !open.has_ended()) {
            let message = "the server broke off before it answered";
            recorded.fail(ErrorCategory::Disconnected, message);
        }
    }
}

impl FaultedExchange {
    fn request(&self) -> Request<ProxyBody> {
        let mut parts = self.parts.clone();
        parts.headers.remove(CONTENT_LENGTH);
        Request::from_parts(parts, ProxyBody::whole(self.body.clone()))
    }

    async fn answer(&self) -> MutexGuard<'_, Answer> {
        self.answer.lock().await
    }

    /// The head of an answer of ours, like that of the server where there is one.
    fn head(own: Option<response::Parts>, content_type: &'static str) -> response::Parts {
        let mut parts = own.unwrap_or_else(|| Response::new(()).into_parts().0);
        parts.headers.remove(CONTENT_LENGTH);
        let value = HeaderValue::from_static(content_type);
        parts.headers.insert(CONTENT_TYPE, value);
        parts
    }

    /// Begins a stream to the client, unless there is one.
    fn begin_stream(answer: &mut Answer) -> Option<mpsc::Sender<Said>> {
        if let Some(said) = &answer.said {
            return Some(said.clone());
        }
        let head = answer.head.take()?;
        let (said, receiver) = mpsc::channel(SAID_MAX);
        let mut parts = Self::head(answer.own.take(), "text/event-stream");
        let no_cache = HeaderValue::from_static("no-cache");
        parts.headers.entry(CACHE_CONTROL).or_insert(no_cache);
        let response = Response::from_parts(parts, ProxyBody::made(receiver));
        let _ = head.send(Head::Response(Box::new(response)));
        answer.said = Some(said.clone());
        Some(said)
    }

    /// Passes on what is no answer to the call, such as a refusal.
    async fn pass(&self, parts: response::Parts, body: ProxyBody) {
        if self.is_lost {
            return;
        }
        self.hub.watch.journal.ended(self.page);
        if let Some(recorded) = &self.recorded {
            let message = format!("HTTP {}", parts.status);
            recorded.fail(ErrorCategory::ServerError, &message);
        }
        if let Some(head) = self.answer().await.head.take() {
            let response = Response::from_parts(parts, body);
            let _ = head.send(Head::Response(Box::new(response)));
        }
    }

    async fn execute_here(&self) -> Option<Bytes> {
        let response = match self.hub.upstream.send(self.request()).await {
            Ok(response) => response,
            Err(failure) => {
                self.hub.watch.journal.remark(&failure.message);
                let (parts, body) = bad_gateway(&failure).into_parts();
                self.pass(parts, body).await;
                return None;
            }
        };
        let (mut parts, passing) = response.into_parts();
        remove_hop_by_hop(&mut parts.headers);
        match body_kind(&parts.headers) {
            BodyKind::Json => self.reply_in_body(parts, passing).await,
            BodyKind::Events if parts.status.is_success() => {
                self.reply_in_stream(parts, passing).await
            }
            BodyKind::Events | BodyKind::Other => {
                self.pass(parts, ProxyBody::passing(passing)).await;
                None
            }
        }
    }

    async fn reply_in_body(&self, parts: response::Parts, mut passing: Passing) -> Option<Bytes> {
        let mut body = bytes::BytesMut::new();
        while let Some(chunk) = passing.next_chunk().await {
            body.extend_from_slice(&chunk.ok()?);
            if body.len() > LOOK_BYTES_MAX {
                let remark = "an answer was too long to be held, and the call ended without";
                self.hub.watch.journal.remark(remark);
                return None;
            }
        }
        let body = body.freeze();
        // An error may come without the id, where a request is refused by its headers.
        let is_reply = matches!(Seen::of(&body), Seen::Answer { .. });
        if !is_reply {
            let body = ProxyBody::whole(body);
            self.pass(parts, body).await;
            return None;
        }
        self.answer().await.own = Some(parts);
        Some(body)
    }

    async fn reply_in_stream(&self, parts: response::Parts, mut passing: Passing) -> Option<Bytes> {
        let said = {
            let mut answer = self.answer().await;
            answer.own = Some(parts);
            if self.is_lost {
                None
            } else {
                Self::begin_stream(&mut answer)
            }
        };
        let mut events = RawEvents::new();
        while let Some(Ok(chunk)) = passing.next_chunk().await {
            events.push(&chunk);
            while let Some(piece) = events.next_piece() {
                let raw = match piece {
                    Piece::Event(raw, event) => {
                        let is_reply = matches!(
                            Seen::of(&event.data),
                            Seen::Answer { id } if IdKey::new(id) == self.key.1
                        );
                        if is_reply {
                            let data = event.data.clone();
                            self.answer().await.like = Some(event);
                            return Some(data);
                        }
                        raw
                    }
                    Piece::Other(raw) => raw,
                };
                if let Some(said) = &said {
                    // A client that is gone is told so elsewhere.
                    let _ = said.send(Said::Bytes(raw)).await;
                }
            }
        }
        None
    }

    async fn execute_on(&self, stream: &OldStream) -> Option<Bytes> {
        let reply = stream.take_answer(&self.key.1);
        let response = self.hub.upstream.send(self.request()).await;
        match response {
            Ok(response) if response.status().is_success() => reply.await.ok(),
            Ok(_) => None,
            Err(failure) => {
                self.hub.watch.journal.remark(&failure.message);
                None
            }
        }
    }

    fn end(&self, message: &[u8]) {
        if let Some(recorded) = &self.recorded {
            recorded.answer_to(&self.call.id, message);
        }
        self.hub.watch.journal.ended(self.page);
    }
}

/// An event of the transport of 2024-11-05.
fn old_event(message: &[u8]) -> Bytes {
    let like = Event {
        event: Bytes::from_static(b"message"),
        ..Event::default()
    };
    encode(message, Some(&like))
}

/// The beginning of an event whose end never comes.
fn cut_event(beginning: &[u8]) -> Bytes {
    let mut event = b"data: ".to_vec();
    event.extend_from_slice(beginning);
    event.into()
}

impl FaultedCall for FaultedExchange {
    fn id(&self) -> &str {
        &self.call.id
    }

    fn tool(&self) -> &str {
        &self.call.tool
    }

    fn progress_token(&self) -> Option<&Value> {
        self.call.progress_token.as_ref()
    }

    fn is_stateless(&self) -> bool {
        self.call.is_stateless
    }

    fn execute(&self) -> BoxFuture<'_, Option<Bytes>> {
        Box::pin(async move {
            self.state.forward();
            match &self.stream {
                Some(stream) => self.execute_on(stream).await,
                None => self.execute_here().await,
            }
        })
    }

    fn reply(&self, message: Bytes) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            self.end(&message);
            if let Some(stream) = &self.stream {
                let _ = stream.said.send(Said::Bytes(old_event(&message))).await;
                return;
            }
            let mut answer = self.answer().await;
            if let Some(said) = answer.said.take() {
                let event = encode(&message, answer.like.as_ref());
                let _ = said.send(Said::Bytes(event)).await;
            } else if let Some(head) = answer.head.take() {
                let parts = Self::head(answer.own.take(), "application/json");
                let response = Response::from_parts(parts, ProxyBody::whole(message));
                let _ = head.send(Head::Response(Box::new(response)));
            }
        })
    }

    fn send(&self, message: Bytes) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            if let Some(stream) = &self.stream {
                let _ = stream.said.send(Said::Bytes(old_event(&message))).await;
                return;
            }
            let said = Self::begin_stream(&mut *self.answer().await);
            if let Some(said) = said {
                let _ = said.send(Said::Bytes(encode(&message, None))).await;
            }
        })
    }

    fn reply_cut(&self, beginning: Bytes) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            self.end(&beginning);
            let mut answer = self.answer().await;
            let stream = self.stream.as_ref().map(|stream| stream.said.clone());
            if let Some(said) = stream.or_else(|| answer.said.take()) {
                let _ = said.send(Said::Bytes(cut_event(&beginning))).await;
                let _ = said.send(Said::Break).await;
            } else if let Some(head) = answer.head.take() {
                let mut parts = Self::head(answer.own.take(), "application/json");
                // More is promised than comes.
                let promised = HeaderValue::from(beginning.len().saturating_mul(2).max(1));
                parts.headers.insert(CONTENT_LENGTH, promised);
                let response = Response::from_parts(parts, ProxyBody::cut(beginning));
                let _ = head.send(Head::Response(Box::new(response)));
            }
        })
    }

    fn disconnect(&self) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            self.hub.watch.journal.ended(self.page);
            if let Some(recorded) = &self.recorded {
                let message = "the connection was closed by a fault";
                recorded.fail(ErrorCategory::Disconnected, message);
            }
            let mut answer = self.answer().await;
            let stream = self.stream.as_ref().map(|stream| stream.said.clone());
            if let Some(said) = stream.or_else(|| answer.said.take()) {
                let _ = said.send(Said::Break).await;
            } else if let Some(head) = answer.head.take() {
                let _ = head.send(Head::Close);
            }
        })
    }

    fn crash(&self) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            self.hub.watch.journal.ended(self.page);
            if let Some(recorded) = &self.recorded {
                recorded.fail(ErrorCategory::Crash, "the server was ended by a fault");
            }
            if let Some(head) = self.answer().await.head.take() {
                let _ = head.send(Head::Close);
            }
            self.hub.crash();
        })
    }

    fn refuse(&self, status: u16, retry_after_s: u64) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            let status = StatusCode::from_u16(status).unwrap_or(StatusCode::SERVICE_UNAVAILABLE);
            let mut response = plain(status, "mcprove: injected HTTP status\n");
            let headers = response.headers_mut();
            headers.insert(RETRY_AFTER, HeaderValue::from(retry_after_s));
            let (parts, body) = response.into_parts();
            self.pass(parts, body).await;
        })
    }

    fn ignore_cancellation(&self) {
        self.state.ignore_cancellation();
    }
}
