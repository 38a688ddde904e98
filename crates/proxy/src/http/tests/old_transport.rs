//! HTTP+SSE of 2024-11-05: messages are posted elsewhere, and answers come on the stream.

use mcprove_client::server::Server;
use mcprove_client::session::{Session, SessionOptions};
use mcprove_servers::fixture::{self, FixtureOptions, ListenerKind};
use mcprove_trace::stream::EventStream;
use serde_json::json;

use super::peers::{RawServer, Running, respond};
use crate::Settings;

async fn session(proxy: &Running) -> Session {
    let server = Server::sse(format!("http://{}/sse", proxy.addr));
    let recorder = EventStream::unobserved().recorder();
    let connected = Session::connect_recorded(&server, SessionOptions::default(), recorder).await;
    connected.unwrap()
}

async fn fixture() -> fixture::Listening {
    let addr = "127.0.0.1:0".parse().unwrap();
    let options = FixtureOptions::default();
    fixture::listen("normal", ListenerKind::Sse, addr, &options)
        .await
        .unwrap()
}

#[tokio::test]
async fn it_passes_and_faults_strike_it() {
    let server = fixture().await;
    for (fault, expected) in [
        (None, Ok("hi")),
        (Some("slow:20"), Ok("hi")),
        (Some("error:-32050"), Err("-32050")),
        (Some("tool-error"), Err("injected")),
        (Some("http-status:503"), Err("503")),
        (Some("empty"), Ok("[]")),
    ] {
        let faults: Vec<&str> = fault.into_iter().collect();
        let proxy = Running::with(&server.url(), &faults).await;
        let session = session(&proxy).await;
        let reply = session.call_tool("echo", &json!({"message": "hi"})).await;
        match (reply, expected) {
            (Ok(reply), Ok(part)) => assert!(reply.result().contains(part), "{fault:?}"),
            (Err(error), Err(part)) => {
                assert!(error.to_string().contains(part), "{fault:?}: {error}");
            }
            (reply, _) => panic!("{fault:?}: {reply:?}"),
        }
        session.close().await;
    }
}

#[tokio::test]
async fn vanished_tools_are_not_listed_on_the_stream() {
    let server = fixture().await;
    let proxy = Running::with(&server.url(), &["vanish,tool=echo"]).await;
    let session = session(&proxy).await;
    let tools = session.list_tools().await.unwrap();
    let names: Vec<_> = tools.iter().map(|tool| tool.name.as_str()).collect();
    assert!(
        !names.contains(&"echo") && names.contains(&"add"),
        "{names:?}"
    );
}

#[tokio::test]
async fn an_endpoint_by_a_whole_address_is_led_to_the_proxy() {
    let get = b"GET /sse HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n\r\n";
    let server = RawServer::start(|request| {
        let host = request.header("host").unwrap();
        let body = format!("event: endpoint\ndata: http://{host}/messages?id=1\n\ndata: x\n\n");
        respond("200 OK", "text/event-stream", &body)
    })
    .await;
    let proxy = Running::start(&server.url, Settings::default()).await;
    let heard = proxy.exchange(get).await.unwrap();
    assert_eq!(
        heard.text(),
        "event: endpoint\ndata: /messages?id=1\n\ndata: x\n\n"
    );
    let remarks = proxy.stop().await.summary.remarks;
    assert!(remarks.keys().any(|remark| remark.contains("endpoint")));
    // An address elsewhere stays as it is.
    let elsewhere = "event: endpoint\ndata: http://other/messages\n\n";
    let server = RawServer::start(move |_| respond("200 OK", "text/event-stream", elsewhere)).await;
    let proxy = Running::start(&server.url, Settings::default()).await;
    assert_eq!(proxy.exchange(get).await.unwrap().text(), elsewhere);
}
