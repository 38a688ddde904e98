//! The vocabulary of a run: what happened (events), how a call can fail (categories), and what an
//! agent did (agent traces).
//!
//! Engines emit [`Event`]s; every trace, metric and report is computed from them. An
//! [`AgentTrace`] is read from a file, in its own format or imported from another tool's.

mod agent;
pub mod budget;
pub mod canonical;
mod category;
pub mod decision;
mod event;
mod fault;
pub mod guarded;
pub mod hang;
mod json;
pub mod panic_guard;
pub mod prelude;
pub mod protocol;
mod record;
pub mod sparse;
pub mod stream;
mod strike;
pub mod verbs;
pub mod whole;
pub mod word_lists;
pub mod words;

use std::pin::Pin;

pub use agent::*;
pub use category::ErrorCategory;
pub use event::*;
pub use fault::*;
pub use json::Json;
pub use record::*;
pub use strike::Strike;

/// A future that can be kept and sent to another thread.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;
