//! A fresh server for each iteration: start, agree, first call, second call. A first call that is
//! far slower than the second pays for initialisation that was put off.

use std::sync::Arc;
use std::time::Instant;

use mcprove_client::session::Start;
use mcprove_document::figure::counted;
use mcprove_score::cold_start::{self, ColdStartSample};
use mcprove_settings::quantity::as_milliseconds;
use mcprove_settings::setting::Settings;
use mcprove_trace::BoxFuture;
use mcprove_trace::stream::Recorder;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::{ScenarioType, Shape, Steps, Work};
use crate::drive::definition::LoadSettings;
use crate::drive::error::StageError;
use crate::drive::mix::{ReadyCall, calls_for};
use crate::drive::stage::{Connection, Stage, note_steps, note_violations, since_start};
use crate::run::assemble::Assembly;
use crate::run::report::Report;

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

impl ColdStart {
    async fn take(&self, stage: &Arc<Stage>, recorder: &Arc<Recorder>) -> Result<(), StageError> {
        let began = since_start(&stage.stream, Instant::now());
        // The discarded iteration comes on top of those that were asked for.
        let total = self.iterations.saturating_add(u32::from(self.warmup));
        for iteration in 0..total {
            if !stage.stop.is_running() {
                break;
            }
            let discarded = self.warmup && iteration == 0;
            let phase = if discarded { WARMUP_PHASE } else { PHASE };
            let started = Instant::now();
            let connection = match stage.connect(recorder).await {
                Ok(connection) => connection,
                // Whether there is a server at all shows at the first start.
                Err(error) if iteration == 0 => return Err(error.into()),
                Err(error) => {
                    recorder.note("connect_failed", &error.to_string(), &json!({}));
                    continue;
                }
            };
            let ready_ms = as_milliseconds(started.elapsed());
            let calls = match self.call_twice(stage, recorder, &connection, phase).await {
                Ok(calls) => calls,
                Err(error) if iteration == 0 => return Err(error),
                Err(error) => {
                    recorder.note("connect_failed", &error.to_string(), &json!({}));
                    continue;
                }
            };
            if let [first_call_ms, second_call_ms] = calls[..] {
                let sample = ColdStartSample {
                    ready_ms,
                    first_call_ms,
                    second_call_ms,
                };
                let data = json!({ "discarded": discarded, "sample": sample });
                recorder.note("cold_start", "", &data);
            }
            note_violations(recorder, &connection.session);
            connection.end().await;
            stage.progress(iteration + 1, total);
        }
        note_steps(
            stage,
            recorder,
            began,
            [
                (PHASE, "cold start", true),
                (WARMUP_PHASE, "warm-up", false),
            ],
        );
        Ok(())
    }

    /// The times of the first and the second call, as far as they were answered.
    async fn call_twice(
        &self,
        stage: &Arc<Stage>,
        recorder: &Arc<Recorder>,
        connection: &Connection,
        phase: u16,
    ) -> Result<Vec<f64>, StageError> {
        let session = &connection.session;
        let tools = stage.list_tools(recorder, session).await?;
        let calls = calls_for(stage, &tools)?;
        let Some(call) = calls.first() else {
            return Ok(Vec::new());
        };
        let ready = ReadyCall::new(stage, session, &tools, call)?;
        let start = Start {
            phase,
            ..Start::default()
        };
        let mut times = Vec::new();
        for _ in 0..2 {
            // A tool that fails still shows how long it takes to be ready for it; one that never
            // answers does not.
            match session.request_as(&ready.request, &start).await {
                Ok(reply) => times.push(as_milliseconds(reply.duration)),
                Err(error) if error.reply.is_some() || error.error.is_some() => {
                    times.push(as_milliseconds(error.duration));
                }
                Err(_) => break,
            }
        }
        Ok(times)
    }
}

impl ScenarioType for ColdStart {
    fn work(&self, _: &LoadSettings) -> Result<Work, StageError> {
        Ok(Work::Steps(Box::new(self.clone())))
    }

    fn conclude(&self, assembly: &Assembly<'_>, report: &mut Report) {
        let measured = assembly
            .notes
            .cold_starts
            .iter()
            .filter(|record| !record.discarded);
        let samples: Vec<_> = measured.map(|record| record.sample).collect();
        let judged = cold_start::judge(&samples);
        report.verdicts.push(cold_start::verdict(&judged));
        report.cold_start = Some(judged);
    }

    fn summary(&self, _: Shape) -> Vec<String> {
        vec![counted(self.iterations.into(), "fresh start")]
    }
}

impl Steps for ColdStart {
    fn run<'a>(
        &'a self,
        stage: &'a Arc<Stage>,
        recorder: &'a Arc<Recorder>,
    ) -> BoxFuture<'a, Result<(), StageError>> {
        Box::pin(self.take(stage, recorder))
    }
}
