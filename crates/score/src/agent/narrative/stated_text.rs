//! Values of several words: a name with capitals, or what follows a colon.

use super::link::Link;
use super::recorded::Shape;
use super::statement::{Stated, Statement, ends_value};
use crate::english::prelude::*;

/// Words of the longest value without quotation marks.
const VALUE_WORDS_MAX: usize = 8;

impl Statement<'_> {
    /// Words with capitals: `with the title Weekly Report`, `the customer is Alice`.
    pub fn name_of_words(&self) -> Option<Stated> {
        let rest = self.tokens.rest(self.at);
        let is_part = |token: &&Token| token.kind == Kind::Word && token.is_capital();
        let count = rest
            .iter()
            .take(VALUE_WORDS_MAX)
            .take_while(is_part)
            .count();
        let text = rest
            .iter()
            .take(count)
            .map(|token| token.text.as_str())
            .collect::<Vec<&str>>()
            .join(" ");
        let ends = rest.get(count).is_none_or(ends_value);
        let is_comparable = match count {
            1 => self.values.takes_word(&self.first.text) || self.has_long_text(),
            _ => self.values.has_shape(Shape::Text),
        };
        let is_introduced = self.link != Link::None || self.is_introduced();
        let is_value = ends && is_comparable && is_introduced && self.is_value_word();
        is_value.then(|| Stated {
            is_recorded: self.values.has(&text) || self.values.begins(&text),
            text,
            end: self.at + count,
        })
    }

    /// Whether the values are texts of several words, which one word can only contradict after `to`.
    pub fn has_long_text(&self) -> bool {
        self.link == Link::To && !self.values.has_shape(Shape::Word)
    }

    /// What follows a colon or an equals sign: up to a mark, as far as it is one value.
    pub fn text(&self) -> Option<Stated> {
        let rest = self.tokens.rest(self.at);
        let is_end = |token: &&Token| !matches!(token.class, Comma | Stop);
        let words: Vec<&Token> = rest
            .iter()
            .take(VALUE_WORDS_MAX + 1)
            .take_while(is_end)
            .collect();
        let said = |count: usize| {
            words
                .iter()
                .take(count)
                .map(|token| token.text.as_str())
                .collect::<Vec<&str>>()
                .join(" ")
        };
        if let Some(count) = (1..=words.len())
            .rev()
            .find(|count| self.values.has(&said(*count)))
        {
            return Some(Stated {
                text: said(count),
                is_recorded: true,
                end: self.at + count,
            });
        }
        // `status: open and priority: high`: each is a value of its own.
        let count = words
            .iter()
            .position(|token| token.class == And)
            .unwrap_or(words.len());
        let is_value = match count {
            0 => false,
            1 => self.is_value_word() || self.values.has_shape(Shape::Choice),
            _ => {
                let value = words.get(..count).unwrap_or_default();
                count <= VALUE_WORDS_MAX
                    && self.is_label()
                    && !is_heading(self.name)
                    && !value.iter().any(|token| is_of_clause(token))
            }
        };
        let is_value = is_value && self.values.has_shape(Shape::Text);
        (is_value && !is_function_word(&self.first.lower)).then(|| Stated {
            text: said(count),
            is_recorded: false,
            end: self.at + count,
        })
    }

    /// Whether the name begins something: `- Title: …`, `with title: …`.
    pub fn is_label(&self) -> bool {
        self.start == 0
            || matches!(
                self.tokens.class(self.start - 1),
                Comma | Stop | And | Preposition | Determiner
            )
    }
}

/// Whether a token shows that a clause follows, and no value.
fn is_of_clause(token: &Token) -> bool {
    token.class.is_auxiliary() || matches!(token.class, Agent | Person)
}
