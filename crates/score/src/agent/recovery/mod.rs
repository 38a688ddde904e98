//! How an agent takes a dead tool: how soon it notices, how long the user waits, whether it recovers.
//!
//! [`score_recovery`] folds the marks of one call into a report; [`observe_run`] does so for a run, in
//! virtual time or by the marks of a real clock. The default gate of the block: the agent recovered,
//! within `max_recovery_ms` where that is given, and noticed within `max_detection_ms` where
//! `require_clean_timeout` asks for it. Rules and names are those of mcptest, after the failure
//! injection of `ToolMisuseBench` (arXiv:2604.01508).

mod gate;
mod observe;

pub use observe::{FaultedCall, RunRecovery, UnsettledCall, observe_run};

use crate::prelude::*;

/// What the files here share.
mod prelude {
    pub use super::*;
}

/// The timeout budget where none is given.
pub const MAX_DETECTION_MS: u64 = 30_000;

const DETECTION: &str = "recovery.time_to_detection_ms";
const RECOVERY: &str = "recovery.time_to_recovery_ms";
const HANG: &str = "recovery.user_visible_hang_ms";
const RECOVERED: &str = "recovery.recovered";
const CLEAN_TIMEOUT: &str = "recovery.clean_timeout";

/// The settings of the block `recovery`.
#[derive(Debug, Clone, Settings)]
pub struct RecoveryBlock {
    /// The timeout of one call.
    #[setting(default = 30_000, kind = milliseconds(1))]
    pub max_detection_ms: u64,
    /// How long recovery may take in all.
    #[setting(otherwise = "no limit", kind = milliseconds(0))]
    pub max_recovery_ms: Option<u64>,
    /// Whether the fault must be noticed within `max_detection_ms`.
    #[setting(default = false)]
    pub require_clean_timeout: bool,
}

impl Default for RecoveryBlock {
    fn default() -> Self {
        Self::initial()
    }
}

/// The timeout budget of one call under these gates.
pub fn max_detection_ms(gates: &Gates) -> u64 {
    let block = gates.settings(&Recovery);
    block.map_or(MAX_DETECTION_MS, |block| block.max_detection_ms)
}

/// When what happened around a call that met a fault. All marks are of one clock.
#[stored(Copy, Eq)]
pub struct RecoveryObservation {
    /// When the call was made.
    pub call_start_ms: u64,
    /// When the agent noticed that it would not return; `None` if never.
    pub detected_ms: Option<u64>,
    /// When the agent had recovered: retried elsewhere, fell back, or told of a clean error; `None`
    /// if never.
    pub recovered_ms: Option<u64>,
    /// The timeout that the agent was to keep.
    pub timeout_budget_ms: u64,
}

/// How a call that met a fault was taken.
#[stored(Copy, Eq)]
pub struct RecoveryReport {
    /// From the call to when the agent noticed; `None` if never.
    pub time_to_detection_ms: Option<u64>,
    /// From the call to when it had recovered; `None` if never.
    pub time_to_recovery_ms: Option<u64>,
    /// How long the user saw the call hang: until the agent noticed or recovered, whichever was
    /// earlier; the timeout budget if neither happened.
    pub user_visible_hang_ms: u64,
    pub recovered: bool,
    /// Whether it noticed within its timeout budget.
    pub clean_timeout: bool,
}

/// Scores one call. A mark before the call began did not happen.
///
/// ```
/// use mcprove_score::agent::recovery::{RecoveryObservation, score_recovery};
///
/// let report = score_recovery(&RecoveryObservation {
///     call_start_ms: 0,
///     detected_ms: Some(9_000),
///     recovered_ms: None,
///     timeout_budget_ms: 3_000,
/// });
/// assert!(!report.clean_timeout, "it hung past its own deadline");
/// assert_eq!(report.user_visible_hang_ms, 9_000);
/// ```
pub fn score_recovery(observation: &RecoveryObservation) -> RecoveryReport {
    let since_start = |mark: u64| mark.checked_sub(observation.call_start_ms);
    let detection = observation.detected_ms.and_then(since_start);
    let recovery = observation.recovered_ms.and_then(since_start);
    RecoveryReport {
        time_to_detection_ms: detection,
        time_to_recovery_ms: recovery,
        user_visible_hang_ms: [detection, recovery]
            .into_iter()
            .flatten()
            .min()
            .unwrap_or(observation.timeout_budget_ms),
        recovered: recovery.is_some(),
        clean_timeout: detection.is_some_and(|time| time <= observation.timeout_budget_ms),
    }
}

/// Whether the agent recovered, and in time.
///
/// ```
/// use mcprove_score::agent::recovery::{
///     RecoveryObservation, meets_recovery_budget, score_recovery,
/// };
///
/// let report = score_recovery(&RecoveryObservation {
///     call_start_ms: 100,
///     detected_ms: Some(3_100),
///     recovered_ms: Some(6_100),
///     timeout_budget_ms: 3_000,
/// });
/// assert!(meets_recovery_budget(&report, 6_000));
/// assert!(!meets_recovery_budget(&report, 5_999));
/// ```
pub fn meets_recovery_budget(report: &RecoveryReport, max_recovery_ms: u64) -> bool {
    let is_in_time = report
        .time_to_recovery_ms
        .is_some_and(|time| time <= max_recovery_ms);
    report.recovered && is_in_time
}

/// The metric `recovery`.
#[derive(Debug)]
pub struct Recovery;

impl Metric for Recovery {
    type Block = RecoveryBlock;

    const ABOUT: About = About {
        name: "recovery",
        explanation: "how the agent takes a tool that fails or never answers",
        targets: &[
            Target::highest(
                DETECTION,
                "how long until the agent noticed a fault; null if never, and without a fault",
            ),
            Target::highest(
                RECOVERY,
                "how long until it had recovered; null if never, and without a fault",
            ),
            Target::highest(HANG, "how long the user saw a call hang"),
            Target::lowest(
                RECOVERED,
                "1 when the agent recovered, or met no fault, else 0",
            ),
            Target::lowest(
                CLEAN_TIMEOUT,
                "1 when it noticed every fault within its timeout budget, else 0",
            ),
        ],
        default_gate: "every run recovered, within the times below",
        ..About::PLAIN
    };

    fn score(&self, case: &Case<'_, RecoveryBlock>, card: &mut Scorecard) -> ScoreResult {
        let block = case.block;
        let max_detection_ms = block.map_or(MAX_DETECTION_MS, |block| block.max_detection_ms);
        let mut is_tried = false;
        let mut waited_out = 0;
        for (index, run) in case.trace.runs.iter().enumerate() {
            let recovery = observe_run(run, max_detection_ms);
            is_tried |= recovery.met_fault() || !recovery.is_settled();
            waited_out += count(recovery.waited_out.len());
            let mut card = card.run(&Self::ABOUT, index);
            if let Some(block) = block {
                for error in gate::errors(run, &recovery) {
                    card.error(error);
                }
                gate::default_gate(run, &recovery, block, &mut card);
            } else if recovery.recovered.is_none() || !recovery.is_settled() {
                card.note(
                    "Not all of recovery is known of ",
                    ": a call met a fault, and the trace does not say how the run ended, what the fault did, whether it was noticed, or what the agent told its user.",
                );
            }
            put(&recovery, &mut card);
            gate::add_found(run, &recovery, max_detection_ms, &mut card);
        }
        card.note_runs();
        let Some(block) = block else {
            return Ok(());
        };
        if !is_tried && waited_out > 0 {
            card.note(format!(
                "Recovery was not tried: {} met a fault, and only waited, because it was over before max_detection_ms ({} ms). Make it longer than that, or max_detection_ms shorter.",
                counted(waited_out, "call"),
                whole(max_detection_ms),
            ));
        } else if !is_tried {
            card.note(
                "No run met a fault, so that recovery was not tried: check that the fault is aimed at a tool that the agent calls.",
            );
        }
        if case.has_expectations {
            gate::note_replaced(block, card);
        }
        Ok(())
    }
}

/// Puts the targets of one run on the card. Times are those of a fault: a run that met none gave no occasion for any.
fn put(recovery: &RunRecovery, card: &mut RunCard<'_>) {
    let known = recovery.is_settled();
    if !recovery.is_timed() {
        card.set(DETECTION, Value::Null);
    } else if recovery.met_fault() {
        match recovery.time_to_detection_ms {
            Some(time) => card.set(DETECTION, time),
            None => card.set_never_happened(DETECTION),
        }
    } else {
        card.set_not_applicable(DETECTION);
    }
    if recovery.met_fault() || !known {
        match (recovery.recovered, recovery.time_to_recovery_ms) {
            (Some(false), _) => card.set_never_happened(RECOVERY),
            (_, time) => card.set(RECOVERY, time),
        }
    } else {
        card.set_not_applicable(RECOVERY);
    }
    card.set(HANG, recovery.user_visible_hang_ms);
    card.set(RECOVERED, recovery.recovered.map(u64::from));
    card.set(CLEAN_TIMEOUT, recovery.clean_timeout.map(u64::from));
    if recovery.met_fault() || !known {
        card.detail(recovery);
    }
}

#[cfg(test)]
mod tests;
