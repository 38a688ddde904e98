//! Sessions opened and left, one after the other and several at the same time: half of them in an
//! orderly way, half without a goodbye. Each makes one call. A server has to let go of them all.
//!
//! Where one process serves all sessions, what it keeps of them shows in its memory and its
//! descriptors, sampled all the while (`drive/sampler.rs`); over stdio, in processes that stay. Memory that grows with the
//! sessions, but not yet by what counts as a leak, is a reason to open more of them: a leak goes on, and what a garbage
//! collector has not looked at yet does not. Where something grew, as many sessions follow that are all closed in order:
//! what a server keeps of abandoned ones it may let go of after a while.

use futures_util::future::join_all;
use mcprove_score::leak::LeakSettings;
use mcprove_score::sessions::{
    ClosedSessions, DESCRIPTORS_MIN, SESSIONS_MB_MIN, needs_more_sessions,
};

use super::prelude::*;
use super::session_end::{self, ExitStyle, Focus, SessionEnds};

const PHASE: u16 = 1;
/// The phase of sessions that are all closed in order.
const CLOSED_PHASE: u16 = 2;
/// How long the sessions take together, at least, where one process serves them all: time enough
/// to see what grows.
const TIME_MIN: Duration = Duration::from_secs(3);
/// How long the server has at the end to let go of the last sessions.
const LETTING_GO: Duration = Duration::from_millis(500);
/// So many sessions in a row that cannot be opened: the server is gone.
const FAILED_OPENS_MAX: u32 = 3;

/// How many times as many sessions are opened at most, while the memory grows.
const ROUNDS_MAX: u32 = 10;
/// How often the memory is read in each round.
const READINGS: u32 = 20;
/// More sessions are opened until the memory grew by so many times what counts as a leak.
const CLEAR_GROWTH: f64 = 1.2;

/// The memory of the server by the sessions that it has served.
struct MemoryReadings {
    meter: Mutex<ServerMeter>,
    readings: Mutex<Vec<(u64, f64)>>,
}

impl MemoryReadings {
    fn of(context: &RunContext) -> Self {
        Self {
            meter: Mutex::new(ServerMeter::of(context)),
            readings: Mutex::default(),
        }
    }

    /// Memory in MB, descriptors, threads, processes.
    fn sample(&self, context: &RunContext) -> [f64; 4] {
        let mut meter = lock(&self.meter);
        meter.find_processes(context);
        let usage = meter.sample();
        usage.map_or([0.0; 4], |usage| {
            let count = |count: Option<u32>| f64::from(count.unwrap_or_default());
            let (descriptors, threads) = (count(usage.descriptors), count(usage.threads));
            [usage.rss_mb, descriptors, threads, usage.processes.into()]
        })
    }

    /// How much more it is now than it was before.
    fn growth(&self, context: &RunContext, before: [f64; 4]) -> [f64; 4] {
        let now = self.sample(context);
        std::array::from_fn(|place| now[place] - before[place])
    }

    fn read(&self, context: &RunContext, sessions: u32) {
        let [rss_mb, ..] = self.sample(context);
        if rss_mb > 0.0 {
            lock(&self.readings).push((sessions.into(), rss_mb));
        }
    }

    /// Whether more sessions would show a leak.
    fn are_growing(&self) -> bool {
        let threshold_mb = LeakSettings::default().threshold_mb;
        needs_more_sessions(&lock(&self.readings), threshold_mb * CLEAR_GROWTH)
    }
}

/// Sessions opened and abandoned without a goodbye.
#[data(Settings)]
pub struct Churn {
    /// How many sessions are opened; up to ten times as many while the server's memory grows with them.
    #[setting(default = 100)]
    pub sessions: u32,
    /// How many are open at the same time.
    #[setting(like = Sustained::CONCURRENT, default = 5)]
    pub concurrent: u32,
}

/// The revision to speak: HTTP has sessions in the handshake era only, so that era is taken
/// where the choice is ours and the server speaks it.
async fn choose_protocol(context: &RunContext, session: &Session) -> ProtocolChoice {
    let chosen = context.options.protocol;
    let is_sessionless = session.era() == Era::Stateless && session.transport() == "http";
    if chosen != ProtocolChoice::Auto || !is_sessionless {
        return chosen;
    }
    let handshake = ProtocolChoice::Revision(Revision::LATEST_HANDSHAKE);
    let trial = context.connect_with(|options| options.protocol = handshake);
    match trial.await {
        Ok(connection) => {
            connection.end().await;
            handshake
        }
        Err(_) => chosen,
    }
}

impl ScenarioType for Churn {
    fn questions(&self) -> &'static [&'static str] {
        &[
            mcprove_score::sessions::SESSION_LEAK,
            session_end::NEW_SESSIONS,
        ]
    }

    fn drive<'a>(&'a self, context: &'a RunContext) -> Steps<'a> {
        Box::pin(async move {
            let ends = SessionEnds::new(context);
            let first = ends.open_first().await?;
            let phase = context.phase(PHASE, "churn", self.concurrent, true);
            let session = &first.connection.session;
            let found = reference::find_first_call(context, &first.connection, PHASE).await?;
            let protocol = choose_protocol(context, session).await;
            let is_process_each = session.process().is_some();
            ends.leave(&first, ExitStyle::Orderly).await;
            if let Some(reference) = &found {
                let pace = if is_process_each {
                    Duration::ZERO
                } else {
                    TIME_MIN / self.sessions.max(1)
                };
                let began = Instant::now();
                let [next, done, failed_opens] = [const { AtomicU32::new(0) }; 3];
                let count = |counter: &AtomicU32| counter.fetch_add(1, Ordering::Relaxed);
                let memory = MemoryReadings::of(context);
                // Opens and leaves one session after the other, until all are done or the server is gone.
                let visit = async |planned: u32| {
                    loop {
                        let number = count(&next);
                        let is_enough = number >= planned || ends.is_clear();
                        if is_enough || !context.stop.is_running() {
                            return;
                        }
                        let due = began + pace * number;
                        let wait = due.saturating_duration_since(Instant::now());
                        context.pause(wait).await;
                        let opening = ends.open_and_call(protocol, reference, PHASE);
                        if let Some(visit) = opening.await {
                            failed_opens.store(0, Ordering::Relaxed);
                            ends.leave(&visit, ExitStyle::alternate(number)).await;
                        } else if count(&failed_opens) + 1 >= FAILED_OPENS_MAX {
                            ends.note_gone();
                            return;
                        }
                        let done = count(&done) + 1;
                        context.progress(done, planned);
                        if !is_process_each && done.is_multiple_of(self.sessions.div_ceil(READINGS))
                        {
                            memory.read(context, done);
                        }
                    }
                };
                let visitors = self.concurrent.min(self.sessions);
                let is_gone = || failed_opens.load(Ordering::Relaxed) >= FAILED_OPENS_MAX;
                let before = memory.sample(context);
                for round in 1..=ROUNDS_MAX {
                    let planned = self.sessions.saturating_mul(round);
                    join_all((0..visitors).map(|_| visit(planned))).await;
                    let is_over = is_gone() || ends.is_clear() || !context.stop.is_running();
                    if is_over || !memory.are_growing() {
                        break;
                    }
                    // Those that found nothing left to do have counted on.
                    next.store(planned, Ordering::Relaxed);
                }
                context.end_phases([phase]);
                let after_secs = began.elapsed().as_secs_f64();
                let [rss_mb, counts @ ..] = memory.growth(context, before);
                let is_suspicious =
                    rss_mb >= SESSIONS_MB_MIN || counts.iter().any(|it| *it >= DESCRIPTORS_MIN);
                if is_suspicious && !is_process_each && !is_gone() {
                    let before = memory.sample(context);
                    let each = self.sessions.div_ceil(visitors.max(1));
                    let close = async || {
                        for _ in context.rounds(each) {
                            let opening = ends.open_and_call(protocol, reference, CLOSED_PHASE);
                            let Some(visit) = opening.await else { break };
                            ends.leave(&visit, ExitStyle::Orderly).await;
                        }
                    };
                    join_all((0..visitors).map(|_| close())).await;
                    context.pause(LETTING_GO).await;
                    let growth = memory.growth(context, before);
                    let is_known = growth[0] > -before[0];
                    if is_known && context.stop.is_running() {
                        ends.note_closed(ClosedSessions {
                            sessions: (each * visitors).into(),
                            after_secs,
                            growth,
                        });
                    }
                }
            } else {
                context.end_phases([phase]);
            }
            // What follows is no part of the load.
            if found.is_some() {
                context.pause(LETTING_GO).await;
            }
            ends.finish().await;
            Ok(())
        })
    }

    fn conclude(&self, facts: &RunFacts<'_>, report: &mut Report) -> FactResult {
        session_end::conclude(facts, report, Focus::Leaks)
    }

    fn judging(&self) -> Judging {
        Judging {
            failures_told_by: Some(session_end::NEW_SESSIONS),
            ..Judging::leaving_calls()
        }
    }

    fn sections(&self, report: &Report) -> Vec<Section> {
        session_end::sections(report)
    }

    fn summary(&self, _: Shape) -> Vec<String> {
        vec![
            counted(self.sessions.into(), "session"),
            concurrent(self.concurrent),
        ]
    }
}
