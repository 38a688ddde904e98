//! One fault of a list: a map with its kind, or one line as after `--fault`.

use std::collections::BTreeSet;
use std::ops::Range;

use mcprove_settings::message::Message;
use mcprove_settings::reader::{Reader, near, suggestion};
use mcprove_settings::text::shorten;
use mcprove_settings::tree::{Data, Field, Node};
use mcprove_trace::{FaultKind, fault_names};
use serde_json::Value;

use crate::spec::setting_of;
use crate::{FaultError, FaultSpec};

/// How much of a wrong name is repeated in a message.
const SHOWN_MAX: usize = 60;

/// What a fault is aimed at.
const TARGET: &[&str] = &["tool", "server"];

/// A fault and where it stands.
pub struct Item {
    /// The fault.
    pub spec: FaultSpec,
    /// Where it is named; else where it stands.
    pub name_span: Range<usize>,
    /// The entries that are no part of a fault but known where it stands, spelled with `_`. Those of a
    /// line are texts.
    pub extra: Vec<Field>,
}

/// Reads one fault; `None` if it has problems.
pub fn read(reader: &mut Reader<'_>, node: &Node, extra: &'static [&'static str]) -> Option<Item> {
    match &node.data {
        Data::Text(line) => read_line(reader, node, line, extra),
        Data::Table(fields) => read_table(reader, node, fields, extra),
        _ => {
            let message = format!("a fault must be a map or a text, not {}", node.kind());
            let hint = "write { kind: slow, delay_ms: 500 }, or \"slow:500,tool=search\"";
            reader.problem(&node.span, message, hint);
            None
        }
    }
}

/// A fault in one line; `start=5s` and the like are taken out where they are known.
fn read_line(
    reader: &mut Reader<'_>,
    node: &Node,
    line: &str,
    extra: &'static [&'static str],
) -> Option<Item> {
    let (line, pairs) = split_line(line, extra);
    match line.parse::<FaultSpec>() {
        Ok(spec) => Some(Item {
            spec,
            name_span: node.span.clone(),
            extra: pairs
                .into_iter()
                .map(|(name, value)| text_field(name, value, &node.span))
                .collect(),
        }),
        Err(error) => {
            let hint = "a line is KIND[:VALUE][,tool=NAME][,calls=1-3][,rate=0.2], such as \
                        \"slow:500,tool=search\"";
            reader.problem(&node.span, error.to_string(), hint);
            None
        }
    }
}

/// A fault in one line without the parts `key=value` whose keys are extra, and these.
pub fn split_line(
    line: &str,
    extra: &'static [&'static str],
) -> (String, Vec<(&'static str, String)>) {
    let mut pairs = Vec::new();
    let mut kept: Vec<&str> = Vec::new();
    for part in line.split(',') {
        let pair = part.split_once('=').and_then(|(key, value)| {
            let key = key.trim().replace('-', "_");
            let known = extra.iter().find(|known| **known == key)?;
            Some((*known, value.trim().to_owned()))
        });
        match pair {
            Some(pair) => pairs.push(pair),
            None => kept.push(part),
        }
    }
    (kept.join(","), pairs)
}

fn text_field(name: &str, value: String, span: &Range<usize>) -> Field {
    let data = match value.as_str() {
        "true" => Data::Boolean(true),
        "false" => Data::Boolean(false),
        _ => Data::Text(value),
    };
    Field {
        name: name.to_owned(),
        span: span.clone(),
        value: Node {
            data,
            span: span.clone(),
        },
    }
}

fn read_table(
    reader: &mut Reader<'_>,
    node: &Node,
    fields: &[Field],
    extra: &'static [&'static str],
) -> Option<Item> {
    let kind = read_kind(reader, node, fields)?;
    let label = format!("a fault of kind {}", kind.name());
    let keys = FaultSpec::keys(kind);
    let known: Vec<&str> = ["kind", "target"]
        .into_iter()
        .chain(keys)
        .chain(extra.iter().copied())
        .collect();
    let mut reading = Reading {
        spec: FaultSpec::new(kind),
        seen: BTreeSet::new(),
        is_sound: true,
    };
    let mut name_span = &node.span;
    let mut extras = Vec::new();
    for field in fields {
        let normal = field.name.replace('-', "_");
        match normal.as_str() {
            _ if !known.contains(&normal.as_str()) => {
                unknown(reader, field, &label, &known);
                reading.is_sound = false;
            }
            "kind" => {}
            "target" => reading.target(reader, field),
            name if extra.contains(&name) => {
                if reading.is_first(reader, field, name) {
                    extras.push(Field {
                        name: normal,
                        ..field.clone()
                    });
                }
            }
            name => {
                if name == "name" {
                    name_span = &field.value.span;
                }
                reading.set(reader, field, name);
            }
        }
    }
    if let Err(error) = reading.spec.check() {
        let message = format!("{label}: {error}");
        reader.problem(&node.span, message, "swap them, or correct one");
        reading.is_sound = false;
    }
    reading.is_sound.then(|| Item {
        spec: reading.spec,
        name_span: name_span.clone(),
        extra: extras,
    })
}

fn read_kind(reader: &mut Reader<'_>, node: &Node, fields: &[Field]) -> Option<FaultKind> {
    let mut kinds = fields.iter().filter(|field| field.name == "kind");
    let Some(field) = kinds.next() else {
        let message = "a fault has no `kind`".to_owned();
        let hint = format!("add `kind: slow`, or another one: {}", kinds_listed());
        reader.problem(&node.span, message, hint);
        return None;
    };
    let Some(name) = field.value.text() else {
        let hint = format!("the kinds are {}", kinds_listed());
        reader.wrong(field, "the name of a kind of fault", hint);
        return None;
    };
    let kind: Option<FaultKind> = name.parse().ok();
    if kind.is_none() {
        let known: Vec<&str> = fault_names().collect();
        let hint = match (name.split_once(':'), near(&known, name)) {
            (Some((kind, _)), _) if kind.parse::<FaultKind>().is_ok() => {
                format!("write `kind: {kind}` and its settings, or the whole line without `kind`")
            }
            (_, Some(close)) => format!("did you mean {close:?}?"),
            _ => format!("the kinds are {}", kinds_listed()),
        };
        let message = format!("no fault is called {:?}", shorten(name, SHOWN_MAX));
        reader.problem(&field.value.span, message, hint);
    }
    kind
}

fn kinds_listed() -> String {
    fault_names().collect::<Vec<_>>().join(", ")
}

fn unknown(reader: &mut Reader<'_>, field: &Field, label: &str, known: &[&str]) {
    reader.unknown_key(field, label.to_owned(), || {
        suggestion(known, &field.name).into()
    });
}

/// What to say of a key of a fault that stands where the list should.
pub fn advice(name: &str) -> Option<Message> {
    let normal = name.replace('-', "_");
    let mut kinds = fault_names().filter_map(|name| name.parse().ok());
    let is_of_fault = normal == "kind"
        || normal == "target"
        || kinds.any(|kind| FaultSpec::keys(kind).contains(&normal.as_str()));
    is_of_fault.then(|| "it belongs to a fault: write `faults:` and a list below it".into())
}

/// A fault as it is put together.
struct Reading {
    spec: FaultSpec,
    /// The keys that were given, in the spelling with `_`.
    seen: BTreeSet<String>,
    is_sound: bool,
}

impl Reading {
    /// Whether a key is there for the first time, however it is spelled.
    fn is_first(&mut self, reader: &mut Reader<'_>, field: &Field, name: &str) -> bool {
        let is_first = self.seen.insert(name.to_owned());
        if !is_first {
            let message = format!("`{name}` is given twice");
            reader.problem(&field.span, message, "leave one of them out");
            self.is_sound = false;
        }
        is_first
    }

    fn target(&mut self, reader: &mut Reader<'_>, field: &Field) {
        if !matches!(field.value.data, Data::Table(_) | Data::Null) {
            reader.wrong(
                field,
                "a map of `tool`, `server` or both",
                "write { tool: search }",
            );
            self.is_sound = false;
            return;
        }
        let section = reader.section(&field.value, "`target`", TARGET, |_| None);
        for field in section.fields() {
            if TARGET.contains(&field.name.as_str()) {
                self.set(reader, field, &field.name);
            } else {
                self.is_sound = false;
            }
        }
    }

    fn set(&mut self, reader: &mut Reader<'_>, field: &Field, name: &str) {
        if !self.is_first(reader, field, name) {
            return;
        }
        let set = match value_of(field, name) {
            Some(value) => self.spec.set(name, value),
            None => Err(FaultError::WrongValue {
                key: name.to_owned(),
                problem: "must be a number that JSON has".to_owned(),
            }),
        };
        if let Err(error) = set {
            let message = match error {
                FaultError::WrongValue { key, problem } => format!("`{key}` {problem}"),
                other => other.to_string(),
            };
            reader.problem(&field.value.span, message, hint_of(self.spec.kind, name));
            self.is_sound = false;
        }
    }
}

/// The value as JSON. A seed may be a text of digits, for TOML has no numbers that large.
fn value_of(field: &Field, name: &str) -> Option<Value> {
    let value = field.value.to_json().ok()?;
    let digits = value.as_str().filter(|_| name == "seed");
    match digits.and_then(|digits| digits.parse::<u64>().ok()) {
        Some(seed) => Some(seed.into()),
        None => Some(value),
    }
}

/// What to try where a value is wrong.
fn hint_of(kind: FaultKind, name: &str) -> String {
    let hint = match name {
        "name" => "write a name of your own, in quotes",
        "tool" => "write the name of a tool, in quotes",
        "server" => "write the name of a server, in quotes",
        "calls" => "write \"1-3,7\" for the first three and the seventh, \"5-\" from the fifth on",
        "rate" => "0.2 strikes about one call of five",
        "seed" => "write a whole number, such as 7",
        _ => {
            let Some(setting) = setting_of(kind, name) else {
                return String::new();
            };
            let default = setting.default_words();
            return format!("it is {}; {default} unless given", setting.about);
        }
    };
    hint.to_owned()
}
