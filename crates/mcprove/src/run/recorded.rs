//! What a recording amounts to: calls, latency and errors by tool, and the faults that struck.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::Path;

use mcprove_score::trace::ErrorCategory;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::replay::Line;
use super::report::LatencyStats;
use crate::event::{CallMetrics, Metrics, MetricsSink, Sink};
use crate::quantity::as_milliseconds;
use crate::recording::{ENDED, Origin, STARTED};

/// The format of a report on a recording.
pub const RECORDING_REPORT_FORMAT: &str = "recording-report.v1";
/// The longest line that is read.
const LINE_BYTES_MAX: u64 = 256 * 1024 * 1024;

/// Why a recording cannot be reported on.
#[derive(Debug, thiserror::Error)]
pub enum RecordingError {
    /// It could not be read.
    #[error("{path}: {source}")]
    Io {
        /// The file.
        path: String,
        /// Why.
        source: io::Error,
    },
    /// A line of it is none.
    #[error("{path}:{line}: {reason}")]
    Line {
        /// The file.
        path: String,
        /// The line, counted from 1.
        line: u64,
        /// What is wrong with it.
        reason: String,
    },
}

impl RecordingError {
    /// What to try next.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Io { .. } => "check the path and its permissions",
            Self::Line { .. } => {
                "give a file that `mcprove proxy --record` or `mcprove mock --log` wrote, or the \
                 directory of a run"
            }
        }
    }
}

/// What the calls of one tool, or the requests of one method, amount to.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CallReport {
    /// How many there were.
    pub calls: u64,
    /// Those that were answered with a result.
    pub succeeded: u64,
    /// Those that failed, by category.
    pub errors: BTreeMap<ErrorCategory, u64>,
    /// Those of which the recording has no end.
    pub unanswered: u64,
    /// Latency of those that succeeded.
    pub latency_ms: LatencyReport,
}

/// Latency in milliseconds. Percentiles without ten samples beyond them are null.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LatencyReport {
    /// The median.
    pub p50: Option<f64>,
    /// The 95th percentile.
    pub p95: Option<f64>,
    /// The 99th percentile.
    pub p99: Option<f64>,
    /// The mean.
    pub mean: Option<f64>,
    /// The slowest.
    pub max: Option<f64>,
}

/// How often a fault struck a tool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RecordedFault {
    /// Its name.
    pub fault: String,
    /// Its kind.
    pub kind: String,
    /// The tool.
    pub tool: String,
    /// How often.
    pub calls: u64,
}

/// What a recording amounts to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RecordingReport {
    /// The format, `recording-report.v1`.
    pub schema: String,
    /// Who recorded what, as the first line says.
    pub origin: Option<Origin>,
    /// Whether the recording has its end; without, it was broken off.
    pub is_whole: bool,
    /// From the start to the last line, in seconds.
    pub duration_secs: f64,
    /// All calls of tools together.
    pub total: CallReport,
    /// Calls by tool.
    pub tools: BTreeMap<String, CallReport>,
    /// Other requests, by method.
    pub methods: BTreeMap<String, CallReport>,
    /// Faults by tool.
    pub faults: Vec<RecordedFault>,
    /// Requests that the client cancelled.
    pub cancelled: u64,
}

/// Reads the recording at `path`. Its last line may be cut off.
pub fn read_recording(path: &Path) -> Result<RecordingReport, RecordingError> {
    let shown = path.display().to_string();
    let io = |source| RecordingError::Io {
        path: shown.clone(),
        source,
    };
    let metrics = MetricsSink::new();
    let mut shard = metrics.shard();
    let mut reader = BufReader::new(File::open(path).map_err(io)?);
    let mut bytes = Vec::new();
    let mut last = std::time::Duration::ZERO;
    let mut is_whole = false;
    for number in 1.. {
        bytes.clear();
        let mut limited = io::Read::take(&mut reader, LINE_BYTES_MAX);
        limited.read_until(b'\n', &mut bytes).map_err(io)?;
        if bytes.is_empty() {
            break;
        }
        let wrong = |reason| RecordingError::Line {
            path: shown.clone(),
            line: number,
            reason,
        };
        let is_cut = !bytes.ends_with(b"\n");
        if is_cut && number > 1 && Line::parse(&bytes).is_err() {
            break;
        }
        let line = Line::parse(&bytes).map_err(wrong)?;
        let event = line.event().map_err(wrong)?;
        last = last.max(event.at);
        // The metrics never fail.
        let _ = shard.record(&event);
        is_whole = line.name() == Some(ENDED);
        if is_whole {
            break;
        }
    }
    let _ = shard.merge();
    Ok(report(&metrics.snapshot(), is_whole, last.as_secs_f64()))
}

fn report(metrics: &Metrics, is_whole: bool, duration_secs: f64) -> RecordingReport {
    let origin = metrics
        .notes_of(STARTED)
        .next()
        .and_then(|note| serde_json::from_str(&note.data).ok());
    let mut faults = BTreeMap::<(String, String, String), u64>::new();
    for note in metrics.notes_of("fault") {
        let data: Value = serde_json::from_str(&note.data).unwrap_or_default();
        let text = |name: &str| data[name].as_str().unwrap_or_default().to_owned();
        let key = (text("fault"), text("kind"), text("tool"));
        *faults.entry(key).or_default() += 1;
    }
    let each = |calls: BTreeMap<String, CallMetrics>| {
        let calls = calls.into_iter();
        calls
            .map(|(name, calls)| (name, CallReport::of(&calls)))
            .collect()
    };
    RecordingReport {
        schema: RECORDING_REPORT_FORMAT.to_owned(),
        origin,
        is_whole,
        duration_secs,
        total: CallReport::of(&metrics.total()),
        tools: each(metrics.tools_of(|_| true)),
        methods: each(metrics.methods.clone()),
        faults: faults
            .into_iter()
            .map(|((fault, kind, tool), calls)| RecordedFault {
                fault,
                kind,
                tool,
                calls,
            })
            .collect(),
        cancelled: metrics.count_notes("cancelled"),
    }
}

impl CallReport {
    fn of(calls: &CallMetrics) -> Self {
        let stats = LatencyStats::from_histogram(calls.latency_ns.clone());
        let at = |quantile| stats.supported(quantile).map(as_milliseconds);
        let any = |time| (stats.count > 0).then(|| as_milliseconds(time));
        let ended = calls.succeeded() + calls.failed();
        Self {
            calls: calls.sent,
            succeeded: calls.succeeded(),
            errors: calls.errors.clone(),
            unanswered: calls.sent.saturating_sub(ended),
            latency_ms: LatencyReport {
                p50: at(0.5),
                p95: at(0.95),
                p99: at(0.99),
                mean: any(stats.mean),
                max: any(stats.max),
            },
        }
    }
}

impl RecordingReport {
    /// As JSON, with a line break at its end.
    pub fn to_json(&self) -> String {
        let mut text = serde_json::to_string_pretty(self).unwrap_or_default();
        text.push('\n');
        text
    }
}
