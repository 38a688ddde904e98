//! Its outcome: the calls that passed, the faults that struck, and what the client did next after
//! each. A pure function of what was seen.
//!
//! What a client did next is looked for among the calls of its session that came after it had the last
//! word on the faulted one, or had cancelled it. Where it had neither, it may have stopped
//! waiting in silence: then calls count that came [`SILENCE_MIN`] later, for those before were
//! under way at the same time.

use mcprove_fault::FaultCount;
use mcprove_trace::ClientView;

use crate::prelude::*;

pub const SUMMARY_FORMAT: &str = "proxy-summary.v1";
/// How many faulted calls are told one by one.
pub const FAULTED_CALLS_MAX: usize = 1_000;
/// Nobody gives up on a call, and makes it again, in less time without a word.
pub const SILENCE_MIN: Duration = Duration::from_millis(50);

/// How many calls after a faulted one are looked at.
const FOLLOWERS_MAX: usize = 1_000;

/// One call that a client made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SeenCall {
    /// When, since the proxy started.
    pub at: Duration,
    /// Whose it is.
    pub session: u32,
    pub tool: Arc<str>,
    /// The same number for the same call: tool and arguments. Known of calls that a fault struck, and of
    /// later ones of the same tool.
    pub identity: Option<u64>,
    /// The fault that struck it.
    pub fault: Option<SeenFault>,
    /// When the client had the last word on it.
    pub ended: Option<Duration>,
    /// When the client cancelled it, or left.
    pub cancelled: Option<Duration>,
}

/// A fault that struck a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SeenFault {
    pub name: String,
    pub kind: FaultKind,
}

/// All that a proxy remembers.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SeenCalls {
    /// Calls in the order in which they came.
    pub calls: Vec<SeenCall>,
    /// How many calls there were of each tool, those included that are not in `calls`.
    pub counts: BTreeMap<Arc<str>, u64>,
    /// Calls of tools that are not in `counts`, for there were too many.
    pub uncounted: u64,
    /// Tools that say that they only read, or that a repetition changes nothing more.
    pub repeatable: BTreeSet<String>,
    /// What else should be said, and how often it happened.
    pub remarks: BTreeMap<String, u64>,
    /// How often each fault struck.
    pub totals: Vec<FaultCount>,
    /// Whether a fault ended the proxy too.
    pub is_ended_by_fault: bool,
    /// Whether the server ended by itself while its client was still there, and the proxy with it.
    pub has_server_died: bool,
    /// How long the proxy was there.
    pub duration: Duration,
}

/// What a client did after a call that a fault struck.
#[choice(Copy, Eq, PartialOrd, Ord)]
pub enum NextStep {
    /// It made the same call again.
    Retried,
    /// It made the same call again after the request or the reply was lost, and the tool does not say
    /// that it only reads: a write may be done twice.
    RepeatedLostWrite,
    /// It called the same tool with other arguments.
    OtherArguments,
    /// It went on with another tool.
    OtherTool,
    /// It took the answer, which came late, twice or after junk.
    TookTheAnswer,
    /// It cancelled the call, and called nothing more.
    Cancelled,
    /// It called nothing more.
    GaveUp,
    /// The fault ended the proxy too, which did not see what came next.
    Unknown,
    /// The server died by itself before the call had an end, and the proxy with it, which did not see what
    /// came next.
    ServerDied,
}

/// A call that a fault struck.
#[sparse]
#[data]
pub struct FaultedCallReport {
    /// The session, counted from 0.
    pub session: u32,
    /// The tool.
    pub tool: String,
    /// The fault.
    pub fault: String,
    /// Its kind.
    pub kind: FaultKind,
    /// When the call was made, since the proxy started.
    pub at_ms: f64,
    /// What the client did next.
    pub next: NextStep,
    /// From the call to what the client did next; `None` if it did nothing.
    pub next_after_ms: Option<f64>,
    /// From the call to its cancellation.
    pub cancelled_after_ms: Option<f64>,
    /// The tool that the client went on with.
    pub next_tool: Option<String>,
    /// How often the server got this very call, as far as the one that followed. Of a lost write, 2 means that
    /// it was done twice, unless the server refused one: `mcprove score` tells, from a recording.
    pub reached_server: Option<u64>,
}

/// How often a fault struck a tool.
#[data(Eq)]
pub struct StruckTool {
    /// The fault.
    pub fault: String,
    /// Its kind.
    pub kind: FaultKind,
    /// The tool.
    pub tool: String,
    /// How often.
    pub calls: u64,
}

/// Its outcome.
#[data]
pub struct CallSummary {
    /// Calls of tools.
    pub calls: u64,
    /// Calls by tool.
    pub tools: BTreeMap<String, u64>,
    /// Faults by tool, of the calls that are remembered.
    pub faults: Vec<StruckTool>,
    /// Faults in all, those included that struck nothing.
    #[serde(default)]
    pub fault_totals: Vec<FaultCount>,
    /// What clients did next, counted.
    pub next_steps: BTreeMap<NextStep, u64>,
    /// The faulted calls, in order; [`FAULTED_CALLS_MAX`] at most.
    pub faulted_calls: Vec<FaultedCallReport>,
    /// Faulted calls that are not in the list.
    pub faulted_calls_omitted: u64,
}

/// Makes the summary of what was seen.
pub fn summarise(seen: &SeenCalls) -> CallSummary {
    let mut faults = BTreeMap::<(String, FaultKind, String), u64>::new();
    let mut next_steps = BTreeMap::new();
    let mut faulted_calls = Vec::new();
    let mut omitted = 0;
    let sessions = by_session(&seen.calls);
    for (index, call) in seen.calls.iter().enumerate() {
        let Some(fault) = &call.fault else { continue };
        let key = (fault.name.clone(), fault.kind, call.tool.to_string());
        *faults.entry(key).or_default() += 1;
        let followers = sessions.get(&call.session).map(Vec::as_slice);
        let followers = followers.unwrap_or_default();
        let after = followers.partition_point(|follower| *follower <= index);
        let later = followers.get(after..).unwrap_or_default().iter();
        let later = later.filter_map(|follower| seen.calls.get(*follower));
        let mut report = follow(call, fault, later, &seen.repeatable);
        if report.next == NextStep::GaveUp {
            let is_open = call.ended.is_none();
            if seen.is_ended_by_fault && (is_open || fault.kind.ends_connection()) {
                report.next = NextStep::Unknown;
            } else if seen.has_server_died && is_open {
                report.next = NextStep::ServerDied;
            }
        }
        *next_steps.entry(report.next).or_default() += 1;
        if faulted_calls.len() < FAULTED_CALLS_MAX {
            faulted_calls.push(report);
        } else {
            omitted += 1;
        }
    }
    let faults = faults
        .into_iter()
        .map(|((fault, kind, tool), calls)| StruckTool {
            fault,
            kind,
            tool,
            calls,
        });
    let tools = seen.counts.iter();
    CallSummary {
        calls: seen.counts.values().sum::<u64>() + seen.uncounted,
        tools: tools
            .map(|(tool, calls)| (tool.to_string(), *calls))
            .collect(),
        faults: faults.collect(),
        fault_totals: seen.totals.clone(),
        next_steps,
        faulted_calls,
        faulted_calls_omitted: omitted,
    }
}

/// The places of the calls of each session, in order.
fn by_session(calls: &[SeenCall]) -> BTreeMap<u32, Vec<usize>> {
    let mut sessions = BTreeMap::<u32, Vec<usize>>::new();
    for (index, call) in calls.iter().enumerate() {
        sessions.entry(call.session).or_default().push(index);
    }
    sessions
}

/// What a client did after one call that a fault struck.
fn follow<'a>(
    call: &SeenCall,
    fault: &SeenFault,
    later: impl Iterator<Item = &'a SeenCall>,
    repeatable: &BTreeSet<String>,
) -> FaultedCallReport {
    let from = [call.ended, call.cancelled]
        .into_iter()
        .flatten()
        .min()
        .unwrap_or(call.at + SILENCE_MIN);
    let mut same_tool = None;
    let mut other_tool = None;
    let mut retry = None;
    let later = later.filter(|follower| follower.at >= from);
    for follower in later.take(FOLLOWERS_MAX) {
        if follower.tool != call.tool {
            other_tool = other_tool.or(Some(follower));
        } else if follower.identity != call.identity {
            same_tool = same_tool.or(Some(follower));
        } else {
            retry = Some(follower);
            break;
        }
    }
    let is_write = !repeatable.contains(&*call.tool);
    let is_lost = matches!(
        fault.kind.special(),
        Special::LosesRequest | Special::LosesReply
    );
    let took_it = is_answered_in_the_end(fault.kind) && is_answered_in_time(call);
    let (next, follower) = match (retry, same_tool, other_tool) {
        (Some(retry), ..) if is_lost && is_write => (NextStep::RepeatedLostWrite, Some(retry)),
        (Some(retry), ..) if !took_it => (NextStep::Retried, Some(retry)),
        _ if took_it => (NextStep::TookTheAnswer, None),
        (_, Some(same), _) => (NextStep::OtherArguments, Some(same)),
        (_, _, Some(other)) => (NextStep::OtherTool, Some(other)),
        _ if call.cancelled.is_some() => (NextStep::Cancelled, None),
        _ => (NextStep::GaveUp, None),
    };
    let since = |time: Duration| as_milliseconds(time.saturating_sub(call.at));
    let reached_server = (next == NextStep::RepeatedLostWrite).then(|| {
        let again = retry.is_some_and(|retry| {
            let fault = retry.fault.as_ref();
            fault.is_none_or(|fault| reaches_server(fault.kind))
        });
        u64::from(reaches_server(fault.kind)) + u64::from(again)
    });
    FaultedCallReport {
        session: call.session,
        tool: call.tool.to_string(),
        fault: fault.name.clone(),
        kind: fault.kind,
        at_ms: as_milliseconds(call.at),
        next,
        next_after_ms: follower.map(|follower| since(follower.at)),
        cancelled_after_ms: call.cancelled.map(since),
        next_tool: follower
            .filter(|_| next == NextStep::OtherTool)
            .map(|follower| follower.tool.to_string()),
        reached_server,
    }
}

/// Whether a call that met such a fault still gets its own answer, if one waits for it.
fn is_answered_in_the_end(kind: FaultKind) -> bool {
    kind.is_fault() && kind.client_view() == ClientView::Right
}

/// Whether the last word came while the client still waited for it: who has cancelled drops what comes.
fn is_answered_in_time(call: &SeenCall) -> bool {
    let cancelled = call.cancelled;
    let is_in_time = |ended| cancelled.is_none_or(|cancelled| ended <= cancelled);
    call.ended.is_some_and(is_in_time)
}

/// Whether a call that met such a fault reached the server.
fn reaches_server(kind: FaultKind) -> bool {
    kind.executes() != Execution::Never
}

#[cfg(test)]
mod tests;
