//! The keys of `[scenario]`, and of what is called.

use super::{ERROR_BEHAVIORS, Form, Key, SCENARIOS, key, knob};
use crate::drive::scenario::PRESETS;

/// The scenarios that are loads over time.
const LOADS: &[&str] = &["sustained", "spike", "ramp", "soak", "pattern", "slow_mix"];

/// The keys of the section.
pub(super) const SCENARIO: &[Key] = &[
    key("type", Form::OneOf(SCENARIOS), "", "which scenario"),
    knob(
        "duration",
        Form::Time,
        "60s; soak 1h, slow_mix 20s",
        "how long the load lasts",
        LOADS,
    ),
    knob(
        "concurrent",
        Form::Count,
        "10; soak 4, deadlock_probe and race_check 20, reconnect and churn 5",
        "calls in flight in total; of a spike outside the burst; of a ramp another name of ramp_to",
        &[
            "sustained",
            "spike",
            "ramp",
            "soak",
            "pattern",
            "deadlock_probe",
            "race_check",
            "slow_mix",
            "reconnect",
            "churn",
        ],
    ),
    knob(
        "iterations",
        Form::Count,
        "cold_start 5, fuzzer 1, reconnect 10, early_call 3, interrupted_call 10",
        "how often",
        &[
            "cold_start",
            "fuzzer",
            "reconnect",
            "early_call",
            "interrupted_call",
        ],
    ),
    knob(
        "warmup",
        Form::Warmup,
        "0; cold_start true",
        "the time before anything counts; of cold_start, whether the first start is thrown away",
        &[
            "cold_start",
            "sustained",
            "spike",
            "ramp",
            "soak",
            "pattern",
            "slow_mix",
        ],
    ),
    knob(
        "rate",
        Form::Rate,
        "none",
        "calls per second on a fixed schedule (open model); without it the load waits for answers \
         (closed model); of a spike and a ramp the rate at the beginning, which then grows as the \
         calls in flight would",
        LOADS,
    ),
    knob(
        "max_in_flight",
        Form::Count,
        "1000",
        "with `rate`, the most calls in flight; what cannot start is counted as dropped",
        LOADS,
    ),
    knob(
        "catch_up",
        Form::Boolean,
        "false",
        "with `rate`, whether missed calls are made up for in a burst",
        LOADS,
    ),
    knob(
        "rate_limit",
        Form::CountOrZero,
        "0, unlimited",
        "the most calls per second of a closed load",
        &["sustained"],
    ),
    knob(
        "sessions",
        Form::Count,
        "1; churn 100",
        "connections, each a process over stdio; of churn, how many are opened and abandoned",
        &[
            "sustained",
            "spike",
            "ramp",
            "soak",
            "pattern",
            "slow_mix",
            "churn",
        ],
    ),
    knob(
        "calls",
        Form::Calls,
        "none",
        "ends the load after this many calls, if that comes first",
        LOADS,
    ),
    key(
        "seed",
        Form::Seed,
        "drawn, and printed",
        "decides every random choice",
    ),
    key(
        "allow_writes",
        Form::Boolean,
        "false",
        "calls also tools that may write, where none is named",
    ),
    key(
        "strict",
        Form::Boolean,
        "false",
        "checks arguments against inputSchema, and results against the protocol and outputSchema",
    ),
    knob(
        "ramp_from",
        Form::Count,
        "1",
        "calls in flight in the first step",
        &["ramp"],
    ),
    knob(
        "from_concurrent",
        Form::Count,
        "1",
        "another name of ramp_from",
        &["ramp"],
    ),
    knob(
        "ramp_to",
        Form::Count,
        "100",
        "calls in flight in the last step",
        &["ramp"],
    ),
    knob(
        "to_concurrent",
        Form::Count,
        "100",
        "another name of ramp_to",
        &["ramp"],
    ),
    knob(
        "step_increment",
        Form::Count,
        "a tenth of the way",
        "how many more calls each step has",
        &["ramp"],
    ),
    knob(
        "spike_at",
        Form::TimeOrZero,
        "half-way",
        "when the burst begins",
        &["spike"],
    ),
    knob(
        "spike_duration",
        Form::Time,
        "a sixth of the run",
        "how long the burst takes",
        &["spike"],
    ),
    knob(
        "spike_multiplier",
        Form::Factor,
        "10",
        "how many times the calls in flight there are in the burst",
        &["spike"],
    ),
    knob(
        "spike_concurrent",
        Form::Count,
        "10 × concurrent",
        "calls in flight in the burst, instead of spike_multiplier",
        &["spike"],
    ),
    knob(
        "leak_check_interval",
        Form::Time,
        "a twentieth of the run, at most 10s",
        "how often memory is looked at",
        &["soak"],
    ),
    knob(
        "sample_interval",
        Form::Time,
        "as leak_check_interval",
        "another name of leak_check_interval",
        &["soak"],
    ),
    knob(
        "latency_drift_ms_per_sec",
        Form::NotNegative,
        "0.5",
        "how fast the mean latency may grow",
        &["soak"],
    ),
    knob(
        "hang_threshold",
        Form::Time,
        "5s, or hang_timeout of [thresholds]",
        "when a call counts as hung",
        &["deadlock_probe"],
    ),
    knob(
        "grace_period",
        Form::TimeOrZero,
        "10s, or grace_period of [thresholds]",
        "how long a hung call may still answer late",
        &["deadlock_probe"],
    ),
    knob(
        "list_timeout",
        Form::Time,
        "1s",
        "how long tools/list may take",
        &["deadlock_probe"],
    ),
    knob(
        "rounds",
        Form::Count,
        "5",
        "how many rounds of simultaneous calls",
        &["race_check"],
    ),
    knob(
        "payloads",
        Form::Texts,
        "all",
        "the hostile payloads to send, by name",
        &["fuzzer"],
    ),
    knob(
        "answer_timeout",
        Form::Time,
        "2s",
        "how long each answer may take",
        &["fuzzer"],
    ),
    knob(
        "slow_share",
        Form::OpenShare,
        "0.2",
        "the share of calls that go to the slow tool, the second one named",
        &["slow_mix"],
    ),
    knob(
        "preset",
        Form::OneOf(PRESETS),
        "explore_then_act",
        "a pattern made from the server's tools, instead of [[scenario.pattern]]",
        &["pattern"],
    ),
    knob(
        "think_time",
        Form::TimeOrZero,
        "0",
        "the pause after each step, where a pattern has none of its own",
        &["pattern"],
    ),
    knob(
        "error_behavior",
        Form::OneOf(ERROR_BEHAVIORS),
        "continue",
        "when a step fails: go on, abort the pattern, or stop the run; where a pattern has none of its own",
        &["pattern"],
    ),
    key(
        "tool_call",
        Form::Tables(TOOL_CALL),
        "every tool that only reads or computes",
        "what is called, chosen by weight",
    ),
    knob(
        "pattern",
        Form::Tables(PATTERN),
        "the preset",
        "sequences of steps, chosen by weight",
        &["pattern"],
    ),
];

/// One `[[scenario.tool_call]]`.
pub const TOOL_CALL: &[Key] = &[
    key("name", Form::Text, "", "the tool"),
    key(
        "args",
        Form::Arguments,
        "made from the tool's schema, with a unique token",
        "its arguments, sent as they are: a table, or JSON in a text",
    ),
    key(
        "weight",
        Form::NotNegative,
        "1.0",
        "how often it is chosen, in proportion to the others",
    ),
];

/// One `[[scenario.pattern]]`.
pub const PATTERN: &[Key] = &[
    key(
        "name",
        Form::Text,
        "",
        "its name in the report, or a preset",
    ),
    key(
        "weight",
        Form::NotNegative,
        "1.0",
        "how often it is chosen, in proportion to the others",
    ),
    key(
        "think_time",
        Form::TimeOrZero,
        "that of [scenario]",
        "the pause after each step",
    ),
    key(
        "error_behavior",
        Form::OneOf(ERROR_BEHAVIORS),
        "that of [scenario]",
        "what a failed step leads to",
    ),
    key(
        "steps",
        Form::Steps(STEP),
        "those of the preset of that name",
        "the steps in order: {tool = \"x\", args = {…}} or {list = \"tools\"}",
    ),
];

/// One step of a pattern.
pub const STEP: &[Key] = &[
    key("tool", Form::Text, "", "the tool to call"),
    key(
        "args",
        Form::Arguments,
        "made from the tool's schema, with a unique token",
        "its arguments, sent as they are: a table, or JSON in a text",
    ),
    key(
        "list",
        Form::OneOf(&["tools"]),
        "",
        "lists the tools instead",
    ),
];
