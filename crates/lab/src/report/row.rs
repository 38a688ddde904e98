//! One row wholly.

use std::fmt::Write as _;

use mcprove_document::style::Style;
use mcprove_document::table::wrap;
use mcprove_settings::printable::printable;
use serde_json::Value;

use crate::audit::{AuditRow, COLUMNS, Cell};

/// The longest payload that is shown whole.
const PAYLOAD_MAX: usize = 1 << 20;
/// How wide the names of columns are.
const NAME_WIDTH: usize = 20;

/// One row wholly: a line a column, JSON on lines of its own.
pub fn audit_row_text(row: &AuditRow, style: Style) -> String {
    let mut text = String::new();
    let cut_columns = [
        ("parameters", row.parameters_cut),
        ("response", row.response_cut),
        ("headers", row.headers_cut),
    ];
    for (name, cell) in COLUMNS.iter().zip(row.cells()) {
        if cut_columns
            .iter()
            .any(|(column, _)| name.strip_suffix("_cut") == Some(column))
        {
            continue;
        }
        let shown = shown_cell(&cell);
        let is_cut = cut_columns.contains(&(name, true));
        let note = if is_cut { "  (cut)" } else { "" };
        let _ = write!(text, "{name:<NAME_WIDTH$}");
        let room = style.width.saturating_sub(NAME_WIDTH).max(NAME_WIDTH);
        match shown.as_slice() {
            [line] if line.chars().count() <= room => {
                let _ = writeln!(text, "{line}{note}");
            }
            lines => {
                let _ = writeln!(text, "{}", note.trim_start());
                for line in lines {
                    push_wrapped(&mut text, line, style.width);
                }
            }
        }
    }
    // Names without a value end in spaces.
    let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
    lines.join("\n") + "\n"
}

/// A line, indented, in as many as it takes; what it begins with is kept.
fn push_wrapped(text: &mut String, line: &str, width: usize) {
    let start: String = line
        .chars()
        .take_while(|character| *character == ' ')
        .collect();
    let indent = format!("  {start}");
    let room = width.saturating_sub(indent.len()).max(NAME_WIDTH);
    for part in wrap(line, room) {
        let _ = writeln!(text, "{indent}{part}");
    }
}

/// A cell as lines.
fn shown_cell(cell: &Cell<'_>) -> Vec<String> {
    match cell {
        Cell::Empty | Cell::Text("") => vec!["-".to_owned()],
        Cell::Flag(flag) => vec![if *flag { "yes" } else { "no" }.to_owned()],
        Cell::Number(number) => vec![number.to_string()],
        Cell::Milliseconds(time) => vec![format!("{time}")],
        Cell::Time(text) => vec![text.clone()],
        Cell::Text(text) => text
            .lines()
            .map(|line| printable(line, PAYLOAD_MAX))
            .collect(),
        Cell::Json(json) => match serde_json::from_str::<Value>(json) {
            Ok(value @ (Value::Object(_) | Value::Array(_))) => {
                let pretty = serde_json::to_string_pretty(&value).unwrap_or_default();
                pretty
                    .lines()
                    .map(|line| printable(line, PAYLOAD_MAX))
                    .collect()
            }
            _ => vec![printable(json, PAYLOAD_MAX)],
        },
    }
}
