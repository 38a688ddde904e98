//! What most files of this crate use: JSON and schemas, the limits, and what is asked of a place.

pub use mcprove_trace::prelude::*;
pub use mcprove_trace::words::tokens;

pub use crate::Choice;
pub use crate::document::{Document, REFERENCES, Target};
pub use crate::error::{ArgumentsError, Result};
pub use crate::limits::*;
pub use crate::pattern::Pattern;
pub use crate::place::{Carriers, Making};
pub use crate::requirements::{JsonType, Requirements};
pub use crate::validation::Validator;
