//! Everything, for programs.

use mcprove_settings::printable::printable_json;

use crate::run::SuiteReport;

/// The report as JSON (format `suite-report.v1`).
pub(super) fn render(report: &SuiteReport) -> String {
    let json = serde_json::to_string_pretty(report).unwrap_or_default();
    printable_json(&json) + "\n"
}
