//! The live line of suites.

use mcprove_document::terminal::cut;

use crate::prelude::*;

/// How suites go, in one line of at most `width` columns: how many tests ended, how many of them did not
/// pass, and which one was begun last.
///
/// ```
/// use mcprove_suite::report::progress::suite_progress_line;
/// use mcprove_suite::run::Counts;
///
/// let counts = Counts { passed: 11, failed: 1, ..Counts::default() };
/// let line = suite_progress_line(counts, 40, Some("search finds things"), 60);
/// assert_eq!(line, "12 of 40 tests  1 failed  search finds things");
/// ```
pub fn suite_progress_line(
    counts: Counts,
    tests: usize,
    current: Option<&str>,
    width: usize,
) -> String {
    let ended = counts.passed + counts.failed + counts.errors + counts.skipped;
    let tests = phrase::count(tests as u64, "test");
    let mut parts = vec![format!("{ended} of {tests}")];
    for (count, word) in [(counts.failed, "failed"), (counts.errors, "errors")] {
        if count > 0 {
            parts.push(format!("{count} {word}"));
        }
    }
    parts.extend(current.map(super::problems::line));
    cut(&parts.join("  "), width)
}
