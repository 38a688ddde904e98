//! What stands in the columns of a row, for whoever writes it somewhere.

use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::Value;
use serde_json::value::RawValue;

use super::row::AuditRow;
use super::time::format_time;

/// The names of the columns, in their order: those of the file, of JSON and of CSV.
pub const COLUMNS: [&str; 30] = [
    "id",
    "ts",
    "duration_ms",
    "request_id",
    "session_id",
    "user",
    "auth_type",
    "tool_name",
    "tool_group",
    "parameters",
    "success",
    "error_message",
    "error_category",
    "request_chars",
    "response_chars",
    "content_blocks",
    "transport",
    "source",
    "remote_addr",
    "user_agent",
    "method",
    "protocol_version",
    "error_code",
    "headers",
    "response",
    "parameters_cut",
    "response_cut",
    "headers_cut",
    "notifications_sent",
    "cancelled",
];

/// What stands in one column of a row.
#[derive(Debug, Clone, PartialEq)]
pub enum Cell<'a> {
    /// Nothing.
    Empty,
    /// Yes or no.
    Flag(bool),
    /// A whole number.
    Number(i64),
    /// A time in milliseconds.
    Milliseconds(f64),
    /// A point in time, as it is written.
    Time(String),
    /// A text.
    Text(&'a str),
    /// A text that is JSON unless a client sent something else.
    Json(&'a str),
}

impl<'a> Cell<'a> {
    fn text(text: Option<&'a String>) -> Self {
        text.map_or(Self::Empty, |text| Self::Text(text))
    }

    fn json(text: Option<&'a String>, is_cut: bool) -> Self {
        match text {
            None => Self::Empty,
            Some(text) if is_cut => Self::Text(text),
            Some(text) => Self::Json(text),
        }
    }

    fn count(count: u64) -> Self {
        Self::Number(i64::try_from(count).unwrap_or(i64::MAX))
    }
}

impl Serialize for Cell<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Empty => serializer.serialize_none(),
            Self::Flag(flag) => serializer.serialize_bool(*flag),
            Self::Number(number) => serializer.serialize_i64(*number),
            Self::Milliseconds(time) => serializer.serialize_f64(*time),
            Self::Time(text) => serializer.serialize_str(text),
            Self::Text(text) => serializer.serialize_str(text),
            Self::Json(text) => {
                // A line break can stand between the parts of JSON, and a row is one line.
                let line = text.replace(['\n', '\r'], " ");
                match RawValue::from_string(line) {
                    Ok(json) => json.serialize(serializer),
                    Err(_) => serializer.serialize_str(text),
                }
            }
        }
    }
}

impl AuditRow {
    /// What stands in the columns, in the order of [`COLUMNS`].
    pub fn cells(&self) -> [Cell<'_>; COLUMNS.len()] {
        [
            Cell::Number(self.id),
            Cell::Time(format_time(self.ts)),
            Cell::Milliseconds(self.duration_ms),
            Cell::json(self.request_id.as_ref(), false),
            Cell::text(self.session_id.as_ref()),
            Cell::text(self.user.as_ref()),
            Cell::text(self.auth_type.as_ref()),
            Cell::text(self.tool_name.as_ref()),
            Cell::text(self.tool_group.as_ref()),
            Cell::json(self.parameters.as_ref(), self.parameters_cut),
            Cell::Flag(self.success),
            Cell::text(self.error_message.as_ref()),
            Cell::text(self.error_category.as_ref()),
            Cell::count(self.request_chars),
            Cell::count(self.response_chars),
            Cell::count(self.content_blocks),
            Cell::Text(&self.transport),
            Cell::text(self.source.as_ref()),
            Cell::text(self.remote_addr.as_ref()),
            Cell::text(self.user_agent.as_ref()),
            Cell::Text(&self.method),
            Cell::text(self.protocol_version.as_ref()),
            self.error_code.map_or(Cell::Empty, Cell::Number),
            Cell::json(self.headers.as_ref(), false),
            Cell::json(self.response.as_ref(), self.response_cut),
            Cell::Flag(self.parameters_cut),
            Cell::Flag(self.response_cut),
            Cell::Flag(self.headers_cut),
            Cell::count(self.notifications_sent),
            Cell::Flag(self.cancelled),
        ]
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
mod tests {
    use super::*;

    #[test]
    fn json_has_the_columns_in_their_order_and_json_within() {
        let row = AuditRow {
            request_id: Some("\"a\"".into()),
            parameters: Some("{\"z\": 1,\n \"a\": 12345678901234567890123}".into()),
            response: Some("{\"content\":[".into()),
            response_cut: true,
            headers: Some("{broken".into()),
            ..AuditRow::default()
        };
        let line = serde_json::to_string(&row).unwrap();
        assert!(!line.contains('\n'));
        assert!(
            line.contains(r#""parameters":{"z": 1,  "a": 12345678901234567890123}"#),
            "{line}"
        );
        let places: Vec<_> = COLUMNS
            .iter()
            .map(|name| line.find(&format!("\"{name}\":")).unwrap())
            .collect();
        assert!(places.is_sorted(), "{line}");
        let json = row.to_json();
        assert_eq!(json["request_id"], "a");
        assert_eq!(json["response"], "{\"content\":[");
        assert_eq!(json["headers"], "{broken");
        assert_eq!(json["user"], Value::Null);
    }
}
