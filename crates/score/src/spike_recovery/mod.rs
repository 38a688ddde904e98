//! Whether a server is after a burst what it was before it.
//!
//! It did not recover when one of these holds, each beyond what chance and a busy machine do; the
//! first and the last only if at least 1 s was left to recover in:
//!
//! - **stopped**: fewer than a tenth as many calls end per second as before, where at least 20 were
//!   to be expected. Calls of the burst that are still being served count as ended: a queue that
//!   empties is a recovery under way;
//! - **errors**: at least 5 calls failed, and their share is above that before the burst by more than
//!   5 points at the low end of its confidence interval. Less than a quarter of the share in the burst
//!   is the rest of it, which a server that fails fast has in the first moments after;
//! - **latency**: the median of a tool is at least 3 times that before the burst and 5 ms longer, and
//!   three quarters of its calls take longer than three quarters of those before. Tool by tool,
//!   because in a mix of fast and slow tools the median of all is the chance of the draw. It says nothing where most
//!   calls that end after the burst are of the burst, and about as many end per second as before: they wait in a queue.
//!
//! What is judged is the last part of the time after the burst: a circuit breaker, a pause or a queue takes a while, and then
//! the verdict states how long. Where it did not recover within less than 10 s, it may later: a warning, unless nothing
//! was answered for 5 s at the end. A server that pauses is silent for up to five times the longest pause before the burst.
//!
//! Where [other work](crate::machine) on the machine after the burst can explain that calls are slow or few, it is inconclusive.
//!
//! Calls that fail only in the burst are a queue that overflows: worth a look, and no failure to
//! recover.

use crate::machine::{self, MachineReport};
use crate::prelude::*;

/// Calls below which a phase says nothing.
pub const CALLS_MIN: u64 = 10;
/// How many times the median before the burst counts as not recovered.
pub const LATENCY_FACTOR: f64 = 3.0;
/// How much longer it must be as well, so that a fast server is not judged by a scheduler's whim.
pub const LATENCY_EXCESS_MS: f64 = 5.0;
/// By how much the share of failed calls must be higher, at the low end of its interval.
pub const ERROR_SHARE_RISE_MAX: f64 = 0.05;
/// Of the share that failed in the burst; less than this after it is only the rest of the burst.
pub const REST_OF_BURST_SHARE: f64 = 0.25;
/// Failed calls below which a share says nothing.
pub const ERRORS_MIN: u64 = 5;
/// Share of the rate before the burst below which the server has stopped.
pub const STOPPED_SHARE: f64 = 0.1;
/// Share of the rate before the burst above which a server that works off its queue has recovered.
pub const RECOVERED_SHARE: f64 = 0.8;
/// How long the time after the burst must be, in seconds: for less a busy machine can hold up any
/// server.
pub const RECOVERY_SECS_MIN: f64 = 1.0;
/// Calls that must have been expected before that counts.
pub const EXPECTED_MIN: f64 = 20.0;
/// How long it must be for a server that did not recover in it to be one that does not, in seconds.
pub const PATIENCE_SECS: f64 = 10.0;
/// How long nothing at all may be answered at the end of a shorter time, in seconds.
pub const SILENCE_SECS_MAX: f64 = 5.0;
/// How many times the longest pause before the burst may be silent after it.
pub const PAUSES_MAX: f64 = 5.0;

/// The calls of one phase.
#[data(Copy, Default)]
pub struct PhaseCalls {
    /// How long it lasted, in seconds.
    pub duration_secs: f64,
    /// Calls that began in it.
    pub calls: u64,
    /// Those of them that failed.
    pub errors: u64,
    /// Calls per second that ended in it, whenever they began.
    pub ended_per_s: f64,
    /// Median latency in milliseconds.
    pub p50_ms: Option<f64>,
    /// p99 in milliseconds, or the maximum where there are too few calls for it.
    pub p99_ms: Option<f64>,
}

/// How long the successful calls of a tool took in one phase.
#[data(Copy, Default)]
pub struct Quartiles {
    /// How many there are.
    pub count: u64,
    /// A quarter took at most this, in milliseconds.
    pub p25_ms: f64,
    /// Half of them.
    pub p50_ms: f64,
    /// Three quarters.
    pub p75_ms: f64,
}

/// One tool before and after the burst.
#[data]
pub struct ToolRecovery {
    /// Its name.
    pub tool: String,
    /// Before the burst.
    pub before: Quartiles,
    /// After it.
    pub after: Quartiles,
}

/// What a spike measured.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SpikeInput {
    /// Before the burst.
    pub baseline: PhaseCalls,
    /// The burst.
    pub burst: PhaseCalls,
    /// After it: the last part of that time.
    pub recovery: PhaseCalls,
    /// Each tool that was called.
    pub tools: Vec<ToolRecovery>,
    /// The time between the burst and that part, if there is some.
    pub settling: Option<Settling>,
    /// The longest time before the burst in which nothing was answered, in seconds.
    pub longest_pause_secs: f64,
    /// How noisy the machine was after the burst.
    pub machine: MachineReport,
}

/// The first part of the time after a burst, in which a server may recover.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Settling {
    /// Its calls.
    pub calls: PhaseCalls,
    /// Each tool that was called.
    pub tools: Vec<ToolRecovery>,
}

/// In which way a server does not recover.
#[choice(Copy, Eq, Hash)]
pub enum Aftermath {
    /// More calls fail than before.
    Errors,
    /// Calls of a tool take longer than before.
    Latency,
    /// Nearly no call ends any more.
    Stopped,
}

/// What a burst did to a server.
#[sparse(marked)]
#[data(open)]
pub struct SpikeReport {
    /// Before the burst.
    pub baseline: PhaseCalls,
    /// The burst.
    pub burst: PhaseCalls,
    /// After it: the last part of that time.
    pub recovery: PhaseCalls,
    /// How long the server took to recover at most, in seconds, where it was not what it was before at once.
    #[sparse]
    pub recovered_within_secs: Option<f64>,
    /// How long it was watched after the burst, in seconds, where that is too short to say that it does not recover.
    #[sparse]
    pub watched_secs: Option<f64>,
    /// Fairness in the burst: its p99 in medians. Far above 1 some callers wait for others.
    pub burst_p99_to_p50: Option<f64>,
    /// The tool that recovered least, of those with calls enough before and after.
    pub slowest_tool: Option<ToolRecovery>,
    /// What stays after the burst, if anything clearly does.
    pub stays: Option<Aftermath>,
    /// What seems to stay, where other work on the machine can explain it.
    #[sparse]
    pub doubtful: Option<Aftermath>,
    /// Whether clearly more calls fail in the burst than before.
    pub overflows: bool,
}

/// Compares the time after the burst with that before it.
pub fn judge(input: &SpikeInput) -> SpikeReport {
    let SpikeInput {
        baseline,
        burst,
        recovery,
        tools,
        settling,
        machine,
        ..
    } = input;
    let stays = what_stays(input, recovery, tools).filter(|what| !is_pause(input, *what));
    let is_doubtful = match stays {
        Some(Aftermath::Latency) => comparable(tools)
            .filter(|tool| is_slower(tool))
            .all(|tool| machine.explains(LATENCY_FACTOR, growth(tool))),
        Some(Aftermath::Stopped) => {
            machine.explains(recovery.ended_per_s, STOPPED_SHARE * baseline.ended_per_s)
        }
        Some(Aftermath::Errors) | None => false,
    };
    let late = settling
        .as_ref()
        .filter(|part| what_stays(input, &part.calls, &part.tools).is_some());
    let watched = watched_secs(input);
    let may_recover = watched < PATIENCE_SECS && silence_secs(input) < SILENCE_SECS_MAX;
    SpikeReport {
        baseline: *baseline,
        burst: *burst,
        recovery: *recovery,
        recovered_within_secs: late
            .filter(|_| stays.is_none())
            .and_then(|part| finite(part.calls.duration_secs)),
        watched_secs: finite(watched).filter(|_| stays.is_some() && may_recover),
        burst_p99_to_p50: burst
            .p99_ms
            .zip(burst.p50_ms)
            .and_then(|(p99, p50)| ratio(p99, p50)),
        slowest_tool: comparable(tools)
            .max_by(|one, other| {
                let growths = growth(one).total_cmp(&growth(other));
                is_slower(one).cmp(&is_slower(other)).then(growths)
            })
            .cloned(),
        stays: stays.filter(|_| !is_doubtful),
        doubtful: stays.filter(|_| is_doubtful),
        overflows: fails_more(baseline, burst),
    }
}

/// The tools with calls enough before and after.
fn comparable(tools: &[ToolRecovery]) -> impl Iterator<Item = &ToolRecovery> {
    tools
        .iter()
        .filter(|tool| tool.before.count >= CALLS_MIN && tool.after.count >= CALLS_MIN)
}

/// In which way a server is not in a part of the time after the burst what it was before.
fn what_stays(input: &SpikeInput, part: &PhaseCalls, tools: &[ToolRecovery]) -> Option<Aftermath> {
    let SpikeInput {
        baseline, burst, ..
    } = input;
    // In a closed load slow calls are few calls as well, so that they come first.
    let is_rest_of_burst = error_share(part) < REST_OF_BURST_SHARE * error_share(burst);
    let has_stopped = baseline.calls >= CALLS_MIN
        && baseline.ended_per_s * part.duration_secs >= EXPECTED_MIN
        && part.ended_per_s < STOPPED_SHARE * baseline.ended_per_s;
    if fails_more(baseline, part) && !is_rest_of_burst {
        Some(Aftermath::Errors)
    } else if is_short(part) || works_off_queue(baseline, part) {
        None
    } else if comparable(tools).any(is_slower) {
        Some(Aftermath::Latency)
    } else if burst.calls > 0 && has_stopped {
        Some(Aftermath::Stopped)
    } else {
        None
    }
}

/// How long the server was watched after the burst.
fn watched_secs(input: &SpikeInput) -> f64 {
    let settling = input.settling.as_ref();
    let before = settling.map_or(0.0, |part| part.calls.duration_secs);
    before + input.recovery.duration_secs
}

/// How long nothing at all was answered at the end.
fn silence_secs(input: &SpikeInput) -> f64 {
    if input.recovery.ended_per_s > 0.0 {
        return 0.0;
    }
    let settling = input.settling.as_ref();
    match settling.filter(|part| part.calls.ended_per_s > 0.0) {
        Some(_) => input.recovery.duration_secs,
        None => watched_secs(input),
    }
}

/// Whether the server may only pause, as it did before the burst.
fn is_pause(input: &SpikeInput, what: Aftermath) -> bool {
    what == Aftermath::Stopped && silence_secs(input) < PAUSES_MAX * input.longest_pause_secs
}

fn is_short(recovery: &PhaseCalls) -> bool {
    recovery.duration_secs < RECOVERY_SECS_MIN
}

/// Whether most of the calls that ended after the burst are of the burst, and the server is about as fast as before.
fn works_off_queue(baseline: &PhaseCalls, recovery: &PhaseCalls) -> bool {
    let ended = recovery.ended_per_s * recovery.duration_secs;
    baseline.calls >= CALLS_MIN
        && recovery.calls > 0
        && ended >= float(CALLS_MIN)
        && ended >= 2.0 * float(recovery.calls)
        && recovery.ended_per_s >= RECOVERED_SHARE * baseline.ended_per_s
}

/// How many times longer the median call takes.
fn growth(tool: &ToolRecovery) -> f64 {
    ratio(tool.after.p50_ms, tool.before.p50_ms).unwrap_or_default()
}

fn is_slower(tool: &ToolRecovery) -> bool {
    let (before, after) = (tool.before, tool.after);
    after.p50_ms >= LATENCY_FACTOR * before.p50_ms
        && after.p50_ms >= before.p50_ms + LATENCY_EXCESS_MS
        && after.p25_ms > before.p75_ms
}

fn fails_more(before: &PhaseCalls, after: &PhaseCalls) -> bool {
    let rise = rise_at_least((before.errors, before.calls), (after.errors, after.calls));
    before.calls.min(after.calls) >= CALLS_MIN
        && after.errors >= ERRORS_MIN
        && rise.is_some_and(|rise| rise > ERROR_SHARE_RISE_MAX)
}

/// The verdict `spike_recovery`.
pub fn verdict(report: &SpikeReport) -> Verdict {
    let mut verdict = match (report.stays, &report.slowest_tool) {
        (Some(Aftermath::Errors), _) => {
            let [before, _, after] = report
                .phases()
                .map(|(_, phase)| percent(error_share(phase)));
            not_recovered(
                report,
                &sentence!("{after} of the calls after it fail, {before} before."),
                "look at the categories of the errors, and for limits that stay reached after the burst: pools, files, circuit breakers",
            )
        }
        (Some(Aftermath::Latency), Some(tool)) => not_recovered(
            report,
            &sentence!(
                "a call of {} takes {} after it at the median, {} before.",
                quoted(&tool.tool),
                milliseconds(tool.after.p50_ms),
                milliseconds(tool.before.p50_ms)
            ),
            "look for work and memory that the burst leaves behind: queues, caches, retries; a longer run shows whether it recovers later",
        ),
        (Some(Aftermath::Stopped), _) => {
            let [before, _, after] = report
                .phases()
                .map(|(_, phase)| decimal(phase.ended_per_s, 1));
            not_recovered(
                report,
                &sentence!("{after} calls per second end after it, {before} before."),
                "look for what the burst used up and nothing gives back: threads, connections, locks; a longer run shows whether it recovers later",
            )
        }
        (None, _) if report.doubtful == Some(Aftermath::Stopped) => {
            let [before, _, after] = report
                .phases()
                .map(|(_, phase)| decimal(phase.ended_per_s, 1));
            Verdict::inconclusive(
                ID,
                format!(
                    "{after} calls per second end after the burst, {before} before, but other work on this machine can explain that."
                ),
                machine::quiet_hint(),
            )
        }
        (None, _) if !report.overflows && works_off_queue(&report.baseline, &report.recovery) => {
            let (before, after) = (report.baseline.ended_per_s, report.recovery.ended_per_s);
            let [after, before] = [after, before].map(|per_s| decimal(per_s, 1));
            Verdict::pass(
                ID,
                format!(
                    "The server works off the queue of the burst: {after} calls per second end after it, {before} before."
                ),
            )
        }
        (None, Some(tool)) if report.burst.calls > 0 => recovered(report, tool),
        _ => unknown(report),
    };
    for (name, phase) in report.phases() {
        verdict = verdict
            .number(format!("{name}_calls"), phase.calls)
            .number(
                format!("{name}_error_share"),
                share(phase.errors, phase.calls),
            )
            .number(format!("{name}_ended_per_s"), finite(phase.ended_per_s))
            .number(format!("{name}_p50_ms"), phase.p50_ms);
    }
    verdict
        .number("burst_p99_ms", report.burst.p99_ms)
        .number("burst_p99_to_p50", report.burst_p99_to_p50)
}

pub const ID: &str = "spike_recovery";

/// That the server is not what it was; where it was not watched for long, it may be later.
fn not_recovered(report: &SpikeReport, what: &Message, hint: &'static str) -> Verdict {
    let Some(watched) = report.watched_secs else {
        let sentence = sentence!("The server does not recover from the burst: {what}");
        return Verdict::critical(ID, sentence, hint);
    };
    let watched = decimal(watched, 1);
    Verdict::warning(
        ID,
        sentence!("The server has not recovered from the burst within {watched} s: {what}"),
        sentence!(
            "let the run last longer ({}), so that at least {} s after the burst show whether it recovers later",
            setting("duration"),
            decimal(PATIENCE_SECS, 0)
        ),
    )
}

impl SpikeReport {
    fn phases(&self) -> [(&'static str, &PhaseCalls); 3] {
        [
            ("baseline", &self.baseline),
            ("burst", &self.burst),
            ("recovery", &self.recovery),
        ]
    }
}

fn recovered(report: &SpikeReport, tool: &ToolRecovery) -> Verdict {
    if report.doubtful == Some(Aftermath::Latency) {
        return Verdict::inconclusive(
            ID,
            sentence!(
                "A call of {} takes {} after the burst at the median, {} before, but other work on this machine can explain that.",
                quoted(&tool.tool),
                milliseconds(tool.after.p50_ms),
                milliseconds(tool.before.p50_ms)
            ),
            machine::quiet_hint(),
        );
    }
    if is_short(&report.recovery) && is_slower(tool) {
        return Verdict::inconclusive(
            ID,
            format!(
                "Calls take longer after the burst, but {} s of them are not enough to distinguish a slow server from a busy machine.",
                decimal(report.recovery.duration_secs, 2)
            ),
            sentence!(
                "leave at least 1 s after the burst: let the run last longer ({})",
                setting("duration")
            ),
        );
    }
    let medians = sentence!(
        "{} takes {} at the median, {} before",
        quoted(&tool.tool),
        milliseconds(tool.after.p50_ms),
        milliseconds(tool.before.p50_ms)
    );
    let within = report.recovered_within_secs.map_or(String::new(), |secs| {
        format!(" within {} s", decimal(secs, 1))
    });
    if !report.overflows {
        let sentence = sentence!("The server recovers from the burst{within}: after it {medians}.");
        return Verdict::pass(ID, sentence);
    }
    let [before, burst, _] = report
        .phases()
        .map(|(_, phase)| percent(error_share(phase)));
    Verdict::warning(
        ID,
        sentence!(
            "The burst is too much for the server: {burst} of its calls fail, {before} before; after it the server recovers{within} ({medians})."
        ),
        "let calls wait in a longer queue, or send clients a time to retry",
    )
}

fn unknown(report: &SpikeReport) -> Verdict {
    if report.burst.calls == 0 {
        return Verdict::inconclusive(
            ID,
            "The run ended before the burst, so nothing is known about it.",
            sentence!(
                "let the run last until after the burst: without {}, or with more",
                setting("calls")
            ),
        );
    }
    let [before, _, after] = report
        .phases()
        .map(|(_, phase)| counted(phase.calls.saturating_sub(phase.errors), "call"));
    Verdict::inconclusive(
        ID,
        format!(
            "No tool was called often enough to compare: {before} did not fail before the burst and {after} after it, and {CALLS_MIN} successful ones of a tool are needed."
        ),
        sentence!(
            "let the run last longer, or leave more time after the burst ({}, {})",
            setting("spike_at"),
            setting("spike_duration")
        ),
    )
}

fn error_share(phase: &PhaseCalls) -> f64 {
    share(phase.errors, phase.calls).unwrap_or_default()
}

#[cfg(test)]
mod tests;
