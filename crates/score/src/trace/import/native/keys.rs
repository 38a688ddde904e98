//! The keys of `agent-trace.v1` that nobody reads. One that is most likely another key, written in
//! another way, is an error: what stands there would be lost, and a score could rest on its absence.
//! Any other is told and left out.

use std::collections::{BTreeMap, BTreeSet};

use serde::de::{Deserialize, Deserializer, Error, Visitor, value};
use serde::forward_to_deserialize_any;
use serde_ignored::Path;
use serde_json::value::RawValue;

use super::super::ImportError;
use super::super::document::{Document, Element, Outline};
use super::super::few::many;
use super::Trace;
use crate::phrase;
use crate::registry::nearest;
use crate::trace::{
    AgentRun, Conversation, FaultMark, Retry, Tokens, ToolCall, ToolHints, ToolResult, Turn,
};

/// Characters from which on a slip is told from another word.
const SLIP_CHARS_MIN: usize = 5;

/// Different keys of one kind of object that are told apart.
const NAMES_MAX: usize = 100;

/// A kind of object of the format.
struct Kind {
    /// The key under which it stands.
    at: &'static str,
    /// What it is: `a call`.
    noun: &'static str,
    keys: fn() -> &'static [&'static str],
    /// Names that other formats have for a key. Without a key, they may stand there though nobody
    /// reads them.
    other_names: &'static [(&'static str, &'static str)],
}

const fn kind<Read: for<'de> Deserialize<'de>>(
    at: &'static str,
    noun: &'static str,
    other_names: &'static [(&'static str, &'static str)],
) -> Kind {
    Kind {
        at,
        noun,
        keys: keys::<Read>,
        other_names,
    }
}

static KINDS: [Kind; 10] = [
    kind::<Trace>("", "a trace", &[("", "schema $schema")]),
    kind::<AgentRun>(
        "runs",
        "a run",
        &[
            // Of a run that is the whole trace.
            ("", "schema $schema"),
            ("tool_calls", "calls"),
            ("tool_results", "results"),
            ("final_response", "response answer final_answer"),
            ("passed", "success pass"),
            ("conversation.stop_reason", "stop_reason"),
            ("conversation.duration_ms", "duration_ms"),
            ("conversation.tokens", "tokens"),
            ("conversation.turns", "turns"),
        ],
    ),
    kind::<ToolCall>(
        "tool_calls",
        "a call",
        &[
            ("name", "tool tool_name function function_name"),
            (
                "args",
                "arg argument arguments input inputs params parameters",
            ),
            ("server", "server_name server_label"),
        ],
    ),
    kind::<ToolHints>(
        "annotations",
        "the annotations of a tool",
        &[("", "destructiveHint openWorldHint title")],
    ),
    kind::<ToolResult>(
        "tool_results",
        "a result",
        &[
            ("call_index", "call index"),
            ("result", "output content response value"),
        ],
    ),
    kind::<Conversation>(
        "conversation",
        "a conversation",
        &[
            ("stop_reason", "finish_reason end_reason"),
            ("duration_ms", "duration elapsed_ms"),
            ("tokens", "usage"),
            ("turns", "messages"),
        ],
    ),
    kind::<Tokens>(
        "tokens",
        "tokens",
        &[
            ("prompt", "input input_tokens prompt_tokens"),
            ("completion", "output output_tokens completion_tokens"),
            ("total", "total_tokens"),
        ],
    ),
    kind::<Turn>(
        "turns",
        "a turn",
        &[("text", "content message"), ("role", "speaker author")],
    ),
    kind::<Retry>(
        "retries",
        "a retry",
        &[("answer", "turn"), ("status", "code"), ("message", "error")],
    ),
    kind::<FaultMark>(
        "faults",
        "a fault",
        &[
            ("call_index", "call index"),
            ("delay_ms", "delay"),
            ("detected_ms", "detected detected_at detection_ms"),
            ("recovered_ms", "recovered recovered_at recovery_ms"),
        ],
    ),
];

impl Kind {
    /// The key that is most likely meant by another one; empty where the other one may stand there.
    fn meant(&self, key: &str) -> Option<&'static str> {
        let bare = bare(key);
        let known = || (self.keys)().iter().copied();
        let is_other = |others: &str| others.split(' ').any(|other| self::bare(other) == bare);
        let mut others = self.other_names.iter();
        known()
            .find(|name| self::bare(name) == bare)
            .or_else(|| Some(others.find(|(_, names)| is_other(names))?.0))
            .or_else(|| {
                let is_long = key.chars().count() >= SLIP_CHARS_MIN;
                is_long.then(|| nearest(known(), key)).flatten()
            })
    }
}

/// A key without what spelling adds to it: `isError`, `is-error` and `IS_ERROR` are one.
fn bare(key: &str) -> String {
    key.replace(['_', '-', ' '], "").to_lowercase()
}

/// The unknown keys of a file.
#[derive(Default)]
pub(super) struct UnknownKeys {
    kinds: BTreeMap<&'static str, UnknownKeysOf>,
    /// The first that is most likely another key.
    pub(super) slip: Option<ImportError>,
}

/// The unknown keys of all objects of one kind.
#[derive(Default)]
struct UnknownKeysOf {
    names: BTreeSet<String>,
    count: usize,
    first: String,
}

impl UnknownKeys {
    /// Adds a key that was not read; `root` is the key under which the value of the file would stand.
    pub(super) fn add(
        &mut self,
        document: &Document<'_>,
        element: &Element<'_>,
        root: &str,
        path: &Path<'_>,
    ) {
        let way = way(path);
        let Some((Step::Key(key), parents)) = way.split_last() else {
            return;
        };
        let at = parents.iter().rev().find_map(|step| match step {
            Step::Key(key) => Some(key.as_str()),
            Step::Index(_) => None,
        });
        let at = at.unwrap_or(root);
        let Some(kind) = KINDS.iter().find(|kind| kind.at == at) else {
            return;
        };
        let mut of_kind = self.kinds.get_mut(kind.noun);
        if let Some(known) = of_kind.as_mut()
            && (known.names.len() == NAMES_MAX || known.names.contains(key))
        {
            known.count += 1;
            return;
        }
        let meant = kind.meant(key);
        if meant == Some("") {
            return;
        }
        if let Some(meant) = meant
            && let Some(slip) = slip(document, element.json, kind, parents, key, meant)
        {
            self.slip.get_or_insert(within(slip, &way));
            return;
        }
        let of_kind = self.kinds.entry(kind.noun).or_insert_with(|| {
            let path = within(ImportError::default(), &way).path;
            UnknownKeysOf {
                first: element.place(&path.unwrap_or_default()),
                ..UnknownKeysOf::default()
            }
        });
        of_kind.count += 1;
        of_kind.names.insert(key.clone());
    }

    /// What a reader should know of them: one note for each kind of object.
    pub(super) fn notes(self) -> Vec<String> {
        let note = |(noun, of_kind): (_, UnknownKeysOf)| {
            let names: Vec<String> = of_kind.names.into_iter().collect();
            let (are, were) = match names.len() {
                1 => ("is no key", "was"),
                _ => ("are no keys", "were"),
            };
            let places = match of_kind.count {
                1 => "at".to_owned(),
                count => format!("in {}, first at", many(count, "place")),
            };
            let (names, first) = (phrase::names(&names), of_kind.first);
            format!("{names} {are} of {noun} and {were} not read: {places} {first}")
        };
        self.kinds.into_iter().map(note).collect()
    }
}

/// The error about a key that is most likely another one. Where that one is there too, it is something
/// else.
fn slip<'a>(
    document: &Document<'_>,
    json: &'a str,
    kind: &Kind,
    parents: &[Step],
    key: &str,
    meant: &str,
) -> Option<ImportError> {
    let around = parents.iter().try_fold(json, |json, step| {
        let inside: &'a RawValue = match step {
            Step::Key(key) => *serde_json::from_str::<Outline>(json).ok()?.get(key)?,
            Step::Index(index) => *serde_json::from_str::<Vec<_>>(json).ok()?.get(*index)?,
        };
        Some(inside.get())
    })?;
    let around: Outline = serde_json::from_str(around).ok()?;
    if around.contains_key(meant.split('.').next()?) {
        return None;
    }
    let (line, column) = document.place(around.get(key)?.get(), 1, 1);
    let (noun, known) = (kind.noun, (kind.keys)().join(", "));
    let (key, meant) = (phrase::name(key), phrase::name(meant));
    Some(ImportError {
        line: Some(line),
        column: Some(column),
        ..ImportError::shape(
            format!("{key} is no key of {noun}; did you mean {meant}?"),
            format!("the keys of {noun} are {known}"),
        )
    })
}

/// A step on the way to a value.
enum Step {
    Key(String),
    Index(usize),
}

/// The steps of a path.
fn way(path: &Path<'_>) -> Vec<Step> {
    let (parent, step) = match path {
        Path::Root => return Vec::new(),
        Path::Seq { parent, index } => (parent, Some(Step::Index(*index))),
        Path::Map { parent, key } => (parent, Some(Step::Key(key.clone()))),
        Path::Some { parent }
        | Path::NewtypeStruct { parent }
        | Path::NewtypeVariant { parent } => (parent, None),
    };
    let mut way = way(parent);
    way.extend(step);
    way
}

/// An error at the end of a way.
fn within(error: ImportError, way: &[Step]) -> ImportError {
    way.iter().rfold(error, |error, step| match step {
        Step::Key(key) => error.within(key),
        Step::Index(index) => error.at(*index),
    })
}

/// The keys that a type reads.
fn keys<Read: for<'de> Deserialize<'de>>() -> &'static [&'static str] {
    let mut keys: &[&str] = &[];
    drop(Read::deserialize(Keys(&mut keys)));
    keys
}

/// Has nothing to read, and hears which keys are asked for.
struct Keys<'k>(&'k mut &'static [&'static str]);

impl<'de> Deserializer<'de> for Keys<'_> {
    type Error = value::Error;

    fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Self::Error> {
        Err(Error::custom("nothing to read"))
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        keys: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Self::Error> {
        *self.0 = keys;
        self.deserialize_any(visitor)
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option
        unit unit_struct newtype_struct seq tuple tuple_struct map enum identifier ignored_any
    }
}
