//! Calls that come before a server expects them: before its list of tools is complete, and before
//! the handshake is. To take such a call or to refuse it is fine; to hang, or to die of it, is not.

mod fate;

use std::sync::Arc;
use std::time::{Duration, Instant};

use mcprove_client::session::{CallError, ConnectError, ProtocolChoice, Reply, Request, Start};
use mcprove_document::figure::counted;
use mcprove_settings::setting::Settings;
use mcprove_trace::protocol::{Era, Revision};
use mcprove_trace::stream::Recorder;
use mcprove_trace::{BoxFuture, ErrorCategory};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use self::fate::{Fate, Moment, Tally};
use super::check::note_check;
use super::departure::dismiss;
use super::reference::{self, Reference, is_answer};
use super::{Judging, ScenarioType, Shape, Steps, Work};
use crate::drive::definition::LoadSettings;
use crate::drive::error::StageError;
use crate::drive::seat::note_stuck;
use crate::drive::stage::{Connection, Stage, note_steps, note_violations, since_start};

/// The phase of the calls in their proper order.
const PHASE: u16 = 1;
/// The phase of the calls that come early.
const EARLY_PHASE: u16 = 2;
/// How long a call that came before `notifications/initialized` has to wait for that: it may be
/// held back until then, and must not be afterwards.
const BEFORE_INITIALIZED: Duration = Duration::from_millis(300);

/// What it finds.
pub(super) const EXPLANATION: &str =
    "calls before the list of tools is complete, and before initialization is: hangs, crashes";

/// Calls before the list of tools is complete, and before initialization.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, Settings)]
pub struct EarlyCall {
    /// How often, each on a fresh session.
    #[setting(default = 3)]
    pub iterations: u32,
}

impl EarlyCall {
    async fn take(&self, stage: &Arc<Stage>, recorder: &Arc<Recorder>) -> Result<(), StageError> {
        let from = since_start(&stage.stream, Instant::now());
        let first = stage.connect(recorder).await?;
        let found = reference::find_first_call(stage, recorder, &first, PHASE).await?;
        dismiss(recorder, &first).await;
        if let Some(reference) = &found {
            let tool = &reference.ready.tool;
            let moments = [Moment::WithList, Moment::BeforeInitialized];
            for (place, moment) in (0..).zip(moments) {
                let tally = self
                    .try_moment(stage, recorder, reference, moment, place)
                    .await;
                if let Some(verdict) = tally.verdict(moment, tool) {
                    note_check(recorder, &verdict);
                }
                if tally.worst.is_some() {
                    break;
                }
            }
        } else {
            note_check(recorder, &reference::missing("early_call"));
        }
        note_steps(
            stage,
            recorder,
            from,
            [(PHASE, "in order", true), (EARLY_PHASE, "early", false)],
        );
        Ok(())
    }

    /// Makes early calls at one moment, each on a fresh session.
    async fn try_moment(
        &self,
        stage: &Arc<Stage>,
        recorder: &Arc<Recorder>,
        reference: &Reference,
        moment: Moment,
        place: u32,
    ) -> Tally {
        let mut tally = Tally::default();
        for iteration in 0..self.iterations {
            if !stage.stop.is_running() {
                break;
            }
            let opened = match moment {
                Moment::WithList => stage.connect(recorder).await.map(Some),
                Moment::BeforeInitialized => connect_unready(stage, recorder).await,
            };
            let connection = match opened {
                Ok(Some(connection)) => connection,
                // This server has no such moment.
                Ok(None) => break,
                Err(error) => {
                    recorder.note("connect_failed", &error.to_string(), &json!({}));
                    tally.worst = Some(Fate::Died(format!(
                        "a new session cannot be opened: {error}"
                    )));
                    break;
                }
            };
            let fate = call_early(stage, &connection, reference, moment).await;
            if fate == Fate::Hung {
                note_stuck(recorder, &connection, &reference.ready.tool).await;
            }
            let goes_on = tally.count(fate);
            if goes_on {
                dismiss(recorder, &connection).await;
            } else {
                note_violations(recorder, &connection.session);
                connection.kill();
            }
            let done = place * self.iterations + iteration + 1;
            stage.progress(done, 2 * self.iterations);
            if !goes_on {
                break;
            }
        }
        tally
    }
}

/// A session whose handshake is not complete; none where the server has no handshake.
async fn connect_unready(
    stage: &Arc<Stage>,
    recorder: &Arc<Recorder>,
) -> Result<Option<Connection>, ConnectError> {
    let protocol = match stage.options.protocol {
        ProtocolChoice::Auto => ProtocolChoice::Revision(Revision::LATEST_HANDSHAKE),
        ProtocolChoice::Revision(revision) if revision.era() == Era::Stateless => return Ok(None),
        chosen @ ProtocolChoice::Revision(_) => chosen,
    };
    let opening = stage.connect_with(recorder, |options| {
        options.protocol = protocol;
        options.sends_initialized = false;
    });
    match opening.await {
        Ok(connection) => Ok(Some(connection)),
        // Asked for a handshake, a server that has none says so; it was reached before.
        Err(ConnectError::Revision { .. } | ConnectError::Handshake { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Makes an early call, and then everything in its proper order.
async fn call_early(
    stage: &Stage,
    connection: &Connection,
    reference: &Reference,
    moment: Moment,
) -> Fate {
    let session = &connection.session;
    let limits = stage.hang_limits();
    let patience = limits.threshold.saturating_add(limits.grace);
    let start = Start {
        phase: EARLY_PHASE,
        ..Start::default()
    };
    let request = &reference.ready.request;
    let list = Request::new("tools/list").timeout(patience);
    // Both are sent before anything is waited for.
    let listing = (moment == Moment::WithList).then(|| session.start(&list));
    let outcome = match session.start_as(request, &start) {
        Ok(mut call) if moment == Moment::BeforeInitialized => {
            let early = tokio::time::timeout(BEFORE_INITIALIZED, &mut call).await;
            session.notify("notifications/initialized", None);
            match early {
                Ok(outcome) => outcome,
                Err(_) => call.await,
            }
        }
        Ok(call) => call.await,
        Err(error) => Err(error),
    };
    let fate = judge(connection, &outcome);
    if !matches!(fate, Fate::Accepted | Fate::Rejected) {
        return fate;
    }
    if let Some(Ok(listing)) = listing
        && let Err(error) = listing.await
        && !is_answer(&error)
    {
        return Fate::Broken(format!("tools/list: {error}"));
    }
    let start = Start {
        phase: PHASE,
        ..Start::default()
    };
    match session.request_as(request, &start).await {
        Ok(_) => fate,
        // Late, or failed for a reason of its own: it is answered.
        Err(error) if is_answer(&error) => fate,
        Err(error) => match session.closed() {
            Some(failure) => Fate::Died(failure.message),
            None => Fate::Broken(error.to_string()),
        },
    }
}

fn judge(connection: &Connection, outcome: &Result<Reply, CallError>) -> Fate {
    match outcome {
        Ok(_) => Fate::Accepted,
        Err(error) => match connection.session.closed() {
            Some(failure) => Fate::Died(failure.message),
            None if is_answer(error) => Fate::Rejected,
            None if error.category() == ErrorCategory::Disconnected => {
                Fate::Died(error.to_string())
            }
            None => Fate::Hung,
        },
    }
}

impl ScenarioType for EarlyCall {
    fn work(&self, _: &LoadSettings) -> Result<Work, StageError> {
        Ok(Work::Steps(Box::new(self.clone())))
    }

    fn judging(&self) -> Judging {
        Judging {
            leaves_calls: true,
            ..Judging::default()
        }
    }

    fn summary(&self, _: Shape) -> Vec<String> {
        vec![counted(self.iterations.into(), "time")]
    }
}

impl Steps for EarlyCall {
    fn run<'a>(
        &'a self,
        stage: &'a Arc<Stage>,
        recorder: &'a Arc<Recorder>,
    ) -> BoxFuture<'a, Result<(), StageError>> {
        Box::pin(self.take(stage, recorder))
    }
}
