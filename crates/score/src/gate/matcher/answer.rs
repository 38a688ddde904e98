//! What a matcher says of a value: not only yes and no. A matcher about texts says no of a list, but
//! that does not prove the opposite, so `not` must not turn it into a yes.

use serde_json::Value;

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
    pub(super) fn of(holds: bool) -> Self {
        if holds { Self::Yes } else { Self::No }
    }

    /// The answer of `not`.
    pub(super) fn opposite(self) -> Self {
        match self {
            Self::Yes => Self::No,
            Self::No => Self::Yes,
            Self::NoByKind | Self::Nothing => Self::Nothing,
        }
    }

    /// The answer of `all_of`: a no decides.
    pub(super) fn and(self, other: Self) -> Self {
        self.decided_by([Self::No, Self::Nothing, Self::NoByKind], other)
    }

    /// The answer of `any_of`: a yes decides.
    pub(super) fn or(self, other: Self) -> Self {
        self.decided_by([Self::Yes, Self::Nothing, Self::NoByKind], other)
    }

    /// The first of these that one of both is, or both.
    fn decided_by(self, order: [Self; 3], other: Self) -> Self {
        order
            .into_iter()
            .find(|answer| *answer == self || *answer == other)
            .unwrap_or(self)
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
            if texts.peek().is_none() && !items.is_empty() {
                Answer::NoByKind
            } else {
                Answer::of(texts.any(asks))
            }
        }
        _ => Answer::NoByKind,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

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
            assert_eq!(one.and(other), all, "{one:?} and {other:?}");
            assert_eq!(other.and(one), all, "{other:?} and {one:?}");
            assert_eq!(one.or(other), any, "{one:?} or {other:?}");
            assert_eq!(other.or(one), any, "{other:?} or {one:?}");
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
