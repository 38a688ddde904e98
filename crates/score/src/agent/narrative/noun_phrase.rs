//! The thing that a verb is about: the words of a noun phrase, and which of them is its head. In
//! `a new high-priority GitHub issue` that is the last one; what follows a preposition belongs to
//! another phrase.

use super::collector::Collector;
use super::inflection::Form;
use super::lexicon::Class;
use super::token::Token;
use super::vocabulary::{
    changes_parts, is_month, is_nothing, is_particle, is_quantity, is_time_word, tells_content,
};

/// Tokens that a phrase is looked for in: nobody writes longer ones, and a long text stays linear.
pub const WINDOW: usize = 24;

/// What a verb is about.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Phrase {
    /// Its words, in lower case, without determiners and adjectives. None for a pronoun, a number, an
    /// identifier or a quotation.
    pub nouns: Vec<String>,
    /// The word that says what it is.
    pub head: Option<String>,
    /// Whether it says that there is none: `no emails`, `nothing`.
    pub is_negative: bool,
    /// Whether it is the name of somebody or something: `Priya`.
    pub is_proper: bool,
    /// Whether some of its words only belong to it by `and` or `of`.
    pub is_joined: bool,
}

/// Whether a word says that there is nothing.
pub fn is_negative(token: &Token) -> bool {
    is_nothing(&token.lower)
}

/// The object of a verb, of which the next token is at `from`; `None` when none follows. `verb` is
/// the base form: `sent Priya the link` is about the link.
pub fn object(tokens: &[Token], from: usize, verb: &str) -> Option<Phrase> {
    let takes_two = matches!(verb, "send" | "write");
    let mut collector = Collector::default();
    let mut at = from;
    let mut is_numbered = false;
    let end = from.saturating_add(WINDOW);
    while let Some(token) = tokens.get(at).filter(|_| at < end) {
        let has_nouns = !collector.phrase.nouns.is_empty();
        match token.class {
            Class::Determiner if token.lower == "'s" => {}
            Class::Determiner if collector.is_begun && (!takes_two || is_time(tokens, at + 1)) => {
                // `all the files`, `both of the`: still the same phrase.
                if has_nouns && !collector.is_joined {
                    break;
                }
                collector.is_determined = true;
            }
            Class::Determiner => {
                if collector.is_begun && has_nouns {
                    collector.clear();
                }
                collector.phrase.is_negative |= is_negative(token);
                collector.is_begun = true;
                collector.is_determined = true;
            }
            // `sent 3 May`, `deleted 2 days ago`
            Class::Number if !has_nouns && begins_time(tokens.get(at + 1)) => break,
            Class::Number | Class::Name => {
                if has_nouns {
                    is_numbered = true;
                    break;
                }
                collector.phrase.is_negative |= is_negative(token);
                collector.is_begun = true;
            }
            Class::Object | Class::Thing | Class::Person => {
                if collector.is_begun {
                    break;
                }
                collector.phrase.is_negative |= is_negative(token);
                collector.is_begun = true;
                if !takes_two || !begins_phrase(tokens.get(at + 1)) {
                    let is_partitive = tokens.get(at + 1).is_some_and(|next| next.lower == "of");
                    if !is_partitive {
                        break;
                    }
                }
            }
            Class::Adjective => collector.is_begun = true,
            Class::Adverb if !collector.is_begun || !has_nouns => {}
            Class::Noun => {
                if is_time_word(&token.lower) && has_nouns {
                    break;
                }
                collector.add(token);
            }
            Class::Verb => match token.verb.as_ref().map(|verb| verb.form) {
                Some(Form::Ing) if !collector.is_begun => break,
                Some(Form::Ing) if has_nouns && tells_more(tokens, at) => break,
                Some(Form::Base | Form::Third | Form::Any | Form::Ing) => collector.add(token),
                _ if has_nouns => break,
                _ if begins_phrase(tokens.get(at + 1)) => collector.is_begun = true,
                _ => break,
            },
            Class::Preposition if !collector.is_begun && is_particle(&token.lower) => {
                if !begins_phrase(tokens.get(at + 1)) {
                    break;
                }
            }
            Class::Preposition if token.lower == "of" && is_amount(&collector) => {
                collector.clear();
            }
            // `the status of the ticket`
            Class::Preposition if token.lower == "of" && has_nouns && changes_parts(verb) => {
                collector.is_joined = true;
            }
            Class::And | Class::Comma => match continues(tokens, at, &collector) {
                Some(next) => {
                    collector.is_joined |= has_nouns;
                    at = next;
                    continue;
                }
                None => break,
            },
            _ => break,
        }
        at += 1;
    }
    collector.finish(is_numbered)
}

/// Whether an `-ing` form behind a noun tells more of it (`a job running the tests`), and is no noun
/// itself (`the team meeting`).
fn tells_more(tokens: &[Token], at: usize) -> bool {
    let tells = tokens
        .get(at)
        .is_some_and(|token| tells_content(&token.lower));
    let has_object = tokens.get(at + 1).is_some_and(|next| match next.class {
        // `cancelled the team meeting this morning`
        Class::Determiner => next.lower != "'s" && !is_time(tokens, at + 1),
        Class::Object => true,
        _ => false,
    });
    tells || has_object
}

fn begins_time(token: Option<&Token>) -> bool {
    token.is_some_and(|token| is_time_word(&token.lower) || is_month(&token.lower))
}

/// Where a phrase goes on behind an `and` or a comma: at further names, at a further noun, or, where
/// two verbs share one object (`tested and merged the branch`), behind the second verb.
fn continues(tokens: &[Token], at: usize, collector: &Collector) -> Option<usize> {
    let mut next = at + 1;
    while tokens.get(next).is_some_and(|token| {
        matches!(token.class, Class::And | Class::Adverb) && token.lower != "now"
    }) {
        next += 1;
    }
    let token = tokens.get(next)?;
    let has_nouns = !collector.phrase.nouns.is_empty();
    let is_comma = tokens
        .get(at)
        .is_some_and(|token| token.class == Class::Comma);
    match token.class {
        Class::Verb if !collector.is_begun => {
            let form = token.verb.as_ref()?.form;
            (form.is_past() || form.is_participle()).then_some(next + 1)
        }
        Class::Name | Class::Number if collector.is_begun && !has_nouns => Some(next),
        Class::Noun | Class::Adjective if has_nouns && !is_comma && !collector.is_joined => {
            Some(next)
        }
        Class::Noun if collector.is_begun && !has_nouns && !is_comma => Some(next),
        _ => None,
    }
}

fn is_amount(collector: &Collector) -> bool {
    match &collector.phrase.head {
        Some(head) => is_quantity(head),
        None => collector.is_begun,
    }
}

/// Whether a noun phrase may begin with this token.
pub fn begins_phrase(token: Option<&Token>) -> bool {
    token.is_some_and(|token| match token.class {
        Class::Determiner
        | Class::Number
        | Class::Name
        | Class::Adjective
        | Class::Noun
        | Class::Object
        | Class::Thing => true,
        Class::Verb => token.verb.as_ref().is_some_and(|verb| {
            matches!(verb.form, Form::Base | Form::Third | Form::PastOrParticiple)
        }),
        _ => false,
    })
}

fn is_time(tokens: &[Token], at: usize) -> bool {
    tokens
        .iter()
        .skip(at)
        .take(2)
        .any(|token| is_time_word(&token.lower))
}

/// The phrase that a clause's subject is: its words up to the first preposition.
pub fn subject(tokens: &[Token]) -> Phrase {
    let mut collector = Collector::begun();
    let mut rest = tokens;
    // `In the new project a branch was created`: the last phrase is the subject.
    if tokens
        .first()
        .is_some_and(|token| matches!(token.class, Class::Preposition | Class::Subordinator))
    {
        let last = tokens
            .iter()
            .rposition(|token| token.class == Class::Determiner);
        rest = tokens.get(last.unwrap_or(0)..).unwrap_or_default();
    }
    let mut is_numbered = false;
    for (at, token) in rest.iter().enumerate() {
        let has_nouns = !collector.phrase.nouns.is_empty();
        collector.phrase.is_negative |= is_negative(token) || at == 0 && token.class == Class::Not;
        match token.class {
            Class::Determiner => collector.is_determined = true,
            Class::Noun => collector.add(token),
            Class::Verb => match token.verb.as_ref().map(|verb| verb.form) {
                Some(Form::Base | Form::Third | Form::Any | Form::Ing) => collector.add(token),
                _ if has_nouns => break,
                _ => {}
            },
            Class::Preposition if token.lower == "of" && is_amount(&collector) => {
                collector.clear();
            }
            Class::Preposition
            | Class::To
            | Class::Which
            | Class::That
            | Class::Agent
            | Class::Person
                if has_nouns =>
            {
                break;
            }
            Class::Number if has_nouns => is_numbered = true,
            Class::And => collector.is_joined |= has_nouns,
            _ => {}
        }
    }
    collector.finish(is_numbered).unwrap_or_default()
}
