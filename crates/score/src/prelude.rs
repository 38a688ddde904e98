//! What every detector uses: numbers, words, and the verdict that it ends in.

pub use mcprove_settings::message::{Message, message, setting, tee_stderr};
pub use mcprove_settings::number::{
    count, finite, float, float_len, median, ratio, share, truncated, truncated_len,
};
pub use mcprove_settings::phrase::{self, are, decimal, milliseconds, percent, were, whole};
pub use schemars::JsonSchema;
pub use serde::{Deserialize, Serialize};

pub use crate::verdict::{Outcome, Severity, Verdict};
