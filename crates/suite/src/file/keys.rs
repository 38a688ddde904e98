//! Every section of a suite and every key of it: its form, its default, what it does. The reader, the JSON
//! Schema and the tables in the documents are made from these.

mod agents;
mod servers;
mod tests_of_tools;
mod top;

use mcprove_check::negative_path::Probe;
use mcprove_settings::common_keys::CommonKey;

pub use agents::{AGENT, BUDGET, PROVIDER};
pub use servers::SERVER;
pub use tests_of_tools::{LOAD, NEGATIVE_PATH, TOOL};
pub use top::PROVIDERS;
pub use top::{DEFAULTS, SUITE};

/// A table of a suite.
#[derive(Debug, Clone, Copy)]
pub struct Section {
    /// Its name in the JSON Schema.
    pub name: &'static str,
    /// Where it stands, for people.
    pub title: &'static str,
    /// What it is.
    pub explanation: &'static str,
    /// What is in it.
    pub keys: &'static [Key],
}

/// A key of a table.
#[derive(Debug, Clone, Copy)]
pub struct Key {
    /// The name, with `_`; `-` is accepted too.
    pub name: &'static str,
    /// What it takes.
    pub form: Form,
    /// What it is when it is not given; empty where it must be given, or where there is nothing then.
    pub default: &'static str,
    /// What it does.
    pub explanation: &'static str,
}

/// What a key takes.
#[derive(Debug, Clone, Copy)]
pub enum Form {
    /// A text that is not empty.
    Text,
    /// A list of texts.
    Texts,
    /// A list of texts that are not empty, at least one.
    Prompts,
    /// Texts by name.
    TextTable,
    /// A program and its arguments: one text, or a list.
    Command,
    /// True or false.
    Boolean,
    /// A text that says why, or false.
    Reason,
    /// A whole number in this range.
    Count(u64, u64),
    /// A number in this range.
    Range(u32, u32),
    /// A whole number of milliseconds, from one up.
    Milliseconds,
    /// A time of more than zero, with its unit.
    Time,
    /// A time, with its unit.
    TimeOrZero,
    /// A number of bytes, or a text with a unit.
    Size,
    /// One of these.
    OneOf(&'static [&'static str]),
    /// A list of names.
    Names,
    /// A name, or a list of names.
    NameOrNames,
    /// A map of anything.
    Map,
    /// A list of faults.
    Faults,
    /// One fault, or a list of them.
    FaultOrFaults,
    /// A list of targets and matchers.
    Expectations,
    /// A list of bad requests.
    Checks,
    /// A table.
    Table(&'static Section),
    /// A name, or a table.
    NameOrTable(&'static [&'static str], &'static Section),
    /// A list of tables.
    Tables(&'static Section),
    /// Tables by name.
    TablesByName(&'static Section),
    /// As the section of this name of a load configuration.
    Load(&'static str),
}

/// Every table, in the order in which they are explained.
pub const SECTIONS: &[&Section] = &[
    &SUITE,
    &SERVER,
    &TOOL,
    &NEGATIVE_PATH,
    &AGENT,
    &PROVIDER,
    &BUDGET,
    &LOAD,
    &DEFAULTS,
];

const fn key(
    name: &'static str,
    form: Form,
    default: &'static str,
    explanation: &'static str,
) -> Key {
    Key {
        name,
        form,
        default,
        explanation,
    }
}

/// A key that other formats have too.
const fn common(key: &CommonKey, form: Form) -> Key {
    Key {
        name: key.name,
        form,
        default: key.default,
        explanation: key.explanation,
    }
}

/// The names of the keys of a table.
pub(super) fn names(section: &Section) -> Vec<&'static str> {
    section.keys.iter().map(|key| key.name).collect()
}

/// The names of the bad requests.
pub(super) fn checks() -> Vec<&'static str> {
    Probe::ALL.iter().map(|(name, _)| *name).collect()
}

impl Form {
    /// What it takes, for people.
    pub fn describe(self) -> String {
        match self {
            Self::Text => "text".into(),
            Self::Texts => "list of texts".into(),
            Self::Prompts => "list of texts, at least one".into(),
            Self::TextTable => "map of texts".into(),
            Self::Command => "text, or list of texts".into(),
            Self::Boolean => "boolean".into(),
            Self::Reason => "text, or false".into(),
            Self::Count(least, most) => format!("whole number, {least} to {most}"),
            Self::Range(least, most) => format!("number, {least} to {most}"),
            Self::Milliseconds => "milliseconds, 1 or more".into(),
            Self::Time => "duration, more than 0".into(),
            Self::TimeOrZero => "duration".into(),
            Self::Size => "number of bytes, or text such as 64KiB".into(),
            Self::OneOf(names) => format!("one of {}", names.join(", ")),
            Self::Names => "list of names".into(),
            Self::NameOrNames => "name, or list of names".into(),
            Self::Map => "map".into(),
            Self::Faults => "list of [faults](faults.md)".into(),
            Self::FaultOrFaults => "[fault](faults.md), or list of them".into(),
            Self::Expectations => "list of `{target, matcher}`".into(),
            Self::Checks => format!("list of {}", checks().join(", ")),
            Self::Table(section) => format!("[map]({})", section.anchor()),
            Self::NameOrTable(names, section) => {
                format!(
                    "one of {}, or [map]({})",
                    names.join(", "),
                    section.anchor()
                )
            }
            Self::Tables(section) => format!("list of [maps]({})", section.anchor()),
            Self::TablesByName(section) => format!("map of [maps]({}), by name", section.anchor()),
            Self::Load(name) => format!("as [{name}] of a [load configuration](load-config.md)"),
        }
    }
}

impl Section {
    /// Where it is explained in the documents.
    fn anchor(&self) -> String {
        let kept = self.title.chars().filter_map(|letter| match letter {
            ' ' => Some('-'),
            letter if letter.is_alphanumeric() || "-_".contains(letter) => {
                Some(letter.to_ascii_lowercase())
            }
            _ => None,
        });
        format!("#{}", kept.collect::<String>())
    }
}
