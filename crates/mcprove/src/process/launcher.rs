//! The launcher: a program that asks the kernel to be killed with its parent, and then becomes
//! the server.
//!
//! That wish (`PR_SET_PDEATHSIG`) can only be made by the process that is to be killed, between
//! its birth and the start of the server. Running code there without a launcher needs `unsafe`.
//! So a program that offers itself as launcher is started in place of the server, with the
//! server's command as arguments, and calls [`launch`], which replaces it by the server. The
//! process id stays the same.

use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::sync::{PoisonError, RwLock};

/// The first argument a launcher is called with.
pub const LAUNCH_ARGUMENT: &str = "__launch";
/// The exit code with which a launcher should end when [`launch`] returned.
pub const LAUNCH_FAILED: u8 = 127;

static LAUNCHER: RwLock<Option<PathBuf>> = RwLock::new(None);

/// Starts servers through `program` from now on, usually `std::env::current_exe()`. It must call
/// [`launch`] when its first argument is [`LAUNCH_ARGUMENT`], before it does anything else.
///
/// Without a launcher servers are started directly: when we are killed, they see only the end of
/// their stdin. On Windows a launcher is neither needed nor used.
pub fn set_launcher(program: impl Into<PathBuf>) {
    *LAUNCHER.write().unwrap_or_else(PoisonError::into_inner) = Some(program.into());
}

/// The command that starts `program`, through the launcher if there is one.
#[cfg(unix)]
pub(super) fn command(program: &str) -> std::process::Command {
    use std::process::Command;

    let launcher = LAUNCHER
        .read()
        .unwrap_or_else(PoisonError::into_inner)
        .clone();
    // A launcher may be gone, after an update for instance; better to start without.
    let Some(launcher) = launcher.filter(|path| path.is_file()) else {
        return Command::new(program);
    };
    let limit = super::limits::original_descriptor_limit();
    let mut command = Command::new(launcher);
    command
        .arg(LAUNCH_ARGUMENT)
        .arg(std::process::id().to_string())
        .arg(limit.map_or_else(|| "-".to_owned(), |limit| limit.to_string()))
        .arg(program);
    command
}

/// Turns this process into the server that `arguments`, all after [`LAUNCH_ARGUMENT`], describe.
/// Returns only if that fails: the caller should print the error to stderr and exit with
/// [`LAUNCH_FAILED`].
pub fn launch(arguments: impl IntoIterator<Item = OsString>) -> io::Error {
    #[cfg(unix)]
    {
        become_server(&mut arguments.into_iter())
    }
    #[cfg(not(unix))]
    {
        drop(arguments);
        io::Error::from(io::ErrorKind::Unsupported)
    }
}

#[cfg(unix)]
fn become_server(arguments: &mut dyn Iterator<Item = OsString>) -> io::Error {
    use std::os::unix::process::CommandExt as _;

    let mut number = || {
        arguments
            .next()?
            .to_str()
            .map(|text| text.parse::<u64>().ok())
    };
    let (Some(parent), Some(limit)) = (number(), number()) else {
        return misuse();
    };
    let Some(program) = arguments.next() else {
        return misuse();
    };

    #[cfg(target_os = "linux")]
    {
        use rustix::process::{Signal, getppid, set_parent_process_death_signal};

        if let Err(error) = set_parent_process_death_signal(Some(Signal::KILL)) {
            return error.into();
        }
        // A parent that died before this could not be noticed by the kernel.
        let now = getppid().and_then(|pid| u64::try_from(pid.as_raw_nonzero().get()).ok());
        if now != parent {
            return io::Error::other("the program that started this one is gone");
        }
    }
    #[cfg(not(target_os = "linux"))]
    let _ = parent;

    if let Some(limit) = limit {
        super::limits::restore_descriptor_limit(limit);
    }
    let error = std::process::Command::new(&program).args(arguments).exec();
    io::Error::new(
        error.kind(),
        format!("cannot start `{}`: {error}", program.display()),
    )
}

#[cfg(unix)]
fn misuse() -> io::Error {
    io::Error::new(
        io::ErrorKind::InvalidInput,
        format!("usage: {LAUNCH_ARGUMENT} PARENT DESCRIPTORS PROGRAM [ARGUMENT…]"),
    )
}
