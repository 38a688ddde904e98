//! A tool that is known to work: called alone and in order before anything is done to the server,
//! so that what fails afterwards failed because of that.

use mcprove_client::transport::Detail;
use tokio::sync::Barrier;

use super::prelude::*;

/// How many tools are tried on one session.
const TRIES_MAX: usize = 20;
/// How many tools are tried on a session of their own.
const FRESH_TRIES_MAX: usize = 5;

/// A call that succeeded.
pub struct Reference {
    pub call: Arc<PreparedCall>,
    /// How long it took.
    pub duration: Duration,
}

/// The first call that succeeds as the first one of a session, made in its proper order; the calls
/// carry `phase`. A server that takes its time over every first call, or hangs in it, would else be
/// blamed for what has nothing to do with that. `first` is a session without calls.
pub async fn find_first_call(
    context: &RunContext,
    first: &Connection,
    phase: u16,
) -> RunResult<Option<Reference>> {
    let tools = context.list_tools(&first.session).await?;
    let calls = context.prepared(&first.session, &tools)?;
    for (place, call) in calls.take(FRESH_TRIES_MAX).enumerate() {
        let call = call?;
        let found = if place == 0 {
            call_once(first, call, phase).await
        } else if context.stop.is_running() {
            let fresh = match context.connect().await {
                Ok(fresh) => fresh,
                Err(error) => {
                    context.note_failure(&error);
                    break;
                }
            };
            let found = match fresh.session.list_tools().await {
                Ok(_) => call_once(&fresh, call, phase).await,
                Err(_) => None,
            };
            fresh.dismiss().await;
            found
        } else {
            break;
        };
        if found.is_some() {
            return Ok(found);
        }
    }
    Ok(None)
}

/// The call with how long it takes, if it succeeds.
async fn call_once(connection: &Connection, call: PreparedCall, phase: u16) -> Option<Reference> {
    let reply = connection.call(&call, phase).await.ok()?;
    Some(Reference {
        call: Arc::new(call),
        duration: reply.duration,
    })
}

/// The slowest call that succeeds on a session; the calls carry `phase`.
pub async fn find_slowest(
    context: &RunContext,
    connection: &Connection,
    phase: u16,
) -> RunResult<Option<Reference>> {
    let session = &connection.session;
    let tools = context.list_tools(session).await?;
    let mut found = Vec::new();
    for call in context.prepared(session, &tools)?.take(TRIES_MAX) {
        if !context.stop.is_running() || session.closed().is_some() {
            break;
        }
        found.extend(call_once(connection, call?, phase).await);
    }
    Ok(found.into_iter().max_by_key(|reference| reference.duration))
}

/// Makes a call with each of these parameters at the same instant; each has its place among them.
pub fn call_each_at_once(
    connection: &Arc<Connection>,
    call: &PreparedCall,
    params: Vec<String>,
    phase: u16,
) -> JoinSet<(u32, Result<Reply, CallError>)> {
    let barrier = Arc::new(Barrier::new(params.len()));
    let mut calls = JoinSet::new();
    for (place, params) in (0..).zip(params) {
        let (connection, request) = (Arc::clone(connection), call.request.clone());
        let barrier = Arc::clone(&barrier);
        calls.spawn(async move {
            barrier.wait().await;
            let start = Start {
                params: Some(&params),
                ..in_phase(phase)
            };
            let outcome = connection.session.request_as(&request, &start).await;
            (place, outcome)
        });
    }
    calls
}

/// What can be said when no tool works.
pub fn missing(detector: &str) -> Verdict {
    Verdict::inconclusive(
        detector,
        "No tool could be called successfully at first, so later failures cannot be judged.",
        sentence!(
            "name a tool and arguments that it accepts ({}, {})",
            setting("tool_call"),
            setting("args")
        ),
    )
}

/// Whether a failed call was answered at all: late, with an error or with something broken; over HTTP, perhaps by a status.
pub fn is_answer(error: &CallError) -> bool {
    let is_refusal = matches!(
        error.failure.detail,
        Detail::Status(_) | Detail::SessionExpired | Detail::Error(_)
    );
    error.is_answer() || is_refusal
}
