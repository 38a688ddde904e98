//! What is written reads back as the same.

use std::time::Duration;

use crate::run::FailOn;
use mcprove_client::server::{Server, Transport};
use mcprove_client::session::ProtocolChoice;
use mcprove_fault::FaultSpec;
use mcprove_trace::FaultKind;
use mcprove_trace::protocol::Revision;
use proptest::collection::{btree_map, vec};
use proptest::option;
use proptest::prelude::*;
use proptest::sample::{select, subsequence};
use serde_json::{Value, json};

use mcprove_settings::kind::{CALLS_MAX, COUNT_MAX};

use super::super::{Format, LoadConfig, OutputSettings, SessionSettings};
use super::{scenario, toml};
use crate::drive::scenario::names;
use crate::drive::scenario::{
    Churn, ColdStart, DeadlockProbe, EarlyCall, Fuzzer, InterruptedCall, Patterns, RaceCheck, Ramp,
    Reconnect, SlowMix, Soak, Spike, Sustained, payload_names,
};
use crate::drive::{ErrorBehavior, Pattern, Scenario, ScenarioKind, Step, ToolCall};
use crate::run::{LoadFault, Thresholds, ToolThresholds, takes_faults};

#[test]
fn every_scenario_with_its_defaults() {
    for name in names() {
        let config = toml(&scenario(&format!("type = {name:?}")));
        assert_eq!(toml(&config.to_toml()), config, "{name}");
    }
}

#[test]
fn arguments_that_toml_cannot_hold() {
    for args in [
        json!({ "a": null }),
        json!({ "a": u64::MAX, "b": i64::MIN }),
        json!({ "deep": [[[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]] }),
        json!({ "": { "a.b": "c\u{1}\"'\n\u{7f}" } }),
        json!({ "f": 1e300, "g": -0.0, "h": 1e-7 }),
    ] {
        let call = ToolCall::new("t").args(args.clone());
        let scenario = Scenario::sustained().call(call);
        let text = LoadConfig::new(Server::stdio("x"), scenario).to_toml();
        assert_eq!(toml(&text).scenario.tool_calls[0].args, args, "{text}");
    }
}

fn time() -> BoxedStrategy<Duration> {
    prop_oneof![
        (1..10_000u64).prop_map(Duration::from_millis),
        (1..5_000u64).prop_map(Duration::from_secs),
        (1..86_400_000_000_000u64).prop_map(Duration::from_nanos),
    ]
    .boxed()
}

fn count() -> BoxedStrategy<u32> {
    prop_oneof![1..50u32, 1..=COUNT_MAX].boxed()
}

fn number() -> BoxedStrategy<f64> {
    prop_oneof![0.001..10.0f64, 1.0..1e6f64].boxed()
}

fn text() -> BoxedStrategy<String> {
    prop_oneof!["[a-z][a-z_.-]{0,8}", "\\PC[\\PC\\n\\t\"'\\\\]{0,8}x"].boxed()
}

fn fault() -> BoxedStrategy<LoadFault> {
    let kind = select(FaultKind::ALL.map(|(_, kind)| kind).to_vec());
    let target = (option::of(text()), option::of(text()));
    let choice = (option::of(0.0..=1.0f64), option::of(any::<u64>()));
    let limits = (option::of(time()), option::of(any::<bool>()));
    (kind, target, choice, option::of(time()), limits)
        .prop_map(
            |(kind, (tool, server), (rate, seed), duration, (recovery, others))| {
                let mut spec = FaultSpec::new(kind);
                spec.target.tool = tool;
                spec.target.server = server;
                spec.rate = rate;
                spec.seed = seed;
                let mut fault = LoadFault::new(spec);
                fault.window.duration = duration;
                fault.max_recovery = recovery;
                fault.others_may_suffer = others;
                fault
            },
        )
        .boxed()
}

fn faults() -> BoxedStrategy<Vec<LoadFault>> {
    let named = vec(fault(), 0..3).prop_map(|mut faults| {
        for (index, fault) in faults.iter_mut().enumerate() {
            fault.spec.name = format!("{}, {index}", fault.spec.name);
        }
        faults
    });
    named.boxed()
}

fn arguments() -> BoxedStrategy<Value> {
    let leaf = prop_oneof![
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        number().prop_map(Value::from),
        text().prop_map(Value::from),
        Just(Value::Null),
    ];
    let value = leaf.prop_recursive(3, 12, 4, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(Value::from),
            object(inner),
        ]
    });
    prop_oneof![Just(Value::Null), object(value)].boxed()
}

fn object(inner: impl Strategy<Value = Value> + 'static) -> BoxedStrategy<Value> {
    btree_map(text(), inner, 0..4)
        .prop_map(|fields| Value::Object(fields.into_iter().collect()))
        .boxed()
}

fn call() -> BoxedStrategy<ToolCall> {
    (text(), arguments(), number())
        .prop_map(|(name, args, weight)| ToolCall { name, args, weight })
        .boxed()
}

fn pattern() -> BoxedStrategy<Pattern> {
    let step = prop_oneof![
        Just(Step::ListTools),
        (text(), arguments()).prop_map(|(name, args)| Step::Call(ToolCall::new(name).args(args))),
    ];
    let behavior = select(vec![
        ErrorBehavior::Continue,
        ErrorBehavior::Abort,
        ErrorBehavior::Stop,
    ]);
    let own = (text(), number(), time(), behavior, vec(step, 1..4)).prop_map(
        |(name, weight, think_time, error_behavior, steps)| Pattern {
            name,
            weight,
            think_time,
            error_behavior,
            steps,
        },
    );
    prop_oneof![own, Just(crate::drive::scenario::preset("multi_step"))].boxed()
}

fn kind() -> BoxedStrategy<ScenarioKind> {
    let payloads = subsequence(payload_names(), 0..4)
        .prop_map(|names| names.into_iter().map(str::to_owned).collect::<Vec<_>>());
    let steps = prop_oneof![
        (count(), any::<bool>()).prop_map(|(iterations, warmup)| ScenarioKind::ColdStart(
            ColdStart { iterations, warmup }
        )),
        (
            count(),
            option::of(time()),
            option::of(time()),
            option::of(time())
        )
            .prop_map(|(concurrent, hang_threshold, grace_period, list_timeout)| {
                ScenarioKind::DeadlockProbe(DeadlockProbe {
                    concurrent,
                    hang_threshold,
                    grace_period,
                    // Longer than both together, also where these are those of all loads.
                    max_wait: Some(Duration::from_secs(200_000)),
                    list_timeout,
                })
            }),
        (count(), count()).prop_map(|(concurrent, rounds)| ScenarioKind::RaceCheck(RaceCheck {
            concurrent,
            rounds
        })),
        (count(), payloads, time()).prop_map(|(iterations, payloads, answer_timeout)| {
            ScenarioKind::Fuzzer(Fuzzer {
                iterations,
                payloads,
                answer_timeout,
            })
        }),
        (count(), count()).prop_map(|(iterations, concurrent)| ScenarioKind::Reconnect(
            Reconnect {
                iterations,
                concurrent
            }
        )),
        (count(), count()).prop_map(|(sessions, concurrent)| ScenarioKind::Churn(Churn {
            sessions,
            concurrent
        })),
        count().prop_map(|iterations| ScenarioKind::EarlyCall(EarlyCall { iterations })),
        count()
            .prop_map(|iterations| ScenarioKind::InterruptedCall(InterruptedCall { iterations })),
    ];
    let loads = prop_oneof![
        (count(), time(), option::of(1..1000u32)).prop_map(|(concurrent, duration, rate_limit)| {
            ScenarioKind::Sustained(Sustained {
                concurrent,
                duration,
                rate_limit,
            })
        }),
        (count(), count(), time(), time(), time()).prop_map(|(base, spike, at, burst, rest)| {
            ScenarioKind::Spike(Spike::new(base, spike, at + burst + rest, at, burst))
        }),
        (count(), count(), count(), time()).prop_map(|(one, other, step, duration)| {
            ScenarioKind::Ramp(Ramp::new(one.min(other), one.max(other), step, duration))
        }),
        (count(), time(), time(), number()).prop_map(|(concurrent, duration, every, drift)| {
            ScenarioKind::Soak(Soak {
                concurrent,
                duration,
                sample_interval: every,
                latency_drift_ms_per_sec: drift,
            })
        }),
        (count(), time(), vec(pattern(), 1..3)).prop_map(|(concurrent, duration, patterns)| {
            ScenarioKind::Pattern({
                let mut it = Patterns::new(patterns);
                it.concurrent = concurrent;
                it.duration = duration;
                it
            })
        }),
        (count(), time(), 0.01..0.99f64).prop_map(|(concurrent, duration, slow_share)| {
            ScenarioKind::SlowMix(SlowMix {
                concurrent,
                duration,
                slow_share,
            })
        }),
    ];
    prop_oneof![steps, loads].boxed()
}

fn any_scenario() -> BoxedStrategy<Scenario> {
    let load = (
        count(),
        option::of(number()),
        count(),
        any::<bool>(),
        time(),
    );
    let others = (
        option::of(1..=CALLS_MAX),
        option::of(any::<u64>()),
        any::<bool>(),
    );
    (kind(), vec(call(), 0..3), load, others)
        .prop_map(|(kind, calls, load, others)| {
            let is_load = kind.duration().is_some();
            let has_limit = matches!(
                &kind,
                ScenarioKind::Sustained(Sustained {
                    rate_limit: Some(_),
                    ..
                })
            );
            let mut scenario = Scenario::from(kind);
            scenario.tool_calls = calls;
            let (calls, seed, strict) = others;
            if is_load {
                let (sessions, rate, max_in_flight, catch_up, warmup) = load;
                scenario.load.sessions = sessions;
                scenario.load.warmup = warmup;
                scenario.load.calls = calls;
                if let Some(rate) = rate.filter(|_| !has_limit) {
                    scenario.load.rate = Some(rate);
                    scenario.load.max_in_flight = max_in_flight;
                    scenario.load.catch_up = catch_up;
                }
            }
            scenario.load.seed = seed;
            scenario.load.strict = strict;
            scenario
        })
        .boxed()
}

fn server() -> BoxedStrategy<Server> {
    let texts = btree_map("[A-F]{1,4}", text(), 0..3);
    let stdio = (text(), vec("[a-z ]{0,6}", 0..3), texts, option::of(text())).prop_map(
        |(command, args, env, directory)| {
            let mut server = Server::stdio(command).args(args);
            server.env = env;
            server.working_dir = directory.map(Into::into);
            server
        },
    );
    let headers = btree_map("X-[A-F]{1,4}", "[a-z ]{0,6}", 0..3);
    let remote = (0..3usize, "[a-z]{1,8}", headers).prop_map(|(which, host, headers)| {
        let url = |scheme: &str| format!("{scheme}://{host}/mcp");
        let mut server = Server::http("");
        server.transport = match which {
            0 => Transport::Http {
                url: url("http"),
                headers,
            },
            1 => Transport::Sse {
                url: url("https"),
                headers,
            },
            _ => Transport::WebSocket {
                url: url("wss"),
                headers,
            },
        };
        server
    });
    let server = prop_oneof![stdio, remote];
    (server, time(), time())
        .prop_map(|(server, up, down)| server.startup_timeout(up).shutdown_timeout(down))
        .boxed()
}

fn limits() -> BoxedStrategy<ToolThresholds> {
    let time = || option::of(time());
    (time(), time(), time(), time(), option::of(0.0..=1.0f64))
        .prop_map(
            |(p50_latency, p95_latency, p99_latency, p999_latency, error_rate)| ToolThresholds {
                p50_latency,
                p95_latency,
                p99_latency,
                p999_latency,
                error_rate,
            },
        )
        .boxed()
}

fn thresholds() -> BoxedStrategy<Thresholds> {
    let tools = btree_map(text(), limits(), 0..3);
    let fail_on = prop_oneof![Just(FailOn::Critical), Just(FailOn::Warning)];
    let more = (option::of(time()), option::of(0.0..=1.0f64), fail_on);
    (limits(), time(), time(), option::of(number()), more, tools)
        .prop_map(
            |(
                overall,
                hang_timeout,
                grace_period,
                memory_growth_mb,
                (startup, min_coverage, fail_on),
                tools,
            )| Thresholds {
                p50_latency: overall.p50_latency,
                p95_latency: overall.p95_latency,
                p99_latency: overall.p99_latency,
                p999_latency: overall.p999_latency,
                error_rate: overall.error_rate,
                hang_timeout,
                grace_period,
                max_wait: hang_timeout + grace_period,
                memory_growth_mb,
                startup,
                min_coverage,
                fail_on,
                tools,
            },
        )
        .boxed()
}

fn settings() -> BoxedStrategy<(SessionSettings, OutputSettings)> {
    let revisions = Revision::ALL.map(ProtocolChoice::Revision).to_vec();
    let protocol = prop_oneof![Just(ProtocolChoice::Auto), select(revisions)];
    let sizes = || option::of(1..1_000_000usize);
    let session = (protocol, any::<[bool; 3]>(), option::of(time()), sizes());
    let formats = subsequence(Format::ALL.to_vec(), 0..=4);
    let output = (text(), formats, any::<bool>(), sizes());
    (session, output)
        .prop_map(|(session, output)| {
            let (
                protocol,
                [strict_protocol, accept_requests, has_transport],
                call_timeout,
                max_frame,
            ) = session;
            let (report_dir, formats, trace, trace_value_bytes) = output;
            let session = SessionSettings {
                protocol,
                strict_protocol,
                call_timeout,
                max_frame,
                accept_requests: Some(accept_requests),
                has_transport,
            };
            let output = OutputSettings {
                report_dir: report_dir.into(),
                formats,
                trace,
                trace_value_bytes,
            };
            (session, output)
        })
        .boxed()
}

proptest! {
    #[test]
    fn any_configuration(server in server(), mut scenario in any_scenario(), mut thresholds in thresholds(), (mut session, output) in settings(), faults in faults()) {
        // Limits are for tools that are called, and what falls back has no transport of its own.
        if !scenario.tool_calls.is_empty() || matches!(scenario.kind, ScenarioKind::Pattern(_)) {
            thresholds.tools.clear();
        }
        if let ScenarioKind::Pattern(_) = scenario.kind {
            scenario.tool_calls.clear();
        }
        if let ScenarioKind::DeadlockProbe(_) = scenario.kind {
            // It may not be shorter than the time after which calls are judged.
            session.call_timeout = None;
        }
        if matches!(server.transport, Transport::Sse { .. }) {
            session.has_transport = true;
        }
        let faults = if takes_faults(&scenario.kind) { faults } else { Vec::new() };
        let config = LoadConfig { server, scenario, thresholds, faults, session, output, warnings: Vec::new() };
        let text = config.to_toml();
        let again = LoadConfig::parse_toml(&text, "config.toml");
        prop_assert_eq!(again.as_ref(), Ok(&config), "{}", text);
        let second = again.unwrap().to_toml();
        prop_assert_eq!(second, text);
    }
}
