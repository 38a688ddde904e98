//! The payloads: messages that no client should send, grouped by what is wrong with them.
//!
//! An answer is due where the payload is a request whose id can be read: a client that sent it by
//! mistake would wait. Where nothing can be read, or there is no id that an answer could have,
//! nobody waits, and silence is as good as an error. A notification must not be answered at all.

mod bytes;
mod calls;
mod envelope;

use mcprove_client::session::RawMessage;
use mcprove_settings::registry;

use super::frame::Frame;

/// Whether a server has to answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Due {
    /// The id can be read.
    Yes,
    /// Nobody could wait for an answer.
    No,
    /// Only in a revision that has batches.
    WithBatches,
}

/// A payload.
pub(super) struct Payload {
    /// Its name.
    pub name: &'static str,
    /// What is wrong with it.
    pub explanation: &'static str,
    /// Whether a server has to answer.
    pub due: Due,
    /// Its messages.
    pub build: fn(&Frame<'_>) -> Vec<RawMessage>,
    /// The ids in it besides that of the frame, as JSON.
    pub ids: &'static [&'static str],
}

/// A payload of one message about `method`, for the HTTP headers.
macro_rules! payload {
    ($name:literal, $explanation:literal, $due:expr, $method:literal, $bytes:expr) => {
        payload!($name, $explanation, $due, $method, $bytes, &[])
    };
    ($name:literal, $explanation:literal, $due:expr, $method:literal, $bytes:expr, $ids:expr) => {
        Payload {
            name: $name,
            explanation: $explanation,
            due: $due,
            build: |frame| {
                let bytes: fn(&Frame<'_>) -> _ = $bytes;
                vec![frame.message(bytes(frame), $method)]
            },
            ids: $ids,
        }
    };
}

use payload;

/// Every payload, in the order in which they are sent.
pub(super) fn all() -> impl Iterator<Item = &'static Payload> + Clone {
    [calls::PAYLOADS, envelope::PAYLOADS, bytes::PAYLOADS]
        .into_iter()
        .flatten()
}

/// The payloads of these names, in their own order; all without names. Fails with what is wrong.
pub(super) fn choose(names: &[String]) -> Result<Vec<&'static Payload>, String> {
    let known = || all().map(|payload| payload.name);
    let wanted: Vec<String> = names.iter().map(|name| name.replace('-', "_")).collect();
    for name in &wanted {
        if !known().any(|known| known == name) {
            let hint = registry::nearest(known(), name).map_or_else(
                || format!("known are {}", known().collect::<Vec<_>>().join(", ")),
                |near| format!("did you mean {near:?}?"),
            );
            return Err(format!("the fuzzer has no payload {name:?}; {hint}"));
        }
    }
    let is_wanted =
        |payload: &&Payload| wanted.is_empty() || wanted.iter().any(|name| name == payload.name);
    Ok(all().filter(is_wanted).collect())
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn messages(name: &str) -> Vec<RawMessage> {
        let arguments = json!({ "message": "x" });
        let frame = Frame {
            id: 7,
            tool: "echo",
            arguments: &arguments,
            meta: r#""v":"1""#,
        };
        let payload = all().find(|payload| payload.name == name).unwrap();
        (payload.build)(&frame)
    }

    #[test]
    fn names_are_unique_and_everything_is_explained() {
        let mut names: Vec<_> = all().map(|payload| payload.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), all().count());
        assert!(all().all(|payload| !payload.explanation.is_empty()));
    }

    /// A message on stdio is a line.
    #[test]
    fn no_payload_holds_a_line_break() {
        for payload in all() {
            for message in messages(payload.name) {
                assert!(!message.bytes.contains(&b'\n'), "{}", payload.name);
            }
        }
    }

    #[test]
    fn where_an_answer_is_due_the_id_can_be_read() {
        // The last is JSON, and too deep for our own parser.
        let due = all().filter(|payload| payload.due == Due::Yes && payload.name != "deep_nesting");
        for payload in due {
            let message = messages(payload.name).remove(0);
            let text = std::str::from_utf8(&message.bytes).unwrap();
            let name = payload.name;
            match serde_json::from_str::<Value>(text) {
                Ok(value) => assert!(value["id"].is_u64(), "{name}"),
                Err(_) => assert!(matches!(name, "lone_surrogate" | "huge_number"), "{name}"),
            }
            assert!(text.contains("\"id\":"), "{name}");
        }
    }

    #[test]
    fn what_must_not_be_json_is_none() {
        for name in [
            "invalid_json",
            "joined_frames",
            "nul_byte",
            "byte_order_mark",
            "invalid_utf8",
        ] {
            let message = messages(name).remove(0);
            assert!(
                serde_json::from_slice::<Value>(&message.bytes).is_err(),
                "{name}"
            );
        }
        assert!(messages("giant_payload")[0].bytes.len() > 1024 * 1024);
    }

    #[test]
    fn payloads_are_chosen_by_name_and_keep_their_order() {
        assert_eq!(choose(&[]).unwrap().len(), all().count());
        let names = ["deep-nesting".to_owned(), "unknown_method".to_owned()];
        let chosen: Vec<_> = choose(&names).unwrap().iter().map(|one| one.name).collect();
        assert_eq!(chosen, ["deep_nesting", "unknown_method"]);
        let error = choose(&["unknown_metod".to_owned()]).err().unwrap();
        assert!(
            error.contains("did you mean \"unknown_method\"?"),
            "{error}"
        );
    }
}
