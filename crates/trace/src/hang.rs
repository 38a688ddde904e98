//! How long a call may take before it counts as hung, and as lost.
//!
//! An answer within the threshold is on time; one within threshold and grace period together is
//! late: the server is slow. None by then is a deadlock: it is stuck. What else still answers says
//! how much of it is stuck.

use crate::prelude::*;

/// When a call counts as hung, and when as lost.
#[data(Copy, Eq)]
pub struct HangLimits {
    /// No answer for this long is a hang.
    pub threshold: Duration,
    /// No answer for this much longer is a deadlock.
    pub grace: Duration,
}

impl Default for HangLimits {
    fn default() -> Self {
        Self {
            threshold: Duration::from_secs(5),
            grace: Duration::from_secs(10),
        }
    }
}

/// How much of a server is stuck.
#[choice(Copy, Eq, PartialOrd, Ord, Hash)]
pub enum DeadlockKind {
    /// The tool is stuck; the server still answers.
    ToolStuck,
    /// The server answers nothing any more.
    LoopDead,
    /// The server process has ended.
    ProcessDead,
}

impl DeadlockKind {
    /// What it means, in plain words that end a sentence.
    pub const fn explanation(self) -> &'static str {
        match self {
            Self::ToolStuck => "the server is otherwise alive: it answers other requests",
            Self::LoopDead => "nothing answers any more",
            Self::ProcessDead => "the server process has ended",
        }
    }

    /// What to look for.
    pub fn hint(self) -> Message {
        match self {
            Self::ToolStuck => {
                "look for a lock that is never released, or a lazy import or initialisation that several calls enter at once".into()
            }
            Self::LoopDead => {
                "look for blocking work (imports, locks, sleeps, subprocesses) inside an async handler: it stops the whole event loop".into()
            }
            Self::ProcessDead => sentence!("read the server's stderr{}", tee_stderr()),
        }
    }
}

/// How much is stuck, from whether the process lives (`None`: unknown, as for a remote server) and
/// whether the server answered a liveness request.
pub fn kind(process_alive: Option<bool>, answered_liveness: bool) -> DeadlockKind {
    match (process_alive, answered_liveness) {
        (Some(false), _) => DeadlockKind::ProcessDead,
        (_, true) => DeadlockKind::ToolStuck,
        (_, false) => DeadlockKind::LoopDead,
    }
}

#[cfg(test)]
mod tests {

    use super::*;

    #[test]
    fn kinds_follow_from_what_still_answers() {
        let cases = [
            (Some(true), true, DeadlockKind::ToolStuck),
            (None, true, DeadlockKind::ToolStuck),
            (Some(true), false, DeadlockKind::LoopDead),
            (None, false, DeadlockKind::LoopDead),
            (Some(false), false, DeadlockKind::ProcessDead),
            (Some(false), true, DeadlockKind::ProcessDead),
        ];
        for (alive, answered, expected) in cases {
            assert_eq!(kind(alive, answered), expected, "{alive:?} {answered}");
        }
        assert_eq!(
            serde_json::to_string(&DeadlockKind::ToolStuck).unwrap(),
            "\"tool_stuck\""
        );
    }
}
