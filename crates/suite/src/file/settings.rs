//! Every setting of a suite, each declared once: its name, what it takes, its default, what it does. The reader, the
//! JSON Schema and the tables in the documents are made from these.

use mcprove_load::config::{Headers, ServerSettings as LoadServer, Variables};

use super::kinds::{
    AGENTS, Address, BUDGET, CallArguments, Checks, DEFAULTS, EXPECTATIONS, FAULTS, HttpAddress,
    LOADS, MockFaults, NEGATIVE_PATH, Names, NegativePathExpectations, Nested, PROVIDER,
    ReadElsewhere, Reason, SERVERS, ShellWords, TEMPERATURE, TOOLS, Turns, VARIABLES, VariableName,
};
use crate::prelude::*;

/// The most tests at once that can be asked for.
const PARALLEL_MAX: u64 = 1_000;
/// The most answers that can be asked for.
const TURNS_MAX: u64 = 1_000;
/// The most tokens of one answer that can be asked for.
const MAX_TOKENS_MAX: u64 = 1_000_000;
/// The most runs that can be asked for: all of them are kept.
const RUNS_MAX: u64 = 1_000;

/// A table of a suite.
#[derive(Debug, Clone, Copy)]
pub struct SectionKeys {
    /// Its name in the JSON Schema.
    pub name: &'static str,
    /// Where it stands, for people.
    pub title: &'static str,
    /// What it is.
    pub explanation: &'static str,
    /// What is in it.
    pub settings: fn() -> &'static [Setting],
}

impl SectionKeys {
    const fn new(
        name: &'static str,
        title: &'static str,
        explanation: &'static str,
        settings: fn() -> &'static [Setting],
    ) -> Self {
        Self {
            name,
            title,
            explanation,
            settings,
        }
    }
}

/// Every table, in the order in which they are explained.
pub const SECTIONS: &[SectionKeys] = &[
    SectionKeys::new(
        "suite",
        "Keys at the top",
        "what there is to test, and on what",
        SuiteSettings::declared,
    ),
    SectionKeys::new(
        "server",
        "Keys of a server",
        "a command to start, an address, or a mock in this process",
        ServerSettings::declared,
    ),
    SectionKeys::new(
        "tool_test",
        "Keys of a tool test",
        "one call of a tool, and what must come back; without `expect` the call must succeed",
        ToolTestSettings::declared,
    ),
    SectionKeys::new(
        "negative_path",
        "Keys of negative_path",
        "bad requests that the tool must reject",
        NegativePathSettings::declared,
    ),
    SectionKeys::new(
        "agent_test",
        "Keys of an agent",
        "a task for a model, or for your own agent; besides these keys it has the blocks of a gates file",
        AgentSettings::declared,
    ),
    SectionKeys::new(
        "provider",
        "Keys of provider",
        "how to reach the provider of a model",
        ProviderSettings::declared,
    ),
    SectionKeys::new(
        "budget",
        "Keys of budget",
        "the limits of one run; a run that reaches one ends there, and fails",
        Budget::declared,
    ),
    SectionKeys::new(
        "load_test",
        "Keys of a load",
        "a load on a server of the suite; besides these keys it has those at the top of a load configuration, but for `server`; what `session` leaves out is as for the server",
        LoadTestSettings::declared,
    ),
    SectionKeys::new(
        "defaults",
        "Keys of defaults",
        "default values for tests that have such a key",
        DefaultSettings::declared,
    ),
];

/// The names of the settings of a table, other names included.
pub fn names_of<T: Settings>() -> Vec<&'static str> {
    T::declared().iter().flat_map(Setting::names).collect()
}

/// The top of a suite.
#[derive(Debug, Settings)]
pub struct SuiteSettings {
    /// The servers, by the names that tests use.
    #[setting(kind = SERVERS, otherwise = "none")]
    servers: ReadElsewhere,
    /// Faults that agents may meet: see `inject`.
    #[setting(kind = FAULTS, otherwise = "none")]
    faults: ReadElsewhere,
    /// Calls of tools, and what must come back.
    #[setting(kind = TOOLS, otherwise = "none")]
    tools: ReadElsewhere,
    /// Tasks for agents, and what they must make of them.
    #[setting(kind = AGENTS, otherwise = "none")]
    agents: ReadElsewhere,
    /// Loads, and what must hold under them.
    #[setting(kind = LOADS, otherwise = "none")]
    load: ReadElsewhere,
    /// Default values for tests.
    #[setting(kind = DEFAULTS, otherwise = "none")]
    defaults: ReadElsewhere,
    /// Values that `${name}` stands for anywhere in the texts of the file.
    #[setting(kind = VARIABLES, otherwise = "none")]
    variables: ReadElsewhere,
    /// What the suite is called, for readers of the file.
    #[setting(otherwise = "none")]
    name: Option<String>,
    /// What it is for, for readers of the file.
    #[setting(otherwise = "none")]
    description: Option<String>,
    /// The JSON Schema, for editors.
    #[setting(name = "$schema", otherwise = "none")]
    schema: Option<String>,
}

/// A program that a suite starts: a server, or an agent of the user's own.
#[derive(Debug, Settings)]
pub struct ProgramSettings {
    /// The program to start, and its arguments; one text is split into words as in a shell.
    #[setting]
    pub command: ShellWords,
    /// More arguments of the program.
    #[setting(otherwise = "none")]
    pub args: Vec<String>,
    /// Variables added to the environment, which the program inherits.
    #[setting(otherwise = "none")]
    pub env: Variables,
    /// The folder that the program starts in, seen from that of the suite.
    #[setting(alias = "working_dir", otherwise = "the folder of the suite")]
    pub cwd: Option<String>,
}

/// A server of a suite.
#[derive(Debug, Settings)]
pub struct ServerSettings {
    #[setting(flatten)]
    pub program: ProgramSettings,
    #[setting(like = LoadServer::URL, kind = Address::KIND)]
    pub url: Option<Address>,
    #[setting(like = LoadServer::HEADERS)]
    pub headers: Headers,
    #[setting(like = LoadServer::BEARER_ENV)]
    pub bearer_env: Option<VariableName>,
    #[setting(like = LoadServer::TRANSPORT)]
    pub transport: Option<String>,
    /// A tools file, seen from the folder of the suite, to be served in this process.
    #[setting]
    pub mock: Option<String>,
    /// What the calls of a mock meet, such as `hang`.
    #[setting(alias = "faults", otherwise = "none")]
    pub fault: MockFaults,
    /// `startup_timeout` in milliseconds.
    #[setting(like = TimeLimits::STARTUP_TIMEOUT, name = "startup_timeout_ms", kind = milliseconds(1))]
    pub startup_timeout_ms: Option<Duration>,
    /// `shutdown_timeout` in milliseconds.
    #[setting(like = TimeLimits::SHUTDOWN_TIMEOUT, name = "shutdown_timeout_ms", kind = milliseconds(0))]
    pub shutdown_timeout_ms: Option<Duration>,
    /// `call_timeout` in milliseconds.
    #[setting(like = CallLimits::CALL_TIMEOUT, name = "call_timeout_ms", kind = milliseconds(1))]
    pub call_timeout_ms: Option<Duration>,
    /// How many tests may use it at once; 1 is one after the other.
    #[setting(kind = Kind::Whole(1, PARALLEL_MAX), default = 8)]
    pub parallel: u32,
    /// Gives every test a server of its own, just started.
    #[setting(default = false)]
    pub fresh: bool,
    /// Fail when the tool tests and loads call a smaller share of its tools that may be called; 0.8 is 80 %.
    #[setting(kind = SHARE, otherwise = "none")]
    pub min_coverage: Option<f64>,
    #[setting(flatten)]
    pub limits: TimeLimits,
    #[setting(flatten)]
    pub session: SessionSettings,
}

/// What every test has.
#[derive(Debug, Settings)]
pub struct TestSettings {
    /// The name of the test; unique in the suite.
    #[setting(required = true)]
    pub name: String,
    /// Tags to choose it by.
    #[setting(otherwise = "none")]
    pub tags: Names,
    /// The reason why it is skipped.
    #[setting(otherwise = "false")]
    pub skip: Option<Reason>,
}

/// A call of a tool, and what must come back.
#[derive(Debug, Settings)]
pub struct ToolTestSettings {
    #[setting(flatten)]
    pub test: TestSettings,
    /// The name of a server of the suite.
    #[setting(otherwise = "the only one, if there is just one")]
    pub server: Option<String>,
    /// The tool.
    #[setting(required = true)]
    pub tool: String,
    /// Its arguments.
    #[setting(otherwise = "{}")]
    pub args: CallArguments,
    /// How long the call may take.
    #[setting(kind = milliseconds(1), otherwise = "that of the server")]
    pub timeout_ms: Option<Duration>,
    /// What must come back: `result…`, `is_error`, `error`, `duration_ms`, `negative_path…`.
    #[setting(kind = EXPECTATIONS, otherwise = "the call succeeds")]
    expect: ReadElsewhere,
    /// Bad requests that the tool must reject.
    #[setting(kind = NEGATIVE_PATH, otherwise = "none")]
    pub negative_path: Option<Nested<NegativePathSettings>>,
}

/// Bad requests that a tool must reject.
#[derive(Debug, Settings)]
pub struct NegativePathSettings {
    /// Which are made.
    #[setting(otherwise = "all that apply")]
    pub checks: Option<Checks>,
    /// How long each may take before it counts as hung.
    #[setting(kind = milliseconds(1), default = 10000)]
    pub timeout_ms: Duration,
    /// What `negative_path.checks_run`, `.failures` and `.gate_passed` must be, instead.
    #[setting(otherwise = "`negative_path.gate_passed` is 1")]
    pub expect: Option<NegativePathExpectations>,
}

/// A task for an agent, and what it must do. It has the blocks of a gates file too.
#[derive(Debug, Settings)]
pub struct AgentSettings {
    #[setting(flatten)]
    pub test: TestSettings,
    /// The model; one that begins with `claude` is Anthropic's, any other uses the OpenAI API.
    #[setting]
    pub model: Option<String>,
    /// How to reach the model's provider.
    #[setting(otherwise = "from the model's name")]
    pub provider: Option<ProviderSettings>,
    /// Your own agent, instead of a model that mcprove asks.
    #[setting(flatten)]
    pub program: ProgramSettings,
    /// The servers that provide its tools; `[]` for none.
    #[setting(otherwise = "the only one, if there is just one")]
    pub servers: Option<Names>,
    /// The system prompt.
    #[setting(otherwise = "none")]
    pub system: Option<String>,
    /// What it is asked.
    #[setting]
    pub prompt: Option<String>,
    /// What it is asked, one after the other, instead of `prompt`.
    #[setting]
    pub turns: Turns,
    /// The most answers of the model in one run.
    #[setting(kind = Kind::Whole(1, TURNS_MAX), default = 10)]
    pub max_turns: u32,
    /// The most tokens of one answer.
    #[setting(kind = Kind::Whole(1, MAX_TOKENS_MAX), default = 1024)]
    pub max_tokens: u32,
    /// The temperature of the model.
    #[setting(kind = TEMPERATURE, otherwise = "the provider's")]
    pub temperature: Option<f64>,
    /// Further limits of one run.
    #[setting(kind = BUDGET, otherwise = "none")]
    pub budget: Nested<Budget>,
    /// How many runs there are; all are scored, the worst decides.
    #[setting(kind = Kind::Whole(1, RUNS_MAX), default = 1)]
    pub runs: u32,
    /// The names of the `faults` that its calls meet, in the order in which they are tried.
    #[setting(otherwise = "none")]
    pub inject: Names,
}

/// How to reach the provider of a model.
#[derive(Debug, Default, Settings)]
pub struct ProviderSettings {
    /// Anthropic Messages, or OpenAI chat completions.
    #[setting(name = "type", kind = PROVIDER, otherwise = "from the model's name")]
    pub kind: Option<String>,
    /// The address of the provider, or of one that speaks as it does.
    #[setting(otherwise = "that of the environment, then the provider's own")]
    pub base_url: Option<HttpAddress>,
    /// The variable of the environment that has the key.
    #[setting(otherwise = "the provider's own")]
    pub api_key_env: Option<VariableName>,
}

/// A load, and what must hold under it.
#[derive(Debug, Settings)]
pub struct LoadTestSettings {
    #[setting(flatten)]
    pub test: TestSettings,
    #[setting(like = ToolTestSettings::SERVER)]
    pub server: Option<String>,
}

/// What tests have that do not say otherwise.
#[derive(Debug, Settings)]
pub struct DefaultSettings {
    /// The server of tool tests and loads.
    #[setting]
    pub server: Option<String>,
    /// The servers of agents.
    #[setting]
    pub servers: Names,
    #[setting(like = ToolTestSettings::TIMEOUT_MS)]
    timeout_ms: Option<Duration>,
    /// The model of agents that have no `command`.
    #[setting(like = AgentSettings::MODEL)]
    model: Option<String>,
    #[setting(like = AgentSettings::PROVIDER)]
    provider: Option<ProviderSettings>,
    #[setting(like = AgentSettings::SYSTEM)]
    system: Option<String>,
    #[setting(like = AgentSettings::TEMPERATURE)]
    temperature: Option<f64>,
    #[setting(like = AgentSettings::MAX_TURNS)]
    max_turns: Option<u32>,
    #[setting(like = AgentSettings::MAX_TOKENS)]
    max_tokens: Option<u32>,
    /// Further limits of one run of an agent, each by itself.
    #[setting(like = AgentSettings::BUDGET)]
    budget: Nested<Budget>,
    #[setting(like = AgentSettings::RUNS)]
    runs: Option<u32>,
    /// Tags of every test, besides its own.
    #[setting(like = TestSettings::TAGS)]
    tags: Names,
}
