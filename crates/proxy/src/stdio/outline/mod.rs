//! The outline of the messages that pass: whom they name, and whether they ask or answer.
//!
//! Only the top level is told, and what a cancellation is about, whatever the order of the keys, however
//! long the line, and in whatever pieces it comes. Nothing is kept but a few short tokens, so that bytes
//! can pass where nobody looks.

use memchr::{memchr, memchr2};

use crate::prelude::*;

/// How much of a key or a value is kept; longer ids are told apart by their beginnings and lengths.
const TOKEN_BYTES: usize = 128;
const CANCELLED: &str = "notifications/cancelled";

/// What a message is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outline {
    /// It wants an answer. One that broke off has the id of what cannot be read: null.
    Request(IdKey),
    Answer(IdKey),
    /// It takes a request back.
    Cancellation(IdKey),
}

/// Scans what passes.
#[derive(Default)]
pub struct Scanner {
    /// How many brackets are open.
    depth: usize,
    /// How many of them are around the messages: one in a batch.
    base: usize,
    string: Text,
    /// Whether the braces of `params` are open.
    is_in_params: bool,
    /// What the value belongs to that is next, or passing.
    slot: Slot,
    token: Token,
    /// The message that is passing.
    message: Option<Message>,
}

/// Whether a text is passing.
#[derive(Default, Clone, Copy, PartialEq, Eq)]
enum Text {
    #[default]
    Outside,
    Inside,
    /// After a backslash.
    Escaped,
}

#[derive(Default, Clone, Copy, PartialEq, Eq)]
enum Slot {
    /// A key, and no value.
    #[default]
    Key,
    Id,
    Method,
    Params,
    RequestId,
    /// A result or an error.
    End,
    Other,
}

/// What is passing between two commas, as far as it is kept.
#[derive(Default, Clone)]
struct Token {
    bytes: Vec<u8>,
    length: usize,
}

#[derive(Default)]
struct Message {
    id: Option<IdKey>,
    method: Option<Token>,
    request: Option<IdKey>,
    has_end: bool,
}

impl Scanner {
    /// Calls `seen` with what is seen in `bytes`.
    pub fn pass(&mut self, bytes: &[u8], mut seen: impl FnMut(Outline)) {
        let mut rest = bytes;
        while let Some(newline) = memchr(b'\n', rest) {
            let (line, after) = rest.split_at(newline);
            self.scan(line, &mut seen);
            self.end(&mut seen);
            rest = after.get(1..).unwrap_or_default();
        }
        self.scan(rest, &mut seen);
    }

    /// The line is over, perhaps within a message.
    pub fn end(&mut self, mut seen: impl FnMut(Outline)) {
        let cut = self.message.take();
        if cut.is_some_and(|message| message.method.is_some() && message.id.is_some()) {
            seen(Outline::Request(nobody()));
        }
        self.depth = 0;
        self.base = 0;
        self.string = Text::Outside;
        self.is_in_params = false;
        self.slot = Slot::Key;
        self.token.clear();
    }

    fn scan(&mut self, line: &[u8], seen: &mut impl FnMut(Outline)) {
        let mut rest = line;
        while let Some((&byte, after)) = rest.split_first() {
            rest = match self.string {
                Text::Outside if self.is_too_deep() => self.skip(rest),
                Text::Outside => {
                    self.outside(byte, seen);
                    after
                }
                Text::Escaped => {
                    self.keep(&[byte]);
                    self.string = Text::Inside;
                    after
                }
                Text::Inside => self.inside(rest),
            };
        }
    }

    /// Whether this is within a value of which nothing is told.
    fn is_too_deep(&self) -> bool {
        self.message.is_some() && self.depth > self.base + 1 + usize::from(self.is_in_params)
    }

    /// Passes what is too deep, up to its end or the next text; gives what comes after that. Most of a
    /// long message is such.
    fn skip<'a>(&mut self, bytes: &'a [u8]) -> &'a [u8] {
        let told = self.base + 1 + usize::from(self.is_in_params);
        let mut depth = self.depth;
        let mut is_text = false;
        let end = bytes.iter().position(|byte| {
            match byte {
                b'"' => is_text = true,
                b'{' | b'[' => depth = depth.saturating_add(1),
                b'}' | b']' => depth = depth.saturating_sub(1),
                _ => {}
            }
            is_text || depth <= told
        });
        self.depth = depth;
        if is_text {
            self.string = Text::Inside;
        }
        let passed = end.map_or(bytes.len(), |place| place + 1);
        bytes.get(passed..).unwrap_or_default()
    }

    /// Passes a text up to its next quote or backslash; gives what comes after that.
    fn inside<'a>(&mut self, bytes: &'a [u8]) -> &'a [u8] {
        let found = memchr2(b'"', b'\\', bytes);
        let length = found.map_or(bytes.len(), |place| place + 1);
        let (passed, rest) = bytes.split_at(length);
        self.keep(passed);
        if found.is_some() {
            self.string = match passed.last() {
                Some(b'\\') => Text::Escaped,
                _ => Text::Outside,
            };
        }
        rest
    }

    fn outside(&mut self, byte: u8, seen: &mut impl FnMut(Outline)) {
        match byte {
            b'"' => {
                self.keep(b"\"");
                self.string = Text::Inside;
            }
            b'{' | b'[' => self.open(byte),
            b'}' | b']' => self.close(seen),
            b':' if self.is_told() => self.slot = self.named(),
            b',' if self.is_told() => {
                self.settle();
                self.slot = Slot::Key;
            }
            b' ' | b'\t' | b'\r' | b':' | b',' => {}
            _ => self.keep(&[byte]),
        }
    }

    fn open(&mut self, bracket: u8) {
        // An id that is no scalar is one all the same.
        self.keep(&[bracket]);
        if bracket == b'[' && self.depth == 0 {
            self.base = 1;
        } else if bracket == b'{' && self.depth == self.base {
            self.message = Some(Message::default());
            self.slot = Slot::Key;
            self.token.clear();
        } else if bracket == b'{' && self.depth == self.base + 1 && self.slot == Slot::Params {
            self.is_in_params = true;
            self.slot = Slot::Key;
            self.token.clear();
        }
        self.depth = self.depth.saturating_add(1);
    }

    fn close(&mut self, seen: &mut impl FnMut(Outline)) {
        if self.is_told() {
            self.settle();
            // Until the next comma there is nothing more to tell.
            self.slot = Slot::Other;
        }
        self.depth = self.depth.saturating_sub(1);
        if self.depth == self.base + 1 {
            self.is_in_params = false;
        } else if self.depth == self.base
            && let Some(outline) = self.message.take().and_then(Message::outline)
        {
            seen(outline);
        }
    }

    /// Whether keys and values here are told.
    fn is_told(&self) -> bool {
        let level = self.base + 1;
        self.message.is_some()
            && (self.depth == level || (self.is_in_params && self.depth == level + 1))
    }

    fn keep(&mut self, bytes: &[u8]) {
        let is_kept = matches!(
            self.slot,
            Slot::Key | Slot::Id | Slot::Method | Slot::RequestId
        );
        if is_kept && self.is_told() {
            self.token.add(bytes);
        }
    }

    /// What the key names that has just passed.
    fn named(&mut self) -> Slot {
        let key = self.token.text();
        self.token.clear();
        match (self.is_in_params, key.as_deref()) {
            (false, Some("id")) => Slot::Id,
            (false, Some("method")) => Slot::Method,
            (false, Some("params")) => Slot::Params,
            (false, Some("result" | "error")) => Slot::End,
            (true, Some("requestId")) => Slot::RequestId,
            _ => Slot::Other,
        }
    }

    /// A value has passed.
    fn settle(&mut self) {
        if let Some(message) = &mut self.message {
            match self.slot {
                Slot::Id => message.id = Some(self.token.id()),
                Slot::Method => message.method = Some(self.token.clone()),
                Slot::RequestId => message.request = Some(self.token.id()),
                Slot::End => message.has_end = true,
                Slot::Key | Slot::Params | Slot::Other => {}
            }
        }
        self.token.clear();
    }
}

impl Message {
    fn outline(self) -> Option<Outline> {
        match (self.method, self.id) {
            (Some(_), Some(id)) => Some(Outline::Request(id)),
            (Some(method), None) if method.text().as_deref() == Some(CANCELLED) => {
                self.request.map(Outline::Cancellation)
            }
            (None, id) if self.has_end => Some(Outline::Answer(id.unwrap_or_else(nobody))),
            _ => None,
        }
    }
}

impl Token {
    fn add(&mut self, bytes: &[u8]) {
        let room = TOKEN_BYTES.saturating_sub(self.bytes.len());
        let kept = bytes.get(..room).unwrap_or(bytes);
        self.bytes.extend_from_slice(kept);
        self.length = self.length.saturating_add(bytes.len());
    }

    fn clear(&mut self) {
        self.bytes.clear();
        self.length = 0;
    }

    /// What it says, if it is a text.
    fn text(&self) -> Option<String> {
        let inner = self.bytes.strip_prefix(b"\"")?.strip_suffix(b"\"")?;
        if memchr(b'\\', inner).is_none() {
            return std::str::from_utf8(inner).ok().map(str::to_owned);
        }
        serde_json::from_slice(&self.bytes).ok()
    }

    fn id(&self) -> IdKey {
        let text = String::from_utf8_lossy(&self.bytes);
        if self.length > self.bytes.len() {
            IdKey::Other(format!("{} {text}", self.length))
        } else {
            IdKey::new(&text)
        }
    }
}

/// The id of an answer to what could not be read.
fn nobody() -> IdKey {
    IdKey::new("null")
}

#[cfg(test)]
mod tests;
