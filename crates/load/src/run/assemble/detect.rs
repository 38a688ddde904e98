//! What the detectors find in any run.

use std::collections::BTreeMap;

use mcprove_score::verdict::{Severity, Verdict};
use mcprove_score::{coverage, deadlock, generator, isolation};
use mcprove_settings::message::{message, setting};
use mcprove_settings::phrase;
use mcprove_trace::contained::contain_call;
use mcprove_trace::stream::{CallMetrics, Fact, FactError};
use mcprove_trace::{ErrorCategory, hang};

use super::RunFacts;
use super::figures::share;
use crate::drive::connection_slot::{DeadlockFact, GaveUpFact};
use crate::drive::context::{ConnectFailedFact, StayedFact, ToolsFact, ViolationFact};
use crate::drive::driver::{DriverFact, IsolationFact};
use crate::drive::scenario::ProbeFact;
use crate::drive::worker::CrossedReplyFact;
use crate::run::execution::CalibrationFact;
use crate::run::report::Report;

/// The share of failed calls that is worth a word without a limit, and the share that fails a run.
const ERROR_SHARE_NOTABLE: f64 = 0.05;
const ERROR_SHARE_CRITICAL: f64 = 0.5;
/// The share of calls that may fail to start in the open model.
const DROPPED_SHARE_MAX: f64 = 0.05;

impl RunFacts<'_> {
    /// What the detectors find.
    pub(super) fn detect(
        &self,
        report: &mut Report,
        measured: &CallMetrics,
    ) -> Result<(), FactError> {
        self.detect_generator(report)?;
        self.detect_isolation(report)?;
        self.detect_deadlock(report, measured)?;
        self.conclude(report)?;
        self.detect_violations(report)?;
        Self::detect_broken_calls(report);
        self.detect_lost_sessions(report);
        self.detect_stays(report);
        self.detect_errors(report);
        self.detect_dropped(report);
        self.detect_faults(report);
        let tools: ToolsFact = self.first()?.unwrap_or_default();
        let successes = self.metrics.tools_of(|_| true).into_iter();
        let successes = successes.map(|(name, calls)| (name, calls.succeeded()));
        report.coverage = coverage::coverage(&tools.names, &successes.collect());
        report.skipped_tools = tools.skipped;
        let checks = self.checks.iter().cloned();
        report.verdicts.extend(checks.map(Verdict::from));
        Ok(())
    }

    /// What the scenario concludes. One of another crate may panic, which is a finding of ours.
    fn conclude(&self, report: &mut Report) -> Result<(), FactError> {
        let scenario = &self.header.scenario.kind;
        let concluded = contain_call(|| scenario.as_type().conclude(self, report));
        concluded.unwrap_or_else(|words| {
            let name = scenario.name();
            report.verdicts.push(Verdict::finding(
                "scenario",
                Severity::Critical,
                format!("The scenario {name} panicked when it drew its conclusion: {words}."),
                "correct its `conclude`, and compute the report again from the trace",
            ));
            Ok(())
        })
    }

    fn detect_generator(&self, report: &mut Report) -> Result<(), FactError> {
        let drivers: Vec<DriverFact> = self.all()?;
        let count = drivers.iter().map(|driver| driver.drivers).max();
        let shares = drivers.iter().filter_map(|driver| driver.cpu_share);
        let busiest = shares.max_by(f64::total_cmp);
        let open_rate = self.header.scenario.load.rate;
        let endings = &self.endings;
        let starts = open_rate.map(|_| generator::Starts {
            due: endings.iter().map(|ending| ending.taken_up).sum(),
            late: endings.iter().map(|ending| ending.taken_up_late).sum(),
        });
        let ended = self.load_ended.filter(|_| open_rate.is_some());
        let missed = ended.and_then(|ended| share(ended.paced.missed, ended.paced.due));
        let calibration: Option<CalibrationFact> = self.first()?;
        let calibration = calibration.and_then(|calibration| calibration.per_s);
        let rate = match open_rate {
            Some(rate) => {
                let rates = report.phases.iter().filter_map(|phase| phase.rate);
                generator::LoadRate::Scheduled(rates.fold(rate, f64::max))
            }
            None => generator::LoadRate::Reached(report.throughput.requests_per_sec),
        };
        let drivers = count.unwrap_or(0);
        report.generator = generator::judge(busiest, drivers, starts, missed, calibration, rate);
        Ok(())
    }

    fn detect_isolation(&self, report: &mut Report) -> Result<(), FactError> {
        let found: Vec<IsolationFact> = self.all()?;
        let isolation = &mut report.isolation;
        for fact in &found {
            isolation.checked += fact.checked;
            isolation.crossed += fact.crossed;
            isolation.unchecked += fact.unchecked;
            isolation.lost += fact.lost;
        }
        let examples = self.metrics.notes_of(CrossedReplyFact::NAME);
        let examples = examples.take(isolation::EXAMPLES_MAX);
        isolation.examples = examples.map(|note| note.message.clone()).collect();
        let has_replies = report.throughput.successful_requests > 0 || isolation.lost > 0;
        if !found.is_empty() && has_replies {
            report.verdicts.push(isolation::verdict(isolation));
        }
        Ok(())
    }

    /// Calls that never answered, whatever they were made for.
    pub(super) fn deadlocks(&self) -> u64 {
        let errors = self.metrics.total().errors;
        errors
            .get(&ErrorCategory::Deadlock)
            .copied()
            .unwrap_or_default()
    }

    fn detect_deadlock(
        &self,
        report: &mut Report,
        measured: &CallMetrics,
    ) -> Result<(), FactError> {
        if let Some(ProbeFact(probe)) = self.first()? {
            report.verdicts.push(deadlock::verdict(&probe));
            report.deadlock = Some(probe);
            return Ok(());
        }
        let found: Vec<DeadlockFact> = self.all()?;
        let kinds: Vec<hang::DeadlockKind> = found.iter().map(|one| one.kind).collect();
        let mut tools: Vec<String> = report
            .tools
            .iter()
            .filter(|(_, tool)| {
                let errors = &tool.errors.by_category;
                errors.contains_key(&ErrorCategory::Deadlock)
                    || errors.contains_key(&ErrorCategory::Hang)
            })
            .map(|(name, _)| name.clone())
            .collect();
        tools.extend(found.into_iter().map(|one| one.tool));
        tools.extend(self.unanswered_tools());
        tools.sort();
        tools.dedup();
        let late = measured.errors.get(&ErrorCategory::Hang).copied();
        let calls = deadlock::LoadCalls {
            sent: self.metrics.total().sent,
            deadlocks: self.deadlocks(),
            late: late.unwrap_or_default(),
            unanswered: self.unanswered(),
            hung: self.hung_unanswered(),
        };
        // Bad input is sent instead of calls: whether it wedges the server is told by `fuzz`.
        if calls.sent > 0 || !self.judging().sends_bad_input {
            let verdict = deadlock::load_verdict(&calls, &tools, &kinds);
            report.verdicts.push(self.and_injected_hangs(verdict));
        }
        Ok(())
    }

    fn detect_violations(&self, report: &mut Report) -> Result<(), FactError> {
        let violations: Vec<ViolationFact> = self.all()?;
        let mut counts = BTreeMap::<&str, (u64, &str)>::new();
        for violation in &violations {
            let known = counts
                .entry(&violation.kind)
                .or_insert((0, &violation.example));
            known.0 += violation.count;
        }
        let was_answered = self.metrics.total().succeeded() > 0;
        let verdict = if counts.is_empty() && self.was_killed {
            Verdict::inconclusive(
                "protocol",
                "The run was killed before it noted whether the server kept to the protocol.",
                "let the run end, or interrupt it once (Ctrl-C) and wait",
            )
        } else if counts.is_empty() && self.ending.interrupted && !was_answered {
            Verdict::inconclusive(
                "protocol",
                "No call was answered before the run was interrupted, so little of the protocol could show.",
                "give the run more time",
            )
        } else if counts.is_empty() {
            Verdict::pass("protocol", "The server kept to the protocol.")
        } else {
            let list: Vec<String> = counts
                .iter()
                .map(|(kind, (count, example))| format!("{count} × {kind} (such as: {example})"))
                .collect();
            Verdict::finding(
                "protocol",
                Severity::Critical,
                format!("The server broke the protocol: {}.", list.join("; ")),
                "`mcprove probe` with the same server shows more; keep logs on stderr",
            )
        };
        let total: u64 = counts.values().map(|(count, _)| count).sum();
        report.verdicts.push(verdict.number("violations", total));
        Ok(())
    }

    /// Sessions that were given up, because the server did not come back.
    fn detect_lost_sessions(&self, report: &mut Report) {
        let count = self.metrics.count_notes(GaveUpFact::NAME);
        if count == 0 {
            return;
        }
        let reason = self
            .metrics
            .notes_of(ConnectFailedFact::NAME)
            .last()
            .map_or(String::new(), |note| format!(" ({})", note.message));
        report.verdicts.push(
            Verdict::finding(
                "unreachable",
                Severity::Critical,
                format!(
                    "The server did not come back: {} of its sessions {} given up{reason}.",
                    phrase::whole(count),
                    if count == 1 { "was" } else { "were" }
                ),
                "look at why it ended; what was measured until then is in the report",
            )
            .number("sessions", count),
        );
    }

    /// Servers that did not exit when their input closed.
    fn detect_stays(&self, report: &mut Report) {
        let count = self.metrics.count_notes(StayedFact::NAME);
        let Some(first) = self.metrics.notes_of(StayedFact::NAME).next() else {
            return;
        };
        report.verdicts.push(
            Verdict::finding(
                "ending",
                Severity::Warning,
                format!(
                    "The server did not exit within {} after its input closed; it had to be terminated ({}).",
                    first.message,
                    times(count)
                ),
                "exit when reading stdin returns end of file",
            )
            .number("processes", count),
        );
    }

    /// Many errors, where nobody said how many are too many.
    fn detect_errors(&self, report: &mut Report) {
        // Late answers are what a deadlock probe looks for, and has a verdict of its own on.
        let judged_elsewhere = if self.judging().judges_hangs {
            u64::from(report.hang_count)
        } else {
            0
        };
        let failed = report.errors.total.saturating_sub(judged_elsewhere);
        let Some(rate) = share(failed, report.throughput.total_requests) else {
            return;
        };
        let has_limit = self.header.thresholds.error_rate.is_some();
        let nothing_succeeded = report.throughput.successful_requests == 0;
        if has_limit || nothing_succeeded || rate < ERROR_SHARE_NOTABLE {
            return;
        }
        let severity = if rate >= ERROR_SHARE_CRITICAL {
            Severity::Critical
        } else {
            Severity::Warning
        };
        report.verdicts.push(
            Verdict::finding(
                "errors",
                severity,
                format!("{:.1} % of the calls failed.", rate * 100.0),
                message![
                    "set ",
                    setting("error_rate"),
                    " to change the limit; the errors are listed by category"
                ],
            )
            .number("error_rate", rate),
        );
    }

    /// Calls of the open model that could not start because the server did not keep up.
    fn detect_dropped(&self, report: &mut Report) {
        let due = self.load_ended.map_or(0, |ended| ended.paced.due);
        let dropped = report.dropped.saturating_sub(report.missed);
        let Some(rate) = share(dropped, due).filter(|rate| *rate >= DROPPED_SHARE_MAX) else {
            return;
        };
        // What a ramp is for: to find the rate that is too much.
        let severity = if self.judging().expects_errors {
            Severity::Warning
        } else {
            Severity::Critical
        };
        let not_started = format!(
            "{} of {} calls ({:.1} %) could not start",
            phrase::whole(dropped),
            phrase::whole(due),
            rate * 100.0
        );
        // A generator at its limit leaves calls waiting too.
        let verdict = if report.generator.limited {
            Verdict::inconclusive(
                "dropped",
                format!(
                    "{not_started}, but the load generator itself was the limit, so whether the server keeps up with the rate is inconclusive."
                ),
                message![
                    "lower ",
                    setting("rate"),
                    " until the generator is no longer the limit"
                ],
            )
        } else {
            Verdict::finding(
                "dropped",
                severity,
                format!("The server does not keep up with the rate: {not_started}."),
                message![
                    "lower ",
                    setting("rate"),
                    " to find what it can take, or raise ",
                    setting("max_in_flight"),
                    " if it may queue"
                ],
            )
        };
        let verdict = self.excuse_dropped(verdict, &not_started);
        report
            .verdicts
            .push(verdict.number("dropped", dropped).number("due", due));
    }

    /// Calls that ended in a way that no healthy server lets them end, whatever the limits.
    fn detect_broken_calls(report: &mut Report) {
        let count = |category| {
            let errors = &report.errors.by_category;
            errors.get(&category).copied().unwrap_or_default()
        };
        let crashes = u64::from(report.crash_count);
        if crashes > 0 || count(ErrorCategory::Crash) > 0 {
            let sentence = format!(
                "The server process crashed {} and took {} with it.",
                times(crashes),
                phrase::count(count(ErrorCategory::Crash), "call")
            );
            report.verdicts.push(
                Verdict::finding(
                    "crash",
                    Severity::Critical,
                    sentence,
                    ErrorCategory::Crash.hint(),
                )
                .number("crashes", crashes),
            );
        }
        for (detector, category, what) in [
            (
                "malformed",
                ErrorCategory::Malformed,
                "were answered with something that is not a valid answer",
            ),
            (
                "disconnected",
                ErrorCategory::Disconnected,
                "lost their connection before the answer",
            ),
        ] {
            let failed = count(category);
            if failed > 0 {
                report.verdicts.push(
                    Verdict::finding(
                        detector,
                        Severity::Critical,
                        format!("{} {what}.", phrase::count(failed, "call")),
                        category.hint(),
                    )
                    .number("calls", failed),
                );
            }
        }
    }
}

fn times(count: u64) -> String {
    if count == 1 {
        "once".to_owned()
    } else {
        format!("{count} times")
    }
}
