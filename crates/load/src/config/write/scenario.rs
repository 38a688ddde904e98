//! `[scenario]` as TOML.

use serde_json::Value as Json;
use toml::Value;

use super::{Page, list};
use crate::drive::{ErrorBehavior, LoadSettings, Pattern, Scenario, ScenarioKind, Step, ToolCall};

/// How deep arguments may be as a table; deeper ones are written as JSON.
const TABLE_DEPTH_MAX: usize = 16;

pub(super) fn write_scenario(page: &mut Page, scenario: &Scenario) {
    page.header("[scenario]");
    page.line("type", scenario.kind.name());
    write_kind(page, &scenario.kind);
    write_load(page, &scenario.load, &scenario.kind);
    for call in &scenario.tool_calls {
        page.header("[[scenario.tool_call]]");
        page.line("name", call.name.as_str());
        if !call.args.is_null() {
            page.line("args", arguments(&call.args));
        }
        page.line("weight", call.weight);
    }
    if let ScenarioKind::Pattern { patterns, .. } = &scenario.kind {
        for pattern in patterns {
            write_pattern(page, pattern);
        }
    }
}

fn write_kind(page: &mut Page, kind: &ScenarioKind) {
    if let Some(duration) = kind.duration() {
        page.time("duration", duration);
    }
    match kind {
        ScenarioKind::Sustained {
            concurrent,
            rate_limit,
            ..
        } => {
            page.count("concurrent", *concurrent);
            if let Some(limit) = rate_limit {
                page.count("rate_limit", *limit);
            }
        }
        ScenarioKind::Spike {
            baseline_concurrent,
            spike_concurrent,
            spike_at,
            spike_duration,
            ..
        } => {
            page.count("concurrent", *baseline_concurrent);
            page.count("spike_concurrent", *spike_concurrent);
            page.time("spike_at", *spike_at);
            page.time("spike_duration", *spike_duration);
        }
        ScenarioKind::Ramp {
            from_concurrent,
            to_concurrent,
            step_increment,
            ..
        } => {
            page.count("ramp_from", *from_concurrent);
            page.count("ramp_to", *to_concurrent);
            page.count("step_increment", *step_increment);
        }
        ScenarioKind::Soak {
            concurrent,
            sample_interval,
            latency_drift_ms_per_sec,
            ..
        } => {
            page.count("concurrent", *concurrent);
            page.time("sample_interval", *sample_interval);
            page.line("latency_drift_ms_per_sec", *latency_drift_ms_per_sec);
        }
        ScenarioKind::Pattern { concurrent, .. } => page.count("concurrent", *concurrent),
        ScenarioKind::SlowMix {
            concurrent,
            slow_share,
            ..
        } => {
            page.count("concurrent", *concurrent);
            page.line("slow_share", *slow_share);
        }
        _ => write_steps(page, kind),
    }
}

/// Of a scenario that is no load.
fn write_steps(page: &mut Page, kind: &ScenarioKind) {
    match kind {
        ScenarioKind::ColdStart { iterations, warmup } => {
            page.count("iterations", *iterations);
            page.line("warmup", *warmup);
        }
        ScenarioKind::DeadlockProbe {
            concurrent,
            hang_threshold,
            grace_period,
            list_timeout,
        } => {
            page.count("concurrent", *concurrent);
            page.time("hang_threshold", *hang_threshold);
            page.time("grace_period", *grace_period);
            page.time("list_timeout", *list_timeout);
        }
        ScenarioKind::RaceCheck { concurrent, rounds } => {
            page.count("concurrent", *concurrent);
            page.count("rounds", *rounds);
        }
        ScenarioKind::Fuzzer {
            iterations,
            payloads,
            answer_timeout,
        } => {
            page.count("iterations", *iterations);
            if !payloads.is_empty() {
                page.line("payloads", list(payloads.iter().map(String::as_str)));
            }
            page.time("answer_timeout", *answer_timeout);
        }
        ScenarioKind::Reconnect {
            iterations,
            concurrent,
        } => {
            page.count("iterations", *iterations);
            page.count("concurrent", *concurrent);
        }
        ScenarioKind::Churn {
            sessions,
            concurrent,
        } => {
            page.count("sessions", *sessions);
            page.count("concurrent", *concurrent);
        }
        ScenarioKind::EarlyCall { iterations } | ScenarioKind::InterruptedCall { iterations } => {
            page.count("iterations", *iterations);
        }
        ScenarioKind::Sustained { .. }
        | ScenarioKind::Spike { .. }
        | ScenarioKind::Ramp { .. }
        | ScenarioKind::Soak { .. }
        | ScenarioKind::Pattern { .. }
        | ScenarioKind::SlowMix { .. } => {}
    }
}

fn write_load(page: &mut Page, load: &LoadSettings, kind: &ScenarioKind) {
    // The other scenarios have none of these.
    if kind.duration().is_some() {
        page.count("sessions", load.sessions);
        if let Some(rate) = load.rate {
            page.line("rate", rate);
            page.count("max_in_flight", load.max_in_flight);
            page.line("catch_up", load.catch_up);
        }
        page.time("warmup", load.warmup);
        if let Some(calls) = load.calls {
            page.line("calls", whole(calls));
        }
    }
    if let Some(seed) = load.seed {
        page.line("seed", whole(seed));
    }
    page.line("strict", load.strict);
    if load.allow_writes {
        page.line("allow_writes", true);
    }
}

/// A whole number, or a text of it where TOML promises no such number.
fn whole(value: u64) -> Value {
    i64::try_from(value).map_or_else(|_| Value::from(value.to_string()), Value::from)
}

fn write_pattern(page: &mut Page, pattern: &Pattern) {
    page.header("[[scenario.pattern]]");
    page.line("name", pattern.name.as_str());
    page.line("weight", pattern.weight);
    page.time("think_time", pattern.think_time);
    let behavior = match pattern.error_behavior {
        ErrorBehavior::Continue => "continue",
        ErrorBehavior::Abort => "abort",
        ErrorBehavior::Stop => "stop",
    };
    page.line("error_behavior", behavior);
    if !pattern.steps.is_empty() {
        page.line("steps", list(pattern.steps.iter().map(step)));
    }
}

fn step(step: &Step) -> Value {
    let mut table = toml::Table::new();
    match step {
        Step::ListTools => {
            table.insert("list".into(), "tools".into());
        }
        Step::Call(ToolCall { name, args, .. }) => {
            table.insert("tool".into(), name.as_str().into());
            if !args.is_null() {
                table.insert("args".into(), arguments(args));
            }
        }
    }
    Value::Table(table)
}

/// Arguments as a table, or as JSON where TOML has no such value.
fn arguments(json: &Json) -> Value {
    match table_value(json, TABLE_DEPTH_MAX) {
        Some(table @ Value::Table(_)) => table,
        _ => Value::from(json.to_string()),
    }
}

fn table_value(json: &Json, depth: usize) -> Option<Value> {
    let depth = depth.checked_sub(1)?;
    Some(match json {
        Json::Null => return None,
        Json::Bool(value) => Value::from(*value),
        Json::Number(number) => match number.as_i64() {
            Some(value) => Value::from(value),
            None if number.is_f64() => Value::from(number.as_f64()?),
            None => return None,
        },
        Json::String(text) => Value::from(text.as_str()),
        Json::Array(values) => {
            let values: Option<Vec<Value>> = values
                .iter()
                .map(|value| table_value(value, depth))
                .collect();
            Value::Array(values?)
        }
        Json::Object(object) => {
            let mut table = toml::Table::new();
            for (name, value) in object {
                table.insert(name.clone(), table_value(value, depth)?);
            }
            Value::Table(table)
        }
    })
}
