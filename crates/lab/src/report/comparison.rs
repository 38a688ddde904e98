//! Two rows against each other.

use std::fmt::Write as _;

use mcprove_document::style::{Color, Style};
use mcprove_document::table::{cut, wrap};
use mcprove_settings::printable::printable;

use super::{VALUE_MAX, outcome, took, what};
use crate::audit::{Difference, RowComparison};

/// Two rows against each other.
pub fn audit_comparison_text(comparison: &RowComparison, style: Style) -> String {
    let (left, right) = (comparison.left.id, comparison.right.id);
    let mut text = if comparison.same {
        format!("Rows {left} and {right} are alike.\n")
    } else {
        format!("Rows {left} and {right} differ.\n")
    };
    push_differences(&mut text, &comparison.differences, style);
    if !comparison.noted.is_empty() {
        let mut names: Vec<&str> = comparison.noted.iter().map(|noted| noted.column).collect();
        names.dedup();
        let line = format!("Not counted, and different too: {}.", names.join(", "));
        text.push('\n');
        for part in wrap(&line, style.width) {
            let _ = writeln!(text, "{part}");
        }
    }
    text
}

/// What was recorded beside what came back now.
pub fn audit_replay_text(comparison: &RowComparison, style: Style) -> String {
    let (recorded, now) = (&comparison.left, &comparison.right);
    let mut text = String::new();
    let asked = format!(
        "{} {}",
        what(recorded),
        recorded.parameters.as_deref().unwrap_or("")
    );
    let title = format!(
        "Row {}: {}",
        recorded.id,
        printable(asked.trim_end(), VALUE_MAX)
    );
    let _ = writeln!(text, "{}\n", cut(&title, style.width));
    let room = style.width.saturating_sub(12) / 2;
    let mut line = |name: &str, left: &str, right: &str| {
        let left = cut(&printable(left, VALUE_MAX), room.saturating_sub(2));
        let padding = room.saturating_sub(unicode_width::UnicodeWidthStr::width(left.as_str()));
        let right = cut(&printable(right, VALUE_MAX), room);
        let line = format!("  {name:<10}{left}{}{right}", " ".repeat(padding));
        let _ = writeln!(text, "{}", line.trim_end());
    };
    let part = |text: &Option<String>| text.clone().unwrap_or_else(|| "-".to_owned());
    line("", "recorded", "now");
    line("outcome", &outcome(recorded), &outcome(now));
    line("took", &took(recorded.duration_ms), &took(now.duration_ms));
    line(
        "error",
        &part(&recorded.error_message),
        &part(&now.error_message),
    );
    line("response", &part(&recorded.response), &part(&now.response));
    text.push('\n');
    let is_cut = if recorded.response_cut {
        ", as far as it was kept"
    } else {
        ""
    };
    let what = if comparison.same {
        "The same"
    } else {
        "Something else"
    };
    let _ = writeln!(text, "{what} came back{is_cut}.");
    push_differences(&mut text, &comparison.differences, style);
    text
}

/// Differences as a diff: what was, with a minus, and what is, with a plus, under their column.
fn push_differences(text: &mut String, differences: &[Difference], style: Style) {
    let mut column = "";
    for difference in differences {
        if difference.column != column {
            column = difference.column;
            let _ = writeln!(text, "\n{column}");
        }
        let sides = [
            ('-', &difference.left, Color::Red),
            ('+', &difference.right, Color::Green),
        ];
        for (sign, value, color) in sides {
            let Some(value) = value else { continue };
            let path = match difference.path.as_str() {
                "" => String::new(),
                path => format!("{}: ", printable(path, VALUE_MAX)),
            };
            let line = format!(
                "  {sign} {path}{}",
                printable(&value.to_string(), VALUE_MAX)
            );
            let _ = writeln!(text, "{}", style.paint(&cut(&line, style.width), color));
        }
    }
}
