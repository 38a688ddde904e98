//! Rows as lines: JSON, or CSV as RFC 4180 has it.

use std::io::{self, Write};

use crate::prelude::*;

/// How rows are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExportFormat {
    /// A JSON object a line.
    JsonLines,
    /// A line of names, then the rows, separated by commas.
    Csv,
}

impl ExportFormat {
    /// Writes what comes before the rows.
    pub fn write_head(self, output: &mut impl Write) -> io::Result<()> {
        match self {
            Self::JsonLines => Ok(()),
            Self::Csv => write!(output, "{}\r\n", COLUMNS.join(",")),
        }
    }

    /// Writes one row, with its line break.
    ///
    /// ```
    /// use mcprove_lab::audit::{AuditRow, ExportFormat};
    ///
    /// let mut csv = Vec::new();
    /// let row = AuditRow { user: Some("Lovelace, \"Ada\"".into()), ..AuditRow::default() };
    /// ExportFormat::Csv.write_row(&row, &mut csv).unwrap();
    /// assert!(String::from_utf8(csv).unwrap().contains(r#","Lovelace, ""Ada""","#));
    /// ```
    pub fn write_row(self, row: &AuditRow, output: &mut impl Write) -> io::Result<()> {
        match self {
            Self::JsonLines => {
                serde_json::to_writer(&mut *output, row)?;
                output.write_all(b"\n")
            }
            Self::Csv => {
                for (index, cell) in row.cells().iter().enumerate() {
                    if index > 0 {
                        output.write_all(b",")?;
                    }
                    write_cell(cell, output)?;
                }
                output.write_all(b"\r\n")
            }
        }
    }
}

/// A text in quotes where it has to be. An empty one too: nothing at all is another thing.
fn write_cell(cell: &Cell<'_>, output: &mut impl Write) -> io::Result<()> {
    match cell {
        Cell::Text(text) | Cell::Json(text)
            if text.is_empty()
                || text.contains([',', '"', '\r', '\n'])
                || text.starts_with(' ')
                || text.ends_with(' ') =>
        {
            write!(output, "\"{}\"", text.replace('"', "\"\""))
        }
        cell => write!(output, "{cell}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(text: &str) -> String {
        let mut output = Vec::new();
        write_cell(&Cell::Text(text.into()), &mut output).unwrap();
        String::from_utf8(output).unwrap()
    }

    #[test]
    fn texts_are_quoted_where_they_must_be() {
        for (text, expected) in [
            ("plain", "plain"),
            ("", "\"\""),
            ("a,b", "\"a,b\""),
            ("say \"hi\"", "\"say \"\"hi\"\"\""),
            ("two\nlines", "\"two\nlines\""),
            ("cr\r", "\"cr\r\""),
            (" padded", "\" padded\""),
            ("ünïcode 漢字", "ünïcode 漢字"),
        ] {
            assert_eq!(written(text), expected);
        }
    }

    #[test]
    fn a_row_has_as_many_fields_as_the_head() {
        let mut output = Vec::new();
        ExportFormat::Csv.write_head(&mut output).unwrap();
        let row = AuditRow::default();
        ExportFormat::Csv.write_row(&row, &mut output).unwrap();
        let text = String::from_utf8(output).unwrap();
        let counts: Vec<usize> = text
            .split_terminator("\r\n")
            .map(|line| line.split(',').count())
            .collect();
        assert_eq!(counts, [COLUMNS.len(), COLUMNS.len()]);
        assert!(
            text.contains("\r\n0,1970-01-01T00:00:00.000000Z,0,,"),
            "{text}"
        );
    }
}
