//! What passes is what was sent.

use std::fmt::Write as _;
use std::sync::{Arc, Mutex};

use mcprove_recording::{Origin, Recording};
use proptest::prelude::*;
use tokio::time::timeout;

use super::peers::{DEADLINE, HttpMessage, RawServer, Running, call, post};
use crate::Settings;

/// What a proxy can be told, without a fault that strikes what is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Told {
    Nothing,
    FaultsElsewhere,
    ToRecord,
    Both,
}

impl Told {
    const ALL: [Self; 4] = [
        Self::Nothing,
        Self::FaultsElsewhere,
        Self::ToRecord,
        Self::Both,
    ];

    fn settings(self) -> Settings {
        let mut settings = Settings::default();
        if matches!(self, Self::FaultsElsewhere | Self::Both) {
            let faults = ["vanish,tool=nobody", "hang,tool=nor this"];
            settings.faults = faults.map(|fault| fault.parse().unwrap()).to_vec();
        }
        if matches!(self, Self::ToRecord | Self::Both) {
            let writer = Box::new(std::io::sink());
            let recording = Recording::to_writer(
                writer,
                &Origin::new("proxy", "api"),
                &mcprove_settings::secret::Redactor::default(),
            );
            settings.recording = Some(recording.unwrap());
        }
        settings
    }
}

/// Headers of the test and of the peers' talk, which go from end to end.
fn end_to_end(message: &HttpMessage) -> Vec<(String, String)> {
    let own = message.headers.iter();
    let mut own: Vec<_> = own
        .filter(|(name, _)| {
            let name = name.to_ascii_lowercase();
            name.starts_with("x-") || TALK.iter().any(|talk| talk.eq_ignore_ascii_case(&name))
        })
        .cloned()
        .collect();
    // Among headers of different names the order means nothing.
    own.sort_by_key(|(name, _)| name.to_ascii_lowercase());
    own
}

const TALK: [&str; 6] = [
    "Authorization",
    "Cookie",
    "Set-Cookie",
    "ETag",
    "Last-Event-ID",
    "MCP-Protocol-Version",
];

fn headers() -> impl Strategy<Value = Vec<(String, String)>> {
    let talk = proptest::sample::select(TALK.map(str::to_owned).to_vec());
    let name = prop_oneof!["[Xx]-[A-Za-z]{1,3}", talk];
    let value = "([!-~]([ -~]{0,20}[!-~])?)?";
    proptest::collection::vec((name, value), 0..12)
}

fn body() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        proptest::collection::vec(any::<u8>(), 0..2_000),
        Just(call("1", "echo").into_bytes()),
        Just(br#"{"jsonrpc":"2.0","id":2,"method":"tools/list"}"#.to_vec()),
        Just(br#"[{"jsonrpc":"2.0","id":2,"method":"tools/list"}]"#.to_vec()),
        Just(b"data: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\r\n\r\n: x\n\ndata: y".to_vec()),
        Just(br#"{"jsonrpc":"2.0", "id":2,"result":{"tools":[{"name":"a"}]}}"#.to_vec()),
        Just(
            br#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#
                .to_vec()
        ),
        Just(vec![b'x'; 300_000]),
    ]
}

fn encode(start: &str, headers: &[(String, String)], body: &[u8], is_chunked: bool) -> Vec<u8> {
    let mut text = format!("{start}\r\n");
    for (name, value) in headers {
        let _ = write!(text, "{name}: {value}\r\n");
    }
    let mut bytes;
    if is_chunked {
        text.push_str("Transfer-Encoding: chunked\r\n\r\n");
        bytes = text.into_bytes();
        for chunk in body.chunks(700) {
            bytes.extend(format!("{:x}\r\n", chunk.len()).into_bytes());
            bytes.extend(chunk);
            bytes.extend(b"\r\n");
        }
        bytes.extend(b"0\r\n\r\n");
    } else {
        let _ = write!(text, "Content-Length: {}\r\n\r\n", body.len());
        bytes = text.into_bytes();
        bytes.extend(body);
    }
    bytes
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn bodies_and_headers_pass_as_they_are(
        method in prop_oneof!["POST", "PUT", "DELETE", "GET", "PATCH"],
        target in "/(mcp|\\.well-known/[a-z]{1,5}|%20x)(\\?[a-z]=[a-z%0-9]{0,1}5)?",
        (up, down) in (headers(), headers()),
        (sent, answered) in (body(), body()),
        status in prop_oneof![
            Just("200 OK"), Just("404 Not Found"), Just("401 Nobody Knows"), Just("503 Busy")
        ],
        content_type in prop_oneof![
            Just("application/json"), Just("text/event-stream"), Just("image/png")
        ],
        (up_chunked, down_chunked) in (any::<bool>(), any::<bool>()),
        encoding in prop_oneof![Just(None), Just(Some("gzip"))],
        told in proptest::sample::select(Told::ALL.to_vec()),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let mut down = down;
            down.push(("X-Type".to_owned(), "end".to_owned()));
            let mut head = down.clone();
            head.push(("Content-Type".to_owned(), content_type.to_owned()));
            head.extend(encoding.map(|name| ("Content-Encoding".to_owned(), name.to_owned())));
            let answer = encode(&format!("HTTP/1.1 {status}"), &head, &answered, down_chunked);
            let server = RawServer::start(move |_| answer.clone()).await;
            let proxy = Running::start(&server.url, told.settings()).await;
            let start = format!("{method} {target} HTTP/1.1");
            let mut head = vec![("Host".to_owned(), "localhost".to_owned())];
            head.extend(up.clone());
            let request = encode(&start, &head, &sent, up_chunked);
            let heard = proxy.exchange(&request).await.unwrap();
            let asked = server.asked().remove(0);
            assert_eq!(asked.start, start);
            assert!(asked.is_whole && asked.body == sent, "{asked:?}");
            let expected = |headers: Vec<(String, String)>| end_to_end(&HttpMessage {
                headers, ..HttpMessage::default()
            });
            assert_eq!(end_to_end(&asked), expected(up));
            let host = server.url.trim_start_matches("http://").trim_end_matches("/mcp");
            assert_eq!(asked.header("host"), Some(host));
            assert_eq!(heard.status(), status[..3].parse::<u16>().unwrap());
            assert!(heard.is_whole && heard.body == answered, "{heard:?}");
            assert_eq!(end_to_end(&heard), expected(down));
            assert_eq!(heard.header("content-type"), Some(content_type));
            assert_eq!(heard.header("content-encoding"), encoding);
            assert_eq!(heard.header("date"), None);
        });
    }
}

#[tokio::test]
async fn streams_pass_as_they_come() {
    // The server waits with its second event until the client has the first.
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    let (seen, wait) = tokio::sync::oneshot::channel::<()>();
    let wait = Arc::new(Mutex::new(Some(wait)));
    tokio::spawn(async move {
        let (stream, _) = listener.accept().await.unwrap();
        let mut wire = super::peers::Wire::new(stream);
        wire.read().await.unwrap();
        let head = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n";
        wire.write(head).await;
        wire.write(b"9\r\ndata: 1\n\n\r\n").await;
        let wait = wait.lock().unwrap().take().unwrap();
        wait.await.unwrap();
        wire.write(b"9\r\ndata: 2\n\n\r\n0\r\n\r\n").await;
    });
    let proxy = Running::start(&url, Told::Both.settings()).await;
    let mut wire = proxy.connect().await;
    wire.write(b"GET /mcp HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n\r\n")
        .await;
    let talk = async {
        wire.read_head().await.unwrap();
        assert_eq!(wire.read_chunk().await.unwrap(), b"data: 1\n\n");
        seen.send(()).unwrap();
        assert_eq!(wire.read_chunk().await.unwrap(), b"data: 2\n\n");
        assert_eq!(wire.read_chunk().await.unwrap(), b"");
    };
    timeout(DEADLINE, talk).await.unwrap();
}

#[tokio::test]
async fn a_client_that_leaves_ends_the_request_to_the_server() {
    for told in Told::ALL {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/mcp", listener.local_addr().unwrap());
        let proxy = Running::start(&url, told.settings()).await;
        let mut client = proxy.connect().await;
        client.write(&post("/mcp", &call("1", "echo"))).await;
        let (stream, _) = listener.accept().await.unwrap();
        let mut server = super::peers::Wire::new(stream);
        server.read().await.unwrap();
        drop(client);
        let end = timeout(DEADLINE, server.read()).await.expect("in time");
        assert_eq!(end, None);
    }
}

#[tokio::test]
async fn a_server_that_breaks_off_breaks_the_answer_off() {
    for content_type in ["text/event-stream", "application/json"] {
        let server = RawServer::start(move |_| {
            let head = "Transfer-Encoding: chunked\r\n\r\n9\r\ndata: 1\n\n\r\n5\r\nda";
            format!("HTTP/1.1 200 OK\r\nContent-Type: {content_type}\r\n{head}").into_bytes()
        })
        .await;
        for told in Told::ALL {
            let proxy = Running::start(&server.url, told.settings()).await;
            let heard = proxy.post(&call("1", "echo")).await.unwrap();
            assert_eq!((heard.status(), heard.is_whole), (200, false), "{heard:?}");
            assert!(heard.text().starts_with("data: 1\n\n"), "{heard:?}");
        }
        // A call that is held has no beginning of an answer yet, unless that comes as events.
        let proxy = Running::with(&server.url, &["slow:1"]).await;
        let heard = proxy.post(&call("1", "echo")).await;
        let is_stream = content_type == "text/event-stream";
        assert_eq!(heard.is_some(), is_stream, "{heard:?}");
        assert!(heard.is_none_or(|heard| !heard.is_whole));
    }
}

#[tokio::test]
async fn an_answer_too_long_to_be_held_passes() {
    let result = "x".repeat(crate::LOOK_BYTES_MAX);
    let long = format!(r#"{{"jsonrpc":"2.0","id":1,"result":{{"content":[],"x":"{result}"}}}}"#);
    let events = format!("data: {long}\n\n");
    for (content_type, body) in [("application/json", long), ("text/event-stream", events)] {
        let expected = body.clone();
        let server =
            RawServer::start(move |_| super::peers::respond("200 OK", content_type, &body)).await;
        let proxy = Running::with(&server.url, &["slow:1"]).await;
        let heard = proxy.post(&call("1", "echo")).await.unwrap();
        assert!(heard.is_whole && heard.body == expected.as_bytes());
        assert_eq!(proxy.stop().await.summary.remarks.len(), 1);
    }
}

/// All that one client does on one connection, from its first word to its last.
#[tokio::test]
async fn a_session_passes_from_its_beginning_to_its_end() {
    for told in Told::ALL {
        let server = RawServer::start(|request| {
            let method = request.start.split(' ').next().unwrap();
            match method {
                "POST" if request.text().contains("initialize\"") => {
                    let answer = super::peers::serve_json(request);
                    let answer = String::from_utf8(answer).unwrap();
                    let named = "Mcp-Session-Id: s-1\r\nX-Own";
                    answer.replacen("X-Own", named, 1).into_bytes()
                }
                "POST" => b"HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n".to_vec(),
                "GET" => {
                    let last = request.header("last-event-id").unwrap();
                    let body = format!("id: 8\ndata: after {last}\n\n");
                    super::peers::respond("200 OK", "text/event-stream", &body)
                }
                _ => b"HTTP/1.1 204 No Content\r\n\r\n".to_vec(),
            }
        })
        .await;
        let proxy = Running::start(&server.url, told.settings()).await;
        let mut wire = proxy.connect().await;
        let hello = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{}}"#;
        wire.write(&post("/mcp", hello)).await;
        let heard = timeout(DEADLINE, wire.read()).await.unwrap().unwrap();
        assert_eq!(heard.header("mcp-session-id"), Some("s-1"), "{heard:?}");
        let ready = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
        wire.write(&super::peers::in_session(ready, "s-1")).await;
        let heard = timeout(DEADLINE, wire.read()).await.unwrap().unwrap();
        assert_eq!((heard.status(), heard.body.len()), (202, 0), "{heard:?}");
        let name = "Host: localhost\r\nMcp-Session-Id: s-1\r\n";
        let resume = format!("GET /mcp HTTP/1.1\r\n{name}Last-Event-ID: 7\r\n\r\n");
        wire.write(resume.as_bytes()).await;
        let heard = timeout(DEADLINE, wire.read()).await.unwrap().unwrap();
        assert_eq!(heard.text(), "id: 8\ndata: after 7\n\n");
        wire.write(format!("DELETE /mcp HTTP/1.1\r\n{name}\r\n").as_bytes())
            .await;
        let heard = timeout(DEADLINE, wire.read()).await.unwrap().unwrap();
        assert_eq!(heard.status(), 204);
        let names = server.asked().into_iter().skip(1);
        for asked in names {
            assert_eq!(asked.header("mcp-session-id"), Some("s-1"), "{asked:?}");
        }
        assert_eq!(server.asked().len(), 4);
    }
}

#[tokio::test]
async fn a_server_that_is_not_there_is_a_bad_gateway() {
    let nobody = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/mcp", nobody.local_addr().unwrap());
    drop(nobody);
    let proxy = Running::start(&url, Told::Both.settings()).await;
    let heard = proxy.post(&call("1", "echo")).await.unwrap();
    assert_eq!(heard.status(), 502);
    assert!(heard.text().contains("cannot connect"), "{heard:?}");
    let ended = proxy.stop().await;
    let remarks: Vec<_> = ended.summary.remarks.keys().collect();
    assert!(remarks[0].contains("cannot connect"), "{remarks:?}");
    assert!(ended.was_stopped);
}

#[tokio::test]
async fn connections_are_kept_and_one_that_the_server_closed_is_replaced() {
    for is_closing in [false, true] {
        let server = RawServer::start(move |request| {
            let answer = super::peers::serve_json(request);
            let answer = String::from_utf8(answer).unwrap();
            // The server says nothing of closing, and closes.
            let head = if is_closing {
                "X-Close: 1\r\nX-Own"
            } else {
                "X-Own"
            };
            answer.replacen("X-Own", head, 1).into_bytes()
        })
        .await;
        let proxy = Running::start(&server.url, Settings::default()).await;
        let mut wire = proxy.connect().await;
        for id in 0..30 {
            wire.write(&post("/mcp", &call(&id.to_string(), "echo")))
                .await;
            let heard = timeout(DEADLINE, wire.read()).await.unwrap().unwrap();
            assert_eq!(heard.json()["id"], id, "{heard:?}");
            // Time for the end of the connection to arrive.
            tokio::time::sleep(std::time::Duration::from_millis(2)).await;
        }
        assert_eq!(server.asked().len(), 30);
    }
}

#[tokio::test]
async fn the_query_of_the_address_is_used_where_the_client_gives_none() {
    let server = RawServer::start(super::peers::serve_json).await;
    let url = format!("{}?tenant=7", server.url);
    let proxy = Running::start(&url, Settings::default()).await;
    proxy.post(&call("1", "echo")).await.unwrap();
    proxy.exchange(&post("/mcp?own=1", "{}")).await.unwrap();
    let targets: Vec<_> = server
        .asked()
        .into_iter()
        .map(|asked| asked.start)
        .collect();
    assert_eq!(
        targets,
        ["POST /mcp?tenant=7 HTTP/1.1", "POST /mcp?own=1 HTTP/1.1"]
    );
}
