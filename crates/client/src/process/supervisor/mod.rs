//! The supervisor: a small process between us and a server, which outlives us and then ends all that
//! the server started.
//!
//! A program names itself as the supervisor of a server
//! ([`Server::with_supervisor`](crate::server::Server::with_supervisor)) and calls [`supervise`] first thing
//! in `main`. The supervisor is the parent of the server and, on Linux, adopts every orphan among
//! its descendants. So whatever a server starts, however it detaches itself, descends from the
//! supervisor and can be found. It is connected to us by a socket. When the socket closes, whatever
//! ended us, the supervisor kills all its descendants.
//!
//! The streams of the server are handed over through the socket, so nothing is copied. The server
//! asks the kernel to be killed with the supervisor, in case somebody kills that (Linux).

use std::ffi::OsString;
use std::process::ExitCode;

#[cfg(unix)]
mod link;
#[cfg(unix)]
mod message;
#[cfg(unix)]
mod work;

#[cfg(unix)]
pub use link::Link;

/// The name in lists of processes; other than the program's, so that who ends that by its name does
/// not end the supervisor with it. Linux shows 15 characters.
#[cfg(unix)]
const NAME: &str = "mcp-supervisor";
/// The first argument of a supervisor.
#[cfg(unix)]
const SUPERVISE: &str = "__supervise";
/// The first argument of a process that is about to become a server.
#[cfg(unix)]
const LAUNCH: &str = "__launch";

/// Acts as supervisor if `arguments`, all of this program with its name first, ask for it. Then the
/// program must end at once with the returned code. Returns `None` at a usual start, and always on
/// Windows, which needs no supervisor.
///
/// ```no_run
/// use std::process::ExitCode;
///
/// fn main() -> ExitCode {
///     if let Some(code) = mcprove_client::process::supervise(std::env::args_os()) {
///         return code;
///     }
///     // … the work, with `Server::stdio("my_mcp").with_supervisor(std::env::current_exe()?)` …
///     ExitCode::SUCCESS
/// }
/// ```
pub fn supervise(arguments: impl IntoIterator<Item = OsString>) -> Option<ExitCode> {
    #[cfg(unix)]
    {
        let mut arguments = arguments.into_iter().skip(1);
        let role = arguments.next()?;
        if role == SUPERVISE {
            Some(work::run())
        } else if role == LAUNCH {
            Some(work::launch(&mut arguments))
        } else {
            None
        }
    }
    #[cfg(not(unix))]
    {
        drop(arguments);
        None
    }
}
