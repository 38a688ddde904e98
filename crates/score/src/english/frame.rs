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

// What the rest of a clause says about its verb: by whom it was done, when, and whether the verb was one.

/// The tokens of a clause from here on: up to a comma, a mark, or a conjunction that begins
/// another clause.
pub fn tail(tokens: &[Token], from: usize) -> &[Token] {
    let rest = tokens.rest(from);
    let rest = rest.get(..WINDOW).unwrap_or(rest);
    let ends = |at: &usize| match rest.class(*at) {
        Comma | Stop | But => true,
        And => !matches!(rest.class(at + 1), Verb | Adverb),
        Subordinator => match rest.lower(*at) {
            "since" | "as" => false,
            // `sent after 5 pm` only says when.
            "after" | "before" | "until" => rest.class(at + 1) != Number,
            _ => true,
        },
        _ => false,
    };
    let end = (0..rest.len()).find(ends);
    rest.get(..end.unwrap_or(rest.len())).unwrap_or_default()
}

/// Whether a tail says who did it, and that it was not the agent: `by Bob`.
pub fn is_by_other(tail: &[Token]) -> bool {
    let Some(by) = tail.iter().position(|token| token.lower == "by") else {
        return false;
    };
    let Some(first) = tail.get(by + 1) else {
        return false;
    };
    let second = tail.lower(by + 2);
    match first.class {
        Number | Object | Adjective => false,
        Verb => first.verb.form != Form::Ing,
        Adverb => {
            !is_day(&first.lower) && !is_time_word(&first.lower) && first.lower.ends_with("ly")
        }
        Determiner => !matches!(second, "agent" | "assistant" | "end") && !is_time_word(second),
        // `by courier` says how; people have a capital, an article or a plural.
        Noun => {
            let last = tail
                .iter()
                .skip(by + 1)
                .take_while(|token| token.class == Noun)
                .last()
                .map_or("", |token| token.lower.as_str());
            let is_one_of_many = last.ends_with('s') && last != "means";
            first.is_capital() || is_one_of_many || is_department(&first.lower)
        }
        _ => true,
    }
}

/// Whether a tail says that it was done before the run: `last week`, `in 2019`, `two days ago`.
pub fn is_long_ago(tail: &[Token]) -> bool {
    (0..tail.len()).any(|at| {
        let (word, next) = (tail.lower(at + 1), tail.get(at + 1));
        match tail.lower(at) {
            "ago" | "yesterday" | "since" | "originally" | "previously" => true,
            "last" => is_time_word(word) || is_day(word),
            "in" => is_year(word) || is_month(word),
            "on" => {
                let is_number = next.is_some_and(|token| token.kind == Kind::Number);
                is_day(word)
                    || is_month(word)
                    || next.is_some_and(is_date)
                    || is_number && is_month(tail.lower(at + 2))
            }
            "at" => next.is_some_and(is_date),
            _ => false,
        }
    })
}

/// Whether a tail says that it is still to come.
pub fn is_future(tail: &[Token]) -> bool {
    tail.iter().any(|token| is_to_come(&token.lower))
}

/// Whether a clause goes on with a finite verb, so that what came before was its subject.
pub fn has_finite(tail: &[Token]) -> bool {
    tail.iter()
        .any(|token| token.class.is_auxiliary() || is_finite(&token.lower))
}

fn is_year(lower: &str) -> bool {
    lower.len() == 4
        && (lower.starts_with("19") || lower.starts_with("20"))
        && lower.parse::<u16>().is_ok()
}

/// `2024-03-01`, `3/4/2024`.
fn is_date(token: &Token) -> bool {
    let is_digit = |c: char| c.is_ascii_digit();
    let separators = token.lower.matches(['-', '/']).count();
    token.kind == Kind::Name && separators == 2 && token.lower.starts_with(is_digit)
}
