//! The names of faults: the one vocabulary of traces, mocks, proxies, suites and load.

use mcprove_settings::registry::nearest;
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};

/// What kind of fault a call met. Both `-` and `_` are accepted in a name.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum FaultKind {
    /// No fault.
    #[default]
    None,
    /// The call never returns.
    Hang,
    /// As `hang`, meant as a deadlocked backend.
    Wedged,
    /// The answer comes late.
    Slow,
    /// The first calls hang, then the server recovers.
    RecoverAfter,
    /// The answer comes though the call was cancelled.
    ReplyAfterCancel,
    /// A JSON-RPC error.
    Error,
    /// A result with `isError: true`.
    ToolError,
    /// Fails now and then.
    Flaky,
    /// Answers after varying times.
    Jitter,
    /// A broken frame.
    Malformed,
    /// A cut frame.
    Truncated,
    /// A valid but altered reply.
    Corrupt,
    /// Empty content.
    Empty,
    /// Huge content.
    Oversized,
    /// The connection is closed.
    Disconnect,
    /// The process exits.
    Crash,
    /// The reply comes twice.
    Duplicate,
    /// The reply has another id.
    WrongId,
    /// Replies are swapped.
    Reorder,
    /// Junk between messages.
    Noise,
    /// The request is lost: never executed.
    LoseRequest,
    /// The reply is lost: executed, but nobody hears of it.
    LoseReply,
    /// Progress, and never a result.
    ProgressForever,
    /// The tool disappears.
    Vanish,
    /// An HTTP status instead of an answer.
    HttpStatus,
}

/// Whether a call that met a fault is executed by its server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Execution {
    /// Never: the fault strikes before.
    Never,
    /// Always, and at once: the fault strikes what is said of it afterwards.
    Always,
    /// Once the delay has passed; one whose client cancelled or left before that may never be.
    Late,
}

/// What a client gets to hear of a call that met a fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Heard {
    /// What the tool itself says, though late, twice, out of turn or among junk.
    Right,
    /// A reply that looks well, and is not what the tool said.
    Altered,
    /// That it failed: an error, or the end of the connection.
    Failure,
    /// Nothing that it can know for the reply to this call.
    Nothing,
}

impl FaultKind {
    /// All kinds, with their names.
    pub const ALL: [(&'static str, Self); 26] = [
        ("none", Self::None),
        ("hang", Self::Hang),
        ("wedged", Self::Wedged),
        ("slow", Self::Slow),
        ("recover_after", Self::RecoverAfter),
        ("reply_after_cancel", Self::ReplyAfterCancel),
        ("error", Self::Error),
        ("tool_error", Self::ToolError),
        ("flaky", Self::Flaky),
        ("jitter", Self::Jitter),
        ("malformed", Self::Malformed),
        ("truncated", Self::Truncated),
        ("corrupt", Self::Corrupt),
        ("empty", Self::Empty),
        ("oversized", Self::Oversized),
        ("disconnect", Self::Disconnect),
        ("crash", Self::Crash),
        ("duplicate", Self::Duplicate),
        ("wrong_id", Self::WrongId),
        ("reorder", Self::Reorder),
        ("noise", Self::Noise),
        ("lose_request", Self::LoseRequest),
        ("lose_reply", Self::LoseReply),
        ("progress_forever", Self::ProgressForever),
        ("vanish", Self::Vanish),
        ("http_status", Self::HttpStatus),
    ];

    /// The kind with this name.
    pub fn parse(name: &str) -> Option<Self> {
        let name = name.replace('-', "_");
        Self::ALL
            .into_iter()
            .find_map(|(known, kind)| (known == name).then_some(kind))
    }

    /// The name.
    pub fn name(self) -> &'static str {
        Self::ALL
            .into_iter()
            .find_map(|(name, kind)| (kind == self).then_some(name))
            .unwrap_or("none")
    }

    /// Whether a call that meets this fault is executed.
    ///
    /// ```
    /// use mcprove_trace::{Execution, FaultKind};
    ///
    /// assert_eq!(FaultKind::LoseRequest.executes(), Execution::Never);
    /// assert_eq!(FaultKind::LoseReply.executes(), Execution::Always);
    /// ```
    pub const fn executes(self) -> Execution {
        match self {
            Self::Hang
            | Self::Wedged
            | Self::RecoverAfter
            | Self::Error
            | Self::ToolError
            | Self::Flaky
            | Self::Disconnect
            | Self::Crash
            | Self::LoseRequest
            | Self::ProgressForever
            | Self::Vanish
            | Self::HttpStatus => Execution::Never,
            Self::Slow | Self::Jitter | Self::ReplyAfterCancel => Execution::Late,
            Self::None
            | Self::Malformed
            | Self::Truncated
            | Self::Corrupt
            | Self::Empty
            | Self::Oversized
            | Self::Duplicate
            | Self::WrongId
            | Self::Reorder
            | Self::Noise
            | Self::LoseReply => Execution::Always,
        }
    }

    /// What the client hears of a call that meets this fault.
    ///
    /// ```
    /// use mcprove_trace::{FaultKind, Heard};
    ///
    /// assert_eq!(FaultKind::Slow.heard(), Heard::Right);
    /// assert_eq!(FaultKind::Corrupt.heard(), Heard::Altered);
    /// ```
    pub const fn heard(self) -> Heard {
        match self {
            Self::None
            | Self::Slow
            | Self::Jitter
            | Self::ReplyAfterCancel
            | Self::Duplicate
            | Self::Reorder
            | Self::Noise => Heard::Right,
            Self::Corrupt | Self::Empty | Self::Oversized => Heard::Altered,
            Self::Error
            | Self::ToolError
            | Self::Flaky
            | Self::Disconnect
            | Self::Crash
            | Self::Vanish
            | Self::HttpStatus => Heard::Failure,
            Self::Hang
            | Self::Wedged
            | Self::RecoverAfter
            | Self::ProgressForever
            | Self::LoseRequest
            | Self::LoseReply
            | Self::Malformed
            | Self::Truncated
            | Self::WrongId => Heard::Nothing,
        }
    }
}

impl<'de> Deserialize<'de> for FaultKind {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = String::deserialize(deserializer)?;
        Self::parse(&name).ok_or_else(|| {
            let hint = match nearest(Self::ALL.into_iter().map(|(known, _)| known), &name) {
                Some(close) => format!("; did you mean {close:?}?"),
                None => String::new(),
            };
            serde::de::Error::custom(format!("no fault is called {name:?}{hint}"))
        })
    }
}
