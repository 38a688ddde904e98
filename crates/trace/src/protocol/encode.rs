//! Writing messages, straight into an output buffer.

use super::{Era, Revision};
use crate::prelude::*;

/// The key of the protocol version in `_meta` (stateless era).
pub const META_PROTOCOL_VERSION: &str = "io.modelcontextprotocol/protocolVersion";
/// The key of the client's name and version in `_meta` (stateless era).
pub const META_CLIENT_INFO: &str = "io.modelcontextprotocol/clientInfo";
/// The key of the client's capabilities in `_meta` (stateless era).
pub const META_CLIENT_CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
/// The key of the server's name and version in `_meta` (stateless era).
pub const META_SERVER_INFO: &str = "io.modelcontextprotocol/serverInfo";
/// The key that ties a message to a task (2025-11-25).
pub const META_RELATED_TASK: &str = "io.modelcontextprotocol/related-task";

/// What every request of a session carries in `_meta`, encoded once.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RequestMeta {
    members: String,
}

impl RequestMeta {
    /// The metadata that `revision` asks for: nothing before the stateless era.
    pub fn new(revision: Revision, client_info: &Value, capabilities: &Value) -> Self {
        if revision.era() == Era::Handshake {
            return Self::default();
        }
        let meta = json!({
            META_PROTOCOL_VERSION: revision.as_str(),
            META_CLIENT_INFO: client_info,
            META_CLIENT_CAPABILITIES: capabilities,
        });
        let text = meta.to_string();
        Self {
            members: text[1..text.len() - 1].to_owned(),
        }
    }
}

impl RequestMeta {
    /// The members, as JSON without the braces around them.
    pub fn members(&self) -> &str {
        &self.members
    }
}

/// Appends a request: `params` is a JSON object without `_meta`, or empty for none.
///
/// ```
/// use mcprove_trace::protocol::{RequestMeta, write_request};
///
/// let mut line = Vec::new();
/// write_request(&mut line, 1, "ping", "", &RequestMeta::default(), false);
/// assert_eq!(line, br#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#);
/// ```
pub fn write_request(
    output: &mut Vec<u8>,
    id: u64,
    method: &str,
    params: &str,
    meta: &RequestMeta,
    wants_progress: bool,
) {
    let mut number = itoa::Buffer::new();
    let id = number.format(id);
    output.extend_from_slice(b"{\"jsonrpc\":\"2.0\",\"id\":");
    output.extend_from_slice(id.as_bytes());
    output.extend_from_slice(b",\"method\":");
    write_json_string(output, method);
    if meta.members.is_empty() && !wants_progress {
        if !params.is_empty() {
            output.extend_from_slice(b",\"params\":");
            output.extend_from_slice(params.as_bytes());
        }
    } else {
        output.extend_from_slice(b",\"params\":{\"_meta\":{");
        output.extend_from_slice(meta.members.as_bytes());
        if wants_progress {
            if !meta.members.is_empty() {
                output.push(b',');
            }
            output.extend_from_slice(b"\"progressToken\":");
            output.extend_from_slice(id.as_bytes());
        }
        output.push(b'}');
        let members = params.trim_ascii();
        let members = members
            .strip_prefix('{')
            .unwrap_or(members)
            .trim_ascii_start();
        if members.is_empty() || members == "}" {
            output.push(b'}');
        } else {
            output.push(b',');
            output.extend_from_slice(members.as_bytes());
        }
    }
    output.push(b'}');
}

/// A notification.
pub fn notification(method: &str, params: Option<&Value>) -> Vec<u8> {
    let mut message = Map::new();
    message.insert("jsonrpc".into(), "2.0".into());
    message.insert("method".into(), method.into());
    if let Some(params) = params {
        message.insert("params".into(), params.clone());
    }
    Value::Object(message).to_string().into_bytes()
}

/// The answer to a request of the server; `id` is JSON as it was written.
pub fn reply(id: &str, outcome: &Result<Value, (i64, String)>) -> Vec<u8> {
    let body = match outcome {
        Ok(result) => format!("\"result\":{result}"),
        Err((code, message)) => {
            format!("\"error\":{}", json!({ "code": code, "message": message }))
        }
    };
    format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},{body}}}").into_bytes()
}

/// The parameters of `tools/call`, as [`write_request`] takes them.
pub fn tool_call_params(tool: &str, arguments: &Value) -> String {
    let mut params = Vec::with_capacity(64);
    params.extend_from_slice(b"{\"name\":");
    write_json_string(&mut params, tool);
    params.extend_from_slice(b",\"arguments\":");
    params.extend_from_slice(arguments.to_string().as_bytes());
    params.push(b'}');
    String::from_utf8(params).unwrap_or_default()
}

/// Appends a text as a JSON string.
pub fn write_json_string(output: &mut Vec<u8>, text: &str) {
    output.push(b'"');
    let is_plain = |byte: u8| byte >= 0x20 && byte != b'"' && byte != b'\\';
    if text.bytes().all(is_plain) {
        output.extend_from_slice(text.as_bytes());
    } else {
        let escaped = Value::from(text).to_string();
        output.extend_from_slice(&escaped.as_bytes()[1..escaped.len() - 1]);
    }
    output.push(b'"');
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(params: &str, meta: &RequestMeta, wants_progress: bool) -> Value {
        let mut output = Vec::new();
        write_request(&mut output, 5, "tools/call", params, meta, wants_progress);
        serde_json::from_slice(&output).unwrap()
    }

    #[test]
    fn metadata_joins_the_parameters() {
        let meta = RequestMeta::new(Revision::V2026_07_28, &json!({"name":"m"}), &json!({}));
        let params = tool_call_params("e\"cho", &json!({"a":[1,"\n"]}));
        let message = request(&params, &meta, true);
        assert_eq!(message["params"]["name"], "e\"cho");
        assert_eq!(message["params"]["arguments"]["a"][1], "\n");
        assert_eq!(message["params"]["_meta"]["progressToken"], 5);
        assert_eq!(
            message["params"]["_meta"][META_PROTOCOL_VERSION],
            "2026-07-28"
        );
        for empty in ["", "{}", " { } "] {
            let message = request(empty, &meta, false);
            assert_eq!(message["params"].as_object().unwrap().len(), 1, "{empty:?}");
        }
    }

    #[test]
    fn the_handshake_era_adds_nothing() {
        let meta = RequestMeta::new(Revision::V2025_11_25, &json!({}), &json!({}));
        assert_eq!(
            request("{\"cursor\":\"x\"}", &meta, false)["params"],
            json!({"cursor":"x"})
        );
        assert_eq!(
            request("", &meta, true)["params"]["_meta"]["progressToken"],
            5
        );
        assert!(request("", &meta, false).get("params").is_none());
    }

    #[test]
    fn replies_keep_the_id_as_it_was() {
        let text = reply("\"abc\"", &Ok(json!({})));
        assert_eq!(text, br#"{"jsonrpc":"2.0","id":"abc","result":{}}"#);
        let text = reply("1", &Err((-1, "no".into())));
        assert_eq!(
            serde_json::from_slice::<Value>(&text).unwrap()["error"]["code"],
            -1
        );
    }
}
