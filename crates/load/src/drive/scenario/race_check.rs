//! The same call alone, one after the other, then many times at once: are the answers the same?
//!
//! All calls of a tool have the very same arguments. What differs already alone says nothing about
//! concurrency, so the calls made alone come first. Where answers differ after all, the tool is
//! called alone once more: one that tells the time differs then too.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;
use std::time::{Duration, Instant};

use mcprove_client::session::{CallError, Reply};
use mcprove_document::figure::counted;
use mcprove_score::race::{self, RaceReport};
use mcprove_settings::setting::Settings;
use mcprove_trace::stream::{Fact, FactError};
use mcprove_trace::{BoxFuture, ErrorCategory};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::reference::call_at_once;
use super::{ScenarioType, Shape, concurrent};
use crate::drive::connection_slot::{ConnectionSlot, SlotSession};
use crate::drive::context::{PhaseFact, RunContext, in_phase};
use crate::drive::mix::{PreparedCall, calls_for};
use crate::run::assemble::ALONE;
use crate::run::{Report, RunError, RunFacts};

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
    "the same call alone and many times concurrently: do the answers differ?";

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

/// What was found for one tool.
#[derive(Debug, Serialize, Deserialize)]
struct RaceFact {
    tool: String,
    report: RaceReport,
}

impl Fact for RaceFact {
    const NAME: &'static str = "race";
}

/// What is known of one tool.
struct Candidate {
    call: Arc<PreparedCall>,
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
    /// Makes the calls of one tool, round after round; a round that kills the server is the last.
    async fn call_at_once(
        &self,
        context: &RunContext,
        slot: &ConnectionSlot,
        candidate: &mut Candidate,
    ) {
        for _ in 0..self.rounds {
            if !candidate.is_steady() || !context.stop.is_running() {
                return;
            }
            let Some(session) = open_session(slot).await else {
                return;
            };
            let (count, phase) = (self.concurrent, AT_ONCE_PHASE);
            let mut calls = call_at_once(&session.connection, &candidate.call, count, phase, false);
            let mut is_stuck = false;
            while let Some(joined) = calls.join_next().await {
                let Ok((_, outcome)) = joined else { continue };
                is_stuck |= is_unanswered(&outcome);
                match outcome.ok().as_ref().and_then(canonical) {
                    Some(reply) => candidate.at_once.push(reply),
                    None => candidate.failures += 1,
                }
            }
            if is_stuck {
                slot.examine(&session, &candidate.call.tool).await;
                return;
            }
        }
    }
}

/// Makes the calls of one tool that are made alone, as far as it answers; returns the answers.
async fn call_alone(
    context: &RunContext,
    slot: &ConnectionSlot,
    call: &PreparedCall,
) -> Vec<String> {
    let mut replies = Vec::new();
    for _ in 0..ALONE_CALLS {
        if !context.stop.is_running() {
            break;
        }
        let Some(current) = open_session(slot).await else {
            break;
        };
        let session = &current.connection.session;
        let outcome = session
            .request_as(&call.request, &in_phase(ALONE_PHASE))
            .await;
        if is_unanswered(&outcome) {
            slot.examine(&current, &call.tool).await;
            break;
        }
        replies.extend(outcome.ok().as_ref().and_then(canonical));
    }
    replies
}

/// A session that is open.
async fn open_session(slot: &ConnectionSlot) -> Option<SlotSession> {
    let session = slot.session()?;
    match session.connection.session.closed() {
        None => Some(session),
        Some(failure) => slot.renew(Some(session.generation), &failure.message).await,
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
    fn drive<'a>(&'a self, context: &'a RunContext) -> BoxFuture<'a, Result<(), RunError>> {
        Box::pin(async move {
            let slot = ConnectionSlot::new(context);
            let opened = slot.open().await?;
            let session = &opened.connection.session;
            let tools = context.list_tools(session).await?;
            let mut candidates = Vec::new();
            for call in calls_for(context, &tools)? {
                candidates.push(Candidate {
                    call: Arc::new(PreparedCall::new(context, session, &tools, &call)?),
                    alone_before: Vec::new(),
                    at_once: Vec::new(),
                    alone_after: Vec::new(),
                    failures: 0,
                });
            }
            drop(opened);
            let count = u32::try_from(candidates.len()).unwrap_or(u32::MAX);
            let alone = context.phase(ALONE_PHASE, ALONE, 1, true);
            let mut time_at_once = Duration::ZERO;
            for (place, candidate) in (1_u32..).zip(&mut candidates) {
                candidate.alone_before = call_alone(context, &slot, &candidate.call).await;
                let began = Instant::now();
                self.call_at_once(context, &slot, candidate).await;
                time_at_once += began.elapsed();
                if candidate.differs() {
                    candidate.alone_after = call_alone(context, &slot, &candidate.call).await;
                }
                context.progress(place, count);
            }
            // The two took turns; each is noted as long as it was in all.
            let at_once = context.phase(AT_ONCE_PHASE, "at once", self.concurrent, true);
            let until = at_once.from;
            let middle = until.saturating_sub(time_at_once).max(alone.from);
            slot.close().await;
            for candidate in &candidates {
                let (tool, report) = (candidate.call.tool.clone(), candidate.report());
                // Where the run was stopped before it came to a tool, there is nothing to tell.
                if report.baseline_calls > 0 || context.stop.is_running() {
                    context.fact(&candidate.call.tool, &RaceFact { tool, report });
                }
            }
            for (phase, from, until) in [
                (alone.clone(), alone.from, middle),
                (at_once, middle, until),
            ] {
                let until = Some(until);
                context.note_phase(&PhaseFact {
                    from,
                    until,
                    ..phase
                });
            }
            Ok(())
        })
    }

    fn conclude(&self, facts: &RunFacts<'_>, report: &mut Report) -> Result<(), FactError> {
        for RaceFact {
            tool,
            report: found,
        } in facts.all()?
        {
            let mut verdict = race::verdict(&found);
            verdict.sentence = format!("{tool}: {}", verdict.sentence);
            report.verdicts.push(verdict);
            report.race.insert(tool, found);
        }
        Ok(())
    }

    fn summary(&self, _: Shape) -> Vec<String> {
        vec![
            concurrent(self.concurrent),
            counted(self.rounds.into(), "round"),
        ]
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
