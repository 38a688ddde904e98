//! HTML pages that need nothing else, not even a script.
//!
//! Everything is escaped where it is drawn ([`escape`]); on top of that a page forbids itself
//! scripts and the network, so that whatever a server calls itself stays a text.

mod axis;
mod chart;

use std::fmt::Write as _;

use crate::block::{Block, Line, Section, Span, Table};

pub use chart::Chart;

const CSS: &str = include_str!("style.css");

/// What the page may do: show itself.
pub const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'";

/// A table with a longer cell than this is shown as cards on a narrow screen.
const CELL_MAX: usize = 40;

/// The end of every page.
pub const PAGE_END: &str = "</main>\n</body>\n</html>\n";

/// The beginning of every page, up to where its contents start.
pub fn page_top(title: &str) -> String {
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{POLICY}\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <title>{}</title>\n<style>\n{CSS}</style>\n</head>\n<body>\n<main>\n",
        escape(title)
    )
}

/// A section without pictures.
pub fn draw_plain_section(section: &Section, page: &mut String) {
    let _ = write!(page, "<section>\n<h2>{}</h2>\n", escape(section.title));
    for block in &section.blocks {
        draw_block(block, page);
    }
    page.push_str("</section>\n");
}

/// Any block.
pub fn draw_block(block: &Block, page: &mut String) {
    match block {
        Block::Paragraph(line) => {
            let _ = writeln!(page, "<p>{}</p>", draw_line(line));
        }
        Block::List(lines) => {
            page.push_str("<ul>\n");
            for line in lines {
                let _ = writeln!(page, "<li>{}</li>", draw_line(line));
            }
            page.push_str("</ul>\n");
        }
        Block::Table(table) => draw_table(table, page),
        Block::Drawing(drawing) => {
            let _ = writeln!(page, "<pre>{}</pre>", escape(drawing));
        }
    }
}

fn draw_table(table: &Table, page: &mut String) {
    let mut cells = table.rows.iter().flatten();
    let is_wordy = cells.any(|cell| cell.text().chars().count() > CELL_MAX);
    let class = if is_wordy { " class=\"cards\"" } else { "" };
    let _ = write!(page, "<div class=\"scroll\"><table{class}>\n<thead><tr>");
    let alignment = |column| {
        if table.is_numeric(column) {
            " class=\"number\""
        } else {
            ""
        }
    };
    for (column, name) in table.header.iter().enumerate() {
        let _ = write!(
            page,
            "<th scope=\"col\"{}>{}</th>",
            alignment(column),
            escape(name)
        );
    }
    page.push_str("</tr></thead>\n<tbody>\n");
    for row in &table.rows {
        page.push_str("<tr>");
        for (column, (cell, name)) in row.iter().zip(&table.header).enumerate() {
            let _ = write!(
                page,
                "<td data-label=\"{}\"{}>{}</td>",
                escape(name),
                alignment(column),
                draw_line(cell)
            );
        }
        page.push_str("</tr>\n");
    }
    page.push_str("</tbody>\n</table></div>\n");
}

/// A line with its spans.
pub fn draw_line(line: &Line) -> String {
    let mut text = String::new();
    for span in &line.0 {
        let _ = match span {
            Span::Plain(plain) => write!(text, "{}", escape(plain)),
            Span::Code(code) => write!(text, "<code>{}</code>", escape(code)),
            Span::Strong(strong) => write!(text, "<strong>{}</strong>", escape(strong)),
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
