//! A reply that comes in several lines.
//!
//! Each line has the blocks that are new. But a reply that is streamed may be written again from its
//! beginning, and a session that is taken up again has lines twice, with the times that they had. A
//! text that comes again in another way was said twice.

use crate::anthropic::{Block, Content};
use crate::prelude::*;

/// What was read of a reply.
#[derive(Debug)]
pub struct Reply {
    pub place: usize,
    /// The blocks, in order.
    blocks: Vec<Key>,
    /// The same, with the times of texts.
    seen: BTreeSet<(Key, Option<String>)>,
}

/// What tells a block from another one: whether it is a text, and that or its id.
type Key = (bool, String);

/// None of what is neither said nor called: it is not counted, so it need not be compared.
fn key(block: &Block) -> Option<Key> {
    let id = block.id.as_ref().or(block.tool_use_id.as_ref());
    let text = || Some((true, block.text.0.clone()?));
    id.map(|id| (false, id.clone())).or_else(text)
}

impl Reply {
    pub fn new(place: usize) -> Self {
        Self {
            place,
            blocks: Vec::new(),
            seen: BTreeSet::new(),
        }
    }

    /// Leaves of a message the blocks that were not read yet.
    pub fn keep_what_is_new(&mut self, content: &mut Content, time: Option<&str>) {
        let Content::Blocks(blocks) = content else {
            return;
        };
        let written: Vec<Key> = blocks.iter().filter_map(key).collect();
        let is_from_start = written.starts_with(&self.blocks);
        let mut known = if is_from_start { self.blocks.len() } else { 0 };
        let mut last_before = self.blocks.last().cloned();
        let mut new = Vec::new();
        blocks.retain(|block| {
            let Some(key) = key(block) else {
                return true;
            };
            let last_before = last_before.take();
            if known > 0 {
                known -= 1;
                return false;
            }
            // A text without a time is new, whatever was read.
            let is_text = key.0;
            let timed = (key, time.filter(|_| is_text).map(str::to_owned));
            let is_seen = self.seen.contains(&timed) && !(is_text && time.is_none());
            let is_new = !is_seen && last_before.as_ref() != Some(&timed.0);
            if is_new {
                new.push(timed);
            }
            is_new
        });
        self.blocks.extend(new.iter().map(|(key, _)| key.clone()));
        self.seen.extend(new);
    }
}
