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
//! | `schema` | values are checked against JSON Schemas: results, generated arguments, what a mock is called with |
//! | `eval` | scoring what an agent did: [`eval`]; has `schema` |
//! | `html` | `report.html` |
//! | `suite` | suites, cassettes, the proxy, configs in TOML and YAML: [`run_suites`]; has `eval` |
//! | `agent` | agents in suites; has `suite` and `tls` |
//! | `lab` | the server with known failures and its audit, which needs SQLite: [`lab`]; has `schema` |
//! | `cli` (default) | the program, with all of these |
//!
//! Where a name is not here, it is internal: the crates `mcprove-*` are the parts of this one, and change with it.
//!
//! [`docs/library.md`]: https://github.com/mcprove/mcprove/blob/main/docs/library.md

#![warn(missing_docs)]

mod in_memory;

// Servers

pub use in_memory::InMemory;
/// ```
/// use mcprove::{Server, Transport};
///
/// let server = Server::stdio("python").args(["-m", "my_mcp"]).env("LOG_LEVEL", "warn");
/// assert_eq!(server.transport, Transport::Stdio);
/// let server = Server::http("http://127.0.0.1:8080/mcp").header("X-Tenant", "7");
/// assert_eq!(server.transport.name(), "http");
/// ```
#[doc(inline)]
pub use mcprove_client::server::Server;

/// The built-in servers, healthy and faulty, as processes, over the network or in memory; [`InMemory::fixture`] is
/// one as a [`Server`].
pub mod fixture {
    pub use mcprove_servers::fixture::{
        ENTRIES, Eras, FixtureEntry, FixtureError, FixtureOptions, ListenerKind, find, listen,
        serve, spawn_in_memory,
    };
}

// Load

/// ```
/// use mcprove::{ErrorBehavior, Pattern, Scenario, Step, ToolCall};
/// use std::time::Duration;
///
/// // What one client does, again and again: two calls in order, and nothing more where the first fails.
/// let read = Pattern {
///     name: "read".into(),
///     weight: 1.0,
///     think_time: Duration::ZERO,
///     error_behavior: ErrorBehavior::Abort,
///     steps: vec![Step::Call(ToolCall::new("list")), Step::Call(ToolCall::new("get"))],
/// };
/// let scenario = Scenario::pattern([read]).concurrent(10);
/// assert_eq!(scenario.kind.name(), "pattern");
/// ```
#[doc(inline)]
pub use mcprove_load::drive::Pattern;
/// ```
/// use mcprove::{LoadSettings, Scenario, ScenarioKind, ToolCall};
/// use serde_json::json;
///
/// let scenario = Scenario::sustained()
///     .call(ToolCall::new("search").args(json!({ "query": "x" })).weight(3.0))
///     .tool("echo")
///     .rate(50.0);
/// assert!(matches!(scenario.kind, ScenarioKind::Sustained(_)));
/// let settings: &LoadSettings = &scenario.load;
/// assert_eq!(settings.rate, Some(50.0));
/// ```
#[doc(inline)]
pub use mcprove_load::drive::Scenario;
/// ```
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// use mcprove::{InMemory, Progress, Run, Scenario, Stop};
/// use std::sync::Arc;
/// use std::time::Duration;
///
/// let stop = Stop::new();
/// let scenario = Scenario::sustained().duration(Duration::from_secs(60)).tool("echo");
/// let after_one_call = stop.clone();
/// let report = Run::new(InMemory::fixture("normal").unwrap(), scenario)
///     .with_stop(stop)
///     .on_progress(Arc::new(move |progress: &Progress| {
///         if progress.completed > 0 {
///             after_one_call.request();
///         }
///     }))
///     .execute()
///     .await
///     .unwrap();
/// assert!(report.partial);
/// # });
/// ```
#[doc(inline)]
pub use mcprove_load::drive::Stop;
/// ```
/// use mcprove::{FailOn, Thresholds, ToolThresholds};
/// use std::time::Duration;
///
/// let search = ToolThresholds { p95_latency: Some(Duration::from_secs(2)), ..ToolThresholds::default() };
/// let limits = Thresholds {
///     error_rate: Some(0.01),
///     tools: [("search".to_owned(), search)].into(),
///     fail_on: FailOn::Warning,
///     ..Thresholds::default()
/// };
/// assert_eq!(limits.tools.len(), 1);
/// ```
#[doc(inline)]
pub use mcprove_load::run::Thresholds;

/// The settings of each scenario, as [`ScenarioKind`] has them, and what a [`ScenarioType`] of one's own is made with.
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
    pub use mcprove_document::block::{Line, Section, Table};
    #[doc(inline)]
    pub use mcprove_load::drive::scenario::types::*;
    pub use mcprove_load::drive::scenario::{Judging, Shape, Success, weighted_calls};
    pub use mcprove_load::drive::{Connection, LoadPlan, PhaseFact, PreparedCall, Schedule};
    pub use mcprove_load::run::report::Detail;
    pub use mcprove_load::run::{RunFacts, recompute_with};
    pub use mcprove_trace::BoxFuture;
    pub use mcprove_trace::stream::{Fact, FactError};
}

// What happened

/// ```
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// use mcprove::{
///     Event, EventKind, EventStream, InMemory, Recorder, Session, SessionOptions, Shard, Sink,
///     SinkError,
/// };
/// use serde_json::json;
/// use std::sync::Arc;
/// use std::sync::atomic::{AtomicU64, Ordering};
///
/// /// Counts the answers.
/// #[derive(Clone, Default)]
/// struct Answers(Arc<AtomicU64>);
///
/// impl Sink for Answers {
///     fn name(&self) -> &'static str {
///         "answers"
///     }
///
///     fn shard(&self) -> Box<dyn Shard> {
///         Box::new(self.clone())
///     }
/// }
///
/// impl Shard for Answers {
///     fn record(&mut self, event: &Event<'_>) -> Result<(), SinkError> {
///         if matches!(event.kind, EventKind::Response { tool: Some("echo"), .. }) {
///             self.0.fetch_add(1, Ordering::Relaxed);
///         }
///         Ok(())
///     }
///
///     fn merge(&mut self) -> Result<(), SinkError> {
///         Ok(())
///     }
/// }
///
/// let answers = Answers::default();
/// let recorder: Arc<Recorder> = EventStream::new(vec![Arc::new(answers.clone())]).recorder();
/// let server = InMemory::fixture("normal").unwrap();
/// let options = SessionOptions::default();
/// let session = Session::connect_recorded(&server, options, recorder).await.unwrap();
/// session.call_tool("echo", &json!({ "message": "hi" })).await.unwrap();
/// assert_eq!(answers.0.load(Ordering::Relaxed), 1);
/// # });
/// ```
#[doc(inline)]
pub use mcprove_trace::stream::EventStream;

// Scenarios of one's own
pub use mcprove_load::drive::{RunContext, ScenarioType};
/// Derives [`settings::Settings`], for the settings of a scenario.
pub use mcprove_settings::setting::PublicSettings as Settings;

/// What `#[derive(Settings)]` is made of: kinds of settings, and how they are read and written.
pub mod settings {
    pub use mcprove_settings::setting::Settings;
    #[doc(hidden)]
    pub use mcprove_settings::{kind, reader, setting, tree};
}

// Reports

/// ```
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// use mcprove::{
///     ErrorCategory, ErrorStats, FaultsReport, Histogram, InMemory, LatencyStats, Outcome, PhaseReport,
///     ProcessSample, ProcessStats, Run, RunOutcome, Scenario, ServerInfo, Severity, SlowCall,
///     ThroughputStats, ToolReport,
/// };
/// use std::time::Duration;
///
/// let scenario = Scenario::sustained().duration(Duration::from_millis(200)).tool("echo");
/// let report = Run::new(InMemory::fixture("normal").unwrap(), scenario).execute().await.unwrap();
/// assert_eq!(report.outcome(), RunOutcome::Passed, "{report:?}");
/// let server: &ServerInfo = &report.server_info;
/// assert_eq!(server.transport, "memory");
///
/// // How fast: the usual percentiles, any other from the histogram (of nanoseconds), by tool and by phase.
/// let latency: &LatencyStats = &report.latency;
/// let histogram: &Histogram<u64> = &latency.histogram;
/// assert!(latency.p50 <= latency.p99 && histogram.value_at_quantile(0.75) > 0);
/// let echo: &ToolReport = &report.tools["echo"];
/// assert_eq!(echo.latency_ms.count, latency.count);
/// let phases: &[PhaseReport] = &report.phases;
/// assert!(phases.iter().any(|phase| phase.measured));
/// let throughput: &ThroughputStats = &report.throughput;
/// assert!(throughput.requests_per_sec > 0.0);
/// let slowest: Option<&SlowCall> = report.slowest.first();
/// assert!(slowest.is_some_and(|call| call.tool == "echo"));
///
/// // What went wrong, and what it was found to mean.
/// let errors: &ErrorStats = &report.errors;
/// assert_eq!(errors.by_category.get(&ErrorCategory::Timeout), None);
/// let faults: Option<&FaultsReport> = report.faults.as_ref();
/// assert!(faults.is_none());
/// for verdict in &report.verdicts {
///     assert_ne!((verdict.outcome, verdict.severity), (Outcome::Finding, Severity::Critical));
/// }
/// // There is no process to measure.
/// let process: &ProcessStats = &report.process;
/// let samples: &[ProcessSample] = &process.samples;
/// assert!(samples.is_empty());
/// # });
/// ```
#[doc(inline)]
pub use mcprove_load::run::Report;
/// ```
/// use mcprove::{
///     BreakingKind, BreakingPoint, ColdStartReport, DriftReport, FuzzReport, HeadOfLineReport,
///     LeakReport, RaceReport, Report, SpikeReport, StartUnit, StartsReport, ThresholdKind,
///     ThresholdViolation,
/// };
///
/// /// What the detectors of the scenarios found, in words of one's own.
/// fn summary(report: &Report) -> Vec<String> {
///     let mut lines = Vec::new();
///     let violations: &[ThresholdViolation] = &report.threshold_violations;
///     for violation in violations.iter().filter(|it| it.metric == ThresholdKind::P99Latency) {
///         lines.push(format!("p99 {}, not {}", violation.actual, violation.expected));
///     }
///     let breaks: Option<&BreakingPoint> = report.breaking_point.as_ref();
///     if let Some(point) = breaks.filter(|point| point.kind == BreakingKind::Collapse) {
///         lines.push(format!("collapses with {} clients", point.concurrent));
///     }
///     let fuzz: Option<&FuzzReport> = report.fuzz.as_ref();
///     lines.extend(fuzz.map(|fuzz| format!("{} of {} inputs hung it", fuzz.wedged, fuzz.cases.len())));
///     let cold: Option<&ColdStartReport> = report.cold_start.as_ref();
///     lines.extend(cold.and_then(|it| it.ready_ms).map(|ms| format!("ready after {ms} ms")));
///     let starts: Option<&StartsReport> = report.starts.as_ref();
///     let sessions = starts.filter(|it| it.unit == StartUnit::Session);
///     lines.extend(sessions.map(|it| format!("{} of {} sessions opened", it.opened, it.planned)));
///     let leak: Option<&LeakReport> = report.leak.as_ref();
///     lines.extend(leak.and_then(|it| it.growth_mb).map(|mb| format!("grew by {mb} MB")));
///     let drift: Option<&DriftReport> = report.drift.as_ref();
///     lines.extend(drift.and_then(|it| it.slope_ms_per_s).map(|slope| format!("{slope} ms/s slower")));
///     let races: Vec<&RaceReport> = report.race.values().filter(|it| it.failures > 0).collect();
///     lines.extend((!races.is_empty()).then(|| format!("{} tools race", races.len())));
///     let head: Option<&HeadOfLineReport> = report.head_of_line.as_ref();
///     lines.extend(head.and_then(|it| it.fast_mixed_p50).map(|ms| format!("{ms} ms behind slow calls")));
///     let spike: Option<&SpikeReport> = report.spike_recovery.as_ref();
///     lines.extend(spike.and_then(|it| it.burst_p99_to_p50).map(|ratio| format!("p99/p50 {ratio}")));
///     lines
/// }
/// ```
#[doc(inline)]
pub use mcprove_score::breaking_point::BreakingPoint;
/// ```
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// use mcprove::{CallOutcome, DeadlockKind, DeadlockReport, InMemory, ProbeOutcome, ProbeSeverity, Run, Scenario};
/// use std::time::Duration;
///
/// let scenario = Scenario::deadlock_probe()
///     .concurrent(4)
///     .hang_limits(Duration::from_millis(200), Duration::from_millis(200))
///     .tool("echo");
/// let server = InMemory::fixture("broken").unwrap();
/// let report = Run::new(server, scenario).execute().await.unwrap();
/// let found: &DeadlockReport = report.deadlock.as_ref().unwrap();
/// assert_eq!((found.outcome, found.severity), (ProbeOutcome::Completed, ProbeSeverity::Critical));
/// assert_eq!(found.kind, Some(DeadlockKind::LoopDead));
/// assert!(found.calls.iter().all(|call| call.outcome == CallOutcome::Deadlock));
/// # });
/// ```
#[doc(inline)]
pub use mcprove_score::deadlock::DeadlockReport;

// Errors

/// The errors of single functions; those that most meet are at the root. Each is a [`UserError`]: it says what to try.
///
/// ```
/// use mcprove::error::FaultError;
/// use mcprove::{FaultSpec, UserError};
///
/// let error: FaultError = "hnag".parse::<FaultSpec>().unwrap_err();
/// assert_eq!(error.hint().rendered(), "did you mean \"hang\"?");
/// ```
pub mod error {
    pub use mcprove_arguments::ArgumentsError;
    pub use mcprove_check::health::ProbeError;
    pub use mcprove_fault::FaultError;
    #[cfg(feature = "eval")]
    pub use mcprove_import::ImportError;
    pub use mcprove_load::run::{CompareError, FormatError, RecomputeError, TraceReadError};
    pub use mcprove_servers::fixture::FixtureError;
    pub use mcprove_servers::hosting::ListenError;
    pub use mcprove_servers::mock::{MockError, TemplateError};
    pub use mcprove_settings::error::ConfigErrors;
    pub use mcprove_settings::loss::Loss;
    #[cfg(feature = "suite")]
    pub use mcprove_suite::run::SuiteError;
}

/// ```
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// use mcprove::{
///     CallError, ConnectError, Diagnostic, ErrorCategory, Failure, InMemory, Message, RpcError, Run,
///     RunError, Scenario, Server, Session, UserError,
/// };
/// use serde_json::json;
///
/// let error: ConnectError = Session::connect(&Server::stdio("no-such-program")).await.unwrap_err();
/// assert!(!error.hint().rendered().is_empty());
///
/// let session = Session::connect(&InMemory::fixture("normal").unwrap()).await.unwrap();
/// let error: CallError = session.call_tool("no-such-tool", &json!({})).await.unwrap_err();
/// let failure: &Failure = &error.failure;
/// assert_eq!(failure.category, ErrorCategory::ProtocolError);
/// let answer: Option<&RpcError> = error.error.as_ref();
/// assert_eq!(answer.unwrap().code, -32602);
///
/// let run = Run::new(InMemory::fixture("normal").unwrap(), Scenario::sustained().rate(-1.0));
/// let Err(RunError::Config(problem)) = run.execute().await else { panic!() };
/// let Diagnostic { message, hint, .. } = problem;
/// let hint: Message = hint;
/// println!("{}; {}", message.rendered(), hint.rendered());
/// # });
/// ```
#[doc(inline)]
pub use mcprove_client::session::CallError;

// Sessions

/// ```
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// use mcprove::{
///     Call, Closing, InMemory, Reply, Request, Responder, Revision, ServerFacts, Session,
///     SessionOptions, Tool, Violation,
/// };
/// use serde_json::{Value, json};
///
/// /// Answers what servers ask of their clients: here, what the roots are.
/// struct Roots;
///
/// impl Responder for Roots {
///     fn capabilities(&self, _: Revision) -> Value {
///         json!({ "roots": {} })
///     }
///
///     fn respond(&self, method: &str, _: &Value) -> Result<Value, (i64, String)> {
///         match method {
///             "roots/list" => Ok(json!({ "roots": [{ "uri": "file:///tmp" }] })),
///             _ => Err((-32601, "only roots".to_owned())),
///         }
///     }
/// }
///
/// let options = SessionOptions::default().with_responder(Roots);
/// let session = Session::connect_with(&InMemory::fixture("normal").unwrap(), options).await.unwrap();
/// let facts: &ServerFacts = session.facts();
/// assert_eq!(facts.revision, Revision::LATEST_STATELESS);
/// let tools: Vec<Tool> = session.list_tools().await.unwrap();
/// assert!(!tools.is_empty());
///
/// // Many calls can be in flight.
/// let echo = |message| Request::tool("echo", &json!({ "message": message }));
/// let first: Call = session.start(&echo("1")).unwrap();
/// session.start(&echo("2")).unwrap().cancel();
/// let reply: Reply = first.await.unwrap();
/// assert_eq!(reply.text(), "1");
///
/// let violations: Vec<Violation> = session.violations().first;
/// assert!(violations.is_empty());
/// let closing: Closing = session.close().await;
/// assert!(!closing.forced);
/// # });
/// ```
#[doc(inline)]
pub use mcprove_client::session::Session;

/// Arguments for a tool, made from its `inputSchema`: small, valid, harmless, and the same every time.
///
/// ```
/// use mcprove::arguments;
/// use serde_json::json;
///
/// let schema = json!({ "type": "object", "properties": { "n": { "type": "integer" } }, "required": ["n"] });
/// assert!(arguments::minimal(&schema).unwrap()["n"].is_i64());
/// ```
pub mod arguments {
    pub use mcprove_arguments::{
        ArgumentsError, CAN_CHECK, Choice, Folder, Maker, SchemaCheck, carries_token, from_schema,
        minimal,
    };
}

// Faults

/// ```
/// use mcprove::{FaultKind, FaultSpec, FaultWindow, LoadFault};
/// use std::time::Duration;
///
/// let fault: FaultSpec = "slow:20,rate=0.5,tool=search".parse().unwrap();
/// assert_eq!(fault.kind, FaultKind::Slow);
/// // Under load, from the second second on, for three.
/// let mut fault = LoadFault::new(fault);
/// fault.window = FaultWindow {
///     start: Some(Duration::from_secs(2)),
///     duration: Some(Duration::from_secs(3)),
/// };
/// ```
#[doc(inline)]
pub use mcprove_fault::FaultSpec;

// Mock servers

/// ```
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// use mcprove::{Behaviour, Exchange, InMemory, Session, async_trait};
/// use serde_json::json;
///
/// /// Answers every call with its number, and does all else the healthy way.
/// #[derive(Default)]
/// struct Counter(std::sync::atomic::AtomicU64);
///
/// #[async_trait]
/// impl Behaviour for Counter {
///     async fn intercept(&self, exchange: &Exchange) -> bool {
///         if exchange.request.method != "tools/call" {
///             return false;
///         }
///         let number = self.0.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
///         let content = json!([{ "type": "text", "text": number.to_string() }]);
///         exchange.reply(exchange.success(json!({ "content": content }))).await;
///         true
///     }
/// }
///
/// let server = InMemory::behaviour("counter", Counter::default());
/// let session = Session::connect(&server).await.unwrap();
/// session.call_tool("echo", &json!({ "message": "" })).await.unwrap();
/// assert_eq!(session.call_tool("echo", &json!({ "message": "" })).await.unwrap().text(), "1");
/// # });
/// ```
#[doc(inline)]
pub use mcprove_servers::hosting::Behaviour;
/// ```
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// use mcprove::{Listening, Mock, MockOptions, MockSpec, MockSummary, Server, Session, ToolSpec, fixture};
/// use serde_json::json;
///
/// let search = ToolSpec::new("search").answering("found ${args.query}").unwrap();
/// let mock = Mock::new(MockSpec::new("demo").with_tool(search), MockOptions::default()).unwrap();
/// // On a port, for agents and gateways; `InMemory::mock` needs none.
/// let address = "127.0.0.1:0".parse().unwrap();
/// let listening: Listening = mock.listen(fixture::ListenerKind::Http, address).await.unwrap();
/// let session = Session::connect(&Server::http(listening.url())).await.unwrap();
/// session.call_tool("search", &json!({ "query": "x" })).await.unwrap();
/// let summary: MockSummary = mock.summary();
/// assert_eq!(summary.calls, 1);
/// # });
/// ```
#[doc(inline)]
pub use mcprove_servers::hosting::Listening;

// Checks

pub use mcprove_check::health::{HealthOutcome, ProbeReport};
pub use mcprove_check::negative_path::NegativePathReport;

/// What the reports of [`probe`] and [`negative_path`] are made of.
pub mod checks {
    pub use mcprove_check::health::{Coverage, ProbeFinding, ServerName, ToolHealth, ToolOutcome};
    pub use mcprove_check::negative_path::{Breach, Probe, RequestOutcome, RequestReport};
}

// Comparisons and files

/// ```
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// use mcprove::{Comparer, ComparisonReport, InMemory, Run, Scenario};
/// use std::time::Duration;
///
/// let scenario = Scenario::sustained().duration(Duration::from_millis(200)).tool("echo");
/// let server = InMemory::fixture("normal").unwrap();
/// let before = Run::new(server.clone(), scenario.clone());
/// let after = Run::new(server, scenario);
/// let report: ComparisonReport = Comparer::new(before, after).with_runs(2).execute().await.unwrap();
/// assert_eq!(report.current.len(), 2);
/// # });
/// ```
#[doc(inline)]
pub use mcprove_load::run::Comparer;
/// ```
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// use mcprove::{
///     InMemory, Recomputed, Run, RunDirectory, RunEntry, Scenario, SideBySide, list_runs, recompute,
/// };
/// use std::time::Duration;
///
/// # let folder = std::env::temp_dir().join(format!("mcprove-doc-{}", std::process::id()));
/// let scenario = Scenario::sustained().duration(Duration::from_millis(200)).tool("echo");
/// let run = Run::new(InMemory::fixture("normal").unwrap(), scenario).with_output_dir(folder.clone());
/// let report = run.execute().await.unwrap();
///
/// let entry: RunEntry = list_runs(&folder, 10).unwrap().remove(0);
/// let directory: RunDirectory = entry.directory;
/// // The trace gives the same report again.
/// let again: Recomputed = recompute(&directory).unwrap();
/// assert_eq!(again.report.latency.count, report.latency.count);
/// # let _ = SideBySide::new(Vec::new(), false);
/// # std::fs::remove_dir_all(folder).unwrap();
/// # });
/// ```
#[doc(inline)]
pub use mcprove_load::run::RunDirectory;

/// Scores what agents did, offline: metrics, gates, and the functions that embedders know by name.
#[cfg(feature = "eval")]
pub mod eval {
    pub use mcprove_import::{Format, ImportError, Imported, import};
    pub use mcprove_score::agent as metrics;
    pub use mcprove_score::agent::{About, AnyMetric, Case, Metric, Need, Scope, Target};
    pub use mcprove_score::eval::{
        GoldenPathBlock, RecoveryObservation, RecoveryReport, ReliabilityError, ReliabilitySummary,
        TrajectoryBlock, confidence_band, meets_recovery_budget, recommend_runs, recovery,
        reliability, score_golden_path, score_recovery, summarize, tool_calls_from_envelope,
        validate_trace,
    };
    pub use mcprove_score::gate::file::parse_yaml_with as parse_gates;
    pub use mcprove_score::gate::{
        Expectation, GateFailure, Gates, Matcher, RunCard, ScoreError, ScoreReport, Scorecard,
        score, score_with,
    };
    pub use mcprove_settings::error::ConfigErrors;
    pub use mcprove_settings::setting::Settings;
    pub use mcprove_trace::{AgentRun, AgentTrace};
}

// Suites

/// ```
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// use mcprove::error::SuiteError;
/// use mcprove::{SuiteOptions, SuitePlan, SuiteReport, read, run_suites};
///
/// # let folder = std::env::temp_dir().join(format!("mcprove-suite-{}", std::process::id()));
/// # std::fs::create_dir_all(&folder).unwrap();
/// let suite = folder.join("suite.yml");
/// std::fs::write(folder.join("tools.yml"), "tools: [{ name: add, response: '3' }]").unwrap();
/// let tests = "tools: [{ name: adds, server: demo, tool: add, expect: [{ target: 'result.content[0].text', matcher: { exact: '3' } }] }]";
/// std::fs::write(&suite, format!("servers: {{ demo: {{ mock: tools.yml }} }}\n{tests}\n")).unwrap();
/// // What a suite says, without running it.
/// let plan: SuitePlan = read(&suite).unwrap();
/// assert_eq!(plan.tools[0].head.name, "adds");
/// let options = SuiteOptions::default().with_output_dir(folder.join("runs"));
/// let report: SuiteReport = run_suites([&suite], &options).await.unwrap();
/// assert_eq!(report.counts().passed, 1);
///
/// let error = run_suites(["no-such-file.yml"], &options).await.unwrap_err();
/// assert!(matches!(error, SuiteError::Files(_)));
/// # std::fs::remove_dir_all(folder).unwrap();
/// # });
/// ```
#[cfg(feature = "suite")]
#[doc(inline)]
pub use mcprove_suite::run::run_files as run_suites;
#[cfg(feature = "suite")]
#[doc(inline)]
pub use mcprove_suite::{
    file::read,
    plan::SuitePlan,
    run::{SuiteOptions, SuiteReport},
};

#[cfg(feature = "lab")]
mod session_caller;

/// The server with known failures, and the record of what it was asked.
#[cfg(feature = "lab")]
pub mod lab {
    pub use mcprove_lab::{
        ApiKeys, Eras, KeyError, KeyLineError, LabOptions, LabTool, ListenError, ListenerKind,
        Listening, PublicHost, listen, serve, spawn_in_memory, tools,
    };

    pub use crate::session_caller::SessionCaller;

    /// The audit: every request that the lab got, with its answer, in a file of SQLite.
    pub mod audit {
        pub use mcprove_lab::audit::{
            ArgumentFilter, AuditError, AuditList, AuditOptions, AuditReader, AuditResult,
            AuditRow, AuditStore, CATEGORIES, Caller, CallerAnswer, CallerFailure, Caps, Cell,
            Column, Difference, ExportFormat, Filter, LossReason, Order, Replay, ReplayError,
            RowComparison, Rows, format_time, parse_time,
        };
    }
}

// What those take and give, by crate

#[doc(inline)]
pub use hdrhistogram::Histogram;
#[doc(inline)]
pub use mcprove_check::diagnosis::Item as DiagnosisItem;
#[doc(inline)]
pub use mcprove_client::{
    process::Closing,
    server::Transport,
    session::{
        Call, ConnectError, Reply, Request, Responder, ServerFacts, SessionOptions, Violation,
    },
    transport::Failure,
};
#[doc(inline)]
pub use mcprove_fault::{FaultCount, FaultWindow};
#[doc(inline)]
pub use mcprove_load::{
    drive::{ErrorBehavior, LoadSettings, ScenarioKind, Step, ToolCall},
    faulty::Faults,
    run::report::{
        ErrorStats, FaultsReport, LatencyStats, PhaseReport, ProcessSample, ProcessStats,
        RunOutcome, ServerInfo, SlowCall, ThroughputStats, ToolReport,
    },
    run::{
        ComparisonReport, FailOn, LoadFault, Progress, Recomputed, Run, RunEntry, RunError,
        SideBySide, ToolThresholds, list_runs, recompute,
    },
};
#[doc(inline)]
pub use mcprove_score::{
    breaking_point::BreakingKind,
    cold_start::ColdStartReport,
    deadlock::{CallOutcome, ProbeOutcome, ProbeSeverity},
    drift::DriftReport,
    fuzz::FuzzReport,
    head_of_line::HeadOfLineReport,
    leak::LeakReport,
    race::RaceReport,
    spike_recovery::SpikeReport,
    starts::{StartUnit, StartsReport},
    threshold::{ThresholdKind, ThresholdViolation},
    verdict::{Outcome, Severity, Verdict},
};
#[doc(inline)]
pub use mcprove_servers::{
    hosting::{Exchange, async_trait},
    mock::{Mock, MockOptions, MockSpec, MockSummary, ToolSpec},
};
#[doc(inline)]
pub use mcprove_settings::message::{Diagnostic, Message, UserError};
#[doc(inline)]
pub use mcprove_trace::{
    ErrorCategory, Event, EventKind, FaultKind,
    hang::DeadlockKind,
    protocol::{Revision, RpcError, Tool},
    stream::{Recorder, Shard, Sink, SinkError},
};

/// Calls every tool of a server that may be called, once, with generated arguments.
///
/// ```
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// use mcprove::checks::{ToolHealth, ToolOutcome};
/// use mcprove::{HealthOutcome, InMemory, ProbeReport, probe};
///
/// let report: ProbeReport = probe(&InMemory::fixture("normal").unwrap()).await.unwrap();
/// assert_eq!(report.outcome, HealthOutcome::Passed);
/// let tools: &[ToolHealth] = &report.tools;
/// assert!(tools.iter().all(|tool| tool.outcome != ToolOutcome::Hang));
/// # });
/// ```
pub async fn probe(server: &Server) -> Result<ProbeReport, error::ProbeError> {
    let recorder = EventStream::unobserved().recorder();
    let options = mcprove_check::health::ProbeOptions::default();
    let never = std::future::pending();
    mcprove_check::health::probe(server, &options, recorder, &mut |_| {}, never).await
}

/// Sends a tool bad requests that it must reject: a missing argument, one of the wrong type, one that is far too
/// large, and others. Some apply only where the feature `schema` is built.
///
/// ```
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// use mcprove::{InMemory, NegativePathReport, negative_path};
///
/// let server = InMemory::fixture("normal").unwrap();
/// let report: NegativePathReport = negative_path(&server, "echo").await.unwrap();
/// assert_eq!(report.failures(), 0, "{report:?}");
/// # });
/// ```
pub async fn negative_path(
    server: &Server,
    tool: &str,
) -> Result<NegativePathReport, error::ProbeError> {
    mcprove_check::negative_path::negative_path(server, tool, SessionOptions::default()).await
}

/// Goes through what commonly goes wrong with a server: whether it starts, speaks and lists its tools.
///
/// ```
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// use mcprove::{DiagnosisItem, Server, diagnose};
///
/// let items: Vec<DiagnosisItem> = diagnose(&Server::stdio("no-such-program")).await;
/// let failed = items.iter().find(|item| !item.passed).unwrap();
/// println!("{}: {}; {:?}", failed.name, failed.found, failed.fix);
/// # });
/// ```
pub async fn diagnose(server: &Server) -> Vec<DiagnosisItem> {
    mcprove_check::diagnosis::examine_server(server, SessionOptions::default()).await
}

/// The blocks of `docs/library.md` are tests.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/library.md")]
struct LibraryPage;
