//! Processes on Windows: each in a job object, which ends all its processes when its last handle
//! closes. Only we have one, so that happens whatever ends us. A supervisor is not needed, and there is no polite way
//! to end a process without a window.

use std::os::windows::process::ExitStatusExt as _;
use std::process::Stdio;

use process_wrap::tokio::{ChildWrapper, CommandWrap, JobObject, KillOnDrop};

use super::{Process, Started};
use crate::prelude::*;

/// How often a process is asked whether it exited.
const POLL_PAUSE: Duration = Duration::from_millis(20);

/// What is reported for a process that cannot be asked.
const UNKNOWN_STATUS: u32 = 255;

/// A process that we started.
#[derive(Debug)]
struct Job {
    pid: u32,
    job: Mutex<Box<dyn ChildWrapper>>,
}

/// Starts the command of `server`.
pub fn start(server: &Server) -> Result<Started, SpawnError> {
    let mut command = CommandWrap::with_new(&server.command, |command| {
        command
            .args(&server.args)
            .envs(&server.env)
            .env(MARK_VARIABLE, std::process::id().to_string())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        if let Some(directory) = &server.working_dir {
            command.current_dir(directory);
        }
    });
    command.wrap(KillOnDrop).wrap(JobObject);
    let mut child = command
        .spawn()
        .map_err(|error| SpawnError::from_io(server, &error))?;
    let streams = (
        child.stdin().take(),
        child.stdout().take(),
        child.stderr().take(),
    );
    let pipes = match streams {
        (Some(stdin), Some(stdout), Some(stderr)) => Ok((stdin, stdout, stderr)),
        _ => Err(io::Error::other("a standard stream is not piped")),
    };
    let pid = child.id().unwrap_or_default();
    let job = Mutex::new(child);
    Ok((Arc::new(Job { pid, job }), pipes))
}

impl Process for Job {
    fn pid(&self) -> u32 {
        self.pid
    }

    /// Waits, as long as it takes, until the process exited.
    fn wait_for_exit(&self) -> ExitStatus {
        loop {
            match lock(&self.job).try_wait() {
                Ok(Some(status)) => return status,
                Ok(None) => {}
                Err(_) => return ExitStatus::from_raw(UNKNOWN_STATUS),
            }
            thread::sleep(POLL_PAUSE);
        }
    }

    /// Kills the process and all it started.
    fn kill(&self) {
        // A job without processes is what was wanted.
        let _ = lock(&self.job).start_kill();
    }

    /// Ends what is left in the job. What that was is not known.
    fn sweep(&self) -> Vec<u32> {
        self.kill();
        Vec::new()
    }
}
