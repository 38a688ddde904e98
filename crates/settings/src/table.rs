//! Maps whose keys are known: `-` is as good as `_`, what is unknown is a problem with a suggestion,
//! and what is there twice is one too.

use std::collections::BTreeSet;

use crate::message::{Part, assignment, message, setting};
use crate::reader::{Reader, Section, near};
use crate::text::shorten;
use crate::tree::{Data, Field, Node};

/// How much of a wrong name is repeated in a message.
const SHOWN_MAX: usize = 60;

/// The table with every known key spelled with `_`, ready for [`section`]; nothing is an empty one.
/// `None` is no table, which is taken down.
pub fn spelled(reader: &mut Reader<'_>, node: &Node, label: &str, known: &[&str]) -> Option<Node> {
    let data = match &node.data {
        Data::Table(fields) => {
            refuse_twice(reader, fields, known);
            Data::Table(fields.iter().map(|field| respelled(field, known)).collect())
        }
        Data::Null => Data::Null,
        _ => {
            let message = format!("{label} must be a map, not {}", node.kind());
            let hint = message![
                "write one ",
                assignment("name", "value"),
                " per line, or {} for none"
            ];
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
    label: &'n str,
    known: &[&str],
) -> Section<'n> {
    reader.section(spelled, label.to_owned(), known, |_| None)
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
            let message = message![setting(&normal), " is given twice"];
            reader.problem(&field.span, message, "leave one of them out");
        }
    }
}

/// A name that is not among those known.
pub fn unknown(reader: &mut Reader<'_>, field: &Field, noun: &str, known: &[&str]) {
    let message = format!("unknown {noun} {:?}", shorten(&field.name, SHOWN_MAX));
    let hint = near(known, &field.name).map_or_else(
        || format!("known: {}", known.join(", ")),
        |close| format!("did you mean {close:?}?"),
    );
    reader.problem(&field.span, message, hint);
}

/// A text that must be there and is not empty.
pub fn required(reader: &mut Reader<'_>, section: &Section<'_>, name: &str) -> Option<String> {
    if section.get(name).is_none() {
        let message = message![section.label.clone(), " has no ", setting(name)];
        let hint = Part::Assignment(name.to_owned().into(), "…".into());
        reader.problem(section.span(), message, message!["add ", hint]);
        return None;
    }
    reader.text(section, name).map(str::to_owned)
}

/// The names in a list; none where the list is not given.
pub fn names(reader: &mut Reader<'_>, section: &Section<'_>, name: &str) -> Vec<String> {
    let Some(field) = section.get(name) else {
        return Vec::new();
    };
    let nodes = reader.list(field, "write [search, fetch]");
    nodes
        .iter()
        .filter_map(|node| name_of(reader, node, name))
        .collect()
}

/// The name that an element of a list is.
pub fn name_of(reader: &mut Reader<'_>, node: &Node, list: &str) -> Option<String> {
    match node.text() {
        Some(text) if !text.trim().is_empty() => Some(text.to_owned()),
        _ => {
            let found = node.text().map_or(node.kind(), |_| "an empty one");
            let message = message![setting(list), format!(" must hold names, not {found}")];
            reader.problem(&node.span, message, "write the name of a tool, as a text");
            None
        }
    }
}
