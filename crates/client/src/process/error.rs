//! Why a server's process could not be started, told so that the reader knows what to change.

use std::io::ErrorKind;

use crate::prelude::*;
use mcprove_settings::message::Message;

/// Why a process was not started, and what to try.
#[derive(Debug, thiserror::Error)]
#[error("{}", message.rendered())]
pub struct SpawnError {
    message: Message,
    hint: Message,
    limit: Option<OwnLimit>,
}

impl UserError for SpawnError {
    fn hint(&self) -> Message {
        self.hint.clone()
    }
}

impl SpawnError {
    pub fn new(message: impl Into<Message>, hint: impl Into<Message>) -> Self {
        Self {
            message: message.into(),
            hint: hint.into(),
            limit: None,
        }
    }

    /// What happened.
    pub fn message(&self) -> &Message {
        &self.message
    }

    /// What this process ran out of, if it is that.
    pub fn own_limit(&self) -> Option<OwnLimit> {
        self.limit
    }

    /// What `source` means for starting the server.
    pub fn from_io(server: &Server, source: &io::Error) -> Self {
        let program = redact_text(&server.command);
        if let Some(limit) = OwnLimit::of_start(source) {
            let message = sentence!("{limit}, so `{program}` was not started");
            return Self {
                limit: Some(limit),
                ..Self::new(message, limit.hint())
            };
        }
        match source.kind() {
            ErrorKind::NotFound => Self::not_found(server),
            ErrorKind::PermissionDenied => Self::not_executable(&program, source.to_string()),
            _ => {
                let message = sentence!("cannot start `{program}`: {source}");
                Self::new(message, "try the same command in a shell")
            }
        }
    }

    /// The program exists and may not be executed.
    pub fn not_executable(program: &str, hint: impl Into<Message>) -> Self {
        Self::new(sentence!("not allowed to run `{program}`"), hint)
    }

    /// The file for its stderr cannot be written.
    pub fn log_file(path: &Path, source: &io::Error) -> Self {
        let message = sentence!("cannot write the log `{}`: {source}", path.display());
        Self {
            limit: OwnLimit::of(source),
            ..Self::new(message, "check the path and its permissions")
        }
    }

    /// The supervisor cannot be started, or does not act as one.
    #[cfg(unix)]
    pub fn supervisor(program: &Path, source: &io::Error) -> Self {
        let program = program.display();
        let hint = sentence!(
            "name a program that calls `mcprove_client::process::supervise` \
                    first of all in `main`"
        );
        Self::new(
            sentence!("cannot use the supervisor `{program}`: {source}"),
            hint,
        )
    }

    /// The program does not exist; the hint depends on how it was written.
    pub fn not_found(server: &Server) -> Self {
        let program = redact_text(&server.command);
        let directory = server.working_dir.as_deref().unwrap_or(Path::new("."));
        let hint = if let Some((first, _)) = program.trim().split_once(char::is_whitespace) {
            sentence!(
                "a program name holds no arguments; check the quoting, so that `{first}` is the \
                 program and the rest are arguments"
            )
        } else if program.contains(['/', '\\']) {
            match (Path::new(&program).is_relative(), &server.working_dir) {
                (true, Some(from)) => sentence!("no such file, seen from `{}`", from.display()),
                (true, None) => "no such file, seen from the current directory".into(),
                (false, _) => "no such file; check the path".into(),
            }
        } else if cfg!(unix) && directory.join(&program).is_file() {
            sentence!("it is not on PATH; to run the file in the directory write `./{program}`")
        } else {
            "not found on PATH; check the spelling, and that it is installed".into()
        };
        Self::new(sentence!("cannot find the program `{program}`"), hint)
    }
}

/// Fails unless `server` has a command and its directory can be entered.
pub fn check_command(server: &Server) -> Result<(), SpawnError> {
    if server.command.trim().is_empty() {
        let hint = "name the program that starts the server";
        return Err(SpawnError::new("no command given", hint));
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
    let directory = directory.display();
    let message = sentence!("cannot start in the directory `{directory}`: {source}");
    Err(SpawnError {
        limit: OwnLimit::of(&source),
        ..SpawnError::new(message, "check the working directory")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_program_gets_the_hint_that_fits() {
        let hint = |command: &str| SpawnError::not_found(&Server::stdio(command)).hint();
        assert!(
            hint("python -m server")
                .rendered()
                .contains("so that `python` is the program")
        );
        assert!(
            hint("no-such-program")
                .rendered()
                .contains("not found on PATH")
        );
        assert!(
            hint("./no/such")
                .rendered()
                .contains("seen from the current directory")
        );
    }

    #[test]
    fn the_command_and_the_directory_are_checked() {
        let error = check_command(&Server::stdio(" ")).unwrap_err();
        assert_eq!(error.to_string(), "no command given");
        let missing = Server::stdio("sh").working_dir("/no/such/directory");
        let error = check_command(&missing).unwrap_err().to_string();
        assert!(
            error.starts_with("cannot start in the directory"),
            "{error}"
        );
        let fine = Server::stdio("sh").working_dir(std::env::temp_dir());
        assert!(check_command(&fine).is_ok());
    }
}
