//! Why a run could not be done.

use crate::prelude::*;
use mcprove_client::session::{exit_hint, import_hint};
use mcprove_client::transport::Detail;

/// Why a run could not be done. What the server does wrong during a run is not here but in the
/// report.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// The server process could not be started.
    #[error("server failed to start: {0}")]
    ServerStart(io::Error),
    /// The server process ended before it could be used.
    #[error("server exited unexpectedly with code {0:?}")]
    ServerExit(Option<i32>),
    /// The server could not be reached or agreed with.
    #[error("initialize handshake failed: {0}")]
    Handshake(Diagnostic),
    /// The server was agreed with, but did not list its tools.
    #[error("tools/list failed: {0}")]
    ToolsList(String),
    /// The server ended before it could be used, and said why on stderr.
    #[error("server stderr: {0}")]
    ServerStderr(String),
    /// What was asked for makes no sense, or does not fit the server.
    #[error("config invalid: {0}")]
    Config(Diagnostic),
    /// This process ran out of something, such as file descriptors. The server has no part in it.
    #[error(transparent)]
    OwnLimit(#[from] OwnLimit),
    /// A file could not be read or written.
    #[error("io: {0}")]
    Io(#[from] io::Error),
    /// A scenario of another crate could not go on.
    #[error("{0}")]
    Scenario(Diagnostic),
    /// A defect of this library, or a run that was stopped before it began.
    #[error("internal: {0}")]
    Internal(String),
}

/// What a run is, or why it could not be done.
pub type RunResult<T = ()> = Result<T, RunError>;

impl UserError for RunError {
    fn text(&self) -> Message {
        match self {
            Self::ServerStderr(_) => "the server ended before it could be used".into(),
            Self::ServerExit(Some(code)) => format!("the server exited with code {code}").into(),
            Self::ServerExit(None) => "the server was killed by a signal".into(),
            _ => self.diagnostic().message,
        }
    }

    fn hint(&self) -> Message {
        self.diagnostic().hint
    }

    fn stderr(&self) -> &str {
        match self {
            Self::ServerStderr(said) => said,
            _ => "",
        }
    }
}

impl RunError {
    /// What happened, and what to try next.
    pub fn diagnostic(&self) -> Diagnostic {
        let (message, own): (Message, _) = match self {
            Self::Scenario(own) => return own.clone(),
            Self::Config(own) => (own.message.clone().after("config invalid: "), &own.hint),
            Self::Handshake(own) => {
                let message = own.message.clone();
                (message.after("initialize handshake failed: "), &own.hint)
            }
            Self::Io(error) => (error.to_string().into(), &Message::default()),
            _ => (self.to_string().into(), &Message::default()),
        };
        let hint = match self.own_limit() {
            _ if !own.is_empty() => own.clone(),
            Some(limit) => sentence!(
                "{} ({}, {}, {})",
                limit.hint(),
                setting("sessions"),
                setting("concurrent"),
                setting("max_in_flight")
            ),
            None => self.common_hint(),
        };
        Diagnostic::new(message, hint)
    }

    /// Tells also where the server's stderr is, if the run left it in its directory.
    pub fn hint_in(&self, directory: Option<&RunDirectory>) -> Message {
        let hint = self.hint();
        let is_of_server = matches!(
            self,
            Self::ServerStart(_)
                | Self::ServerExit(_)
                | Self::ServerStderr(_)
                | Self::Handshake(_)
                | Self::ToolsList(_)
        );
        match directory.map(RunDirectory::server_stderr) {
            Some(log) if is_of_server && log.is_file() => {
                sentence!("{hint}; what it wrote to stderr is in `{}`", log.display())
            }
            _ => hint,
        }
    }

    /// What to try next, where the error itself does not say.
    fn common_hint(&self) -> Message {
        if let Some(hint) = import_hint(self.stderr()) {
            return hint;
        }
        match self {
            Self::ServerStart(error) => match error.get_ref().and_then(|it| it.downcast_ref()) {
                Some(error) => ConnectError::hint(error),
                None => "check the command: is the program installed and on the PATH?".into(),
            },
            Self::ServerExit(_) | Self::ServerStderr(_) => exit_hint(),
            Self::Handshake(_) | Self::ToolsList(_) => {
                sentence!(
                    "{} with the same server shows what goes wrong",
                    command_or("doctor", "mcprove::diagnose")
                )
            }
            Self::Config(_) => {
                sentence!(
                    "{} and {} show the settings",
                    command_or("list-scenarios", "mcprove::scenario"),
                    command_or("example-config", "mcprove::LoadSettings")
                )
            }
            Self::Io(_) => sentence!(
                "check the path, its permissions and the space on the disk, or write elsewhere: {}",
                setting("report_dir")
            ),
            Self::Scenario(_) | Self::OwnLimit(_) | Self::Internal(_) => {
                "please report this, with the command that led to it".into()
            }
        }
    }

    /// What this process ran out of, if it is that.
    pub fn own_limit(&self) -> Option<OwnLimit> {
        match self {
            Self::OwnLimit(limit) => Some(*limit),
            Self::Io(error) => OwnLimit::of(error),
            _ => None,
        }
    }
}

/// An error with what could not be done, and to which file: the system tells neither.
pub fn at(action: &str, path: &Path) -> impl FnOnce(io::Error) -> io::Error {
    let what = format!("cannot {action} {}", path.display());
    move |source| io::Error::new(source.kind(), FileError { what, source })
}

#[derive(Debug, thiserror::Error)]
#[error("{what}: {source}")]
struct FileError {
    what: String,
    source: io::Error,
}

impl RunError {
    /// The tools could not be listed.
    pub fn of_list(error: &CallError) -> Self {
        match error.failure.own_limit() {
            Some(limit) => Self::OwnLimit(limit),
            None => Self::ToolsList(error.to_string()),
        }
    }

    /// A thread, or its runtime, could not be started.
    pub fn of_thread(error: io::Error) -> Self {
        OwnLimit::of_start(&error).map_or_else(|| Self::Io(error), Self::OwnLimit)
    }
}

impl From<ConnectError> for RunError {
    fn from(error: ConnectError) -> Self {
        if let Some(limit) = error.own_limit() {
            return Self::OwnLimit(limit);
        }
        let hint = error.hint();
        let mut message = error.to_string();
        match error {
            error @ ConnectError::Start(_) => return Self::ServerStart(io::Error::other(error)),
            ConnectError::Unreachable { failure, stderr } => match failure.detail {
                Detail::Exit(_) if !stderr.trim().is_empty() => {
                    let said = stderr.trim_end();
                    return Self::ServerStderr(format!("{said}\n({message})"));
                }
                Detail::Exit(code) => return Self::ServerExit(code),
                _ => {}
            },
            // Its own text says that it is the handshake, too.
            ConnectError::Handshake { failure, .. } => message = failure.to_string(),
            _ => {}
        }
        Self::Handshake(Diagnostic::new(message, hint))
    }
}

#[cfg(test)]
mod tests {
    use mcprove_trace::ErrorCategory;

    use super::*;
    use mcprove_client::transport::Failure;

    #[test]
    fn what_failed_is_said_once() {
        let failure = || Failure::new(ErrorCategory::Malformed, "no JSON");
        let handshake = ConnectError::Handshake {
            failure: failure(),
            is_violation: false,
            stderr: String::new(),
        };
        for (error, start) in [
            (RunError::from(handshake), "initialize handshake failed: "),
            (
                RunError::of_list(&CallError::unsent(failure())),
                "tools/list failed: ",
            ),
        ] {
            let text = error.to_string();
            assert!(text.starts_with(start), "{text}");
            assert_eq!(text.matches("failed").count(), 1, "{text}");
        }
    }
}
