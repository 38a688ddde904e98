//! What a supervisor does. It has two threads: one waits for the server and its descendants, the
//! other for orders and for the end of the program that gave them.
//!
//! The last step before a server runs: asks the kernel to be killed with the supervisor, puts back
//! the limit on open files, and becomes the server.
//!
//! Only the process itself can ask, between its birth and the start of the server. Running code
//! there without another start of the program needs `unsafe`.

use std::ffi::OsString;
use std::os::unix::net::UnixStream;
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::process::{Command, ExitCode};

use mcprove_settings::own_limits as limits;
use rustix::io::fcntl_dupfd_cloexec;
use rustix::stdio::{dup2_stdin, stdin};

use super::LAUNCH;
use super::message::{KILL, Order, Report, TERMINATE};
use crate::prelude::*;
use crate::process::Process as _;
use crate::process::family::Family;

/// The lowest descriptor that is no standard stream.
const FIRST_FREE: i32 = 3;

/// Supervises the server that the program at the other end of stdin orders.
pub fn run() -> ExitCode {
    match connect().and_then(|socket| supervise(&socket)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

fn connect() -> io::Result<UnixStream> {
    ignore_signals()?;
    #[cfg(target_os = "linux")]
    {
        // Only for those who look at lists.
        let _ = rustix::thread::set_name(&std::ffi::CString::new(super::NAME)?);
        rustix::process::set_child_subreaper(Some(rustix::process::getpid()))?;
    }
    let socket = UnixStream::from(fcntl_dupfd_cloexec(stdin(), FIRST_FREE)?);
    dup2_stdin(std::fs::File::open("/dev/null")?)?;
    Ok(socket)
}

/// Whoever ends the program politely, and all it started with it, leaves the rest to the program.
fn ignore_signals() -> io::Result<()> {
    use tokio::signal::unix::{SignalKind, signal};

    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_io()
        .build()?;
    let _context = runtime.enter();
    for kind in [
        SignalKind::terminate(),
        SignalKind::interrupt(),
        SignalKind::hangup(),
        SignalKind::quit(),
    ] {
        // What is caught once stays caught, and nobody looks.
        drop(signal(kind)?);
    }
    Ok(())
}

fn supervise(socket: &UnixStream) -> io::Result<()> {
    let family = match start(socket) {
        Ok(family) => Arc::new(family),
        Err(error) => {
            return Report::NotStarted {
                code: error.raw_os_error(),
                message: error.to_string(),
            }
            .send(socket);
        }
    };
    let pid = family.pid();
    // From here on only the end of the server and of all it started ends us; nobody need listen.
    let _ = Report::Started { pid }.send(socket);
    {
        let (family, orders) = (Arc::clone(&family), socket.try_clone()?);
        thread::Builder::new().spawn(move || obey(&orders, &family))?;
    }
    let status = family.wait_for_exit().into_raw();
    let _ = Report::Exited { status }.send(socket);
    let leftovers = family.sweep();
    let _ = Report::Swept { leftovers }.send(socket);
    Ok(())
}

fn start(socket: &UnixStream) -> io::Result<Family> {
    let (order, [input, output, error]) = Order::receive(socket)?;
    let mut command = launch_command(order.descriptors, &order.program)?;
    command
        .args(&order.args)
        .envs(&order.env)
        .stdin(input)
        .stdout(output)
        .stderr(error);
    let (family, _) = Family::start(command, order.token)?;
    Ok(family.owning_all())
}

/// Does what is asked until nobody is left to ask; then the server is nobody's.
fn obey(mut orders: &UnixStream, family: &Family) {
    let mut order = [0];
    loop {
        match orders.read(&mut order) {
            Ok(1) if order == [TERMINATE] => {
                family.terminate();
            }
            Ok(1) if order == [KILL] => family.kill(),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            _ => break,
        }
    }
    family.kill();
}

/// The exit code when the server cannot be started, as of a shell.
const NOT_STARTED: u8 = 127;

/// The command that starts a server through this program.
fn launch_command(descriptors: Option<u64>, program: &str) -> io::Result<Command> {
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
pub fn launch(arguments: &mut dyn Iterator<Item = OsString>) -> ExitCode {
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
