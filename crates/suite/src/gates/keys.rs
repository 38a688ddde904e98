//! Every block of a gates file and every key of it: its form, its default, what it does. The reader,
//! the JSON Schema and the table in the documents are made from these.

mod blocks;
mod parts;

use mcprove_score::agent::trajectory::Mode;
use mcprove_score::gate::Gates;
use mcprove_settings::reader::{Reader, Section};
use serde_json::Value;

pub use blocks::BLOCKS;
pub use parts::{CALL, LIMIT, RULE};

/// The longest time that can be given, in milliseconds: a leap year.
pub(crate) const TIME_MS_MAX: u64 = 366 * 24 * 60 * 60 * 1000;
/// The most calls that a limit can be about.
pub(crate) const COUNT_MAX: u64 = 1_000_000_000;

/// A block of a gates file.
#[derive(Debug, Clone, Copy)]
pub struct Block {
    /// The name, which is that of its metric.
    pub name: &'static str,
    /// What is demanded where the block has no `expect` of its own.
    pub default_gate: &'static str,
    /// What is in it.
    pub keys: &'static [Key],
    /// The keys of which one must be there, because nothing would be gated without.
    pub(super) needs: &'static [Need],
    /// What it holds, and how that is read.
    pub(super) contents: Contents,
}

/// A key that a block needs, unless it has another one.
#[derive(Debug, Clone, Copy)]
pub(super) struct Need {
    /// The name of the key.
    pub key: &'static str,
    /// Whether an empty list means something.
    pub may_be_empty: bool,
}

/// What a block holds.
#[derive(Debug, Clone, Copy)]
pub(super) enum Contents {
    /// A map of its keys, which this reads.
    Map(fn(&mut Reader<'_>, &Section<'_>, &mut Gates)),
    /// A list of expectations.
    Expectations,
}

/// A key of a block.
#[derive(Debug, Clone, Copy)]
pub struct Key {
    /// The name, with `_`; `-` is accepted too.
    pub name: &'static str,
    /// What it takes.
    pub form: Form,
    /// What it is when it is not given.
    pub default: Fallback,
    /// What it does.
    pub explanation: &'static str,
}

/// What a key is when it is not given.
#[derive(Debug, Clone, Copy)]
pub enum Fallback {
    /// It must be given.
    None,
    /// This, in words.
    Words(&'static str),
    /// This value, as the metric has it.
    Value(fn() -> Value),
}

/// What a key takes.
#[derive(Debug, Clone, Copy)]
pub enum Form {
    /// A text that is not empty.
    Text,
    /// True or false.
    Boolean,
    /// A whole number of milliseconds, from this one up.
    Milliseconds(u64),
    /// A whole number from this one up.
    Count(u64),
    /// A number from 0 to 1.
    Share,
    /// A list of names.
    Names,
    /// How expected calls line up with those that were made.
    Mode,
    /// The shape of arguments.
    Shape,
    /// Matchers by path.
    Predicates,
    /// A whole number, or a map of the least and the most.
    Limit,
    /// Limits by name.
    Limits,
    /// A list of names, or of maps with these keys, of which the first must be there.
    NamesOrMaps(&'static [Key]),
    /// A list of maps with these keys, all of which must be there.
    Maps(&'static [Key]),
    /// A list of targets and matchers.
    Expectations,
}

/// The names of keys.
pub(super) fn names(keys: &[Key]) -> Vec<&'static str> {
    keys.iter().map(|key| key.name).collect()
}

/// The names of the modes of `trajectory`.
pub(super) fn modes() -> Vec<&'static str> {
    Mode::NAMES.iter().map(|(name, _)| *name).collect()
}

impl Fallback {
    /// The value, where it is one.
    pub fn value(self) -> Option<Value> {
        match self {
            Self::Value(value) => Some(value()),
            Self::None | Self::Words(_) => None,
        }
    }

    /// For people; empty where it must be given.
    pub fn describe(self) -> String {
        match self {
            Self::None => String::new(),
            Self::Words(words) => words.to_owned(),
            Self::Value(value) => match value() {
                Value::String(text) => text,
                other => other.to_string(),
            },
        }
    }
}

impl Form {
    /// What it takes, for people.
    pub fn describe(self) -> String {
        match self {
            Self::Text => "text".into(),
            Self::Boolean => "boolean".into(),
            Self::Milliseconds(least) => format!("milliseconds, {least} or more"),
            Self::Count(least) => format!("whole number, {least} or more"),
            Self::Share => "number, 0 to 1".into(),
            Self::Names => "list of names".into(),
            Self::Mode => format!("one of {}", modes().join(", ")),
            Self::Shape => {
                "`any`, `ignore`, or one of `exact`, `subset`, `schema`, `one_of`".into()
            }
            Self::Predicates => "map of matchers".into(),
            Self::Limit => "whole number (the most), or `{min, max}`".into(),
            Self::Limits => "map of limits by tool".into(),
            Self::NamesOrMaps(keys) => format!("list of names, or of {}", listed(keys)),
            Self::Maps(keys) => format!("list of {}", listed(keys)),
            Self::Expectations => "list of `{target, matcher}`".into(),
        }
    }
}

fn listed(keys: &[Key]) -> String {
    format!("`{{{}}}`", names(keys).join(", "))
}
