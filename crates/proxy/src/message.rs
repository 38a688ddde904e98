//! What of a message matters to a proxy: whose answer it is, which tool it calls, what it cancels.
//!
//! Only what may matter is read at all ([`may_matter`]); the rest passes as bytes.

use std::borrow::Cow;

use mcprove_trace::protocol::{Envelope, META_PROTOCOL_VERSION};
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

/// An id as it is compared: the same id may be written in several ways, and an answer may write it
/// otherwise than the request.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum IdKey {
    /// A text.
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

/// A message, as far as a proxy looks.
#[derive(Debug)]
pub(super) enum Seen<'a> {
    /// A request.
    Request {
        /// The id, as it was written.
        id: &'a str,
        /// The method.
        method: Cow<'a, str>,
        /// The parameters, as JSON; empty when absent.
        params: &'a str,
    },
    /// A notification.
    Notification {
        /// The method.
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
        match (envelope.method, id) {
            (Some(method), Some(id)) => Self::Request {
                id,
                method,
                params: envelope.params.unwrap_or_default(),
            },
            (Some(method), None) => Self::Notification {
                method,
                params: envelope.params.unwrap_or_default(),
            },
            (None, Some(id)) if envelope.result.is_some() || envelope.error.is_some() => {
                Self::Answer { id }
            }
            _ => Self::Other,
        }
    }
}

/// Whether a message of a client may be one that faults look at: a call, a list of tools, a
/// cancellation. A wrong yes only costs time; escapes could hide anything, so they are looked at.
pub(super) fn may_matter(message: &[u8]) -> bool {
    use std::sync::LazyLock;

    use memchr::memmem::Finder;
    static NEEDLES: LazyLock<[Finder<'static>; 4]> =
        LazyLock::new(|| ["call", "list", "cancelled", "\\u"].map(Finder::new));
    NEEDLES.iter().any(|needle| needle.find(message).is_some())
}

/// What `tools/call` asks for.
#[derive(Debug)]
pub(super) struct ToolCall<'a> {
    /// The id, as it was written.
    pub id: &'a str,
    /// The tool.
    pub tool: Cow<'a, str>,
    /// The arguments, as JSON; empty for none.
    pub arguments: &'a str,
    /// What is said about the call, as JSON; empty for nothing.
    meta: &'a str,
}

/// What is kept of a call that a fault acts on. No fault reads the arguments.
#[derive(Debug)]
pub(super) struct HeldCall {
    /// The id, as it was written.
    pub id: String,
    /// The tool.
    pub tool: String,
    /// The token under which the client wants progress.
    pub progress_token: Option<Value>,
    /// Whether it is of the stateless era.
    pub is_stateless: bool,
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

    /// What is to be kept of it.
    pub fn hold(&self) -> HeldCall {
        let meta: Value = serde_json::from_str(self.meta).unwrap_or_default();
        HeldCall {
            id: self.id.to_owned(),
            tool: self.tool.to_string(),
            progress_token: meta.get("progressToken").cloned(),
            is_stateless: meta.get(META_PROTOCOL_VERSION).is_some(),
        }
    }
}

/// The request that `notifications/cancelled` is about.
pub(super) fn cancelled_id(params: &str) -> Option<IdKey> {
    #[derive(Deserialize)]
    struct Params<'a> {
        #[serde(borrow, rename = "requestId")]
        request: &'a RawValue,
    }
    let params: Params<'_> = serde_json::from_str(params).ok()?;
    Some(IdKey::new(params.request.get()))
}

/// The id in the first bytes of an answer that is too long to be read, as far as it can be told.
pub(super) fn id_in_head(head: &[u8]) -> Option<IdKey> {
    let position = memchr::memmem::find(head, b"\"id\"")?;
    let rest = head.get(position + 4..)?.trim_ascii_start();
    let rest = rest.strip_prefix(b":")?;
    let text = String::from_utf8_lossy(rest);
    let mut ids = serde_json::Deserializer::from_str(&text).into_iter::<Box<RawValue>>();
    ids.next()?.ok().map(|raw| IdKey::new(raw.get()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_the_same_however_they_are_written() {
        for (one, other) in [
            ("1", "1.0"),
            ("100", "1e2"),
            ("-0", "0"),
            (r#""caf\u00e9""#, "\"café\""),
        ] {
            assert_eq!(IdKey::new(one), IdKey::new(other), "{one} {other}");
        }
        for (one, other) in [
            ("1", "\"1\""),
            ("18446744073709551616", "18446744073709551617"),
            ("1.5", "1"),
            ("1e999", "2e999"),
        ] {
            assert_ne!(IdKey::new(one), IdKey::new(other), "{one} {other}");
        }
    }

    #[test]
    fn a_call_is_seen_however_it_is_written() {
        for call in [
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo"}}"#,
            r#"{"id":1,"method":"tools\/call","params":{"name":"echo"}}"#,
            r#"{"id":1,"method":"tools/\u0063all","params":{"name":"echo"}}"#,
        ] {
            assert!(may_matter(call.as_bytes()), "{call}");
            let Seen::Request { id, method, params } = Seen::of(call.as_bytes()) else {
                panic!("{call}");
            };
            assert_eq!((id, &*method), ("1", "tools/call"));
            assert_eq!(ToolCall::parse(id, params).unwrap().tool, "echo");
        }
        assert!(!may_matter(br#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#));
    }

    #[test]
    fn what_is_no_message_passes() {
        for text in [
            "",
            "hello",
            "{",
            "{}",
            "\u{feff}{}",
            "5",
            r#"{"id":null,"result":{}}"#,
            r#"{"method":5,"id":1}"#,
        ] {
            assert!(matches!(Seen::of(text.as_bytes()), Seen::Other), "{text}");
        }
        assert!(matches!(Seen::of(b" [1"), Seen::Batch));
        assert!(matches!(Seen::of(b"\xff\xfe"), Seen::Other));
    }

    #[test]
    fn the_id_of_a_long_answer_is_found_in_its_head() {
        assert_eq!(
            id_in_head(br#"{"jsonrpc":"2.0","id": "a b","result":{"content":["#),
            Some(IdKey::Text("a b".to_owned()))
        );
        assert_eq!(
            id_in_head(br#"{"id":7,"result":"xxxx"#),
            Some(IdKey::Number(7))
        );
        assert_eq!(id_in_head(br#"{"result":"xxxx"#), None);
    }
}
