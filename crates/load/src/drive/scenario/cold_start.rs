//! A fresh server for each iteration: start, agree, first call, second call. A first call that is
//! far slower than the second pays for initialisation that was put off.

use super::prelude::*;
use mcprove_score::cold_start::{self, ColdStartSample};

/// The phase of the calls that count.
const PHASE: u16 = 1;
/// The phase of the calls of a discarded iteration.
const WARMUP_PHASE: u16 = 2;

/// A fresh process for each iteration: start, greet, first call, second call.
#[data(Settings)]
pub struct ColdStart {
    /// How often it is repeated.
    #[setting(default = 5)]
    pub iterations: u32,
    /// Whether the first iteration is thrown away, for it warms the disk caches.
    #[setting(default = true)]
    pub warmup: bool,
}

/// A start from cold.
#[stored]
struct ColdStartFact {
    discarded: bool,
    sample: ColdStartSample,
}

impl Fact for ColdStartFact {
    const NAME: &'static str = "cold_start";
}

impl ColdStart {
    /// Starts the server, and times the first and the second call, as far as they are answered.
    async fn start(&self, context: &RunContext, discarded: bool) -> RunResult {
        let phase = if discarded { WARMUP_PHASE } else { PHASE };
        let started = Instant::now();
        let connection = context.connect().await?;
        let ready_ms = as_milliseconds(started.elapsed());
        let session = &connection.session;
        let tools = context.list_tools(session).await?;
        let mut times = Vec::new();
        if let Some(call) = context.prepared(session, &tools)?.next() {
            let call = call?;
            for _ in 0..2 {
                // A tool that fails still shows how long it takes to be ready for it; one that never
                // answers does not.
                let duration = match connection.call(&call, phase).await {
                    Ok(reply) => reply.duration,
                    Err(error) if error.reply.is_some() || error.error.is_some() => error.duration,
                    Err(_) => break,
                };
                times.push(as_milliseconds(duration));
            }
        }
        if let [first_call_ms, second_call_ms] = times[..] {
            let sample = ColdStartSample {
                ready_ms,
                first_call_ms,
                second_call_ms,
            };
            context.fact("", &ColdStartFact { discarded, sample });
        }
        connection.finish(false).await;
        Ok(())
    }
}

impl ScenarioType for ColdStart {
    fn drive<'a>(&'a self, context: &'a RunContext) -> Steps<'a> {
        Box::pin(async move {
            let phases = [
                context.phase(PHASE, "cold start", 1, true),
                context.phase(WARMUP_PHASE, "warm-up", 1, false),
            ];
            // The discarded iteration comes on top of those that were asked for.
            let total = self.iterations.saturating_add(u32::from(self.warmup));
            for iteration in context.rounds(total) {
                let started = self.start(context, self.warmup && iteration == 0).await;
                match started {
                    // Whether there is a server at all shows at the first start.
                    Err(error) if iteration == 0 => return Err(error),
                    Err(error) => context.note_failure(&error),
                    Ok(()) => {}
                }
            }
            context.end_phases(phases);
            Ok(())
        })
    }

    fn conclude(&self, facts: &RunFacts<'_>, report: &mut Report) -> FactResult {
        let starts: Vec<ColdStartFact> = facts.all()?;
        let samples: Vec<_> = starts
            .iter()
            .filter(|start| !start.discarded)
            .map(|start| start.sample)
            .collect();
        let judged = cold_start::judge(&samples);
        report.verdicts.push(cold_start::verdict(&judged));
        report.cold_start = Some(judged);
        Ok(())
    }

    fn summary(&self, _: Shape) -> Vec<String> {
        vec![counted(self.iterations.into(), "fresh start")]
    }
}
