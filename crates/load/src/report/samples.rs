//! The runs that the snapshots of reports show, one for each thing a report can say.

use std::time::Duration;

use mcprove_trace::ErrorCategory;
use serde_json::json;

use crate::drive::Scenario;
use crate::drive::scenario::{FAST_ALONE, MIXED};
use crate::prelude::{BESIDE, CONTROL};
use crate::run::sample::Sample;
use crate::run::{Report, Thresholds};

/// A latency that is different for each call and the same every time: mostly around `middle`
/// milliseconds, with a tail.
fn spread(index: u32, middle: f64) -> f64 {
    // The golden ratio's multiples fill the unit interval evenly.
    let place = (f64::from(index) * 0.618_033_988_749_895).fract();
    let tail = if place > 0.99 {
        8.0
    } else if place > 0.95 {
        2.5
    } else {
        1.0
    };
    middle * (0.6 + 0.8 * place) * tail
}

/// Calls in a phase, evenly from its beginning to its end.
fn steady(sample: &mut Sample, calls: u32, (from, until): (f64, f64), tools: &[(&str, f64)]) {
    for index in 0..calls {
        let at = from + (f64::from(index) + 0.5) / f64::from(calls) * (until - from);
        let (tool, middle) = tools[index as usize % tools.len()];
        sample.call(1, tool, at, spread(index, middle));
    }
}

fn process(sample: &mut Sample, seconds: u32, grows_by: f64) {
    for second in 0..=seconds {
        let at = f64::from(second);
        let wave = spread(second, 2.0);
        let grown = grows_by * at / f64::from(seconds);
        let busy = if second == 0 { 0.0 } else { 20.0 + wave };
        sample.usage(at, 120.0 + wave + grown, busy, 12, 30 + second % 3);
    }
}

fn checked(sample: &mut Sample, checked: u64) {
    sample.note(
        "isolation",
        "",
        &json!({ "checked": checked, "crossed": 0, "unchecked": 0, "lost": 0 }),
    );
    sample.note("driver", "", &json!({ "drivers": 1, "cpu_share": 0.21 }));
    sample.note("calibration", "", &json!({ "per_s": 412_345.6 }));
}

fn sustained_scenario(concurrent: u32) -> Scenario {
    Scenario::sustained()
        .concurrent(concurrent)
        .duration(Duration::from_mins(1))
}

/// Everything is fine.
pub fn healthy() -> Report {
    let mut sample = Sample::new(sustained_scenario(4), &["echo"]);
    sample.phase(1, "load", 4, (0.5, 60.5));
    sample.phase(2, "alone", 1, (60.5, 62.0));
    steady(&mut sample, 12_000, (0.5, 60.5), &[("echo", 18.0)]);
    for index in 0..40 {
        let at = 60.6 + f64::from(index) / 40.0;
        sample.call(2, "echo", at, spread(index, 12.0));
    }
    process(&mut sample, 60, 0.0);
    checked(&mut sample, 12_000);
    sample.load_ended(60.5, 4, 0, 0);
    sample.report(62.3)
}

/// A violated limit, errors of several kinds, several tools, and names that are not harmless.
pub fn failing() -> Report {
    let thresholds = Thresholds {
        p99_latency: Some(Duration::from_millis(100)),
        error_rate: Some(0.001),
        ..Thresholds::default()
    };
    let tools = [
        "analyze|options`",
        "get_market_data",
        "<b>odd</b>",
        "unused",
    ];
    let mut sample = Sample::new(sustained_scenario(50), &tools)
        .thresholds(thresholds)
        .target("python -m `vibe` | tee \u{1b}[31mlog");
    sample.server("<script>alert(1)</script>", "0.1\n7");
    sample.phase(1, "load", 50, (0.0, 60.0));
    let called = [
        ("analyze|options`", 60.0),
        ("get_market_data", 12.0),
        ("<b>odd</b>", 15.0),
    ];
    steady(&mut sample, 12_300, (0.0, 60.0), &called);
    for index in 0..45_u32 {
        let at = f64::from(index) + 1.5;
        let failure = match index % 9 {
            0 => (ErrorCategory::Timeout, "no answer within 30 s"),
            1 | 2 => (ErrorCategory::ProtocolError, "unknown | method\n`x`"),
            _ => (ErrorCategory::ServerError, "index <not> found: [see](x)"),
        };
        sample.fail(1, "analyze|options`", at, 3.0, failure);
    }
    process(&mut sample, 60, 22.0);
    sample.note(
        "isolation",
        "",
        &json!({ "checked": 9000, "crossed": 2, "unchecked": 3298, "lost": 0 }),
    );
    sample.note(
        "crossed_reply",
        "call 17 got the token of call 12",
        &json!(null),
    );
    sample.note("driver", "", &json!({ "drivers": 1, "cpu_share": 0.43 }));
    sample.load_ended(60.0, 50, 0, 0);
    sample.report(60.4)
}

/// The open model, with too few calls, dropped ones, a warm-up and an interruption.
pub fn interrupted() -> Report {
    let mut scenario = sustained_scenario(10);
    scenario.load.rate = Some(20.0);
    scenario.load.sessions = 2;
    let thresholds = Thresholds {
        p99_latency: Some(Duration::from_millis(40)),
        ..Thresholds::default()
    };
    let mut sample = Sample::new(scenario, &["echo"])
        .thresholds(thresholds)
        .without_trace()
        .interrupted();
    sample.phase(1, "load", 10, (2.0, 62.0));
    sample.phase(2, "warm-up", 10, (0.0, 2.0));
    for index in 0..30 {
        sample.call(2, "echo", f64::from(index) / 15.0, spread(index, 30.0));
    }
    for index in 0..150 {
        let at = 2.0 + f64::from(index) / 20.0;
        let wait = if index % 10 == 0 { 4.0 } else { 0.05 };
        sample.waited_call(1, "echo", at, spread(index, 20.0), wait);
    }
    sample.note("driver", "", &json!({ "drivers": 1, "cpu_share": 0.93 }));
    sample.load_ended(9.6, 3, 12, 162);
    sample.report(9.8)
}

/// Every call hangs, and the server is otherwise alive.
pub fn deadlocked() -> Report {
    let scenario = Scenario::deadlock_probe().concurrent(4);
    let mut sample = Sample::new(scenario, &["get_market_data"]);
    sample.phase(1, "probe", 4, (0.0, 15.0));
    let calls: Vec<_> = (0..4)
        .map(|index| {
            if index == 3 {
                json!({ "outcome": "SLOW", "duration_ms": 7012.5 })
            } else {
                json!({ "outcome": "DEADLOCK", "duration_ms": 15_000.0, "message": "no answer" })
            }
        })
        .collect();
    sample.note(
        "deadlock_probe",
        "",
        &json!({
            "outcome": "COMPLETED", "severity": "CRITICAL", "tool": "get_market_data",
            "calls": calls, "success": 0, "slow": 1, "deadlock": 3, "error": 0,
            "kind": "tool_stuck",
        }),
    );
    for _ in 0..3 {
        let never = (ErrorCategory::Deadlock, "no answer within 15 s");
        sample.fail(1, "get_market_data", 15.0, 15_000.0, never);
    }
    sample.fail(
        1,
        "get_market_data",
        7.1,
        7012.5,
        (ErrorCategory::Hang, "answered after 7 s"),
    );
    process(&mut sample, 15, 0.0);
    sample.report(15.3)
}

/// The first call pays for the start.
pub fn lazy() -> Report {
    let mut sample = Sample::new(Scenario::cold_start(), &["get_market_data"]);
    sample.phase(1, "cold start", 1, (0.0, 20.0));
    for index in 0..5 {
        let (at, first) = (f64::from(index) * 4.0, 3400.0 + f64::from(index));
        let record = json!({
            "discarded": index == 0,
            "sample": { "ready_ms": 212.0, "first_call_ms": first, "second_call_ms": 4.1 },
        });
        sample.note("cold_start", "", &record);
        sample.call(1, "get_market_data", at + 3.6, first);
        sample.call(1, "get_market_data", at + 3.7, 4.1);
    }
    sample.report(20.0)
}

/// Answers differ when calls are made at once, for one tool of two.
pub fn racing() -> Report {
    let mut sample = Sample::new(Scenario::race_check().concurrent(8), &["count", "echo"]);
    sample.phase(1, "at once", 8, (0.0, 1.0));
    for (tool, distinct, outcome, example) in [
        ("count", 3, "divergent", json!(["{\"n\":1}", "{\"n\":2}"])),
        ("echo", 1, "consistent", json!(null)),
    ] {
        let report = json!({
            "outcome": outcome, "baseline_calls": 3, "baseline_distinct": 1,
            "concurrent_calls": 80, "concurrent_distinct": distinct, "failures": 0,
            "example": example,
        });
        sample.note("race", "", &json!({ "tool": tool, "report": report }));
    }
    steady(
        &mut sample,
        160,
        (0.0, 1.0),
        &[("count", 2.0), ("echo", 1.0)],
    );
    sample.report(1.2)
}

/// One payload kills the server, one silences it.
pub fn fuzzed() -> Report {
    let mut sample = Sample::new(Scenario::fuzzer(), &["echo"]);
    for (payload, outcome, detail, times) in [
        ("not_json", "rejected", "error -32700: Parse error", 4),
        (
            "deep_nesting",
            "crashed",
            "exit code 139 | `stack` overflow",
            1,
        ),
        ("no_newline", "wedged", "no answer to ping within 2 s", 1),
        ("extra_field", "accepted", "a result", 4),
        (
            "empty_line",
            "unanswered",
            "nothing, and ping is answered",
            4,
        ),
    ] {
        let case = json!({
            "payload": payload, "outcome": outcome, "detail": detail, "times": times,
        });
        sample.note("fuzz_case", "", &case);
    }
    sample.report(3.4)
}

/// Fast calls wait for slow ones.
pub fn blocked() -> Report {
    let mut sample = Sample::new(Scenario::slow_mix(), &["fast", "slow"]);
    sample.phase(1, MIXED, 10, (2.0, 12.0));
    sample.phase(2, FAST_ALONE, 1, (0.0, 2.0));
    sample.note("slow_mix", "", &json!({ "fast": "fast", "slow": "slow" }));
    for index in 0..100 {
        sample.call(2, "fast", f64::from(index) / 50.0, spread(index, 2.0));
    }
    let mix = [("fast", 800.0), ("fast", 800.0), ("slow", 1000.0)];
    steady(&mut sample, 300, (2.0, 12.0), &mix);
    sample.phase(3, CONTROL, 1, (0.0, 0.0));
    sample.phase(4, BESIDE, 1, (12.0, 13.0));
    for (phase, at, fast) in [(3, 0.0, 2.0), (4, 12.0, 900.0)] {
        sample.call(phase, "slow", at, 1000.0);
        sample.call(phase, "fast", at + 0.1, fast);
    }
    sample.report(13.5)
}

/// Sessions that leave descriptors and a process behind.
pub fn churned() -> Report {
    let mut sample = Sample::new(Scenario::churn(), &["echo"]);
    sample.phase(1, "churn", 10, (0.0, 30.0));
    for second in 0..=30 {
        sample.usage(f64::from(second), 80.0, 12.0, 8, 20 + 10 * second);
    }
    sample.note(
        "sessions",
        "",
        &json!({
            "opened": 300, "failed_opens": 2, "abandoned": 290, "leftovers": 1, "zombies": 0,
            "failed_calls": 0, "is_gone": true,
        }),
    );
    steady(&mut sample, 300, (0.0, 30.0), &[("echo", 3.0)]);
    sample.report(30.2)
}

/// Memory and latency grow.
pub fn leaking() -> Report {
    let scenario = Scenario::soak()
        .concurrent(5)
        .duration(Duration::from_mins(10));
    let mut sample = Sample::new(scenario, &["echo"]);
    sample.phase(1, "load", 5, (0.0, 600.0));
    for index in 0..6000 {
        let at = (f64::from(index) + 0.5) / 10.0;
        sample.call(1, "echo", at, spread(index, 10.0 + at * 2.0));
    }
    for index in 0..=60 {
        let at = f64::from(index) * 10.0;
        sample.usage(at, 100.0 + at * 0.5 + spread(index, 1.0), 30.0, 8, 40);
    }
    checked(&mut sample, 6000);
    sample.load_ended(600.0, 0, 0, 0);
    sample.report(600.5)
}

/// More and more clients, until calls fail.
pub fn ramped() -> Report {
    let scenario = Scenario::ramp()
        .concurrent(60)
        .duration(Duration::from_mins(1));
    let mut sample = Sample::new(scenario, &["echo"]);
    for step in 1..=6_u16 {
        let span = (f64::from(step - 1) * 10.0, f64::from(step) * 10.0);
        let concurrent = u32::from(step) * 10;
        sample.phase(step, &format!("step {concurrent}"), concurrent, span);
        let calls = 500 + 700 * u32::from(step.min(3));
        for index in 0..calls {
            let at = span.0 + (f64::from(index) + 0.5) / f64::from(calls) * 10.0;
            if step == 6 && index % 8 == 0 {
                let full = (ErrorCategory::ServerError, "too many requests");
                sample.fail(step, "echo", at, 1.0, full);
            } else {
                sample.call(
                    step,
                    "echo",
                    at,
                    spread(index, 5.0 * f64::from(step * step)),
                );
            }
        }
    }
    process(&mut sample, 60, 5.0);
    checked(&mut sample, 14_000);
    sample.load_ended(60.0, 0, 0, 0);
    sample.report(60.4)
}

/// Every sample, with a name for files.
pub fn all() -> Vec<(&'static str, Report)> {
    vec![
        ("healthy", healthy()),
        ("failing", failing()),
        ("interrupted", interrupted()),
        ("deadlocked", deadlocked()),
        ("lazy", lazy()),
        ("racing", racing()),
        ("fuzzed", fuzzed()),
        ("blocked", blocked()),
        ("churned", churned()),
        ("leaking", leaking()),
        ("ramped", ramped()),
    ]
}
