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
    /// Whether to discard the first iteration, which warms the disk caches.
    #[setting(default = true)]
    pub warmup: bool,
}

#[stored]
struct ColdStartFact {
    discarded: bool,
    sample: ColdStartSample,
    #[serde(default)]
    same_arguments: bool,
}

impl Fact for ColdStartFact {
    const NAME: &'static str = "cold_start";
}

impl ColdStart {
    /// Starts the server, and times the first and the second call, as far as they are answered. A start that counts
    /// has a number; whatever keeps it from its first call is noted as its failure.
    async fn start(&self, context: &RunContext, number: Option<u32>) -> RunResult {
        let discarded = number.is_none();
        let phase = if discarded { WARMUP_PHASE } else { PHASE };
        let started = Instant::now();
        let connection = context.connect_planned(number).await?;
        let ready_ms = as_milliseconds(started.elapsed());
        let session = &connection.session;
        let tools = match list_in_time(context, session).await {
            Ok(tools) => tools,
            Err(failure) => {
                context.note_failed_list(&failure, number);
                connection.finish(true).await;
                return Err(match failure.own_limit() {
                    Some(limit) => limit.into(),
                    None => RunError::ToolsList(failure.to_string()),
                });
            }
        };
        context.learn_tools(session, &tools)?;
        let mut times = Vec::new();
        let mut same_arguments = false;
        // The same arguments again may be answered from memory.
        let calls = context
            .prepared(session, &tools)?
            .collect::<RunResult<Vec<_>>>()?;
        if let Some(call) = calls.iter().find(|call| call.can_vary()).or(calls.first()) {
            let mut call = call.clone();
            same_arguments = !call.can_vary();
            for number in 0..2 {
                call.request.params = call.varied_params(number);
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
            context.fact(
                "",
                &ColdStartFact {
                    discarded,
                    sample,
                    same_arguments,
                },
            );
        }
        connection.finish(false).await;
        Ok(())
    }
}

/// The tools of a server that was just started, which has as long for them as for its handshake.
async fn list_in_time(context: &RunContext, session: &Session) -> Result<Vec<Tool>, Failure> {
    let timeout = context.server.startup_timeout;
    if let Ok(listed) = tokio::time::timeout(timeout, session.list_tools()).await {
        return listed.map_err(|error| error.failure.clone());
    }
    let waited = describe_duration(timeout);
    Err(Failure::timeout(format!(
        "tools/list was not answered within {waited}"
    )))
}

impl ScenarioType for ColdStart {
    fn questions(&self) -> &'static [&'static str] {
        &[cold_start::ID]
    }

    fn judging(&self) -> Judging {
        Judging {
            is_about_starts: true,
            ..Judging::default()
        }
    }

    fn drive<'a>(&'a self, context: &'a RunContext) -> Steps<'a> {
        Box::pin(async move {
            let phases = [
                context.phase(PHASE, "cold start", 1, true),
                context.phase(WARMUP_PHASE, "warm-up", 1, false),
            ];
            context.plan_starts(StartUnit::Start, self.iterations);
            // The discarded iteration comes on top of those that were asked for.
            let discarded = u32::from(self.warmup);
            let total = self.iterations.saturating_add(discarded);
            for iteration in context.rounds(total) {
                let started = self.start(context, iteration.checked_sub(discarded)).await;
                // Whether there is a server at all shows at the first start; how others fail is noted.
                if iteration == 0 {
                    started?;
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
        let mut judged = cold_start::judge(&samples);
        judged.same_arguments = starts.iter().any(|start| start.same_arguments);
        report.verdicts.push(cold_start::verdict(&judged));
        report.cold_start = Some(judged);
        Ok(())
    }

    fn sections(&self, report: &Report) -> Vec<Section> {
        report.cold_start.iter().map(cold_start_section).collect()
    }

    fn summary(&self, _: Shape) -> Vec<String> {
        vec![counted(self.iterations.into(), "fresh start")]
    }
}

fn cold_start_section(report: &ColdStartReport) -> Section {
    let table = Table::new([
        "Starts",
        "ready",
        "first call",
        "second call",
        "first / second",
    ]);
    Section::new("Cold start")
        .table(table.numbers(..).rows([[
            report.iterations.to_string(),
            maybe_milliseconds(report.ready_ms),
            maybe_milliseconds(report.first_call_ms),
            maybe_milliseconds(report.second_call_ms),
            maybe_decimal(report.ratio, 1),
        ]]))
        .paragraph("Medians over all starts, each with a fresh process.")
}
