//! What is printed when a command could not do its work: what happened, where, what to try.

use std::fmt::Write as _;

use mcprove_settings::message::{Diagnostic, Message};
use mcprove_settings::own_limits::OwnLimit;
use mcprove_settings::printable::printable;

use crate::exit::ExitCode;
use crate::terminal;

/// The longest message that is shown whole.
const MESSAGE_MAX: usize = 2000;
/// The longest line of a server's stderr that is shown whole.
const LINE_MAX: usize = 500;

/// A command that could not do its work.
#[derive(Debug)]
pub struct Failure {
    message: String,
    hint: Option<String>,
    stderr: String,
    code: ExitCode,
}

impl Failure {
    /// A failure with what to try next.
    pub fn new(message: impl Into<String>, hint: impl Into<Message>) -> Self {
        Self {
            message: message.into(),
            hint: Some(hint.into().text()),
            stderr: String::new(),
            code: ExitCode::CouldNotRun,
        }
    }

    /// A file that cannot be used: every problem with its place and its hint, as its reader wrote
    /// them.
    pub fn of_file(problems: &str) -> Self {
        Self {
            message: problems.to_owned(),
            hint: None,
            stderr: String::new(),
            code: ExitCode::CouldNotRun,
        }
    }

    /// The user interrupted before there was anything to report.
    pub fn interrupted() -> Self {
        Self {
            message: "interrupted".into(),
            hint: None,
            stderr: String::new(),
            code: ExitCode::Interrupted,
        }
    }

    /// The same, because the user interrupted: exit code 130.
    #[must_use]
    pub fn into_interrupted(mut self) -> Self {
        self.code = ExitCode::Interrupted;
        self
    }

    /// The same, as a finding about the server: exit code 1.
    #[must_use]
    pub fn into_finding(mut self) -> Self {
        self.code = ExitCode::Finding;
        self
    }

    /// The same, because there is not enough evidence: exit code 2, which a finding outweighs.
    #[must_use]
    pub fn into_inconclusive(mut self) -> Self {
        self.code = ExitCode::Inconclusive;
        self
    }

    /// The same, with what was being done before the message.
    #[must_use]
    pub fn within(mut self, what: &str) -> Self {
        self.message = format!("{what}: {}", self.message);
        self
    }

    /// What happened.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// Shows the end of the server's stderr too.
    #[must_use]
    pub fn with_stderr(mut self, stderr: &str) -> Self {
        stderr.clone_into(&mut self.stderr);
        self
    }

    /// Prints the failure and gives the exit code.
    pub fn report(&self) -> ExitCode {
        // What a reader of files says is many lines, each made printable, and says "error" itself.
        let mut text = if self.message.starts_with("error: ") {
            let lines = self.message.lines();
            lines.map(|line| printable(line, LINE_MAX) + "\n").collect()
        } else {
            format!("error: {}\n", printable(&self.message, MESSAGE_MAX))
        };
        if !self.stderr.trim().is_empty() {
            text.push_str("the server's stderr ends with:\n");
            for line in last_lines(&self.stderr, 10) {
                let _ = writeln!(text, "  | {}", printable(line, LINE_MAX));
            }
        }
        if let Some(hint) = &self.hint {
            let _ = writeln!(text, "hint: {}", printable(hint, MESSAGE_MAX));
        }
        terminal::print_error(&text);
        self.code
    }
}

impl From<Diagnostic> for Failure {
    fn from(diagnostic: Diagnostic) -> Self {
        let hint = diagnostic.hint.map(|hint| hint.text());
        Self {
            hint,
            ..Self::of_file(&diagnostic.message.text())
        }
    }
}

impl From<anyhow::Error> for Failure {
    fn from(error: anyhow::Error) -> Self {
        let limit = error.chain().find_map(|cause| {
            let cause = cause.downcast_ref::<std::io::Error>()?;
            OwnLimit::of_start(cause)
        });
        Self {
            message: format!("{error:#}"),
            hint: limit.map(|limit| format!("{limit}: {}", limit.hint())),
            stderr: String::new(),
            code: ExitCode::CouldNotRun,
        }
    }
}

/// The failure of a command that ran out of something itself.
pub fn ran_out(limit: OwnLimit) -> Failure {
    Failure::new(limit.to_string(), limit.hint())
}

/// The last `count` lines of a text.
pub fn last_lines(text: &str, count: usize) -> Vec<&str> {
    let lines: Vec<&str> = text.trim_end().lines().collect();
    lines[lines.len().saturating_sub(count)..].to_vec()
}
