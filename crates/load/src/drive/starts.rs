//! What is noted of starts: how many sessions or processes were planned, and what became of each.

use crate::prelude::*;

/// How many starts there are to be; each has a number from 0.
#[stored(Copy)]
pub struct PlannedStartsFact {
    pub unit: StartUnit,
    pub count: u32,
}

impl Fact for PlannedStartsFact {
    const NAME: &'static str = "planned_starts";
}

/// A session was opened.
#[sparse]
#[stored]
pub struct SessionOpenedFact {
    pub session: u32,
    /// Which of the planned starts it was, if it was one of them.
    pub planned: Option<u32>,
    /// From starting or reaching the server to the finished handshake.
    pub startup_secs: f64,
    /// How the server ended when it was first started, if it had to be started again.
    pub died_first: Option<String>,
}

impl Fact for SessionOpenedFact {
    const NAME: &'static str = "session_opened";
}

/// The server speaks another revision than the one that was asked for.
#[stored]
pub struct RevisionFact {
    pub asked: String,
    pub chosen: String,
}

impl Fact for RevisionFact {
    const NAME: &'static str = "protocol_revision";
}

impl RunContext {
    /// Notes how many starts there are to be.
    pub fn plan_starts(&self, unit: StartUnit, count: u32) {
        self.fact("", &PlannedStartsFact { unit, count });
    }

    /// Notes that a start failed before the session was open.
    pub fn note_failed_start(
        &self,
        error: &ConnectError,
        attempt: Option<u32>,
        planned: Option<u32>,
        began: Option<Instant>,
    ) {
        let fact = ConnectFailedFact {
            attempt,
            category: Some(error.category()),
            planned,
            is_rate_limited: error.is_rate_limited(),
            tried_secs: began.map(|began| began.elapsed().as_secs_f64()),
        };
        self.fact(&error.to_string(), &fact);
    }

    /// Notes that a start failed at the list of tools.
    pub fn note_failed_list(&self, failure: &Failure, planned: Option<u32>) {
        let fact = ConnectFailedFact {
            attempt: None,
            category: Some(failure.category),
            planned,
            is_rate_limited: failure.is_rate_limited(),
            tried_secs: None,
        };
        self.fact(&failure.message, &fact);
    }

    /// Notes a revision other than the one that the user asked for. Scenarios that ask for one themselves do not mind
    /// another.
    pub fn note_revision(&self, session: &Session) {
        let is_asked_for = matches!(self.options.protocol, ProtocolChoice::Revision(_));
        if let Some(mismatch) = session.revision_mismatch().filter(|_| is_asked_for) {
            let fact = RevisionFact {
                asked: mismatch.asked.to_string(),
                chosen: mismatch.chosen.clone(),
            };
            self.fact("", &fact);
        }
    }
}
