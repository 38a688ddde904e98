//! A call of a mock that met a fault, over whatever transport it came.

use mcprove_fault::{FaultedCall, status_reply};

use crate::prelude::*;

/// The status with which a crashed server exits.
const CRASHED: u8 = 1;

pub struct FaultedExchange<'a> {
    server: &'a Server,
    exchange: &'a Exchange,
    id: String,
}

impl<'a> FaultedExchange<'a> {
    pub fn new(server: &'a Server, exchange: &'a Exchange) -> Self {
        Self {
            server,
            exchange,
            id: exchange.request.id.to_string(),
        }
    }

    fn ticket(&self) -> Option<&Ticket> {
        self.exchange.watch()
    }

    fn entry(&self) -> Option<&LogEntry> {
        self.ticket()?.entry.as_ref()
    }
}

impl FaultedCall for FaultedExchange<'_> {
    fn id(&self) -> &str {
        &self.id
    }

    fn tool(&self) -> &str {
        self.exchange.request.tool()
    }

    fn progress_token(&self) -> Option<&Value> {
        self.exchange.request.meta("progressToken")
    }

    fn is_stateless(&self) -> bool {
        self.exchange.revision.era() == Era::Stateless
    }

    fn execute(&self) -> BoxFuture<'_, Option<Bytes>> {
        let reply = self.server.answer_call(self.exchange).to_string();
        if let Some(entry) = self.entry() {
            entry.request.answered_behind(reply.as_bytes());
        }
        Box::pin(std::future::ready(Some(reply.into())))
    }

    fn reply(&self, message: Bytes) -> BoxFuture<'_, ()> {
        Box::pin(self.exchange.reply_raw(message))
    }

    fn send(&self, message: Bytes) -> BoxFuture<'_, ()> {
        Box::pin(self.exchange.send_raw(message))
    }

    fn reply_cut(&self, beginning: Bytes) -> BoxFuture<'_, ()> {
        Box::pin(self.exchange.cut_short(beginning))
    }

    fn disconnect(&self) -> BoxFuture<'_, ()> {
        Box::pin(self.exchange.break_off(Bytes::new()))
    }

    fn crash(&self) -> BoxFuture<'_, ()> {
        if let Some(entry) = self.entry() {
            entry.crashed();
        }
        Box::pin(self.exchange.host().exit(CRASHED))
    }

    fn refuse(&self, status: u16, retry_after_s: u64) -> BoxFuture<'_, ()> {
        let message = status_reply(self, status, retry_after_s);
        let turned = self.exchange.turn_away(status, retry_after_s, message);
        Box::pin(turned)
    }

    fn ignore_cancellation(&self) {
        if let Some(ticket) = self.ticket() {
            self.exchange.ignore_cancellation(ticket.canceller());
        }
    }
}
