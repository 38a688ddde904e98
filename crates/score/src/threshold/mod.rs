//! Whether a run stayed within the limits it was given.
//!
//! Each limit that is set is compared with what was measured, and is held, violated or
//! inconclusive. A percentile without ten samples beyond it ([`percentile`]) is
//! not compared itself: the maximum is, and within the limit it holds, else it is inconclusive. Our
//! own delay only adds to a latency, so a limit that holds is believed even when the generator was
//! the limit ([`generator`](crate::generator)), or [other work](crate::machine) slowed the machine; one that fails then is
//! inconclusive, unless even the fastest call failed it.

use crate::machine::{self, MachineReport};
use crate::prelude::*;

/// What a limit is on.
#[choice(Copy, Eq, PartialOrd, Ord, Hash, Shown)]
#[shown(name)]
#[non_exhaustive]
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
    /// The time of the slowest start.
    Startup,
    /// The share of the tools that may be called that must have succeeded, 0 to 1.
    MinCoverage,
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
            Self::Startup => "startup",
            Self::MinCoverage => "min_coverage",
        }
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
    /// On the time of each start, to the finished handshake.
    pub startup: Option<Duration>,
    /// The least share of the tools that may be called that must have succeeded.
    pub min_coverage: Option<f64>,
}

/// What was measured: percentiles as they are, whatever their support.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Measured {
    /// The tool it is about; `None` for the whole run.
    pub tool: Option<String>,
    /// Successful calls, whose latencies these are.
    pub count: u64,
    /// The shortest.
    pub min: Option<Duration>,
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
    /// The slowest start that was finished.
    pub startup: Option<Duration>,
    /// Starts that failed, so that nobody knows how long they would have taken.
    pub failed_starts: u64,
    /// The share of the tools that may be called that have succeeded.
    pub coverage: f64,
}

/// A limit that was not kept.
#[sparse]
#[data(open, Eq)]
pub struct ThresholdViolation {
    /// What the limit is on.
    pub metric: ThresholdKind,
    /// The limit: `<=500ms`.
    pub expected: String,
    /// What was measured: `812.3ms`.
    pub actual: String,
    /// The tool it is about; none for the whole run.
    pub tool: Option<String>,
}

/// What became of each limit.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Evaluation {
    /// Limits that were not kept.
    pub violations: Vec<ThresholdViolation>,
    /// Limits that could not be judged.
    pub inconclusive: Vec<Verdict>,
    /// Limits that were kept.
    pub held: Vec<ThresholdKind>,
}

/// What became of one limit: whether it was kept, or what was expected and what it was; else why that is not known, and
/// what to try.
type LimitResult = Result<Option<(String, String)>, (String, Message)>;

fn inconclusive(why: impl Into<String>, hint: impl Into<Message>) -> LimitResult {
    Err((why.into(), hint.into()))
}

/// Compares what was measured with the limits. `generator_limited` says what to change when the
/// load generator itself was the limit.
pub fn evaluate(
    measured: &Measured,
    limits: &Limits,
    generator_limited: Option<&Message>,
    machine: &MachineReport,
) -> Evaluation {
    use ThresholdKind::{P50Latency, P95Latency, P99Latency, P999Latency};
    let latencies = [
        (P50Latency, 50.0, limits.p50_latency, measured.p50),
        (P95Latency, 95.0, limits.p95_latency, measured.p95),
        (P99Latency, 99.0, limits.p99_latency, measured.p99),
        (P999Latency, 99.9, limits.p999_latency, measured.p999),
    ]
    .map(|(kind, percentile, limit, actual)| {
        let judge = |limit| {
            let excuse = excuse(measured, limit, generator_limited, machine);
            judge_latency(measured, percentile, limit, actual, excuse)
        };
        (kind, limit.map(judge))
    });
    let rate = share(measured.failed, measured.attempted);
    let errors = limits.error_rate.map(|limit| match rate {
        Some(rate) => judge_number(rate * 100.0, limit * 100.0, "%"),
        None => inconclusive("no call was made", "run longer, or with more calls"),
    });
    let growth = measured.memory_growth_mb.and_then(finite);
    let memory = limits.memory_growth_mb.map(|limit| match growth {
        Some(growth) => judge_number(growth, limit, "MB"),
        None => inconclusive(
            "the server's memory was not sampled, or not regularly enough to measure its growth",
            "run longer, against a server that mcprove starts itself",
        ),
    });
    let others = [
        (ThresholdKind::ErrorRate, errors),
        (ThresholdKind::MemoryGrowthMb, memory),
        (
            ThresholdKind::Startup,
            limits.startup.map(|limit| judge_startup(measured, limit)),
        ),
        (
            ThresholdKind::MinCoverage,
            limits
                .min_coverage
                .map(|limit| judge_coverage(measured.coverage, limit)),
        ),
    ];
    let tool = &measured.tool;
    let of = tool
        .as_ref()
        .map_or_else(Message::default, |tool| sentence!(" of {}", quoted(tool)));
    let mut evaluation = Evaluation::default();
    for (metric, judged) in latencies.into_iter().chain(others) {
        match judged {
            None => {}
            Some(Ok(None)) => evaluation.held.push(metric),
            Some(Ok(Some((expected, actual)))) => {
                evaluation.violations.push(ThresholdViolation {
                    metric,
                    expected,
                    actual,
                    tool: tool.clone(),
                });
            }
            Some(Err((why, hint))) => {
                let sentence = sentence!("The limit {metric}{of} could not be judged: {why}.");
                let verdict = Verdict::inconclusive(metric.name(), sentence, hint);
                evaluation.inconclusive.push(verdict);
            }
        }
    }
    evaluation
}

/// What else than the server may have added to a latency that is over its limit, and what to change.
fn excuse(
    measured: &Measured,
    limit: Duration,
    generator_limited: Option<&Message>,
    machine: &MachineReport,
) -> Option<(&'static str, Message)> {
    if let Some(change) = generator_limited {
        return Some(("the load generator itself was the limit", change.clone()));
    }
    // Nothing speeds a call up, and half of them are no accident.
    let median = measured.p50.unwrap_or_default().as_secs_f64();
    let is_possible = measured.min.is_some_and(|fastest| fastest <= limit)
        && machine.explains(limit.as_secs_f64(), median);
    is_possible.then(|| {
        (
            "other programs kept this machine busy",
            machine::quiet_hint(),
        )
    })
}

fn judge_latency(
    measured: &Measured,
    percentile: f64,
    limit: Duration,
    actual: Option<Duration>,
    excuse: Option<(&str, Message)>,
) -> LimitResult {
    if measured.count == 0 {
        return inconclusive("no call succeeded", "look at the errors first");
    }
    let is_supported = percentile::is_supported(measured.count, percentile);
    let Some(compared) = (if is_supported { actual } else { measured.max }) else {
        return inconclusive("no latency was measured", "run again with metrics on");
    };
    if compared <= limit {
        return Ok(None);
    }
    let [actual_ms, limit_ms] = [compared, limit].map(|time| time.as_secs_f64() * 1000.0);
    let digits = if actual_ms >= 10.0 {
        &[1, 3, 6]
    } else {
        &[3, 6][..]
    };
    let actual = format!("{}ms", above(actual_ms, limit_ms, digits));
    if !is_supported {
        let needed = percentile::samples_needed(percentile).unwrap_or(u64::MAX);
        let more = counted(needed.saturating_sub(measured.count), "more call");
        return inconclusive(
            format!(
                "{} {} too few for p{percentile}, and the slowest took {actual}",
                counted(measured.count, "call"),
                are(measured.count),
            ),
            format!("make at least {more} in the same run"),
        );
    }
    match excuse {
        Some((what, change)) => inconclusive(
            format!("it was {actual}, but {what} and may have added to it"),
            change,
        ),
        None => Ok(Some((format!("<={}ms", decimal(limit_ms, 6)), actual))),
    }
}

fn judge_startup(measured: &Measured, limit: Duration) -> LimitResult {
    let limit_ms = limit.as_secs_f64() * 1000.0;
    match measured.startup {
        Some(slowest) if slowest > limit => {
            let slowest_ms = slowest.as_secs_f64() * 1000.0;
            let actual = above(slowest_ms, limit_ms, &[1, 3, 6]);
            Ok(Some((
                format!("<={}ms", decimal(limit_ms, 6)),
                format!("{actual}ms"),
            )))
        }
        Some(_) if measured.failed_starts == 0 => Ok(None),
        Some(_) => inconclusive(
            format!(
                "{} failed, so it is not known how long it takes",
                counted(measured.failed_starts, "start")
            ),
            "look at the starts that failed first",
        ),
        None => inconclusive("no start was timed", "run it again with this version"),
    }
}

fn judge_coverage(actual: f64, limit: f64) -> LimitResult {
    if limit.is_nan() || actual.is_nan() {
        inconclusive("it is not a number", "give a number")
    } else if actual >= limit {
        Ok(None)
    } else {
        Ok(Some((
            format!(">={}%", decimal(limit * 100.0, 4)),
            // Rounded down, so that it never reads like the limit.
            format!("{}%", decimal((actual * 1e4).floor() / 1e2, 2)),
        )))
    }
}

fn judge_number(actual: f64, limit: f64, unit: &str) -> LimitResult {
    if limit.is_nan() {
        inconclusive("it is not a number", "give a number")
    } else if actual <= limit {
        Ok(None)
    } else {
        Ok(Some((
            format!("<={}{unit}", decimal(limit, 4)),
            format!("{}{unit}", above(actual, limit, &[2, 4, 8, 12])),
        )))
    }
}

/// A number over its limit in as few digits as show that it is.
fn above(actual: f64, limit: f64, digits: &[usize]) -> String {
    let shown = digits.iter().map(|digits| decimal(actual, *digits));
    shown
        .into_iter()
        .find(|text| text.parse::<f64>().is_ok_and(|shown| shown > limit))
        .unwrap_or_else(|| actual.to_string())
}

#[cfg(test)]
mod tests;
