//! What is recorded is replayed, by what a request says.

use std::collections::VecDeque;
use std::sync::Mutex;
use std::time::Duration;

use futures_util::future::join_all;
use mcprove_settings::secret::Redactor;
use mcprove_trace::BoxFuture;
use serde_json::{Value, json};

use super::super::*;
use super::a_tool;
use crate::agent::model::{ModelReply, ModelRequest, ModelWire, WireError, WireErrorKind};
use crate::agent::toolbox::{OfferedTool, ToolAnswer, ToolRequest, Toolbox};
use mcprove_settings::message::Diagnostic;

struct Model(Mutex<VecDeque<Result<ModelReply, WireError>>>);

impl ModelWire for Model {
    fn send<'a>(&'a self, _: &'a ModelRequest) -> BoxFuture<'a, Result<ModelReply, WireError>> {
        let next = self.0.lock().unwrap().pop_front().unwrap();
        Box::pin(std::future::ready(next))
    }

    fn wait(&self, _: Duration) -> BoxFuture<'_, ()> {
        Box::pin(std::future::ready(()))
    }
}

/// Tools that count their calls, and answer the later the earlier they were called.
struct Tools(Vec<OfferedTool>, Mutex<u64>);

impl Toolbox for Tools {
    fn tools(&self) -> &[OfferedTool] {
        &self.0
    }

    fn call<'a>(&'a self, call: ToolRequest<'a>) -> BoxFuture<'a, Result<ToolAnswer, Diagnostic>> {
        Box::pin(async move {
            let count = {
                let mut count = self.1.lock().unwrap();
                *count += 1;
                *count
            };
            tokio::time::sleep(Duration::from_millis(100 / count)).await;
            Ok(ToolAnswer {
                result: json!({ "content": [], "n": count, "tool": call.tool, "args": call.args })
                    .into(),
                is_error: call.tool == "broken",
                duration: Duration::from_nanos(1_234_567),
            })
        })
    }
}

fn called<'a>(server: &'a str, tool: &'a str, args: &'a Value) -> ToolRequest<'a> {
    ToolRequest {
        server,
        tool,
        args,
        timeout: Duration::from_secs(1),
    }
}

fn ask(body: &Value) -> ModelRequest {
    ModelRequest {
        path: "/v1/messages".to_owned(),
        body: body.to_string().into_bytes(),
        timeout: Duration::from_secs(1),
    }
}

fn reply(body: &[u8]) -> ModelReply {
    ModelReply {
        status: 200,
        retry_after: None,
        body: body.to_vec(),
        duration: Duration::from_nanos(5_000_999),
    }
}

#[tokio::test(start_paused = true)]
async fn a_replay_says_what_was_said() {
    let answers = [
        Ok(reply(b"{ \"first\":1 }")),
        Ok(ModelReply {
            status: 529,
            retry_after: Some(Duration::from_micros(1_500_500)),
            ..reply(b"\xff\xfe")
        }),
        Err(WireError {
            kind: WireErrorKind::Timeout,
            duration: Duration::from_secs(3),
        }),
        Err(WireError {
            kind: WireErrorKind::Unreachable("reset".to_owned()),
            duration: Duration::from_millis(7),
        }),
    ];
    let model = Model(Mutex::new(answers.to_vec().into()));
    let tools = Tools(vec![a_tool("search"), a_tool("broken")], Mutex::new(0));
    let recorder = Recorder::new(&model, &tools);
    let (hi, ho) = (json!({ "a": 1, "b": [2.0] }), json!({ "a": 1, "b": [3] }));
    let mut heard = Vec::new();
    for body in [&hi, &hi, &ho, &hi] {
        heard.push(recorder.send(&ask(body)).await);
    }
    let calls = [("search", &hi), ("search", &hi), ("broken", &hi)];
    // At once, as agents do.
    let made = calls
        .iter()
        .map(|(tool, args)| recorder.call(called("api", tool, args)));
    let got: Vec<_> = join_all(made)
        .await
        .into_iter()
        .map(Result::unwrap)
        .collect();
    assert_eq!(got[0].duration, Duration::from_micros(1234), "rounded");
    let run = recorder.finish().redacted(&Redactor::default()).unwrap();

    // Through the file and back.
    let text = serde_json::to_string_pretty(&run).unwrap();
    let run: RecordedRun = serde_json::from_str(&text).unwrap();
    assert!(matches!(run.model[1].response, Some(Body::Base64(_))));
    let offered = tools.tools();
    let replayer = Replayer::new(&run, offered, Redactor::default());
    assert_eq!(replayer.tools(), offered);
    // In another order, and written in another way: by key, and in order per key.
    let other_hi = ask(&json!({ "b": [2], "a": 1.0 }));
    assert_eq!(replayer.send(&ask(&ho)).await, heard[2]);
    assert_eq!(replayer.send(&other_hi).await, heard[0]);
    assert_eq!(replayer.send(&ask(&hi)).await, heard[1]);
    assert_eq!(replayer.send(&ask(&hi)).await, heard[3]);
    for (index, (tool, args)) in calls.iter().enumerate().rev() {
        let answer = replayer.call(called("api", tool, args)).await;
        let expected = if index == 2 { &got[2] } else { &got[1 - index] };
        assert_eq!(&answer.unwrap(), expected, "{index}");
    }
}

#[tokio::test]
async fn a_miss_names_the_nearest_and_the_difference() {
    let exchange = |body: Value| ModelExchange {
        path: "/v1/messages".to_owned(),
        request: Body::Text(body.to_string()),
        status: Some(200),
        retry_after_ms: None,
        response: Some(Body::Text("{}".to_owned())),
        failure: None,
        duration_us: 1,
        redacted: Vec::new(),
    };
    let run = RecordedRun {
        model: vec![
            exchange(json!({ "messages": [{ "content": "Hello" }] })),
            exchange(
                json!({ "messages": [{ "content": "Hello" }, { "content": [{ "text": "the long story of a cat" }] }] }),
            ),
        ],
        tools: vec![ToolExchange {
            server: "api".to_owned(),
            tool: "search".to_owned(),
            args: json!({ "query": "x" }).into(),
            result: json!({}).into(),
            is_error: false,
            duration_us: 1,
            redacted: Vec::new(),
        }],
        ..RecordedRun::default()
    };
    let replayer = Replayer::new(&run, &[], Redactor::default());
    let miss = |body: Value| {
        let replayer = &replayer;
        async move {
            match replayer.send(&ask(&body)).await {
                Err(WireError {
                    kind: WireErrorKind::Final(Diagnostic { message, hint, .. }),
                    ..
                }) => {
                    assert!(
                        hint.rendered().contains("`record`") && hint.rendered().contains("`live`")
                    );
                    message
                }
                other => panic!("{other:?}"),
            }
        }
    };
    let told = miss(json!({ "messages": [{ "content": "Hello" }, { "content": [{ "text": "the long story of a dog" }] }] })).await;
    assert!(told.rendered().contains("request 2"), "{told:?}");
    assert!(
        told.rendered().contains("messages[1].content[0].text: recorded \"the long story of a cat\", now \"the long story of a dog\""),
        "{told:?}"
    );
    let first = ask(&json!({ "messages": [{ "content": "Hello" }] }));
    assert!(replayer.send(&first).await.is_ok());
    let told = miss(json!({ "messages": [{ "content": "Hello" }] })).await;
    assert!(
        told.rendered().contains("more often than it was recorded"),
        "{told:?}"
    );

    let (query, none) = (json!({ "query": "y" }), json!({}));
    let missed = replayer.call(called("api", "search", &query));
    let Diagnostic { message, .. } = missed.await.unwrap_err();
    assert!(
        message
            .rendered()
            .contains("query: recorded \"x\", now \"y\""),
        "{message:?}"
    );
    let missed = replayer.call(called("api", "drop", &none));
    let Diagnostic { message, .. } = missed.await.unwrap_err();
    assert!(
        message.rendered().contains("a call of search of api"),
        "{message:?}"
    );
}

#[tokio::test]
async fn what_was_taken_out_may_be_anything() {
    let model = Model(Mutex::new(
        [Ok(reply(b"{\"say\":\"it is hunter22\"}"))].into(),
    ));
    let tools = Tools(Vec::new(), Mutex::new(0));
    let recorder = Recorder::new(&model, &tools);
    let heard = recorder
        .send(&ask(&json!({ "q": "is it hunter22?" })))
        .await;
    // The run itself sees everything.
    assert_eq!(heard.unwrap().body, b"{\"say\":\"it is hunter22\"}");
    let redactor = Redactor::new(["hunter22".to_owned()]);
    let run = recorder.finish().redacted(&redactor).unwrap();
    let text = serde_json::to_string(&run).unwrap();
    assert!(!text.contains("hunter22"), "{text}");
    assert_eq!(run.model[0].redacted, ["request.q", "response.say"]);
    // A replay does not know the secret, and may have another one.
    let replayer = Replayer::new(&run, &[], Redactor::default());
    let heard = replayer
        .send(&ask(&json!({ "q": "is it hunter22?" })))
        .await;
    assert_eq!(heard.unwrap().body, b"{\"say\":\"it is <redacted>\"}");
}

#[tokio::test]
async fn the_nearest_request_is_the_one_that_says_the_same() {
    let exchange = |path: &str, body: &Value| ModelExchange {
        path: path.to_owned(),
        request: Body::Text(body.to_string()),
        status: Some(200),
        retry_after_ms: None,
        response: Some(Body::Text("{}".to_owned())),
        failure: None,
        duration_us: 1,
        redacted: Vec::new(),
    };
    let run = RecordedRun {
        model: vec![
            exchange("/v1/messages", &json!({ "messages": ["other"] })),
            exchange("/elsewhere", &json!({ "messages": ["hi"] })),
        ],
        ..RecordedRun::default()
    };
    let redactor = crate::plan::Environment::new(|_| None).redactor();
    let replayer = Replayer::new(&run, &[], redactor);
    let error = replayer.send(&ask(&json!({ "messages": ["hi"] }))).await;
    let WireErrorKind::Final(Diagnostic { message: told, .. }) = error.unwrap_err().kind else {
        panic!("it is final");
    };
    assert!(
        told.rendered().contains(
            "request 2 of the recording, was sent to /elsewhere, this one to /v1/messages"
        ),
        "{told:?}"
    );
}
