//! A document as an HTML page that needs nothing else, not even a script.
//!
//! Everything is escaped where it is drawn ([`escape`]); on top of that a page forbids itself
//! scripts and the network, so that whatever a server calls itself stays a text.

mod axis;
mod chart;

use std::fmt::Write as _;

use mcprove_settings::printable::escape_hidden;

use crate::block::{Block, Document, Finding, Line, Section, Span, Table, Tone};

const CSS: &str = include_str!("style.css");

/// What the page may do: show itself.
pub const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'";

/// A table with a longer cell than this is shown as cards on a narrow screen.
const CELL_MAX: usize = 40;

/// The whole document, as a page.
pub(crate) fn render(document: &Document) -> String {
    let status = document.verdict.as_ref().map_or(String::new(), |verdict| {
        let (class, why) = (class(verdict.tone), draw_line(&verdict.why));
        format!(
            "<p class=\"status {class}\"><strong>{}</strong>{why}</p>\n",
            verdict.word
        )
    });
    let mut page = format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{POLICY}\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <title>{}</title>\n<style>\n{CSS}</style>\n</head>\n<body>\n<main>\n\
         <header>\n{status}<h1>{}</h1>\n",
        escape(&document.window_title()),
        escape(&document.heading())
    );
    if !document.facts.is_empty() {
        page.push_str("<dl class=\"about\">\n");
        for (name, line) in &document.facts {
            let _ = writeln!(page, "<dt>{name}</dt><dd>{}</dd>", draw_line(line));
        }
        page.push_str("</dl>\n");
    }
    page.push_str("</header>\n");
    for section in &document.sections {
        draw_section(section, &mut page);
    }
    page.push_str("</main>\n</body>\n</html>\n");
    escape_hidden(&page).into_owned()
}

fn draw_section(section: &Section, page: &mut String) {
    let mut drawn = String::new();
    let is_chart = |block: &Block| matches!(block, Block::Chart(_));
    // Charts that follow each other stand side by side.
    for blocks in section
        .blocks
        .chunk_by(|one, other| is_chart(one) && is_chart(other))
    {
        let blocks: String = blocks.iter().map(draw).collect();
        if blocks.starts_with("<figure>") {
            let _ = write!(drawn, "<div class=\"charts\">\n{blocks}</div>\n");
        } else {
            drawn.push_str(&blocks);
        }
    }
    if drawn.is_empty() {
        return;
    }
    let title = match section.title.as_str() {
        "" => String::new(),
        title => format!("<h2>{}</h2>\n", escape(title)),
    };
    let _ = write!(page, "<section>\n{title}{drawn}</section>\n");
}

fn draw(block: &Block) -> String {
    match block {
        Block::Paragraph(line) => format!("<p>{}</p>\n", draw_line(line)),
        Block::List(lines) => {
            let lines = lines
                .iter()
                .map(|line| format!("<li>{}</li>\n", draw_line(line)));
            format!("<ul>\n{}</ul>\n", lines.collect::<String>())
        }
        Block::Figures(figures) => {
            let figures = figures.iter().map(|figure| {
                format!(
                    "<div class=\"{}\"><dt>{}</dt><dd>{}</dd></div>\n",
                    class(figure.tone),
                    figure.label,
                    escape(&figure.value)
                )
            });
            format!(
                "<dl class=\"tiles\">\n{}</dl>\n",
                figures.collect::<String>()
            )
        }
        Block::Findings(findings) => {
            let findings: String = findings.iter().map(draw_finding).collect();
            format!("<ul class=\"findings\">\n{findings}</ul>\n")
        }
        Block::Table(table) => draw_table(table),
        Block::Chart(chart) => chart::draw_chart(chart),
        Block::Bars(bars) => chart::draw_bars(bars),
        Block::Excerpt(lines) => format!("<pre>{}</pre>\n", escape(&lines.join("\n"))),
        Block::Detail(block) => draw(block),
    }
}

fn draw_finding(finding: &Finding) -> String {
    let mut lines = finding.named_lines();
    lines.extend(
        finding
            .hint
            .clone()
            .map(|hint| Line::plain("Hint: ").and(hint)),
    );
    let lines: Vec<String> = lines.iter().map(draw_line).collect();
    format!(
        "<li class=\"{}\"><strong>{}</strong> {}</li>\n",
        class(finding.tone),
        finding.word,
        lines.join("<br>")
    )
}

const fn class(tone: Tone) -> &'static str {
    match tone {
        Tone::Neutral => "neutral",
        Tone::Good => "good",
        Tone::Unclear => "unclear",
        Tone::Bad => "bad",
    }
}

fn draw_table(table: &Table) -> String {
    let mut page = String::new();
    let mut cells = table.rows.iter().flatten();
    let is_wordy = cells.any(|cell| cell.text().chars().count() > CELL_MAX);
    let cards = if is_wordy { " class=\"cards\"" } else { "" };
    let _ = write!(page, "<div class=\"scroll\"><table{cards}>\n<thead><tr>");
    let number = |column| {
        let is_number = table.is_numeric(column);
        if is_number { " class=\"number\"" } else { "" }
    };
    for (column, name) in table.header.iter().enumerate() {
        let (class, name) = (number(column), escape(name));
        let _ = write!(page, "<th scope=\"col\"{class}>{name}</th>");
    }
    page.push_str("</tr></thead>\n<tbody>\n");
    for row in &table.rows {
        page.push_str("<tr>");
        for (column, (cell, name)) in row.iter().zip(&table.header).enumerate() {
            let (class, name, cell) = (number(column), escape(name), draw_line(cell));
            let _ = write!(page, "<td data-label=\"{name}\"{class}>{cell}</td>");
        }
        page.push_str("</tr>\n");
    }
    page + "</tbody>\n</table></div>\n"
}

/// A line with its spans.
fn draw_line(line: &Line) -> String {
    let mut text = String::new();
    for span in &line.0 {
        let _ = match span {
            Span::Plain(plain) => write!(text, "{}", escape(plain)),
            Span::Code(code) => write!(text, "<code>{}</code>", escape(code)),
            Span::Strong(tone, strong) => {
                let (class, strong) = (class(*tone), escape(strong));
                write!(text, "<strong class=\"{class}\">{strong}</strong>")
            }
        };
    }
    text
}

/// A text in which HTML finds nothing to do, between tags and within quotes.
pub fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len() + 8);
    for character in text.chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            _ => escaped.push(character),
        }
    }
    escaped
}
