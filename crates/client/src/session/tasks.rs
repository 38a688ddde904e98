//! Calls that run as tasks: the server hands out a handle, and the result is fetched when it is
//! done. In 2025-11-25 the client asks for a task; in the stateless era the server decides.
//!
//! Requests that take several rounds: in the stateless era a server that needs something from the
//! client answers `input_required`, and the client asks again with what was required.

use crate::prelude::*;

/// How often a task is looked at when the server does not say.
const POLL_INTERVAL: Duration = Duration::from_millis(200);
/// A server may ask for longer pauses than this; it does not get them.
const POLL_INTERVAL_MAX: Duration = Duration::from_secs(5);
/// How long the server shall keep the result.
const TASK_TTL: Duration = Duration::from_mins(10);
/// How long the server may take to hear that nobody waits for a task any more.
const CANCEL_TIMEOUT: Duration = Duration::from_secs(1);

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
    pub async fn run_as_task(
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
            // `tasks/result` answers when the task is done; while it needs input, the
            // server's questions arrive as requests of their own.
            if matches!(
                task.status.as_str(),
                "completed" | "failed" | "cancelled" | "input_required"
            ) {
                let left = timeout.saturating_sub(began.elapsed());
                let mut reply = self.task_request("tasks/result", &task, left).await?;
                if is_error(&reply.parse()?) {
                    let message = format!("tool {tool:?} reported an error");
                    return Err(reply.refused(Failure::new(ErrorCategory::ToolError, message)));
                }
                reply.duration = began.elapsed();
                return Ok(reply);
            }
            task = self.look_again(&task, began, timeout).await?.0;
        }
    }

    /// Waits for a task that the server chose to make of a call (stateless era).
    pub async fn follow_stateless_task(
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
            // Whether the server listens changes nothing for us.
            let _ = self
                .task_request("tasks/cancel", task, CANCEL_TIMEOUT)
                .await;
            let message = format!(
                "the task is still {} after {}",
                task.status,
                describe_duration(timeout)
            );
            return Err(CallError::unsent(Failure::timeout(message)));
        }
        tokio::time::sleep(task.pause()).await;
        let reply = self.task_request("tasks/get", task, left).await?;
        let state: Value = reply.parse()?;
        let task = read_task(state.get("task").or(Some(&state)), &reply)?;
        Ok((task, reply))
    }

    async fn task_request(
        &self,
        method: &str,
        task: &Task,
        timeout: Duration,
    ) -> Result<Reply, CallError> {
        let params = json!({ "taskId": task.id });
        let request = Request::new(method).params(&params).timeout(timeout);
        self.request(&request).await
    }
}

fn read_task(value: Option<&Value>, reply: &Reply) -> Result<Task, CallError> {
    value
        .and_then(|task| Task::deserialize(task).ok())
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
    result["isError"] == true
}

/// A server that still asks after this many rounds is going in circles.
const ROUNDS_MAX: usize = 10;

#[derive(Deserialize)]
struct ResultHead {
    #[serde(default, rename = "resultType")]
    result_type: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct InputRequired {
    #[serde(default)]
    input_requests: Map<String, Value>,
    #[serde(default)]
    request_state: Option<String>,
}

impl Session {
    /// Sends a request and sees it through all its rounds.
    pub async fn request_in_rounds(
        &self,
        request: &Request,
        timeout: Duration,
    ) -> Result<Reply, CallError> {
        let mut next = request.clone();
        for _ in 0..ROUNDS_MAX {
            let reply = self.request(&next).await?;
            if self.era() == Era::Handshake {
                return Ok(reply);
            }
            match result_type(&reply)?.as_deref() {
                None | Some("complete") => return Ok(reply),
                Some("input_required") => next = self.with_input(request, &reply)?,
                Some("task") => return self.follow_stateless_task(&reply, timeout).await,
                Some(other) => {
                    let message = format!("the result has the unknown resultType {other:?}");
                    return Err(malformed(&reply, message));
                }
            }
        }
        let message = format!("the server still asks for input after {ROUNDS_MAX} rounds");
        Err(CallError::unsent(Failure::malformed(message)))
    }

    /// The original request again, with the answers to what the server asked.
    fn with_input(&self, original: &Request, reply: &Reply) -> Result<Request, CallError> {
        let required: InputRequired = reply.parse()?;
        let responses = self.answer_all(&required.input_requests)?;
        let mut params: Value =
            serde_json::from_str(&original.params).unwrap_or_else(|_| Map::new().into());
        if let Some(members) = params.as_object_mut() {
            if !required.input_requests.is_empty() {
                members.insert("inputResponses".into(), Value::Object(responses));
            }
            if let Some(state) = required.request_state {
                members.insert("requestState".into(), state.into());
            }
        }
        let mut next = original.clone();
        next.params = params.to_string();
        Ok(next)
    }

    /// Answers a map of questions by the session's responder.
    pub fn answer_all(
        &self,
        questions: &Map<String, Value>,
    ) -> Result<Map<String, Value>, CallError> {
        let mut responses = Map::new();
        for (key, question) in questions {
            let method = question["method"].as_str().unwrap_or_default();
            match self.core.respond(method, &question["params"]) {
                Ok(response) => {
                    responses.insert(key.clone(), response);
                }
                // There is no way to send an error, so the call ends here, declined by us.
                Err((_, message)) => {
                    let failure =
                        Failure::cancelled(format!("the tool asked for {method}: {message}"));
                    return Err(CallError::unsent(failure));
                }
            }
        }
        Ok(responses)
    }
}

/// The type of a result; `None` where it has none, which older servers do.
fn result_type(reply: &Reply) -> Result<Option<String>, CallError> {
    if memchr::memmem::find(reply.result().as_bytes(), b"\"resultType\"").is_none() {
        return Ok(None);
    }
    // Nothing of the rest is kept, however much it is.
    serde_json::from_str::<ResultHead>(reply.result())
        .map(|head| head.result_type)
        .map_err(|error| malformed(reply, format!("the result cannot be read: {error}")))
}

pub fn malformed(reply: &Reply, message: String) -> CallError {
    reply.refused(Failure::malformed(message))
}
