//! What injected faults did, in a report.

use mcprove_score::fault_impact::FaultImpact;

use crate::prelude::*;

/// What injected faults did. The calls that they struck are in no other number of the report: these are
/// of calls that met no fault, or failed as it cannot make them, and so are the limits.
#[sparse]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FaultsReport {
    /// Calls that a fault struck.
    pub calls_struck: u64,
    /// Those of them that failed.
    pub calls_failed: u64,
    /// Calls that no fault struck and that were lost with a connection that a fault ended.
    pub calls_lost: u64,
    /// Calls that a fault struck and that failed as it cannot make them: these are in the other numbers
    /// too, and count against the server.
    #[serde(default)]
    pub servers_own: u64,
    /// Connections that a fault ended and that were too many to be remembered: calls that were lost with
    /// them count against the server.
    #[sparse]
    pub connections_forgotten: u64,
    /// Calls that were too many different ones to tell their repetitions apart: a fault with a rate
    /// chooses among these as if each came for the first time.
    #[sparse]
    pub calls_forgotten: u64,
    /// Processes of the server that a fault ended.
    pub crashes: u64,
    /// Fault by fault.
    pub impacts: Vec<FaultImpact>,
}
