//! What a matcher says of a value: not only yes and no. A matcher about texts says no of a list, but
//! that does not prove the opposite, so `not` must not turn it into a yes.

use crate::prelude::*;

/// What a matcher says of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    /// The value is as it must be.
    Yes,
    /// It is not.
    No,
    /// It is not: it is of a kind that the matcher is not about. That is no reason to say yes to its
    /// opposite.
    NoByKind,
    /// The matcher is not about values of this kind, and says neither.
    Nothing,
}

impl Answer {
    /// Yes or no.
    pub fn of(holds: bool) -> Self {
        if holds { Self::Yes } else { Self::No }
    }

    /// The answer of `not`.
    pub fn opposite(self) -> Self {
        match self {
            Self::Yes => Self::No,
            Self::No => Self::Yes,
            Self::NoByKind | Self::Nothing => Self::Nothing,
        }
    }

    /// Yes or no, of a value of a kind that the matcher is about.
    pub fn about(is_about: bool, holds: impl FnOnce() -> bool) -> Self {
        if is_about {
            Self::of(holds())
        } else {
            Self::NoByKind
        }
    }

    /// What decides among the answers to all of several matchers: a no does.
    pub const ALL: [Self; 4] = [Self::No, Self::Nothing, Self::NoByKind, Self::Yes];

    /// The same where one is enough: a yes does.
    pub const ANY: [Self; 4] = [Self::Yes, Self::Nothing, Self::NoByKind, Self::No];

    /// The first of these that is among the answers; the last where none is.
    pub fn first_of(order: [Self; 4], answers: impl IntoIterator<Item = Self>) -> Self {
        let given: Vec<Self> = answers.into_iter().collect();
        order
            .into_iter()
            .find(|answer| given.contains(answer))
            .unwrap_or(order[3])
    }
}

/// Whether two values are of one kind: both texts, both numbers, both lists, and so on. Null is of
/// every kind: to say that something is not null is to say something.
pub fn is_same_kind(one: &Value, other: &Value) -> bool {
    one.is_null() || other.is_null() || std::mem::discriminant(one) == std::mem::discriminant(other)
}

/// Whether equality says something of two values: of two that are neither lists nor maps, or of two of
/// one kind. That a list is no text goes without saying, and who compares them means something else.
pub fn is_comparable(one: &Value, other: &Value) -> bool {
    let is_plain = |value: &Value| !value.is_array() && !value.is_object();
    (is_plain(one) && is_plain(other)) || is_same_kind(one, other)
}

/// Asks about a text, or about each text of a list, of which one is enough.
pub fn ask_texts(value: &Value, asks: impl Fn(&str) -> bool) -> Answer {
    match value {
        Value::String(text) => Answer::of(asks(text)),
        Value::Array(items) => {
            let mut texts = items.iter().filter_map(Value::as_str).peekable();
            let is_about = texts.peek().is_some() || items.is_empty();
            Answer::about(is_about, || texts.any(asks))
        }
        _ => Answer::NoByKind,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_combined() {
        use Answer::{No, NoByKind, Nothing, Yes};
        let cases = [
            // one, other, all of, any of
            (Yes, Yes, Yes, Yes),
            (Yes, No, No, Yes),
            (Yes, NoByKind, NoByKind, Yes),
            (Yes, Nothing, Nothing, Yes),
            (No, No, No, No),
            (No, NoByKind, No, NoByKind),
            (No, Nothing, No, Nothing),
            (NoByKind, NoByKind, NoByKind, NoByKind),
            (NoByKind, Nothing, Nothing, Nothing),
            (Nothing, Nothing, Nothing, Nothing),
        ];
        for (one, other, all, any) in cases {
            for pair in [[one, other], [other, one]] {
                assert_eq!(Answer::first_of(Answer::ALL, pair), all, "all of {pair:?}");
                assert_eq!(Answer::first_of(Answer::ANY, pair), any, "any of {pair:?}");
            }
        }
        assert_eq!(
            [Yes, No, NoByKind, Nothing].map(Answer::opposite),
            [No, Yes, Nothing, Nothing]
        );
    }

    #[test]
    fn a_text_in_a_list_is_enough() {
        let is_refund = |text: &str| text == "refund";
        let cases = [
            (json!("refund"), Answer::Yes),
            (json!("search"), Answer::No),
            (json!(["search", "refund"]), Answer::Yes),
            (json!(["search", 5]), Answer::No),
            (json!([]), Answer::No),
            (json!([5]), Answer::NoByKind),
            (json!(5), Answer::NoByKind),
        ];
        for (value, expected) in cases {
            assert_eq!(ask_texts(&value, is_refund), expected, "{value}");
        }
    }
}
