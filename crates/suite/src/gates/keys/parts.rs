//! Keys that several blocks have, and those of the maps inside blocks.

use serde_json::json;

use super::{Fallback, Form, Key, Need};

/// No elements.
pub(super) const EMPTY: Fallback = Fallback::Value(|| json!([]));

pub(super) const EXPECT: Key = Key {
    name: "expect",
    form: Form::Expectations,
    default: Fallback::Words("the default gate"),
    explanation: "what the targets must be, instead of the default gate",
};

pub(super) const MUTATING: Key = Key {
    name: "mutating_tools",
    form: Form::Names,
    default: EMPTY,
    explanation: "tools that write, whatever their names and annotations say",
};

pub(super) const READONLY: Key = Key {
    name: "readonly_tools",
    form: Form::Names,
    default: EMPTY,
    explanation: "tools that never write, whatever their names and annotations say; wins over `mutating_tools`",
};

pub(super) const fn key(
    name: &'static str,
    form: Form,
    default: Fallback,
    explanation: &'static str,
) -> Key {
    Key {
        name,
        form,
        default,
        explanation,
    }
}

pub(super) const fn needed(key: &'static str, may_be_empty: bool) -> Need {
    Need { key, may_be_empty }
}

/// The keys of an expected call.
pub const CALL: &[Key] = &[
    key("name", Form::Text, Fallback::None, "the tool"),
    key(
        "server",
        Form::Text,
        Fallback::Words("any"),
        "the server that has the tool",
    ),
    key(
        "args",
        Form::Shape,
        Fallback::Words("any"),
        "what the arguments must be",
    ),
];

pub(super) const DEPENDENCY: &[Key] = &[
    key(
        "producer",
        Form::Text,
        Fallback::None,
        "the tool whose result is used",
    ),
    key(
        "consumer",
        Form::Text,
        Fallback::None,
        "the tool that uses it",
    ),
];

pub(super) const ORDER: &[Key] = &[
    key(
        "first",
        Form::Text,
        Fallback::None,
        "the tool that comes first",
    ),
    key(
        "second",
        Form::Text,
        Fallback::None,
        "the tool that comes after it",
    ),
];

/// The keys of a permission.
pub const RULE: &[Key] = &[
    key(
        "tool",
        Form::Text,
        Fallback::None,
        "the tool; `*` stands for anything",
    ),
    key(
        "server",
        Form::Text,
        Fallback::Words("any"),
        "the server that has the tool",
    ),
    key(
        "args",
        Form::Predicates,
        Fallback::Words("any"),
        "matchers by the path of the argument; all must match",
    ),
];

/// The keys of a limit.
pub const LIMIT: &[Key] = &[
    key(
        "min",
        Form::Count(0),
        Fallback::Words("none"),
        "the fewest calls",
    ),
    key(
        "max",
        Form::Count(0),
        Fallback::Words("none"),
        "the most calls",
    ),
];
