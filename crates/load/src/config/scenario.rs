//! The section `[scenario]`: which one, its knobs, and what it calls.

mod build;
mod knobs;

use mcprove_settings::reader::{Reader, Section};
use mcprove_settings::tree::Node;

use self::build::build;
use self::knobs::Knobs;
use super::keys::{self, Key, SCENARIOS};
use super::settings::section_advice;
use super::thresholds::ThresholdsPlan;
use super::{calls, pattern};
use crate::drive::{Scenario, ScenarioKind};

/// Knobs that may stay in a file when its `type` changes: where a scenario does not have them they
/// are ignored with a warning. All others are a problem where they do not belong.
const TOLERATED: &[&str] = &[
    "duration",
    "concurrent",
    "ramp_from",
    "ramp_to",
    "from_concurrent",
    "to_concurrent",
    "step_increment",
    "spike_at",
    "spike_duration",
    "spike_multiplier",
    "spike_concurrent",
    "leak_check_interval",
    "sample_interval",
];

/// Two names of the same knob, or two ways to set it.
const EXCLUSIVE: &[[&str; 2]] = &[
    ["ramp_from", "from_concurrent"],
    ["ramp_to", "to_concurrent"],
    ["spike_multiplier", "spike_concurrent"],
    ["leak_check_interval", "sample_interval"],
    ["rate", "rate_limit"],
];

/// Reads the section; none only when there were problems.
pub fn read(reader: &mut Reader<'_>, node: &Node, thresholds: &ThresholdsPlan) -> Option<Scenario> {
    let known = keys::names(keys::section("scenario"));
    let section = reader.section(node, "[scenario]", &known, advice);
    if section.get("type").is_none() {
        let hint = format!(
            "add type = \"sustained\", or one of {}",
            SCENARIOS.join(", ")
        );
        reader.problem(section.span(), "[scenario] has no `type`".into(), hint);
    }
    let name = reader.choice(&section, "type", SCENARIOS);
    for [one, other] in EXCLUSIVE {
        if let (Some(first), Some(second)) = (section.get(one), section.get(other)) {
            let later = if first.span.start > second.span.start {
                first
            } else {
                second
            };
            let message = format!("`{one}` and `{other}` cannot both be given");
            reader.problem(&later.span, message, "leave out one of them");
        }
    }
    let knobs = Knobs::read(reader, &section, name);
    let tool_calls = calls::read(reader, &section);
    let patterns = pattern::read(reader, &section);
    let name = name?;
    check_knobs(reader, &section, name);
    let mut scenario = build(reader, &section, name, knobs, patterns, thresholds)?;
    warn_of_unused(reader, &section, &scenario, !tool_calls.is_empty());
    scenario.tool_calls = tool_calls;
    Some(scenario)
}

fn advice(name: &str) -> Option<String> {
    match name {
        "tool" | "tools" | "tool_calls" | "args" => {
            Some("tools stand in [[scenario.tool_call]], with name and args".into())
        }
        "patterns" => Some("did you mean [[scenario.pattern]]?".into()),
        "kind" | "name" | "scenario" => Some("did you mean \"type\"?".into()),
        "baseline_concurrent" => Some("did you mean \"concurrent\"?".into()),
        "baseline_duration" => Some("did you mean \"duration\"?".into()),
        name => section_advice("scenario", name),
    }
}

/// A knob that the scenario does not have is a problem, or ignored.
fn check_knobs(reader: &mut Reader<'_>, section: &Section<'_>, name: &str) {
    for field in section.fields() {
        let keys = keys::section("scenario");
        let Some(key) = keys.iter().find(|key| key.name == field.name) else {
            continue;
        };
        if key.is_of(name) {
            continue;
        }
        if TOLERATED.contains(&key.name) {
            let owners = key.scenarios.join(", ");
            let message = format!("{name} does not use `{}`, which is for {owners}", key.name);
            reader.warn(&field.span, &message);
        } else {
            let message = format!("{name} has no knob `{}`", key.name);
            reader.problem(&field.span, message, knob_hint(key, name));
        }
    }
}

fn knob_hint(key: &Key, scenario: &str) -> String {
    match (key.name, scenario) {
        ("iterations", "race_check") => "race_check has `rounds`".into(),
        ("rounds", _) => "it is for race_check; others have `iterations`".into(),
        ("hang_threshold", _) => "[thresholds] has hang_timeout for every scenario".into(),
        ("grace_period", _) => "[thresholds] has grace_period for every scenario".into(),
        _ => format!("it is for {}; leave it out", key.scenarios.join(", ")),
    }
}

/// What is given, allowed, and yet without effect.
fn warn_of_unused(
    reader: &mut Reader<'_>,
    section: &Section<'_>,
    scenario: &Scenario,
    has_calls: bool,
) {
    if scenario.load.rate.is_none() {
        for name in ["max_in_flight", "catch_up"] {
            if let Some(field) = section.get(name) {
                let message = format!("`{name}` does nothing without `rate`");
                reader.warn(&field.span, &message);
            }
        }
    }
    if let ScenarioKind::Pattern { patterns, .. } = &scenario.kind
        && patterns.iter().all(|pattern| !pattern.steps.is_empty())
        && let Some(field) = section.get("tool_call").filter(|_| has_calls)
    {
        reader.warn(
            &field.span,
            "`tool_call` does nothing: every pattern has its own steps",
        );
    }
}
