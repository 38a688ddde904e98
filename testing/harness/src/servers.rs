//! The installed servers and their command lines.

use std::path::{Path, PathBuf};

use crate::running::{Announcement, start};
use crate::{Layout, RunningServer, ServerKind, StartError};

/// How often a server that must be told its port is started again when another process took that
/// port in between.
const PORT_ATTEMPTS: usize = 3;

/// A program and its arguments.
#[derive(Debug, Clone)]
pub struct ServerCommand {
    /// The program.
    pub program: PathBuf,
    /// Its arguments.
    pub args: Vec<String>,
}

/// The real servers that `cargo xtask setup` installed.
#[derive(Debug, Clone)]
pub struct RealServers {
    layout: Layout,
    /// The folder with the sources of the Python servers.
    scripts: PathBuf,
}

impl RealServers {
    /// Looks in `MCPROVE_REAL_SERVERS`, or in `target/real-servers` of this workspace. `None` if
    /// any of the servers is missing there.
    pub fn locate() -> Option<Self> {
        let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2)?;
        let folder = std::env::var_os("MCPROVE_REAL_SERVERS")
            .map_or_else(|| workspace.join("target/real-servers"), PathBuf::from);
        let servers = Self {
            layout: Layout::new(std::path::absolute(folder).ok()?),
            scripts: workspace.join("testing/servers/python"),
        };
        let complete = ServerKind::ALL
            .iter()
            .all(|kind| servers.stdio(*kind).program.is_file());
        (complete && servers.layout.everything_script().is_file()).then_some(servers)
    }

    /// Where the parts are.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// What starts `kind` over stdio. server-everything has a tool which returns its whole
    /// environment, so give it a clean one.
    pub fn stdio(&self, kind: ServerKind) -> ServerCommand {
        match kind {
            ServerKind::Everything => self.everything("stdio"),
            _ => self.ours(kind),
        }
    }

    /// The conformance suite, to be followed by its own arguments.
    pub fn conformance(&self) -> ServerCommand {
        ServerCommand {
            program: self.layout.node(),
            args: vec![text(&self.layout.conformance_script())],
        }
    }

    /// Starts `kind` over streamable HTTP. The servers other than server-everything take the flags
    /// `--stateless` and `--json`.
    pub fn start_http(
        &self,
        kind: ServerKind,
        flags: &[&str],
    ) -> Result<RunningServer, StartError> {
        if kind == ServerKind::Everything {
            return self.start_everything("streamableHttp", "/mcp", flags);
        }
        let address = match kind {
            ServerKind::Rmcp => "127.0.0.1:0",
            _ => "0",
        };
        let mut command = self.ours(kind);
        command.args.extend(["--http".into(), address.into()]);
        command
            .args
            .extend(flags.iter().map(|flag| (*flag).to_owned()));
        start(kind, &command, &Announcement::Url)
    }

    /// Starts `kind` over HTTP+SSE, if it [has](ServerKind::has_sse) that.
    pub fn start_sse(&self, kind: ServerKind) -> Result<RunningServer, StartError> {
        if !kind.has_sse() {
            return Err(StartError::NoSse(kind));
        }
        if kind == ServerKind::Everything {
            return self.start_everything("sse", "/sse", &[]);
        }
        let mut command = self.ours(kind);
        command.args.extend(["--sse".into(), "0".into()]);
        start(kind, &command, &Announcement::Url)
    }

    fn everything(&self, transport: &str) -> ServerCommand {
        ServerCommand {
            program: self.layout.node(),
            args: vec![text(&self.layout.everything_script()), transport.to_owned()],
        }
    }

    fn ours(&self, kind: ServerKind) -> ServerCommand {
        if kind == ServerKind::Rmcp {
            return ServerCommand {
                program: self.layout.rmcp_server(),
                args: Vec::new(),
            };
        }
        let script = self.scripts.join(format!("{}_server.py", kind.name()));
        ServerCommand {
            program: self.layout.python(kind.name()),
            // No `__pycache__` in the source tree.
            args: vec!["-B".to_owned(), text(&script)],
        }
    }

    /// It cannot tell which port it got, so we choose one that is free.
    fn start_everything(
        &self,
        transport: &str,
        path: &'static str,
        flags: &[&str],
    ) -> Result<RunningServer, StartError> {
        let mut command = self.everything(transport);
        command
            .args
            .extend(flags.iter().map(|flag| (*flag).to_owned()));
        let mut attempt = 1;
        loop {
            let port = free_port().map_err(StartError::Port)?;
            let announcement = Announcement::Port { port, path };
            match start(ServerKind::Everything, &command, &announcement) {
                Err(StartError::Ended { .. }) if attempt < PORT_ATTEMPTS => attempt += 1,
                outcome => return outcome,
            }
        }
    }
}

fn free_port() -> std::io::Result<u16> {
    Ok(std::net::TcpListener::bind("127.0.0.1:0")?
        .local_addr()?
        .port())
}

fn text(path: &Path) -> String {
    path.display().to_string()
}
