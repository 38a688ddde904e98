//! One server process, from start to end.
//!
//! A thread of its own starts the process, waits for it, publishes the exit status to all who wait,
//! and then sweeps up what the process left behind. It needs no runtime, so a [`Child`] works in any, and
//! ends properly even after its runtime is gone.

use mcprove_settings::own_limits::LimitedResource;
use tokio::process::{ChildStdin, ChildStdout};
use tokio::runtime::Handle;
use tokio::sync::watch;

use super::error;
use super::{Pipes, Process, platform};
use crate::prelude::*;

/// How long a process may take to exit after it was told to terminate.
pub const TERMINATE_WAIT: Duration = Duration::from_secs(2);
/// How long to wait for a killed process; one that is stuck in the kernel may take forever.
pub const KILL_WAIT: Duration = Duration::from_secs(5);
/// How long to wait for the rest of stderr once everything that could write to it is dead.
pub const STDERR_WAIT: Duration = Duration::from_millis(500);
/// The stack of a thread that only starts a process, waits, and reads small files.
const KEEPER_STACK_BYTES: usize = 256 * 1024;

/// A process that was started for a server. Dropping it kills the process and all it started.
#[derive(Debug)]
pub struct Child {
    process: Arc<dyn Process>,
    life: watch::Receiver<Life>,
    /// Closes when stderr was read to its end.
    draining: watch::Receiver<()>,
}

/// How a server's process, or the connection to it, ended.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Closing {
    /// The exit status of the server process, where there was one.
    pub exit: Option<ExitStatus>,
    /// Whether the process had to be told (TERM) or forced (KILL) after its input closed.
    pub forced: bool,
}

impl Closing {
    /// How a process ended that ended by itself when its input closed, and not well.
    pub fn bad_end(&self) -> Option<String> {
        let exit = self
            .exit
            .filter(|status| !self.forced && !status.success())?;
        Some(format!(
            "the process did not end well when its input closed: {exit}"
        ))
    }
}

/// How far a process got.
#[derive(Debug, Clone)]
enum Life {
    Running,
    Exited(ExitStatus),
    /// What it left behind is gone too; these were alive.
    Swept(ExitStatus, Vec<u32>),
}

impl Life {
    const fn exit(&self) -> Option<ExitStatus> {
        match self {
            Self::Running => None,
            Self::Exited(status) | Self::Swept(status, _) => Some(*status),
        }
    }
}

impl Child {
    /// Starts the command of `server`, with its stderr going to `stderr`.
    ///
    /// The process inherits our environment plus `server.env`. It must be started inside a tokio
    /// runtime with IO and time enabled, which serves the pipes; a task in it drains stderr. If the
    /// future is dropped, the process is killed.
    pub async fn spawn(
        server: &Server,
        stderr: Arc<StderrLog>,
    ) -> Result<(Self, ChildStdin, ChildStdout), SpawnError> {
        let runtime = Handle::try_current().map_err(|_| {
            let message = "a process can only be started inside a tokio runtime";
            SpawnError::new(message, "call this from within a tokio runtime")
        })?;
        error::check_command(server)?;
        let convert = |error: std::io::Error| SpawnError::from_io(server, &error);
        let (drained, draining) = watch::channel(());
        let (answer, started) = oneshot::channel();
        thread::Builder::new()
            .name("mcprove-keeper".to_owned())
            .stack_size(KEEPER_STACK_BYTES)
            .spawn({
                let (server, runtime) = (server.clone(), runtime.clone());
                move || keep(&server, &runtime, draining, answer)
            })
            .map_err(convert)?;
        let gone = || convert(std::io::Error::other("the thread that starts it is gone"));
        let (child, pipes) = started.await.map_err(|_| gone())??;
        let (stdin, stdout, pipe) = pipes.map_err(convert)?;
        runtime.spawn(async move {
            stderr.drain(pipe).await;
            drop(drained);
        });
        Ok((child, stdin, stdout))
    }

    /// The id of the process; on Unix also that of its process group.
    pub fn pid(&self) -> u32 {
        self.process.pid()
    }

    /// The exit status, once the process exited.
    pub fn exit_status(&self) -> Option<ExitStatus> {
        self.life.borrow().exit()
    }

    /// Whether the process ended because something killed its supervisor; known once it exited.
    pub fn lost_supervisor(&self) -> Option<OwnLimit> {
        self.process
            .is_lost()
            .then(|| OwnLimit::now(LimitedResource::Supervisor))
    }

    /// Waits until the process exited. Any number of callers may wait.
    pub async fn wait(&self) -> ExitStatus {
        let mut life = self.life.clone();
        loop {
            if let Some(status) = life.borrow_and_update().exit() {
                return status;
            }
            if life.changed().await.is_err() {
                // The keeper publishes before it ends; without it there is nothing to wait for.
                return self.exit_status().unwrap_or_default();
            }
        }
    }

    /// Ends the process, whose stdin should have been closed before: waits up to `patience` for
    /// it to exit, tells it to terminate, waits [`TERMINATE_WAIT`], and kills it. Returns when
    /// all that the process started is gone as well, and stderr was read.
    pub async fn stop(&self, patience: Duration) -> Closing {
        let mut forced = false;
        self.beside_runtime(|process| process.observe()).await;
        let mut exit = timeout(patience, self.wait()).await.ok();
        if exit.is_none() {
            forced = true;
            if self.beside_runtime(|process| process.terminate()).await == Some(true) {
                exit = timeout(TERMINATE_WAIT, self.wait()).await.ok();
            }
        }
        if exit.is_none() {
            self.beside_runtime(|process| process.kill()).await;
            exit = timeout(KILL_WAIT, self.wait()).await.ok();
        }
        if exit.is_some() {
            let mut life = self.life.clone();
            let swept = life.wait_for(|life| matches!(life, Life::Swept(..)));
            let _ = timeout(KILL_WAIT, swept).await;
            self.stderr_end().await;
        }
        Closing { exit, forced }
    }

    /// Waits until stderr was read to its end, at most [`STDERR_WAIT`]: after an exit, for the
    /// last words of the process.
    pub async fn stderr_end(&self) {
        let mut draining = self.draining.clone();
        let _ = timeout(STDERR_WAIT, draining.changed()).await;
    }

    /// Kills the process and all it started, at once and without waiting.
    pub fn kill_now(&self) {
        if !self.is_swept() {
            self.process.kill();
        }
    }

    /// The processes that the server had started and that outlived it, though it was not killed.
    /// They were killed shortly after; complete once [`stop`](Self::stop) returned.
    pub fn leftovers(&self) -> Vec<u32> {
        match &*self.life.borrow() {
            Life::Swept(_, leftovers) => leftovers.clone(),
            Life::Running | Life::Exited(_) => Vec::new(),
        }
    }

    /// Does what has to look at all processes of the system where that delays nobody. `None` if
    /// the process is over.
    async fn beside_runtime<T: Send + 'static>(
        &self,
        action: impl FnOnce(&dyn Process) -> T + Send + 'static,
    ) -> Option<T> {
        if self.is_swept() {
            return None;
        }
        let process = Arc::clone(&self.process);
        tokio::task::spawn_blocking(move || action(process.as_ref()))
            .await
            .ok()
    }

    fn is_swept(&self) -> bool {
        matches!(&*self.life.borrow(), Life::Swept(..))
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        self.kill_now();
    }
}

/// What the thread of a process does.
fn keep(
    server: &Server,
    runtime: &Handle,
    draining: watch::Receiver<()>,
    answer: oneshot::Sender<Result<(Child, io::Result<Pipes>), SpawnError>>,
) {
    // The pipes belong to the runtime from the start.
    let context = runtime.enter();
    let (process, pipes) = match platform::start(server) {
        Ok(started) => started,
        Err(error) => {
            let _ = answer.send(Err(error));
            return;
        }
    };
    drop(context);
    let (publish, life) = watch::channel(Life::Running);
    let child = Child {
        process: Arc::clone(&process),
        life,
        draining,
    };
    // If nobody wants it any more, it is dropped, and so killed.
    drop(answer.send(Ok((child, pipes))));
    let status = process.wait_for_exit();
    publish.send_replace(Life::Exited(status));
    let leftovers = process.sweep();
    publish.send_replace(Life::Swept(status, leftovers));
}
