//! Suites, carried out: plans in, a report out.
//!
//! [`tests_of`] are what is chosen from ([`Selection`]); [`run_suites`] runs what was chosen, each test when
//! its servers allow it (`schedule`). One file per kind of test runs it: `tool`, `agent`, `load`. `servers`
//! are shared by the tests. [`FailedTests`] are those that did not pass last time.

mod agent;
mod connect;
mod context;
mod declined;
mod last_failed;
pub(crate) mod listing;
mod load;
mod masking;
mod progress;
mod repeat;
mod report;
mod runner;
#[cfg(test)]
pub(crate) mod sample;
mod schedule;
mod secrets;
mod selection;
mod servers;
mod tool;

use std::path::Path;
use std::sync::Arc;

use mcprove_settings::error::ConfigErrors;

pub use context::{CassetteMode, SuiteOptions};
pub use last_failed::{FailedTests, LAST_FAILED_FILE, LastFailedError};
pub use listing::{ListedTest, SuiteList, TestOf, tests_of};
pub use mcprove_trace::contained::is_contained;
pub use progress::{SuiteEvent, SuiteListener};
pub use report::{
    Counts, Repeated, SUITE_REPORT_FORMAT, SuiteProblem, SuiteReport, TestKind, TestOutcome,
    TestReport,
};
pub use runner::{RunRules, run_suites};
pub use selection::{Chosen, Filter, NothingSelected, Selection, SelectionError, Shard, TagRule};

/// Why no test was run.
#[derive(Debug, thiserror::Error)]
pub enum SuiteError {
    /// Files that cannot be used, with all that is wrong in them.
    #[error("{0}")]
    Files(ConfigErrors),
    /// There is no test to run.
    #[error(transparent)]
    NothingSelected(#[from] NothingSelected),
}

/// Reads suites and runs all their tests. Whatever goes wrong with a test is in the report.
pub async fn run_files(
    files: impl IntoIterator<Item = impl AsRef<Path>>,
    options: &SuiteOptions,
) -> Result<SuiteReport, SuiteError> {
    let mut errors = Vec::new();
    let plans = files.into_iter().filter_map(|file| {
        let plan = crate::file::read(file.as_ref());
        plan.map_err(|unusable| errors.extend(unusable.0)).ok()
    });
    let plans: Vec<_> = plans.collect();
    if !errors.is_empty() {
        return Err(SuiteError::Files(ConfigErrors(errors)));
    }
    let (selection, rules) = (Selection::default(), RunRules::default());
    let listener: SuiteListener = Arc::new(|_| {});
    Ok(run_suites(&plans, &selection, options, rules, &listener).await?)
}
