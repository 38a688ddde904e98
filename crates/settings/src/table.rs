//! Maps whose keys are known: `-` is as good as `_`, what is unknown is a problem with a suggestion,
//! and what is there twice is one too.

use crate::prelude::*;
use crate::reader::suggestion;
use crate::setting::{SettingItem, fill_asking};

/// How much of a wrong name is repeated in a message.
const SHOWN_MAX: usize = 60;

/// The table with every known key spelled with `_`, ready for [`section`]; nothing is an empty one.
/// `None` is no table, which is taken down.
pub fn spelled(
    reader: &mut Reader<'_>,
    node: &Node,
    label: &Message,
    known: &[&str],
) -> Option<Node> {
    let data = match &node.data {
        Data::Table(fields) => {
            refuse_twice(reader, fields, known);
            Data::Table(fields.iter().map(|field| respelled(field, known)).collect())
        }
        Data::Null => Data::Null,
        _ => {
            let message = sentence!("{label} must be a map, not {}", node.kind());
            let hint = sentence!(
                "write one {} per line, or {{}} for none",
                assignment("name", "value")
            );
            reader.problem(&node.span, message, hint);
            return None;
        }
    };
    Some(Node {
        data,
        span: node.span.clone(),
    })
}

/// The section of a [`spelled`] table.
pub fn section<'n>(
    reader: &mut Reader<'_>,
    spelled: &'n Node,
    label: &Message,
    known: &[&str],
) -> Section<'n> {
    reader.section(spelled, label.clone(), known, |_| None)
}

fn respelled(field: &Field, known: &[&str]) -> Field {
    let normal = field.name.replace('-', "_");
    let name = if known.contains(&normal.as_str()) {
        normal
    } else {
        field.name.clone()
    };
    Field {
        name,
        ..field.clone()
    }
}

/// A key is there once, however it is spelled.
pub fn refuse_twice(reader: &mut Reader<'_>, fields: &[Field], known: &[&str]) {
    let mut seen = BTreeSet::new();
    for field in fields {
        let normal = field.name.replace('-', "_");
        if known.contains(&normal.as_str()) && !seen.insert(normal.clone()) {
            let message = sentence!("{} is given twice", setting(&normal));
            reader.problem(&field.span, message, "leave one of them out");
        }
    }
}

/// A name that is not among those known.
pub fn unknown(reader: &mut Reader<'_>, field: &Field, noun: &str, known: &[&str]) {
    let message = format!("unknown {noun} {:?}", shorten(&field.name, SHOWN_MAX));
    reader.problem(&field.span, message, suggestion(known, &field.name));
}

/// A text that must be there and is not empty.
pub fn required(reader: &mut Reader<'_>, section: &Section<'_>, name: &str) -> Option<String> {
    if section.get(name).is_none() {
        reader.missing(section, name, "…");
        return None;
    }
    reader.text(section, name).map(str::to_owned)
}

/// The names in a list.
pub fn names(reader: &mut Reader<'_>, field: &Field) -> Vec<String> {
    reader
        .list(field, "write [search, fetch]")
        .iter()
        .filter_map(|node| name_of(reader, node, &field.name))
        .collect()
}

/// The name that an element of a list is.
pub fn name_of(reader: &mut Reader<'_>, node: &Node, list: &str) -> Option<String> {
    match node.text() {
        Some(text) if !text.trim().is_empty() => Some(text.to_owned()),
        _ => {
            let found = node.text().map_or(node.kind(), |_| "an empty one");
            let message = sentence!(
                "{}{}",
                setting(list),
                format!(" must hold names, not {found}")
            );
            reader.problem(&node.span, message, "write the name of a tool, as a text");
            None
        }
    }
}

/// A name with `_`, and with `-` where that is another.
pub fn spellings(name: &str) -> impl Iterator<Item = String> + use<> {
    let dashed = name.replace('_', "-");
    let other = (dashed != name).then_some(dashed);
    std::iter::once(name.to_owned()).chain(other)
}

/// Fills settings from a section; what is required is asked for where `is_complete`.
pub fn fill(
    settings: &mut dyn Settings,
    reader: &mut Reader<'_>,
    section: &Section<'_>,
    is_complete: bool,
) {
    fill_asking(settings, reader, section, is_complete.then_some("…"));
}

/// Reads the settings in a map, which `label` names in messages.
pub fn read_map<S: Settings>(reader: &mut Reader<'_>, node: &Node, label: &Message) -> Option<S> {
    let known: Vec<&str> = S::declared().iter().map(|it| it.name).collect();
    let node = spelled(reader, node, label, &known)?;
    let section = section(reader, &node, label, &known);
    let mut settings = S::initial();
    fill(&mut settings, reader, &section, true);
    Some(settings)
}

/// The JSON Schema of a map with these settings.
pub fn map_schema(settings: &[Setting]) -> Value {
    let properties: Map<String, Value> = settings
        .iter()
        .flat_map(|it| spellings(it.name).map(|name| (name, it.schema())))
        .collect();
    json!({ "type": "object", "properties": properties, "additionalProperties": false })
}

/// One of a list of maps.
pub trait Row: Settings {
    /// What it is called in messages: `an edge`.
    const LABEL: &'static str;
    /// What a list of them is, for people.
    const LIST: &'static str;
    /// What to try where there is no list.
    const HINT: &'static str;
    /// Makes one of its name alone, where that is enough.
    const NAMED: Option<fn(String) -> Self> = None;
}

impl<T: Row> SettingItem for T {
    const KIND: Kind = Kind::Other(T::LIST, || {
        let mut item = map_schema(T::declared());
        let required = T::declared()
            .iter()
            .filter(|it| it.fallback == Fallback::Required);
        item["required"] = required.map(|it| it.name).collect();
        if T::NAMED.is_some() {
            item = json!({ "anyOf": [Kind::Text.schema(), item] });
        }
        json!({ "type": "array", "items": item })
    });

    fn from_list(_: Vec<Node>) -> Option<Vec<Self>> {
        Some(Vec::new())
    }

    fn write_list(_: &[Self]) -> Option<Data> {
        None
    }

    fn read_list(reader: &mut Reader<'_>, field: &Field, _: &Setting) -> Option<Vec<Self>> {
        let rows =
            reader
                .list(field, T::HINT)
                .iter()
                .filter_map(|node| match (T::NAMED, &node.data) {
                    (Some(named), Data::Text(_)) => name_of(reader, node, &field.name).map(named),
                    _ => read_map(reader, node, &T::LABEL.into()),
                });
        Some(rows.collect())
    }
}
