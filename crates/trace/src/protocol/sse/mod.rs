//! Server-Sent Events, read as they arrive.
//!
//! [`EventParser`] takes the chunks of an HTTP body and gives back events, by the rules that
//! browsers follow. It holds one event at most, and no more of it than its limit: a stream that
//! never ends its event ends in [`EventTooLarge`]. The HTTP transports come before it, with
//! bytes, and after it, with messages.

use bytes::{Buf, Bytes, BytesMut};

/// How much of an event over the limit is kept, to find out what it was.
pub const HEAD_LENGTH: usize = 4096;

const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// One event.
///
/// Browsers pass over a block that has no `data` line. It is an event here, with empty data, if
/// it has an `id` or a `retry` line: a client that resumes streams wants both.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Event {
    /// The type of the event; empty means `message`.
    pub event: Bytes,
    /// The data lines, joined by a line feed.
    pub data: Bytes,
    /// The `id` line; empty means that the last id is to be forgotten.
    pub id: Option<Bytes>,
    /// The `retry` line: how long to wait before reconnecting.
    pub retry_ms: Option<u64>,
}

impl Event {
    /// Whether this is an event of the default type, the only one that carries MCP messages.
    pub fn is_message(&self) -> bool {
        self.event.is_empty() || self.event == b"message"[..]
    }
}

/// An event over the limit.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("an event of {size} bytes or more, over the limit of {limit}; raise the frame limit")]
pub struct EventTooLarge {
    /// Bytes read of the event.
    pub size: u64,
    /// The limit.
    pub limit: usize,
    /// The first bytes of its data, [`HEAD_LENGTH`] at most.
    pub head: Bytes,
}

/// An incremental parser: push a chunk, then take events until there is none.
///
/// ```
/// use mcprove_trace::protocol::sse::EventParser;
///
/// let mut parser = EventParser::new(1024);
/// parser.push("id: 7\ndata: {}\n\ndata: unfini".into());
/// let event = parser.next_event().unwrap().unwrap();
/// assert_eq!((&event.data[..], event.id.as_deref()), (&b"{}"[..], Some(&b"7"[..])));
/// assert_eq!(parser.next_event().unwrap(), None);
/// ```
#[derive(Debug, Default)]
pub struct EventParser {
    limit: usize,
    /// What was pushed and not read yet.
    chunk: Bytes,
    /// The beginning of a line whose end is not here yet.
    partial: BytesMut,
    /// The last line ended with a carriage return: a line feed after it belongs to it.
    after_return: bool,
    at_start: bool,
    block: Event,
    data: Data,
    failed: Option<EventTooLarge>,
}

/// The data lines so far. A single line, the usual case, stays a slice of its chunk.
#[derive(Debug, Default)]
enum Data {
    #[default]
    None,
    Line(Bytes),
    Lines(BytesMut),
}

impl EventParser {
    /// A parser for one stream, whose events hold `limit` bytes at most.
    pub fn new(limit: usize) -> Self {
        Self {
            limit,
            at_start: true,
            ..Self::default()
        }
    }

    /// Adds what arrived. Take all events before pushing again; what is left is copied.
    pub fn push(&mut self, chunk: Bytes) {
        if self.chunk.is_empty() {
            self.chunk = chunk;
        } else {
            let mut joined = BytesMut::from(std::mem::take(&mut self.chunk));
            joined.extend_from_slice(&chunk);
            self.chunk = joined.freeze();
        }
    }

    /// The next whole event, or `None` if more has to be pushed first. After an error the
    /// parser stays in it.
    pub fn next_event(&mut self) -> Result<Option<Event>, EventTooLarge> {
        if let Some(failed) = &self.failed {
            return Err(failed.clone());
        }
        loop {
            let Some(line) = self.next_line() else {
                return self.check(None).map(|()| None);
            };
            self.check(Some(&line))?;
            if line.is_empty() {
                if let Some(event) = self.take_block() {
                    return Ok(Some(event));
                }
            } else {
                self.read_line(&line);
            }
        }
    }

    fn next_line(&mut self) -> Option<Bytes> {
        if self.after_return
            && let Some(first) = self.chunk.first()
        {
            self.after_return = false;
            if *first == b'\n' {
                self.chunk.advance(1);
            }
        }
        let Some(end) = memchr::memchr2(b'\n', b'\r', &self.chunk) else {
            self.partial.extend_from_slice(&self.chunk);
            self.chunk.clear();
            return None;
        };
        let mut line = self.chunk.split_to(end);
        self.after_return = self.chunk.first() == Some(&b'\r');
        self.chunk.advance(1);
        if !self.partial.is_empty() {
            self.partial.extend_from_slice(&line);
            line = std::mem::take(&mut self.partial).freeze();
        }
        if std::mem::take(&mut self.at_start) && line.starts_with(BYTE_ORDER_MARK) {
            line.advance(BYTE_ORDER_MARK.len());
        }
        Some(line)
    }

    fn read_line(&mut self, line: &Bytes) {
        let (field, value) = split_field(line);
        match field {
            b"data" => {
                let value = line.slice_ref(value);
                self.data = match std::mem::take(&mut self.data) {
                    Data::None => Data::Line(value),
                    Data::Line(first) => {
                        let mut lines = BytesMut::with_capacity(first.len() + value.len() + 1);
                        lines.extend_from_slice(&first);
                        Data::Lines(lines).and(&value)
                    }
                    lines @ Data::Lines(_) => lines.and(&value),
                };
            }
            // Small values are copied: a slice would keep the whole chunk in memory.
            b"event" => self.block.event = Bytes::copy_from_slice(value),
            b"id" if !value.contains(&0) => self.block.id = Some(Bytes::copy_from_slice(value)),
            b"retry" => self.block.retry_ms = parse_digits(value).or(self.block.retry_ms),
            _ => {}
        }
    }

    fn take_block(&mut self) -> Option<Event> {
        let block = std::mem::take(&mut self.block);
        let data = match std::mem::take(&mut self.data) {
            Data::None if block.id.is_none() && block.retry_ms.is_none() => return None,
            Data::None => Bytes::new(),
            Data::Line(line) => line,
            Data::Lines(lines) => lines.freeze(),
        };
        Some(Event { data, ..block })
    }

    /// Fails if the event is over the limit with this further line, or the partial one.
    fn check(&mut self, line: Option<&Bytes>) -> Result<(), EventTooLarge> {
        let line = line.map_or(&self.partial[..], |line| &line[..]);
        let id = self.block.id.as_ref().map_or(0, Bytes::len);
        let size = self.data.as_slice().len() + self.block.event.len() + id + line.len();
        if size <= self.limit {
            return Ok(());
        }
        let head = match self.data.as_slice() {
            [] => match split_field(line) {
                (b"data", value) => value,
                _ => line,
            },
            data => data,
        };
        let failed = EventTooLarge {
            size: size as u64,
            limit: self.limit,
            head: Bytes::copy_from_slice(head.get(..HEAD_LENGTH).unwrap_or(head)),
        };
        self.failed = Some(failed.clone());
        self.chunk = Bytes::new();
        self.partial = BytesMut::new();
        self.data = Data::None;
        Err(failed)
    }
}

impl Data {
    fn and(self, line: &[u8]) -> Self {
        match self {
            Self::Lines(mut lines) => {
                lines.extend_from_slice(b"\n");
                lines.extend_from_slice(line);
                Self::Lines(lines)
            }
            other => other,
        }
    }

    fn as_slice(&self) -> &[u8] {
        match self {
            Self::None => &[],
            Self::Line(line) => line,
            Self::Lines(lines) => lines,
        }
    }
}

fn split_field(line: &[u8]) -> (&[u8], &[u8]) {
    let Some(colon) = memchr::memchr(b':', line) else {
        return (line, &[]);
    };
    let (field, rest) = line.split_at(colon);
    let value = rest.get(1..).unwrap_or_default();
    (field, value.strip_prefix(b" ").unwrap_or(value))
}

fn parse_digits(value: &[u8]) -> Option<u64> {
    let digits = !value.is_empty() && value.iter().all(u8::is_ascii_digit);
    digits
        .then(|| std::str::from_utf8(value).ok()?.parse().ok())
        .flatten()
}

#[cfg(test)]
mod tests;
