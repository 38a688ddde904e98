//! The kinds of faults: one file each with its settings and its effect, one line in [`ENTRIES`]. What others have to know of
//! a kind is in its row in the crate `trace`.

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

use mcprove_settings::registry::{self, filled};
use mcprove_settings::setting::Settings;
use mcprove_trace::FaultKind;

use crate::effect::Effect;

/// What a kind is written with.
mod prelude {
    pub use std::time::Duration;

    pub use async_trait::async_trait;
    pub use bytes::Bytes;
    pub use mcprove_settings::setting::Settings;
    pub use serde_json::{Map, Value, json};
    pub use tokio::time::sleep;

    pub use crate::call::FaultedCall;
    pub use crate::effect::Effect;
    pub(super) use crate::reply;

    pub fn millis(count: u64) -> Duration {
        Duration::from_millis(count)
    }
}

/// One kind of fault that can be chosen by name.
pub type Entry = registry::Entry<dyn Effect>;

macro_rules! entries {
    ($($module:ident::$effect:ident,)*) => {
        /// Every kind of fault, in the order in which they are explained.
        pub const ENTRIES: &[Entry] = &[$(Entry {
            name: FaultKind::$effect.name(),
            aliases: &[],
            explanation: FaultKind::$effect.about(),
            settings: $module::$effect::declared,
            build: |given| Ok(Box::new(filled::<$module::$effect>(given)?)),
        },)*];
    };
}

entries! {
    none::None,
    hang::Hang,
    wedged::Wedged,
    slow::Slow,
    recover_after::RecoverAfter,
    reply_after_cancel::ReplyAfterCancel,
    error::Error,
    tool_error::ToolError,
    flaky::Flaky,
    jitter::Jitter,
    malformed::Malformed,
    truncated::Truncated,
    corrupt::Corrupt,
    empty::Empty,
    oversized::Oversized,
    disconnect::Disconnect,
    crash::Crash,
    duplicate::Duplicate,
    wrong_id::WrongId,
    reorder::Reorder,
    noise::Noise,
    lose_request::LoseRequest,
    lose_reply::LoseReply,
    progress_forever::ProgressForever,
    vanish::Vanish,
    http_status::HttpStatus,
}

/// The entry of a kind.
pub fn entry_of(kind: FaultKind) -> Option<&'static Entry> {
    ENTRIES.iter().find(|entry| entry.name == kind.name())
}
