//! Sequences of calls with pauses for thought, chosen by weight. A pattern without steps that has
//! the name of a preset is filled in from the server's tools.

use std::sync::Arc;
use std::time::Duration;

use mcprove_client::permission::judge;
use mcprove_settings::registry::{DefaultValue, Setting};
use mcprove_trace::protocol::Tool;

use super::Entry;
use super::sustained::{CONCURRENT, DURATION};
use crate::drive::defaults;
use crate::drive::definition::LoadSettings;
use crate::drive::error::StageError;
use crate::drive::executor::LoadPlan;
use crate::drive::mix::{Mix, MixError, calls_for, find};
use crate::drive::schedule::Schedule;
use crate::drive::stage::Stage;
use crate::drive::workload::{ErrorBehavior, Pattern, Step};

/// The names of the presets.
pub const PRESETS: &[&str] = &["explore_then_act", "read_then_write", "multi_step"];

/// How many tools a preset explores or reads with.
const READS: usize = 3;

/// The line in the registry.
pub(super) const ENTRY: Entry = Entry {
    name: "pattern",
    explanation: "sequences of calls with pauses, as agents make them: realistic mixed loads",
    settings: &[
        CONCURRENT,
        DURATION,
        Setting {
            name: "preset",
            explanation: "explore_then_act, read_then_write or multi_step, from the server's tools",
            default: DefaultValue::Text("explore_then_act"),
        },
        Setting {
            name: "think_time",
            explanation: "the pause after each step, as long as a model thinks",
            default: DefaultValue::Text("0"),
        },
        Setting {
            name: "error_behavior",
            explanation: "when a step fails: continue, abort the pattern, or stop the run",
            default: DefaultValue::Text("continue"),
        },
    ],
    build: |_| defaults::pattern(vec![preset("explore_then_act")]),
};

/// A preset, to be filled in from the server's tools.
pub fn preset(name: &str) -> Pattern {
    Pattern {
        name: name.replace('-', "_"),
        weight: 1.0,
        think_time: Duration::ZERO,
        error_behavior: ErrorBehavior::Continue,
        steps: Vec::new(),
    }
}

pub(super) fn plan(
    load: &LoadSettings,
    concurrent: u32,
    duration: Duration,
    patterns: &[Pattern],
) -> LoadPlan {
    let patterns = patterns.to_vec();
    LoadPlan {
        schedule: Schedule::default()
            .warm_up(load.warmup, concurrent)
            .then("pattern", duration, concurrent),
        mixes: Box::new(move |stage, session, tools| {
            Box::pin(async move {
                let patterns = fill_in(stage, tools, patterns)?;
                let mix = Mix::of_patterns(stage, session, tools, &patterns)?;
                Ok(Arc::new(vec![mix]))
            })
        }),
        rate_limit: None,
    }
}

/// Gives the presets their steps.
fn fill_in(
    stage: &Stage,
    tools: &[Tool],
    patterns: Vec<Pattern>,
) -> Result<Vec<Pattern>, StageError> {
    patterns
        .into_iter()
        .map(|mut pattern| {
            if pattern.steps.is_empty() {
                pattern.steps = preset_steps(stage, tools, &pattern.name)?;
            }
            Ok(pattern)
        })
        .collect()
}

fn preset_steps(stage: &Stage, tools: &[Tool], name: &str) -> Result<Vec<Step>, StageError> {
    let calls = calls_for(stage, tools)?;
    let (mut reads, mut writes) = (Vec::new(), Vec::new());
    for call in calls {
        let is_read = judge(find(tools, &call.name)?).may_call;
        if is_read { &mut reads } else { &mut writes }.push(call);
    }
    // Where only one kind may be called, or is there, its tools stand for both.
    if reads.is_empty() {
        reads.clone_from(&writes);
    }
    if writes.is_empty() {
        writes.clone_from(&reads);
    }
    let reads = reads.into_iter().take(READS).map(Step::Call);
    let write = writes.into_iter().next().map(Step::Call);
    match name {
        "explore_then_act" => Ok(std::iter::once(Step::ListTools)
            .chain(reads)
            .chain(write)
            .collect()),
        "read_then_write" => Ok(reads.take(1).chain(write).collect()),
        "multi_step" => Ok(reads.chain(write.clone()).chain(write).collect()),
        name => Err(unknown_preset(name)),
    }
}

fn unknown_preset(name: &str) -> StageError {
    MixError::Nothing(format!(
        "the pattern {name:?} has no steps, and is none of the presets {}",
        PRESETS.join(", ")
    ))
    .into()
}
