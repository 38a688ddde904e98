//! One HTTP/1.1 connection, driven by the task that uses it.
//!
//! Written here and not left to a library, for two reasons. A load has thousands of these: an
//! idle one holds no buffers, where hyper's hold 25 KiB and more. And dropping the task that waits
//! closes the socket, which is how a request is abandoned.
//!
//! The body of a response: what it claims to be, and the whole of it within a limit.

use std::cell::RefCell;
use std::future::poll_fn;
use std::pin::Pin;
use std::task::ready;

use http::header::CONTENT_TYPE;
use mcprove_trace::protocol::sse::HEAD_LENGTH;
use tokio::io::ReadBuf;

use super::head::{self, Framing, Taken};
use super::prelude::*;

/// How much is read at once.
const READ_BYTES: usize = 64 * 1024;
/// A connection that has had nothing to do for so long may have been closed for that.
const IDLE_MIN: Duration = Duration::from_millis(50);
/// A buffer of more is not kept while nothing is under way.
const KEPT_BYTES_MAX: usize = 4096;

thread_local! {
    /// What is read goes here first, so that a connection that waits needs no memory for it.
    static ARRIVING: RefCell<Vec<u8>> = RefCell::new(vec![0; READ_BYTES]);
}

/// An open connection.
pub struct Connection {
    wire: Wire,
    /// What has arrived and was not taken yet.
    received: BytesMut,
    /// The body of the response under way.
    framing: Framing,
    /// Whether another request may follow the response under way.
    stays_open: bool,
    /// How many responses it has carried to their end.
    answers: u32,
    /// Since when it has nothing to do.
    idle_since: Option<Instant>,
}

/// What a connection has behind it that may be reused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Kept {
    /// How many responses it has carried.
    pub answers: u32,
    /// How long it has had nothing to do.
    pub idle: Duration,
}

/// What a server was seen to do with connections that are kept: it may close them whenever it likes, and what is sent
/// at that moment is lost. So none is used as long again as one that it closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeepLimits {
    answers_max: u32,
    idle_max: Duration,
}

impl Default for KeepLimits {
    fn default() -> Self {
        Self {
            answers_max: u32::MAX,
            idle_max: Duration::MAX,
        }
    }
}

impl KeepLimits {
    /// Learns from a connection that the server closed: it had been idle for a while, or had carried enough.
    pub fn learn(&mut self, closed: Kept) {
        if closed.idle >= IDLE_MIN {
            self.idle_max = self.idle_max.min(closed.idle / 2);
        } else {
            self.answers_max = self.answers_max.min(closed.answers);
        }
    }

    /// Whether a connection may carry another request.
    pub fn allow(&self, kept: Kept) -> bool {
        kept.answers < self.answers_max && kept.idle < self.idle_max
    }
}

/// Why a request got no response.
pub struct NoResponse {
    pub failure: Failure,
    /// Nothing was sent: the connection was found closed. A request that was sent may have been
    /// acted upon, even if nothing came back, and must not be sent twice.
    pub is_unsent: bool,
    /// The connection ended, and nothing at all came back.
    pub is_silent: bool,
}

impl From<NoResponse> for Failure {
    fn from(error: NoResponse) -> Self {
        error.failure
    }
}

/// A request on its way.
#[derive(Default)]
struct Sending {
    bytes: Vec<u8>,
    sent: usize,
    is_flushed: bool,
    /// Why no more of it can be sent. The server may have said something before.
    broken: Option<io::Error>,
}

impl Connection {
    /// Dials `address`.
    pub async fn open(address: &Address, options: &HttpOptions) -> Result<Self, Failure> {
        Ok(Self {
            wire: address.dial(options).await?,
            received: BytesMut::new(),
            framing: Framing::Length(0),
            stays_open: true,
            answers: 0,
            idle_since: None,
        })
    }

    /// Sends `request` and waits for the head of the response.
    pub async fn send(&mut self, request: &Request<'_>) -> Result<Head, NoResponse> {
        let is_usable = poll_fn(|context| Poll::Ready(self.poll_unasked(context))).await;
        let mut sending = Sending {
            bytes: request.encode(),
            ..Sending::default()
        };
        // Until the response has been read to its end.
        self.stays_open = false;
        let response = if is_usable {
            let mut searched = 0;
            poll_fn(|context| self.poll_response(&mut sending, &mut searched, context)).await
        } else {
            Err(closed(None))
        };
        match response {
            Ok(head) => {
                self.framing = head.framing;
                // A server that answers before it has read everything will not read on.
                self.stays_open = head.stays_open && sending.is_flushed;
                Ok(head)
            }
            Err(failure) => {
                let is_closed = failure.category == ErrorCategory::Disconnected;
                Err(NoResponse {
                    is_unsent: sending.sent == 0 && is_closed,
                    is_silent: self.received.is_empty() && is_closed,
                    failure,
                })
            }
        }
    }

    /// The next piece of the response's body; `None` at its end. Dropping the future loses nothing.
    pub async fn next_chunk(&mut self) -> Result<Option<Bytes>, Failure> {
        loop {
            match self.framing.take(&mut self.received) {
                Ok(Taken::Piece(piece)) => return Ok(Some(piece)),
                Ok(Taken::End) => {
                    self.rest_a_while();
                    return Ok(None);
                }
                Ok(Taken::Nothing) => {}
                Err(why) => {
                    self.stays_open = false;
                    return Err(no_http(&why));
                }
            }
            match poll_fn(|context| self.poll_receive(context)).await {
                Ok(0) if self.framing == Framing::UntilClose => {
                    self.framing = Framing::Length(0);
                }
                Ok(1..) => {}
                end => {
                    self.stays_open = false;
                    return Err(closed(end.err().as_ref()));
                }
            }
        }
    }

    /// At least this many bytes of the response's body are still to come.
    pub fn rest_of_body(&self) -> u64 {
        self.framing.rest()
    }

    /// Waits for `future` while keeping an eye on the connection; `None` if it closes first.
    pub async fn unless_closed<F: Future + Unpin>(&mut self, mut future: F) -> Option<F::Output> {
        poll_fn(|context| {
            if let Poll::Ready(output) = Pin::new(&mut future).poll(context) {
                return Poll::Ready(Some(output));
            }
            if self.poll_unasked(context) {
                Poll::Pending
            } else {
                Poll::Ready(None)
            }
        })
        .await
    }

    /// Whether another request can be sent, as far as we know.
    pub fn is_open(&self) -> bool {
        self.stays_open && self.framing == Framing::Length(0)
    }

    /// How much it has been kept for, as a reason for the server to close it.
    pub fn kept(&self) -> Kept {
        Kept {
            answers: self.answers,
            idle: self
                .idle_since
                .map_or(Duration::ZERO, |since| since.elapsed()),
        }
    }

    /// Whether nothing came that was not asked for, neither an end nor a word.
    fn poll_unasked(&mut self, context: &mut Context<'_>) -> bool {
        if self.is_open() && (!self.received.is_empty() || self.poll_receive(context).is_ready()) {
            self.stays_open = false;
        }
        self.is_open()
    }

    /// Sends what is left of a request and looks for the head of the response, which may come
    /// before all of it is sent.
    fn poll_response(
        &mut self,
        sending: &mut Sending,
        searched: &mut usize,
        context: &mut Context<'_>,
    ) -> Poll<Result<Head, Failure>> {
        sending.poll_on(&mut self.wire, context);
        if sending.sent == 0 && sending.broken.is_some() {
            return Poll::Ready(Err(closed(sending.broken.as_ref())));
        }
        loop {
            let end = match ready!(self.poll_receive(context)) {
                Ok(0) => closed(sending.broken.as_ref()),
                Ok(_) => match head::take(&mut self.received, searched) {
                    Ok(Some(head)) => return Poll::Ready(Ok(head)),
                    Ok(None) => continue,
                    Err(why) => no_http(&why),
                },
                Err(error) => closed(Some(&error)),
            };
            return Poll::Ready(Err(end));
        }
    }

    /// Takes over what has arrived, and tells how much; 0 is the end.
    fn poll_receive(&mut self, context: &mut Context<'_>) -> Poll<io::Result<usize>> {
        ARRIVING.with_borrow_mut(|arriving| {
            let mut buffer = ReadBuf::new(arriving);
            ready!(Pin::new(&mut self.wire).poll_read(context, &mut buffer))?;
            self.received.extend_from_slice(buffer.filled());
            Poll::Ready(Ok(buffer.filled().len()))
        })
    }

    /// A response is over.
    fn rest_a_while(&mut self) {
        self.framing = Framing::Length(0);
        self.answers = self.answers.saturating_add(1);
        self.idle_since = Some(Instant::now());
        if self.received.is_empty() && self.received.capacity() > KEPT_BYTES_MAX {
            self.received = BytesMut::new();
        }
    }
}

impl Sending {
    /// Sends as much as the socket takes.
    fn poll_on(&mut self, wire: &mut Wire, context: &mut Context<'_>) {
        while let Some(rest) = self.bytes.get(self.sent..).filter(|rest| !rest.is_empty())
            && self.broken.is_none()
        {
            match Pin::new(&mut *wire).poll_write(context, rest) {
                Poll::Ready(Ok(0)) => self.broken = Some(io::ErrorKind::WriteZero.into()),
                Poll::Ready(Ok(count)) => self.sent += count,
                Poll::Ready(Err(error)) => self.broken = Some(error),
                Poll::Pending => return,
            }
        }
        if !self.is_flushed && self.broken.is_none() {
            match Pin::new(wire).poll_flush(context) {
                Poll::Ready(Ok(())) => self.is_flushed = true,
                Poll::Ready(Err(error)) => self.broken = Some(error),
                Poll::Pending => {}
            }
        }
    }
}

fn no_http(why: &str) -> Failure {
    let message = format!("the server did not answer in HTTP/1.1: {why}");
    Failure::malformed(message)
}

fn closed(error: Option<&io::Error>) -> Failure {
    let mut message = "the connection closed before the answer was complete".to_owned();
    if let Some(error) = error {
        message = format!("{message}: {error}");
    }
    Failure::disconnected(message).of_limit(error.and_then(OwnLimit::of))
}

/// How much memory is set aside for a body on the word of its `Content-Length`.
const MAX_RESERVE: u64 = 1024 * 1024;

/// Reads a whole body of `limit` bytes at most.
pub async fn read_body(connection: &mut Connection, limit: usize) -> Result<Bytes, Failure> {
    let Some(first) = connection.next_chunk().await? else {
        return Ok(Bytes::new());
    };
    check_size(&first, limit)?;
    // A short answer arrives in one piece, and is passed on as it is.
    let Some(second) = connection.next_chunk().await? else {
        return Ok(first);
    };
    let rest = connection.rest_of_body().min(MAX_RESERVE);
    let capacity = first.len() + second.len() + usize::try_from(rest).unwrap_or(0);
    let mut whole = BytesMut::with_capacity(capacity);
    whole.extend_from_slice(&first);
    whole.extend_from_slice(&second);
    check_size(&whole, limit)?;
    while let Some(chunk) = connection.next_chunk().await? {
        whole.extend_from_slice(&chunk);
        check_size(&whole, limit)?;
    }
    Ok(whole.freeze())
}

fn check_size(body: &[u8], limit: usize) -> Result<(), Failure> {
    if body.len() <= limit {
        return Ok(());
    }
    let head = body.get(..HEAD_LENGTH).unwrap_or(body);
    let head = Bytes::copy_from_slice(head);
    Err(Failure::oversized(body.len() as u64, limit, head))
}

/// What a response says its body is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ContentType {
    Json,
    Events,
    Other,
}

pub fn content_type(headers: &HeaderMap) -> ContentType {
    let value = headers
        .get(CONTENT_TYPE)
        .map_or(&b""[..], |value| value.as_bytes());
    let end = memchr::memchr(b';', value).unwrap_or(value.len());
    let essence = value.get(..end).unwrap_or(value).trim_ascii();
    if essence.eq_ignore_ascii_case(b"application/json") {
        ContentType::Json
    } else if essence.eq_ignore_ascii_case(b"text/event-stream") {
        ContentType::Events
    } else {
        ContentType::Other
    }
}
