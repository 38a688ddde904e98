//! What sessions leave behind when they come and go (the `churn` and `reconnect` scenarios).
//!
//! Two questions, each its own verdict:
//!
//! - **`session_leak`**: does the server keep something of every session? Lines are fitted to its
//!   open descriptors, threads, processes and memory over time ([`growth`](crate::growth), after the warm-up of
//!   [`leak`]). Descriptors leak when they grow by at least 20, by at least
//!   half a descriptor per abandoned session (per opened one when none was abandoned), R² ≥ 0.5, and still grow at the end;
//!   threads and processes by the same rule.
//!   Memory leaks by the leak rule; and by less than its threshold, when it grows by at least 5 MB and 50 kB per session, in
//!   proportion to the sessions (R² ≥ 0.8), and still grows at the end: a warning, for a garbage collector may be due, and
//!   critical from 500 sessions on.
//!   Where less than half of that growth goes on while further sessions are all closed in order, the server keeps only
//!   abandoned ones, perhaps until a timeout: a warning.
//! - **`leftovers`**: do processes outlive their session? One is one too many. Ended processes that
//!   nobody reaped (zombies) hold only a table slot: a warning.

use crate::growth::{Ending, Growth, Progress};
use crate::leak::{self, LeakOutcome, LeakReport, LeakSettings, Served};
use crate::prelude::*;
use crate::regression::R_SQUARED_MIN;

pub const LEFTOVERS: &str = "leftovers";

/// The detector of sessions that are never released.
pub const SESSION_LEAK: &str = "session_leak";

/// Descriptors per ended session from which they leak.
pub const DESCRIPTORS_PER_SESSION_MIN: f64 = 0.5;
/// Descriptors in all below which a growth is no leak.
pub const DESCRIPTORS_MIN: f64 = 20.0;

/// Memory per session from which it may leak, and in all, in MB.
pub const SESSION_MB_MIN: f64 = 0.05;
pub const SESSIONS_MB_MIN: f64 = 5.0;
/// How well a line must fit where the memory grows by less than the threshold.
const SESSION_R_SQUARED_MIN: f64 = 0.8;
/// Sessions after which a growth below the threshold is no chance any more.
const SESSIONS_CERTAIN: u64 = 500;

/// Sessions from which one may show what another left behind.
pub const SESSIONS_MIN: u64 = 2;

/// How much of the growth must go on while all sessions are closed in order.
const CLOSED_SHARE_MIN: f64 = 0.5;

/// What the server had more after sessions that were all closed in order, which followed the others.
#[data(Copy, Default)]
pub struct ClosedSessions {
    /// How many.
    pub sessions: u64,
    /// How long the others had taken, in seconds.
    pub after_secs: f64,
    /// Memory in MB, descriptors, threads, processes.
    pub growth: [f64; 4],
}

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
    /// Sessions that had been opened at each time.
    pub progress: Progress,
    /// (Time since the start, resident MB) of a server that serves all sessions; empty when unknown.
    pub rss: Vec<(Duration, f64)>,
    /// (Time since the start, open descriptors) of the same; empty when unknown.
    pub descriptors: Vec<(Duration, f64)>,
    /// The same of its threads.
    pub threads: Vec<(Duration, f64)>,
    /// The same of its processes.
    pub processes: Vec<(Duration, f64)>,
    /// Server processes still running after their session ended.
    pub leftovers: u64,
    /// Server processes that ended and were never reaped.
    pub zombies: u64,
    /// What further sessions left behind that were all closed in order.
    pub closed: Option<ClosedSessions>,
}

/// What sessions leave behind.
#[sparse]
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
    /// Whether it grows with the sessions, by however little.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub grows_by_session: bool,
    /// The server's descriptors.
    pub descriptors: DescriptorReport,
    /// Its threads, where they grow with the sessions.
    pub threads: Option<DescriptorReport>,
    /// Its processes, where they grow with the sessions.
    pub processes: Option<DescriptorReport>,
    /// Server processes still running after their session ended.
    pub leftovers: u64,
    /// Server processes that ended and were never reaped.
    pub zombies: u64,
    /// For how many seconds at least it kept abandoned sessions, where it keeps only those.
    pub abandoned_kept_secs: Option<f64>,
}

/// The open descriptors of a server over a run, or its threads or processes.
#[data]
pub struct DescriptorReport {
    /// What the samples say.
    pub outcome: Outcome,
    /// Growth over the sampled time.
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
    let served = Served {
        sessions: input.progress.clone(),
        ..Served::default()
    };
    let growing = |samples| {
        let report = judge_count(samples, input, settings);
        Some(report).filter(|it| it.outcome == Outcome::Finding)
    };
    let mut report = ChurnReport {
        opened: input.opened,
        failed_opens: input.failed_opens,
        abandoned: input.abandoned,
        memory: leak::detect(&input.rss, input.run, settings, &served),
        grows_by_session: grows_by_session(input, settings),
        descriptors: judge_count(&input.descriptors, input, settings),
        threads: growing(&input.threads),
        processes: growing(&input.processes),
        leftovers: input.leftovers,
        zombies: input.zombies,
        abandoned_kept_secs: None,
    };
    let closed = input.closed.filter(|closed| !report.keeps(closed));
    report.abandoned_kept_secs = closed.map(|closed| closed.after_secs.floor());
    report
}

impl ChurnReport {
    /// Whether what grew went on growing while all sessions were closed in order.
    fn keeps(&self, closed: &ClosedSessions) -> bool {
        let left = if self.abandoned > 0 {
            self.abandoned
        } else {
            self.opened
        };
        let left_share = share(left, self.opened).unwrap_or(1.0);
        let leaks_memory =
            self.memory.outcome == LeakOutcome::LeakDetected || self.grows_by_session;
        let per_session = |report: Option<&DescriptorReport>| {
            let found = report.filter(|it| it.outcome == Outcome::Finding)?;
            Some(found.growth_per_session? * left_share)
        };
        let memory = self.memory.growth_per_session_kb.filter(|_| leaks_memory);
        let grown = [
            memory.map(|kilobytes| kilobytes / 1000.0),
            per_session(Some(&self.descriptors)),
            per_session(self.threads.as_ref()),
            per_session(self.processes.as_ref()),
        ];
        let least = CLOSED_SHARE_MIN * float(closed.sessions);
        let mut both = grown.into_iter().zip(closed.growth);
        both.any(|(before, now)| before.is_some_and(|before| now >= least * before))
    }
}

/// Whether the memory grows in proportion to the sessions, and still does at the end.
fn grows_by_session(input: &ChurnInput, settings: &LeakSettings) -> bool {
    let growth = Growth::of(&input.rss, settings.warmup_of(input.run));
    let per_session = growth.per(&input.progress);
    growth.amount >= Some(SESSIONS_MB_MIN)
        && per_session >= Some(SESSION_MB_MIN)
        && growth.fits(SESSION_R_SQUARED_MIN)
        && growth.ending == Ending::Growing
}

/// Whether more sessions would show whether the memory leaks: it has grown so far, from the second half of (sessions
/// opened, resident MB) alone, and by less than `threshold_mb`.
pub fn needs_more_sessions(readings: &[(u64, f64)], threshold_mb: f64) -> bool {
    let after = |share: u64| {
        let (last, _) = readings.last()?;
        let mut later = readings.iter();
        later.find(|(sessions, _)| sessions * 5 >= last * share)
    };
    let growth = |from: Option<&(u64, f64)>| {
        let ((before, low), (now, high)) = (from?, readings.last()?);
        Some((high - low, ratio(high - low, float(now - before))?))
    };
    // The first fifth is warm-up, as everywhere.
    let (Some((all, _)), Some((_, per_session))) = (growth(after(1)), growth(after(3))) else {
        return false;
    };
    (SESSIONS_MB_MIN..threshold_mb).contains(&all) && per_session >= SESSION_MB_MIN
}

fn judge_count(
    samples: &[(Duration, f64)],
    input: &ChurnInput,
    settings: &LeakSettings,
) -> DescriptorReport {
    let grown = Growth::of(samples, settings.warmup_of(input.run));
    let growth = grown.amount;
    // Those of the sampled time; of all sessions the same share was abandoned.
    let left = if input.abandoned > 0 {
        input.abandoned
    } else {
        input.opened
    };
    let left_share = share(left, input.opened).unwrap_or(1.0);
    let sessions = match grown.during(&input.progress) {
        Some(opened) => opened * left_share,
        None => float(left),
    };
    let least = DESCRIPTORS_MIN.max(DESCRIPTORS_PER_SESSION_MIN * sessions);
    DescriptorReport {
        outcome: Outcome::of(
            growth.map(|growth| growth < least || grown.ending == Ending::Flat),
            grown.fits(R_SQUARED_MIN) && grown.ending == Ending::Growing,
        ),
        growth,
        growth_per_session: growth.and_then(|growth| ratio(growth, sessions)),
        r_squared: grown.trend.line.map(|line| line.r_squared),
        samples: grown.trend.samples,
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
    let descriptors = match decimal(more(report.descriptors.growth), 0) {
        one if one == "1" => "1 descriptor".to_owned(),
        many => format!("{many} descriptors"),
    };
    let memory = memory_kept(&report.memory);
    let leaks_descriptors = report.descriptors.outcome == Outcome::Finding;
    let leaks_memory = report.memory.outcome == LeakOutcome::LeakDetected;
    let counted_of = |report: Option<&DescriptorReport>, noun| {
        Some(format!("{} {noun}", decimal(more(report?.growth), 0)))
    };
    let kept: Vec<String> = [
        counted_of(report.processes.as_ref(), "processes"),
        counted_of(report.threads.as_ref(), "threads"),
        leaks_descriptors.then(|| descriptors.clone()),
        leaks_memory.then(|| memory.clone()),
    ]
    .into_iter()
    .flatten()
    .collect();
    let verdict = if report.opened < SESSIONS_MIN {
        too_few_opened(SESSION_LEAK, report.opened)
    } else if let Some(secs) = report
        .abandoned_kept_secs
        .filter(|_| !kept.is_empty() || report.grows_by_session)
    {
        Verdict::warning(
            SESSION_LEAK,
            format!(
                "The server keeps sessions for at least {} s after their client left without a goodbye ({descriptors} and {memory} more after {sessions}); those that are closed in order it releases.",
                decimal(secs, 0)
            ),
            "end sessions that are idle, so that clients which crash cannot fill the server",
        )
    } else if let Some((last, others)) = kept.split_last() {
        let what = match others {
            [] => last.clone(),
            others => format!("{} and {last}", others.join(", ")),
        };
        Verdict::critical(
            SESSION_LEAK,
            format!("The server keeps resources of every session: {what} more after {sessions}."),
            RELEASE_HINT,
        )
    } else if report.grows_by_session {
        let severity = if report.opened >= SESSIONS_CERTAIN {
            Severity::Critical
        } else {
            Severity::Warning
        };
        Verdict::finding(
            SESSION_LEAK,
            severity,
            format!(
                "The server's memory grows with every session: {memory} more after {sessions}, and still growing."
            ),
            RELEASE_HINT,
        )
    } else if report.descriptors.outcome == Outcome::Pass
        && (report.memory.outcome == LeakOutcome::NoLeak || report.memory.growth_mb.is_none())
    {
        Verdict::pass(
            SESSION_LEAK,
            format!("The server releases its sessions: {descriptors} more after {sessions}."),
        )
    } else if report.memory.outcome == LeakOutcome::NoLeak && report.descriptors.growth.is_none() {
        Verdict::pass(
            SESSION_LEAK,
            format!(
                "The server releases its sessions: {memory} more after {sessions}; its descriptors are not known."
            ),
        )
    } else if report.memory.growth_mb.is_none() && report.descriptors.growth.is_none() {
        Verdict::inconclusive(
            SESSION_LEAK,
            "The server's memory and descriptors were not sampled often enough to detect a leak of sessions.",
            "run longer, against a server that mcprove starts itself",
        )
    } else {
        Verdict::inconclusive(
            SESSION_LEAK,
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
        .number(
            "rss_growth_per_session_kb",
            report.memory.growth_per_session_kb,
        )
        .number("rss_r_squared", report.memory.r_squared)
}

/// What to do about sessions that are kept.
const RELEASE_HINT: &str = "free what a session holds when its connection closes, also when it ends without notice: sockets, streams, tasks, entries in a map";

/// `20 MB (200 kB per session)`; fewer than before is none more.
fn memory_kept(memory: &LeakReport) -> String {
    let kept = format!(
        "{} MB",
        decimal(memory.growth_mb.unwrap_or_default().max(0.0), 1)
    );
    match memory.growth_per_session_kb {
        Some(kilobytes) if kilobytes >= 1.0 => {
            format!("{kept} ({} kB per session)", decimal(kilobytes, 0))
        }
        _ => kept,
    }
}

fn leftovers(report: &ChurnReport) -> Verdict {
    let sessions = counted(report.opened, "session");
    let verdict = if report.leftovers > 0 {
        Verdict::critical(
            LEFTOVERS,
            format!(
                "Server processes outlive their session: {} still running after {sessions}.",
                report.leftovers
            ),
            "end the process when its stdin closes, and its children with it",
        )
    } else if report.zombies > 0 {
        Verdict::warning(
            LEFTOVERS,
            format!(
                "The server does not reap its children: {} left after {sessions}.",
                counted(report.zombies, "zombie")
            ),
            "wait for every child process that the server starts",
        )
    } else if report.opened < SESSIONS_MIN {
        too_few_opened(LEFTOVERS, report.opened)
    } else {
        Verdict::pass(
            LEFTOVERS,
            format!("No process outlived its session: {sessions} ended cleanly."),
        )
    };
    verdict.numbers_of(report, &["leftovers", "zombies"])
}

#[cfg(test)]
mod tests;
