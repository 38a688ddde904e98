//! The summary of a proxy, for programs and for people.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use mcprove_recording::RecordingSummary;
use mcprove_settings::printable::{escape_hidden, printable};
use mcprove_settings::quantity::{as_milliseconds, describe_duration, from_milliseconds};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::summary::{CallSummary, NextStep, SUMMARY_FORMAT, summarise};
use super::watch::Watch;

/// How many faulted calls are shown to people.
const SHOWN_MAX: usize = 20;
/// How wide a screen may be.
const COLUMNS: usize = 80;
/// How much of a name is shown.
const NAME_CHARACTERS: usize = 60;

/// What passed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Traffic {
    /// Bytes from clients to the server.
    pub bytes_to_server: u64,
    /// Bytes from the server to clients.
    pub bytes_to_client: u64,
    /// Lines from the client over stdio, requests over HTTP.
    pub messages_to_server: u64,
    /// Lines from the server over stdio, responses over HTTP.
    pub messages_to_client: u64,
}

/// What a proxy did and saw, from start to end.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ProxySummary {
    /// The format, `proxy-summary.v1`.
    pub schema: String,
    /// The server, without secrets.
    pub target: String,
    /// The name of the server, at which faults can be aimed.
    #[serde(default)]
    pub server: String,
    /// What decides for faults that have no seed of their own.
    #[serde(default)]
    pub seed: u64,
    /// The faults, as they were asked for.
    #[serde(default)]
    pub faults: Vec<String>,
    /// How long the proxy was there.
    pub duration_ms: f64,
    /// What passed.
    pub traffic: Traffic,
    /// Calls, faults, and what clients did next; `None` where nothing was looked at.
    pub calls: Option<CallSummary>,
    /// What was recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recording: Option<RecordingSummary>,
    /// What else should be known, and how often it happened.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub remarks: BTreeMap<String, u64>,
}

impl ProxySummary {
    /// The summary of what was seen.
    pub(super) fn new(
        target: &str,
        traffic: Traffic,
        watch: &Watch,
        recording: Option<RecordingSummary>,
    ) -> Self {
        let seen = watch.seen();
        Self {
            schema: SUMMARY_FORMAT.to_owned(),
            target: target.to_owned(),
            server: watch.server_name.clone(),
            seed: watch.seed,
            faults: watch.faults.clone(),
            duration_ms: as_milliseconds(seen.duration),
            traffic,
            calls: (!watch.is_idle()).then(|| summarise(&seen)),
            recording,
            remarks: seen.remarks,
        }
    }

    /// As JSON, with a line break at its end.
    pub fn to_json(&self) -> String {
        let mut text = serde_json::to_string_pretty(self).unwrap_or_default();
        text.push('\n');
        text
    }
}

/// The summary for people.
pub fn summary_text(summary: &ProxySummary) -> String {
    let mut text = String::new();
    // Writing to a text cannot fail.
    let _ = write_text(&mut text, summary);
    escape_hidden(&text).into_owned()
}

fn write_text(text: &mut String, summary: &ProxySummary) -> std::fmt::Result {
    let traffic = &summary.traffic;
    let duration = from_milliseconds(summary.duration_ms).unwrap_or_default();
    writeln!(
        text,
        "proxy: {} to the server, {} to the client, in {}",
        many(traffic.messages_to_server, "message"),
        many(traffic.messages_to_client, "message"),
        describe_duration(duration)
    )?;
    if let Some(calls) = &summary.calls {
        write_calls(text, calls)?;
    }
    if let Some(recording) = &summary.recording {
        write_recording(text, recording)?;
    }
    for (remark, count) in &summary.remarks {
        let times = match count {
            1 => String::new(),
            count => format!(" ({count} times)"),
        };
        let note = format!("note: {}{times}", printable(remark, 300));
        write_wrapped(text, (2, 4), &note);
    }
    Ok(())
}

fn write_recording(text: &mut String, recording: &RecordingSummary) -> std::fmt::Result {
    let requests = many(recording.requests, "request");
    match recording.unrecorded {
        0 => write!(text, "  recorded {requests}")?,
        missing => write!(
            text,
            "  recorded {} of {requests}",
            recording.requests - missing
        )?,
    }
    if recording.dropped > 0 {
        let lines = many(recording.dropped, "line");
        write!(text, "; {lines} came after its size limit")?;
    }
    if let Some(failure) = &recording.failure {
        let lines = many(recording.lost, "line");
        write!(text, "; {lines} could not be written: {failure}")?;
    }
    writeln!(text)
}

fn write_calls(text: &mut String, calls: &CallSummary) -> std::fmt::Result {
    let name = |name: &str| printable(name, NAME_CHARACTERS);
    writeln!(
        text,
        "  {} of {}",
        many(calls.calls, "call"),
        many(calls.tools.len() as u64, "tool")
    )?;
    for struck in &calls.faults {
        writeln!(
            text,
            "  fault {} struck {} of {}",
            name(&struck.fault),
            many(struck.calls, "call"),
            name(&struck.tool)
        )?;
    }
    for total in &calls.fault_totals {
        let by_tool = calls.faults.iter();
        let by_tool = by_tool.filter(|struck| struck.fault == total.fault);
        let told: u64 = by_tool.map(|struck| struck.calls).sum();
        if total.struck == 0 {
            let aimed = many(total.aimed, "call");
            writeln!(
                text,
                "  fault {} struck none of {aimed}",
                name(&total.fault)
            )?;
        } else if total.struck != told {
            let all = many(total.struck, "call");
            writeln!(text, "  fault {} struck {all} in all", name(&total.fault))?;
        }
    }
    if !calls.next_steps.is_empty() {
        let steps: Vec<String> = calls
            .next_steps
            .iter()
            .map(|(step, count)| format!("{count} {}", step.describe()))
            .collect();
        let steps = format!("what the client did next: {}", steps.join(", "));
        write_wrapped(text, (2, 4), &steps);
    }
    for call in calls.faulted_calls.iter().take(SHOWN_MAX) {
        let mut line = format!(
            "{:.3} s  {} met {}: {}",
            call.at_ms / 1e3,
            name(&call.tool),
            name(&call.fault),
            call.next.describe()
        );
        if let Some(tool) = &call.next_tool {
            write!(line, " ({})", name(tool))?;
        }
        if let Some(after) = call.next_after_ms {
            write!(line, ", {after:.0} ms after the call")?;
        }
        if let Some(after) = call.cancelled_after_ms {
            write!(line, ", cancelled after {after:.0} ms")?;
        }
        line.push_str(match call.reached_server {
            Some(2) => ": the server got it twice",
            Some(1) => ": the server got it once",
            Some(_) => ": the server did not get it yet",
            None => "",
        });
        write_wrapped(text, (4, 12), &line);
    }
    let told = calls.faulted_calls.len().min(SHOWN_MAX) as u64;
    let all = calls.faulted_calls.len() as u64 + calls.faulted_calls_omitted;
    if all > told {
        writeln!(text, "    and {} more", all - told)?;
    }
    Ok(())
}

/// Writes words in lines of [`COLUMNS`], as far as they are no longer; the first and the further ones
/// are indented by that much.
fn write_wrapped(text: &mut String, (first, further): (usize, usize), words: &str) {
    let mut width = 0;
    for word in words.split(' ') {
        let length = word.chars().count();
        if width == 0 {
            text.push_str(&" ".repeat(first));
            width = first;
        } else if width + 1 + length > COLUMNS {
            text.push('\n');
            text.push_str(&" ".repeat(further));
            width = further;
        } else {
            text.push(' ');
            width += 1;
        }
        text.push_str(word);
        width += length;
    }
    text.push('\n');
}

/// `1 call`, `2 calls`.
fn many(number: u64, what: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{number} {what}{plural}")
}

impl NextStep {
    /// What it is, in words.
    pub const fn describe(self) -> &'static str {
        match self {
            Self::Retried => "retried",
            Self::RepeatedLostWrite => "repeated a lost write",
            Self::OtherArguments => "tried other arguments",
            Self::OtherTool => "went on with another tool",
            Self::TookTheAnswer => "took the answer",
            Self::Cancelled => "cancelled and gave up",
            Self::GaveUp => "gave up",
            Self::Unknown => "unknown, for the proxy ended with it",
            Self::ServerDied => "unknown, for the server died by itself",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_fit_a_small_screen() {
        let mut text = String::new();
        let words = "note: a message of the server was too long to be looked at, and passed \
                     untouched, and so on";
        write_wrapped(&mut text, (2, 4), words);
        assert!(text.lines().all(|line| line.len() <= COLUMNS), "{text}");
        assert!(
            text.starts_with("  note: a") && text.contains("\n    "),
            "{text}"
        );
        assert_eq!(text.split_whitespace().collect::<Vec<_>>().join(" "), words);
    }
}
