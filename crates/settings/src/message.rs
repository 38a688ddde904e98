//! A sentence for users. Names and values in it are parts of their own, settings are identities, which a front end
//! spells as flags or as keys; only a renderer can read the text.

use crate::prelude::*;

pub use mcprove_settings_derive::sentence;

use crate::error::{ConfigError, ConfigErrors};
use crate::own_limits::OwnLimit;
use crate::phrase;

/// A sentence for users.
#[derive(Clone, Default, JsonSchema)]
#[schemars(transparent, inline)]
#[must_use]
pub struct Message(#[schemars(with = "String")] Vec<Part>);

/// A part of a sentence.
#[derive(Clone, PartialEq, Eq)]
pub enum Part {
    /// Words.
    Text(Cow<'static, str>),
    /// A name, a value or a command.
    Code(Cow<'static, str>),
    /// A setting, by its name.
    Setting(Cow<'static, str>),
    /// A setting with a value for it.
    Assignment(Cow<'static, str>, Cow<'static, str>),
    /// A table of a file, by its path.
    Section(&'static str),
    /// What only a flag can do, by its setting, with the words before and after it: left out where there are no
    /// flags.
    FlagOnly(&'static str, &'static str, &'static str),
    /// What a command of the program does, with the words before and after it, and the method of the library that
    /// does the same: left out in the library where there is none.
    Command(
        &'static str,
        &'static str,
        &'static str,
        Option<&'static str>,
    ),
}

/// What can fill a hole of a `sentence!`.
pub trait Fill {
    fn fill(&self, parts: &mut Vec<Part>);
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
    /// As the program does: as the flag that a function finds; where it finds none, as a key of YAML or of TOML.
    Program { flag: FlagOf, is_yaml: bool },
}

/// Finds the flag that sets a setting.
pub type FlagOf = &'static (dyn Fn(&str) -> Option<String> + Send + Sync);

/// A name, a value or a command in a sentence.
pub fn code(text: impl Into<Cow<'static, str>>) -> Part {
    Part::Code(text.into())
}

/// A name that a server chose: on one line, and not longer than it is worth.
pub fn name(name: &str) -> Part {
    code(phrase::one_line(name, phrase::NAME_CHARS_MAX))
}

/// `a`, `b` and `c`; the first five, then how many more.
pub fn names<Name: AsRef<str>>(names: &[Name]) -> Message {
    phrase::listed(names, |each| name(each.as_ref()).into())
}

/// A setting in a sentence, by its name.
///
/// ```
/// use mcprove_settings::message::{Spelling, sentence, setting};
///
/// let hint = sentence!("raise {} if it may queue", setting("max_in_flight"));
/// assert_eq!(hint.spelled(Spelling::Toml), "raise `max_in_flight` if it may queue");
/// let flag = &|name: &str| Some(format!("--{}", name.replace('_', "-")));
/// let flags = Spelling::Program { flag, is_yaml: false };
/// assert_eq!(hint.spelled(flags), "raise --max-in-flight if it may queue");
/// ```
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

/// What a command of the program does, such as `schema faults`, with the words before and after it. Only the program
/// says it.
///
/// ```
/// use mcprove_settings::message::{Spelling, command, sentence};
///
/// let hint = sentence!("check the path{}", command("; ", "runs", " lists them"));
/// assert_eq!(hint.rendered(), "check the path");
/// let program = Spelling::Program { flag: &|_| None, is_yaml: false };
/// assert_eq!(hint.spelled(program), "check the path; `mcprove runs` lists them");
/// ```
pub const fn command(before: &'static str, name: &'static str, after: &'static str) -> Part {
    Part::Command(before, name, after, None)
}

/// A command of the program, or the method that does the same for users of the library.
pub const fn command_or(name: &'static str, method: &'static str) -> Part {
    Part::Command("", name, "", Some(method))
}

impl Message {
    /// Without what only a flag can do, where that does not help.
    pub fn without_flags(self) -> Self {
        let is_flag = |part: &Part| matches!(part, Part::FlagOnly(..));
        Self(self.0.into_iter().filter(|part| !is_flag(part)).collect())
    }

    /// Of its parts.
    pub fn from_parts(parts: impl IntoIterator<Item = Part>) -> Self {
        Self(parts.into_iter().collect())
    }

    /// The same with words before it.
    pub fn after(mut self, words: impl Into<Cow<'static, str>>) -> Self {
        self.0.insert(0, Part::Text(words.into()));
        self
    }

    /// The same with words after it.
    pub fn then(mut self, words: impl Into<Cow<'static, str>>) -> Self {
        self.0.push(Part::Text(words.into()));
        self
    }

    /// The same with words, a name or another sentence after it.
    pub fn with(mut self, more: &(impl Fill + ?Sized)) -> Self {
        more.fill(&mut self.0);
        self
    }

    /// Messages in one, with words between them.
    pub fn join(messages: impl IntoIterator<Item = Self>, between: &'static str) -> Self {
        messages
            .into_iter()
            .reduce(|all, message| all.then(between).with(&message))
            .unwrap_or_default()
    }

    /// Whether it says nothing.
    pub fn is_empty(&self) -> bool {
        self.rendered().trim().is_empty()
    }

    /// Whether a value or a name is one of its parts.
    pub fn has(&self, value: &str) -> bool {
        self.0.iter().any(|part| part.words() == Some(value))
    }

    /// Whether it contains another sentence, part by part; the capital and the full stop of that one do not count.
    pub fn includes(&self, other: &Self) -> bool {
        let is_same = |(one, other): (&Part, &Part)| match (one.words(), other.words()) {
            (Some(one), Some(other)) => one.eq_ignore_ascii_case(other),
            _ => one == other,
        };
        let parts = match other.0.as_slice() {
            [parts @ .., Part::Text(stop)] if stop == "." => parts,
            parts => parts,
        };
        let mut runs = self.0.windows(parts.len().max(1));
        runs.any(|run| run.iter().zip(parts).all(is_same))
    }

    /// As a sentence of its own: with a capital and a full stop.
    pub fn whole(mut self) -> Self {
        let is_said = |part: &Part| !matches!(part, Part::Text(text) if text.is_empty());
        self.0.retain(is_said);
        if let Some(Part::Text(first)) = self.0.first_mut() {
            let mut letters = first.trim_start().chars();
            let capital = letters.next().into_iter().flat_map(char::to_uppercase);
            *first = capital.chain(letters).collect();
        }
        if let Some(Part::Text(last)) = self.0.last_mut() {
            *last = last.trim_end().to_owned().into();
        }
        match self.0.last() {
            Some(Part::Text(last)) if last.ends_with(['.', '?', '!', '…']) => self,
            None => self,
            Some(_) => self.then("."),
        }
    }

    /// The same with its settings spelled for good.
    pub fn fixed(&self, spelling: Spelling) -> Self {
        Self(self.spelled_parts(spelling).collect())
    }

    /// The same after a change of its text, such as what takes out secrets.
    pub fn edited(&self, edit: impl FnOnce(&str) -> String) -> Self {
        let text = self.rendered();
        let edited = edit(&text);
        if edited == text {
            self.clone()
        } else {
            Self::read(&edited)
        }
    }

    /// The sentence, with its settings spelled as this process does.
    pub fn rendered(&self) -> String {
        self.spelled(Spelling::own())
    }

    /// The sentence, with its settings spelled. Names stand between more backticks than stand together in them.
    pub fn spelled(&self, spelling: Spelling) -> String {
        let mut text = String::new();
        for part in self.spelled_parts(spelling) {
            match part {
                Part::Code(code) => {
                    let fence = phrase::fence(&code, 1);
                    let pad = if code.contains('`') { " " } else { "" };
                    text.extend([&fence, pad, &code, pad, &fence]);
                }
                Part::Text(words) => text.push_str(&words),
                _ => {}
            }
        }
        text
    }

    /// Of a text as [`Message::spelled`] writes it: what stands between as many backticks on both sides is a name.
    fn read(text: &str) -> Self {
        let ticks: Vec<usize> = text.match_indices('`').map(|(at, _)| at).collect();
        let runs: Vec<Range<usize>> = ticks
            .chunk_by(|one, next| one + 1 == *next)
            .map(|run| run[0]..run[0] + run.len())
            .collect();
        let (mut message, mut from, mut runs) = (Self::default(), 0, runs.iter());
        while let Some(open) = runs.next() {
            let mut later = runs.clone();
            let Some(close) = later.find(|run| run.len() == open.len()) else {
                continue;
            };
            let inside = &text[open.end..close.start];
            let padded = inside.strip_prefix(' ').and_then(|it| it.strip_suffix(' '));
            let name = padded.filter(|name| name.contains('`')).unwrap_or(inside);
            let words = text[from..open.start].to_owned();
            message = message.then(words).with(&code(name.to_owned()));
            (from, runs) = (close.end, later);
        }
        message.then(text[from..].to_owned())
    }

    /// Its words and its names, with settings spelled as this process does.
    pub fn shown(&self) -> impl Iterator<Item = Part> {
        self.spelled_parts(Spelling::own())
    }

    fn spelled_parts(&self, spelling: Spelling) -> impl Iterator<Item = Part> {
        self.0.iter().flat_map(move |part| match part {
            Part::Text(_) | Part::Code(_) => vec![part.clone()],
            Part::Setting(name) => vec![spelling.setting(name)],
            Part::Assignment(name, value) => vec![spelling.assignment(name, value)],
            Part::Section(path) => spelling.section(path),
            Part::FlagOnly(before, name, after) => {
                let flag = spelling.flag(name);
                let said = flag.map(|flag| format!("{before}{flag}{after}").into());
                said.into_iter().collect()
            }
            Part::Command(before, name, after, method) => {
                let name = match method {
                    _ if spelling.is_of_program() => format!("mcprove {name}"),
                    Some(method) => (*method).to_owned(),
                    None => return Vec::new(),
                };
                vec![(*before).into(), code(name), (*after).into()]
            }
        })
    }
}

impl Part {
    fn words(&self) -> Option<&str> {
        match self {
            Self::Text(words) | Self::Code(words) => Some(words),
            _ => None,
        }
    }
}

impl Spelling {
    /// How this process spells settings.
    fn own() -> Self {
        SPELLING.get().copied().unwrap_or(Self::Toml)
    }

    /// Whether the front end has commands: the program, whatever it spells settings as.
    fn is_of_program(self) -> bool {
        let is_program = |it| matches!(it, Self::Program { .. });
        is_program(self) || is_program(Self::own())
    }

    fn flag(self, name: &str) -> Option<String> {
        match self {
            Self::Program { flag, .. } => flag(name),
            _ => None,
        }
    }

    const fn is_yaml(self) -> bool {
        matches!(self, Self::Yaml | Self::Program { is_yaml: true, .. })
    }

    fn setting(self, name: &str) -> Part {
        let flag = self.flag(name).map(Part::from);
        flag.unwrap_or_else(|| code(name.to_owned()))
    }

    fn assignment(self, name: &str, value: &str) -> Part {
        match self.flag(name) {
            Some(flag) => format!("{flag} {value}").into(),
            None if self.is_yaml() => code(format!("{name}: {value}")),
            None => code(format!("{name} = {value}")),
        }
    }

    fn section(self, path: &'static str) -> Vec<Part> {
        if !self.is_yaml() {
            return vec![match path.strip_suffix("[]") {
                Some(path) => format!("[[{path}]]").into(),
                None => format!("[{path}]").into(),
            }];
        }
        match path.trim_end_matches("[]").split_once('.') {
            Some((outer, inner)) => vec![code(inner), " of ".into(), code(outer)],
            None => vec![code(path)],
        }
    }
}

/// Words.
impl<Text: fmt::Display + ?Sized> Fill for Text {
    fn fill(&self, parts: &mut Vec<Part>) {
        parts.push(self.to_string().into());
    }
}

impl Fill for Part {
    fn fill(&self, parts: &mut Vec<Part>) {
        parts.push(self.clone());
    }
}

impl Fill for Message {
    fn fill(&self, parts: &mut Vec<Part>) {
        parts.extend_from_slice(&self.0);
    }
}

impl Fill for &Message {
    fn fill(&self, parts: &mut Vec<Part>) {
        (*self).fill(parts);
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

/// As they are shown: the same text, with the same names.
impl PartialEq for Message {
    fn eq(&self, other: &Self) -> bool {
        let is_name = |part: &Part| matches!(part, Part::Code(_));
        let names = |it: &Self| it.shown().filter(is_name).collect::<Vec<_>>();
        self.rendered() == other.rendered() && names(self) == names(other)
    }
}

impl Eq for Message {}

impl PartialEq<&str> for Message {
    fn eq(&self, text: &&str) -> bool {
        self.rendered() == *text
    }
}

/// As text, with names between backticks.
impl Serialize for Message {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.rendered())
    }
}

impl<'de> Deserialize<'de> for Message {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer).map(|text| Self::read(&text))
    }
}

/// What is reported to a user: where, what happened, and what to try. `Display` is what happened; what to try is
/// [`UserError::hint`].
#[derive(Debug, Clone, Default, PartialEq, Eq, thiserror::Error)]
#[error("{}", self.sentence().rendered())]
pub struct Diagnostic {
    /// Where in what was given: `all_of[1].regex`; empty for the whole of it.
    pub place: String,
    /// What happened.
    pub message: Message,
    /// What to try; empty where there is nothing to say.
    pub hint: Message,
}

/// What is made, or what is reported instead.
pub type DiagnosticResult<T = ()> = Result<T, Diagnostic>;

impl Diagnostic {
    /// With what to try.
    pub fn new(message: impl Into<Message>, hint: impl Into<Message>) -> Self {
        Self {
            message: message.into(),
            hint: hint.into(),
            ..Self::default()
        }
    }

    /// The same, inside something: `not`, `[1]`.
    pub fn inside(mut self, outer: &str) -> Self {
        let is_joined = self.place.is_empty() || self.place.starts_with('[');
        let dot = if is_joined { "" } else { "." };
        self.place = format!("{outer}{dot}{}", self.place);
        self
    }

    /// What happened, with its place.
    pub fn sentence(&self) -> Message {
        match self.place.as_str() {
            "" => self.message.clone(),
            place => sentence!("{place}: {}", self.message),
        }
    }
}

impl<M: Into<Message>> From<M> for Diagnostic {
    fn from(message: M) -> Self {
        Self::new(message, "")
    }
}

/// An error as a user is told it. Any error can have a hint, and an exit code for the command that ends with it.
pub trait UserError: fmt::Display {
    /// The error that it only passes on: what it does not say itself is that one's.
    fn inner(&self) -> Option<&dyn UserError> {
        None
    }
    /// What happened.
    fn text(&self) -> Message {
        self.inner()
            .map_or_else(|| self.to_string().into(), UserError::text)
    }
    /// What to try; empty where there is nothing to say.
    fn hint(&self) -> Message {
        self.inner().map(UserError::hint).unwrap_or_default()
    }
    /// The error and its hint as one text.
    fn in_one_line(&self) -> String {
        let hint = self.hint();
        if hint.is_empty() {
            return self.to_string();
        }
        format!("{self}; {}", hint.rendered())
    }
    /// The exit code: 2, unless it is a finding about a server or an interrupt.
    fn exit_code(&self) -> u8 {
        self.inner().map_or(2, UserError::exit_code)
    }
    /// The problems of files that it is, if it is no other: its text has the word "error", the place and the hint of
    /// each.
    fn list(&self) -> &[ConfigError] {
        self.inner().map_or(&[], UserError::list)
    }
    /// What the server wrote to stderr.
    fn stderr(&self) -> &str {
        self.inner().map_or("", UserError::stderr)
    }
}

impl UserError for Diagnostic {
    fn hint(&self) -> Message {
        self.hint.clone()
    }
}

/// Every problem of a file is written with its own hint.
impl UserError for ConfigErrors {
    fn list(&self) -> &[ConfigError] {
        &self.0
    }
}
impl UserError for serde_json::Error {}

impl UserError for std::io::Error {
    fn hint(&self) -> Message {
        let limit = OwnLimit::of_start(self);
        limit.map_or_else(Message::default, |limit| {
            sentence!("{limit}: {}", limit.hint())
        })
    }
}

/// As text.
impl fmt::Debug for Message {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{:?}", self.rendered())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_read_back_has_the_same_names() {
        for each in ["a", "a`b", "`", "a`", "``a", "a ` `` b", " ` "] {
            let secret = sentence!("{} waits for `b` {}", code(each), setting("c"));
            let text = serde_json::to_string(&secret).unwrap();
            assert_eq!(serde_json::from_str::<Message>(&text).unwrap(), secret);
            let edited = secret.edited(|text| text.replace("waits", "*****"));
            assert!(edited.has(each) && edited.has("b"), "{edited:?}");
        }
        assert_ne!(sentence!("`a` waits"), Message::from("`a` waits"));
        assert_eq!(sentence!("{} waits", "a"), Message::from("a waits"));
    }
}
