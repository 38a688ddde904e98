//! A process and all it started, on Unix: a leader of a group of its own, ended by signals to the
//! group and to every descendant.
//!
//! A process that exited stays a zombie until it was swept up after, so that its id, which is
//! also the id of the group, cannot come to mean another process meanwhile.
//!
//! Processes on Unix: started by us, or by a supervisor on our behalf.

use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::process::{self, Child, ChildStderr, ChildStdin, ChildStdout, Command, Stdio};
use std::time::UNIX_EPOCH;

use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};

use super::supervisor::Link;
use super::tree::{Claim, Snapshot};
use super::{Identity, Pipes, Process, Started, program};
use crate::prelude::*;

/// How long descendants may take to follow a process that exited on its own.
const LEFTOVER_GRACE: Duration = Duration::from_millis(500);
/// How often descendants are looked for.
const SWEEP_PAUSE: Duration = Duration::from_millis(10);
/// How often, with that pause, the killed are looked for until they are gone.
const SWEEP_ROUNDS: u32 = 200;
/// How often they are looked for after that, by a supervisor: it has nothing else to do.
const LONG_PAUSE: Duration = Duration::from_secs(1);
/// How often to look for what was started while its parent was being killed.
const KILL_ROUNDS: u32 = 50;
/// What is reported for a process whose status somebody else took: code 255.
const UNKNOWN_STATUS: i32 = 0xff00;

/// A process and all it started.
#[derive(Debug)]
pub struct Family {
    pid: Pid,
    /// Marks the process and its descendants, in their environment.
    token: String,
    /// Whether all that descends from this program belongs to it, and comes back when it loses its
    /// parent: so it is in a supervisor on Linux.
    owns_all: bool,
    killed: AtomicBool,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// The process is gone, or was never our child, and its id may mean another one.
    reaped: bool,
    /// Descendants that were seen, as proof that they are ours after their parents are gone.
    known: HashSet<Identity>,
    /// Those among them that were sent KILL.
    doomed: HashSet<Identity>,
}

/// Our ends of the pipes of a process, as served by the current runtime.
pub fn serve(stdin: ChildStdin, stdout: ChildStdout, stderr: ChildStderr) -> io::Result<Pipes> {
    Ok((
        tokio::process::ChildStdin::from_std(stdin)?,
        tokio::process::ChildStdout::from_std(stdout)?,
        tokio::process::ChildStderr::from_std(stderr)?,
    ))
}

/// The id of a process as the system takes it.
pub fn system_pid(pid: u32) -> Option<Pid> {
    i32::try_from(pid).ok().and_then(Pid::from_raw)
}

/// A text that no other process has in its environment.
pub fn new_token() -> String {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let now = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default()
        .as_nanos();
    // The colon ends it, so that no token begins another.
    format!("{}-{now}-{count}:", process::id())
}

impl Family {
    /// Starts `command`, marked by `token`.
    pub fn start(mut command: Command, token: String) -> io::Result<(Self, Child)> {
        // A server that is itself such a program marks its children for both.
        let outer = std::env::var(MARK_VARIABLE).unwrap_or_default();
        command
            .env(MARK_VARIABLE, format!("{outer}{token}"))
            .process_group(0);
        let mut child = command.spawn()?;
        let Some(family) = Self::with_state(child.id(), token, State::default()) else {
            let _ = child.kill();
            return Err(io::Error::other("the system gave no usable process id"));
        };
        Ok((family, child))
    }

    /// The family of a process that another one started, and marked by `token`.
    pub fn of_another(pid: u32, token: String) -> Option<Self> {
        let state = State {
            reaped: true,
            known: Identity::of(pid).into_iter().collect(),
            doomed: HashSet::new(),
        };
        Self::with_state(pid, token, state)
    }

    fn with_state(pid: u32, token: String, state: State) -> Option<Self> {
        Some(Self {
            pid: system_pid(pid)?,
            token,
            owns_all: false,
            killed: AtomicBool::new(false),
            state: Mutex::new(state),
        })
    }

    /// The same where all orphans among our descendants come back to us.
    pub fn owning_all(self) -> Self {
        Self {
            owns_all: cfg!(target_os = "linux"),
            ..self
        }
    }

    /// Waits until the process or an orphan exited, and reaps orphans.
    fn wait_for_any(&self) {
        let any = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
        if waitid(WaitId::All, any).is_err() {
            return;
        }
        let exited = waitid(WaitId::Pid(self.pid), any | WaitIdOptions::NOHANG);
        if matches!(exited, Ok(None)) && self.look(&self.snapshot()).reaped == 0 {
            // Somebody else reaped it, or the system does not show it.
            thread::sleep(SWEEP_PAUSE);
        }
    }

    fn snapshot(&self) -> Arc<Snapshot> {
        #[cfg(target_os = "linux")]
        if self.owns_all {
            return Arc::new(Snapshot::of_our_descendants());
        }
        Snapshot::shared()
    }

    /// Takes the status of the process, which exited.
    fn reap(&self) {
        let mut state = lock(&self.state);
        if !state.reaped {
            while waitid(WaitId::Pid(self.pid), WaitIdOptions::EXITED).err() == Some(Errno::INTR) {}
            state.reaped = true;
        }
    }

    /// Notes all descendants in `snapshot` and reaps the dead.
    fn look(&self, snapshot: &Snapshot) -> Seen {
        let mut state = lock(&self.state);
        let members: Vec<_> = snapshot
            .family(&self.claim(&state))
            .into_iter()
            .filter(|member| !self.owns_all || member.identity.pid != self.pid())
            .collect();
        state.known = members.iter().map(|member| member.identity).collect();
        let mut seen = Seen::default();
        for member in members {
            if !member.zombie {
                seen.living.push(member.identity);
            } else if member.is_our_child() {
                member.identity.reap();
                seen.reaped += 1;
            }
        }
        seen
    }

    /// Kills the group and the descendants in `snapshot`; returns how many are newly found.
    fn kill_members(&self, snapshot: &Snapshot) -> usize {
        let living = self.look(snapshot).living;
        let mut state = lock(&self.state);
        self.signal_group(&state, Signal::KILL);
        for identity in &living {
            identity.kill();
        }
        let before = std::mem::replace(&mut state.doomed, living.into_iter().collect());
        state.doomed.difference(&before).count()
    }

    /// Sends `signal` to the group, unless its id may mean another one; the state stays locked
    /// meanwhile. Returns whether anybody got it.
    fn signal_group(&self, state: &State, signal: Signal) -> bool {
        !state.reaped && kill_process_group(self.pid, signal).is_ok()
    }

    fn claim<'a>(&'a self, state: &'a State) -> Claim<'a> {
        Claim {
            root: if self.owns_all {
                Some(process::id())
            } else {
                (!state.reaped).then(|| self.pid())
            },
            token: &self.token,
            known: &state.known,
        }
    }
}

impl Process for Family {
    fn pid(&self) -> u32 {
        self.pid.as_raw_nonzero().get().unsigned_abs()
    }

    fn wait_for_exit(&self) -> ExitStatus {
        let mut options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
        if self.owns_all {
            options |= WaitIdOptions::NOHANG;
        }
        loop {
            if self.owns_all {
                self.wait_for_any();
            }
            match waitid(WaitId::Pid(self.pid), options) {
                Ok(Some(status)) => {
                    let core_dumped = if status.dumped() { 0x80 } else { 0 };
                    let raw = match (status.exit_status(), status.terminating_signal()) {
                        (Some(code), _) => (code & 0xff) << 8,
                        (None, Some(signal)) => signal | core_dumped,
                        (None, None) => UNKNOWN_STATUS,
                    };
                    return ExitStatus::from_raw(raw);
                }
                Ok(None) | Err(Errno::INTR) => {}
                Err(_) => {
                    // Somebody waits for all children of this program, so the id is free already.
                    lock(&self.state).reaped = true;
                    return ExitStatus::from_raw(UNKNOWN_STATUS);
                }
            }
        }
    }

    fn observe(&self) {
        self.look(&self.snapshot());
    }

    fn terminate(&self) -> bool {
        self.observe();
        self.signal_group(&lock(&self.state), Signal::TERM)
    }

    fn kill(&self) {
        self.killed.store(true, Ordering::Relaxed);
        for _ in 0..KILL_ROUNDS {
            // Before the first signal: the death of a parent hides whose its children are.
            if self.kill_members(&self.snapshot()) == 0 {
                break;
            }
        }
    }

    fn sweep(&self) -> Vec<u32> {
        let start = Instant::now();
        let leftovers = loop {
            let alive = self.look(&self.snapshot()).living;
            if self.killed.load(Ordering::Relaxed) {
                break Vec::new();
            }
            if alive.is_empty() || start.elapsed() >= LEFTOVER_GRACE {
                break alive.iter().map(|identity| identity.pid).collect();
            }
            thread::sleep(SWEEP_PAUSE);
        };
        let mut rounds = 0..SWEEP_ROUNDS;
        loop {
            let snapshot = self.snapshot();
            // Most servers start nothing; they should not cost another look.
            if self.look(&snapshot).living.is_empty() {
                self.reap();
                if !self.owns_all || !has_children() {
                    break;
                }
            }
            self.kill_members(&snapshot);
            match rounds.next() {
                Some(_) => thread::sleep(SWEEP_PAUSE),
                None if self.owns_all => thread::sleep(LONG_PAUSE),
                None => break,
            }
        }
        self.reap();
        leftovers
    }
}

/// Descendants at one look.
#[derive(Default)]
struct Seen {
    living: Vec<Identity>,
    /// How many were dead children of ours.
    reaped: usize,
}

/// Whether this program has any child, dead or alive.
fn has_children() -> bool {
    let any = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT | WaitIdOptions::NOHANG;
    waitid(WaitId::All, any).is_ok()
}

/// Starts the command of `server`, and waits until it runs.
pub fn start(server: &Server) -> Result<Started, SpawnError> {
    program::check_program(server)?;
    let token = new_token();
    if let Some(supervisor) = &server.supervisor {
        return Link::start(server, supervisor, token);
    }
    let mut command = Command::new(&server.command);
    command
        .args(&server.args)
        .envs(&server.env)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    if let Some(directory) = &server.working_dir {
        command.current_dir(directory);
    }
    let (family, child) =
        Family::start(command, token).map_err(|error| SpawnError::from_io(server, &error))?;
    let pipes = match (child.stdin, child.stdout, child.stderr) {
        (Some(stdin), Some(stdout), Some(stderr)) => serve(stdin, stdout, stderr),
        _ => Err(io::Error::other("a standard stream is not piped")),
    };
    Ok((Arc::new(family), pipes))
}
