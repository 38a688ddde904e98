//! What a file is, told by what is in it, since suites, loads and files of other programs are all YAML.
//!
//! A key that is nearly one of ours counts as one: a slip of the keyboard must not make a suite something
//! that nobody runs.

use std::path::Path;

use mcprove_settings::reader::slip;
use mcprove_settings::tree::{Data, Document, Field, Node, Wanted};

use super::check::FileKind;
use super::gates;

/// The tests of a suite, and what they are run on.
const OF_SUITES: [&str; 4] = ["servers", "tools", "agents", "load"];
/// What stands in suites, and in files of other programs too.
const ALSO_OF_SUITES: [&str; 2] = ["defaults", "variables"];
/// What stands at the top of a load configuration.
const OF_LOADS: [&str; 6] = [
    "scenario",
    "server",
    "thresholds",
    "session",
    "output",
    "protocol",
];
/// What stands at the top of a tools file, besides `tools`.
const OF_TOOLS: [&str; 5] = [
    "mock_server",
    "resources",
    "prompts",
    "jsonrpc",
    "nextCursor",
];
/// What stands in any file.
const OF_ALL: [&str; 3] = ["name", "description", "$schema"];
/// What a test of a tool has, and a tool of a mock has not.
const OF_TESTS: [&str; 5] = ["tool", "expect", "args", "negative_path", "server"];

/// What a file is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Recognised {
    /// One of ours, or what is meant to be one.
    Ours(FileKind),
    /// It belongs to another program.
    Foreign(&'static str),
    /// It cannot be read, so that it may be anything.
    Unreadable,
}

impl Recognised {
    /// For people.
    pub const fn describe(self) -> &'static str {
        match self {
            Self::Ours(kind) => kind.describe(),
            Self::Foreign(what) => what,
            Self::Unreadable => "a file that cannot be read",
        }
    }
}

/// What a YAML file is.
pub fn recognise_file(path: &Path) -> Recognised {
    match Document::read(path, Document::from_yaml_with_repeats, Wanted::ANY) {
        Ok(document) => recognise(&document.root),
        Err(_) => Recognised::Unreadable,
    }
}

/// What a file is, by what is in it.
pub fn recognise(root: &Node) -> Recognised {
    match &root.data {
        Data::List(nodes) => Recognised::Ours(of_list(nodes)),
        Data::Table(fields) => of_table(fields),
        // Nothing, or nothing that says what it is: whoever reads it tells what is missing.
        _ => Recognised::Ours(FileKind::Suite),
    }
}

fn of_list(nodes: &[Node]) -> FileKind {
    let is_fault = |node: &Node| matches!(node.data, Data::Text(_)) || has(node, "kind");
    if nodes.iter().all(is_fault) {
        FileKind::Faults
    } else {
        FileKind::Tools
    }
}

fn of_table(fields: &[Field]) -> Recognised {
    let is_there = |name: &str| fields.iter().any(|field| field.name == name);
    if is_there("jobs") && is_there("on") {
        return Recognised::Foreign("a workflow of GitHub Actions");
    }
    let of_suites = count(fields, &OF_SUITES);
    let of_loads = count(fields, &OF_LOADS);
    if of_loads > of_suites {
        return Recognised::Ours(FileKind::Load);
    }
    let mut tools = fields.iter().filter(|field| field.name == "tools");
    // A tools file has `tools` too.
    let is_of_tools = |field: &Field| match &field.value.data {
        Data::List(nodes) => !nodes.iter().any(is_test),
        _ => true,
    };
    if of_suites == 1 && of_loads == 0 && tools.any(is_of_tools) && !also_of_suites(fields) {
        return Recognised::Ours(FileKind::Tools);
    }
    if of_suites > 0 {
        return Recognised::Ours(FileKind::Suite);
    }
    if OF_TOOLS.into_iter().any(is_there) {
        return Recognised::Ours(FileKind::Tools);
    }
    let is_known = |field: &Field| {
        let name = field.name.as_str();
        OF_ALL.contains(&name) || ALSO_OF_SUITES.contains(&name) || name == "faults"
    };
    if fields.iter().all(is_known) {
        let is_suite = also_of_suites(fields) || !is_there("faults");
        return Recognised::Ours(if is_suite {
            FileKind::Suite
        } else {
            FileKind::Faults
        });
    }
    if fields.iter().any(|field| gates::is_block(&field.name)) {
        return Recognised::Ours(FileKind::Gates);
    }
    if is_there("faults") {
        return Recognised::Ours(FileKind::Faults);
    }
    Recognised::Foreign("no file that mcprove knows")
}

fn also_of_suites(fields: &[Field]) -> bool {
    let mut names = fields.iter().map(|field| field.name.as_str());
    names.any(|name| ALSO_OF_SUITES.contains(&name))
}

fn is_test(node: &Node) -> bool {
    OF_TESTS.into_iter().any(|name| has(node, name))
}

/// How many of the names are among the keys, or nearly. A key that is known for something else is that.
fn count(fields: &[Field], names: &[&str]) -> usize {
    let is_known = |name: &str| {
        let all = [&OF_SUITES[..], &OF_LOADS, &ALSO_OF_SUITES, &OF_TOOLS];
        let mut all = all.into_iter().chain([&OF_ALL[..]]);
        name == "faults" || gates::is_block(name) || all.any(|known| known.contains(&name))
    };
    let is_meant = |field: &&Field| {
        let name = field.name.as_str();
        names.contains(&name) || !is_known(name) && slip(names, name).is_some()
    };
    fields.iter().filter(is_meant).count()
}

fn has(node: &Node, name: &str) -> bool {
    match &node.data {
        Data::Table(fields) => fields.iter().any(|field| field.name == name),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_file_is_tells_what_is_in_it() {
        for (text, kind) in [
            ("servers: {}\ntools: []", FileKind::Suite),
            ("agents: []", FileKind::Suite),
            ("tools: [{ name: t, server: a, tool: x }]", FileKind::Suite),
            ("tools: [{ name: t, expect: [] }]", FileKind::Suite),
            ("tols: []", FileKind::Suite),
            ("severs: {}\ntools: [{ name: t }]", FileKind::Suite),
            ("server: {}\ntools: [{ name: t }]", FileKind::Suite),
            (
                "servers: {}\nserver: {}\ntools: [{ tool: t }]",
                FileKind::Suite,
            ),
            ("variables: {}\ntools: [{ name: t }]", FileKind::Suite),
            ("variables: {}", FileKind::Suite),
            ("name: x", FileKind::Suite),
            ("", FileKind::Suite),
            ("server: {}\nscenario: {}", FileKind::Load),
            ("server: {}\nscenaro: {}", FileKind::Load),
            ("scenario: { type: soak }", FileKind::Load),
            ("narrative: {}", FileKind::Gates),
            ("trajectory-axes: {}\nnarative: {}", FileKind::Gates),
            ("faults: [hang]", FileKind::Faults),
            ("[hang, { kind: slow }]", FileKind::Faults),
            ("tools: [{ name: search, response: x }]", FileKind::Tools),
            ("name: demo\ntools: [{ name: search }]", FileKind::Tools),
            ("mock_server: { tools: [] }", FileKind::Tools),
            ("[{ name: search }]", FileKind::Tools),
        ] {
            let document = Document::from_yaml(text, "x").unwrap();
            let found = recognise(&document.root);
            assert_eq!(found, Recognised::Ours(kind), "{text}");
        }
    }

    #[test]
    fn files_of_other_programs_are_none_of_ours() {
        for text in [
            "name: CI\non: push\ndefaults: {}\njobs: {}",
            "services: { db: { image: x } }",
            "toolchains: { rust: x }",
            "variables: { A: b }\nstages: [x]",
        ] {
            let document = Document::from_yaml(text, "x").unwrap();
            let found = recognise(&document.root);
            assert!(matches!(found, Recognised::Foreign(_)), "{text}");
        }
    }
}
