//! Orphans on Linux: what servers leave behind comes back to us, and is reaped when it dies.
//!
//! Without this an orphan goes to the system's first process, and is found only by its mark.

use std::io;

/// Makes this program the parent of all orphans among its descendants (Linux; elsewhere nothing
/// happens), and keeps reaping those that come from servers. Calling it again changes nothing.
///
/// Meant for a program whose only children are servers: [`shut_down`](super::shut_down) then ends
/// whatever descends from it, for an orphan that cleared its environment cannot be told from
/// other children. Until then those are left alone.
pub fn become_reaper() -> io::Result<()> {
    #[cfg(target_os = "linux")]
    linux::become_reaper()?;
    Ok(())
}

/// Kills all our descendants, if orphans come back to us, and waits until they are gone.
pub(super) fn kill_descendants() {
    #[cfg(target_os = "linux")]
    linux::kill_descendants();
}

#[cfg(target_os = "linux")]
mod linux {
    use std::sync::Mutex;
    use std::time::Duration;
    use std::{io, thread};

    use rustix::process::{getpid, set_child_subreaper};

    use crate::process::tree::Snapshot;
    use crate::process::{lock, registry};

    /// How often orphans are looked for. Until then they are harmless, if dead.
    const LOOK_EVERY: Duration = Duration::from_secs(1);

    /// How often, with this pause, descendants are killed until there are none.
    const KILL_ROUNDS: u32 = 100;
    const KILL_PAUSE: Duration = Duration::from_millis(10);

    static STARTED: Mutex<bool> = Mutex::new(false);

    pub(super) fn kill_descendants() {
        if !*lock(&STARTED) {
            return;
        }
        for _ in 0..KILL_ROUNDS {
            let living = Snapshot::shared().our_descendants();
            if living.is_empty() {
                return;
            }
            for process in living {
                process.kill();
            }
            thread::sleep(KILL_PAUSE);
        }
    }

    pub(super) fn become_reaper() -> io::Result<()> {
        let mut started = lock(&STARTED);
        if !*started {
            set_child_subreaper(Some(getpid()))?;
            let name = "mcprove-reaper".to_owned();
            thread::Builder::new().name(name).spawn(tend)?;
            *started = true;
        }
        Ok(())
    }

    /// Looks at our children only, which is cheap enough to do while load is being measured.
    fn tend() {
        loop {
            thread::sleep(LOOK_EVERY);
            let living = registry::living();
            if living.is_empty() {
                continue;
            }
            let servers = living.iter().map(|process| process.pid()).collect();
            let orphans = Snapshot::of_our_children_except(&servers);
            if orphans.is_empty() {
                continue;
            }
            for process in living {
                process.look_at_orphans(&orphans);
            }
        }
    }
}
