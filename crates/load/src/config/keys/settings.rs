//! The keys of the other sections.

use mcprove_settings::common_keys;

use super::{FORMATS, Form, Key, PROTOCOLS, TRANSPORTS, common, key};

/// The keys of `[server]`.
pub(super) const SERVER: &[Key] = &[
    key(
        "command",
        Form::Command,
        "",
        "the program to start; or a list: the program and its first arguments",
    ),
    key("args", Form::Texts, "none", "the program's arguments"),
    common(&common_keys::ENV, Form::TextTable),
    key(
        "working_dir",
        Form::Text,
        "where mcprove was started",
        "the directory the program starts in",
    ),
    common(&common_keys::TRANSPORT, Form::OneOf(TRANSPORTS)),
    common(&common_keys::URL, Form::Text),
    common(&common_keys::HEADERS, Form::TextTable),
    common(&common_keys::STARTUP_TIMEOUT, Form::Time),
    common(&common_keys::SHUTDOWN_TIMEOUT, Form::TimeOrZero),
    key(
        "protocol",
        Form::OneOf(PROTOCOLS),
        "auto",
        "another place for `protocol` of [session]",
    ),
];

/// One `[thresholds.tools.NAME]`.
pub const TOOL_THRESHOLDS: &[Key] = &[
    key("p50_latency", Form::Time, "none", "the median latency"),
    key(
        "p95_latency",
        Form::Time,
        "none",
        "the latency that 95 % of the calls keep to",
    ),
    key(
        "p99_latency",
        Form::Time,
        "none",
        "the latency that 99 % of the calls keep to",
    ),
    key(
        "p999_latency",
        Form::Time,
        "none",
        "the latency that 99.9 % of the calls keep to",
    ),
    key(
        "error_rate",
        Form::Share,
        "none",
        "the share of calls that may fail: 0.01 is 1 %",
    ),
];

/// The keys of `[thresholds]`.
pub(super) const THRESHOLDS: &[Key] = &[
    TOOL_THRESHOLDS[0],
    TOOL_THRESHOLDS[1],
    TOOL_THRESHOLDS[2],
    TOOL_THRESHOLDS[3],
    TOOL_THRESHOLDS[4],
    key(
        "hang_timeout",
        Form::Time,
        "5s",
        "when a call counts as hung",
    ),
    key(
        "grace_period",
        Form::TimeOrZero,
        "10s",
        "how long a hung call may still answer late; after that it is a deadlock",
    ),
    key(
        "memory_growth_mb",
        Form::NotNegative,
        "none; soak 50",
        "how much the server's memory may grow during the run, in MB",
    ),
    key(
        "tools",
        Form::TablesByName(TOOL_THRESHOLDS),
        "none",
        "limits for single tools, by name",
    ),
];

/// The keys of `[session]`.
pub(super) const SESSION: &[Key] = &[
    common(&common_keys::PROTOCOL, Form::OneOf(PROTOCOLS)),
    common(&common_keys::STRICT_PROTOCOL, Form::Boolean),
    key(
        "call_timeout",
        Form::Time,
        "30s",
        "how long one call may take; a deadline of its own, apart from hang_timeout",
    ),
    common(&common_keys::MAX_FRAME, Form::Size),
    common(&common_keys::ACCEPT_REQUESTS, Form::Boolean),
];

/// The keys of `[output]`.
pub(super) const OUTPUT: &[Key] = &[
    key(
        "report_dir",
        Form::Text,
        "./runs",
        "where the directory of the run is made",
    ),
    key(
        "formats",
        Form::SomeOf(FORMATS),
        "all of them",
        "which reports are written, and whether the terminal shows one",
    ),
    key(
        "trace",
        Form::Boolean,
        "true",
        "whether every call is written to trace.jsonl",
    ),
    key(
        "trace_value_bytes",
        Form::Size,
        "1KiB",
        "how much of each result is kept in the trace",
    ),
];
