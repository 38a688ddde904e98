//! Which of the files are suites: by what is in them, since both suites and loads are YAML.

use mcprove_settings::tree::{Document, Wanted};

use crate::commands::folder::{Found, is_yaml, yaml_files};
use crate::prelude::*;

/// Suites, and what was found beside them.
pub struct Suites {
    /// The suites, each once.
    pub files: Vec<PathBuf>,
    /// What else is in their folders.
    pub passed_over: Vec<Found>,
}

/// The suites among the files; none where they are loads, or there are no files at all. A folder stands for every
/// suite in it.
pub fn recognise(files: &[PathBuf], has_suite_flag: bool) -> Result<Option<Suites>> {
    let mut suites: Vec<PathBuf> = Vec::new();
    let mut passed_over: Vec<Found> = Vec::new();
    let mut loads: Vec<&PathBuf> = Vec::new();
    for path in files {
        if path.is_dir() {
            let (found, others) = suites_in(path)?;
            suites.extend(found);
            passed_over.extend(others);
            continue;
        }
        // What is no YAML is left to the reader of loads, and so is what cannot be read.
        if !is_yaml(path) {
            loads.push(path);
            continue;
        }
        match recognise_file(path) {
            Recognised::Ours(FileKind::Suite) => suites.push(path.clone()),
            Recognised::Unreadable if has_suite_flag => suites.push(path.clone()),
            Recognised::Ours(FileKind::Load) | Recognised::Unreadable => loads.push(path),
            other => return Err(no_suite(path, other)),
        }
    }
    match (suites.first(), loads.first()) {
        (None, _) => Ok(None),
        (Some(suite), Some(load)) => refuse(
            format!(
                "{} is a suite and {} is not, so they cannot be run together",
                suite.display(),
                load.display()
            ),
            "run them one after the other, or put the load into the suite, under `load:`",
        ),
        (Some(_), None) => Ok(Some(Suites {
            files: each_once(suites),
            passed_over,
        })),
    }
}

fn no_suite(path: &Path, kind: Recognised) -> Failure {
    Failure::new(
        format!(
            "{} is not a suite: it is {}",
            path.display(),
            kind.describe()
        ),
        "give a suite, which has `servers` and `tools`, `agents` or `load`, or a load configuration",
    )
}

/// The suites of a folder by name, and the other files. What cannot be read is taken for a suite: it may be one that
/// somebody writes in.
fn suites_in(folder: &Path) -> Result<(Vec<PathBuf>, Vec<Found>)> {
    let is_suite = |(_, kind): &Found| {
        matches!(
            kind,
            Recognised::Ours(FileKind::Suite) | Recognised::Unreadable
        )
    };
    let (suites, others): (Vec<Found>, Vec<Found>) =
        yaml_files(folder)?.into_iter().partition(is_suite);
    if suites.is_empty() {
        return refuse(
            format!("there is no suite in {}", folder.display()),
            "a suite ends in .yml or .yaml and has `servers:`; folders in it are not looked into",
        );
    }
    let suites = suites.into_iter().map(|(path, _)| path);
    Ok((suites.collect(), others))
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
    let read = || Document::read(suite, Document::from_yaml, Wanted::ANY).ok();
    let document = is_yaml(suite).then(read).flatten();
    let servers = document.iter().filter_map(|it| it.root.get("servers"));
    let servers = servers.flat_map(|servers| servers.value.fields());
    let mocks = servers.filter_map(|it| it.value.get("mock")?.value.text());
    mocks.map(|path| folder.join(path)).collect()
}
