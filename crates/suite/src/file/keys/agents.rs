//! The keys of an agent, besides those of its gates.

use super::servers::{ARGS, CWD, WORKING_DIR};
use super::tests_of_tools::{NAME, SKIP, TAGS};
use super::top::PROVIDERS;
use super::{Form, Section, key};
use crate::file::limits::{MAX_TOKENS_MAX, RUNS_MAX, TOKENS_MAX, TOOL_CALLS_MAX, TURNS_MAX};

/// A task for an agent, and what it must make of it.
pub const AGENT: Section = Section {
    name: "agent_test",
    title: "Keys of an agent",
    explanation: "a task for a model, or for an agent of your own; besides these keys it has the blocks of a gates file",
    keys: &[
        NAME,
        key(
            "model",
            Form::Text,
            "",
            "the model; one that begins with `claude` is Anthropic's, any other is spoken to as OpenAI's",
        ),
        key(
            "provider",
            Form::NameOrTable(PROVIDERS, &PROVIDER),
            "from the model's name",
            "how the model's provider is spoken to",
        ),
        key(
            "command",
            Form::Command,
            "",
            "an agent of your own instead: the program to start, and its arguments",
        ),
        ARGS,
        key(
            "env",
            Form::TextTable,
            "none",
            "variables added to the environment of the program",
        ),
        CWD,
        WORKING_DIR,
        key(
            "servers",
            Form::Names,
            "the only one, if there is but one",
            "the servers whose tools it has; `[]` for none",
        ),
        key(
            "system",
            Form::Text,
            "none",
            "what the model is told before all else",
        ),
        key("prompt", Form::Text, "", "what it is asked"),
        key(
            "turns",
            Form::Prompts,
            "",
            "what it is asked, one after the other, instead of `prompt`",
        ),
        key(
            "max_turns",
            Form::Count(1, TURNS_MAX),
            "10",
            "the most answers of the model in one run",
        ),
        key(
            "max_tokens",
            Form::Count(1, MAX_TOKENS_MAX),
            "1024",
            "the most tokens of one answer",
        ),
        key(
            "temperature",
            Form::Range(0, 2),
            "the provider's",
            "how freely the model chooses its words",
        ),
        key(
            "budget",
            Form::Table(&BUDGET),
            "none",
            "further limits of one run",
        ),
        key(
            "runs",
            Form::Count(1, RUNS_MAX),
            "1",
            "how many runs there are; all are scored, the worst decides",
        ),
        key(
            "inject",
            Form::NameOrNames,
            "none",
            "the names of the `faults` that its calls meet, in the order in which they are tried",
        ),
        TAGS,
        SKIP,
    ],
};

/// How the provider of a model is spoken to.
pub const PROVIDER: Section = Section {
    name: "provider",
    title: "Keys of provider",
    explanation: "how the provider of a model is spoken to",
    keys: &[
        key(
            "type",
            Form::OneOf(PROVIDERS),
            "from the model's name",
            "Anthropic Messages, or OpenAI chat completions",
        ),
        key(
            "base_url",
            Form::Text,
            "that of the environment, then the provider's own",
            "the address of the provider, or of one that speaks as it does",
        ),
        key(
            "api_key_env",
            Form::Text,
            "the provider's own",
            "the variable of the environment that has the key",
        ),
    ],
};

/// The limits of one run.
pub const BUDGET: Section = Section {
    name: "budget",
    title: "Keys of budget",
    explanation: "the limits of one run; a run that reaches one ends there, and fails",
    keys: &[
        key(
            "tokens",
            Form::Count(1, TOKENS_MAX),
            "no limit",
            "the most tokens, in and out, of all answers together",
        ),
        key(
            "tool_calls",
            Form::Count(0, TOOL_CALLS_MAX),
            "no limit",
            "the most calls of tools",
        ),
        key("time_ms", Form::Milliseconds, "300000", "the longest time"),
        key(
            "call_ms",
            Form::Milliseconds,
            "30000",
            "how long one call of a tool may take",
        ),
    ],
};
