//! The sessions of a server over streamable HTTP, of which few are ever deleted by their clients.

use std::time::Instant;

use crate::prelude::*;

/// The most sessions at a time.
pub const SESSIONS_MAX: usize = 65_536;

/// Sessions by their names. When there are too many, the one that was idle longest makes room.
pub struct HttpSessions {
    kept: Mutex<HashMap<String, Kept>>,
    max: usize,
}

struct Kept {
    session: Arc<Session>,
    used: Instant,
}

impl HttpSessions {
    pub fn at_most(max: usize) -> Self {
        Self {
            kept: Mutex::new(HashMap::new()),
            max,
        }
    }

    /// The session with this name, which is used now; none if it was idle for longer than that.
    pub fn get(&self, name: &str, idle_max: Option<Duration>) -> Option<Arc<Session>> {
        let mut all = lock(&self.kept);
        let kept = all.get_mut(name)?;
        let is_idle = !kept.session.in_flight.is_busy();
        if is_idle && idle_max.is_some_and(|max| kept.used.elapsed() > max) {
            all.remove(name);
            return None;
        }
        kept.used = Instant::now();
        Some(Arc::clone(&kept.session))
    }

    /// Forgets the session that was idle longest, and gives it back. A session with requests in flight is not idle.
    pub fn evict(&self) -> Option<Arc<Session>> {
        take_idlest(&mut lock(&self.kept))
    }

    /// Keeps a session, and gives back the one that had to make room for it. A session with requests in
    /// flight makes none; if all have some, the new one is given back.
    pub fn insert(&self, name: String, session: Arc<Session>) -> Option<Arc<Session>> {
        let mut kept = lock(&self.kept);
        let mut evicted = None;
        if kept.len() >= self.max {
            evicted = take_idlest(&mut kept);
            if evicted.is_none() {
                return Some(session);
            }
        }
        let used = Instant::now();
        kept.insert(name, Kept { session, used });
        evicted
    }

    /// Forgets a session.
    pub fn remove(&self, name: &str) {
        lock(&self.kept).remove(name);
    }

    pub fn all(&self) -> Vec<Arc<Session>> {
        let kept = lock(&self.kept);
        kept.values()
            .map(|kept| Arc::clone(&kept.session))
            .collect()
    }
}

fn take_idlest(kept: &mut HashMap<String, Kept>) -> Option<Arc<Session>> {
    let idle = kept
        .iter()
        .filter(|(_, kept)| !kept.session.in_flight.is_busy());
    let (idlest, _) = idle.min_by_key(|(_, kept)| kept.used)?;
    let idlest = idlest.clone();
    kept.remove(&idlest).map(|kept| kept.session)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn session(name: &str) -> Arc<Session> {
        Arc::new(Session::new(Some(name.to_owned()), None))
    }

    fn keep(sessions: &HttpSessions, name: &str) -> Option<String> {
        let evicted = sessions.insert(name.to_owned(), session(name))?;
        evicted.name().map(str::to_owned)
    }

    #[tokio::test]
    async fn the_session_that_was_idle_longest_makes_room() {
        let sessions = HttpSessions::at_most(3);
        for name in ["a", "b", "c"] {
            assert_eq!(keep(&sessions, name), None);
        }
        let busy = sessions.get("b", None).unwrap();
        let work = || tokio::spawn(pending::<()>()).abort_handle();
        let begun = busy.in_flight.begin(
            &json!(1),
            "tools/call".to_owned(),
            (Arc::default(), None),
            work,
        );
        sessions.get("a", None);
        assert_eq!(keep(&sessions, "d").as_deref(), Some("c"));
        assert_eq!(keep(&sessions, "e").as_deref(), Some("a"));
        assert!(sessions.get("c", None).is_none() && sessions.get("b", None).is_some());
        begun.abort();
    }

    #[tokio::test]
    async fn a_session_that_was_idle_for_too_long_is_unknown() {
        let sessions = HttpSessions::at_most(3);
        keep(&sessions, "a");
        assert!(sessions.get("a", Some(Duration::from_mins(1))).is_some());
        assert!(sessions.get("a", Some(Duration::ZERO)).is_none());
        assert!(sessions.get("a", None).is_none());
    }

    #[tokio::test]
    async fn where_all_are_busy_the_new_one_is_given_back() {
        let sessions = HttpSessions::at_most(1);
        keep(&sessions, "a");
        let busy = sessions.get("a", None).unwrap();
        let work = || tokio::spawn(pending::<()>()).abort_handle();
        busy.in_flight
            .begin(&json!(1), "ping".to_owned(), (Arc::default(), None), work);
        assert_eq!(keep(&sessions, "b").as_deref(), Some("b"));
        assert!(sessions.get("b", None).is_none());
    }
}
