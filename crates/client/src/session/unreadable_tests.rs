//! What is made of lines that are no messages as they stand.

use mcprove_trace::ErrorCategory;
use mcprove_trace::stream::EventStream;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};

use super::*;

const SOON: Duration = Duration::from_millis(300);

/// A session with a server that writes these lines when a tool is called, with the id of the call for `ID` and the one
/// after it for `NEXT`.
async fn saying(lines: &[&str]) -> Session {
    losing_pings(0, lines).await
}

/// The same, where the server does not answer the first pings.
async fn losing_pings(mut lost_pings: u32, lines: &[&str]) -> Session {
    let lines: Vec<String> = lines.iter().map(|line| format!("{line}\n")).collect();
    let (theirs, ours) = tokio::io::duplex(64 * 1024);
    let (ours_read, ours_write) = tokio::io::split(ours);
    tokio::spawn(async move {
        let (read, mut write) = tokio::io::split(theirs);
        let mut requests = BufReader::new(read).lines();
        while let Ok(Some(request)) = requests.next_line().await {
            let request: Value = serde_json::from_str(&request).unwrap_or_default();
            let said = match (request["method"].as_str(), request["id"].as_u64()) {
                (Some("initialize"), Some(id)) => {
                    let result = json!({ "protocolVersion": "2025-11-25", "capabilities": {} });
                    format!(
                        "{}\n",
                        json!({ "jsonrpc": "2.0", "id": id, "result": result })
                    )
                }
                (Some("tools/call"), Some(id)) => {
                    let next = (id + 1).to_string();
                    lines
                        .concat()
                        .replace("ID", &id.to_string())
                        .replace("NEXT", &next)
                }
                (Some("ping"), Some(_)) if lost_pings > 0 => {
                    lost_pings -= 1;
                    continue;
                }
                (Some("ping"), Some(id)) => {
                    format!("{}\n", json!({ "jsonrpc": "2.0", "id": id, "result": {} }))
                }
                _ => continue,
            };
            write.write_all(said.as_bytes()).await.unwrap();
        }
    });
    let options = SessionOptions {
        protocol: ProtocolChoice::Revision(Revision::V2025_11_25),
        ..SessionOptions::default()
    };
    let recorder = EventStream::unobserved().recorder();
    let session = Session::connect_streams(ours_read, ours_write, options, recorder);
    session.await.unwrap()
}

/// How the call ends, and what is reported once everything was read.
async fn outcome(lines: &[&str]) -> (Result<(), ErrorCategory>, Vec<(ViolationKind, u64)>) {
    let session = saying(lines).await;
    let outcome = session.call_tool_within("echo", &json!({}), SOON).await;
    session.check_alive(Duration::from_secs(5)).await.unwrap();
    let outcome = outcome.map(drop).map_err(|error| error.category());
    (outcome, session.violations().counts.into_iter().collect())
}

const REPLY: &str = r#"{"jsonrpc":"2.0","id":ID,"result":{"content":[]}}"#;

#[tokio::test]
async fn a_server_is_asked_several_times_whether_it_is_alive() {
    let patience = Duration::from_secs(6);
    let session = losing_pings(2, &[]).await;
    assert!(session.check_alive(patience).await.is_ok());
    let session = losing_pings(3, &[]).await;
    let error = session.check_alive(SOON).await.unwrap_err();
    assert_eq!(error.category(), ErrorCategory::Timeout);
}

#[tokio::test]
async fn what_names_no_call_answers_none() {
    use ViolationKind::{InvalidMessage, Noise, ReplyWithoutId};
    let cases = [
        ("starting", Noise),
        ("[info] handling", Noise),
        ("[1, 2]", Noise),
        ("{level=info id=ID}", Noise),
        (r#"{"level":"info","id":ID,"method":"tools/call"}"#, Noise),
        (
            r#"received {"jsonrpc":"2.0","id":ID,"method":"tools/call"}"#,
            Noise,
        ),
        (
            r#"sending {"jsonrpc":"2.0","id":ID,"result":{"con..."#,
            Noise,
        ),
        (
            r#"{"jsonrpc":"2.0","result":{"content":[]}}"#,
            ReplyWithoutId,
        ),
        (
            r#"{"jsonrpc":"2.0","id":null,"result":{"content":[]}}"#,
            ReplyWithoutId,
        ),
        (
            r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32601,"message":"no"}}"#,
            ReplyWithoutId,
        ),
        (r#"{"jsonrpc":"2.0","result":{"content":["#, InvalidMessage),
        (
            r#"{"jsonrpc":"2.0","result":{"id":ID,"content":["#,
            InvalidMessage,
        ),
        (
            r#"{"jsonrpc":"2.0","id":ID,"method":"ping","params":{"#,
            InvalidMessage,
        ),
        (r#"{"id":ID,"method":"ping"}"#, InvalidMessage),
        (r#"{"jsonrpc":"2.0"}"#, InvalidMessage),
    ];
    for (line, kind) in cases {
        let answered = outcome(&[line, REPLY]).await;
        assert_eq!(answered, (Ok(()), vec![(kind, 1)]), "{line}");
        let unanswered = outcome(&[line]).await;
        assert_eq!(
            unanswered,
            (Err(ErrorCategory::Timeout), vec![(kind, 1)]),
            "{line}"
        );
    }
}

#[tokio::test]
async fn a_broken_reply_ends_the_call_that_it_names_and_is_not_the_first_of_two() {
    for line in [
        r#"{"jsonrpc":"2.0","id":ID,"result":{"content":["#,
        r#"{"jsonrpc":"2.0","id":ID}"#,
        r#"{"id":ID,"result":{}}"#,
    ] {
        for lines in [&[line][..], &[line, REPLY]] {
            let expected = (Err(ErrorCategory::Malformed), vec![]);
            assert_eq!(outcome(lines).await, expected, "{lines:?}");
        }
    }
}

#[tokio::test]
async fn a_reply_among_other_output_is_read_and_reported() {
    let log = r#"{"jsonrpc":"2.0","method":"notifications/message","params":{}}"#;
    for line in [
        format!("INFO starting {REPLY}"),
        format!("{REPLY} done"),
        format!("[x] {{}} {REPLY}"),
        format!("{REPLY}{log}"),
        format!("{{\"jsonrpc\":\"2.0\",\"id\":NEXT,\"res{REPLY}"),
    ] {
        let expected = (Ok(()), vec![(ViolationKind::GarbledReply, 1)]);
        assert_eq!(outcome(&[&line]).await, expected, "{line}");
    }
    let expected = (Ok(()), vec![(ViolationKind::InvalidMessage, 1)]);
    assert_eq!(outcome(&[&format!("{log}{log}"), REPLY]).await, expected);
}

#[tokio::test]
async fn a_log_line_that_quotes_a_reply_is_noise() {
    let quoted = format!("sending {REPLY}");
    let expected = (Ok(()), vec![(ViolationKind::Noise, 1)]);
    assert_eq!(outcome(&[&quoted, REPLY]).await, expected);
    assert_eq!(outcome(&[REPLY, &quoted]).await, expected);
    // The same reply twice, each in a frame of its own, is a second answer.
    let expected = (Ok(()), vec![(ViolationKind::DuplicateReply, 1)]);
    assert_eq!(outcome(&[REPLY, REPLY]).await, expected);
}

#[tokio::test]
async fn an_error_without_an_id_answers_what_could_not_be_read() {
    let error = r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error"}}"#;
    let session = saying(&[error, REPLY]).await;
    session.send_raw(b"this is not JSON").unwrap();
    for expected in [0, 1] {
        session.call_tool("echo", &json!({})).await.unwrap();
        assert_eq!(session.violations().total(), expected);
    }
}

#[tokio::test]
async fn a_log_line_that_quotes_the_answer_to_a_raw_message_is_noise() {
    let session = saying(&[&format!("sending {REPLY}"), REPLY]).await;
    let id = session.reserve_id();
    let message = RawMessage {
        bytes: format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call"}}"#).into_bytes(),
        method: "tools/call",
        name: None,
    };
    let ids = [id.to_string()];
    let exchange = session
        .exchange_raw(&[message], &ids, false, SOON)
        .await
        .unwrap();
    exchange.wait().await;
    session.check_alive(Duration::from_secs(5)).await.unwrap();
    let counts: Vec<_> = session.violations().counts.into_iter().collect();
    assert_eq!(counts, [(ViolationKind::Noise, 1)]);
}
