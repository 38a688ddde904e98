//! A call over HTTP that met a fault: its way to the server, what comes back from there, and its answer: a JSON body, or
//! an event stream where the server answers with one or the fault says more than one thing. Over the transport of
//! 2024-11-05 the answer comes on the stream that the client opened.

use http::header::{CACHE_CONTROL, RETRY_AFTER};
use http::response;
use tokio::sync::{Mutex, MutexGuard};

use super::prelude::*;

/// How many pieces of a stream wait for a client that does not read.
const SAID_MAX: usize = 64;
/// What is told of an answer that is too long to be held.
const PASSED: &str = "an answer was too long to be held, and passed unchanged";
/// Why a call has no answer.
const BROKE_OFF: &str = "the server broke off before it answered";

/// What the client gets: a response, or an error that closes the connection.
pub type Answered = Result<Response<ProxyBody>, BodyError>;

/// The client of a call that a fault acts on, as long as it is there.
pub struct Presence(Arc<PendingCall>);

impl Drop for Presence {
    fn drop(&mut self) {
        // If it is over, there is nothing to leave.
        self.0.watch.faulted.leave(&self.0);
    }
}

/// Lets a fault act on a call, in a task of its own; gives what the client gets.
pub async fn answer_struck(
    hub: &Arc<Hub>,
    mut parts: Parts,
    call: Arc<PendingCall>,
    injection: Injection,
) -> Answered {
    let is_status = injection.fault().kind.special() == Special::HttpStatus;
    let stream = hub.stream(&parts).filter(|_| !is_status);
    let (head, receiver) = oneshot::channel();
    let mut answer = Answer {
        head: Some(head),
        ..Answer::default()
    };
    // On a stream of its own, the end of the request says nothing.
    let presence = stream.is_none().then(|| Presence(Arc::clone(&call)));
    if let Some(stream) = &stream {
        let (parts, body) = plain(StatusCode::ACCEPTED, "Accepted").into_parts();
        answer.respond(parts, body);
        answer.usual.event = Bytes::from_static(b"message");
        answer.said = Some(stream.said.clone());
    }
    // What is compressed could not be read.
    parts.headers.remove(ACCEPT_ENCODING);
    parts.headers.remove(CONTENT_LENGTH);
    let exchange = Exchange {
        hub: Arc::clone(hub),
        parts,
        stream,
        answer: Mutex::new(answer),
    };
    strike(injection, &call, exchange);
    let Ok(answered) = receiver.await else {
        // It was cancelled: the answer ends without one.
        let mut response = Response::new(ProxyBody::default());
        let events = HeaderValue::from_static("text/event-stream");
        response.headers_mut().insert(CONTENT_TYPE, events);
        return Ok(response);
    };
    Ok(answered?.map(|body| body.with_presence(presence)))
}

/// How far the answer is.
#[derive(Default)]
struct Answer {
    head: Option<oneshot::Sender<Answered>>,
    /// The head of the server's own answer.
    own: Option<response::Parts>,
    /// The event of the server's reply, in whose place ours is.
    like: Option<Event>,
    /// What every other event looks like.
    usual: Event,
    /// The stream that was begun.
    said: Option<mpsc::Sender<StreamItem>>,
}

impl Answer {
    /// Responds, unless something was said.
    fn respond(&mut self, parts: response::Parts, body: ProxyBody) {
        if let Some(head) = self.head.take() {
            // A client that is gone is told so elsewhere, here and below.
            let _ = head.send(Ok(Response::from_parts(parts, body)));
        }
    }

    /// Begins a stream to the client, unless there is one.
    fn begin_stream(&mut self) -> Option<mpsc::Sender<StreamItem>> {
        if self.said.is_none() && self.head.is_some() {
            let (said, receiver) = mpsc::channel(SAID_MAX);
            let mut parts = self.head_of("text/event-stream");
            let no_cache = HeaderValue::from_static("no-cache");
            parts.headers.entry(CACHE_CONTROL).or_insert(no_cache);
            self.respond(parts, ProxyBody::default().with_injected(receiver));
            self.said = Some(said);
        }
        self.said.clone()
    }

    /// Closes the connection of a client that has no answer yet: whether it had none.
    fn close(&mut self) -> bool {
        let Some(head) = self.head.take() else {
            return false;
        };
        let _ = head.send(Err("closed by a fault".into()));
        true
    }

    /// The head of an answer of ours, like that of the server where there is one.
    fn head_of(&mut self, content_type: &'static str) -> response::Parts {
        let mut parts = self
            .own
            .take()
            .unwrap_or_else(|| Response::new(()).into_parts().0);
        parts.headers.remove(CONTENT_LENGTH);
        let value = HeaderValue::from_static(content_type);
        parts.headers.insert(CONTENT_TYPE, value);
        parts
    }
}

/// The way of one call, and its answer.
struct Exchange {
    hub: Arc<Hub>,
    parts: Parts,
    /// Where the answer comes, over the transport of 2024-11-05.
    stream: Option<Arc<OldStream>>,
    answer: Mutex<Answer>,
}

impl Exchange {
    async fn answer(&self) -> MutexGuard<'_, Answer> {
        self.answer.lock().await
    }

    /// Passes on what is no answer to the call, such as a refusal.
    async fn pass(&self, call: &PendingCall, response: Response<ProxyBody>) {
        if !call.is_lost {
            let (parts, body) = response.into_parts();
            let message = format!("HTTP {}", parts.status);
            call.fail(ErrorCategory::ServerError, &message);
            self.answer().await.respond(parts, body);
        }
    }

    /// The reply in a response of the server, if it is there.
    async fn reply_in(
        &self,
        call: &PendingCall,
        mut response: Response<ProxyBody>,
    ) -> Option<Bytes> {
        remove_hop_by_hop(response.headers_mut());
        let response = match body_kind(response.headers()) {
            ContentType::Events if response.status().is_success() => {
                return self.reply_in_stream(call, response).await;
            }
            ContentType::Events | ContentType::Other => response,
            ContentType::Json => {
                let (parts, body) = response.into_parts();
                let body = match body.read().await {
                    // An error may come without the id, where a request is refused by its headers.
                    Ok(body) if matches!(Seen::of(&body), Seen::Answer { .. }) => {
                        self.answer().await.own = Some(parts);
                        return Some(body);
                    }
                    Ok(body) => ProxyBody::whole(body),
                    // What breaks off is no answer, nor the beginning of one.
                    Err(Unread::Broken(_)) => return None,
                    Err(Unread::Long(body)) => {
                        self.too_long(call);
                        body
                    }
                };
                Response::from_parts(parts, body)
            }
        };
        self.pass(call, response).await;
        None
    }

    async fn reply_in_stream(
        &self,
        call: &PendingCall,
        response: Response<ProxyBody>,
    ) -> Option<Bytes> {
        let (parts, mut body) = response.into_parts();
        let said = {
            let mut answer = self.answer().await;
            answer.own = Some(parts);
            if call.is_lost {
                None
            } else {
                answer.begin_stream()
            }
        };
        let mut events = RawEvents::default();
        let mut has_long = false;
        while let Some(chunk) = body.next_chunk().await {
            let Ok(chunk) = chunk else {
                if !call.is_lost {
                    self.disconnect().await;
                }
                return None;
            };
            events.push(&chunk);
            while let Some(piece) = events.next_piece() {
                let raw = match piece {
                    Piece::Event(_, event) if Seen::of(&event.data).answers(&call.key.1) => {
                        let data = event.data.clone();
                        self.answer().await.like = Some(event);
                        return Some(data);
                    }
                    Piece::Event(raw, _) | Piece::Other(raw) => raw,
                    Piece::Long(raw) => {
                        if !std::mem::replace(&mut has_long, true) {
                            self.too_long(call);
                        }
                        raw
                    }
                };
                if let Some(said) = &said {
                    let _ = said.send(StreamItem::Bytes(raw)).await;
                }
            }
        }
        None
    }

    /// The answer passes untouched, and its fate is not known.
    fn too_long(&self, call: &PendingCall) {
        if !call.is_lost {
            self.hub.watch.journal.remark(PASSED);
            call.fail(ErrorCategory::Malformed, TOO_LONG);
        }
    }
}

impl FaultTransport for Exchange {
    async fn execute(&self, call: &PendingCall) -> Option<Bytes> {
        let body = ProxyBody::whole(call.message.clone());
        let request = Request::from_parts(self.parts.clone(), body);
        let stream = self.stream.as_ref();
        let reply = stream.map(|stream| stream.answers.take_answer(call));
        match (self.hub.upstream.send(request).await, reply) {
            (Ok(response), None) => self.reply_in(call, response).await,
            (Ok(response), Some(reply)) if response.status().is_success() => reply.await.ok(),
            (Ok(_), Some(_)) => None,
            (Err(failure), reply) => {
                self.hub.watch.journal.remark(&failure.message);
                if reply.is_none() {
                    self.pass(call, bad_gateway(&failure)).await;
                }
                None
            }
        }
    }

    async fn reply(&self, message: Bytes) {
        let mut answer = self.answer().await;
        if let Some(said) = answer.said.take() {
            let like = answer.like.as_ref().unwrap_or(&answer.usual);
            let event = encode(&message, like);
            let _ = said.send(StreamItem::Bytes(event)).await;
        } else {
            let parts = answer.head_of("application/json");
            answer.respond(parts, ProxyBody::whole(message));
        }
    }

    async fn send(&self, message: Bytes) {
        let (said, event) = {
            let mut answer = self.answer().await;
            (answer.begin_stream(), encode(&message, &answer.usual))
        };
        if let Some(said) = said {
            let _ = said.send(StreamItem::Bytes(event)).await;
        }
    }

    async fn reply_cut(&self, beginning: Bytes) {
        let mut answer = self.answer().await;
        if let Some(said) = answer.said.take() {
            let event = [b"data: ", &beginning[..]].concat();
            let _ = said.send(StreamItem::Bytes(event.into())).await;
            let _ = said.send(StreamItem::Break).await;
            return;
        }
        let mut parts = answer.head_of("application/json");
        // More is promised than comes.
        let promised = HeaderValue::from(beginning.len().saturating_mul(2).max(1));
        parts.headers.insert(CONTENT_LENGTH, promised);
        answer.respond(parts, ProxyBody::cut(beginning));
    }

    /// Breaks off what was begun, or closes the connection.
    async fn disconnect(&self) {
        let mut answer = self.answer().await;
        if let Some(said) = answer.said.take() {
            let _ = said.send(StreamItem::Break).await;
        }
        answer.close();
    }

    async fn crash(&self) {
        self.answer().await.close();
        let _ = self.hub.crashed.set(());
    }

    async fn refuse(&self, call: &PendingCall, status: u16, retry_after_s: u64) -> bool {
        let status = StatusCode::from_u16(status).unwrap_or(StatusCode::SERVICE_UNAVAILABLE);
        let mut response = plain(status, "mcprove: injected HTTP status\n");
        response
            .headers_mut()
            .insert(RETRY_AFTER, HeaderValue::from(retry_after_s));
        self.pass(call, response).await;
        true
    }

    async fn finish(&self, call: &PendingCall) {
        // Where the server gave no answer, there is none for the client.
        if self.answer().await.close() {
            call.fail(ErrorCategory::Disconnected, BROKE_OFF);
        }
    }

    fn over(&self, call: &PendingCall) {
        if let Some(stream) = &self.stream {
            stream.answers.stop_taking(call);
        }
        call.fail_recorded(ErrorCategory::Disconnected, BROKE_OFF);
    }
}
