//! What is printed when a command could not do its work: what happened, where, what to try.

use clap::error::{ContextKind, ContextValue, ErrorKind};
use mcprove_document::block::{Document, Tone, Verdict};
use mcprove_settings::error::ConfigError;
use mcprove_suite::report::render;
use mcprove_suite::run::SuiteProblem;
use serde_json::json;

use crate::prelude::*;

/// The longest message that is shown whole.
const MESSAGE_MAX: usize = 2000;
/// The longest line of a server's stderr that is shown whole.
const LINE_MAX: usize = 500;
/// How many lines of it are shown, the last.
const STDERR_LINES_MAX: usize = 10;
/// What a report says of a command that ended with an error.
const UNDONE: &str = "the command could not do its work";

/// What a command, or a part of it, comes to: by default, an exit code.
pub type Result<T = ExitCode, E = Failure> = std::result::Result<T, E>;

/// Ends a command with what is wrong, and what to try next.
pub fn refuse<T>(message: impl Into<Message>, hint: impl Into<Message>) -> Result<T> {
    Err(Failure::new(message, hint))
}

/// A command that could not do its work.
#[derive(Debug)]
pub struct Failure {
    message: Message,
    hint: Message,
    /// The problems of files that the message is: it says "error" of each itself.
    list: Vec<ConfigError>,
    stderr: String,
    code: ExitCode,
}

impl Failure {
    /// A failure with what to try next.
    pub fn new(message: impl Into<Message>, hint: impl Into<Message>) -> Self {
        Self {
            message: message.into(),
            hint: hint.into(),
            list: Vec::new(),
            stderr: String::new(),
            code: ExitCode::CouldNotRun,
        }
    }

    /// Makes a failure of what keeps a file from being written.
    pub fn unwritten(path: &Path) -> impl Fn(io::Error) -> Self {
        move |error| {
            Self::new(
                format!("cannot write {}: {error}", path.display()),
                "check that the folder exists and can be written to, and the disk space",
            )
        }
    }

    /// The user interrupted before there was anything to report.
    pub fn interrupted() -> Self {
        Self::new("interrupted", "").with_code(ExitCode::Interrupted)
    }

    /// What is wrong with the arguments; none if help was asked for.
    pub fn of_arguments(error: &clap::Error) -> Option<Self> {
        if !error.use_stderr() || is_help(error) {
            return None;
        }
        let text = error.to_string();
        let text = text.strip_prefix("error: ").unwrap_or(&text);
        // What follows are tips and usage, which the hint stands for.
        let lines = text.lines().map(str::trim);
        let lines = lines.take_while(|line| !line.is_empty() && !line.starts_with('['));
        let message = lines.collect::<Vec<_>>().join(" ");
        let listed = |kind| match error.get(kind) {
            Some(ContextValue::String(one)) => vec![one.as_str()],
            Some(ContextValue::Strings(all)) => all.iter().map(String::as_str).collect(),
            _ => Vec::new(),
        };
        let source = std::error::Error::source(error);
        if let Some(errors) = source.and_then(|it| it.downcast_ref::<ConfigErrors>()) {
            return Some(errors.clone().into());
        }
        if let Some(own) = source.and_then(|it| it.downcast_ref::<Diagnostic>()) {
            return Some(Self::new(message, own.hint.clone()));
        }
        let near = [
            ContextKind::SuggestedArg,
            ContextKind::SuggestedSubcommand,
            ContextKind::SuggestedValue,
        ];
        let near = near.into_iter().flat_map(listed).next();
        let near = near.map(|near| format!("did you mean {near:?}?"));
        let known = listed(ContextKind::ValidValue);
        let known = (!known.is_empty()).then(|| format!("known: {}", known.join(", ")));
        let mut hints: Vec<String> = near.into_iter().chain(known).collect();
        if hints.is_empty() {
            hints.push(format!("`{} --help` lists what it takes", command_named()));
        }
        Some(Self::new(message, hints.join(" ")))
    }

    /// The same with another hint.
    pub fn with_hint(mut self, hint: Message) -> Self {
        self.hint = hint;
        self
    }

    /// The same with another exit code than that of what could not be done.
    pub fn with_code(mut self, code: ExitCode) -> Self {
        self.code = code;
        self
    }

    /// The same, with what was being done before the message.
    pub fn within(mut self, what: &str) -> Self {
        self.message = self.message.after(format!("{what}: "));
        self.list.clear();
        self
    }

    fn is_list(&self) -> bool {
        !self.list.is_empty()
    }

    /// The problems of files that it is, or itself as one.
    pub fn problems(&self) -> Vec<SuiteProblem> {
        if self.is_list() {
            return self.list.iter().map(SuiteProblem::from).collect();
        }
        vec![SuiteProblem {
            file: None,
            line: None,
            column: None,
            message: self.message.clone(),
            hint: Some(self.hint.clone()).filter(|hint| !hint.is_empty()),
        }]
    }

    /// The problems of files that it is.
    pub fn list(&self) -> &[ConfigError] {
        &self.list
    }

    /// As a report of a command that has no other.
    pub fn drawn(&self, subject: &[String], format: ReportFormat, style: Style) -> String {
        let document = Document {
            title: command_named(),
            subject: subject.to_owned(),
            verdict: Some(Verdict::new(Tone::Bad, "ERROR", UNDONE)),
            sections: vec![Section::default().excerpt(self.text().lines())],
            ..Document::default()
        };
        let problems = self.problems();
        let json = format!(
            "{:#}\n",
            json!({ "outcome": "error", "problems": problems })
        );
        match format {
            ReportFormat::Junit | ReportFormat::Tap | ReportFormat::Github => {
                let unrun = SuiteReport::unrun(problems);
                render(&format.name(), &unrun, Path::new(""), style)
            }
            _ => drawn(&document, &json, format, style),
        }
    }

    /// What happened.
    pub fn message(&self) -> String {
        self.message.rendered()
    }

    /// Prints the failure and gives the exit code.
    pub fn report(&self) -> ExitCode {
        terminal::print_error(&self.text());
        self.code
    }

    /// What happened, what the server said last, and what to try.
    fn text(&self) -> String {
        let mut text = if self.is_list() {
            printable_lines(&self.message(), LINE_MAX)
        } else {
            format!("error: {}\n", printable(&self.message(), MESSAGE_MAX))
        };
        if !self.stderr.trim().is_empty() {
            text.push_str("the server's stderr ends with:\n");
            let lines: Vec<&str> = self.stderr.trim_end().lines().collect();
            for line in &lines[lines.len().saturating_sub(STDERR_LINES_MAX)..] {
                let _ = writeln!(text, "  | {}", printable(line, LINE_MAX));
            }
        }
        if !self.hint.is_empty() {
            let hint = self.hint.rendered();
            let _ = writeln!(text, "hint: {}", printable(&hint, MESSAGE_MAX));
        }
        text
    }
}

/// Whether what is printed is the help of a command that was given nothing.
fn is_help(error: &clap::Error) -> bool {
    error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand
}

/// The command that was given, as far as it is known.
fn command_named() -> String {
    let mut command = crate::arguments::command();
    let mut path = command.get_name().to_owned();
    for word in std::env::args_os().skip(1) {
        let Some(sub) = command.find_subcommand(&word).cloned() else {
            break;
        };
        path = format!("{path} {}", sub.get_name());
        command = sub;
    }
    path
}

impl<E: UserError> From<E> for Failure {
    fn from(error: E) -> Self {
        Self {
            list: error.list().to_vec(),
            stderr: error.stderr().to_owned(),
            code: match error.exit_code() {
                1 => ExitCode::Finding,
                130 => ExitCode::Interrupted,
                _ => ExitCode::CouldNotRun,
            },
            ..Self::new(error.text(), error.hint())
        }
    }
}
