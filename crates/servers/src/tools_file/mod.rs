//! Tools files: what a mock server is made of, read with places.
//!
//! A file is YAML, JSON or TOML with the keys of [`keys`]. Recordings are taken too: the result of
//! `tools/list`, bare or in its response, and the trace of a session ([`recorded`]), whose calls are
//! answered as they were.

pub mod keys;
mod other;
mod recorded;
mod table;
mod tool;

use std::collections::BTreeSet;
use std::path::Path;

use keys::is_same;
use mcprove_settings::tree::{Document, FILE_BYTES_MAX, Wanted, read_text};
use table::Table;

use crate::prelude::*;

pub use keys::schema;

/// The largest recording that is read; other files are smaller.
pub const RECORDING_BYTES_MAX: usize = 256 * 1024 * 1024;

/// What to say of a file that cannot be read.
const WANTED: Wanted = Wanted {
    when_missing: || "check the path of the tools file".into(),
    when_too_large: || {
        sentence!(
            "is it a tools file at all?{}",
            command(" ", "schema mock", " describes one")
        )
    },
};

/// The most items that a page of a list may have.
const PAGE_SIZE_MAX: u64 = 1_000_000;

/// The wrapper that other tools put around a tools file.
const WRAPPER: &str = "mock_server";

/// The lists of a tools file.
const LISTS: [&str; 4] = ["tools", "resources", "resourceTemplates", "prompts"];

/// What the result of `tools/list` has besides tools.
const RESULT_KEYS: [&str; 5] = ["nextCursor", "_meta", "resultType", "ttlMs", "cacheScope"];

/// A tools file that was read.
#[derive(Debug, Clone, PartialEq)]
pub struct MockFile {
    /// What the server is.
    pub spec: MockSpec,
    /// What is odd about the file, but harmless.
    pub warnings: Vec<Warning>,
}

/// Reads a tools file; what it is tells its name, and its text.
pub fn read(path: &Path) -> Result<MockFile, ConfigErrors> {
    let file = path.display().to_string();
    let text = read_text(path, RECORDING_BYTES_MAX, WANTED)?;
    let mut read = parse(&text, &file)?;
    if read.spec.name.is_empty() {
        let stem = path.file_stem().unwrap_or_default();
        read.spec.name = stem.to_string_lossy().into_owned();
    }
    Ok(read)
}

/// Reads the text of a tools file; `file` is its name in messages, and tells the format.
///
/// ```
/// use mcprove_servers::tools_file;
///
/// let text = "tools:\n  - name: search\n    response: \"found ${args.query}\"\n";
/// assert_eq!(tools_file::parse(text, "tools.yml").unwrap().spec.tools.len(), 1);
///
/// let errors = tools_file::parse("tools:\n  - name: search\n    respones: x\n", "tools.yml").unwrap_err();
/// assert!(errors.to_string().starts_with("error: tools.yml:3:5: unknown key \"respones\" in tool"));
/// ```
pub fn parse(text: &str, file: &str) -> Result<MockFile, ConfigErrors> {
    if recorded::is_trace(text) {
        return recorded::read(text, file);
    }
    if text.len() > FILE_BYTES_MAX {
        return Err(ConfigErrors::of(too_large(file, FILE_BYTES_MAX, WANTED)));
    }
    let extension = Path::new(file)
        .extension()
        .unwrap_or_default()
        .to_ascii_lowercase();
    let is_json = extension == "json" || text.trim_start().starts_with(['{', '[']);
    let document = if extension == "toml" {
        Document::from_toml(text, file)
    } else if is_json && (extension == "json" || serde_json::from_str::<Json>(text).is_ok()) {
        Document::from_json(text, file)
    } else {
        Document::from_yaml(text, file)
    }?;
    let mut reader = Reader::new(&document);
    let spec = read_root(&mut reader, &document.root, is_json);
    if !reader.has_problems() && !spec.has_anything() {
        let hint = "add `tools: [{ name: search, response: \"found ${args.query}\" }]`";
        let span = &document.root.span;
        reader.open_problem(span, "there are no tools in it", hint);
    }
    let warnings = reader.finish()?;
    Ok(MockFile { spec, warnings })
}

/// Whether a key at the top of a file says that it is a tools file, or an answer to `tools/list`.
pub fn is_mark(name: &str) -> bool {
    let known = LISTS.into_iter().chain(RESULT_KEYS);
    known.chain([WRAPPER, "jsonrpc"]).any(|known| known == name)
}

/// Any JSON at all.
type Json = serde::de::IgnoredAny;

fn read_root(reader: &mut Reader<'_>, root: &Node, is_json: bool) -> MockSpec {
    let fields = root.fields();
    if let Data::List(nodes) = &root.data {
        return of_tools(reader, nodes, is_json);
    }
    if let [wrapper] = fields
        && is_same(&wrapper.name, WRAPPER)
    {
        return read_root(reader, &wrapper.value, is_json);
    }
    let part_of_response = |name| root.get("jsonrpc").and_then(|_| root.get(name));
    if let Some(result) = part_of_response("result") {
        return read_recorded_list(reader, &result.value);
    }
    let is_result = |field: &Field| field.name == "tools" || RESULT_KEYS.contains(&&*field.name);
    if is_json && !fields.is_empty() && fields.iter().all(is_result) {
        return read_recorded_list(reader, root);
    }
    if let Some(error) = part_of_response("error") {
        let message = "this is an error that a server answered, so there are no tools in it";
        let hint = "record an answer to tools/list that has a result";
        reader.problem(&error.span, message, hint);
    } else if !matches!(root.data, Data::Null) {
        return read_file(reader, root).unwrap_or_default();
    }
    MockSpec::default()
}

fn read_file(reader: &mut Reader<'_>, root: &Node) -> Option<MockSpec> {
    let table = Table::read(reader, root, "file", "the file")?;
    let page_size = table.get("pageSize").and_then(|field| {
        let size = Kind::Whole(1, PAGE_SIZE_MAX).check(reader, field)?;
        usize::from_data(size)
    });
    let mut list = |name: &str| match table.get(name) {
        Some(field) if !matches!(field.value.data, Data::Null) => {
            reader.list(field, "write one `- …` for each")
        }
        _ => &[],
    };
    let [listed_tools, resources, templates, prompts] = LISTS.map(&mut list);
    refuse_same(reader, resources, "resources", "uri");
    refuse_same(reader, prompts, "prompts", "name");
    Some(MockSpec {
        name: table.text(reader, "name").unwrap_or_default(),
        title: table.text(reader, "title"),
        version: table.text(reader, "version"),
        instructions: table.text(reader, "instructions"),
        page_size,
        tools: tools(reader, listed_tools, false),
        resources: each(reader, resources, other::resource),
        resource_templates: each(reader, templates, other::resource_template),
        prompts: each(reader, prompts, other::prompt),
    })
}

fn read_recorded_list(reader: &mut Reader<'_>, result: &Node) -> MockSpec {
    let Some(field) = result.get("tools") else {
        let message = "the recorded result has no `tools`";
        let hint = "record the answer to tools/list, or a whole session with a proxy";
        reader.problem(&result.span, message, hint);
        return MockSpec::default();
    };
    if let Some(cursor) = result.get("nextCursor") {
        let message = "this is one page of the tools; those on later pages are missing";
        reader.warn(&cursor.span, message);
    }
    let nodes = reader.list(field, "this is not a result of tools/list");
    of_tools(reader, nodes, true)
}

/// A server of a bare list of tools. They may have keys that are not known where a server made them, and not where they
/// have answers.
fn of_tools(reader: &mut Reader<'_>, nodes: &[Node], is_json: bool) -> MockSpec {
    let is_answer = |field: &Field| matches!(&*field.name, "response" | "responses");
    let is_recorded = is_json && !nodes.iter().flat_map(Node::fields).any(is_answer);
    MockSpec {
        tools: tools(reader, nodes, is_recorded),
        ..MockSpec::default()
    }
}

fn tools(reader: &mut Reader<'_>, nodes: &[Node], is_recorded: bool) -> Vec<ToolSpec> {
    let mut names = BTreeSet::new();
    each(reader, nodes, |reader, node, place| {
        let tool = tool::read(reader, node, place, is_recorded)?;
        if !names.insert(tool.name().to_owned()) {
            let message = format!("two tools are called {:?}", tool.name());
            reader.problem(&node.span, message, "give one of them another name");
        }
        Some(tool)
    })
}

fn each<T>(
    reader: &mut Reader<'_>,
    nodes: &[Node],
    mut read: impl FnMut(&mut Reader<'_>, &Node, usize) -> Option<T>,
) -> Vec<T> {
    nodes
        .iter()
        .enumerate()
        .filter_map(|(place, node)| read(reader, node, place))
        .collect()
}

/// Two items of one name could not both be reached.
fn refuse_same(reader: &mut Reader<'_>, nodes: &[Node], list: &str, key: &str) {
    let mut seen = BTreeSet::new();
    let named = nodes.iter().filter_map(|node| Some(&node.get(key)?.value));
    for node in named {
        if let Some(name) = node.text().filter(|name| !seen.insert(*name)) {
            let message = format!("two of `{list}` have the {key} {name:?}");
            reader.problem(&node.span, message, "leave one of them out, or change it");
        }
    }
}

#[cfg(test)]
mod tests;
