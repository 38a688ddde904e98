//! A fresh server for each iteration: start, agree, first call, second call. A first call that is
//! far slower than the second pays for initialisation that was put off.

use std::time::Instant;

use mcprove_client::session::Session;
use mcprove_document::figure::counted;
use mcprove_score::cold_start::{self, ColdStartSample};
use mcprove_settings::quantity::as_milliseconds;
use mcprove_settings::setting::Settings;
use mcprove_trace::BoxFuture;
use mcprove_trace::stream::{Fact, FactError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{ScenarioType, Shape};
use crate::drive::context::{RunContext, in_phase};
use crate::drive::mix::{PreparedCall, calls_for};
use crate::run::{Report, RunError, RunFacts};

/// The phase of the calls that count.
const PHASE: u16 = 1;
/// The phase of the calls of a discarded iteration.
const WARMUP_PHASE: u16 = 2;

/// What it finds.
pub(super) const EXPLANATION: &str =
    "a fresh process each time, first and second call compared: lazy initialisation";

/// A fresh process for each iteration: start, greet, first call, second call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, Settings)]
pub struct ColdStart {
    /// How often the server is started.
    #[setting(default = 5)]
    pub iterations: u32,
    /// Whether the first iteration is thrown away, for it warms the disk caches.
    #[setting(default = true)]
    pub warmup: bool,
}

/// A start from cold.
#[derive(Debug, Serialize, Deserialize)]
struct ColdStartFact {
    discarded: bool,
    sample: ColdStartSample,
}

impl Fact for ColdStartFact {
    const NAME: &'static str = "cold_start";
}

impl ColdStart {
    /// Starts the server, and times the first and the second call, as far as they are answered.
    async fn start(&self, context: &RunContext, discarded: bool) -> Result<(), RunError> {
        let phase = if discarded { WARMUP_PHASE } else { PHASE };
        let started = Instant::now();
        let connection = context.connect().await?;
        let ready_ms = as_milliseconds(started.elapsed());
        let times = call_twice(context, &connection.session, phase).await?;
        if let [first_call_ms, second_call_ms] = times[..] {
            let sample = ColdStartSample {
                ready_ms,
                first_call_ms,
                second_call_ms,
            };
            context.fact("", &ColdStartFact { discarded, sample });
        }
        connection.note_violations();
        connection.end().await;
        Ok(())
    }
}

async fn call_twice(
    context: &RunContext,
    session: &Session,
    phase: u16,
) -> Result<Vec<f64>, RunError> {
    let tools = context.list_tools(session).await?;
    let mut times = Vec::new();
    if let Some(call) = calls_for(context, &tools)?.first() {
        let call = PreparedCall::new(context, session, &tools, call)?;
        for _ in 0..2 {
            // A tool that fails still shows how long it takes to be ready for it; one that never
            // answers does not.
            match session.request_as(&call.request, &in_phase(phase)).await {
                Ok(reply) => times.push(as_milliseconds(reply.duration)),
                Err(error) if error.reply.is_some() || error.error.is_some() => {
                    times.push(as_milliseconds(error.duration));
                }
                Err(_) => break,
            }
        }
    }
    Ok(times)
}

impl ScenarioType for ColdStart {
    fn drive<'a>(&'a self, context: &'a RunContext) -> BoxFuture<'a, Result<(), RunError>> {
        Box::pin(async move {
            let phases = [
                context.phase(PHASE, "cold start", 1, true),
                context.phase(WARMUP_PHASE, "warm-up", 1, false),
            ];
            // The discarded iteration comes on top of those that were asked for.
            let total = self.iterations.saturating_add(u32::from(self.warmup));
            for iteration in 0..total {
                if !context.stop.is_running() {
                    break;
                }
                match self.start(context, self.warmup && iteration == 0).await {
                    Ok(()) => context.progress(iteration + 1, total),
                    // Whether there is a server at all shows at the first start.
                    Err(error) if iteration == 0 => return Err(error),
                    Err(error) => context.note_failure(&error),
                }
            }
            context.end_phases(phases);
            Ok(())
        })
    }

    fn conclude(&self, facts: &RunFacts<'_>, report: &mut Report) -> Result<(), FactError> {
        let mut starts: Vec<ColdStartFact> = facts.all()?;
        starts.retain(|start| !start.discarded);
        let samples: Vec<_> = starts.iter().map(|start| start.sample).collect();
        let judged = cold_start::judge(&samples);
        report.verdicts.push(cold_start::verdict(&judged));
        report.cold_start = Some(judged);
        Ok(())
    }

    fn summary(&self, _: Shape) -> Vec<String> {
        vec![counted(self.iterations.into(), "fresh start")]
    }
}
