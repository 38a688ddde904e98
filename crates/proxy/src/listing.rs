//! Lists of tools on their way to the client: which tools only read, and which are not to be listed.

use mcprove_trace::protocol::{Envelope, VALUES_MAX, count_values};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

/// What a list of tools says of one tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Listed {
    /// Its name.
    pub tool: String,
    /// Whether it says that it only reads, or that a repetition changes nothing more.
    pub is_repeatable: bool,
}

/// The tools that an answer to `tools/list` has.
pub(super) fn listed(answer: &[u8]) -> Vec<Listed> {
    #[derive(Deserialize)]
    struct List<'a> {
        #[serde(borrow, default)]
        tools: Vec<&'a RawValue>,
    }
    #[derive(Deserialize)]
    struct Tool {
        name: String,
        #[serde(default)]
        annotations: Option<Annotations>,
    }
    #[derive(Default, Deserialize)]
    struct Annotations {
        #[serde(default, rename = "readOnlyHint")]
        read_only: Option<bool>,
        #[serde(default, rename = "idempotentHint")]
        idempotent: Option<bool>,
    }
    let Ok(envelope) = Envelope::parse(answer) else {
        return Vec::new();
    };
    let result = envelope.result.unwrap_or_default();
    let Ok(list) = serde_json::from_str::<List<'_>>(result) else {
        return Vec::new();
    };
    let tools = list.tools.into_iter();
    tools
        .filter_map(|raw| serde_json::from_str::<Tool>(raw.get()).ok())
        .map(|tool| Listed {
            is_repeatable: tool.annotations.is_some_and(|annotations| {
                annotations.read_only == Some(true) || annotations.idempotent == Some(true)
            }),
            tool: tool.name,
        })
        .collect()
}

/// The same answer without the tools that are hidden; `None` if it has none of them, or cannot be
/// taken apart, and so stays as it is.
pub(super) fn without(answer: &[u8], is_hidden: impl Fn(&str) -> bool) -> Option<Vec<u8>> {
    let text = std::str::from_utf8(answer).ok()?;
    if count_values(text) > VALUES_MAX {
        return None;
    }
    let mut message: Map<String, Value> = serde_json::from_str(text).ok()?;
    let tools = message
        .get_mut("result")?
        .get_mut("tools")?
        .as_array_mut()?;
    let before = tools.len();
    tools.retain(|tool| {
        let name = tool.get("name").and_then(Value::as_str);
        !name.is_some_and(&is_hidden)
    });
    if tools.len() == before {
        return None;
    }
    serde_json::to_vec(&message).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIST: &[u8] = br#"{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"read","annotations":{"readOnlyHint":true}},{"name":"write","annotations":{}},{"name":5},{"name":"plain"}],"nextCursor":"x"}}"#;

    #[test]
    fn tools_that_only_read_are_told() {
        let told: Vec<(String, bool)> = listed(LIST)
            .into_iter()
            .map(|tool| (tool.tool, tool.is_repeatable))
            .collect();
        let expected = [("read", true), ("write", false), ("plain", false)];
        assert_eq!(told, expected.map(|(tool, is)| (tool.to_owned(), is)));
        assert!(listed(b"nonsense").is_empty());
    }

    #[test]
    fn hidden_tools_are_left_out_and_nothing_else_changes() {
        let changed = without(LIST, |tool| tool == "write").unwrap();
        let changed: Value = serde_json::from_slice(&changed).unwrap();
        assert_eq!(changed["result"]["nextCursor"], "x");
        assert_eq!(changed["result"]["tools"].as_array().unwrap().len(), 3);
        assert!(without(LIST, |_| false).is_none());
        for odd in [&b"{"[..], b"{}", b"\xff", br#"{"result":{"tools":5}}"#] {
            assert!(without(odd, |_| true).is_none());
        }
    }
}
