//! Checks of one server: does it answer at all, and does it keep to the protocol.

pub mod diagnosis;
pub mod health;
pub mod negative_path;
pub mod pulse;
pub mod report;
pub mod tool_result;
