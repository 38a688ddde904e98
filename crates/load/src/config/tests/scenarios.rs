//! Scenarios that are valid, and what they mean.

use std::path::PathBuf;
use std::time::Duration;

use mcprove_client::server::Server;
use serde_json::json;

use super::super::Format;
use super::{SPECIFIED, scenario, toml};
use crate::drive::scenario::names;
use crate::drive::scenario::{
    Churn, ColdStart, DeadlockProbe, EarlyCall, Fuzzer, InterruptedCall, Patterns, RaceCheck, Ramp,
    Reconnect, SlowMix, Soak, Spike, Sustained,
};
use crate::drive::{ErrorBehavior, Pattern, ScenarioKind, Step, ToolCall};

const SECOND: Duration = Duration::from_secs(1);

#[test]
fn the_example_of_the_specification() {
    let config = toml(SPECIFIED);
    let server = Server::stdio("python")
        .args(["-m", "my_mcp"])
        .env("LOG_LEVEL", "warn")
        .working_dir("/path/to/proj")
        .startup_timeout(10 * SECOND);
    assert_eq!(config.server, server);
    assert_eq!(
        config.scenario.kind,
        ScenarioKind::Sustained(Sustained {
            concurrent: 50,
            duration: 60 * SECOND,
            rate_limit: None
        })
    );
    let calls = [
        ToolCall::new("get_market_data").args(json!({ "ticker": "AAPL" })),
        ToolCall::new("analyze_options")
            .args(json!({ "ticker": "SPY", "expiry": "2026-06-19" }))
            .weight(0.3),
    ];
    assert_eq!(config.scenario.tool_calls, calls);
    let thresholds = &config.thresholds;
    assert_eq!(thresholds.p50_latency, Some(SECOND / 10));
    assert_eq!(thresholds.p95_latency, None);
    assert_eq!(thresholds.p99_latency, Some(SECOND / 2));
    assert_eq!(thresholds.error_rate, Some(0.01));
    assert_eq!(thresholds.hang_timeout, 5 * SECOND);
    assert_eq!(thresholds.memory_growth_mb, Some(50.0));
    assert_eq!(config.output.report_dir, PathBuf::from("./runs"));
    let formats = [Format::Markdown, Format::Json, Format::Terminal];
    assert_eq!(config.output.formats, formats);
    assert_eq!(config.warnings.len(), 5, "{:?}", config.warnings);
    let first = "bench.toml:15:1: sustained does not use `ramp_from`, which is for ramp";
    assert_eq!(config.warnings[0].to_string(), first);
}

#[test]
fn the_example_with_another_type() {
    for name in names() {
        for name in [name.to_string(), name.replace('_', "-")] {
            let text = SPECIFIED.replace("\"sustained\"", &format!("{name:?}"));
            let config = toml(&text);
            assert_eq!(config.scenario.kind.name(), name.replace('-', "_"));
        }
    }
    let spike = toml(&SPECIFIED.replace("\"sustained\"", "\"spike\""));
    assert_eq!(spike.scenario.kind.concurrent(), 500);
    let ramp = toml(&SPECIFIED.replace("\"sustained\"", "\"ramp\""));
    assert_eq!(ramp.scenario.kind.concurrent(), 100);
}

/// The kind that these lines of `[scenario]` make.
fn kind(lines: &str) -> ScenarioKind {
    let config = toml(&scenario(lines));
    assert!(config.warnings.is_empty(), "{lines}");
    config.scenario.kind
}

#[test]
fn every_scenario_with_its_knobs() {
    assert_eq!(
        kind("type = \"cold_start\"\niterations = 3\nwarmup = false"),
        ScenarioKind::ColdStart(ColdStart {
            iterations: 3,
            warmup: false
        })
    );
    assert_eq!(
        kind("type = \"sustained\"\nconcurrent = 2\nduration = \"1.5s\"\nrate_limit = 100"),
        ScenarioKind::Sustained(Sustained {
            concurrent: 2,
            duration: SECOND * 3 / 2,
            rate_limit: Some(100)
        })
    );
    assert_eq!(
        kind(
            "type = \"deadlock-probe\"\nconcurrent = 7\nhang_threshold = \"2s\"\ngrace_period = \"3s\"\nlist_timeout = \"500ms\""
        ),
        ScenarioKind::DeadlockProbe(DeadlockProbe {
            concurrent: 7,
            hang_threshold: Some(2 * SECOND),
            grace_period: Some(3 * SECOND),
            max_wait: None,
            list_timeout: Some(SECOND / 2)
        })
    );
    assert_eq!(
        kind("type = \"race_check\"\nconcurrent = 3\nrounds = 4"),
        ScenarioKind::RaceCheck(RaceCheck {
            concurrent: 3,
            rounds: 4
        })
    );
    assert_eq!(
        kind(
            "type = \"fuzzer\"\niterations = 2\npayloads = [\"deep_nesting\"]\nanswer_timeout = \"1s\""
        ),
        ScenarioKind::Fuzzer(Fuzzer {
            iterations: 2,
            payloads: vec!["deep_nesting".into()],
            answer_timeout: SECOND
        })
    );
    assert_eq!(
        kind("type = \"slow_mix\"\nconcurrent = 3\nduration = \"4s\"\nslow_share = 0.5"),
        ScenarioKind::SlowMix(SlowMix {
            concurrent: 3,
            duration: 4 * SECOND,
            slow_share: 0.5
        })
    );
    assert_eq!(
        kind("type = \"reconnect\"\niterations = 2\nconcurrent = 3"),
        ScenarioKind::Reconnect(Reconnect {
            iterations: 2,
            concurrent: 3
        })
    );
    assert_eq!(
        kind("type = \"churn\"\nsessions = 9\nconcurrent = 3"),
        ScenarioKind::Churn(Churn {
            sessions: 9,
            concurrent: 3
        })
    );
    assert_eq!(
        kind("type = \"early_call\"\niterations = 2"),
        ScenarioKind::EarlyCall(EarlyCall { iterations: 2 })
    );
    assert_eq!(
        kind("type = \"interrupted-call\"\niterations = 2"),
        ScenarioKind::InterruptedCall(InterruptedCall { iterations: 2 })
    );
}

#[test]
fn a_soak_samples_as_often_as_its_duration_allows() {
    let soak = |lines: &str| kind(&format!("type = \"soak\"\n{lines}"));
    let expected = |seconds, interval| {
        ScenarioKind::Soak(Soak {
            concurrent: 4,
            duration: seconds * SECOND,
            sample_interval: interval,
            latency_drift_ms_per_sec: 0.5,
        })
    };
    assert_eq!(soak("duration = \"40s\""), expected(40, 2 * SECOND));
    assert_eq!(soak("duration = \"1h\""), expected(3600, 10 * SECOND));
    for name in ["sample_interval", "leak_check_interval"] {
        let lines = format!("duration = \"40s\"\n{name} = \"1s\"");
        assert_eq!(soak(&lines), expected(40, SECOND));
    }
    assert_eq!(
        soak("duration = \"40s\"\nconcurrent = 2\nlatency_drift_ms_per_sec = 2"),
        ScenarioKind::Soak(Soak {
            concurrent: 2,
            duration: 40 * SECOND,
            sample_interval: 2 * SECOND,
            latency_drift_ms_per_sec: 2.0
        })
    );
}

#[test]
fn a_spike_has_its_place_and_its_size() {
    let spike = |lines: &str| match kind(&format!("type = \"spike\"\n{lines}")) {
        ScenarioKind::Spike(Spike {
            baseline_concurrent,
            spike_concurrent,
            spike_at,
            spike_duration,
            ..
        }) => (
            baseline_concurrent,
            spike_concurrent,
            spike_at.as_millis(),
            spike_duration.as_millis(),
        ),
        other => panic!("{other:?}"),
    };
    assert_eq!(spike(""), (10, 100, 30_000, 10_000));
    assert_eq!(
        spike("concurrent = 3\nduration = \"6s\""),
        (3, 30, 3000, 1000)
    );
    assert_eq!(spike("concurrent = 3\nspike_multiplier = 1.5").1, 5);
    assert_eq!(spike("concurrent = 3\nspike_concurrent = 4").1, 4);
    // Half of what remains is left to recover in.
    assert_eq!(spike("spike_at = \"58s\""), (10, 100, 58_000, 1000));
    assert_eq!(spike("spike_at = 0\nspike_duration = \"60s\"").3, 60_000);
}

#[test]
fn a_ramp_has_two_names_for_its_ends() {
    let ramp = |from_concurrent, to_concurrent, step_increment| {
        ScenarioKind::Ramp(Ramp::new(
            from_concurrent,
            to_concurrent,
            step_increment,
            60 * SECOND,
        ))
    };
    let of = |lines: &str| kind(&format!("type = \"ramp\"\n{lines}"));
    assert_eq!(of(""), ramp(1, 100, 9));
    assert_eq!(of("ramp_from = 10\nramp_to = 30"), ramp(10, 30, 2));
    assert_eq!(
        of("from_concurrent = 10\nto_concurrent = 30"),
        ramp(10, 30, 2)
    );
    assert_eq!(of("concurrent = 5\nstep_increment = 3"), ramp(1, 5, 3));
}

#[test]
fn patterns_and_presets() {
    let patterns = |lines: &str| match kind(&format!("type = \"pattern\"\n{lines}")) {
        ScenarioKind::Pattern(Patterns { patterns, .. }) => patterns,
        other => panic!("{other:?}"),
    };
    let preset = crate::drive::scenario::preset;
    assert_eq!(patterns(""), [preset("explore_then_act")]);
    let thoughtful = Pattern {
        think_time: 2 * SECOND,
        error_behavior: ErrorBehavior::Abort,
        ..preset("read_then_write")
    };
    let lines = "preset = \"read-then-write\"\nthink_time = \"2s\"\nerror_behavior = \"abort\"";
    assert_eq!(patterns(lines), [thoughtful]);

    let lines = r#"
think_time = "1s"
[[scenario.pattern]]
name = "mine"
weight = 0.7
error_behavior = "stop"
steps = [{ list = "tools" }, { tool = "search", args = { query = "x" } }, { tool = "open" }]
[[scenario.pattern]]
name = "multi-step"
think_time = "0"
"#;
    let mine = Pattern {
        name: "mine".into(),
        weight: 0.7,
        think_time: SECOND,
        error_behavior: ErrorBehavior::Stop,
        steps: vec![
            Step::ListTools,
            Step::Call(ToolCall::new("search").args(json!({ "query": "x" }))),
            Step::Call(ToolCall::new("open")),
        ],
    };
    assert_eq!(patterns(lines), [mine, preset("multi_step")]);
}

#[test]
fn how_the_load_is_made() {
    let config = toml(&scenario(
        "type = \"sustained\"\nsessions = 4\nrate = 250.5\nmax_in_flight = 20\ncatch_up = true\n\
         warmup = \"2s\"\ncalls = 1000\nseed = 42\nstrict = true",
    ));
    let load = &config.scenario.load;
    assert_eq!((load.sessions, load.max_in_flight), (4, 20));
    assert_eq!((load.rate, load.calls), (Some(250.5), Some(1000)));
    assert_eq!((load.warmup, load.seed), (2 * SECOND, Some(42)));
    assert!(load.catch_up && load.strict);
    let seed = toml(&scenario(
        "type = \"churn\"\nseed = \"18446744073709551615\"",
    ));
    assert_eq!(seed.scenario.load.seed, Some(u64::MAX));
    assert_eq!(seed.scenario.load.sessions, 1);
}

#[test]
fn the_hang_limits_of_all_scenarios_are_those_of_the_probe() {
    let limits = "[thresholds]\nhang_timeout = \"2s\"\ngrace_period = \"1s\"\n";
    let probe = |own: &str| {
        let config = toml(&format!(
            "{}{limits}",
            scenario(&format!("type = \"deadlock_probe\"\n{own}"))
        ));
        let limits = config.scenario.kind.hang_limits(&config.thresholds);
        (limits.threshold, limits.grace)
    };
    assert_eq!(probe(""), (2 * SECOND, SECOND));
    assert_eq!(probe("hang_threshold = \"4s\""), (4 * SECOND, SECOND));
    // One that is given and is the default holds as well.
    assert_eq!(probe("hang_threshold = \"5s\""), (5 * SECOND, SECOND));
}
