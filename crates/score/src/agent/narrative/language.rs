//! Which sentences are in English: the rules know no other language, and `I set di dati sono pronti` or
//! `Status: geschlossen` would be misread. The little words vote, first on the message and then on each
//! of its sentences, so that an English message may greet in another language, and an English sentence
//! before its translation is still held against the calls.

use super::inflection::Form;
use super::lexicon::Class;
use super::sentence::Sentence;
use super::token::{Kind, Token};

/// Little words of other languages that are no English words.
const OTHERS: &str = "
    der das und ist nicht ich ein eine einen dem den des wurde wurden mit auf von zu auch sind habe
    haben wir sie im zum zur noch
    le les et est une du je dans pour sur pas nous vous avec qui que la ont
    el los las y una del por para con se ha han fue fueron su
    os um uma foi foram com em da dos ao eu
    il di che sono per gli della dei stati stato stata ho e
    het een en van niet ik heb de zijn voor naar werd
    och att det jag og ikke er jeg til av af med som
    nie na jest oraz ja ei ve bir bu este cu fost dan yang untuk telah saya";

/// Words of one or two letters that only English has; most short ones (`a`, `i`, `no`, `on`, `in`) are
/// words of several languages, and say nothing.
const SHORT_ENGLISH: &str = "of to it is we by be";

/// Words that speak for English, and for another language.
#[derive(Default)]
struct Votes {
    english: usize,
    foreign: usize,
}

/// Leaves out the sentences of a message in another language that are not English themselves.
pub(super) fn retain_english(sentences: &mut Vec<Sentence>) {
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
    has_other_letter() || lists(OTHERS, &token.lower)
}

/// A word that ties others together, or the past of a verb that the rules look for.
fn is_english(token: &Token) -> bool {
    match token.class {
        Class::Verb => token
            .verb
            .as_ref()
            .is_some_and(|verb| verb.is_claimable && is_inflected(verb.form)),
        Class::Noun | Class::Name | Class::Number | Class::Comma | Class::Stop => false,
        _ if token.lower.len() < 3 => lists(SHORT_ENGLISH, &token.lower),
        _ => true,
    }
}

/// `set` and `post` are words in many languages, `created` is not.
const fn is_inflected(form: Form) -> bool {
    !matches!(form, Form::Base | Form::Any)
}

fn lists(list: &str, word: &str) -> bool {
    list.split_ascii_whitespace().any(|listed| listed == word)
}
