//! Proves that an MCP server, and the agents that use it, hold up: under load, faults, bad input and over repeated
//! runs.
//!
//! A [`Server`] says how a server is reached. A [`Run`] puts load on it and gives a [`Report`]. A [`Session`] is an
//! agreement with it, on which many calls can be in flight. [`eval`] scores what an agent did. [`docs/library.md`]
//! has a task for each.
//!
//! ```
//! # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
//! use mcprove::{InMemory, Session};
//! use serde_json::json;
//!
//! // A built-in server in this process; `Server::stdio` and `Server::http` name others.
//! let server = InMemory::fixture("normal").unwrap();
//! let session = Session::connect(&server).await.unwrap();
//!
//! let reply = session.call_tool("echo", &json!({ "message": "hi" })).await.unwrap();
//! assert!(reply.result().contains("hi"));
//! # });
//! ```
//!
//! | feature | adds |
//! |---|---|
//! | `tls` | addresses with `https://` and `wss://` |
//! | `ws` | WebSocket |
//! | `html` | `report.html` |
//! | `suite` | suites, cassettes, the proxy, configs in TOML and YAML: [`run_suites`] |
//! | `agent` | agents in suites; has `suite` and `tls` |
//! | `lab` | the server with known failures and its audit, which needs SQLite: [`lab`] |
//! | `cli` (default) | the program, with all of these |
//!
//! Where a name is not here, it is internal: the crates `mcprove-*` are the parts of this one, and change with it.
//!
//! [`docs/library.md`]: https://github.com/mcprove/mcprove/blob/main/docs/library.md

#![warn(missing_docs)]

mod in_memory;

// Servers
pub use in_memory::InMemory;
pub use mcprove_client::server::{Server, Transport};
pub use mcprove_servers::fixture;

// Load
pub use mcprove_load::drive::{
    ErrorBehavior, LoadSettings, Pattern, Scenario, ScenarioKind, Step, Stop, ToolCall,
};
pub use mcprove_load::run::{Progress, Run, Thresholds, ToolThresholds};

/// The settings of each scenario, as [`ScenarioKind`] has them.
///
/// ```
/// use mcprove::scenario::SlowMix;
/// use mcprove::{Scenario, ScenarioKind};
///
/// let mix = SlowMix { slow_share: 0.5, ..SlowMix::default() };
/// let scenario = Scenario::from(mix).concurrent(20);
/// assert!(matches!(scenario.kind, ScenarioKind::SlowMix(_)));
/// ```
pub mod scenario {
    pub use mcprove_load::drive::scenario::{
        Churn, ColdStart, DeadlockProbe, EarlyCall, Fuzzer, InterruptedCall, Patterns, RaceCheck,
        Ramp, Reconnect, SlowMix, Soak, Spike, Sustained,
    };
}

// What happened
pub use mcprove_trace::stream::{EventStream, Recorder, Shard, Sink, SinkError};
pub use mcprove_trace::{ErrorCategory, Event, EventKind};

// Scenarios of one's own
pub use mcprove_load::drive::{Connection, PhaseFact, PreparedCall, RunContext, ScenarioType};
pub use mcprove_load::run::report::Detail;
pub use mcprove_load::run::{RunFacts, recompute_with};
/// Derives [`settings::Settings`], for the settings of a scenario.
pub use mcprove_settings::setting::PublicSettings as Settings;
pub use mcprove_trace::BoxFuture;
pub use mcprove_trace::stream::{Fact, FactError};

/// What `#[derive(Settings)]` is made of: kinds of settings, and how they are read and written.
pub mod settings {
    pub use mcprove_settings::setting::Settings;
    #[doc(hidden)]
    pub use mcprove_settings::{kind, reader, setting, tree};
}

// Reports
/// The histogram of a report's latencies ([`LatencyStats`]).
pub use hdrhistogram::Histogram;
pub use mcprove_load::run::Report;
pub use mcprove_load::run::report::{
    ErrorStats, FaultsReport, LatencyStats, PhaseReport, ProcessSample, ProcessStats, RunOutcome,
    ServerInfo, SlowCall, ThroughputStats, ToolReport,
};
pub use mcprove_score::breaking_point::{BreakingKind, BreakingPoint};
pub use mcprove_score::cold_start::ColdStartReport;
pub use mcprove_score::deadlock::{CallOutcome, DeadlockReport, ProbeOutcome, ProbeSeverity};
pub use mcprove_score::drift::DriftReport;
pub use mcprove_score::fuzz::FuzzReport;
pub use mcprove_score::head_of_line::HeadOfLineReport;
pub use mcprove_score::leak::LeakReport;
pub use mcprove_score::race::RaceReport;
pub use mcprove_score::spike_recovery::SpikeReport;
pub use mcprove_score::threshold::{ThresholdKind, ThresholdViolation};
pub use mcprove_score::verdict::{Outcome, Severity, Verdict};
pub use mcprove_trace::hang::DeadlockKind;

// Errors
pub use mcprove_client::session::{CallError, ConnectError};
pub use mcprove_client::transport::Failure;
pub use mcprove_load::run::RunError;
pub use mcprove_settings::message::{Diagnostic, Message};
pub use mcprove_trace::protocol::RpcError;

// Sessions
pub use mcprove_client::process::Closing;
pub use mcprove_client::session::{
    Call, Reply, Request, Responder, ServerFacts, Session, SessionOptions, Violation,
};
pub use mcprove_trace::protocol::{Revision, Tool};

// Arguments that a schema allows
pub use mcprove_arguments as arguments;

// Faults
pub use mcprove_fault::{FaultCount, FaultSpec, FaultWindow};
pub use mcprove_load::faulty::Faults;
pub use mcprove_load::run::LoadFault;
pub use mcprove_trace::FaultKind;

// Mock servers
pub use mcprove_servers::hosting::{Behaviour, Exchange, Listening};
pub use mcprove_servers::mock::{Mock, MockSpec, MockSummary, Options as MockOptions, ToolSpec};

// Checks
pub use mcprove_check::health::{ProbeOptions, ProbeReport};
pub use mcprove_check::negative_path;

// Comparisons and files
pub use mcprove_load::run::{
    Comparer, ComparisonReport, RunDirectory, SideBySide, list_runs, recompute,
};

/// Scores what agents did, offline: metrics, gates, and the functions that embedders know by name.
pub mod eval {
    pub use mcprove_import::import;
    pub use mcprove_score::agent as metrics;
    pub use mcprove_score::agent::{About, AnyMetric, Case, Metric, Need, Scope, Target};
    pub use mcprove_score::eval::*;
    pub use mcprove_score::gate::file::parse_yaml_with as parse_gates;
    pub use mcprove_score::gate::{
        Expectation, GateFailure, Gates, Matcher, RunCard, ScoreError, ScoreReport, Scorecard,
        score, score_with,
    };
    pub use mcprove_settings::setting::Settings;
    pub use mcprove_trace::{AgentRun, AgentTrace};
}

// Suites
#[cfg(feature = "suite")]
pub use mcprove_suite::run::{SuiteOptions, SuiteReport, run_suites};

// The server with known failures
#[cfg(feature = "lab")]
pub use mcprove_lab as lab;
#[cfg(feature = "lab")]
mod session_caller;
#[cfg(feature = "lab")]
pub use session_caller::SessionCaller;

/// Calls every tool of a server that may be called, once, with generated arguments.
///
/// ```no_run
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// let report = mcprove::probe(&mcprove::Server::stdio("my_mcp")).await?;
/// for tool in &report.tools {
///     println!("{}: {:?}", tool.name, tool.outcome);
/// }
/// # Ok(())
/// # }
/// ```
pub async fn probe(server: &Server) -> Result<ProbeReport, mcprove_check::health::ProbeError> {
    let recorder = EventStream::unobserved().recorder();
    let options = ProbeOptions::default();
    let never = std::future::pending();
    mcprove_check::health::probe(server, &options, recorder, &mut |_| {}, never).await
}

/// The blocks of `docs/library.md` are tests.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/library.md")]
struct LibraryPage;
