//! What most files of the proxy over stdio use.

pub use super::ending::{End, both};
pub use super::flow::{Flow, Scanned};
pub use super::hub::Hub;
pub use super::lane::{Lane, count_lines};
pub use super::pump::pump;
pub use crate::prelude::*;
