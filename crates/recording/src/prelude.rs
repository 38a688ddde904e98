//! What the files of this crate use together.

pub use std::io::Write;
pub use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

pub use mcprove_fault::PastCalls;
pub use mcprove_trace::prelude::*;

pub use crate::file::Shared;
pub use crate::session::readable;
