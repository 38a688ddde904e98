//! Tools files: what a mock server is made of, read with places.
//!
//! A file is YAML, JSON or TOML with the keys of [`keys`]. Recordings are taken too: the result of
//! `tools/list`, bare or in its response, and the trace of a session ([`recorded`]), whose calls are
//! answered as they were.

pub mod keys;
mod other;
mod recorded;
mod response;
mod schema;
mod table;
mod tool;

use std::collections::BTreeSet;
use std::path::Path;

use keys::is_same;
use mcprove_settings::error::ConfigErrors;
use mcprove_settings::reader::{Reader, Warning};
use mcprove_settings::tree::{
    Data, Document, FILE_BYTES_MAX, Field, Node, Wanted, read_text, too_large,
};

use crate::mock::{MockSpec, ToolSpec};

pub use schema::schema;
use table::{Table, Unknown};

/// The largest recording that is read; other files are smaller.
pub const RECORDING_BYTES_MAX: usize = 256 * 1024 * 1024;

/// What to say of a file that cannot be read.
const WANTED: Wanted = Wanted {
    when_missing: "check the path of the tools file",
    when_too_large: "is it a tools file at all? `mcprove schema mock` describes one",
};

/// The most items that a page of a list may have.
const PAGE_SIZE_MAX: i128 = 1_000_000;

/// The wrapper that other tools put around a tools file.
const WRAPPER: &str = "mock_server";

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
    let stem = path
        .file_stem()
        .map(|stem| stem.to_string_lossy().into_owned());
    let mut read = parse(&text, &file)?;
    if read.spec.name.is_empty() {
        read.spec.name = stem.unwrap_or_default();
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

/// Any JSON at all.
type Json = serde::de::IgnoredAny;

fn read_root(reader: &mut Reader<'_>, root: &Node, is_json: bool) -> MockSpec {
    let mut spec = MockSpec::default();
    let fields: &[Field] = match &root.data {
        Data::Table(fields) => fields,
        Data::List(nodes) => {
            spec.tools = tools(reader, nodes, unknown_keys(nodes, is_json));
            return spec;
        }
        _ => &[],
    };
    if let [wrapper] = fields
        && is_same(&wrapper.name, WRAPPER)
    {
        return read_root(reader, &wrapper.value, is_json);
    }
    if let Some(result) = part_of_response(fields, "result") {
        return read_recorded_list(reader, &result.value);
    }
    let is_result = |field: &Field| field.name == "tools" || RESULT_KEYS.contains(&&*field.name);
    if is_json && !fields.is_empty() && fields.iter().all(is_result) {
        return read_recorded_list(reader, root);
    }
    if let Some(error) = part_of_response(fields, "error") {
        let message = "this is an error that a server answered, so there are no tools in it";
        let hint = "record an answer to tools/list that has a result";
        reader.problem(&error.span, message.to_owned(), hint);
        return spec;
    }
    if matches!(root.data, Data::Null) {
        return spec;
    }
    read_file(reader, root, &mut spec);
    spec
}

/// This part of a JSON-RPC response.
fn part_of_response<'f>(fields: &'f [Field], name: &str) -> Option<&'f Field> {
    let get = |name: &str| fields.iter().find(|field| field.name == name);
    get("jsonrpc")?;
    get(name)
}

fn read_file(reader: &mut Reader<'_>, root: &Node, spec: &mut MockSpec) {
    let Some(table) = Table::read(reader, root, "file", "the file") else {
        return;
    };
    spec.name = table.text(reader, "name").unwrap_or_default();
    spec.title = table.text(reader, "title");
    spec.version = table.text(reader, "version");
    spec.instructions = table.text(reader, "instructions");
    if let Some(field) = table.get("pageSize") {
        let size = field
            .value
            .integer()
            .filter(|size| (1..=PAGE_SIZE_MAX).contains(size));
        spec.page_size = size.and_then(|size| usize::try_from(size).ok());
        if spec.page_size.is_none() {
            let expected = format!("a whole number from 1 to {PAGE_SIZE_MAX}");
            reader.wrong(field, &expected, "leave it out for one page of all");
        }
    }
    let mut list = |name: &str| match table.get(name) {
        Some(field) if !matches!(field.value.data, Data::Null) => {
            reader.list(field, "write one `- …` for each")
        }
        _ => &[],
    };
    let [listed_tools, resources, templates, prompts] =
        ["tools", "resources", "resourceTemplates", "prompts"].map(&mut list);
    spec.tools = tools(reader, listed_tools, Unknown::Refused);
    spec.resources = each(reader, resources, other::resource);
    spec.resource_templates = each(reader, templates, other::resource_template);
    spec.prompts = each(reader, prompts, other::prompt);
    refuse_same(reader, resources, "resources", "uri");
    refuse_same(reader, prompts, "prompts", "name");
}

fn read_recorded_list(reader: &mut Reader<'_>, result: &Node) -> MockSpec {
    let mut spec = MockSpec::default();
    let fields: &[Field] = match &result.data {
        Data::Table(fields) => fields,
        _ => &[],
    };
    let get = |name: &str| fields.iter().find(|field| field.name == name);
    let Some(field) = get("tools") else {
        let message = "the recorded result has no `tools`".to_owned();
        let hint = "record the answer to tools/list, or a whole session with `mcprove proxy`";
        reader.problem(&result.span, message, hint);
        return spec;
    };
    let nodes = reader.list(field, "this is not a result of tools/list");
    spec.tools = tools(reader, nodes, unknown_keys(nodes, true));
    if let Some(cursor) = get("nextCursor") {
        reader.warn(
            &cursor.span,
            "this is one page of the tools; those on later pages are missing",
        );
    }
    spec
}

/// Whether tools may have keys that are not known: they may where a server made them.
fn unknown_keys(nodes: &[Node], is_json: bool) -> Unknown {
    let answers = |node: &Node| match &node.data {
        Data::Table(fields) => fields
            .iter()
            .any(|field| matches!(field.name.as_str(), "response" | "responses")),
        _ => false,
    };
    if is_json && !nodes.iter().any(answers) {
        Unknown::Kept
    } else {
        Unknown::Refused
    }
}

fn tools(reader: &mut Reader<'_>, nodes: &[Node], unknown: Unknown) -> Vec<ToolSpec> {
    let mut names = BTreeSet::new();
    let mut tools = Vec::new();
    for (place, node) in nodes.iter().enumerate() {
        let Some(tool) = tool::read(reader, node, place, unknown) else {
            continue;
        };
        if !names.insert(tool.name().to_owned()) {
            let message = format!("two tools are called {:?}", tool.name());
            reader.problem(&node.span, message, "give one of them another name");
        }
        tools.push(tool);
    }
    tools
}

fn each<T>(
    reader: &mut Reader<'_>,
    nodes: &[Node],
    read: fn(&mut Reader<'_>, &Node, usize) -> Option<T>,
) -> Vec<T> {
    let items = nodes.iter().enumerate();
    items
        .filter_map(|(place, node)| read(reader, node, place))
        .collect()
}

/// Two items of one name could not both be reached.
fn refuse_same(reader: &mut Reader<'_>, nodes: &[Node], list: &str, key: &str) {
    let mut seen = BTreeSet::new();
    for node in nodes {
        let Data::Table(fields) = &node.data else {
            continue;
        };
        let field = fields.iter().find(|field| field.name == key);
        if let Some((field, name)) = field.and_then(|field| Some((field, field.value.text()?)))
            && !seen.insert(name)
        {
            let message = format!("two of `{list}` have the {key} {name:?}");
            reader.problem(
                &field.value.span,
                message,
                "leave one of them out, or change it",
            );
        }
    }
}

#[cfg(test)]
mod tests;
