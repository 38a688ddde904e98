//! What a supervisor does. It has two threads: one waits for the server and its descendants, the
//! other for orders and for the end of the program that gave them.

use std::io::{self, Read as _};
use std::os::unix::net::UnixStream;
use std::os::unix::process::ExitStatusExt as _;
use std::process::ExitCode;
use std::sync::Arc;
use std::thread;

use rustix::io::fcntl_dupfd_cloexec;
use rustix::stdio::{dup2_stdin, stdin};

use super::launch;
use super::message::{KILL, Order, Report, TERMINATE};
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
    let mut command = launch::command(order.descriptors, &order.program)?;
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
