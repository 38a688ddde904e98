//! What sessions leave behind when they come and go (the `churn` and `reconnect` scenarios).
//!
//! Two questions, each its own verdict:
//!
//! - **`session_leak`**: does the server keep something of every session? Lines are fitted to its
//!   open descriptors and its memory over time ([`regression`], after the warm-up of
//!   [`leak`]). Descriptors leak when the growth predicted over the run is at least 20, at least
//!   half a descriptor per abandoned session (per opened one when none was abandoned), and R² ≥ 0.5;
//!   memory leaks by the leak rule.
//! - **`leftovers`**: do processes outlive their session? One is one too many. Ended processes that
//!   nobody reaped (zombies) hold only a table slot: a warning.

use crate::leak::{self, LeakOutcome, LeakReport, LeakSettings};
use crate::prelude::*;

/// Descriptors per ended session from which they leak.
pub const DESCRIPTORS_PER_SESSION_MIN: f64 = 0.5;
/// Descriptors in all below which a growth is no leak.
pub const DESCRIPTORS_MIN: f64 = 20.0;

/// Sessions from which one may show what another left behind.
pub const SESSIONS_MIN: u64 = 2;

/// What a churn run saw.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ChurnInput {
    /// How long it ran.
    pub run: Duration,
    /// Sessions opened.
    pub opened: u64,
    /// Sessions that could not be opened.
    pub failed_opens: u64,
    /// Opened sessions that were dropped without a goodbye.
    pub abandoned: u64,
    /// (Time since the start, resident MB) of a server that serves all sessions; empty when unknown.
    pub rss: Vec<(Duration, f64)>,
    /// (Time since the start, open descriptors) of the same; empty when unknown.
    pub descriptors: Vec<(Duration, f64)>,
    /// Server processes still running after their session ended.
    pub leftovers: u64,
    /// Server processes that ended and were never reaped.
    pub zombies: u64,
}

/// What sessions leave behind.
#[data]
pub struct ChurnReport {
    /// Sessions opened.
    pub opened: u64,
    /// Sessions that could not be opened.
    pub failed_opens: u64,
    /// Opened sessions that were dropped without a goodbye.
    pub abandoned: u64,
    /// The server's memory.
    pub memory: LeakReport,
    /// The server's descriptors.
    pub descriptors: DescriptorReport,
    /// Server processes still running after their session ended.
    pub leftovers: u64,
    /// Server processes that ended and were never reaped.
    pub zombies: u64,
}

/// The open descriptors of a server over a run.
#[data]
pub struct DescriptorReport {
    /// What the samples say.
    pub outcome: Outcome,
    /// Predicted growth over the run.
    pub growth: Option<f64>,
    /// The same per session that was abandoned, or opened when none was.
    pub growth_per_session: Option<f64>,
    /// How well the line fits, 0 to 1.
    pub r_squared: Option<f64>,
    /// Samples used.
    pub samples: usize,
}

/// Judges a churn run; `settings` are those of the memory.
pub fn judge(input: &ChurnInput, settings: &LeakSettings) -> ChurnReport {
    ChurnReport {
        opened: input.opened,
        failed_opens: input.failed_opens,
        abandoned: input.abandoned,
        memory: leak::detect(&input.rss, input.run, settings),
        descriptors: judge_descriptors(input, settings),
        leftovers: input.leftovers,
        zombies: input.zombies,
    }
}

fn judge_descriptors(input: &ChurnInput, settings: &LeakSettings) -> DescriptorReport {
    let trend = Trend::of(&input.descriptors, settings.warmup_of(input.run));
    let growth = trend.growth(input.run);
    let sessions = float(if input.abandoned > 0 {
        input.abandoned
    } else {
        input.opened
    });
    let least = DESCRIPTORS_MIN.max(DESCRIPTORS_PER_SESSION_MIN * sessions);
    DescriptorReport {
        outcome: Outcome::of(growth.map(|growth| growth < least), trend.is_steady()),
        growth,
        growth_per_session: growth.and_then(|growth| ratio(growth, sessions)),
        r_squared: trend.line.map(|line| line.r_squared),
        samples: trend.samples,
    }
}

/// The verdicts `session_leak` and `leftovers`.
pub fn verdicts(report: &ChurnReport) -> Vec<Verdict> {
    let numbers = ["opened", "failed_opens", "abandoned"];
    [session_leak(report), leftovers(report)]
        .map(|verdict| verdict.numbers_of(report, &numbers))
        .into()
}

fn too_few_opened(detector: &str, opened: u64) -> Verdict {
    let (sentence, hint) = if opened == 0 {
        (
            "No session could be opened, so there is nothing that one could leave behind.",
            sentence!("read the server's stderr{}", tee_stderr()),
        )
    } else {
        (
            "Only one session was opened, so none followed that could show what another left behind.",
            "give the run more time, or more sessions".into(),
        )
    };
    Verdict::inconclusive(detector, sentence, hint)
}

fn session_leak(report: &ChurnReport) -> Verdict {
    let sessions = counted(report.opened, "session");
    // Fewer than before is none more.
    let more = |growth: Option<f64>| growth.unwrap_or_default().max(0.0);
    let descriptors = decimal(more(report.descriptors.growth), 0);
    let memory = decimal(more(report.memory.growth_mb), 1);
    let leaks_descriptors = report.descriptors.outcome == Outcome::Finding;
    let leaks_memory = report.memory.outcome == LeakOutcome::LeakDetected;
    let verdict = if report.opened < SESSIONS_MIN {
        too_few_opened("session_leak", report.opened)
    } else if leaks_descriptors || leaks_memory {
        let what = match (leaks_descriptors, leaks_memory) {
            (true, true) => format!("{descriptors} descriptors and {memory} MB"),
            (true, false) => format!("{descriptors} descriptors"),
            _ => format!("{memory} MB"),
        };
        Verdict::critical(
            "session_leak",
            format!("The server keeps resources of every session: {what} more after {sessions}."),
            "free what a session holds when its connection closes, also when it ends without notice: sockets, streams, tasks, entries in a map",
        )
    } else if report.descriptors.outcome == Outcome::Pass
        && (report.memory.outcome == LeakOutcome::NoLeak || report.memory.growth_mb.is_none())
    {
        Verdict::pass(
            "session_leak",
            format!(
                "The server releases its sessions: {descriptors} descriptors more after {sessions}."
            ),
        )
    } else if report.memory.outcome == LeakOutcome::NoLeak && report.descriptors.growth.is_none() {
        Verdict::pass(
            "session_leak",
            format!(
                "The server releases its sessions: {memory} MB more after {sessions}; its descriptors are not known."
            ),
        )
    } else if report.memory.growth_mb.is_none() && report.descriptors.growth.is_none() {
        Verdict::inconclusive(
            "session_leak",
            "The server's memory and descriptors were sampled too rarely to tell whether sessions leak.",
            "run longer, against a server that mcprove starts itself",
        )
    } else {
        Verdict::inconclusive(
            "session_leak",
            "The server seems to keep resources of its sessions, but the growth is too uneven to be sure.",
            "run longer, so that the trend stands out",
        )
    };
    verdict
        .number("descriptor_growth", report.descriptors.growth)
        .number(
            "descriptor_growth_per_session",
            report.descriptors.growth_per_session,
        )
        .number("descriptor_r_squared", report.descriptors.r_squared)
        .number("rss_growth_mb", report.memory.growth_mb)
        .number("rss_r_squared", report.memory.r_squared)
}

fn leftovers(report: &ChurnReport) -> Verdict {
    let sessions = counted(report.opened, "session");
    let verdict = if report.leftovers > 0 {
        Verdict::critical(
            "leftovers",
            format!(
                "Server processes outlive their session: {} still running after {sessions}.",
                report.leftovers
            ),
            "end the process when its stdin closes, and its children with it",
        )
    } else if report.zombies > 0 {
        Verdict::warning(
            "leftovers",
            format!(
                "The server does not reap its children: {} left after {sessions}.",
                counted(report.zombies, "zombie")
            ),
            "wait for every child process that the server starts",
        )
    } else if report.opened < SESSIONS_MIN {
        too_few_opened("leftovers", report.opened)
    } else {
        Verdict::pass(
            "leftovers",
            format!("No process outlived its session: {sessions} ended cleanly."),
        )
    };
    verdict.numbers_of(report, &["leftovers", "zombies"])
}

#[cfg(test)]
mod tests;
