//! Processes as Linux shows them, in `/proc`.

use std::fs;

use rustix::process::{
    PidfdFlags, Signal, WaitId, WaitIdOptions, kill_process, pidfd_open, pidfd_send_signal, waitid,
};

use super::Entry;
use crate::prelude::*;
use crate::process::Identity;
use crate::process::family::system_pid;
use crate::process::stat::{Stat, processes};

/// How much of an environment is searched for the mark.
const ENVIRONMENT_BYTES_MAX: u64 = 4 * 1024 * 1024;

/// All processes of the system that we may see.
pub fn all() -> Vec<Entry> {
    let marked = processes()
        .filter_map(|(pid, _)| read(pid))
        .map(|entry| Entry {
            mark: read_mark(entry.identity.pid),
            ..entry
        });
    marked.collect()
}

/// Our descendants, by the lists of children that the kernel has; all processes of the system where
/// it has none. One that just lost its parent may be missing, and is a child of ours soon.
pub fn our_descendants() -> Vec<Entry> {
    let Some(mut queue) = children_of(std::process::id()) else {
        return all();
    };
    let mut found = HashMap::new();
    while let Some(pid) = queue.pop() {
        if let Some(entry) = read(pid)
            && found.insert(pid, entry).is_none()
        {
            queue.extend(children_of(pid).unwrap_or_default());
        }
    }
    found.into_values().collect()
}

/// The children of all threads of a process. `None` if the kernel does not list them.
fn children_of(pid: u32) -> Option<Vec<u32>> {
    let mut children = Vec::new();
    for thread in fs::read_dir(format!("/proc/{pid}/task")).ok()?.flatten() {
        match fs::read_to_string(thread.path().join("children")) {
            Ok(list) => children.extend(
                list.split_whitespace()
                    .filter_map(|pid| pid.parse::<u32>().ok()),
            ),
            // A thread may end meanwhile.
            Err(_) if thread.path().exists() => return None,
            Err(_) => {}
        }
    }
    Some(children)
}

impl Identity {
    /// The process that has this id now.
    pub fn of(pid: u32) -> Option<Self> {
        Some(Stat::read(pid)?.identity)
    }

    /// Kills exactly this process, through a handle that cannot come to mean another one.
    pub fn kill(self) {
        let Some(pid) = system_pid(self.pid) else {
            return;
        };
        let handle = pidfd_open(pid, PidfdFlags::empty());
        if Self::of(self.pid) != Some(self) {
            return;
        }
        // A process that is gone by now is what was wanted.
        let _ = match handle {
            Ok(handle) => pidfd_send_signal(handle, Signal::KILL),
            Err(_) => kill_process(pid, Signal::KILL),
        };
    }

    /// Takes the status of exactly this process, if it is a dead child of ours.
    pub fn reap(self) {
        // Two at once could take the status of a later child with the same id.
        static REAPING: Mutex<()> = Mutex::new(());
        let _reaping = lock(&REAPING);
        let ours = read(self.pid)
            .is_some_and(|entry| entry.identity == self && entry.zombie && entry.is_our_child());
        if let Some(pid) = system_pid(self.pid).filter(|_| ours) {
            let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG;
            let _ = waitid(WaitId::Pid(pid), options);
        }
    }
}

fn read(pid: u32) -> Option<Entry> {
    Entry::new(&Stat::read(pid)?)
}

impl Entry {
    fn new(stat: &Stat) -> Option<Self> {
        Some(Self {
            identity: stat.identity,
            parent: stat.parent,
            group: stat.field(5)?,
            session: stat.field(6)?,
            zombie: stat.zombie,
            mark: None,
        })
    }
}

/// The mark in the environment of a process, if we may read it and there is one.
fn read_mark(pid: u32) -> Option<String> {
    let file = File::open(format!("/proc/{pid}/environ")).ok()?;
    let mut environment = Vec::new();
    file.take(ENVIRONMENT_BYTES_MAX)
        .read_to_end(&mut environment)
        .ok()?;
    environment.split(|byte| *byte == 0).find_map(|variable| {
        let value = variable
            .strip_prefix(MARK_VARIABLE.as_bytes())?
            .strip_prefix(b"=")?;
        Some(String::from_utf8_lossy(value).into_owned())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_may_look_like_fields() {
        let stat = b"7 (a) R 1 (b)) Z 3 4 5 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 12345 9 9\n";
        let parse = |line| Entry::new(&Stat::parse(7, line)?);
        let entry = parse(stat).unwrap();
        assert_eq!((entry.parent, entry.group, entry.session), (3, 4, 5));
        assert_eq!(
            entry.identity,
            Identity {
                pid: 7,
                start: 12345
            }
        );
        assert!(entry.zombie);
        assert_eq!(parse(b"7 (a"), None);
    }

    #[test]
    fn our_own_start_is_read() {
        let own = std::process::id();
        let entry = read(own).unwrap();
        assert!(entry.identity.start > 0 && !entry.zombie);
        assert_eq!(read(own).unwrap().identity, entry.identity);
    }
}
