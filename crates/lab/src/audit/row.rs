//! One row of the audit: what was asked, by whom, what came of it, and how long it took.

use std::time::SystemTime;

use rusqlite::Row;
use schemars::JsonSchema;
use serde_json::Value;

use super::{Cell, Column};

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

/// Declares the columns of a row: its fields, their names, what stands in them, and how they are read.
macro_rules! columns {
    ($(#[$about:meta])* $name:ident; $($(#[$meta:meta])* $column:ident: $type:ty,)+) => {
        $(#[$about])*
        #[derive(Debug, Clone, PartialEq, JsonSchema)]
        // The columns of a file, as they are.
        #[allow(clippy::struct_excessive_bools)]
        pub struct $name {
            $($(#[$meta])* pub $column: $type,)+
        }

        /// The names of the columns, in their order: those of the file, of JSON and of CSV.
        pub const COLUMNS: [&str; [$(stringify!($column)),+].len()] = [$(stringify!($column)),+];

        impl Default for $name {
            fn default() -> Self {
                Self { $($column: Column::empty(),)+ }
            }
        }

        impl $name {
            /// A row as it stands in the file.
            pub(super) fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
                Ok(Self { $($column: Column::read(row, stringify!($column))?,)+ })
            }

            /// What stands in the columns, in the order of [`COLUMNS`].
            pub fn cells(&self) -> Vec<Cell<'_>> {
                vec![$(self.as_json(stringify!($column), self.$column.cell())),+]
            }

            /// The texts, with the names of their columns.
            pub(super) fn texts_mut(&mut self) -> impl Iterator<Item = (&'static str, &mut String)> {
                let texts = [$((stringify!($column), self.$column.text_mut())),+];
                texts.into_iter().filter_map(|(name, text)| Some((name, text?)))
            }
        }
    };
}

columns! {
    /// What the lab writes down of one request, once it is over; also of one that it refused, and of what
    /// should have been one. Notifications have no row.
    ///
    /// The names are those of the columns in the file. Whoever fills a row leaves `id` at 0: the store
    /// gives it. Texts may be of any size; the store cuts what is over its [`Caps`](super::Caps).
    AuditRow;

    /// The number of the row. The store gives it, in the order in which requests ended.
    id: i64,
    /// When the request came.
    #[schemars(with = "String")]
    ts: SystemTime,
    /// How long it took, in milliseconds; until it was cancelled if it was.
    duration_ms: f64,
    /// The id of the JSON-RPC request, as JSON: `7`, or `"seven"` with its quotes. None where none
    /// could be read.
    #[schemars(with = "Value")]
    request_id: Option<String>,
    /// The session that it belongs to.
    session_id: Option<String>,
    /// Who asked: the name of the API key.
    user: Option<String>,
    /// How they proved it: `none`, `api_key`.
    auth_type: Option<String>,
    /// The tool, for `tools/call`.
    tool_name: Option<String>,
    /// The group that the tool belongs to.
    tool_group: Option<String>,
    /// JSON: the arguments of the tool for `tools/call`, otherwise the `params` of the request.
    #[schemars(with = "Value")]
    parameters: Option<String>,
    /// Whether it went well: a result, and none with `isError`.
    success: bool,
    /// What the error says.
    error_message: Option<String>,
    /// The kind of error: `protocol`, `tool`, `timeout`, `auth` or `cancelled`; for the tool `error` the
    /// one that was asked for.
    error_category: Option<String>,
    /// How many characters the `params` of the request had, written without spaces.
    request_chars: u64,
    /// How many characters the answer had, as the whole message that was sent; 0 where there was none.
    response_chars: u64,
    /// How many blocks of content the result had.
    content_blocks: u64,
    /// How the request came: `stdio`, `http`, `sse`, `ws`.
    transport: String,
    /// Where it came from, as the client says: its name and version.
    source: Option<String>,
    /// The address of the client.
    remote_addr: Option<String>,
    /// The client's `User-Agent`.
    user_agent: Option<String>,
    /// The method of the request; empty where none could be read. Of a request that was refused before
    /// its body was read it is what the header `Mcp-Method` says, if there is one.
    method: String,
    /// The revision of the protocol in which it was served, such as `2025-11-25`.
    protocol_version: Option<String>,
    /// The code of the JSON-RPC error, if it ended with one.
    error_code: Option<i64>,
    /// The headers of the request as a JSON object, the secrets among them hidden: see
    /// [`redact_headers`](super::redact_headers).
    #[schemars(with = "Value")]
    headers: Option<String>,
    /// JSON: the `result`, or the `error` if it ended with one; the text that came with an HTTP status
    /// such as 401. None where nothing was answered.
    #[schemars(with = "Value")]
    response: Option<String>,
    /// Whether `parameters` were cut because they are over the cap. The store sets it.
    parameters_cut: bool,
    /// Whether `response` was cut because it is over the cap. The store sets it.
    response_cut: bool,
    /// Whether some of the `headers` were left out because all are over the cap. The store sets it.
    headers_cut: bool,
    /// How many notifications were sent about the request.
    notifications_sent: u64,
    /// Whether the request was given up before its answer: cancelled by the client, or by the end of
    /// its connection or of the lab.
    cancelled: bool,
}
