//! Processes on Unix: started by us, or by a supervisor on our behalf.

use std::io;
use std::process::{Command, ExitStatus, Stdio};

use super::family::{Family, Streams, new_token};
use super::supervisor::Link;
use super::{SpawnError, program};
use crate::server::Server;

pub use super::family::Pipes;

/// A process that was started for a server.
#[derive(Debug)]
pub(super) enum Process {
    /// Our child.
    Direct(Family),
    /// The child of a supervisor.
    Supervised(Link),
}

/// Starts the command of `server`, and waits until it runs.
pub(super) fn start(server: &Server) -> Result<(Process, Pipes), SpawnError> {
    program::check_program(server)?;
    let token = new_token();
    if let Some(supervisor) = &server.supervisor {
        let (link, pipes) = Link::start(server, supervisor, token)?;
        return Ok((Process::Supervised(link), pipes));
    }
    let mut command = Command::new(&server.command);
    command.args(&server.args).envs(&server.env);
    if let Some(directory) = &server.working_dir {
        command.current_dir(directory);
    }
    let streams = Streams {
        input: Stdio::piped(),
        output: Stdio::piped(),
        error: Stdio::piped(),
    };
    let convert = |error| SpawnError::from_io(server, error);
    let (family, child) = Family::start(command, token, streams).map_err(convert)?;
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
    Ok((Process::Direct(family), pipes.ok_or_else(missing)?))
}

impl Process {
    pub(super) fn pid(&self) -> u32 {
        match self {
            Self::Direct(family) => family.pid(),
            Self::Supervised(link) => link.pid(),
        }
    }

    /// Waits, as long as it takes, until the process exited.
    pub(super) fn wait_for_exit(&self) -> ExitStatus {
        match self {
            Self::Direct(family) => family.wait_for_exit(),
            Self::Supervised(link) => link.wait_for_exit(),
        }
    }

    /// Whether it ended because its supervisor was killed.
    pub(super) fn is_lost(&self) -> bool {
        match self {
            Self::Direct(_) => false,
            Self::Supervised(link) => link.is_lost(),
        }
    }

    /// Notes the descendants, before their parents end and hide whose they are.
    pub(super) fn observe(&self) {
        match self {
            Self::Direct(family) => family.observe(),
            // They cannot hide from it.
            Self::Supervised(_) => {}
        }
    }

    /// Tells the group to terminate. Returns whether waiting for that makes sense.
    pub(super) fn terminate(&self) -> bool {
        match self {
            Self::Direct(family) => family.terminate(),
            Self::Supervised(link) => link.terminate(),
        }
    }

    /// Kills the process and all it started.
    pub(super) fn kill(&self) {
        match self {
            Self::Direct(family) => family.kill(),
            Self::Supervised(link) => link.kill(),
        }
    }

    /// After the exit: ends what the process left behind. Returns what had to be killed only
    /// because the process had left it behind.
    pub(super) fn sweep(&self) -> Vec<u32> {
        match self {
            Self::Direct(family) => family.sweep(),
            Self::Supervised(link) => link.sweep(),
        }
    }
}
