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

    fn is_text(&self) -> bool {
        matches!(self, Self::Text(_))
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
        let is_compared = |block: &&Block| **block != Block::Other;
        let written: Vec<Block> = blocks.iter().map(Block::of).collect();
        let compared = written.iter().filter(is_compared);
        let count = compared.clone().count();
        let is_from_start =
            count >= self.blocks.len() && self.blocks.iter().zip(compared).all(|(a, b)| a == b);
        let mut known = if is_from_start { self.blocks.len() } else { 0 };
        let mut last_before = self.blocks.last().cloned();
        let mut new = Vec::new();
        let mut written = written.into_iter();
        blocks.retain(|_| {
            let block = written.next().unwrap_or(Block::Other);
            if block == Block::Other {
                return true;
            }
            let last_before = last_before.take();
            if known > 0 {
                known -= 1;
                return false;
            }
            let is_new = self.is_new(&block, time) && last_before.as_ref() != Some(&block);
            if is_new {
                new.push(block);
            }
            is_new
        });
        for block in new {
            let time = block.is_text().then_some(time).flatten();
            self.seen.insert((block.clone(), time.map(str::to_owned)));
            self.blocks.push(block);
        }
    }

    /// Whether a block was not read in an earlier line.
    fn is_new(&self, block: &Block, time: Option<&str>) -> bool {
        let is_untimed_text = block.is_text() && time.is_none();
        let time = block.is_text().then_some(time).flatten();
        let key = (block.clone(), time.map(str::to_owned));
        is_untimed_text || !self.seen.contains(&key)
    }
}
