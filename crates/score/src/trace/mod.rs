//! The vocabulary of a run: what happened (events), and how a call can fail (categories).
//!
//! Engines emit [`Event`]s; every trace, metric and report is computed from them.

mod category;



pub use category::ErrorCategory;
