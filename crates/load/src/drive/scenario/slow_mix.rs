//! A slow tool among a fast one: does a slow call hold up all others?
//!
//! First the fast tool alone, then both together. Which is which is told by the order of the tools
//! that were named; without names, every tool is tried once and the extremes are taken.

use std::sync::Arc;
use std::time::Duration;

use mcprove_client::session::Session;
use mcprove_document::figure;
use mcprove_score::head_of_line;
use mcprove_settings::message::{Diagnostic, message, setting};
use mcprove_settings::quantity::{describe_duration, seconds};
use mcprove_settings::setting::Settings;
use mcprove_trace::ErrorCategory;
use mcprove_trace::protocol::Tool;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::{ScenarioType, Shape, Work};
use crate::drive::definition::LoadSettings;
use crate::drive::error::StageError;
use crate::drive::executor::LoadPlan;
use crate::drive::mix::{Mix, ReadyCall, calls_for};
use crate::drive::schedule::Schedule;
use crate::drive::stage::Stage;
use crate::drive::workload::ToolCall;
use crate::run::assemble::Assembly;
use crate::run::assemble::figures::spread;
use crate::run::report::Report;

/// The phase in which only the fast tool is called.
pub const FAST_ALONE: &str = "fast alone";
/// The phase in which both are called.
pub const MIXED: &str = "mixed";
/// The share of the time that the fast tool has for itself.
const ALONE_PARTS: u32 = 4;

/// How long an answer is waited for at least when the slowest tool is looked for.
const TRIAL_TIMEOUT_MIN: Duration = Duration::from_secs(5);

/// What it finds.
pub(super) const EXPLANATION: &str =
    "a slow tool among a fast one: does the slow one hold up the fast one?";

/// A fast and a slow tool mixed: does the slow one hold up the fast one?
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, Settings)]
pub struct SlowMix {
    /// Calls in flight.
    #[setting(default = 10, elsewhere = "ignored")]
    pub concurrent: u32,
    /// How long the load lasts.
    #[setting(default = "20s", elsewhere = "ignored")]
    #[serde(rename = "duration_secs", with = "seconds")]
    #[schemars(with = "f64")]
    pub duration: Duration,
    /// The share of calls that go to the slow tool, the second one named.
    #[setting(default = 0.2, kind = OPEN_SHARE)]
    pub slow_share: f64,
}

impl ScenarioType for SlowMix {
    fn work(&self, load: &LoadSettings) -> Result<Work, StageError> {
        let Self {
            concurrent,
            duration,
            slow_share,
        } = *self;
        let alone = duration / ALONE_PARTS;
        Ok(Work::Load(LoadPlan {
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
        }))
    }

    fn duration(&self) -> Option<Duration> {
        Some(self.duration)
    }

    fn conclude(&self, assembly: &Assembly<'_>, report: &mut Report) {
        let Some(names) = &assembly.notes.slow_mix else {
            return;
        };
        let values = |phase_name: &str, tool: &str| {
            let phase = assembly
                .notes
                .phases
                .iter()
                .find(|phase| phase.name == phase_name);
            phase
                .and_then(|phase| assembly.metrics.phases.get(&phase.index)?.get(tool))
                .map(spread)
                .unwrap_or_default()
        };
        let judged = head_of_line::detect(&head_of_line::MixInput {
            fast_alone_ms: values(FAST_ALONE, &names.fast),
            fast_mixed_ms: values(MIXED, &names.fast),
            slow_ms: values(MIXED, &names.slow),
        });
        let left_out = head_of_line::LeftOut {
            tools: names.left_out.clone(),
            limit_ms: names.limit_ms,
        };
        let verdict = head_of_line::verdict(&judged, &left_out);
        let verdict = assembly.unless_faults_differ(verdict, &[FAST_ALONE, MIXED]);
        report.verdicts.push(verdict);
        report.head_of_line = Some(judged);
    }

    fn summary(&self, shape: Shape) -> Vec<String> {
        vec![
            shape.clients(self.concurrent),
            figure::duration(self.duration),
        ]
    }
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

fn too_few(left_out: &[String], limit: Duration) -> Diagnostic {
    let late = if left_out.is_empty() {
        String::new()
    } else {
        let (tools, limit) = (left_out.join(", "), describe_duration(limit));
        format!(" ({tools} did not answer within {limit})")
    };
    let mut hint = message![
        "name the fast one, then the slow one: ",
        setting("tool_call")
    ];
    if !left_out.is_empty() {
        hint = message![
            "raise ",
            setting("hang_timeout"),
            ", or name the fast one, then the slow one: ",
            setting("tool_call")
        ];
    }
    Diagnostic::new(format!("slow_mix needs two tools that succeed{late}"), hint)
}
