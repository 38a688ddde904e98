//! A slow tool among a fast one: does a slow call hold up all others?
//!
//! First the fast tool alone, then both together. Which is which is told by the order of the tools
//! that were named; without names, every tool is tried once and the extremes are taken.

use std::sync::Arc;
use std::time::Duration;

use mcprove_client::session::Session;
use mcprove_settings::quantity::describe_duration;
use mcprove_settings::registry::{DefaultValue, Setting};
use mcprove_trace::ErrorCategory;
use mcprove_trace::protocol::Tool;
use serde_json::json;

use super::Entry;
use super::sustained::CONCURRENT;
use crate::drive::defaults;
use crate::drive::definition::LoadSettings;
use crate::drive::error::StageError;
use crate::drive::executor::LoadPlan;
use crate::drive::mix::{Mix, ReadyCall, calls_for};
use crate::drive::schedule::Schedule;
use crate::drive::stage::Stage;
use crate::drive::workload::ToolCall;

/// The phase in which only the fast tool is called.
pub const FAST_ALONE: &str = "fast alone";
/// The phase in which both are called.
pub const MIXED: &str = "mixed";
/// The share of the time that the fast tool has for itself.
const ALONE_PARTS: u32 = 4;

/// How long an answer is waited for at least when the slowest tool is looked for.
const TRIAL_TIMEOUT_MIN: Duration = Duration::from_secs(5);

/// The line in the registry.
pub(super) const ENTRY: Entry = Entry {
    name: "slow_mix",
    explanation: "a slow tool among a fast one: does the slow one hold up the fast one?",
    settings: &[
        CONCURRENT,
        Setting {
            name: "duration",
            explanation: "how long the load lasts",
            default: DefaultValue::Text("20s"),
        },
        Setting {
            name: "slow_share",
            explanation: "the share of calls that go to the slow tool, the second one named",
            default: DefaultValue::Number(0.2),
        },
    ],
    build: |_| defaults::slow_mix(),
};

pub(super) fn plan(
    load: &LoadSettings,
    concurrent: u32,
    duration: Duration,
    slow_share: f64,
) -> Result<LoadPlan, StageError> {
    if !(0.0..1.0).contains(&slow_share) || slow_share == 0.0 {
        return Err(StageError::Config(format!(
            "slow_share is {slow_share}, and must be more than 0 and less than 1"
        )));
    }
    let alone = duration / ALONE_PARTS;
    Ok(LoadPlan {
        schedule: Schedule::default()
            .warm_up(load.warmup, concurrent)
            .add(FAST_ALONE, alone, concurrent, true, 0)
            .add(MIXED, duration.saturating_sub(alone), concurrent, true, 1),
        mixes: Box::new(move |stage, session, tools| {
            Box::pin(async move {
                let Choice {
                    fast,
                    slow,
                    left_out,
                } = choose(stage, session, tools).await?;
                let recorder = stage.stream.recorder();
                recorder.note(
                    "slow_mix",
                    "",
                    &json!({
                        "fast": fast.name,
                        "slow": slow.name,
                        "left_out": left_out,
                        "limit_ms": u64::try_from(trial_limit(stage).as_millis()).unwrap_or(u64::MAX),
                    }),
                );
                let mixed = [
                    fast.clone().weight(1.0 - slow_share),
                    slow.weight(slow_share),
                ];
                Ok(Arc::new(vec![
                    Mix::of_calls(stage, session, tools, &[fast.weight(1.0)])?,
                    Mix::of_calls(stage, session, tools, &mixed)?,
                ]))
            })
        }),
        rate_limit: None,
    })
}

/// Which tool is fast and which is slow.
struct Choice {
    fast: ToolCall,
    slow: ToolCall,
    /// Tools that did not answer in time, so that the slow one may be among them.
    left_out: Vec<String>,
}

/// How long a tool may take when the slowest is looked for: one that takes longer would be hung in
/// the load.
fn trial_limit(stage: &Stage) -> Duration {
    stage.hang_limits().threshold
}

async fn choose(stage: &Stage, session: &Session, tools: &[Tool]) -> Result<Choice, StageError> {
    let calls = calls_for(stage, tools)?;
    if let [fast, slow] = calls.as_slice()
        && !stage.scenario.tool_calls.is_empty()
    {
        return Ok(Choice {
            fast: fast.clone(),
            slow: slow.clone(),
            left_out: Vec::new(),
        });
    }
    let limit = trial_limit(stage);
    let mut timed = Vec::new();
    let mut left_out = Vec::new();
    for call in calls {
        let ready = ReadyCall::new(stage, session, tools, &call)?;
        // One that is late may still answer: to cancel it could change what is tested.
        let request = ready.request.timeout(limit.max(TRIAL_TIMEOUT_MIN));
        match session.request_once(&request).await {
            Ok(reply) => timed.push((reply.duration, call)),
            Err(error) if is_late(error.category()) => left_out.push(call.name),
            Err(_) => {}
        }
    }
    timed.sort_by_key(|(duration, _)| *duration);
    match (timed.first(), timed.last()) {
        (Some((_, fast)), Some((_, slow))) if fast.name != slow.name => Ok(Choice {
            fast: fast.clone(),
            slow: slow.clone(),
            left_out,
        }),
        _ => Err(StageError::Config(too_few(&left_out, limit))),
    }
}

fn is_late(category: ErrorCategory) -> bool {
    use ErrorCategory::{Deadlock, Hang, Timeout};
    matches!(category, Timeout | Hang | Deadlock)
}

fn too_few(left_out: &[String], limit: Duration) -> String {
    let late = if left_out.is_empty() {
        String::new()
    } else {
        format!(
            " ({} did not answer within {}: raise --hang-timeout)",
            left_out.join(", "),
            describe_duration(limit)
        )
    };
    format!(
        "slow_mix needs two tools that succeed{late}; name the fast one, then the slow one: \
         --tool FAST --tool SLOW"
    )
}
