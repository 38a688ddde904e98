//! The beginning of a message: how a request is written, and what a response says of itself.
//!
//! Where a body ends, and taking it off what arrives: RFC 9112, sections 6 and 7.

use std::mem::MaybeUninit;

use bytes::Buf;
use http::header::{
    CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, LOCATION, RETRY_AFTER, TRANSFER_ENCODING,
    WWW_AUTHENTICATE,
};

use super::headers::SESSION_ID;
use super::post::RETRY_AFTER_MS;
use super::prelude::*;

/// How long the beginning of a response may be.
const HEAD_BYTES_MAX: usize = 256 * 1024;
/// How many headers a response may have.
const HEADERS_MAX: usize = 100;
/// What anyone asks of a response; the rest of its headers is not kept.
const KEPT: [HeaderName; 7] = [
    CONTENT_TYPE,
    CONTENT_ENCODING,
    LOCATION,
    SESSION_ID,
    RETRY_AFTER,
    RETRY_AFTER_MS,
    WWW_AUTHENTICATE,
];
/// How every response begins.
const START: &[u8] = b"HTTP/";

/// A request as it is sent.
#[derive(Clone, Copy)]
pub struct Request<'a> {
    pub method: &'a Method,
    pub path: &'a Uri,
    pub headers: &'a HeaderMap,
    /// Headers of this request alone.
    pub own: &'a [(HeaderName, HeaderValue)],
    pub body: &'a [u8],
}

impl<'a> Request<'a> {
    /// A request without a body.
    pub fn new(method: &'a Method, path: &'a Uri, headers: &'a HeaderMap) -> Self {
        Self {
            method,
            path,
            headers,
            own: &[],
            body: b"",
        }
    }

    /// The request's bytes.
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(512 + self.body.len());
        bytes.extend_from_slice(self.method.as_str().as_bytes());
        bytes.push(b' ');
        let path = self.path.path_and_query().map_or("/", |path| path.as_str());
        bytes.extend_from_slice(path.as_bytes());
        bytes.extend_from_slice(b" HTTP/1.1\r\n");
        let own = self.own.iter().map(|(name, value)| (name, value));
        for (name, value) in self.headers.iter().chain(own) {
            // How long the body is, is for us to say.
            if name != CONTENT_LENGTH && name != TRANSFER_ENCODING {
                bytes.extend_from_slice(name.as_str().as_bytes());
                bytes.extend_from_slice(b": ");
                bytes.extend_from_slice(value.as_bytes());
                bytes.extend_from_slice(b"\r\n");
            }
        }
        if self.method != Method::GET || !self.body.is_empty() {
            bytes.extend_from_slice(b"content-length: ");
            bytes.extend_from_slice(itoa::Buffer::new().format(self.body.len()).as_bytes());
            bytes.extend_from_slice(b"\r\n");
        }
        bytes.extend_from_slice(b"\r\n");
        bytes.extend_from_slice(self.body);
        bytes
    }
}

/// What a response says before its body, and what that means for the connection.
#[derive(Debug)]
pub struct Head {
    pub status: StatusCode,
    /// Those of the headers that someone asks for.
    pub headers: HeaderMap,
    pub framing: Framing,
    /// Whether the server means to take another request after this one.
    pub stays_open: bool,
}

/// Takes the head of the final response off `bytes`; `None` if it is not whole yet. `searched` is
/// how much of them was looked at before, so that a head that comes byte by byte costs no more.
pub fn take(bytes: &mut BytesMut, searched: &mut usize) -> Result<Option<Head>, String> {
    loop {
        let blank = bytes.iter().take_while(|byte| b"\r\n".contains(byte));
        let blank = blank.count();
        bytes.advance(blank);
        *searched = searched.saturating_sub(blank);
        let start = bytes.len().min(START.len());
        if bytes.get(..start) != START.get(..start) {
            return Err("it does not begin with HTTP/".to_owned());
        }
        let Some(end) = end_of_head(bytes, *searched) else {
            *searched = bytes.len().saturating_sub(2);
            if bytes.len() > HEAD_BYTES_MAX {
                return Err(format!(
                    "headers of more than {} KiB",
                    HEAD_BYTES_MAX / 1024
                ));
            }
            return Ok(None);
        };
        let head = parse(bytes.get(..end).unwrap_or(bytes))?;
        bytes.advance(end);
        *searched = 0;
        // What is only a sign of life is not the response. A switch of protocols is its own end.
        let status = head.status;
        if !status.is_informational() || status == StatusCode::SWITCHING_PROTOCOLS {
            return Ok(Some(head));
        }
    }
}

/// Where the empty line ends that ends a head.
fn end_of_head(bytes: &[u8], from: usize) -> Option<usize> {
    let tail = bytes.get(from..)?;
    memchr::memchr_iter(b'\n', tail).find_map(|line| {
        let next = from + line + 1;
        match bytes.get(next..)? {
            [b'\n', ..] => Some(next + 1),
            [b'\r', b'\n', ..] => Some(next + 2),
            _ => None,
        }
    })
}

fn parse(bytes: &[u8]) -> Result<Head, String> {
    let mut headers = [const { MaybeUninit::uninit() }; HEADERS_MAX];
    let mut response = httparse::Response::new(&mut []);
    let parsed = httparse::ParserConfig::default().parse_response_with_uninit_headers(
        &mut response,
        bytes,
        &mut headers,
    );
    match parsed {
        Ok(httparse::Status::Complete(_)) => {}
        Ok(httparse::Status::Partial) => return Err("its head is incomplete".to_owned()),
        Err(error) => return Err(error.to_string()),
    }
    let code = response.code.unwrap_or_default();
    let status = StatusCode::from_u16(code)
        .map_err(|_| format!("{code} is not the status of a response"))?;
    let mut facts = Facts {
        stays_open: response.version == Some(1),
        ..Facts::default()
    };
    let mut kept = HeaderMap::new();
    for header in response.headers.iter() {
        if header.name.eq_ignore_ascii_case("content-length") {
            facts.note_length(header.value)?;
        } else if header.name.eq_ignore_ascii_case("transfer-encoding") {
            facts.note_encoding(header.value);
        } else if header.name.eq_ignore_ascii_case("connection") {
            facts.note_connection(header.value);
        } else if let Some(name) = KEPT
            .iter()
            .find(|name| name.as_str().eq_ignore_ascii_case(header.name))
        {
            let value = HeaderValue::from_bytes(header.value)
                .map_err(|_| format!("its header {name} has a value that none can have"))?;
            kept.append(name, value);
        }
    }
    let framing = facts.framing(status);
    Ok(Head {
        stays_open: facts.stays_open
            && !matches!(framing, Framing::UntilClose)
            && !status.is_informational(),
        status,
        headers: kept,
        framing,
    })
}

/// What the headers say of the body and of what comes after it.
#[derive(Default)]
struct Facts {
    length: Option<u64>,
    is_encoded: bool,
    is_chunked: bool,
    stays_open: bool,
}

impl Facts {
    /// The same length may be said several times, in one header or in many.
    fn note_length(&mut self, value: &[u8]) -> Result<(), String> {
        for part in value.split(|byte| *byte == b',') {
            let length = number(part.trim_ascii())
                .filter(|length| self.length.is_none_or(|known| known == *length))
                .ok_or_else(|| {
                    let value = String::from_utf8_lossy(value);
                    format!("its content-length {value:?} is not a length")
                })?;
            self.length = Some(length);
        }
        Ok(())
    }

    fn note_encoding(&mut self, value: &[u8]) {
        self.is_encoded = true;
        self.is_chunked = value
            .rsplit(|byte| *byte == b',')
            .next()
            .is_some_and(|last| last.trim_ascii().eq_ignore_ascii_case(b"chunked"));
    }

    fn note_connection(&mut self, value: &[u8]) {
        for token in value.split(|byte| *byte == b',').map(<[u8]>::trim_ascii) {
            if token.eq_ignore_ascii_case(b"close") {
                self.stays_open = false;
            } else if token.eq_ignore_ascii_case(b"keep-alive") {
                self.stays_open = true;
            }
        }
    }

    /// How the end of the body is found: RFC 9112, section 6.3.
    fn framing(&self, status: StatusCode) -> Framing {
        let has_no_body = status.is_informational()
            || status == StatusCode::NO_CONTENT
            || status == StatusCode::NOT_MODIFIED;
        if has_no_body {
            Framing::Length(0)
        } else if self.is_chunked {
            Framing::chunked()
        } else if self.is_encoded {
            Framing::UntilClose
        } else {
            self.length.map_or(Framing::UntilClose, Framing::Length)
        }
    }
}

/// Digits and nothing else.
fn number(bytes: &[u8]) -> Option<u64> {
    let text = std::str::from_utf8(bytes).ok()?;
    let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| text.parse().ok()).flatten()
}

/// How much is shown of a line that gives no size.
const LINE_CHARACTERS_SHOWN: usize = 40;
/// How long the line may be that gives the size of a chunk.
const SIZE_LINE_MAX: usize = 4096;
/// How many bytes may follow the last chunk.
const TRAILER_BYTES_MAX: usize = 64 * 1024;
/// Up to this a piece is copied, so that what is left of the buffer can be used again.
const COPIED_MAX: usize = 4096;

/// How the end of a body is found, and how far it was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Framing {
    /// This many bytes are left.
    Length(u64),
    Chunked(Chunks),
    /// All that comes until the connection closes.
    UntilClose,
}

/// What comes next of a body in chunks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Chunks {
    Size,
    /// This much of a chunk.
    Data(u64),
    /// The end of its line.
    DataEnd,
    /// What follows the last chunk, of which this much was read.
    Trailers(usize),
    Over,
}

#[derive(Debug, PartialEq, Eq)]
pub enum Taken {
    Piece(Bytes),
    /// More has to arrive first.
    Nothing,
    /// The body is over.
    End,
}

impl Framing {
    pub fn chunked() -> Self {
        Self::Chunked(Chunks::Size)
    }

    /// At least this many bytes are still to come.
    pub fn rest(&self) -> u64 {
        match *self {
            Self::Length(left) | Self::Chunked(Chunks::Data(left)) => left,
            Self::Chunked(_) | Self::UntilClose => 0,
        }
    }

    /// Takes the next piece of the body off `bytes`.
    pub fn take(&mut self, bytes: &mut BytesMut) -> Result<Taken, String> {
        match self {
            Self::Length(0) | Self::Chunked(Chunks::Over) => Ok(Taken::End),
            _ if bytes.is_empty() => Ok(Taken::Nothing),
            Self::Length(left) => Ok(Taken::Piece(take_up_to(left, bytes))),
            Self::UntilClose => Ok(Taken::Piece(split(bytes, bytes.len()))),
            Self::Chunked(chunks) => chunks.take(bytes),
        }
    }
}

impl Chunks {
    fn take(&mut self, bytes: &mut BytesMut) -> Result<Taken, String> {
        loop {
            let (length_max, what) = match *self {
                Self::Over => return Ok(Taken::End),
                Self::Data(_) if bytes.is_empty() => return Ok(Taken::Nothing),
                Self::Data(mut left) => {
                    let piece = take_up_to(&mut left, bytes);
                    *self = match left {
                        0 => Self::DataEnd,
                        left => Self::Data(left),
                    };
                    return Ok(Taken::Piece(piece));
                }
                Self::Size => (SIZE_LINE_MAX, "the size of a chunk"),
                Self::DataEnd => (0, "the end of a chunk"),
                Self::Trailers(read) => {
                    let room = TRAILER_BYTES_MAX.saturating_sub(read);
                    (room, "what follows the last chunk")
                }
            };
            let Some(line) = take_line(bytes, length_max, what)? else {
                return Ok(Taken::Nothing);
            };
            *self = match *self {
                Self::Size => match size_of_chunk(&line)? {
                    0 => Self::Trailers(0),
                    size => Self::Data(size),
                },
                Self::Trailers(read) if !line.is_empty() => Self::Trailers(read + line.len()),
                Self::Trailers(_) => Self::Over,
                _ if line.is_empty() => Self::Size,
                _ => return Err("a chunk is longer than it says".to_owned()),
            };
        }
    }
}

/// Takes a line without its end; `None` if it is not whole yet.
fn take_line(bytes: &mut BytesMut, length_max: usize, what: &str) -> Result<Option<Bytes>, String> {
    let end = memchr::memchr(b'\n', bytes);
    // A carriage return does not count.
    if end.unwrap_or(bytes.len()) > length_max + 1 {
        return Err(format!("{what} is longer than it may be"));
    }
    let Some(end) = end else {
        return Ok(None);
    };
    let line = split(bytes, end);
    bytes.advance(1);
    let length = line.strip_suffix(b"\r").map_or(line.len(), <[u8]>::len);
    Ok(Some(line.slice(..length)))
}

/// The hexadecimal number that a chunk begins with; what follows a semicolon is passed over.
fn size_of_chunk(line: &[u8]) -> Result<u64, String> {
    let end = memchr::memchr(b';', line).unwrap_or(line.len());
    let digits = line.get(..end).unwrap_or(line).trim_ascii();
    let is_number = !digits.is_empty() && digits.iter().all(u8::is_ascii_hexdigit);
    std::str::from_utf8(digits)
        .ok()
        .filter(|_| is_number)
        .and_then(|digits| u64::from_str_radix(digits, 16).ok())
        .ok_or_else(|| {
            let start = shorten_bytes(line, LINE_CHARACTERS_SHOWN);
            format!("{start:?} is not the size of a chunk")
        })
}

/// Takes what is there of `left` bytes, and counts it.
fn take_up_to(left: &mut u64, bytes: &mut BytesMut) -> Bytes {
    let length = usize::try_from(*left).map_or(bytes.len(), |left| left.min(bytes.len()));
    *left -= length as u64;
    split(bytes, length)
}

fn split(bytes: &mut BytesMut, length: usize) -> Bytes {
    if length > COPIED_MAX {
        return bytes.split_to(length).freeze();
    }
    let piece = Bytes::copy_from_slice(bytes.get(..length).unwrap_or(bytes));
    bytes.advance(length);
    piece
}

#[cfg(test)]
mod tests {
    use super::*;

    fn whole(text: &str) -> Result<Head, String> {
        let mut bytes = BytesMut::from(text);
        let parsed = take(&mut bytes, &mut 0)?;
        assert!(bytes.is_empty(), "{bytes:?}");
        Ok(parsed.expect("a whole head"))
    }

    #[test]
    fn a_request_says_how_long_it_is() {
        let mut headers = HeaderMap::new();
        headers.insert("host", HeaderValue::from_static("h:1"));
        headers.insert("content-length", HeaderValue::from_static("99"));
        let own = [(SESSION_ID, HeaderValue::from_static("s"))];
        let path = Uri::from_static("/mcp?a=b");
        let mut request = Request {
            method: &Method::POST,
            path: &path,
            headers: &headers,
            own: &own,
            body: b"{}",
        };
        let text = "POST /mcp?a=b HTTP/1.1\r\nhost: h:1\r\nmcp-session-id: s\r\ncontent-length: 2\r\n\r\n{}";
        assert_eq!(String::from_utf8_lossy(&request.encode()), text);
        request.method = &Method::GET;
        request.body = b"";
        request.own = &[];
        let text = "GET /mcp?a=b HTTP/1.1\r\nhost: h:1\r\n\r\n";
        assert_eq!(String::from_utf8_lossy(&request.encode()), text);
    }

    #[test]
    fn the_end_of_the_body_follows_from_the_headers() {
        use Framing::{Length, UntilClose};
        for (status, headers, framing, stays_open) in [
            ("1.1 200 OK", "Content-Length: 5\r\n", Length(5), true),
            ("1.1 200 OK", "content-length: 5, 5\r\n", Length(5), true),
            ("1.1 200 OK", "", UntilClose, false),
            ("1.0 200 OK", "Content-Length: 5\r\n", Length(5), false),
            (
                "1.0 200 OK",
                "Content-Length: 5\r\nConnection: Keep-Alive\r\n",
                Length(5),
                true,
            ),
            (
                "1.1 200 OK",
                "Content-Length: 5\r\nConnection: x, Close\r\n",
                Length(5),
                false,
            ),
            (
                "1.1 200 OK",
                "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n",
                Framing::chunked(),
                true,
            ),
            (
                "1.1 200 OK",
                "Transfer-Encoding: gzip, Chunked\r\n",
                Framing::chunked(),
                true,
            ),
            (
                "1.1 200 OK",
                "Transfer-Encoding: gzip\r\n",
                UntilClose,
                false,
            ),
            (
                "1.1 204 No Content",
                "Content-Length: 5\r\n",
                Length(0),
                true,
            ),
            ("1.1 304 Not Modified", "", Length(0), true),
            ("1.1 101 Switching Protocols", "", Length(0), false),
        ] {
            let text = format!("HTTP/{status}\r\n{headers}\r\n");
            let parsed = whole(&text).unwrap();
            assert_eq!(parsed.framing, framing, "{text}");
            assert_eq!(parsed.stays_open, stays_open, "{text}");
        }
    }

    #[test]
    fn only_what_is_asked_for_is_kept() {
        let parsed = whole(
            "HTTP/1.1 200\nDate: now\nCONTENT-TYPE: text/plain\nMcp-Session-Id: s\ncontent-length: 0\n\n",
        )
        .unwrap();
        assert_eq!(parsed.status, StatusCode::OK);
        assert_eq!(parsed.headers.len(), 2);
        assert_eq!(parsed.headers[CONTENT_TYPE], "text/plain");
        assert_eq!(parsed.headers[SESSION_ID], "s");
    }

    #[test]
    fn signs_of_life_are_passed_over() {
        let text = "\r\nHTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 202 Accepted\r\ncontent-length: 0\r\n\r\n";
        assert_eq!(whole(text).unwrap().status, StatusCode::ACCEPTED);
    }

    #[test]
    fn a_head_may_come_byte_by_byte() {
        let text = "HTTP/1.1 200 OK\r\nA: b\r\n\r\n";
        let (mut bytes, mut searched) = (BytesMut::new(), 0);
        for (index, byte) in text.bytes().enumerate() {
            bytes.extend_from_slice(&[byte]);
            let parsed = take(&mut bytes, &mut searched).unwrap();
            assert_eq!(parsed.is_some(), index + 1 == text.len(), "{index}");
        }
    }

    #[test]
    fn what_is_no_response_is_refused() {
        let many = "A: b\r\n".repeat(HEADERS_MAX + 1);
        let long = format!("HTTP/1.1 200 OK\r\nA: {}", "b".repeat(HEAD_BYTES_MAX));
        for (text, reason) in [
            ("S", "begin with HTTP/"),
            ("HTTP/1.1 abc\r\n\r\n", "invalid response status"),
            ("HTTP/1.1 000 Odd\r\n\r\n", "not the status"),
            ("HTTP/3.7 200 OK\r\n\r\n", "version"),
            (
                "HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\n",
                "\"-5\" is not a length",
            ),
            (
                "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n",
                "is not a length",
            ),
            (
                "HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n\r\n",
                "is not a length",
            ),
            ("HTTP/1.1 200 OK\r\nA b\r\n\r\n", "header"),
            (
                &format!("HTTP/1.1 200 OK\r\n{many}\r\n"),
                "too many headers",
            ),
            (&long, "more than 256 KiB"),
        ] {
            let error = take(&mut BytesMut::from(text), &mut 0).unwrap_err();
            assert!(error.contains(reason), "{error} for {reason}");
        }
    }
}

#[cfg(test)]
mod framing_tests {
    use proptest::prelude::*;

    use super::*;

    /// Feeds `text` in steps of `step` bytes; the body, whether it ended, and what was left over.
    fn read(
        mut framing: Framing,
        text: &[u8],
        step: usize,
    ) -> Result<(Vec<u8>, bool, Vec<u8>), String> {
        let (mut bytes, mut body) = (BytesMut::new(), Vec::new());
        let mut arriving = text.chunks(step);
        loop {
            match framing.take(&mut bytes)? {
                Taken::Piece(piece) => {
                    assert!(!piece.is_empty());
                    body.extend_from_slice(&piece);
                }
                Taken::End => {
                    let left: Vec<u8> = arriving.flatten().copied().collect();
                    return Ok((body, true, [bytes.to_vec(), left].concat()));
                }
                Taken::Nothing => match arriving.next() {
                    Some(piece) => bytes.extend_from_slice(piece),
                    None => return Ok((body, false, bytes.to_vec())),
                },
            }
        }
    }

    #[test]
    fn a_body_ends_where_its_framing_says() {
        let chunked = Framing::chunked();
        for (framing, text, body, is_over, left) in [
            (Framing::Length(3), "abcdef", "abc", true, "def"),
            (Framing::Length(9), "abc", "abc", false, ""),
            (Framing::Length(0), "x", "", true, "x"),
            (Framing::UntilClose, "abc", "abc", false, ""),
            (chunked, "3\r\nabc\r\n0\r\n\r\nrest", "abc", true, "rest"),
            (
                chunked,
                "3;x=y\r\nabc\r\n 0A \r\n0123456789\r\n000\r\nT: v\r\nU: w\r\n\r\n",
                "abc0123456789",
                true,
                "",
            ),
            (chunked, "1\na\n0\n\n", "a", true, ""),
            (chunked, "5\r\nab", "ab", false, ""),
            (chunked, "0\r\n", "", false, ""),
        ] {
            for step in [1, 2, 3, 1000] {
                let found = read(framing, text.as_bytes(), step).unwrap();
                let expected = (body.into(), is_over, left.into());
                assert_eq!(found, expected, "{text:?} by {step}");
            }
        }
    }

    #[test]
    fn broken_chunks_are_refused() {
        let line = "x".repeat(SIZE_LINE_MAX + 2);
        let trailers = format!("0\r\n{}", "T: v\r\n".repeat(TRAILER_BYTES_MAX));
        for text in [
            "zz\r\n",
            "\r\n",
            "-1\r\n",
            "+1\r\n",
            "11111111111111111\r\n",
            "1\r\nab\r\n",
            "1\r\nabc",
            &line,
            &trailers,
        ] {
            for step in [1, 1000] {
                assert!(
                    read(Framing::chunked(), text.as_bytes(), step).is_err(),
                    "{text:.20}"
                );
            }
        }
    }

    proptest! {
        #[test]
        fn any_body_survives_its_chunks(
            pieces in prop::collection::vec(prop::collection::vec(any::<u8>(), 1..6000), 0..5),
            step in 1_usize..9000,
        ) {
            let mut text = Vec::new();
            for piece in &pieces {
                text.extend_from_slice(format!("{:x}\r\n", piece.len()).as_bytes());
                text.extend_from_slice(piece);
                text.extend_from_slice(b"\r\n");
            }
            text.extend_from_slice(b"0\r\n\r\n");
            let (body, is_over, left) = read(Framing::chunked(), &text, step).unwrap();
            prop_assert_eq!(body, pieces.concat());
            prop_assert!(is_over && left.is_empty());
        }

        #[test]
        fn nothing_that_arrives_is_a_surprise(text in prop::collection::vec(any::<u8>(), 0..200), step in 1_usize..20) {
            let _ = read(Framing::chunked(), &text, step);
        }
    }
}
