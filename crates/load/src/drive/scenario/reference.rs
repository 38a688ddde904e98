//! A tool that is known to work: called alone and in order before anything is done to the server,
//! so that what fails afterwards failed because of that.

use mcprove_settings::message::{message, setting};
use std::sync::Arc;
use std::time::Duration;

use mcprove_client::session::{CallError, Session, Start};
use mcprove_score::verdict::Verdict;
use mcprove_trace::stream::Recorder;
use serde_json::json;

use super::departure::dismiss;
use crate::drive::error::StageError;
use crate::drive::mix::{ReadyCall, calls_for};
use crate::drive::stage::{Connection, Stage};

/// How many tools are tried on one session.
const TRIES_MAX: usize = 20;
/// How many tools are tried on a session of their own.
const FRESH_TRIES_MAX: usize = 5;

/// A call that succeeded.
pub(super) struct Reference {
    /// The call.
    pub ready: Arc<ReadyCall>,
    /// How long it took.
    pub duration: Duration,
}

/// The first call that succeeds as the first one of a session, made in its proper order; the calls
/// carry `phase`. A server that takes its time over every first call, or hangs in it, would else be
/// blamed for what has nothing to do with that. `first` is a session without calls.
pub(super) async fn find_first_call(
    stage: &Arc<Stage>,
    recorder: &Arc<Recorder>,
    first: &Connection,
    phase: u16,
) -> Result<Option<Reference>, StageError> {
    let tools = stage.list_tools(recorder, &first.session).await?;
    let calls = calls_for(stage, &tools)?;
    for (place, call) in calls.iter().take(FRESH_TRIES_MAX).enumerate() {
        let ready = Arc::new(ReadyCall::new(stage, &first.session, &tools, call)?);
        if place == 0 {
            if let Some(duration) = call_once(&first.session, &ready, phase).await {
                return Ok(Some(Reference { ready, duration }));
            }
            continue;
        }
        if !stage.stop.is_running() {
            break;
        }
        let fresh = match stage.connect(recorder).await {
            Ok(fresh) => fresh,
            Err(error) => {
                recorder.note("connect_failed", &error.to_string(), &json!({}));
                break;
            }
        };
        let duration = match fresh.session.list_tools().await {
            Ok(_) => call_once(&fresh.session, &ready, phase).await,
            Err(_) => None,
        };
        dismiss(recorder, &fresh).await;
        if let Some(duration) = duration {
            return Ok(Some(Reference { ready, duration }));
        }
    }
    Ok(None)
}

/// How long a call takes that succeeds.
async fn call_once(session: &Session, ready: &ReadyCall, phase: u16) -> Option<Duration> {
    let start = Start {
        phase,
        ..Start::default()
    };
    let outcome = session.request_as(&ready.request, &start).await;
    outcome.ok().map(|reply| reply.duration)
}

/// The calls that succeed on `session`, at most `wanted` of them; the calls carry `phase`.
pub(super) async fn find(
    stage: &Stage,
    recorder: &Recorder,
    session: &Session,
    phase: u16,
    wanted: usize,
) -> Result<Vec<Reference>, StageError> {
    let tools = stage.list_tools(recorder, session).await?;
    let mut found = Vec::new();
    for call in calls_for(stage, &tools)?.iter().take(TRIES_MAX) {
        if found.len() == wanted || !stage.stop.is_running() || session.closed().is_some() {
            break;
        }
        let ready = Arc::new(ReadyCall::new(stage, session, &tools, call)?);
        if let Some(duration) = call_once(session, &ready, phase).await {
            found.push(Reference { ready, duration });
        }
    }
    Ok(found)
}

/// What can be said when no tool works.
pub(super) fn missing(detector: &str) -> Verdict {
    Verdict::inconclusive(
        detector,
        "No tool could be called successfully to begin with, so nothing can be said about calls that fail later.",
        message![
            "name a tool and arguments that it accepts (",
            setting("tool_call"),
            ", ",
            setting("args"),
            ")"
        ],
    )
}

/// Whether a failed call was answered at all, late or with an error.
pub(super) fn is_answer(error: &CallError) -> bool {
    error.reply.is_some() || error.error.is_some() || is_refusal(error)
}

/// Whether an HTTP status was the answer.
fn is_refusal(error: &CallError) -> bool {
    use mcprove_client::transport::Detail;
    matches!(
        error.failure.detail,
        Detail::Status(_) | Detail::SessionExpired | Detail::Error(_)
    )
}
