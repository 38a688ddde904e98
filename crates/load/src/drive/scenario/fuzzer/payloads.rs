//! The payloads: messages that no client should send, as `payloads.json` lists them, in the order in which they are
//! sent: calls with wrong arguments, JSON that is no proper message, bytes that are no JSON.
//!
//! An answer is due where the payload is a request whose id can be read: a client that sent it by mistake would wait.
//! Where nothing can be read, or there is no id that an answer could have, nobody waits, and silence is as good as an
//! error. A notification must not be answered at all.
//!
//! `message` is the text of a payload, `argument` the value of the first argument of a call of the tool. In both, `<id>`
//! is an id that nothing else has, `<tool>` the name of a tool that exists, `<meta>` the metadata of the stateless era,
//! `<,meta>` the same after a comma, `<*text*>` the text `repeat` times, `<invalid>` bytes that are no UTF-8. In the stateless era a request is refused without its metadata before anybody looks at the rest,
//! so a payload keeps it wherever its own defect leaves room for it.

use std::sync::LazyLock;

use crate::drive::scenario::prelude::*;
use mcprove_client::session::RawMessage;

/// Whether a server has to answer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Due {
    /// The id can be read.
    #[default]
    Yes,
    /// Nobody could wait for an answer.
    No,
    /// Only in a revision that has batches.
    WithBatches,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Payload {
    pub name: String,
    /// What is wrong with it.
    pub explanation: String,
    /// Whether a server has to answer.
    pub due: Due,
    /// For the HTTP headers.
    method: String,
    message: String,
    argument: Option<String>,
    repeat: usize,
    /// How often the message is sent besides the first time.
    copies: usize,
    /// The ids in it besides that of the frame, as JSON.
    pub ids: Vec<String>,
}

/// What a payload is made for: one session, one moment.
pub struct Frame<'a> {
    /// An id that nothing else has.
    pub id: u64,
    /// A tool that exists, where the server has one.
    pub tool: &'a str,
    /// Arguments that it accepts.
    pub arguments: &'a Value,
    /// The members of `_meta`, as JSON without braces; empty where the revision has none.
    pub meta: &'a str,
}

const CALL: &str = r#"{"jsonrpc":"2.0","id":<id>,"method":"tools/call","params":{"name":<tool>,"arguments":<arguments><,meta>}}"#;

impl Payload {
    /// Whether it is a call of the tool that works.
    pub fn is_call(&self) -> bool {
        self.method == "tools/call"
    }

    /// Its messages. Their HTTP headers name the method and the tool, as those of proper messages do.
    pub fn build(&'static self, frame: &Frame<'_>) -> Vec<RawMessage> {
        let text = match &self.argument {
            Some(value) => frame
                .fill(CALL)
                .replace("<arguments>", &frame.arguments_with(value)),
            None => frame.fill(&self.message),
        };
        let text = self.repeated(&text);
        let bytes = match text.split_once("<invalid>") {
            Some((before, after)) => {
                [before.as_bytes(), b"\xff\xfe\xc3\x28", after.as_bytes()].concat()
            }
            None => text.into_bytes(),
        };
        let message = RawMessage {
            bytes,
            method: &self.method,
            name: (self.method == "tools/call").then(|| frame.tool.to_owned()),
        };
        vec![message; self.copies.max(1)]
    }

    fn repeated(&self, text: &str) -> String {
        let mut parts = text.split("<*");
        let mut out = parts.next().unwrap_or_default().to_owned();
        for part in parts {
            let (unit, rest) = part.split_once("*>").unwrap_or(("", part));
            out.push_str(&unit.repeat(self.repeat));
            out.push_str(rest);
        }
        out
    }
}

impl Frame<'_> {
    fn fill(&self, template: &str) -> String {
        let (meta, comma) = match self.meta {
            "" => (String::new(), ""),
            meta => (format!(r#""_meta":{{{meta}}}"#), ","),
        };
        template
            .replace("<id>", &self.id.to_string())
            .replace("<,meta>", &format!("{comma}{meta}"))
            .replace("<meta>", &meta)
            .replace("<tool>", &Value::from(self.tool).to_string())
    }

    /// The arguments in which the first that is a text, or one of our own, has this value, given as JSON.
    fn arguments_with(&self, value: &str) -> String {
        let none = Map::new();
        let given = self.arguments.as_object().unwrap_or(&none);
        let changed = given
            .iter()
            .find(|(_, argument)| argument.is_string())
            .map_or("mcprove", |(name, _)| name.as_str());
        let member = |name: &str, value: &str| format!("{}:{value}", Value::from(name));
        let others = given.iter().filter(|(name, _)| *name != changed);
        let mut members = vec![member(changed, value)];
        members.extend(others.map(|(name, argument)| member(name, &argument.to_string())));
        format!("{{{}}}", members.join(","))
    }
}

/// Every payload, in the order in which they are sent.
pub fn all() -> std::slice::Iter<'static, Payload> {
    static ALL: LazyLock<Vec<Payload>> = LazyLock::new(|| {
        serde_json::from_str(include_str!("payloads.json"))
            .unwrap_or_else(|error| unreachable!("payloads.json: {error}"))
    });
    ALL.iter()
}

/// The payloads of these names, in their own order; all without names.
pub fn choose(names: &[String]) -> Vec<&'static Payload> {
    let wanted: Vec<String> = names.iter().map(|name| name.replace('-', "_")).collect();
    let is_wanted = |payload: &&Payload| wanted.is_empty() || wanted.contains(&payload.name);
    all().filter(is_wanted).collect()
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
        payload.build(&frame)
    }

    #[test]
    fn names_are_unique_and_everything_is_explained() {
        let mut names: Vec<_> = all().map(|payload| &payload.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), all().count());
        assert!(all().all(|payload| !payload.explanation.is_empty()));
    }

    /// A message on stdio is a line.
    #[test]
    fn no_payload_holds_a_line_break() {
        for payload in all() {
            for message in messages(&payload.name) {
                assert!(!message.bytes.contains(&b'\n'), "{}", payload.name);
            }
        }
    }

    #[test]
    fn where_an_answer_is_due_the_id_can_be_read() {
        // The last is JSON, and too deep for our own parser.
        let due = all().filter(|payload| payload.due == Due::Yes && payload.name != "deep_nesting");
        for payload in due {
            let message = messages(&payload.name).remove(0);
            let text = std::str::from_utf8(&message.bytes).unwrap();
            let name = payload.name.as_str();
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
        assert_eq!(messages("duplicate_id").len(), 2);
    }

    #[test]
    fn payloads_are_chosen_by_name_and_keep_their_order() {
        assert_eq!(choose(&[]).len(), all().count());
        let names = ["deep-nesting".to_owned(), "unknown_method".to_owned()];
        let chosen: Vec<_> = choose(&names).iter().map(|one| &one.name).collect();
        assert_eq!(chosen, ["deep_nesting", "unknown_method"]);
    }

    #[test]
    fn calls_are_requests_of_either_era() {
        let arguments = json!({ "count": 1, "text": "x" });
        for (meta, expected) in [("", None), (r#""v":"1""#, Some("1"))] {
            let frame = Frame {
                id: 7,
                tool: "a\"b",
                arguments: &arguments,
                meta,
            };
            let wrong = choose(&["wrong_argument_type".to_owned()]);
            let message = wrong[0].build(&frame).remove(0);
            let call: Value = serde_json::from_slice(&message.bytes).unwrap();
            assert_eq!(call["params"]["name"], "a\"b");
            assert_eq!(
                call["params"]["arguments"],
                json!({ "count": 1, "text": { "mcprove": [null] } })
            );
            let version = call.pointer("/params/_meta/v").and_then(Value::as_str);
            assert_eq!((call["id"].as_u64(), version), (Some(7), expected));
        }
    }
}
