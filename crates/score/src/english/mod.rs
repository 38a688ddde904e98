//! English, as far as closing messages of agents need it: tokens, sentences, clauses, noun phrases, inflection. No
//! dictionary and no model: endings, neighbours, and the lists of `words.txt`. What a sentence claims, and of which
//! call, is decided elsewhere (`agent::narrative`).

mod clause;
mod frame;
mod inflection;
mod lexicon;
mod noun_phrase;
mod quotation;
mod sentence;
mod token;

/// What the rules are written in.
pub mod prelude {
    pub use super::clause::*;
    pub use super::frame::*;
    pub use super::inflection::*;
    pub use super::lexicon::Class::*;
    pub use super::lexicon::*;
    pub use super::noun_phrase::*;
    pub use super::quotation::*;
    pub use super::sentence::*;
    pub use super::token::{Kind, Token, Tokens, tokenise};
    pub use crate::prelude::{
        BTreeMap, BTreeSet, Deserialize, LazyLock, ToolCall, Value, WordLists,
    };
}
