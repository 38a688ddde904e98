//! A document as an HTML page that needs nothing else, not even a script.
//!
//! Everything is escaped where it is drawn; on top of that a page forbids itself scripts and the
//! network, so that whatever a server calls itself stays a text.

mod axis;
mod chart;

use maud::{DOCTYPE, Markup, PreEscaped, html};
use mcprove_settings::printable::escape_hidden;

use crate::block::{Heading, Span};
use crate::prelude::*;

const CSS: &str = include_str!("style.css");

/// What the page may do: show itself.
pub const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'";

/// A table with a longer cell than this is shown as cards on a narrow screen.
const CELL_MAX: usize = 40;

impl Document {
    /// As an HTML page.
    pub fn html(&self) -> String {
        let page = html! {
            (DOCTYPE)
            html lang="en" {
                head {
                    meta charset="utf-8";
                    meta http-equiv="Content-Security-Policy" content=(POLICY);
                    meta name="viewport" content="width=device-width, initial-scale=1";
                    meta name="color-scheme" content="light dark";
                    title { (self.window_title()) }
                    style { (PreEscaped(CSS)) }
                }
                body {
                    main {
                        header {
                            @if let Some(verdict) = &self.verdict {
                                p class={ "status " (class(verdict.tone)) } {
                                    strong { (verdict.word) }
                                    (draw_line(&verdict.why))
                                }
                            }
                            h1 { (self.heading()) }
                            @if !self.facts.is_empty() {
                                dl class="about" {
                                    @for (name, line) in &self.facts {
                                        dt { (name) }
                                        dd { (draw_line(line)) }
                                    }
                                }
                            }
                        }
                        @for section in &self.sections { (draw_section(section)) }
                    }
                }
            }
        };
        escape_hidden(&page.into_string()).into_owned()
    }
}

fn draw_section(section: &Section) -> Markup {
    let blocks = section.blocks.iter().filter(|block| is_seen(block));
    let blocks: Vec<&Block> = blocks.collect();
    let is_chart = |block: &&Block| matches!(block, Block::Chart(_));
    // Charts that follow each other stand side by side.
    let groups = blocks.chunk_by(|one, other| is_chart(one) && is_chart(other));
    html! {
        @if !blocks.is_empty() {
            section {
                @if !section.title.is_empty() { h2 { (section.title) } }
                @for group in groups {
                    @if group.iter().all(is_chart) {
                        div class="charts" { @for block in group { (draw(block)) } }
                    } @else {
                        @for block in group { (draw(block)) }
                    }
                }
            }
        }
    }
}

/// Whether a block shows anything.
fn is_seen(block: &Block) -> bool {
    match block {
        Block::Chart(chart) => chart::has_line(chart),
        Block::Bars(bars) => !bars.rows.is_empty(),
        Block::Detail(block) => is_seen(block),
        Block::Brief(_) => false,
        _ => true,
    }
}

fn draw(block: &Block) -> Markup {
    match block {
        Block::Paragraph(line) => html! { p { (draw_line(line)) } },
        Block::List(lines) => html! {
            ul { @for line in lines { li { (draw_line(line)) } } }
        },
        Block::Figures(figures) => html! {
            dl class="tiles" {
                @for figure in figures {
                    div class=(class(figure.tone)) {
                        dt { (figure.label) }
                        dd { (figure.value) }
                    }
                }
            }
        },
        Block::Findings(findings) => html! {
            ul class="findings" { @for finding in findings { (draw_finding(finding)) } }
        },
        Block::Table(table) => draw_table(table),
        Block::Chart(chart) => chart::draw_chart(chart),
        Block::Bars(bars) => chart::draw_bars(bars),
        Block::Excerpt(lines) => html! { pre { (lines.join("\n")) } },
        Block::Detail(block) => draw(block),
        Block::Brief(_) => Markup::default(),
    }
}

fn draw_finding(finding: &Finding) -> Markup {
    html! {
        li class=(class(finding.tone)) {
            strong { (finding.word) }
            @for (place, line) in finding.said("Hint: ").iter().enumerate() {
                @if place > 0 { br; } @else { " " }
                (draw_line(line))
            }
        }
    }
}

const fn class(tone: Tone) -> &'static str {
    match tone {
        Tone::Neutral => "neutral",
        Tone::Good => "good",
        Tone::Unclear => "unclear",
        Tone::Bad => "bad",
    }
}

fn draw_table(table: &Table) -> Markup {
    let mut cells = table.rows.iter().flatten();
    let is_wordy = cells.any(|cell| cell.text().chars().count() > CELL_MAX);
    let class = |heading: &Heading| heading.is_numeric.then_some("number");
    html! {
        div class="scroll" {
            table class=[is_wordy.then_some("cards")] {
                thead {
                    tr {
                        @for heading in &table.header {
                            th scope="col" class=[class(heading)] { (heading.name) }
                        }
                    }
                }
                tbody {
                    @for row in &table.rows {
                        tr {
                            @for (cell, heading) in row.iter().zip(&table.header) {
                                td data-label=(heading.name) class=[class(heading)] { (draw_line(cell)) }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// A line with its spans.
fn draw_line(line: &Line) -> Markup {
    html! {
        @for span in &line.0 {
            @match span {
                Span::Plain(text) => (text),
                Span::Code(text) => code { (text) },
                Span::Strong(tone, text) => strong class=(class(*tone)) { (text) },
            }
        }
    }
}
