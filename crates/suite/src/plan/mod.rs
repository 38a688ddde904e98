//! A suite, resolved: what it tests, on which servers, and what must come of it.
//!
//! `file` reads it from YAML; `run::suite` carries it out. Texts in it may still name variables of the
//! environment (`${NAME}`), which are filled in when they are used and not before: whoever only looks at
//! a suite, or replays it, needs none of them.

mod environment;

pub use environment::{Environment, FillError};
pub(crate) use environment::{Part, parts, texts_of};
pub(crate) use mcprove_load::config::parts_of_url;

use std::net::IpAddr;

use mcprove_servers::mock::MockOptions;

use crate::prelude::*;

/// A suite.
#[derive(Debug, Clone, Default)]
pub struct SuitePlan {
    /// The name of its file, for messages.
    pub file: String,
    /// The folder of its file: paths in it, and its cassettes, start there.
    pub folder: PathBuf,
    /// The servers, by name.
    pub servers: BTreeMap<String, ServerPlan>,
    /// The faults that agents may meet.
    pub faults: Vec<FaultSpec>,
    /// Calls of tools, and what must come back.
    pub tools: Vec<ToolTestPlan>,
    /// Tasks for agents, and what they must make of them.
    pub agents: Vec<AgentTestPlan>,
    /// Loads, and what must hold under them.
    pub load: Vec<LoadTestPlan>,
    /// What is odd about the file but harmless, each with its place.
    pub warnings: Vec<mcprove_settings::reader::Warning>,
}

/// A server of a suite.
#[derive(Debug, Clone)]
pub struct ServerPlan {
    /// Its name in the suite.
    pub name: String,
    /// Where it stands in the file.
    pub place: SourcePlace,
    /// How it is reached.
    pub reach: Reach,
    /// Settings of the session.
    pub session: SessionSettings,
    /// How many tests may use it at once: 1 is one after the other.
    pub parallel: u32,
    /// Whether each test gets a server of its own, just started.
    pub is_fresh: bool,
    /// The share of its tools that may be called that tests must call.
    pub min_coverage: Option<f64>,
}

/// How a server of a suite is reached.
#[derive(Debug, Clone)]
pub enum Reach {
    /// Started, or connected to. Its arguments, its environment, its headers and its address behind the
    /// host may name variables.
    Server(Server),
    /// A mock in this process, with the faults that it has.
    Mock {
        /// What it is made of.
        spec: Box<MockSpec>,
        /// The faults that its calls meet, live.
        faults: Vec<FaultSpec>,
    },
}

/// Faults as after `--fault`.
pub(crate) fn written(faults: &[FaultSpec]) -> Vec<String> {
    faults.iter().map(ToString::to_string).collect()
}

/// Any free port of this machine.
pub(crate) const ANY_PORT: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 0);

/// The mock that the server of this name is.
pub(crate) fn mock(
    name: &str,
    spec: MockSpec,
    faults: &[FaultSpec],
    seed: u64,
) -> DiagnosticResult<Mock> {
    let options = MockOptions {
        faults: faults.to_vec(),
        seed,
        ..MockOptions::default()
    };
    Mock::new(spec, options).map_err(|error| {
        Diagnostic::new(
            format!("the mock {name:?} cannot be made: {error}"),
            sentence!(
                "check the file of its tools{}",
                command(" with ", "validate", "")
            ),
        )
    })
}

impl ServerPlan {
    /// The server, filled in. A mock listens on an address of this machine until it is dropped.
    pub(crate) async fn listen(
        &self,
        environment: &Environment,
        seed: u64,
    ) -> Result<(Server, Option<Listening>), Diagnostic> {
        let name = &self.name;
        match &self.reach {
            Reach::Server(server) => {
                let server = environment.fill_server(server);
                let server = server.map_err(|error| error.of(format!("the server {name:?}")))?;
                Ok((server, None))
            }
            Reach::Mock { spec, faults } => {
                let mock = mock(name, (**spec).clone(), faults, seed)?;
                let listening = mock
                    .listen(mcprove_servers::mock::ListenerKind::Http, ANY_PORT)
                    .await
                    .map_err(|error| {
                        Diagnostic::new(
                            format!("the mock {name:?} cannot be reached: {error}"),
                            "check that this machine lets programs listen on 127.0.0.1",
                        )
                    })?;
                Ok((Server::http(listening.url()), Some(listening)))
            }
        }
    }
}

/// What every test has.
#[derive(Debug, Clone)]
pub struct TestHead {
    /// Its name, which no other test of the suite has.
    pub name: String,
    /// Where it stands in the file.
    pub place: SourcePlace,
    /// By which it can be chosen.
    pub tags: Vec<String>,
    /// Why it is not run.
    pub skip: Option<String>,
}

/// One call of a tool.
#[derive(Debug, Clone)]
pub struct ToolTestPlan {
    /// What every test has.
    pub head: TestHead,
    /// The name of the server.
    pub server: String,
    /// The tool.
    pub tool: String,
    /// Its arguments; texts in them may name variables.
    pub args: Value,
    /// How long the call may take.
    pub timeout: Duration,
    /// What must come back. Without any, the call must succeed.
    pub expect: Vec<Expectation>,
    /// The bad requests that the tool must reject.
    pub negative_path: Option<NegativePathPlan>,
}

/// The bad requests that a tool must reject.
#[derive(Debug, Clone)]
pub struct NegativePathPlan {
    /// Which are made.
    pub checks: Vec<Probe>,
    /// How long each may take before it counts as hung.
    pub timeout: Duration,
    /// What replaces the default gate.
    pub expect: Option<Vec<Expectation>>,
}

/// A task for an agent.
#[derive(Debug, Clone)]
pub struct AgentTestPlan {
    /// What every test has.
    pub head: TestHead,
    /// Who does it.
    pub driver: Driver,
    /// The names of the servers that provide its tools.
    pub servers: Vec<String>,
    /// The system prompt.
    pub system: Option<String>,
    /// What it is asked, one after the other: each once the one before is answered.
    pub prompts: Vec<String>,
    /// The limits of one run.
    pub budget: Budget,
    /// How many runs there are.
    pub runs: u32,
    /// The faults that its calls meet, in the order in which they are tried.
    pub inject: Vec<FaultSpec>,
    /// What all runs are held to.
    pub gates: Gates,
}

/// Who does the task of an agent.
#[derive(Debug, Clone)]
pub enum Driver {
    /// A model, by our own loop.
    Model(ModelPlan),
    /// A process of the user, whose traffic with the servers is observed.
    Command(CommandPlan),
}

/// A model.
#[derive(Debug, Clone)]
pub struct ModelPlan {
    /// Its name, as its provider knows it.
    pub model: String,
    /// How to reach its provider.
    pub provider: &'static provider::Entry,
    /// The address of the provider; by default that of the environment, then the provider's own. Behind
    /// the host it may name variables.
    pub base_url: Option<String>,
    /// The variable that has the key; the provider's own unless given.
    pub api_key_env: Option<String>,
    /// How freely it chooses its words; left to the provider unless given.
    pub temperature: Option<f64>,
    /// The most tokens of one answer.
    pub max_tokens: u32,
}

/// An agent of the user, as a process.
#[derive(Debug, Clone, PartialEq)]
pub struct CommandPlan {
    /// The program, which names no variables.
    pub program: String,
    /// Its arguments, which may name variables.
    pub args: Vec<String>,
    /// Variables added to the inherited environment; their values may name variables.
    pub env: BTreeMap<String, String>,
    /// The folder that it starts in; that of the suite unless given.
    pub working_dir: Option<PathBuf>,
    /// What the model is called in traces and in the name of the cassette.
    pub model: Option<String>,
}

/// The largest budget of tokens.
const TOKENS_MAX: u64 = 1_000_000_000;
/// The largest budget of calls.
const TOOL_CALLS_MAX: u64 = 1_000_000;

/// The limits of one run of an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Settings)]
pub struct Budget {
    /// The most answers of the model: `max_turns` of the agent.
    pub turns: u32,
    /// The most tokens, in and out, of all answers together
    #[setting(kind = Kind::Whole(1, TOKENS_MAX), otherwise = "no limit")]
    pub tokens: Option<u64>,
    /// The most calls of tools
    #[setting(kind = Kind::Whole(0, TOOL_CALLS_MAX), otherwise = "no limit")]
    pub tool_calls: Option<u64>,
    /// The longest time
    #[setting(name = "time_ms", kind = milliseconds(1), default = 300000)]
    pub time: Duration,
    /// How long one call of a tool may take
    #[setting(like = CallLimits::CALL_TIMEOUT, name = "call_ms", kind = milliseconds(1))]
    pub call: Duration,
}

/// A load on a server of the suite.
#[derive(Debug, Clone)]
pub struct LoadTestPlan {
    /// What every test has.
    pub head: TestHead,
    /// The name of the server.
    pub server: String,
    /// The load. Its server is that of the suite, or, for a mock, is not used.
    pub config: LoadConfig,
}
