//! Lines that are no messages, as from a stray print.

use bytes::Bytes;
use mcprove_trace::BoxFuture;

use crate::call::FaultedCall;
use crate::effect::Effect;
use crate::registry::Entry;

/// The line in the registry.
pub const ENTRY: Entry = Entry {
    name: "noise",
    explanation: "junk before the reply",
    settings: &[],
    build: |_| Box::new(Noise),
};

struct Noise;

/// What ends up on stdout in real servers.
const NOISE: [&[u8]; 2] = [b"DEBUG: mcprove: injected noise", b"[===>      ] 37%"];

impl Effect for Noise {
    fn apply<'a>(&'a self, call: &'a dyn FaultedCall, _: u64) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            if let Some(reply) = call.execute().await {
                for line in NOISE {
                    call.send(Bytes::from_static(line)).await;
                }
                call.reply(reply).await;
            }
        })
    }
}
