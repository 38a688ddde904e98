//! Markdown, for people and for programs that read it.
//!
//! What a server chose can hold anything. Outside of code, whatever markdown or HTML would act on
//! is escaped; inside of code, the fence is longer than any run of backticks in it; in tables,
//! bars are escaped in both. Words that sites make something of (`@name` calls a person, `#1` an issue,
//! addresses become links) are written as code, which they leave alone; a backslash does not help there.

use std::fmt::Write as _;

use mcprove_settings::phrase::fence;
use mcprove_settings::printable::escape_hidden;
use unicode_width::UnicodeWidthStr;

use crate::block::Span;
use crate::prelude::*;
use crate::style::Style;
use crate::terminal::draw_bars;

/// A column is padded up to this width; a longer cell sticks out instead of widening all others.
const COLUMN_MAX: usize = 40;
/// How wide bars are drawn.
const BARS_WIDTH: usize = 78;

impl Document {
    pub fn markdown(&self) -> String {
        let mut text = format!("# {}\n", escape(&self.heading()));
        let status = self.verdict.as_ref().map(|verdict| {
            let picture = match verdict.tone {
                Tone::Good => "✅ ",
                Tone::Bad => "❌ ",
                Tone::Unclear => "⚠️ ",
                Tone::Neutral => "",
            };
            let why = match draw_line(&verdict.why) {
                why if why.is_empty() => why,
                why => format!(" ({why})"),
            };
            format!("**Status:** {picture}{}{why}", verdict.word)
        });
        let facts = self
            .facts
            .iter()
            .map(|(label, line)| format!("**{label}:** {}", draw_line(line)));
        let top: Vec<String> = status.into_iter().chain(facts).collect();
        if !top.is_empty() {
            // Two spaces end a line within a paragraph.
            let _ = write!(text, "\n{}\n", top.join("  \n"));
        }
        for section in &self.sections {
            draw_section(section, &mut text);
        }
        escape_hidden(&text).into_owned()
    }
}

fn draw_section(section: &Section, text: &mut String) {
    let drawn: Vec<String> = section
        .blocks
        .iter()
        .map(draw)
        .filter(|block| !block.is_empty())
        .collect();
    if drawn.is_empty() {
        return;
    }
    if !section.title.is_empty() {
        let _ = write!(text, "\n## {}\n", escape(&section.title));
    }
    let _ = write!(text, "\n{}", drawn.join("\n"));
}

fn draw(block: &Block) -> String {
    match block {
        Block::Paragraph(line) => draw_line(line) + "\n",
        Block::List(lines) => list(lines, draw_line),
        Block::Figures(figures) => {
            list(figures, |it| format!("{}: {}", it.label, escape(&it.value)))
        }
        Block::Findings(findings) => list(findings, draw_finding),
        Block::Table(table) => draw_table(table),
        Block::Bars(bars) => format!(
            "```text\n{}```\n",
            draw_bars(bars, Style::plain(BARS_WIDTH))
        ),
        Block::Excerpt(lines) => {
            let lines = lines.join("\n");
            let fence = fence(&lines, 3);
            format!("{fence}text\n{lines}\n{fence}\n")
        }
        Block::Chart(_) | Block::Brief(_) => String::new(),
        Block::Detail(block) => draw(block),
    }
}

fn list<Item>(items: &[Item], draw: impl Fn(&Item) -> String) -> String {
    items
        .iter()
        .map(draw)
        .fold(String::new(), |text, item| text + "- " + &item + "\n")
}

fn draw_finding(finding: &Finding) -> String {
    let lines: Vec<String> = finding.said("Hint: ").iter().map(draw_line).collect();
    let word = match finding.tone {
        Tone::Good => finding.word.to_owned(),
        _ => format!("**{}**", finding.word),
    };
    format!("{word} {}", lines.join("  \n  "))
}

fn draw_table(table: &Table) -> String {
    let mut text = String::new();
    let header: Vec<String> = table.header.iter().map(|it| escape(&it.name)).collect();
    let rows: Vec<Vec<String>> = table
        .rows
        .iter()
        .map(|row| row.iter().map(|cell| draw_spans(cell, true)).collect())
        .collect();
    let mut widths: Vec<usize> = header.iter().map(|name| name.width().max(3)).collect();
    for row in &rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            let own = Some(cell.width()).filter(|own| *own <= COLUMN_MAX);
            *width = own.unwrap_or_default().max(*width);
        }
    }
    let rule: Vec<String> = widths.iter().map(|width| "-".repeat(*width)).collect();
    for row in [&header, &rule].into_iter().chain(&rows) {
        text.push('|');
        for (cell, width) in row.iter().zip(&widths) {
            let padding = width.saturating_sub(cell.width());
            let _ = write!(text, " {cell}{} |", " ".repeat(padding));
        }
        text.push('\n');
    }
    text
}

fn draw_line(line: &Line) -> String {
    draw_spans(line, false)
}

fn draw_spans(line: &Line, in_table: bool) -> String {
    let mut text = String::new();
    for span in &line.0 {
        match span {
            Span::Plain(plain) => push(&mut text, &escape_words(plain, in_table)),
            Span::Strong(Tone::Good, good) => push(&mut text, &escape_words(good, in_table)),
            Span::Strong(_, strong) => {
                let _ = write!(text, "**{}**", escape_words(strong, in_table));
            }
            Span::Code(code) => push(&mut text, &code_span(code, in_table)),
        }
    }
    escape_start(text)
}

/// Fences that touch would become one.
fn push(text: &mut String, more: &str) {
    if text.ends_with('`') && more.starts_with('`') {
        text.push(' ');
    }
    text.push_str(more);
}

/// A text in which markdown, and whoever shows it, finds nothing to do.
fn escape(text: &str) -> String {
    escape_words(text, false)
}

fn escape_words(text: &str, in_table: bool) -> String {
    if !is_live(text) {
        return escape_marks(text);
    }
    let mut escaped = String::new();
    for part in text.split_inclusive(char::is_whitespace) {
        let word = part.trim_end_matches(char::is_whitespace);
        escaped += &if is_live(word) {
            code_span(word, in_table)
        } else {
            escape_marks(word)
        };
        escaped.push_str(part.get(word.len()..).unwrap_or_default());
    }
    escaped
}

/// Whether sites would make a link of something in it, or tell somebody of it.
fn is_live(word: &str) -> bool {
    const SCHEMES: [&str; 4] = ["://", "www.", "mailto:", "xmpp:"];
    let lower = word.to_ascii_lowercase();
    let has_before = |mark: &str, is_next: fn(char) -> bool| {
        lower
            .split(mark)
            .skip(1)
            .any(|part| part.starts_with(is_next))
    };
    let is_digit = |next: char| next.is_ascii_digit();
    has_before("@", char::is_alphanumeric)
        || has_before("#", is_digit)
        || has_before("gh-", is_digit)
        || SCHEMES.iter().any(|scheme| lower.contains(scheme))
}

/// A text in which markdown finds nothing to do.
fn escape_marks(text: &str) -> String {
    let mut escaped = String::new();
    let mut before = None;
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        let is_active = match character {
            '\\' | '`' | '*' | '[' | ']' | '<' | '>' | '|' | '~' => true,
            // Within a word it is no emphasis: `p99_latency` stays readable.
            '_' => !(is_word(before) && is_word(characters.peek().copied())),
            '&' => characters
                .peek()
                .is_some_and(|next| next.is_ascii_alphanumeric() || *next == '#'),
            _ => false,
        };
        if is_active {
            escaped.push('\\');
        }
        escaped.push(character);
        before = Some(character);
    }
    escaped
}

fn is_word(character: Option<char>) -> bool {
    character.is_some_and(char::is_alphanumeric)
}

/// At the start of a line some more characters would make a heading, a list or a rule.
fn escape_start(mut text: String) -> String {
    let after = text.trim_start_matches(|character: char| character.is_ascii_digit());
    let digits = text.len() - after.len();
    let is_list = digits > 0 && (after.starts_with(". ") || after.starts_with(") "));
    if is_list || text.starts_with(['#', '+', '-', '=']) {
        text.insert(digits, '\\');
    }
    text
}

/// A text as code, whatever backticks it has.
fn code_span(text: &str, in_table: bool) -> String {
    let text = text.replace('|', if in_table { "\\|" } else { "|" });
    let fence = fence(&text, 1);
    let is_touching = text.starts_with('`') || text.ends_with('`');
    let is_padded = text.starts_with(' ') && text.ends_with(' ') && !text.trim().is_empty();
    let pad = if is_touching || is_padded { " " } else { "" };
    format!("{fence}{pad}{text}{pad}{fence}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_a_server_chose_is_markdown() {
        for (text, escaped) in [
            ("a|b", "a\\|b"),
            (
                "<script>alert(1)</script>",
                "\\<script\\>alert(1)\\</script\\>",
            ),
            ("[x](y) !", "\\[x\\](y) !"),
            (
                "**bold** _it_ p99_latency",
                "\\*\\*bold\\*\\* \\_it\\_ p99_latency",
            ),
            ("a`b`c \\", "a\\`b\\`c \\\\"),
            ("&lt; & &#60;", "\\&lt; & `&#60;`"),
        ] {
            assert_eq!(escape(text), escaped, "{text}");
        }
        for (text, escaped) in [
            ("# x", "\\# x"),
            ("- x", "\\- x"),
            ("12. x", "12\\. x"),
            ("12.5", "12.5"),
            ("x", "x"),
            ("", ""),
        ] {
            assert_eq!(escape_start(text.to_owned()), escaped, "{text}");
        }
    }

    #[test]
    fn nobody_is_called_and_nothing_becomes_a_link() {
        for (text, escaped) in [
            ("by @octocat, a@b.c", "by `@octocat,` `a@b.c`"),
            ("fixes #1 and o/r#22 GH-3", "fixes `#1` and `o/r#22` `GH-3`"),
            ("[x](http://e.vil)", "`[x](http://e.vil)`"),
            (
                "HTTPS://e.vil/`x`` *b*",
                "``` HTTPS://e.vil/`x`` ``` \\*b\\*",
            ),
            ("www.e.vil mailto:x", "`www.e.vil` `mailto:x`"),
            ("a @ b # c #d x@", "a @ b # c #d x@"),
        ] {
            assert_eq!(escape(text), escaped, "{text}");
        }
        let line = Line::plain("see @me").and_code("x").and("@a|b");
        assert_eq!(draw_spans(&line, true), "see `@me` `x` `@a\\|b`");
    }

    #[test]
    fn code_has_a_fence_that_holds() {
        assert_eq!(code_span("a", false), "`a`");
        assert_eq!(code_span("a`b``c", false), "```a`b``c```");
        assert_eq!(code_span("`a", false), "`` `a ``");
        assert_eq!(code_span("a|b", true), "`a\\|b`");
        assert_eq!(code_span("a|b", false), "`a|b`");
    }

    #[test]
    fn a_wide_cell_does_not_widen_the_others() {
        let mut table = Table::new(["a", "b"]);
        table.push(["x", &"y".repeat(60)]);
        table.push(["xyz", "z"]);
        assert_eq!(
            draw_table(&table),
            format!(
                "| a   | b   |\n| --- | --- |\n| x   | {} |\n| xyz | z   |\n",
                "y".repeat(60)
            )
        );
    }
}
