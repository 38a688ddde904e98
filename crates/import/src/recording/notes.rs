//! The notes that a mock or a proxy writes between the lines of requests: which server it is, that a
//! fault struck a call, that a client cancelled one, and that it left.
//!
//! A note without a session or a request is about no call, and is taken for one of another kind. The
//! kind of a fault must be known: what it did would be guessed otherwise.

use super::{Fault, Key};
use crate::prelude::*;

/// What a note has for programs, of whatever kind it is.
#[derive(Default, Deserialize)]
#[serde(default)]
pub struct Note {
    pub session: Maybe<u32>,
    request_id: Maybe<u64>,
    /// The server of a recording, or the one that a fault was aimed at.
    pub server: Text,
    /// What the server answered behind a fault.
    pub answer: Maybe<RealAnswer>,
    method: Text,
    from: Text,
    pub params: Value,
    tool: Text,
    fault: Text,
    pub kind: Value,
    delay_ms: Maybe<u64>,
    failures: Maybe<u64>,
    keeps_answer: Maybe<bool>,
}

impl Note {
    /// The request that it is about.
    pub fn key(&self) -> Option<Key> {
        Some((Some((*self.session)?), Some((*self.request_id)?)))
    }

    /// Whether a client said that it cancels something.
    pub fn is_cancellation(&self) -> bool {
        let said = (self.method.or_empty(), self.from.or_empty());
        self.session.is_some() && said == ("notifications/cancelled", "client")
    }

    /// A fault; what the server answered behind it is told, as far as is known.
    pub fn into_fault(self, kind: FaultKind) -> Fault {
        let keeps_answer = *self.keeps_answer == Some(true);
        Fault {
            tool: self.tool.0.unwrap_or_default(),
            mark: FaultMark {
                fault: self.fault.0,
                kind,
                delay_ms: *self.delay_ms,
                failures: *self.failures,
                real_answer: keeps_answer.then_some(RealAnswer::Nothing),
                ..FaultMark::default()
            },
        }
    }
}
