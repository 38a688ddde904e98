//! What stands at the top of every report: how the run ended, and what was run.

use mcprove_score::deadlock::{self, ProbeSeverity};

use crate::drive::scenario::Shape;
use crate::report::prelude::*;

/// The percentiles that are shown.
pub const QUANTILES: [(&str, f64); 4] =
    [("p50", 0.5), ("p95", 0.95), ("p99", 0.99), ("p999", 0.999)];

/// How a run ended, in one word. A deadlock probe has a severity between passed and failed.
pub fn outcome(report: &Report) -> (Tone, &'static str) {
    let probe = report.deadlock.as_ref();
    let is_warning = probe.is_some_and(|probe| probe.severity == ProbeSeverity::Warning);
    match report.outcome() {
        RunOutcome::Passed if is_warning => (Tone::Unclear, "WARN"),
        RunOutcome::Passed => (Tone::Good, "PASS"),
        RunOutcome::Failed => (Tone::Bad, "FAIL"),
        RunOutcome::Inconclusive => (Tone::Unclear, "INCONCLUSIVE"),
    }
}

/// How a run ended, and why: the sentence of what decided it, and how much else there is.
pub fn verdict(report: &Report) -> Verdict {
    let (tone, word) = outcome(report);
    let calls = counted(report.throughput.total_requests, "call");
    let counts = reasons(report);
    let all = counts.iter().map(|(number, _)| number).sum::<usize>();
    let counts = counts
        .into_iter()
        .map(|(number, noun)| counted(number::count(number), noun));
    let counts = counts.collect::<Vec<String>>().join(", ");
    let mut why = match lead(report) {
        Some(verdict) if all > 1 => Line::of(&verdict.sentence).and(format!(" ({counts})")),
        Some(verdict) => Line::of(&verdict.sentence),
        None if report.outcome() != RunOutcome::Passed => counts.into(),
        None if all > 0 => format!("No critical finding in {calls}: {counts}.").into(),
        None => format!("No finding and no violated limit in {calls}.").into(),
    };
    if report.partial {
        let said = Some(why).filter(|why| !why.text().is_empty());
        let partial = Line::from(partial(report));
        why = Line::join(said.into_iter().chain([partial]), " ");
    }
    Verdict::new(tone, word, why)
}

/// What a report of a part of a run is without.
fn partial(report: &Report) -> String {
    let unreachable = report.verdicts.iter();
    let unreachable = unreachable.filter(|verdict| verdict.detector == "unreachable");
    let given_up = unreachable.filter_map(|verdict| verdict.numbers.get("sessions")?.as_u64());
    let never_open = report.starts.iter();
    let never_open = never_open.filter(|starts| starts.unit == StartUnit::Session);
    let never_open = never_open.map(|starts| starts.planned.saturating_sub(starts.opened));
    let missing = given_up.sum::<u64>() + never_open.sum::<u64>();
    let all = u64::from(report.sessions);
    if report.interrupted || missing == 0 || missing >= all {
        return "Partial: the run ended early.".to_owned();
    }
    let missing = phrase::whole(missing);
    format!(
        "Partial: {missing} of {} were missing.",
        counted(all, "session")
    )
}

/// What the report begins with: what decided how the run ended. A deadlock probe is asked one question.
pub fn lead(report: &Report) -> Option<&mcprove_score::verdict::Verdict> {
    let is_probe = report.scenario_kind.as_type().judging().judges_hangs;
    let mut verdicts = report.verdicts.iter();
    let answer = verdicts.find(|verdict| is_probe && verdict.detector == deadlock::ID);
    let failure = || {
        let mut findings = report.findings().into_iter();
        findings.find(|verdict| report.fail_on.is_failure(verdict))
    };
    match report.outcome() {
        RunOutcome::Failed if report.threshold_violations.is_empty() => answer
            .filter(|verdict| report.fail_on.is_failure(verdict))
            .or_else(failure),
        RunOutcome::Failed => None,
        RunOutcome::Inconclusive => report.inconclusive_gates().next(),
        RunOutcome::Passed => answer,
    }
}

/// How much there is of each kind that is worth a word.
fn reasons(report: &Report) -> Vec<(usize, &'static str)> {
    let findings = report.findings();
    let found = |severity| {
        let found = findings.iter();
        found.filter(|verdict| verdict.severity == severity).count()
    };
    let unclear = |is_limit: bool| {
        let gates = report.inconclusive_gates();
        let gates = gates.filter(|gate| gate.limit().is_some() == is_limit);
        gates.count()
    };
    let mut reasons = vec![
        (report.threshold_violations.len(), "threshold violation"),
        (found(Severity::Critical), "finding"),
        (found(Severity::Warning), "warning"),
        (unclear(true), "unjudged limit"),
        (unclear(false), "unjudged check"),
    ];
    reasons.retain(|(number, _)| *number > 0);
    reasons
}

/// What was run: `Sustained, closed, 50 concurrent, 60s`.
pub fn scenario(report: &Report) -> String {
    let mut parts = vec![title(&report.scenario_kind)];
    if report.scenario_kind.duration().is_some() {
        parts.push(model(report.model).0.to_owned());
    }
    let shape = report.rate.map_or(Shape::Closed, Shape::Open);
    parts.extend(report.scenario_kind.as_type().summary(shape));
    if report.sessions > 1 {
        // What was planned is not what there was.
        let opened = report
            .starts
            .as_ref()
            .filter(|starts| starts.unit == StartUnit::Session && starts.opened < starts.planned)
            .map_or_else(String::new, |starts| format!("{} of ", starts.opened));
        parts.push(format!("{opened}{} sessions", report.sessions));
    }
    parts.join(", ")
}

/// The name of a scenario for people: `Cold start`.
pub fn title(kind: &ScenarioKind) -> String {
    let name = kind.name().replace('_', " ");
    let mut letters = name.chars();
    letters
        .next()
        .into_iter()
        .flat_map(char::to_uppercase)
        .chain(letters)
        .collect()
}

/// What the model is called, and what follows from it.
pub const fn model(model: Model) -> (&'static str, &'static str) {
    match model {
        Model::Closed => (
            "closed",
            "Closed model: each call waits for an answer before the next, so stalls are under-counted.",
        ),
        Model::Open => (
            "open",
            "Open model: calls follow a schedule, and latency counts from the intended start.",
        ),
    }
}

/// What the server calls itself, and the revision and transport: `name 1.0, 2025-11-25 over stdio`.
pub fn server(report: &Report) -> String {
    let info = &report.server_info;
    let join = |parts: [&str; 2], between| {
        parts
            .into_iter()
            .filter(|part| !part.is_empty())
            .collect::<Vec<_>>()
            .join(between)
    };
    let name = join([&info.name, &info.version], " ");
    let spoken = join([&info.protocol, &info.transport], " over ");
    join([&name, &spoken], ", ")
}

/// The share of calls that failed.
pub fn error_rate(report: &Report) -> String {
    known(report.error_rate(), percent)
}

/// The latency at a quantile such as 0.99, if enough samples are beyond it.
pub fn quantile(stats: &LatencyStats, quantile: f64) -> String {
    known(stats.supported(quantile), latency)
}

/// The slowest call, if there was any.
pub fn slowest(stats: &LatencyStats) -> String {
    known(stats.slowest(), latency)
}

#[cfg(test)]
mod tests {
    use mcprove_trace::ErrorCategory;
    use serde_json::json;

    use super::*;
    use crate::drive::Scenario;
    use crate::run::sample::Sample;

    /// A deadlock probe of four calls, of which so many were late.
    fn probe(slow: u32) -> Report {
        let mut sample = Sample::new(Scenario::deadlock_probe().concurrent(4), &["echo"]);
        sample.phase(1, "probe", 4, (0.0, 8.0));
        let severity = if slow > 2 { "WARNING" } else { "PASS" };
        let calls: Vec<_> = (0..4)
            .map(|index| {
                let outcome = if index < slow { "SLOW" } else { "SUCCESS" };
                json!({ "outcome": outcome, "duration_ms": 10.0 })
            })
            .collect();
        let data = json!({
            "outcome": "COMPLETED", "severity": severity, "tool": "echo", "calls": calls,
            "success": 4 - slow, "slow": slow, "deadlock": 0, "error": 0, "kind": null,
        });
        sample.note("deadlock_probe", "", &data);
        for index in 0..4 {
            if index < slow {
                let late = (ErrorCategory::Hang, "answered after 7 s");
                sample.fail(1, "echo", 7.0, 7000.0, late);
            } else {
                sample.call(1, "echo", 1.0, 10.0);
            }
        }
        sample.report(8.0)
    }

    #[test]
    fn a_probe_in_which_most_calls_were_late_warns() {
        let cases = [
            (0, "PASS", RunOutcome::Passed),
            (2, "PASS", RunOutcome::Passed),
            (3, "WARN", RunOutcome::Passed),
            (4, "WARN", RunOutcome::Passed),
        ];
        for (slow, expected, outcome) in cases {
            let report = probe(slow);
            assert_eq!(
                (super::outcome(&report).1, report.outcome()),
                (expected, outcome),
                "{slow} late"
            );
        }
    }

    #[test]
    fn a_report_says_what_it_is_without() {
        let verdict = mcprove_score::verdict::Verdict::critical("unreachable", "Two.", "look");
        let mut report = Report::empty(crate::drive::Scenario::sustained().kind);
        report.sessions = 6;
        assert_eq!(partial(&report), "Partial: the run ended early.");
        report.verdicts = vec![verdict.number("sessions", 2)];
        assert_eq!(partial(&report), "Partial: 2 of 6 sessions were missing.");
        report.interrupted = true;
        assert_eq!(partial(&report), "Partial: the run ended early.");
        // Without any session there was no load to go on with.
        report.interrupted = false;
        report.sessions = 2;
        assert_eq!(partial(&report), "Partial: the run ended early.");
    }
}
