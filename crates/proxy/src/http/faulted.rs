//! A call over HTTP that met a fault: its way to the server, and what comes back from there.

use std::sync::Arc;

use bytes::Bytes;
use http::header::RETRY_AFTER;
use http::request::Parts;
use http::{HeaderValue, Request, StatusCode, response};
use mcprove_recording::RecordedRequest;
use mcprove_servers::hosting::http_limits::Gathered;
use mcprove_trace::ErrorCategory;
use tokio::sync::{Mutex, MutexGuard};

use super::answer::Answer;
use super::body::{ProxyBody, Said};
use super::events::{Piece, RawEvents};
use super::exchange::{bad_gateway, plain};
use super::headers::{BodyKind, body_kind, remove_hop_by_hop};
use super::hub::{CallKey, Hub, OldStream};
use super::observer::TOO_LONG;
use super::passing::Passing;
use crate::LOOK_BYTES_MAX;
use crate::faulted::FaultTransport;
use crate::faulted_calls::{FaultedCalls, PendingCall};
use crate::message::Seen;

/// What is told of an answer that is too long to be held.
const PASSED: &str = "an answer was too long to be held, and passed unchanged";

/// The way of one call, and its answer.
pub struct Exchange {
    hub: Arc<Hub>,
    parts: Parts,
    /// Where the answer comes, over the transport of 2024-11-05.
    stream: Option<Arc<OldStream>>,
    answer: Mutex<Answer>,
}

impl Exchange {
    pub fn new(
        hub: Arc<Hub>,
        parts: Parts,
        stream: Option<Arc<OldStream>>,
        answer: Answer,
    ) -> Self {
        Self {
            hub,
            parts,
            stream,
            answer: Mutex::new(answer),
        }
    }

    fn request(&self, call: &PendingCall<CallKey>) -> Request<ProxyBody> {
        let body = ProxyBody::whole(call.message.clone());
        Request::from_parts(self.parts.clone(), body)
    }

    async fn answer(&self) -> MutexGuard<'_, Answer> {
        self.answer.lock().await
    }

    /// Passes on what is no answer to the call, such as a refusal.
    async fn pass(&self, call: &PendingCall<CallKey>, parts: response::Parts, body: ProxyBody) {
        if !call.is_lost {
            let message = format!("HTTP {}", parts.status);
            call.fail(ErrorCategory::ServerError, &message);
            self.answer().await.respond(parts, body);
        }
    }

    async fn execute_here(&self, call: &PendingCall<CallKey>) -> Option<Bytes> {
        let response = match self.hub.upstream.send(self.request(call)).await {
            Ok(response) => response,
            Err(failure) => {
                self.hub.watch.journal.remark(&failure.message);
                let (parts, body) = bad_gateway(&failure).into_parts();
                self.pass(call, parts, body).await;
                return None;
            }
        };
        let (mut parts, passing) = response.into_parts();
        remove_hop_by_hop(&mut parts.headers);
        match body_kind(&parts.headers) {
            BodyKind::Json => self.reply_in_body(call, parts, passing).await,
            BodyKind::Events if parts.status.is_success() => {
                self.reply_in_stream(call, parts, passing).await
            }
            BodyKind::Events | BodyKind::Other => {
                self.pass(call, parts, ProxyBody::passing(passing)).await;
                None
            }
        }
    }

    async fn reply_in_body(
        &self,
        call: &PendingCall<CallKey>,
        parts: response::Parts,
        mut passing: Passing,
    ) -> Option<Bytes> {
        let mut body = Gathered::default();
        while let Some(chunk) = passing.next_chunk().await {
            // What breaks off is no answer, nor the beginning of one.
            body.push(chunk.ok()?);
            if body.bytes() > LOOK_BYTES_MAX {
                self.too_long(call);
                let rest = ProxyBody::passing(passing.after(body.take()));
                self.pass(call, parts, rest).await;
                return None;
            }
        }
        let body = body.take();
        // An error may come without the id, where a request is refused by its headers.
        if !matches!(Seen::of(&body), Seen::Answer { .. }) {
            self.pass(call, parts, ProxyBody::whole(body)).await;
            return None;
        }
        self.answer().await.own = Some(parts);
        Some(body)
    }

    async fn reply_in_stream(
        &self,
        call: &PendingCall<CallKey>,
        parts: response::Parts,
        mut passing: Passing,
    ) -> Option<Bytes> {
        let said = {
            let mut answer = self.answer().await;
            answer.own = Some(parts);
            if call.is_lost {
                None
            } else {
                answer.begin_stream()
            }
        };
        let mut events = RawEvents::new();
        let mut has_long = false;
        while let Some(chunk) = passing.next_chunk().await {
            let Ok(chunk) = chunk else {
                if !call.is_lost {
                    self.answer().await.break_off().await;
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
                    // A client that is gone is told so elsewhere.
                    let _ = said.send(Said::Bytes(raw)).await;
                }
            }
        }
        None
    }

    async fn execute_on(&self, call: &PendingCall<CallKey>, stream: &OldStream) -> Option<Bytes> {
        let reply = stream.take_answer(&call.key.1);
        match self.hub.upstream.send(self.request(call)).await {
            Ok(response) if response.status().is_success() => reply.await.ok(),
            Ok(_) => None,
            Err(failure) => {
                self.hub.watch.journal.remark(&failure.message);
                None
            }
        }
    }

    /// The answer passes untouched, and its fate is not known.
    fn too_long(&self, call: &PendingCall<CallKey>) {
        if !call.is_lost {
            self.hub.watch.journal.remark(PASSED);
            call.fail(ErrorCategory::Malformed, TOO_LONG);
        }
    }
}

impl FaultTransport for Exchange {
    type Key = CallKey;

    fn calls(&self) -> &Arc<FaultedCalls<CallKey>> {
        &self.hub.faulted
    }

    async fn execute(&self, call: &PendingCall<CallKey>) -> Option<Bytes> {
        match &self.stream {
            Some(stream) => self.execute_on(call, stream).await,
            None => self.execute_here(call).await,
        }
    }

    async fn reply(&self, message: Bytes) {
        self.answer().await.reply(message).await;
    }

    async fn send(&self, message: Bytes) {
        let (said, event) = {
            let mut answer = self.answer().await;
            (answer.begin_stream(), answer.event(&message))
        };
        if let Some(said) = said {
            let _ = said.send(Said::Bytes(event)).await;
        }
    }

    async fn reply_cut(&self, beginning: Bytes) {
        self.answer().await.reply_cut(beginning).await;
    }

    async fn disconnect(&self) {
        self.answer().await.break_off().await;
    }

    async fn crash(&self) {
        self.answer().await.close();
        self.hub.crash();
    }

    async fn refuse(&self, call: &PendingCall<CallKey>, status: u16, retry_after_s: u64) -> bool {
        let status = StatusCode::from_u16(status).unwrap_or(StatusCode::SERVICE_UNAVAILABLE);
        let mut response = plain(status, "mcprove: injected HTTP status\n");
        let headers = response.headers_mut();
        headers.insert(RETRY_AFTER, HeaderValue::from(retry_after_s));
        let (parts, body) = response.into_parts();
        self.pass(call, parts, body).await;
        true
    }

    async fn finish(&self, call: &PendingCall<CallKey>) {
        // Where the server gave no answer, there is none for the client.
        if self.answer().await.close() {
            call.fail(ErrorCategory::Disconnected, BROKE_OFF);
        }
    }

    fn over(&self, call: &PendingCall<CallKey>, open: Option<RecordedRequest>) {
        if let Some(stream) = &self.stream {
            stream.stop_taking(&call.key.1, call.is_lost);
        }
        if let Some(open) = open {
            open.fail(ErrorCategory::Disconnected, BROKE_OFF);
        }
    }
}

/// Why a call has no answer.
const BROKE_OFF: &str = "the server broke off before it answered";
