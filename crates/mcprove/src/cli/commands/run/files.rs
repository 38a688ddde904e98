//! Which of the files are suites: by what is in them, since both suites and loads are YAML.

use mcprove_settings::tree::{Document, Wanted};
use mcprove_suite::recognise_file;

use crate::commands::folder::{Found, is_suite, is_yaml, yaml_files};
use crate::prelude::*;

/// What the files are.
#[derive(Debug)]
pub enum Inputs {
    /// Loads, or no files at all.
    Loads,
    /// Suites.
    Suites(Suites),
}

/// Suites, and what was found beside them.
#[derive(Debug)]
pub struct Suites {
    /// The suites, each once.
    pub files: Vec<PathBuf>,
    /// What else is in their folders.
    pub passed_over: Vec<Found>,
}

/// Finds out what the files are. A folder stands for every suite in it.
pub fn recognise(files: &[&PathBuf], has_suite_flag: bool) -> Result<Inputs, Failure> {
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
            Recognised::Ours(FileKind::Suite) => suites.push((*path).clone()),
            Recognised::Unreadable if has_suite_flag => suites.push((*path).clone()),
            Recognised::Ours(FileKind::Load) | Recognised::Unreadable => loads.push(path),
            other => return Err(no_suite(path, other)),
        }
    }
    match (suites.first(), loads.first()) {
        (None, _) => Ok(Inputs::Loads),
        (Some(suite), Some(load)) => Err(Failure::new(
            format!(
                "{} is a suite and {} is not, so they cannot be run together",
                suite.display(),
                load.display()
            ),
            "run them one after the other, or put the load into the suite, under `load:`",
        )),
        (Some(_), None) => Ok(Inputs::Suites(Suites {
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

/// The suites of a folder by name, and the other files.
fn suites_in(folder: &Path) -> Result<(Vec<PathBuf>, Vec<Found>), Failure> {
    let (suites, others): (Vec<Found>, Vec<Found>) = yaml_files(folder)?
        .into_iter()
        .partition(|(_, kind)| is_suite(*kind));
    if suites.is_empty() {
        return Err(Failure::new(
            format!("there is no suite in {}", folder.display()),
            "a suite ends in .yml or .yaml and has `servers:`; folders in it are not looked into",
        ));
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
