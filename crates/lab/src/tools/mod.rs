//! The tools of the lab, one file each.

pub mod announce;
pub mod audio;
pub mod chatty;
pub mod count;
pub mod echo;
pub mod elicit;
pub mod error;
pub mod fail_then_succeed;
pub mod fixed_response;
pub mod flaky;
pub mod headers;
pub mod image;
pub mod long_output;
pub mod lorem;
pub mod progress;
pub mod resource;
pub mod roots;
pub mod sample;
pub mod sized_response;
pub mod slow;
pub mod whoami;
pub mod write;
