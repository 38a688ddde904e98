//! The last step before a server runs: asks the kernel to be killed with the supervisor, puts back
//! the limit on open files, and becomes the server.
//!
//! Only the process itself can ask, between its birth and the start of the server. Running code
//! there without another start of the program needs `unsafe`.

use std::ffi::OsString;
use std::io::{self, Write as _};
use std::os::unix::process::CommandExt as _;
use std::process::{Command, ExitCode};

use mcprove_settings::own_limits as limits;

use super::LAUNCH;

/// The exit code when the server cannot be started, as of a shell.
const NOT_STARTED: u8 = 127;

/// The command that starts a server through this program.
pub fn command(descriptors: Option<u64>, program: &str) -> io::Result<Command> {
    // The file itself, even if another one took its place meanwhile.
    let ourselves = if cfg!(target_os = "linux") {
        "/proc/self/exe".into()
    } else {
        std::env::current_exe()?
    };
    let mut command = Command::new(ourselves);
    command
        .arg(LAUNCH)
        .arg(std::process::id().to_string())
        .arg(descriptors.map_or_else(|| "-".to_owned(), |limit| limit.to_string()))
        .arg(program);
    Ok(command)
}

/// Becomes the server, as `arguments` say it; returns if that fails.
pub fn run(arguments: &mut dyn Iterator<Item = OsString>) -> ExitCode {
    let error = become_server(arguments);
    let _ = writeln!(io::stderr(), "mcprove: {error}");
    NOT_STARTED.into()
}

fn become_server(arguments: &mut dyn Iterator<Item = OsString>) -> io::Error {
    let mut number = || {
        let text = arguments.next()?;
        text.to_str().map(|text| text.parse::<u64>().ok())
    };
    let (Some(parent), Some(limit), Some(program)) = (number(), number(), arguments.next()) else {
        return io::Error::new(
            io::ErrorKind::InvalidInput,
            format!("usage: {LAUNCH} PARENT DESCRIPTORS PROGRAM [ARGUMENT…]"),
        );
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
            return io::Error::other("the supervisor of this server is gone");
        }
    }
    #[cfg(not(target_os = "linux"))]
    let _ = parent;

    if let Some(limit) = limit {
        limits::restore_descriptor_limit(limit);
    }
    let error = Command::new(&program).args(arguments).exec();
    io::Error::new(
        error.kind(),
        format!("cannot start `{}`: {error}", program.display()),
    )
}
