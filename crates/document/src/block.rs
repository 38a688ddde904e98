//! A report as a document that is not yet Markdown, HTML or a terminal's text. Reports build it; the three
//! renderers know blocks, and nothing of what a section is about.
//!
//! Every text goes through [`printable`] on its way in, so no renderer can forget it; escaping is
//! the renderer's, in one place each.

use std::fmt::Display;
use std::ops::RangeBounds;

use mcprove_settings::message::{Message, Part};
use mcprove_settings::printable::printable;
use mcprove_settings::text::shorten;

use crate::figure;

/// The longest text that is shown whole.
const TEXT_MAX: usize = 600;

/// The longest line of another program that is shown whole.
const EXCERPT_MAX: usize = 1 << 20;

/// Whether something is good news.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Tone {
    #[default]
    Neutral,
    Good,
    Unclear,
    Bad,
}

/// A piece of a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Span {
    Plain(String),
    /// A name, a command, something from the server.
    Code(String),
    /// Something that matters.
    Strong(Tone, String),
}

/// A line of text.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[must_use]
pub struct Line(pub Vec<Span>);

/// A report.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Document {
    /// What is reported: the heading of a page.
    pub title: String,
    /// What the title of an HTML page has after the verdict: the server, the scenario or file.
    pub subject: Vec<String>,
    pub verdict: Option<Verdict>,
    /// Whether a terminal shows the verdict below everything else: a long list scrolls away.
    pub ends_with_verdict: bool,
    /// What was examined: labels and values.
    pub facts: Vec<(&'static str, Line)>,
    pub sections: Vec<Section>,
    /// Where the rows are that a terminal leaves out, as the end of a line.
    pub more_in: String,
    /// How much there is room for on a terminal that shows no details.
    pub screen: Option<Screen>,
    /// The file with all of it, which a terminal names at the end, beside the verdict.
    pub saved_as: Option<String>,
}

/// How much a screen shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Screen {
    pub lines: usize,
    /// How many of the facts.
    pub facts: usize,
}

/// How it ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verdict {
    pub tone: Tone,
    pub word: &'static str,
    pub why: Line,
}

/// Blocks under a title; the title may be empty.
#[derive(Debug, Clone, Default, PartialEq)]
#[must_use]
pub struct Section {
    pub title: String,
    pub blocks: Vec<Block>,
}

/// A part of a section.
#[derive(Debug, Clone, PartialEq)]
pub enum Block {
    Paragraph(Line),
    List(Vec<Line>),
    /// Numbers that are looked for first.
    Figures(Vec<Figure>),
    Findings(Vec<Finding>),
    Table(Table),
    Chart(Chart),
    Bars(Bars),
    /// Lines of another program, as they are.
    Excerpt(Vec<String>),
    /// What a terminal shows only where details are asked for.
    Detail(Box<Block>),
    /// What only a terminal without details shows: such details in short.
    Brief(Box<Block>),
}

/// A number with its name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Figure {
    pub tone: Tone,
    pub label: &'static str,
    pub value: String,
}

/// Something that was checked, how it ended, and what to try.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use]
pub struct Finding {
    pub tone: Tone,
    pub word: &'static str,
    /// What was checked. A terminal shows nothing else of what passed.
    pub name: Line,
    pub lines: Vec<Line>,
    pub hint: Option<Line>,
}

/// Rows under a header.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[must_use]
pub struct Table {
    pub header: Vec<Heading>,
    pub rows: Vec<Vec<Line>>,
    /// The most rows that a terminal shows.
    pub limit: Option<Limit>,
}

/// The head of a column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Heading {
    pub name: String,
    /// Whether the column has numbers, which are set to the right.
    pub is_numeric: bool,
}

/// Which rows of a long table a terminal shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Limit {
    First(usize),
    /// Every few, and the last.
    Spread(usize),
}

/// A line chart. It is drawn on pages that can show it.
#[derive(Debug, Clone, PartialEq)]
pub struct Chart {
    pub title: &'static str,
    pub x_label: &'static str,
    pub y_label: &'static str,
    pub tone: Tone,
    /// The points from left to right; one without a value interrupts the line.
    pub points: Vec<(f64, Option<f64>)>,
    /// Where something began, as dashed lines, and what.
    pub marks: Vec<f64>,
    pub marked: String,
    /// Whether the scale begins at zero; else at the smallest value.
    pub from_zero: bool,
}

/// How often something fell into each stretch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bars {
    pub title: &'static str,
    /// What is counted.
    pub noun: &'static str,
    pub rows: Vec<Bar>,
}

/// One stretch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bar {
    pub from: String,
    pub until: String,
    pub count: u64,
    pub marks: Vec<&'static str>,
}

impl Line {
    /// Words of our own, or a message that is no sentence.
    pub fn plain(text: impl Display) -> Self {
        Self(vec![Span::Plain(shown(text))])
    }

    /// A name or a command.
    pub fn code(text: impl Display) -> Self {
        Self::default().and_code(text)
    }

    /// Something that matters.
    pub fn strong(text: impl Display) -> Self {
        Self::toned(Tone::Neutral, text)
    }

    /// Good or bad news.
    pub fn toned(tone: Tone, text: impl Display) -> Self {
        Self(vec![Span::Strong(tone, shown(text))])
    }

    /// A message, with its names as spans.
    pub fn of(message: &Message) -> Self {
        let (mut line, mut left) = (Self::default(), TEXT_MAX);
        for part in message.shown() {
            let (Part::Text(text) | Part::Code(text)) = &part else {
                continue;
            };
            let text = printable(text, left);
            let is_cut = text.chars().count() > left;
            left = left.saturating_sub(text.chars().count());
            match (part, line.0.last_mut()) {
                (Part::Code(_), _) => line.0.push(Span::Code(text)),
                (_, Some(Span::Plain(words))) => words.push_str(&text),
                _ => line.0.push(Span::Plain(text)),
            }
            if is_cut {
                break;
            }
        }
        line.0.retain(|span| *span != Span::Plain(String::new()));
        line
    }

    /// The same with more words.
    pub fn and(mut self, more: impl Into<Self>) -> Self {
        self.0.extend(more.into().0);
        self
    }

    /// The same with a name.
    pub fn and_code(mut self, text: impl Display) -> Self {
        let mut name = shown(text);
        if name.trim().is_empty() {
            "(unnamed)".clone_into(&mut name);
        }
        self.0.push(Span::Code(name));
        self
    }

    /// Its first characters, with an ellipsis where something was left out.
    pub(crate) fn cut(mut self, mut left: usize) -> Self {
        self.0.retain_mut(|span| {
            let (Span::Plain(text) | Span::Code(text) | Span::Strong(_, text)) = span;
            let length = text.chars().count();
            *text = shorten(text, left);
            let has_room = left > 0;
            left = left.saturating_sub(length);
            has_room
        });
        self
    }

    /// The words alone.
    pub fn text(&self) -> String {
        self.0.iter().map(Span::text).collect()
    }

    /// Lines in one, with something between them.
    pub fn join(lines: impl IntoIterator<Item = Self>, between: &str) -> Self {
        lines
            .into_iter()
            .reduce(|all, line| match all.0.as_slice() {
                [] => line,
                _ => all.and(between).and(line),
            })
            .unwrap_or_default()
    }
}

fn shown(text: impl Display) -> String {
    printable(&text.to_string(), TEXT_MAX)
}

impl<Text: Display> From<Text> for Line {
    fn from(text: Text) -> Self {
        Self::plain(text)
    }
}

impl Span {
    pub fn text(&self) -> &str {
        match self {
            Self::Plain(text) | Self::Code(text) | Self::Strong(_, text) => text,
        }
    }
}

impl Document {
    /// What is reported, fit to be shown.
    pub(crate) fn heading(&self) -> String {
        shown(&self.title)
    }

    /// The same in short, for the title of a window.
    #[cfg(feature = "html")]
    pub(crate) fn window_title(&self) -> String {
        let subject = match self.subject.as_slice() {
            [] => self.heading(),
            subject => shown(subject.join(" · ")),
        };
        match &self.verdict {
            Some(verdict) => format!("{}: {subject}", verdict.word),
            None => subject,
        }
    }

    /// Adds a section.
    pub fn push(&mut self, section: Section) {
        self.sections.push(section);
    }

    /// What to do next.
    pub fn next_steps(&mut self, steps: Vec<Line>) {
        self.push(Section::new("Next").list(steps));
    }
}

impl Verdict {
    pub fn new(tone: Tone, word: &'static str, why: impl Into<Line>) -> Self {
        let why = why.into();
        Self { tone, word, why }
    }
}

impl Section {
    /// A section with nothing in it yet.
    pub fn new(title: impl Display) -> Self {
        Self {
            title: shown(title),
            blocks: Vec::new(),
        }
    }

    pub fn paragraph(self, line: impl Into<Line>) -> Self {
        self.block(Block::Paragraph(line.into()))
    }

    /// The same with a list, unless it is empty.
    pub fn list<Item: Into<Line>>(self, lines: impl IntoIterator<Item = Item>) -> Self {
        self.unless_empty(lines.into_iter().map(Into::into), Block::List)
    }

    /// The same with a table, unless it is empty, and without columns that are.
    pub fn table(self, table: Table) -> Self {
        match table.rows.as_slice() {
            [] => self,
            _ => self.block(Block::Table(table.without_empty_columns())),
        }
    }

    /// The same with findings, unless there are none.
    pub fn findings(self, findings: impl IntoIterator<Item = Finding>) -> Self {
        self.unless_empty(findings.into_iter(), Block::Findings)
    }

    /// The same with lines of another program, unless there are none.
    pub fn excerpt<Text: AsRef<str>>(self, lines: impl IntoIterator<Item = Text>) -> Self {
        let lines = lines
            .into_iter()
            .map(|line| printable(line.as_ref(), EXCERPT_MAX));
        self.unless_empty(lines, Block::Excerpt)
    }

    fn unless_empty<Item>(
        mut self,
        items: impl Iterator<Item = Item>,
        block: fn(Vec<Item>) -> Block,
    ) -> Self {
        let items: Vec<Item> = items.collect();
        self.blocks
            .extend((!items.is_empty()).then(|| block(items)));
        self
    }

    /// The same with another block.
    pub fn block(mut self, block: Block) -> Self {
        self.blocks.push(block);
        self
    }

    /// The same with all of it as a detail.
    pub fn detail(self) -> Self {
        self.detail_if(true)
    }

    /// The same with all of it as a detail, if that is wanted.
    pub fn detail_if(mut self, is_detail: bool) -> Self {
        if is_detail {
            let blocks = self.blocks.into_iter();
            self.blocks = blocks.map(|block| Block::Detail(Box::new(block))).collect();
        }
        self
    }

    /// Takes the last item of its lists and findings away, if there is one.
    pub(crate) fn drop_item(&mut self) -> bool {
        self.blocks.iter_mut().rev().any(|block| match block {
            Block::List(items) => items.pop().is_some(),
            Block::Findings(items) => items.pop().is_some(),
            _ => false,
        })
    }

    /// The same with a line that stands for its details where these are not shown.
    pub fn brief(self, line: impl Into<Line>) -> Self {
        self.block(Block::Brief(Box::new(Block::Paragraph(line.into()))))
    }

    /// The same with the blocks of another section.
    pub fn with(mut self, other: Self) -> Self {
        self.blocks.extend(other.blocks);
        self
    }
}

impl Figure {
    pub fn new(label: &'static str, value: impl Display) -> Self {
        Self {
            tone: Tone::Neutral,
            label,
            value: value.to_string(),
        }
    }

    /// The same as bad news, if it is.
    pub fn bad_if(mut self, is_bad: bool) -> Self {
        if is_bad {
            self.tone = Tone::Bad;
        }
        self
    }
}

impl Finding {
    /// What was checked, and how it ended.
    pub fn new(tone: Tone, word: &'static str, name: impl Into<Line>) -> Self {
        Self {
            tone,
            word,
            name: name.into(),
            lines: Vec::new(),
            hint: None,
        }
    }

    /// The same with a sentence on it.
    pub fn line(mut self, line: impl Into<Line>) -> Self {
        self.lines.push(line.into());
        self
    }

    /// The same with what to try.
    pub fn hint(mut self, hint: Option<&Message>) -> Self {
        let hint = hint.map(Line::of);
        self.hint = hint.filter(|hint| !hint.text().trim().is_empty());
        self
    }

    /// What is said of it, after its name, and then the hint.
    pub(crate) fn said(&self, hint: &str) -> Vec<Line> {
        let mut lines = self.lines.clone();
        match lines.first_mut() {
            Some(_) if self.name.0.is_empty() => {}
            // What is short stands beside the name.
            Some(first) if self.lines.len() == 1 => {
                *first = Line::join([self.name.clone(), first.clone()], ": ");
            }
            _ => lines.insert(0, self.name.clone()),
        }
        let hinted = self.hint.clone().map(|line| Line::plain(hint).and(line));
        lines.extend(hinted);
        lines
    }
}

impl Table {
    /// Nothing under this header yet.
    pub fn new<const COLUMNS: usize>(header: [&str; COLUMNS]) -> Self {
        Self {
            header: header.map(Heading::from).into(),
            ..Self::default()
        }
    }

    /// The same with numbers in these columns.
    pub fn numbers(mut self, columns: impl RangeBounds<usize>) -> Self {
        for (at, heading) in self.header.iter_mut().enumerate() {
            heading.is_numeric |= columns.contains(&at);
        }
        self
    }

    /// Adds a row.
    pub fn push<Cell: Into<Line>, const COLUMNS: usize>(&mut self, row: [Cell; COLUMNS]) {
        self.rows.push(row.map(Into::into).into());
    }

    pub fn rows<Cell: Into<Line>, const COLUMNS: usize>(
        mut self,
        rows: impl IntoIterator<Item = [Cell; COLUMNS]>,
    ) -> Self {
        for row in rows {
            self.push(row);
        }
        self
    }

    /// The same, of which a terminal shows the first rows only.
    pub fn at_most(mut self, rows: usize) -> Self {
        self.limit = Some(Limit::First(rows));
        self
    }

    /// The cells of a column.
    fn column(&self, column: usize) -> impl Iterator<Item = String> {
        self.rows
            .iter()
            .filter_map(move |row| Some(row.get(column)?.text()))
    }

    /// The same without the columns that have nothing in any row, or nothing that is known.
    pub fn without_empty_columns(mut self) -> Self {
        for column in (0..self.header.len()).rev() {
            if self
                .column(column)
                .all(|cell| cell.is_empty() || cell == figure::UNKNOWN)
            {
                self.header.remove(column);
                for row in self.rows.iter_mut().filter(|row| column < row.len()) {
                    drop(row.remove(column));
                }
            }
        }
        self
    }
}

impl<Name: Into<String>> From<Name> for Heading {
    fn from(name: Name) -> Self {
        Self {
            name: name.into(),
            is_numeric: false,
        }
    }
}

impl Bars {
    /// Each stretch with its share of all, as a text, and its size beside the largest, from 0 to 1.
    pub(crate) fn shares(&self) -> impl Iterator<Item = (&Bar, String, f64)> {
        let total = self.rows.iter().map(|bar| bar.count).sum();
        let largest = self
            .rows
            .iter()
            .map(|bar| bar.count)
            .max()
            .unwrap_or_default();
        self.rows.iter().map(move |bar| {
            let share = figure::rough_percent(figure::share(bar.count, total));
            (bar, share, figure::share(bar.count, largest))
        })
    }
}

/// Cells of a row, each made a line.
///
/// ```
/// use mcprove_document::block::{Line, Table};
/// use mcprove_document::cells;
///
/// let mut table = Table::new(["Tool", "calls"]);
/// table.push(cells![Line::code("echo"), 12]);
/// assert_eq!(table.rows[0][1].text(), "12");
/// ```
#[macro_export]
macro_rules! cells {
    ($($cell:expr),* $(,)?) => { [$($crate::block::Line::from($cell)),*] };
}

#[cfg(test)]
mod tests {
    use mcprove_settings::message::{self, sentence};

    use super::*;
    use crate::style::Style;

    #[test]
    fn sentences_keep_their_names() {
        let code = |name: &str| Span::Code(name.into());
        let plain = |text: &str| Span::Plain(text.into());
        for name in ["a", "a`b", "`", "a`", "``a", "a ` `` b"] {
            let waits = "waits".to_owned();
            assert_eq!(
                Line::of(&sentence!("{} {waits} for `b`.", message::name(name))).0,
                [code(name), plain(" waits for "), code("b"), plain(".")]
            );
        }
        // Only what is read back is searched for names.
        assert_eq!(Line::of(&"`a` waits".into()).0, [plain("`a` waits")]);
    }

    #[test]
    fn long_sentences_are_cut() {
        let long = "x".repeat(TEXT_MAX - 2);
        let line = Line::of(&sentence!("{long}`name` and more"));
        assert_eq!(line.0, [Span::Plain(long), Span::Code("na…".into())]);
    }

    #[test]
    fn a_name_with_a_backtick_is_right_in_every_format() {
        let sentence = sentence!("{} is slow", message::name("a`b"));
        let mut table = Table::new(["Tool"]);
        table.push([Line::code("a`b")]);
        let document = Document {
            title: "T".to_owned(),
            sections: vec![Section::new("S").list([Line::of(&sentence)]).table(table)],
            ..Document::default()
        };
        assert_eq!(
            document.terminal(Style::plain(80)),
            "S\n  - \"a`b\" is slow\n  Tool\n  a`b\n"
        );
        assert_eq!(
            document.markdown(),
            "# T\n\n## S\n\n- ``a`b`` is slow\n\n| Tool    |\n| ------- |\n| ``a`b`` |\n"
        );
        let page = document.html();
        assert!(page.contains("<li><code>a`b</code> is slow</li>"), "{page}");
    }

    #[test]
    fn nothing_of_a_terminal_code_gets_in() {
        for line in [
            Line::plain("\u{1b}[31mred\n"),
            Line::code("\u{1b}[31mred\n"),
            Line::strong("\u{1b}[31mred\n"),
            Line::of(&"\u{1b}[31mred\n".into()),
        ] {
            assert_eq!(line.text(), "red ");
        }
        assert_eq!(Line::code(" ").text(), "(unnamed)");
    }
}
