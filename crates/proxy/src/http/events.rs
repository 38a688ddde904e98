//! An event stream in pieces that pass: each event with the very bytes that it came in.
//!
//! Which headers go on, and which are between two neighbours only.

use http::HeaderMap;
use http::header::{CONTENT_ENCODING, TE, UPGRADE};
use mcprove_trace::protocol::sse::EventParser;

use super::prelude::*;

/// Cuts a stream into events, keeping their bytes.
#[derive(Debug, Default)]
pub struct RawEvents {
    buffer: BytesMut,
    /// Bytes at the start of the buffer that were looked at.
    searched: usize,
    /// Whether the line that ends at `searched` has any text so far.
    has_text: bool,
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
                if !std::mem::take(&mut self.has_text) {
                    let next = self.buffer.get(position);
                    if self.after_return && next == Some(&b'\n') {
                        position += 1;
                        self.after_return = false;
                    }
                    self.searched = position;
                    return Some(position);
                }
            } else {
                self.has_text = true;
            }
        }
        self.searched = position;
        None
    }
}

/// An event that carries this message; `id` and `retry` are those of the event in whose place it is.
pub fn encode(message: &[u8], like: &Event) -> Bytes {
    let mut event = Vec::with_capacity(message.len() + 64);
    if !like.event.is_empty() {
        field(&mut event, b"event", &like.event);
    }
    if let Some(id) = &like.id {
        field(&mut event, b"id", id);
    }
    if let Some(retry) = like.retry_ms {
        field(&mut event, b"retry", retry.to_string().as_bytes());
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

/// The headers that RFC 9110 keeps between neighbours, and `Keep-Alive` and `Proxy-Connection`, which
/// older peers use so.
const HOP_BY_HOP: [HeaderName; 6] = [
    CONNECTION,
    TE,
    TRANSFER_ENCODING,
    UPGRADE,
    HeaderName::from_static("keep-alive"),
    HeaderName::from_static("proxy-connection"),
];

/// Takes away what is between neighbours, and what `Connection` says is.
pub fn remove_hop_by_hop(headers: &mut HeaderMap) {
    if headers.contains_key(CONNECTION) {
        let named: Vec<HeaderName> = headers
            .get_all(CONNECTION)
            .iter()
            .filter_map(|value| value.to_str().ok())
            .flat_map(|value| value.split(','))
            .filter_map(|name| name.trim().parse().ok())
            .collect();
        for name in named {
            headers.remove(name);
        }
    }
    for name in &HOP_BY_HOP {
        headers.remove(name);
    }
}

/// What a body claims to be; one that is compressed is nothing that can be read.
pub fn body_kind(headers: &HeaderMap) -> ContentType {
    let is_plain = headers
        .get(CONTENT_ENCODING)
        .is_none_or(|encoding| encoding.as_bytes().eq_ignore_ascii_case(b"identity"));
    if is_plain {
        content_type(headers)
    } else {
        ContentType::Other
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn pieces(stream: &[u8], chunk: usize) -> (Vec<u8>, Vec<Event>) {
        let mut events = RawEvents::default();
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
        let event = encode(b"{\"a\":\n1}", &like);
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

#[cfg(test)]
mod headers_tests {
    use http::HeaderValue;

    use super::*;

    #[test]
    fn only_what_is_between_neighbours_is_taken_away() {
        let mut headers = HeaderMap::new();
        for (name, value) in [
            ("connection", "close, x-mine"),
            ("x-mine", "1"),
            ("keep-alive", "timeout=5"),
            ("transfer-encoding", "chunked"),
            ("set-cookie", "a"),
            ("set-cookie", "b"),
            ("authorization", "Bearer t"),
        ] {
            headers.append(
                HeaderName::from_static(name),
                HeaderValue::from_static(value),
            );
        }
        remove_hop_by_hop(&mut headers);
        let left: Vec<_> = headers.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(left, ["set-cookie", "set-cookie", "authorization"]);
    }

    #[test]
    fn bodies_are_what_they_say() {
        for (kind, content_type, encoding) in [
            (ContentType::Json, "application/json; charset=utf-8", ""),
            (ContentType::Events, "Text/Event-Stream", "identity"),
            (ContentType::Other, "application/json", "gzip"),
            (ContentType::Other, "text/plain", ""),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
            if !encoding.is_empty() {
                headers.insert(CONTENT_ENCODING, HeaderValue::from_static(encoding));
            }
            assert_eq!(body_kind(&headers), kind, "{content_type} {encoding}");
        }
    }
}
