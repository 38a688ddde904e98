//! What the entries of `tools`, `agents` and `load` have in common: a name, tags, a reason to skip them, a server, and
//! defaults.

use std::path::Path;

use mcprove_fault::FaultSpec;
use mcprove_settings::message::{message, sentence, setting};
use mcprove_settings::reader::{Reader, Section};
use mcprove_settings::setting::{Settings, fill};
use mcprove_settings::table;
use mcprove_settings::tree::{Data, Field, Node};

use super::kinds::{Names, Reason};
use super::servers::Servers;
use super::settings::{DefaultSettings, names_of};
use crate::plan::TestHead;

/// The most tests of one suite.
const TESTS_MAX: usize = 100_000;

/// What the tests of a suite may refer to.
pub(super) struct SuiteScope<'s> {
    pub folder: &'s Path,
    /// What tests have that do not say otherwise.
    pub defaults: Vec<Field>,
    pub servers: &'s Servers,
    pub faults: &'s [FaultSpec],
    /// Every name of a fault that there is, also of those that could not be read.
    pub fault_names: Vec<String>,
}

/// The entries of a list of tests.
pub(super) fn entries<'n>(reader: &mut Reader<'_>, field: Option<&'n Field>) -> &'n [Node] {
    let Some(field) = field.filter(|field| field.value.data != Data::Null) else {
        return &[];
    };
    let nodes = reader.list(field, sentence!("write `- name: …` for each test"));
    if let Some(node) = nodes.get(TESTS_MAX) {
        let message = format!("there are more than {TESTS_MAX} tests");
        reader.problem(&node.span, message, "make several suites of it");
        return &[];
    }
    nodes
}

/// The settings of a [`spelled`](table::spelled) table, which may have these keys too.
pub(super) fn settings<'n, T: Settings>(
    reader: &mut Reader<'_>,
    node: &'n Node,
    label: &str,
    more: &[&'static str],
) -> (T, Section<'n>) {
    let known = [&names_of::<T>(), more].concat();
    let section = reader.section(node, label.to_owned(), &known, |_| None);
    let mut settings = T::initial();
    fill(&mut settings, reader, &section);
    (settings, section)
}

/// What every test has.
pub(super) fn head(
    reader: &mut Reader<'_>,
    section: &Section<'_>,
    tags: Names,
    skip: Option<Reason>,
) -> TestHead {
    let name = section.get("name");
    let span = name.map_or(section.span(), |field| &field.span);
    TestHead {
        name: table::required(reader, section, "name").unwrap_or_default(),
        place: reader.place(span),
        tags: tags.texts(),
        skip: skip.map(|reason| reason.0),
    }
}

/// The server of a test: that which is named, or the only one.
pub(super) fn server(
    reader: &mut Reader<'_>,
    section: &Section<'_>,
    servers: &Servers,
) -> Option<String> {
    if let Some(field) = section.get("server") {
        let name = reader.text_of(field)?;
        let is_there = servers.check(reader, &field.value.span, name);
        return is_there.then(|| name.to_owned());
    }
    if servers.only().is_none() {
        let message = message![section.label.clone(), " has no ", setting("server")];
        let hint = sentence!("add `server: …` with the name of one of the `servers`");
        reader.problem(section.span(), message, hint);
    }
    servers.only().map(str::to_owned)
}

/// The section `defaults`, spelled with `_`; none at all where something is wrong with it, which is then told once.
pub(super) fn defaults(
    reader: &mut Reader<'_>,
    field: Option<&Field>,
    servers: &Servers,
) -> Vec<Field> {
    let before = reader.problem_count();
    let label = "`defaults`";
    let node = field.and_then(|field| {
        table::spelled(reader, &field.value, label, &names_of::<DefaultSettings>())
    });
    let Some(node) = node else {
        return Vec::new();
    };
    let (given, section): (DefaultSettings, _) = settings(reader, &node, label, &[]);
    if let (Some(name), Some(field)) = (&given.server, section.get("server")) {
        servers.check(reader, &field.value.span, name);
    }
    for (name, span) in &given.servers.0 {
        servers.check(reader, span, name);
    }
    if reader.problem_count() == before {
        node.fields().to_vec()
    } else {
        Vec::new()
    }
}

/// An entry, spelled with `_`, with what the defaults have for it and it does not say itself; none if it is no table.
pub(super) fn completed<T: Settings>(
    reader: &mut Reader<'_>,
    node: &Node,
    label: &str,
    more: &[&'static str],
    defaults: &mut dyn Iterator<Item = &Field>,
) -> Option<Node> {
    let own = names_of::<T>();
    let mut node = table::spelled(reader, node, label, &[&own, more].concat())?;
    if let Data::Table(fields) = &mut node.data {
        for default in defaults.filter(|default| own.contains(&default.name.as_str())) {
            let given = fields.iter_mut().find(|field| field.name == default.name);
            match (given, default.name.as_str()) {
                (None, _) => fields.push(default.clone()),
                (Some(field), "tags") => add_tags(field, default),
                (Some(field), "budget") => add_fields(field, default),
                (Some(_), _) => {}
            }
        }
    }
    Some(node)
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
    if let Data::Table(fields) = &mut field.value.data {
        let spelled = |field: &Field| field.name.replace('-', "_");
        for other in default.value.fields() {
            if !fields.iter().any(|field| spelled(field) == spelled(other)) {
                fields.push(other.clone());
            }
        }
    }
}
