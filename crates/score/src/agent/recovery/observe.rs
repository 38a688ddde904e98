//! What a run says about its faults: the marks of a real clock where it has them, virtual time
//! elsewhere.
//!
//! In virtual time nothing sleeps. A call that meets a fault either times out, which is noticed after
//! one `max_detection_ms` and takes that long; or it is answered at once, with an error or a wrong
//! answer, which is noticed after 0 ms and takes no time; or the fault does nothing to it:
//!
//! | kind | times out |
//! |---|---|
//! | `hang`, `wedged`, `lose_request`, `lose_reply`, `progress_forever` | always |
//! | `slow`, `reply_after_cancel`, `jitter` | when `delay_ms` ≥ `max_detection_ms`; else nothing happens |
//! | `recover_after` | the first `failures` calls that meet this fault, whatever the tool; else nothing happens |
//! | all others | never: answered at once |
//!
//! Where `delay_ms` or `failures` is not told, nobody knows what the fault did: it is unsettled. A run
//! recovered when it ended normally with a reply, and then at the sum of what its timeouts took:
//! `detections · max_detection_ms`. Marks on a real clock win: the agent noticed and recovered
//! when they say, and what is not marked did not happen; but a run that did not end normally did not
//! recover, whatever is marked.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{RecoveryObservation, RecoveryReport, score_recovery};
use crate::trace::{AgentRun, FaultKind, FaultMark, StopReason};

/// How a run took its faults.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RunRecovery {
    /// The calls that met a fault, in order.
    pub calls: Vec<FaultedCall>,
    /// The calls of which the trace does not tell what their fault did.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unsettled: Vec<UnsettledCall>,
    /// How long until the agent noticed, in the worst of the calls; `None` if it did not notice
    /// one, if that is unknown, or if there is none.
    pub time_to_detection_ms: Option<u64>,
    /// How long until it had recovered; `None` if it did not, if that is unknown, or if it met no
    /// fault.
    pub time_to_recovery_ms: Option<u64>,
    /// How long the user saw a call hang, at worst; `None` where that is unknown.
    pub user_visible_hang_ms: Option<u64>,
    /// Whether it recovered, also from nothing; `None` where the trace does not tell how the run
    /// ended.
    pub recovered: Option<bool>,
    /// Whether it noticed every fault within its budget.
    pub clean_timeout: bool,
}

impl RunRecovery {
    /// Whether a call met a fault for certain.
    pub fn met_fault(&self) -> bool {
        !self.calls.is_empty()
    }

    /// Whether it is known what each fault did.
    pub fn is_settled(&self) -> bool {
        self.unsettled.is_empty()
    }
}

/// A call whose fault may have done something, or nothing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct UnsettledCall {
    /// The place of the call in `tool_calls`.
    pub call_index: usize,
    /// The name of the fault.
    pub fault: Option<String>,
    /// Its kind.
    pub kind: FaultKind,
    /// What the trace does not tell: `delay_ms` or `failures`.
    pub untold: String,
}

/// A call that met a fault.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FaultedCall {
    /// The place of the call in `tool_calls`.
    pub call_index: usize,
    /// The name of the fault.
    pub fault: Option<String>,
    /// Its kind.
    pub kind: FaultKind,
    /// Whether the times are those of a real clock.
    pub is_real_clock: bool,
    /// The call by itself.
    pub report: RecoveryReport,
}

/// Scores one run against a timeout budget.
///
/// ```
/// use mcprove_score::agent::recovery::observe_run;
/// use mcprove_score::trace::AgentRun;
///
/// let text = r#"{"tool_calls":[{"name":"search"},{"name":"search"}],"final_response":"Search is down.",
///     "conversation":{"stop_reason":"completed"},
///     "faults":[{"call_index":0,"kind":"hang"},{"call_index":1,"kind":"hang"}]}"#;
/// let run: AgentRun = serde_json::from_str(text).unwrap();
/// let recovery = observe_run(&run, 3_000);
/// assert_eq!(recovery.time_to_detection_ms, Some(3_000));
/// assert_eq!(recovery.time_to_recovery_ms, Some(6_000));
/// assert_eq!(recovery.recovered, Some(true));
/// ```
pub fn observe_run(run: &AgentRun, max_detection_ms: u64) -> RunRecovery {
    let Faulted { calls, unsettled } = Faulted::of(run, max_detection_ms);
    let recovered = recovered(run, &calls, !unsettled.is_empty());
    let reports = || calls.iter().map(|call| &call.report);
    let detections = reports().map(|report| report.time_to_detection_ms);
    let is_settled = unsettled.is_empty();
    RunRecovery {
        // `None` in one is `None` for all: not noticed is worse than any time.
        time_to_detection_ms: detections
            .collect::<Option<Vec<u64>>>()
            .filter(|_| is_settled)
            .and_then(|times| times.into_iter().max()),
        time_to_recovery_ms: (recovered == Some(true) && !calls.is_empty() && is_settled)
            .then(|| time_to_recovery(&calls)),
        user_visible_hang_ms: is_settled.then(|| {
            let hangs = reports().map(|report| report.user_visible_hang_ms);
            hangs.max().unwrap_or(0)
        }),
        recovered,
        clean_timeout: reports().all(|report| report.clean_timeout),
        calls,
        unsettled,
    }
}

/// Whether the run recovered from each fault that it met, or may have met.
fn recovered(run: &AgentRun, calls: &[FaultedCall], is_unsettled: bool) -> Option<bool> {
    let ended = ended_normally(run);
    let each = calls.iter().map(|call| match ended {
        Some(false) => Some(false),
        // Marked, or else not recovered.
        _ if call.is_real_clock => Some(call.report.recovered),
        ended => ended,
    });
    // Where the run ended well, it does not matter what the fault did.
    let unsettled = is_unsettled.then(|| ended.filter(|ended| *ended));
    let all: Vec<Option<bool>> = each.chain(unsettled).collect();
    if all.contains(&Some(false)) {
        Some(false)
    } else if all.contains(&None) {
        None
    } else {
        Some(true)
    }
}

/// Whether the run ended normally with a reply; `None` where the trace does not tell. An empty reply is
/// none.
fn ended_normally(run: &AgentRun) -> Option<bool> {
    if run.stop_reason()? != StopReason::Completed {
        return Some(false);
    }
    let reply = run.final_response.as_deref()?;
    Some(!reply.trim().is_empty())
}

/// When a run that recovered had done so. A real clock has measured each recovery from its own call
/// on, and those overlap; timeouts come one after the other, and add up.
fn time_to_recovery(calls: &[FaultedCall]) -> u64 {
    let (mut measured, mut timeouts) = (0, 0_u64);
    for FaultedCall { report, .. } in calls {
        match report.time_to_recovery_ms {
            Some(time) => measured = time.max(measured),
            None => {
                timeouts = timeouts.saturating_add(report.time_to_detection_ms.unwrap_or(0));
            }
        }
    }
    timeouts.max(measured)
}

/// The calls that met a fault, or may have.
#[derive(Default)]
struct Faulted {
    calls: Vec<FaultedCall>,
    unsettled: Vec<UnsettledCall>,
}

impl Faulted {
    /// Each call by its first mark: the first fault that matches a call is the one that it meets.
    fn of(run: &AgentRun, max_detection_ms: u64) -> Self {
        let real_faults = run
            .faults
            .iter()
            .filter(|mark| mark.kind != FaultKind::None);
        let mut marks: Vec<&FaultMark> = real_faults.collect();
        marks.sort_by_key(|mark| mark.call_index);
        marks.dedup_by_key(|mark| mark.call_index);
        let mut counts = BTreeMap::new();
        let mut faulted = Self::default();
        for mark in marks {
            let met_before = counts.entry(mark.fault.as_deref()).or_insert(0_u64);
            let effect = Effect::of(mark, *met_before, max_detection_ms);
            if mark.kind == FaultKind::RecoverAfter {
                *met_before += 1;
            }
            faulted.add(mark, effect, max_detection_ms);
        }
        faulted
    }

    fn add(&mut self, mark: &FaultMark, effect: Effect, max_detection_ms: u64) {
        let is_real_clock = mark.detected_ms.is_some() || mark.recovered_ms.is_some();
        let detected_ms = match effect {
            _ if is_real_clock => after_start(mark.detected_ms),
            Effect::TimesOut => Some(max_detection_ms),
            Effect::AnswersAtOnce => Some(0),
            Effect::Nothing => return,
            Effect::Unknown(untold) => {
                self.unsettled.push(UnsettledCall {
                    call_index: mark.call_index,
                    fault: mark.fault.clone(),
                    kind: mark.kind,
                    untold: untold.to_owned(),
                });
                return;
            }
        };
        let observation = RecoveryObservation {
            call_start_ms: 0,
            detected_ms,
            recovered_ms: after_start(mark.recovered_ms),
            timeout_budget_ms: max_detection_ms,
        };
        self.calls.push(FaultedCall {
            call_index: mark.call_index,
            fault: mark.fault.clone(),
            kind: mark.kind,
            is_real_clock,
            report: score_recovery(&observation),
        });
    }
}

/// A mark before the call began did not happen.
fn after_start(mark: Option<i64>) -> Option<u64> {
    u64::try_from(mark?).ok()
}

/// What a fault does to a call, in virtual time.
#[derive(Clone, Copy)]
enum Effect {
    TimesOut,
    AnswersAtOnce,
    Nothing,
    /// It depends on this, which is not told.
    Unknown(&'static str),
}

impl Effect {
    /// Of a fault that `met_before` calls met before this one.
    fn of(mark: &FaultMark, met_before: u64, max_detection_ms: u64) -> Self {
        let times_out_if = |times_out: bool| {
            if times_out {
                Self::TimesOut
            } else {
                Self::Nothing
            }
        };
        match mark.kind {
            FaultKind::None => Self::Nothing,
            FaultKind::Hang
            | FaultKind::Wedged
            | FaultKind::LoseRequest
            | FaultKind::LoseReply
            | FaultKind::ProgressForever => Self::TimesOut,
            FaultKind::Slow | FaultKind::ReplyAfterCancel | FaultKind::Jitter => {
                let times_out = |delay| times_out_if(delay >= max_detection_ms);
                mark.delay_ms.map_or(Self::Unknown("delay_ms"), times_out)
            }
            FaultKind::RecoverAfter => {
                let times_out = |failures| times_out_if(met_before < failures);
                mark.failures.map_or(Self::Unknown("failures"), times_out)
            }
            FaultKind::Error
            | FaultKind::ToolError
            | FaultKind::Flaky
            | FaultKind::Malformed
            | FaultKind::Truncated
            | FaultKind::Corrupt
            | FaultKind::Empty
            | FaultKind::Oversized
            | FaultKind::Disconnect
            | FaultKind::Crash
            | FaultKind::Duplicate
            | FaultKind::WrongId
            | FaultKind::Reorder
            | FaultKind::Noise
            | FaultKind::Vanish
            | FaultKind::HttpStatus => Self::AnswersAtOnce,
        }
    }
}
