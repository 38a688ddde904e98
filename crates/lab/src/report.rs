//! Rows of the lab's audit as documents: a line each, one wholly, or two against each other.

use mcprove_document::block::{Document, Finding, Line, Section, Table, Tone, Verdict};
use mcprove_document::style::Style;
use mcprove_document::terminal::cut;
use mcprove_settings::phrase;
use mcprove_settings::printable::printable;

use crate::prelude::*;

/// The longest value that is shown whole in a list or a difference.
const VALUE_MAX: usize = 1000;
/// The least room for a detail beside a row.
const LAST_WIDTH_MIN: usize = 24;
/// The longest value that stands beside its name.
const SHORT_MAX: usize = 58;

/// Rows in this file, a line each.
pub fn audit_document(rows: &[AuditRow], file: &str) -> Document {
    let all = phrase::count(rows.len() as u64, "request");
    let failed = rows.iter().filter(|row| !row.success).count();
    let mut table = Table::new(["id", "time (UTC)", "what", "outcome", "took", "detail"])
        .numbers(..1)
        .numbers(4..5);
    for row in rows {
        let text = detail(row);
        table.push([
            Line::plain(row.id.to_string()),
            Line::plain(time(row.ts)),
            Line::plain(what(row)),
            Line::toned(tone(row), outcome(row)),
            Line::plain(took(row.duration_ms)),
            Line::plain(if row.success {
                cut(&text, SHORT_MAX)
            } else {
                text
            }),
        ]);
    }
    let title = format!("{all}, {failed} failed - {file}");
    titled(title, vec![Section::default().table(table)])
}

fn titled(title: String, sections: Vec<Section>) -> Document {
    Document {
        title,
        sections,
        ..Document::default()
    }
}

/// What stands above rows that are followed.
pub const AUDIT_LINES_HEAD: &str =
    "   id  time (UTC)               what                outcome               took\n";

/// A row as it is followed: a line, and what went wrong below it where there is no room beside.
pub fn audit_line(row: &AuditRow, style: Style) -> String {
    let (id, time, took) = (row.id, time(row.ts), took(row.duration_ms));
    let (what, outcome) = (cut(&what(row), 18), cut(&outcome(row), 15));
    let line = format!("{id:>5}  {time}  {what:<18}  {outcome:<15}  {took:>9}");
    let detail = detail(row);
    let has_room = style.width >= AUDIT_LINES_HEAD.len() + LAST_WIDTH_MIN;
    let line = if has_room {
        cut(&format!("{line}  {detail}"), style.width)
    } else {
        line
    };
    let mut text = style.paint(line.trim_end(), tone(row)) + "\n";
    if !has_room && !row.success {
        text += &(cut(&format!("{:>10}{detail}", ""), style.width) + "\n");
    }
    text
}

fn tone(row: &AuditRow) -> Tone {
    match (row.success, row.cancelled) {
        (true, _) => Tone::Neutral,
        (false, true) => Tone::Unclear,
        (false, false) => Tone::Bad,
    }
}

/// `2026-01-31 12:00:00.000`.
fn time(time: SystemTime) -> String {
    format_time(time)
        .replace('T', " ")
        .chars()
        .take(23)
        .collect()
}

/// The tool of a call, or the method.
fn what(row: &AuditRow) -> String {
    let name = match &row.tool_name {
        Some(tool) if row.method == "tools/call" || row.method.is_empty() => tool,
        _ => &row.method,
    };
    if name.is_empty() {
        // It was refused unread.
        return "-".to_owned();
    }
    printable(name, VALUE_MAX)
}

/// How it ended, in a word or two.
fn outcome(row: &AuditRow) -> String {
    let word = match row.error_category.as_deref() {
        _ if row.success => "ok",
        _ if row.cancelled => "cancelled",
        Some(category) => &printable(category, VALUE_MAX),
        None if row.error_code.is_some() => "error",
        None => "tool error",
    };
    let code = row.error_code.filter(|_| !row.success && !row.cancelled);
    code.map_or_else(|| word.to_owned(), |code| format!("{word} {code}"))
}

/// A time in milliseconds, or in seconds when it is long.
fn took(milliseconds: f64) -> String {
    if milliseconds < 1000.0 {
        format!("{milliseconds:.1} ms")
    } else if milliseconds < 1e8 {
        format!("{:.1} s", milliseconds / 1000.0)
    } else {
        format!("{milliseconds:.0e} ms")
    }
}

/// What went wrong, or what was asked.
fn detail(row: &AuditRow) -> String {
    let text = match (&row.error_message, &row.parameters) {
        (Some(message), _) if !row.success => message,
        (_, Some(parameters)) => parameters,
        _ => return String::new(),
    };
    printable(text, VALUE_MAX)
}

/// One row wholly; what is long, on lines of its own.
pub fn audit_row_document(row: &AuditRow) -> Document {
    let title = format!("row {}: {}, {}", row.id, what(row), outcome(row));
    let mut document = titled(title, Vec::new());
    for (name, cell) in COLUMNS.iter().zip(row.cells()) {
        let note = if row.is_cut(name) { "  (cut)" } else { "" };
        match shown_cell(&cell).as_slice() {
            _ if name.ends_with("_cut") => {}
            [line] if line.chars().count() <= SHORT_MAX => {
                document.facts.push((name, format!("{line}{note}").into()));
            }
            lines => document.push(Section::new(format!("{name}{note}")).excerpt(lines)),
        }
    }
    document
}

/// A cell as lines.
fn shown_cell(cell: &Cell<'_>) -> Vec<String> {
    let lines = |text: &str| text.lines().map(str::to_owned).collect();
    match cell {
        Cell::Empty => vec!["-".to_owned()],
        Cell::Text(text) if text.is_empty() => vec!["-".to_owned()],
        Cell::Flag(flag) => vec![if *flag { "yes" } else { "no" }.to_owned()],
        Cell::Text(text) => lines(text),
        Cell::Json(json) => match serde_json::from_str::<Value>(json) {
            Ok(value @ (Value::Object(_) | Value::Array(_))) => lines(&format!("{value:#}")),
            _ => vec![json.to_string()],
        },
        cell => vec![cell.to_string()],
    }
}

/// Two rows against each other.
pub fn audit_comparison_document(comparison: &RowComparison) -> Document {
    let (left, right) = (comparison.left.id, comparison.right.id);
    let rows = format!("rows {left} and {right}");
    let end = if comparison.same {
        "are alike"
    } else {
        "differ"
    };
    let why = format!("{rows} {end}");
    let mut document = titled(rows, differences(&comparison.differences));
    document.verdict = Some(verdict(comparison.same, why));
    if !comparison.noted.is_empty() {
        let mut names: Vec<&str> = comparison.noted.iter().map(|noted| noted.column).collect();
        names.dedup();
        let line = format!("Not counted, and different too: {}.", names.join(", "));
        document.push(Section::default().paragraph(line));
    }
    document
}

fn verdict(is_same: bool, why: String) -> Verdict {
    if is_same {
        Verdict::new(Tone::Good, "SAME", why)
    } else {
        Verdict::new(Tone::Bad, "DIFFERENT", why)
    }
}

/// What was recorded beside what came back now.
pub fn audit_replay_document(comparison: &RowComparison) -> Document {
    let (recorded, now) = (&comparison.left, &comparison.right);
    let mut table = Table::new(["", "recorded", "now"]);
    let part = |text: &Option<String>| printable(text.as_deref().unwrap_or("-"), VALUE_MAX);
    let mut add = |name: &str, shown: &dyn Fn(&AuditRow) -> String| {
        table.push([name.to_owned(), shown(recorded), shown(now)]);
    };
    add("outcome", &outcome);
    add("took", &|row| took(row.duration_ms));
    add("error", &|row| part(&row.error_message));
    add("response", &|row| part(&row.response));
    let pick = |is_so, yes, no| if is_so { yes } else { no };
    let is_cut = pick(recorded.response_cut, ", as far as it was kept", "");
    let what_came = pick(comparison.same, "the same", "something else");
    let mut sections = vec![Section::default().table(table)];
    sections.extend(differences(&comparison.differences));
    let asked = what(recorded);
    let mut request = Line::code(&asked);
    if let Some(parameters) = &recorded.parameters {
        request = request.and(" ").and_code(parameters);
    }
    Document {
        verdict: Some(verdict(
            comparison.same,
            format!("{what_came} came back{is_cut}"),
        )),
        facts: vec![("Request", request)],
        ..titled(format!("row {}, {asked}", recorded.id), sections)
    }
}

/// Differences as a diff: what was, with a minus, and what is, with a plus, under their column.
fn differences(differences: &[Difference]) -> Vec<Section> {
    let sections = differences
        .chunk_by(|one, other| one.column == other.column)
        .map(|of_column| {
            let findings = of_column.iter().flat_map(|difference| {
                let sides = [
                    ("-", &difference.left, Tone::Bad),
                    ("+", &difference.right, Tone::Neutral),
                ];
                sides.into_iter().filter_map(|(sign, value, tone)| {
                    let value = printable(&value.as_ref()?.to_string(), VALUE_MAX);
                    let path = Some(&difference.path).filter(|path| !path.is_empty());
                    let path = path.map(Line::plain).unwrap_or_default();
                    Some(Finding::new(tone, sign, path).line(value))
                })
            });
            let column = of_column.first().map(|first| first.column);
            Section::new(column.unwrap_or_default()).findings(findings)
        });
    sections.collect()
}
