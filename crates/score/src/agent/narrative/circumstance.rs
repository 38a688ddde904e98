//! What the rest of a clause says about its verb: by whom it was done, when, and whether the verb was one.

use super::inflection::Form;
use super::lexicon::Class;
use super::noun_phrase::WINDOW;
use super::token::{Kind, Token};
use super::vocabulary::{is_day, is_department, is_finite, is_month, is_time_word, is_to_come};

/// The tokens of a clause from here on: up to a comma, a mark, or a conjunction that begins
/// another clause.
pub fn tail(tokens: &[Token], from: usize) -> &[Token] {
    let rest = tokens.get(from..).unwrap_or_default();
    let rest = rest.get(..WINDOW).unwrap_or(rest);
    let end = rest
        .iter()
        .enumerate()
        .position(|(at, token)| match token.class {
            Class::Comma | Class::Stop | Class::But => true,
            Class::And => rest
                .get(at + 1)
                .is_none_or(|next| !matches!(next.class, Class::Verb | Class::Adverb)),
            Class::Subordinator => match token.lower.as_str() {
                "since" | "as" => false,
                // `sent after 5 pm` only says when.
                "after" | "before" | "until" => rest
                    .get(at + 1)
                    .is_none_or(|next| next.class != Class::Number),
                _ => true,
            },
            _ => false,
        });
    rest.get(..end.unwrap_or(rest.len())).unwrap_or_default()
}

/// Whether a tail says who did it, and that it was not the agent: `by Bob`.
pub fn is_by_other(tail: &[Token]) -> bool {
    let Some(by) = tail.iter().position(|token| token.lower == "by") else {
        return false;
    };
    let mut rest = tail.iter().skip(by + 1);
    let Some(first) = rest.next() else {
        return false;
    };
    let second = rest.next().map_or("", |token| token.lower.as_str());
    match first.class {
        Class::Number | Class::Object | Class::Adjective => false,
        Class::Verb => first
            .verb
            .as_ref()
            .is_none_or(|verb| verb.form != Form::Ing),
        Class::Adverb => {
            !is_day(&first.lower) && !is_time_word(&first.lower) && first.lower.ends_with("ly")
        }
        Class::Determiner => {
            !matches!(second, "agent" | "assistant" | "end") && !is_time_word(second)
        }
        // `by courier` says how; people have a capital, an article or a plural.
        Class::Noun => {
            let phrase = tail
                .iter()
                .skip(by + 1)
                .take_while(|token| token.class == Class::Noun);
            let last = phrase.last().map_or("", |token| token.lower.as_str());
            let is_one_of_many = last.ends_with('s') && last != "means";
            first.is_capital() || is_one_of_many || is_department(&first.lower)
        }
        _ => true,
    }
}

/// Whether a tail says that it was done before the run: `last week`, `in 2019`, `two days ago`.
pub fn is_long_ago(tail: &[Token]) -> bool {
    let lower = |place: usize| tail.get(place).map_or("", |token| token.lower.as_str());
    tail.iter()
        .enumerate()
        .any(|(at, token)| match token.lower.as_str() {
            "ago" | "yesterday" | "since" | "originally" | "previously" => true,
            "last" => is_time_word(lower(at + 1)) || is_day(lower(at + 1)),
            "in" => is_year(lower(at + 1)) || is_month(lower(at + 1)),
            "on" => {
                let next = tail.get(at + 1);
                is_day(lower(at + 1))
                    || is_month(lower(at + 1))
                    || next.is_some_and(is_date)
                    || next.is_some_and(|token| token.kind == Kind::Number)
                        && is_month(lower(at + 2))
            }
            "at" => tail.get(at + 1).is_some_and(is_date),
            _ => false,
        })
}

/// Whether a tail says that it is still to come.
pub fn is_future(tail: &[Token]) -> bool {
    tail.iter().any(|token| is_to_come(&token.lower))
}

/// Whether a clause goes on with a finite verb, so that what came before was its subject.
pub fn has_finite(tail: &[Token]) -> bool {
    tail.iter().any(|token| {
        matches!(
            token.class,
            Class::Be | Class::Have | Class::Modal | Class::Do
        ) || is_finite(&token.lower)
    })
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
