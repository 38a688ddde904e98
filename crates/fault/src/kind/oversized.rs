//! The reply has huge content, or, if it is an error, a huge message.

use crate::prelude::*;

/// Where the text of an oversized reply comes, until the message is written.
const MARK: &str = "mcprove: injected oversized text";

#[derive(Settings)]
pub struct Oversized {
    /// how long the text is
    #[setting(default = 10_485_760, kind = Kind::Whole(0, 1 << 30))]
    bytes: usize,
}

#[async_trait]
impl Effect for Oversized {
    async fn apply(&self, exchange: &FaultExchange<'_>) {
        let text = json!([{ "type": "text", "text": MARK }]);
        let swell = |it| swell(&exchange.saying(&it, &text, MARK), self.bytes);
        exchange.changed(swell).await;
    }
}

/// The message with a text of this length in the place of the mark: written once, for it may be large, and other calls
/// wait while it is made.
fn swell(marked: &Bytes, length: usize) -> Bytes {
    let Some(place) = memchr::memmem::find(marked, MARK.as_bytes()) else {
        return marked.clone();
    };
    let (before, rest) = marked.split_at(place);
    let mut huge = Vec::with_capacity(marked.len().saturating_add(length));
    huge.extend_from_slice(before);
    huge.resize(place.saturating_add(length), b'x');
    huge.extend_from_slice(rest.get(MARK.len()..).unwrap_or_default());
    huge.into()
}
