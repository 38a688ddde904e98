//! One row of the audit: what was asked, by whom, what came of it, and how long it took.

use std::time::SystemTime;

use schemars::JsonSchema;
use serde_json::Value;

/// The name of the format.
pub const AUDIT_FORMAT: &str = "audit.v1";

/// Rows of an audit. Serialised it is of the format `audit.v1`; a line of an export is one of its
/// rows.
#[derive(Debug, Clone, PartialEq, serde::Serialize, JsonSchema)]
pub struct AuditList {
    /// The format: `audit.v1`.
    pub schema: &'static str,
    /// The rows.
    pub rows: Vec<AuditRow>,
}

/// What the lab writes down of one request, once it is over; also of one that it refused, and of what
/// should have been one. Notifications have no row.
///
/// The names are those of the columns in the file. Whoever fills a row leaves `id` at 0: the store
/// gives it. Texts may be of any size; the store cuts what is over its [`Caps`](super::Caps).
#[derive(Debug, Clone, PartialEq, JsonSchema)]
// The columns of a file, as they are.
#[allow(clippy::struct_excessive_bools)]
pub struct AuditRow {
    /// The number of the row. The store gives it, in the order in which requests ended.
    pub id: i64,
    /// When the request came.
    #[schemars(with = "String")]
    pub ts: SystemTime,
    /// How long it took, in milliseconds; until it was cancelled if it was.
    pub duration_ms: f64,
    /// The id of the JSON-RPC request, as JSON: `7`, or `"seven"` with its quotes. None where none
    /// could be read.
    #[schemars(with = "Value")]
    pub request_id: Option<String>,
    /// The session that it belongs to.
    pub session_id: Option<String>,
    /// Who asked: the name of the API key.
    pub user: Option<String>,
    /// How they proved it: `none`, `api_key`.
    pub auth_type: Option<String>,
    /// The tool, for `tools/call`.
    pub tool_name: Option<String>,
    /// The group that the tool belongs to.
    pub tool_group: Option<String>,
    /// JSON: the arguments of the tool for `tools/call`, otherwise the `params` of the request.
    #[schemars(with = "Value")]
    pub parameters: Option<String>,
    /// Whether it went well: a result, and none with `isError`.
    pub success: bool,
    /// What the error says.
    pub error_message: Option<String>,
    /// The kind of error: `protocol`, `tool`, `timeout`, `auth` or `cancelled`; for the tool `error` the
    /// one that was asked for.
    pub error_category: Option<String>,
    /// How many characters the `params` of the request had, written without spaces.
    pub request_chars: u64,
    /// How many characters the answer had, as the whole message that was sent; 0 where there was none.
    pub response_chars: u64,
    /// How many blocks of content the result had.
    pub content_blocks: u64,
    /// How the request came: `stdio`, `http`, `sse`, `ws`.
    pub transport: String,
    /// Where it came from, as the client says: its name and version.
    pub source: Option<String>,
    /// The address of the client.
    pub remote_addr: Option<String>,
    /// The client's `User-Agent`.
    pub user_agent: Option<String>,
    /// The method of the request; empty where none could be read. Of a request that was refused before
    /// its body was read it is what the header `Mcp-Method` says, if there is one.
    pub method: String,
    /// The revision of the protocol in which it was served, such as `2025-11-25`.
    pub protocol_version: Option<String>,
    /// The code of the JSON-RPC error, if it ended with one.
    pub error_code: Option<i64>,
    /// The headers of the request as a JSON object, the secrets among them hidden: see
    /// [`redact_headers`](super::redact_headers).
    #[schemars(with = "Value")]
    pub headers: Option<String>,
    /// JSON: the `result`, or the `error` if it ended with one; the text that came with an HTTP status
    /// such as 401. None where nothing was answered.
    #[schemars(with = "Value")]
    pub response: Option<String>,
    /// Whether `parameters` were cut because they are over the cap. The store sets it.
    pub parameters_cut: bool,
    /// Whether `response` was cut because it is over the cap. The store sets it.
    pub response_cut: bool,
    /// Whether some of the `headers` were left out because all are over the cap. The store sets it.
    pub headers_cut: bool,
    /// How many notifications were sent about the request.
    pub notifications_sent: u64,
    /// Whether the request was given up before its answer: cancelled by the client, or by the end of
    /// its connection or of the lab.
    pub cancelled: bool,
}

impl Default for AuditRow {
    fn default() -> Self {
        Self {
            id: 0,
            ts: SystemTime::UNIX_EPOCH,
            duration_ms: 0.0,
            request_id: None,
            session_id: None,
            user: None,
            auth_type: None,
            tool_name: None,
            tool_group: None,
            parameters: None,
            success: false,
            error_message: None,
            error_category: None,
            request_chars: 0,
            response_chars: 0,
            content_blocks: 0,
            transport: String::new(),
            source: None,
            remote_addr: None,
            user_agent: None,
            method: String::new(),
            protocol_version: None,
            error_code: None,
            headers: None,
            response: None,
            parameters_cut: false,
            response_cut: false,
            headers_cut: false,
            notifications_sent: 0,
            cancelled: false,
        }
    }
}
