//! Loads on built-in and real servers, through the library and through the command.

// The helpers of tests are tests too; clippy knows only the functions themselves as such.
#![allow(clippy::unwrap_used)]

#[path = "load/growth.rs"]
mod growth;
#[path = "load/honest.rs"]
mod honest;
#[path = "load/matrix.rs"]
mod matrix;
#[path = "load/noise.rs"]
mod noise;
#[path = "load/real.rs"]
mod real;
#[path = "load/starts.rs"]
mod starts;
#[path = "load/support.rs"]
mod support;
