//! What the lab was asked, written down: one row per request in a SQLite file, or in memory.
//!
//! [`AuditStore`] writes, [`AuditReader`] reads, at the same time and from other processes too. A
//! [`Filter`] says which rows are wanted.

mod caps;
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

pub use self::{
    caps::*,
    comparison::*,
    error::{AuditError, AuditResult, LossReason},
    export::*,
    filter::*,
    reader::*,
    redact::{redact_header, redact_headers},
    replay::*,
    row::*,
    store::*,
    time::*,
};
pub use super::category::ALL as CATEGORIES;

pub(crate) use self::{
    connection::AuditPlace,
    queue::{Batch, Queue},
    redact::header_texts,
    writer::{Checkpoints, Limits},
};
