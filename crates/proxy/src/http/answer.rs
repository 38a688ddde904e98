//! The answer to a call that met a fault: a JSON body, or an event stream where the server answers with one or
//! the fault says more than one thing. Over the transport of 2024-11-05 it comes on the stream that the client
//! opened.

use bytes::Bytes;
use http::header::{CACHE_CONTROL, CONTENT_LENGTH, CONTENT_TYPE};
use http::{HeaderValue, Response, response};
use mcprove_trace::protocol::sse::Event;
use tokio::sync::{mpsc, oneshot};

use super::body::{ProxyBody, Said};
use super::events::encode;
use super::hub::OldStream;

/// How many pieces of a stream wait for a client that does not read.
const SAID_MAX: usize = 64;

/// What the client of a struck call gets.
pub enum Head {
    /// A response.
    Response(Box<Response<ProxyBody>>),
    /// The connection closes.
    Close,
}

/// How far the answer is.
#[derive(Default)]
pub struct Answer {
    head: Option<oneshot::Sender<Head>>,
    /// The head of the server's own answer.
    pub own: Option<response::Parts>,
    /// The event of the server's reply, in whose place ours is.
    pub like: Option<Event>,
    /// What every other event looks like.
    usual: Event,
    /// The stream that was begun.
    said: Option<mpsc::Sender<Said>>,
}

impl Answer {
    /// One that begins with a head.
    pub fn new(head: oneshot::Sender<Head>) -> Self {
        Self {
            head: Some(head),
            ..Self::default()
        }
    }

    /// One on a stream of the transport of 2024-11-05.
    pub fn on(stream: &OldStream) -> Self {
        Self {
            usual: Event {
                event: Bytes::from_static(b"message"),
                ..Event::default()
            },
            said: Some(stream.said.clone()),
            ..Self::default()
        }
    }

    /// Responds, unless something was said.
    pub fn respond(&mut self, parts: response::Parts, body: ProxyBody) {
        if let Some(head) = self.head.take() {
            let response = Response::from_parts(parts, body);
            // A client that is gone is told so elsewhere, here and below.
            let _ = head.send(Head::Response(Box::new(response)));
        }
    }

    /// Begins a stream to the client, unless there is one.
    pub fn begin_stream(&mut self) -> Option<mpsc::Sender<Said>> {
        if self.said.is_none() && self.head.is_some() {
            let (said, receiver) = mpsc::channel(SAID_MAX);
            let mut parts = self.head_of("text/event-stream");
            let no_cache = HeaderValue::from_static("no-cache");
            parts.headers.entry(CACHE_CONTROL).or_insert(no_cache);
            self.respond(parts, ProxyBody::made(receiver));
            self.said = Some(said);
        }
        self.said.clone()
    }

    /// Says the last word.
    pub async fn reply(&mut self, message: Bytes) {
        if let Some(said) = self.said.take() {
            let event = encode(&message, Some(self.like.as_ref().unwrap_or(&self.usual)));
            let _ = said.send(Said::Bytes(event)).await;
        } else {
            let parts = self.head_of("application/json");
            self.respond(parts, ProxyBody::whole(message));
        }
    }

    /// An event that carries something else than the last word.
    pub fn event(&self, message: &[u8]) -> Bytes {
        encode(message, Some(&self.usual))
    }

    /// Says the beginning of the last word, and breaks off.
    pub async fn reply_cut(&mut self, beginning: Bytes) {
        if let Some(said) = self.said.take() {
            let event = [b"data: ", &beginning[..]].concat();
            let _ = said.send(Said::Bytes(event.into())).await;
            let _ = said.send(Said::Break).await;
            return;
        }
        let mut parts = self.head_of("application/json");
        // More is promised than comes.
        let promised = HeaderValue::from(beginning.len().saturating_mul(2).max(1));
        parts.headers.insert(CONTENT_LENGTH, promised);
        self.respond(parts, ProxyBody::cut(beginning));
    }

    /// Breaks off what was begun, or closes the connection.
    pub async fn break_off(&mut self) {
        if let Some(said) = self.said.take() {
            let _ = said.send(Said::Break).await;
        }
        self.close();
    }

    /// Closes the connection of a client that has no answer yet: whether it had none.
    pub fn close(&mut self) -> bool {
        let head = self.head.take();
        head.map(|head| head.send(Head::Close)).is_some()
    }

    /// The head of an answer of ours, like that of the server where there is one.
    fn head_of(&mut self, content_type: &'static str) -> response::Parts {
        let own = self.own.take();
        let mut parts = own.unwrap_or_else(|| Response::new(()).into_parts().0);
        parts.headers.remove(CONTENT_LENGTH);
        let value = HeaderValue::from_static(content_type);
        parts.headers.insert(CONTENT_TYPE, value);
        parts
    }
}
