//! What a file is, told by what is in it, since suites, loads and files of other programs are all YAML.
//!
//! A key that is nearly one of ours counts as one: a slip of the keyboard must not make a suite something
//! that nobody runs.

use mcprove_load::config::sections::top_names;
use mcprove_servers::tools_file::is_mark;
use mcprove_settings::reader::slip;

use super::check::FileKind;
use super::file::{OF_TESTS, SuiteSettings, ToolTestSettings, names_of};
use crate::prelude::*;

/// What stands in many files.
const OF_MANY: &str = "faults";
/// What stands in suites, and in files of other programs too.
const ALSO_OF_SUITES: [&str; 2] = ["defaults", "variables"];

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
    Recognised::Ours(match &root.data {
        Data::List(nodes) => {
            let is_fault = |node: &Node| node.text().is_some() || node.get("kind").is_some();
            if nodes.iter().all(is_fault) {
                FileKind::Faults
            } else {
                FileKind::Tools
            }
        }
        Data::Table(fields) => match of_table(root, fields) {
            Ok(kind) => kind,
            Err(what) => return Recognised::Foreign(what),
        },
        // Nothing, or nothing that says what it is: whoever reads it tells what is missing.
        _ => FileKind::Suite,
    })
}

/// What a table is, or what other file it is.
fn of_table(root: &Node, fields: &[Field]) -> Result<FileKind, &'static str> {
    let is_there = |name: &str| root.get(name).is_some();
    if is_there("jobs") && is_there("on") {
        return Err("a workflow of GitHub Actions");
    }
    let also_of_suites = ALSO_OF_SUITES.into_iter().any(is_there);
    let of_suites = count(fields, &[&["servers"], &OF_TESTS[..]].concat());
    let of_loads: Vec<&str> = top_names().filter(|name| *name != OF_MANY).collect();
    let of_loads = count(fields, &of_loads);
    let mut tools = fields.iter().filter(|field| field.name == "tools");
    // A tools file has `tools` too, and their names.
    let of_tests = names_of::<ToolTestSettings>();
    let is_of_test = |field: &Field| field.name != "name" && of_tests.contains(&&*field.name);
    let is_test = |node: &Node| node.fields().iter().any(is_of_test);
    let is_of_tools = |field: &Field| !field.value.elements().iter().any(is_test);
    let of_suite = names_of::<SuiteSettings>();
    let is_known = |field: &Field| of_suite.contains(&&*field.name);
    Ok(if of_loads > of_suites {
        FileKind::Load
    } else if of_suites == 1 && of_loads == 0 && tools.any(is_of_tools) && !also_of_suites {
        FileKind::Tools
    } else if of_suites > 0 {
        FileKind::Suite
    } else if fields.iter().any(|field| is_mark(&field.name)) {
        FileKind::Tools
    } else if fields.iter().all(is_known) && (also_of_suites || !is_there(OF_MANY)) {
        FileKind::Suite
    } else if fields.iter().all(is_known) {
        FileKind::Faults
    } else if fields.iter().any(|field| gates::is_block(&field.name)) {
        FileKind::Gates
    } else if is_there(OF_MANY) {
        FileKind::Faults
    } else {
        return Err("no file that mcprove knows");
    })
}

/// How many of the names are among the keys, or nearly. A key that is known for something else is that.
fn count(fields: &[Field], names: &[&str]) -> usize {
    let known: Vec<&str> = names_of::<SuiteSettings>()
        .into_iter()
        .chain(top_names())
        .collect();
    let is_known = |name: &str| known.contains(&name) || is_mark(name) || gates::is_block(name);
    let is_meant = |field: &&Field| {
        let name = field.name.as_str();
        names.contains(&name) || !is_known(name) && slip(names, name).is_some()
    };
    fields.iter().filter(is_meant).count()
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
