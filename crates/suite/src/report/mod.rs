//! The outcome of suites, for people and for the programs that CI systems run: one file per format, and one
//! line here.

pub mod explain;
mod github;
pub(crate) mod problems;
mod sections;
mod tap;

use mcprove_document::style::Style;

use crate::junit::suite_junit;
use crate::prelude::*;

pub use explain::suite_explanation;
pub use sections::{suite_document, suite_list_document, suite_progress_line};

/// The outcome of suites in a format. To add one, write a file for it and a line here. One that is not known is that of terminals. `results` is the folder of results, as
/// it is seen from where the user stands.
pub fn render(format: &str, report: &SuiteReport, results: &Path, style: Style) -> String {
    let opened = openable(report, results);
    let text = match format {
        // Its names are the same wherever the results are.
        "json" => to_json(report),
        "junit" => suite_junit(&opened),
        "tap" => tap::render(&opened),
        "github" => github::render(&opened),
        "markdown" => suite_document(&opened).markdown(),
        "html" => suite_document(&opened).html(),
        _ => suite_document(&opened).terminal(style),
    };
    // In JSON they are escaped already.
    escape_hidden(&text).into_owned()
}

/// Something for programs.
pub(crate) fn to_json(it: &impl Serialize) -> String {
    let json = serde_json::to_string_pretty(it).unwrap_or_default();
    printable_json(&json) + "\n"
}

/// The report with names that open from where the user stands.
fn openable(report: &SuiteReport, results: &Path) -> SuiteReport {
    let mut report = report.clone();
    for test in &mut report.tests {
        // The directory of a load is named so already.
        if let (TestKind::Agent, Some(details)) = (test.kind, &mut test.details) {
            let path = results.join(&*details).display().to_string();
            *details = path.replace('\\', "/");
        }
    }
    report
}

#[cfg(test)]
pub(super) mod samples;
#[cfg(test)]
mod tests;
