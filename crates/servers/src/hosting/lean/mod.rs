//! The short path of the mode `echo`: calls are answered from a scan of their bytes, many per
//! write, so that a load generator is measured and not its server.

use std::io::{Read, Write};

use tokio::io::AsyncReadExt;

use super::healthy::Answer;
use crate::prelude::*;

/// How much is read at a time; grows up to the largest message.
const READ_BYTES: usize = 256 * 1024;

/// What stands around the id in the answer to a call.
const REPLY_START: &[u8] = br#"{"jsonrpc":"2.0","id":"#;
const REPLY_HANDSHAKE: &[u8] = br#","result":{"content":[{"type":"text","text":"ok"}]}}"#;
const REPLY_STATELESS: &[u8] =
    br#","result":{"resultType":"complete","content":[{"type":"text","text":"ok"}]}}"#;

/// Serves over asynchronous streams until the end of the input.
pub async fn run(
    host: Arc<Host>,
    mut input: impl AsyncRead + Unpin,
    mut output: impl AsyncWrite + Unpin,
) {
    let mut lean = Lean::new(host);
    while let Ok(count @ 1..) = input.read(lean.room()).await {
        lean.take(count);
        if lean.is_overlong() || output.write_all(&lean.replies).await.is_err() {
            break;
        }
        // An error shows at the next write.
        let _ = output.flush().await;
    }
    let _ = output.shutdown().await;
}

/// Serves over blocking streams until the end of the input.
pub fn run_blocking(host: Arc<Host>, mut input: impl Read, mut output: impl Write) {
    let mut lean = Lean::new(host);
    while let Ok(count @ 1..) = input.read(lean.room()) {
        lean.take(count);
        if lean.is_overlong() || output.write_all(&lean.replies).is_err() {
            break;
        }
        // An error shows at the next write.
        let _ = output.flush();
    }
}

/// Lines in, replies out.
struct Lean {
    host: Arc<Host>,
    session: Session,
    buffer: Vec<u8>,
    /// How much of the buffer holds the beginning of a line.
    filled: usize,
    replies: Vec<u8>,
}

impl Lean {
    fn new(host: Arc<Host>) -> Self {
        Self {
            host,
            session: Session::new(None, None),
            buffer: vec![0; READ_BYTES],
            filled: 0,
            replies: Vec::with_capacity(READ_BYTES),
        }
    }

    /// Where to read into; never empty.
    fn room(&mut self) -> &mut [u8] {
        if self.filled == self.buffer.len() {
            self.buffer.resize(self.buffer.len() * 2, 0);
        }
        self.buffer.get_mut(self.filled..).unwrap_or_default()
    }

    fn is_overlong(&self) -> bool {
        self.filled > FRAME_BYTES_MAX
    }

    /// Answers the lines that `count` more bytes have completed.
    fn take(&mut self, count: usize) {
        self.replies.clear();
        let end = self.filled + count;
        let bytes = self.buffer.get(..end).unwrap_or_default();
        let mut start = 0;
        for newline in memchr::memchr_iter(b'\n', bytes) {
            let line = bytes.get(start..newline).unwrap_or_default();
            start = newline + 1;
            if !line.is_empty() {
                reply(&self.host, &self.session, line, &mut self.replies);
            }
        }
        self.buffer.copy_within(start..end, 0);
        self.filled = end - start;
    }
}

fn reply(host: &Host, session: &Session, line: &[u8], replies: &mut Vec<u8>) {
    if let Some(id) = call_id(line) {
        let era = session
            .revision()
            .map_or(Era::Stateless, |_| Era::Handshake);
        write_reply(id, era, replies);
        replies.push(b'\n');
        return;
    }
    let message = match serde_json::from_slice(line) {
        Ok(value) => match Message::from_value(value) {
            Message::Request(request) => Some(answer(host, session, &request)),
            Message::Invalid { id, refusal, .. } => Some(refusal.response(&id)),
            Message::Notification { .. } | Message::Response { .. } => None,
        },
        Err(error) => Some(dispatch::parse_error(&error).response(&Value::Null)),
    };
    if let Some(message) = message {
        replies.extend_from_slice(message.to_string().as_bytes());
        replies.push(b'\n');
    }
}

/// Writes the answer to the call with this id.
pub fn write_reply(id: &[u8], era: Era, replies: &mut Vec<u8>) {
    replies.extend_from_slice(REPLY_START);
    replies.extend_from_slice(id);
    replies.extend_from_slice(match era {
        Era::Handshake => REPLY_HANDSHAKE,
        Era::Stateless => REPLY_STATELESS,
    });
}

fn answer(host: &Host, session: &Session, request: &Request) -> Value {
    let answer = healthy::admit(host, session, request).and_then(|revision| {
        let answer = healthy::answer(&*host.behaviour, host.eras, request, revision)?;
        let result = match answer {
            Answer::Result(result) => result,
            Answer::Call => tools::run(request),
            Answer::Listen => return Err(healthy::method_not_found(request)),
        };
        Ok(success(request, revision, &*host.behaviour, result))
    });
    answer.unwrap_or_else(|refusal| refusal.response(&request.id))
}

/// The bytes of the id, when the message is a call of a tool; looks no further than it must.
pub fn call_id(message: &[u8]) -> Option<&[u8]> {
    let mut scan = Scan {
        bytes: message,
        at: 0,
    };
    let (mut id, mut is_call) = (None, false);
    scan.expect(b'{')?;
    loop {
        let key = scan.value()?;
        scan.expect(b':')?;
        let value = scan.value()?;
        match key {
            b"\"id\"" => id = Some(value),
            b"\"method\"" if value == b"\"tools/call\"" => is_call = true,
            b"\"method\"" => return None,
            _ => {}
        }
        if let (Some(id), true) = (id, is_call) {
            return Some(id);
        }
        scan.expect(b',')?;
    }
}

/// A place in JSON that is walked value by value.
struct Scan<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Scan<'a> {
    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn skip_space(&mut self) {
        while self.peek().is_some_and(|byte| byte.is_ascii_whitespace()) {
            self.at += 1;
        }
    }

    fn expect(&mut self, byte: u8) -> Option<()> {
        self.skip_space();
        (self.peek()? == byte).then(|| self.at += 1)
    }

    fn value(&mut self) -> Option<&'a [u8]> {
        self.skip_space();
        let start = self.at;
        let mut depth = 0_usize;
        loop {
            match self.peek()? {
                b'"' => self.skip_string()?,
                b'{' | b'[' => {
                    depth += 1;
                    self.at += 1;
                }
                b'}' | b']' if depth > 0 => {
                    depth -= 1;
                    self.at += 1;
                }
                b'}' | b']' | b',' | b':' if depth == 0 => break,
                byte if depth == 0 && byte.is_ascii_whitespace() => break,
                _ => {
                    self.at += 1;
                    continue;
                }
            }
            if depth == 0 {
                break;
            }
        }
        self.bytes.get(start..self.at)
    }

    fn skip_string(&mut self) -> Option<()> {
        self.at += 1;
        loop {
            let rest = self.bytes.get(self.at..)?;
            let found = memchr::memchr2(b'"', b'\\', rest)?;
            self.at += found + 1;
            if rest.get(found) == Some(&b'"') {
                return Some(());
            }
            self.at += 1;
        }
    }
}

#[cfg(test)]
mod tests;
