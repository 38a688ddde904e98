//! A document on a terminal: the verdict, then sections with their blocks indented by two. No line is wider than
//! the terminal, except where a table has a column that nothing can be cut from.

use std::fmt::Write as _;

use mcprove_settings::printable::escape_hidden;
use textwrap::core::display_width;
use textwrap::{Options, WordSeparator, WordSplitter, WrapAlgorithm};
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use crate::block::{Bars, Span};
use crate::prelude::*;
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
/// How many lines the verdict and a fact take on a screen that shows no details, about.
const WHY_LINES_MAX: usize = 4;
const FACT_LINES_MAX: usize = 2;
/// Between parts that stay on one line.
const NO_BREAK: &str = "\u{a0}";

impl Document {
    pub fn terminal(&self, style: Style) -> String {
        let screen = self.screen.filter(|_| !style.verbose);
        let cut = |line: &Line, lines: usize| {
            let most = screen.map_or(usize::MAX, |_| lines * style.width);
            line.clone().cut(most)
        };
        let verdict = self.verdict.as_ref().map_or(String::new(), |verdict| {
            let indent = " ".repeat(verdict.word.len() + 2);
            let word = style.paint(verdict.word, verdict.tone);
            let first = format!(
                "{word}  {}",
                words(&cut(&verdict.why, WHY_LINES_MAX), style)
            );
            wrap(first.trim_end(), style.width, ("", &indent))
        });
        let facts = self
            .facts
            .iter()
            .take(screen.map_or(usize::MAX, |screen| screen.facts))
            .map(|(label, line)| {
                let line = cut(line, FACT_LINES_MAX);
                vec![(*label).to_owned(), painted(&line, style)]
            });
        let facts = lay_out(&facts.collect::<Vec<_>>(), &[], style.width);
        let (top, last) = if self.ends_with_verdict {
            (facts, verdict)
        } else {
            (verdict + &facts, self.draw_place(style))
        };
        let sections = if let Some(screen) = screen {
            let taken = height(&top) + height(&last);
            // The first part has no empty line above it.
            self.fit_sections(style, (screen.lines + 1).saturating_sub(taken))
        } else {
            let sections = self.sections.iter();
            sections.map(|it| self.draw(it, style)).collect()
        };
        let parts: Vec<String> = [top]
            .into_iter()
            .chain(sections)
            .chain([last])
            .filter(|part| !part.is_empty())
            .collect();
        escape_hidden(&parts.join("\n")).into_owned()
    }

    /// The verdict again, and where all of it is.
    fn draw_place(&self, style: Style) -> String {
        let (Some(place), Some(verdict)) = (&self.saved_as, &self.verdict) else {
            return String::new();
        };
        let word = style.paint(verdict.word, verdict.tone);
        wrap(&format!("{word}  Report: {place}"), style.width, ("", "  "))
    }

    /// The sections for which there is room, the first ones first. Of a list the first items are shown, and the
    /// others are counted.
    fn fit_sections(&self, style: Style, mut room: usize) -> Vec<String> {
        let mut drawn = Vec::new();
        for section in &self.sections {
            let mut text = self.draw(section, style);
            let mut shorter = section.clone();
            let mut left_out = 0;
            while height(&text) > room && shorter.drop_item() {
                left_out += 1;
                text = match self.draw(&shorter, style) {
                    nothing if nothing.is_empty() => format!("{}: {left_out} more", section.title),
                    some => format!("{some}  and {left_out} more"),
                };
                let _ = writeln!(text, "{}", self.more_in);
            }
            if height(&text) <= room {
                room -= height(&text);
                drawn.push(text);
            }
        }
        drawn
    }

    fn draw(&self, section: &Section, style: Style) -> String {
        draw_section(section, style, &self.more_in)
    }
}

/// The lines of a part, with the empty one between it and another.
fn height(part: &str) -> usize {
    match part.lines().count() {
        0 => 0,
        lines => lines + 1,
    }
}

fn draw_section(section: &Section, style: Style, more_in: &str) -> String {
    let drawn: String = section
        .blocks
        .iter()
        .map(|block| draw(block, style, more_in))
        .collect();
    match section.title.as_str() {
        "" => drawn,
        _ if drawn.is_empty() => drawn,
        title => wrap(title, style.width, ("", "")) + &drawn,
    }
}

fn draw(block: &Block, style: Style, more_in: &str) -> String {
    let wrapped = |text: &str, first, others| wrap(text, style.width, (first, others));
    match block {
        Block::Paragraph(line) => wrapped(&words(line, style), "  ", "  "),
        Block::List(lines) => lines
            .iter()
            .map(|line| wrapped(&words(line, style), "  - ", "    "))
            .collect(),
        Block::Figures(figures) => draw_figures(figures, style),
        Block::Findings(findings) => draw_findings(findings, style),
        Block::Table(table) => draw_table(table, style, more_in),
        Block::Bars(bars) => draw_bars(bars, style),
        Block::Excerpt(lines) => lines
            .iter()
            .map(|line| wrapped(line, "  | ", "  | "))
            .collect(),
        Block::Detail(block) if style.verbose => draw(block, style, more_in),
        Block::Brief(block) if !style.verbose => draw(block, style, more_in),
        Block::Chart(_) | Block::Detail(_) | Block::Brief(_) => String::new(),
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
    let is_passed = |finding: &Finding| finding.tone == Tone::Good;
    for group in
        findings.chunk_by(|one, other| is_passed(one) && is_passed(other) && one.word == other.word)
    {
        let Some(first) = group.first() else { continue };
        let padding = " ".repeat(indent.len() - 4 - first.word.width());
        let start = format!("  {}{padding}  ", style.paint(first.word, first.tone));
        let only_named = is_passed(first).then(|| Finding {
            name: Line::join(names_of(group), ", "),
            lines: Vec::new(),
            ..first.clone()
        });
        let mut start = start.as_str();
        for line in only_named.as_ref().unwrap_or(first).said("hint: ") {
            text.push_str(&wrap(&words(&line, style), style.width, (start, &indent)));
            start = &indent;
        }
    }
    text
}

/// The names of findings, each once.
fn names_of(findings: &[Finding]) -> Vec<Line> {
    let mut names: Vec<Line> = Vec::new();
    for finding in findings {
        if !names.contains(&finding.name) {
            names.push(finding.name.clone());
        }
    }
    names
}

/// A table under its header, numbers to the right. A long last column goes below the others where it has no
/// room beside them. Columns that do not fit follow in a table of their own.
fn draw_table(table: &Table, style: Style, more_in: &str) -> String {
    let (shown, left_out) = limited(table, style.verbose);
    let names = table.header.iter().map(|it| it.name.clone()).collect();
    let header = Some(names).filter(|names: &Vec<String>| names.iter().any(|it| !it.is_empty()));
    let rows = shown
        .into_iter()
        .map(|row| row.iter().map(|cell| painted(cell, style)).collect());
    let rows: Vec<Vec<String>> = header.into_iter().chain(rows).collect();
    let is_numeric: Vec<bool> = table.header.iter().map(|it| it.is_numeric).collect();
    let mut text = lay_out(&rows, &is_numeric, style.width);
    if left_out > 0 {
        let _ = writeln!(text, "  and {left_out} more{more_in}");
    }
    text
}

/// The rows that are shown, and how many are missing below them.
fn limited(table: &Table, is_verbose: bool) -> (Vec<&Vec<Line>>, usize) {
    let all = table.rows.len();
    let (first, every) = match table.limit.filter(|_| !is_verbose) {
        Some(Limit::First(most)) => (most, 1),
        Some(Limit::Spread(most)) => (all, all.div_ceil(most.max(1)).max(1)),
        None => (all, 1),
    };
    let skipped = all.saturating_sub(1) % every;
    let rows = table.rows.iter().take(first).skip(skipped).step_by(every);
    (rows.collect(), all.saturating_sub(first))
}

/// A column: its place in a row, how wide it is drawn, and whether it is set to the right.
struct Column {
    at: usize,
    width: usize,
    is_numeric: bool,
}

fn total<'a>(columns: impl IntoIterator<Item = &'a Column>) -> usize {
    columns.into_iter().map(|column| column.width + 2).sum()
}

/// Rows of cells, in columns.
fn lay_out(rows: &[Vec<String>], is_numeric: &[bool], width: usize) -> String {
    let mut columns: Vec<Column> = widths(rows)
        .into_iter()
        .enumerate()
        .map(|(at, width)| Column {
            at,
            width,
            is_numeric: is_numeric.get(at) == Some(&true),
        })
        .collect();
    let mut below = None;
    if total(&columns) > width {
        let is_long = columns
            .last()
            .is_some_and(|last| last.width > LAST_COLUMN_MIN);
        for column in columns.iter_mut().filter(|column| !column.is_numeric) {
            column.width = column.width.min((width / 3).max(NAME_MIN));
        }
        if let Some((last, others)) = columns.split_last_mut().filter(|_| is_long) {
            let room = width.saturating_sub(total(&*others) + 2);
            if room >= LAST_COLUMN_MIN {
                last.width = room;
            } else if !others.is_empty() {
                below = columns.pop();
            }
        }
    }
    // What has no room on a line is told on another, with the first column again.
    let mut parts: Vec<Vec<&Column>> = Vec::new();
    for column in &columns {
        match parts.last_mut() {
            Some(part) if total(part.iter().copied()) + column.width + 2 <= width => {
                part.push(column);
            }
            Some(_) if column.at > 1 && total([&columns[0], column]) <= width => {
                parts.push(vec![&columns[0], column]);
            }
            _ => parts.push(vec![column]),
        }
    }
    let indent = " ".repeat(BELOW_INDENT);
    parts
        .iter()
        .enumerate()
        .map(|(number, part)| {
            let below = below.as_ref().filter(|_| number + 1 == parts.len());
            rows.iter()
                .map(|row| {
                    let last = below
                        .and_then(|below| row.get(below.at))
                        .map(|last| wrap(last, width, (&indent, &indent)));
                    draw_row(row, part) + &last.unwrap_or_default()
                })
                .collect::<String>()
        })
        .collect::<Vec<String>>()
        .join("\n")
}

/// How wide each column is.
fn widths(rows: &[impl AsRef<[String]>]) -> Vec<usize> {
    let mut widths = Vec::new();
    for row in rows.iter().map(AsRef::as_ref) {
        widths.resize(widths.len().max(row.len()), 0);
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = display_width(cell).max(*width);
        }
    }
    widths
}

/// The cells of some columns, each on as many lines as it takes.
fn draw_row(row: &[String], columns: &[&Column]) -> String {
    let cells = columns.iter().filter_map(|column| {
        let lines = wrap(row.get(column.at)?, column.width.max(1), ("", ""));
        Some((column, lines))
    });
    let cells: Vec<_> = cells.collect();
    let height = cells.iter().map(|(_, lines)| lines.lines().count()).max();
    let lines = (0..height.unwrap_or_default()).map(|number| {
        let line = cells.iter().map(|(column, lines)| {
            let cell = lines.lines().nth(number).unwrap_or_default();
            let padding = " ".repeat(column.width.saturating_sub(display_width(cell)));
            if column.is_numeric {
                format!("  {padding}{cell}")
            } else {
                format!("  {cell}{padding}")
            }
        });
        line.collect::<String>().trim_end().to_owned() + "\n"
    });
    lines.collect()
}

/// A row for each stretch: from where to where, how many, how many of all, and a bar with the marks.
pub(crate) fn draw_bars(bars: &Bars, style: Style) -> String {
    let largest = bars.rows.iter().map(|bar| bar.count).max();
    let labels: Vec<[String; 4]> = bars
        .shares()
        .map(|(bar, share, _)| {
            let (from, until) = (bar.from.clone(), bar.until.clone());
            [from, until, count(bar.count), share]
        })
        .collect();
    let widths = widths(&labels);
    let beside = widths.iter().sum::<usize>() + 11;
    let [a, b, c, d] = [0, 1, 2, 3].map(|at: usize| widths.get(at).copied().unwrap_or_default());
    let room = style
        .width
        .saturating_sub(beside + MARKS_WIDTH)
        .max(BAR_MIN);
    let rows = bars
        .rows
        .iter()
        .zip(&labels)
        .map(|(bar, [from, until, count, share])| {
            let drawn = draw_bar(bar.count, largest.unwrap_or_default(), room, style.unicode);
            let marks = bar.marks.join(" ");
            let line =
                format!("  {from:>a$} – {until:>b$}  {count:>c$}  {share:>d$}  {drawn} {marks}");
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
    textwrap::wrap(text, options)
        .iter()
        .map(|line| line.trim_end().to_owned() + "\n")
        .collect()
}

/// A line with its names marked, as a sentence has them.
fn words(line: &Line, style: Style) -> String {
    let marked = |name: &str| {
        let mark = if name.contains('`') { '"' } else { '`' };
        format!("{mark}{name}{mark}")
    };
    draw_spans(line, style, marked)
}

/// The same without marks, as a cell has it.
fn painted(line: &Line, style: Style) -> String {
    draw_spans(line, style, str::to_owned)
}

fn draw_spans(line: &Line, style: Style, draw_name: impl Fn(&str) -> String) -> String {
    line.0
        .iter()
        .map(|span| match span {
            Span::Plain(text) => text.clone(),
            Span::Code(name) => draw_name(name),
            Span::Strong(tone, text) => style.paint(text, *tone),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::block::{Heading, Screen};

    #[test]
    fn a_detector_that_passed_for_several_tools_is_named_once() {
        let passed = |name: &str| Finding::new(Tone::Good, "passed", name).line("All is well.");
        let findings = ["race", "protocol", "race"].map(passed);
        let text = draw_findings(&findings, Style::plain(60));
        assert_eq!(text, "  passed  race, protocol\n");
    }

    #[test]
    fn what_has_no_room_on_a_screen_is_counted_and_details_are_for_those_who_ask() {
        let finding = |name: &str| Finding::new(Tone::Bad, "finding", name).line("It broke.");
        let mut document = Document {
            verdict: Some(Verdict::new(Tone::Bad, "FAIL", "3 findings")),
            facts: vec![("Server", "s".into()), ("Started", "t".into())],
            sections: vec![
                Section::new("Summary")
                    .brief("in short")
                    .block(Block::Detail(Box::new(Block::Paragraph(
                        "at length".into(),
                    )))),
                Section::new("Found").findings(["a", "b", "c"].map(finding)),
            ],
            more_in: " in report.md".to_owned(),
            screen: Some(Screen {
                lines: 11,
                facts: 1,
            }),
            saved_as: Some("report.md".to_owned()),
            ..Document::default()
        };
        let top = "FAIL  3 findings\n  Server  s\n\nSummary\n  in short\n\n";
        let last = "\nFAIL  Report: report.md\n";
        let style = Style::plain(40);
        let text = document.terminal(style);
        let found = "Found\n  finding  a: It broke.\n  and 2 more in report.md\n";
        assert_eq!(text, format!("{top}{found}{last}"));
        document.screen = Some(Screen { lines: 9, facts: 1 });
        let text = document.terminal(style);
        assert_eq!(text, format!("{top}Found: 3 more in report.md\n{last}"));
        let text = document.terminal(Style {
            verbose: true,
            ..style
        });
        assert!(
            text.contains("  Started  t\n\nSummary\n  at length\n\nFound"),
            "{text}"
        );
        assert!(
            text.ends_with(&format!("  finding  c: It broke.\n{last}")),
            "{text}"
        );
    }

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
        rows.header = ["", "p50", "p95", "p99"].map(Heading::from).into();
        rows = rows.numbers(1..);
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
