//! A slow tool among a fast one: does a slow call hold up all others?
//!
//! First the fast tool alone, then both together. Which is which is told by the order of the tools
//! that were named; without names, every tool is tried once: the fastest is the fast one, and the slow one is a tool
//! that takes as long as an argument says, else the slowest.

use mcprove_score::head_of_line;

use super::prelude::*;
use super::slow_arguments::slow_argument;

/// The phase in which only the fast tool is called.
pub const FAST_ALONE: &str = "fast alone";
/// The phase in which both are called.
pub const MIXED: &str = "mixed";
/// The share of the time that the fast tool has for itself.
const ALONE_PARTS: u32 = 4;

/// How long an answer is waited for at least when the slowest tool is looked for.
const TRIAL_TIMEOUT_MIN: Duration = Duration::from_secs(5);

/// How long a call of a tool that is told how long to take is to take, and which share of the hang threshold at most.
const SLOW_TIME: Duration = Duration::from_millis(500);
const HANG_PARTS: u32 = 4;
/// All calls in flight one after the other are not to take longer than this share of it.
const QUEUE_PARTS: u32 = 2;
/// How many times as long as the fast tool it has to take then.
const SLOW_FACTOR: u32 = 5;

/// A fast and a slow tool mixed: does the slow one hold up the fast one?
#[in_seconds]
#[data(Settings)]
pub struct SlowMix {
    #[setting(like = Sustained::CONCURRENT)]
    pub concurrent: u32,
    #[setting(like = Sustained::DURATION, default = "20s")]
    pub duration: Duration,
    /// The share of calls that go to the slow tool, the second one named.
    #[setting(default = 0.2, kind = OPEN_SHARE)]
    pub slow_share: f64,
}

/// The tools that are compared.
#[stored]
struct SlowMixFact {
    fast: String,
    slow: String,
    /// Tools that did not answer in time when the slow one was looked for, so that it may be among them.
    #[serde(default)]
    left_out: Vec<String>,
    /// How long they had.
    #[serde(default)]
    limit_ms: u64,
    /// Whether the tools were named.
    #[serde(default)]
    is_named: bool,
}

impl Fact for SlowMixFact {
    const NAME: &'static str = "slow_mix";
}

impl ScenarioType for SlowMix {
    fn questions(&self) -> &'static [&'static str] {
        &[head_of_line::ID]
    }

    fn plan(&self, load: &LoadSettings) -> RunResult<Option<LoadPlan>> {
        let Self {
            concurrent,
            duration,
            slow_share,
        } = *self;
        let alone = duration / ALONE_PARTS;
        Ok(Some(LoadPlan {
            schedule: Schedule::default()
                .warm_up(load.warmup, concurrent)
                .add(FAST_ALONE, alone, concurrent, true, 0)
                .add(MIXED, duration.saturating_sub(alone), concurrent, true, 1),
            mixes: Box::new(move |context, session, tools| {
                Box::pin(async move {
                    let (fast, slow, left_out) = choose(context, session, tools).await?;
                    let limit = context.hang_limits().threshold;
                    let is_named = !context.scenario.tool_calls.is_empty();
                    let chosen = SlowMixFact {
                        fast: fast.name.clone(),
                        slow: slow.name.clone(),
                        left_out,
                        limit_ms: u64::try_from(limit.as_millis()).unwrap_or(u64::MAX),
                        is_named,
                    };
                    context.fact("", &chosen);
                    let mixed = [
                        fast.clone().weight(1.0 - slow_share),
                        slow.weight(slow_share),
                    ];
                    Ok(vec![
                        Mix::of_calls(context, session, tools, &[fast.weight(1.0)])?,
                        Mix::of_calls(context, session, tools, &mixed)?,
                    ])
                })
            }),
            rate_limit: None,
            repeat: None,
        }))
    }

    fn duration(&self) -> Option<Duration> {
        Some(self.duration)
    }

    fn conclude(&self, facts: &RunFacts<'_>, report: &mut Report) -> FactResult {
        let Some(names) = facts.first::<SlowMixFact>()? else {
            return Ok(());
        };
        let values = |phase: &str, tool: &str| {
            facts
                .tools_in(phase)
                .and_then(|tools| tools.get(tool))
                .map(spread)
                .unwrap_or_default()
        };
        let mut judged = head_of_line::detect(&head_of_line::MixInput {
            fast_alone_ms: values(FAST_ALONE, &names.fast),
            fast_mixed_ms: values(MIXED, &names.fast),
            slow_ms: values(MIXED, &names.slow),
        });
        let left_out = head_of_line::LeftOut {
            tools: names.left_out,
            limit_ms: names.limit_ms,
            is_named: names.is_named,
        };
        let mut verdict = head_of_line::verdict(&judged, &left_out);
        if judged.outcome == Outcome::Finding
            && let Some(tools) = facts.tools_in(MIXED)
        {
            // Workers that are all taken look the same; a fast call beside a single slow one tells.
            let closer = head_of_line::load_verdict(&facts.load_mix(report, tools)?);
            if let Some(mut closer) = closer {
                verdict.numbers.append(&mut closer.numbers);
                closer.numbers = verdict.numbers;
                verdict = closer;
            }
        }
        judged.outcome = verdict.outcome;
        let verdict = facts.unless_faults_differ(verdict, &[FAST_ALONE, MIXED]);
        report.verdicts.push(verdict);
        report.head_of_line = Some(judged);
        Ok(())
    }

    fn sections(&self, report: &Report) -> Vec<Section> {
        report
            .head_of_line
            .iter()
            .map(head_of_line_section)
            .collect()
    }

    fn summary(&self, shape: Shape) -> Vec<String> {
        shape.steady(self.concurrent, self.duration)
    }
}

/// Which tool is fast, which is slow, and which did not answer in time. One that takes longer than the hang threshold
/// would be hung in the load.
async fn choose(
    context: &RunContext,
    session: &Session,
    tools: &[Tool],
) -> Result<(ToolCall, ToolCall, Vec<String>), RunError> {
    let calls = calls_for(context, tools)?;
    if let [fast, slow] = calls.as_slice()
        && !context.scenario.tool_calls.is_empty()
    {
        return Ok((fast.clone(), slow.clone(), Vec::new()));
    }
    let limit = context.hang_limits().threshold;
    let mut timed = Vec::new();
    let mut left_out = Vec::new();
    let slow_calls = slow_calls(context, tools, &calls, limit);
    let count = calls.len();
    let mut told_slow = Vec::new();
    for (place, call) in calls.into_iter().chain(slow_calls).enumerate() {
        let prepared = PreparedCall::new(context, session, tools, &call)?;
        // One that is late may still answer: to cancel it could change what is tested.
        let request = prepared.request.timeout(limit.max(TRIAL_TIMEOUT_MIN));
        match session.request_once(&request).await {
            Ok(reply) if place < count => timed.push((reply.duration, call)),
            Ok(reply) => told_slow.push((reply.duration, call)),
            Err(error) if is_late(error.category()) && place < count => left_out.push(call.name),
            Err(_) => {}
        }
    }
    timed.sort_by_key(|(duration, _)| *duration);
    // One that does as it is told is the better one: how slow the others are is a matter of chance.
    for (duration, slow) in told_slow {
        let mut others = timed.iter().filter(|(_, call)| call.name != slow.name);
        if let Some((time, fast)) = others.next()
            && duration >= *time * SLOW_FACTOR
        {
            left_out.retain(|name| *name != slow.name);
            return Ok((fast.clone(), slow, left_out));
        }
    }
    match (timed.first(), timed.last()) {
        (Some((_, fast)), Some((_, slow))) if fast.name != slow.name => {
            Ok((fast.clone(), slow.clone(), left_out))
        }
        _ => Err(RunError::Config(too_few(&left_out, limit))),
    }
}

/// Calls of the tools that are told how long to take, with arguments by which they are slow.
fn slow_calls(
    context: &RunContext,
    tools: &[Tool],
    calls: &[ToolCall],
    limit: Duration,
) -> Vec<ToolCall> {
    let concurrent = context.scenario.kind.concurrent().max(1);
    let time = SLOW_TIME.min(limit / QUEUE_PARTS / concurrent);
    let slow_call = |call: &ToolCall| {
        let tool = tools.iter().find(|tool| tool.name == call.name)?;
        let (name, value) = slow_argument(&tool.input_schema, time, limit / HANG_PARTS)?;
        let mut arguments = match &call.args {
            Value::Null => make_arguments(context, tool, &context.tokens.token(0)).ok()?,
            given => given.clone(),
        };
        arguments.as_object_mut()?.insert(name, value);
        Some(call.clone().args(arguments))
    };
    calls.iter().filter_map(slow_call).collect()
}

fn is_late(category: ErrorCategory) -> bool {
    use ErrorCategory::{Deadlock, Hang, Timeout};
    matches!(category, Timeout | Hang | Deadlock)
}

fn too_few(left_out: &[String], limit: Duration) -> Diagnostic {
    let needed = "slow_mix needs two tools that succeed";
    let hint = sentence!(
        "name the fast one, then the slow one: {}",
        setting("tool_call")
    );
    if left_out.is_empty() {
        return Diagnostic::new(needed, hint);
    }
    let (tools, limit) = (left_out.join(", "), describe_duration(limit));
    Diagnostic::new(
        format!("{needed} ({tools} did not answer within {limit})"),
        sentence!("raise {}, or ", setting("hang_timeout")).with(&hint),
    )
}

fn head_of_line_section(report: &HeadOfLineReport) -> Section {
    let table = Table::new([
        "fast calls alone",
        "fast calls in the mix",
        "slow calls",
        "samples",
    ])
    .numbers(..)
    .rows([[
        maybe_milliseconds(report.fast_alone_p50),
        maybe_milliseconds(report.fast_mixed_p50),
        maybe_milliseconds(report.slow_p50),
        report.samples.to_string(),
    ]]);
    Section::new("Head-of-line blocking")
        .table(table)
        .paragraph(match report.outcome {
            Outcome::Pass => "Medians. Fast calls do not wait for slow ones.",
            Outcome::Finding => "Medians. Fast calls wait for slow ones.",
            Outcome::Inconclusive => "Medians. They do not show whether fast calls wait.",
        })
}
