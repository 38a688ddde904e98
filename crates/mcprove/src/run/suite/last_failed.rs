//! The tests that failed last time, kept in a file between runs (`--last-failed`).
//!
//! A test stays in it until it passes: a run of others does not forget it.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::report::{SuiteReport, TestOutcome};
use crate::suite::plan::SuitePlan;

/// The name of the file, in the folder that runs are written to.
pub const LAST_FAILED_FILE: &str = "last-failed.json";
/// The name of the format.
const FORMAT: &str = "last-failed.v1";
/// The largest file that is read.
const BYTES_MAX: u64 = 16 * 1024 * 1024;

/// Tests that failed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FailedTests(BTreeSet<Failed>);

/// The file.
#[derive(Serialize, Deserialize)]
struct Document {
    schema: String,
    tests: BTreeSet<Failed>,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
struct Failed {
    /// The whole path, so that the same file is the same however it is named.
    file: String,
    name: String,
}

/// Why the file cannot be used.
#[derive(Debug, Error)]
pub enum LastFailedError {
    /// It cannot be read or written.
    #[error("cannot {action} {}: {source}", path.display())]
    Io {
        /// What was tried.
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// It is something else.
    #[error("{} is no list of failed tests: {reason}", path.display())]
    Format {
        /// The file.
        path: PathBuf,
        /// Why not.
        reason: String,
    },
}

impl LastFailedError {
    /// What to try.
    pub fn hint(&self) -> String {
        match self {
            Self::Io { .. } => "check who may read and write it, or write elsewhere (--out)".into(),
            Self::Format { path, .. } => {
                format!("delete {}, and run without --last-failed", path.display())
            }
        }
    }
}

impl FailedTests {
    /// Reads them from the folder that runs are written to; none where no run has ended yet.
    pub fn read(folder: &Path) -> Result<Option<Self>, LastFailedError> {
        let path = folder.join(LAST_FAILED_FILE);
        let text = match read_bounded(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(source) => {
                return Err(LastFailedError::Io {
                    action: "read",
                    path,
                    source,
                });
            }
        };
        let document = serde_json::from_str::<Document>(&text).map_err(|error| error.to_string());
        let document = document.and_then(|document| match document.schema.as_str() {
            FORMAT => Ok(document),
            other => Err(format!("its format is {other:?}, not {FORMAT:?}")),
        });
        match document {
            Ok(document) => Ok(Some(Self(document.tests))),
            Err(reason) => Err(LastFailedError::Format { path, reason }),
        }
    }

    /// Writes them there.
    pub fn write(&self, folder: &Path) -> Result<(), LastFailedError> {
        let path = folder.join(LAST_FAILED_FILE);
        let document = Document {
            schema: FORMAT.to_owned(),
            tests: self.0.clone(),
        };
        let text = serde_json::to_string_pretty(&document).unwrap_or_default() + "\n";
        // Whoever reads meanwhile sees the old file or the new one.
        let fresh = folder.join(format!("{LAST_FAILED_FILE}.{}", std::process::id()));
        let written = std::fs::create_dir_all(folder)
            .and_then(|()| std::fs::write(&fresh, text))
            .and_then(|()| std::fs::rename(&fresh, &path));
        written.map_err(|source| LastFailedError::Io {
            action: "write",
            path,
            source,
        })
    }

    /// The same after a run: without those that passed, with those that did not.
    #[must_use]
    pub fn after(mut self, plans: &[SuitePlan], report: &SuiteReport) -> Self {
        for test in &report.tests {
            let plan = plans.iter().find(|plan| plan.file == test.file);
            let Some(plan) = plan else { continue };
            let failed = Failed::new(plan, &test.name);
            match test.outcome {
                TestOutcome::Passed => {
                    self.0.remove(&failed);
                }
                TestOutcome::Failed | TestOutcome::Error => {
                    self.0.insert(failed);
                }
                // Nothing is known of it now that was not known before.
                TestOutcome::Skipped => {}
            }
        }
        // What is not in its file any more cannot fail again.
        self.0.retain(|failed| {
            let plan = plans.iter().find(|plan| identity(plan) == failed.file);
            plan.is_none_or(|plan| has_test(plan, &failed.name))
        });
        self
    }

    /// Whether nothing failed.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether this test failed.
    pub fn has(&self, plan: &SuitePlan, name: &str) -> bool {
        !self.0.is_empty() && self.0.contains(&Failed::new(plan, name))
    }

    /// Whether none of these suites has a test that failed.
    pub fn is_none_of(&self, plans: &[SuitePlan]) -> bool {
        let files: BTreeSet<String> = plans.iter().map(identity).collect();
        !self.0.iter().any(|failed| files.contains(&failed.file))
    }
}

impl Failed {
    fn new(plan: &SuitePlan, name: &str) -> Self {
        Self {
            file: identity(plan),
            name: name.to_owned(),
        }
    }
}

/// Which file it is, however it is named.
fn identity(plan: &SuitePlan) -> String {
    let path = Path::new(&plan.file).canonicalize();
    path.map_or_else(|_| plan.file.clone(), |path| path.display().to_string())
}

fn has_test(plan: &SuitePlan, name: &str) -> bool {
    super::tests_of(std::slice::from_ref(plan))
        .iter()
        .any(|test| test.name() == name)
}

fn read_bounded(path: &Path) -> io::Result<String> {
    use std::io::Read as _;
    let mut text = String::new();
    std::fs::File::open(path)?
        .take(BYTES_MAX)
        .read_to_string(&mut text)?;
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::suite::sample::{plan, report_of, tool};

    fn suite() -> SuitePlan {
        let mut plan = plan("suite.yml");
        plan.tools = vec![tool("a", 1, &[]), tool("b", 2, &[]), tool("c", 3, &[])];
        plan
    }

    #[test]
    fn a_test_stays_until_it_passes() {
        use TestOutcome::{Error, Failed, Passed, Skipped};
        let plans = [suite()];
        let run = |before: FailedTests, outcomes: &[(&str, TestOutcome)]| {
            before.after(&plans, &report_of(&plans[0], outcomes))
        };
        let names = |failed: &FailedTests| {
            let names = ["a", "b", "c"].into_iter();
            let has = names.filter(|name| failed.has(&plans[0], name));
            has.collect::<String>()
        };
        let first = run(
            FailedTests::default(),
            &[("a", Passed), ("b", Failed), ("c", Error)],
        );
        assert_eq!(names(&first), "bc");
        let second = run(first, &[("b", Passed)]);
        assert_eq!(names(&second), "c");
        let third = run(second, &[("c", Skipped)]);
        assert_eq!(names(&third), "c");
        assert!(run(third, &[("c", Passed)]).is_empty());
    }

    #[test]
    fn what_is_gone_from_its_file_is_forgotten_and_other_files_are_not() {
        let (mut mine, other) = (suite(), plan("other.yml"));
        let failed = [("b", TestOutcome::Failed)];
        let before = FailedTests::default()
            .after(std::slice::from_ref(&mine), &report_of(&mine, &failed))
            .after(std::slice::from_ref(&other), &report_of(&other, &failed));
        // The other one has no such test, so only mine is left.
        assert!(before.has(&mine, "b") && !before.has(&other, "b"));
        assert!(before.is_none_of(std::slice::from_ref(&other)));
        mine.tools.remove(1);
        let after = before.after(std::slice::from_ref(&mine), &report_of(&mine, &[]));
        assert!(after.is_empty());
    }

    #[test]
    fn it_is_read_as_it_was_written_and_nothing_else_is() {
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path().join("runs");
        assert!(FailedTests::read(&place).unwrap().is_none());
        let failed = [("b", TestOutcome::Failed)];
        let tests = FailedTests::default().after(&[suite()], &report_of(&suite(), &failed));
        tests.write(&place).unwrap();
        assert_eq!(FailedTests::read(&place).unwrap(), Some(tests));
        for text in ["", "{}", r#"{"schema":"other","tests":[]}"#, "[1"] {
            std::fs::write(place.join(LAST_FAILED_FILE), text).unwrap();
            let error = FailedTests::read(&place).unwrap_err();
            assert!(error.hint().contains("delete"), "{error}");
        }
    }
}
