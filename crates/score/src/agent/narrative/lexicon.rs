//! What the little words of English do, so that the big ones can be told apart: a word after `the` is
//! no verb, one after `I` is. Words that are in no list are nouns.

use std::collections::BTreeSet;

use mcprove_trace::words::MUTATING_VERBS;
use serde::Deserialize;

use super::inflection::{Form, looks_like_verb, verb_form};
use super::noun_phrase::WINDOW;
use super::token::{Kind, Token};
use super::vocabulary::{is_pointing, may_stand_before_hyphen};
use super::word_class::{is_adverb, word_class};

/// What a token is in its sentence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub enum Class {
    /// `I`, `we`: the agent itself.
    Agent,
    /// `you`, `he`, `someone`: somebody else.
    Person,
    /// `it`, `everything`, `both`: what was spoken of.
    Thing,
    /// `me`, `them`: never a subject.
    Object,
    /// `who`, `which`, `what`.
    Which,
    /// `that`, where it begins a clause.
    That,
    /// `the`, `your`, `all`, and the `'s` of possession.
    Determiner,
    /// `3`, `#42`, `two`.
    Number,
    /// An identifier, or what stood in quotation marks.
    Name,
    /// `new`, `open`.
    Adjective,
    /// `of`, `into`.
    Preposition,
    /// `to`.
    To,
    /// `and`, `or`, `then`.
    And,
    /// `but`, `so`.
    But,
    /// `if`, `when`, `after`, `as`, `because`.
    Subordinator,
    /// `is`, `was`, `been`.
    Be,
    /// `have`, `had`.
    Have,
    /// `do`, `did`.
    Do,
    /// `will`, `can`.
    Modal,
    /// `not`, `never`.
    Not,
    /// `just`, `successfully`.
    Adverb,
    /// Whatever may be a form of a verb.
    Verb,
    /// Everything else.
    Noun,
    /// A comma.
    Comma,
    /// Any other mark.
    Stop,
}

/// A verb that a word may be a form of.
#[derive(Debug, Clone)]
pub struct Reading {
    /// The base form.
    pub base: String,
    /// The form.
    pub form: Form,
    /// Whether it is among those that change something.
    pub is_claimable: bool,
}

/// The verbs that claim a change.
#[derive(Debug, Clone, Default)]
pub struct Verbs {
    /// Those besides the fixed list, from the names of tools that always write.
    pub extra: BTreeSet<String>,
}

impl Verbs {
    /// Whether it is the base form of a verb that claims a change.
    pub fn has(&self, base: &str) -> bool {
        MUTATING_VERBS.contains(&base) || self.extra.contains(base)
    }

    fn reading(&self, lower: &str) -> Option<Reading> {
        // `re-sent` and `bulk-deleted` are said of doing, `auto-merge` is a thing.
        let word = match lower.rsplit_once('-') {
            Some((front, word)) if may_stand_before_hyphen(front) => word,
            _ => lower,
        };
        if let Some((base, form)) = verb_form(word, |base| self.has(base)) {
            let is_claimable = word.len() == lower.len() || !form.is_base();
            return is_claimable.then_some(Reading {
                base,
                form,
                is_claimable,
            });
        }
        looks_like_verb(lower).map(|form| Reading {
            base: lower.to_owned(),
            form,
            is_claimable: false,
        })
    }
}

/// Gives every token of a sentence its class.
pub fn classify(tokens: &mut [Token], verbs: &Verbs) {
    for at in 0..tokens.len() {
        let Some(token) = tokens.get(at) else { break };
        let reading = (token.kind == Kind::Word)
            .then(|| verbs.reading(&token.lower))
            .flatten();
        let class = match token.kind {
            Kind::Word => word_class(&token.lower).unwrap_or_else(|| {
                if reading.is_some() {
                    Class::Verb
                } else if is_adverb(&token.lower) {
                    Class::Adverb
                } else {
                    Class::Noun
                }
            }),
            Kind::Number => Class::Number,
            Kind::Name | Kind::Quoted => Class::Name,
            Kind::Mark(',') => Class::Comma,
            Kind::Mark(_) => Class::Stop,
        };
        if let Some(token) = tokens.get_mut(at) {
            token.class = class;
            token.verb = reading.filter(|_| class == Class::Verb);
        }
    }
    for at in 0..tokens.len() {
        if let Some(class) = class_in_place(tokens, at)
            && let Some(token) = tokens.get_mut(at)
        {
            token.class = class;
            token.verb = token.verb.take().filter(|_| class == Class::Verb);
        }
    }
}

/// The class of a word that only its neighbours decide.
fn class_in_place(tokens: &[Token], at: usize) -> Option<Class> {
    let token = tokens.get(at)?;
    let before = at.checked_sub(1).and_then(|at| tokens.get(at));
    let after = tokens.get(at + 1..).unwrap_or_default();
    // However many adverbs follow, a long row of them is looked through only so far.
    let after = after.get(..WINDOW).unwrap_or(after);
    let next = after.iter().find(|token| token.class != Class::Adverb);
    let next_class = next.map_or(Class::Stop, |token| token.class);
    let is_finite = |class| matches!(class, Class::Be | Class::Have | Class::Do | Class::Modal);
    let follows_auxiliary = before.is_some_and(|token| is_finite(token.class));
    match token.lower.as_str() {
        "'s" => Some(clitic_s(before, after)),
        "'d" => {
            let is_had = next
                .and_then(|token| token.verb.as_ref())
                .is_some_and(|verb| verb.form.is_participle());
            Some(if is_had { Class::Have } else { Class::Modal })
        }
        "may" if token.is_capital() && at > 0 => Some(Class::Noun),
        "all" | "both" | "each" | "since" if follows_auxiliary => Some(Class::Adverb),
        word if is_pointing(word) => {
            let stands_alone = is_finite(next_class)
                || matches!(
                    next_class,
                    Class::Stop | Class::Comma | Class::Not | Class::Preposition | Class::And
                );
            stands_alone.then_some(Class::Thing)
        }
        "that" => Some(that(before, next_class)),
        "her" if matches!(next_class, Class::Stop | Class::Comma | Class::Preposition) => {
            Some(Class::Object)
        }
        "got" | "gotten" | "gets" => {
            let is_passive = next
                .and_then(|token| token.verb.as_ref())
                .is_some_and(|verb| verb.form.is_participle());
            is_passive.then_some(Class::Be)
        }
        "case" if before.is_some_and(|token| token.lower == "in") => Some(Class::Subordinator),
        "yet" if before.is_none_or(|token| token.class != Class::Comma) => Some(Class::Adverb),
        "however" | "therefore" | "thus" | "hence" => {
            let is_inside =
                before.is_some_and(|token| is_finite(token.class) || token.class == Class::Agent);
            is_inside.then_some(Class::Adverb)
        }
        "as" => {
            let next = after.first().map_or("", |token| token.lower.as_str());
            match next {
                "of" | "per" | "for" | "part" => Some(Class::Preposition),
                "well" => Some(Class::And),
                _ => before
                    .is_some_and(|token| token.lower == "well")
                    .then_some(Class::And),
            }
        }
        "so" => match next.map(|token| token.lower.as_str()) {
            Some("that") => Some(Class::Subordinator),
            Some("far") => Some(Class::Adverb),
            _ => None,
        },
        "like" if before.is_some_and(|token| token.class == Class::Modal) => Some(Class::Noun),
        "one" if before.is_some_and(|token| token.class == Class::Determiner) => Some(Class::Noun),
        _ => None,
    }
}

/// `'s` after a pronoun, or before `been`, is an auxiliary; after a noun it mostly is a possessive.
fn clitic_s(before: Option<&Token>, after: &[Token]) -> Class {
    let is_noun =
        before.is_some_and(|token| matches!(token.class, Class::Noun | Class::Name | Class::Verb));
    let mut rest = after
        .iter()
        .skip_while(|token| token.class == Class::Adverb);
    match rest.next() {
        Some(next) if next.lower == "been" => Class::Have,
        _ if !is_noun => Class::Be,
        Some(next) if next.class == Class::Not => Class::Be,
        Some(next) => {
            let is_participle = next
                .verb
                .as_ref()
                .is_some_and(|verb| verb.form.is_participle());
            let ends = rest.next().is_none_or(|token| {
                matches!(
                    token.class,
                    Class::Stop | Class::Comma | Class::Preposition | Class::Adverb
                )
            });
            if is_participle && ends {
                Class::Be
            } else {
                Class::Determiner
            }
        }
        None => Class::Determiner,
    }
}

/// `that` begins a clause after a verb or noun, points at something before one, or stands for it.
fn that(before: Option<&Token>, next: Class) -> Class {
    let is_finite = matches!(next, Class::Be | Class::Have | Class::Do | Class::Modal);
    match before.map_or(Class::Stop, |token| token.class) {
        Class::Stop | Class::Comma | Class::And | Class::But if is_finite => Class::Thing,
        Class::Stop | Class::Preposition | Class::To | Class::And | Class::But => Class::Determiner,
        // `I closed that ticket`, but `I see that tickets were closed` is rare.
        Class::Verb | Class::Comma if matches!(next, Class::Noun | Class::Adjective) => {
            Class::Determiner
        }
        _ => Class::That,
    }
}

/// Whether a word only ties others together.
pub fn is_function_word(lower: &str) -> bool {
    word_class(lower).is_some_and(|class| !matches!(class, Class::Adjective | Class::Adverb))
}
