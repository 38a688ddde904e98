//! What a sentence as a whole is: a question, a condition, an instruction, a report of what was found.

use super::prelude::*;

/// Whether a sentence tells somebody what to do.
pub fn is_imperative(sentence: &Sentence) -> bool {
    let is_polite = || sentence.tokens.iter().any(|token| token.lower == "please");
    sentence.tokens.words().next().is_some_and(|first| {
        let is_base = first.verb.form == Form::Base;
        is_polite() || is_base || begins_instruction(&first.lower)
    })
}

/// Whether a sentence begins with a verb of the past: `Created the issue`.
pub fn begins_with_past(sentence: &Sentence) -> bool {
    let first = sentence.tokens.words().next();
    first.is_some_and(|first| first.verb.form == Form::PastOrParticiple)
}

/// Where a sentence that ends in a question mark begins to ask.
pub fn question_start(tokens: &[Token]) -> usize {
    let asks = |at: usize| {
        let is_subject = matches!(
            tokens.class(at + 1),
            Agent | Person | Thing | Determiner | That
        );
        tokens.class(at).is_auxiliary() && is_subject || tokens.class(at) == Which
    };
    let begins = |at: usize| at == 0 || tokens.class(at - 1).begins_clause();
    (0..tokens.len())
        .find(|at| begins(*at) && asks(*at))
        .unwrap_or(0)
}

/// `Had I deleted it, …`, `Should you …`.
pub fn is_inverted(tokens: &[Token]) -> bool {
    let mut words = tokens.words();
    let first = words.next().map_or("", |token| token.lower.as_str());
    let second = words.next().map_or(Stop, |token| token.class);
    matches!(first, "had" | "were" | "should")
        && matches!(second, Agent | Person | Thing | Determiner)
}

/// Whether the agent is the subject of some fact.
pub fn has_agent(tokens: &[Token]) -> bool {
    (0..tokens.len()).any(|at| tokens.class(at) == Agent && Chain::read(tokens, at + 1).is_real())
}

/// `the agent`, `your assistant`, `this run`: the writer itself.
pub fn is_agent_noun(region: &[Token]) -> bool {
    let words: Vec<&str> = region
        .iter()
        .filter(|token| token.class != Adverb)
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
    let is_agents = before.iter().any(|token| token.class == Agent);
    let is_found = before
        .iter()
        .any(|token| matches!(token.lower.as_str(), "found" | "see" | "noticed"));
    is_found || !is_agents && header_mood(before) == Mood::Unreal
}

/// `Done!`, `All set`, `Completed successfully`.
pub fn is_done(tokens: &[Token]) -> bool {
    let mut words = tokens.words();
    let is_short = (1..=6).contains(&tokens.words().take(7).count());
    is_short
        && tokens.words().any(|token| says_done(&token.lower))
        && words.all(|token| !matches!(token.class, Not | Modal))
}

/// Whether a clause lets something speak: `the log shows the table`, of which more is told. A word like
/// `notes` is a verb only where another phrase begins behind it.
pub fn tells_of_another(region: &[Token]) -> bool {
    region.windows(2).any(|pair| {
        let [verb, next] = pair else { return false };
        let begins = matches!(
            next.class,
            Determiner | Number | Thing | Person | Preposition
        );
        begins && is_telling(&verb.lower)
    })
}

fn has_pair(tokens: &[Token], pair: [&str; 2]) -> bool {
    tokens
        .windows(2)
        .any(|two| two.iter().map(|token| token.lower.as_str()).eq(pair))
}

/// `Open issues:`: the items are the issues.
fn names_findings(tokens: &[Token]) -> bool {
    let last = tokens.words().next_back();
    let mut words = tokens.words();
    last.is_some_and(|token| names_finding(&token.lower))
        && words.all(|token| !matches!(token.class, Verb | Agent))
}

/// How the items under a heading are meant.
pub fn header_mood(tokens: &[Token]) -> Mood {
    let has = |words: &[&str]| {
        tokens
            .iter()
            .any(|token| words.contains(&token.lower.as_str()))
    };
    let is_denied = tokens.iter().any(|token| token.class == Not)
        || has(&["unable", "failed", "skipped", "be"]);
    if is_denied {
        return Mood::Unreal;
    }
    if tokens.iter().any(|token| heads_done(&token.lower)) {
        return Mood::Done;
    }
    if has(&["changes", "changed", "made", "summary"]) {
        return Mood::Plain;
    }
    let is_possible = tokens.iter().any(|token| token.class == Modal);
    let is_unreal = is_possible
        || tokens.iter().any(|token| is_unreal_heading(&token.lower))
        || has_pair(tokens, ["to", "do"])
        || has_pair(tokens, ["release", "notes"])
        || names_findings(tokens);
    if is_unreal { Mood::Unreal } else { Mood::Plain }
}
