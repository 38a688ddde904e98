//! The same call alone, one after the other, then many times at once: are the answers the same?
//!
//! All calls of a tool have the very same arguments. What differs already alone says nothing about
//! concurrency, so the calls made alone come first. Where answers differ after all, the tool is
//! called alone once more: one that tells the time differs then too.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;
use std::time::{Duration, Instant};

use mcprove_client::session::{CallError, Reply, Start};
use mcprove_document::figure::counted;
use mcprove_score::race::{self, RaceReport};
use mcprove_settings::setting::Settings;
use mcprove_trace::stream::Recorder;
use mcprove_trace::{BoxFuture, ErrorCategory};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::sync::Barrier;
use tokio::task::JoinSet;

use super::{ScenarioType, Shape, Steps, Work, concurrent};
use crate::drive::definition::LoadSettings;
use crate::drive::error::StageError;
use crate::drive::mix::{ReadyCall, calls_for};
use crate::drive::seat::{Seat, Sitting};
use crate::drive::stage::{PhaseNote, Stage, since_start};
use crate::run::assemble::Assembly;
use crate::run::report::Report;

/// The phase of the calls made alone.
const ALONE_PHASE: u16 = 1;
/// The phase of the calls made at once.
const AT_ONCE_PHASE: u16 = 2;
/// Calls of each tool that are made alone.
const ALONE_CALLS: u32 = 5;
/// How much of an answer is kept; of a longer one the rest is told apart by a hash.
const KEPT_CHARACTERS_MAX: usize = 64 * 1024;

/// What it finds.
pub(super) const EXPLANATION: &str =
    "the same call alone and many times at once: do the answers differ?";

/// The same call alone, then many times at once: are the answers the same?
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, Settings)]
pub struct RaceCheck {
    /// Calls at once.
    #[setting(default = 20, elsewhere = "ignored")]
    pub concurrent: u32,
    /// How many times, for each tool.
    #[setting(default = 5, alias = "iterations")]
    pub rounds: u32,
}

/// What is known of one tool.
struct Candidate {
    ready: Arc<ReadyCall>,
    alone_before: Vec<String>,
    at_once: Vec<String>,
    alone_after: Vec<String>,
    failures: usize,
}

impl Candidate {
    /// Whether calls at once can show anything.
    fn is_steady(&self) -> bool {
        let first = self.alone_before.first();
        first.is_some() && self.alone_before.iter().all(|reply| Some(reply) == first)
    }

    /// Whether a call made at once was answered otherwise than one made alone.
    fn differs(&self) -> bool {
        let first = self.alone_before.first();
        self.at_once.iter().any(|reply| Some(reply) != first)
    }

    fn report(&self) -> RaceReport {
        let (before, after) = (&self.alone_before, &self.alone_after);
        race::compare(before, &self.at_once, after, self.failures)
    }
}

impl RaceCheck {
    async fn take(&self, stage: &Arc<Stage>, recorder: &Arc<Recorder>) -> Result<(), StageError> {
        let seat = Seat::new(Arc::clone(stage), Arc::clone(recorder));
        let sitting = seat.open().await?;
        let session = &sitting.connection.session;
        let tools = stage.list_tools(recorder, session).await?;
        let mut candidates = Vec::new();
        for call in calls_for(stage, &tools)? {
            candidates.push(Candidate {
                ready: Arc::new(ReadyCall::new(stage, session, &tools, &call)?),
                alone_before: Vec::new(),
                at_once: Vec::new(),
                alone_after: Vec::new(),
                failures: 0,
            });
        }
        drop(sitting);
        let count = u32::try_from(candidates.len()).unwrap_or(u32::MAX);
        let from = since_start(&stage.stream, Instant::now());
        let mut time_at_once = Duration::ZERO;
        for (place, candidate) in (1_u32..).zip(&mut candidates) {
            candidate.alone_before = call_alone(stage, &seat, &candidate.ready).await;
            let began = Instant::now();
            self.call_at_once(stage, &seat, candidate).await;
            time_at_once += began.elapsed();
            if candidate.differs() {
                candidate.alone_after = call_alone(stage, &seat, &candidate.ready).await;
            }
            stage.progress(place, count);
        }
        let until = since_start(&stage.stream, Instant::now());
        // The two took turns; each is noted as long as it was in all.
        let middle = until.saturating_sub(time_at_once).max(from);
        seat.close().await;
        for candidate in &candidates {
            let (tool, report) = (&candidate.ready.tool, candidate.report());
            // Where the run was stopped before it came to a tool, there is nothing to tell.
            if report.baseline_calls > 0 || stage.stop.is_running() {
                let data = json!({ "tool": tool, "report": report });
                recorder.note("race", tool, &data);
            }
        }
        for phase in [
            PhaseNote {
                index: ALONE_PHASE,
                name: "alone",
                concurrent: 1,
                rate: None,
                measured: true,
                from,
                until: Some(middle),
            },
            PhaseNote {
                index: AT_ONCE_PHASE,
                name: "at once",
                concurrent: self.concurrent,
                rate: None,
                measured: true,
                from: middle,
                until: Some(until),
            },
        ] {
            phase.note(recorder);
        }
        Ok(())
    }

    /// Makes the calls of one tool, round after round; a round that kills the server is the last.
    async fn call_at_once(&self, stage: &Arc<Stage>, seat: &Seat, candidate: &mut Candidate) {
        for _ in 0..self.rounds {
            if !candidate.is_steady() || !stage.stop.is_running() {
                return;
            }
            let Some(sitting) = sit(seat).await else {
                return;
            };
            let outcomes = self.release(&sitting, &candidate.ready).await;
            let mut is_stuck = false;
            for outcome in outcomes {
                is_stuck |= is_unanswered(&outcome);
                match outcome.ok().as_ref().and_then(canonical) {
                    Some(reply) => candidate.at_once.push(reply),
                    None => candidate.failures += 1,
                }
            }
            if is_stuck {
                seat.examine(&sitting, &candidate.ready.tool).await;
                return;
            }
        }
    }

    /// Releases all calls of one round at once, and waits for what becomes of them.
    async fn release(
        &self,
        sitting: &Sitting,
        ready: &Arc<ReadyCall>,
    ) -> Vec<Result<Reply, CallError>> {
        let barrier = Arc::new(Barrier::new(self.concurrent as usize));
        let mut calls = JoinSet::new();
        for _ in 0..self.concurrent {
            let (connection, ready) = (Arc::clone(&sitting.connection), Arc::clone(ready));
            let barrier = Arc::clone(&barrier);
            calls.spawn(async move {
                barrier.wait().await;
                let start = Start {
                    phase: AT_ONCE_PHASE,
                    ..Start::default()
                };
                connection.session.request_as(&ready.request, &start).await
            });
        }
        let mut outcomes = Vec::new();
        while let Some(joined) = calls.join_next().await {
            outcomes.extend(joined);
        }
        outcomes
    }
}

/// Makes the calls of one tool that are made alone, as far as it answers; returns the answers.
async fn call_alone(stage: &Arc<Stage>, seat: &Seat, ready: &ReadyCall) -> Vec<String> {
    let mut replies = Vec::new();
    for _ in 0..ALONE_CALLS {
        if !stage.stop.is_running() {
            break;
        }
        let Some(sitting) = sit(seat).await else {
            break;
        };
        let start = Start {
            phase: ALONE_PHASE,
            ..Start::default()
        };
        let session = &sitting.connection.session;
        let outcome = session.request_as(&ready.request, &start).await;
        if is_unanswered(&outcome) {
            seat.examine(&sitting, &ready.tool).await;
            break;
        }
        let reply = outcome.ok().as_ref().and_then(canonical);
        replies.extend(reply);
    }
    replies
}

/// A session that is open.
async fn sit(seat: &Seat) -> Option<Sitting> {
    let sitting = seat.sitting()?;
    match sitting.connection.session.closed() {
        None => Some(sitting),
        Some(failure) => seat.renew(Some(sitting.generation), &failure.message).await,
    }
}

fn is_unanswered(outcome: &Result<Reply, CallError>) -> bool {
    matches!(outcome, Err(error) if error.category() == ErrorCategory::Deadlock)
}

/// A result in the one form in which equal results are equal, without the metadata of the
/// transport, which may differ from call to call.
fn canonical(reply: &Reply) -> Option<String> {
    let mut result: Value = reply.parse().ok()?;
    if let Some(members) = result.as_object_mut() {
        members.remove("_meta");
    }
    let text = mcprove_trace::canonical::canonical(&result.to_string()).ok()?;
    let Some((end, _)) = text.char_indices().nth(KEPT_CHARACTERS_MAX) else {
        return Some(text);
    };
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    let kept = text.get(..end)?;
    Some(format!("{kept}… (hash {:016x})", hasher.finish()))
}

impl ScenarioType for RaceCheck {
    fn work(&self, _: &LoadSettings) -> Result<Work, StageError> {
        Ok(Work::Steps(Box::new(self.clone())))
    }

    fn conclude(&self, assembly: &Assembly<'_>, report: &mut Report) {
        for record in &assembly.notes.races {
            let mut verdict = race::verdict(&record.report);
            verdict.sentence = format!("{}: {}", record.tool, verdict.sentence);
            report.verdicts.push(verdict);
            report
                .race
                .insert(record.tool.clone(), record.report.clone());
        }
    }

    fn summary(&self, _: Shape) -> Vec<String> {
        vec![
            concurrent(self.concurrent),
            counted(self.rounds.into(), "round"),
        ]
    }
}

impl Steps for RaceCheck {
    fn run<'a>(
        &'a self,
        stage: &'a Arc<Stage>,
        recorder: &'a Arc<Recorder>,
    ) -> BoxFuture<'a, Result<(), StageError>> {
        Box::pin(self.take(stage, recorder))
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;

    fn reply(result: &str) -> Reply {
        Reply {
            frame: Bytes::copy_from_slice(result.as_bytes()),
            result: 0..result.len(),
            request_id: 1,
            duration: Duration::ZERO,
        }
    }

    #[test]
    fn metadata_and_the_order_of_keys_do_not_matter() {
        let one = reply(r#"{"content":[],"_meta":{"at":1},"x":{"b":1,"a":2}}"#);
        let other = reply(r#"{"x":{"a":2.0,"b":1},"_meta":{"at":2},"content":[]}"#);
        assert_eq!(canonical(&one).unwrap(), canonical(&other).unwrap());
        let inner = reply(r#"{"content":[{"_meta":{"at":1}}],"x":{"b":1,"a":2}}"#);
        assert_ne!(canonical(&one).unwrap(), canonical(&inner).unwrap());
        assert_eq!(canonical(&reply(&"[".repeat(1000))), None);
    }

    #[test]
    fn long_answers_are_told_apart_by_their_ends() {
        let long = |end: char| {
            let text = "x".repeat(2 * KEPT_CHARACTERS_MAX);
            canonical(&reply(&format!("\"{text}{end}\""))).unwrap()
        };
        assert_eq!(long('a'), long('a'));
        assert_ne!(long('a'), long('b'));
        assert!(long('a').len() < 2 * KEPT_CHARACTERS_MAX);
    }
}
