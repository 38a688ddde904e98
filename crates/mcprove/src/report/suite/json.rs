//! Everything, for programs.

use crate::report::printable::printable_json;
use crate::run::suite::SuiteReport;

/// The report as JSON (format `suite-report.v1`).
pub(super) fn render(report: &SuiteReport) -> String {
    let json = serde_json::to_string_pretty(report).unwrap_or_default();
    printable_json(&json) + "\n"
}
