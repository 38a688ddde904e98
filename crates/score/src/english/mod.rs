//! English, as far as closing messages of agents need it: tokens, sentences, clauses, noun phrases, inflection. No
//! dictionary and no model: endings, neighbours, and the lists of `words.txt`. What a sentence claims, and of which
//! call, is decided elsewhere (`agent::narrative`).

mod circumstance;
mod clause;
mod frame;
mod inflection;
mod language;
mod lexicon;
mod noun_phrase;
mod quotation;
mod sentence;
mod token;
mod value;
mod vocabulary;

/// What the rules are written in.
pub mod prelude {
    pub use super::circumstance::*;
    pub use super::clause::*;
    pub use super::frame::*;
    pub use super::inflection::*;
    pub use super::language::retain_english;
    pub use super::lexicon::Class::*;
    pub use super::lexicon::*;
    pub use super::noun_phrase::*;
    pub use super::sentence::*;
    pub use super::token::{Kind, Token, Tokens, tokenise};
    pub use super::value::*;
    pub use super::vocabulary::*;
}
