//! The session against the built-in servers, in memory.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use mcprove_servers::fixture::{self, Eras};
use mcprove_trace::ErrorCategory;
use mcprove_trace::stream::{EventStream, MetricsSink};
use serde_json::{Value, json};

use super::*;
use crate::server::Server;

const SOON: Duration = Duration::from_millis(300);

async fn connect_with(
    mode: &str,
    eras: Eras,
    options: SessionOptions,
) -> Result<Session, ConnectError> {
    let fixture_options = fixture::FixtureOptions {
        eras,
        ..fixture::FixtureOptions::default()
    };
    let (output, input) = fixture::spawn_in_memory(mode, &fixture_options).unwrap();
    Session::connect_streams(output, input, options, EventStream::unobserved().recorder()).await
}

async fn connect(mode: &str, eras: Eras) -> Session {
    connect_with(mode, eras, SessionOptions::default())
        .await
        .unwrap()
}

async fn fails_with(mode: &str) -> CallError {
    let session = connect(mode, Eras::Handshake).await;
    session
        .call_tool_within("echo", &json!({ "message": "x" }), SOON)
        .await
        .unwrap_err()
}

fn text(reply: &Reply) -> String {
    let result: Value = reply.parse().unwrap();
    result["content"][0]["text"]
        .as_str()
        .unwrap_or_default()
        .to_owned()
}

#[tokio::test]
async fn auto_prefers_the_stateless_era_and_falls_back_to_the_handshake() {
    let session = connect("normal", Eras::Both).await;
    assert_eq!(session.facts().revision, Revision::V2026_07_28);
    let session = connect("normal", Eras::Handshake).await;
    assert_eq!(session.facts().revision, Revision::V2025_11_25);
    let session = connect("normal", Eras::Stateless).await;
    assert_eq!(session.era(), Era::Stateless);
    assert!(!session.facts().implementation.name.is_empty());
}

#[tokio::test]
async fn every_revision_can_be_asked_for() {
    for revision in Revision::ALL {
        let options = SessionOptions {
            protocol: ProtocolChoice::Revision(revision),
            ..SessionOptions::default()
        };
        let session = connect_with("normal", Eras::Both, options).await.unwrap();
        assert_eq!(session.facts().revision, revision);
        let reply = session
            .call_tool("echo", &json!({ "message": "hi" }))
            .await
            .unwrap();
        assert_eq!(text(&reply), "hi");
    }
}

#[tokio::test]
async fn a_revision_that_the_server_lacks_is_an_error() {
    let options = SessionOptions {
        protocol: ProtocolChoice::Revision(Revision::V2026_07_28),
        ..SessionOptions::default()
    };
    let error = connect_with("normal", Eras::Handshake, options)
        .await
        .err()
        .unwrap();
    assert!(matches!(error, ConnectError::Revision { .. }), "{error}");
}

#[tokio::test]
async fn a_thousand_calls_in_flight_find_their_answers() {
    let session = connect("normal", Eras::Both).await;
    let requests: Vec<Request> = (0..1000)
        .map(|number| Request::tool("echo", &json!({ "message": format!("m{number}") })))
        .collect();
    let calls: Vec<Call> = requests
        .iter()
        .map(|request| session.start(request).unwrap())
        .collect();
    for (number, call) in calls.into_iter().enumerate() {
        assert_eq!(text(&call.await.unwrap()), format!("m{number}"));
    }
    assert!(session.violations().is_empty());
}

#[tokio::test]
async fn answers_in_another_order_are_matched() {
    let session = connect("reordered", Eras::Handshake).await;
    let first = Request::tool("echo", &json!({ "message": "a" }));
    let second = Request::tool("echo", &json!({ "message": "b" }));
    let (first, second) = (
        session.start(&first).unwrap(),
        session.start(&second).unwrap(),
    );
    assert_eq!(text(&second.await.unwrap()), "b");
    assert_eq!(text(&first.await.unwrap()), "a");
}

#[tokio::test]
async fn duplicate_and_unknown_ids_are_reported() {
    let session = connect("duplicate", Eras::Handshake).await;
    session
        .call_tool("echo", &json!({ "message": "x" }))
        .await
        .unwrap();
    session.check_alive(SOON).await.unwrap();
    assert_eq!(
        session.violations().counts[&ViolationKind::DuplicateReply],
        1
    );

    let session = connect("wrong_id", Eras::Handshake).await;
    let error = session
        .call_tool_within("echo", &json!({ "message": "x" }), SOON)
        .await
        .unwrap_err();
    assert_eq!(error.category(), ErrorCategory::Timeout);
    assert_eq!(session.violations().total(), 1);
}

#[tokio::test]
async fn failures_fall_in_exactly_one_category() {
    let cases = [
        ("tool_error", ErrorCategory::ToolError),
        ("error", ErrorCategory::ProtocolError),
        ("lazy_init", ErrorCategory::Timeout),
        ("bad_utf8", ErrorCategory::Malformed),
        ("no_id", ErrorCategory::Timeout),
    ];
    for (mode, category) in cases {
        let error = fails_with(mode).await;
        assert_eq!(error.category(), category, "{mode}: {error}");
    }
}

#[tokio::test]
async fn a_deep_result_is_survived() {
    let session = connect("deep", Eras::Handshake).await;
    let reply = session
        .call_tool("echo", &json!({ "message": "x" }))
        .await
        .unwrap();
    assert!(reply.result().len() > 100_000);
    let error = reply.parse::<Value>().unwrap_err();
    assert_eq!(error.category(), ErrorCategory::Malformed);
}

#[tokio::test]
async fn a_frame_over_the_limit_is_malformed() {
    let options = SessionOptions {
        max_frame: 100_000,
        ..SessionOptions::default()
    };
    let session = connect_with("huge", Eras::Handshake, options)
        .await
        .unwrap();
    let timeout = Duration::from_secs(20);
    let error = session
        .call_tool_within("echo", &json!({ "message": "x" }), timeout)
        .await
        .unwrap_err();
    assert_eq!(error.category(), ErrorCategory::Malformed);
    assert!(
        error.to_string().contains("over the limit of 100000"),
        "{error}"
    );
}

#[tokio::test]
async fn noise_is_reported_and_harmless() {
    let seen = Arc::new(AtomicU64::new(0));
    let counter = Arc::clone(&seen);
    let options = SessionOptions {
        on_noise: Some(Arc::new(move |_: &[u8]| {
            counter.fetch_add(1, Ordering::Relaxed);
        })),
        ..SessionOptions::default()
    };
    let session = connect_with("noise", Eras::Handshake, options)
        .await
        .unwrap();
    session
        .call_tool("echo", &json!({ "message": "x" }))
        .await
        .unwrap();
    assert!(session.violations().counts[&ViolationKind::Noise] >= 1);
    assert!(seen.load(Ordering::Relaxed) >= 1);
}

#[tokio::test]
async fn a_hung_tool_is_told_from_a_dead_server() {
    let session = connect("lazy_init", Eras::Handshake).await;
    let error = session
        .call_tool_within("echo", &json!({ "message": "x" }), SOON)
        .await
        .unwrap_err();
    assert_eq!(error.category(), ErrorCategory::Timeout);
    assert!(session.check_alive(Duration::from_secs(5)).await.is_ok());

    let session = connect("broken", Eras::Handshake).await;
    let error = session
        .call_tool_within("echo", &json!({ "message": "x" }), SOON)
        .await
        .unwrap_err();
    assert_eq!(error.category(), ErrorCategory::Timeout);
    assert!(session.check_alive(SOON).await.is_err());
}

#[tokio::test]
async fn server_requests_are_answered_while_a_call_is_pending() {
    for eras in [Eras::Handshake, Eras::Stateless] {
        let options = SessionOptions {
            responder: Arc::new(Accept),
            ..SessionOptions::default()
        };
        let session = connect_with("asks", eras, options).await.unwrap();
        for tool in session.list_tools().await.unwrap() {
            let outcome = session.call_tool(&tool.name, &json!({})).await;
            assert!(outcome.is_ok(), "{} in {eras:?}: {outcome:?}", tool.name);
        }
        assert!(
            session.violations().is_empty(),
            "{:?}",
            session.violations()
        );
    }
}

#[tokio::test]
async fn declining_is_the_default() {
    let session = connect("asks", Eras::Handshake).await;
    let reply = session
        .call_tool("ask_elicitation", &json!({}))
        .await
        .unwrap();
    assert!(reply.result().contains("decline"), "{}", reply.result());
}

#[tokio::test]
async fn lists_have_all_their_pages() {
    for eras in [Eras::Handshake, Eras::Stateless] {
        let session = connect("paged", eras).await;
        assert_eq!(session.list_tools().await.unwrap().len(), 7);
    }
}

#[tokio::test]
async fn a_tool_that_requires_a_task_runs_as_one() {
    let session = connect("tasks", Eras::Handshake).await;
    let tools = session.list_tools().await.unwrap();
    let tool = tools.iter().find(|tool| tool.requires_task()).unwrap();
    let arguments = mcprove_arguments::minimal(&tool.input_schema).unwrap();
    let outcome = session.call_tool(&tool.name, &arguments).await;
    assert!(outcome.is_ok(), "{outcome:?}");
}

#[tokio::test]
async fn progress_reaches_its_call() {
    let session = connect("progress", Eras::Handshake).await;
    let tools = session.list_tools().await.unwrap();
    let seen = Arc::new(AtomicU64::new(0));
    let counter = Arc::clone(&seen);
    let arguments = mcprove_arguments::minimal(&tools[0].input_schema).unwrap();
    let request =
        Request::tool(&tools[0].name, &arguments).on_progress(Arc::new(move |_: &Value| {
            counter.fetch_add(1, Ordering::Relaxed);
        }));
    session.request(&request).await.unwrap();
    assert_eq!(seen.load(Ordering::Relaxed), 3);
}

#[tokio::test]
async fn dropping_a_call_cancels_it_and_a_late_answer_is_no_violation() {
    let metrics = Arc::new(MetricsSink::new());
    let stream = EventStream::new(vec![metrics.clone()]);
    let recorder = stream.recorder();
    let (output, input) =
        fixture::spawn_in_memory("slow", &fixture::FixtureOptions::default()).unwrap();
    let session = Session::connect_streams(
        output,
        input,
        SessionOptions::default(),
        Arc::clone(&recorder),
    )
    .await
    .unwrap();
    drop(
        session
            .start(&Request::tool("echo", &json!({ "message": "x" })))
            .unwrap(),
    );
    recorder.merge();
    let metrics = metrics.snapshot();
    assert_eq!(
        metrics.phases[&0]["echo"].errors[&ErrorCategory::Cancelled],
        1
    );
    assert!(session.violations().is_empty());
}

#[tokio::test]
async fn events_and_metrics_agree_with_the_calls() {
    let metrics = Arc::new(MetricsSink::new());
    let stream = EventStream::new(vec![metrics.clone()]);
    let recorder = stream.recorder();
    let (output, input) =
        fixture::spawn_in_memory("normal", &fixture::FixtureOptions::default()).unwrap();
    let session = Session::connect_streams(
        output,
        input,
        SessionOptions::default(),
        Arc::clone(&recorder),
    )
    .await
    .unwrap();
    for _ in 0..10 {
        session
            .call_tool("echo", &json!({ "message": "x" }))
            .await
            .unwrap();
    }
    assert!(session.call_tool("no such tool", &json!({})).await.is_err());
    recorder.merge();
    let metrics = metrics.snapshot();
    assert_eq!(metrics.phases[&0]["echo"].succeeded(), 10);
    assert_eq!(metrics.total().sent, 11);
    assert_eq!(metrics.total().failed(), 1);
}

#[tokio::test]
async fn a_server_that_never_reads_ends_in_a_timeout() {
    let (mut theirs, ours) = tokio::io::duplex(1024);
    let (ours_read, ours_write) = tokio::io::split(ours);
    tokio::spawn(async move {
        use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
        let mut reader = BufReader::new(&mut theirs);
        let mut line = String::new();
        reader.read_line(&mut line).await.unwrap();
        let reply = "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"protocolVersion\":\"2025-11-25\",\"capabilities\":{}}}\n";
        theirs.write_all(reply.as_bytes()).await.unwrap();
        std::future::pending::<()>().await;
    });
    let options = SessionOptions {
        protocol: ProtocolChoice::Revision(Revision::V2025_11_25),
        call_timeout: Some(SOON),
        ..SessionOptions::default()
    };
    let session = Session::connect_streams(
        ours_read,
        ours_write,
        options,
        EventStream::unobserved().recorder(),
    )
    .await
    .unwrap();
    let large = json!({ "message": "x".repeat(5 * 1024 * 1024) });
    let request = Request::tool("echo", &large);
    let (first, second, third) = tokio::join!(
        session.request(&request),
        session.request(&request),
        session.request(&request)
    );
    for outcome in [first, second, third] {
        assert_eq!(outcome.unwrap_err().category(), ErrorCategory::Timeout);
    }
}

#[tokio::test]
async fn raw_bytes_can_be_sent() {
    let session = connect("normal", Eras::Handshake).await;
    session.send_raw(b"this is not JSON").unwrap();
    session.check_alive(Duration::from_secs(5)).await.unwrap();
}

fn raw(text: &str) -> RawMessage {
    RawMessage {
        bytes: text.as_bytes().to_vec(),
        method: "",
        name: None,
    }
}

/// What comes back for raw messages with these ids.
async fn answer_to(session: &Session, messages: &[&str], ids: &[&str]) -> Option<RawAnswer> {
    let messages: Vec<_> = messages.iter().map(|text| raw(text)).collect();
    let ids: Vec<_> = ids.iter().map(|id| (*id).to_owned()).collect();
    let exchange = session
        .exchange_raw(&messages, &ids, false, SOON)
        .await
        .unwrap();
    let _ = tokio::time::timeout(SOON, exchange.wait()).await;
    exchange.answer()
}

#[tokio::test]
async fn raw_messages_get_their_answers_and_nothing_is_a_violation() {
    let session = connect("normal", Eras::Handshake).await;
    let error = answer_to(&session, &["no JSON"], &[]).await.unwrap();
    assert!(error.is_error && error.text.contains("-32700"), "{error:?}");

    let id = session.reserve_id().to_string();
    let ping = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ping"}}"#);
    let twice = answer_to(&session, &[&ping, &ping], &[&id]).await.unwrap();
    assert!(!twice.is_error, "{twice:?}");

    let named = r#"{"jsonrpc":"2.0","id":"a","method":"nothing"}"#;
    let refused = answer_to(&session, &[named], &["\"a\""]).await.unwrap();
    assert!(refused.is_error, "{refused:?}");

    let failing =
        r#"{"jsonrpc":"2.0","id":9007199254740993,"method":"tools/call","params":{"name":"none"}}"#;
    let failed = answer_to(&session, &[failing], &["9007199254740993"]).await;
    assert!(failed.unwrap().is_error);

    let silent = r#"{"jsonrpc":"2.0","method":"notifications/x"}"#;
    assert_eq!(answer_to(&session, &[silent], &[]).await, None);
    session.check_alive(Duration::from_secs(5)).await.unwrap();
    let violations = session.violations();
    assert!(violations.is_empty(), "{violations:?}");
    let reply = session.call_tool("echo", &json!({ "message": "x" })).await;
    assert_eq!(text(&reply.unwrap()), "x");
}

#[tokio::test]
async fn a_raw_message_with_an_id_is_answered_under_that_id() {
    for (is_named, violations) in [(false, 0), (true, 1)] {
        let session = connect("wrong_id", Eras::Handshake).await;
        let id = session.reserve_id().to_string();
        let call = format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"echo","arguments":{{"message":"x"}}}}}}"#
        );
        let (messages, ids) = ([raw(&call)], [id]);
        let exchange = session.exchange_raw(&messages, &ids, is_named, SOON);
        let exchange = exchange.await.unwrap();
        let _ = tokio::time::timeout(SOON, exchange.wait()).await;
        assert_eq!(exchange.answer().is_some(), !is_named);
        let counts = session.violations().counts;
        let unknown = counts.get(&ViolationKind::UnknownReply).copied();
        assert_eq!(unknown.unwrap_or_default(), violations);
    }
}

#[tokio::test]
async fn an_answer_that_nobody_asked_for_stays_a_violation() {
    let session = connect("duplicate", Eras::Handshake).await;
    let exchange = session.exchange_raw(&[], &[], false, SOON).await.unwrap();
    session
        .call_tool("echo", &json!({ "message": "x" }))
        .await
        .unwrap();
    session.check_alive(Duration::from_secs(5)).await.unwrap();
    assert_eq!(exchange.answer(), None);
    drop(exchange);
    assert_eq!(
        session.violations().counts[&ViolationKind::DuplicateReply],
        1
    );
}

#[tokio::test]
async fn an_abandoned_session_cancels_its_calls_and_takes_no_more() {
    let session = connect("lazy_init", Eras::Handshake).await;
    let request = Request::tool("echo", &json!({ "message": "x" }));
    let call = session.start(&request).unwrap();
    session.abandon();
    assert_eq!(call.await.unwrap_err().category(), ErrorCategory::Cancelled);
    assert!(session.start(&request).is_err());
    assert!(session.closed().is_some());
}

#[tokio::test]
async fn the_handshake_can_be_left_open() {
    let options = SessionOptions {
        sends_initialized: false,
        ..SessionOptions::default()
    };
    let session = connect_with("normal", Eras::Handshake, options)
        .await
        .unwrap();
    session.notify("notifications/initialized", None);
    let reply = session.call_tool("echo", &json!({ "message": "x" })).await;
    assert_eq!(text(&reply.unwrap()), "x");
}

#[tokio::test]
async fn a_batch_of_replies_is_understood() {
    let (mut theirs, ours) = tokio::io::duplex(64 * 1024);
    let (ours_read, ours_write) = tokio::io::split(ours);
    let server = tokio::spawn(async move {
        use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
        let (read, mut write) = tokio::io::split(&mut theirs);
        let mut lines = BufReader::new(read).lines();
        let mut held = Vec::new();
        while let Ok(Some(line)) = lines.next_line().await {
            let message: Value = serde_json::from_str(&line).unwrap();
            let id = &message["id"];
            match message["method"].as_str().unwrap() {
                "initialize" => {
                    let reply = json!({"jsonrpc":"2.0","id":id,"result":{"protocolVersion":"2025-03-26","capabilities":{},"serverInfo":{"name":"b","version":"1"}}});
                    write
                        .write_all(format!("{reply}\n").as_bytes())
                        .await
                        .unwrap();
                }
                "tools/call" => {
                    held.push(json!({"jsonrpc":"2.0","id":id,"result":{"content":[]}}));
                    if held.len() == 2 {
                        write
                            .write_all(format!("{}\n", json!(held)).as_bytes())
                            .await
                            .unwrap();
                    }
                }
                _ => {}
            }
        }
    });
    let options = SessionOptions {
        protocol: ProtocolChoice::Revision(Revision::V2025_03_26),
        ..SessionOptions::default()
    };
    let session = Session::connect_streams(
        ours_read,
        ours_write,
        options,
        EventStream::unobserved().recorder(),
    )
    .await
    .unwrap();
    let request = Request::tool("echo", &json!({}));
    let calls = [
        session.start(&request).unwrap(),
        session.start(&request).unwrap(),
    ];
    for call in calls {
        call.await.unwrap();
    }
    assert!(session.violations().is_empty());
    drop(session);
    server.abort();
}

/// A server that says this before it answers a call, and writes what goes wrong to stderr.
fn chatty(said: &[Value]) -> Server {
    let said = Value::from(said.to_vec()).to_string();
    let script = format!("import json, sys\nSAID = json.loads({said:?})\n")
        + "\
for line in sys.stdin:
    message = json.loads(line)
    if message.get('method') == 'initialize':
        result = {'protocolVersion': '2025-11-25', 'capabilities': {'tools': {}}, 'serverInfo': {'name': 'chatty', 'version': '1'}}
    elif message.get('method') == 'tools/call':
        for said in SAID:
            print(json.dumps(said) if isinstance(said, dict) else said)
        result = {'content': [{'type': 'text', 'text': 'ok'}]}
    else:
        if 'error' in message:
            print(message['error']['message'], file=sys.stderr, flush=True)
        continue
    if 'id' in message:
        print(json.dumps({'jsonrpc': '2.0', 'id': message['id'], 'result': result}), flush=True)
";
    Server::stdio("python3").args(["-c", &script])
}

#[tokio::test]
async fn a_handler_that_panics_ends_neither_the_reader_nor_the_session() {
    struct Panicking;
    impl Responder for Panicking {
        fn capabilities(&self, _: Revision) -> Value {
            json!({ "sampling": {} })
        }
        fn respond(&self, method: &str, _: &Value) -> Response {
            panic!("no answer to {method}")
        }
    }
    let present = std::process::Command::new("python3")
        .arg("--version")
        .output();
    if !harness::require("python3", present.is_ok()) {
        return;
    }
    let checks = Arc::new(AtomicU64::new(0));
    let counted = Arc::clone(&checks);
    let heard = Arc::new(std::sync::Mutex::new(String::new()));
    let stderr = Arc::clone(&heard);
    let options = SessionOptions {
        protocol: ProtocolChoice::Revision(Revision::V2025_11_25),
        responder: Arc::new(Panicking),
        on_notification: Some(Arc::new(|method, _| panic!("not {method}"))),
        on_noise: Some(Arc::new(|_| panic!("noise"))),
        on_stderr: Some(Arc::new(move |bytes| {
            stderr
                .lock()
                .unwrap()
                .push_str(&String::from_utf8_lossy(bytes));
        })),
        result_check: Some(Arc::new(move |tool, _| {
            let is_first = counted.fetch_add(1, Ordering::Relaxed) == 0;
            assert!(!is_first, "cannot check {tool}");
            None
        })),
        ..SessionOptions::default()
    };
    let losses = options.losses.clone();
    let server = chatty(&[
        json!({ "jsonrpc": "2.0", "method": "notifications/message", "params": {} }),
        json!({ "jsonrpc": "2.0", "id": "a", "method": "sampling/createMessage", "params": {} }),
        json!("some noise"),
    ]);
    let recorder = EventStream::unobserved().recorder();
    let session = Session::connect_recorded(&server, options, recorder)
        .await
        .unwrap();
    let error = session.call_tool("any", &json!({})).await.unwrap_err();
    assert_eq!(error.category(), ErrorCategory::Cancelled);
    let message = error.to_string();
    assert!(
        message.contains("the check of the result panicked: cannot check any"),
        "{message}"
    );
    // What the tool said is there all the same.
    assert!(
        error
            .reply
            .as_ref()
            .is_some_and(|reply| reply.result().contains("ok"))
    );
    let reply = session.call_tool("any", &json!({})).await.unwrap();
    assert_eq!(text(&reply), "ok");
    session.close().await;
    let told: Vec<String> = losses.all().iter().map(ToString::to_string).collect();
    let expected = [
        "the handler of notifications: 2 messages were not handled: it panicked: not notifications/message",
        "the responder: 2 messages were not handled: it panicked: no answer to sampling/createMessage",
        "the handler of noise: 2 messages were not handled: it panicked: noise",
        "the check of results: 1 message was not handled: it panicked: cannot check any",
    ];
    assert_eq!(told, expected);
    let heard = heard.lock().unwrap();
    assert!(heard.contains("the responder panicked"), "{heard}");
}
