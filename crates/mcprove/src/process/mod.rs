//! The life of a server's process: starting it, draining its stderr, ending it and all it started.
//!
//! The stdio transport starts a [`Child`] and speaks on the pipes it gets; everything about the
//! process itself is decided here. The aim is that no process outlives the program that started
//! it, whatever ends that program:
//!
//! - A child has its own process group (on Windows: a job object), so that signals reach what it
//!   started in turn.
//! - What left the group (`setsid`) is found by descent, and by a mark in its environment
//!   ([`MARK_VARIABLE`]) where descent was lost. Nothing else is ever touched, so the library can
//!   live in a program that has children of its own.
//! - [`become_reaper`] (Linux) makes orphans come back to us, where they are found and reaped; at
//!   the end of the program [`shut_down`] then kills whatever is left of its descendants.
//! - [`shut_down`] and [`kill_all`] are synchronous, for signal handlers and panic hooks.
//! - If this program is killed outright, a child sees the end of its stdin. On Linux it is also
//!   killed by the kernel, provided that it was started through a launcher ([`set_launcher`]);
//!   what the child started itself gets only the end of file.
//!
//! What a server uses meanwhile, a [`UsageMeter`] tells.
//!
//! A command line program sets this up first thing in `main`:
//!
//! ```no_run
//! use mcprove::process;
//!
//! fn main() -> std::process::ExitCode {
//!     let mut arguments = std::env::args_os().skip(1);
//!     if arguments.next().is_some_and(|first| first == process::LAUNCH_ARGUMENT) {
//!         eprintln!("{}", process::launch(arguments));
//!         return process::LAUNCH_FAILED.into();
//!     }
//!     if let Ok(program) = std::env::current_exe() {
//!         process::set_launcher(program);
//!     }
//!     let _ = process::become_reaper();
//!     process::raise_descriptor_limit();
//!     // … the work …
//!     process::shut_down();
//!     std::process::ExitCode::SUCCESS
//! }
//! ```

mod adoption;
mod child;
mod cpu;
mod error;
mod launcher;
mod limits;
#[cfg(unix)]
mod program;
mod registry;
#[cfg(unix)]
mod spawner;
mod stderr;
#[cfg(unix)]
mod tree;
#[cfg(unix)]
mod unix;
mod usage;
#[cfg(windows)]
mod windows;

#[cfg(unix)]
use unix as platform;
#[cfg(windows)]
use windows as platform;

pub use adoption::become_reaper;
pub use child::{Child, Closing, KILL_WAIT, STDERR_WAIT, TERMINATE_WAIT};
pub use cpu::{process_cpu_time, thread_cpu_time};
pub use error::SpawnError;
pub use launcher::{LAUNCH_ARGUMENT, LAUNCH_FAILED, launch, set_launcher};
pub use limits::{LimitWatch, LimitedResource, OwnLimit, raise_descriptor_limit};
pub use registry::{kill_all, shut_down};
pub use stderr::{FILE_BYTES_MAX, StderrLog, TAIL_BYTES, Tee};
pub use usage::{Usage, UsageMeter, UsageSample, process_listening_on};

/// The environment variable that marks a child, and with it all that it starts.
pub const MARK_VARIABLE: &str = "MCPROVE_CHILD";

/// The descendants of `process` that ended, and that their parent takes no notice of; none where
/// the system has no such thing.
pub(crate) fn zombies_under(process: u32) -> Vec<u32> {
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

/// A value locked whatever happened to the thread that held it: all states here stay valid.
fn lock<T>(mutex: &std::sync::Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner)
}
