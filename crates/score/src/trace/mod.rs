//! The vocabulary of a run: what happened (events), and how a call can fail (categories).
//!
//! Engines emit [`Event`]s; every trace, metric and report is computed from them.

mod category;
mod event;
mod record;

pub use category::ErrorCategory;
pub use event::{CallFailure, CallTag, Event, EventKind, RequestKey};
pub use record::{RecordError, TraceError, TraceRecord};
