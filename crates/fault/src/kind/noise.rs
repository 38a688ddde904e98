//! Lines that are no messages, as from a stray print.

use super::prelude::*;

#[derive(Settings)]
pub struct Noise;

/// What ends up on stdout in real servers.
const NOISE: [&[u8]; 2] = [b"DEBUG: mcprove: injected noise", b"[===>      ] 37%"];

#[async_trait]
impl Effect for Noise {
    async fn apply(&self, call: &dyn FaultedCall, _: u64) {
        if let Some(reply) = call.execute().await {
            for line in NOISE {
                call.send(Bytes::from_static(line)).await;
            }
            call.reply(reply).await;
        }
    }
}
