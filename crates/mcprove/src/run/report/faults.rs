//! What injected faults did, in a report.

use mcprove_score::fault_impact::FaultImpact;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What injected faults did. The calls that they struck are in no other number of the report: these are
/// of calls that met no fault, and so are the limits.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FaultsReport {
    /// Calls that a fault struck.
    pub calls_struck: u64,
    /// Those of them that failed.
    pub calls_failed: u64,
    /// Calls that no fault struck and that were lost with a connection that a fault ended.
    pub calls_lost: u64,
    /// Processes of the server that a fault ended.
    pub crashes: u64,
    /// Fault by fault.
    pub impacts: Vec<FaultImpact>,
}
