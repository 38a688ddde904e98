//! The defaults of every scenario: those of the specification where it has them.

use std::time::Duration;

use super::kind::ScenarioKind;
use super::workload::Pattern;

/// Calls in flight, where a scenario has no smaller default.
const CONCURRENT: u32 = 10;
/// How long a load lasts.
const DURATION: Duration = Duration::from_mins(1);
/// How much larger than the baseline a spike is.
pub const SPIKE_MULTIPLIER: u32 = 10;
/// How many steps a ramp has, about.
pub const RAMP_STEPS: u32 = 10;
/// When a call counts as hung.
pub const HANG_THRESHOLD: Duration = Duration::from_secs(5);
/// How long a hung call may still answer late.
pub const GRACE_PERIOD: Duration = Duration::from_secs(10);
/// How long `tools/list` may take in a deadlock probe.
pub const LIST_TIMEOUT: Duration = Duration::from_secs(1);
/// How often a server's processes are looked at, at least.
pub const SAMPLE_INTERVAL_MAX: Duration = Duration::from_secs(10);
/// How fast the mean latency may grow in a soak.
pub const LATENCY_DRIFT_MS_PER_SEC: f64 = 0.5;
/// The most calls in flight in the open model.
pub const MAX_IN_FLIGHT: u32 = 1000;

/// The defaults of `cold_start`.
pub fn cold_start() -> ScenarioKind {
    ScenarioKind::ColdStart {
        iterations: 5,
        warmup: true,
    }
}

/// The defaults of `sustained`.
pub fn sustained() -> ScenarioKind {
    ScenarioKind::Sustained {
        concurrent: CONCURRENT,
        duration: DURATION,
        rate_limit: None,
    }
}

/// The defaults of `spike`.
pub fn spike() -> ScenarioKind {
    ScenarioKind::Spike {
        baseline_concurrent: CONCURRENT,
        spike_concurrent: CONCURRENT * SPIKE_MULTIPLIER,
        baseline_duration: DURATION,
        spike_at: spike_at(DURATION),
        spike_duration: spike_duration(DURATION),
    }
}

/// The burst begins half-way.
pub fn spike_at(duration: Duration) -> Duration {
    duration / 2
}

/// The burst takes a sixth of the run, which leaves a third to recover in.
pub fn spike_duration(duration: Duration) -> Duration {
    duration / 6
}

/// The defaults of `ramp`.
pub fn ramp() -> ScenarioKind {
    ScenarioKind::Ramp {
        from_concurrent: 1,
        to_concurrent: 100,
        step_increment: step_increment(1, 100),
        duration: DURATION,
    }
}

/// The increment that makes about [`RAMP_STEPS`] steps.
pub fn step_increment(from: u32, to: u32) -> u32 {
    (to.saturating_sub(from) / RAMP_STEPS).max(1)
}

/// The defaults of `soak`.
pub fn soak() -> ScenarioKind {
    let duration = Duration::from_hours(1);
    ScenarioKind::Soak {
        concurrent: 4,
        duration,
        sample_interval: sample_interval(duration),
        latency_drift_ms_per_sec: LATENCY_DRIFT_MS_PER_SEC,
    }
}

/// Often enough for twenty samples.
pub fn sample_interval(duration: Duration) -> Duration {
    (duration / 20).clamp(Duration::from_millis(50), SAMPLE_INTERVAL_MAX)
}

/// The defaults of `pattern`, with these patterns.
pub fn pattern(patterns: Vec<Pattern>) -> ScenarioKind {
    ScenarioKind::Pattern {
        concurrent: CONCURRENT,
        duration: DURATION,
        patterns,
    }
}

/// The defaults of `deadlock_probe`.
pub fn deadlock_probe() -> ScenarioKind {
    ScenarioKind::DeadlockProbe {
        concurrent: 20,
        hang_threshold: HANG_THRESHOLD,
        grace_period: GRACE_PERIOD,
        list_timeout: LIST_TIMEOUT,
    }
}

/// The defaults of `race_check`.
pub fn race_check() -> ScenarioKind {
    ScenarioKind::RaceCheck {
        concurrent: 20,
        rounds: 5,
    }
}

/// The defaults of `fuzzer`.
pub fn fuzzer() -> ScenarioKind {
    ScenarioKind::Fuzzer {
        iterations: 1,
        payloads: Vec::new(),
        answer_timeout: Duration::from_secs(2),
    }
}

/// The defaults of `slow_mix`.
pub fn slow_mix() -> ScenarioKind {
    ScenarioKind::SlowMix {
        concurrent: CONCURRENT,
        duration: Duration::from_secs(20),
        slow_share: 0.2,
    }
}

/// The defaults of `reconnect`.
pub fn reconnect() -> ScenarioKind {
    ScenarioKind::Reconnect {
        iterations: 10,
        concurrent: 5,
    }
}

/// The defaults of `churn`.
pub fn churn() -> ScenarioKind {
    ScenarioKind::Churn {
        sessions: 100,
        concurrent: 5,
    }
}

/// The defaults of `early_call`.
pub fn early_call() -> ScenarioKind {
    ScenarioKind::EarlyCall { iterations: 3 }
}

/// The defaults of `interrupted_call`.
pub fn interrupted_call() -> ScenarioKind {
    ScenarioKind::InterruptedCall { iterations: 10 }
}
