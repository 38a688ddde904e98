//! What the rest of a clause says about its verb: by whom it was done, when, and whether the verb was one.

use super::prelude::*;

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
