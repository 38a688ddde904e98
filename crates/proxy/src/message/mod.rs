//! What of a message matters to a proxy: whose answer it is, which tool it calls, what it cancels.
//!
//! Only what may matter is read at all ([`may_matter`]); the rest passes as bytes.

use crate::prelude::*;

/// An id as it is compared: the same id may be written in several ways, and an answer may write it
/// otherwise than the request.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum IdKey {
    Text(String),
    /// A whole number.
    Number(i128),
    /// Anything else, as it was written.
    Other(String),
}

impl IdKey {
    /// The id of this JSON.
    pub fn new(raw: &str) -> Self {
        if raw.starts_with('"') {
            match serde_json::from_str(raw) {
                Ok(text) => Self::Text(text),
                Err(_) => Self::Other(raw.to_owned()),
            }
        } else if let Ok(number) = raw.parse() {
            Self::Number(number)
        } else {
            whole(raw).map_or_else(|| Self::Other(raw.to_owned()), Self::Number)
        }
    }
}

/// `1.0` and `1e0` are 1.
fn whole(raw: &str) -> Option<i128> {
    /// Up to here a double holds every whole number.
    const EXACT_MAX: f64 = 9_007_199_254_740_992.0;
    let number: f64 = raw.parse().ok()?;
    let is_whole = number.fract() == 0.0 && number.abs() <= EXACT_MAX;
    #[allow(clippy::cast_possible_truncation)]
    is_whole.then_some(number as i128)
}

/// What a client or a server asks.
#[derive(Debug)]
pub struct Request<'a> {
    /// The id, as it was written.
    pub id: &'a str,
    pub method: Cow<'a, str>,
    /// The parameters, as JSON; empty when absent.
    pub params: &'a str,
}

impl Request<'_> {
    /// Whether it opens a session.
    pub fn is_opening(&self) -> bool {
        self.method == "initialize"
    }
}

/// A message, as far as a proxy looks.
#[derive(Debug)]
pub enum Seen<'a> {
    Request(Request<'a>),
    Notification {
        method: Cow<'a, str>,
        /// The parameters, as JSON; empty when absent.
        params: &'a str,
    },
    /// An answer, with a result or an error.
    Answer {
        /// The id, as it was written.
        id: &'a str,
    },
    /// An array: messages in a batch.
    Batch,
    /// Anything else, which passes as it is.
    Other,
}

impl<'a> Seen<'a> {
    /// Looks at a message, leniently: a message that is wrong elsewhere still is what it is.
    pub fn of(message: &'a [u8]) -> Self {
        if message.trim_ascii_start().first() == Some(&b'[') {
            return Self::Batch;
        }
        let Ok(envelope) = Envelope::parse(message) else {
            return Self::Other;
        };
        let id = envelope.id.filter(|id| *id != "null");
        let params = envelope.params.unwrap_or_default();
        match (envelope.method, id) {
            (Some(method), Some(id)) => Self::Request(Request { id, method, params }),
            (Some(method), None) => Self::Notification { method, params },
            (None, Some(id)) if envelope.result.is_some() || envelope.error.is_some() => {
                Self::Answer { id }
            }
            _ => Self::Other,
        }
    }

    /// The request that it cancels.
    pub fn cancelled(&self) -> Option<IdKey> {
        #[derive(Deserialize)]
        struct Params<'a> {
            #[serde(borrow, rename = "requestId")]
            request: &'a RawValue,
        }
        match self {
            Self::Notification { method, params } if method == "notifications/cancelled" => {
                let params: Params<'_> = serde_json::from_str(params).ok()?;
                Some(IdKey::new(params.request.get()))
            }
            _ => None,
        }
    }

    /// Whether it answers what was asked under this id.
    pub fn answers(&self, asked: &IdKey) -> bool {
        matches!(self, Self::Answer { id } if IdKey::new(id) == *asked)
    }

    /// Writes down what one side says by itself, and what a client answers.
    pub fn note(&self, from: Peer, session: &Session) {
        match (self, &session.recorded) {
            (Self::Request(request), Some(session)) if from == Peer::Server => {
                session.server_request(request.id, &request.method, request.params);
            }
            (Self::Notification { method, params }, Some(session)) => {
                session.notification(from, method, params);
            }
            (Self::Answer { id }, Some(session)) if from == Peer::Client => {
                session.client_reply(id);
            }
            _ => {}
        }
    }
}

/// Whether a message of a client may be one that faults look at: a call, a list of tools, a
/// cancellation. A wrong yes only costs time; escapes could hide anything, so they are looked at.
pub fn may_matter(message: &[u8]) -> bool {
    use std::sync::LazyLock;

    use memchr::memmem::Finder;
    static NEEDLES: LazyLock<[Finder<'static>; 4]> =
        LazyLock::new(|| ["call", "list", "cancelled", "\\u"].map(Finder::new));
    NEEDLES.iter().any(|needle| needle.find(message).is_some())
}

/// What `tools/call` asks for.
#[derive(Debug)]
pub struct ToolCall<'a> {
    /// The id, as it was written.
    pub id: &'a str,
    pub tool: Cow<'a, str>,
    /// The arguments, as JSON; empty for none.
    pub arguments: &'a str,
    /// What is said about the call, as JSON; empty for nothing.
    pub meta: &'a str,
}

impl<'a> ToolCall<'a> {
    /// The call with these parameters; `None` if they name no tool.
    pub fn parse(id: &'a str, params: &'a str) -> Option<Self> {
        #[derive(Deserialize)]
        struct Params<'a> {
            #[serde(borrow)]
            name: Cow<'a, str>,
            #[serde(borrow)]
            arguments: Option<&'a RawValue>,
            #[serde(borrow, rename = "_meta")]
            meta: Option<&'a RawValue>,
        }
        let params: Params<'_> = serde_json::from_str(params).ok()?;
        Some(Self {
            id,
            tool: params.name,
            arguments: params.arguments.map_or("", RawValue::get),
            meta: params.meta.map_or("", RawValue::get),
        })
    }
}

/// The id in the first bytes of an answer that is too long to be read, as far as it can be told.
pub fn id_in_head(head: &[u8]) -> Option<IdKey> {
    let position = memchr::memmem::find(head, b"\"id\"")?;
    let rest = head.get(position + 4..)?.trim_ascii_start();
    let rest = rest.strip_prefix(b":")?;
    let text = String::from_utf8_lossy(rest);
    let mut ids = serde_json::Deserializer::from_str(&text).into_iter::<Box<RawValue>>();
    ids.next()?.ok().map(|raw| IdKey::new(raw.get()))
}

#[cfg(test)]
mod tests;
