//! A call over stdio that met a fault.

use std::sync::Arc;

use bytes::Bytes;
use mcprove_recording::RecordedRequest;

use super::ending::End;
use super::hub::Hub;
use crate::faulted::{FaultTransport, FaultedRequest};
use crate::faulted_calls::{FaultedCalls, PendingCall};
use crate::message::IdKey;

/// Lets a fault act on a call, in a task of its own.
pub fn strike(hub: &Arc<Hub>, key: IdKey, request: FaultedRequest) {
    crate::faulted::strike(&hub.watch, key, request, Lines(Arc::clone(hub)));
}

/// Both ways, by lines.
struct Lines(Arc<Hub>);

/// Gives back the claim on an answer, when it came or nobody waits for it any more.
struct Claim<'a>(&'a Hub, &'a PendingCall<IdKey>);

impl Drop for Claim<'_> {
    fn drop(&mut self) {
        let Self(hub, call) = self;
        hub.stop_taking(&call.key, call.serial, call.is_lost);
    }
}

impl FaultTransport for Lines {
    type Key = IdKey;

    fn calls(&self) -> &Arc<FaultedCalls<IdKey>> {
        &self.0.faulted
    }

    async fn execute(&self, call: &PendingCall<IdKey>) -> Option<Bytes> {
        let answer = self.0.take_answer(&call.key, call.serial);
        let _claim = Claim(&self.0, call);
        if !self.0.to_server.write_apart(&call.message).await {
            return None;
        }
        answer.await.ok()
    }

    async fn reply(&self, message: Bytes) {
        self.send(message).await;
    }

    async fn send(&self, message: Bytes) {
        self.0.to_client.write_line(&message).await;
    }

    async fn reply_cut(&self, beginning: Bytes) {
        self.send(beginning).await;
    }

    async fn disconnect(&self) {
        self.0.end(End::Disconnected);
    }

    async fn crash(&self) {
        self.0.end(End::Crashed);
    }

    async fn refuse(&self, _: &PendingCall<IdKey>, _: u16, _: u64) -> bool {
        false
    }

    async fn finish(&self, _: &PendingCall<IdKey>) {}

    fn over(&self, call: &PendingCall<IdKey>, open: Option<RecordedRequest>) {
        // One that never was answered ends as everything does.
        if let Some(open) = open {
            self.0.keep_open(&call.key, open);
        }
    }
}
