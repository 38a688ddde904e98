//! One row of the audit: what was asked, by whom, its outcome, and how long it took.

use serde::ser::{SerializeMap, Serializer};
use serde_json::value::RawValue;

use crate::prelude::*;

/// The name of the format.
pub const AUDIT_FORMAT: &str = "audit.v1";

/// Rows of an audit. Serialised it is of the format `audit.v1`; a line of an export is one of its
/// rows.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
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
            pub fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
                Ok(Self { $($column: Column::read(row, stringify!($column))?,)+ })
            }

            /// What stands in the columns, in the order of [`COLUMNS`].
            pub fn cells(&self) -> Vec<Cell<'_>> {
                vec![$(self.as_json(stringify!($column), self.$column.cell())),+]
            }

            /// The texts, with the names of their columns.
            pub fn texts_mut(&mut self) -> impl Iterator<Item = (&'static str, &mut String)> {
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

/// What stands in one column of a row.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Cell<'a> {
    /// Nothing.
    Empty,
    /// Yes or no.
    Flag(bool),
    /// A whole number.
    Number(i64),
    /// A time in milliseconds.
    Milliseconds(f64),
    /// A text, or a point in time as it is written.
    Text(Cow<'a, str>),
    /// A text that is JSON unless a client sent something else.
    Json(#[serde(serialize_with = "one_line")] Cow<'a, str>),
}

/// What a column can hold.
pub trait Column: Sized {
    /// What is there before anything is known.
    fn empty() -> Self;
    /// What the file has.
    fn read(row: &Row<'_>, column: &str) -> rusqlite::Result<Self>;
    /// What stands there, for whoever writes it somewhere.
    fn cell(&self) -> Cell<'_>;
    /// The text, if it is one.
    fn text_mut(&mut self) -> Option<&mut String> {
        None
    }
}

/// Types that SQLite knows.
macro_rules! plain_columns {
    ($($type:ty: |$value:ident| $cell:expr $(, |$given:ident| $text:expr)?;)+) => {
        $(impl Column for $type {
            fn empty() -> Self {
                Self::default()
            }

            fn read(row: &Row<'_>, column: &str) -> rusqlite::Result<Self> {
                row.get(column)
            }

            fn cell(&self) -> Cell<'_> {
                let $value = self;
                $cell
            }

            $(fn text_mut(&mut self) -> Option<&mut String> {
                let $given = self;
                $text
            })?
        })+
    };
}

plain_columns! {
    i64: |number| Cell::Number(*number);
    f64: |time| Cell::Milliseconds(*time);
    bool: |flag| Cell::Flag(*flag);
    String: |text| Cell::Text(text.into()), |text| Some(text);
    Option<String>: |text| text.as_ref().map_or(Cell::Empty, Column::cell), |text| text.as_mut();
    Option<i64>: |number| number.map_or(Cell::Empty, Cell::Number);
}

impl Column for u64 {
    fn empty() -> Self {
        0
    }

    fn read(row: &Row<'_>, column: &str) -> rusqlite::Result<Self> {
        i64::read(row, column).map(|count| Self::try_from(count).unwrap_or(0))
    }

    fn cell(&self) -> Cell<'_> {
        Cell::Number(i64::try_from(*self).unwrap_or(i64::MAX))
    }
}

impl Column for SystemTime {
    fn empty() -> Self {
        Self::UNIX_EPOCH
    }

    fn read(row: &Row<'_>, column: &str) -> rusqlite::Result<Self> {
        let text = String::read(row, column)?;
        Ok(humantime::parse_rfc3339(&text).unwrap_or(Self::UNIX_EPOCH))
    }

    fn cell(&self) -> Cell<'_> {
        Cell::Text(format_time(*self).into())
    }
}

/// As it stands in a line of text; nothing where there is nothing.
impl fmt::Display for Cell<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => Ok(()),
            Self::Flag(flag) => write!(formatter, "{flag}"),
            Self::Number(number) => write!(formatter, "{number}"),
            Self::Milliseconds(time) => write!(formatter, "{time}"),
            Self::Text(text) | Self::Json(text) => write!(formatter, "{text}"),
        }
    }
}

/// JSON as it is, on one line: a line break can stand between its parts, and a row is one line.
fn one_line<S: Serializer>(text: &str, serializer: S) -> Result<S::Ok, S::Error> {
    match RawValue::from_string(text.replace(['\n', '\r'], " ")) {
        Ok(json) => json.serialize(serializer),
        Err(_) => text.serialize(serializer),
    }
}

impl AuditRow {
    /// What stands in a column, as JSON if it is such: what was cut is none any more.
    pub fn as_json<'a>(&self, column: &str, cell: Cell<'a>) -> Cell<'a> {
        match (column, cell) {
            ("request_id" | "headers", Cell::Text(text)) => Cell::Json(text),
            ("parameters" | "response", Cell::Text(text)) if !self.is_cut(column) => {
                Cell::Json(text)
            }
            (_, cell) => cell,
        }
    }

    /// Whether a column was cut because it is over its cap.
    pub fn is_cut(&self, column: &str) -> bool {
        match column {
            "parameters" => self.parameters_cut,
            "response" => self.response_cut,
            "headers" => self.headers_cut,
            _ => false,
        }
    }

    /// The row as JSON, an object of the columns. What is JSON itself stands as such, unless it was
    /// cut: then it is a text.
    ///
    /// ```
    /// use std::time::{Duration, SystemTime};
    /// use mcprove_lab::audit::AuditRow;
    ///
    /// let row = AuditRow {
    ///     ts: SystemTime::UNIX_EPOCH + Duration::from_secs(1_767_225_600),
    ///     duration_ms: 12.5,
    ///     method: "tools/call".into(),
    ///     tool_name: Some("echo".into()),
    ///     parameters: Some(r#"{"message":"hi"}"#.into()),
    ///     success: true,
    ///     transport: "stdio".into(),
    ///     ..AuditRow::default()
    /// };
    /// let json = row.to_json();
    /// assert_eq!(json["ts"], "2026-01-01T00:00:00.000000Z");
    /// assert_eq!(json["parameters"]["message"], "hi");
    /// ```
    pub fn to_json(&self) -> Value {
        serde_json::to_value(self).unwrap_or_default()
    }
}

/// An object with the columns in their order, as [`AuditRow::to_json`] says.
impl Serialize for AuditRow {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut columns = serializer.serialize_map(Some(COLUMNS.len()))?;
        for (name, cell) in COLUMNS.iter().zip(self.cells()) {
            columns.serialize_entry(name, &cell)?;
        }
        columns.end()
    }
}

#[cfg(test)]
mod tests;
