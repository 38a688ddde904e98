//! Every key of a load configuration: its form, its default, what it does and which scenarios have
//! it. The reader, the JSON Schema and the table in the documents are made from these.

mod scenario;
mod settings;

use mcprove_settings::common_keys::CommonKey;
use scenario::SCENARIO;
use settings::{OUTPUT, SERVER, SESSION, THRESHOLDS};

pub use scenario::{PATTERN, STEP, TOOL_CALL};
pub use settings::TOOL_THRESHOLDS;

/// The most calls, sessions or repetitions of anything at once.
pub(crate) const COUNT_MAX: u32 = 100_000;
/// The most calls in all.
pub(crate) const CALLS_MAX: u64 = 1_000_000_000_000;
/// The most calls per second that can be asked for.
pub(crate) const RATE_MAX: f64 = 1e6;

/// One key.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Key {
    /// The name.
    pub name: &'static str,
    /// What it takes.
    pub form: Form,
    /// What it is when it is not given, in words or as a value.
    pub default: &'static str,
    /// What it does.
    pub explanation: &'static str,
    /// The scenarios that have it; empty means all.
    pub scenarios: &'static [&'static str],
}

/// What a key takes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Form {
    /// A text.
    Text,
    /// A text, or a list of texts.
    Command,
    /// A list of texts.
    Texts,
    /// Texts by name.
    TextTable,
    /// A time of more than zero.
    Time,
    /// A time, or zero.
    TimeOrZero,
    /// A time, or for `cold_start` true or false.
    Warmup,
    /// A whole number from 1 to [`COUNT_MAX`].
    Count,
    /// A whole number from 1 to [`CALLS_MAX`].
    Calls,
    /// A whole number from 0 up.
    CountOrZero,
    /// A whole number from 0 up, or a text of digits.
    Seed,
    /// A number of more than 0, at most [`RATE_MAX`].
    Rate,
    /// A number from 0 up.
    NotNegative,
    /// A number from 1 up.
    Factor,
    /// A number from 0 to 1.
    Share,
    /// A number of more than 0 and less than 1.
    OpenShare,
    /// True or false.
    Boolean,
    /// A number of bytes, or a text with a unit.
    Size,
    /// One of these.
    OneOf(&'static [&'static str]),
    /// A list of these.
    SomeOf(&'static [&'static str]),
    /// A table, or JSON in a text.
    Arguments,
    /// A list of tables.
    Tables(&'static [Key]),
    /// A list of steps, each a table with these keys.
    Steps(&'static [Key]),
    /// A table with any names, each a table with these keys.
    TablesByName(&'static [Key]),
}

/// A table of the file.
#[derive(Debug, Clone, Copy)]
pub struct SectionKeys {
    /// Its name.
    pub name: &'static str,
    /// What it is for.
    pub explanation: &'static str,
    /// What is in it.
    pub keys: &'static [Key],
}

/// The tables of the file, in order.
pub const SECTIONS: &[SectionKeys] = &[
    SectionKeys {
        name: "server",
        explanation: "the server under test: a command to start, or an address",
        keys: SERVER,
    },
    SectionKeys {
        name: "scenario",
        explanation: "what is done to it",
        keys: SCENARIO,
    },
    SectionKeys {
        name: "thresholds",
        explanation: "what it must keep to; what is not given is not checked",
        keys: THRESHOLDS,
    },
    SectionKeys {
        name: "session",
        explanation: "how it is spoken to",
        keys: SESSION,
    },
    SectionKeys {
        name: "output",
        explanation: "what is written and shown",
        keys: OUTPUT,
    },
];

/// The transports.
pub const TRANSPORTS: &[&str] = &["stdio", "http", "sse", "ws"];
/// The revisions of the protocol, and `auto`.
pub const PROTOCOLS: &[&str] = &[
    "auto",
    "2024-11-05",
    "2025-03-26",
    "2025-06-18",
    "2025-11-25",
    "2026-07-28",
];
/// What a failed step of a pattern leads to.
pub(crate) const ERROR_BEHAVIORS: &[&str] = &["continue", "abort", "stop"];
/// The reports.
pub(crate) const FORMATS: &[&str] = &["markdown", "json", "terminal", "html"];

/// Every scenario.
pub(crate) const SCENARIOS: &[&str] = &[
    "cold_start",
    "sustained",
    "spike",
    "ramp",
    "soak",
    "pattern",
    "deadlock_probe",
    "race_check",
    "fuzzer",
    "slow_mix",
    "reconnect",
    "churn",
    "early_call",
    "interrupted_call",
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
        scenarios: &[],
    }
}

/// A key that other formats have too.
const fn common(key: &CommonKey, form: Form) -> Key {
    Key {
        name: key.name,
        form,
        default: key.default,
        explanation: key.explanation,
        scenarios: &[],
    }
}

const fn knob(
    name: &'static str,
    form: Form,
    default: &'static str,
    explanation: &'static str,
    scenarios: &'static [&'static str],
) -> Key {
    Key {
        name,
        form,
        default,
        explanation,
        scenarios,
    }
}

/// The keys of a section.
pub(crate) fn section(name: &str) -> &'static [Key] {
    SECTIONS
        .iter()
        .find(|section| section.name == name)
        .map_or(&[], |section| section.keys)
}

/// The names of keys.
pub fn names(keys: &[Key]) -> Vec<&'static str> {
    keys.iter().map(|key| key.name).collect()
}

impl Key {
    /// Whether a scenario has this knob.
    pub fn is_of(&self, scenario: &str) -> bool {
        self.scenarios.is_empty() || self.scenarios.contains(&scenario)
    }
}

impl Form {
    /// What it takes, for people.
    pub fn describe(self) -> String {
        let any_of = |names: &[&str]| names.join(", ");
        match self {
            Self::Text => "text".into(),
            Self::Command => "text, or list of texts".into(),
            Self::Texts => "list of texts".into(),
            Self::TextTable => "table of texts".into(),
            Self::Time => "duration, more than 0".into(),
            Self::TimeOrZero => "duration".into(),
            Self::Warmup => "duration, or boolean".into(),
            Self::Count => format!("whole number, 1 to {COUNT_MAX}"),
            Self::Calls => "whole number from 1 up".into(),
            Self::CountOrZero => "whole number from 0 up".into(),
            Self::Seed => "whole number, or text of digits".into(),
            Self::Rate => "number, more than 0".into(),
            Self::NotNegative => "number from 0 up".into(),
            Self::Factor => "number from 1 up".into(),
            Self::Share => "number, 0 to 1".into(),
            Self::OpenShare => "number between 0 and 1".into(),
            Self::Boolean => "boolean".into(),
            Self::Size => "number of bytes, or text such as 64KiB".into(),
            Self::OneOf(names) => format!("one of {}", any_of(names)),
            Self::SomeOf(names) => format!("list of {}", any_of(names)),
            Self::Arguments => "table, or JSON in a text".into(),
            Self::Tables(_) => "list of tables".into(),
            Self::Steps(_) => "list of steps".into(),
            Self::TablesByName(_) => "table of tables, by name".into(),
        }
    }
}
