//! What the entries of `tools`, `agents` and `load` have in common: a name, tags, a reason to skip them, and
//! defaults.

use mcprove_settings::message::{message, setting};
use mcprove_settings::reader::{Reader, Section};
use mcprove_settings::table;
use mcprove_settings::tree::{Data, Field, Node};

use super::keys::{self, Section as Keys};
use super::limits::TESTS_MAX;
use super::servers::Servers;
use crate::plan::TestHead;

/// Words that are no reasons: YAML has only `true` and `false` for yes and no, so the others arrive as texts.
const WORDS_FOR_NO: [&str; 4] = ["no", "n", "off", "false"];
const WORDS_FOR_YES: [&str; 4] = ["yes", "y", "on", "true"];
/// What to write instead of one of them.
const GIVE_A_REASON: &str = "give a reason: `skip: the test account is not there yet`";

/// The entries of a list of tests.
pub(super) fn entries<'n>(reader: &mut Reader<'_>, field: Option<&'n Field>) -> &'n [Node] {
    let Some(field) = field else {
        return &[];
    };
    if matches!(field.value.data, Data::Null) {
        return &[];
    }
    let nodes = reader.list(field, "write `- name: …` for each test");
    if let Some(node) = nodes.get(TESTS_MAX) {
        let message = format!("there are more than {TESTS_MAX} tests");
        reader.problem(&node.span, message, "make several suites of it");
        return &[];
    }
    nodes
}

/// What every test has.
pub(super) fn head(reader: &mut Reader<'_>, section: &Section<'_>) -> Option<TestHead> {
    let tags = names(reader, section, "tags").unwrap_or_default();
    let skip = skip(reader, section);
    let name = table::required(reader, section, "name")?;
    let span = section
        .get("name")
        .map_or(section.span(), |field| &field.span);
    Some(TestHead {
        name,
        place: reader.place(span),
        tags,
        skip,
    })
}

fn skip(reader: &mut Reader<'_>, section: &Section<'_>) -> Option<String> {
    let field = section.get("skip")?;
    let hint = match &field.value.data {
        Data::Boolean(false) => return None,
        Data::Boolean(true) => GIVE_A_REASON,
        Data::Text(reason) => match reason.trim().to_ascii_lowercase().as_str() {
            "" => "say why it is not run, or leave it out",
            word if WORDS_FOR_NO.contains(&word) => {
                "did you mean false? without quotes it does not skip; leave it out for the same"
            }
            word if WORDS_FOR_YES.contains(&word) => GIVE_A_REASON,
            _ => return Some(reason.clone()),
        },
        _ => "say why it is not run, or leave it out",
    };
    reader.wrong(field, "the reason as a text, or false", hint);
    None
}

/// One name, or a list of them; none if it is not given.
pub fn names(reader: &mut Reader<'_>, section: &Section<'_>, key: &str) -> Option<Vec<String>> {
    let nodes = name_nodes(reader, section, key)?;
    Some(nodes.into_iter().map(|(name, _)| name).collect())
}

/// The same, each with its node.
pub(super) fn name_nodes<'n>(
    reader: &mut Reader<'_>,
    section: &Section<'n>,
    key: &str,
) -> Option<Vec<(String, &'n Node)>> {
    let field = section.get(key)?;
    let nodes = match &field.value.data {
        Data::Text(_) => std::slice::from_ref(&field.value),
        Data::Null => &[],
        _ => reader.list(field, "write [one, two]"),
    };
    let mut names: Vec<(String, &Node)> = Vec::new();
    for node in nodes {
        match node.text().filter(|text| !text.trim().is_empty()) {
            None => {
                let found = node.text().map_or(node.kind(), |_| "an empty one");
                let message = format!("`{key}` must hold names, not {found}");
                reader.problem(&node.span, message, "write [one, two]");
            }
            Some(name) if names.iter().any(|(known, _)| known == name) => {
                let message = format!("{name:?} is in `{key}` twice");
                reader.problem(&node.span, message, "leave one of them out");
            }
            Some(name) => names.push((name.to_owned(), node)),
        }
    }
    Some(names)
}

/// The server of a test: that which is named, or the only one.
pub fn server(reader: &mut Reader<'_>, section: &Section<'_>, servers: &Servers) -> Option<String> {
    if let Some(field) = section.get("server") {
        let name = reader.text(section, "server")?;
        let is_there = servers.check(reader, &field.value.span, name);
        return is_there.then(|| name.to_owned());
    }
    if let Some(name) = servers.only() {
        return Some(name.to_owned());
    }
    let message = message![section.label.clone(), " has no ", setting("server")];
    let hint = "add `server: …` with the name of one of the `servers`";
    reader.problem(section.span(), message, hint);
    None
}

/// An entry with what the defaults have for it and it does not say itself.
pub(super) fn with_defaults(entry: Node, defaults: &[Field], keys: &Keys, but: &[&str]) -> Node {
    let Data::Table(mut fields) = entry.data else {
        return entry;
    };
    let known = keys::names(keys);
    for default in defaults {
        let name = default.name.as_str();
        if !known.contains(&name) || but.contains(&name) {
            continue;
        }
        match fields.iter_mut().find(|field| field.name == name) {
            None => fields.push(default.clone()),
            Some(field) if name == "tags" => add_tags(field, default),
            Some(field) if name == "budget" => add_fields(field, default),
            Some(_) => {}
        }
    }
    Node {
        data: Data::Table(fields),
        span: entry.span,
    }
}

/// Tags of the defaults are added to those of a test.
fn add_tags(field: &mut Field, default: &Field) {
    let as_list = |node: &Node| match &node.data {
        Data::List(nodes) => nodes.clone(),
        Data::Null => Vec::new(),
        _ => vec![node.clone()],
    };
    let mut tags = as_list(&field.value);
    for tag in as_list(&default.value) {
        if !tags.iter().any(|known| known.data == tag.data) {
            tags.push(tag);
        }
    }
    field.value.data = Data::List(tags);
}

/// What a table does not say itself.
fn add_fields(field: &mut Field, default: &Field) {
    if let (Data::Table(fields), Data::Table(others)) = (&mut field.value.data, &default.value.data)
    {
        let spelled = |field: &Field| field.name.replace('-', "_");
        for other in others {
            if !fields.iter().any(|field| spelled(field) == spelled(other)) {
                fields.push(other.clone());
            }
        }
    }
}
