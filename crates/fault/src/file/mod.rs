//! Faults as people write them: a list in YAML, `[[faults]]` in TOML, or one line each.
//!
//! One list serves a file of its own ([`read_file`]) and files that have faults among other things. One fault of it is
//! a map with its kind, or one line as after `--fault`; what a fault is and does is in [`crate`].

mod schema;

use std::ops::Range;

use mcprove_settings::reader::{meant, near};
use mcprove_settings::table::{section, spelled};
use mcprove_settings::tree::Wanted;

use crate::make_distinct;
use crate::prelude::*;

pub use schema::{list_schema, schema};

/// The most faults of one list: each call is held against every one.
pub const FAULTS_MAX: usize = 1_000;

/// How much of a wrong name is repeated in a message.
const SHOWN_MAX: usize = 60;

const HINT: &str = "write one `- { kind: slow, delay_ms: 500, target: { tool: search } }` for each, \
                    or one [[faults]] table of TOML";

/// What a fault may have where it stands, besides its own keys.
type Extra = &'static [Setting];

/// A fault and where it stands.
#[derive(Debug)]
pub struct Item {
    pub spec: FaultSpec,
    /// Where it is named; else where it stands.
    pub name_span: Range<usize>,
    /// The entries that are no part of a fault but known where it stands, spelled with `_`. Those of a
    /// line are texts.
    pub extra: Vec<Field>,
}

/// Reads YAML: a map with `faults`, or the bare list; `file` is its name in messages.
///
/// ```
/// use mcprove_fault::file::parse_yaml;
///
/// let text = "faults:\n  - { kind: slow, delay_ms: 500, target: { tool: search } }\n  - hang,calls=3\n";
/// let faults = parse_yaml(text, "faults.yml").unwrap();
/// assert_eq!(faults[0].to_string(), "slow:500,tool=search");
///
/// let errors = parse_yaml(&text.replace("delay", "delai"), "faults.yml").unwrap_err();
/// assert!(errors.to_string().starts_with("error: faults.yml:2:19: unknown key \"delai_ms\""));
/// assert!(errors.to_string().ends_with("hint: did you mean \"delay_ms\"?"));
/// ```
pub fn parse_yaml(text: &str, file: &str) -> Result<Vec<FaultSpec>, ConfigErrors> {
    from_document(&Document::from_yaml(text, file)?)
}

/// Reads TOML: `[[faults]]` tables, or `faults = [ … ]`; `file` is its name in messages.
pub fn parse_toml(text: &str, file: &str) -> Result<Vec<FaultSpec>, ConfigErrors> {
    from_document(&Document::from_toml(text, file)?)
}

/// Reads a faults file: TOML when it ends in `.toml`, YAML when it ends in `.yml`, `.yaml` or `.json`.
pub fn read_file(path: &Path) -> Result<Vec<FaultSpec>, ConfigErrors> {
    let wanted = Wanted {
        when_missing: || "check the path of the faults".into(),
        when_too_large: || {
            sentence!(
                "is it a list of faults at all?{}",
                command(" ", "schema faults", " describes one")
            )
        },
    };
    from_document(&Document::read_by_name(path, wanted)?)
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
        let kind = root.kind();
        let message = sentence!("faults must be a list, or a map with `faults`, not {kind}");
        reader.problem(&root.span, message, HINT);
        return Vec::new();
    }
    let section = reader.section(root, "a faults file", &["faults"], advice);
    if let Some(field) = section.get("faults") {
        return read_list(reader, field, &[]);
    }
    // A key that is not known was told already.
    if section.fields().is_empty() {
        reader.problem(&root.span, sentence!("there are no `faults` in it"), HINT);
    }
    Vec::new()
}

/// What to say of a key of a fault that stands where the list should.
fn advice(name: &str) -> Option<Message> {
    let normal = name.replace('-', "_");
    let is_of_fault = ["kind", "target"].contains(&normal.as_str())
        || kinds()
            .flat_map(FaultSpec::keys)
            .any(|it| it.name == normal);
    is_of_fault.then(|| sentence!("it belongs to a fault: write `faults:` and a list below it"))
}

/// Reads the list in an entry such as `faults`; `extra` are keys that this file has besides those of a
/// fault.
pub fn read_list(reader: &mut Reader<'_>, field: &Field, extra: Extra) -> Vec<Item> {
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

fn read_nodes(reader: &mut Reader<'_>, nodes: &[Node], extra: Extra) -> Vec<Item> {
    if let Some(node) = nodes.get(FAULTS_MAX) {
        let message = format!("there are more than {FAULTS_MAX} faults");
        reader.problem(&node.span, message, "leave some out");
        return Vec::new();
    }
    let items = nodes.iter().filter_map(|node| match &node.data {
        Data::Text(line) => read_line(reader, node, line, extra),
        Data::Table(_) => {
            let problems = reader.problem_count();
            read_table(reader, node, extra).filter(|_| reader.problem_count() == problems)
        }
        _ => {
            let message = format!("a fault must be a map or a text, not {}", node.kind());
            let hint = "write { kind: slow, delay_ms: 500 }, or \"slow:500,tool=search\"";
            reader.problem(&node.span, message, hint);
            None
        }
    });
    let mut items: Vec<Item> = items.collect();
    make_distinct(items.iter_mut().map(|item| &mut item.spec));
    let mut seen = BTreeSet::new();
    // Two faults of one name could not be told apart, and would strike the same calls.
    for item in &items {
        let name = &item.spec.name;
        if !seen.insert(name) {
            let message = format!("two faults are called {name:?}");
            reader.problem(
                &item.name_span,
                message,
                sentence!("give one of them another `name`"),
            );
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

/// A fault in one line; `start=5s` and the like are taken out where they are known.
fn read_line(reader: &mut Reader<'_>, node: &Node, line: &str, extra: Extra) -> Option<Item> {
    let mut extras = Vec::new();
    let mut kept: Vec<&str> = Vec::new();
    for part in line.split(',') {
        let (key, value) = part.split_once('=').unwrap_or((part, ""));
        let name = key.trim().replace('-', "_");
        let mut extra = extra.iter().filter(|_| part.contains('='));
        let Some(setting) = extra.find(|it| it.name == name) else {
            kept.push(part);
            continue;
        };
        let data = setting.kind.parse(value.trim());
        let span = node.span.clone();
        extras.push(Field {
            name,
            span: span.clone(),
            value: Node { data, span },
        });
    }
    match kept.join(",").parse::<FaultSpec>() {
        Ok(spec) => Some(Item {
            spec,
            name_span: node.span.clone(),
            extra: extras,
        }),
        Err(error) => {
            let hint = match error.hint() {
                hint if hint.is_empty() => {
                    "a line is KIND[:VALUE][,tool=NAME][,calls=1-3][,rate=0.2], such as \
                     \"slow:500,tool=search\""
                        .into()
                }
                hint => hint,
            };
            reader.problem(&node.span, error.text(), hint);
            None
        }
    }
}

/// A fault as a map; what does not fit is a problem, and the fault is not to be used then.
fn read_table(reader: &mut Reader<'_>, node: &Node, extra: Extra) -> Option<Item> {
    let kind = read_kind(reader, node)?;
    let label = sentence!("a fault of kind {}", kind.name());
    let keys = FaultSpec::keys(kind);
    let settings = keys.into_iter().chain(extra).map(|it| it.name);
    let known: Vec<&str> = ["kind", "target"].into_iter().chain(settings).collect();
    let flat = Node {
        data: Data::Table(without_target(reader, node)),
        span: node.span.clone(),
    };
    let flat = spelled(reader, &flat, &label, &known)?;
    let section = section(reader, &flat, &label, &known);
    let mut spec = FaultSpec::new(kind);
    for field in section.fields() {
        spec.put(reader, field);
    }
    if let Err(error) = spec.check() {
        let message = sentence!("{label}: {error}");
        reader.problem(&node.span, message, "swap them, or correct one");
    }
    let name = section.get(FaultSpec::NAME.name);
    let extra = extra.iter().filter_map(|it| section.get(it.name));
    Some(Item {
        spec,
        name_span: name.map_or(&node.span, |it| &it.value.span).clone(),
        extra: extra.cloned().collect(),
    })
}

/// Its entries, with those that stand in `target` in its place.
fn without_target(reader: &mut Reader<'_>, node: &Node) -> Vec<Field> {
    let mut fields = Vec::new();
    for field in node.fields() {
        if field.name != "target" {
            fields.push(field.clone());
            continue;
        }
        let aims = FaultTarget::declared();
        let target = reader.section_of(&field.value, sentence!("`target`"), aims, |_| None);
        fields.extend(aims.iter().filter_map(|it| target.get(it.name)).cloned());
    }
    fields
}

fn read_kind(reader: &mut Reader<'_>, node: &Node) -> Option<FaultKind> {
    let known: Vec<&str> = fault_names().collect();
    let listed = known.join(", ");
    let Some(field) = node.get("kind") else {
        let hint = sentence!("add `kind: slow`, or another one: {listed}");
        reader.problem(&node.span, sentence!("a fault has no `kind`"), hint);
        return None;
    };
    let the_kinds = format!("the kinds are {listed}");
    let Some(name) = field.value.text() else {
        reader.wrong(field, "the name of a kind of fault", the_kinds);
        return None;
    };
    let kind: Option<FaultKind> = name.parse().ok();
    if kind.is_none() {
        let hint = match (name.split_once(':'), near(&known, name)) {
            (Some((kind, _)), _) if kind.parse::<FaultKind>().is_ok() => {
                sentence!("write `kind: {kind}` and its settings, or the whole line without `kind`")
            }
            (_, close) => meant(close, the_kinds),
        };
        let message = format!("no fault is called {:?}", shorten(name, SHOWN_MAX));
        reader.problem(&field.value.span, message, hint);
    }
    kind
}

#[cfg(test)]
mod tests;
