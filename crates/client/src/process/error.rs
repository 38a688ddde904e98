//! Why a server's process could not be started, told so that the reader knows what to change.

use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use mcprove_settings::own_limits::OwnLimit;
use mcprove_settings::secret::redact_text;

use crate::server::Server;

/// Why a process was not started.
#[derive(Debug, thiserror::Error)]
pub enum SpawnError {
    /// There is no program to start.
    #[error("no command given")]
    NoCommand,
    /// The program does not exist.
    #[error("cannot find the program `{program}`")]
    NotFound {
        /// The program as it was given.
        program: String,
        /// What is probably wrong.
        hint: String,
    },
    /// The program exists and may not be executed.
    #[error("not allowed to run `{program}`")]
    NotExecutable {
        /// The program as it was given.
        program: String,
        /// What is probably wrong.
        hint: String,
    },
    /// The program is a script, and what should run it does not exist.
    #[error(
        "cannot run the script `{program}`: its first line asks for `{interpreter}`, which does \
         not exist"
    )]
    NoInterpreter {
        /// The program as it was given.
        program: String,
        /// The interpreter its first line names.
        interpreter: String,
    },
    /// The directory to start in cannot be entered.
    #[error("cannot start in the directory `{}`: {source}", directory.display())]
    WorkingDirectory {
        /// The directory as it was given.
        directory: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// There is no room for another process, thread, pipe or log.
    #[error("{limit}, so `{program}` was not started")]
    NoRoom {
        /// The program as it was given.
        program: String,
        /// What this process ran out of.
        limit: OwnLimit,
    },
    /// There is no tokio runtime to serve the pipes.
    #[error("a process can only be started inside a tokio runtime")]
    NoRuntime,
    /// The supervisor cannot be started, or does not act as one.
    #[error("cannot use the supervisor `{}`: {source}", supervisor.display())]
    Supervisor {
        /// The program as it was given.
        supervisor: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The file for its stderr cannot be written.
    #[error("cannot write the log `{}`: {source}", path.display())]
    LogFile {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// Anything else.
    #[error("cannot start `{program}`: {source}")]
    Other {
        /// The program as it was given.
        program: String,
        /// What the system said.
        source: io::Error,
    },
}

impl SpawnError {
    /// What to try next.
    pub fn hint(&self) -> String {
        match self {
            Self::NoCommand => "name the program that starts the server".into(),
            Self::NotFound { hint, .. } | Self::NotExecutable { hint, .. } => hint.clone(),
            Self::NoInterpreter { interpreter, .. } => {
                format!("install `{interpreter}`, or correct the first line of the script")
            }
            Self::WorkingDirectory { .. } => "check the working directory".into(),
            Self::NoRoom { limit, .. } => limit.hint().into(),
            Self::LogFile { .. } => "check the path and its permissions".into(),
            Self::NoRuntime => "call this from within a tokio runtime".into(),
            Self::Supervisor { .. } => {
                "name a program that calls `mcprove_client::process::supervise` \
                first of all in `main`"
                    .into()
            }
            Self::Other { .. } => "try the same command in a shell".into(),
        }
    }

    /// What this process ran out of, if it is that.
    pub fn own_limit(&self) -> Option<OwnLimit> {
        match self {
            Self::NoRoom { limit, .. } => Some(*limit),
            Self::LogFile { source, .. } | Self::WorkingDirectory { source, .. } => {
                OwnLimit::of(source)
            }
            _ => None,
        }
    }

    /// What `source` means for starting the server.
    pub(super) fn from_io(server: &Server, source: io::Error) -> Self {
        let program = redact_text(&server.command);
        if let Some(limit) = OwnLimit::of_start(&source) {
            return Self::NoRoom { program, limit };
        }
        match source.kind() {
            ErrorKind::NotFound => Self::not_found(server),
            ErrorKind::PermissionDenied => Self::NotExecutable {
                program,
                hint: source.to_string(),
            },
            _ => Self::Other { program, source },
        }
    }

    /// The program does not exist; the hint depends on how it was written.
    pub(super) fn not_found(server: &Server) -> Self {
        let program = redact_text(&server.command);
        let directory = server.working_dir.as_deref().unwrap_or(Path::new("."));
        let hint = if let Some((first, _)) = program.trim().split_once(char::is_whitespace) {
            format!(
                "a program name holds no arguments; check the quoting, so that `{first}` is the \
                 program and the rest are arguments"
            )
        } else if program.contains(['/', '\\']) {
            match (Path::new(&program).is_relative(), &server.working_dir) {
                (true, Some(from)) => format!("no such file, seen from `{}`", from.display()),
                (true, None) => "no such file, seen from the current directory".to_owned(),
                (false, _) => "no such file; check the path".to_owned(),
            }
        } else if cfg!(unix) && directory.join(&program).is_file() {
            format!("it is not on PATH; to run the file in the directory write `./{program}`")
        } else {
            "it is in no directory of PATH; check the spelling, PATH, and that it is installed"
                .to_owned()
        };
        Self::NotFound { program, hint }
    }
}

/// Fails unless `server` has a command and its directory can be entered.
pub fn check_command(server: &Server) -> Result<(), SpawnError> {
    if server.command.trim().is_empty() {
        return Err(SpawnError::NoCommand);
    }
    let Some(directory) = &server.working_dir else {
        return Ok(());
    };
    // The dot makes the system look inside, which needs the permission that entering needs.
    let source = match std::fs::metadata(directory.join(".")) {
        Ok(found) if found.is_dir() => return Ok(()),
        Ok(_) => io::Error::from(ErrorKind::NotADirectory),
        Err(error) => error,
    };
    Err(SpawnError::WorkingDirectory {
        directory: directory.clone(),
        source,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_program_gets_the_hint_that_fits() {
        let hint = |command: &str| SpawnError::not_found(&Server::stdio(command)).hint();
        assert!(hint("python -m server").contains("so that `python` is the program"));
        assert!(hint("no-such-program").contains("in no directory of PATH"));
        assert!(hint("./no/such").contains("seen from the current directory"));
    }

    #[test]
    fn the_command_and_the_directory_are_checked() {
        assert!(matches!(
            check_command(&Server::stdio(" ")),
            Err(SpawnError::NoCommand)
        ));
        let missing = Server::stdio("sh").working_dir("/no/such/directory");
        assert!(matches!(
            check_command(&missing),
            Err(SpawnError::WorkingDirectory { .. })
        ));
        let fine = Server::stdio("sh").working_dir(std::env::temp_dir());
        assert!(check_command(&fine).is_ok());
    }
}
