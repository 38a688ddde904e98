//! A server that cancels a request of the client, which only the client may do. A server may cancel what it asked the
//! client itself, under ids of its own that may be the same numbers, and end a subscription (2026-07-28).

use mcprove_settings::phrase;

use super::prelude::*;

/// How many numbers of either side are remembered. With more of the server's own nothing is reported any more, as
/// each could be one of them.
const REMEMBERED_MAX: usize = 65_536;

/// The one request that a server may cancel.
const SUBSCRIPTION: &str = "subscriptions/listen";

/// What a server cancelled that was not its to cancel.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StrayCancels {
    /// Requests of ours that it cancelled.
    pub cancelled: u64,
    /// The first of them.
    pub example: String,
}

impl StrayCancels {
    /// What happened, for people; none if nothing did.
    pub fn describe(&self) -> Option<String> {
        let requests = phrase::count(self.cancelled, "request");
        (self.cancelled > 0).then(|| {
            format!(
                "the server cancelled {requests} of the client (such as: {})",
                self.example
            )
        })
    }
}

/// What a session knows of cancellations by the server.
#[derive(Default)]
pub struct CancelWatch {
    /// Numbers under which the server asked the client something.
    asked: FxHashSet<u64>,
    has_forgotten: bool,
    /// Requests of ours that it cancelled and did not answer so far.
    unanswered: FxHashSet<u64>,
    pub found: StrayCancels,
}

impl CancelWatch {
    /// Notes that the server asked something under this number.
    pub fn note_question(&mut self, id: u64) {
        if self.asked.len() < REMEMBERED_MAX {
            self.asked.insert(id);
        } else {
            self.has_forgotten = true;
        }
    }

    /// Notes a cancellation of the request of ours that `method` and `tool` name, unless the server may mean its own.
    fn note_cancel(&mut self, id: u64, method: &str, tool: Option<&str>) {
        if self.has_forgotten || method == SUBSCRIPTION || self.asked.contains(&id) {
            return;
        }
        self.found.cancelled += 1;
        if self.found.cancelled == 1 {
            let tool = tool.map_or_else(String::new, |tool| format!(" of {tool:?}"));
            self.found.example = format!("request {id}, {method}{tool}");
        }
        if self.unanswered.len() < REMEMBERED_MAX {
            self.unanswered.insert(id);
        }
    }

    /// Notes that a request of ours was answered; tells whether the server had cancelled it, which is one violation more.
    pub fn note_answer(&mut self, id: u64) -> bool {
        !self.unanswered.is_empty() && self.unanswered.remove(&id)
    }
}

impl Core {
    /// Looks at a `notifications/cancelled` of the server.
    pub fn receive_cancellation(&self, params: &str) {
        let Ok(params) = protocol::parse_bounded::<Value>(params) else {
            return;
        };
        let Some(id) = params.get("requestId").and_then(Value::as_u64) else {
            return;
        };
        if self.is_injecting() {
            return;
        }
        let mut state = self.lock();
        let state = &mut *state;
        // What is over already could have been a subscription, or have crossed with the end.
        if let Some(waiting) = state.waiting.get(&id).filter(|it| it.outcome.is_none()) {
            let label = &waiting.label;
            state.cancels.note_cancel(id, &label.method, label.tool());
        }
    }
}

impl Session {
    /// What the server cancelled that was not its to cancel.
    pub fn stray_cancels(&self) -> StrayCancels {
        self.core.lock().cancels.found.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_requests_of_ours_are_not_its_to_cancel() {
        let mut watch = CancelWatch::default();
        watch.note_question(3);
        watch.note_cancel(3, "tools/call", Some("echo"));
        watch.note_cancel(4, SUBSCRIPTION, None);
        assert_eq!(watch.found.describe(), None);
        watch.note_cancel(5, "tools/call", Some("echo"));
        assert!(!watch.note_answer(6));
        let text = watch.found.describe().unwrap();
        assert_eq!(
            text,
            "the server cancelled 1 request of the client (such as: request 5, tools/call of \"echo\")"
        );
        assert!(watch.note_answer(5));
        assert!(!watch.note_answer(5));
        assert_eq!(watch.found.cancelled, 1);
    }

    #[test]
    fn too_many_questions_to_be_remembered_excuse_everything() {
        let mut watch = CancelWatch::default();
        for id in 0..=REMEMBERED_MAX {
            watch.note_question(id as u64);
        }
        watch.note_cancel(1 << 40, "tools/call", None);
        assert_eq!(watch.found, StrayCancels::default());
    }
}
