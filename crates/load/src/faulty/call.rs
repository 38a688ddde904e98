//! A call that met a fault, on its way from us to the server and back.

use bytes::Bytes;
use mcprove_client::transport::{Detail, Outgoing, OutgoingKind, SendError};
use mcprove_fault::{FaultedCall, status_reply};

use super::Shared;
use crate::prelude::*;

/// A call that a fault acts on.
pub struct InjectedCall {
    shared: Arc<Shared>,
    id: u64,
    id_text: String,
    fault: String,
    token: Option<Value>,
    message: OwnedMessage,
}

/// A message that is sent later, or never.
struct OwnedMessage {
    bytes: Vec<u8>,
    method: String,
    name: Option<String>,
    parameter_headers: Vec<(String, String)>,
}

impl InjectedCall {
    /// Lets the fault act on the call, in a task of its own.
    pub fn start(
        shared: &Arc<Shared>,
        message: &Outgoing<'_>,
        id: u64,
        injection: Injection,
        token: Option<Value>,
    ) {
        let call = Self {
            shared: Arc::clone(shared),
            id,
            id_text: id.to_string(),
            fault: injection.fault().name.clone(),
            token,
            message: OwnedMessage {
                bytes: message.bytes.to_vec(),
                method: message.method.to_owned(),
                name: message.name.map(str::to_owned),
                parameter_headers: message.parameter_headers.to_vec(),
            },
        };
        shared.begin(id, injection.as_strike());
        let task = tokio::spawn(async move {
            injection.apply(&call).await;
            call.shared.finish(call.id);
        });
        // It may be over already.
        if let Some(call) = lock(&shared.state).calls.get_mut(&id) {
            call.task = Some(task.abort_handle());
        }
    }

    /// Sends the call on, once there is room for it.
    async fn forward(&self) -> bool {
        let Some(channel) = self.shared.channel() else {
            return false;
        };
        loop {
            let message = Outgoing {
                bytes: &self.message.bytes,
                kind: OutgoingKind::Request(self.id),
                method: &self.message.method,
                name: self.message.name.as_deref(),
                parameter_headers: &self.message.parameter_headers,
            };
            match channel.send(message) {
                Ok(()) => return true,
                Err(SendError::Full) => channel.room().await,
                Err(SendError::Closed(failure)) => {
                    self.shared.fail_call(self.id, failure);
                    return false;
                }
            }
        }
    }

    /// The connection of this call is closed: that of HTTP has no other calls on it.
    fn drop_connection(&self, message: &str) {
        match self.shared.channel() {
            Some(channel) if channel.name() == "http" => {
                channel.abandon(self.id);
                let failure = Failure::new(ErrorCategory::Disconnected, message);
                self.shared.fail_call(self.id, failure);
            }
            _ => self.shared.disconnect(&self.fault),
        }
    }
}

fn done() -> BoxFuture<'static, ()> {
    Box::pin(std::future::ready(()))
}

impl FaultedCall for InjectedCall {
    fn id(&self) -> &str {
        &self.id_text
    }

    fn tool(&self) -> &str {
        self.message.name.as_deref().unwrap_or_default()
    }

    fn progress_token(&self) -> Option<&Value> {
        self.token.as_ref()
    }

    fn is_stateless(&self) -> bool {
        self.shared.is_stateless.load(Ordering::Relaxed)
    }

    fn execute(&self) -> BoxFuture<'_, Option<Bytes>> {
        Box::pin(async {
            let answer = self.shared.expect(self.id)?;
            if !self.forward().await {
                return None;
            }
            answer.await.ok()
        })
    }

    fn reply(&self, message: Bytes) -> BoxFuture<'_, ()> {
        self.shared.inject(self.id, message, true);
        done()
    }

    fn send(&self, message: Bytes) -> BoxFuture<'_, ()> {
        self.shared.inject(self.id, message, false);
        done()
    }

    fn reply_cut(&self, beginning: Bytes) -> BoxFuture<'_, ()> {
        let is_lines = self
            .shared
            .channel()
            .is_some_and(|it| matches!(it.name(), "stdio" | "memory"));
        if is_lines {
            // The line ends early, and the connection lives.
            self.shared.inject(self.id, beginning, true);
        } else {
            self.drop_connection("the connection closed before the answer was complete");
        }
        done()
    }

    fn disconnect(&self) -> BoxFuture<'_, ()> {
        self.drop_connection("the connection closed before the answer");
        done()
    }

    fn crash(&self) -> BoxFuture<'_, ()> {
        if !self.shared.crash(&self.fault) {
            self.drop_connection("the connection closed before the answer");
        }
        done()
    }

    fn refuse(&self, status: u16, retry_after_s: u64) -> BoxFuture<'_, ()> {
        if self.shared.is_http() {
            let category = match status {
                500.. => ErrorCategory::ServerError,
                _ => ErrorCategory::ProtocolError,
            };
            let failure = Failure::new(category, format!("HTTP {status}"));
            self.shared
                .fail_call(self.id, failure.with(Detail::Status(status)));
        } else {
            let error = status_reply(self, status, retry_after_s);
            self.shared.inject(self.id, error, true);
        }
        done()
    }

    fn ignore_cancellation(&self) {
        if let Some(call) = lock(&self.shared.state).calls.get_mut(&self.id) {
            call.ignores_cancellation = true;
        }
    }
}
