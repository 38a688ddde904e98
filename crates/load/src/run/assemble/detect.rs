//! What the detectors find in any run.

use mcprove_score::{coverage, deadlock, generator, head_of_line, isolation, starts};
use mcprove_settings::message::tee_stderr;
use mcprove_trace::panic_guard::contain_call;

use super::{count_of, without_answer};
use crate::drive::scenario::ProbeFact;
use crate::prelude::*;

/// The share of calls that may fail to start in the open model.
const DROPPED_SHARE_MAX: f64 = 0.05;

impl RunFacts<'_> {
    /// What the detectors find.
    pub fn detect(&self, report: &mut Report) -> FactResult {
        self.detect_generator(report)?;
        self.detect_isolation(report)?;
        self.detect_deadlock(report)?;
        report.verdicts.extend(self.detect_hangs_alone());
        self.conclude(report)?;
        self.detect_head_of_line(report)?;
        self.detect_resource_leaks(report);
        self.detect_violations(report)?;
        report.verdicts.extend(self.detect_stray_cancels()?);
        report.verdicts.extend(self.detect_revision()?);
        report.verdicts.extend(self.detect_expired_sessions());
        report.verdicts.extend(self.detect_lost_lists()?);
        let limit = self.header.thresholds.error_rate;
        let starts = report.starts.as_ref();
        let starts = starts.and_then(|starts| starts::verdict(starts, limit));
        report.verdicts.extend(starts);
        report.verdicts.extend(self.detect_lost_sessions()?);
        report.verdicts.extend(self.detect_stays());
        report.verdicts.extend(self.detect_bad_ends());
        report.verdicts.extend(self.detect_errors(report));
        report.verdicts.extend(self.detect_rate_limit(report));
        report.verdicts.extend(self.detect_dropped(report));
        self.detect_faults(report);
        let tools: ToolsFact = self.first()?.unwrap_or_default();
        let successes = self
            .metrics
            .tools_of(|_| true)
            .into_iter()
            .map(|(name, calls)| (name, calls.succeeded()));
        let callable = tools.callable.as_deref();
        report.coverage = coverage::coverage(&tools.names, &successes.collect(), callable);
        report.skipped_tools = tools.skipped;
        let checks = self.checks.iter().cloned();
        report.verdicts.extend(checks.map(Verdict::from));
        self.drop_told_failures(report);
        Ok(())
    }

    /// Calls that hang and starts that fail since the scenario did something to the server are no findings of their own
    /// beside that.
    fn drop_told_failures(&self, report: &mut Report) {
        let Some(detector) = self.judging().failures_told_by else {
            return;
        };
        for (number, told) in [("failed_calls", deadlock::ID), ("failed_opens", starts::ID)] {
            let is_told = |verdict: &Verdict| {
                let failed = verdict.numbers.get(number).and_then(Value::as_u64);
                verdict.detector == detector
                    && verdict.is_failure()
                    && failed.is_none_or(|it| it > 0)
            };
            if report.verdicts.iter().any(is_told) {
                report.verdicts.retain(|verdict| {
                    verdict.detector != told || verdict.outcome != Outcome::Finding
                });
            }
        }
    }

    /// What the scenario concludes. One of another crate may panic, which is a finding of ours.
    fn conclude(&self, report: &mut Report) -> FactResult {
        let scenario = &self.header.scenario.kind;
        contain_call(|| scenario.as_type().conclude(self, report)).unwrap_or_else(|words| {
            let name = scenario.name();
            report.verdicts.push(Verdict::critical(
                "scenario",
                format!("The scenario {name} panicked when it drew its conclusion: {words}."),
                sentence!("correct its `conclude`, and compute the report again from the trace"),
            ));
            Ok(())
        })
    }

    fn detect_generator(&self, report: &mut Report) -> FactResult {
        let drivers: Vec<DriverFact> = self.all()?;
        let count = drivers.iter().map(|driver| driver.drivers).max();
        let busiest = drivers
            .iter()
            .filter_map(|driver| driver.cpu_share)
            .max_by(f64::total_cmp);
        let calibration: Option<CalibrationFact> = self.first()?;
        let calibration = calibration.and_then(|calibration| calibration.per_s);
        let (mut starts, mut missed) = (None, None);
        let mut rate = generator::LoadRate::Reached(report.throughput.requests_per_sec);
        if let Some(asked) = self.header.scenario.load.rate {
            starts = Some(generator::Starts {
                due: self.endings.iter().map(|ending| ending.taken_up).sum(),
                late: self.endings.iter().map(|ending| ending.taken_up_late).sum(),
            });
            let paced = self.load_ended.map(|ended| ended.paced);
            missed = paced.and_then(|paced| share(paced.missed, paced.due));
            let rates = report.phases.iter().filter_map(|phase| phase.rate);
            rate = generator::LoadRate::Scheduled(rates.fold(asked, f64::max));
        }
        let drivers = count.unwrap_or(0);
        report.generator = generator::judge(busiest, drivers, starts, missed, calibration, rate);
        Ok(())
    }

    fn detect_isolation(&self, report: &mut Report) -> FactResult {
        let found: Vec<IsolationFact> = self.all()?;
        let isolation = &mut report.isolation;
        let mut foreign = BTreeMap::<&str, ForeignTokens>::new();
        for fact in &found {
            isolation.checked += fact.checked;
            isolation.crossed += fact.crossed;
            isolation.unchecked += fact.unchecked;
            isolation.lost += fact.lost;
            for (tool, tokens) in &fact.foreign {
                // They count by what the tool does alone.
                isolation.crossed = isolation.crossed.saturating_sub(tokens.crossed);
                let sum = foreign.entry(tool).or_default();
                sum.crossed += tokens.crossed;
                sum.stale += tokens.stale;
            }
        }
        let controls: Vec<TokenControlFact> = self.all()?;
        let stored = controls.iter().map(|fact| fact.tool.as_str());
        let tools: BTreeSet<&str> = foreign.keys().copied().chain(stored).collect();
        for tool in tools {
            let of_tool = controls.iter().filter(|fact| fact.tool == tool);
            let control = isolation::control_of(of_tool.map(|fact| fact.control));
            let tokens = foreign.get(tool).copied().unwrap_or_default();
            isolation.add_tool(tool, control, tokens);
        }
        for compared in self.all::<ComparedRepliesFact>()? {
            isolation.compared += compared.same;
            isolation.altered += compared.altered;
            isolation.crossed += compared.crossed;
        }
        let examples = self
            .metrics
            .notes_of(CrossedReplyFact::NAME)
            .take(isolation::EXAMPLES_MAX);
        isolation.examples = examples.map(|note| note.message.clone()).collect();
        if isolation.crossed == 0 && !isolation.stored_text.is_empty() {
            isolation.examples.clear();
        }
        let has_replies = report.throughput.successful_requests > 0;
        if !found.is_empty() && has_replies {
            report.verdicts.push(isolation::verdict(isolation));
        }
        Ok(())
    }

    /// Fast tools that wait for slow ones, unless the scenario is about that itself.
    fn detect_head_of_line(&self, report: &mut Report) -> FactResult {
        // Runs before there were control calls had nothing to compare with.
        if report.head_of_line.is_none() && self.tools.len() >= 2 && self.phase(CONTROL).is_some() {
            let mix = self.load_mix(report, &self.tools)?;
            report.verdicts.extend(head_of_line::load_verdict(&mix));
        }
        Ok(())
    }

    /// How long each tool of a load took in it, alone, and beside a slow one.
    pub fn load_mix(
        &self,
        report: &Report,
        loaded: &BTreeMap<String, CallMetrics>,
    ) -> FactResult<head_of_line::LoadMix> {
        let beside: Option<BesideFact> = self.first()?;
        let median = |calls: &CallMetrics| {
            let nanoseconds = calls.latency_ns.value_at_quantile(0.5);
            (calls.succeeded() > 0).then(|| as_milliseconds(Duration::from_nanos(nanoseconds)))
        };
        let median_in = |phases: &[&str], tool: &str| {
            let mut calls = CallMetrics::default();
            for phase in phases {
                let tools = self.tools_in(phase);
                if let Some(more) = tools.and_then(|tools| tools.get(tool)) {
                    calls.add(more);
                }
            }
            median(&calls)
        };
        Ok(head_of_line::LoadMix {
            tools: loaded
                .iter()
                .map(|(name, calls)| head_of_line::ToolTimes {
                    name: name.clone(),
                    alone_p50: median_in(&[CONTROL, ALONE], name),
                    loaded_p50: median(calls),
                    beside_p50: median_in(&[BESIDE], name),
                })
                .collect(),
            concurrent: report.scenario_kind.concurrent(),
            // The first sample has no time before it to tell a share of.
            busy_share: beside
                .filter(|_| report.process.samples.len() > 1)
                .map(|beside| report.process.avg_cpu_pct / 100.0 / f64::from(beside.cores.max(1))),
        })
    }

    fn detect_deadlock(&self, report: &mut Report) -> FactResult {
        if let Some(ProbeFact(probe)) = self.first()? {
            report.verdicts.push(deadlock::verdict(&probe));
            report.deadlock = Some(probe);
            return Ok(());
        }
        let found: Vec<DeadlockFact> = self.all()?;
        let (kinds, stuck): (Vec<_>, Vec<_>) =
            found.into_iter().map(|one| (one.kind, one.tool)).unzip();
        let queued: Vec<QueuedFact> = self.all()?;
        let timed_out = self.timed_out();
        let late: &[ErrorCategory] = match timed_out {
            1.. if self.deadlocks() == 0 && queued.is_empty() => &[ErrorCategory::Timeout],
            _ => &[ErrorCategory::Deadlock, ErrorCategory::Hang],
        };
        let measured = self.tools.iter().filter(|(_, calls)| {
            late.iter()
                .any(|category| calls.errors.contains_key(category))
        });
        let all = self.metrics.tools_of(|_| self.reports_unanswered());
        let unanswered = all.iter().filter(|(_, calls)| without_answer(calls) > 0);
        let tools: BTreeSet<String> = measured
            .chain(unanswered)
            .map(|(name, _)| name.clone())
            .chain(stuck)
            .chain(queued.into_iter().map(|call| call.tool))
            .collect();
        let calls = deadlock::LoadCalls {
            sent: self.total.sent,
            deadlocks: self.deadlocks(),
            overtaken: report.isolation.lost,
            queued: self.queued(),
            timed_out,
            late: self.late(),
            unanswered: self.unanswered(),
            hung: self.hung_unanswered(),
            limits: self
                .header
                .scenario
                .kind
                .hang_limits(&self.header.thresholds),
        };
        // Bad input is sent instead of calls: whether it wedges the server is told by `fuzz`.
        if !self.judging().sends_bad_input {
            let tools: Vec<String> = tools.into_iter().collect();
            let verdict = deadlock::load_verdict(&calls, &tools, &kinds);
            report.verdicts.push(self.and_injected_hangs(verdict));
        }
        Ok(())
    }

    /// Control calls that were answered late, of tools that are fast under load.
    fn detect_hangs_alone(&self) -> Option<Verdict> {
        let mut hung = BTreeMap::<&String, u64>::new();
        let phases = self.control_phases();
        let tools = phases.filter_map(|phase| self.metrics.phases.get(&phase.index));
        for (tool, calls) in tools.flatten() {
            *hung.entry(tool).or_default() += count_of(calls, ErrorCategory::Hang);
        }
        let of_load = |tool: &String| {
            let calls = self.tools.get(tool)?;
            let is_timely = calls.succeeded() > 0 && count_of(calls, ErrorCategory::Hang) == 0;
            is_timely.then(|| Duration::from_nanos(calls.latency_ns.max()))
        };
        let hung = hung.into_iter().filter_map(|(tool, calls)| {
            Some(deadlock::HungAlone {
                tool: tool.clone(),
                calls,
                slowest_in_load: of_load(tool)?,
            })
        });
        let scenario = &self.header.scenario.kind;
        let limits = scenario.hang_limits(&self.header.thresholds);
        deadlock::alone_verdict(&hung.collect::<Vec<_>>(), &limits)
    }

    /// Sessions that were given up, because the server did not come back.
    fn detect_lost_sessions(&self) -> FactResult<Option<Verdict>> {
        let count = self.lost_sessions()?;
        let reason = self
            .metrics
            .notes_of(ConnectFailedFact::NAME)
            .last()
            .map_or(String::new(), |note| format!(" ({})", note.message));
        let verdict = Verdict::critical(
            "unreachable",
            format!(
                "The server did not come back: {} of its sessions {} given up{reason}.",
                phrase::whole(count),
                if count == 1 { "was" } else { "were" }
            ),
            "look at why it ended; what was measured until then is in the report",
        );
        Ok((count > 0).then(|| verdict.number("sessions", count)))
    }

    /// Servers that did not exit when their input closed.
    fn detect_stays(&self) -> Option<Verdict> {
        let count = self.metrics.count_notes(StayedFact::NAME);
        let first = self.metrics.notes_of(StayedFact::NAME).next()?;
        let verdict = Verdict::warning(
            "ending",
            format!(
                "The server did not exit within {} after its input closed; it had to be terminated ({}).",
                first.message,
                times(count)
            ),
            "exit when reading stdin returns end of file",
        );
        Some(verdict.number("processes", count))
    }

    /// Servers that ended with a signal or a status that is no success when their input closed.
    fn detect_bad_ends(&self) -> Option<Verdict> {
        let count = self.metrics.count_notes(EndedBadlyFact::NAME);
        let first = self.metrics.notes_of(EndedBadlyFact::NAME).next()?;
        let verdict = Verdict::warning(
            "ending",
            format!(
                "At the end of a session {} ({}).",
                first.message,
                times(count)
            ),
            sentence!(
                "exit with status 0 when reading stdin returns end of file; the server's stderr says what went wrong{}",
                tee_stderr()
            ),
        );
        Some(verdict.number("processes", count))
    }

    /// Calls of the open model that could not start because the server did not keep up.
    fn detect_dropped(&self, report: &Report) -> Option<Verdict> {
        let due = self.load_ended.map_or(0, |ended| ended.paced.due);
        let dropped = report.dropped.saturating_sub(report.missed);
        let rate = share(dropped, due).filter(|rate| *rate >= DROPPED_SHARE_MAX)?;
        let not_started = format!(
            "{} of {} calls ({:.1} %) could not start",
            phrase::whole(dropped),
            phrase::whole(due),
            rate * 100.0
        );
        // A generator at its limit leaves calls waiting too.
        let verdict = if report.generator.limited {
            Verdict::inconclusive(
                DROPPED,
                format!(
                    "{not_started}, but the load generator itself was the limit, so whether the server keeps up with the rate is inconclusive."
                ),
                sentence!(
                    "lower {} until the generator is no longer the limit",
                    setting("rate")
                ),
            )
        } else if self.calls_met_faults() > 0 {
            // Calls that faults hold up take the places of others.
            Verdict::inconclusive(
                DROPPED,
                format!(
                    "{not_started}, but calls that injected faults held up took their places, so whether the server keeps up with the rate is inconclusive."
                ),
                sentence!(
                    "raise {}, lower {}, or aim the faults at fewer calls",
                    setting("max_in_flight"),
                    setting("hang_timeout")
                ),
            )
        } else {
            Verdict::finding(
                DROPPED,
                // What a ramp is for: to find the rate that is too much.
                critical_if(!self.judging().expects_errors),
                format!("The server does not keep up with the rate: {not_started}."),
                sentence!(
                    "lower {} to find what it can take, or raise {} if it may queue",
                    setting("rate"),
                    setting("max_in_flight")
                ),
            )
        };
        Some(verdict.number("dropped", dropped).number("due", due))
    }
}

const fn critical_if(is_critical: bool) -> Severity {
    if is_critical {
        Severity::Critical
    } else {
        Severity::Warning
    }
}

pub fn times(count: u64) -> String {
    match count {
        1 => "once".to_owned(),
        count => format!("{count} times"),
    }
}
