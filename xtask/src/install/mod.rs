//! `cargo xtask setup`: the real servers, each from its lock file. What is there already, by the
//! word of its [`stamp`], is not installed again.

mod npm;
mod python;
mod rust;
mod stamp;

use anyhow::{Context, Result};

use crate::workspace::Workspace;

/// Installs what is missing.
pub fn run(workspace: &Workspace) -> Result<()> {
    let layout = workspace.real_servers();
    std::fs::create_dir_all(layout.folder())
        .with_context(|| format!("cannot create {}", layout.folder().display()))?;
    npm::install(workspace, &layout)?;
    python::install(workspace, &layout)?;
    rust::install(workspace, &layout)
}
