//! Processes as `ps` lists them, for Unix systems without Linux's `/proc`.
//!
//! When a process started is not told in a form worth comparing, so it is left out.

use super::Entry;
use crate::prelude::*;
use crate::process::Identity;

/// All processes of the system.
#[cfg(not(target_os = "linux"))]
pub fn all() -> Vec<Entry> {
    let with_environment = if cfg!(target_vendor = "apple") {
        "-axwwE"
    } else {
        "-axwwe"
    };
    let listed = std::process::Command::new("ps")
        .args([with_environment, "-o", "pid=,ppid=,pgid=,stat=,command="])
        .stdin(std::process::Stdio::null())
        .stderr(std::process::Stdio::null())
        .output();
    let listed = listed.map(|output| output.stdout).unwrap_or_default();
    String::from_utf8_lossy(&listed)
        .lines()
        .filter_map(parse)
        .collect()
}

#[cfg(not(target_os = "linux"))]
impl Identity {
    /// The process with this id.
    pub fn of(pid: u32) -> Option<Self> {
        Some(Self { pid, start: 0 })
    }

    /// Kills the process.
    pub fn kill(self) {
        use rustix::process::{Signal, kill_process};

        if let Some(pid) = crate::process::family::system_pid(self.pid) {
            let _ = kill_process(pid, Signal::KILL);
        }
    }

    /// Nothing: orphans are never our children here.
    #[expect(clippy::unused_self, reason = "Linux has to")]
    pub fn reap(self) {}
}

/// Reads `PID PARENT GROUP STATE COMMAND ENVIRONMENT`.
fn parse(line: &str) -> Option<Entry> {
    let mut words = line.split_ascii_whitespace();
    let mut number = || words.next()?.parse::<u32>().ok();
    let (pid, parent, group) = (number()?, number()?, number()?);
    let zombie = words.next()?.starts_with('Z');
    let mark = words.find_map(|word| word.strip_prefix(MARK_VARIABLE)?.strip_prefix('='));
    let identity = Identity { pid, start: 0 };
    let mark = mark.map(str::to_owned);
    Some(Entry {
        identity,
        parent,
        group,
        session: 0,
        zombie,
        mark,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_read() {
        let entry = parse("  42     7    42 Ss+  sh -c x HOME=/ MCPROVE_CHILD=1-2-3: A=b").unwrap();
        assert_eq!((entry.identity.pid, entry.parent, entry.group), (42, 7, 42));
        assert_eq!(entry.mark.as_deref(), Some("1-2-3:"));
        assert!(!entry.zombie);
        assert!(parse("1 0 1 Z (launchd)").unwrap().zombie);
        assert_eq!(parse("PID PPID"), None);
    }
}
