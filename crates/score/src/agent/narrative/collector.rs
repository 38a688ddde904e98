//! A noun phrase while its words are gathered.

use super::noun_phrase::Phrase;
use super::token::Token;

/// Collects a phrase token by token.
#[derive(Default)]
pub struct Collector {
    /// What was collected.
    pub phrase: Phrase,
    /// Whether anything of a phrase was seen.
    pub is_begun: bool,
    /// Whether a determiner was.
    pub is_determined: bool,
    /// Whether the head is settled and more words only belong to it by `and`.
    pub is_joined: bool,
    /// Words with a capital.
    capitals: usize,
}

impl Collector {
    /// Of a phrase that is known to be there.
    pub fn begun() -> Self {
        Self {
            is_begun: true,
            ..Self::default()
        }
    }

    /// Adds a word, as the head so far.
    pub fn add(&mut self, token: &Token) {
        self.is_begun = true;
        self.capitals += usize::from(token.is_capital());
        let noun = if token.lower == "e-mail" {
            "email"
        } else {
            &token.lower
        };
        self.phrase.nouns.push(noun.to_owned());
        self.phrase.nouns.extend(
            noun.split('-')
                .filter(|part| part.len() < noun.len())
                .map(str::to_owned),
        );
        if !self.is_joined {
            self.phrase.head = Some(noun.rsplit('-').next().unwrap_or(noun).to_owned());
        }
    }

    /// Begins anew: what came before only said how much of it there is.
    pub fn clear(&mut self) {
        let is_negative = self.phrase.is_negative;
        *self = Self::begun();
        self.phrase.is_negative = is_negative;
    }

    /// The phrase, if there was any.
    pub fn finish(mut self, is_numbered: bool) -> Option<Phrase> {
        let words = self.phrase.nouns.len();
        self.phrase.is_joined = self.is_joined;
        self.phrase.is_proper =
            words > 0 && self.capitals == words && !self.is_determined && !is_numbered;
        self.is_begun.then_some(self.phrase)
    }
}
