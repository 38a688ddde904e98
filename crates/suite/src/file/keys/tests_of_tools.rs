//! The keys of tests that need no model: calls of tools, and loads.

use super::{Form, Key, Section, key};

pub(super) const NAME: Key = key(
    "name",
    Form::Text,
    "",
    "what the test is called; no other test of the suite is called so",
);
pub(super) const TAGS: Key = key(
    "tags",
    Form::NameOrNames,
    "none",
    "by which it can be chosen",
);
pub(super) const SKIP: Key = key("skip", Form::Reason, "false", "why it is not run");

const SERVER: Key = key(
    "server",
    Form::Text,
    "the only one, if there is but one",
    "the name of a server of the suite",
);

/// A call of a tool, and what must come back.
pub const TOOL: Section = Section {
    name: "tool_test",
    title: "Keys of a tool test",
    explanation: "one call of a tool, and what must come back; without `expect` the call must succeed",
    keys: &[
        NAME,
        SERVER,
        key("tool", Form::Text, "", "the tool"),
        key("args", Form::Map, "{}", "its arguments"),
        key(
            "timeout_ms",
            Form::Milliseconds,
            "that of the server, 30000",
            "how long the call may take",
        ),
        key(
            "expect",
            Form::Expectations,
            "the call succeeds",
            "what must come back: `result…`, `is_error`, `error`, `duration_ms`, `negative_path…`",
        ),
        key(
            "negative_path",
            Form::Table(&NEGATIVE_PATH),
            "none",
            "bad requests that the tool must reject",
        ),
        TAGS,
        SKIP,
    ],
};

/// Bad requests that a tool must reject.
pub const NEGATIVE_PATH: Section = Section {
    name: "negative_path",
    title: "Keys of negative_path",
    explanation: "bad requests that the tool must reject",
    keys: &[
        key("checks", Form::Checks, "all that apply", "which are made"),
        key(
            "timeout_ms",
            Form::Milliseconds,
            "10000",
            "how long each may take before it counts as hung",
        ),
        key(
            "expect",
            Form::Expectations,
            "`negative_path.gate_passed` is 1",
            "what `negative_path.checks_run`, `.failures` and `.gate_passed` must be, instead",
        ),
    ],
};

/// A load, and what must hold under it.
pub const LOAD: Section = Section {
    name: "load_test",
    title: "Keys of a load",
    explanation: "a load on a server of the suite, with the sections of a load configuration",
    keys: &[
        NAME,
        SERVER,
        key(
            "scenario",
            Form::Load("scenario"),
            "",
            "what is done to the server",
        ),
        key(
            "thresholds",
            Form::Load("thresholds"),
            "none",
            "what it must keep to",
        ),
        key(
            "faults",
            Form::Load("faults"),
            "none",
            "what goes wrong on purpose meanwhile",
        ),
        key(
            "session",
            Form::Load("session"),
            "that of the server",
            "how it is spoken to",
        ),
        key(
            "protocol",
            Form::Load("protocol"),
            "that of the server",
            "another place for `protocol` of `session`",
        ),
        key(
            "output",
            Form::Load("output"),
            "all reports",
            "what is written",
        ),
        TAGS,
        SKIP,
    ],
};
