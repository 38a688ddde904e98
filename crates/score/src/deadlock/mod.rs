//! What N calls released at the same moment say about a server, and what
//! deadlocks in a load run say.
//!
//! Any call without an answer after threshold and grace period: CRITICAL. Else, more than half of
//! them slow: WARNING, concurrency degrades latency. Else PASS, with two exceptions that the
//! algorithm leaves open: a probe in which every call failed, or after which the server no longer
//! answers, is CRITICAL too, since it shows nothing that works. [`hang`](mcprove_trace::hang) classifies
//! the single call.

use mcprove_trace::hang::DeadlockKind;

use crate::prelude::*;

/// The share of slow calls beyond which concurrency degrades latency.
pub const SLOW_SHARE_MAX: f64 = 0.5;

/// How one call of the probe ended.
#[data(Copy, Eq, Hash)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum CallOutcome {
    /// Answered within the hang threshold.
    Success,
    /// Answered within the grace period.
    Slow,
    /// Not answered.
    Deadlock,
    /// Answered with an error, or lost with its connection.
    Error,
}

/// How far the probe came.
#[data(Copy, Eq, Hash)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum ProbeOutcome {
    /// The server did not come up.
    ServerInitError,
    /// The list of tools did not come in time.
    ToolsListHang,
    /// All calls were made.
    Completed,
}

/// What the probe says.
#[data(Copy, Eq, Hash)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum ProbeSeverity {
    /// Calls are never answered, or nothing works at all.
    Critical,
    /// Concurrency degrades latency, or no call was made.
    Warning,
    /// The server copes.
    Pass,
}

/// One call of the probe.
#[sparse]
#[data]
pub struct ProbedCall {
    /// How it ended.
    pub outcome: CallOutcome,
    /// From sending to the answer, or to giving up, in milliseconds.
    pub duration_ms: f64,
    /// Why it failed.
    pub message: Option<String>,
}

/// The result of a deadlock probe.
#[data]
#[non_exhaustive]
pub struct DeadlockReport {
    /// How far the probe came.
    pub outcome: ProbeOutcome,
    /// What it says.
    pub severity: ProbeSeverity,
    /// The tool that was called.
    pub tool: String,
    /// The calls, in the order they were made.
    pub calls: Vec<ProbedCall>,
    /// Calls answered in time.
    pub success: u32,
    /// Calls answered within the grace period.
    pub slow: u32,
    /// Calls never answered.
    pub deadlock: u32,
    /// Calls that failed.
    pub error: u32,
    /// How much of the server is stuck, where something is.
    pub kind: Option<DeadlockKind>,
}

impl DeadlockReport {
    fn total(&self) -> u64 {
        count(self.calls.len())
    }

    fn every_call_failed(&self) -> bool {
        !self.calls.is_empty() && u64::from(self.error) == self.total()
    }

    fn is_down(&self) -> bool {
        matches!(
            self.kind,
            Some(DeadlockKind::LoopDead | DeadlockKind::ProcessDead)
        )
    }

    fn is_mostly_slow(&self) -> bool {
        f64::from(self.slow) > SLOW_SHARE_MAX * float(self.total())
    }
}

/// Counts and judges the calls of a probe. A duration that is not finite becomes zero.
pub fn judge(
    tool: impl Into<String>,
    outcome: ProbeOutcome,
    mut calls: Vec<ProbedCall>,
    kind: Option<DeadlockKind>,
) -> DeadlockReport {
    for call in &mut calls {
        if !call.duration_ms.is_finite() {
            call.duration_ms = 0.0;
        }
    }
    let count = |outcome| {
        let count = calls.iter().filter(|call| call.outcome == outcome).count();
        u32::try_from(count).unwrap_or(u32::MAX)
    };
    let mut report = DeadlockReport {
        outcome,
        severity: ProbeSeverity::Pass,
        tool: tool.into(),
        success: count(CallOutcome::Success),
        slow: count(CallOutcome::Slow),
        deadlock: count(CallOutcome::Deadlock),
        error: count(CallOutcome::Error),
        kind,
        calls,
    };
    report.severity = severity(&report);
    report
}

fn severity(report: &DeadlockReport) -> ProbeSeverity {
    let fails = report.outcome != ProbeOutcome::Completed
        || report.deadlock > 0
        || report.every_call_failed()
        || report.is_down();
    if fails {
        ProbeSeverity::Critical
    } else if report.calls.is_empty() || report.is_mostly_slow() {
        ProbeSeverity::Warning
    } else {
        ProbeSeverity::Pass
    }
}

/// The verdict `deadlock` of a probe.
pub fn verdict(report: &DeadlockReport) -> Verdict {
    let verdict = match report.outcome {
        ProbeOutcome::ServerInitError => Verdict::critical(
            "deadlock",
            "SERVER_INIT_ERROR: the server did not answer the handshake, so no call could be made.",
            sentence!(
                "read the server's stderr{}, or raise the startup timeout",
                tee_stderr()
            ),
        ),
        ProbeOutcome::ToolsListHang => Verdict::critical(
            "deadlock",
            "TOOLS_LIST_HANG: the server came up but did not list its tools in time, so no call could be made.",
            "look for blocking work in tools/list, or raise the list timeout",
        ),
        ProbeOutcome::Completed => completed(report),
    };
    verdict
        .number("calls", report.total())
        .numbers_of(report, &["success", "slow", "deadlock", "error"])
}

fn completed(report: &DeadlockReport) -> Verdict {
    let (tool, total) = (quoted(&report.tool), report.total());
    let calls = counted(total, "concurrent call");
    let tail = stuck(report.kind);
    if report.deadlock > 0 {
        Verdict::critical(
            "deadlock",
            sentence!(
                "DEADLOCK DETECTED: {} of {calls} to {tool} {} never answered{tail}.",
                report.deadlock,
                were(report.deadlock.into()),
            ),
            report.kind.unwrap_or(DeadlockKind::ToolStuck).hint(),
        )
    } else if report.every_call_failed() {
        let why = report.calls.iter().find_map(|call| call.message.as_deref());
        let why = why.map_or(String::new(), |message| {
            format!(": {}", phrase::text(message))
        });
        Verdict::critical(
            "deadlock",
            sentence!("No call succeeded: all {calls} to {tool} failed{tail}{why}."),
            sentence!(
                "give arguments that the tool accepts ({}), or pick another tool",
                setting("args")
            ),
        )
    } else if let Some(kind) = report.kind.filter(|_| report.is_down()) {
        Verdict::critical(
            "deadlock",
            sentence!("After {calls} to {tool} {}.", kind.explanation()),
            kind.hint(),
        )
    } else if report.calls.is_empty() {
        Verdict::inconclusive(
            "deadlock",
            sentence!("No call to {tool} was made, so a deadlock could not show."),
            "probe with at least one concurrent call",
        )
    } else if report.is_mostly_slow() {
        Verdict::warning(
            "deadlock",
            sentence!(
                "Concurrency degrades latency: {} of {calls} to {tool} took longer than the hang threshold.",
                report.slow
            ),
            "look for a lock held across the call, or raise the hang threshold if the tool may take this long",
        )
    } else {
        let some = |count: u32, how: &str| match count {
            0 => String::new(),
            count => format!(", {count} of them {how}"),
        };
        let late = some(report.slow, "late");
        let failed = some(report.error, "with an error");
        Verdict::pass(
            "deadlock",
            sentence!("All {calls} to {tool} were answered{late}{failed}."),
        )
    }
}

/// What is stuck, as the end of a sentence.
fn stuck(kind: Option<DeadlockKind>) -> String {
    kind.map_or(String::new(), |kind| format!("; {}", kind.explanation()))
}

/// What became of the calls of a load run, as far as hanging goes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LoadCalls {
    /// Calls made.
    pub sent: u64,
    /// Calls never answered.
    pub deadlocks: u64,
    /// Calls answered after the hang threshold.
    pub late: u64,
    /// Calls without an answer when the run was interrupted.
    pub unanswered: u64,
    /// Of these, calls that were past the hang threshold by then.
    pub hung: u64,
}

/// The verdict `deadlock` of a load run: what became of its calls, the tools that those without a
/// timely answer went to, and what was found stuck.
pub fn load_verdict(calls: &LoadCalls, tools: &[String], kinds: &[DeadlockKind]) -> Verdict {
    let to_tools = if tools.is_empty() {
        Message::default()
    } else {
        sentence!(" to {}", quoted_names(tools))
    };
    // The kinds are ordered by how much is stuck: the worst one speaks.
    let worst = kinds.iter().max().copied();
    let verdict = if calls.deadlocks > 0 {
        Verdict::critical(
            "deadlock",
            sentence!(
                "DEADLOCK DETECTED: {}{to_tools} {} never answered{}.",
                counted(calls.deadlocks, "call"),
                were(calls.deadlocks),
                stuck(worst)
            ),
            worst.unwrap_or(DeadlockKind::ToolStuck).hint(),
        )
    } else if calls.unanswered > 0 {
        interrupted(calls, &to_tools)
    } else if calls.late > 0 {
        Verdict::warning(
            "deadlock",
            sentence!(
                "{}{to_tools} hung: answered, but only after the hang threshold.",
                counted(calls.late, "call")
            ),
            mcprove_trace::ErrorCategory::Hang.hint(),
        )
    } else if calls.sent == 0 {
        Verdict::inconclusive(
            "deadlock",
            "No call was made, so none could hang.",
            "give the run more time",
        )
    } else {
        Verdict::pass(
            "deadlock",
            "No call hung and none was left without an answer.",
        )
    };
    verdict
        .number("deadlock", calls.deadlocks)
        .number("hang", calls.late.saturating_add(calls.hung))
        .number("unanswered", calls.unanswered)
}

/// A call without an answer when the run was interrupted may be slow, or stuck for ever.
fn interrupted(calls: &LoadCalls, to_tools: &Message) -> Verdict {
    let unanswered = counted(calls.unanswered, "call");
    let past = match calls.hung {
        0 => String::new(),
        hung if hung >= calls.unanswered => ", past the hang threshold".to_owned(),
        hung => format!(", {hung} of them past the hang threshold"),
    };
    let late = match calls.late {
        0 => String::new(),
        late => format!("; {} answered late", counted(late, "other")),
    };
    Verdict::inconclusive(
        "deadlock",
        sentence!(
            "{unanswered}{to_tools} had no answer when the run was interrupted{past}: slow or stuck, which is not known{late}."
        ),
        "let the run go on for the hang threshold and the grace period",
    )
}

#[cfg(test)]
mod tests;
