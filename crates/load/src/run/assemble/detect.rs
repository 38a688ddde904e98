//! What the detectors find in any run.

use std::collections::BTreeMap;

use mcprove_score::verdict::{Severity, Verdict};
use mcprove_score::{coverage, deadlock, generator, isolation};
use mcprove_settings::message::{message, setting};
use mcprove_settings::phrase;
use mcprove_trace::stream::CallMetrics;
use mcprove_trace::{ErrorCategory, hang};

use super::Assembly;
use super::figures::share;
use crate::drive::stage::STAYED;
use crate::run::report::Report;

/// The share of failed calls that is worth a word without a limit, and the share that fails a run.
const ERROR_SHARE_NOTABLE: f64 = 0.05;
const ERROR_SHARE_CRITICAL: f64 = 0.5;
/// The share of calls that may fail to start in the open model.
const DROPPED_SHARE_MAX: f64 = 0.05;

impl Assembly<'_> {
    /// What the detectors find.
    pub(super) fn detect(&self, report: &mut Report, measured: &CallMetrics) {
        self.detect_generator(report);
        self.detect_isolation(report);
        self.detect_deadlock(report, measured);
        self.header.scenario.kind.as_type().conclude(self, report);
        self.detect_violations(report);
        Self::detect_broken_calls(report);
        self.detect_lost_sessions(report);
        self.detect_stays(report);
        self.detect_errors(report);
        self.detect_dropped(report);
        self.detect_faults(report);
        let successes = self
            .metrics
            .tools_of(|_| true)
            .into_iter()
            .map(|(name, calls)| (name, calls.succeeded()))
            .collect();
        report.coverage = coverage::coverage(&self.notes.tools.names, &successes);
        report.skipped_tools.clone_from(&self.notes.tools.skipped);
        report
            .verdicts
            .extend(self.notes.checks.iter().map(Verdict::from));
    }

    pub(super) fn detect_generator(&self, report: &mut Report) {
        let drivers = self.notes.drivers.iter().map(|driver| driver.drivers).max();
        let busiest = self
            .notes
            .drivers
            .iter()
            .filter_map(|driver| driver.cpu_share)
            .max_by(f64::total_cmp);
        let is_open = self.header.scenario.load.rate.is_some();
        let endings = &self.notes.endings;
        let starts = is_open.then(|| generator::Starts {
            due: endings.iter().map(|ending| ending.taken_up).sum(),
            late: endings.iter().map(|ending| ending.taken_up_late).sum(),
        });
        let missed = self
            .notes
            .load_ended
            .and_then(|ended| share(ended.missed, ended.due))
            .filter(|_| is_open);
        let calibration = self
            .notes
            .calibration
            .and_then(|calibration| calibration.per_s);
        let rate = match self.header.scenario.load.rate {
            Some(rate) => {
                let rates = report.phases.iter().filter_map(|phase| phase.rate);
                generator::LoadRate::Scheduled(rates.fold(rate, f64::max))
            }
            None => generator::LoadRate::Reached(report.throughput.requests_per_sec),
        };
        let drivers = drivers.unwrap_or(0);
        report.generator = generator::judge(busiest, drivers, starts, missed, calibration, rate);
    }

    pub(super) fn detect_isolation(&self, report: &mut Report) {
        for record in &self.notes.isolation {
            report.isolation.checked += record.checked;
            report.isolation.crossed += record.crossed;
            report.isolation.unchecked += record.unchecked;
            report.isolation.lost += record.lost;
        }
        report.isolation.examples = self
            .metrics
            .notes_of("crossed_reply")
            .take(isolation::EXAMPLES_MAX)
            .map(|note| note.message.clone())
            .collect();
        let has_replies = report.throughput.successful_requests > 0 || report.isolation.lost > 0;
        if !self.notes.isolation.is_empty() && has_replies {
            report.verdicts.push(isolation::verdict(&report.isolation));
        }
    }

    /// Calls that never answered, whatever they were made for.
    pub(super) fn deadlocks(&self) -> u64 {
        let all = self.metrics.total_of(|_| true);
        all.errors
            .get(&ErrorCategory::Deadlock)
            .copied()
            .unwrap_or_default()
    }

    pub(super) fn detect_deadlock(&self, report: &mut Report, measured: &CallMetrics) {
        if let Some(probe) = &self.notes.deadlock_probe {
            report.verdicts.push(deadlock::verdict(probe));
            report.deadlock = Some(probe.clone());
            return;
        }
        let kinds: Vec<hang::DeadlockKind> =
            self.notes.deadlocks.iter().map(|one| one.kind).collect();
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
        tools.extend(self.notes.deadlocks.iter().map(|one| one.tool.clone()));
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
        let is_fuzzer = self.judging().sends_bad_input;
        if calls.sent > 0 || !is_fuzzer {
            let verdict = deadlock::load_verdict(&calls, &tools, &kinds);
            report.verdicts.push(self.and_injected_hangs(verdict));
        }
    }

    pub(super) fn detect_violations(&self, report: &mut Report) {
        let mut counts = BTreeMap::<&str, (u64, &str)>::new();
        for violation in &self.notes.violations {
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
                "`mcprove probe` with the same server tells more; keep logs on stderr",
            )
        };
        let total: u64 = counts.values().map(|(count, _)| count).sum();
        report.verdicts.push(verdict.number("violations", total));
    }

    /// Sessions that were given up, because the server did not come back.
    fn detect_lost_sessions(&self, report: &mut Report) {
        let count = self.metrics.count_notes("seat_gave_up");
        if count == 0 {
            return;
        }
        let reason = self
            .metrics
            .notes_of("connect_failed")
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
        let count = self.metrics.count_notes(STAYED);
        let Some(first) = self.metrics.notes_of(STAYED).next() else {
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
                    "give ",
                    setting("error_rate"),
                    " to say how many may; the errors are listed by category"
                ],
            )
            .number("error_rate", rate),
        );
    }

    /// Calls of the open model that could not start because the server did not keep up.
    fn detect_dropped(&self, report: &mut Report) {
        let due = self.notes.load_ended.map_or(0, |ended| ended.due);
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
                    "{not_started}, but the load generator itself was the limit, so whether the server keeps up with the rate is open."
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
    pub(super) fn detect_broken_calls(report: &mut Report) {
        let count = |category| {
            let errors = &report.errors.by_category;
            errors.get(&category).copied().unwrap_or_default()
        };
        let crashes = u64::from(report.crash_count);
        if crashes > 0 || count(ErrorCategory::Crash) > 0 {
            let sentence = format!(
                "The server process crashed {} and took {} with it.",
                times(crashes),
                calls(count(ErrorCategory::Crash))
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
                "were answered with something that is no valid answer",
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
                        format!("{} {what}.", calls(failed)),
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

fn calls(count: u64) -> String {
    if count == 1 {
        "1 call".to_owned()
    } else {
        format!("{} calls", phrase::whole(count))
    }
}
