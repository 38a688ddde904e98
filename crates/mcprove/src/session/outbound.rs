//! What is sent besides calls: notifications, replies, and bytes that need not be a message.

use mcprove_score::trace::ErrorCategory;
use serde_json::Value;

use super::core::Core;
use crate::protocol;
use crate::transport::{Failure, Outgoing, OutgoingKind, SendError};

impl Core {
    /// Sends a notification; one that cannot be sent is lost, as notifications may be.
    pub(crate) fn notify(&self, method: &str, params: Option<&Value>) {
        let bytes = protocol::notification(method, params);
        self.send_aside(&bytes, OutgoingKind::Notification, method);
    }

    /// Sends something that is not counted as a call.
    pub(super) fn send_aside(&self, bytes: &[u8], kind: OutgoingKind, method: &str) {
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

    /// Sends bytes that need not be a message.
    pub(super) fn send_raw(&self, bytes: &[u8]) -> Result<(), Failure> {
        let message = Outgoing {
            bytes,
            kind: OutgoingKind::Raw,
            method: "",
            name: None,
            parameter_headers: &[],
        };
        self.channel()?.send(message).map_err(|error| match error {
            SendError::Closed(failure) => failure,
            SendError::Full => {
                Failure::new(ErrorCategory::Timeout, "the server does not read its input")
            }
        })?;
        self.lock().raw_unanswered += 1;
        Ok(())
    }
}
