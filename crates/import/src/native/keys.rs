//! The keys of `agent-trace.v1` that nobody reads. One that is most likely another key, written in
//! another way, is an error: what stands there would be lost, and a score could rest on its absence.
//! Any other is told and left out.

use std::str::Lines;

use mcprove_trace::AgentTraceFile;
use serde_ignored::Path;

use crate::prelude::*;

/// Characters from which on a slip is told from another word.
const SLIP_CHARS_MIN: usize = 5;

/// Different keys of one kind of object that are told apart.
const NAMES_MAX: usize = 100;

/// The kinds of objects of the format: the key under which one stands (`-` at the root), its type, and what
/// it is. Then, for each of its keys, the names that other formats have for it; those of no key (`-`) may
/// stand there though nobody reads them.
const KINDS: &str = include_str!("keys.txt");

/// The kind of the objects under a key, and the other names of their keys.
fn kind(at: &str) -> Option<([&'static str; 3], Lines<'static>)> {
    KINDS.split("\n\n").find_map(|kind| {
        let mut lines = kind.lines();
        let mut head = lines.next()?.splitn(3, ' ');
        let head = [head.next()?, head.next()?, head.next()?];
        (head[0] == at).then_some((head, lines))
    })
}

/// A key without what spelling adds to it: `isError`, `is-error` and `IS_ERROR` are one.
fn bare(key: &str) -> String {
    key.replace(['_', '-', ' '], "").to_lowercase()
}

/// The key that is most likely meant by another one; `-` where the other one may stand there.
fn meant<'k>(known: &[&'k str], mut others: Lines<'static>, key: &str) -> Option<&'k str> {
    let bare = bare(key);
    let same = known.iter().copied().find(|name| self::bare(name) == bare);
    let other = others.find_map(|line| {
        let (name, others) = line.split_once(' ')?;
        let mut others = others.split(' ');
        others
            .any(|other| self::bare(other) == bare)
            .then_some(name)
    });
    same.or(other).or_else(|| {
        let is_long = key.chars().count() >= SLIP_CHARS_MIN;
        is_long.then(|| nearest(known.iter().copied(), key))?
    })
}

/// The unknown keys of a file.
#[derive(Default)]
pub struct UnknownKeys {
    /// The published schema, once it is needed.
    schema: Value,
    /// By the key under which the objects stand.
    kinds: BTreeMap<&'static str, UnknownKeysOf>,
    /// The first that is most likely another key.
    pub slip: Option<ImportError>,
}

/// The unknown keys of all objects of one kind.
#[derive(Default)]
struct UnknownKeysOf {
    noun: &'static str,
    names: BTreeSet<String>,
    /// Keys that may stand there.
    allowed: BTreeSet<String>,
    count: usize,
    first: String,
}

impl UnknownKeys {
    /// Adds a key that was not read; `root` is the key under which the value of the file would stand.
    pub fn add(
        &mut self,
        document: &Document<'_>,
        element: &Element<'_>,
        root: &str,
        path: &Path<'_>,
    ) {
        let steps = steps(path);
        let Some((Step::Key(key), around)) = steps.split_last() else {
            return;
        };
        let at = around.iter().rev().find_map(|step| match step {
            Step::Key(key) => Some(*key),
            Step::Index(_) => None,
        });
        let at = at.unwrap_or(root);
        if let Some(known) = self.kinds.get_mut(at) {
            let is_allowed = known.allowed.contains(*key);
            let is_told = known.names.len() == NAMES_MAX || known.names.contains(*key);
            if is_allowed || is_told {
                known.count += usize::from(!is_allowed);
                return;
            }
        }
        let Some(([at, definition, noun], others)) = kind(at) else {
            return;
        };
        if self.schema.is_null() {
            self.schema = mcprove_settings::schemars::schema_for!(AgentTraceFile).into();
        }
        let known = &self.schema["$defs"][definition]["properties"];
        let known: Vec<&str> = known
            .as_object()
            .into_iter()
            .flat_map(Map::keys)
            .map(String::as_str)
            .collect();
        let meant = meant(&known, others, key);
        if let Some(meant) = meant
            && meant != "-"
            && let Some((line, column)) =
                place(document, value_at(element.json, around), key, meant)
        {
            let (key, meant) = (name(key), name(meant));
            let slip = ImportError {
                line: Some(line),
                column: Some(column),
                ..ImportError::shape(
                    sentence!("{key} is not a key of {noun}; did you mean {meant}?"),
                    format!("the keys of {noun} are {}", known.join(", ")),
                )
            };
            self.slip.get_or_insert(within(slip, &steps));
            return;
        }
        let of_kind = self.kinds.entry(at).or_default();
        if meant == Some("-") || known.contains(key) {
            of_kind.allowed.insert((*key).to_owned());
            return;
        }
        if of_kind.names.is_empty() {
            let path = within(ImportError::default(), &steps).path;
            of_kind.first = element.place(&path.unwrap_or_default());
            of_kind.noun = noun;
        }
        of_kind.count += 1;
        of_kind.names.insert((*key).to_owned());
    }

    /// What a reader should know of them: one note for each kind of object.
    pub fn notes(self) -> Vec<String> {
        let note = |of_kind: UnknownKeysOf| {
            let names: Vec<String> = of_kind.names.into_iter().collect();
            let (are, were) = match names.len() {
                1 => ("is not a key", "was"),
                _ => ("are not keys", "were"),
            };
            let places = match of_kind.count {
                1 => "at".to_owned(),
                count => format!("in {}, first at", many(count, "place")),
            };
            let (names, noun, first) = (
                mcprove_settings::message::names(&names).rendered(),
                of_kind.noun,
                of_kind.first,
            );
            format!("{names} {are} of {noun} and {were} not read: {places} {first}")
        };
        self.kinds
            .into_values()
            .filter(|of_kind| of_kind.count > 0)
            .map(note)
            .collect()
    }
}

/// Where a key stands that may be meant to be another one. Where that one is there too, it is something
/// else.
fn place(
    document: &Document<'_>,
    around: Option<&str>,
    key: &str,
    meant: &str,
) -> Option<(usize, usize)> {
    let around: Outline = serde_json::from_str(around?).ok()?;
    let is_there = around.contains_key(meant.split('.').next()?);
    let value = around.get(key).filter(|_| !is_there)?;
    Some(document.place(value.get(), 1, 1))
}

/// A step of a path: to what stands under a key, or at a place of a list.
enum Step<'p> {
    Key(&'p str),
    Index(usize),
}

/// The steps of a path, from the root on.
fn steps<'p>(path: &'p Path<'_>) -> Vec<Step<'p>> {
    let (parent, step) = match path {
        Path::Root => return Vec::new(),
        Path::Map { parent, key } => (parent, Some(Step::Key(key))),
        Path::Seq { parent, index } => (parent, Some(Step::Index(*index))),
        Path::Some { parent }
        | Path::NewtypeStruct { parent }
        | Path::NewtypeVariant { parent } => (parent, None),
    };
    let mut steps = steps(parent);
    steps.extend(step);
    steps
}

/// The value at the end of a path.
fn value_at<'a>(json: &'a str, steps: &[Step<'_>]) -> Option<&'a str> {
    steps.iter().try_fold(json, |json, step| {
        let inside: &'a RawValue = match step {
            Step::Key(key) => serde_json::from_str::<Outline>(json).ok()?.remove(*key)?,
            Step::Index(index) => {
                let items: Vec<&'a RawValue> = serde_json::from_str(json).ok()?;
                items.get(*index).copied()?
            }
        };
        Some(inside.get())
    })
}

/// An error at the end of a path.
fn within(error: ImportError, steps: &[Step<'_>]) -> ImportError {
    steps.iter().rev().fold(error, |error, step| match step {
        Step::Key(key) => error.within(key),
        Step::Index(index) => error.at(*index),
    })
}
