//! `cargo xtask setup`: the real servers, each from its lock file. What already exists, by the
//! word of its [`stamp`], is not installed again. `cargo xtask field` installs its servers the same way.

mod npm;
mod python;
mod rust;
mod stamp;

use anyhow::{Context, Result};
use harness::Layout;

use crate::workspace::Workspace;

/// Installs what is missing.
pub fn run(workspace: &Workspace) -> Result<()> {
    let layout = workspace.real_servers();
    packages(workspace, &layout, "testing/servers")?;
    rust::install(workspace, &layout)
}

/// Installs what is missing of the packages in `source`, which has a folder `npm` and a folder `python`.
pub fn packages(workspace: &Workspace, layout: &Layout, source: &str) -> Result<()> {
    std::fs::create_dir_all(layout.folder())
        .with_context(|| format!("cannot create {}", layout.folder().display()))?;
    let source = workspace.root().join(source);
    npm::install(workspace, layout, &source.join("npm"))?;
    python::install(workspace, layout, &source.join("python"))
}
