//! The summary of a proxy, for programs and for people.

use std::fmt::Write as _;

use mcprove_document::block::{Document, Limit, Line, Section, Table, Tone, Verdict};
use mcprove_document::figure::counted;
use mcprove_recording::RecordingSummary;
use mcprove_settings::quantity::from_milliseconds;

use super::summary::{CallSummary, FaultedCallReport, NextStep, SUMMARY_FORMAT, summarise};
use crate::prelude::*;

/// How many faulted calls are shown to people.
const SHOWN_MAX: usize = 20;

/// What passed.
#[data(Copy, Default, Eq)]
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

/// What goes one way.
#[derive(Default)]
pub struct Count {
    bytes: AtomicU64,
    messages: AtomicU64,
}

impl Count {
    pub fn add(&self, bytes: usize, messages: u64) {
        self.bytes.fetch_add(bytes as u64, Ordering::Relaxed);
        self.messages.fetch_add(messages, Ordering::Relaxed);
    }
}

/// What goes both ways.
#[derive(Default)]
pub struct TrafficCount {
    pub to_server: Arc<Count>,
    pub to_client: Arc<Count>,
}

impl TrafficCount {
    /// What passed so far.
    pub fn traffic(&self) -> Traffic {
        let (up, down) = (&self.to_server, &self.to_client);
        Traffic {
            bytes_to_server: up.bytes.load(Ordering::Relaxed),
            bytes_to_client: down.bytes.load(Ordering::Relaxed),
            messages_to_server: up.messages.load(Ordering::Relaxed),
            messages_to_client: down.messages.load(Ordering::Relaxed),
        }
    }
}

/// The status after the fault `crash`.
pub const CRASHED: u8 = 1;

/// How a proxy ended.
#[derive(Debug, Clone, PartialEq)]
pub struct Ended {
    /// What it did and saw.
    pub summary: ProxySummary,
    /// The status to end with: over stdio that of the server, or 128 and the signal that killed it; 1 after the
    /// fault `crash`.
    pub status: u8,
    /// Whether it was asked to stop.
    pub was_stopped: bool,
}

/// What a proxy did and saw, from start to end.
#[data]
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
    /// The summary of what was seen; the recording ends with it.
    pub fn new(target: &str, watch: &Watch) -> Self {
        let seen = watch.seen();
        let settings = &watch.settings;
        Self {
            schema: SUMMARY_FORMAT.to_owned(),
            target: target.to_owned(),
            server: settings.server_name.clone(),
            seed: settings.seed,
            faults: settings.faults.iter().map(ToString::to_string).collect(),
            duration_ms: as_milliseconds(seen.duration),
            traffic: watch.count.traffic(),
            calls: (!watch.is_idle()).then(|| summarise(&seen)),
            recording: settings.recording.as_ref().map(Recording::finish),
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

pub fn summary_document(summary: &ProxySummary) -> Document {
    let traffic = &summary.traffic;
    let duration = from_milliseconds(summary.duration_ms).unwrap_or_default();
    let why = format!(
        "{} to the server, {} to the client, in {}",
        counted(traffic.messages_to_server, "message"),
        counted(traffic.messages_to_client, "message"),
        describe_duration(duration)
    );
    let calls = summary.calls.as_ref();
    let lines = calls.map(list_calls).unwrap_or_default().into_iter();
    let recording = summary.recording.iter().map(recorded).map(Line::plain);
    let mut section = Section::default().list(lines.chain(recording));
    if let Some(calls) = calls {
        section = section.table(faulted_calls(calls));
        if calls.faulted_calls_omitted > 0 {
            section = section.paragraph(format!("and {} more", calls.faulted_calls_omitted));
        }
    }
    let notes = summary.remarks.iter().map(|(remark, count)| match count {
        1 => remark.clone(),
        count => format!("{remark} ({count} times)"),
    });
    Document {
        title: format!("Proxy of {}", summary.server),
        subject: vec![summary.target.clone()],
        verdict: Some(Verdict::new(Tone::Neutral, "PROXY", why)),
        sections: vec![section, Section::new("Notes").list(notes)],
        ..Document::default()
    }
}

fn recorded(recording: &RecordingSummary) -> String {
    let requests = counted(recording.requests, "request");
    let mut text = match recording.unrecorded {
        0 => format!("recorded {requests}"),
        missing => format!("recorded {} of {requests}", recording.requests - missing),
    };
    if recording.dropped > 0 {
        let lines = counted(recording.dropped, "line");
        let _ = write!(text, "; {lines} came after its size limit");
    }
    if let Some(failure) = &recording.failure {
        let lines = counted(recording.lost, "line");
        let _ = write!(text, "; {lines} could not be written: {failure}");
    }
    text
}

fn list_calls(calls: &CallSummary) -> Vec<Line> {
    let all = counted(calls.calls, "call");
    let tools = counted(calls.tools.len() as u64, "tool");
    let mut lines = vec![Line::plain(format!("{all} of {tools}"))];
    let fault = |name: &str| Line::plain("fault ").and_code(name);
    for struck in &calls.faults {
        let text = format!(" struck {} of ", counted(struck.calls, "call"));
        lines.push(fault(&struck.fault).and(text).and_code(&struck.tool));
    }
    for total in &calls.fault_totals {
        let told: u64 = calls
            .faults
            .iter()
            .filter(|struck| struck.fault == total.fault)
            .map(|struck| struck.calls)
            .sum();
        if total.struck == 0 {
            let aimed = counted(total.aimed, "call");
            lines.push(fault(&total.fault).and(format!(" struck none of {aimed}")));
        } else if total.struck != told {
            let all = counted(total.struck, "call");
            lines.push(fault(&total.fault).and(format!(" struck {all} in all")));
        }
    }
    if !calls.next_steps.is_empty() {
        let steps = calls.next_steps.iter();
        let steps = steps.map(|(step, count)| format!("{count} {}", step.describe()));
        let steps: Vec<String> = steps.collect();
        lines.push(format!("what the client did next: {}", steps.join(", ")).into());
    }
    lines
}

fn faulted_calls(calls: &CallSummary) -> Table {
    let mut table = Table::new(["at", "tool", "fault", "what the client did next"]).numbers(..1);
    for call in &calls.faulted_calls {
        table.push([
            Line::plain(format!("{:.3} s", call.at_ms / 1e3)),
            Line::code(&call.tool),
            Line::code(&call.fault),
            next_step(call),
        ]);
    }
    table.limit = Some(Limit::First(SHOWN_MAX));
    table
}

fn next_step(call: &FaultedCallReport) -> Line {
    let mut line = Line::plain(call.next.describe());
    if let Some(tool) = &call.next_tool {
        line = line.and(" (").and_code(tool).and(")");
    }
    if let Some(after) = call.next_after_ms {
        line = line.and(format!(", {after:.0} ms after the call"));
    }
    if let Some(after) = call.cancelled_after_ms {
        line = line.and(format!(", cancelled after {after:.0} ms"));
    }
    line.and(match call.reached_server {
        Some(2) => ": the server got it twice",
        Some(1) => ": the server got it once",
        Some(_) => ": the server did not get it yet",
        None => "",
    })
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
            Self::Unknown => "unknown (proxy stopped)",
            Self::ServerDied => "unknown (server died)",
        }
    }
}
