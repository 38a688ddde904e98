//! What each kind of fault does to a call: one file each with its settings and its effect, and one line in the
//! registry. What others have to know of a kind is in its row in the crate `trace`.

use mcprove_settings::registry::{self, filled};

use crate::prelude::*;

mod corrupt;
mod crash;
mod disconnect;
mod duplicate;
mod empty;
mod error;
mod flaky;
mod hang;
mod http_status;
mod jitter;
mod lose_reply;
mod lose_request;
mod malformed;
mod noise;
mod none;
mod oversized;
mod progress_forever;
mod recover_after;
mod reorder;
mod reply_after_cancel;
mod slow;
mod tool_error;
mod truncated;
mod vanish;
mod wedged;
mod wrong_id;

/// Milliseconds, up to a day.
pub const DELAY: Kind = Kind::Whole(0, 86_400_000);

/// What a fault does to the calls that it strikes.
#[async_trait]
pub trait Effect: Send + Sync {
    /// Does it to one call.
    async fn apply(&self, exchange: &FaultExchange<'_>);

    /// How late the answer of a call with this draw is, where that is what the fault is about.
    fn delay(&self, _draw: u64) -> Option<Duration> {
        None
    }

    /// How long it holds up a call with this draw at most, where it lets the server answer.
    fn held(&self, draw: u64) -> Option<Duration> {
        self.delay(draw)
    }

    /// How many calls the fault strikes before it is over; `None` for all.
    fn strikes_max(&self) -> Option<u64> {
        None
    }
}

type Entry = registry::Entry<dyn Effect>;

macro_rules! entries {
    ($($kind:ident: $module:ident::$effect:ident;)*) => {
        /// The entry of a kind; its name and explanation are those of its row.
        fn entry(kind: FaultKind) -> Entry {
            match kind {
                $(FaultKind::$kind => Entry {
                    name: kind.name(),
                    aliases: &[],
                    explanation: kind.about(),
                    settings: $module::$effect::declared,
                    build: |given| Ok(Box::new(filled::<$module::$effect>(given)?)),
                },)*
            }
        }
    };
}

entries! {
    None: none::NoFault;
    Hang: hang::Hang;
    Wedged: wedged::Wedged;
    Slow: slow::Slow;
    RecoverAfter: recover_after::RecoverAfter;
    ReplyAfterCancel: reply_after_cancel::ReplyAfterCancel;
    Error: error::Error;
    ToolError: tool_error::ToolError;
    Flaky: flaky::Flaky;
    Jitter: jitter::Jitter;
    Malformed: malformed::Malformed;
    Truncated: truncated::Truncated;
    Corrupt: corrupt::Corrupt;
    Empty: empty::Empty;
    Oversized: oversized::Oversized;
    Disconnect: disconnect::Disconnect;
    Crash: crash::Crash;
    Duplicate: duplicate::Duplicate;
    WrongId: wrong_id::WrongId;
    Reorder: reorder::Reorder;
    Noise: noise::Noise;
    LoseRequest: lose_request::LoseRequest;
    LoseReply: lose_reply::LoseReply;
    ProgressForever: progress_forever::ProgressForever;
    Vanish: vanish::Vanish;
    HttpStatus: http_status::HttpStatus;
}

/// Every kind of fault, in the order in which they are explained.
pub fn kinds() -> impl Iterator<Item = FaultKind> {
    FaultKind::ALL.into_iter().map(|(_, kind)| kind)
}

pub fn settings_of(kind: FaultKind) -> &'static [Setting] {
    (entry(kind).settings)()
}

/// The effect of a fault; an error if its settings are not those of its kind.
pub fn effect(spec: &FaultSpec) -> DiagnosticResult<Box<dyn Effect>> {
    (entry(spec.kind).build)(&spec.settings)
}

pub fn millis(count: u64) -> Duration {
    Duration::from_millis(count)
}
