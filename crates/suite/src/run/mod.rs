//! Suites, carried out: plans in, a report out.
//!
//! [`collect_tests`] are what is chosen from ([`Selection`]); [`run_suites`] runs what was chosen, each test when
//! its servers allow it (`schedule`). One file per kind of test runs it: `tool`, `agent`, `load`. `servers`
//! are shared by the tests. [`FailedTests`] are those that did not pass last time.

mod agent;
mod coverage;
mod last_failed;
pub(crate) mod listing;
mod load;
mod masking;
pub(crate) mod report;
mod runner;
#[cfg(test)]
pub(crate) mod sample;
mod schedule;
mod secrets;
mod selection;
mod servers;
mod tool;

use mcprove_load::run::Progress;

use self::servers::Servers;
use crate::prelude::*;

pub use coverage::ServerCoverage;
pub use last_failed::{FailedTests, LAST_FAILED_FILE};
pub use listing::{ListedTest, SuiteList, TestOf, collect_tests};
pub use mcprove_trace::panic_guard::is_contained;
pub use report::{
    Counts, Repeated, SUITE_REPORT_FORMAT, SuiteProblem, SuiteReport, TestKind, TestOutcome,
    TestReport,
};
pub use runner::{RunRules, run_suites};
pub use selection::{Chosen, Filter, Selection, Shard, TagRule};

/// How suites are run.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct SuiteOptions {
    /// How many tests run at once, where their servers allow it.
    pub jobs: usize,
    /// What is done with recordings of agents.
    pub cassettes: CassetteMode,
    /// Where the values of variables come from.
    pub environment: Environment,
    /// The seed of every random choice.
    pub seed: u64,
    /// Where loads and traces are written.
    pub output_dir: PathBuf,
    /// Whether the user said so: then it outweighs what an entry of `load` says.
    pub is_output_dir_given: bool,
    /// The program that acts as a proxy before the servers of agents that are processes: that of
    /// `mcprove` itself.
    pub proxy_program: Option<PathBuf>,
    /// The program that ends what the suites start if we cannot
    /// ([`Server::with_supervisor`](mcprove_client::server::Server::with_supervisor)); for servers that have none.
    pub supervisor: Option<PathBuf>,
    /// Breaks the run off.
    pub stop: Stop,
}

impl Default for SuiteOptions {
    /// One test at a time, recordings played, files under `runs`, variables of this process.
    fn default() -> Self {
        Self {
            jobs: 1,
            cassettes: CassetteMode::Replay,
            environment: Environment::of_process(),
            seed: 0,
            output_dir: "runs".into(),
            is_output_dir_given: false,
            proxy_program: None,
            supervisor: None,
            stop: Stop::new(),
        }
    }
}

impl SuiteOptions {
    /// How many tests run at once, where their servers allow it.
    #[must_use]
    pub const fn with_jobs(mut self, jobs: usize) -> Self {
        self.jobs = jobs;
        self
    }

    /// The seed of every random choice.
    #[must_use]
    pub const fn with_seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// Where loads and traces are written.
    #[must_use]
    pub fn with_output_dir(mut self, folder: impl Into<PathBuf>) -> Self {
        self.output_dir = folder.into();
        self
    }

    /// Breaks the run off when it is requested.
    #[must_use]
    pub fn with_stop(mut self, stop: Stop) -> Self {
        self.stop = stop;
        self
    }
}

/// What is done with recordings of agents.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum CassetteMode {
    /// A recording is replayed where there is one; else the model is asked.
    #[default]
    Replay,
    /// The model is asked, and recorded.
    Record,
    /// The model is asked, and nothing is recorded.
    Live,
}

/// What a test is run with.
#[derive(Clone, Copy)]
pub(crate) struct Context<'a> {
    /// Its suite.
    pub plan: &'a SuitePlan,
    /// How suites are run.
    pub options: &'a SuiteOptions,
    /// The servers of the suite.
    pub servers: &'a Servers,
}

/// Called with everything that happens while suites run.
pub type SuiteListener = Arc<dyn Fn(&SuiteEvent<'_>) + Send + Sync>;

/// Something that happened.
#[derive(Debug, Clone, Copy)]
pub enum SuiteEvent<'a> {
    /// So many tests were chosen; something about the choice is odd.
    Chosen {
        /// How many.
        tests: usize,
        /// What is odd.
        warnings: &'a [String],
    },
    /// A test was started.
    Started(TestOf<'a>),
    /// A test has ended, or is not to be run.
    Ended {
        /// Its outcome.
        report: &'a TestReport,
        /// The outcome of all so far.
        counts: Counts,
    },
    /// How a load goes.
    Load(&'a Progress),
}

/// Why no test was run.
#[derive(Debug, thiserror::Error)]
pub enum SuiteError {
    /// Files that cannot be used, with all that is wrong in them.
    #[error("{0}")]
    Files(ConfigErrors),
    /// There is no test to run.
    #[error(transparent)]
    NothingSelected(#[from] Diagnostic),
}

impl UserError for SuiteError {
    fn inner(&self) -> Option<&dyn UserError> {
        match self {
            Self::Files(errors) => Some(errors),
            Self::NothingSelected(error) => Some(error),
        }
    }
}

/// Reads suites and runs all their tests. Whatever goes wrong with a test is in the report.
pub async fn run_files(
    files: impl IntoIterator<Item = impl AsRef<Path>>,
    options: &SuiteOptions,
) -> Result<SuiteReport, SuiteError> {
    let plans = files
        .into_iter()
        .map(|file| crate::file::read(file.as_ref()));
    let plans = ConfigErrors::unless_all(plans).map_err(SuiteError::Files)?;
    let (selection, rules) = (Selection::default(), RunRules::default());
    let listener: SuiteListener = Arc::new(|_| {});
    Ok(run_suites(&plans, &selection, options, rules, &listener).await?)
}
