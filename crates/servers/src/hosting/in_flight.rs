//! The requests of one client that are being worked on, and can still be cancelled.

use tokio::task;

use crate::prelude::*;

/// How the work on one request ended, as soon as that is known; also what tells it from other work on
/// the same id.
pub type End = Arc<OnceLock<Ended>>;

/// A request that is being worked on.
struct Work {
    method: String,
    task: AbortHandle,
    end: End,
    /// Told once that the client cancelled, by work that goes on all the same.
    shield: Option<Shield>,
}

/// Which work on an id: what this task does, or all of it.
pub type Which = Option<task::Id>;

/// Work by the id of its request. A client that gives one id to several requests gets all of them
/// answered, and cancels all of them.
#[derive(Default)]
pub struct InFlight(Mutex<HashMap<String, Vec<Work>>>);

impl InFlight {
    /// Starts the work on a request, so that it can be cancelled until it is done.
    pub fn begin(
        &self,
        id: &Value,
        method: String,
        (end, shield): (End, Option<Shield>),
        start: impl FnOnce() -> AbortHandle,
    ) -> AbortHandle {
        // Held while starting, so that the work cannot be done before it is noted.
        let mut works = lock(&self.0);
        let task = start();
        let handle = task.clone();
        works.entry(id.to_string()).or_default().push(Work {
            method,
            task,
            end,
            shield,
        });
        handle
    }

    /// Notes that the work on a request is done.
    pub fn done(&self, id: &Value, end: &End) {
        let mut works = lock(&self.0);
        let id = id.to_string();
        if let Some(same) = works.get_mut(&id) {
            same.retain(|work| !Arc::ptr_eq(&work.end, end));
            if same.is_empty() {
                works.remove(&id);
            }
        }
    }

    /// From now on the work on a request goes on though the client cancels it; `told` is then called.
    pub fn shield(&self, id: &Value, end: &End, told: Shield) {
        let mut works = lock(&self.0);
        let mut same = works.get_mut(&id.to_string()).into_iter().flatten();
        if let Some(work) = same.find(|work| Arc::ptr_eq(&work.end, end)) {
            work.shield = Some(told);
        }
    }

    /// Gives up this work on an id, and says of which methods. Shielded work is only told, and goes on: whether there
    /// was any.
    pub fn cancel(&self, id: &Value, which: Which, how: Ended) -> (Vec<String>, bool) {
        let mut works = lock(&self.0);
        let id = id.to_string();
        let mut methods = Vec::new();
        let (mut kept, mut told) = (Vec::new(), Vec::new());
        for mut work in works.remove(&id).unwrap_or_default() {
            if !work.is(which) {
                kept.push(work);
                continue;
            }
            methods.push(work.method.clone());
            match work.shield.replace(Box::new(|| {})) {
                Some(shield) => {
                    told.push(shield);
                    kept.push(work);
                }
                None => work.give_up(how),
            }
        }
        if !kept.is_empty() {
            works.insert(id, kept);
        }
        drop(works);
        let is_shielded = !told.is_empty();
        for tell in told {
            tell();
        }
        (methods, is_shielded)
    }

    /// Gives up all work, shielded or not.
    pub fn give_up(&self, how: Ended) {
        for (_, same) in lock(&self.0).drain() {
            for work in same {
                work.give_up(how);
            }
        }
    }

    /// Whether any request is being worked on.
    pub fn is_busy(&self) -> bool {
        !lock(&self.0).is_empty()
    }
}

impl Work {
    fn is(&self, which: Which) -> bool {
        which.is_none_or(|task| self.task.id() == task)
    }

    fn give_up(&self, how: Ended) {
        // The first reason is the right one.
        let _ = self.end.set(how);
        self.task.abort();
    }
}
