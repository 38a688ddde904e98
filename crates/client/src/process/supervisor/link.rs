//! Our end of the connection to a supervisor.

use std::io::{BufRead as _, BufReader};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::process::{Child, Command, Stdio};

use mcprove_settings::own_limits as limits;

use super::message::{KILL, Order, Report, TERMINATE};
use super::{NAME, SUPERVISE};
use crate::prelude::*;
use crate::process::family::{Family, serve};
use crate::process::{Process, Started};

/// How long a supervisor may take to start a server: much, on a machine that is busy.
const START_TIMEOUT: Duration = Duration::from_mins(1);
/// The status of a server whose supervisor was killed: the kernel killed it too.
const KILLED: i32 = 9;

/// A server that was started through a supervisor.
#[derive(Debug)]
pub struct Link {
    socket: UnixStream,
    reports: Mutex<BufReader<UnixStream>>,
    supervisor: Mutex<Child>,
    /// What can be done without the supervisor.
    family: Family,
    /// The supervisor is gone before its work was done.
    is_lost: AtomicBool,
}

impl Link {
    /// Has `supervisor` start the command of `server`.
    pub fn start(server: &Server, supervisor: &Path, token: String) -> Result<Started, SpawnError> {
        let convert = |error: io::Error| SpawnError::from_io(server, &error);
        let unusable = |source: io::Error| SpawnError::supervisor(supervisor, &source);
        // The paths of others count from where they start.
        let program = std::path::absolute(supervisor).map_err(unusable)?;
        let (socket, theirs) = UnixStream::pair().map_err(convert)?;
        let (input, our_input) = io::pipe().map_err(convert)?;
        let (our_output, output) = io::pipe().map_err(convert)?;
        let (our_error, error) = io::pipe().map_err(convert)?;
        let reports = socket.try_clone().map_err(convert)?;
        let mut command = Command::new(program);
        command
            .arg0(NAME)
            .arg(SUPERVISE)
            .stdin(OwnedFd::from(theirs))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            // Ctrl-C is for us.
            .process_group(0);
        if let Some(directory) = &server.working_dir {
            command.current_dir(directory);
        }
        let child = command.spawn().map_err(|error| match error.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::PermissionDenied => unusable(error),
            _ => convert(error),
        })?;
        // It holds the other end of the socket.
        drop(command);
        let order = Order {
            program: server.command.clone(),
            args: server.args.clone(),
            env: server.env.clone(),
            token: token.clone(),
            descriptors: limits::original_descriptor_limit(),
        };
        let mut starting = Starting(Some(child));
        let mut reports = BufReader::new(reports);
        let streams = [input.into(), output.into(), error.into()];
        let report = order
            .send(&socket, &streams)
            .and_then(|()| first_report(&mut reports));
        drop(streams);
        let pid = match report {
            Ok(Report::Started { pid }) => pid,
            Ok(Report::NotStarted { code, message }) => {
                let error =
                    code.map_or_else(|| io::Error::other(message), io::Error::from_raw_os_error);
                return Err(convert(error));
            }
            Ok(_) => return Err(unusable(io::ErrorKind::InvalidData.into())),
            Err(error) => return Err(unusable(error)),
        };
        let Some((family, child)) = Family::of_another(pid, token).zip(starting.0.take()) else {
            return Err(unusable(io::ErrorKind::InvalidData.into()));
        };
        let link = Self {
            socket,
            reports: Mutex::new(reports),
            supervisor: Mutex::new(child),
            family,
            is_lost: AtomicBool::new(false),
        };
        let pipes = serve(
            OwnedFd::from(our_input).into(),
            OwnedFd::from(our_output).into(),
            OwnedFd::from(our_error).into(),
        );
        Ok((Arc::new(link), pipes))
    }

    fn order(&self, order: u8) -> bool {
        !self.is_lost() && (&self.socket).write_all(&[order]).is_ok()
    }
}

impl Process for Link {
    fn pid(&self) -> u32 {
        self.family.pid()
    }

    fn wait_for_exit(&self) -> ExitStatus {
        if let Ok(Report::Exited { status }) = read(&mut lock(&self.reports)) {
            return ExitStatus::from_raw(status);
        }
        self.is_lost.store(true, Ordering::Relaxed);
        self.family.kill();
        ExitStatus::from_raw(KILLED)
    }

    fn is_lost(&self) -> bool {
        self.is_lost.load(Ordering::Relaxed)
    }

    fn terminate(&self) -> bool {
        self.order(TERMINATE)
    }

    fn kill(&self) {
        if !self.order(KILL) {
            self.family.kill();
        }
    }

    fn sweep(&self) -> Vec<u32> {
        let mut leftovers = None;
        if !self.is_lost()
            && let Ok(Report::Swept { leftovers: found }) = read(&mut lock(&self.reports))
        {
            leftovers = Some(found);
        }
        // Its death leaves what it had not killed yet.
        let leftovers = leftovers.unwrap_or_else(|| self.family.sweep());
        let _ = lock(&self.supervisor).wait();
        leftovers
    }
}

/// A supervisor that did not say yet that the server runs. If it never does, it is ended.
struct Starting(Option<Child>);

impl Drop for Starting {
    fn drop(&mut self) {
        if let Some(mut child) = self.0.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

fn first_report(reports: &mut BufReader<UnixStream>) -> io::Result<Report> {
    reports.get_ref().set_read_timeout(Some(START_TIMEOUT))?;
    let report = read(reports)?;
    reports.get_ref().set_read_timeout(None)?;
    Ok(report)
}

fn read(reports: &mut BufReader<UnixStream>) -> io::Result<Report> {
    let mut line = String::new();
    if reports.read_line(&mut line)? == 0 {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok(serde_json::from_str(&line)?)
}
