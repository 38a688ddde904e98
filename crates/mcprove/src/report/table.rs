//! Columns of text for a terminal: every column as wide as its widest cell, the last one wrapped
//! to what is left of the line.

use unicode_width::UnicodeWidthStr;

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
            text.push_str(line.trim_end());
            text.push('\n');
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
