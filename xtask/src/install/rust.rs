//! The server on `rmcp`, built from this workspace. Cargo knows when there is nothing to do.

use anyhow::{Context, Result};
use harness::Layout;

use crate::step::run_step;
use crate::workspace::Workspace;

pub fn install(workspace: &Workspace, layout: &Layout) -> Result<()> {
    let build = workspace.cargo(["build", "--quiet", "--package", "rmcp-server"]);
    run_step("rust", build)?;
    let binary = workspace.binary("rmcp-server");
    let installed = layout.rmcp_server();
    let content =
        std::fs::read(&binary).with_context(|| format!("cannot read {}", binary.display()))?;
    if std::fs::read(&installed).is_ok_and(|present| present == content) {
        return Ok(());
    }
    // A rename replaces the file even while the old one runs.
    let fresh = installed.with_added_extension("new");
    if let Some(folder) = installed.parent() {
        std::fs::create_dir_all(folder)
            .with_context(|| format!("cannot create {}", folder.display()))?;
    }
    std::fs::copy(&binary, &fresh)
        .and_then(|_| std::fs::rename(&fresh, &installed))
        .with_context(|| format!("cannot write {}", installed.display()))
}
