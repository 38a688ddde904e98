//! A reply that comes in several lines.
//!
//! Each line has the blocks that are new. But a reply that is streamed may be written again from its
//! beginning, and a session that is taken up again has lines twice, with the times that they had. A
//! text that comes again in another way was said twice.

use std::collections::BTreeSet;

use crate::anthropic::{self, Content};

/// What was read of a reply.
#[derive(Debug)]
pub struct Reply {
    pub place: usize,
    /// The blocks, in order.
    blocks: Vec<Block>,
    /// The same, with the times of texts.
    seen: BTreeSet<(Block, Option<String>)>,
}

/// What tells a block from another one.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Block {
    Id(String),
    Text(String),
    /// Neither said nor called.
    Other,
}

impl Block {
    fn of(block: &anthropic::Block) -> Self {
        let id = block.id.as_ref().or(block.tool_use_id.as_ref());
        match (id, block.text.as_ref()) {
            (Some(id), _) => Self::Id(id.clone()),
            (None, Some(text)) => Self::Text(text.clone()),
            (None, None) => Self::Other,
        }
    }
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
        // Nothing that is neither said nor called is counted, so it need not be compared.
        let written = blocks.iter().map(Block::of);
        let compared: Vec<Block> = written.filter(|block| *block != Block::Other).collect();
        let is_from_start = compared.starts_with(&self.blocks);
        let mut known = if is_from_start { self.blocks.len() } else { 0 };
        let mut last_before = self.blocks.last().cloned();
        let mut new = Vec::new();
        let mut compared = compared.into_iter();
        blocks.retain(|block| {
            let Some(block) = (Block::of(block) != Block::Other)
                .then(|| compared.next())
                .flatten()
            else {
                return true;
            };
            let last_before = last_before.take();
            if known > 0 {
                known -= 1;
                return false;
            }
            // The same, with the time of a text; a text without one is new.
            let is_text = matches!(block, Block::Text(_));
            let key = (block, time.filter(|_| is_text).map(str::to_owned));
            let is_seen = self.seen.contains(&key) && !(is_text && time.is_none());
            let is_new = !is_seen && last_before.as_ref() != Some(&key.0);
            if is_new {
                new.push(key);
            }
            is_new
        });
        self.blocks
            .extend(new.iter().map(|(block, _)| block.clone()));
        self.seen.extend(new);
    }
}
