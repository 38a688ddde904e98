//! Processes on Unix: started as leader of a group of their own, and ended by signals to the group
//! and to every descendant.
//!
//! A process that exited stays a zombie until it was swept up after, so that its id, which is
//! also the id of the group, cannot come to mean another process meanwhile.

use std::collections::HashSet;
use std::io;
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::process::{ExitStatus, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use std::{process, thread};

use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};
use tokio::process::{ChildStderr, ChildStdin, ChildStdout};

use super::tree::{Claim, Identity, Snapshot};
use super::{MARK_VARIABLE, SpawnError, launcher, lock, program, spawner};
use crate::server::Server;

/// How long descendants may take to follow a process that exited on its own.
const LEFTOVER_GRACE: Duration = Duration::from_millis(500);
/// How often descendants are looked for.
const SWEEP_PAUSE: Duration = Duration::from_millis(10);
/// How often, with that pause, the killed are looked for until they are gone.
const SWEEP_ROUNDS: u32 = 200;
/// How often to look for what was started while its parent was being killed.
const KILL_ROUNDS: u32 = 50;
/// What is reported for a process whose status somebody else took: code 255.
const UNKNOWN_STATUS: i32 = 0xff00;

/// A process that we started.
#[derive(Debug)]
pub(super) struct Process {
    pid: Pid,
    /// Marks the process and its descendants, in their environment.
    token: String,
    killed: AtomicBool,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// The process is gone, and its id may mean another one.
    reaped: bool,
    /// Descendants that were seen, as proof that they are ours after their parents are gone.
    known: HashSet<Identity>,
    /// Those among them that were sent KILL.
    doomed: HashSet<Identity>,
}

/// The pipes of a process that was just started.
pub(super) struct Pipes(process::Child);

impl Pipes {
    /// The pipes as served by the current runtime.
    pub(super) fn into_tokio(self) -> io::Result<(ChildStdin, ChildStdout, ChildStderr)> {
        let missing = || io::Error::other("a standard stream is not piped");
        Ok((
            ChildStdin::from_std(self.0.stdin.ok_or_else(missing)?)?,
            ChildStdout::from_std(self.0.stdout.ok_or_else(missing)?)?,
            ChildStderr::from_std(self.0.stderr.ok_or_else(missing)?)?,
        ))
    }
}

/// Starts the command of `server`.
pub(super) fn start(server: &Server) -> Result<(Process, Pipes), SpawnError> {
    program::check_program(server)?;
    let token = new_token();
    // A server that is itself such a program marks its children for both.
    let outer = std::env::var(MARK_VARIABLE).unwrap_or_default();
    let mut command = launcher::command(&server.command);
    command
        .args(&server.args)
        .envs(&server.env)
        .env(MARK_VARIABLE, format!("{outer}{token}"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0);
    if let Some(directory) = &server.working_dir {
        command.current_dir(directory);
    }
    let mut child = spawner::spawn(command).map_err(|error| SpawnError::from_io(server, error))?;
    let Some(pid) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) else {
        let _ = child.kill();
        let source = io::Error::other("the system gave no usable process id");
        return Err(SpawnError::from_io(server, source));
    };
    let process = Process {
        pid,
        token,
        killed: AtomicBool::new(false),
        state: Mutex::default(),
    };
    Ok((process, Pipes(child)))
}

/// A text that no other process has in its environment.
fn new_token() -> String {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let now = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default()
        .as_nanos();
    // The colon ends it, so that no token begins another.
    format!("{}-{now}-{count}:", process::id())
}

/// Kills `processes` and all they started.
pub(super) fn kill(processes: &[&Process]) {
    for process in processes {
        process.killed.store(true, Ordering::Relaxed);
    }
    for _ in 0..KILL_ROUNDS {
        // Before the first signal: the death of a parent hides whose its children are.
        let snapshot = Snapshot::shared();
        let found = processes
            .iter()
            .map(|process| process.kill_family(&snapshot));
        if found.sum::<usize>() == 0 {
            break;
        }
    }
}

impl Process {
    pub(super) fn pid(&self) -> u32 {
        self.pid.as_raw_nonzero().get().unsigned_abs()
    }

    /// Waits, as long as it takes, until the process exited, and leaves it a zombie.
    pub(super) fn wait_for_exit(&self) -> ExitStatus {
        loop {
            match waitid(
                WaitId::Pid(self.pid),
                WaitIdOptions::EXITED | WaitIdOptions::NOWAIT,
            ) {
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

    /// Notes the descendants, before their parents end and hide whose they are.
    pub(super) fn observe(&self) {
        self.look(&Snapshot::shared());
    }

    /// Tells the group to terminate. Returns whether waiting for that makes sense.
    pub(super) fn terminate(&self) -> bool {
        self.observe();
        self.signal_group(&lock(&self.state), Signal::TERM)
    }

    /// After the exit: lets descendants finish, kills those that do not, and reaps all. Returns
    /// those that had to be killed only because the process had left them behind.
    pub(super) fn sweep(&self) -> Vec<u32> {
        let start = Instant::now();
        let leftovers = loop {
            let alive = self.look(&Snapshot::shared());
            if self.killed.load(Ordering::Relaxed) {
                break Vec::new();
            }
            if alive.is_empty() || start.elapsed() >= LEFTOVER_GRACE {
                break alive
                    .iter()
                    .map(|identity| identity.pid.unsigned_abs())
                    .collect();
            }
            thread::sleep(SWEEP_PAUSE);
        };
        for _ in 0..SWEEP_ROUNDS {
            let snapshot = Snapshot::shared();
            // Most servers start nothing; they should not cost another look.
            if self.look(&snapshot).is_empty() {
                break;
            }
            self.kill_family(&snapshot);
            thread::sleep(SWEEP_PAUSE);
        }
        let mut state = lock(&self.state);
        if !state.reaped {
            while waitid(WaitId::Pid(self.pid), WaitIdOptions::EXITED).err() == Some(Errno::INTR) {}
            state.reaped = true;
        }
        leftovers
    }

    /// Notes all descendants in `snapshot` and reaps the dead; returns the living.
    fn look(&self, snapshot: &Snapshot) -> Vec<Identity> {
        let mut state = lock(&self.state);
        let family = snapshot.family(&self.claim(&state));
        state.known = family.iter().map(|member| member.identity).collect();
        for orphan in family
            .iter()
            .filter(|member| member.zombie && member.is_our_child())
        {
            orphan.identity.reap();
        }
        family
            .iter()
            .filter(|member| !member.zombie)
            .map(|member| member.identity)
            .collect()
    }

    /// Like [`look`](Self::look), for a `snapshot` of nothing but our own children.
    #[cfg(target_os = "linux")]
    pub(super) fn look_at_orphans(&self, snapshot: &Snapshot) {
        let mut state = lock(&self.state);
        for member in snapshot.family(&self.claim(&state)) {
            if member.zombie {
                member.identity.reap();
                state.known.remove(&member.identity);
            } else {
                state.known.insert(member.identity);
            }
        }
    }

    /// Kills the group and the descendants in `snapshot`; returns how many are newly found.
    fn kill_family(&self, snapshot: &Snapshot) -> usize {
        let living = self.look(snapshot);
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
        let root = (!state.reaped).then(|| self.pid.as_raw_nonzero().get());
        Claim {
            root,
            token: &self.token,
            known: &state.known,
        }
    }
}
