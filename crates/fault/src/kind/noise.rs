//! Lines that are no messages come before the reply.

use crate::prelude::*;

/// What ends up on stdout in real servers.
const NOISE: [&[u8]; 2] = [b"DEBUG: mcprove: injected noise", b"[===>      ] 37%"];

#[derive(Settings)]
pub struct Noise;

#[async_trait]
impl Effect for Noise {
    async fn apply(&self, exchange: &FaultExchange<'_>) {
        if let Some(reply) = exchange.execute().await {
            for line in NOISE {
                exchange.send(Bytes::from_static(line)).await;
            }
            exchange.reply(reply).await;
        }
    }
}
