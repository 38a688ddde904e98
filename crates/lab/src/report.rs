//! Rows of the lab's audit, for people: a line each, one wholly, or two against each other.

pub mod comparison;
pub mod row;

pub use comparison::{audit_comparison_text, audit_replay_text};
pub use row::audit_row_text;

use std::fmt::Write as _;
use std::time::SystemTime;

use mcprove_document::style::{Color, Style};
use mcprove_document::table::cut;
use mcprove_settings::printable::printable;

use crate::audit::{AuditRow, format_time};

/// How wide the columns of a line are: id, time, what, outcome, how long.
const WIDTHS: [usize; 5] = [7, 12, 24, 15, 9];
/// What all columns take with what is between them.
const LINE_WIDTH: usize = 77;
/// A line has room for its detail beside it from this width on.
const DETAIL_WIDTH_MIN: usize = 24;
/// Where a detail below a line begins.
const INDENT: usize = 10;
/// The longest value that is shown whole in a list or a difference.
const VALUE_MAX: usize = 1000;

/// Draws rows a line each, one after the other, with a line where the day changes.
#[derive(Debug, Clone)]
pub struct AuditLines {
    style: Style,
    day: String,
}

impl AuditLines {
    /// Nothing drawn yet.
    pub fn new(style: Style) -> Self {
        Self {
            style,
            day: String::new(),
        }
    }

    /// The names of the columns.
    pub fn head(&self) -> String {
        let names = ["id", "time (UTC)", "what", "outcome", "took"];
        let mut line = columns(&names.map(str::to_owned));
        if self.has_detail() {
            line.push_str("  detail");
        }
        format!("{}\n", line.trim_end())
    }

    /// One row: a line, and what went wrong below it where there is no room beside.
    pub fn row(&mut self, row: &AuditRow) -> String {
        let (day, time) = day_and_time(row.ts);
        let mut text = String::new();
        if day != self.day {
            let _ = writeln!(text, "  {day}");
            self.day = day;
        }
        let cells = [
            row.id.to_string(),
            time,
            what(row),
            outcome(row),
            took(row.duration_ms),
        ];
        let mut line = columns(&cells);
        let detail = detail(row);
        if self.has_detail() {
            let room = self.style.width.saturating_sub(LINE_WIDTH + 2);
            line.push_str("  ");
            line.push_str(&cut(&detail, room));
        }
        text.push_str(&self.paint(row, line.trim_end()));
        text.push('\n');
        if !self.has_detail() && !row.success && !detail.is_empty() {
            let room = self.style.width.saturating_sub(INDENT);
            let _ = writeln!(text, "{}{}", " ".repeat(INDENT), cut(&detail, room));
        }
        text
    }

    fn has_detail(&self) -> bool {
        self.style.width >= LINE_WIDTH + 2 + DETAIL_WIDTH_MIN
    }

    fn paint(&self, row: &AuditRow, line: &str) -> String {
        match (row.success, row.cancelled) {
            (true, _) => line.to_owned(),
            (false, true) => self.style.paint(line, Color::Yellow),
            (false, false) => self.style.paint(line, Color::Red),
        }
    }
}

/// Cells in their columns; numbers to the right.
fn columns(cells: &[String; 5]) -> String {
    let mut line = String::new();
    for (index, (cell, width)) in cells.iter().zip(WIDTHS).enumerate() {
        // An id is of no use without its end.
        let cell = if index == 0 {
            cell.clone()
        } else {
            cut(cell, width)
        };
        let padding =
            " ".repeat(width.saturating_sub(unicode_width::UnicodeWidthStr::width(cell.as_str())));
        let is_right = index == 0 || index + 1 == cells.len();
        line.push_str("  ");
        if is_right {
            line.push_str(&padding);
        }
        line.push_str(&cell);
        if !is_right {
            line.push_str(&padding);
        }
    }
    line
}

/// `2026-01-31` and `12:00:00.000`.
fn day_and_time(time: SystemTime) -> (String, String) {
    let text = format_time(time);
    let (day, time) = text.split_once('T').unwrap_or_default();
    (day.to_owned(), time.chars().take(12).collect())
}

/// The tool of a call, or the method.
fn what(row: &AuditRow) -> String {
    let name = match &row.tool_name {
        Some(tool) if row.method == "tools/call" || row.method.is_empty() => tool,
        _ => &row.method,
    };
    if name.is_empty() {
        // It was refused unread.
        return "-".to_owned();
    }
    printable(name, VALUE_MAX)
}

/// How it ended, in a word or two.
fn outcome(row: &AuditRow) -> String {
    if row.success {
        return "ok".to_owned();
    }
    if row.cancelled {
        return "cancelled".to_owned();
    }
    let word = match (row.error_category.as_deref(), row.error_code) {
        (Some(category), _) => printable(category, VALUE_MAX),
        (None, Some(_)) => "error".to_owned(),
        (None, None) => "tool error".to_owned(),
    };
    match row.error_code {
        Some(code) => format!("{word} {code}"),
        None => word,
    }
}

/// A time in milliseconds, or in seconds when it is long.
fn took(milliseconds: f64) -> String {
    if milliseconds < 1000.0 {
        format!("{milliseconds:.1} ms")
    } else if milliseconds < 1e8 {
        format!("{:.1} s", milliseconds / 1000.0)
    } else {
        format!("{milliseconds:.0e} ms")
    }
}

/// What went wrong, or what was asked.
fn detail(row: &AuditRow) -> String {
    let text = match (&row.error_message, &row.parameters) {
        (Some(message), _) if !row.success => message,
        (_, Some(parameters)) => parameters,
        _ => return String::new(),
    };
    printable(text, VALUE_MAX)
}
