//! The front door: a server, a scenario and limits in, a report out.
//!
//! [`Run`] lets a scenario of [`drive`](crate::drive) act on a server, and makes a
//! [`Report`] of the events (`assemble`). The same events, read back from a trace, give the same
//! report (`recompute`).

mod assemble;
mod comparison;
mod directory;
mod error;
mod execution;
mod faults;
mod format;
mod header;
mod latency_log;
mod list;
mod recompute;
mod recorded;
pub mod report;
#[cfg(test)]
pub(crate) mod sample;
mod side_by_side;
mod summary;
mod thresholds;
mod trace_reader;
mod watch;

use crate::prelude::*;

pub use assemble::RunFacts;
// What is known within the crate only.
pub(crate) use self::{
    assemble::*, directory::*, error::*, execution::*, header::*, latency_log::*, trace_reader::*,
    watch::*,
};
pub use comparison::*;
pub use directory::{RunDirectory, RunEntry, list_runs};
pub use error::RunError;
pub use execution::{draw, draw_seed};
pub use faults::{LoadFault, WITH_FAULTS, takes_faults};
pub use format::FormatError;
pub use list::*;
pub use recompute::*;
pub use recorded::*;
pub use report::Report;
pub use side_by_side::*;
pub use summary::*;
pub use thresholds::*;
pub use trace_reader::TraceReadError;
pub use watch::Progress;

/// What somebody finds in the report of a run.
pub type ReportCheck = Arc<dyn Fn(&Report) -> Verdict + Send + Sync>;

/// Called with the state of the run, a few times a second.
pub type ProgressHandler = Arc<dyn Fn(&Progress) + Send + Sync>;

/// A report as a file or a terminal gets it: JSON, with a line break at its end.
fn to_json(report: &impl Serialize) -> String {
    let mut text = serde_json::to_string_pretty(report).unwrap_or_default();
    text.push('\n');
    text
}

/// Something to be done to a server.
///
/// ```
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// use std::time::Duration;
/// use mcprove_client::server::Server;
/// use mcprove_load::drive::Scenario;
/// use mcprove_load::run::{Run, Thresholds};
/// use mcprove_servers::fixture;
/// use serde_json::json;
///
/// # let listening = fixture::listen("normal", fixture::ListenerKind::Http, "127.0.0.1:0".parse().unwrap(), &fixture::FixtureOptions::default()).await.unwrap();
/// # let server = Server::http(listening.url());
/// // let server = Server::stdio("python").args(["-m", "my_mcp"]);
/// let scenario = Scenario::sustained()
///     .concurrent(4)
///     .duration(Duration::from_millis(300))
///     .tool("echo")
///     .args(json!({ "message": "hi" }));
/// let report = Run::new(server, scenario)
///     .with_thresholds(Thresholds {
///         p99_latency: Some(Duration::from_secs(5)),
///         error_rate: Some(0.01),
///         hang_timeout: Duration::from_secs(5),
///         ..Default::default()
///     })
///     .execute()
///     .await
///     .expect("run failed");
/// assert!(report.passed(), "thresholds violated: {report:?}");
/// assert_eq!(report.deadlock_count, 0);
/// # });
/// ```
#[derive(Opaque, Clone)]
#[must_use]
pub struct Run {
    pub(crate) server: Server,
    pub(crate) scenario: Scenario,
    pub(crate) thresholds: Thresholds,
    faults: Vec<LoadFault>,
    output_dir: Option<PathBuf>,
    session: SessionOptions,
    trace_value_bytes: usize,
    config: Option<String>,
    calibration: bool,
    files: Files,
    checks: Vec<ReportCheck>,
    stop: Stop,
    on_progress: Option<ProgressHandler>,
}

/// Which files a run directory has besides those that programs need.
#[derive(Debug, Clone, Copy)]
struct Files {
    trace: bool,
    markdown: bool,
    html: bool,
}

impl Run {
    /// A run of `scenario` on `server`, with no limits but the default ones.
    pub fn new(server: impl Into<Server>, scenario: impl Into<Scenario>) -> Self {
        Self {
            server: server.into(),
            scenario: scenario.into(),
            thresholds: Thresholds::default(),
            faults: Vec::new(),
            output_dir: None,
            session: SessionOptions::default(),
            trace_value_bytes: mcprove_trace::stream::TRACE_VALUE_BYTES_MAX,
            config: None,
            calibration: true,
            files: Files {
                trace: true,
                markdown: true,
                html: true,
            },
            checks: Vec::new(),
            stop: Stop::new(),
            on_progress: None,
        }
    }

    /// Sets the limits that the run must keep to.
    pub fn with_thresholds(mut self, thresholds: Thresholds) -> Self {
        self.thresholds = thresholds;
        self
    }

    /// Sets the faults that are injected while the load lasts.
    pub fn with_faults(mut self, faults: Vec<LoadFault>) -> Self {
        self.faults = faults;
        self
    }

    /// Writes a run directory, named after the time, under `dir`. Without one nothing is written.
    pub fn with_output_dir(mut self, dir: PathBuf) -> Self {
        self.output_dir = Some(dir);
        self
    }

    /// Sets how sessions behave. A run refuses the options that it sets itself: `hang_limits` (they come from the
    /// thresholds), `known_era`, `session_number`, and `layer` beside faults. What `losses` would get is in
    /// [`Report::losses`].
    pub fn with_session(mut self, session: SessionOptions) -> Self {
        self.session = session;
        self
    }

    /// Sets whether every call is written to `trace.jsonl`; true unless set.
    pub fn with_trace(mut self, trace: bool) -> Self {
        self.files.trace = trace;
        self
    }

    /// Sets how many bytes of each result are kept in the trace; 1 KiB unless set.
    pub fn with_trace_value_bytes(mut self, bytes: usize) -> Self {
        self.trace_value_bytes = bytes;
        self
    }

    /// Sets the text of `config.toml` in the run directory.
    pub fn with_config(mut self, config: String) -> Self {
        self.config = Some(config);
        self
    }

    /// Sets whether the generator is calibrated for 200 ms first; true unless set.
    pub fn with_calibration(mut self, calibration: bool) -> Self {
        self.calibration = calibration;
        self
    }

    /// Sets whether the run directory has a `report.md` and a `report.html`; both unless set.
    pub fn with_reports(mut self, markdown: bool, html: bool) -> Self {
        self.files.markdown = markdown;
        self.files.html = html;
        self
    }

    /// Adds a check of the report, whose verdict is in it. It sees what the run and earlier checks found.
    pub fn with_check(
        mut self,
        check: impl Fn(&Report) -> Verdict + Send + Sync + 'static,
    ) -> Self {
        self.checks.push(Arc::new(check));
        self
    }

    /// Sets the handle by which the run can be ended early.
    pub fn with_stop(mut self, stop: Stop) -> Self {
        self.stop = stop;
        self
    }

    /// Sets who is told how the run goes.
    pub fn on_progress(mut self, handler: ProgressHandler) -> Self {
        self.on_progress = Some(handler);
        self
    }

    /// Does it.
    pub async fn execute(self) -> RunResult<Report> {
        self.execute_in_directory().await.map(|(report, _)| report)
    }

    /// Does it, and tells where the files are.
    pub async fn execute_in_directory(self) -> Result<(Report, Option<RunDirectory>), RunError> {
        let (ended, directory) = self.execute_and_keep().await;
        ended.map(|report| (report, directory))
    }

    /// Does it, and tells where the files are, also those of a run that came to nothing.
    pub async fn execute_and_keep(self) -> (RunResult<Report>, Option<RunDirectory>) {
        execution::execute(self).await
    }
}
