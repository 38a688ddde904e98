//! A turn of a conversation while it is read.

use mcprove_trace::{Tokens, Turn};

/// A turn to which more can come.
#[derive(Debug, Default)]
pub struct OpenTurn {
    role: &'static str,
    text: Option<String>,
    /// What was said after the last call in it.
    pub last_words: Option<String>,
    /// Whether it is of an agent that works for this one.
    pub is_aside: bool,
    pub has_calls: bool,
    pub has_results: bool,
    pub tokens: Option<Tokens>,
    /// Why the reply ended, in the words of the provider.
    pub stop: Option<String>,
}

impl OpenTurn {
    /// A turn of this role, in which nothing was said yet.
    pub fn new(role: &'static str) -> Self {
        Self {
            role,
            ..Self::default()
        }
    }

    /// Whether it is a reply of the model.
    pub fn is_of_agent(&self) -> bool {
        self.role == "assistant"
    }

    /// Whether it is what the model was told beforehand.
    pub fn is_of_system(&self) -> bool {
        self.role == "system"
    }

    /// Whether another turn is the same, as far as it was said and called.
    pub fn is_same(&self, other: &Self) -> bool {
        self.role == other.role && self.text == other.text && self.has_calls == other.has_calls
    }

    /// Something is said, as a paragraph or joined to the last words.
    pub fn say(&mut self, text: &str, is_joined: bool) {
        // After a call everything is a new paragraph.
        append(&mut self.text, text, is_joined && self.last_words.is_some());
        append(&mut self.last_words, text, is_joined);
    }

    /// The turn, to which nothing comes any more.
    pub fn close(self) -> Turn {
        // Anthropic has results in messages of the user.
        let is_tool = self.role == "user" && self.text.is_none() && self.has_results;
        Turn {
            role: if is_tool { "tool" } else { self.role }.to_owned(),
            text: self.text.filter(|text| !text.is_empty()),
        }
    }
}

fn append(to: &mut Option<String>, text: &str, is_joined: bool) {
    match to {
        Some(whole) => {
            if !is_joined && !whole.is_empty() && !text.is_empty() {
                whole.push('\n');
            }
            whole.push_str(text);
        }
        None => *to = Some(text.to_owned()),
    }
}
