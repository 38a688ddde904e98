//! The MCP messages that the client looks into, as far as it does. Fields that it only passes on
//! stay JSON.

use serde::de::Error as _;

use crate::prelude::*;

/// Who a server says it is.
#[stored(Default, Eq)]
pub struct Implementation {
    /// The name of the software.
    #[serde(default)]
    pub name: String,
    /// Its version.
    #[serde(default)]
    pub version: String,
}

/// The answer to `initialize`.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct InitializeResult {
    /// The revision that the server chose.
    #[serde(deserialize_with = "read_version")]
    pub protocol_version: String,
    /// What the server offers.
    #[serde(default)]
    pub capabilities: Value,
    /// Who the server says it is; what is no text is left empty.
    #[serde(default, deserialize_with = "read_server_info")]
    pub server_info: Implementation,
    /// How to use the server.
    pub instructions: Option<String>,
}

impl Implementation {
    /// What `info` says, as far as it can be read: a name is no reason to refuse a server.
    pub fn read(info: &Value) -> Self {
        let text = |key| {
            info.get(key)
                .and_then(Value::as_str)
                .unwrap_or_default()
                .to_owned()
        };
        Self {
            name: text("name"),
            version: text("version"),
        }
    }
}

fn read_server_info<'de, D: Deserializer<'de>>(source: D) -> Result<Implementation, D::Error> {
    Value::deserialize(source).map(|info| Implementation::read(&info))
}

/// Says which field it is that has the wrong type.
fn read_version<'de, D: Deserializer<'de>>(source: D) -> Result<String, D::Error> {
    match Value::deserialize(source)? {
        Value::String(version) => Ok(version),
        _ => Err(D::Error::custom("protocolVersion is not a text")),
    }
}

/// The answer to `server/discover`.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DiscoverResult {
    /// The revisions that the server speaks.
    pub supported_versions: Vec<String>,
    /// What the server offers.
    #[serde(default)]
    pub capabilities: Value,
    /// How to use the server.
    pub instructions: Option<String>,
    /// Who the server says it is, where some servers put it.
    pub server_info: Option<Value>,
    /// Metadata; the server's name and version belong into it.
    #[serde(default, rename = "_meta")]
    pub meta: Value,
}

/// A tool, as `tools/list` has it.
#[sparse(marked)]
#[stored]
#[serde(rename_all = "camelCase")]
pub struct Tool {
    /// The name to call it by.
    pub name: String,
    /// What people call it.
    #[sparse]
    pub title: Option<String>,
    /// What it does.
    #[sparse]
    pub description: Option<String>,
    /// The JSON Schema of its arguments.
    #[serde(default)]
    pub input_schema: Value,
    /// The JSON Schema of its structured result.
    #[sparse]
    pub output_schema: Option<Value>,
    /// What the server says of its effects.
    #[serde(default, deserialize_with = "read_annotations")]
    pub annotations: Option<ToolAnnotations>,
    /// How it runs.
    pub execution: Option<ToolExecution>,
}

/// What a server says of a tool's effects.
#[stored(Default, Eq)]
#[serde(rename_all = "camelCase")]
pub struct ToolAnnotations {
    /// What people call the tool.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// It changes nothing.
    pub read_only_hint: Option<bool>,
    /// It may destroy something.
    pub destructive_hint: Option<bool>,
    /// Calling it again changes nothing more.
    pub idempotent_hint: Option<bool>,
    /// It reaches outside of its own world.
    pub open_world_hint: Option<bool>,
}

/// Annotations as they are listed. Hints in snake case are not part of the protocol; they count where they are stricter.
fn read_annotations<'de, D: Deserializer<'de>>(
    source: D,
) -> Result<Option<ToolAnnotations>, D::Error> {
    let listed = Value::deserialize(source)?;
    let mut own = Option::<ToolAnnotations>::deserialize(&listed).map_err(D::Error::custom)?;
    if let Some(own) = &mut own {
        if listed["read_only_hint"] == false {
            own.read_only_hint = Some(false);
        }
        if listed["destructive_hint"] == true {
            own.destructive_hint = Some(true);
        }
    }
    Ok(own)
}

/// How a tool runs.
#[stored(Default, Eq)]
#[serde(rename_all = "camelCase", default)]
pub struct ToolExecution {
    /// `forbidden`, `optional` or `required`.
    pub task_support: Option<String>,
}

impl Tool {
    /// Whether the tool can only be called as a task.
    pub fn requires_task(&self) -> bool {
        let support = self
            .execution
            .as_ref()
            .and_then(|execution| execution.task_support.as_deref());
        support == Some("required")
    }
}

/// A JSON-RPC error.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, thiserror::Error)]
#[error("JSON-RPC error {code}: {message}")]
pub struct RpcError {
    /// The code.
    pub code: i64,
    /// What the server says.
    #[serde(default)]
    pub message: String,
    /// Anything more.
    pub data: Option<Value>,
}

/// The error for a protocol version that the server does not speak; `data.supported` lists those
/// that it does.
pub const UNSUPPORTED_PROTOCOL_VERSION: i64 = -32022;
/// The error for HTTP headers that do not agree with the body.
pub const HEADER_MISMATCH: i64 = -32020;
/// The error for a capability that the client lacks.
pub const MISSING_CLIENT_CAPABILITY: i64 = -32021;
/// The JSON-RPC error for an unknown method.
pub const METHOD_NOT_FOUND: i64 = -32601;
/// The JSON-RPC error for parameters that do not fit.
pub const INVALID_PARAMS: i64 = -32602;

impl UserError for RpcError {
    fn hint(&self) -> Message {
        ErrorCategory::from_code(self.code).hint()
    }
}

impl RpcError {
    /// Whether only a server of the stateless era answers like this.
    pub fn is_of_stateless_era(&self) -> bool {
        matches!(
            self.code,
            UNSUPPORTED_PROTOCOL_VERSION | HEADER_MISMATCH | MISSING_CLIENT_CAPABILITY
        )
    }

    /// The revisions that the server offers instead of the one it refused.
    pub fn supported_versions(&self) -> Vec<String> {
        let supported = self.data.as_ref().and_then(|data| data.get("supported"));
        supported
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .map(str::to_owned)
            .collect()
    }
}
