//! A wire that is told what to say: waits, times and ends to the millisecond.

use std::sync::Mutex;
use std::time::Duration;

use harness::model::{Asked, Said, Speech, SpokenCall};
use mcprove_trace::{BoxFuture, StopReason};
use serde_json::Value;

use super::support::{BOTH, injecting, model, play_with, test};
use crate::agent::model::{ModelReply, ModelRequest, ModelWire, WireError, WireErrorKind};
use crate::agent::run::{FinishedRun, fill_texts, run_once};
use crate::agent::toolbox::{OfferedTool, ToolAnswer, ToolRequest, Toolbox};
use crate::plan::{AgentTestPlan, Environment};
use mcprove_settings::message::Diagnostic;

/// A wire that says what it is told to, and does not wait.
struct Told {
    replies: Mutex<Vec<Result<ModelReply, WireError>>>,
    waits: Mutex<Vec<Duration>>,
}

impl ModelWire for Told {
    fn send<'a>(&'a self, _: &'a ModelRequest) -> BoxFuture<'a, Result<ModelReply, WireError>> {
        let reply = self.replies.lock().unwrap().remove(0);
        Box::pin(std::future::ready(reply))
    }

    fn wait(&self, duration: Duration) -> BoxFuture<'_, ()> {
        self.waits.lock().unwrap().push(duration);
        Box::pin(std::future::ready(()))
    }
}

struct Empty;

impl Toolbox for Empty {
    fn tools(&self) -> &[OfferedTool] {
        &[]
    }

    fn call<'a>(&'a self, _: ToolRequest<'a>) -> BoxFuture<'a, Result<ToolAnswer, Diagnostic>> {
        unreachable!("there are no tools")
    }
}

#[tokio::test]
async fn who_ends_without_a_word_has_said_what_stood_beside_its_call() {
    let script = |asked: &Asked| {
        let mut calls = Vec::new();
        let (text, turn) = match asked.answers() {
            0 => ("Hello.", None),
            1 => ("I created the issue.", Some(asked.tool("search"))),
            _ => ("", None),
        };
        calls.extend(turn.map(|name| SpokenCall::new(name, r#"{"query":"x"}"#)));
        Said::Speech(Speech {
            text: text.to_owned(),
            calls,
            ..Speech::default()
        })
    };
    for &provider in BOTH {
        let mut plan = injecting(&[], "narrative: {}\n");
        plan.prompts = ["Hi.", "File it."].map(str::to_owned).to_vec();
        let played = play_with(script, provider, &plan).await;
        assert_eq!(played.stop(), StopReason::Completed);
        let said = played.run().final_response.as_deref();
        assert_eq!(said, Some("I created the issue."));
        assert!(!played.failed().is_empty(), "a lie");
        // What was said to another question is no answer to this one.
        plan.prompts = ["Hi.", "File it.", "And?"].map(str::to_owned).to_vec();
        let played = play_with(script, provider, &plan).await;
        assert_eq!(played.run().final_response.as_deref(), Some(""));
    }
}

#[allow(clippy::unnecessary_wraps, reason = "it stands among failures")]
fn reply(status: u16, retry_after_s: Option<u64>, body: &str) -> Result<ModelReply, WireError> {
    Ok(ModelReply {
        status,
        retry_after: retry_after_s.map(Duration::from_secs),
        body: body.as_bytes().to_vec(),
        duration: Duration::from_millis(100),
    })
}

const DONE: &str = r#"{"choices":[{"message":{"content":"Done."},"finish_reason":"stop"}]}"#;

async fn told(
    replies: Vec<Result<ModelReply, WireError>>,
    change: impl FnOnce(&mut AgentTestPlan),
) -> (FinishedRun, Vec<Duration>) {
    let wire = Told {
        replies: Mutex::new(replies),
        waits: Mutex::default(),
    };
    let mut plan = test();
    change(&mut plan);
    let finished = run_once(
        &plan,
        &model(&crate::agent::provider::open_ai::ENTRY),
        &wire,
        &Empty,
        0,
    )
    .await;
    (finished, wire.waits.into_inner().unwrap())
}

#[tokio::test]
async fn waits_grow_are_bounded_and_count_on_the_clock() {
    let broken = || {
        Err(WireError {
            kind: WireErrorKind::Unreachable("connection refused".to_owned()),
            duration: Duration::from_millis(10),
        })
    };
    let replies = vec![
        broken(),
        reply(503, None, ""),
        reply(429, Some(3_600), "{}"),
        reply(200, None, DONE),
    ];
    let (finished, waits) = told(replies, |_| {}).await;
    let expected = [500, 1_000, 30_000].map(Duration::from_millis);
    assert_eq!(waits, expected);
    let conversation = finished.run.conversation.unwrap();
    assert_eq!(conversation.duration_ms, Some(10.0 + 300.0 + 31_500.0));
    let retries = conversation.retries.unwrap();
    assert_eq!(retries[0].status, None);
    assert_eq!(retries[0].message, "connection refused");
    assert_eq!(retries[1].message, "it says no more");
    assert_eq!(retries[2].waited_ms, Some(30_000.0));
}

#[tokio::test]
async fn a_wait_beyond_the_time_is_not_begun() {
    let replies = vec![reply(429, Some(20), "")];
    let (finished, waits) = told(replies, |plan| plan.budget.time = Duration::from_secs(10)).await;
    assert!(waits.is_empty());
    assert!(
        finished
            .failure
            .unwrap()
            .message
            .rendered()
            .contains("in 1 try,")
    );
}

#[tokio::test]
async fn what_is_refused_is_not_asked_again() {
    for (status, hint) in [(401, "key"), (404, "name of the model"), (400, "schemas")] {
        let body = r#"{"error":{"message":"no"}}"#;
        let (finished, waits) = told(vec![reply(status, None, body)], |_| {}).await;
        assert!(waits.is_empty());
        let failure = finished.failure.unwrap();
        assert_eq!(
            failure.to_string(),
            format!("the model provider answered with HTTP {status}: no")
        );
        assert!(failure.hint.rendered().contains(hint), "{:?}", failure.hint);
    }
}

#[tokio::test]
async fn a_model_that_is_too_slow_for_the_budget_has_used_it_up() {
    let late = Err(WireError {
        kind: WireErrorKind::Timeout,
        duration: Duration::from_secs(10),
    });
    let (finished, _) = told(vec![late], |plan| {
        plan.budget.time = Duration::from_secs(10);
    })
    .await;
    assert_eq!(finished.run.stop_reason(), Some(StopReason::TimeBudget));
    assert_eq!(finished.failure, None);
}

#[tokio::test]
async fn what_is_not_recorded_is_not_the_agents_doing() {
    let missing = Err(WireError {
        kind: WireErrorKind::Final(Diagnostic::new("no such request", "record it")),
        duration: Duration::ZERO,
    });
    let (finished, waits) = told(vec![missing], |_| {}).await;
    assert!(waits.is_empty());
    assert_eq!(finished.failure.unwrap().hint, "record it");
    assert_eq!(finished.run.stop_reason(), Some(StopReason::Error));
}

#[tokio::test]
async fn a_paused_answer_is_sent_back_and_goes_on() {
    let paused = r#"{"content":[{"type":"server_tool_use","id":"s1"}],"stop_reason":"pause_turn"}"#;
    let done = r#"{"content":[{"type":"text","text":"Done."}],"stop_reason":"end_turn"}"#;
    let wire = Told {
        replies: Mutex::new(vec![reply(200, None, paused), reply(200, None, done)]),
        waits: Mutex::default(),
    };
    let finished = run_once(
        &test(),
        &model(&crate::agent::provider::anthropic::ENTRY),
        &wire,
        &Empty,
        0,
    )
    .await;
    assert_eq!(finished.run.stop_reason(), Some(StopReason::Completed));
    assert_eq!(finished.run.final_response.as_deref(), Some("Done."));
}

/// Three tools that answer only when all three are called.
struct Together {
    tools: Vec<OfferedTool>,
    barrier: tokio::sync::Barrier,
}

impl Toolbox for Together {
    fn tools(&self) -> &[OfferedTool] {
        &self.tools
    }

    fn call<'a>(&'a self, call: ToolRequest<'a>) -> BoxFuture<'a, Result<ToolAnswer, Diagnostic>> {
        Box::pin(async move {
            self.barrier.wait().await;
            let seconds = if call.tool == "fetch_page" { 9 } else { 2 };
            Ok(ToolAnswer {
                result: serde_json::json!({ "content": [] }).into(),
                is_error: false,
                duration: Duration::from_secs(seconds),
            })
        })
    }
}

#[tokio::test]
async fn calls_of_one_answer_are_made_at_once_and_take_as_long_as_the_longest() {
    let tool = |name: &str| OfferedTool {
        server: "api".to_owned(),
        name: name.to_owned(),
        description: None,
        input_schema: Value::Null,
        annotations: None,
    };
    let toolbox = Together {
        tools: vec![tool("search"), tool("fetch_page")],
        barrier: tokio::sync::Barrier::new(3),
    };
    let call = |name: &str| {
        format!(r#"{{"id":"{name}","function":{{"name":"api__{name}","arguments":"{{}}"}}}}"#)
    };
    let calls = [call("search"), call("fetch_page"), call("search")].join(",");
    let asks = format!(r#"{{"choices":[{{"message":{{"tool_calls":[{calls}]}}}}]}}"#);
    let wire = Told {
        replies: Mutex::new(vec![reply(200, None, &asks), reply(200, None, DONE)]),
        waits: Mutex::default(),
    };
    let finished = run_once(
        &test(),
        &model(&crate::agent::provider::open_ai::ENTRY),
        &wire,
        &toolbox,
        0,
    )
    .await;
    assert_eq!(finished.run.tool_results.len(), 3);
    let conversation = finished.run.conversation.unwrap();
    assert_eq!(conversation.duration_ms, Some(9_200.0));
}

#[test]
fn texts_are_filled_in_for_those_who_run_them() {
    let mut plan = test();
    plan.system = Some("You are ${NAME}.".to_owned());
    plan.prompts = vec!["Look up ${NAME}.".to_owned()];
    let environment = Environment::new(|name| (name == "NAME").then(|| "Ada".to_owned()));
    let filled = fill_texts(&plan, &environment).unwrap();
    assert_eq!(filled.system.as_deref(), Some("You are Ada."));
    assert_eq!(filled.prompts, ["Look up Ada."]);
    assert!(fill_texts(&plan, &Environment::new(|_| None)).is_err());
}

#[tokio::test]
async fn a_reply_that_is_cut_off_is_the_end_of_the_tokens() {
    let cut = r#"{"choices":[{"message":{"content":"And th"},"finish_reason":"length"}]}"#;
    let (finished, _) = told(vec![reply(200, None, cut)], |_| {}).await;
    assert_eq!(finished.run.stop_reason(), Some(StopReason::TokenBudget));
    assert_eq!(finished.run.final_response.as_deref(), Some("And th"));
}
