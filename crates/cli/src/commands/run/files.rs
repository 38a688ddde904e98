//! Which of the files are suites: by what is in them, since both suites and loads are YAML.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use mcprove::suite::document::{Data, Document, Node};

use crate::failure::Failure;

/// What stands at the top of a load configuration.
const OF_LOADS: [&str; 2] = ["scenario", "server"];
/// What stands at the top of a suite.
const OF_SUITES: [&str; 7] = [
    "servers",
    "tools",
    "agents",
    "load",
    "faults",
    "defaults",
    "variables",
];
/// What stands at the top of a suite and of no other file.
const OF_SUITES_ALONE: [&str; 3] = ["servers", "agents", "load"];
/// The largest file that is looked into.
const FILE_BYTES_MAX: u64 = 4 * 1024 * 1024;

/// What a file is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// A suite; perhaps one of the tools files, which have `tools` too.
    Suite { is_certain: bool },
    /// A load configuration, or something that is none of both.
    Load,
    /// No YAML. It may have been a suite before somebody began to write in it.
    Broken,
}

/// What the files are.
#[derive(Debug)]
pub enum Inputs {
    /// Loads, or no files at all.
    Loads,
    /// Suites, each once.
    Suites(Vec<PathBuf>),
}

/// Finds out what the files are. A folder stands for every suite in it.
pub fn recognise(files: &[&PathBuf], has_suite_flag: bool) -> Result<Inputs, Failure> {
    let mut suites: Vec<PathBuf> = Vec::new();
    let mut loads: Vec<&PathBuf> = Vec::new();
    for path in files {
        if path.is_dir() {
            suites.extend(suites_in(path)?);
            continue;
        }
        match kind_of(path) {
            Kind::Suite { .. } => suites.push((*path).clone()),
            Kind::Broken if has_suite_flag => suites.push((*path).clone()),
            Kind::Load | Kind::Broken => loads.push(path),
        }
    }
    match (suites.first(), loads.first()) {
        (None, _) => Ok(Inputs::Loads),
        (Some(suite), Some(load)) => Err(Failure::new(
            format!(
                "{} is a suite and {} is none, and they cannot be run together",
                suite.display(),
                load.display()
            ),
            "run them one after the other, or put the load into the suite, under `load:`",
        )),
        (Some(_), None) => Ok(Inputs::Suites(each_once(suites))),
    }
}

/// The suites of a folder, by name; not those of folders in it.
fn suites_in(folder: &Path) -> Result<Vec<PathBuf>, Failure> {
    let unreadable = |error: std::io::Error| {
        let message = format!("cannot read {}: {error}", folder.display());
        Failure::new(message, "check who may read it")
    };
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(unreadable)? {
        let path = entry.map_err(unreadable)?.path();
        let is_suite = matches!(
            kind_of(&path),
            Kind::Suite { is_certain: true } | Kind::Broken
        );
        if path.is_file() && is_suite {
            found.push(path);
        }
    }
    found.sort();
    if found.is_empty() {
        return Err(Failure::new(
            format!("there is no suite in {}", folder.display()),
            "a suite ends in .yml or .yaml and has `servers:`; folders in it are not looked into",
        ));
    }
    Ok(found)
}

/// What a file is, by its name and by what stands at its top. What cannot be read is left to whoever
/// reads it.
fn kind_of(path: &Path) -> Kind {
    let Some(document) = yaml(path) else {
        return Kind::Load;
    };
    let Some(document) = document else {
        return Kind::Broken;
    };
    let Data::Table(fields) = &document.root.data else {
        return Kind::Load;
    };
    let has = |names: &[&str]| {
        fields
            .iter()
            .any(|field| names.contains(&field.name.as_str()))
    };
    if has(&OF_LOADS) || !has(&OF_SUITES) {
        Kind::Load
    } else {
        Kind::Suite {
            is_certain: has(&OF_SUITES_ALONE),
        }
    }
}

/// The document of a YAML file; none of the outer kind where it is none by its name or cannot be read, none
/// of the inner kind where it is broken.
#[allow(
    clippy::option_option,
    reason = "both are told apart in one place only"
)]
fn yaml(path: &Path) -> Option<Option<Document>> {
    let extension = path.extension()?.to_str()?.to_ascii_lowercase();
    if !matches!(extension.as_str(), "yml" | "yaml") {
        return None;
    }
    let is_small = path.metadata().ok()?.len() <= FILE_BYTES_MAX;
    let text = is_small.then(|| std::fs::read_to_string(path).ok())??;
    Some(Document::from_yaml(&text, &path.display().to_string()).ok())
}

/// Each file once, however it is named, in the order in which they were given.
fn each_once(files: Vec<PathBuf>) -> Vec<PathBuf> {
    let mut seen = BTreeSet::new();
    let mut kept = files;
    kept.retain(|path| seen.insert(path.canonicalize().unwrap_or_else(|_| path.clone())));
    kept
}

/// The files that a suite is made of besides itself: those of its mocks.
pub fn mocks_of(suite: &Path) -> Vec<PathBuf> {
    let folder = suite.parent().unwrap_or(Path::new(""));
    let Some(Some(document)) = yaml(suite) else {
        return Vec::new();
    };
    let servers = field(&document.root, "servers").map(|servers| &servers.data);
    let Some(Data::Table(servers)) = servers else {
        return Vec::new();
    };
    let mocks = servers
        .iter()
        .filter_map(|server| match &field(&server.value, "mock")?.data {
            Data::Text(path) => Some(folder.join(path)),
            _ => None,
        });
    mocks.collect()
}

fn field<'n>(node: &'n Node, name: &str) -> Option<&'n Node> {
    match &node.data {
        Data::Table(fields) => {
            let found = fields.iter().find(|field| field.name == name);
            found.map(|field| &field.value)
        }
        _ => None,
    }
}
