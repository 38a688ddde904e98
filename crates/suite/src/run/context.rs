//! What every test of a suite is run with.

use std::path::PathBuf;

use mcprove_load::drive::Stop;

use super::servers::Servers;
use crate::plan::{Environment, SuitePlan};

/// How suites are run.
#[derive(Debug, Clone)]
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
