//! What the engine noted during a run, read back: the counterpart of what `drive/` writes.

use std::collections::BTreeMap;
use std::time::Duration;

use mcprove_client::permission::SkippedTool;
use mcprove_score::cold_start::ColdStartSample;
use mcprove_score::deadlock::DeadlockReport;
use mcprove_score::fuzz::FuzzCase;
use mcprove_score::race::RaceReport;
use mcprove_score::verdict::{Severity, Verdict};
use mcprove_settings::message::Message;
use mcprove_settings::own_limits::OwnLimit;
use mcprove_settings::quantity::{optional_seconds, seconds};
use mcprove_trace::hang::DeadlockKind;
use mcprove_trace::stream::{Metrics, Note, OWN_LIMIT};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::report::ServerInfo;

/// A phase of the load.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct PhaseRecord {
    pub index: u16,
    pub name: String,
    pub concurrent: u32,
    #[serde(default)]
    pub rate: Option<f64>,
    pub measured: bool,
    #[serde(rename = "from_secs", with = "seconds")]
    pub from: Duration,
    #[serde(rename = "until_secs", with = "optional_seconds")]
    pub until: Option<Duration>,
}

/// How the load ended.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
pub(crate) struct LoadEnded {
    pub in_flight: u64,
    #[serde(rename = "at_secs", with = "seconds")]
    pub at: Duration,
    pub dropped: u64,
    pub missed: u64,
    pub due: u64,
    /// Calls that faults with a rate could not tell from earlier ones.
    #[serde(default)]
    pub calls_forgotten: u64,
}

/// How busy a driver was.
#[derive(Debug, Clone, Copy, Deserialize)]
pub(crate) struct DriverRecord {
    pub drivers: u32,
    pub cpu_share: Option<f64>,
}

/// What a driver found about whose replies were whose.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
pub(crate) struct IsolationRecord {
    pub checked: u64,
    pub crossed: u64,
    pub unchecked: u64,
    pub lost: u64,
}

/// In which phase calls ended, by a driver's count.
#[derive(Debug, Clone, Default, Deserialize)]
pub(crate) struct EndingsRecord {
    pub by_phase: Vec<u64>,
    pub unstarted: u64,
    #[serde(default)]
    pub taken_up: u64,
    #[serde(default)]
    pub taken_up_late: u64,
}

/// A call that never returned.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct DeadlockRecord {
    pub tool: String,
    pub kind: DeadlockKind,
}

/// The tools of the server.
#[derive(Debug, Clone, Default, Deserialize)]
pub(crate) struct ToolsRecord {
    pub names: Vec<String>,
    #[serde(default)]
    pub skipped: Vec<SkippedTool>,
}

/// What a server did that the protocol does not allow.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct ViolationRecord {
    pub kind: String,
    pub count: u64,
    pub example: String,
}

/// A start from cold.
#[derive(Debug, Clone, Copy, Deserialize)]
pub(crate) struct ColdStartRecord {
    pub discarded: bool,
    pub sample: ColdStartSample,
}

/// Tools compared in a slow mix.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct SlowMixRecord {
    pub fast: String,
    pub slow: String,
    /// Tools that did not answer in time when the slow one was looked for.
    #[serde(default)]
    pub left_out: Vec<String>,
    /// How long they had.
    #[serde(default)]
    pub limit_ms: u64,
}

/// What a race check found for one tool.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct RaceRecord {
    pub tool: String,
    pub report: RaceReport,
}

/// What became of sessions that were opened and left.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(default)]
pub(crate) struct SessionsRecord {
    pub opened: u64,
    pub failed_opens: u64,
    pub abandoned: u64,
    pub leftovers: u64,
    pub zombies: u64,
    pub failed_calls: u64,
}

/// Something that a scenario found out itself: a verdict in the making.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct CheckRecord {
    pub detector: String,
    pub passed: bool,
    pub critical: bool,
    #[serde(default)]
    pub inconclusive: bool,
    pub sentence: String,
    pub hint: Message,
    #[serde(default)]
    pub numbers: BTreeMap<String, Value>,
}

impl From<&CheckRecord> for Verdict {
    fn from(check: &CheckRecord) -> Self {
        let mut verdict = if check.inconclusive {
            Self::inconclusive(&check.detector, &check.sentence, check.hint.clone())
        } else if check.passed {
            Self::pass(&check.detector, &check.sentence)
        } else {
            let severity = if check.critical {
                Severity::Critical
            } else {
                Severity::Warning
            };
            Self::finding(
                &check.detector,
                severity,
                &check.sentence,
                check.hint.clone(),
            )
        };
        verdict.numbers.clone_from(&check.numbers);
        verdict
    }
}

/// Calibration of the generator.
#[derive(Debug, Clone, Copy, Deserialize)]
pub(crate) struct CalibrationRecord {
    pub per_s: Option<f64>,
}

/// Everything that was noted, by kind.
#[derive(Debug, Default)]
pub(crate) struct Notes {
    pub server: ServerInfo,
    pub tools: ToolsRecord,
    pub phases: Vec<PhaseRecord>,
    pub load_ended: Option<LoadEnded>,
    pub drivers: Vec<DriverRecord>,
    pub isolation: Vec<IsolationRecord>,
    pub endings: Vec<EndingsRecord>,
    pub deadlocks: Vec<DeadlockRecord>,
    pub violations: Vec<ViolationRecord>,
    pub cold_starts: Vec<ColdStartRecord>,
    pub deadlock_probe: Option<DeadlockReport>,
    pub races: Vec<RaceRecord>,
    pub fuzz_cases: Vec<FuzzCase>,
    pub slow_mix: Option<SlowMixRecord>,
    pub sessions: Option<SessionsRecord>,
    pub checks: Vec<CheckRecord>,
    pub calibration: Option<CalibrationRecord>,
    /// What this process ran out of.
    pub own_limit: Option<OwnLimit>,
}

impl Notes {
    /// Reads what `metrics` has. A note that does not have its form is left out: nothing but our
    /// own writer makes them, and a trace that was tampered with must not be a panic.
    pub fn read(metrics: &Metrics) -> Self {
        let mut phases: Vec<PhaseRecord> = all(metrics, "phase");
        // One that is noted again, now that its end is known, is the same.
        phases.reverse();
        phases.sort_by_key(|phase| phase.index);
        phases.dedup_by_key(|phase| phase.index);
        Self {
            server: first(metrics, "server").unwrap_or_default(),
            tools: first(metrics, "tools").unwrap_or_default(),
            phases,
            load_ended: first(metrics, "load_ended"),
            drivers: all(metrics, "driver"),
            isolation: all(metrics, "isolation"),
            endings: all(metrics, "endings"),
            deadlocks: all(metrics, "deadlock"),
            violations: all(metrics, "violation"),
            cold_starts: all(metrics, "cold_start"),
            deadlock_probe: first(metrics, "deadlock_probe"),
            races: all(metrics, "race"),
            fuzz_cases: all(metrics, "fuzz_case"),
            slow_mix: first(metrics, "slow_mix"),
            sessions: first(metrics, "sessions"),
            checks: all(metrics, "check"),
            calibration: first(metrics, "calibration"),
            own_limit: first(metrics, OWN_LIMIT),
        }
    }
}

fn all<T: DeserializeOwned>(metrics: &Metrics, name: &str) -> Vec<T> {
    metrics.notes_of(name).filter_map(parse).collect()
}

/// The first note of that name.
pub(crate) fn first<T: DeserializeOwned>(metrics: &Metrics, name: &str) -> Option<T> {
    metrics.notes_of(name).find_map(parse)
}

fn parse<T: DeserializeOwned>(note: &Note) -> Option<T> {
    serde_json::from_str(&note.data).ok()
}
