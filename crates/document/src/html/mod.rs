//! A document as an HTML page that needs nothing else, not even a script.
//!
//! Everything is escaped where it is drawn ([`escape`]); on top of that a page forbids itself
//! scripts and the network, so that whatever a server calls itself stays a text.

mod axis;
mod chart;

use mcprove_settings::printable::escape_hidden;

use crate::block::Span;
use crate::prelude::*;

const CSS: &str = include_str!("style.css");

/// What the page may do: show itself.
pub const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'";

/// A table with a longer cell than this is shown as cards on a narrow screen.
const CELL_MAX: usize = 40;

impl Document {
    /// As an HTML page.
    pub fn html(&self) -> String {
        let status = self.verdict.as_ref().map_or(String::new(), |verdict| {
            let (class, why) = (class(verdict.tone), draw_line(&verdict.why));
            let word = verdict.word;
            format!("<p class=\"status {class}\"><strong>{word}</strong>{why}</p>\n")
        });
        let facts = each(&self.facts, |(name, line)| {
            format!("<dt>{name}</dt><dd>{}</dd>\n", draw_line(line))
        });
        let facts = within("<dl class=\"about\">\n", &facts, "</dl>\n");
        let sections = each(&self.sections, draw_section);
        let page = format!(
            "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta http-equiv=\"Content-Security-Policy\" content=\"{POLICY}\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
             <meta name=\"color-scheme\" content=\"light dark\">\n\
             <title>{}</title>\n<style>\n{CSS}</style>\n</head>\n<body>\n<main>\n\
             <header>\n{status}<h1>{}</h1>\n{facts}</header>\n{sections}</main>\n</body>\n</html>\n",
            escape(&self.window_title()),
            escape(&self.heading())
        );
        escape_hidden(&page).into_owned()
    }
}

/// Several things, one after the other.
fn each<Item>(items: &[Item], draw: impl Fn(&Item) -> String) -> String {
    items.iter().map(draw).collect()
}

/// What stands between two tags; nothing around nothing.
fn within(start: &str, inside: &str, end: &str) -> String {
    match inside {
        "" => String::new(),
        inside => [start, inside, end].concat(),
    }
}

fn draw_section(section: &Section) -> String {
    let is_chart = |block: &Block| matches!(block, Block::Chart(_));
    // Charts that follow each other stand side by side.
    let drawn = section
        .blocks
        .chunk_by(|one, other| is_chart(one) && is_chart(other))
        .map(|blocks| {
            let drawn = each(blocks, draw);
            if drawn.starts_with("<figure>") {
                format!("<div class=\"charts\">\n{drawn}</div>\n")
            } else {
                drawn
            }
        });
    let title = within("<h2>", &escape(&section.title), "</h2>\n");
    within(
        &format!("<section>\n{title}"),
        &drawn.collect::<String>(),
        "</section>\n",
    )
}

fn draw(block: &Block) -> String {
    match block {
        Block::Paragraph(line) => format!("<p>{}</p>\n", draw_line(line)),
        Block::List(lines) => {
            let lines = each(lines, |line| format!("<li>{}</li>\n", draw_line(line)));
            format!("<ul>\n{lines}</ul>\n")
        }
        Block::Figures(figures) => {
            let figures = each(figures, |Figure { tone, label, value }| {
                let (class, value) = (class(*tone), escape(value));
                format!("<div class=\"{class}\"><dt>{label}</dt><dd>{value}</dd></div>\n")
            });
            format!("<dl class=\"tiles\">\n{figures}</dl>\n")
        }
        Block::Findings(findings) => {
            let findings = each(findings, draw_finding);
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
    let lines: Vec<String> = finding.said("Hint: ").iter().map(draw_line).collect();
    let (class, word, lines) = (class(finding.tone), finding.word, lines.join("<br>"));
    format!("<li class=\"{class}\"><strong>{word}</strong> {lines}</li>\n")
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
    let mut cells = table.rows.iter().flatten();
    let is_wordy = cells.any(|cell| cell.text().chars().count() > CELL_MAX);
    let cards = if is_wordy { " class=\"cards\"" } else { "" };
    let classes: Vec<&str> = (0..table.header.len())
        .map(|column| {
            if table.is_numeric(column) {
                " class=\"number\""
            } else {
                ""
            }
        })
        .collect();
    let header = table.header.iter().zip(&classes).map(|(name, class)| {
        let name = escape(name);
        format!("<th scope=\"col\"{class}>{name}</th>")
    });
    let header: String = header.collect();
    let rows = each(&table.rows, |row| {
        let cells = row
            .iter()
            .zip(&table.header)
            .zip(&classes)
            .map(|((cell, name), class)| {
                let (name, cell) = (escape(name), draw_line(cell));
                format!("<td data-label=\"{name}\"{class}>{cell}</td>")
            });
        format!("<tr>{}</tr>\n", cells.collect::<String>())
    });
    format!(
        "<div class=\"scroll\"><table{cards}>\n<thead><tr>{header}</tr></thead>\n<tbody>\n{rows}</tbody>\n</table></div>\n"
    )
}

/// A line with its spans.
fn draw_line(line: &Line) -> String {
    each(&line.0, |span| {
        let text = escape(span.text());
        match span {
            Span::Plain(_) => text,
            Span::Code(_) => format!("<code>{text}</code>"),
            Span::Strong(tone, _) => {
                format!("<strong class=\"{}\">{text}</strong>", class(*tone))
            }
        }
    })
}

/// A text in which HTML finds nothing to do, between tags and within quotes.
pub fn escape(text: &str) -> String {
    let marks = [
        ("&", "&amp;"),
        ("<", "&lt;"),
        (">", "&gt;"),
        ("\"", "&quot;"),
        ("'", "&#39;"),
    ];
    let text = text.to_owned();
    marks
        .iter()
        .fold(text, |text, (mark, name)| text.replace(mark, name))
}
