//! A fault strikes a call over HTTP: what its client gets, and whether it is still there.

use std::sync::Arc;

use http::StatusCode;
use http::header::{ACCEPT_ENCODING, CONTENT_LENGTH};
use http::request::Parts;
use mcprove_trace::Special;
use tokio::sync::oneshot;

use super::answer::{Answer, Head};
use super::exchange::plain;
use super::faulted::Exchange;
use super::hub::{CallKey, Hub};
use crate::faulted::FaultedRequest;
use crate::faulted_calls::PendingCall;

/// Lets a fault act on a call, in a task of its own. The client gets what comes out of the returned end, and
/// tells by the guard that it is still there.
pub fn strike(
    hub: &Arc<Hub>,
    mut parts: Parts,
    key: CallKey,
    request: FaultedRequest,
) -> (oneshot::Receiver<Head>, Presence) {
    let kind = request.injection.fault().kind;
    let stream = hub
        .stream(&parts)
        .filter(|_| kind.special() != Special::HttpStatus);
    let (head, receiver) = oneshot::channel();
    let answer = match &stream {
        Some(stream) => {
            let accepted = plain(StatusCode::ACCEPTED, "Accepted");
            let _ = head.send(Head::Response(Box::new(accepted)));
            Answer::on(stream)
        }
        None => Answer::new(head),
    };
    // What is compressed could not be read.
    parts.headers.remove(ACCEPT_ENCODING);
    parts.headers.remove(CONTENT_LENGTH);
    let is_on_stream = stream.is_some();
    let exchange = Exchange::new(Arc::clone(hub), parts, stream, answer);
    let call = crate::faulted::strike(&hub.watch, key, request, exchange);
    // On a stream of its own, the end of the request says nothing.
    let presence = Presence((!is_on_stream).then_some((Arc::clone(hub), call)));
    (receiver, presence)
}

/// The client of a call that a fault acts on, as long as it is there.
pub struct Presence(Option<(Arc<Hub>, Arc<PendingCall<CallKey>>)>);

impl Drop for Presence {
    fn drop(&mut self) {
        if let Some((hub, call)) = self.0.take() {
            // If it is over, there is nothing to leave.
            hub.faulted.leave(&call);
        }
    }
}
