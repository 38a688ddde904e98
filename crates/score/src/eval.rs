//! The functions that programs which embed mcptest know, under the path by which they know them.
//!
//! ```
//! use mcprove_score::eval::{meets_recovery_budget, score_recovery, RecoveryObservation};
//!
//! let report = score_recovery(&RecoveryObservation {
//!     call_start_ms: 0,
//!     detected_ms: Some(3_000),
//!     recovered_ms: Some(3_200),
//!     timeout_budget_ms: 3_000,
//! });
//! assert!(report.clean_timeout);
//! assert!(meets_recovery_budget(&report, 5_000));
//! ```
//!
//! And how far runs can be relied on:
//!
//! ```
//! use mcprove_score::eval::reliability::{confidence_band, recommend_runs, summarize};
//!
//! assert_eq!(recommend_runs(0.05, 95), Ok(385));
//! assert_eq!(format!("{:.3}", confidence_band(100, 95).unwrap()), "0.098");
//! assert_eq!(summarize(&[true, true, true, false]).decay_curve, [100, 100, 100, 31]);
//! ```

pub use crate::agent::golden_path::{GoldenPathBlock, score_golden_path};
pub use crate::agent::recovery::{
    self, RecoveryObservation, RecoveryReport, meets_recovery_budget, score_recovery,
};
pub use crate::agent::reliability::{
    self, ReliabilityError, ReliabilitySummary, confidence_band, recommend_runs, summarize,
};
pub use crate::agent::trajectory::{TrajectoryBlock, validate_trace};
pub use mcprove_import::tool_calls_from_envelope;
