//! The files that people write: text in, plans out.
//!
//! A text becomes a tree of positioned values ([`document`]), whatever its format. A reader takes
//! the tree apart and collects every problem with its place ([`ConfigErrors`]). [`load`] is the
//! configuration of a load run; `run` carries out what comes of it.

pub mod document;
mod error;
pub mod load;
pub(crate) mod reader;

pub use error::{ConfigError, ConfigErrors, Excerpt, Place};
pub use load::{Format, LoadConfig, OutputSettings, SessionSettings};
