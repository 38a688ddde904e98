//! Which tools may be called without being named: those known to only read or compute.
//!
//! One rule for every command. Before it comes the server's list of tools, after it whoever picks a tool to call.
//! What is not known is not called.

mod act;
mod name;
mod prose;
mod schema;
mod sentences;

use std::collections::BTreeSet;
use std::fmt;

use mcprove_trace::protocol::Tool;
use mcprove_trace::words::{fits, tokens};
use name::Saying;
use prose::{Prose, Reading, is_in};
use schema::Clue;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

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
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SkippedTool {
    /// Its name.
    pub name: String,
    /// Why it was not called.
    pub reason: String,
}

/// Whether a tool may be called, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Permission {
    /// Whether it may.
    pub may_call: bool,
    /// What decided.
    pub reason: Reason,
}

/// What decided whether a tool may be called.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reason {
    /// The user allows it.
    Allowed,
    /// `readOnlyHint` is true, and nothing contradicts it.
    ReadOnlyHint,
    /// Its first verb reads or computes.
    Verb(String),
    /// `destructiveHint` is true.
    DestructiveHint,
    /// `readOnlyHint` is false.
    NotReadOnly,
    /// A word of its name, title or description names a write.
    Write {
        /// `name`, `title` or `description`.
        place: &'static str,
        /// The word.
        word: String,
    },
    /// A value that an argument can have names a write.
    Act {
        /// The argument.
        argument: String,
        /// The value.
        value: String,
    },
    /// An argument is a program to run.
    Program(String),
    /// An argument is a file to write, or to change in place.
    Output(String),
    /// Nothing says that it only reads.
    NoVerb,
    /// The name or the description is in another language.
    NotEnglish,
    /// There is too much to read.
    TooLong,
}

impl fmt::Display for Reason {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Allowed => formatter.write_str("allowed"),
            Self::ReadOnlyHint => formatter.write_str("readOnlyHint is true"),
            Self::Verb(word) => write!(formatter, "\"{word}\" only reads or computes"),
            Self::DestructiveHint => formatter.write_str("destructiveHint is true"),
            Self::NotReadOnly => formatter.write_str("readOnlyHint is false"),
            Self::Write { place, word } => {
                write!(formatter, "may write: \"{word}\" in its {place}")
            }
            Self::Act { argument, value } => {
                write!(formatter, "may write: {argument} can be \"{value}\"")
            }
            Self::Program(argument) => write!(formatter, "runs what {argument} says"),
            Self::Output(argument) => write!(formatter, "may write the file that {argument} names"),
            Self::NoVerb => formatter.write_str("nothing says that it only reads"),
            Self::NotEnglish => formatter.write_str("nothing says in English that it only reads"),
            Self::TooLong => formatter.write_str("its description or schema is too long to judge"),
        }
    }
}

impl Allowance {
    /// Whether a tool may be called.
    pub fn judge(&self, tool: &Tool) -> Permission {
        let is_named = || self.names.iter().any(|pattern| fits(pattern, &tool.name));
        if self.writes || is_named() {
            return Permission {
                may_call: true,
                reason: Reason::Allowed,
            };
        }
        judge(tool)
    }

    /// Why a tool may not be called; none if it may.
    pub fn refusal(&self, tool: &Tool) -> Option<Reason> {
        let permission = self.judge(tool);
        (!permission.may_call).then_some(permission.reason)
    }
}

/// Whether a tool may be called that nobody named.
pub fn judge(tool: &Tool) -> Permission {
    match allow(tool) {
        Ok(reason) => Permission {
            may_call: true,
            reason,
        },
        Err(reason) => Permission {
            may_call: false,
            reason,
        },
    }
}

/// Tools of one name are called by that name: if one of them may not be called, none may.
pub(crate) fn settle_repeated(tools: &mut [Tool]) {
    let mut seen = BTreeSet::new();
    let again = tools.iter().filter(|tool| !seen.insert(&tool.name));
    let repeated: BTreeSet<&String> = again.map(|tool| &tool.name).collect();
    let is_refused = |tool: &&Tool| repeated.contains(&tool.name) && !judge(tool).may_call;
    let refused = tools
        .iter()
        .filter(is_refused)
        .map(|tool| tool.name.clone());
    let refused: BTreeSet<String> = refused.collect();
    for tool in tools.iter_mut().filter(|tool| refused.contains(&tool.name)) {
        let hints = tool.annotations.get_or_insert_default();
        hints.read_only_hint = Some(false);
    }
}

/// The reason to call, or the reason not to.
fn allow(tool: &Tool) -> Result<Reason, Reason> {
    let hints = tool.annotations.clone().unwrap_or_default();
    let is_read_only = hints.read_only_hint == Some(true);
    if !is_read_only && hints.destructive_hint == Some(true) {
        return Err(Reason::DestructiveHint);
    }
    if hints.read_only_hint == Some(false) {
        return Err(Reason::NotReadOnly);
    }
    let texts = [
        Some(&tool.name),
        tool.title.as_ref(),
        hints.title.as_ref(),
        tool.description.as_ref(),
    ];
    if texts.iter().flatten().map(|text| text.len()).sum::<usize>() > CHARACTERS_MAX {
        return Err(Reason::TooLong);
    }
    let [name, title, other_title, description] = texts.map(|text| text.map(|text| visible(text)));
    let name = name.unwrap_or_default();
    let saying = name::read(&name);
    let is_amount = |word: &String| is_in("account amount id item quantity user", word);
    let adds = schema::has_numbers_only(&tool.input_schema)
        && !arguments(&tool.input_schema).any(|(name, _)| name.iter().any(is_amount));
    for (place, saying) in [
        ("name", Some(saying.clone())),
        ("title", title.as_deref().map(name::read)),
        ("title", other_title.as_deref().map(name::read)),
    ] {
        match saying {
            Some(Saying::Writes(word)) => return Err(Reason::Write { place, word }),
            Some(Saying::Adds(word)) if !adds => return Err(Reason::Write { place, word }),
            Some(Saying::Runs(word)) if !is_read_only => {
                return Err(Reason::Write { place, word });
            }
            _ => {}
        }
    }
    if let Some(word) = name::runs(&name).filter(|_| is_read_only && takes_text(&tool.input_schema))
    {
        return Err(Reason::Write {
            place: "name",
            word,
        });
    }
    let reading = Reading {
        is_hinted: is_read_only,
        adds,
    };
    let [title, other_title, prose] = [title, other_title, description]
        .map(|text| Prose::new(text.as_deref().unwrap_or_default()));
    for (place, text) in [
        ("title", &title),
        ("title", &other_title),
        ("description", &prose),
    ] {
        if let Some(word) = text.write(reading) {
            let word = word.to_owned();
            return Err(Reason::Write { place, word });
        }
    }
    let clue = schema::clue(&tool.input_schema, is_read_only);
    match clue.clone() {
        Some(Clue::Act { argument, value }) => return Err(Reason::Act { argument, value }),
        Some(Clue::Program(argument)) => return Err(Reason::Program(argument)),
        Some(Clue::Output(argument)) => return Err(Reason::Output(argument)),
        Some(Clue::TooLarge) => return Err(Reason::TooLong),
        Some(Clue::File(_)) | None => {}
    }
    if !name.is_ascii() || !prose.is_english() {
        return Err(Reason::NotEnglish);
    }
    if is_read_only {
        return Ok(Reason::ReadOnlyHint);
    }
    let verb = match &saying {
        Saying::Reads(word) | Saying::Adds(word) => word.as_str(),
        _ => prose.reading_verb(adds).ok_or(Reason::NoVerb)?,
    };
    let is_query = mcprove_trace::verbs::find(verb).is_some_and(|verb| verb.lemma == "query");
    if let Some(argument) = schema::query(&tool.input_schema).filter(|_| is_query) {
        return Err(Reason::Program(argument.to_owned()));
    }
    match clue {
        Some(Clue::File(argument)) if changes_in_place(verb) => Err(Reason::Output(argument)),
        _ if changes_in_place(verb) && names_thing(&tool.input_schema) => Err(Reason::Write {
            place: "name",
            word: verb.to_owned(),
        }),
        _ => Ok(Reason::Verb(verb.to_owned())),
    }
}

/// The arguments of a tool, each with its words and its schema.
fn arguments(schema: &Value) -> impl Iterator<Item = (Vec<String>, &Value)> {
    let properties = schema.get("properties").and_then(Value::as_object);
    let arguments = properties.into_iter().flatten();
    arguments.map(|(name, schema)| (tokens(name), schema))
}

/// Whether an argument is a text that may be a program.
fn takes_text(schema: &Value) -> bool {
    const NAMING: &str =
        "id ids name names url uri path date type format namespace cursor region project";
    arguments(schema).any(|(name, schema)| {
        let is_text = schema.get("type").is_none_or(|kind| kind == "string");
        let is_name = name.last().is_some_and(|word| is_in(NAMING, word));
        is_text && !is_name && schema.get("enum").is_none() && schema.get("const").is_none()
    })
}

/// Whether an argument names a thing that the server keeps, such as a layer or a range of a sheet.
fn names_thing(schema: &Value) -> bool {
    arguments(schema).any(|(name, _)| {
        let is_thing = |word: &String| is_in("range layer track object selection line", word);
        name.iter().any(is_thing) || (name.len() > 1 && name.ends_with(&["id".to_owned()]))
    })
}

/// A text as it is seen: what has no width could split a word.
fn visible(text: &str) -> String {
    let parts_words = |character: char| character.is_control() || character.is_whitespace();
    let is_seen = |it: &char| parts_words(*it) || !mcprove_settings::printable::is_hidden(*it);
    text.chars().filter(is_seen).collect()
}

/// Whether a verb that computes changes a file that it is given: `format_file`.
fn changes_in_place(verb: &str) -> bool {
    matches!(
        mcprove_trace::verbs::find(verb).map(|verb| verb.lemma),
        Some(
            "format"
                | "convert"
                | "sort"
                | "normalize"
                | "transform"
                | "encode"
                | "decode"
                | "extract"
                | "filter"
                | "round"
        )
    )
}

#[cfg(test)]
mod tests;
