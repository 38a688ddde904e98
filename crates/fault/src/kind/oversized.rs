//! A reply with a huge text.

use super::prelude::*;

#[derive(Settings)]
pub struct Oversized {
    /// how long the text is
    #[setting(default = 10_485_760, kind = WHOLE)]
    bytes: usize,
}

/// Where the text comes, until the message is written.
const MARK: &str = "mcprove: injected oversized text";

#[async_trait]
impl Effect for Oversized {
    async fn apply(&self, call: &dyn FaultedCall, _: u64) {
        let text = json!([{ "type": "text", "text": MARK }]);
        reply::changed(call, |reply| {
            self.swell(&reply::saying(call, &reply, &text, MARK))
        })
        .await;
    }
}

impl Oversized {
    /// The message with the text in the place of the mark: written once, for it may be large, and other
    /// calls wait while it is made.
    fn swell(&self, marked: &Bytes) -> Bytes {
        let Some(place) = memchr::memmem::find(marked, MARK.as_bytes()) else {
            return marked.clone();
        };
        let (before, rest) = marked.split_at(place);
        let mut huge = Vec::with_capacity(marked.len().saturating_add(self.bytes));
        huge.extend_from_slice(before);
        huge.resize(place.saturating_add(self.bytes), b'x');
        huge.extend_from_slice(rest.get(MARK.len()..).unwrap_or_default());
        huge.into()
    }
}
