//! A load, from its configuration to its report.
//!
//! [`config`] reads what to do, [`drive`] does it (scenarios, drivers, pacer), [`run`] makes a [`Report`](run::Report)
//! of the events and keeps it in a directory, [`report`] makes text of it. [`faulty`] lets calls meet faults.

pub mod config;
pub mod drive;
pub mod faulty;
mod prelude;
pub mod report;
pub mod run;
