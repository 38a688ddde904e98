//! What a server asked of its client and did not get, because mcprove declines unless told otherwise. What
//! comes of a call after that says nothing of the tool.

use mcprove_client::session::{Responder, Response};
use mcprove_trace::protocol::Revision;

use crate::prelude::*;

/// What was declined in a session: how much, and the last of it.
#[derive(Debug, Default)]
pub(crate) struct Declined {
    seen: Mutex<(u64, String)>,
}

impl Declined {
    /// How much was declined so far.
    pub(crate) fn count(&self) -> u64 {
        lock(&self.seen).0
    }

    /// What was asked for last, if anything was declined since there had been so much.
    pub(crate) fn since(&self, count: u64) -> Option<String> {
        let seen = lock(&self.seen);
        (seen.0 > count).then(|| seen.1.clone())
    }

    fn add(&self, method: &str) {
        let mut seen = lock(&self.seen);
        *seen = (seen.0 + 1, method.to_owned());
    }
}

/// Answers as another does, and notes what that one declines.
pub(super) struct Watching {
    pub(super) inner: Arc<dyn Responder>,
    pub(super) declined: Arc<Declined>,
}

impl Responder for Watching {
    fn capabilities(&self, revision: Revision) -> Value {
        self.inner.capabilities(revision)
    }

    fn respond(&self, method: &str, params: &Value) -> Response {
        let response = self.inner.respond(method, params);
        let is_declined = match (method, &response) {
            ("sampling/createMessage" | "elicitation/create", Err(_)) => true,
            ("elicitation/create", Ok(answer)) => {
                answer.get("action").and_then(Value::as_str) != Some("accept")
            }
            _ => false,
        };
        if is_declined {
            self.declined.add(method);
        }
        response
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mcprove_client::session::{Accept, Decline};

    #[test]
    fn only_what_is_declined_is_noted() {
        let declined = Arc::new(Declined::default());
        let watching = |inner: Arc<dyn Responder>| Watching {
            inner,
            declined: Arc::clone(&declined),
        };
        let accepting = watching(Arc::new(Accept));
        for method in ["roots/list", "sampling/createMessage", "elicitation/create"] {
            assert!(accepting.respond(method, &Value::Null).is_ok());
        }
        assert_eq!((declined.count(), declined.since(0)), (0, None));
        let declining = watching(Arc::new(Decline));
        for method in ["roots/list", "elicitation/create", "sampling/createMessage"] {
            let _ = declining.respond(method, &Value::Null);
        }
        assert_eq!(declined.count(), 2);
        let last = declined.since(1);
        assert_eq!(last.as_deref(), Some("sampling/createMessage"));
        assert_eq!(declined.since(2), None);
    }
}
