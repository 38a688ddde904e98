//! Columns of text for a terminal: every column as wide as its widest cell, the last one wrapped
//! to what is left of the line.

use mcprove_settings::printable::printable;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use crate::block::{Line, Table};

/// A last column narrower than this would be unreadable, so it goes below the others instead.
const LAST_COLUMN_MIN: usize = 24;
/// Where a last column below the others begins.
const BELOW_INDENT: usize = 6;

/// Lays out `rows` in at most `width` columns, indented by two.
pub fn lay_out(rows: &[Vec<String>], width: usize) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or_default();
    let widths: Vec<usize> = (0..columns.saturating_sub(1))
        .map(|column| {
            rows.iter()
                .filter_map(|row| row.get(column))
                .map(|cell| cell.width())
                .max()
                .unwrap_or(0)
        })
        .collect();
    let beside = 2 + widths.iter().map(|width| width + 2).sum::<usize>();
    let is_below = width < beside + LAST_COLUMN_MIN;
    let indent = if is_below { BELOW_INDENT } else { beside };
    let room = width.saturating_sub(indent).max(LAST_COLUMN_MIN);
    let mut text = String::new();
    for row in rows {
        let mut line = String::from("  ");
        for (cell, width) in row.iter().zip(&widths) {
            line.push_str(cell);
            line.extend(std::iter::repeat_n(
                ' ',
                (width - cell.width().min(*width)) + 2,
            ));
        }
        let last = row
            .get(widths.len())
            .map(String::as_str)
            .unwrap_or_default();
        if is_below && !last.is_empty() {
            if !line.trim().is_empty() {
                text.push_str(line.trim_end());
                text.push('\n');
            }
            line = " ".repeat(indent);
        }
        for (index, part) in wrap(last, room).into_iter().enumerate() {
            if index > 0 {
                line = " ".repeat(indent);
            }
            line.push_str(&part);
            text.push_str(line.trim_end());
            text.push('\n');
        }
    }
    text
}

/// A first column is not made narrower than this.
const NAME_MIN: usize = 12;

/// Draws a table under its header, indented by two, numbers to the right. Where it is too wide the
/// first column is cut, then columns are left out from the right.
pub fn grid(table: &Table, width: usize) -> String {
    let mut rows: Vec<Vec<String>> = vec![table.header.clone()];
    let cells = |row: &Vec<Line>| row.iter().map(Line::text).collect();
    rows.extend(table.rows.iter().map(cells));
    let mut widths: Vec<usize> = (0..table.header.len())
        .map(|column| {
            let cells = rows.iter().filter_map(|row| row.get(column));
            cells.map(|cell| cell.width()).max().unwrap_or(0)
        })
        .collect();
    let total = |widths: &[usize]| widths.iter().map(|width| width + 2).sum::<usize>();
    if let Some(first) = widths.first().copied() {
        let over = total(&widths).saturating_sub(width);
        let narrow = first.saturating_sub(over).max(NAME_MIN.min(first));
        widths.splice(..1, [narrow]);
    }
    while total(&widths) > width && widths.len() > 1 {
        widths.pop();
    }
    let mut text = String::new();
    for row in &rows {
        let mut line = String::new();
        for (column, (cell, width)) in row.iter().zip(&widths).enumerate() {
            let cell = cut(cell, *width);
            let padding = " ".repeat(width.saturating_sub(cell.width()));
            line.push_str("  ");
            if table.is_numeric(column) {
                line.push_str(&padding);
                line.push_str(&cell);
            } else {
                line.push_str(&cell);
                line.push_str(&padding);
            }
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

/// A text in at most `width` columns, with an ellipsis where it is cut.
pub fn cut(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    let mut short = String::new();
    let mut used = 1;
    for character in text.chars() {
        used += character.width().unwrap_or(0);
        if used > width {
            break;
        }
        short.push(character);
    }
    if width > 0 {
        short.push('…');
    }
    short
}

/// Breaks a text at spaces into lines of at most `width` columns; a longer word is cut.
pub fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines = Vec::new();
    let mut line = String::new();
    for word in text.split_whitespace() {
        let mut word = word;
        while !line.is_empty() && line.width() + 1 + word.width() > width {
            lines.push(std::mem::take(&mut line));
        }
        while word.width() > width {
            let cut = word
                .char_indices()
                .nth(width.max(1))
                .map_or(word.len(), |(index, _)| index);
            lines.push(word[..cut].to_owned());
            word = &word[cut..];
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    if !line.is_empty() || lines.is_empty() {
        lines.push(line);
    }
    lines
}

/// The longest line of a section.
const LINE_MAX: usize = 600;

/// A title and its lines, none where there are none.
pub fn section(title: &str, lines: &[String], width: usize) -> String {
    if lines.is_empty() {
        return String::new();
    }
    let mut text = format!("\n{title}:\n");
    for line in lines {
        for part in wrap(&printable(line, LINE_MAX), width.saturating_sub(4).max(20)) {
            text.push_str("  ");
            text.push_str(&part);
            text.push('\n');
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_line_up_and_the_last_wraps() {
        let row = |cells: &[&str]| cells.iter().map(|cell| (*cell).to_owned()).collect();
        let rows: Vec<Vec<String>> = vec![
            row(&["a", "ok", ""]),
            row(&[
                "long name",
                "hang",
                "no answer within thirty seconds at all",
            ]),
        ];
        let text = lay_out(&rows, 50);
        assert_eq!(
            text,
            "  a          ok\n  long name  hang  no answer within thirty seconds\n                   at all\n"
        );
        assert!(text.lines().all(|line| line.width() <= 50));
    }

    #[test]
    fn a_last_column_without_room_goes_below() {
        let row = |cells: &[&str]| cells.iter().map(|cell| (*cell).to_owned()).collect();
        let rows: Vec<Vec<String>> = vec![
            row(&["a-very-long-name", "ok", ""]),
            row(&["short", "hang", "no answer within thirty seconds at all"]),
        ];
        assert_eq!(
            lay_out(&rows, 40),
            "  a-very-long-name  ok\n  short             hang\n      no answer within thirty seconds at\n      all\n"
        );
    }

    #[test]
    fn a_word_longer_than_the_line_is_cut() {
        assert_eq!(wrap("abcdefgh ij", 3), ["abc", "def", "gh", "ij"]);
        assert_eq!(wrap("", 5), [""]);
    }
}
