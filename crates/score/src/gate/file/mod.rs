//! What an agent trace is held to: the blocks of a gates file, which are those of an agent of a
//! suite, read from YAML into [`Gates`].
//!
//! What a block holds is declared by its metric ([`Metric::Block`](crate::agent::Metric::Block)); here is what all
//! blocks share.

mod expectation;
mod schema;
mod target;

use mcprove_settings::error::ConfigErrors;
use mcprove_settings::table;
use mcprove_settings::tree::Document;

use super::Gates;
use crate::agent::{METRICS, with_own};
use crate::prelude::*;

pub(crate) use expectation::matcher;
pub use expectation::{expectations_of, json};
pub use schema::{block_properties, definitions, schema};

/// The key that every block has, and the block for whatever metric.
pub const EXPECT: &str = "expect";

/// Reads the text of a gates file; `file` is its name in messages.
///
/// ```
/// use mcprove_score::gate::file;
///
/// let text = "narrative: {}\nloops: { max_repeats: 2 }\n";
/// let read = file::parse_yaml(text, "gates.yml").unwrap();
/// assert!(read.get("narrative").is_some() && read.get("stability").is_none());
///
/// let errors = file::parse_yaml("narative: {}\n", "gates.yml").unwrap_err();
/// assert!(errors.to_string().starts_with("error: gates.yml:1:1: unknown block \"narative\""));
/// assert!(errors.to_string().ends_with("hint: did you mean \"narrative\"?"));
/// ```
pub fn parse_yaml(text: &str, file: &str) -> Result<Gates, ConfigErrors> {
    parse_yaml_with(text, file, &[])
}

/// The same, where blocks may be those of these metrics too.
pub fn parse_yaml_with(
    text: &str,
    file: &str,
    own: &[&dyn AnyMetric],
) -> Result<Gates, ConfigErrors> {
    read_document(&Document::from_yaml(text, file)?, &with_own(own))
}

/// Takes a document apart.
pub fn from_document(document: &Document) -> Result<Gates, ConfigErrors> {
    read_document(document, METRICS)
}

fn read_document(document: &Document, metrics: &[&dyn AnyMetric]) -> Result<Gates, ConfigErrors> {
    let mut reader = Reader::new(document);
    let gates = read_node(&mut reader, &document.root, metrics);
    reader.finish()?;
    Ok(gates)
}

/// Reads a map that has nothing but blocks.
fn read_node(reader: &mut Reader<'_>, node: &Node, metrics: &[&dyn AnyMetric]) -> Gates {
    let known: Vec<&str> = names_of(metrics).collect();
    let hint = format!("the blocks are {}", known.join(", "));
    match &node.data {
        Data::Table(fields) if !fields.is_empty() => {
            for field in fields {
                if !known.contains(&field.name.replace('-', "_").as_str()) {
                    table::unknown(reader, field, "block", &known);
                }
            }
            read_fields(reader, fields, metrics)
        }
        // Gates that gate nothing are a slip: whoever wants none leaves out --gates.
        Data::Null | Data::Table(_) => {
            let message = "there are no gates in it".to_owned();
            let hint = sentence!("add a block, such as `narrative: {{}}`; {hint}");
            reader.problem(&node.span, message, hint);
            Gates::default()
        }
        _ => {
            let message = format!("gates must be a map of blocks, not {}", node.kind());
            reader.problem(&node.span, message, hint);
            Gates::default()
        }
    }
}

/// Reads the blocks among the entries of a map, which may have others too.
pub fn read_blocks(reader: &mut Reader<'_>, fields: &[Field]) -> Gates {
    read_fields(reader, fields, METRICS)
}

fn read_fields(reader: &mut Reader<'_>, fields: &[Field], metrics: &[&dyn AnyMetric]) -> Gates {
    let mut gates = Gates::default();
    let known: Vec<&str> = names_of(metrics).collect();
    table::refuse_twice(reader, fields, &known);
    for field in fields {
        let name = field.name.replace('-', "_");
        if name == EXPECT {
            let resolve = |target: &str| target::resolve(target, metrics);
            gates.expect = expectations_of(reader, field, &resolve);
        } else if let Some(metric) = metrics.iter().find(|metric| metric.about().name == name) {
            read_block(reader, *metric, field, metrics, &mut gates);
        }
    }
    gates
}

fn read_block(
    reader: &mut Reader<'_>,
    metric: &dyn AnyMetric,
    field: &Field,
    metrics: &[&dyn AnyMetric],
    gates: &mut Gates,
) {
    let about = metric.about();
    let label = format!("`{}`", about.name);
    let settings = metric.settings().iter().map(|setting| setting.name);
    let known: Vec<&str> = settings.chain([EXPECT]).collect();
    let Some(node) = table::spelled(reader, &field.value, &label, &known) else {
        return;
    };
    let section = table::section(reader, &node, &label, &known);
    refuse_nothing(reader, about, field, &section);
    let mut block = metric.read(reader, &section);
    let resolve = |target: &str| target::resolve(target, metrics);
    let expect = section.get(EXPECT);
    block.expect = expect.map(|field| expectations_of(reader, field, &resolve));
    gates.insert(block);
}

/// A block without what it compares with would hold whatever the agent did.
fn refuse_nothing(reader: &mut Reader<'_>, about: &About, field: &Field, section: &Section<'_>) {
    let is_given = |need: &Need| match section.get(need.key).map(|given| &given.value.data) {
        None => false,
        Some(Data::List(nodes)) if nodes.is_empty() => need.may_be_empty,
        Some(Data::Table(fields)) if fields.is_empty() => need.may_be_empty,
        Some(_) => true,
    };
    if about.needs.is_empty() || about.needs.iter().any(is_given) {
        return;
    }
    let needs = about.needs.iter().map(|need| sentence!("`{}`", need.key));
    let needs: Vec<Message> = needs.collect();
    let message = sentence!(
        "`{}` gates nothing without {}",
        about.name,
        Message::join(needs.clone(), " or ")
    );
    let hint = match &needs[..] {
        [need] => sentence!("add {need}, or leave the block out"),
        _ => "add one of them with something in it, or leave the block out".into(),
    };
    reader.problem(&field.span, message, hint);
}

/// Whether a block has this name, with `-` or `_`.
pub fn is_block(name: &str) -> bool {
    let name = name.replace('-', "_");
    names().any(|known| known == name)
}

/// The names of the blocks.
pub fn names() -> impl Iterator<Item = &'static str> {
    names_of(METRICS)
}

fn names_of(metrics: &[&dyn AnyMetric]) -> impl Iterator<Item = &'static str> {
    metrics
        .iter()
        .map(|metric| metric.about().name)
        .chain([EXPECT])
}

#[cfg(test)]
mod tests;
