//! What came of suites, for people and for the programs that CI systems run: one file per format, and one
//! line here.

pub mod explain;
mod github;
mod html;
mod json;
mod junit;
pub mod list;
mod markdown;
mod problems;
pub mod progress;
mod sections;
mod tap;
mod terminal;

use std::path::Path;

use mcprove_document::style::Style;
use mcprove_settings::printable::escape_hidden;
use mcprove_settings::registry::{self, Entry, RegistryError};

use crate::run::{SuiteReport, TestKind};

pub use explain::suite_explanation;
pub use list::suite_list_text;
pub use progress::suite_progress_line;
pub use terminal::suite_text;

/// A way to tell what came of suites.
#[derive(Clone, Copy)]
pub struct Reporter {
    /// The whole text; how it is drawn matters to terminals only.
    draw: fn(&SuiteReport, Style) -> String,
    /// Whether files are named from where the user stands, or as in the report, which is the same wherever
    /// the results are.
    names_from_here: bool,
}

impl Reporter {
    /// The one with this name, and the name; an unknown name says what was probably meant.
    pub fn find(name: &str) -> Result<(&'static str, Self), RegistryError> {
        let entry = registry::find(REPORTERS, name)?;
        let settings = entry.resolve(&serde_json::Map::new())?;
        Ok((entry.name, (entry.build)(&settings)))
    }

    /// The whole text. `results` is the folder of results, as it is seen from where the user stands.
    pub fn render(&self, report: &SuiteReport, results: &Path, style: Style) -> String {
        let text = if self.names_from_here {
            (self.draw)(&openable(report, results), style)
        } else {
            (self.draw)(report, style)
        };
        // In JSON they are escaped already.
        escape_hidden(&text).into_owned()
    }
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

macro_rules! entry {
    ($name:literal, $explanation:literal, $render:expr) => {
        entry!($name, $explanation, $render, true)
    };
    ($name:literal, $explanation:literal, $render:expr, $from_here:literal) => {
        Entry {
            name: $name,
            explanation: $explanation,
            settings: &[],
            build: |_| Reporter {
                draw: $render,
                names_from_here: $from_here,
            },
        }
    };
}

/// Every reporter.
pub const REPORTERS: &[Entry<Reporter>] = &[
    entry!(
        "terminal",
        "for people: what failed, why, and what to try",
        terminal::suite_text
    ),
    entry!(
        "json",
        "for programs, everything (format suite-report.v1)",
        |report, _| json::render(report),
        false
    ),
    entry!(
        "junit",
        "JUnit XML, which most CI systems read",
        |report, _| junit::render(report)
    ),
    entry!("tap", "TAP 14, with what failed as YAML", |report, _| {
        tap::render(report)
    }),
    entry!(
        "github",
        "annotations of GitHub Actions, at the lines of the suite",
        |report, _| github::render(report)
    ),
    entry!(
        "markdown",
        "for a summary of a build or a comment",
        |report, _| markdown::render(report)
    ),
    entry!("html", "a page that needs nothing else", |report, _| {
        html::render(report)
    }),
];

#[cfg(test)]
pub(super) mod samples;
#[cfg(test)]
mod tests;
