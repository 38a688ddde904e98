//! Processes on Unix: started by us, or by a supervisor on our behalf.

use std::io;
use std::process::{Command, Stdio};
use std::sync::Arc;

use super::family::{Family, new_token};
use super::supervisor::Link;
use super::{Process, SpawnError, program};
use crate::server::Server;

pub use super::family::Pipes;

/// Starts the command of `server`, and waits until it runs.
pub fn start(server: &Server) -> Result<(Arc<dyn Process>, Pipes), SpawnError> {
    program::check_program(server)?;
    let token = new_token();
    if let Some(supervisor) = &server.supervisor {
        let (link, pipes) = Link::start(server, supervisor, token)?;
        return Ok((Arc::new(link), pipes));
    }
    let mut command = Command::new(&server.command);
    command
        .args(&server.args)
        .envs(&server.env)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    if let Some(directory) = &server.working_dir {
        command.current_dir(directory);
    }
    let convert = |error| SpawnError::from_io(server, error);
    let (family, child) = Family::start(command, token).map_err(convert)?;
    let pipes = child
        .stdin
        .zip(child.stdout)
        .zip(child.stderr)
        .map(|((stdin, stdout), stderr)| Pipes {
            stdin,
            stdout,
            stderr,
        });
    let missing = || convert(io::Error::other("a standard stream is not piped"));
    Ok((Arc::new(family), pipes.ok_or_else(missing)?))
}
