//! What the official conformance suite expects a server to have, by the names that it calls it by.

mod asking;
mod content;
mod notices;
pub mod prompts;
pub mod resources;
mod rounds;
mod schemas;

use super::registry::Entry;

/// The tools.
pub const ENTRIES: &[Entry] = &[
    content::SIMPLE_TEXT,
    content::IMAGE,
    content::AUDIO,
    content::EMBEDDED_RESOURCE,
    content::MULTIPLE,
    content::ERROR,
    notices::LOGGING,
    notices::QUIET_LOGGING,
    notices::PROGRESS,
    notices::RECONNECTION,
    notices::TOOL_CHANGE,
    notices::PROMPT_CHANGE,
    asking::SAMPLING,
    asking::ELICITATION,
    asking::DEFAULTS,
    asking::ENUMS,
    asking::MISSING_CAPABILITY,
    asking::STREAMING,
    rounds::ELICITATION,
    rounds::SAMPLING,
    rounds::ROOTS,
    rounds::STATE,
    rounds::MULTIPLE,
    rounds::MULTI_ROUND,
    rounds::TAMPERED,
    rounds::CAPABILITIES,
    schemas::VOCABULARY,
    schemas::HEADER,
];
