//! What a run must keep to, overall and tool by tool.

use crate::prelude::*;
use mcprove_score::threshold::Limits;

pub use mcprove_score::verdict::FailOn;

/// Limits with those that a run and a tool have in common.
macro_rules! thresholds {
    ($(#[$attribute:meta])* $name:ident { $($own:tt)* }) => {
        $(#[$attribute])*
        #[serde(default)]
        pub struct $name {
            /// Fail when the median latency is above this.
            #[setting(flag = "p50", otherwise = "none")]
            #[serde(with = "optional_seconds")]
            pub p50_latency: Option<Duration>,
            /// Fail when the 95th percentile is above this.
            #[setting(flag = "p95", otherwise = "none")]
            #[serde(with = "optional_seconds")]
            pub p95_latency: Option<Duration>,
            /// Fail when the 99th percentile is above this.
            #[setting(flag = "p99", otherwise = "none")]
            #[serde(with = "optional_seconds")]
            pub p99_latency: Option<Duration>,
            /// Fail when the 99.9th percentile is above this.
            #[setting(flag = "p999", otherwise = "none")]
            #[serde(with = "optional_seconds")]
            pub p999_latency: Option<Duration>,
            /// Fail when a larger share of calls fails; 0.01 is 1 %.
            #[setting(kind = SHARE, otherwise = "none")]
            pub error_rate: Option<f64>,
            $($own)*
        }

        impl $name {
            /// The limits of calls.
            pub(crate) fn limits(&self) -> Limits {
                Limits {
                    p50_latency: self.p50_latency,
                    p95_latency: self.p95_latency,
                    p99_latency: self.p99_latency,
                    p999_latency: self.p999_latency,
                    error_rate: self.error_rate,
                    ..Limits::default()
                }
            }
        }
    };
}

thresholds! {
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
    #[sparse]
    #[stored(Settings)]
    Thresholds {
        #[setting(like = HangLimits::THRESHOLD)]
        #[serde(with = "seconds")]
        pub hang_timeout: Duration,
        #[setting(like = HangLimits::GRACE)]
        #[serde(with = "seconds")]
        pub grace_period: Duration,
        #[setting(like = HangLimits::MAX_WAIT)]
        #[serde(with = "seconds")]
        pub max_wait: Duration,
        /// Fail when the server's memory grows by more, in MB.
        #[setting(otherwise = "none; soak 50")]
        pub memory_growth_mb: Option<f64>,
        /// Fail when a start takes longer, from starting or reaching the server to the finished handshake.
        #[setting(flag = "max-startup", otherwise = "none")]
        #[serde(with = "optional_seconds")]
        pub startup: Option<Duration>,
        /// Fail when a smaller share of the listed tools that may be called succeeds at least once; 0.8 is 80 %.
        #[setting(kind = SHARE, otherwise = "none")]
        pub min_coverage: Option<f64>,
        /// Which findings make the run fail.
        #[setting(default = "critical")]
        pub fail_on: FailOn,
        /// Limits for single tools, by name.
        #[setting(otherwise = "none", flag = false)]
        #[sparse]
        pub tools: BTreeMap<String, ToolThresholds>,
    }
}

thresholds! {
    /// Limits for one tool.
    #[sparse]
    #[stored(Copy, Default, Settings)]
    ToolThresholds {}
}

impl Thresholds {
    /// When the calls of a scenario without limits of its own count as hung, and as what then.
    pub(crate) fn hang_limits(&self) -> HangLimits {
        HangLimits {
            threshold: self.hang_timeout,
            grace: self.grace_period,
            max_wait: self.max_wait,
        }
    }
}

/// What is wrong where calls are given up before it is known what they are: a probe for hung calls would find none.
pub(crate) fn too_short(
    scenario: &ScenarioKind,
    thresholds: &Thresholds,
    call_timeout: Option<Duration>,
) -> Option<Diagnostic> {
    let limits = scenario.hang_limits(thresholds);
    let least = limits.judged_after();
    let is_probe = scenario.as_type().judging().judges_hangs;
    let name = match call_timeout {
        Some(timeout) if is_probe && timeout < least => "call_timeout",
        _ if limits.max_wait < least && limits.max_wait != HangLimits::default().max_wait => {
            "max_wait"
        }
        _ => return None,
    };
    let least = describe_duration(least);
    Some(Diagnostic::new(
        sentence!(
            "{} is shorter than the hang threshold and the grace period together ({least}), when a call without an answer is judged",
            setting(name)
        ),
        sentence!("set {} to at least {least}, or leave it out", setting(name)),
    ))
}

impl Default for Thresholds {
    fn default() -> Self {
        Self::initial()
    }
}
