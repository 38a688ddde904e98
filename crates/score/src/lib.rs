//! What a run means: the vocabulary of traces, and pure metrics, detectors and gates over them.
//!
//! This crate has no clock, no I/O, no async and no randomness: the same records give the same
//! numbers, every time and everywhere. The engine (`mcprove`) produces the records.

pub mod registry;
pub mod trace;
