//! What a sentence as a whole is: a question, a condition, an instruction, a report of what was found.

use super::clause::Chain;
use super::heading::header_mood;
use super::inflection::Form;
use super::lexicon::Class;
use super::sentence::{Mood, Sentence};
use super::token::{Kind, Token};
use super::vocabulary::{begins_instruction, is_telling, says_done};

/// Whether a sentence tells somebody what to do.
pub fn is_imperative(sentence: &Sentence) -> bool {
    let mut words = sentence
        .tokens
        .iter()
        .filter(|token| !matches!(token.kind, Kind::Mark(_)));
    let Some(first) = words.next() else {
        return false;
    };
    if sentence.tokens.iter().any(|token| token.lower == "please") {
        return true;
    }
    let is_base = first
        .verb
        .as_ref()
        .is_some_and(|verb| verb.form == Form::Base);
    is_base || begins_instruction(&first.lower)
}

/// Whether a sentence begins with a verb of the past: `Created the issue`.
pub fn begins_with_past(sentence: &Sentence) -> bool {
    let mut words = sentence
        .tokens
        .iter()
        .filter(|token| !matches!(token.kind, Kind::Mark(_)));
    let verb = words.next().and_then(|token| token.verb.as_ref());
    verb.is_some_and(|verb| verb.form == Form::PastOrParticiple)
}

/// Where a sentence that ends in a question mark begins to ask.
pub fn question_start(tokens: &[Token]) -> usize {
    let is_auxiliary = |class| matches!(class, Class::Be | Class::Have | Class::Do | Class::Modal);
    let asks = |at: usize| {
        let class = |at: usize| tokens.get(at).map_or(Class::Stop, |token| token.class);
        let is_subject = matches!(
            class(at + 1),
            Class::Agent | Class::Person | Class::Thing | Class::Determiner | Class::That
        );
        is_auxiliary(class(at)) && is_subject || class(at) == Class::Which
    };
    let begins = |at: usize| {
        let before = at.checked_sub(1).and_then(|at| tokens.get(at));
        before.is_none_or(|token| {
            matches!(
                token.class,
                Class::Stop | Class::Comma | Class::And | Class::But
            )
        })
    };
    (0..tokens.len())
        .find(|at| begins(*at) && asks(*at))
        .unwrap_or(0)
}

/// `Had I deleted it, …`, `Should you …`.
pub fn is_inverted(tokens: &[Token]) -> bool {
    let mut words = tokens
        .iter()
        .filter(|token| !matches!(token.kind, Kind::Mark(_)));
    let first = words.next().map_or("", |token| token.lower.as_str());
    let second = words.next().map_or(Class::Stop, |token| token.class);
    matches!(first, "had" | "were" | "should")
        && matches!(
            second,
            Class::Agent | Class::Person | Class::Thing | Class::Determiner
        )
}

/// Whether the agent is the subject of some fact.
pub fn has_agent(tokens: &[Token]) -> bool {
    tokens.iter().enumerate().any(|(at, token)| {
        let chain = || Chain::read(tokens, at + 1);
        token.class == Class::Agent && chain().is_real()
    })
}

/// `the agent`, `your assistant`, `this run`: the writer itself.
pub fn is_agent_noun(region: &[Token]) -> bool {
    let words: Vec<&str> = region
        .iter()
        .filter(|token| token.class != Class::Adverb)
        .map(|token| token.lower.as_str())
        .collect();
    match words.as_slice() {
        [determiner, "agent" | "assistant"] | [determiner, "ai", "agent" | "assistant"] => {
            matches!(*determiner, "the" | "this" | "your")
        }
        ["this", "run" | "session"] => true,
        _ => false,
    }
}

/// Whether what follows a colon is not told as done: `The changelog says: …`, `Next steps: …`.
pub fn is_unreal_header(before: &[Token]) -> bool {
    let is_agents = before.iter().any(|token| token.class == Class::Agent);
    let is_found = before
        .iter()
        .any(|token| matches!(token.lower.as_str(), "found" | "see" | "noticed"));
    is_found || !is_agents && header_mood(before) == Mood::Unreal
}

/// `Done!`, `All set`, `Completed successfully`.
pub fn is_done(tokens: &[Token]) -> bool {
    let words = || {
        tokens
            .iter()
            .filter(|token| !matches!(token.kind, Kind::Mark(_)))
    };
    let is_short = (1..=6).contains(&words().take(7).count());
    is_short
        && words().any(|token| says_done(&token.lower))
        && words().all(|token| !matches!(token.class, Class::Not | Class::Modal))
}

/// Whether a clause lets something speak: `the log shows the table`, of which more is told. A word like
/// `notes` is a verb only where another phrase begins behind it.
pub fn tells_of_another(region: &[Token]) -> bool {
    region.windows(2).any(|pair| {
        let [verb, next] = pair else { return false };
        let begins = matches!(
            next.class,
            Class::Determiner | Class::Number | Class::Thing | Class::Person | Class::Preposition
        );
        begins && is_telling(&verb.lower)
    })
}
