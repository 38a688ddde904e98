//! From a message to the task that answers it: the same for every transport.

use mcprove_trace::panic_guard::contain;
use mcprove_trace::protocol::count_values;

use super::batch;
use crate::prelude::*;

/// The largest message that is read.
pub const FRAME_BYTES_MAX: usize = 64 * 1024 * 1024;

/// A frame of no more than this is not searched for values.
const LIGHT_BYTES_MAX: usize = 64 * 1024;
/// What a value takes in memory, besides its text.
const VALUE_BYTES: usize = 256;

/// After how many seconds a client may try again, over HTTP, when too much is being worked on.
pub const BUSY_RETRY_S: u64 = 1;

/// The work on a message that was begun.
pub struct Started {
    /// Gives it up.
    pub task: AbortHandle,
    /// How it ended, as soon as that is known; of a batch only that nobody wants any of it.
    pub ended: End,
}

/// One end of a conversation, and what serves it.
#[derive(Clone)]
pub struct Peer {
    pub host: Arc<Host>,
    pub session: Arc<Session>,
    pub caller: Arc<Caller>,
    /// Where answers go.
    pub output: Output,
    /// What the message at hand is charged, until it was worked on.
    pub charge: Option<Arc<Charge>>,
}

impl Peer {
    /// With it comes what is said to it.
    pub fn new(host: &Arc<Host>, session: Arc<Session>, caller: &Arc<Caller>) -> (Self, Answers) {
        let (output, answers) = mpsc::channel(OUTPUT_QUEUE_MAX);
        let peer = Self {
            host: Arc::clone(host),
            session,
            caller: Arc::clone(caller),
            output,
            charge: None,
        };
        (peer, answers)
    }

    /// A new session on a connection of its own, which hears of changes.
    pub fn connect(host: &Arc<Host>, caller: &Arc<Caller>) -> (Self, Answers) {
        let session = Session::new(Some(host.unique_name()), caller.identity.clone());
        let (peer, answers) = Self::new(host, Arc::new(session), caller);
        tokio::spawn(changes::forward(peer.clone()));
        (peer, answers)
    }

    /// The same, where the message at hand is charged this.
    pub fn charged(&self, charge: Charge) -> Self {
        Self {
            charge: Some(Arc::new(charge)),
            ..self.clone()
        }
    }
}

/// How many bytes a frame takes once it is read: small values take far more room in memory than in JSON.
pub fn weight(frame: &[u8]) -> usize {
    let is_large = frame.len() > LIGHT_BYTES_MAX;
    match std::str::from_utf8(frame) {
        Ok(text) if is_large => weight_kept(text),
        _ => frame.len(),
    }
}

/// The same of JSON that is kept for long, be it small.
pub fn weight_kept(text: &str) -> usize {
    text.len() + count_values(text) * VALUE_BYTES
}

/// Refuses what there is no room for now.
pub fn too_busy() -> Refusal {
    Refusal::new(TOO_BUSY, "Too many bytes of requests in flight")
}

/// As [`receive_charged`], once there is room for the frame; without it, the frame is refused.
pub async fn receive(peer: &Peer, frame: &[u8]) {
    match peer.host.requests.charge(weight(frame)) {
        Some(charge) => receive_charged(&peer.charged(charge), frame).await,
        // What it asks for is not read, for lack of room.
        None => refuse(peer, &[], &Value::Null, &too_busy()).await,
    }
}

/// Reads a frame and starts whatever it asks for; waits only when the server stands still.
pub async fn receive_charged(peer: &Peer, frame: &[u8]) {
    if !peer.host.takes(frame).await {
        return;
    }
    match serde_json::from_slice(frame) {
        Ok(value) => {
            accept(peer, value).await;
        }
        Err(error) => refuse(peer, frame, &Value::Null, &parse_error(&error)).await,
    }
}

/// Refuses what is no message.
pub async fn refuse(peer: &Peer, frame: &[u8], id: &Value, refusal: &Refusal) {
    let value: Value = serde_json::from_slice(frame).unwrap_or_default();
    peer.host.behaviour.malformed(Malformed {
        session: &peer.session,
        caller: &peer.caller,
        frame,
        id,
        method: value["method"].as_str().unwrap_or_default(),
        refusal,
    });
    let refused = Outgoing::refusal(id, refusal, StatusCode::BAD_REQUEST);
    // A client that left needs no answer.
    let _ = peer.output.send(refused).await;
}

/// The refusal of what is not JSON.
pub fn parse_error(error: &serde_json::Error) -> Refusal {
    Refusal::new(PARSE_ERROR, format!("Parse error: {error}"))
}

/// Starts whatever a message or batch asks for.
pub async fn accept(peer: &Peer, value: Value) -> Option<Started> {
    peer.host.pass().await;
    let messages = match value {
        Value::Array(messages) => messages,
        value => return accept_one(peer, value).await,
    };
    if let Some(refusal) = batch::refuse(&peer.session, messages.len()) {
        let frame = Value::Array(messages).to_string();
        refuse(peer, frame.as_bytes(), &Value::Null, &refusal).await;
        return None;
    }
    let (peer, ended) = (peer.clone(), End::default());
    let end = Arc::clone(&ended);
    let work = tokio::spawn(async move { batch::answer(&peer, messages, &end).await });
    let task = work.abort_handle();
    Some(Started { task, ended })
}

pub async fn accept_one(peer: &Peer, value: Value) -> Option<Started> {
    let Peer { host, session, .. } = peer;
    match Message::from_value(value) {
        Message::Request(request) => {
            let admitted = healthy::admit(host, session, &request);
            let exchange = arrive(peer, request, &admitted);
            if let Err(refusal) = admitted {
                exchange.refuse(&refusal).await;
                return None;
            }
            if host.behaviour.blocks(&exchange.request) {
                host.stall();
                host.pass().await;
            }
            return start(exchange, &peer.output).await;
        }
        Message::Notification { method, params } => {
            host.behaviour.notified(session, &method, &params);
            if let ("notifications/cancelled", Some(id)) = (&*method, params.get("requestId")) {
                host.cancel(session, id, None, Ended::Cancelled);
            }
        }
        Message::Response { id, outcome } => session.answered(&id, outcome),
        Message::Invalid { id, refusal, value } => {
            refuse(peer, value.to_string().as_bytes(), &id, &refusal).await;
        }
    }
    None
}

/// A request and the way back, seen by whoever watches from now on.
fn arrive(peer: &Peer, request: Request, admitted: &Result<Revision, Refusal>) -> Exchange {
    let Peer {
        host,
        session,
        caller,
        output,
        charge,
    } = peer.clone();
    let watch = host.behaviour.watch(&Arrival {
        request: &request,
        session: &session,
        caller: &caller,
        is_admitted: admitted.is_ok(),
    });
    Exchange {
        request,
        revision: *admitted.as_ref().unwrap_or(&Revision::LATEST_HANDSHAKE),
        host,
        session,
        caller,
        output: Mutex::new(output),
        watch,
        ended: End::default(),
        slot: None,
        _charge: charge,
    }
}

/// Starts the work, unless too much is being worked on: then the request is refused, so that a client
/// whose calls are never answered can still ask for anything else, or leave.
async fn start(mut exchange: Exchange, output: &Output) -> Option<Started> {
    exchange.slot = slot(&exchange, output).await;
    if exchange.slot.is_none() {
        let message = Refusal::new(TOO_BUSY, "Too many requests in flight")
            .response(&exchange.request.id)
            .to_string();
        let status = StatusCode::SERVICE_UNAVAILABLE.as_u16();
        exchange.turn_away(status, BUSY_RETRY_S, message).await;
        return None;
    }
    let Request { id, method, .. } = &exchange.request;
    let (id, method) = (id.clone(), method.clone());
    let session = Arc::clone(&exchange.session);
    let ended = Arc::clone(&exchange.ended);
    let shield = exchange.host.behaviour.shield(&exchange);
    let end = (Arc::clone(&ended), shield);
    let task = session.in_flight.begin(&id, method, end, || {
        let work = tokio::spawn(async move {
            let behaviour = Arc::clone(&exchange.host.behaviour);
            let answering = Box::pin(async {
                if !behaviour.intercept(&exchange).await {
                    healthy::route(&*behaviour, &exchange).await;
                }
            });
            if let Err(words) = contain(answering).await {
                let message = format!("the server's own code panicked: {words}");
                exchange.fail(INTERNAL_ERROR, &message).await;
            }
            let in_flight = &exchange.session.in_flight;
            in_flight.done(&exchange.request.id, &exchange.ended);
        });
        work.abort_handle()
    });
    Some(Started { task, ended })
}

/// The right to be worked on; none if there are too many. A client that does not read its answers is
/// waited for first: it holds up its own work.
async fn slot(exchange: &Exchange, output: &Output) -> Option<OwnedSemaphorePermit> {
    exchange.session.unread.room().await;
    let slots = exchange.host.slots(&exchange.request.method);
    loop {
        if let Ok(slot) = Arc::clone(slots).try_acquire_owned() {
            return Some(slot);
        }
        if output.capacity() > 0 || output.reserve().await.is_err() {
            return None;
        }
    }
}
