//! What an agent trace is held to: the blocks of a gates file, which are those of an agent of a
//! suite, read from YAML into [`Gates`].
//!
//! The blocks and their keys are in [`keys`]; one file per group of blocks reads them. What the
//! numbers are and how they are judged is in `mcprove_score`.

mod conduct;
mod expectation;
mod keys;
mod limits;
mod outcome;
mod path;
mod schema;
mod target;

use std::path::Path;

use mcprove_score::gate::Gates;
use mcprove_settings::error::ConfigErrors;
use mcprove_settings::reader::{Reader, Section};
use mcprove_settings::table;
use mcprove_settings::tree::{Data, Document, Field, Node, Wanted};

pub use expectation::expectations_of;
pub use expectation::json;
use keys::Contents;
pub use keys::{BLOCKS, Block, Fallback, Form, Key};
pub use schema::schema;
pub use schema::spellings;
pub use schema::{block_properties, definitions};

/// Reads the text of a gates file; `file` is its name in messages.
///
/// ```
/// use mcprove_suite::gates;
///
/// let text = "narrative: {}\nloops: { max_repeats: 2 }\n";
/// let read = gates::parse_yaml(text, "gates.yml").unwrap();
/// assert!(read.narrative.is_some() && read.stability.is_none());
///
/// let errors = gates::parse_yaml("narative: {}\n", "gates.yml").unwrap_err();
/// assert!(errors.to_string().starts_with("error: gates.yml:1:1: unknown block \"narative\""));
/// assert!(errors.to_string().ends_with("hint: did you mean \"narrative\"?"));
/// ```
pub fn parse_yaml(text: &str, file: &str) -> Result<Gates, ConfigErrors> {
    from_document(&Document::from_yaml(text, file)?)
}

/// Reads a gates file.
pub fn read(path: &Path) -> Result<Gates, ConfigErrors> {
    let wanted = Wanted {
        when_missing: "check the path of the gates",
        when_too_large: "are these gates at all? `mcprove schema gates` describes them",
    };
    from_document(&Document::read(path, Document::from_yaml, wanted)?)
}

/// Takes a document apart.
pub fn from_document(document: &Document) -> Result<Gates, ConfigErrors> {
    let mut reader = Reader::new(document);
    let gates = read_node(&mut reader, &document.root);
    reader.finish()?;
    Ok(gates)
}

/// Reads a map that has nothing but blocks.
pub(crate) fn read_node(reader: &mut Reader<'_>, node: &Node) -> Gates {
    match &node.data {
        Data::Table(fields) if !fields.is_empty() => {
            for field in fields.iter().filter(|field| !is_block(&field.name)) {
                table::unknown(reader, field, "block", &names());
            }
            read_blocks(reader, fields)
        }
        // Gates that gate nothing are a slip: whoever wants none leaves out --gates.
        Data::Null | Data::Table(_) => {
            let message = "there are no gates in it".to_owned();
            let hint = format!("add a block, such as `narrative: {{}}`; {}", known());
            reader.problem(&node.span, message, hint);
            Gates::default()
        }
        _ => {
            let message = format!("gates must be a map of blocks, not {}", node.kind());
            reader.problem(&node.span, message, known());
            Gates::default()
        }
    }
}

/// Reads the blocks among the entries of a map, which may have others too.
pub(crate) fn read_blocks(reader: &mut Reader<'_>, fields: &[Field]) -> Gates {
    let mut gates = Gates::default();
    table::refuse_twice(reader, fields, &names());
    for field in fields {
        let Some(block) = find(&field.name) else {
            continue;
        };
        match block.contents {
            Contents::Map(read) => read_map(reader, block, field, read, &mut gates),
            Contents::Expectations => {
                gates.expect = expectation::expectations_of(reader, field, target::resolve);
            }
        }
    }
    gates
}

/// Reads a block that is a map of its keys.
fn read_map(
    reader: &mut Reader<'_>,
    block: &Block,
    field: &Field,
    read: fn(&mut Reader<'_>, &Section<'_>, &mut Gates),
    gates: &mut Gates,
) {
    let label = format!("`{}`", block.name);
    let known = keys::names(block.keys);
    let Some(node) = table::spelled(reader, &field.value, &label, &known) else {
        return;
    };
    let section = table::section(reader, &node, &label, &known);
    refuse_nothing(reader, block, field, &section);
    read(reader, &section, gates);
}

/// A block without what it compares with would hold whatever the agent did.
fn refuse_nothing(reader: &mut Reader<'_>, block: &Block, field: &Field, section: &Section<'_>) {
    let is_given = |need: &keys::Need| {
        section.get(need.key).is_some_and(|given| {
            let is_empty = match &given.value.data {
                Data::List(nodes) => nodes.is_empty(),
                Data::Table(fields) => fields.is_empty(),
                _ => false,
            };
            need.may_be_empty || !is_empty
        })
    };
    if block.needs.is_empty() || block.needs.iter().any(is_given) {
        return;
    }
    let needs: Vec<String> = block
        .needs
        .iter()
        .map(|need| format!("`{}`", need.key))
        .collect();
    let message = format!(
        "`{}` gates nothing without {}",
        block.name,
        needs.join(" or ")
    );
    let hint = match &needs[..] {
        [need] => format!("add {need}, or leave the block out"),
        _ => "add one of them with something in it, or leave the block out".to_owned(),
    };
    reader.problem(&field.span, message, hint);
}

/// The block of this name, with `-` or `_`.
pub(crate) fn find(name: &str) -> Option<&'static Block> {
    let name = name.replace('-', "_");
    BLOCKS.iter().find(|block| block.name == name)
}

/// Whether a block has this name, with `-` or `_`.
pub(crate) fn is_block(name: &str) -> bool {
    find(name).is_some()
}

pub(crate) fn names() -> Vec<&'static str> {
    BLOCKS.iter().map(|block| block.name).collect()
}

fn known() -> String {
    format!("the blocks are {}", names().join(", "))
}

#[cfg(test)]
mod tests;
