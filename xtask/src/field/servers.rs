//! The public servers of the field check, and the sample data that they work on.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};
use harness::Layout;

use super::sandbox::Folders;
use crate::step;
use crate::workspace::Workspace;

/// Where a server comes from.
enum Source {
    /// A script below `node_modules`.
    Npm {
        package: &'static str,
        script: &'static str,
    },
    /// A program of the environment with this name.
    Python {
        package: &'static str,
        environment: &'static str,
    },
}

/// A public server.
pub struct PublicServer {
    pub name: &'static str,
    source: Source,
    /// `{work}` stands for the working folder, in variables too.
    arguments: &'static [&'static str],
    variables: &'static [(&'static str, &'static str)],
    /// Logs that the server keeps of the calls it gets, whatever the tool.
    pub journal: &'static [&'static str],
}

impl PublicServer {
    const fn npm(name: &'static str, package: &'static str, script: &'static str) -> Self {
        Self::new(name, Source::Npm { package, script })
    }

    const fn python(name: &'static str, package: &'static str, environment: &'static str) -> Self {
        Self::new(
            name,
            Source::Python {
                package,
                environment,
            },
        )
    }

    const fn new(name: &'static str, source: Source) -> Self {
        Self {
            name,
            source,
            arguments: &[],
            variables: &[],
            journal: &[],
        }
    }

    /// How the table of tools names its package.
    pub fn package(&self) -> String {
        match self.source {
            Source::Npm { package, .. } => format!("npm:{package}"),
            Source::Python { package, .. } => format!("pypi:{package}"),
        }
    }

    /// The command line.
    pub fn command(&self, layout: &Layout, folders: &Folders) -> Vec<String> {
        let mut command = match self.source {
            Source::Npm { package, script } => {
                let modules = layout.npm().join("node_modules");
                vec![
                    text(&layout.node()),
                    text(&modules.join(package).join(script)),
                ]
            }
            Source::Python {
                package,
                environment,
            } => {
                let program = Path::new("bin").join(package);
                vec![text(&layout.environment(environment).join(program))]
            }
        };
        command.extend(self.arguments.iter().map(|text| folders.fill(text)));
        command
    }

    /// Variables of its environment.
    pub fn variables(&self, folders: &Folders) -> Vec<(&'static str, String)> {
        let filled = self.variables.iter();
        filled
            .map(|(name, value)| (*name, folders.fill(value)))
            .collect()
    }
}

/// Servers with tools that write, delete and kill, beside those that only read.
pub const SERVERS: [PublicServer; 11] = [
    PublicServer {
        arguments: &["stdio"],
        ..PublicServer::npm(
            "everything",
            "@modelcontextprotocol/server-everything",
            "dist/index.js",
        )
    },
    PublicServer {
        arguments: &["{work}/docs"],
        ..PublicServer::npm(
            "filesystem",
            "@modelcontextprotocol/server-filesystem",
            "dist/index.js",
        )
    },
    PublicServer {
        variables: &[("MEMORY_FILE_PATH", "{work}/memory.jsonl")],
        ..PublicServer::npm(
            "memory",
            "@modelcontextprotocol/server-memory",
            "dist/index.js",
        )
    },
    PublicServer::npm(
        "sequential-thinking",
        "@modelcontextprotocol/server-sequential-thinking",
        "dist/index.js",
    ),
    PublicServer {
        journal: &["home/.claude-server-commander/claude_tool_call.log"],
        ..PublicServer::npm(
            "desktop-commander",
            "@wonderwhy-er/desktop-commander",
            "dist/index.js",
        )
    },
    PublicServer {
        variables: &[
            ("MCP_LOG_LEVEL", "error"),
            ("LOGS_DIR", "{work}/logs"),
            ("GIT_BASE_DIR", "{work}"),
        ],
        journal: &["work/logs/combined.log", "work/logs/error.log"],
        ..PublicServer::npm(
            "cyanheads-git",
            "@cyanheads/git-mcp-server",
            "dist/index.js",
        )
    },
    PublicServer {
        arguments: &["{work}/docs"],
        ..PublicServer::npm("obsidian", "mcp-obsidian", "dist/index.js")
    },
    PublicServer {
        arguments: &["--repository", "{work}/repo"],
        ..PublicServer::python("git", "mcp-server-git", "git")
    },
    PublicServer {
        arguments: &["--local-timezone", "UTC"],
        ..PublicServer::python("time", "mcp-server-time", "time")
    },
    PublicServer {
        arguments: &["--db-path", "{work}/test.db"],
        ..PublicServer::python("sqlite", "mcp-server-sqlite", "sqlite")
    },
    PublicServer {
        arguments: &["stdio"],
        ..PublicServer::python("excel", "excel-mcp-server", "excel")
    },
];

/// Writes the sample data into `folder`: documents, a repository, a database, a workbook, a memory.
pub fn write_sample(workspace: &Workspace, layout: &Layout, folder: &Path) -> Result<()> {
    const MEMORY: &str =
        r#"{"type":"entity","name":"ada","entityType":"person","observations":["likes tea"]}"#;
    const DATABASE: &str = "import sqlite3, sys; c = sqlite3.connect(sys.argv[1]); \
        c.execute('create table t (id integer, name text)'); \
        c.execute(\"insert into t values (1, 'one')\"); c.commit()";
    const WORKBOOK: &str = "import openpyxl, sys; b = openpyxl.Workbook(); \
        b.active.append([1, 2]); b.save(sys.argv[1])";
    for (name, content) in [
        ("docs/hello.txt", "hello\n"),
        ("docs/note.md", "# A note\n\nSome text.\n"),
        ("repo/file.txt", "one\n"),
        ("memory.jsonl", MEMORY),
    ] {
        let path = folder.join(name);
        let parent = path.parent().unwrap_or(folder);
        std::fs::create_dir_all(parent)
            .and_then(|()| std::fs::write(&path, content))
            .with_context(|| format!("cannot write {}", path.display()))?;
    }
    let python = |environment: &str, code: &str, file: &str| {
        let mut command = workspace.command(layout.python(environment));
        command.args(["-c", code]).arg(folder.join(file));
        step::run(&mut command)
    };
    python("sqlite", DATABASE, "test.db")?;
    python("excel", WORKBOOK, "docs/table.xlsx")?;
    let repository = folder.join("repo");
    for arguments in [
        &["init", "--quiet", "--initial-branch=main"][..],
        &["add", "file.txt"],
        &[
            "-c",
            "user.name=Ada",
            "-c",
            "user.email=ada@localhost",
            "commit",
            "--quiet",
            "-m",
            "one",
        ],
    ] {
        step::run(git(workspace, &repository).args(arguments))?;
    }
    Ok(())
}

/// `git` in a folder, without the configuration of the user.
pub fn git(workspace: &Workspace, folder: &Path) -> Command {
    let mut command = workspace.command("git");
    command
        .current_dir(folder)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_SYSTEM", "/dev/null");
    command
}

fn text(path: &Path) -> String {
    path.display().to_string()
}
