//! Faults as people write them: a list in YAML, `[[faults]]` in TOML, or one line each.
//!
//! One list serves a file of its own ([`read_file`]) and files that have faults among other things.
//! [`item`] reads one fault; what a fault is and does is in [`crate`].

mod item;
mod read;
mod schema;

use std::collections::BTreeSet;

use mcprove_settings::error::ConfigErrors;
use mcprove_settings::reader::Reader;
use mcprove_settings::tree::{Data, Document, Field, Node};

use crate::{FaultSpec, tell_apart};

pub use item::Item;
pub use read::{parse_toml, parse_yaml, read_file};
pub use schema::list_schema;
pub use schema::schema;

/// The most faults of one list: each call is held against every one.
pub const FAULTS_MAX: usize = 1_000;

const HINT: &str = "write one `- { kind: slow, delay_ms: 500, target: { tool: search } }` for each, \
                    or one [[faults]] table of TOML";

/// Reads the list in an entry such as `faults`; `extra` are keys that this file has besides those of a
/// fault.
pub fn read_list(
    reader: &mut Reader<'_>,
    field: &Field,
    extra: &'static [&'static str],
) -> Vec<Item> {
    match &field.value.data {
        // An entry of YAML with nothing in it is null.
        Data::Null => Vec::new(),
        Data::List(nodes) => read_nodes(reader, nodes, extra),
        _ => {
            reader.wrong(field, "a list of faults", HINT);
            Vec::new()
        }
    }
}

fn read_nodes(
    reader: &mut Reader<'_>,
    nodes: &[Node],
    extra: &'static [&'static str],
) -> Vec<Item> {
    if let Some(node) = nodes.get(FAULTS_MAX) {
        let message = format!("there are more than {FAULTS_MAX} faults");
        reader.problem(&node.span, message, "leave some out");
        return Vec::new();
    }
    let mut items: Vec<Item> = nodes
        .iter()
        .filter_map(|node| item::read(reader, node, extra))
        .collect();
    tell_apart(items.iter_mut().map(|item| &mut item.spec));
    let mut seen = BTreeSet::new();
    // Two faults of one name could not be told apart, and would strike the same calls.
    for Item {
        spec, name_span, ..
    } in &items
    {
        if !seen.insert(&spec.name) {
            let message = format!("two faults are called {:?}", spec.name);
            reader.problem(name_span, message, "give one of them another `name`");
        }
    }
    items
}

/// The name that two of these faults have, if there is one: they would strike the same calls, and could
/// not be told apart.
///
/// ```
/// let faults = ["slow:5,name=late", "slow:9,name=late"].map(|text| text.parse().unwrap());
/// assert_eq!(mcprove_fault::file::same_name(&faults), Some("late"));
/// ```
pub fn same_name(faults: &[FaultSpec]) -> Option<&str> {
    let mut seen = BTreeSet::new();
    let mut names = faults.iter().map(|fault| fault.name.as_str());
    names.find(|name| !seen.insert(*name))
}

/// Takes a faults file apart: a map with `faults`, or the bare list.
pub fn from_document(document: &Document) -> Result<Vec<FaultSpec>, ConfigErrors> {
    let mut reader = Reader::new(document);
    let root = &document.root;
    let items = match &root.data {
        Data::List(nodes) => read_nodes(&mut reader, nodes, &[]),
        _ => read_map(&mut reader, root),
    };
    reader.finish()?;
    Ok(items.into_iter().map(|item| item.spec).collect())
}

fn read_map(reader: &mut Reader<'_>, root: &Node) -> Vec<Item> {
    if !matches!(root.data, Data::Table(_) | Data::Null) {
        let message = format!(
            "faults must be a list, or a map with `faults`, not {}",
            root.kind()
        );
        reader.problem(&root.span, message, HINT);
        return Vec::new();
    }
    let section = reader.section(root, "a faults file", &["faults"], item::advice);
    match section.get("faults") {
        Some(field) => read_list(reader, field, &[]),
        // A key that is not known was told already.
        None if !section.fields().is_empty() => Vec::new(),
        None => {
            let message = "there are no `faults` in it".to_owned();
            reader.problem(&root.span, message, HINT);
            Vec::new()
        }
    }
}

#[cfg(test)]
mod tests;
