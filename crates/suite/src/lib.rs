//! The files that people write: text in, plans out.
//!
//! A text becomes a tree of positioned values ([`document`]), whatever its format. A reader takes
//! the tree apart and collects every problem with its place ([`ConfigErrors`]). [`load`] is the
//! configuration of a load run; `run` carries out what comes of it. [`gates`] is what agent traces
//! are held to, and [`traces`] are those that are scored together. [`mock`] is what a mock server is made
//! of, and [`faults`] are those that it meets. [`file`](mod@file) is a suite, which has all of these, and
//! [`plan`] is what comes of it. [`check`](fn@check) takes any of them, and only tells what is wrong.

pub mod agent;
mod check;
mod error;
pub mod file;
pub mod gates;
pub mod init;
pub mod junit;
pub mod plan;
mod prelude;
mod recognise;
pub mod report;
pub mod run;
pub mod traces;

pub use check::{
    CheckedFile, FileKind, Problem, VALIDATION_FORMAT, Validation, check, check_empty_folder,
    validation_document,
};
pub use recognise::{Recognised, recognise_file};
