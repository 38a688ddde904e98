//! One line of `trace.jsonl`, read back.

use crate::prelude::*;

/// One line of `trace.jsonl` (format `trace.v1`).
///
/// ```
/// use mcprove_trace::TraceRecord;
///
/// let line = r#"{"ts":0.5,"kind":"response","session":0,"request_id":7,"duration_ms":12.5,"result":{}}"#;
/// let record = TraceRecord::parse(line).unwrap();
/// assert_eq!(record.request_id, Some(7));
/// ```
#[sparse]
#[data(Default)]
pub struct TraceRecord {
    /// The format, `trace.v1`: in the first line of a trace only.
    pub schema: Option<String>,
    /// Seconds since the run started.
    pub ts: f64,
    /// What happened: `request`, `response`, `error`, `hang`, `deadlock`, `crash`,
    /// `process_sample` or `scenario_event`.
    pub kind: String,
    /// The session, counted from 0.
    pub session: Option<u32>,
    /// The number of the request, unique within the session: the JSON-RPC id, where mcprove is the client.
    pub request_id: Option<u64>,
    /// The JSON-RPC id that another client gave a recorded request.
    pub client_id: Option<Value>,
    /// The JSON-RPC method.
    pub method: Option<String>,
    /// The tool, for `tools/call`.
    pub tool: Option<String>,
    /// The parameters of a request.
    pub params: Option<Value>,
    /// The result of a response.
    pub result: Option<Value>,
    /// The first part of a value that was too large to keep whole, as text.
    pub cut: Option<String>,
    /// The whole size of a value that was cut.
    pub cut_bytes: Option<u64>,
    /// Why a request failed.
    pub error: Option<TraceError>,
    /// From sending to the end of the request, or how long it has hung.
    pub duration_ms: Option<f64>,
    /// From the intended start of a call to its sending, in a load run on a schedule.
    pub wait_ms: Option<f64>,
    /// The phase of a load run; its name is in the scenario event `phase`.
    pub phase: Option<u16>,
    /// Resident memory of the server, in MB.
    pub rss_mb: Option<f64>,
    /// Share of one core that the server used, in percent.
    pub cpu_pct: Option<f64>,
    /// Threads of the server.
    pub threads: Option<u32>,
    /// Open descriptors of the server.
    pub descriptors: Option<u32>,
    /// Processes of the server.
    pub processes: Option<u32>,
    /// The name of a scenario event.
    pub name: Option<String>,
    /// What happened, for people.
    pub message: Option<String>,
    /// What a scenario event has for programs.
    pub data: Option<Value>,
}

/// Why a request failed, as a trace has it.
#[sparse]
#[data(Eq)]
pub struct TraceError {
    /// The one category it counts in.
    pub category: ErrorCategory,
    /// What happened, for people.
    pub message: String,
    /// The JSON-RPC error code, where there was one.
    pub code: Option<i64>,
    /// The message of that error, as the server wrote it; recordings of earlier versions have it in `message` alone, with
    /// the code behind it.
    pub server_message: Option<String>,
}

/// A line that is no trace record.
#[derive(Debug, thiserror::Error)]
#[error("not a line of trace.v1: {0}")]
pub struct RecordError(serde_json::Error);

impl TraceRecord {
    /// Reads one line.
    pub fn parse(line: &str) -> Result<Self, RecordError> {
        serde_json::from_slice(line.as_bytes()).map_err(RecordError)
    }
}
