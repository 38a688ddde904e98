//! What is printed when a command could not do its work: what happened, where, what to try.

use crate::prelude::*;

/// The longest message that is shown whole.
const MESSAGE_MAX: usize = 2000;
/// The longest line of a server's stderr that is shown whole.
const LINE_MAX: usize = 500;
/// How many lines of it are shown, the last.
const STDERR_LINES_MAX: usize = 10;

/// What a command, or a part of it, comes to: by default, an exit code.
pub type Result<T = ExitCode, E = Failure> = std::result::Result<T, E>;

/// Ends a command with what is wrong, and what to try next.
pub fn refuse<T>(message: impl Into<String>, hint: impl Into<Message>) -> Result<T> {
    Err(Failure::new(message, hint))
}

/// A command that could not do its work.
#[derive(Debug)]
pub struct Failure {
    message: String,
    /// Whether it is many lines, which say "error" themselves.
    is_list: bool,
    hint: String,
    stderr: String,
    code: ExitCode,
}

impl Failure {
    /// A failure with what to try next.
    pub fn new(message: impl Into<String>, hint: impl Into<Message>) -> Self {
        Self {
            hint: hint.into().rendered(),
            ..Self::plain(message)
        }
    }

    /// A failure that says all by itself.
    fn plain(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            is_list: false,
            hint: String::new(),
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
        Self::plain("interrupted").with_code(ExitCode::Interrupted)
    }

    /// The same with another hint.
    pub fn with_hint(mut self, hint: String) -> Self {
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
        self.message = format!("{what}: {}", self.message);
        self.is_list = false;
        self
    }

    /// What happened.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// Prints the failure and gives the exit code.
    pub fn report(&self) -> ExitCode {
        let mut text = if self.is_list {
            printable_lines(&self.message, LINE_MAX)
        } else {
            format!("error: {}\n", printable(&self.message, MESSAGE_MAX))
        };
        if !self.stderr.trim().is_empty() {
            text.push_str("the server's stderr ends with:\n");
            let lines: Vec<&str> = self.stderr.trim_end().lines().collect();
            for line in &lines[lines.len().saturating_sub(STDERR_LINES_MAX)..] {
                let _ = writeln!(text, "  | {}", printable(line, LINE_MAX));
            }
        }
        if !self.hint.is_empty() {
            let _ = writeln!(text, "hint: {}", printable(&self.hint, MESSAGE_MAX));
        }
        terminal::print_error(&text);
        self.code
    }
}

impl<E: UserError> From<E> for Failure {
    fn from(error: E) -> Self {
        Self {
            is_list: error.is_list(),
            hint: error.hint().rendered(),
            stderr: error.stderr().to_owned(),
            code: match error.exit_code() {
                1 => ExitCode::Finding,
                130 => ExitCode::Interrupted,
                _ => ExitCode::CouldNotRun,
            },
            ..Self::plain(error.text().rendered())
        }
    }
}
