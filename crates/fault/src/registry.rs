//! The table of faults: one file under `kind/`, one line in [`ENTRIES`].

use mcprove_settings::registry::{self, RegistryError};
use mcprove_trace::FaultKind;

use super::effect::Effect;
use super::kind;

pub use mcprove_settings::registry::{DefaultValue, Setting, Settings};

/// One kind of fault that can be chosen by name.
pub type Entry = registry::Entry<Box<dyn Effect>>;

/// Every kind of fault, in the order in which they are explained.
pub const ENTRIES: &[Entry] = &[
    kind::none::ENTRY,
    kind::hang::ENTRY,
    kind::wedged::ENTRY,
    kind::slow::ENTRY,
    kind::recover_after::ENTRY,
    kind::reply_after_cancel::ENTRY,
    kind::error::ENTRY,
    kind::tool_error::ENTRY,
    kind::flaky::ENTRY,
    kind::jitter::ENTRY,
    kind::malformed::ENTRY,
    kind::truncated::ENTRY,
    kind::corrupt::ENTRY,
    kind::empty::ENTRY,
    kind::oversized::ENTRY,
    kind::disconnect::ENTRY,
    kind::crash::ENTRY,
    kind::duplicate::ENTRY,
    kind::wrong_id::ENTRY,
    kind::reorder::ENTRY,
    kind::noise::ENTRY,
    kind::lose_request::ENTRY,
    kind::lose_reply::ENTRY,
    kind::progress_forever::ENTRY,
    kind::vanish::ENTRY,
    kind::http_status::ENTRY,
];

/// Finds a kind by name, taking `-` for `_`.
pub fn find(name: &str) -> Result<&'static Entry, RegistryError> {
    registry::find(ENTRIES, name)
}

/// The entry of a kind.
pub(super) fn entry_of(kind: FaultKind) -> Option<&'static Entry> {
    ENTRIES.iter().find(|entry| entry.name == kind.name())
}
