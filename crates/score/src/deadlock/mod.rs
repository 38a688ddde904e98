//! What N calls released at the same moment say about a server, and what
//! deadlocks in a load run say.
//!
//! Any call without an answer after threshold and grace period, from a server that makes no progress: CRITICAL.
//! Else, a call that was still queued when it was given up: inconclusive. Else, more than half of
//! them slow: WARNING, concurrency degrades latency, or the server handles one call at a time. Else PASS, with two
//! exceptions that the algorithm leaves open: a probe in which every call failed, or after which the server no longer
//! answers, is CRITICAL too, since it shows nothing that works; where a rate limit refused every call, nothing is known. [`hang`](mcprove_trace::hang) classifies
//! the single call.

use mcprove_settings::quantity::describe_duration;
use mcprove_trace::hang::{DeadlockKind, HangLimits};
use mcprove_trace::is_rate_limit_message;

use crate::prelude::*;
use crate::verdict::SUCCESS;

pub const ID: &str = "deadlock";

/// The share of slow calls beyond which concurrency degrades latency.
pub const SLOW_SHARE_MAX: f64 = 0.5;

/// Fewer calls do not show how many a server handles at once.
const CALLS_FOR_CAPACITY: u64 = 5;
/// A server that handles fewer calls at once than this handles one at a time.
const ONE_AT_A_TIME: f64 = 1.5;
/// When half of the calls of a queue are answered, as a share of the time until all are.
const EVEN: (f64, f64) = (0.25, 0.75);

/// How one call of the probe ended.
#[data(open, Copy, Eq, Hash)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum CallOutcome {
    /// Answered within the hang threshold.
    Success,
    /// Answered within the grace period.
    Slow,
    /// Not answered, by a server that makes no progress.
    Deadlock,
    /// Not answered for as long as a call is waited for while others are answered.
    Queued,
    /// Answered with an error, or lost with its connection.
    Error,
}

/// How far the probe came.
#[data(open, Copy, Eq, Hash)]
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
#[data(open, Copy, Eq, Hash)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum ProbeSeverity {
    /// Calls are never answered, or nothing works at all.
    Critical,
    /// Concurrency degrades latency, or no call was made.
    Warning,
    /// The server copes.
    Pass,
    /// Calls were still queued when they were given up.
    Inconclusive,
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
#[data(open)]
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
    /// Calls without an answer, from a server that makes no progress.
    pub deadlock: u32,
    /// Calls still queued when they were given up.
    #[serde(default)]
    pub queued: u32,
    /// Calls that failed.
    pub error: u32,
    /// How much of the server is stuck, where something is.
    pub kind: Option<DeadlockKind>,
    /// How many calls the server handles at once, where calls had to wait.
    #[serde(default)]
    pub capacity: Option<Capacity>,
}

/// How many calls a server handles at once.
#[data(Copy)]
pub struct Capacity {
    /// How long it takes for one, in milliseconds.
    pub service_time_ms: f64,
    /// How many it handles at once.
    pub at_once: f64,
}

impl Capacity {
    /// Of a server that answered the first of `calls` calls after `first_ms`, and so many per second.
    pub fn of(calls: u64, first_ms: f64, per_second: f64) -> Option<Self> {
        let at_once = per_second * first_ms / 1000.0;
        let is_known = calls >= CALLS_FOR_CAPACITY && at_once.is_finite() && at_once > 0.0;
        is_known.then_some(Self {
            service_time_ms: first_ms,
            at_once,
        })
    }

    /// In words that end a sentence.
    fn words(self) -> String {
        let each = describe_duration(Duration::from_secs_f64(
            (self.service_time_ms / 1000.0).clamp(0.0, 1e9),
        ));
        if self.at_once < ONE_AT_A_TIME {
            format!("the server handles one call at a time ({each} each)")
        } else {
            let at_once = decimal(self.at_once, 0);
            format!("the server handles about {at_once} calls at a time ({each} each)")
        }
    }
}

impl DeadlockReport {
    fn total(&self) -> u64 {
        count(self.calls.len())
    }

    fn every_call_failed(&self) -> bool {
        !self.calls.is_empty() && u64::from(self.error) == self.total()
    }

    /// Whether a rate limit refused every call.
    fn is_refused(&self) -> bool {
        let mut messages = self.calls.iter().map(|call| call.message.as_deref());
        self.every_call_failed() && messages.all(|it| it.is_some_and(is_rate_limit_message))
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

    /// Whether calls were late because the server handles one at a time.
    fn is_serial(&self) -> bool {
        self.capacity.is_some_and(|it| it.at_once < ONE_AT_A_TIME)
    }

    /// Whether all calls were late, none much more than another: then nothing shows that they waited for each other.
    fn is_evenly_slow(&self) -> bool {
        let times = self.calls.iter().map(|call| call.duration_ms);
        let first = times.clone().min_by(f64::total_cmp).unwrap_or_default();
        let last = times.max_by(f64::total_cmp).unwrap_or_default();
        u64::from(self.slow) == self.total() && first >= EVEN.1 * last
    }

    /// How long the calls of this outcome were waited for, at least.
    fn waited(&self, outcome: CallOutcome) -> String {
        let calls = self.calls.iter().filter(|call| call.outcome == outcome);
        let least = calls.map(|call| call.duration_ms).min_by(f64::total_cmp);
        let least = (least.unwrap_or_default() / 1000.0).clamp(0.0, 1e9);
        describe_duration(Duration::from_secs_f64(least))
    }

    /// How many calls the server handles at once, as far as calls that were made together show it.
    fn measure_capacity(&self) -> Option<Capacity> {
        let answered =
            |call: &&ProbedCall| matches!(call.outcome, CallOutcome::Success | CallOutcome::Slow);
        let times = self.calls.iter().filter(answered).map(|it| it.duration_ms);
        let mut times: Vec<f64> = times.collect();
        times.sort_by(f64::total_cmp);
        let (first, last) = (*times.first()?, *times.last()?);
        let middle = times.get(times.len() / 2)?;
        let count = count(times.len());
        let capacity = Capacity::of(count, first, float(count) * 1000.0 / last)?;
        // A server that handles all of them at once takes as long for the last as for the first.
        let has_waited = self.slow > 0 && capacity.at_once < float(count) / 2.0;
        // Where only some were slow, they had another reason than a queue, which is worked off evenly.
        let has_waited = has_waited && (EVEN.0 * last..EVEN.1 * last).contains(middle);
        has_waited.then_some(capacity)
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
        queued: count(CallOutcome::Queued),
        error: count(CallOutcome::Error),
        kind,
        capacity: None,
        calls,
    };
    report.capacity = report.measure_capacity();
    report.severity = severity(&report);
    report
}

fn severity(report: &DeadlockReport) -> ProbeSeverity {
    let fails = report.outcome != ProbeOutcome::Completed
        || report.deadlock > 0
        || report.every_call_failed() && !report.is_refused()
        || report.is_down();
    if fails {
        ProbeSeverity::Critical
    } else if report.queued > 0 || report.is_refused() {
        ProbeSeverity::Inconclusive
    } else if report.calls.is_empty() || report.is_mostly_slow() || report.is_serial() {
        ProbeSeverity::Warning
    } else {
        ProbeSeverity::Pass
    }
}

/// The verdict of a probe: `deadlock`, or `startup`, `tools_list` or `success` where no call could show one.
pub fn verdict(report: &DeadlockReport) -> Verdict {
    let verdict = match report.outcome {
        ProbeOutcome::ServerInitError => Verdict::critical(
            "startup",
            "SERVER_INIT_ERROR: the server did not answer the handshake, so no call could be made.",
            sentence!(
                "read the server's stderr{}, or raise the startup timeout",
                tee_stderr()
            ),
        ),
        ProbeOutcome::ToolsListHang => Verdict::critical(
            "tools_list",
            "TOOLS_LIST_HANG: the server came up but did not list its tools in time, so no call could be made.",
            "look for blocking work in tools/list, or raise the list timeout",
        ),
        ProbeOutcome::Completed => completed(report),
    };
    verdict
        .number("calls", report.total())
        .numbers_of(report, &["success", "slow", "deadlock", "queued", "error"])
        .numbers_of(&report.capacity, &["service_time_ms", "at_once"])
}

fn completed(report: &DeadlockReport) -> Verdict {
    let (tool, total) = (quoted(&report.tool), report.total());
    let calls = counted(total, "concurrent call");
    let tail = stuck(report.kind);
    if report.deadlock > 0 {
        Verdict::critical(
            ID,
            sentence!(
                "DEADLOCK DETECTED: {} of {calls} to {tool} got no answer within {}{tail}.",
                report.deadlock,
                report.waited(CallOutcome::Deadlock),
            ),
            report.kind.unwrap_or(DeadlockKind::ToolStuck).hint(),
        )
    } else if report.is_refused() && !report.is_down() {
        refused(&counted(total, "call"))
    } else if report.every_call_failed() {
        let why = report.calls.iter().find_map(|call| call.message.as_deref());
        let why = why.map_or(String::new(), |message| {
            format!(": {}", phrase::text(message))
        });
        Verdict::critical(
            SUCCESS,
            sentence!("No call succeeded: all {calls} to {tool} failed{tail}{why}."),
            sentence!(
                "give arguments that the tool accepts ({}), or pick another tool",
                setting("args")
            ),
        )
    } else if let Some(kind) = report.kind.filter(|_| report.is_down()) {
        Verdict::critical(
            ID,
            sentence!("After {calls} to {tool} {}.", kind.explanation()),
            kind.hint(),
        )
    } else if report.calls.is_empty() {
        Verdict::inconclusive(
            ID,
            sentence!("No call to {tool} was made, so a deadlock could not show."),
            "probe with at least one concurrent call",
        )
    } else if report.queued > 0 {
        Verdict::inconclusive(
            ID,
            sentence!(
                "{} of {calls} to {tool} had no answer after {}, while others were answered: queued or stuck, it is not known which{}.",
                report.queued,
                report.waited(CallOutcome::Queued),
                of_capacity(report.capacity),
            ),
            longer_wait(),
        )
    } else if report.is_mostly_slow() || report.is_serial() {
        let (begin, end) = if report.is_evenly_slow() {
            ("", ", each about as long".to_owned())
        } else {
            (
                "Concurrency degrades latency: ",
                of_capacity(report.capacity),
            )
        };
        Verdict::warning(
            ID,
            sentence!(
                "{begin}{} of {calls} to {tool} took longer than the hang threshold{end}.",
                report.slow,
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
            ID,
            sentence!("All {calls} to {tool} were answered{late}{failed}."),
        )
    }
}

/// The verdict `success` where a rate limit refused all calls.
pub fn refused(calls: &str) -> Verdict {
    let sentence = format!("A rate limit refused all {calls}, so nothing is known of the server.");
    Verdict::inconclusive(SUCCESS, sentence, "make fewer calls, or raise the limit")
}

fn of_capacity(capacity: Option<Capacity>) -> String {
    capacity.map_or(String::new(), |it| format!("; {}", it.words()))
}

/// What decides whether a call is queued or stuck.
fn longer_wait() -> Message {
    sentence!("raise {}, or make fewer calls at once", setting("max_wait"))
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
    /// Calls without an answer, from a server that makes no progress.
    pub deadlocks: u64,
    /// Of these, calls that many later calls of their tool overtook: their reply may have been dropped.
    pub overtaken: u64,
    /// Calls still queued when they were given up.
    pub queued: u64,
    /// Calls without an answer when the time that was set for a call was over.
    pub timed_out: u64,
    /// Calls answered after the hang threshold.
    pub late: u64,
    /// Calls without an answer when the run was interrupted.
    pub unanswered: u64,
    /// Of these, calls that were past the hang threshold by then.
    pub hung: u64,
    /// When a call counts as what.
    pub limits: HangLimits,
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
            ID,
            sentence!(
                "DEADLOCK DETECTED: {}{to_tools} got no answer within {}{}.",
                counted(calls.deadlocks, "call"),
                describe_duration(calls.limits.judged_after()),
                stuck(worst)
            ),
            match worst.unwrap_or(DeadlockKind::ToolStuck).hint() {
                hint if calls.overtaken > 0 => sentence!(
                    "{hint}; or for replies that are dropped under load: writes that are not awaited, full queues, tasks that end silently"
                ),
                hint => hint,
            },
        )
    } else if calls.queued > 0 {
        Verdict::inconclusive(
            ID,
            sentence!(
                "{}{to_tools} had no answer after {}, while others were answered: queued or stuck, it is not known which.",
                counted(calls.queued, "call"),
                describe_duration(calls.limits.given_up_after()),
            ),
            longer_wait(),
        )
    } else if calls.timed_out > 0 {
        Verdict::inconclusive(
            ID,
            sentence!(
                "{}{to_tools} had no answer within {}: slow or stuck, it is not known which.",
                counted(calls.timed_out, "call"),
                setting("call_timeout"),
            ),
            sentence!(
                "leave out {}, or set it to {} or more",
                setting("call_timeout"),
                describe_duration(calls.limits.given_up_after())
            ),
        )
    } else if calls.unanswered > 0 {
        interrupted(calls, &to_tools)
    } else if calls.late > 0 {
        Verdict::warning(
            ID,
            sentence!(
                "{}{to_tools} hung: answered, but only after the hang threshold.",
                counted(calls.late, "call"),
            ),
            mcprove_trace::ErrorCategory::Hang.hint(),
        )
    } else if calls.sent == 0 {
        Verdict::inconclusive(
            ID,
            "No call was made, so none could hang.",
            "give the run more time",
        )
    } else {
        Verdict::pass(ID, "No call hung and none was left without an answer.")
    };
    verdict
        .number("deadlock", calls.deadlocks)
        .number("hang", calls.late.saturating_add(calls.hung))
        .number("unanswered", calls.unanswered)
        .number("queued", calls.queued.saturating_add(calls.timed_out))
}

/// The detector of calls that hang when nothing else is called.
pub const HANGS_ALONE: &str = "hangs_alone";

/// A tool whose calls were answered late when they were made alone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HungAlone {
    /// The tool.
    pub tool: String,
    /// How many calls.
    pub calls: u64,
    /// The longest that one of its calls took under load.
    pub slowest_in_load: Duration,
}

/// The verdict `hangs_alone`: a call alone that passes the hang threshold, of a tool that is fast under load.
pub fn alone_verdict(hung: &[HungAlone], limits: &HangLimits) -> Option<Verdict> {
    let is_fast = |one: &&HungAlone| one.calls > 0 && one.slowest_in_load < limits.threshold / 2;
    let mut fast: Vec<&HungAlone> = hung.iter().filter(is_fast).collect();
    fast.sort_by_key(|one| std::cmp::Reverse(one.calls));
    let first = fast.first()?;
    let verdict = Verdict::warning(
        HANGS_ALONE,
        sentence!(
            "{} of {}, made while nothing else was called, was answered only after the hang threshold ({}); under load each took {} at most.",
            counted(first.calls, "call"),
            quoted(&first.tool),
            describe_duration(limits.threshold),
            describe_duration(first.slowest_in_load)
        ),
        "look for replies that are sent only when others follow, such as a buffer that is written when it is full",
    );
    Some(verdict.number("calls", fast.iter().map(|one| one.calls).sum::<u64>()))
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
        ID,
        sentence!(
            "{unanswered}{to_tools} had no answer when the run was interrupted{past}: slow or stuck, it is not known which{late}."
        ),
        "let the run go on for the hang threshold and the grace period",
    )
}

#[cfg(test)]
mod tests;
