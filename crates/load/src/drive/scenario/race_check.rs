//! The same call alone, one after the other, then many times at once: are the answers the same?
//!
//! All calls of a tool have the very same arguments. What differs already alone says nothing about
//! concurrency, so the calls made alone come first. Where answers differ after all, the tool is
//! called alone once more: one that tells the time differs then too.
//!
//! Identical calls do not show who got whose reply. So callers with arguments of their own, which differ in a token or in numbers, call at
//! once too, and each is compared with what it gets alone.

use mcprove_score::race::{self, CallerReplies};

use super::prelude::*;

/// The phase of the calls made alone.
const ALONE_PHASE: u16 = 1;
/// The phase of the calls made at once.
const AT_ONCE_PHASE: u16 = 2;
/// Calls of each tool that are made alone.
const ALONE_CALLS: u32 = 5;
/// How long callers with arguments of their own may take alone; where a tool is slow, there are fewer of them.
const CALLERS_TIME: Duration = Duration::from_secs(5);
/// The fewest of them that can be mixed up.
const CALLERS_MIN: usize = 2;
/// The number of the first of them; the identical calls have the token of call 0.
const FIRST_CALLER: u64 = 1;

/// The same call alone, then many times at once: are the answers the same?
#[data(Settings)]
pub struct RaceCheck {
    /// Calls at once.
    #[setting(like = Sustained::CONCURRENT, default = 20)]
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
        let mut has_ended = false;
        for _ in 0..rounds {
            let params = vec![call.request.params.clone(); self.concurrent as usize];
            // A round that kills the server is the last.
            let Some(round) = call_round(context, slot, call, params).await else {
                has_ended = true;
                break;
            };
            for (_, reply) in round.replies {
                match reply {
                    Some(reply) => at_once.push(reply),
                    None => failures += 1,
                }
            }
            if round.is_stuck {
                has_ended = true;
                break;
            }
        }
        *time_at_once += began.elapsed();
        let is_repeated = at_once.iter().any(|reply| Some(reply) != first);
        let after = if is_repeated {
            call_alone(context, slot, call).await
        } else {
            Vec::new()
        };
        let mut report = race::compare(&before, &at_once, &after, failures);
        if is_steady && !has_ended && call.can_vary() {
            let (callers, failures) = self.check_callers(context, slot, call, time_at_once).await;
            report.add_callers(&callers, failures);
        }
        let after_made = if is_repeated { ALONE_CALLS } else { 0 };
        let answered = before.len() + after.len();
        let failed_alone = u64::from(ALONE_CALLS + after_made).saturating_sub(answered as u64);
        report.failures_alone = failed_alone;
        report
    }

    /// Calls one tool with other arguments for each caller: alone, then at once, and where a reply is not the same, all
    /// alone once more. Returns how many calls at once failed too.
    async fn check_callers(
        &self,
        context: &RunContext,
        slot: &ConnectionSlot,
        call: &PreparedCall,
        time_at_once: &mut Duration,
    ) -> (Vec<CallerReplies>, usize) {
        let (mut callers, mut failures) = (Vec::<CallerReplies>::new(), 0);
        let began = Instant::now();
        for number in (FIRST_CALLER..).take(self.concurrent as usize) {
            if callers.len() >= CALLERS_MIN && began.elapsed() >= CALLERS_TIME {
                break;
            }
            // One whose call fails alone shows nothing, nor do those after it.
            let Some(before) = call_caller(context, slot, call, number).await else {
                break;
            };
            callers.push(CallerReplies {
                before,
                ..CallerReplies::default()
            });
        }
        if callers.len() < CALLERS_MIN {
            return (Vec::new(), 0);
        }
        let began = Instant::now();
        for _ in 0..self.rounds {
            let params = (FIRST_CALLER..).take(callers.len());
            let params = params.map(|number| call.varied_params(number)).collect();
            let Some(round) = call_round(context, slot, call, params).await else {
                break;
            };
            for (place, reply) in round.replies {
                match callers.get_mut(place as usize).zip(reply) {
                    Some((caller, reply)) => caller.at_once.push(reply),
                    None => failures += 1,
                }
            }
            if round.is_stuck {
                break;
            }
        }
        *time_at_once += began.elapsed();
        let differs = |caller: &CallerReplies| caller.at_once.iter().any(|it| *it != caller.before);
        if callers.iter().any(differs) {
            // Backwards: a tool that returns the text of the call before gives other replies then.
            for (number, caller) in (FIRST_CALLER..)
                .zip(&mut callers)
                .collect::<Vec<_>>()
                .into_iter()
                .rev()
            {
                caller.after = call_caller(context, slot, call, number).await;
            }
        }
        (callers, failures)
    }
}

/// What calls made at the same instant got.
struct Round {
    /// By the place of the call.
    replies: Vec<(u32, Option<String>)>,
    is_stuck: bool,
}

/// Makes a call with each of these parameters at the same instant; none if there is no session.
async fn call_round(
    context: &RunContext,
    slot: &ConnectionSlot,
    call: &PreparedCall,
    params: Vec<String>,
) -> Option<Round> {
    let session = open_session(context, slot).await?;
    let calls = call_each_at_once(&session.connection, call, params, AT_ONCE_PHASE);
    let outcomes = calls.join_all().await;
    let is_stuck = outcomes.iter().any(|(_, outcome)| is_unanswered(outcome));
    if is_stuck {
        slot.examine(&session, &call.tool).await;
    }
    let replies = outcomes.into_iter();
    let replies = replies.map(|(place, it)| (place, it.ok().as_ref().and_then(canonical_reply)));
    Some(Round {
        replies: replies.collect(),
        is_stuck,
    })
}

/// The reply to a call made alone with the arguments of `number`, if it succeeds.
async fn call_caller(
    context: &RunContext,
    slot: &ConnectionSlot,
    call: &PreparedCall,
    number: u64,
) -> Option<String> {
    let current = open_session(context, slot).await?;
    let params = call.varied_params(number);
    let start = Start {
        params: Some(&params),
        ..in_phase(ALONE_PHASE)
    };
    let session = &current.connection.session;
    let outcome = session.request_as(&call.request, &start).await;
    if is_unanswered(&outcome) {
        slot.examine(&current, &call.tool).await;
    }
    outcome.ok().as_ref().and_then(canonical_reply)
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
        replies.extend(outcome.ok().as_ref().and_then(canonical_reply));
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

impl ScenarioType for RaceCheck {
    fn questions(&self) -> &'static [&'static str] {
        &[race::ID]
    }

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

    fn sections(&self, report: &Report) -> Vec<Section> {
        vec![race_section(&report.race)]
    }

    fn summary(&self, _: Shape) -> Vec<String> {
        vec![
            concurrent(self.concurrent),
            counted(self.rounds.into(), "round"),
        ]
    }
}

fn race_section(tools: &BTreeMap<String, RaceReport>) -> Section {
    let table = Table::new([
        "Tool",
        "Outcome",
        "alone",
        "different",
        "at once",
        "different at once",
        "failed",
    ])
    .numbers(2..)
    .rows(tools.iter().map(|(tool, race)| {
        cells![
            Line::code(tool),
            name_of(race.outcome),
            race.baseline_calls,
            race.baseline_distinct,
            race.concurrent_calls,
            race.concurrent_distinct,
            race.failures,
        ]
    }));
    let examples = tools.iter().filter_map(|(tool, race)| {
        let (one, other) = race.example.as_ref()?;
        let both = Line::join([Line::code(one), Line::code(other)], " and ");
        Some(
            Line::code(tool)
                .and(" answered ")
                .and(both)
                .and(" to the same call."),
        )
    });
    Section::new("Race check").table(table).list(examples)
}
