//! Whether a run stayed within the limits it was given.
//!
//! Each limit that is set is compared with what was measured, and is held, violated or
//! inconclusive. A percentile without ten samples beyond it ([`percentile`]) is
//! not compared itself: the maximum is, and within the limit it holds, else it is inconclusive. Our
//! own delay only adds to a latency, so a limit that holds is believed even when the generator was
//! the limit ([`generator`](crate::generator)); one that fails then is inconclusive.

use core::time::Duration;

use mcprove_settings::number::{finite, share};
use mcprove_settings::phrase;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::percentile;
use crate::verdict::Verdict;

/// What a limit is on.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum ThresholdKind {
    /// The median latency.
    P50Latency,
    /// The latency that 95 % of the calls stay within.
    P95Latency,
    /// The latency that 99 % of the calls stay within.
    P99Latency,
    /// The latency that 99.9 % of the calls stay within.
    P999Latency,
    /// Failed calls over attempted ones, 0 to 1.
    ErrorRate,
    /// Growth of the server's memory over the run, in MB.
    MemoryGrowthMb,
}

impl ThresholdKind {
    /// The name in files and on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::P50Latency => "p50_latency",
            Self::P95Latency => "p95_latency",
            Self::P99Latency => "p99_latency",
            Self::P999Latency => "p999_latency",
            Self::ErrorRate => "error_rate",
            Self::MemoryGrowthMb => "memory_growth_mb",
        }
    }
}

impl std::fmt::Display for ThresholdKind {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(self.name())
    }
}

/// The limits of a run, or of one tool; `None` is no limit.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Limits {
    /// On the median latency.
    pub p50_latency: Option<Duration>,
    /// On the 95th percentile.
    pub p95_latency: Option<Duration>,
    /// On the 99th percentile.
    pub p99_latency: Option<Duration>,
    /// On the 99.9th percentile.
    pub p999_latency: Option<Duration>,
    /// On failed over attempted, 0 to 1.
    pub error_rate: Option<f64>,
    /// On the growth of the server's memory, in MB.
    pub memory_growth_mb: Option<f64>,
}

/// What was measured: percentiles as they are, whatever their support.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Measured {
    /// The tool it is about; `None` for the whole run.
    pub tool: Option<String>,
    /// Successful calls, whose latencies these are.
    pub count: u64,
    /// The median latency.
    pub p50: Option<Duration>,
    /// The 95th percentile.
    pub p95: Option<Duration>,
    /// The 99th percentile.
    pub p99: Option<Duration>,
    /// The 99.9th percentile.
    pub p999: Option<Duration>,
    /// The longest.
    pub max: Option<Duration>,
    /// Calls made.
    pub attempted: u64,
    /// Calls that failed.
    pub failed: u64,
    /// Predicted growth of the server's memory; `None` when it is not known.
    pub memory_growth_mb: Option<f64>,
}

/// A limit that was not kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ThresholdViolation {
    /// What the limit is on.
    pub metric: ThresholdKind,
    /// The limit: `<=500ms`.
    pub expected: String,
    /// What was measured: `812.3ms`.
    pub actual: String,
    /// The tool it is about; none for the whole run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
}

/// What became of each limit.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Evaluation {
    /// Limits that were not kept.
    pub violations: Vec<ThresholdViolation>,
    /// Limits that could not be judged.
    pub inconclusive: Vec<Verdict>,
    /// Limits that were kept.
    pub held: Vec<ThresholdKind>,
}

/// What became of one limit.
enum Judged {
    Held,
    Violated { expected: String, actual: String },
    Inconclusive { why: String, hint: String },
}

/// Compares what was measured with the limits. `generator_limited` says what to change when the
/// load generator itself was the limit.
pub fn evaluate(
    measured: &Measured,
    limits: &Limits,
    generator_limited: Option<&str>,
) -> Evaluation {
    let mut evaluation = Evaluation::default();
    let latencies = [
        (
            ThresholdKind::P50Latency,
            50.0,
            limits.p50_latency,
            measured.p50,
        ),
        (
            ThresholdKind::P95Latency,
            95.0,
            limits.p95_latency,
            measured.p95,
        ),
        (
            ThresholdKind::P99Latency,
            99.0,
            limits.p99_latency,
            measured.p99,
        ),
        (
            ThresholdKind::P999Latency,
            99.9,
            limits.p999_latency,
            measured.p999,
        ),
    ];
    for (kind, percentile, limit, actual) in latencies {
        if let Some(limit) = limit {
            let judged = judge_latency(measured, percentile, limit, actual, generator_limited);
            evaluation.add(kind, measured, judged);
        }
    }
    if let Some(limit) = limits.error_rate {
        evaluation.add(
            ThresholdKind::ErrorRate,
            measured,
            judge_errors(measured, limit),
        );
    }
    if let Some(limit) = limits.memory_growth_mb {
        evaluation.add(
            ThresholdKind::MemoryGrowthMb,
            measured,
            judge_memory(measured, limit),
        );
    }
    evaluation
}

impl Evaluation {
    fn add(&mut self, metric: ThresholdKind, measured: &Measured, judged: Judged) {
        match judged {
            Judged::Held => self.held.push(metric),
            Judged::Violated { expected, actual } => self.violations.push(ThresholdViolation {
                metric,
                expected,
                actual,
                tool: measured.tool.clone(),
            }),
            Judged::Inconclusive { why, hint } => {
                let of = measured
                    .tool
                    .as_ref()
                    .map_or(String::new(), |tool| format!(" of {}", phrase::name(tool)));
                let sentence = format!("The limit {metric}{of} could not be judged: {why}.");
                self.inconclusive
                    .push(Verdict::inconclusive(metric.name(), sentence, hint));
            }
        }
    }
}

fn judge_latency(
    measured: &Measured,
    percentile: f64,
    limit: Duration,
    actual: Option<Duration>,
    generator_limited: Option<&str>,
) -> Judged {
    let inconclusive = |why: String, hint: &str| Judged::Inconclusive {
        why,
        hint: hint.to_owned(),
    };
    if measured.count == 0 {
        return inconclusive("no call succeeded".into(), "look at the errors first");
    }
    let is_supported = percentile::is_supported(measured.count, percentile);
    let Some(compared) = (if is_supported { actual } else { measured.max }) else {
        return inconclusive(
            "no latency was measured".into(),
            "run again with metrics on",
        );
    };
    if compared <= limit {
        return Judged::Held;
    }
    if !is_supported {
        let needed = percentile::samples_needed(percentile).unwrap_or(u64::MAX);
        let more = needed.saturating_sub(measured.count);
        return inconclusive(
            format!(
                "{} {} too few for p{percentile}, and the slowest took {}",
                phrase::count(measured.count, "call"),
                phrase::are(measured.count),
                exact_ms(compared, limit)
            ),
            &format!(
                "make at least {} in the same run",
                phrase::count(more, "more call")
            ),
        );
    }
    if let Some(change) = generator_limited {
        return inconclusive(
            format!(
                "it was {}, but the load generator itself was the limit and may have added to it",
                exact_ms(compared, limit)
            ),
            change,
        );
    }
    Judged::Violated {
        expected: format!("<={}ms", limit_ms(limit)),
        actual: exact_ms(compared, limit),
    }
}

fn judge_errors(measured: &Measured, limit: f64) -> Judged {
    let Some(rate) = share(measured.failed, measured.attempted) else {
        return Judged::Inconclusive {
            why: "no call was made".into(),
            hint: "run longer, or with more calls".into(),
        };
    };
    judge_number(rate * 100.0, limit * 100.0, "%")
}

fn judge_memory(measured: &Measured, limit: f64) -> Judged {
    match measured.memory_growth_mb.and_then(finite) {
        Some(growth) => judge_number(growth, limit, "MB"),
        None => Judged::Inconclusive {
            why: "the server's memory was not sampled, or not steadily enough to tell its growth"
                .into(),
            hint: "run longer, against a server that mcprove starts itself".into(),
        },
    }
}

fn judge_number(actual: f64, limit: f64, unit: &str) -> Judged {
    if limit.is_nan() {
        Judged::Inconclusive {
            why: "it is not a number".into(),
            hint: "give a number".into(),
        }
    } else if actual <= limit {
        Judged::Held
    } else {
        let expected = phrase::decimal(limit, 4);
        // As few digits as show that it is more.
        let actual = [2, 4, 8, 12]
            .into_iter()
            .map(|digits| phrase::decimal(actual, digits))
            .find(|text| text.parse::<f64>().is_ok_and(|shown| shown > limit))
            .unwrap_or_else(|| actual.to_string());
        Judged::Violated {
            expected: format!("<={expected}{unit}"),
            actual: format!("{actual}{unit}"),
        }
    }
}

fn limit_ms(limit: Duration) -> String {
    phrase::decimal(limit.as_secs_f64() * 1000.0, 6)
}

/// A latency over its limit in as few digits as show that it is.
fn exact_ms(actual: Duration, limit: Duration) -> String {
    let (actual_ms, limit_ms) = (actual.as_secs_f64() * 1000.0, limit.as_secs_f64() * 1000.0);
    let text = [1, 3, 6]
        .into_iter()
        .filter(|digits| *digits > 1 || actual_ms >= 10.0)
        .map(|digits| phrase::decimal(actual_ms, digits))
        .find(|text| text.parse::<f64>().is_ok_and(|shown| shown > limit_ms))
        .unwrap_or_else(|| actual_ms.to_string());
    format!("{text}ms")
}

#[cfg(test)]
mod tests;
