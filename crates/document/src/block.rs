//! A report as a document that is not yet markdown, HTML or a terminal's text: sections of
//! paragraphs, lists and tables. `sections/` writes it, `markdown.rs` and `html/` draw it.
//!
//! Every text goes through [`printable`] on its way in, so no renderer can forget it; escaping is
//! the renderer's, in one place each.

use mcprove_settings::printable::printable;

/// The longest name that is shown whole.
const NAME_MAX: usize = 80;
/// The longest message that is shown whole.
const TEXT_MAX: usize = 600;

/// A piece of a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Span {
    /// As it is.
    Plain(String),
    /// A name, a command, something from the server.
    Code(String),
    /// Something that matters.
    Strong(String),
}

/// A line of text.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Line(pub Vec<Span>);

/// Something with a title.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Section {
    pub title: &'static str,
    pub blocks: Vec<Block>,
}

/// A part of a section.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Block {
    Paragraph(Line),
    List(Vec<Line>),
    Table(Table),
    /// A drawing made of characters; only our own words.
    Drawing(String),
}

/// Rows under a header.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Table {
    pub header: Vec<String>,
    pub rows: Vec<Vec<Line>>,
}

impl Line {
    /// Words of our own, or a message that is no sentence.
    pub fn plain(text: impl AsRef<str>) -> Self {
        Self(vec![Span::Plain(printable(text.as_ref(), TEXT_MAX))])
    }

    /// A name or a command.
    pub fn code(text: impl AsRef<str>) -> Self {
        Self::default().and_code(text)
    }

    /// Something that matters.
    pub fn strong(text: impl AsRef<str>) -> Self {
        Self(vec![Span::Strong(printable(text.as_ref(), NAME_MAX))])
    }

    /// A sentence in which names stand between backticks. A name that has backticks itself only
    /// changes what counts as a name: every piece is escaped all the same.
    pub fn sentence(text: impl AsRef<str>) -> Self {
        let text = printable(text.as_ref(), TEXT_MAX);
        let pieces: Vec<&str> = text.split('`').collect();
        if pieces.len().is_multiple_of(2) {
            return Self(vec![Span::Plain(text)]);
        }
        let spans = pieces
            .into_iter()
            .enumerate()
            .filter(|(_, piece)| !piece.is_empty())
            .map(|(index, piece)| {
                if index % 2 == 0 {
                    Span::Plain(piece.to_owned())
                } else {
                    Span::Code(piece.to_owned())
                }
            })
            .collect();
        Self(spans)
    }

    /// The same with more words.
    #[must_use]
    pub fn and(mut self, text: impl AsRef<str>) -> Self {
        self.0.extend(Self::plain(text).0);
        self
    }

    /// The same with a name.
    #[must_use]
    pub fn and_code(mut self, text: impl AsRef<str>) -> Self {
        let name = printable(text.as_ref(), TEXT_MAX);
        self.0.push(Span::Code(if name.trim().is_empty() {
            "(unnamed)".to_owned()
        } else {
            name
        }));
        self
    }

    /// The same with something that matters.
    #[must_use]
    pub fn and_strong(mut self, text: impl AsRef<str>) -> Self {
        self.0.extend(Self::strong(text).0);
        self
    }

    /// The words alone.
    pub fn text(&self) -> String {
        self.0.iter().map(Span::text).collect()
    }
}

impl Span {
    fn text(&self) -> &str {
        match self {
            Self::Plain(text) | Self::Code(text) | Self::Strong(text) => text,
        }
    }
}

impl Section {
    /// A section with nothing in it yet.
    pub fn new(title: &'static str) -> Self {
        Self {
            title,
            blocks: Vec::new(),
        }
    }

    /// The same with a paragraph.
    #[must_use]
    pub fn paragraph(mut self, line: Line) -> Self {
        self.blocks.push(Block::Paragraph(line));
        self
    }

    /// The same with a list, unless it is empty.
    #[must_use]
    pub fn list(mut self, lines: Vec<Line>) -> Self {
        if !lines.is_empty() {
            self.blocks.push(Block::List(lines));
        }
        self
    }

    /// The same with a table, unless it is empty, and without columns that are.
    #[must_use]
    pub fn table(mut self, table: Table) -> Self {
        if !table.rows.is_empty() {
            self.blocks
                .push(Block::Table(table.without_empty_columns()));
        }
        self
    }

    /// The same with a drawing.
    #[must_use]
    pub fn drawing(mut self, text: String) -> Self {
        self.blocks.push(Block::Drawing(text));
        self
    }
}

impl Table {
    /// Nothing under this header yet.
    pub fn new<const COLUMNS: usize>(header: [&str; COLUMNS]) -> Self {
        Self {
            header: header.map(str::to_owned).into(),
            rows: Vec::new(),
        }
    }

    /// Adds a row.
    pub fn push<const COLUMNS: usize>(&mut self, row: [Line; COLUMNS]) {
        self.rows.push(row.into());
    }

    /// The same without the columns that have nothing in any row.
    #[must_use]
    pub fn without_empty_columns(mut self) -> Self {
        for column in (0..self.header.len()).rev() {
            let mut cells = self.rows.iter().filter_map(|row| row.get(column));
            if cells.all(|cell| cell.text().is_empty()) {
                self.header.remove(column);
                for row in &mut self.rows {
                    if column < row.len() {
                        row.remove(column);
                    }
                }
            }
        }
        self
    }

    /// Whether a column has nothing but numbers, so that it is set to the right.
    pub fn is_numeric(&self, column: usize) -> bool {
        let mut cells = self.rows.iter().filter_map(|row| row.get(column));
        cells.all(|cell| is_number(&cell.text()))
    }
}

/// Whether a text is a number with at most a unit: not `10 in flight`, not a time of day.
fn is_number(text: &str) -> bool {
    let unit = text.trim_start_matches(|character: char| {
        character.is_ascii_digit() || matches!(character, '.' | ',' | '+' | '-' | '–' | '<')
    });
    unit.len() < text.len() && UNITS.contains(&unit.trim_start())
}

/// What may follow a number.
const UNITS: [&str; 10] = ["", "%", "ms", "s", "m", "h", "/s", "B", "kB", "MB"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentences_keep_their_names() {
        let line = Line::sentence("`a` waits for `b`.");
        assert_eq!(
            line.0,
            [
                Span::Code("a".into()),
                Span::Plain(" waits for ".into()),
                Span::Code("b".into()),
                Span::Plain(".".into()),
            ]
        );
        let odd = Line::sentence("a ` alone");
        assert_eq!(odd.0, [Span::Plain("a ` alone".into())]);
    }

    #[test]
    fn nothing_of_a_terminal_code_gets_in() {
        for line in [
            Line::plain("\u{1b}[31mred\n"),
            Line::code("\u{1b}[31mred\n"),
            Line::strong("\u{1b}[31mred\n"),
            Line::sentence("\u{1b}[31mred\n"),
        ] {
            assert_eq!(line.text(), "red ");
        }
        assert_eq!(Line::code(" ").text(), "(unnamed)");
    }

    #[test]
    fn columns_of_numbers_are_known() {
        let mut table = Table::new(["name", "value", "mixed"]);
        table.push([Line::plain("a"), Line::plain("1.5ms"), Line::plain("1")]);
        table.push([Line::plain("b"), Line::plain("–"), Line::plain("one")]);
        assert!(!table.is_numeric(0) && table.is_numeric(1) && !table.is_numeric(2));
        for (text, expected) in [
            ("12,345", true),
            ("<0.1%", true),
            ("156.3 MB", true),
            ("–", true),
            ("10 in flight", false),
            ("2026-05-10 07:30", false),
            ("ms", false),
            ("", false),
        ] {
            assert_eq!(is_number(text), expected, "{text}");
        }
    }
}
