//! Suites, carried out: plans in, a report out.
//!
//! [`tests_of`] are what is chosen from ([`Selection`]); [`run_suites`] runs what was chosen, each test when
//! its servers allow it (`schedule`). One file per kind of test runs it: `tool`, `agent`, `load`. `servers`
//! are shared by the tests. [`FailedTests`] are those that did not pass last time.

mod agent;
mod context;
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

pub use context::{CassetteMode, SuiteOptions};
pub use last_failed::{FailedTests, LAST_FAILED_FILE};
pub use listing::{ListedTest, SuiteList, TestOf, tests_of};
pub use mcprove_trace::contained::is_contained;
pub use progress::{SuiteEvent, SuiteListener};
pub use report::{
    Counts, Repeated, SUITE_REPORT_FORMAT, SuiteProblem, SuiteReport, TestKind, TestOutcome,
    TestReport,
};
pub use runner::{RunRules, run_suites};
pub use selection::{Chosen, Filter, Selection, SelectionError, Shard, TagRule};
