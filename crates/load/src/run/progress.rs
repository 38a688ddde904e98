//! How a run goes, for a live view.

use std::time::Duration;

/// The state of a run at one moment.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Progress {
    /// Since the run started.
    pub elapsed: Duration,
    /// Until the load ends, where that is known.
    pub remaining: Option<Duration>,
    /// The share of a scenario that counts steps, from 0 to 1.
    pub share: Option<f64>,
    /// Calls that ended so far.
    pub completed: u64,
    /// Of these, calls that failed.
    pub failed: u64,
    /// Calls per second, lately; none until a call ended.
    pub rate: Option<f64>,
    /// Calls under way.
    pub in_flight: u64,
    /// The median latency, lately.
    pub p50: Option<Duration>,
    /// The 99th percentile, lately.
    pub p99: Option<Duration>,
    /// The memory of the server's processes, in MB.
    pub rss_mb: Option<f64>,
}
