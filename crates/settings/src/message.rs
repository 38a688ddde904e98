//! A sentence for users. Settings in it are identities, which a front end spells as flags or as keys; only a
//! renderer can read the text.

use crate::prelude::*;

/// A sentence for users.
#[derive(Clone, Default)]
pub struct Message(Vec<Part>);

/// A part of a sentence.
#[derive(Clone)]
pub enum Part {
    /// Words.
    Text(Cow<'static, str>),
    /// A setting, by its name.
    Setting(Cow<'static, str>),
    /// A setting with a value for it.
    Assignment(Cow<'static, str>, Cow<'static, str>),
    /// A table of a file, by its path.
    Section(&'static str),
    /// What only a flag can do, by its setting, with the words before and after it: left out where there are no
    /// flags.
    FlagOnly(&'static str, &'static str, &'static str),
}

/// How this process spells settings: the program says flags, everyone else gets keys.
static SPELLING: OnceLock<Spelling> = OnceLock::new();

/// Sets how this process spells settings, once, for what it prints and writes.
pub fn spell_as(spelling: Spelling) {
    // A second front end in one process would be a defect; the first stays.
    let _ = SPELLING.set(spelling);
}

/// How settings are spelled.
#[derive(Clone, Copy)]
pub enum Spelling {
    /// As keys of TOML.
    Toml,
    /// As keys of YAML.
    Yaml,
    /// As flags, which a function finds; a setting without one is spelled as a key.
    Flags(fn(&str) -> Option<String>),
}

/// A setting in a sentence, by its name.
pub fn setting(name: &str) -> Part {
    Part::Setting(name.to_owned().into())
}

/// A setting with a value for it.
pub fn assignment(name: &'static str, value: impl Into<Cow<'static, str>>) -> Part {
    Part::Assignment(name.into(), value.into())
}

/// A table of a file, such as `scenario` or `thresholds.tools`.
pub const fn section(path: &'static str) -> Part {
    Part::Section(path)
}

/// That a flag shows the stderr of a server.
pub const fn tee_stderr() -> Part {
    Part::FlagOnly(" (", "tee_stderr", " shows that of a command live)")
}

/// Puts a sentence together from texts and settings.
///
/// ```
/// use mcprove_settings::message::{Spelling, message, setting};
///
/// let hint = message!["raise ", setting("max_in_flight"), " if it may queue"];
/// assert_eq!(hint.spelled(Spelling::Toml), "raise `max_in_flight` if it may queue");
/// let flags = Spelling::Flags(|name| Some(format!("--{}", name.replace('_', "-"))));
/// assert_eq!(hint.spelled(flags), "raise --max-in-flight if it may queue");
/// ```
#[macro_export]
macro_rules! message {
    ($($part:expr),* $(,)?) => {
        $crate::message::Message::from_parts([$(::core::convert::Into::<$crate::message::Part>::into($part)),*])
    };
}
pub use crate::message;

impl Message {
    /// Of its parts.
    pub fn from_parts(parts: impl IntoIterator<Item = Part>) -> Self {
        Self(parts.into_iter().collect())
    }

    /// The same with words before it.
    #[must_use]
    pub fn after(mut self, words: impl Into<Cow<'static, str>>) -> Self {
        self.0.insert(0, Part::Text(words.into()));
        self
    }

    /// The same with words after it.
    #[must_use]
    pub fn then(mut self, words: impl Into<Cow<'static, str>>) -> Self {
        self.0.push(Part::Text(words.into()));
        self
    }

    /// The same with another sentence after it.
    #[must_use]
    pub fn and(mut self, other: &Self) -> Self {
        self.0.extend(other.0.iter().cloned());
        self
    }

    /// Whether it says nothing.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The sentence, with its settings spelled as this process does.
    pub fn text(&self) -> String {
        self.spelled(SPELLING.get().copied().unwrap_or(Spelling::Toml))
    }

    /// The sentence, with its settings spelled.
    pub fn spelled(&self, spelling: Spelling) -> String {
        let parts = self.0.iter().map(|part| match part {
            Part::Text(text) => text.to_string(),
            Part::Setting(name) => spelling.setting(name),
            Part::Assignment(name, value) => spelling.assignment(name, value),
            Part::Section(path) => spelling.section(path),
            Part::FlagOnly(before, name, after) => match spelling {
                Spelling::Flags(flag) => {
                    flag(name).map_or_else(String::new, |flag| format!("{before}{flag}{after}"))
                }
                _ => String::new(),
            },
        });
        parts.collect()
    }
}

impl Spelling {
    fn setting(self, name: &str) -> String {
        match self {
            Self::Flags(flag) => flag(name).unwrap_or_else(|| Self::Toml.setting(name)),
            _ => format!("`{name}`"),
        }
    }

    fn assignment(self, name: &str, value: &str) -> String {
        match self {
            Self::Toml => format!("`{name} = {value}`"),
            Self::Yaml => format!("`{name}: {value}`"),
            Self::Flags(flag) => flag(name).map_or_else(
                || Self::Toml.assignment(name, value),
                |flag| format!("{flag} {value}"),
            ),
        }
    }

    fn section(self, path: &str) -> String {
        match self {
            Self::Toml => match path.strip_suffix("[]") {
                Some(path) => format!("[[{path}]]"),
                None => format!("[{path}]"),
            },
            Self::Yaml | Self::Flags(_) => match path.trim_end_matches("[]").split_once('.') {
                Some((outer, inner)) => format!("`{inner}` of `{outer}`"),
                None => format!("`{path}`"),
            },
        }
    }
}

impl<Text: Into<Cow<'static, str>>> From<Text> for Part {
    fn from(text: Text) -> Self {
        Self::Text(text.into())
    }
}

impl<Words: Into<Part>> From<Words> for Message {
    fn from(words: Words) -> Self {
        Self(vec![words.into()])
    }
}

impl PartialEq for Message {
    fn eq(&self, other: &Self) -> bool {
        self.text() == other.text()
    }
}

impl Eq for Message {}

/// As text.
impl Serialize for Message {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.text())
    }
}

impl<'de> Deserialize<'de> for Message {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer).map(Self::from)
    }
}

impl JsonSchema for Message {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Message".into()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        String::json_schema(generator)
    }
}

/// What is reported to a user: what happened, and what to try.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnostic {
    /// What happened.
    pub message: Message,
    /// What to try.
    pub hint: Option<Message>,
}

impl Diagnostic {
    /// With what to try.
    pub fn new(message: impl Into<Message>, hint: impl Into<Message>) -> Self {
        Self {
            message: message.into(),
            hint: Some(hint.into()),
        }
    }
}

impl<M: Into<Message>> From<M> for Diagnostic {
    fn from(message: M) -> Self {
        Self {
            message: message.into(),
            hint: None,
        }
    }
}

/// What happened, then what to try.
impl fmt::Display for Diagnostic {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.message.text())?;
        match &self.hint {
            Some(hint) => write!(formatter, "; {}", hint.text()),
            None => Ok(()),
        }
    }
}

/// As text.
impl fmt::Debug for Message {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{:?}", self.text())
    }
}
