//! How a value is tied to the name of an argument: `priority: high`, `an amount of 50`, `the status is
//! done`, `raised the limit to 20`, `price 19.95`.

use crate::english::prelude::*;

/// What stands between a name and its value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Link {
    /// Nothing.
    None,
    /// `:`, `=`, an arrow, the border of a table.
    Explicit,
    /// `is`, `was`.
    Is,
    /// `of`, `as`, `at`.
    Of,
    /// `to`, after a verb of change.
    To,
}

/// Reads what follows a name at `start..end`, and where the value begins.
pub fn read(tokens: &[Token], start: usize, end: usize) -> (Link, usize) {
    // `the priority field is`, `the limit parameter to`
    let end = end + usize::from(is_filler(tokens.lower(end)));
    let Some(token) = tokens.get(end) else {
        return (Link::None, end);
    };
    // `- Priority – high`
    let begins = start == 0 || tokens.class(start - 1) == Stop;
    if token.is_mark('—') && begins {
        return (Link::Explicit, end + 1);
    }
    if matches!(token.kind, Kind::Mark(':' | '=' | '→' | '|')) {
        let mut at = end + 1;
        while tokens
            .get(at)
            .is_some_and(|token| matches!(token.kind, Kind::Mark(':' | '=' | '|' | '•')))
        {
            at += 1;
        }
        return (Link::Explicit, at);
    }
    let next = end + 1;
    match token.lower.as_str() {
        "of" | "as" | "at" => (Link::Of, next),
        "to" if is_changed(tokens, start) => (Link::To, next),
        "from" => match change_target(tokens, end) {
            Some(at) => (Link::To, at),
            None => (Link::None, end),
        },
        "set" | "changed" | "updated" | "equal" if tokens.lower(next) == "to" => {
            (Link::To, next + 1)
        }
        "equals" => (Link::Is, next),
        _ if matches!(token.class, Be | Have) => linked(tokens, end),
        _ => (Link::None, end),
    }
}

/// `is`, `is now`, `was set to`, `has been changed from low to`.
fn linked(tokens: &[Token], from: usize) -> (Link, usize) {
    let ties = |token: &&Token| matches!(token.class, Be | Have | Adverb);
    let at = from
        + tokens
            .rest(from)
            .iter()
            .take(WINDOW)
            .take_while(ties)
            .count();
    if !is_change(tokens.lower(at)) {
        // `has` alone ties nothing.
        return if tokens.class(from) == Be {
            (Link::Is, at)
        } else {
            (Link::None, from)
        };
    }
    match tokens.lower(at + 1) {
        "to" => (Link::To, at + 2),
        "from" => change_target(tokens, at + 1).map_or((Link::Is, at), |at| (Link::To, at)),
        // `the status was updated` states none.
        _ => (Link::None, from),
    }
}

/// Behind the `to` of `from low to high`.
fn change_target(tokens: &[Token], from: usize) -> Option<usize> {
    let mut places = from + 1..from + 5;
    Some(places.find(|at| tokens.class(*at) == To)? + 1)
}

/// Whether a verb before the name says that it was changed: only then is what follows `to` its value,
/// and not where it went.
fn is_changed(tokens: &[Token], start: usize) -> bool {
    let from = start.saturating_sub(WINDOW / 2);
    tokens
        .get(from..start)
        .unwrap_or_default()
        .iter()
        .rev()
        .take_while(|token| !matches!(token.class, Stop | Agent))
        .any(|token| is_change(&token.lower))
}
