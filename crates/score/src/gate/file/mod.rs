//! What an agent trace is held to: the blocks of a gates file, which are those of an agent of a
//! suite, read from YAML into [`Gates`].
//!
//! What a block holds is declared by its metric ([`Metric::Block`](crate::agent::Metric::Block)); here is what all
//! blocks share.

mod expectation;

use mcprove_settings::error::ConfigErrors;
use mcprove_settings::tree::Document;

use self::expectation::Resolve;
use super::GateBlock;
use crate::agent::call_limits::limit_schema;
use crate::prelude::*;

pub use expectation::expectations_of;
pub(crate) use expectation::matcher;

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
    let resolve = |target: &str| expectation::resolve(target, metrics);
    for field in fields {
        let name = field.name.replace('-', "_");
        if name == EXPECT {
            gates.expect = expectations_of(reader, field, &resolve);
        } else if let Some(metric) = metrics.iter().find(|metric| metric.about().name == name)
            && let Some(block) = read_block(reader, *metric, field, &resolve)
        {
            gates.insert(block);
        }
    }
    gates
}

fn read_block(
    reader: &mut Reader<'_>,
    metric: &dyn AnyMetric,
    field: &Field,
    resolve: Resolve<'_>,
) -> Option<GateBlock> {
    let about = metric.about();
    let label = sentence!("`{}`", about.name);
    let known: Vec<&str> = metric
        .settings()
        .iter()
        .map(|setting| setting.name)
        .chain([EXPECT])
        .collect();
    let node = table::spelled(reader, &field.value, &label, &known)?;
    let section = table::section(reader, &node, &label, &known);
    refuse_nothing(reader, about, field, &section);
    let mut block = metric.read(reader, &section);
    let expect = section.get(EXPECT);
    block.expect = expect.map(|field| expectations_of(reader, field, resolve));
    Some(block)
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
    let needs: Vec<Message> = about
        .needs
        .iter()
        .map(|need| sentence!("`{}`", need.key))
        .collect();
    let message = sentence!(
        "`{}` needs {}",
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

// The JSON Schema of a gates file, for editors and other programs: `gates.v1`.
//
// What is always the same is in `schema.json`; the rest is made from the table of keys. It cannot say all that
// the reader checks (which targets there are, what is a path), but takes everything that the reader takes.

/// The parts of `schema.json`.
static PARTS: LazyLock<Value> =
    LazyLock::new(|| serde_json::from_str(include_str!("schema.json")).unwrap_or_default());

fn part(name: &str) -> Value {
    PARTS[name].clone()
}

pub fn schema() -> Value {
    let mut schema = part("gates");
    schema["properties"] = block_properties("#/properties").into();
    schema["$defs"] = definitions().into();
    schema
}

/// The blocks by name; `place` is where they stand in the schema.
pub fn block_properties(place: &str) -> Map<String, Value> {
    let schemas = METRICS
        .iter()
        .map(|metric| (metric.about().name, block_schema(*metric)));
    let any = expectations("What each run, or a target of any metric, must be");
    let mut blocks = Map::new();
    for (block, schema) in schemas.chain([(EXPECT, any)]) {
        let dashed = block.replace('_', "-");
        blocks.insert(dashed, json!({ "$ref": format!("{place}/{block}") }));
        blocks.insert(block.to_owned(), schema);
    }
    blocks
}

/// What the blocks refer to, below `$defs`.
pub fn definitions() -> Map<String, Value> {
    [
        ("shape", part("shape")),
        ("limit", limit_schema()),
        ("expectation", part("expectation")),
        ("matcher", matcher_schema()),
    ]
    .map(|(name, schema)| (name.to_owned(), schema))
    .into_iter()
    .collect()
}

fn block_schema(metric: &dyn AnyMetric) -> Value {
    let about = metric.about();
    let mut table = map_schema(metric.settings());
    table["properties"][EXPECT] = expectations(
        "what the targets must be, instead of the default gate. Default: the default gate",
    );
    if about.needs.is_empty() {
        // A block of YAML with nothing in it is null.
        table["type"] = json!(["object", "null"]);
    } else {
        table["anyOf"] = about
            .needs
            .iter()
            .map(|need| json!({ "required": [need.key] }))
            .collect();
    }
    let description = format!(
        "{}. Default gate: {}",
        about.explanation, about.default_gate
    );
    table["description"] = description.into();
    table
}

fn expectations(description: &str) -> Value {
    let mut expectations = part("expectations");
    expectations["description"] = description.into();
    expectations
}

/// A map with exactly one matcher.
fn matcher_schema() -> Value {
    let mut schema = part("matcher");
    for (name, explanation) in Matcher::entries() {
        let mut given = PARTS["beside a matcher"][name].clone();
        given["description"] = explanation.into();
        for name in table::spellings(name) {
            schema["properties"][name] = given.clone();
        }
    }
    schema
}

#[cfg(test)]
mod tests;
