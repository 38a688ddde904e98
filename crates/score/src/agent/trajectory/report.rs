//! The outcome of comparing calls with the expected ones.

use super::prelude::*;

/// Mismatches of one run that a report describes; the rest is only counted.
pub const MISMATCHES_KEPT: usize = 20;

/// How recorded calls compare with the expected ones.
#[stored]
pub struct TrajectoryReport {
    /// Whether they match under the mode.
    pub passed: bool,
    pub mode: Mode,
    pub expected_calls: usize,
    pub recorded_calls: usize,
    /// References that were not found, and calls that the mode forbids.
    pub mismatch_count: usize,
    /// How sure that number is.
    #[serde(default, skip_serializing_if = "Certainty::is_exact")]
    pub certainty: Certainty,
    /// The first [`MISMATCHES_KEPT`] of them.
    pub mismatches: Vec<Mismatch>,
}

/// How sure the number of mismatches is. Whether there is one always is.
#[choice(Copy, Default, Eq)]
pub enum Certainty {
    /// It is exact.
    #[default]
    Exact,
    /// It is the most there can be: finding the best way would take too long.
    AtMost,
    /// It is the most there can be: the trace does not have all arguments and servers.
    Unknown,
}

impl Certainty {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "as serde calls it")]
    fn is_exact(&self) -> bool {
        *self == Self::Exact
    }
}

/// A reference that was not found, or a call that the mode forbids.
#[stored]
pub struct Mismatch {
    /// The place of the expected call; none for a call that is too many.
    pub expected_index: Option<usize>,
    /// The place of the recorded call that was looked at; none when the trace ran out.
    pub recorded_index: Option<usize>,
    /// How the recorded call differs from the expected one: at `name`, `server` or inside `args`.
    pub diffs: Vec<Difference>,
    /// Why, in one line.
    pub reason: Message,
}

impl Mismatch {
    /// One between these places, for this reason.
    pub fn new(
        expected_index: Option<usize>,
        recorded_index: Option<usize>,
        diffs: Vec<Difference>,
        reason: Message,
    ) -> Self {
        Self {
            expected_index,
            recorded_index,
            diffs,
            reason,
        }
    }
}

/// Mismatches, all counted and the first ones kept.
#[derive(Default)]
pub struct Mismatches {
    pub count: usize,
    pub kept: Vec<Mismatch>,
    /// Whether there may be fewer.
    pub is_at_most: bool,
}

impl Mismatches {
    /// Counts one more; it is only described while there is room.
    pub fn add(&mut self, describe: impl FnOnce() -> Mismatch) {
        self.count += 1;
        if self.kept.len() < MISMATCHES_KEPT {
            self.kept.push(describe());
        }
    }
}

/// Why calls cannot be compared with the expected ones.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}", self.message().rendered())]
pub enum TrajectoryError {
    /// An expected call cannot be compared with: its JSON Schema is malformed.
    Malformed {
        /// The place of the expected call.
        expected_index: usize,
        /// Its tool.
        name: String,
        /// What is wrong.
        message: Message,
        /// What to try.
        hint: Message,
    },
    /// Whether the calls match depends on what the trace does not tell.
    Unknown {
        /// The place of the first such call.
        call_index: usize,
        /// Its tool.
        name: String,
        /// The place of the expected call that it may be.
        expected_index: usize,
        /// What is not told: `arguments` or `server`.
        untold: &'static str,
    },
    /// It would take more than [`COMPARISONS_MAX`] comparisons.
    TooLarge {
        expected_calls: usize,
        recorded_calls: usize,
    },
}

impl TrajectoryError {
    /// What is wrong.
    pub fn message(&self) -> Message {
        match self {
            Self::Malformed {
                expected_index,
                name,
                message,
                ..
            } => sentence!(
                "the arguments of expected call {expected_index}, {}, cannot be compared: {message}",
                quoted(name)
            ),
            Self::Unknown {
                call_index,
                name,
                expected_index,
                untold,
            } => sentence!(
                "call {call_index}, {}, cannot be compared with expected call {expected_index}: the trace does not have its {untold}",
                quoted(name)
            ),
            Self::TooLarge {
                expected_calls,
                recorded_calls,
            } => sentence!(
                "comparing {recorded_calls} recorded calls with {expected_calls} expected ones takes more than {COMPARISONS_MAX} comparisons"
            ),
        }
    }
}

impl UserError for TrajectoryError {
    fn text(&self) -> Message {
        self.message()
    }

    fn hint(&self) -> Message {
        match self {
            Self::Malformed { hint, .. } => hint.clone(),
            Self::Unknown { .. } => {
                sentence!("record it, or expect the call without it (`args: any`, and no `server`)")
            }
            Self::TooLarge { .. } => {
                "expect fewer calls with subset, schema or one_of arguments, or fewer alternatives of one_of, or use the mode strict".into()
            }
        }
    }
}
