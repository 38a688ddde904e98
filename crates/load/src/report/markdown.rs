//! `report.md`: a report for people and for programs that read markdown.

use std::fmt::Write as _;

use mcprove_document::block::Line;
use mcprove_document::figure;
use mcprove_document::markdown::{draw_line, draw_section, escape};
use mcprove_settings::printable::escape_hidden;

use super::{headline, sections};
use crate::run::Report;

/// The text of `report.md`.
pub fn markdown(report: &Report) -> String {
    let mut text = format!("# Run {}\n\n", escape(&report.run_id));
    let reasons = headline::reasons(report);
    let status = [headline::picture(report), headline::word(report)].join(" ");
    let status = if reasons.is_empty() {
        status
    } else {
        format!("{status} ({reasons})")
    };
    let mut server = draw_line(&Line::code(&report.server_info.target), false);
    let known = headline::server(report);
    if !known.is_empty() {
        let _ = write!(server, " ({})", draw_line(&Line::plain(known), false));
    }
    // Two spaces end a line within a paragraph.
    let _ = writeln!(text, "**Status:** {status}  ");
    let _ = writeln!(text, "**Server:** {server}  ");
    let _ = writeln!(text, "**Scenario:** {}  ", headline::scenario(report));
    let _ = writeln!(text, "**Started:** {}", figure::time(report.started_at));
    for section in sections::all(report) {
        draw_section(&section, &mut text);
    }
    escape_hidden(&text).into_owned()
}
