//! The tests that failed last time, kept in a file between runs (`--last-failed`).
//!
//! A test stays in it until it passes: a run of others does not forget it. Suites that were run are in it too, so
//! that one that never was is not taken for one that passed. Files are named as seen from the folder of this one:
//! a checkout that was moved, or restored elsewhere, is the same.

use mcprove_settings::input;

use crate::prelude::*;

/// The name of the file, in the folder that runs are written to.
pub const LAST_FAILED_FILE: &str = "last-failed.json";
/// The name of the format.
const FORMAT: &str = "last-failed.v1";
/// The largest file that is read.
const BYTES_MAX: u64 = 16 * 1024 * 1024;

#[stored(Eq)]
pub struct FailedTests {
    schema: String,
    /// The folder of the file, from which suites are seen.
    #[serde(skip)]
    folder: PathBuf,
    /// The suites of which a test was run.
    #[serde(default)]
    suites: BTreeSet<String>,
    tests: BTreeSet<Failed>,
}

#[stored(Eq, PartialOrd, Ord)]
struct Failed {
    file: String,
    name: String,
}

impl FailedTests {
    /// None yet, in the folder that runs are written to.
    pub fn none(folder: &Path) -> Self {
        Self {
            schema: FORMAT.to_owned(),
            folder: whole(folder),
            suites: BTreeSet::new(),
            tests: BTreeSet::new(),
        }
    }

    /// Reads them from the folder that runs are written to; none where no run has ended yet.
    pub fn read(folder: &Path) -> DiagnosticResult<Option<Self>> {
        let path = folder.join(LAST_FAILED_FILE);
        let shown = path.display();
        let bytes = match input::read_file(&path, BYTES_MAX) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => {
                let hint = "check its permissions, or write elsewhere: ";
                let hint = sentence!("{hint}{}", setting("report_dir"));
                return Err(Diagnostic::new(
                    format!("cannot read {shown}: {error}"),
                    hint,
                ));
            }
        };
        let read = serde_json::from_slice::<Self>(&bytes).map_err(|error| error.to_string());
        let read = read.and_then(|read| match read.schema.as_str() {
            FORMAT => Ok(read),
            other => Err(format!("its format is {other:?}, not {FORMAT:?}")),
        });
        let mut read = read.map_err(|reason| {
            let hint = format!("delete {shown}, and run without ");
            Diagnostic::new(
                format!("{shown} is not a list of failed tests: {reason}"),
                sentence!("{hint}{}", setting("last_failed")),
            )
        })?;
        read.folder = whole(folder);
        Ok(Some(read))
    }

    pub fn write(&self, folder: &Path) -> io::Result<()> {
        let text = serde_json::to_string_pretty(self)? + "\n";
        std::fs::create_dir_all(folder)?;
        write_private(&folder.join(LAST_FAILED_FILE), text)
    }

    /// The same after a run: without those that passed, with those that did not.
    pub fn after(mut self, plans: &[SuitePlan], report: &SuiteReport) -> Self {
        for test in &report.tests {
            let plan = plans.iter().find(|plan| plan.file == test.file);
            let Some(plan) = plan else { continue };
            let failed = self.named(plan, &test.name);
            if test.outcome == TestOutcome::Skipped {
                // Nothing is known of it now that was not known before.
                continue;
            }
            self.suites.insert(failed.file.clone());
            if test.outcome == TestOutcome::Passed {
                self.tests.remove(&failed);
            } else {
                self.tests.insert(failed);
            }
        }
        // What is not in its file any more cannot fail again.
        let files: Vec<(String, &SuitePlan)> = plans
            .iter()
            .map(|plan| (self.identity(plan), plan))
            .collect();
        self.tests.retain(|failed| {
            let plan = files.iter().find(|(file, _)| *file == failed.file);
            plan.is_none_or(|(_, plan)| has_test(plan, &failed.name))
        });
        self
    }

    /// Whether nothing failed.
    pub fn is_empty(&self) -> bool {
        self.tests.is_empty()
    }

    pub fn has(&self, plan: &SuitePlan, name: &str) -> bool {
        !self.tests.is_empty() && self.tests.contains(&self.named(plan, name))
    }

    /// Whether a test of this suite was ever run.
    pub fn knows(&self, plan: &SuitePlan) -> bool {
        self.suites.contains(&self.identity(plan))
    }

    fn named(&self, plan: &SuitePlan, name: &str) -> Failed {
        Failed {
            file: self.identity(plan),
            name: name.to_owned(),
        }
    }

    /// Which file it is, however it is named.
    fn identity(&self, plan: &SuitePlan) -> String {
        let path = whole(Path::new(&plan.file));
        seen_from(&self.folder, &path)
    }
}

/// The whole path, without links, as far as it is there.
fn whole(path: &Path) -> PathBuf {
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    for there in path.ancestors() {
        if let Ok(found) = there.canonicalize() {
            let rest = path.strip_prefix(there).unwrap_or(Path::new(""));
            return found.join(rest);
        }
    }
    path
}

/// A path as it is seen from a folder, with `/` on every system; whole where they have nothing in common.
fn seen_from(folder: &Path, path: &Path) -> String {
    let (from, to): (Vec<_>, Vec<_>) = (folder.components().collect(), path.components().collect());
    let common = from
        .iter()
        .zip(&to)
        .take_while(|(one, other)| one == other)
        .count();
    if common == 0 {
        return path.display().to_string();
    }
    let up = from.iter().skip(common).map(|_| "..".to_owned());
    let down = to
        .iter()
        .skip(common)
        .map(|part| part.as_os_str().to_string_lossy().into_owned());
    let parts: Vec<String> = up.chain(down).collect();
    parts.join("/")
}

fn has_test(plan: &SuitePlan, name: &str) -> bool {
    super::collect_tests(std::slice::from_ref(plan))
        .iter()
        .any(|test| test.name() == name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::sample::{plan, report_of, tool};

    fn suite() -> SuitePlan {
        let mut plan = plan("suite.yml");
        plan.tools = vec![tool("a", 1, &[]), tool("b", 2, &[]), tool("c", 3, &[])];
        plan
    }

    fn none() -> FailedTests {
        FailedTests::none(Path::new("runs"))
    }

    #[test]
    fn suites_are_named_as_seen_from_the_file() {
        for (folder, path, expected) in [
            ("/a/runs", "/a/suite.yml", "../suite.yml"),
            ("/a/runs", "/a/runs/suite.yml", "suite.yml"),
            ("/a/b/runs", "/a/c/suite.yml", "../../c/suite.yml"),
        ] {
            assert_eq!(seen_from(Path::new(folder), Path::new(path)), expected);
        }
    }

    /// What was written in one place is read in another.
    #[test]
    fn a_folder_may_be_moved() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| {
            let root = folder.path().join(name);
            let mut plan = suite();
            plan.file = root.join("suite.yml").display().to_string();
            (root.join("runs"), plan)
        };
        let (runs, plan) = at("here");
        std::fs::create_dir_all(&runs).unwrap();
        std::fs::write(&plan.file, "").unwrap();
        let failed = report_of(
            &plan,
            &[("a", TestOutcome::Passed), ("b", TestOutcome::Failed)],
        );
        let tests = FailedTests::none(&runs).after(std::slice::from_ref(&plan), &failed);
        tests.write(&runs).unwrap();
        std::fs::rename(folder.path().join("here"), folder.path().join("there")).unwrap();
        let (runs, plan) = at("there");
        let moved = FailedTests::read(&runs).unwrap().unwrap();
        assert!(moved.has(&plan, "b") && !moved.has(&plan, "a") && moved.knows(&plan));
        let mut other = suite();
        other.file = folder.path().join("there/other.yml").display().to_string();
        assert!(!moved.knows(&other));
        let text = std::fs::read_to_string(runs.join(LAST_FAILED_FILE)).unwrap();
        assert!(!text.contains("here"), "{text}");
    }

    #[test]
    fn what_was_only_skipped_was_not_run() {
        let plans = [suite()];
        let skipped = report_of(&plans[0], &[("a", TestOutcome::Skipped)]);
        assert!(!none().after(&plans, &skipped).knows(&plans[0]));
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
        let first = run(none(), &[("a", Passed), ("b", Failed), ("c", Error)]);
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
        let before = none()
            .after(std::slice::from_ref(&mine), &report_of(&mine, &failed))
            .after(std::slice::from_ref(&other), &report_of(&other, &failed));
        // The other one has no such test, so only mine is left.
        assert!(before.has(&mine, "b") && !before.has(&other, "b"));
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
        let tests = FailedTests::none(&place).after(&[suite()], &report_of(&suite(), &failed));
        tests.write(&place).unwrap();
        assert_eq!(FailedTests::read(&place).unwrap(), Some(tests));
        for text in ["", "{}", r#"{"schema":"other","tests":[]}"#, "[1"] {
            std::fs::write(place.join(LAST_FAILED_FILE), text).unwrap();
            let error = FailedTests::read(&place).unwrap_err();
            assert!(error.hint.rendered().contains("delete"), "{error}");
        }
    }
}
