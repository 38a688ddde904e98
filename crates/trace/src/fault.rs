//! The kinds of faults, one row each: the one vocabulary of traces, mocks, proxies, suites and load. What a kind does to a
//! call is in the crate `fault`; everybody else asks what is in the row, and names no kind.

use std::str::FromStr;

use mcprove_settings::registry::did_you_mean;

use crate::prelude::*;

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

/// What the client sees of a call that met a fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClientView {
    /// What the tool itself says, though late, twice, out of turn or among junk.
    Right,
    /// A reply that looks well, and is not what the tool said.
    Altered,
    /// That it failed: an error, or the end of the connection.
    Failure,
    /// Nothing that it can know for the reply to this call.
    Nothing,
}

/// What is particular to a kind of fault, for those who have to know.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Special {
    /// Nothing.
    Plain,
    /// It strikes no call.
    NoFault,
    /// It is over after a number of calls, which its mark tells.
    Recovers,
    /// The call goes on though its client cancels it.
    IgnoresCancellation,
    /// There is a reply, which cannot be read for this reason. Models see it, so that cassettes have it.
    Garbles(&'static str),
    /// The connection of the client ends.
    EndsConnection,
    /// The process of the server ends, and the connection with it.
    EndsProcess,
    /// Bytes that are no message come besides the reply.
    Junk,
    /// The request is lost on its way.
    LosesRequest,
    /// The reply is lost on its way.
    LosesReply,
    /// The tool is not listed either.
    HidesTool,
    /// An answer of HTTP itself.
    HttpStatus,
}

/// What is known of a kind.
struct Row {
    name: &'static str,
    executes: Execution,
    client_view: ClientView,
    special: Special,
    about: &'static str,
}

/// Declares the kinds: documentation and variant; name; whether the call is executed; what the client sees of it; what is
/// particular; what it does, in one line.
macro_rules! fault_kinds {
    ($($(#[$attribute:meta])* $kind:ident: $name:literal, $executes:ident, $client_view:ident, $special:ident $(($words:literal))?, $about:literal;)*) => {
        /// What kind of fault a call met. Both `-` and `_` are accepted in a name.
        #[derive(
            Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema,
        )]
                #[serde(rename_all = "snake_case")]
        pub enum FaultKind {
            $($(#[$attribute])* $kind,)*
        }

        impl FaultKind {
            /// All kinds, with their names.
            pub const ALL: [(&'static str, Self); [$($name),*].len()] =
                [$(($name, Self::$kind)),*];

            const fn row(self) -> Row {
                match self {
                    $(Self::$kind => Row {
                        name: $name,
                        executes: Execution::$executes,
                        client_view: ClientView::$client_view,
                        special: Special::$special $(($words))?,
                        about: $about,
                    },)*
                }
            }
        }
    };
}

fault_kinds! {
    /// No fault.
    #[default]
    None: "none", Always, Right, NoFault, "a healthy server";
    /// The call never returns.
    Hang: "hang", Never, Nothing, Plain, "the call never returns";
    /// As `hang`, meant as a deadlocked backend.
    Wedged: "wedged", Never, Nothing, Plain, "as hang, meant as a deadlocked backend";
    /// The answer comes late.
    Slow: "slow", Late, Right, Plain, "the call answers after delay_ms";
    /// The first calls hang, then the server recovers.
    RecoverAfter: "recover_after", Never, Nothing, Recovers, "the first calls hang, then the server recovers";
    /// The answer comes though the call was cancelled.
    ReplyAfterCancel: "reply_after_cancel", Late, Right, IgnoresCancellation, "the call answers after delay_ms even if it was cancelled";
    /// A JSON-RPC error.
    Error: "error", Never, Failure, Plain, "a JSON-RPC error";
    /// A result with `isError: true`.
    ToolError: "tool_error", Never, Failure, Plain, "a result with isError";
    /// Fails now and then.
    Flaky: "flaky", Never, Failure, Plain, "some calls get a JSON-RPC error";
    /// Answers after varying times.
    Jitter: "jitter", Late, Right, Plain, "the call answers after between min_ms and max_ms";
    /// A broken frame.
    Malformed: "malformed", Always, Nothing, Garbles("it is no JSON"), "a broken frame: the reply is not JSON";
    /// A cut frame.
    Truncated: "truncated", Always, Nothing, Garbles("it was cut off"), "a cut frame: only the first half of the reply";
    /// A valid but altered reply.
    Corrupt: "corrupt", Always, Altered, Plain, "a valid reply with altered content";
    /// Empty content.
    Empty: "empty", Always, Altered, Plain, "a result with empty content";
    /// Huge content.
    Oversized: "oversized", Always, Altered, Plain, "a result with huge content";
    /// The connection is closed.
    Disconnect: "disconnect", Never, Failure, EndsConnection, "the connection is closed";
    /// The process exits.
    Crash: "crash", Never, Failure, EndsProcess, "the process exits with status 1";
    /// The reply comes twice.
    Duplicate: "duplicate", Always, Right, Plain, "the reply comes twice";
    /// The reply has another id.
    WrongId: "wrong_id", Always, Nothing, Garbles("it came under the id of another request"), "the reply has another id";
    /// Replies are swapped.
    Reorder: "reorder", Always, Right, Plain, "holds the reply until another call that the fault strikes has its own, at most hold_ms";
    /// Junk between messages.
    Noise: "noise", Always, Right, Junk, "junk before the reply";
    /// The request is lost: never executed.
    LoseRequest: "lose_request", Never, Nothing, LosesRequest, "the call is not executed, and no reply comes";
    /// The reply is lost: executed, but nobody hears of it.
    LoseReply: "lose_reply", Always, Nothing, LosesReply, "the call is executed, and no reply comes";
    /// Progress, and never a result.
    ProgressForever: "progress_forever", Never, Nothing, Plain, "progress without an end, and no result";
    /// The tool disappears.
    Vanish: "vanish", Never, Failure, HidesTool, "the tool is unknown and not listed";
    /// An HTTP status instead of an answer.
    HttpStatus: "http_status", Never, Failure, HttpStatus, "an HTTP status with Retry-After";
}

impl FaultKind {
    /// The name.
    pub const fn name(self) -> &'static str {
        self.row().name
    }

    /// What it does, in one line.
    pub const fn about(self) -> &'static str {
        self.row().about
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
        self.row().executes
    }

    /// What the client hears of a call that meets this fault.
    ///
    /// ```
    /// use mcprove_trace::{FaultKind, ClientView};
    ///
    /// assert_eq!(FaultKind::Slow.client_view(), ClientView::Right);
    /// assert_eq!(FaultKind::Corrupt.client_view(), ClientView::Altered);
    /// ```
    pub const fn client_view(self) -> ClientView {
        self.row().client_view
    }

    /// What is particular to it.
    pub const fn special(self) -> Special {
        self.row().special
    }

    /// Whether it is a fault at all.
    pub fn is_fault(self) -> bool {
        self.special() != Special::NoFault
    }

    /// Whether it ends the connection of its client.
    pub const fn ends_connection(self) -> bool {
        matches!(
            self.special(),
            Special::EndsConnection | Special::EndsProcess
        )
    }

    /// Whether the client gets no reply at all, be it one that it cannot read.
    pub fn is_silent(self) -> bool {
        self.client_view() == ClientView::Nothing && !matches!(self.special(), Special::Garbles(_))
    }
}

/// The names of all kinds.
pub fn fault_names() -> impl Iterator<Item = &'static str> + Clone {
    FaultKind::ALL.into_iter().map(|(name, _)| name)
}

impl FromStr for FaultKind {
    type Err = ();

    fn from_str(name: &str) -> Result<Self, ()> {
        let name = name.replace('-', "_");
        Self::ALL
            .into_iter()
            .find(|(known, _)| *known == name)
            .map(|(_, kind)| kind)
            .ok_or(())
    }
}

impl<'de> Deserialize<'de> for FaultKind {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = String::deserialize(deserializer)?;
        name.parse().map_err(|()| {
            let hint = did_you_mean(fault_names(), &name);
            let between = if hint.is_empty() { "" } else { "; " };
            serde::de::Error::custom(format!("no fault is called {name:?}{between}{hint}"))
        })
    }
}
