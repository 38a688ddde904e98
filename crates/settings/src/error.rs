//! What is wrong with a file: all of it at once, each with its place, its line and what to try.

use unicode_width::UnicodeWidthStr;

use super::outside;
use crate::message::{Diagnostic, Spelling};
use crate::prelude::*;
use crate::printable::printable;
use crate::tree::COMMAND_LINE;

/// How many problems of one file are shown to people: the first by their places.
pub const ERRORS_MAX: usize = 50;
/// How many problems of one file are kept, for programs.
pub const KEPT_MAX: usize = 2000;
/// How many characters of a line are shown before what is meant.
const EXCERPT_BEFORE: usize = 60;
/// How many columns of a line are shown from there on.
const EXCERPT_AFTER: usize = 60;
/// The longest message or hint that is shown whole.
const MESSAGE_MAX: usize = 500;

/// What to do about more problems than are kept.
const FIX_FIRST: &str = "fix those above first";

/// One problem of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigError {
    /// The file.
    pub file: String,
    /// Where in it; none when the whole file is meant.
    pub place: Option<SourcePlace>,
    /// The line, with what is meant.
    pub excerpt: Option<Excerpt>,
    /// What is wrong.
    pub message: Message,
    /// What to try.
    pub hint: Option<Message>,
    /// What is said of it where nothing of the file may be shown.
    pub gist: &'static str,
    /// Whether that is all that is said of it.
    pub is_hidden: bool,
    /// Whether the file is YAML, so that keys are spelled as there.
    pub is_yaml: bool,
}

/// A place in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct SourcePlace {
    /// The line, from one.
    pub line: usize,
    /// The character in the line, from one.
    pub column: usize,
}

/// A line of a file, fit for a terminal, with what is meant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Excerpt {
    /// The line, or the part of it around what is meant.
    pub text: String,
    /// The columns of a terminal before what is meant.
    pub indent: usize,
    /// The columns that what is meant takes.
    pub width: usize,
}

/// Problems as they are collected.
#[derive(Debug, Default)]
pub(super) struct Problems {
    errors: Vec<ConfigError>,
    left_out: usize,
}

/// Every problem of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigErrors(pub Vec<ConfigError>);

impl ConfigError {
    /// A problem of a file as a whole.
    pub fn of_file(file: &str, message: impl Into<Message>, hint: impl Into<Message>) -> Self {
        Self {
            file: file.to_owned(),
            place: None,
            excerpt: None,
            message: message.into(),
            hint: Some(hint.into()),
            gist: outside::OTHER,
            is_hidden: false,
            is_yaml: false,
        }
    }

    /// The same, with what is said of it where nothing of the file may be shown.
    pub const fn with_gist(mut self, gist: &'static str) -> Self {
        self.gist = gist;
        self
    }

    /// What is wrong and what to try, in the words of its file.
    pub fn texts(&self) -> (String, Option<String>) {
        let (message, hint) = self.messages();
        (message.rendered(), hint.as_ref().map(Message::rendered))
    }

    /// The same with its names.
    pub fn messages(&self) -> (Message, Option<Message>) {
        if self.is_command_line() {
            return (self.message.clone(), self.hint.clone());
        }
        let spelling = if self.is_yaml {
            Spelling::Yaml
        } else {
            Spelling::Toml
        };
        let hint = self.hint.as_ref().map(|hint| hint.fixed(spelling));
        (self.message.fixed(spelling), hint)
    }

    fn is_command_line(&self) -> bool {
        self.file == COMMAND_LINE
    }

    /// The same without its line, which holds a secret.
    pub fn without_excerpt(mut self) -> Self {
        self.excerpt = None;
        self
    }
}

impl ConfigErrors {
    /// This problem alone.
    pub fn of(error: ConfigError) -> Self {
        Self(vec![outside::checked(error)])
    }

    /// What was read, unless something is wrong: then all that is.
    pub fn unless_all<T>(read: impl IntoIterator<Item = Result<T, Self>>) -> Result<Vec<T>, Self> {
        let (mut all, mut errors) = (Vec::new(), Vec::new());
        for one in read {
            match one {
                Ok(one) => all.push(one),
                Err(unusable) => errors.extend(unusable.0),
            }
        }
        if errors.is_empty() {
            Ok(all)
        } else {
            Err(Self(errors))
        }
    }
}

impl Problems {
    /// Takes a problem down; beyond [`KEPT_MAX`] it is only counted.
    pub fn push(&mut self, error: impl FnOnce() -> ConfigError) {
        if self.errors.len() < KEPT_MAX {
            self.errors.push(error());
        } else {
            self.left_out += 1;
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.errors.is_empty()
    }

    /// How many there are, with those that are only counted.
    pub fn count(&self) -> usize {
        self.errors.len() + self.left_out
    }

    /// All of them, in the order of the file.
    pub fn into_errors(mut self, file: &str) -> ConfigErrors {
        // Those of other files, such as one that is named in it, come after its own.
        self.errors.sort_by(|one, other| {
            let is_other = |error: &ConfigError| error.file != file;
            let files = || one.file.cmp(&other.file);
            is_other(one)
                .cmp(&is_other(other))
                .then_with(files)
                .then_with(|| one.place.cmp(&other.place))
        });
        self.errors.dedup();
        if self.left_out > 0 {
            self.errors.push(ConfigError::of_file(
                file,
                format!("{} more problems are not listed", self.left_out),
                FIX_FIRST,
            ));
        }
        ConfigErrors(self.errors.into_iter().map(outside::checked).collect())
    }
}

impl Excerpt {
    /// Of a line: what stands before what is meant, what is meant, and what comes after it.
    pub(super) fn new(before: &str, meant: &str, after: &str) -> Self {
        let cut = before
            .char_indices()
            .rev()
            .take(EXCERPT_BEFORE)
            .last()
            .map_or(0, |(index, _)| index);
        let shown_before = visible(before.get(cut..).unwrap_or_default());
        let mut text = String::from(if cut > 0 { "…" } else { "" });
        text.push_str(&shown_before);
        let indent = text.width();
        let mut room = EXCERPT_AFTER;
        let mut width = 0;
        let characters = meant.chars().map(|character| (character, true));
        for (character, is_meant) in characters.chain(after.chars().map(|other| (other, false))) {
            let shown = visible(character.encode_utf8(&mut [0; 4]));
            let columns = shown.width();
            if columns > room {
                text.push('…');
                break;
            }
            room -= columns;
            width += if is_meant { columns } else { 0 };
            text.push_str(&shown);
        }
        Self {
            text: text.trim_end().to_owned(),
            indent,
            width: width.max(1),
        }
    }
}

/// A text in which no character is left that a terminal would act on, tabs and breaks of lines included.
fn visible(text: &str) -> String {
    text.chars()
        .map(|character| match character {
            '\t' => " ".to_owned(),
            '\u{1b}' | '\r' | '\n' => '\u{fffd}'.to_string(),
            other => printable(other.encode_utf8(&mut [0; 4]), usize::MAX),
        })
        .collect()
}

impl fmt::Display for SourcePlace {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}:{}", self.line, self.column)
    }
}

/// As compilers print it: what, where, the line with a mark below it, what to try.
impl fmt::Display for ConfigError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("error:")?;
        if !self.is_command_line() {
            write!(formatter, " {}:", printable(&self.file, MESSAGE_MAX))?;
        }
        if let Some(place) = &self.place {
            write!(formatter, "{place}:")?;
        }
        let (message, hint) = self.texts();
        write!(formatter, " {}", printable(&message, MESSAGE_MAX))?;
        if let (Some(place), Some(excerpt)) = (&self.place, &self.excerpt) {
            let number = place.line.to_string();
            let gutter = " ".repeat(number.len());
            let indent = " ".repeat(excerpt.indent);
            let mark = "^".repeat(excerpt.width);
            write!(formatter, "\n {gutter} |\n {number} | {}", excerpt.text)?;
            write!(formatter, "\n {gutter} | {indent}{mark}")?;
        }
        if let Some(hint) = hint {
            write!(formatter, "\nhint: {}", printable(&hint, MESSAGE_MAX))?;
        }
        Ok(())
    }
}

/// The first problems of each file, and how many more there are.
impl fmt::Display for ConfigErrors {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut between = "";
        let of_files = self.0.chunk_by(|one, other| one.file == other.file);
        for errors in of_files {
            for error in errors.iter().take(ERRORS_MAX) {
                write!(formatter, "{between}{error}")?;
                between = "\n\n";
            }
            let more = errors.len().saturating_sub(ERRORS_MAX);
            if let (1.., Some(last)) = (more, errors.last()) {
                let message = format!("{more} more problems are not shown");
                let hint = sentence!(
                    "fix those above first{}",
                    command("; ", "validate", " lists all as JSON")
                );
                let more = ConfigError::of_file(&last.file, message, hint);
                write!(formatter, "{between}{more}")?;
            }
        }
        Ok(())
    }
}

/// All of them in one.
impl From<ConfigErrors> for Diagnostic {
    fn from(errors: ConfigErrors) -> Self {
        let all = errors
            .0
            .into_iter()
            .map(|error| (error.message, error.hint));
        let (messages, hints): (Vec<_>, Vec<_>) = all.unzip();
        let hints = hints.into_iter().flatten();
        Self::new(Message::join(messages, "; "), Message::join(hints, "; "))
    }
}

impl std::error::Error for ConfigError {}
impl std::error::Error for ConfigErrors {}
