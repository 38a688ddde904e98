//! What `mcprove score --json` prints: a report, with the version of its format.

use crate::gate::ScoreReport;
use crate::prelude::*;

/// The version of the format.
const SCHEMA: &str = "score.v1";

/// A scored trace for programs (format `score.v1`).
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(title = "ScoreReport")]
pub struct ScoreDocument<'a> {
    /// The version of this format: `score.v1`.
    pub schema: String,
    /// What came of it.
    #[serde(flatten)]
    pub report: &'a ScoreReport,
}

impl<'a> ScoreDocument<'a> {
    /// Of a report.
    pub fn new(report: &'a ScoreReport) -> Self {
        Self {
            schema: SCHEMA.to_owned(),
            report,
        }
    }
}
