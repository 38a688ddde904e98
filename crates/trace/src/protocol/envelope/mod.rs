//! JSON-RPC envelopes, read lazily: only the id, the method and where the rest is. What a result
//! or a parameter holds is parsed by whoever needs it.

use std::ops::Range;

use serde::de::{Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

use crate::prelude::*;

/// A JSON-RPC message, borrowed from the bytes it came in.
///
/// ```
/// use mcprove_trace::protocol::{Envelope, Id, Message};
///
/// let envelope = Envelope::parse(br#"{"jsonrpc":"2.0","id":7,"result":{"ok":true}}"#).unwrap();
/// match envelope.classify() {
///     Message::Response { id, result } => {
///         assert_eq!(id, Id::Number(7));
///         assert_eq!(result, r#"{"ok":true}"#);
///     }
///     other => panic!("{other:?}"),
/// }
/// ```
#[derive(Debug, Clone, Default)]
pub struct Envelope<'a> {
    /// Whether `jsonrpc` is there.
    pub has_version: bool,
    /// Whether it says `2.0`.
    pub is_version_2: bool,
    /// Whether it has keys that no message has.
    pub has_other_keys: bool,
    /// The id as it was written; `None` when absent.
    pub id: Option<&'a str>,
    /// The method.
    pub method: Option<Cow<'a, str>>,
    /// The parameters, as JSON.
    pub params: Option<&'a str>,
    /// The result, as JSON.
    pub result: Option<&'a str>,
    /// The error, as JSON.
    pub error: Option<&'a str>,
}

/// A JSON-RPC id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Id<'a> {
    /// Absent or null.
    None,
    /// A whole number from zero up, the only kind we send.
    Number(u64),
    /// Anything else, as it was written.
    Other(&'a str),
}

impl fmt::Display for Id<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => formatter.write_str("null"),
            Self::Number(number) => write!(formatter, "{number}"),
            Self::Other(text) => formatter.write_str(text),
        }
    }
}

/// What an [`Envelope`] turned out to be.
#[derive(Debug, PartialEq, Eq)]
pub enum Message<'a> {
    /// A request: has a method and an id.
    Request {
        /// The id to answer.
        id: Id<'a>,
        /// The method.
        method: &'a str,
        /// The parameters, as JSON; empty when absent.
        params: &'a str,
    },
    /// A notification: has a method and no id.
    Notification {
        /// The method.
        method: &'a str,
        /// The parameters, as JSON; empty when absent.
        params: &'a str,
    },
    /// A successful answer.
    Response {
        /// The id of the request.
        id: Id<'a>,
        /// The result, as JSON.
        result: &'a str,
    },
    /// A failed answer.
    Error {
        /// The id of the request.
        id: Id<'a>,
        /// The error, as JSON.
        error: &'a str,
    },
    /// JSON, but no JSON-RPC message, for this reason.
    Invalid {
        /// The id, where there is one.
        id: Id<'a>,
        /// What is wrong.
        reason: &'static str,
    },
}

impl<'a> Envelope<'a> {
    /// Reads one message; white space around it is ignored.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, serde_json::Error> {
        let mut deserializer = serde_json::Deserializer::from_slice(bytes);
        let envelope = deserializer.deserialize_map(EnvelopeVisitor)?;
        deserializer.end()?;
        Ok(envelope)
    }

    /// The id.
    pub fn id(&self) -> Id<'a> {
        match self.id {
            None | Some("null") => Id::None,
            Some(text) => text.parse().map_or(Id::Other(text), Id::Number),
        }
    }

    /// Whether it is meant as a JSON-RPC message, be it a bad one. A line of a structured log is not, though it may have
    /// an id, a method or an error among other things.
    pub fn is_message(&self) -> bool {
        let has_content = self.method.is_some() || self.is_reply();
        self.has_version || has_content && !self.has_other_keys
    }

    /// Whether it has a result or an error.
    pub fn is_reply(&self) -> bool {
        self.result.is_some() || self.error.is_some()
    }

    /// Decides what the message is.
    pub fn classify(&'a self) -> Message<'a> {
        let id = self.id();
        let reason = match (&self.method, self.result, self.error) {
            _ if !self.is_version_2 => "`jsonrpc` is not \"2.0\"",
            (Some(method), None, None) => {
                let params = self.params.unwrap_or_default();
                return match id {
                    Id::None => Message::Notification { method, params },
                    id => Message::Request { id, method, params },
                };
            }
            (None, Some(result), None) => return Message::Response { id, result },
            (None, None, Some(error)) => return Message::Error { id, error },
            (None, None, None) => "it has no method, no result and no error",
            (None, Some(_), Some(_)) => "it has both a result and an error",
            (Some(_), ..) => "it has both a method and a result",
        };
        Message::Invalid { id, reason }
    }
}

/// Where `part` lies in `whole`, of which it must be a slice.
pub fn span_of(whole: &[u8], part: &str) -> Range<usize> {
    let start = (part.as_ptr() as usize)
        .saturating_sub(whole.as_ptr() as usize)
        .min(whole.len());
    start..(start + part.len()).min(whole.len())
}

/// How many messages a batch may hold.
pub const BATCH_MEMBERS_MAX: usize = 100_000;

/// The members of a batch, or `None` when the bytes are no array of JSON values, or one of more
/// than [`BATCH_MEMBERS_MAX`].
pub fn split_batch(bytes: &[u8]) -> Option<Vec<&str>> {
    struct BatchVisitor;
    impl<'de> Visitor<'de> for BatchVisitor {
        type Value = Vec<&'de str>;
        fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
            write!(
                formatter,
                "an array of at most {BATCH_MEMBERS_MAX} messages"
            )
        }
        fn visit_seq<A: SeqAccess<'de>>(self, mut members: A) -> Result<Self::Value, A::Error> {
            let mut batch = Vec::new();
            while let Some(member) = members.next_element::<&RawValue>()? {
                if batch.len() == BATCH_MEMBERS_MAX {
                    return Err(serde::de::Error::invalid_length(batch.len() + 1, &self));
                }
                batch.push(member.get());
            }
            Ok(batch)
        }
    }
    let mut deserializer = serde_json::Deserializer::from_slice(bytes);
    let batch = deserializer.deserialize_seq(BatchVisitor).ok()?;
    deserializer.end().ok()?;
    Some(batch)
}

impl<'de> Deserialize<'de> for Envelope<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(EnvelopeVisitor)
    }
}

struct EnvelopeVisitor;

impl<'de> Visitor<'de> for EnvelopeVisitor {
    type Value = Envelope<'de>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a JSON-RPC message")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut envelope = Envelope::default();
        while let Some(Key(key)) = map.next_key()? {
            match key.as_ref() {
                "jsonrpc" => {
                    envelope.has_version = true;
                    envelope.is_version_2 = raw(&mut map)? == "\"2.0\"";
                }
                "id" => envelope.id = Some(raw(&mut map)?),
                "method" => envelope.method = Some(map.next_value::<Key<'de>>()?.0),
                "params" => envelope.params = Some(raw(&mut map)?),
                "result" => envelope.result = Some(raw(&mut map)?),
                "error" => envelope.error = Some(raw(&mut map)?),
                _ => {
                    envelope.has_other_keys = true;
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(envelope)
    }
}

fn raw<'de, A: MapAccess<'de>>(map: &mut A) -> Result<&'de str, A::Error> {
    map.next_value::<&RawValue>().map(RawValue::get)
}

/// A text that is borrowed where it has no escapes.
#[derive(Deserialize)]
struct Key<'a>(#[serde(borrow)] Cow<'a, str>);

mod broken;

pub use broken::{Fragment, find_messages, outline};

#[cfg(test)]
mod tests;
