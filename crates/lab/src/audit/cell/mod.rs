//! What stands in the columns of a row, for whoever writes it somewhere.

use std::borrow::Cow;
use std::time::SystemTime;

use rusqlite::Row;
use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};
use serde_json::Value;
use serde_json::value::RawValue;

use super::time::format_time;
use super::{AuditRow, COLUMNS};

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
pub(super) trait Column: Sized {
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
impl std::fmt::Display for Cell<'_> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
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
    pub(super) fn as_json<'a>(&self, column: &str, cell: Cell<'a>) -> Cell<'a> {
        match (column, cell) {
            ("parameters", cell) if self.parameters_cut => cell,
            ("response", cell) if self.response_cut => cell,
            ("request_id" | "parameters" | "headers" | "response", Cell::Text(text)) => {
                Cell::Json(text)
            }
            (_, cell) => cell,
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
