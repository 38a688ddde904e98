//! The frames that payloads are made of: requests that are right but for what a payload changes.
//!
//! In the stateless era a request is refused without its metadata before anybody looks at the rest,
//! so a payload keeps it wherever its own defect leaves room for it.

use mcprove_client::session::RawMessage;
use serde_json::Value;

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

impl Frame<'_> {
    /// `"params":{…}` with `members` and the metadata.
    pub fn params(&self, members: &str) -> String {
        let meta = if self.meta.is_empty() {
            String::new()
        } else {
            format!(r#""_meta":{{{}}}"#, self.meta)
        };
        let comma = if meta.is_empty() || members.is_empty() {
            ""
        } else {
            ","
        };
        format!(r#""params":{{{members}{comma}{meta}}}"#)
    }

    /// A whole request of `method`, given as JSON, with `params`, given with their key.
    pub fn request(&self, method: &str, params: &str) -> String {
        request_as(&self.id.to_string(), method, params)
    }

    /// A call of the tool in which the first argument that is a text, or one of our own, has this
    /// value, given as JSON.
    pub fn call_with(&self, value: &str) -> String {
        let arguments = self.arguments_with(value);
        let tool = Value::from(self.tool);
        let params = self.params(&format!(r#""name":{tool},"arguments":{arguments}"#));
        self.request(r#""tools/call""#, &params)
    }

    fn arguments_with(&self, value: &str) -> String {
        let none = serde_json::Map::new();
        let given = self.arguments.as_object().unwrap_or(&none);
        let changed = given
            .iter()
            .find(|(_, argument)| argument.is_string())
            .map_or("mcprove", |(name, _)| name.as_str());
        let mut members = vec![format!("{}:{value}", Value::from(changed))];
        let others = given.iter().filter(|(name, _)| *name != changed);
        members.extend(
            others.map(|(name, argument)| format!("{}:{argument}", Value::from(name.as_str()))),
        );
        format!("{{{}}}", members.join(","))
    }

    /// A message as the server gets it. Its HTTP headers name the method and the tool, as those of
    /// a proper message do.
    pub fn message(&self, bytes: impl Into<Vec<u8>>, method: &'static str) -> RawMessage {
        RawMessage {
            bytes: bytes.into(),
            method,
            name: (method == "tools/call").then(|| self.tool.to_owned()),
        }
    }
}

/// A request with an id of its own, all parts given as JSON.
pub(super) fn request_as(id: &str, method: &str, params: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":{method},{params}}}"#)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn frames_are_requests_of_either_era() {
        let arguments = json!({ "count": 1, "text": "x" });
        for (meta, expected) in [("", None), (r#""v":"1""#, Some("1"))] {
            let frame = Frame {
                id: 7,
                tool: "a\"b",
                arguments: &arguments,
                meta,
            };
            let call: Value = serde_json::from_str(&frame.call_with("[1]")).unwrap();
            assert_eq!(call["params"]["name"], "a\"b");
            assert_eq!(
                call["params"]["arguments"],
                json!({ "count": 1, "text": [1] })
            );
            let version = call.pointer("/params/_meta/v").and_then(Value::as_str);
            assert_eq!((call["id"].as_u64(), version), (Some(7), expected));
            let ping = frame.request(r#""ping""#, &frame.params(""));
            assert!(serde_json::from_str::<Value>(&ping).is_ok(), "{ping}");
        }
    }
}
