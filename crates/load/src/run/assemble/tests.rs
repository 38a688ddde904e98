use mcprove_score::verdict::{Outcome, Severity};
use mcprove_trace::stream::{MetricsSink, Shard, Sink};
use mcprove_trace::{CallFailure, CallTag, ErrorCategory, Event, EventKind, RequestKey};
use serde_json::json;

use super::*;
use crate::drive::Scenario;
use crate::drive::scenario::{BASELINE, ENTRIES, RECOVERY, SPIKE};
use crate::run::Thresholds;
use crate::run::report::RunOutcome;
use crate::run::sample::Sample;

/// A run of which so much is known.
struct Events {
    sink: MetricsSink,
    shard: Box<dyn Shard>,
}

impl Events {
    fn of(scenario: Scenario) -> Self {
        let sink = MetricsSink::new();
        let shard = sink.shard();
        let mut events = Self { sink, shard };
        let header = Header {
            run_id: String::new(),
            started_at_ms: 0,
            seed: 1,
            target: "server".to_owned(),
            scenario,
            thresholds: Thresholds::default(),
            faults: Vec::new(),
            has_trace: true,
        };
        events.note(Header::NAME, &serde_json::to_value(header).unwrap());
        events
    }

    fn record(&mut self, kind: EventKind<'_>) {
        let at = Duration::from_secs(1);
        self.shard.record(&Event { at, kind }).unwrap();
        // Wherever the thread hands over what it has, the sums are the same.
        self.shard.merge().unwrap();
    }

    fn note(&mut self, name: &str, data: &serde_json::Value) {
        let data = data.to_string();
        self.record(EventKind::ScenarioEvent {
            name,
            message: "",
            data: &data,
        });
    }

    fn phase(&mut self) {
        let phase = json!({ "index": 1, "name": "load", "concurrent": 1, "measured": true, "from_secs": 0.0, "until_secs": 30.0 });
        self.note("phase", &phase);
    }

    /// The ending of an open load.
    fn paced(&mut self, due: u64, dropped: u64, late: u64) {
        let ended =
            json!({ "in_flight": 0, "at_secs": 30.0, "dropped": dropped, "missed": 0, "due": due });
        self.note("load_ended", &ended);
        let taken_up = due - dropped;
        let endings = json!({ "by_phase": [taken_up], "unstarted": 0, "taken_up": taken_up, "taken_up_late": late });
        self.note("endings", &endings);
        self.note(
            Ending::NAME,
            &json!({ "duration_secs": 30.0, "interrupted": false }),
        );
    }

    fn call(&mut self, id: u64, has_hung: bool, end: Option<ErrorCategory>) {
        self.call_after(Duration::ZERO, id, has_hung, end);
    }

    fn call_after(&mut self, wait: Duration, id: u64, has_hung: bool, end: Option<ErrorCategory>) {
        let request = RequestKey { session: 0, id };
        let (method, tool) = ("tools/call", Some("echo"));
        let tag = CallTag { phase: 1, wait };
        self.record(EventKind::Request {
            request,
            method,
            tool,
            params: "",
            client_id: "",
            tag,
        });
        let duration = Duration::from_secs(6);
        if has_hung {
            self.record(EventKind::Hang {
                request,
                hung_for: duration,
            });
        }
        if let Some(category) = end {
            self.record(EventKind::Error {
                request,
                method,
                tool,
                duration,
                failure: CallFailure {
                    category,
                    message: "",
                    code: None,
                    server_message: "",
                    answer: "",
                },
                tag,
            });
        }
    }

    fn success(&mut self, id: u64) {
        let request = RequestKey { session: 0, id };
        let (method, tool) = ("tools/call", Some("echo"));
        let tag = CallTag {
            phase: 1,
            wait: Duration::ZERO,
        };
        self.record(EventKind::Request {
            request,
            method,
            tool,
            params: "",
            client_id: "",
            tag,
        });
        self.record(EventKind::Response {
            request,
            method,
            tool,
            duration: Duration::from_millis(1),
            result: "",
            tag,
        });
    }

    fn report(self) -> Report {
        assemble(&self.sink.snapshot(), &[], None).unwrap().unwrap()
    }
}

fn outcome_of(report: &Report, detector: &str) -> Option<Outcome> {
    let mut verdicts = report.verdicts.iter();
    let verdict = verdicts.find(|verdict| verdict.detector == detector);
    verdict.map(|verdict| verdict.outcome)
}

#[test]
fn no_scenario_passes_that_was_killed_before_it_did_anything() {
    for entry in ENTRIES {
        let kind = (entry.build)();
        let report = Events::of(Scenario {
            kind,
            ..Scenario::sustained()
        })
        .report();
        assert_eq!(report.outcome(), RunOutcome::Inconclusive, "{}", entry.name);
        assert!(report.partial && report.interrupted, "{}", entry.name);
        let passed: Vec<_> = report
            .verdicts
            .iter()
            .filter(|verdict| verdict.outcome == Outcome::Pass)
            .collect();
        assert!(passed.is_empty(), "{}: {passed:?}", entry.name);
    }
}

#[test]
fn calls_without_an_answer_are_counted_when_a_run_was_interrupted_or_killed() {
    use ErrorCategory::{Cancelled, Hang, ToolError};
    let cases: [(&[_], _, _, _); 6] = [
        // Given up by us, or by nobody at all; hung, or not yet.
        (
            &[(true, Some(Cancelled)), (false, Some(Cancelled))],
            2,
            1,
            Outcome::Inconclusive,
        ),
        (&[(true, None), (false, None)], 2, 1, Outcome::Inconclusive),
        // Answered late.
        (&[(true, Some(Hang))], 0, 1, Outcome::Finding),
        (
            &[(true, Some(Hang)), (false, None)],
            1,
            1,
            Outcome::Inconclusive,
        ),
        // Failed, after a while or at once.
        (&[(true, Some(ToolError))], 0, 0, Outcome::Pass),
        (&[(false, Some(ToolError))], 0, 0, Outcome::Pass),
    ];
    for (calls, unanswered, hangs, deadlock) in cases {
        for is_killed in [false, true] {
            let mut events = Events::of(Scenario::sustained());
            events.phase();
            for (id, (has_hung, end)) in (1..).zip(calls) {
                events.call(id, *has_hung, *end);
            }
            if !is_killed {
                let ending = json!({ "duration_secs": 7.0, "interrupted": true });
                events.note(Ending::NAME, &ending);
            }
            let report = events.report();
            let label = format!("{calls:?}, killed: {is_killed}");
            assert_eq!(report.unanswered, unanswered, "{label}");
            assert_eq!(report.hang_count, hangs, "{label}");
            assert_eq!(outcome_of(&report, "deadlock"), Some(deadlock), "{label}");
            // A late answer is one.
            let is_answered = matches!(calls, [(_, Some(Hang))]);
            let passes = report.outcome() == RunOutcome::Passed;
            assert_eq!(passes, is_answered, "{label}");
        }
    }
}

/// Calls of a phase, of which so many fail in that way, and then the others succeed.
fn calls_of_phase(
    events: &mut Events,
    index: u16,
    calls: u64,
    failed: u64,
    as_failure: (ErrorCategory, &str),
) {
    let (category, server_message) = as_failure;
    for id in 1..=calls {
        let request = RequestKey {
            session: index.into(),
            id,
        };
        let (method, tool) = ("tools/call", Some("echo"));
        let tag = CallTag {
            phase: index,
            wait: Duration::ZERO,
        };
        events.record(EventKind::Request {
            request,
            method,
            tool,
            params: "",
            client_id: "",
            tag,
        });
        let duration = Duration::from_secs(6);
        events.record(if id <= failed {
            EventKind::Error {
                request,
                method,
                tool,
                duration,
                failure: CallFailure {
                    category,
                    message: server_message,
                    code: Some(-32000),
                    server_message,
                    answer: "",
                },
                tag,
            }
        } else {
            EventKind::Response {
                request,
                method,
                tool,
                duration,
                result: "{}",
                tag,
            }
        });
    }
}

/// A spike with 20 calls in each phase, of which so many fail.
fn spike_report(failed: [u64; 3], as_failure: (ErrorCategory, &str)) -> Report {
    let mut events = Events::of(Scenario::spike());
    let phases = [BASELINE, SPIKE, RECOVERY].into_iter().zip(failed);
    for (index, (name, failed)) in (1..).zip(phases) {
        let from = f64::from(index) * 20.0 - 20.0;
        let phase = json!({ "index": index, "name": name, "concurrent": 1, "measured": true,
            "from_secs": from, "until_secs": from + 20.0 });
        events.note("phase", &phase);
        calls_of_phase(&mut events, index, 20, failed, as_failure);
    }
    events.note(
        Ending::NAME,
        &json!({ "duration_secs": 60.0, "interrupted": false }),
    );
    events.report()
}

#[test]
fn late_answers_and_refusals_are_no_failed_calls_of_a_spike() {
    use ErrorCategory::{Hang, ServerError};
    let cases = [
        (Hang, "", 0),
        (ServerError, "rate limit exceeded", 0),
        (ServerError, "out of order", 20),
    ];
    for (category, server_message, errors) in cases {
        let report = spike_report([0, 0, 20], (category, server_message));
        let recovery = report.spike_recovery.as_ref().unwrap().recovery;
        assert_eq!((recovery.calls, recovery.errors), (20, errors));
        let is_found = outcome_of(&report, "spike_recovery") == Some(Outcome::Finding);
        assert_eq!(is_found, errors > 0, "{category:?}");
    }
}

#[test]
fn calls_that_fail_in_a_burst_or_after_it_are_not_judged_twice() {
    let failure = (ErrorCategory::ServerError, "out of order");
    let report = spike_report([0, 20, 0], failure);
    assert_eq!(outcome_of(&report, "errors"), None);
    assert_eq!(
        outcome_of(&report, "spike_recovery"),
        Some(Outcome::Finding)
    );
    let report = spike_report([0, 0, 20], failure);
    assert_eq!(outcome_of(&report, "errors"), None);
    let report = spike_report([20, 0, 0], failure);
    assert_eq!(outcome_of(&report, "errors"), Some(Outcome::Finding));
}

#[test]
fn a_few_failed_calls_of_few_are_a_warning() {
    for (failed, calls, severity) in [
        (1, 20, None),
        (2, 20, Some(Severity::Warning)),
        (10, 150, Some(Severity::Warning)),
        (5, 20, Some(Severity::Critical)),
        (20, 150, Some(Severity::Critical)),
    ] {
        let mut events = Events::of(Scenario::sustained());
        events.phase();
        let failure = (ErrorCategory::ServerError, "out of order");
        calls_of_phase(&mut events, 1, calls, failed, failure);
        events.note(
            Ending::NAME,
            &json!({ "duration_secs": 60.0, "interrupted": false }),
        );
        let report = events.report();
        let mut verdicts = report.verdicts.iter();
        let errors = verdicts.find(|it| it.detector == "errors");
        assert_eq!(
            errors.map(|it| it.severity),
            severity,
            "{failed} of {calls}"
        );
    }
}

#[test]
fn what_a_call_waits_for_once_it_was_taken_up_is_not_the_generators() {
    for (late, is_limited) in [(0, false), (4, false), (10, true)] {
        let mut events = Events::of(Scenario::sustained().rate(100.0));
        events.phase();
        // As while the server is away.
        for id in 1..=100 {
            let wait = Duration::from_millis(500);
            events.call_after(wait, id, false, Some(ErrorCategory::ToolError));
        }
        events.paced(100, 0, late);
        let report = events.report();
        assert_eq!(report.generator.limited, is_limited, "{late} late");
    }
}

#[test]
fn a_server_is_not_blamed_for_what_a_limited_generator_dropped() {
    for (late, expected) in [(0, Outcome::Finding), (10, Outcome::Inconclusive)] {
        let mut events = Events::of(Scenario::sustained().rate(100.0));
        events.phase();
        events.paced(100, 50, late);
        let report = events.report();
        assert_eq!(
            outcome_of(&report, "dropped"),
            Some(expected),
            "{late} late"
        );
    }
}

#[test]
fn a_fuzzer_that_sent_nothing_does_not_pass() {
    let mut events = Events::of(Scenario::fuzzer());
    let check = json!({
        "detector": "fuzz", "passed": false, "critical": false, "inconclusive": true,
        "sentence": "No bad input was sent.", "hint": "answer ping",
    });
    events.note(CheckFact::NAME, &check);
    let ending = json!({ "duration_secs": 7.0, "interrupted": false });
    events.note(Ending::NAME, &ending);
    let report = events.report();
    assert_eq!(report.outcome(), RunOutcome::Inconclusive);
    let fuzz = report.verdicts.iter().filter(|it| it.detector == "fuzz");
    assert_eq!(fuzz.count(), 1, "{:?}", report.verdicts);
}

/// A run in which calls ended like this, with violations of these kinds.
fn with_violations(ends: &[Option<ErrorCategory>], violations: &[(&str, u64)]) -> Report {
    let mut events = Events::of(Scenario::sustained());
    events.phase();
    let server = json!({
        "target": "server", "name": "server", "version": "1", "protocol": "2025-11-25",
        "transport": "stdio", "startup_secs": 0.1,
    });
    events.note(ServerFact::NAME, &server);
    for (id, end) in (1..).zip(ends) {
        let has_hung = *end == Some(ErrorCategory::Deadlock);
        events.call(id, has_hung, *end);
    }
    for (kind, count) in violations {
        let violation = json!({ "kind": kind, "count": count, "example": "an example" });
        events.note(ViolationFact::NAME, &violation);
    }
    let ending = json!({ "duration_secs": 7.0, "interrupted": false });
    events.note(Ending::NAME, &ending);
    events.report()
}

#[test]
fn a_reply_that_names_no_call_is_no_evidence_for_a_missing_one() {
    use ErrorCategory::{Deadlock, ToolError};
    let ends = [Some(Deadlock), Some(Deadlock), Some(ToolError)];
    for (violations, expected) in [
        (vec![], Outcome::Finding),
        (vec![("noise", 5)], Outcome::Finding),
        (vec![("reply_without_id", 1)], Outcome::Finding),
        (vec![("reply_without_id", 2)], Outcome::Inconclusive),
        (
            vec![("unknown_reply", 1), ("invalid_message", 1)],
            Outcome::Inconclusive,
        ),
    ] {
        let report = with_violations(&ends, &violations);
        assert_eq!(
            outcome_of(&report, "deadlock"),
            Some(expected),
            "{violations:?}"
        );
        assert_eq!(report.outcome(), RunOutcome::Failed, "{violations:?}");
    }
}

#[test]
fn each_frame_is_reported_once() {
    use ErrorCategory::{Malformed, ToolError};
    let found = |ends: &[_], violations: &[_]| {
        let report = with_violations(ends, violations);
        let mut found: Vec<String> = report
            .findings()
            .into_iter()
            .map(|it| it.detector.clone())
            .filter(|it| it != "success")
            .collect();
        found.sort_unstable();
        found
    };
    let broken = [Some(Malformed), Some(ToolError)];
    assert_eq!(found(&broken, &[]), ["malformed"]);
    let none: [&str; 0] = [];
    assert_eq!(found(&[None], &[]), none);
    assert_eq!(
        found(&[], &[("garbled_reply", 1), ("noise", 3)]),
        ["garbled_reply"]
    );
    assert_eq!(found(&[], &[("noise", 3)]), ["stdout_noise"]);
    assert_eq!(found(&[], &[("of_a_later_version", 1)]), ["protocol"]);
}

/// Descriptors that end with the server, which cannot answer without one.
#[test]
fn a_server_that_ran_out_of_what_it_keeps_of_its_calls_is_found() {
    let scenario = Scenario::soak()
        .concurrent(4)
        .duration(Duration::from_mins(1));
    let mut run = Sample::new(scenario, &["echo"]);
    run.phase(1, "load", 4, (0.0, 60.0));
    for second in 0..60_u32 {
        let at = f64::from(second);
        run.usage(at, 20.0, 5.0, 4, 6 + 30 * second.min(33));
        for call in 0..30 {
            let at = at + f64::from(call) / 31.0;
            if second <= 33 {
                run.call(1, "echo", at, 1.0);
            } else {
                let why = (ErrorCategory::ServerError, "too many open files");
                run.fail(1, "echo", at, 1.0, why);
            }
        }
    }
    let report = run.report(60.0);
    let mut verdicts = report.verdicts.iter();
    let found = verdicts.find(|it| it.detector == "descriptor_leak");
    assert!(found.unwrap().is_failure(), "{found:?}");
}

#[test]
fn a_start_that_hung_for_much_longer_than_others_took_failed() {
    for (tried, failed) in [(4.0, 0), (30.0, 1)] {
        let mut events = Events::of(Scenario::sustained().sessions(2));
        let mut note = |second, name, data: serde_json::Value| {
            let data = &data.to_string();
            let message = "";
            let kind = EventKind::ScenarioEvent {
                name,
                message,
                data,
            };
            let at = Duration::from_secs(second);
            events.shard.record(&Event { at, kind }).unwrap();
        };
        let opened = |session: u32, planned: u32| json!({ "session": session, "planned": planned, "startup_secs": 1.0 });
        note(
            1,
            "planned_starts",
            json!({ "unit": "session", "count": 2 }),
        );
        note(1, "session_opened", opened(0, 0));
        let hung = json!({ "category": "Timeout", "planned": 1, "tried_secs": tried });
        note(31, "connect_failed", hung);
        note(32, "session_opened", opened(2, 1));
        events.shard.merge().unwrap();
        let report = events.report();
        let starts = report.starts.as_ref().unwrap();
        assert_eq!((starts.opened, starts.failed), (2, failed), "{starts:?}");
    }
}

#[test]
fn a_run_does_not_pass_without_an_answer_to_what_its_scenario_is_made_to_see() {
    let unanswered = |scenario: Scenario, detector: &str| {
        let mut report = Report::empty(scenario.kind);
        report.verdicts = vec![Verdict::inconclusive(detector, "Not known.", "look")];
        report
    };
    let mut race = unanswered(Scenario::race_check(), "race");
    assert_eq!(race.outcome(), RunOutcome::Inconclusive);
    // Known of another tool.
    race.verdicts.push(Verdict::pass("race", "All the same."));
    assert_eq!(race.outcome(), RunOutcome::Passed);
    assert_eq!(race.inconclusive_checks().count(), 1);
    let other = unanswered(Scenario::race_check(), "isolation");
    assert_eq!(other.outcome(), RunOutcome::Passed);
    // A server elsewhere has no processes to look at.
    let mut soak = unanswered(Scenario::soak(), "leak");
    assert_eq!(soak.outcome(), RunOutcome::Passed);
    soak.process.samples.push(ProcessSample {
        at: Duration::ZERO,
        rss_mb: 1.0,
        cpu_pct: 0.0,
        threads: None,
        descriptors: None,
        processes: 1,
    });
    assert_eq!(soak.outcome(), RunOutcome::Inconclusive);
    for entry in ENTRIES {
        let is_plain_load = matches!(entry.name, "sustained" | "pattern");
        let has_question = !(entry.build)().as_type().questions().is_empty();
        // `deadlock` is asked of every run.
        assert_eq!(
            has_question,
            !is_plain_load && entry.name != "deadlock_probe",
            "{}",
            entry.name
        );
    }
}

#[test]
fn a_connection_that_was_kept_may_be_closed_and_a_fresh_one_may_not() {
    use mcprove_score::verdict::Severity::{Critical, Warning};

    for (lost, kept, expected) in [
        (3, 3, vec![(Warning, json!(3))]),
        (3, 1, vec![(Critical, json!(2)), (Warning, json!(1))]),
        (3, 0, vec![(Critical, json!(3))]),
    ] {
        let mut events = Events::of(Scenario::sustained());
        events.phase();
        for id in 0..100 {
            let end = (id < lost).then_some(ErrorCategory::Disconnected);
            events.call(id, false, end);
        }
        for _ in 0..kept {
            events.note("kept_connection_closed", &json!({ "phase": 1 }));
        }
        // One of a phase that does not count.
        events.note("kept_connection_closed", &json!({ "phase": 7 }));
        let report = events.report();
        let found = report.verdicts.iter();
        let found = found.filter(|verdict| verdict.detector == "disconnected");
        let found: Vec<_> = found
            .map(|verdict| (verdict.severity, verdict.numbers["calls"].clone()))
            .collect();
        assert_eq!(found, expected, "{lost} {kept}");
    }
}

fn findings_of(report: &Report) -> Vec<&str> {
    let findings = report.findings().into_iter();
    findings.map(|verdict| verdict.detector.as_str()).collect()
}

#[test]
fn each_call_without_an_answer_is_told_once() {
    // Of 20 calls that were judged a deadlock so many were overtaken by calls of their tool.
    for lost in [0, 5, 20] {
        let mut events = Events::of(Scenario::sustained());
        events.phase();
        for id in 0..20 {
            events.call(id, true, Some(ErrorCategory::Deadlock));
        }
        events.success(20);
        let isolation = json!({ "checked": 1, "crossed": 0, "unchecked": 0, "lost": lost });
        events.note("isolation", &isolation);
        let report = events.report();
        assert_eq!(findings_of(&report), ["deadlock"], "{lost}");
        let mut verdicts = report.verdicts.iter();
        let verdict = verdicts.find(|it| it.detector == "deadlock").unwrap();
        assert_eq!(verdict.numbers["deadlock"], 20);
        let hint = verdict.hint.as_ref().unwrap().rendered();
        assert_eq!(
            hint.contains("replies that are dropped"),
            lost > 0,
            "{hint}"
        );
    }
}

#[test]
fn calls_that_hang_since_a_cancellation_are_told_by_that() {
    let scenario = Scenario::from(crate::drive::ScenarioKind::InterruptedCall(
        crate::drive::scenario::InterruptedCall { iterations: 1 },
    ));
    for (is_critical, expected) in [
        (true, &["cancel_kills"][..]),
        (false, &["deadlock", "cancel_kills"]),
    ] {
        let mut events = Events::of(scenario.clone());
        events.phase();
        events.success(1);
        events.call(2, true, Some(ErrorCategory::Deadlock));
        let check = json!({ "detector": "cancel_kills", "passed": false, "critical": is_critical, "sentence": "It hangs.", "hint": "" });
        events.note("check", &check);
        assert_eq!(findings_of(&events.report()), expected);
    }
}

#[test]
fn a_list_of_the_tools_without_an_answer_keeps_a_run_from_passing() {
    for (overtaken, expected) in [
        (None, RunOutcome::Passed),
        (Some(false), RunOutcome::Inconclusive),
        (Some(true), RunOutcome::Failed),
    ] {
        let mut events = Events::of(Scenario::sustained());
        events.phase();
        events.success(1);
        if let Some(overtaken) = overtaken {
            events.note("lost_list", &json!({ "overtaken": overtaken }));
        }
        let ending = json!({ "duration_secs": 30.0, "interrupted": false });
        events.note(Ending::NAME, &ending);
        let report = events.report();
        assert_eq!(report.outcome(), expected, "{:?}", report.verdicts);
    }
}

#[test]
fn a_server_that_ends_badly_when_its_input_closes_is_a_warning() {
    let mut events = Events::of(Scenario::sustained());
    events.phase();
    events.success(1);
    events.note("ended_badly", &json!({}));
    assert_eq!(findings_of(&events.report()), ["ending"]);
}

#[test]
fn the_stderr_of_a_server_is_shown_only_where_it_was_started() {
    use mcprove_settings::message::Spelling;

    for (transport, is_shown) in [("stdio", true), ("http", false)] {
        let mut events = Events::of(Scenario::sustained());
        let info = json!({ "target": "t", "name": "n", "version": "1", "protocol": "2025-11-25", "transport": transport });
        events.note("server", &info);
        events.phase();
        events.success(1);
        events.call(2, false, Some(ErrorCategory::Disconnected));
        let report = events.report();
        let mut found = report.findings().into_iter();
        let found = found.find(|verdict| verdict.detector == "disconnected");
        let flags = Spelling::Program {
            flag: &|name| Some(format!("--{name}")),
            is_yaml: false,
        };
        let hint = found.unwrap().hint.as_ref().unwrap().spelled(flags);
        assert_eq!(hint.contains("--tee_stderr"), is_shown, "{hint}");
    }
}
