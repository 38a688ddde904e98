//! How what stands under a heading, or behind a colon, is meant.

use super::lexicon::Class;
use super::sentence::Mood;
use super::token::{Kind, Token};
use super::vocabulary::{heads_done, is_unreal_heading, names_finding};

fn has_pair(tokens: &[Token], pair: [&str; 2]) -> bool {
    tokens
        .windows(2)
        .any(|two| two.iter().map(|token| token.lower.as_str()).eq(pair))
}

/// `Open issues:`: the items are the issues.
fn names_findings(tokens: &[Token]) -> bool {
    let words = || {
        tokens
            .iter()
            .filter(|token| !matches!(token.kind, Kind::Mark(_)))
    };
    let is_finding = words()
        .next_back()
        .is_some_and(|token| names_finding(&token.lower));
    is_finding && words().all(|token| !matches!(token.class, Class::Verb | Class::Agent))
}

/// How the items under a heading are meant.
pub fn header_mood(tokens: &[Token]) -> Mood {
    let has = |words: &[&str]| {
        tokens
            .iter()
            .any(|token| words.contains(&token.lower.as_str()))
    };
    let is_denied = tokens.iter().any(|token| token.class == Class::Not)
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
    let is_possible = tokens.iter().any(|token| token.class == Class::Modal);
    let is_unreal = is_possible
        || tokens.iter().any(|token| is_unreal_heading(&token.lower))
        || has_pair(tokens, ["to", "do"])
        || has_pair(tokens, ["release", "notes"])
        || names_findings(tokens);
    if is_unreal { Mood::Unreal } else { Mood::Plain }
}
