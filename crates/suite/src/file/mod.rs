//! Suites as people write them: YAML in, a [`SuitePlan`] out, or every problem with its place.
//!
//! The sections and their settings are in [`settings`]; one file per section reads it. Before that, `variables` of
//! the suite are filled in ([`variables`]), and what may not be left to variables is refused ([`safety`]).
//! Nothing is started and no server is contacted: of other files only tools files of mocks are read.

mod agents;
mod entry;
mod environment;
mod kinds;
mod load;
mod safety;
mod schema;
mod servers;
mod settings;
mod tools;
mod variables;

use mcprove_fault::file::read_list;

use entry::SuiteScope;
pub use schema::schema;
use servers::Servers;
pub use settings::{SECTIONS, SectionKeys};
pub(crate) use settings::{SuiteSettings, ToolTestSettings, names_of};
use variables::Variables;

use crate::prelude::*;

/// How much of a wrong name is repeated in a message.
const SHOWN_MAX: usize = 60;
/// The sections that hold tests.
pub const OF_TESTS: [&str; 3] = ["tools", "agents", "load"];

/// Reads the text of a suite; `file` is its name in messages, `folder` where its paths start.
///
/// ```
/// use std::path::Path;
/// use mcprove_suite::file::parse_yaml;
///
/// let text = r#"
/// servers:
///   api: { command: [python, -m, my_mcp] }
/// tools:
///   - name: search finds things
///     tool: search
///     args: { query: x }
///     expect:
///       - { target: "result.content[0].text", matcher: { contains: x } }
/// "#;
/// let plan = parse_yaml(text, "suite.yml", Path::new("")).unwrap();
/// assert_eq!(plan.tools[0].server, "api");
///
/// let wrong = text.replace("target", "taget");
/// let errors = parse_yaml(&wrong, "suite.yml", Path::new("")).unwrap_err();
/// assert!(errors.to_string().contains("hint: did you mean \"target\"?"));
/// ```
pub fn parse_yaml(text: &str, file: &str, folder: &Path) -> Result<SuitePlan, ConfigErrors> {
    let document = Document::from_yaml_with_repeats(text, file)?;
    from_document(&document, folder, None)
}

/// What to say of a file that cannot be read.
const WANTED: Wanted = Wanted {
    when_missing: || {
        sentence!(
            "check the path{}",
            command("; ", "init", " writes a first suite")
        )
    },
    when_too_large: || "is it a suite at all? split it into several if it is".into(),
};

pub fn read(path: &Path) -> Result<SuitePlan, ConfigErrors> {
    let document = Document::read(path, Document::from_yaml_with_repeats, WANTED)?;
    from_document(&document, folder_of(path), None)
}

/// The folder of a file.
pub(super) fn folder_of(path: &Path) -> &Path {
    path.parent().unwrap_or(Path::new(""))
}

/// Takes a document apart. Warns of variables that it needs and the environment, if given, does not have.
pub fn from_document(
    document: &Document,
    folder: &Path,
    environment: Option<&Environment>,
) -> Result<SuitePlan, ConfigErrors> {
    let mut reader = Reader::new(document);
    safety::check(&mut reader, &document.root);
    let mut variables = Variables::read(&mut reader, &document.root);
    let filled = variables.fill(&mut reader, &document.root);
    safety::check(&mut reader, &filled);
    safety::warn_of_launchers(&mut reader, &filled);
    let (root, needed) = environment::settle(&mut reader, &filled);
    let mut plan = SuitePlan {
        file: document.file.clone(),
        folder: folder.to_owned(),
        ..SuitePlan::default()
    };
    read_root(&mut reader, &root, &mut plan);
    if let Some(environment) = environment {
        environment::warn_of_unset(&mut reader, &needed, &variables, environment);
    }
    plan.warnings = reader.finish()?;
    Ok(plan)
}

fn read_root(reader: &mut Reader<'_>, root: &Node, plan: &mut SuitePlan) {
    let known = names_of::<SuiteSettings>();
    let Some(root) = table::spelled(reader, root, &"a suite".into(), &known) else {
        return;
    };
    let (_, top) = entry::settings::<SuiteSettings>(reader, &root, &"the suite".into(), &[]);
    let servers = Servers::read(reader, top.get("servers"), &plan.folder);
    let defaults = entry::defaults(reader, top.get("defaults"), &servers);
    let (faults, fault_names) = read_faults(reader, &top, &servers);
    let scope = SuiteScope {
        folder: &plan.folder,
        defaults,
        servers: &servers,
        faults: &faults,
        fault_names,
    };
    for node in entry::entries(reader, top.get("tools")) {
        plan.tools.extend(tools::read(reader, node, &scope));
    }
    for node in entry::entries(reader, top.get("agents")) {
        plan.agents.extend(agents::read(reader, node, &scope));
    }
    for node in entry::entries(reader, top.get("load")) {
        plan.load.extend(load::read(reader, node, &scope));
    }
    refuse_same_names(reader, &top);
    refuse_nothing(reader, &top);
    plan.servers = servers.plans;
    plan.faults = faults;
}

/// The faults that agents may meet, and every name of one that there is.
fn read_faults(
    reader: &mut Reader<'_>,
    top: &Section<'_>,
    servers: &Servers,
) -> (Vec<FaultSpec>, Vec<String>) {
    let Some(field) = top.get("faults") else {
        return Default::default();
    };
    let items = read_list(reader, field, &[]);
    for item in &items {
        if let Some(server) = &item.spec.target.server {
            let span = place_of_server(field, &item.name_span);
            servers.check(reader, &span, server);
        }
    }
    let faults: Vec<FaultSpec> = items.into_iter().map(|item| item.spec).collect();
    let mut names: Vec<String> = faults.iter().map(|fault| fault.name.clone()).collect();
    // One that could not be read is there nevertheless: it must not seem to be missing too.
    let given = field.value.elements().iter();
    names.extend(given.filter_map(|node| Some(text_of(node, "name")?.0.to_owned())));
    names.dedup();
    (faults, names)
}

/// Where a fault of a list names its server; `within` is a place in the fault.
fn place_of_server(list: &Field, within: &Range<usize>) -> Range<usize> {
    let named = list
        .value
        .elements()
        .iter()
        .rev()
        .find(|node| node.span.start <= within.start)
        .and_then(|fault| {
            let target = fault
                .get("target")
                .and_then(|target| text_of(&target.value, "server"));
            target.or_else(|| text_of(fault, "server"))
        });
    named.map_or_else(|| within.clone(), |(_, span)| span.clone())
}

/// Two tests of one name could not be told apart in reports, nor chosen one by one.
fn refuse_same_names(reader: &mut Reader<'_>, top: &Section<'_>) {
    let mut seen = BTreeSet::new();
    let tests = OF_TESTS
        .into_iter()
        .filter_map(|name| top.get(name))
        .flat_map(|field| field.value.elements());
    for (name, span) in tests.filter_map(|test| text_of(test, "name")) {
        if !seen.insert(name) {
            let message = format!("two tests are called {name:?}");
            reader.problem(span, message, sentence!("give one of them another `name`"));
        }
    }
}

/// The text of a key of a table.
fn text_of<'n>(node: &'n Node, key: &str) -> Option<(&'n str, &'n Range<usize>)> {
    let value = &node.get(key)?.value;
    Some((value.text()?, &value.span))
}

/// A suite that tests nothing would pass whatever the servers do.
fn refuse_nothing(reader: &mut Reader<'_>, top: &Section<'_>) {
    let mut sections = OF_TESTS.into_iter().filter_map(|name| top.get(name));
    let has_tests = |field: &Field| match &field.value.data {
        Data::List(nodes) => !nodes.is_empty(),
        // What is no list is told already.
        other => *other != Data::Null,
    };
    if !sections.any(has_tests) {
        let hint = sentence!("add some under `tools`, `agents` or `load`");
        let start = top.span().start;
        reader.open_problem(&(start..start), "there are no tests in it", hint);
    }
}

#[cfg(test)]
mod tests;
