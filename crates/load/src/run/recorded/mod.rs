//! What a recording amounts to: calls, latency and errors by tool, and the faults that struck.

use mcprove_recording::{ENDED, Origin, STARTED};
use mcprove_trace::stream::{SinkError, StrikeFact};

use crate::prelude::*;

/// The format of a report on a recording.
pub const RECORDING_REPORT_FORMAT: &str = "recording-report.v1";

/// What the calls of one tool, or the requests of one method, amount to.
#[data(Default)]
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
#[data(Default)]
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
#[data(Eq)]
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
#[data]
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
    /// How often the process of the server ended with a status other than 0, or by a fault.
    #[serde(default)]
    pub crashes: u64,
}

/// Reads the recording at `path`. Its last line may be cut off. One that was gone on with is read as one.
pub fn read_recording(path: &Path) -> Result<RecordingReport, TraceReadError> {
    let metrics = MetricsSink::new();
    let mut reader = TraceReader::open(path)?;
    let mut last = Duration::ZERO;
    // How many have begun and not ended; two processes may write one recording.
    let mut open = 0_u32;
    let (mut origin, mut faults) = (None, BTreeMap::<(String, String, String), u64>::new());
    let end = reader.read_into(&metrics, |line, event, _| {
        last = last.max(event.at);
        let wrong = |reason: &dyn fmt::Display| SinkError {
            sink: "recording",
            reason: reason.to_string(),
            events: 0,
        };
        match line.name() {
            Some(STARTED) => {
                open += 1;
                let read = serde_json::from_slice(line.data().as_bytes())
                    .map_err(|error| wrong(&error))?;
                origin.get_or_insert(read);
            }
            Some(ENDED) => open = open.saturating_sub(1),
            Some(StrikeFact::NAME) => {
                let strike = StrikeFact::parse(line.data()).map_err(|error| wrong(&error))?;
                let key = (strike.fault, strike.kind, strike.tool.unwrap_or_default());
                *faults.entry(key).or_default() += 1;
            }
            _ => {}
        }
        Ok(false)
    })?;
    if let (End::Cut(reason), 1) = (end, reader.lines) {
        return Err(reader.wrong(reason));
    }
    let metrics = metrics.snapshot();
    let faults = faults.into_iter();
    let faults = faults.map(|((fault, kind, tool), calls)| RecordedFault {
        fault,
        kind,
        tool,
        calls,
    });
    let each = |calls: &BTreeMap<String, CallMetrics>| {
        let reports = calls
            .iter()
            .map(|(name, it)| (name.clone(), CallReport::of(it)));
        reports.collect()
    };
    Ok(RecordingReport {
        schema: RECORDING_REPORT_FORMAT.to_owned(),
        origin,
        is_whole: open == 0,
        duration_secs: last.as_secs_f64(),
        total: CallReport::of(&metrics.total()),
        tools: each(&metrics.tools_of(|_| true)),
        methods: each(&metrics.methods),
        faults: faults.collect(),
        cancelled: metrics.count_notes("cancelled"),
        crashes: metrics.crashes,
    })
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
        super::to_json(self)
    }
}

#[cfg(test)]
mod tests;
