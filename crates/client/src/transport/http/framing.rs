//! Where a body ends, and taking it off what arrives: RFC 9112, sections 6 and 7.

use bytes::{Buf, Bytes, BytesMut};
use mcprove_settings::text::shorten_bytes;

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

/// What was taken.
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
            *self = match *self {
                Self::Over => return Ok(Taken::End),
                Self::Data(mut left) => {
                    if bytes.is_empty() {
                        return Ok(Taken::Nothing);
                    }
                    let piece = take_up_to(&mut left, bytes);
                    *self = if left == 0 {
                        Self::DataEnd
                    } else {
                        Self::Data(left)
                    };
                    return Ok(Taken::Piece(piece));
                }
                Self::Size => {
                    let Some(line) = take_line(bytes, SIZE_LINE_MAX, "the size of a chunk")? else {
                        return Ok(Taken::Nothing);
                    };
                    match size_of_chunk(&line)? {
                        0 => Self::Trailers(0),
                        size => Self::Data(size),
                    }
                }
                Self::DataEnd => {
                    let Some(line) = take_line(bytes, 0, "the end of a chunk")? else {
                        return Ok(Taken::Nothing);
                    };
                    if !line.is_empty() {
                        return Err("a chunk is longer than it says".to_owned());
                    }
                    Self::Size
                }
                Self::Trailers(read) => {
                    let room = TRAILER_BYTES_MAX.saturating_sub(read);
                    let Some(line) = take_line(bytes, room, "what follows the last chunk")? else {
                        return Ok(Taken::Nothing);
                    };
                    if line.is_empty() {
                        Self::Over
                    } else {
                        Self::Trailers(read + line.len())
                    }
                }
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
