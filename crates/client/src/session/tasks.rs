//! Calls that run as tasks: the server hands out a handle, and the result is fetched when it is
//! done. In 2025-11-25 the client asks for a task; in the stateless era the server decides.

use std::time::{Duration, Instant};

use mcprove_settings::quantity::describe_duration;
use mcprove_trace::ErrorCategory;
use mcprove_trace::protocol::{Revision, RpcError};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::rounds::malformed;
use super::{CallError, Reply, Request, Session};
use crate::transport::Failure;

/// How often a task is looked at when the server does not say.
const POLL_INTERVAL: Duration = Duration::from_millis(200);
/// A server may ask for longer pauses than this; it does not get them.
const POLL_INTERVAL_MAX: Duration = Duration::from_secs(5);
/// How long the server shall keep the result.
const TASK_TTL: Duration = Duration::from_mins(10);

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Task {
    #[serde(rename = "taskId")]
    id: String,
    status: String,
    #[serde(default)]
    status_message: Option<String>,
    #[serde(default, alias = "pollIntervalMs")]
    poll_interval: Option<u64>,
    #[serde(default)]
    input_requests: Map<String, Value>,
    #[serde(default)]
    error: Option<RpcError>,
    #[serde(default)]
    result: Option<Value>,
}

impl Task {
    fn pause(&self) -> Duration {
        let asked = self
            .poll_interval
            .map_or(POLL_INTERVAL, Duration::from_millis);
        asked.min(POLL_INTERVAL_MAX)
    }
}

impl Session {
    /// Whether the server runs tool calls as tasks when asked to.
    pub fn supports_task_calls(&self) -> bool {
        self.facts.revision == Revision::V2025_11_25
            && self
                .facts
                .capabilities
                .pointer("/tasks/requests/tools/call")
                .is_some()
    }

    /// Calls a tool as a task (2025-11-25) and waits for its result.
    pub(super) async fn run_as_task(
        &self,
        tool: &str,
        arguments: &Value,
        timeout: Duration,
    ) -> Result<Reply, CallError> {
        let ttl = u64::try_from(TASK_TTL.as_millis()).unwrap_or(u64::MAX);
        let params = json!({ "name": tool, "arguments": arguments, "task": { "ttl": ttl } });
        let request = Request::new("tools/call").params(&params).timeout(timeout);
        let began = Instant::now();
        let created = self.request(&request).await?;
        let handle: Value = created.parse()?;
        let mut task: Task = read_task(handle.get("task"), &created)?;
        loop {
            match task.status.as_str() {
                // `tasks/result` answers when the task is done; while it needs input, the
                // server's questions arrive as requests of their own.
                "completed" | "failed" | "cancelled" | "input_required" => {
                    let left = timeout.saturating_sub(began.elapsed());
                    let mut reply = self
                        .task_request("tasks/result", &task.id, left, tool)
                        .await?;
                    reply.duration = began.elapsed();
                    return Ok(reply);
                }
                _ => {}
            }
            task = self.look_again(&task, began, timeout).await?.0;
        }
    }

    /// Waits for a task that the server chose to make of a call (stateless era).
    pub(super) async fn follow_stateless_task(
        &self,
        created: &Reply,
        timeout: Duration,
    ) -> Result<Reply, CallError> {
        let began = Instant::now();
        let handle: Value = created.parse()?;
        let mut task: Task = read_task(handle.get("task").or(Some(&handle)), created)?;
        let mut reply = created.clone();
        loop {
            match task.status.as_str() {
                "completed" => return finished(&task, &reply),
                "failed" | "cancelled" => {
                    let why = task
                        .error
                        .map(|error| error.message)
                        .or(task.status_message);
                    let message = format!(
                        "the task {}: {}",
                        task.status,
                        why.unwrap_or_else(|| "no reason given".into())
                    );
                    return Err(CallError::unsent(Failure::new(
                        ErrorCategory::ServerError,
                        message,
                    )));
                }
                "input_required" if !task.input_requests.is_empty() => {
                    let responses = self.answer_all(&task.input_requests)?;
                    let params = json!({ "taskId": task.id, "inputResponses": responses });
                    self.request(&Request::new("tasks/update").params(&params))
                        .await?;
                }
                _ => {}
            }
            (task, reply) = self.look_again(&task, began, timeout).await?;
        }
    }

    /// Pauses and asks for the state of a task.
    async fn look_again(
        &self,
        task: &Task,
        began: Instant,
        timeout: Duration,
    ) -> Result<(Task, Reply), CallError> {
        let left = timeout.saturating_sub(began.elapsed());
        if left <= task.pause() {
            self.give_up(task).await;
            let message = format!(
                "the task is still {} after {}",
                task.status,
                describe_duration(timeout)
            );
            return Err(CallError::unsent(Failure::timeout(message)));
        }
        tokio::time::sleep(task.pause()).await;
        let reply = self.task_request("tasks/get", &task.id, left, "").await?;
        let state: Value = reply.parse()?;
        let task = read_task(state.get("task").or(Some(&state)), &reply)?;
        Ok((task, reply))
    }

    async fn task_request(
        &self,
        method: &str,
        task_id: &str,
        left: Duration,
        tool: &str,
    ) -> Result<Reply, CallError> {
        let request = Request::new(method)
            .params(&json!({ "taskId": task_id }))
            .timeout(left);
        let reply = self.request(&request).await?;
        if !tool.is_empty() && is_error(&reply.parse()?) {
            let message = format!("tool {tool:?} reported an error");
            return Err(reply.refused(Failure::new(ErrorCategory::ToolError, message)));
        }
        Ok(reply)
    }

    /// Tells the server that nobody waits for the task any more.
    async fn give_up(&self, task: &Task) {
        let params = json!({ "taskId": task.id });
        let request = Request::new("tasks/cancel")
            .params(&params)
            .timeout(Duration::from_secs(1));
        // Whether it listens changes nothing for us.
        let _ = self.request(&request).await;
    }
}

fn read_task(value: Option<&Value>, reply: &Reply) -> Result<Task, CallError> {
    value
        .and_then(|task| serde_json::from_value(task.clone()).ok())
        .ok_or_else(|| malformed(reply, "the answer is not the handle of a task".into()))
}

/// The result inside a finished task, as if it had been the answer itself.
fn finished(task: &Task, reply: &Reply) -> Result<Reply, CallError> {
    let Some(result) = &task.result else {
        return Err(malformed(
            reply,
            "the task completed without a result".into(),
        ));
    };
    let frame = bytes::Bytes::from(result.to_string());
    let span = 0..frame.len();
    let reply = Reply {
        frame,
        result: span,
        ..reply.clone()
    };
    if is_error(result) {
        let failure = Failure::new(ErrorCategory::ToolError, "the tool reported an error");
        return Err(reply.refused(failure));
    }
    Ok(reply)
}

fn is_error(result: &Value) -> bool {
    result.get("isError") == Some(&Value::Bool(true))
}
