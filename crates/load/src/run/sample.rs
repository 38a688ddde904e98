//! Reports made of invented events, for tests: the same way as real ones, by `assemble`.

use std::sync::Arc;
use std::time::Duration;

use mcprove_trace::stream::{Fact, MetricsSink, Shard, Sink};
use mcprove_trace::{CallFailure, CallTag, ErrorCategory, Event, EventKind, RequestKey};
use serde_json::{Value, json};

use super::assemble::{BESIDE, CONTROL, assemble};
use super::header::{Ending, Header};
use super::report::{Report, TraceStats};
use super::thresholds::Thresholds;
use crate::drive::Scenario;

/// A run that never was.
pub(crate) struct Sample {
    metrics: Arc<MetricsSink>,
    shard: Box<dyn Shard>,
    header: Header,
    next_id: u64,
    interrupted: bool,
}

impl Sample {
    /// A run of `scenario` on a server with these tools.
    pub fn new(scenario: Scenario, tools: &[&str]) -> Self {
        let metrics = Arc::new(MetricsSink::new());
        let mut sample = Self {
            shard: metrics.shard(),
            metrics,
            header: Header {
                run_id: "01KR8M5AX0SAMPLE0000000000".to_owned(),
                started_at_ms: 1_778_398_200_000,
                seed: 42,
                target: "python -m vibe_trading_mcp".to_owned(),
                scenario,
                thresholds: Thresholds::default(),
                faults: Vec::new(),
                has_trace: true,
            },
            next_id: 2,
            interrupted: false,
        };
        sample.server("vibe-trading", "0.1.7");
        sample.note("tools", "", &json!({ "names": tools }));
        sample
    }

    pub fn server(&mut self, name: &str, version: &str) {
        let server = json!({
            "target": "", "name": name, "version": version,
            "protocol": "2025-11-25", "transport": "stdio",
        });
        self.note("server", "", &server);
    }

    pub fn target(mut self, target: &str) -> Self {
        target.clone_into(&mut self.header.target);
        self
    }

    pub fn thresholds(mut self, thresholds: Thresholds) -> Self {
        self.header.thresholds = thresholds;
        self
    }

    pub fn without_trace(mut self) -> Self {
        self.header.has_trace = false;
        self
    }

    pub fn interrupted(mut self) -> Self {
        self.interrupted = true;
        self
    }

    fn record(&mut self, at: Duration, kind: EventKind<'_>) {
        self.shard.record(&Event { at, kind }).unwrap();
    }

    pub fn note(&mut self, name: &str, message: &str, data: &Value) {
        let data = data.to_string();
        self.record(
            Duration::ZERO,
            EventKind::ScenarioEvent {
                name,
                message,
                data: &data,
            },
        );
    }

    /// A phase from and until these seconds.
    pub fn phase(&mut self, index: u16, name: &str, concurrent: u32, span: (f64, f64)) {
        let control = matches!(name, CONTROL | BESIDE);
        let measured = !control && !matches!(name, "warm-up" | "alone");
        let data = json!({
            "index": index, "name": name, "concurrent": concurrent, "measured": measured, "control": control,
            "from_secs": span.0, "until_secs": span.1,
        });
        self.note("phase", "", &data);
    }

    /// How the load ended.
    pub fn load_ended(&mut self, at_secs: f64, in_flight: u64, dropped: u64, due: u64) {
        let data = json!({
            "in_flight": in_flight, "at_secs": at_secs, "dropped": dropped, "missed": 0, "due": due,
        });
        self.note("load_ended", "", &data);
    }

    fn request(&mut self, tool: &str, at: Duration, tag: CallTag) -> RequestKey {
        let request = RequestKey {
            session: 0,
            id: self.next_id,
        };
        self.next_id += 1;
        self.record(
            at,
            EventKind::Request {
                request,
                method: "tools/call",
                tool: Some(tool),
                params: "{}",
                client_id: "",
                tag,
            },
        );
        request
    }

    /// A call that succeeded at `at` seconds after so many milliseconds.
    pub fn call(&mut self, phase: u16, tool: &str, at: f64, milliseconds: f64) {
        self.waited_call(phase, tool, at, milliseconds, 0.0);
    }

    /// The same, sent so many milliseconds late.
    pub fn waited_call(&mut self, phase: u16, tool: &str, at: f64, milliseconds: f64, wait: f64) {
        let tag = CallTag {
            phase,
            wait: Duration::from_secs_f64(wait / 1e3),
        };
        let duration = Duration::from_secs_f64(milliseconds / 1e3);
        let at = Duration::from_secs_f64(at);
        let request = self.request(tool, at.saturating_sub(duration), tag);
        self.record(
            at,
            EventKind::Response {
                request,
                method: "tools/call",
                tool: Some(tool),
                duration,
                result: "{}",
                tag,
            },
        );
    }

    /// A call that failed.
    pub fn fail(
        &mut self,
        phase: u16,
        tool: &str,
        at: f64,
        milliseconds: f64,
        (category, message): (ErrorCategory, &str),
    ) {
        let tag = CallTag {
            phase,
            wait: Duration::ZERO,
        };
        let duration = Duration::from_secs_f64(milliseconds / 1e3);
        let at = Duration::from_secs_f64(at);
        let request = self.request(tool, at.saturating_sub(duration), tag);
        self.record(
            at,
            EventKind::Error {
                request,
                method: "tools/call",
                tool: Some(tool),
                duration,
                failure: CallFailure {
                    category,
                    message,
                    code: None,
                    server_message: "",
                    answer: "",
                },
                tag,
            },
        );
    }

    /// What the server's processes used.
    pub fn usage(&mut self, at: f64, rss_mb: f64, cpu_pct: f64, threads: u32, descriptors: u32) {
        self.record(
            Duration::from_secs_f64(at),
            EventKind::ProcessSample {
                rss_mb,
                cpu_pct,
                threads: Some(threads),
                descriptors: Some(descriptors),
                processes: 1,
            },
        );
    }

    /// What it all comes to.
    pub fn report(mut self, duration_secs: f64) -> Report {
        let header = serde_json::to_value(&self.header).unwrap();
        self.note(Header::NAME, "", &header);
        let ending = json!({ "duration_secs": duration_secs, "interrupted": self.interrupted });
        self.note(Ending::NAME, "", &ending);
        self.shard.merge().unwrap();
        let mut report = assemble(&self.metrics.snapshot(), &[], None)
            .unwrap()
            .unwrap();
        if self.header.has_trace {
            report.trace = Some(TraceStats {
                events: 2 * (self.next_id - 2) + 20,
                bytes: 8_234_567,
            });
        }
        report
    }
}
