//! What the lab was asked, written down: one row per request in a SQLite file, or in memory.
//!
//! [`AuditStore`] writes, [`AuditReader`] reads, at the same time and from other processes too. A
//! [`Filter`] says which rows are wanted.

mod caps;
mod cell;
mod checkpoint;
mod comparison;
mod connection;
mod error;
mod export;
mod filter;
mod queue;
mod reader;
mod redact;
mod replay;
mod row;
mod schema;
mod store;
mod time;
mod writer;

#[cfg(test)]
mod crash;
#[cfg(test)]
mod tests;

pub use super::category::ALL as CATEGORIES;
pub use caps::Caps;
pub use cell::Cell;
use cell::Column;
use checkpoint::Checkpoints;
pub use comparison::{COMPARISON_FORMAT, Difference, RowComparison};
use connection::Place;
pub use error::AuditError;
use error::LOCKED;
pub use export::ExportFormat;
pub use filter::{ArgumentError, ArgumentFilter, Filter, Order};
use queue::{Batch, Queue};
pub use reader::{AuditReader, Rows};
pub(crate) use redact::header_texts;
pub use redact::{redact_header, redact_headers};
pub use replay::{Caller, CallerAnswer, CallerFailure, Replay, ReplayError};
pub use row::{AUDIT_FORMAT, AuditList, AuditRow, COLUMNS};
pub use store::{AuditOptions, AuditStore, MEMORY_BYTES, MEMORY_ROWS};
pub use time::{TimeError, format_time, parse_time};
use writer::Limits;
