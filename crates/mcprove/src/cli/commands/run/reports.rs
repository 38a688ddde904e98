//! Where reports go: files, and standard output for one of them. Whether files can be written is found
//! out before anything runs.

use std::path::{Path, PathBuf};
use std::str::FromStr;

use mcprove_document::style::Style;
use mcprove_suite::report::{REPORTERS, Reporter};
use mcprove_suite::run::{SuiteProblem, SuiteReport};

use crate::failure::Failure;
use crate::output_file::{OutputFile, keep_apart};
use crate::{losses, terminal};

/// What stands for standard output.
const STDOUT: &str = "-";
/// The report for people.
const PEOPLE: &str = "terminal";
/// The width of what people read in a file.
const FILE_WIDTH: usize = 100;

/// A format, and where it goes.
#[derive(Clone)]
pub struct ReportTarget {
    name: &'static str,
    reporter: Reporter,
    /// Standard output unless given.
    file: Option<PathBuf>,
}

impl std::fmt::Debug for ReportTarget {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{}={:?}", self.name, self.file)
    }
}

impl FromStr for ReportTarget {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (format, file) = match text.split_once('=') {
            Some((format, file)) => (format, Some(file)),
            None => (text, None),
        };
        let (name, reporter) = Reporter::find(format).map_err(|error| {
            let known: Vec<&str> = REPORTERS.iter().map(|entry| entry.name).collect();
            format!("{error}; the formats are {}", known.join(", "))
        })?;
        if file == Some("") {
            return Err(format!(
                "the name of the file is missing; write {name}=FILE, or {name} for standard output"
            ));
        }
        let file = file.filter(|file| *file != STDOUT).map(PathBuf::from);
        Ok(Self {
            name,
            reporter,
            file,
        })
    }
}

/// All reports of a run.
pub struct Reports {
    printed: ReportTarget,
    written: Vec<(ReportTarget, PathBuf)>,
    /// The folder of results, as it is seen from here.
    results: PathBuf,
}

impl Reports {
    /// Those that were asked for. Only one may take standard output; without any that does, it is the one
    /// for people. No report is written over a file that is read.
    pub fn new(
        targets: &[ReportTarget],
        as_json: bool,
        read: &[PathBuf],
        results: PathBuf,
    ) -> Result<Self, Failure> {
        let mut targets = targets.to_vec();
        if as_json {
            targets.push("json".parse().map_err(anyhow::Error::msg)?);
        }
        let mut printed: Option<ReportTarget> = None;
        let mut written: Vec<(ReportTarget, PathBuf)> = Vec::new();
        for target in targets {
            let Some(file) = target.file.clone() else {
                match &printed {
                    Some(first) if first.name != target.name => {
                        return Err(two_printed(first.name, target.name));
                    }
                    _ => printed = Some(target),
                }
                continue;
            };
            let flag = format!("--report {}", target.name);
            let others = written
                .iter()
                .map(|(other, path)| (other.name, Some(path.as_path())));
            let read = read.iter().map(|path| ("the suites", Some(path.as_path())));
            let others: Vec<(&str, Option<&Path>)> = others.chain(read).collect();
            keep_apart((&flag, Some(&file)), &others)?;
            written.push((target, file));
        }
        let people = || PEOPLE.parse().map_err(anyhow::Error::msg);
        Ok(Self {
            printed: printed.map_or_else(people, Ok)?,
            written,
            results,
        })
    }

    /// Finds out whether the files can be written, and leaves what is in them.
    pub fn reserve(&self) -> Result<Vec<OutputFile>, Failure> {
        let files = self.written.iter();
        files
            .map(|(_, path)| OutputFile::reserve(path).map_err(|error| unwritable(path, &error)))
            .collect()
    }

    fn drawn(&self, target: &ReportTarget, report: &SuiteReport, style: Style) -> String {
        target.reporter.render(report, &self.results, style)
    }

    /// Writes and prints them all.
    pub fn tell(&self, report: &SuiteReport, files: Vec<OutputFile>) {
        self.write_all(report);
        files.into_iter().for_each(OutputFile::keep);
        terminal::print(&self.drawn(&self.printed, report, terminal::style()));
    }

    fn write_all(&self, report: &SuiteReport) {
        for (target, path) in &self.written {
            let text = self.drawn(target, report, Style::plain(FILE_WIDTH));
            losses::replace(path, text);
        }
    }

    /// Says in every report why no test was run. Nothing of an earlier run stays behind: nobody must take it
    /// for one of this run. People are told by the error itself.
    pub fn tell_unrun(&self, problems: Vec<SuiteProblem>) {
        self.tell_programs(&SuiteReport::unrun(problems));
    }

    fn tell_programs(&self, report: &SuiteReport) {
        self.write_all(report);
        if self.printed.name != PEOPLE {
            terminal::print(&self.drawn(&self.printed, report, terminal::style()));
        }
    }
}

fn two_printed(first: &str, second: &str) -> Failure {
    Failure::new(
        format!("{first} and {second} cannot both go to standard output"),
        format!("write one of them to a file: --report {second}=FILE"),
    )
}

fn unwritable(path: &Path, error: &std::io::Error) -> Failure {
    Failure::new(
        format!("cannot write {}: {error}", path.display()),
        "check that the folder exists and can be written to",
    )
}
