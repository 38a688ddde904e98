//! An event stream in pieces that pass: each event with the very bytes that it came in.

use bytes::{Bytes, BytesMut};
use mcprove_trace::protocol::sse::{Event, EventParser};

use crate::LOOK_BYTES_MAX;

/// Cuts a stream into events, keeping their bytes.
#[derive(Debug, Default)]
pub struct RawEvents {
    buffer: BytesMut,
    /// Bytes at the start of the buffer that were looked at.
    searched: usize,
    /// Whether the line that ends at `searched` is empty so far.
    is_line_empty: bool,
    /// The last byte looked at was a carriage return.
    after_return: bool,
    /// An event that is too long is on its way, and its end has not come yet.
    is_passing_long: bool,
}

/// A piece of a stream.
#[derive(Debug, PartialEq, Eq)]
pub enum Piece {
    /// A whole event, and what it says.
    Event(Bytes, Event),
    /// Bytes that say nothing, such as comments.
    Other(Bytes),
    /// A part of an event that is too long to be read, which passes unseen.
    Long(Bytes),
}

impl RawEvents {
    pub fn new() -> Self {
        Self {
            is_line_empty: true,
            ..Self::default()
        }
    }

    /// Whether the stream is between two events.
    pub fn is_between(&self) -> bool {
        self.buffer.is_empty() && !self.is_passing_long
    }

    /// Adds what arrived.
    pub fn push(&mut self, chunk: &[u8]) {
        self.buffer.extend_from_slice(chunk);
    }

    /// The next piece, or `None` if more has to come first.
    pub fn next_piece(&mut self) -> Option<Piece> {
        let Some(end) = self.find_end() else {
            if self.buffer.len() > LOOK_BYTES_MAX
                || (self.is_passing_long && !self.buffer.is_empty())
            {
                self.is_passing_long = true;
                self.searched = 0;
                return Some(Piece::Long(self.buffer.split().freeze()));
            }
            return None;
        };
        let raw = self.buffer.split_to(end).freeze();
        self.searched = 0;
        self.is_line_empty = true;
        if std::mem::take(&mut self.is_passing_long) {
            return Some(Piece::Long(raw));
        }
        let mut parser = EventParser::new(LOOK_BYTES_MAX + 1);
        parser.push(raw.clone());
        Some(match parser.next_event() {
            Ok(Some(event)) => Piece::Event(raw, event),
            Ok(None) => Piece::Other(raw),
            Err(_) => Piece::Long(raw),
        })
    }

    /// What is left when the stream ends.
    pub fn rest(&mut self) -> Bytes {
        self.searched = 0;
        self.buffer.split().freeze()
    }

    /// Where the event ends: after its empty line. A line feed after a carriage return that ended it
    /// comes with the next, and means nothing there.
    fn find_end(&mut self) -> Option<usize> {
        let mut position = self.searched;
        for byte in self.buffer.get(position..).unwrap_or_default() {
            position += 1;
            let is_second = std::mem::take(&mut self.after_return) && *byte == b'\n';
            if is_second {
                // Of the line break that was seen. One that ended an event is taken along.
                continue;
            }
            if matches!(byte, b'\n' | b'\r') {
                self.after_return = *byte == b'\r';
                if self.is_line_empty {
                    let next = self.buffer.get(position);
                    if self.after_return && next == Some(&b'\n') {
                        position += 1;
                        self.after_return = false;
                    }
                    self.searched = position;
                    return Some(position);
                }
                self.is_line_empty = true;
            } else {
                self.is_line_empty = false;
            }
        }
        self.searched = position;
        None
    }
}

/// An event that carries this message; `id` and `retry` are those of the event in whose place it is.
pub fn encode(message: &[u8], like: Option<&Event>) -> Bytes {
    let mut event = Vec::with_capacity(message.len() + 64);
    if let Some(like) = like {
        if !like.event.is_empty() {
            field(&mut event, b"event", &like.event);
        }
        if let Some(id) = &like.id {
            field(&mut event, b"id", id);
        }
        if let Some(retry) = like.retry_ms {
            field(&mut event, b"retry", retry.to_string().as_bytes());
        }
    }
    for line in message.split(|byte| matches!(byte, b'\n' | b'\r')) {
        field(&mut event, b"data", line);
    }
    event.push(b'\n');
    event.into()
}

fn field(event: &mut Vec<u8>, name: &[u8], value: &[u8]) {
    event.extend_from_slice(name);
    event.extend_from_slice(b": ");
    event.extend_from_slice(value);
    event.push(b'\n');
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn pieces(stream: &[u8], chunk: usize) -> (Vec<u8>, Vec<Event>) {
        let mut events = RawEvents::new();
        let (mut raw, mut seen) = (Vec::new(), Vec::new());
        for part in stream.chunks(chunk.max(1)) {
            events.push(part);
            while let Some(piece) = events.next_piece() {
                match piece {
                    Piece::Event(bytes, event) => {
                        raw.extend_from_slice(&bytes);
                        seen.push(event);
                    }
                    Piece::Other(bytes) | Piece::Long(bytes) => raw.extend_from_slice(&bytes),
                }
            }
        }
        raw.extend_from_slice(&events.rest());
        (raw, seen)
    }

    fn parsed(stream: &[u8]) -> Vec<Event> {
        let mut parser = EventParser::new(usize::MAX);
        parser.push(Bytes::copy_from_slice(stream));
        let mut events = Vec::new();
        while let Ok(Some(event)) = parser.next_event() {
            events.push(event);
        }
        events
    }

    #[test]
    fn an_event_too_long_passes_in_pieces() {
        let mut stream = b"data: ".to_vec();
        stream.resize(LOOK_BYTES_MAX + 50_000, b'x');
        stream.extend_from_slice(b"\n\ndata: next\n\n");
        let (raw, events) = pieces(&stream, 40_000);
        assert!(raw == stream);
        assert_eq!(events.len(), 1);
        assert_eq!(&events[0].data[..], b"next");
    }

    #[test]
    fn what_is_encoded_is_read_back() {
        let like = Event {
            event: "message".into(),
            id: Some("7".into()),
            ..Event::default()
        };
        let event = encode(b"{\"a\":\n1}", Some(&like));
        let read = parsed(&event);
        assert_eq!(&read[0].data[..], b"{\"a\":\n1}");
        assert_eq!(read[0].id.as_deref(), Some(&b"7"[..]));
    }

    proptest! {
        #[test]
        fn bytes_stay_and_events_are_those_of_the_parser(
            lines in proptest::collection::vec(
                ("(data: ?[a-z]{0,4}|id: [0-9]|: ping|event: x|[a-z]{0,3}|)", "(\n|\r\n|\r)"), 0..30),
            chunk in 1_usize..20,
        ) {
            let stream = lines.iter().map(|(line, end)| [line.as_str(), end].concat());
            let stream = stream.collect::<Vec<_>>().concat();
            let (raw, events) = pieces(stream.as_bytes(), chunk);
            prop_assert_eq!(raw, stream.as_bytes().to_vec());
            prop_assert_eq!(events, parsed(stream.as_bytes()));
        }
    }
}
