//! Where things are, and how cargo is called.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use harness::Layout;

/// This checkout.
pub struct Workspace {
    root: PathBuf,
    /// The folder of this program, which is also the folder of the other debug builds.
    binaries: PathBuf,
}

impl Workspace {
    pub fn find() -> Result<Self> {
        let manifest = std::env::var_os("CARGO_MANIFEST_DIR")
            .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")), PathBuf::from);
        let root = manifest.parent().context("xtask has no parent folder")?;
        let program = std::env::current_exe().context("cannot tell where xtask itself is")?;
        let binaries = program.parent().context("xtask is in no folder")?;
        Ok(Self {
            root: root.to_owned(),
            binaries: binaries.to_owned(),
        })
    }

    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The path of a program of this workspace, as the dev profile builds it.
    pub fn binary(&self, name: &str) -> PathBuf {
        self.binaries
            .join(format!("{name}{}", std::env::consts::EXE_SUFFIX))
    }

    /// The path of a program of this workspace, as a profile other than `dev` builds it.
    pub fn built(&self, name: &str, profile: &str) -> PathBuf {
        let file = format!("{name}{}", std::env::consts::EXE_SUFFIX);
        self.target().join(profile).join(file)
    }

    /// Where cargo builds.
    pub fn target(&self) -> &Path {
        self.binaries.parent().unwrap_or(&self.root)
    }

    /// The files that git has or would take.
    pub fn listed(&self) -> Result<Vec<String>> {
        let mut list = self.command("git");
        list.args([
            "ls-files",
            "-z",
            "--cached",
            "--others",
            "--exclude-standard",
        ]);
        let output = list.output().context("cannot start git")?;
        ensure!(output.status.success(), "not a git checkout");
        let names = String::from_utf8(output.stdout)?;
        let names = names.split('\0').filter(|name| !name.is_empty());
        Ok(names.map(str::to_owned).collect())
    }

    /// Where the real servers are installed.
    pub fn real_servers(&self) -> Layout {
        Layout::new(self.root.join("target/real-servers"))
    }

    /// Where the public servers of the field check are installed.
    pub fn field_servers(&self) -> Layout {
        Layout::new(self.root.join("target/field"))
    }

    /// A program started in the root, with the environment that the caller of `cargo xtask` had.
    ///
    /// `cargo run` adds variables about the xtask package. Build scripts that watch those would run
    /// again each time somebody changes between `cargo build` and `cargo xtask`.
    pub fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new(program);
        command.current_dir(&self.root);
        for (name, _) in std::env::vars_os() {
            let text = name.to_string_lossy();
            if text.starts_with("CARGO_PKG_") || text.starts_with("CARGO_MANIFEST_") {
                command.env_remove(&name);
            }
        }
        command
    }

    /// The cargo that runs us.
    pub fn cargo<'a>(&self, arguments: impl IntoIterator<Item = &'a str>) -> Command {
        let mut command =
            self.command(std::env::var_os("CARGO").unwrap_or_else(|| OsStr::new("cargo").into()));
        command.args(arguments);
        command
    }
}

/// Every file in a folder of `root`, with `/` in its path, sorted.
pub fn files(root: &Path, folder: &str) -> Result<Vec<String>> {
    let mut open = vec![folder.to_owned()];
    let mut found = Vec::new();
    while let Some(folder) = open.pop() {
        let entries = std::fs::read_dir(root.join(&folder))
            .with_context(|| format!("cannot read {folder}"))?;
        for entry in entries {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy().into_owned();
            let path = [folder.as_str(), &name].join("/");
            let path = path.trim_start_matches('/').to_owned();
            if entry.file_type()?.is_dir() {
                open.push(path);
            } else {
                found.push(path);
            }
        }
    }
    found.sort();
    Ok(found)
}
