//! The life of a server's process: starting it, draining its stderr, ending it and all it started.
//!
//! The stdio transport starts a [`Child`] and speaks on the pipes it gets; everything about the
//! process itself is decided here. The aim is that no process outlives the program that started
//! it, whatever ends that program.
//!
//! A child has its own process group (on Windows: a job object), so that signals reach what it
//! started in turn. Dropping a [`Child`] kills it and all it started. What holds beyond that depends
//! on whether the server has a supervisor:
//!
//! | | with a supervisor | without |
//! |---|---|---|
//! | a [`Child`] ends, or is dropped | Linux: all that the server started ends, daemons without an environment too. macOS: its process group, its descendants, and what has its mark | as on macOS |
//! | this program ends, is killed, or aborts | the same | the server sees the end of its stdin |
//! | the supervisor is killed as well | Linux: the server is killed by the kernel; what it started sees the end of the streams | |
//!
//! On Windows a job object does all of that, and a supervisor is not used. The mark is the variable
//! [`MARK_VARIABLE`] in the environment. Nothing else is ever touched, so the library can live in a
//! program that has children of its own. Containers, and processes of another user (`sudo`), are
//! beyond reach.
//!
//! A program that is its own supervisor says so first thing in `main` ([`supervise`]), and names
//! itself for each server:
//!
//! ```no_run
//! use std::process::ExitCode;
//!
//! use mcprove_client::process;
//! use mcprove_client::server::Server;
//!
//! fn main() -> ExitCode {
//!     if let Some(code) = process::supervise(std::env::args_os()) {
//!         return code;
//!     }
//!     let mut server = Server::stdio("my_mcp");
//!     if let Ok(program) = std::env::current_exe() {
//!         server = server.with_supervisor(program);
//!     }
//!     // … the work …
//!     ExitCode::SUCCESS
//! }
//! ```
//!
//! What a server uses meanwhile, a [`UsageMeter`] tells.

mod child;
mod error;
#[cfg(unix)]
mod family;
mod machine;
#[cfg(unix)]
mod program;
#[cfg(target_os = "linux")]
mod stat;
mod stderr;
mod supervisor;
#[cfg(unix)]
mod tree;
mod usage;
#[cfg(windows)]
mod windows;

use tokio::process::{ChildStderr, ChildStdin, ChildStdout};

use crate::prelude::*;

#[cfg(unix)]
use family as platform;
#[cfg(windows)]
use windows as platform;

pub use child::{Child, Closing, KILL_WAIT, STDERR_WAIT, TERMINATE_WAIT};
pub use error::SpawnError;
pub use machine::MachineTimes;
pub use stderr::{FILE_BYTES_MAX, StderrLog, TAIL_BYTES, Tee};
pub use supervisor::supervise;
pub use usage::{UsageMeter, UsageSample, process_cpu_time, process_listening_on, thread_cpu_time};

/// The environment variable that marks a child, and with it all that it starts.
pub const MARK_VARIABLE: &str = "MCPROVE_CHILD";

/// A process, told apart from a later one with the same id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Identity {
    pid: u32,
    /// When it started, in a unit of the system's; 0 where that is not known.
    start: u64,
}

/// A process that was started, and its standard streams, served by the current runtime.
type Started = (Arc<dyn Process>, io::Result<Pipes>);
type Pipes = (ChildStdin, ChildStdout, ChildStderr);

/// A process that was started for a server, and all it started.
trait Process: std::fmt::Debug + Send + Sync {
    fn pid(&self) -> u32;

    /// Waits, as long as it takes, until the process exited.
    fn wait_for_exit(&self) -> ExitStatus;

    /// Whether it ended because its supervisor was killed.
    fn is_lost(&self) -> bool {
        false
    }

    /// Notes the descendants, before their parents end and hide whose they are.
    fn observe(&self) {}

    /// Tells the group to terminate. Returns whether waiting for that makes sense.
    fn terminate(&self) -> bool {
        false
    }

    /// Kills the process and all it started.
    fn kill(&self);

    /// After the exit: lets descendants finish, and ends what is left. Returns what had to be killed
    /// only because the process had left it behind.
    fn sweep(&self) -> Vec<u32>;
}

/// The descendants of `process` that ended, and that their parent takes no notice of; none where
/// the system has no such thing.
pub fn zombies_under(process: u32) -> Vec<u32> {
    #[cfg(unix)]
    {
        tree::Snapshot::shared().zombies_under(process)
    }
    #[cfg(not(unix))]
    {
        let _ = process;
        Vec::new()
    }
}
