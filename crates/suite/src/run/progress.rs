//! How suites go, for whoever shows it.

use std::sync::Arc;

use mcprove_load::run::Progress;

use super::listing::TestOf;
use super::report::{Counts, TestReport};

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
        /// What came of it.
        report: &'a TestReport,
        /// What came of all so far.
        counts: Counts,
    },
    /// How a load goes.
    Load(&'a Progress),
}
