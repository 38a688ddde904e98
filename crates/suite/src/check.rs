//! Any file that people write: what it is, told by what is in it, and whether it is in order.
//!
//! Nothing is started, no server is contacted, and nothing is written.

use mcprove_document::block::{self, Finding, Line, Section, Tone};
use mcprove_fault::file as faults;
use mcprove_servers::tools_file as mock;

use super::file::{self, folder_of};
use super::recognise::{Recognised, recognise};
use crate::prelude::*;
use crate::report::problems::in_file;

/// The name of the format.
pub const VALIDATION_FORMAT: &str = "validation.v1";

/// The files that were checked, and what is wrong with them.
#[data(Eq)]
#[schemars(title = "validation.v1")]
pub struct Validation {
    /// The format, `validation.v1`.
    pub schema: String,
    /// Whether every file is in order.
    pub valid: bool,
    /// The files, in the order in which they were given.
    pub files: Vec<CheckedFile>,
}

/// A file that was looked at.
#[data(Default, Eq)]
pub struct CheckedFile {
    /// Its name.
    pub file: String,
    /// Whether it is in order.
    pub valid: bool,
    /// What it is; none if it could not be read at all.
    pub kind: Option<FileKind>,
    /// How many of what there are in it.
    pub contents: BTreeMap<String, usize>,
    /// What is odd but harmless, each with its place.
    pub warnings: Vec<String>,
    /// What is wrong.
    pub problems: Vec<Problem>,
}

/// What is wrong with a file.
#[data(Eq)]
pub struct Problem {
    /// The file, which may be one that the file names.
    pub file: String,
    /// The line, from one; none when the whole file is meant.
    pub line: Option<usize>,
    /// The character in the line, from one.
    pub column: Option<usize>,
    /// What is wrong.
    pub message: Message,
    /// What to try.
    pub hint: Option<Message>,
}

/// What a file is.
#[choice(Copy, Eq)]
pub enum FileKind {
    /// A suite.
    Suite,
    /// A load configuration.
    Load,
    /// What agent traces are held to.
    Gates,
    /// Faults to inject.
    Faults,
    /// The tools of a mock.
    Tools,
}

impl FileKind {
    /// For people.
    pub const fn describe(self) -> &'static str {
        match self {
            Self::Suite => "a suite",
            Self::Load => "a load configuration",
            Self::Gates => "gates",
            Self::Faults => "faults",
            Self::Tools => "a tools file",
        }
    }
}

impl From<&ConfigError> for Problem {
    fn from(error: &ConfigError) -> Self {
        let problem = SuiteProblem::from(error);
        Self {
            file: error.file.clone(),
            line: problem.line,
            column: problem.column,
            message: problem.message,
            hint: problem.hint,
        }
    }
}

/// Looks at a file: what is in it, or every problem that it has. Variables that a suite needs and that
/// `environment` does not have are warnings.
pub fn check(path: &Path, environment: &Environment) -> (CheckedFile, Option<ConfigErrors>) {
    let mut checked = CheckedFile::new(path);
    let errors = checked.look(path, environment).err();
    checked.refuse(errors)
}

/// What stands for a folder in which there is no file to look at.
pub fn check_empty_folder(path: &Path) -> (CheckedFile, Option<ConfigErrors>) {
    let checked = CheckedFile::new(path);
    let errors = unusable(
        &checked.file,
        "there is no file of mcprove in this folder",
        "they end in .yml or .yaml; folders in it are not looked into",
    );
    checked.refuse(Some(errors))
}

fn unusable(file: &str, message: impl Into<Message>, hint: impl Into<Message>) -> ConfigErrors {
    ConfigErrors::of(ConfigError::of_file(file, message, hint))
}

/// What there may be in a file, and what one of it is called, in the order in which it is shown.
const CONTENTS: &[(&str, &str)] = &[
    ("servers", "server"),
    ("tools", "tool"),
    ("agents", "agent"),
    ("load", "load"),
    ("gates", "block"),
    ("faults", "fault"),
    ("resources", "resource"),
    ("prompts", "prompt"),
];

/// The files, each with what is in it or wrong with it.
pub fn validation_document(validation: &Validation) -> block::Document {
    let wrong = validation.files.iter().filter(|it| !it.valid).count();
    let all = phrase::count(count(validation.files.len()), "file");
    let verdict = if validation.valid {
        block::Verdict::new(Tone::Good, "PASS", format!("{all} checked"))
    } else {
        block::Verdict::new(Tone::Bad, "FAIL", format!("{wrong} of {all} invalid"))
    };
    let names: Vec<&str> = validation.files.iter().map(|it| it.file.as_str()).collect();
    let findings = validation.files.iter().flat_map(CheckedFile::findings);
    block::Document {
        title: "Validation".to_owned(),
        subject: vec![names.join(", "), "validate".to_owned()],
        verdict: Some(verdict),
        sections: vec![Section::default().findings(findings)],
        ..block::Document::default()
    }
}

impl CheckedFile {
    /// That it is in order, and what is in it.
    pub fn summary(&self) -> String {
        let kind = self.kind.map_or("a file", FileKind::describe);
        let contents = CONTENTS.iter().filter_map(|(name, noun)| {
            let number = *self.contents.get(*name)?;
            let noun = match (self.kind, *name) {
                (Some(FileKind::Suite), "tools") => "tool test",
                _ => noun,
            };
            Some(phrase::count(count(number), noun))
        });
        let contents: Vec<String> = contents.collect();
        match contents.as_slice() {
            [] => format!("{}: ok, {kind}", self.file),
            _ => format!("{}: ok, {kind} ({})", self.file, contents.join(", ")),
        }
    }

    fn findings(&self) -> Vec<Finding> {
        let warnings = self.warnings.iter();
        let warnings = warnings.map(|it| Finding::new(Tone::Unclear, "warning", it.as_str()));
        let valid = Finding::new(Tone::Good, "ok", self.summary());
        let problems = self.problems.iter().map(|problem| {
            let place = in_file(problem.line, problem.column);
            let place = format!("{}{place}", problem.file);
            Finding::new(Tone::Bad, "error", place)
                .line(Line::of(&problem.message))
                .hint(problem.hint.as_ref())
        });
        let valid = self.valid.then_some(valid);
        valid.into_iter().chain(problems).chain(warnings).collect()
    }

    /// One of which nothing is known yet.
    fn new(path: &Path) -> Self {
        Self {
            file: path.display().to_string(),
            valid: true,
            ..Self::default()
        }
    }

    fn refuse(mut self, errors: Option<ConfigErrors>) -> (Self, Option<ConfigErrors>) {
        self.valid = errors.is_none();
        let problems = errors.iter().flat_map(|errors| &errors.0);
        self.problems = problems.map(Problem::from).collect();
        (self, errors)
    }

    /// Notes how many of what there are, and what is odd.
    fn note(&mut self, contents: &[(&str, usize)], warnings: &[Warning]) {
        let there = contents.iter().filter(|(_, count)| *count > 0);
        let there = there.map(|(what, count)| ((*what).to_owned(), *count));
        self.contents = there.collect();
        self.warnings = warnings.iter().map(ToString::to_string).collect();
    }

    fn look(&mut self, path: &Path, environment: &Environment) -> Result<(), ConfigErrors> {
        let extension = path.extension().unwrap_or_default().to_ascii_lowercase();
        if extension == "jsonl" {
            // Only a recording has lines of JSON.
            return self.look_at_tools(path);
        }
        let is_toml = extension == "toml";
        let parse = if is_toml {
            Document::from_toml
        } else {
            Document::from_yaml_with_repeats
        };
        let document = Document::read(path, parse, Wanted::ANY)?;
        let kind = match recognise(&document.root) {
            Recognised::Ours(kind) => kind,
            other => {
                return Err(unusable(
                    &document.file,
                    format!("is not a suite: it is {}", other.describe()),
                    sentence!(
                        "leave it out; a suite has `servers`, and `tools`, `agents` or `load`"
                    ),
                ));
            }
        };
        // Where keys that are there twice are not told with all the rest, they are told alone.
        if kind != FileKind::Suite {
            document.refuse_repeats()?;
        }
        self.kind = Some(kind);
        match kind {
            FileKind::Suite if is_toml => {
                return Err(unusable(
                    &document.file,
                    "is a suite in TOML",
                    "suites are YAML: let the name end in .yml, and write it so",
                ));
            }
            FileKind::Suite => {
                let plan = file::from_document(&document, folder_of(path), Some(environment))?;
                let contents = [
                    ("servers", plan.servers.len()),
                    ("faults", plan.faults.len()),
                    ("tools", plan.tools.len()),
                    ("agents", plan.agents.len()),
                    ("load", plan.load.len()),
                ];
                self.note(&contents, &plan.warnings);
            }
            FileKind::Load => {
                let config = LoadConfig::from_document(&document)?;
                self.note(&[("faults", config.faults.len())], &config.warnings);
            }
            FileKind::Gates => {
                gates::from_document(&document)?;
                self.note(&[("gates", document.root.fields().len())], &[]);
            }
            FileKind::Faults => {
                let faults = faults::from_document(&document)?.len();
                if faults == 0 {
                    return Err(unusable(
                        &document.file,
                        "it is empty",
                        sentence!(
                            "is it the right file? a suite has `servers`, and `tools`, `agents` or `load`"
                        ),
                    ));
                }
                self.note(&[("faults", faults)], &[]);
            }
            FileKind::Tools => return self.look_at_tools(path),
        }
        Ok(())
    }

    fn look_at_tools(&mut self, path: &Path) -> Result<(), ConfigErrors> {
        self.kind = Some(FileKind::Tools);
        let read = mock::read(path)?;
        let contents = [
            ("tools", read.spec.tools.len()),
            ("resources", read.spec.resources.len()),
            ("prompts", read.spec.prompts.len()),
        ];
        self.note(&contents, &read.warnings);
        Ok(())
    }
}
