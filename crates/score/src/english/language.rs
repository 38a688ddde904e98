//! Which sentences are in English: the rules know no other language, and `I set di dati sono pronti` or
//! `Status: geschlossen` would be misread. The little words vote, first on the message and then on each
//! of its sentences, so that an English message may greet in another language, and an English sentence
//! before its translation is still held against the calls.

use super::prelude::*;

/// Words that speak for English, and for another language.
#[derive(Default)]
struct Votes {
    english: usize,
    foreign: usize,
}

/// Leaves out the sentences of a message in another language that are not English themselves.
pub fn retain_english(sentences: &mut Vec<Sentence>) {
    let votes = votes(sentences.iter().flat_map(|sentence| &sentence.tokens));
    let is_foreign = votes.foreign > 1 && votes.foreign > votes.english;
    if is_foreign {
        sentences.retain(|sentence| {
            let votes = self::votes(sentence.tokens.iter());
            votes.english > votes.foreign
        });
    }
}

fn votes<'t>(tokens: impl Iterator<Item = &'t Token>) -> Votes {
    let mut votes = Votes::default();
    for token in tokens.filter(|token| token.kind == Kind::Word) {
        votes.foreign += usize::from(is_other(token));
        votes.english += usize::from(is_english(token));
    }
    votes
}

/// A listed word, or one with letters that English lacks; with a capital it may be a name.
fn is_other(token: &Token) -> bool {
    let has_other_letter = || !token.is_capital() && !token.lower.is_ascii();
    has_other_letter() || is_foreign(&token.lower)
}

/// A word that ties others together, or the past of a verb that the rules look for.
fn is_english(token: &Token) -> bool {
    match token.class {
        // `set` and `post` are words in many languages, `created` is not.
        Verb => token.verb.is_claimable && !matches!(token.verb.form, Form::Base | Form::Any),
        Noun | Name | Number | Comma | Stop => false,
        _ if token.lower.len() < 3 => is_short_english(&token.lower),
        _ => true,
    }
}
