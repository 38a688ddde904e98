//! What is sent besides calls: notifications and replies.

use mcprove_trace::protocol;
use serde_json::Value;

use super::core::Core;
use crate::transport::{Outgoing, OutgoingKind};

impl Core {
    /// Sends a notification; one that cannot be sent is lost, as notifications may be.
    pub fn notify(&self, method: &str, params: Option<&Value>) {
        let bytes = protocol::notification(method, params);
        self.send_aside(&bytes, OutgoingKind::Notification, method);
    }

    /// Sends something that is not counted as a call.
    pub fn send_aside(&self, bytes: &[u8], kind: OutgoingKind, method: &str) {
        if let Ok(channel) = self.channel() {
            let message = Outgoing {
                bytes,
                kind,
                method,
                name: None,
                parameter_headers: &[],
            };
            let _ = channel.send(message);
        }
    }
}
