//! The kinds of faults: one file each.

pub mod corrupt;
pub mod crash;
pub mod disconnect;
pub mod duplicate;
pub mod empty;
pub mod error;
pub mod flaky;
pub mod hang;
pub mod http_status;
pub mod jitter;
pub mod lose_reply;
pub mod lose_request;
pub mod malformed;
pub mod noise;
pub mod none;
pub mod oversized;
pub mod progress_forever;
pub mod recover_after;
pub mod reorder;
pub mod reply_after_cancel;
pub mod slow;
pub mod tool_error;
pub mod truncated;
pub mod vanish;
pub mod wedged;
pub mod wrong_id;
