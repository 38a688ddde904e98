//! WebSocket: one message per text frame, subprotocol `mcp`.
//!
//! A task writes what waits in a bounded queue, another delivers what arrives; pings are
//! answered by the protocol itself. The channel ends with the connection.

use futures_util::stream::{SplitSink, SplitStream};
use futures_util::{SinkExt, StreamExt};
use http::header::SEC_WEBSOCKET_PROTOCOL;
use mcprove_trace::guarded::{Guarded, PONG_BYTES_MAX, Pongs};
use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::{Semaphore, TryAcquireError, mpsc};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::error::{
    CapacityError, Error, ProtocolError, SubProtocolError,
};
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;
use tokio_tungstenite::tungstenite::{Message, Utf8Bytes};

use super::http::exchange;
use super::http::prelude::*;

/// How many messages wait for the wire at most.
const MAX_QUEUED: usize = 4096;
/// How many bytes wait for the wire at most, unless it is a single message.
const MAX_QUEUED_BYTES: u32 = 64 * 1024 * 1024;
/// How long the server may take to agree to the end.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(2);
/// How much is read at once. Frames that say nothing are skipped without a turn for others
/// until some reads are used up, so a read must not hold too many.
const READ_BYTES: usize = 16 * 1024;
/// How many messages are delivered before others get a turn.
const YIELD_MESSAGES: u32 = 256;
const SUBPROTOCOL: HeaderValue = HeaderValue::from_static("mcp");

type Socket = WebSocketStream<Guarded<Wire>>;

/// A channel to a WebSocket address.
pub struct WebSocketChannel {
    /// Room for bytes; closed with the channel.
    room: Arc<Semaphore>,
    queue: mpsc::Sender<Message>,
    reader: Mutex<Option<JoinHandle<()>>>,
    writer: JoinHandle<()>,
}

impl WebSocketChannel {
    /// Connects to `url`, within the connect timeout.
    ///
    /// Must be called within a tokio runtime, which then runs the channel's tasks.
    pub async fn connect(
        url: &str,
        headers: &BTreeMap<String, String>,
        options: HttpOptions,
        inbox: Arc<dyn Inbox>,
    ) -> Result<Arc<Self>, Failure> {
        let address = Address::parse(url, ("ws", "wss"), &options)?;
        let opening = async {
            match open(url, &address, headers, &options, true).await? {
                Some(socket) => Ok(Some(socket)),
                // A server need not choose a subprotocol; then it must not be offered one.
                None => open(url, &address, headers, &options, false).await,
            }
        };
        let socket = address.within(&options, "no WebSocket", opening).await?;
        let socket =
            socket.ok_or_else(|| address.unreachable("the subprotocol cannot be agreed on"))?;
        let room = Arc::new(Semaphore::new(MAX_QUEUED_BYTES as usize));
        let (queue, waiting) = mpsc::channel(MAX_QUEUED);
        let pongs = socket.get_ref().pongs();
        let (sink, stream) = socket.split();
        let writer = tokio::spawn(write(sink, waiting, Arc::clone(&room)));
        let reader = read(stream, (options.max_frame, pongs), Arc::clone(&room), inbox);
        let reader = Mutex::new(Some(tokio::spawn(reader)));
        Ok(Arc::new(Self {
            room,
            queue,
            reader,
            writer,
        }))
    }

    fn take_reader(&self) -> Option<JoinHandle<()>> {
        lock(&self.reader).take()
    }
}

impl Channel for WebSocketChannel {
    fn name(&self) -> &'static str {
        "ws"
    }

    fn send(&self, message: Outgoing<'_>) -> Result<(), SendError> {
        let bytes = Bytes::copy_from_slice(message.bytes);
        let room = self.room.try_acquire_many(size_of_queued(bytes.len()));
        let room = room.map_err(|error| match error {
            TryAcquireError::NoPermits => SendError::Full,
            TryAcquireError::Closed => SendError::closed(),
        })?;
        // Only what is no text at all, and so no message, needs another frame.
        let message = match Utf8Bytes::try_from(bytes.clone()) {
            Ok(text) => Message::Text(text),
            Err(_) => Message::Binary(bytes),
        };
        self.queue.try_send(message).map_err(|error| match error {
            TrySendError::Full(_) => SendError::Full,
            TrySendError::Closed(_) => SendError::closed(),
        })?;
        // The writer gives it back.
        room.forget();
        Ok(())
    }

    fn room(&self) -> BoxFuture<'_, ()> {
        Box::pin(async {
            // Either fails when the channel is closed.
            if self.room.acquire().await.is_ok() {
                let _ = self.queue.reserve().await;
            }
        })
    }

    fn sever(&self) {
        close(&self.room);
        if let Some(reader) = self.take_reader() {
            reader.abort();
        }
        self.writer.abort();
    }

    fn close(&self) -> BoxFuture<'_, Closing> {
        Box::pin(async {
            let was_closed = close(&self.room);
            if let Some(mut reader) = self.take_reader() {
                if !was_closed && self.queue.try_send(Message::Close(None)).is_ok() {
                    // The reader ends when the server agrees.
                    let _ = tokio::time::timeout(CLOSE_TIMEOUT, &mut reader).await;
                }
                reader.abort();
            }
            self.writer.abort();
            Closing::default()
        })
    }
}

impl Drop for WebSocketChannel {
    fn drop(&mut self) {
        self.sever();
    }
}

/// How much room a message of that many bytes takes: all there is, if it is larger.
fn size_of_queued(bytes: usize) -> u32 {
    u32::try_from(bytes).map_or(MAX_QUEUED_BYTES, |bytes| bytes.min(MAX_QUEUED_BYTES))
}

/// Closes a channel; returns whether it was closed already.
fn close(room: &Semaphore) -> bool {
    let was_closed = room.is_closed();
    room.close();
    was_closed
}

/// Dials and shakes hands. `None` if the server did not choose the subprotocol on offer.
async fn open(
    url: &str,
    address: &Address,
    headers: &BTreeMap<String, String>,
    options: &HttpOptions,
    offers_subprotocol: bool,
) -> Result<Option<Socket>, Failure> {
    let unreachable = |error: Error| address.unreachable(&error.to_string());
    let mut request = url.into_client_request().map_err(unreachable)?;
    if offers_subprotocol {
        request
            .headers_mut()
            .insert(SEC_WEBSOCKET_PROTOCOL, SUBPROTOCOL);
    }
    for (name, value) in headers {
        let (name, value) = parse_header(name, value)?;
        request.headers_mut().insert(name, value);
    }
    let wire = Guarded::new(address.dial(options).await?);
    let limit = Some(options.max_frame);
    let config = WebSocketConfig::default()
        .read_buffer_size(READ_BYTES)
        .max_message_size(limit)
        .max_frame_size(limit);
    match tokio_tungstenite::client_async_with_config(request, wire, Some(config)).await {
        Ok((socket, _)) => Ok(Some(socket)),
        Err(Error::Protocol(ProtocolError::SecWebSocketSubProtocolError(
            SubProtocolError::NoSubProtocol,
        ))) if offers_subprotocol => Ok(None),
        Err(Error::Http(response)) => {
            let body = response.body().as_deref().unwrap_or_default();
            Err(exchange::failure(
                response.status(),
                response.headers(),
                body,
            ))
        }
        Err(error) => Err(unreachable(error)),
    }
}

/// Writes what waits, as much at a time as there is.
async fn write(
    mut sink: SplitSink<Socket, Message>,
    mut queue: mpsc::Receiver<Message>,
    room: Arc<Semaphore>,
) {
    while let Some(first) = queue.recv().await {
        let mut next = Some(first);
        while let Some(message) = next {
            let length = if message.is_close() { 0 } else { message.len() };
            // What breaks writing also ends reading, and that is where it is reported.
            let result = sink.feed(message).await;
            room.add_permits(size_of_queued(length) as usize);
            if result.is_err() {
                return;
            }
            next = queue.try_recv().ok();
        }
        if sink.flush().await.is_err() {
            return;
        }
    }
}

/// Delivers what arrives until the connection ends, and with it the channel.
async fn read(
    mut stream: SplitStream<Socket>,
    (limit, pongs): (usize, Pongs),
    room: Arc<Semaphore>,
    inbox: Arc<dyn Inbox>,
) {
    let mut unyielded = 0;
    let end = loop {
        unyielded += 1;
        if unyielded == YIELD_MESSAGES {
            unyielded = 0;
            tokio::task::yield_now().await;
        }
        match stream.next().await {
            Some(Ok(Message::Text(text))) => inbox.deliver(text.into()),
            Some(Ok(Message::Binary(bytes))) => inbox.deliver(bytes),
            Some(Ok(Message::Close(frame))) => {
                // Reading on is what sends our half of the closing handshake.
                let rest = async { while let Some(Ok(_)) = stream.next().await {} };
                let _ = tokio::time::timeout(CLOSE_TIMEOUT, rest).await;
                let why = frame.map_or_else(String::new, |frame| format!(": {frame}"));
                break format!("the server closed the WebSocket{why}");
            }
            // It is answered by the library.
            Some(Ok(Message::Ping(ping))) if !pongs.owe(&ping) => {
                break format!(
                    "the server sends pings and reads none of the answers: more than {PONG_BYTES_MAX} bytes of them wait"
                );
            }
            Some(Ok(_)) => {}
            Some(Err(error)) => {
                let message = format!("the WebSocket broke: {error}");
                match error {
                    Error::Capacity(CapacityError::MessageTooLong { size, .. }) => {
                        let failure = Failure::oversized(size as u64, limit, Bytes::new());
                        inbox.fail(None, failure);
                    }
                    // Unreadable, whatever it was to be: the answer to the call in flight.
                    Error::Utf8(_) | Error::Protocol(_) if !is_cut_short(&error) => {
                        let (size, head) = (0, Bytes::new());
                        let broken = Failure::malformed(message.clone());
                        inbox.fail(None, broken.with(Detail::Oversized { size, head }));
                    }
                    _ => {}
                }
                break message;
            }
            None => break "the server closed the connection".to_owned(),
        }
    };
    // An end of our own making is no news.
    if !close(&room) {
        inbox.closed(Failure::disconnected(end));
    }
}

fn is_cut_short(error: &Error) -> bool {
    matches!(
        error,
        Error::Protocol(ProtocolError::ResetWithoutClosingHandshake)
    )
}

#[cfg(test)]
mod tests;
