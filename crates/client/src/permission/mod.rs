//! Which tools may be called without being named: those known to only read or compute.
//!
//! One rule for every command. Before it comes the server's list of tools, after it whoever picks a tool to call.
//! What is not known is not called.

mod act;
mod prose;
mod schema;
mod words;

use mcprove_trace::verbs::{Effect, find};
use mcprove_trace::words::fits;
use prose::{Prose, Reading};
use words::is_in;

use crate::prelude::*;

/// The rule in short, for people.
pub const RULE: &str = "\
Which tools are called:
  A tool that is named is called. Of all others only those known to read or compute:
  - readOnlyHint is true, and no word of its name, title or description contradicts that; or
  - it has no readOnlyHint, destructiveHint is not true, its first verb reads (get, list, read, search, find,
    describe, count, show, …) or computes (echo, convert, format, parse, sleep, …), and no word of its name,
    title, description or enum values names a write, in any inflection. `add` computes only if all of its
    arguments are numbers. Arguments that are programs, commands or SQL, or files to write, rule a tool out.
  Hinted or not: a text that is not in English, an order with an unknown verb (\"Honk the horn\"), a warning such as
  \"destructive\" or \"side effects\", and a second tool of the same name that writes rule a tool out.
  Everything else is skipped, and listed with the reason.
";

/// How many characters of texts are read; a tool that says more is not known.
const CHARACTERS_MAX: usize = 100_000;

/// What may be called beyond the rule.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Allowance {
    /// Every tool.
    pub writes: bool,
    /// Tools by their names, in which `*` stands for anything.
    pub names: Vec<String>,
}

/// A tool that was not called, because that might do harm.
#[data(Eq)]
pub struct SkippedTool {
    /// Its name.
    pub name: String,
    /// Why it was not called.
    pub reason: String,
}

/// What decided whether a tool may be called.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Reason {
    /// `readOnlyHint` is true, and nothing contradicts it.
    #[error("readOnlyHint is true")]
    ReadOnlyHint,
    /// Its first verb reads or computes.
    #[error("\"{0}\" only reads or computes")]
    Verb(String),
    /// `destructiveHint` is true.
    #[error("destructiveHint is true")]
    DestructiveHint,
    /// `readOnlyHint` is false.
    #[error("readOnlyHint is false")]
    NotReadOnly,
    /// A word of its name, title or description names a write.
    #[error("may write: \"{word}\" in its {place}")]
    Write {
        /// `name`, `title` or `description`.
        place: &'static str,
        word: String,
    },
    /// A value that an argument can have names a write.
    #[error("may write: {argument} can be \"{value}\"")]
    Act { argument: String, value: String },
    /// An argument is a program to run.
    #[error("runs what {0} says")]
    Program(String),
    /// An argument is a file to write, or to change in place.
    #[error("may write the file that {0} names")]
    Output(String),
    /// Nothing says that it only reads.
    #[error("nothing says that it only reads")]
    NoVerb,
    /// The name or the description is in another language.
    #[error("nothing says in English that it only reads")]
    NotEnglish,
    /// There is too much to read.
    #[error("its description or schema is too long to judge")]
    TooLong,
}

impl Allowance {
    /// Why a tool may not be called; none if it may.
    pub fn refusal(&self, tool: &Tool) -> Option<Reason> {
        let mut names = self.names.iter();
        let is_allowed = self.writes || names.any(|pattern| fits(pattern, &tool.name));
        if is_allowed {
            return None;
        }
        judge(tool).err()
    }
}

/// Tools of one name are called by that name: if one of them may not be called, none may.
pub(crate) fn settle_repeated(tools: &mut [Tool]) {
    let mut seen = BTreeSet::new();
    let repeated: BTreeSet<&String> = tools
        .iter()
        .filter(|tool| !seen.insert(&tool.name))
        .map(|tool| &tool.name)
        .collect();
    let refused = tools
        .iter()
        .filter(|tool| repeated.contains(&tool.name))
        .filter(|tool| judge(tool).is_err());
    let refused: BTreeSet<String> = refused.map(|tool| tool.name.clone()).collect();
    for tool in tools.iter_mut().filter(|tool| refused.contains(&tool.name)) {
        let hints = tool.annotations.get_or_insert_default();
        hints.read_only_hint = Some(false);
    }
}

/// Why a tool that nobody named may be called, or why not.
pub fn judge(tool: &Tool) -> Result<Reason, Reason> {
    let hints = tool.annotations.clone().unwrap_or_default();
    let is_read_only = hints.read_only_hint == Some(true);
    if !is_read_only && hints.destructive_hint == Some(true) {
        return Err(Reason::DestructiveHint);
    }
    if hints.read_only_hint == Some(false) {
        return Err(Reason::NotReadOnly);
    }
    let texts = [
        tool.name.as_str(),
        tool.title.as_deref().unwrap_or_default(),
        hints.title.as_deref().unwrap_or_default(),
        tool.description.as_deref().unwrap_or_default(),
    ];
    if texts.iter().map(|text| text.len()).sum::<usize>() > CHARACTERS_MAX {
        return Err(Reason::TooLong);
    }
    let [name, title, other_title, description] = texts.map(visible);
    let adds = schema::has_numbers_only(&tool.input_schema);
    let saying = words::read_name(&name);
    for (place, saying) in [
        ("name", saying.clone()),
        ("title", words::read_name(&title)),
        ("title", words::read_name(&other_title)),
    ] {
        if let Some((effect, word)) = saying
            && match effect {
                Effect::Writes => true,
                Effect::Adds => !adds,
                Effect::Runs => !is_read_only,
                Effect::Reads | Effect::Computes => false,
            }
        {
            return Err(Reason::Write { place, word });
        }
    }
    let in_name = |word| Reason::Write {
        place: "name",
        word,
    };
    if is_read_only
        && schema::takes_text(&tool.input_schema)
        && let Some(word) = words::runs(&name)
    {
        return Err(in_name(word));
    }
    let reading = Reading {
        is_hinted: is_read_only,
        adds,
    };
    let prose = Prose::new(&description);
    for (place, text) in [
        ("title", &Prose::new(&title)),
        ("title", &Prose::new(&other_title)),
        ("description", &prose),
    ] {
        if let Some(word) = text.write(reading) {
            let word = word.to_owned();
            return Err(Reason::Write { place, word });
        }
    }
    let file = schema::find_file(&tool.input_schema, is_read_only)?;
    if !name.is_ascii() || !prose.is_english() {
        return Err(Reason::NotEnglish);
    }
    if is_read_only {
        return Ok(Reason::ReadOnlyHint);
    }
    let verb = match &saying {
        Some((Effect::Reads | Effect::Computes | Effect::Adds, word)) => word.as_str(),
        _ => prose.reading_verb(adds).ok_or(Reason::NoVerb)?,
    };
    let lemma = find(verb).map_or("", |verb| verb.lemma);
    if let Some(argument) = schema::query(&tool.input_schema).filter(|_| lemma == "query") {
        return Err(Reason::Program(argument));
    }
    if is_in("IN_PLACE", lemma) {
        if let Some(file) = file {
            return Err(Reason::Output(file));
        }
        if schema::names_thing(&tool.input_schema) {
            return Err(in_name(verb.to_owned()));
        }
    }
    Ok(Reason::Verb(verb.to_owned()))
}

/// A text as it is seen: what has no width could split a word.
fn visible(text: &str) -> String {
    let parts_words = |character: char| character.is_control() || character.is_whitespace();
    let is_seen = |it: &char| parts_words(*it) || !mcprove_settings::printable::is_hidden(*it);
    text.chars().filter(is_seen).collect()
}

#[cfg(test)]
mod tests;
