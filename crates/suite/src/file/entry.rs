//! What entries have in common: of `tools`, `agents` and `load`, a name, tags, a reason to skip them, a server, and
//! defaults; of servers and agents, a program to start.

use super::servers::Servers;
use super::settings::{DefaultSettings, ProgramSettings, TestSettings, names_of};
use crate::prelude::*;

/// The most tests of one suite.
const TESTS_MAX: usize = 100_000;

/// What the tests of a suite may refer to.
pub struct SuiteScope<'s> {
    pub folder: &'s Path,
    /// What tests have that do not say otherwise.
    pub defaults: Vec<Field>,
    pub servers: &'s Servers,
    pub faults: &'s [FaultSpec],
    /// Every name of a fault that there is, also of those that could not be read.
    pub fault_names: Vec<String>,
}

/// The entries of a list of tests.
pub fn entries<'n>(reader: &mut Reader<'_>, field: Option<&'n Field>) -> &'n [Node] {
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
pub fn settings<'n, T: Settings>(
    reader: &mut Reader<'_>,
    node: &'n Node,
    label: &Message,
    more: &[&'static str],
) -> (T, Section<'n>) {
    let known = [&names_of::<T>(), more].concat();
    let section = reader.section(node, label.clone(), &known, |_| None);
    let mut settings = T::initial();
    table::fill(&mut settings, reader, &section, true);
    (settings, section)
}

/// What every test has.
pub fn head(reader: &Reader<'_>, section: &Section<'_>, given: &TestSettings) -> TestHead {
    let name = section.get("name");
    let span = name.map_or(section.span(), |field| &field.span);
    TestHead {
        name: given.name.clone(),
        place: reader.place(span),
        tags: given.tags.texts(),
        skip: given.skip.as_ref().map(|reason| reason.0.clone()),
    }
}

/// The server of a test: that which is named, or the only one.
pub fn server(
    reader: &mut Reader<'_>,
    section: &Section<'_>,
    given: Option<String>,
    servers: &Servers,
) -> Option<String> {
    if let Some(field) = section.get("server") {
        return given.filter(|name| servers.check(reader, &field.value.span, name));
    }
    if servers.only().is_none() {
        let message = sentence!("{} has no {}", section.label, setting("server"));
        let hint = sentence!("add `server: …` with the name of one of the `servers`");
        reader.problem(section.span(), message, hint);
    }
    servers.only().map(str::to_owned)
}

/// The section `defaults`, spelled with `_`; none at all where something is wrong with it, which is then told once.
pub fn defaults(reader: &mut Reader<'_>, field: Option<&Field>, servers: &Servers) -> Vec<Field> {
    let before = reader.problem_count();
    let label = &sentence!("`defaults`");
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
pub fn completed<T: Settings>(
    reader: &mut Reader<'_>,
    node: &Node,
    label: &Message,
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

/// The program of a section with a `command`.
pub fn command(given: ProgramSettings, folder: &Path) -> CommandPlan {
    let path = given
        .cwd
        .map_or_else(|| folder.to_owned(), |given| folder.join(given));
    let working_dir = (!path.as_os_str().is_empty()).then_some(path);
    let mut words = given.command.0.0.into_iter();
    let program = words.next().unwrap_or_default();
    CommandPlan {
        program: reachable(program, working_dir.as_ref()),
        args: words.chain(given.args).collect(),
        env: given.env.0,
        working_dir,
        model: None,
    }
}

/// A program that is named by a relative path is looked for where it starts. Unix does so by itself,
/// Windows looks where we are.
fn reachable(program: String, working_dir: Option<&PathBuf>) -> String {
    let is_path = program.contains(['/', '\\']) && Path::new(&program).is_relative();
    match working_dir {
        Some(folder) if cfg!(windows) && is_path => folder.join(program).display().to_string(),
        _ => program,
    }
}
