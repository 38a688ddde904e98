//! What a run must keep to, overall and tool by tool.

use std::collections::BTreeMap;
use std::time::Duration;

use mcprove_score::threshold::Limits;
use mcprove_settings::quantity::{optional_seconds, seconds};
use serde::{Deserialize, Serialize};

use crate::drive::defaults;

/// Limits of a run; each that is set is checked at the end.
///
/// ```
/// use std::time::Duration;
/// use mcprove_load::run::Thresholds;
///
/// let thresholds = Thresholds {
///     p99_latency: Some(Duration::from_millis(500)),
///     error_rate: Some(0.01),
///     ..Default::default()
/// };
/// assert_eq!(thresholds.hang_timeout, Duration::from_secs(5));
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Thresholds {
    /// The median latency.
    #[serde(with = "optional_seconds", skip_serializing_if = "Option::is_none")]
    pub p50_latency: Option<Duration>,
    /// The latency that 95 % of the calls keep to.
    #[serde(with = "optional_seconds", skip_serializing_if = "Option::is_none")]
    pub p95_latency: Option<Duration>,
    /// The latency that 99 % of the calls keep to.
    #[serde(with = "optional_seconds", skip_serializing_if = "Option::is_none")]
    pub p99_latency: Option<Duration>,
    /// The latency that 99.9 % of the calls keep to.
    #[serde(with = "optional_seconds", skip_serializing_if = "Option::is_none")]
    pub p999_latency: Option<Duration>,
    /// The share of calls that may fail, from 0 to 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error_rate: Option<f64>,
    /// When a call counts as hung.
    #[serde(with = "seconds")]
    pub hang_timeout: Duration,
    /// How long a hung call may still answer late; after that it is a deadlock.
    #[serde(with = "seconds")]
    pub grace_period: Duration,
    /// How much the server's memory may grow during the run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory_growth_mb: Option<f64>,
    /// Limits for single tools, by name.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub tools: BTreeMap<String, ToolThresholds>,
}

/// Limits for one tool.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ToolThresholds {
    /// The median latency.
    #[serde(with = "optional_seconds", skip_serializing_if = "Option::is_none")]
    pub p50_latency: Option<Duration>,
    /// The latency that 95 % of the calls keep to.
    #[serde(with = "optional_seconds", skip_serializing_if = "Option::is_none")]
    pub p95_latency: Option<Duration>,
    /// The latency that 99 % of the calls keep to.
    #[serde(with = "optional_seconds", skip_serializing_if = "Option::is_none")]
    pub p99_latency: Option<Duration>,
    /// The latency that 99.9 % of the calls keep to.
    #[serde(with = "optional_seconds", skip_serializing_if = "Option::is_none")]
    pub p999_latency: Option<Duration>,
    /// The share of calls that may fail, from 0 to 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error_rate: Option<f64>,
}

impl Default for Thresholds {
    fn default() -> Self {
        Self {
            p50_latency: None,
            p95_latency: None,
            p99_latency: None,
            p999_latency: None,
            error_rate: None,
            hang_timeout: defaults::HANG_THRESHOLD,
            grace_period: defaults::GRACE_PERIOD,
            memory_growth_mb: None,
            tools: BTreeMap::new(),
        }
    }
}

impl Thresholds {
    /// The limits for all calls together.
    pub(crate) fn limits(&self) -> Limits {
        Limits {
            p50_latency: self.p50_latency,
            p95_latency: self.p95_latency,
            p99_latency: self.p99_latency,
            p999_latency: self.p999_latency,
            error_rate: self.error_rate,
            memory_growth_mb: self.memory_growth_mb,
        }
    }
}

impl ToolThresholds {
    /// The limits for this tool.
    pub(crate) fn limits(&self) -> Limits {
        Limits {
            p50_latency: self.p50_latency,
            p95_latency: self.p95_latency,
            p99_latency: self.p99_latency,
            p999_latency: self.p999_latency,
            error_rate: self.error_rate,
            memory_growth_mb: None,
        }
    }
}
