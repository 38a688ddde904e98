//! The keys at the top of a suite, and those of `defaults`.

use super::{AGENT, BUDGET, Form, Key, LOAD, PROVIDER, SERVER, Section, TOOL, key};
use crate::file::limits::{MAX_TOKENS_MAX, RUNS_MAX, TURNS_MAX};

/// The top of a suite.
pub const SUITE: Section = Section {
    name: "suite",
    title: "Keys at the top",
    explanation: "what there is to test, and on what",
    keys: &[
        key(
            "servers",
            Form::TablesByName(&SERVER),
            "none",
            "the servers, by the names that tests use",
        ),
        key(
            "faults",
            Form::Faults,
            "none",
            "faults that agents may meet: see `inject`",
        ),
        key(
            "tools",
            Form::Tables(&TOOL),
            "none",
            "calls of tools, and what must come back",
        ),
        key(
            "agents",
            Form::Tables(&AGENT),
            "none",
            "tasks for agents, and what they must make of them",
        ),
        key(
            "load",
            Form::Tables(&LOAD),
            "none",
            "loads, and what must hold under them",
        ),
        key(
            "defaults",
            Form::Table(&DEFAULTS),
            "none",
            "what tests have that do not say otherwise",
        ),
        key(
            "variables",
            Form::Map,
            "none",
            "values that `${name}` stands for anywhere in the texts of the file",
        ),
        key(
            "name",
            Form::Text,
            "none",
            "what the suite is called, for readers of the file",
        ),
        key(
            "description",
            Form::Text,
            "none",
            "what it is for, for readers of the file",
        ),
        key(
            "$schema",
            Form::Text,
            "none",
            "the JSON Schema, for editors",
        ),
    ],
};

const DEFAULT_KEYS: &[Key] = &[
    key(
        "server",
        Form::Text,
        "",
        "the server of tool tests and loads",
    ),
    key("servers", Form::Names, "", "the servers of agents"),
    key(
        "timeout_ms",
        Form::Milliseconds,
        "",
        "how long the call of a tool test may take",
    ),
    key(
        "model",
        Form::Text,
        "",
        "the model of agents that have no `command`",
    ),
    key(
        "provider",
        Form::NameOrTable(PROVIDERS, &PROVIDER),
        "",
        "the provider of such models",
    ),
    key(
        "system",
        Form::Text,
        "",
        "what models are told before all else",
    ),
    key(
        "temperature",
        Form::Range(0, 2),
        "",
        "how freely models choose their words",
    ),
    key(
        "max_turns",
        Form::Count(1, TURNS_MAX),
        "",
        "the most answers of the model in one run",
    ),
    key(
        "max_tokens",
        Form::Count(1, MAX_TOKENS_MAX),
        "",
        "the most tokens of one answer",
    ),
    key(
        "budget",
        Form::Table(&BUDGET),
        "",
        "further limits of one run of an agent, each by itself",
    ),
    key(
        "runs",
        Form::Count(1, RUNS_MAX),
        "",
        "how many runs an agent has",
    ),
    key(
        "tags",
        Form::NameOrNames,
        "",
        "tags of every test, besides its own",
    ),
];

/// What tests have that do not say otherwise.
pub const DEFAULTS: Section = Section {
    name: "defaults",
    title: "Keys of defaults",
    explanation: "what tests have that do not say otherwise, where they have such a key",
    keys: DEFAULT_KEYS,
};

/// How model providers are spoken to.
pub const PROVIDERS: &[&str] = &["anthropic", "openai"];
