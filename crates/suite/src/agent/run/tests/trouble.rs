//! Providers that fail, models that talk nonsense, and ways that break.

use std::sync::Mutex;
use std::time::Duration;

use harness::model::{FakeModel, Said, scripts};
use mcprove_trace::{BoxFuture, StopReason};
use serde_json::Value;

use super::support::{BOTH, environment, injecting, mock, model, play, play_with, test};
use crate::agent::live_toolbox::LiveToolbox;
use crate::agent::model::{ModelReply, ModelRequest, ModelWire, WireError, WireErrorKind};
use crate::agent::run::{FinishedRun, run_once};
use crate::agent::wire::LiveWire;
use crate::plan::ModelPlan;

/// A way to a model on which everything fails in this order, and then the same for ever.
struct Failing {
    failures: Vec<WireError>,
    sent: Mutex<usize>,
    waits: Mutex<Vec<Duration>>,
}

impl ModelWire for Failing {
    fn send<'a>(&'a self, _: &'a ModelRequest) -> BoxFuture<'a, Result<ModelReply, WireError>> {
        let mut sent = self.sent.lock().unwrap();
        let failure = self.failures.get(*sent).or(self.failures.last());
        *sent += 1;
        let failed = Err(failure.unwrap().clone());
        Box::pin(std::future::ready(failed))
    }

    fn wait(&self, duration: Duration) -> BoxFuture<'_, ()> {
        self.waits.lock().unwrap().push(duration);
        Box::pin(std::future::ready(()))
    }
}

/// What comes of a run whose way to the model fails so, how often it was tried, and the waits between.
async fn failing(failures: Vec<WireError>) -> (FinishedRun, usize, Vec<Duration>) {
    let wire = Failing {
        failures,
        sent: Mutex::default(),
        waits: Mutex::default(),
    };
    let server = mock("api", &[]);
    let toolbox = LiveToolbox::connect(&[&server], &environment(), 0)
        .await
        .unwrap();
    let finished = run_once(&test(), &model(BOTH[0]), &wire, &toolbox, 7).await;
    toolbox.close().await;
    let sent = wire.sent.into_inner().unwrap();
    (finished, sent, wire.waits.into_inner().unwrap())
}

/// What the real wire says of this address.
async fn asked(url: String) -> WireError {
    let plan = ModelPlan {
        base_url: Some(url),
        ..model(BOTH[0])
    };
    let wire = LiveWire::new(&plan, &environment()).unwrap();
    let request = ModelRequest {
        path: "/v1/messages".to_owned(),
        body: b"{}".to_vec(),
        timeout: Duration::from_mins(1),
    };
    wire.send(&request).await.unwrap_err()
}

#[tokio::test]
async fn where_nobody_listens_few_tries_are_made() {
    let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = closed.local_addr().unwrap();
    drop(closed);
    let refused = asked(format!("http://{address}")).await;
    assert!(
        matches!(refused.kind, WireErrorKind::Refused(_)),
        "{refused:?}"
    );
    let (finished, sent, waits) = failing(vec![refused.clone()]).await;
    assert_eq!(sent, 3);
    assert!(waits.iter().sum::<Duration>() < Duration::from_secs(2));
    let conversation = finished.run.conversation.unwrap();
    assert_eq!(conversation.retries.unwrap().len(), 2, "they are told");
    let failure = finished.failure.unwrap();
    assert!(failure.to_string().contains("in 3 tries,"), "{failure}");
    assert!(failure.to_string().contains("refused"), "{failure}");
    // What else passes is tried as often as ever.
    let broken = WireError {
        kind: WireErrorKind::Unreachable("broke off".to_owned()),
        duration: Duration::ZERO,
    };
    let (_, sent, _) = failing(vec![refused, broken]).await;
    assert_eq!(sent, 5);
}

#[tokio::test]
async fn an_answer_that_is_too_large_is_not_asked_for_again() {
    let large: &'static str = Box::leak(" ".repeat(9 * 1024 * 1024).into_boxed_str());
    let fake = FakeModel::start(move |_| Said::Raw(large));
    let too_large = asked(fake.url()).await;
    assert!(
        matches!(too_large.kind, WireErrorKind::Final(_)),
        "{too_large:?}"
    );
    let (finished, sent, _) = failing(vec![too_large]).await;
    assert_eq!(sent, 1);
    let failure = finished.failure.unwrap();
    assert!(failure.to_string().contains("8388608 bytes"), "{failure}");
    assert!(failure.hint.rendered().contains("max_tokens"));
}

#[tokio::test]
async fn a_model_that_declines_has_not_done_its_task() {
    for &provider in BOTH {
        let plan = injecting(&["error,tool=search"], "recovery: {}\n");
        let played = play("decliner", provider, &plan).await;
        assert_eq!(played.stop(), StopReason::Error);
        assert_eq!(
            played.finished.failure, None,
            "it says something of the agent"
        );
        let run = played.run();
        assert_eq!(
            run.final_response.as_deref(),
            Some("I cannot help with that.")
        );
        let error = run.conversation.as_ref().unwrap().error.clone();
        assert_eq!(error.as_deref(), Some("the model declined (refusal)"));
        assert_eq!(run.tool_calls.len(), 1, "the last was not made");
        assert_eq!(played.failed(), ["recovery.recovered"]);
    }
}

#[tokio::test]
async fn a_failure_behind_a_status_of_success_is_one() {
    const BUSY: &str = r#"{"error":{"code":429,"message":"slow down"}}"#;
    const GONE: &str = r#"{"error":{"code":404,"message":"no such model"}}"#;
    for &provider in BOTH {
        let plan = test();
        let script = |asked: &harness::model::Asked| match asked.repetition {
            0 => Said::Raw(BUSY),
            _ => scripts::liar(asked),
        };
        let played = play_with(script, provider, &plan).await;
        assert_eq!(played.stop(), StopReason::Completed);
        let conversation = played.run().conversation.as_ref().unwrap();
        let retries = conversation.retries.as_ref().unwrap();
        assert_eq!(
            (retries[0].status, retries[0].message.as_str()),
            (Some(429), "slow down")
        );
        let played = play_with(|_| Said::Raw(GONE), provider, &test()).await;
        let failure = played.finished.failure.clone().unwrap();
        assert!(
            failure.message.rendered().contains("with HTTP 404:"),
            "{failure}"
        );
        assert_eq!(played.model.asked().len(), 1);
    }
}

#[tokio::test]
async fn a_provider_that_fails_at_first_is_asked_again_and_the_trace_says_so() {
    for &provider in BOTH {
        let gates = "expect: [{ target: conversation.retries.length, matcher: { exact: 0 } }]\n";
        let plan = injecting(&[], gates);
        let honest = play("honest", provider, &plan).await;
        assert_eq!(honest.failed(), Vec::<String>::new());
        let played = play("throttled", provider, &plan).await;
        assert_eq!(played.stop(), StopReason::Completed);
        let conversation = played.run().conversation.as_ref().unwrap();
        let retries = conversation.retries.as_ref().unwrap();
        let told: Vec<(usize, Option<u16>)> = retries
            .iter()
            .map(|retry| (retry.answer, retry.status))
            .collect();
        assert_eq!(
            told,
            [
                (0, Some(429)),
                (0, Some(500)),
                (1, Some(429)),
                (1, Some(500))
            ]
        );
        assert_eq!(retries[0].message, "overloaded_error: come back later");
        assert_eq!(retries[0].waited_ms, Some(0.0));
        assert_eq!(played.failed(), ["conversation.retries.length"]);
        assert_eq!(played.finished.failure, None);
    }
}

#[tokio::test]
async fn a_provider_that_never_has_time_is_given_up() {
    let played = play("overloaded", BOTH[0], &test()).await;
    assert_eq!(played.stop(), StopReason::Error);
    assert_eq!(played.model.asked().len(), 5);
    let failure = played.finished.failure.clone().unwrap();
    assert!(
        failure.message.rendered().contains("in 5 tries,"),
        "{failure}"
    );
    assert!(failure.to_string().contains("HTTP 529"), "{failure}");
    let conversation = played.run().conversation.as_ref().unwrap();
    assert_eq!(
        conversation.error.as_deref(),
        Some(failure.to_string().as_str())
    );
    assert_eq!(conversation.retries.as_ref().unwrap().len(), 4);
}

#[tokio::test]
async fn garbage_is_told_and_not_asked_for_again() {
    for &provider in BOTH {
        let played = play("garbage", provider, &test()).await;
        assert_eq!(played.stop(), StopReason::Error);
        assert_eq!(played.model.asked().len(), 1);
        let failure = played.finished.failure.clone().unwrap();
        assert!(
            failure.message.rendered().contains("not understood"),
            "{failure}"
        );
        assert!(failure.hint.rendered().contains("base_url"));
    }
}

#[tokio::test]
async fn arguments_that_are_none_are_given_back_to_the_model() {
    for &provider in BOTH {
        let played = play("mumbler", provider, &test()).await;
        assert_eq!(played.stop(), StopReason::Completed);
        let run = played.run();
        assert_eq!(run.tool_calls.len(), 2);
        assert!(matches!(run.tool_calls[0].args.value(), Value::String(_)));
        assert_eq!(run.tool_results[0].is_error, Some(true));
        assert!(played.result_text(0).contains("Invalid arguments"));
        assert_eq!(run.tool_results[1].is_error, Some(false));
        assert_eq!(played.reached, ["search"], "the first was never made");
    }
}

#[tokio::test]
async fn a_tool_that_is_not_there_is_an_error_for_the_model() {
    for &provider in BOTH {
        let plan = injecting(&["hang"], "permissions: { allow: [search] }\n");
        let played = play("dreamer", provider, &plan).await;
        let run = played.run();
        assert_eq!(run.tool_calls[0].name, "dig");
        assert_eq!(run.tool_calls[0].server.as_deref(), Some("nowhere"));
        assert!(
            played
                .result_text(0)
                .contains("Unknown tool: nowhere__dig. The tools are: api__search")
        );
        assert!(
            run.faults.is_empty(),
            "nothing was called that a fault could strike"
        );
        assert_eq!(played.failed(), ["permissions.violations"]);
    }
}

#[tokio::test]
async fn a_call_that_was_cut_off_is_not_made() {
    for &provider in BOTH {
        let played = play("cut_short", provider, &test()).await;
        assert_eq!(played.stop(), StopReason::Completed);
        assert_eq!(played.reached, ["search"]);
        assert_eq!(played.run().tool_results[1].is_error, Some(true));
        assert!(played.result_text(1).contains("cut off"));
    }
}
