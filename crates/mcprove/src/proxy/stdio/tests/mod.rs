//! The proxy over stdio, with both ends in the hands of the test.

mod endings;

use std::time::Duration;

use proptest::prelude::*;
use serde_json::{Value, json};
use tokio::io::{
    AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader, DuplexStream, ReadHalf, WriteHalf,
    duplex, split,
};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::*;
use crate::proxy::LOOK_BYTES_MAX;
use crate::proxy::summary::NextStep;
use crate::recording::{Origin, Recording};

const DEADLINE: Duration = Duration::from_secs(20);
const SILENCE: Duration = Duration::from_millis(100);

/// A peer of the proxy: a client or a server.
struct Peer {
    reader: BufReader<ReadHalf<DuplexStream>>,
    writer: Option<WriteHalf<DuplexStream>>,
}

impl Peer {
    fn new(stream: DuplexStream) -> Self {
        let (reader, writer) = split(stream);
        Self {
            reader: BufReader::new(reader),
            writer: Some(writer),
        }
    }

    async fn say(&mut self, text: &str) {
        let writer = self.writer.as_mut().unwrap();
        writer.write_all(text.as_bytes()).await.unwrap();
        writer.write_all(b"\n").await.unwrap();
    }

    /// The next line; empty at the end.
    async fn hear(&mut self) -> String {
        let mut line = Vec::new();
        let read = self.reader.read_until(b'\n', &mut line);
        timeout(DEADLINE, read).await.unwrap().unwrap();
        String::from_utf8_lossy(&line).trim_end().to_owned()
    }

    async fn hear_json(&mut self) -> Value {
        let line = self.hear().await;
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{line:?}: {error}"))
    }

    async fn hears_nothing(&mut self) {
        let heard = timeout(SILENCE, self.reader.fill_buf()).await;
        assert!(heard.is_err(), "{heard:?}");
    }
}

struct Rig {
    client: Peer,
    server: Peer,
    watch: Arc<Watch>,
    relay: JoinHandle<End>,
    /// The server's process ends when this is dropped.
    process: Option<oneshot::Sender<()>>,
}

impl Rig {
    fn new(settings: Settings) -> Self {
        Self::patient(settings, DEADLINE)
    }

    /// One whose server may take this long once the client has left.
    fn patient(settings: Settings, patience: Duration) -> Self {
        let (process, exited) = oneshot::channel();
        let watch = Watch::new(settings);
        let (client, ours) = duplex(64 * 1024);
        let (server, theirs) = duplex(64 * 1024);
        let relay = tokio::spawn({
            let watch = Arc::clone(&watch);
            async move {
                let outside = Outside {
                    stop: std::future::pending(),
                    exited: async {
                        let _ = exited.await;
                    },
                    patience,
                };
                let (client, server) = (split(ours), split(theirs));
                relay(&watch, &Passed::default(), client, server, outside).await
            }
        });
        Self {
            client: Peer::new(client),
            server: Peer::new(server),
            watch,
            relay,
            process: Some(process),
        }
    }

    fn with(faults: &[&str]) -> Self {
        Self::new(Settings {
            server_name: "api".to_owned(),
            faults: faults.iter().map(|fault| fault.parse().unwrap()).collect(),
            ..Settings::default()
        })
    }

    /// Calls a tool of which the server hears; answers it.
    async fn serve_one(&mut self) -> Value {
        let request = self.server.hear_json().await;
        let reply = json!({"jsonrpc": "2.0", "id": request["id"], "result": {"content": [
            {"type": "text", "text": "fine"}
        ]}});
        self.server.say(&reply.to_string()).await;
        request
    }

    fn next_steps(&self) -> Vec<NextStep> {
        let summary = summary::summarise(&self.watch.seen());
        let calls = summary.faulted_calls.iter();
        calls.map(|call| call.next).collect()
    }
}

use crate::proxy::summary;

fn call(id: &str, tool: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"{tool}","arguments":{{"x":1}},"_meta":{{"progressToken":"p"}}}}}}"#
    )
}

fn cancel(id: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":{id}}}}}"#
    )
}

const PING: &str = r#"{"jsonrpc":"2.0","id":99,"method":"ping"}"#;

/// Sends bytes in both directions at once and gives back what arrived.
async fn through(settings: Settings, up: &[u8], down: &[u8], chunk: usize) -> (Vec<u8>, Vec<u8>) {
    let rig = Rig::new(settings);
    let Rig {
        client,
        server,
        process: _process,
        ..
    } = rig;
    let send = |peer: Peer, bytes: Vec<u8>| async move {
        let Peer { mut reader, writer } = peer;
        let mut writer = writer.unwrap();
        let writing = async move {
            for piece in bytes.chunks(chunk.max(1)) {
                writer.write_all(piece).await.unwrap();
            }
            writer.shutdown().await.unwrap();
        };
        let mut heard = Vec::new();
        let reading = async {
            reader.read_to_end(&mut heard).await.unwrap();
        };
        tokio::join!(writing, reading);
        heard
    };
    let both = async { tokio::join!(send(server, down.to_vec()), send(client, up.to_vec())) };
    timeout(DEADLINE, both).await.unwrap()
}

fn recording() -> Recording {
    let origin = Origin::new("proxy", "api");
    Recording::to_writer(Box::new(std::io::sink()), &origin).unwrap()
}

/// All that a proxy can be told, without a fault that strikes what is sent.
fn watching() -> [Settings; 3] {
    let aimed = "hang,tool=nobody calls this";
    let faults = vec![
        aimed.parse().unwrap(),
        "vanish,tool=nor this".parse().unwrap(),
    ];
    [
        Settings::default(),
        Settings {
            recording: Some(recording()),
            ..Settings::default()
        },
        Settings {
            faults,
            recording: Some(recording()),
            counts_calls: true,
            ..Settings::default()
        },
    ]
}

fn traffic() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        proptest::collection::vec(any::<u8>(), 0..200),
        Just(b"\n".to_vec()),
        Just(b"\r\n".to_vec()),
        Just(b"\n\n  \n".to_vec()),
        "[a-z]{0,3}".prop_map(|id| format!("{}\n", call(&format!("\"{id}\""), "echo")).into_bytes()),
        (0_u8..4).prop_map(|id| format!("{}\r\n", call(&id.to_string(), "echo")).into_bytes()),
        (0_u8..4).prop_map(|id| format!("{}\n", cancel(&id.to_string())).into_bytes()),
        (0_u8..4).prop_map(|id| {
            format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"tools/list\"}}\n").into_bytes()
        }),
        (0_u8..4).prop_map(|id| {
            format!(
                "{{\"id\":{id}, \"jsonrpc\":\"2.0\",\"result\":{{\"tools\":[{{\"name\":\"echo\"}}]}}}}\n"
            )
            .into_bytes()
        }),
        (0_u8..4).prop_map(|id| {
            format!("[{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{{}}}}]\n").into_bytes()
        }),
        Just(vec![b'x'; 5_000]),
    ];
    proptest::collection::vec(piece, 0..30).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn bytes_pass_as_they_are_in_both_directions(
        up in traffic(),
        down in traffic(),
        chunk in 1_usize..3_000,
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        for settings in watching() {
            let (to_server, to_client) = runtime.block_on(through(settings, &up, &down, chunk));
            prop_assert!(to_server == up, "to the server: {:?}", String::from_utf8_lossy(&to_server));
            prop_assert!(to_client == down, "to the client: {:?}", String::from_utf8_lossy(&to_client));
        }
    }
}

#[tokio::test]
async fn lines_over_the_limit_pass_in_pieces_and_what_follows_is_seen_again() {
    let mut up = vec![b'a'; LOOK_BYTES_MAX + 70_000];
    up.extend_from_slice(format!("\n{PING}\n").as_bytes());
    for settings in watching() {
        let (to_server, to_client) = through(settings, &up, &up, 60_000).await;
        assert!(to_server == up && to_client == up);
    }
}

#[tokio::test]
async fn a_hung_call_holds_up_nothing_and_its_cancellation_goes_nowhere() {
    let mut rig = Rig::with(&["hang,tool=stuck"]);
    rig.client.say(&call("1", "stuck")).await;
    rig.client.say(PING).await;
    assert_eq!(rig.server.hear().await, PING);
    rig.client.say(&call("2", "other")).await;
    assert_eq!(rig.serve_one().await["id"], 2);
    assert_eq!(rig.client.hear_json().await["id"], 2);
    rig.client.say(&cancel("1")).await;
    rig.client.say(&cancel("2")).await;
    assert_eq!(rig.server.hear().await, cancel("2"));
    rig.client.hears_nothing().await;
    // Cancelled once more, it still means nothing to the server.
    rig.client.say(&cancel("1")).await;
    rig.server.hears_nothing().await;
    assert_eq!(rig.next_steps(), [NextStep::Cancelled]);
}

#[tokio::test]
async fn a_retry_under_the_same_id_is_a_call_of_its_own() {
    let mut rig = Rig::with(&["hang,calls=1"]);
    rig.client.say(&call("\"a\"", "stuck")).await;
    rig.client.say(&cancel("\"a\"")).await;
    rig.client.say(&call("\"a\"", "stuck")).await;
    assert_eq!(rig.serve_one().await["id"], "a");
    assert_eq!(rig.client.hear_json().await["id"], "a");
    // Now there is something to cancel.
    rig.client.say(&cancel("\"a\"")).await;
    assert_eq!(rig.server.hear().await, cancel("\"a\""));
    assert_eq!(rig.next_steps(), [NextStep::Retried]);
}

#[tokio::test]
async fn five_slow_calls_overlap() {
    let mut rig = Rig::with(&["slow:300"]);
    let started = std::time::Instant::now();
    for id in 0..5 {
        rig.client.say(&call(&id.to_string(), "echo")).await;
    }
    for _ in 0..5 {
        rig.serve_one().await;
    }
    let mut heard = Vec::new();
    for _ in 0..5 {
        heard.push(rig.client.hear_json().await["id"].as_u64().unwrap());
    }
    let elapsed = started.elapsed();
    heard.sort_unstable();
    assert_eq!(heard, [0, 1, 2, 3, 4]);
    assert!(elapsed >= Duration::from_millis(300), "{elapsed:?}");
    assert!(elapsed < Duration::from_millis(1_400), "{elapsed:?}");
}

#[tokio::test]
async fn requests_of_the_server_have_ids_of_their_own() {
    let mut rig = Rig::with(&["slow:50"]);
    rig.client.say(&call("1", "echo")).await;
    let request = rig.server.hear_json().await;
    assert_eq!(request["id"], 1);
    // The server asks under the same id, and the client answers.
    let asked = r#"{"jsonrpc":"2.0","id":1,"method":"sampling/createMessage","params":{}}"#;
    rig.server.say(asked).await;
    assert_eq!(rig.client.hear().await, asked);
    let answered = r#"{"jsonrpc":"2.0","id":1,"result":{"role":"assistant"}}"#;
    rig.client.say(answered).await;
    assert_eq!(rig.server.hear().await, answered);
    rig.server
        .say(r#"{"jsonrpc":"2.0","id":1.0,"result":{"content":[]}}"#)
        .await;
    assert_eq!(rig.client.hear_json().await["result"]["content"], json!([]));
}

#[tokio::test]
async fn a_lost_reply_stays_lost_even_when_the_call_is_cancelled() {
    let mut rig = Rig::with(&["lose-reply,calls=1"]);
    rig.client.say(&call("1", "write")).await;
    let request = rig.server.hear_json().await;
    rig.client.say(&cancel("1")).await;
    assert_eq!(rig.server.hear().await, cancel("1"));
    let reply = json!({"jsonrpc": "2.0", "id": request["id"], "result": {"content": []}});
    rig.server.say(&reply.to_string()).await;
    rig.client.hears_nothing().await;
    // Made again, it is executed again, and answered.
    rig.client.say(&call("2", "write")).await;
    rig.serve_one().await;
    assert_eq!(rig.client.hear_json().await["id"], 2);
    let summary = summary::summarise(&rig.watch.seen());
    assert_eq!(summary.faulted_calls[0].next, NextStep::RepeatedLostWrite);
    assert_eq!(summary.faulted_calls[0].executed, Some(2));
}

#[tokio::test]
async fn a_lost_request_is_never_executed() {
    let mut rig = Rig::with(&["lose-request,calls=1"]);
    rig.client.say(&call("1", "write")).await;
    rig.server.hears_nothing().await;
    rig.client.say(&call("2", "write")).await;
    assert_eq!(rig.serve_one().await["id"], 2);
    let summary = summary::summarise(&rig.watch.seen());
    assert_eq!(summary.faulted_calls[0].executed, Some(1));
}

#[tokio::test]
async fn reply_after_cancel_answers_all_the_same_and_the_server_knows_nothing() {
    let mut rig = Rig::with(&["reply-after-cancel:100"]);
    rig.client.say(&call("1", "echo")).await;
    rig.client.say(&cancel("1")).await;
    let request = rig.serve_one().await;
    assert_eq!(request["method"], "tools/call");
    assert_eq!(rig.client.hear_json().await["id"], 1);
    rig.server.hears_nothing().await;
}

#[tokio::test]
async fn vanished_tools_are_not_listed_and_unknown() {
    let mut rig = Rig::with(&["vanish,tool=gone"]);
    let list = r#"{"jsonrpc":"2.0","id":5,"method":"tools/list"}"#;
    rig.client.say(list).await;
    assert_eq!(rig.server.hear().await, list);
    rig.server
        .say(r#"{"jsonrpc":"2.0","id":5,"result":{"tools":[{"name":"gone"},{"name":"here"}]}}"#)
        .await;
    let listed = rig.client.hear_json().await;
    assert_eq!(listed["result"]["tools"], json!([{"name": "here"}]));
    rig.client.say(&call("6", "gone")).await;
    assert_eq!(rig.client.hear_json().await["error"]["code"], -32602);
    rig.server.hears_nothing().await;
}

#[tokio::test]
async fn what_the_other_kinds_do() {
    // Kinds that do not reach the server.
    for (fault, key, expected) in [
        ("error:-32050", "error", json!(-32050)),
        ("flaky:1.0", "error", json!(-32000)),
        ("http-status:429", "error", json!(-32000)),
    ] {
        let mut rig = Rig::with(&[fault]);
        rig.client.say(&call("\"x\"", "echo")).await;
        let reply = rig.client.hear_json().await;
        assert_eq!(
            (&reply["id"], &reply[key]["code"]),
            (&json!("x"), &expected)
        );
        rig.server.hears_nothing().await;
    }
    let mut rig = Rig::with(&["tool-error"]);
    rig.client.say(&call("1", "echo")).await;
    assert_eq!(rig.client.hear_json().await["result"]["isError"], true);
    for kind in ["hang", "wedged", "recover-after:1", "lose-request"] {
        let mut rig = Rig::with(&[kind]);
        rig.client.say(&call("1", "echo")).await;
        rig.client.hears_nothing().await;
        rig.server.hears_nothing().await;
    }
    let mut rig = Rig::with(&["progress-forever"]);
    rig.client.say(&call("1", "echo")).await;
    for _ in 0..2 {
        let told = rig.client.hear_json().await;
        assert_eq!(told["params"]["progressToken"], "p");
    }
}

#[tokio::test]
async fn what_the_kinds_do_that_let_the_server_answer() {
    let fine = r#"{"content":[{"text":"fine","type":"text"}]}"#;
    for fault in ["slow:10", "jitter:1-20", "reorder", "reply-after-cancel:1"] {
        let mut rig = Rig::with(&[fault]);
        rig.client.say(&call("1", "echo")).await;
        rig.serve_one().await;
        assert_eq!(
            rig.client.hear_json().await["result"].to_string(),
            fine,
            "{fault}"
        );
    }
    let heard = |fault: &'static str| async move {
        let mut rig = Rig::with(&[fault]);
        rig.client.say(&call("1", "echo")).await;
        rig.serve_one().await;
        rig
    };
    let line = heard("malformed").await.client.hear().await;
    assert!(line.starts_with("}{"), "{line}");
    let line = heard("truncated").await.client.hear().await;
    assert!(line.starts_with('{') && serde_json::from_str::<Value>(&line).is_err());
    let reply = heard("corrupt").await.client.hear_json().await;
    assert_ne!(reply["result"].to_string(), fine);
    let reply = heard("empty").await.client.hear_json().await;
    assert_eq!(reply["result"]["content"], json!([]));
    let reply = heard("oversized:300000").await.client.hear().await;
    assert!(reply.len() > 300_000);
    let reply = heard("wrong-id").await.client.hear_json().await;
    assert_ne!(reply["id"], 1);
    let mut rig = heard("duplicate").await;
    assert_eq!(rig.client.hear().await, rig.client.hear().await);
    let mut rig = heard("noise").await;
    assert!(rig.client.hear().await.contains("noise"));
    rig.client.hear().await;
    assert_eq!(rig.client.hear_json().await["id"], 1);
    let mut rig = heard("lose-reply").await;
    rig.client.hears_nothing().await;
}

#[tokio::test]
async fn disconnect_and_crash_end_it_all() {
    for (fault, end) in [("disconnect", End::Disconnected), ("crash", End::Crashed)] {
        let mut rig = Rig::with(&[fault]);
        rig.client.say(&call("1", "echo")).await;
        assert_eq!(timeout(DEADLINE, rig.relay).await.unwrap().unwrap(), end);
        assert_eq!(rig.client.hear().await, "", "{fault}");
        assert_eq!(rig.server.hear().await, "", "{fault}");
    }
}

#[tokio::test]
async fn when_the_client_leaves_delayed_calls_are_made_and_hung_ones_dropped() {
    let mut rig = Rig::with(&["slow:200,tool=late", "hang,tool=stuck"]);
    rig.client.say(&call("1", "late")).await;
    rig.client.say(&call("2", "stuck")).await;
    rig.client.writer.take().unwrap().shutdown().await.unwrap();
    assert_eq!(rig.serve_one().await["id"], 1);
    assert_eq!(rig.server.hear().await, "");
    assert_eq!(rig.client.hear_json().await["id"], 1);
    rig.server.writer.take().unwrap().shutdown().await.unwrap();
    let end = timeout(DEADLINE, rig.relay).await.unwrap().unwrap();
    assert_eq!(end, End::ServerLeft);
}

/// As a server of ours does: what is due long after the client left is not executed.
#[tokio::test]
async fn when_the_client_leaves_calls_with_a_long_delay_are_not_made() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let recording = Recording::create(file.path(), &Origin::new("proxy", "api")).unwrap();
    let mut rig = Rig::new(Settings {
        faults: vec!["slow:1500".parse().unwrap()],
        recording: Some(recording.clone()),
        ..Settings::default()
    });
    rig.client.say(&call("1", "create_issue")).await;
    rig.client.writer.take().unwrap().shutdown().await.unwrap();
    assert_eq!(rig.server.hear().await, "", "the server got no call");
    rig.server.writer.take().unwrap().shutdown().await.unwrap();
    timeout(DEADLINE, rig.relay).await.unwrap().unwrap();
    recording.finish();
    let text = std::fs::read_to_string(file.path()).unwrap();
    assert!(text.contains(r#""name":"left""#), "{text}");
    let imported = mcprove_score::trace::import::import(&text).unwrap();
    let mark = &imported.trace.runs[0].faults[0];
    // When the client left, and not when the call was given up.
    assert_eq!(mark.detected_ms, None);
    assert!(mark.left_ms.is_some_and(|left| left < 1_500), "{mark:?}");
}

#[tokio::test]
async fn a_reply_too_long_to_be_held_passes_and_the_fault_is_over() {
    let mut rig = Rig::with(&["slow:1"]);
    rig.client.say(&call("1", "echo")).await;
    rig.server.hear_json().await;
    let head = r#"{"jsonrpc":"2.0","id":1,"result":{"content":[],"x":""#;
    let long = format!("{head}{}\"}}}}", "y".repeat(LOOK_BYTES_MAX));
    let (mut server, mut client) = (rig.server, rig.client);
    let ((), answer) = tokio::join!(server.say(&long), client.hear());
    assert!(answer == long);
    client.say(PING).await;
    assert_eq!(server.hear().await, PING);
}

#[tokio::test]
async fn batches_pass_untouched_and_it_is_said() {
    let mut rig = Rig::with(&["error"]);
    let batch = format!("[{},{PING}]", call("1", "echo"));
    rig.client.say(&batch).await;
    assert_eq!(rig.server.hear().await, batch);
    let remarks = rig.watch.seen().remarks;
    assert!(
        remarks.keys().any(|remark| remark.contains("batch")),
        "{remarks:?}"
    );
}

#[tokio::test]
async fn what_the_client_experiences_is_recorded() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let origin = Origin::new("proxy", "api");
    let recording = Recording::create(file.path(), &origin).unwrap();
    let mut rig = Rig::new(Settings {
        server_name: "api".to_owned(),
        faults: vec![
            "error,tool=bad".parse().unwrap(),
            "hang,tool=stuck".parse().unwrap(),
        ],
        recording: Some(recording.clone()),
        ..Settings::default()
    });
    rig.client.say(&call("1", "good")).await;
    rig.serve_one().await;
    rig.client.hear().await;
    rig.client.say(&call("2", "bad")).await;
    rig.client.hear().await;
    rig.client.say(&call("3", "stuck")).await;
    rig.client.say(&cancel("3")).await;
    rig.client.say(PING).await;
    rig.server.hear().await;
    recording.finish();
    let text = std::fs::read_to_string(file.path()).unwrap();
    let imported = mcprove_score::trace::import::import(&text).unwrap();
    let run = &imported.trace.runs[0];
    let tools: Vec<_> = run
        .tool_calls
        .iter()
        .map(|call| call.name.as_str())
        .collect();
    assert_eq!(tools, ["good", "bad", "stuck"]);
    let errors: Vec<_> = run
        .tool_results
        .iter()
        .map(|result| result.is_error)
        .collect();
    assert_eq!(errors, [Some(false), Some(true), Some(true)]);
    for part in [
        "\"name\":\"fault\"",
        "\"name\":\"cancelled\"",
        "\"kind\":\"hang\"",
    ] {
        assert!(text.contains(part), "{part} in {text}");
    }
}
