//! A server in a process of its own: started, waited for, killed on drop.

use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Read};
use std::net::TcpStream;
use std::process::{Child, ChildStderr, Command, Stdio};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::{ServerCommand, ServerKind, StartError};

/// How long a server may take to listen. Loaded machines are slow.
const START_SECONDS_MAX: u64 = 60;
/// How much of stderr is kept for error messages.
const STDERR_BYTES_MAX: usize = 16 * 1024;
/// The longest line of stderr that is read as one.
const LINE_BYTES_MAX: u64 = 4 * 1024;
/// The pause between two looks at a server that does not accept connections yet.
const POLL_INTERVAL: Duration = Duration::from_millis(20);
/// What a server may see of our environment. One of them has a tool that returns all of it.
const ENVIRONMENT: [&str; 4] = ["PATH", "SystemRoot", "TEMP", "TMPDIR"];

/// How a server tells that it listens.
pub(crate) enum Announcement {
    /// The line `listening on URL`.
    Url,
    /// A line that ends in `on port N`, of the port which it was told in `PORT`.
    Port { port: u16, path: &'static str },
}

impl Announcement {
    /// The URL that `line` announces.
    fn url(&self, line: &str) -> Option<String> {
        match self {
            Self::Url => line.strip_prefix("listening on ").map(str::to_owned),
            Self::Port { port, path } => line
                .ends_with(&format!(" on port {port}"))
                .then(|| format!("http://127.0.0.1:{port}{path}")),
        }
    }
}

/// A server that accepts connections. Dropping it kills its process group.
#[derive(Debug)]
pub struct RunningServer {
    url: String,
    child: Child,
    stderr: Arc<Mutex<VecDeque<u8>>>,
}

impl RunningServer {
    /// Where it listens, with the path.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// The process id, which is also the id of its process group.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// The end of what it wrote to stderr so far.
    pub fn stderr(&self) -> String {
        let kept = self.stderr.lock().unwrap_or_else(PoisonError::into_inner);
        let bytes: Vec<u8> = kept.iter().copied().collect();
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// Kills the server now, as dropping it does.
    pub fn kill(&mut self) {
        kill_tree(&mut self.child);
        // Reaping is all that is left; a second call finds nothing to do.
        let _ = self.child.wait();
    }

    fn has_ended(&mut self) -> bool {
        !matches!(self.child.try_wait(), Ok(None))
    }

    fn accepts(&self) -> bool {
        let address = self.url.trim_start_matches("http://");
        let authority = address.split('/').next().unwrap_or(address);
        TcpStream::connect(authority).is_ok()
    }
}

impl Drop for RunningServer {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Starts `command` and waits until it accepts connections.
pub(crate) fn start(
    kind: ServerKind,
    command: &ServerCommand,
    announcement: &Announcement,
) -> Result<RunningServer, StartError> {
    let deadline = Instant::now() + Duration::from_secs(START_SECONDS_MAX);
    let mut child = prepare(command, announcement)
        .spawn()
        .map_err(|source| StartError::Spawn {
            program: command.program.clone(),
            source,
        })?;
    let pipe = child.stderr.take();
    let mut server = RunningServer {
        url: String::new(),
        child,
        stderr: Arc::default(),
    };
    let (sender, lines) = channel();
    if let Some(pipe) = pipe {
        let kept = Arc::clone(&server.stderr);
        std::thread::spawn(move || drain(pipe, &kept, &sender));
    }
    while server.url.is_empty() {
        match lines.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
            Ok(line) => server.url = announcement.url(line.trim_end()).unwrap_or_default(),
            Err(RecvTimeoutError::Timeout) => return Err(late(kind, &server)),
            Err(RecvTimeoutError::Disconnected) => return Err(ended(kind, &server)),
        }
    }
    // The thread goes on draining; nobody needs the lines any more.
    drop(lines);
    loop {
        let accepts = server.accepts();
        if server.has_ended() {
            return Err(ended(kind, &server));
        }
        if accepts {
            return Ok(server);
        }
        if Instant::now() >= deadline {
            return Err(late(kind, &server));
        }
        std::thread::sleep(POLL_INTERVAL);
    }
}

fn prepare(command: &ServerCommand, announcement: &Announcement) -> Command {
    let mut prepared = Command::new(&command.program);
    prepared
        .args(&command.args)
        .env_clear()
        .envs(ENVIRONMENT.iter().filter_map(|name| {
            let value = std::env::var_os(name)?;
            Some((*name, value))
        }))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped());
    if let Announcement::Port { port, .. } = announcement {
        prepared.env("PORT", port.to_string());
    }
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(&mut prepared, 0);
    prepared
}

/// Reads stderr to its end, so that the server never blocks on a full pipe.
fn drain(pipe: ChildStderr, kept: &Mutex<VecDeque<u8>>, lines: &Sender<String>) {
    let mut reader = BufReader::new(pipe);
    let mut line = Vec::new();
    loop {
        line.clear();
        let read = reader
            .by_ref()
            .take(LINE_BYTES_MAX)
            .read_until(b'\n', &mut line);
        if !matches!(read, Ok(length) if length > 0) {
            return;
        }
        let mut tail = kept.lock().unwrap_or_else(PoisonError::into_inner);
        tail.extend(&line);
        let excess = tail.len().saturating_sub(STDERR_BYTES_MAX);
        tail.drain(..excess);
        drop(tail);
        // Fails once the server is up, which is fine.
        let _ = lines.send(String::from_utf8_lossy(&line).into_owned());
    }
}

fn late(kind: ServerKind, server: &RunningServer) -> StartError {
    StartError::Deadline {
        kind,
        seconds: START_SECONDS_MAX,
        stderr: server.stderr(),
    }
}

fn ended(kind: ServerKind, server: &RunningServer) -> StartError {
    StartError::Ended {
        kind,
        stderr: server.stderr(),
    }
}

#[cfg(unix)]
fn kill_tree(child: &mut Child) {
    use rustix::process::{Pid, Signal, kill_process_group};

    // Once the leader is reaped its id may belong to somebody else.
    let running = matches!(child.try_wait(), Ok(None));
    if let (true, Ok(id)) = (running, i32::try_from(child.id()))
        && let Some(group) = Pid::from_raw(id)
    {
        let _ = kill_process_group(group, Signal::KILL);
    }
}

#[cfg(not(unix))]
fn kill_tree(child: &mut Child) {
    // The interpreter of a virtual environment is a launcher with a child of its own.
    let tree = ["/T", "/F", "/PID", &child.id().to_string()];
    let _ = Command::new("taskkill")
        .args(tree)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    let _ = child.kill();
}
