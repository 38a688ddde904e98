//! Between any client and any server: passes everything on as it is, writes it down where that is
//! asked for, and lets faults strike calls of tools.
//!
//! [`stdio`] stands between two pairs of pipes, [`http`] between two HTTP peers. Both look only at what
//! they must: without faults and recording, bytes are copied. A call that a fault strikes is taken
//! out of the stream and lives in a task of its own ([`mcprove_fault::FaultedCall`]), so that it holds up
//! nothing else. [`summary`] tells afterwards what the client did next.

mod answers;
mod faulted;
mod faulted_calls;
pub mod http;
mod journal;
mod listing;
mod message;
mod prelude;
mod report;
#[cfg(test)]
mod said;
pub mod stdio;
pub mod summary;
mod watch;

pub use journal::CALLS_MAX;
pub use report::{Ended, ProxySummary, Traffic, summary_document};
pub use watch::Settings;

/// How many bytes of a message are looked at; a longer one passes as it is.
pub const LOOK_BYTES_MAX: usize = 16 * 1024 * 1024;
/// How many calls faults may hold at a time; further calls pass untouched.
pub const HELD_CALLS_MAX: usize = 10_000;
/// How many bytes of calls faults may hold at a time; further calls pass untouched.
pub const HELD_BYTES_MAX: usize = 64 * 1024 * 1024;
