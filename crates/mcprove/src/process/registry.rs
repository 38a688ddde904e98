//! All processes that were started and are not over yet, so that they can be ended at once by
//! whoever learns that the program ends.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use super::platform::{self, Process};
use super::{adoption, lock};

struct Registry {
    living: BTreeMap<u64, Arc<Process>>,
    next: u64,
    closed: bool,
}

static REGISTRY: Mutex<Registry> = Mutex::new(Registry {
    living: BTreeMap::new(),
    next: 0,
    closed: false,
});

/// Adds a process; `None` if nothing may run any more.
pub(super) fn add(process: &Arc<Process>) -> Option<u64> {
    let mut registry = lock(&REGISTRY);
    if registry.closed {
        return None;
    }
    let key = registry.next;
    registry.next += 1;
    registry.living.insert(key, Arc::clone(process));
    Some(key)
}

/// Forgets a process that is over, with all it started.
pub(super) fn remove(key: u64) {
    lock(&REGISTRY).living.remove(&key);
}

/// All processes that are not over.
pub(super) fn living() -> Vec<Arc<Process>> {
    lock(&REGISTRY).living.values().cloned().collect()
}

/// Kills every process that this library started in this program and that is not over, with all
/// it started. Returns when all were sent the signal.
pub fn kill_all() {
    let living = living();
    platform::kill(&living.iter().map(AsRef::as_ref).collect::<Vec<_>>());
}

/// Like [`kill_all`], and lets no further process start: for the end of the program, in a signal
/// handler's task or in a panic hook. After [`become_reaper`](super::become_reaper) it also kills
/// all else that descends from this program.
pub fn shut_down() {
    lock(&REGISTRY).closed = true;
    kill_all();
    adoption::kill_descendants();
}
