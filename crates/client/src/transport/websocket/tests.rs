use mcprove_trace::ErrorCategory;
use tokio::net::{TcpListener, TcpStream};
use tokio_tungstenite::tungstenite::handshake::server::{Request, Response};
use tokio_tungstenite::tungstenite::protocol::CloseFrame;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;

use super::*;
use crate::transport::testing::*;
use crate::transport::{Detail, OutgoingKind};

/// A server for one connection that agrees to `mcp`, or to nothing if nothing is on offer.
async fn serve<F, R>(chooses: bool, connections: usize, handler: F) -> String
where
    F: Fn(WebSocketStream<TcpStream>) -> R + Send + 'static,
    R: Future<Output = ()> + Send,
{
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("ws://{}/mcp", listener.local_addr().unwrap());
    tokio::spawn(async move {
        for _ in 0..connections {
            let (socket, _) = listener.accept().await.unwrap();
            #[allow(clippy::result_large_err, reason = "the callback's type is given")]
            let choose = |request: &Request, mut response: Response| {
                assert_eq!(request.headers()["x-key"], "k");
                if let Some(offer) = request.headers().get(SEC_WEBSOCKET_PROTOCOL) {
                    assert_eq!(offer, "mcp");
                    if chooses {
                        response
                            .headers_mut()
                            .insert(SEC_WEBSOCKET_PROTOCOL, offer.clone());
                    }
                }
                Ok(response)
            };
            if let Ok(socket) = tokio_tungstenite::accept_hdr_async(socket, choose).await {
                handler(socket).await;
            }
        }
    });
    url
}

async fn connect(
    url: &str,
    options: HttpOptions,
) -> (Arc<RecordingInbox>, Result<Arc<WebSocketChannel>, Failure>) {
    let inbox = Arc::new(RecordingInbox::default());
    let user = BTreeMap::from([("X-Key".to_owned(), "k".to_owned())]);
    let channel = WebSocketChannel::connect(url, &user, options, Arc::clone(&inbox) as _).await;
    (inbox, channel)
}

async fn echo(mut socket: WebSocketStream<TcpStream>) {
    let _ = socket.send(Message::Ping(Bytes::from_static(b"1"))).await;
    let mut pongs = 0;
    while let Some(Ok(message)) = socket.next().await {
        match message {
            Message::Pong(_) => pongs += 1,
            Message::Text(_) | Message::Binary(_) => socket.send(message).await.unwrap(),
            _ => assert_eq!(pongs, 1),
        }
    }
}

#[tokio::test]
async fn every_frame_is_a_message_and_the_end_is_agreed_on() {
    let url = serve(true, 1, echo).await;
    let (inbox, channel) = connect(&url, HttpOptions::default()).await;
    let channel = channel.unwrap();
    for id in 0..100 {
        let (kind, bytes) = call(id);
        channel.send(message(kind, "tools/call", &bytes)).unwrap();
    }
    channel
        .send(message(OutgoingKind::Raw, "", b"\xff"))
        .unwrap();
    let texts = inbox.delivered(101).await;
    assert!(texts[99].contains("\"id\":99"));
    assert_eq!(texts[100], "\u{fffd}");
    channel.close().await;
    assert!(matches!(
        channel.send(message(OutgoingKind::Raw, "", b"1")),
        Err(SendError::Closed(_))
    ));
    assert!(inbox.failures().is_empty());
}

#[tokio::test]
async fn a_server_that_knows_no_subprotocol_is_fine() {
    let url = serve(false, 2, echo).await;
    let (inbox, channel) = connect(&url, HttpOptions::default()).await;
    let channel = channel.unwrap();
    channel.send(message(OutgoingKind::Raw, "", b"1")).unwrap();
    assert_eq!(inbox.delivered(1).await, ["1"]);
}

#[tokio::test]
async fn the_servers_end_is_told_with_its_reason() {
    let url = serve(true, 1, async |mut socket: WebSocketStream<TcpStream>| {
        let frame = CloseFrame {
            code: CloseCode::Restart,
            reason: "update".into(),
        };
        socket.close(Some(frame)).await.unwrap();
        while let Some(Ok(_)) = socket.next().await {}
    })
    .await;
    let (inbox, channel) = connect(&url, HttpOptions::default()).await;
    let failure = inbox.closed_with().await;
    assert_eq!(failure.category, ErrorCategory::Disconnected);
    assert!(failure.message.contains("update"), "{failure}");
    let channel = channel.unwrap();
    channel.room().await;
    channel.close().await;
}

#[tokio::test]
async fn a_message_over_the_limit_ends_the_channel() {
    let url = serve(true, 1, async |mut socket: WebSocketStream<TcpStream>| {
        let _ = socket.send(Message::text("x".repeat(2000))).await;
        while let Some(Ok(_)) = socket.next().await {}
    })
    .await;
    let options = HttpOptions {
        max_frame: 1000,
        ..HttpOptions::default()
    };
    let (inbox, channel) = connect(&url, options).await;
    let _channel = channel.unwrap();
    inbox.closed_with().await;
    assert!(matches!(
        inbox.failed().await.1.detail,
        Detail::Oversized { size: 2000, .. }
    ));
}

#[tokio::test]
async fn a_server_that_does_not_read_fills_the_queue() {
    let url = serve(true, 1, async |_socket: WebSocketStream<TcpStream>| {
        std::future::pending::<()>().await;
    })
    .await;
    let (_inbox, channel) = connect(&url, HttpOptions::default()).await;
    let channel = channel.unwrap();
    let bytes = vec![b'x'; 1024 * 1024];
    let full = (0..1000).find_map(|_| channel.send(message(OutgoingKind::Raw, "", &bytes)).err());
    assert_eq!(full, Some(SendError::Full));
    close(&channel.room);
    channel.room().await;
}

#[tokio::test]
async fn wss_trusts_the_same_roots_as_https() {
    let (root, acceptor) = self_signed();
    let refuse = |_: &Received| respond("403 Forbidden", "", "");
    let server = TestServer::start_with(Some(acceptor), refuse).await;
    let url = server.url().replace("http:", "wss:");
    let options = HttpOptions {
        extra_roots: vec![root],
        ..HttpOptions::default()
    };
    let failure = connect(&url, options).await.1.err().unwrap();
    assert_eq!(failure.detail, Detail::Denied(Denial::Access));
    let failure = connect(&url, HttpOptions::default()).await.1.err().unwrap();
    assert!(failure.message.contains("certificate"), "{failure}");
}

#[tokio::test]
async fn a_refusal_has_its_status() {
    let server = TestServer::start(|_| respond("401 Unauthorized", "", "who are you")).await;
    let url = server.url().replace("http:", "ws:");
    let failure = connect(&url, HttpOptions::default()).await.1.err().unwrap();
    assert_eq!(failure.detail, Detail::Denied(Denial::Token));
    let failure = connect(&server.url(), HttpOptions::default())
        .await
        .1
        .err()
        .unwrap();
    assert!(failure.message.contains("ws://"), "{failure}");
}
