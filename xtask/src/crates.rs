//! The crates of the workspace and what they use, as cargo knows it.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, Result};
use serde::Deserialize;

use crate::workspace::Workspace;

/// The packages of the workspace, each with those that it uses.
pub struct Crates {
    /// Without dev-dependencies.
    pub uses: BTreeMap<String, BTreeSet<String>>,
    /// The folder of each, relative to the root, with a slash at its end.
    folders: BTreeMap<String, String>,
}

#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Package>,
}

#[derive(Deserialize)]
struct Package {
    name: String,
    manifest_path: String,
    dependencies: Vec<Dependency>,
}

#[derive(Deserialize)]
struct Dependency {
    name: String,
    kind: Option<String>,
}

impl Crates {
    pub fn read(workspace: &Workspace) -> Result<Self> {
        let arguments = ["metadata", "--format-version", "1", "--no-deps"];
        let output = workspace.cargo(arguments).output()?;
        let metadata: Metadata = serde_json::from_slice(&output.stdout)
            .with_context(|| String::from_utf8_lossy(&output.stderr).into_owned())?;
        let names: BTreeSet<&str> = metadata
            .packages
            .iter()
            .map(|package| package.name.as_str())
            .collect();
        let uses = metadata.packages.iter().map(|package| {
            let uses = package.dependencies.iter().filter(|it| it.kind.is_none());
            let uses = uses.map(|it| it.name.clone());
            let uses = uses.filter(|name| names.contains(name.as_str()));
            (package.name.clone(), uses.collect())
        });
        let folders = metadata.packages.iter().filter_map(|package| {
            let folder = package.manifest_path.strip_suffix("Cargo.toml")?;
            let root = workspace.root().to_str()?;
            let folder = folder.strip_prefix(root)?.trim_start_matches('/');
            Some((package.name.clone(), folder.to_owned()))
        });
        Ok(Self {
            uses: uses.collect(),
            folders: folders.collect(),
        })
    }

    /// Packages that use others, for tests.
    #[cfg(test)]
    pub fn of(uses: &[(&str, &[&str])]) -> Self {
        let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        let uses: BTreeMap<String, BTreeSet<String>> = uses
            .iter()
            .map(|(name, used)| ((*name).to_owned(), owned(used)))
            .collect();
        Self {
            folders: BTreeMap::new(),
            uses,
        }
    }

    /// The package that a file belongs to.
    pub fn of_file(&self, file: &str) -> Option<&str> {
        let mut folders = self.folders.iter();
        let found = folders.find(|(_, folder)| file.starts_with(folder.as_str()));
        found.map(|(name, _)| name.as_str())
    }

    /// All that a package uses, directly or not.
    pub fn all_uses(&self, name: &str) -> BTreeSet<String> {
        closure(&self.uses, name)
    }
}

/// All that `name` leads to.
pub fn closure(uses: &BTreeMap<String, BTreeSet<String>>, name: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut open = vec![name.to_owned()];
    while let Some(next) = open.pop() {
        for used in uses.get(&next).into_iter().flatten() {
            if found.insert(used.clone()) {
                open.push(used.clone());
            }
        }
    }
    found
}
