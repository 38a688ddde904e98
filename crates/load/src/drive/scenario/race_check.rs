//! The same call alone, one after the other, then many times at once: are the answers the same?
//!
//! All calls of a tool have the very same arguments. What differs already alone says nothing about
//! concurrency, so the calls made alone come first. Where answers differ after all, the tool is
//! called alone once more: one that tells the time differs then too.

use std::hash::{DefaultHasher, Hash, Hasher};

use mcprove_score::race;

use super::prelude::*;

/// The phase of the calls made alone.
const ALONE_PHASE: u16 = 1;
/// The phase of the calls made at once.
const AT_ONCE_PHASE: u16 = 2;
/// Calls of each tool that are made alone.
const ALONE_CALLS: u32 = 5;
/// How much of an answer is kept; of a longer one the rest is told apart by a hash.
const KEPT_CHARACTERS_MAX: usize = 64 * 1024;

/// The same call alone, then many times at once: are the answers the same?
#[data(Settings)]
pub struct RaceCheck {
    /// Calls at once.
    #[setting(default = 20, elsewhere = "ignored")]
    pub concurrent: u32,
    /// How many times, for each tool.
    #[setting(default = 5, alias = "iterations")]
    pub rounds: u32,
}

/// What was found for one tool.
#[stored]
struct RaceFact {
    tool: String,
    report: RaceReport,
}

impl Fact for RaceFact {
    const NAME: &'static str = "race";
}

impl RaceCheck {
    /// Calls one tool many times at once, round after round, and compares with what it answers alone. Adds the time that
    /// took at once.
    async fn check(
        &self,
        context: &RunContext,
        slot: &ConnectionSlot,
        call: &Arc<PreparedCall>,
        time_at_once: &mut Duration,
    ) -> RaceReport {
        let before = call_alone(context, slot, call).await;
        let began = Instant::now();
        let (mut at_once, mut failures) = (Vec::new(), 0);
        let first = before.first();
        // Where answers differ already alone, calls at once can show nothing.
        let is_steady = first.is_some() && before.iter().all(|reply| Some(reply) == first);
        let rounds = if is_steady { self.rounds } else { 0 };
        for _ in 0..rounds {
            // A round that kills the server is the last.
            let Some(session) = open_session(context, slot).await else {
                break;
            };
            let (count, phase) = (self.concurrent, AT_ONCE_PHASE);
            let mut calls = call_at_once(&session.connection, call, count, phase, false);
            let mut is_stuck = false;
            while let Some(joined) = calls.join_next().await {
                let Ok((_, outcome)) = joined else { continue };
                is_stuck |= is_unanswered(&outcome);
                match outcome.ok().as_ref().and_then(canonical) {
                    Some(reply) => at_once.push(reply),
                    None => failures += 1,
                }
            }
            if is_stuck {
                slot.examine(&session, &call.tool).await;
                break;
            }
        }
        *time_at_once += began.elapsed();
        let after = if at_once.iter().any(|reply| Some(reply) != first) {
            call_alone(context, slot, call).await
        } else {
            Vec::new()
        };
        race::compare(&before, &at_once, &after, failures)
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
        let Some(current) = open_session(context, slot).await else {
            break;
        };
        let outcome = current.connection.call(call, ALONE_PHASE).await;
        if is_unanswered(&outcome) {
            slot.examine(&current, &call.tool).await;
            break;
        }
        replies.extend(outcome.ok().as_ref().and_then(canonical));
    }
    replies
}

/// A session that is open, unless the run is to stop.
async fn open_session(context: &RunContext, slot: &ConnectionSlot) -> Option<SlotSession> {
    let session = slot.session().filter(|_| context.stop.is_running())?;
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
    fn drive<'a>(&'a self, context: &'a RunContext) -> Steps<'a> {
        Box::pin(async move {
            let slot = ConnectionSlot::new(context);
            let opened = slot.open().await?;
            let session = &opened.connection.session;
            let tools = context.list_tools(session).await?;
            let calls = context.prepare(session, &tools)?;
            drop(opened);
            let count = u32::try_from(calls.len()).unwrap_or(u32::MAX);
            let alone = context.phase(ALONE_PHASE, ALONE, 1, true);
            let mut time_at_once = Duration::ZERO;
            for (place, call) in (1..).zip(calls) {
                let (tool, call) = (call.tool.clone(), Arc::new(call));
                let report = self.check(context, &slot, &call, &mut time_at_once).await;
                // Where the run was stopped before it came to a tool, there is nothing to tell.
                if report.baseline_calls > 0 || context.stop.is_running() {
                    context.fact(&call.tool, &RaceFact { tool, report });
                }
                context.progress(place, count);
            }
            // The two took turns; each is noted as long as it was in all.
            let at_once = context.phase(AT_ONCE_PHASE, "at once", self.concurrent, true);
            let until = at_once.from;
            let middle = until.saturating_sub(time_at_once).max(alone.from);
            slot.close().await;
            let began = alone.from;
            for (phase, from, until) in [(alone, began, middle), (at_once, middle, until)] {
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

    fn conclude(&self, facts: &RunFacts<'_>, report: &mut Report) -> FactResult {
        for fact in facts.all::<RaceFact>()? {
            let mut verdict = race::verdict(&fact.report);
            verdict.sentence = sentence!("{}: {}", fact.tool, verdict.sentence);
            report.verdicts.push(verdict);
            report.race.insert(fact.tool, fact.report);
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
