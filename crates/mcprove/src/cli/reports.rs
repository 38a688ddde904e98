//! Where reports go: files, and standard output for one of them. Whether files can be written is found
//! out before anything runs.

use std::cell::Cell;

use mcprove_document::block::Document;

use crate::prelude::*;

/// What stands for standard output.
const STDOUT: &str = "-";
/// The width of what people read in a file.
const FILE_WIDTH: usize = 100;

/// What a report is written as. Every report has the first four.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ReportFormat {
    Terminal,
    Markdown,
    Html,
    Json,
    Junit,
    Tap,
    Github,
}

impl ReportFormat {
    /// The formats that every report has.
    const COMMON: [Self; 4] = [Self::Terminal, Self::Markdown, Self::Html, Self::Json];

    pub fn name(self) -> String {
        format!("{self:?}").to_lowercase()
    }
}

/// A format, and where it goes.
#[derive(Debug, Clone)]
pub struct ReportTarget {
    format: ReportFormat,
    /// Standard output unless given.
    file: Option<PathBuf>,
}

impl FromStr for ReportTarget {
    type Err = Diagnostic;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (name, file) = text
            .split_once('=')
            .map_or((text, None), |(name, file)| (name, Some(file)));
        let Ok(format) = ReportFormat::from_str(name, false) else {
            let names: Vec<String> = ReportFormat::value_variants()
                .iter()
                .map(|it| it.name())
                .collect();
            let meant = did_you_mean(names.iter().map(String::as_str), name);
            let known = format!("known: {}", names.join(", "));
            let hint = [meant, known].join(" ").trim_start().to_owned();
            return Err(Diagnostic::new(format!("unknown format {name:?}"), hint));
        };
        if file == Some("") {
            let hint = format!("write {name}=FILE, or {name} for standard output");
            return Err(Diagnostic::new("the name of the file is missing", hint));
        }
        let file = file.filter(|file| *file != STDOUT).map(PathBuf::from);
        Ok(Self { format, file })
    }
}

/// The flag that every command with a report has.
#[derive(Debug, Clone, Default, Args)]
pub struct ReportArguments {
    /// Report format: terminal, markdown, html or json; repeatable. With =FILE it is written to a file
    #[arg(long, alias = "reporter", global = true, value_name = "FORMAT[=FILE]")]
    report: Vec<ReportTarget>,

    /// Show all details in the terminal, as in the files
    #[arg(short, long, global = true)]
    verbose: bool,
}

impl ReportArguments {
    /// Whether any was asked for.
    pub fn is_given(&self) -> bool {
        !self.report.is_empty()
    }

    /// The reports of a command that has the four formats of every report.
    pub fn resolve(&self, as_json: bool) -> Result<Reports> {
        self.resolve_with(as_json, &[], &[])
    }

    /// Those of a command whose standard output carries something else: all of them go to files.
    pub fn resolve_to_files(&self, read: &[PathBuf]) -> Result<Reports> {
        let reports = self.resolve_with(false, &[], read)?;
        match reports.printed {
            Some(format) if format != ReportFormat::Terminal => refuse(
                "standard output is in use, so a report cannot go there",
                format!("write it to a file: --report {}=FILE", format.name()),
            ),
            _ => Ok(reports),
        }
    }

    /// Those that were asked for, with the formats that this command has besides. Only one may take standard
    /// output; without any that does, it is the one for people. No report is written over a file that is read.
    pub fn resolve_with(
        &self,
        as_json: bool,
        others: &[ReportFormat],
        read: &[PathBuf],
    ) -> Result<Reports> {
        let mut reports = Reports {
            printed: as_json.then_some(ReportFormat::Json),
            is_verbose: self.verbose,
            subject: read.iter().map(|path| path.display().to_string()).collect(),
            ..Reports::default()
        };
        for ReportTarget { format, file } in &self.report {
            match (file, reports.printed) {
                (Some(file), _) => reports = reports.and(*format, file, read)?,
                (None, Some(first)) if first != *format => {
                    let name = format.name();
                    return refuse(
                        format!(
                            "{} and {name} cannot both go to standard output",
                            first.name()
                        ),
                        format!("write one of them to a file: --report {name}=FILE"),
                    );
                }
                (None, _) => reports.printed = Some(*format),
            }
        }
        reports.only(others)?;
        Ok(reports)
    }
}

/// What is read of the directory of a run.
const RUN_FILES: [&str; 3] = ["trace.jsonl", "metrics.json", "config.toml"];

/// The reports of a command.
#[derive(Default)]
pub struct Reports {
    /// Unless told, the one for people.
    printed: Option<ReportFormat>,
    /// Whether details are shown too.
    is_verbose: bool,
    written: Vec<(ReportFormat, PathBuf)>,
    /// What the command was given to read.
    subject: Vec<String>,
    /// Whether they tell of this run already.
    is_told: Cell<bool>,
    /// Files that are new go away again if nothing is written.
    #[allow(dead_code, reason = "dropped at the end")]
    reserved: Vec<OutputFile>,
}

impl Reports {
    /// The same with one more file, unless it cannot be written or is one that is read.
    pub fn and(mut self, format: ReportFormat, file: &Path, read: &[PathBuf]) -> Result<Self> {
        let flag = format!("--report {}", format.name());
        for (other, path) in &self.written {
            keep_apart((&flag, Some(file)), &[(&other.name(), Some(path))])?;
        }
        let reserved = OutputFile::reserve(file);
        self.reserved
            .push(reserved.map_err(Failure::unwritten(file))?);
        self.written.push((format, file.to_owned()));
        self.apart_from(read)?;
        Ok(self)
    }

    /// Refuses formats that are neither of every report nor among these.
    pub fn only(&self, others: &[ReportFormat]) -> Result<()> {
        let known = || ReportFormat::COMMON.iter().chain(others);
        let written = self.written.iter().map(|(format, _)| format);
        let mut given = self.printed.iter().chain(written);
        let Some(other) = given.find(|it| !known().any(|known| known == *it)) else {
            return Ok(());
        };
        let known: Vec<String> = known().map(|format| format.name()).collect();
        refuse(
            format!("the format {} is not for this report", other.name()),
            format!("its formats are {}", known.join(", ")),
        )
    }

    /// Refuses to write a report over a file that is read.
    pub fn apart_from(&self, read: &[PathBuf]) -> Result<()> {
        for (format, file) in &self.written {
            let flag = format!("--report {}", format.name());
            for path in read {
                let within = RUN_FILES.map(|name| path.join(name));
                for path in within.iter().chain([path]) {
                    keep_apart((&flag, Some(file)), &[("the input", Some(path))])?;
                }
            }
        }
        Ok(())
    }

    /// How to draw for standard output.
    fn style(&self) -> Style {
        Style {
            verbose: self.is_verbose,
            ..terminal::style()
        }
    }

    /// Without files and formats: what people see.
    pub fn for_people(&self) -> Self {
        Self {
            is_verbose: self.is_verbose,
            ..Self::default()
        }
    }

    /// What goes to standard output, where it was asked for.
    pub const fn printed(&self) -> Option<ReportFormat> {
        self.printed
    }

    /// Whether standard output is for people.
    pub fn is_for_people(&self) -> bool {
        self.printed
            .is_none_or(|format| format == ReportFormat::Terminal)
    }

    /// Writes and prints a document.
    pub fn show(&self, document: &Document, json: &str) {
        self.show_all(|format, style| drawn(document, json, format, style));
    }

    /// Writes and prints what is drawn.
    pub fn show_all(&self, draw: impl Fn(ReportFormat, Style) -> String) {
        self.show_if(true, draw);
    }

    /// Writes what is drawn, and prints it if it is to be shown.
    pub fn show_if(&self, is_shown: bool, draw: impl Fn(ReportFormat, Style) -> String) {
        self.write(&draw);
        if is_shown {
            let format = self.printed.unwrap_or(ReportFormat::Terminal);
            terminal::print(&draw(format, self.style()));
        }
    }

    /// Forgets what they tell: another round begins.
    pub fn begin(&self) {
        self.is_told.set(false);
    }

    /// Says in every report what ended the command, unless they tell something of this run already. Nothing of an
    /// earlier run stays behind: nobody must take it for this one's. People are told by the error itself.
    pub fn conclude(&self, ended: Result) -> Result {
        self.conclude_with(ended, |failure, format, style| {
            self.draw_failure(failure, format, style)
        })
    }

    /// What ended the command, as the report of what it was given to read.
    pub fn draw_failure(&self, failure: &Failure, format: ReportFormat, style: Style) -> String {
        failure.drawn(&self.subject, format, style)
    }

    /// The same, drawn as the command draws it.
    pub fn conclude_with(
        &self,
        ended: Result,
        draw: impl Fn(&Failure, ReportFormat, Style) -> String,
    ) -> Result {
        ended.inspect_err(|failure| {
            if !self.is_told.get() {
                self.show_if(!self.is_for_people(), |format, style| {
                    terminal::redacted(&draw(failure, format, style))
                });
            }
        })
    }

    /// Writes the files.
    pub fn write(&self, draw: impl Fn(ReportFormat, Style) -> String) {
        self.is_told.set(true);
        for (format, path) in &self.written {
            let style = Style {
                verbose: true,
                ..Style::plain(FILE_WIDTH)
            };
            let text = draw(*format, style);
            losses::replace(path, escape_hidden(&text).as_ref());
        }
    }
}

/// A document in one of the four formats of every report.
pub fn drawn(document: &Document, json: &str, format: ReportFormat, style: Style) -> String {
    match format {
        ReportFormat::Markdown => document.markdown(),
        ReportFormat::Html => document.html(),
        ReportFormat::Json => printable_json(json),
        _ => document.terminal(style),
    }
}

/// JSON on lines.
pub fn json(value: &impl Serialize) -> Result<String> {
    Ok(serde_json::to_string_pretty(value)? + "\n")
}
