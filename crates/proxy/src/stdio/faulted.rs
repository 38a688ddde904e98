//! A call over stdio that met a fault.

use std::sync::Arc;

use bytes::Bytes;
use mcprove_recording::RecordedRequest;

use super::hub::{FaultEnd, Hub};
use crate::faulted::{Carrier, Held, StruckCall};
use crate::message::IdKey;
use crate::struck::StruckCalls;

/// Lets a fault act on a call, in a task of its own.
pub(super) fn strike(hub: &Arc<Hub>, key: IdKey, struck: StruckCall) {
    let carrier = Lines(Arc::clone(hub));
    crate::faulted::strike(&hub.struck, &hub.watch, key, struck, carrier);
}

/// Both ways, by lines.
struct Lines(Arc<Hub>);

/// Gives back the claim on an answer, when it came or nobody waits for it any more.
struct Claim<'a>(&'a Hub, &'a Held<IdKey>);

impl Drop for Claim<'_> {
    fn drop(&mut self) {
        let Self(hub, held) = self;
        hub.stop_taking(&held.key, held.serial, held.is_lost);
    }
}

impl Carrier for Lines {
    type Key = IdKey;

    fn calls(&self) -> &StruckCalls<IdKey> {
        &self.0.struck
    }

    async fn execute(&self, held: &Held<IdKey>) -> Option<Bytes> {
        let answer = self.0.take_answer(&held.key, held.serial);
        let _claim = Claim(&self.0, held);
        if !self.0.to_server.write_apart(&held.message).await {
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
        self.0.end(FaultEnd::Disconnected);
    }

    async fn crash(&self) {
        self.0.end(FaultEnd::Crashed);
    }

    async fn refuse(&self, _: &Held<IdKey>, _: u16, _: u64) -> bool {
        false
    }

    async fn finish(&self, _: &Held<IdKey>) {}

    fn over(&self, held: &Held<IdKey>, open: Option<RecordedRequest>) {
        // One that never was answered ends as everything does.
        if let Some(open) = open {
            self.0.keep_open(&held.key, open);
        }
    }
}
