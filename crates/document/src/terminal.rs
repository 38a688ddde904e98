//! A document on a terminal: the verdict, then sections with their blocks indented by two. No line is wider than
//! the terminal, except where a table has a column that nothing can be cut from.

use std::fmt::Write as _;

use mcprove_settings::printable::escape_hidden;
use textwrap::core::display_width;
use textwrap::{Options, WordSeparator, WordSplitter, WrapAlgorithm};
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use crate::block::{
    Bars, Block, Document, Figure, Finding, Limit, Line, Section, Span, Table, Tone,
};
use crate::figure;
use crate::style::Style;

/// A last column narrower than this would be unreadable, so it goes below the others instead.
const LAST_COLUMN_MIN: usize = 24;
/// Where a last column below the others begins.
const BELOW_INDENT: usize = 6;
/// A column of words is not cut to less than this.
const NAME_MIN: usize = 12;
/// A bar is at least this long, whatever the width.
const BAR_MIN: usize = 8;
/// Columns for two marks beside a bar.
const MARKS_WIDTH: usize = 9;
/// Parts of a block character, from one eighth to all of it.
const EIGHTHS: [char; 8] = ['▏', '▎', '▍', '▌', '▋', '▊', '▉', '█'];
/// Between parts that stay on one line.
const NO_BREAK: &str = "\u{a0}";

/// The whole document.
pub(crate) fn render(document: &Document, style: Style) -> String {
    let mut parts = Vec::new();
    let mut top = String::new();
    let verdict = document.verdict.as_ref().map(|verdict| {
        let indent = " ".repeat(verdict.word.len() + 2);
        let word = style.paint(verdict.word, verdict.tone);
        let first = format!("{word}  {}", words(&verdict.why, style));
        wrap(first.trim_end(), style.width, ("", &indent))
    });
    let (first, last) = if document.ends_with_verdict {
        (None, verdict)
    } else {
        (verdict, None)
    };
    top.extend(first);
    let facts = document.facts.iter();
    let facts = facts.map(|(label, line)| vec![(*label).to_owned(), painted(line, style)]);
    top.push_str(&lay_out(&facts.collect::<Vec<_>>(), &[], style.width));
    parts.push(top);
    let sections = document.sections.iter();
    parts.extend(sections.map(|section| draw_section(section, style, &document.more_in)));
    parts.extend(last);
    parts.retain(|part| !part.is_empty());
    escape_hidden(&parts.join("\n")).into_owned()
}

fn draw_section(section: &Section, style: Style, more_in: &str) -> String {
    let blocks = section.blocks.iter();
    let drawn: String = blocks.map(|block| draw(block, style, more_in)).collect();
    match section.title.as_str() {
        "" => drawn,
        _ if drawn.is_empty() => drawn,
        title => wrap(title, style.width, ("", "")) + &drawn,
    }
}

fn draw(block: &Block, style: Style, more_in: &str) -> String {
    let width = style.width;
    match block {
        Block::Paragraph(line) => wrap(&words(line, style), width, ("  ", "  ")),
        Block::List(lines) => {
            let lines = lines.iter().map(|line| words(line, style));
            lines
                .map(|line| wrap(&line, width, ("  - ", "    ")))
                .collect()
        }
        Block::Figures(figures) => draw_figures(figures, style),
        Block::Findings(findings) => draw_findings(findings, style),
        Block::Table(table) => draw_table(table, style, more_in),
        Block::Bars(bars) => draw_bars(bars, style),
        Block::Excerpt(lines) => {
            let lines = lines.iter();
            lines
                .map(|line| wrap(line, width, ("  | ", "  | ")))
                .collect()
        }
        Block::Chart(_) | Block::Detail(_) => String::new(),
    }
}

/// One after the other, each whole on its line.
fn draw_figures(figures: &[Figure], style: Style) -> String {
    let figures = figures.iter().map(|Figure { tone, label, value }| {
        let value = style.paint(&value.replace(' ', NO_BREAK), *tone);
        format!("{}{NO_BREAK}{value}", label.replace(' ', NO_BREAK))
    });
    let figures: Vec<String> = figures.collect();
    let text = figures.join(&format!("{NO_BREAK}· "));
    wrap(&text, style.width, ("  ", "  ")).replace(NO_BREAK, " ")
}

/// The words in a column, what is said beside it. Of what passed only the names.
fn draw_findings(findings: &[Finding], style: Style) -> String {
    let widest = findings.iter().map(|finding| finding.word.width()).max();
    let indent = " ".repeat(widest.unwrap_or_default() + 4);
    let mut text = String::new();
    for group in findings.chunk_by(|one, other| one.is_only_named() && one.is_like(other)) {
        let Some(first) = group.first() else { continue };
        let padding = " ".repeat(indent.len() - 4 - first.word.width());
        let start = format!("  {}{padding}  ", style.paint(first.word, first.tone));
        let mut lines = if first.is_only_named() {
            let names = group.iter().map(|finding| finding.name.clone());
            vec![Line::join(names, ", ")]
        } else {
            first.named_lines()
        };
        lines.extend(
            first
                .hint
                .clone()
                .map(|hint| Line::plain("hint: ").and(hint)),
        );
        let mut start = start.as_str();
        for line in lines {
            text.push_str(&wrap(&words(&line, style), style.width, (start, &indent)));
            start = &indent;
        }
    }
    text
}

/// A table under its header, numbers to the right. A long last column goes below the others where it has no
/// room beside them. Columns that do not fit follow in a table of their own.
fn draw_table(table: &Table, style: Style, more_in: &str) -> String {
    let (shown, left_out) = limited(table);
    let has_header = table.header.iter().any(|name| !name.is_empty());
    let header = has_header.then(|| table.header.clone());
    let rows = shown.into_iter().map(|row| {
        let cells = row.iter().map(|cell| painted(cell, style));
        cells.collect::<Vec<String>>()
    });
    let rows: Vec<Vec<String>> = header.into_iter().chain(rows).collect();
    let columns = 0..table.header.len();
    let is_numeric: Vec<bool> = columns.map(|at| table.is_numeric(at)).collect();
    let mut text = lay_out(&rows, &is_numeric, style.width);
    if left_out > 0 {
        let _ = writeln!(text, "  and {left_out} more{more_in}");
    }
    text
}

/// The rows that are shown, and how many are missing below them.
fn limited(table: &Table) -> (Vec<&Vec<Line>>, usize) {
    let all = table.rows.len();
    match table.limit {
        Some(Limit::First(most)) => {
            let rows = table.rows.iter().take(most).collect();
            (rows, all.saturating_sub(most))
        }
        Some(Limit::Spread(most)) => {
            let every = all.div_ceil(most.max(1)).max(1);
            let rows = table.rows.iter().enumerate();
            let rows = rows.filter(|(index, _)| (all - 1 - index).is_multiple_of(every));
            (rows.map(|(_, row)| row).collect(), 0)
        }
        None => (table.rows.iter().collect(), 0),
    }
}

/// Rows of cells, in columns.
fn lay_out(rows: &[Vec<String>], is_numeric: &[bool], width: usize) -> String {
    let count = rows.iter().map(Vec::len).max().unwrap_or_default();
    let numeric = |column: usize| is_numeric.get(column).copied().unwrap_or_default();
    let mut widths: Vec<usize> = (0..count)
        .map(|column| {
            let cells = rows.iter().filter_map(|row| row.get(column));
            let widths = cells.map(|cell| display_width(cell));
            widths.max().unwrap_or_default()
        })
        .collect();
    let total = |widths: &[usize]| widths.iter().map(|width| width + 2).sum::<usize>();
    let mut below = None;
    if let Some(last) = count.checked_sub(1).filter(|_| total(&widths) > width) {
        let is_long = widths.get(last).is_some_and(|last| *last > LAST_COLUMN_MIN);
        for (_, other) in widths
            .iter_mut()
            .enumerate()
            .filter(|(at, _)| !numeric(*at))
        {
            *other = (*other).min((width / 3).max(NAME_MIN));
        }
        let room = width.saturating_sub(total(widths.get(..last).unwrap_or_default()) + 2);
        match widths.last_mut() {
            Some(last_width) if is_long && room >= LAST_COLUMN_MIN => *last_width = room,
            Some(_) if is_long && last > 0 => below = Some(last),
            _ => {}
        }
    }
    // What has no room on a line is told on another, with the first column again.
    let mut parts: Vec<Vec<usize>> = vec![Vec::new()];
    for column in (0..count).filter(|column| Some(*column) != below) {
        let own = |column: &usize| widths.get(*column).map_or(0, |width| width + 2);
        let used: usize = parts.last().map_or(0, |part| part.iter().map(own).sum());
        if used > 0 && used + own(&column) > width {
            let has_room = column > 1 && own(&0) + own(&column) <= width;
            parts.push(if has_room { vec![0] } else { Vec::new() });
        }
        if let Some(part) = parts.last_mut() {
            part.push(column);
        }
    }
    let mut text = String::new();
    for (number, part) in parts.iter().enumerate() {
        if number > 0 {
            text.push('\n');
        }
        for row in rows {
            draw_row(
                &mut text,
                row,
                part.iter().map(|at| (*at, widths.get(*at), numeric(*at))),
            );
            let last = below.filter(|_| number + 1 == parts.len());
            let last = last.and_then(|last| row.get(last));
            let indent = " ".repeat(BELOW_INDENT);
            text.push_str(
                &last.map_or(String::new(), |last| wrap(last, width, (&indent, &indent))),
            );
        }
    }
    text
}

/// The cells of some columns, each on as many lines as it takes.
fn draw_row<'a>(
    text: &mut String,
    row: &[String],
    columns: impl Iterator<Item = (usize, Option<&'a usize>, bool)>,
) {
    let cells = columns.filter_map(|(at, width, is_numeric)| {
        let (cell, width) = (row.get(at)?, *width?);
        let lines = wrap(cell, width.max(1), ("", ""));
        Some((lines, width, is_numeric))
    });
    let cells: Vec<(String, usize, bool)> = cells.collect();
    let height = cells.iter().map(|(lines, ..)| lines.lines().count()).max();
    for number in 0..height.unwrap_or_default() {
        let mut line = String::new();
        for (lines, width, is_numeric) in &cells {
            let cell = lines.lines().nth(number).unwrap_or_default();
            let padding = " ".repeat(width.saturating_sub(display_width(cell)));
            let cell = if *is_numeric {
                [&padding, cell]
            } else {
                [cell, &padding]
            };
            line.push_str("  ");
            line.extend(cell);
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
}

/// A row for each stretch: from where to where, how many, how many of all, and a bar with the marks.
pub(crate) fn draw_bars(bars: &Bars, style: Style) -> String {
    let total: u64 = bars.rows.iter().map(|bar| bar.count).sum();
    let largest = bars
        .rows
        .iter()
        .map(|bar| bar.count)
        .max()
        .unwrap_or_default();
    let labels = bars.rows.iter().map(|bar| {
        let share = figure::rough_percent(figure::share(bar.count, total));
        [
            bar.from.clone(),
            bar.until.clone(),
            figure::count(bar.count),
            share,
        ]
    });
    let labels: Vec<[String; 4]> = labels.collect();
    let widths: [usize; 4] = std::array::from_fn(|column| {
        let cells = labels.iter().filter_map(|row| row.get(column));
        cells.map(|cell| cell.width()).max().unwrap_or(0)
    });
    let beside = widths.iter().sum::<usize>() + 11;
    let room = style
        .width
        .saturating_sub(beside + MARKS_WIDTH)
        .max(BAR_MIN);
    let [a, b, c, d] = widths;
    let rows = bars.rows.iter().zip(&labels);
    let rows = rows.map(|(bar, [from, until, count, share])| {
        let drawn = draw_bar(bar.count, largest, room, style.unicode);
        let marks = bar.marks.join(" ");
        let line = format!("  {from:>a$} – {until:>b$}  {count:>c$}  {share:>d$}  {drawn} {marks}");
        // On a very narrow screen the end of a bar says less than a broken line would.
        cut(line.trim_end(), style.width) + "\n"
    });
    rows.collect()
}

/// A bar; whatever is more than nothing shows.
fn draw_bar(count: u64, largest: u64, room: usize, unicode: bool) -> String {
    if count == 0 || largest == 0 {
        return String::new();
    }
    let parts = if unicode { EIGHTHS.len() } else { 1 };
    let most = u128::try_from(room * parts).unwrap_or(u128::MAX);
    let length = (u128::from(count) * most).div_ceil(u128::from(largest));
    let length = usize::try_from(length).unwrap_or(room);
    let mut bar = if unicode { "█" } else { "#" }.repeat(length / parts);
    let rest = (length % parts)
        .checked_sub(1)
        .and_then(|rest| EIGHTHS.get(rest));
    bar.extend(rest);
    bar
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

/// A text in lines of at most `width` columns, with what the first and the others begin with; nothing for nothing.
pub fn wrap(text: &str, width: usize, (first, others): (&str, &str)) -> String {
    if text.is_empty() {
        return String::new();
    }
    let options = Options::new(width)
        .initial_indent(first)
        .subsequent_indent(others)
        .word_separator(WordSeparator::AsciiSpace)
        .word_splitter(WordSplitter::NoHyphenation)
        .wrap_algorithm(WrapAlgorithm::FirstFit);
    let lines = textwrap::wrap(text, options);
    lines
        .iter()
        .map(|line| line.trim_end().to_owned() + "\n")
        .collect()
}

/// A line with its names marked, as a sentence has them.
fn words(line: &Line, style: Style) -> String {
    let spans = line.0.iter().map(|span| match span {
        Span::Plain(text) => text.clone(),
        Span::Code(name) if name.contains('`') => format!("\"{name}\""),
        Span::Code(name) => format!("`{name}`"),
        Span::Strong(tone, text) => style.paint(text, *tone),
    });
    spans.collect()
}

/// The same without marks, as a cell has it.
fn painted(line: &Line, style: Style) -> String {
    let spans = line.0.iter().map(|span| match span {
        Span::Strong(tone, text) => style.paint(text, *tone),
        span => span.text().to_owned(),
    });
    spans.collect()
}

impl Finding {
    fn is_only_named(&self) -> bool {
        self.tone == Tone::Good
    }

    fn is_like(&self, other: &Self) -> bool {
        (self.tone, self.word) == (other.tone, other.word)
    }

    /// What is said of it, after its name.
    pub(crate) fn named_lines(&self) -> Vec<Line> {
        let mut lines = self.lines.clone();
        match lines.first_mut() {
            Some(_) if self.name.0.is_empty() => {}
            // What is short stands beside the name.
            Some(first) if self.lines.len() == 1 => {
                *first = Line::join([self.name.clone(), first.clone()], ": ");
            }
            _ => lines.insert(0, self.name.clone()),
        }
        lines
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table<const COLUMNS: usize>(rows: &[[&str; COLUMNS]]) -> Table {
        let mut table = Table::new([""; COLUMNS]);
        for row in rows {
            table.push(*row);
        }
        table
    }

    fn drawn(table: &Table, width: usize) -> String {
        let text = draw_table(table, Style::plain(width), " in a file");
        assert!(text.lines().all(|line| line.width() <= width), "{text}");
        text
    }

    #[test]
    fn columns_line_up_and_the_last_wraps() {
        let rows = table(&[
            ["a", "ok", ""],
            [
                "long name",
                "hang",
                "no answer within thirty seconds at all",
            ],
        ]);
        assert_eq!(
            drawn(&rows, 50),
            "  a          ok\n  long name  hang  no answer within thirty seconds\n                   at all\n"
        );
        let rows = table(&[
            ["a-very-long-name", "ok", ""],
            ["short", "hang", "no answer within thirty seconds at all"],
        ]);
        assert_eq!(
            drawn(&rows, 40),
            "  a-very-long-n  ok\n  ame\n  short          hang\n      no answer within thirty seconds at\n      all\n"
        );
    }

    #[test]
    fn columns_without_room_follow_and_rows_beyond_the_limit_are_counted() {
        let mut rows = table(&[["name", "10.0ms", "20.0ms", "30.0ms"]]);
        rows.header = ["", "p50", "p95", "p99"].map(str::to_owned).into();
        assert_eq!(
            drawn(&rows, 24),
            "           p50     p95\n  name  10.0ms  20.0ms\n\n           p99\n  name  30.0ms\n"
        );
        let mut rows = table(&[["1"], ["2"], ["3"], ["4"], ["5"]]);
        rows.limit = Some(Limit::First(2));
        assert_eq!(drawn(&rows, 40), "  1\n  2\n  and 3 more in a file\n");
        rows.limit = Some(Limit::Spread(3));
        assert_eq!(drawn(&rows, 40), "  1\n  3\n  5\n");
    }

    #[test]
    fn wide_characters_and_long_words_stay_within_the_width() {
        let text = wrap(&"漢字".repeat(20), 9, ("- ", "  "));
        assert!(text.lines().all(|line| line.width() <= 9), "{text}");
        assert_eq!(wrap("abcdefgh ij", 3, ("", "")), "abc\ndef\ngh\nij\n");
        let cut = cut(&"漢字".repeat(20), 8);
        assert!(cut.width() <= 8 && cut.ends_with('…'), "{cut}");
    }

    #[test]
    fn colors_only_add_codes() {
        let style = Style {
            color: true,
            ..Style::plain(40)
        };
        let finding = |tone, word| {
            Finding::new(tone, word, "check").line("something that is long enough to be wrapped")
        };
        let findings = [finding(Tone::Bad, "finding"), finding(Tone::Good, "passed")];
        let painted = draw_findings(&findings, style);
        assert!(painted.contains("\u{1b}[31mfinding\u{1b}[0m"), "{painted}");
        let plain = draw_findings(&findings, Style::plain(40));
        let stripped = painted
            .replace("\u{1b}[31m", "")
            .replace("\u{1b}[32m", "")
            .replace("\u{1b}[0m", "");
        assert_eq!(stripped, plain);
    }
}
