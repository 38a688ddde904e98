//! `mcprove doctor`: a checklist of what commonly goes wrong, each failed item with one fix.

use crate::prelude::*;
use mcprove_settings::message::{assignment, sentence};

/// With more runs than this in one folder, old ones are in the way.
const RUNS_MAX: usize = 100;
/// With fewer open files than this, a load run of any size fails.
const DESCRIPTORS_MIN: u64 = 1024;

/// One item of the checklist.
#[sparse]
#[stored(open, Default, Eq)]
pub struct Item {
    /// What was looked at.
    pub name: String,
    /// Whether it is as it should be.
    pub passed: bool,
    /// Whether most servers do without it.
    pub optional: bool,
    /// Whether mcprove itself ran out of a resource, so that nothing is known.
    #[sparse]
    pub ran_out: bool,
    /// What was found.
    pub found: String,
    /// How to fix it.
    pub fix: Option<Message>,
    /// Lines that show it, such as the server's stderr.
    #[sparse]
    pub evidence: Vec<String>,
}

impl Item {
    fn good(name: &str, found: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            passed: true,
            found: found.into(),
            ..Self::default()
        }
    }

    fn bad(name: &str, found: impl Into<String>, fix: impl Into<Message>) -> Self {
        Self {
            passed: false,
            fix: Some(fix.into()),
            ..Self::good(name, found)
        }
    }

    /// A server that could not be started or reached.
    fn unreached(name: &str, error: &ConnectError) -> Self {
        Self {
            ran_out: error.own_limit().is_some(),
            ..Self::bad(name, error.to_string(), error.hint())
        }
        .with_stderr(error.stderr())
    }

    fn with_stderr(mut self, stderr: &str) -> Self {
        self.evidence = crate::last_lines(stderr).map(str::to_owned).collect();
        self
    }
}

/// Looks at this machine; `program` is mcprove itself, whose built-in server is tried.
pub async fn examine_machine(program: &Path) -> Vec<Item> {
    let mut items = vec![
        find_program(
            "Python",
            &["python3", "python"],
            "install Python 3, or put it on PATH, if your server is written in it",
        ),
        find_program(
            "Node.js",
            &["node"],
            "install Node.js, or put it on PATH, if your server is written in it",
        ),
    ];
    items.extend(toolchain());
    items.push(descriptors());
    items.push(old_runs(Path::new("runs")));
    items.push(try_built_in(program).await);
    items
}

fn find_program(name: &str, candidates: &[&str], fix: &'static str) -> Item {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path)
        .flat_map(|directory| candidates.iter().map(move |name| directory.join(name)))
        .flat_map(|file| [file.clone(), file.with_extension("exe")])
        .find(|file| file.is_file());
    match found {
        Some(file) => Item::good(name, file.display().to_string()),
        None => Item {
            optional: true,
            ..Item::bad(name, "not on PATH", fix)
        },
    }
}

/// On Windows, programs of the MSVC and the GNU toolchain do not link with each other.
fn toolchain() -> Option<Item> {
    if !cfg!(windows) {
        return None;
    }
    let ours = if cfg!(target_env = "msvc") {
        "msvc"
    } else {
        "gnu"
    };
    let rustc = std::process::Command::new("rustc").arg("-vV").output();
    let output = rustc.ok()?;
    let text = String::from_utf8_lossy(&output.stdout);
    let host = text.lines().find_map(|line| line.strip_prefix("host: "))?;
    Some(if host.ends_with(ours) {
        Item::good("Rust toolchain", host)
    } else {
        Item::bad(
            "Rust toolchain",
            format!("mcprove was built for {ours}, rustc builds for {host}"),
            format!("rustup default stable-{ours}"),
        )
    })
}

fn descriptors() -> Item {
    match mcprove_settings::own_limits::raise_descriptor_limit() {
        None => Item::good("open files", "no limit known"),
        Some(limit) if limit >= DESCRIPTORS_MIN => {
            Item::good("open files", format!("up to {limit}"))
        }
        Some(limit) => Item::bad(
            "open files",
            format!("only {limit}, too few for many connections"),
            sentence!("raise the hard limit, such as `ulimit -n {DESCRIPTORS_MIN}` as root"),
        ),
    }
}

fn old_runs(folder: &Path) -> Item {
    let name = "old runs";
    let count = std::fs::read_dir(folder)
        .into_iter()
        .flatten()
        .flatten()
        .filter(|entry| entry.path().is_dir())
        .count();
    let folder = folder.display();
    let found = format!("{count} in ./{folder}");
    if count > RUNS_MAX {
        let fix = format!("delete those you no longer need from ./{folder}");
        Item::bad(name, found, fix)
    } else {
        Item::good(name, found)
    }
}

/// Starts the built-in healthy server as a child process and talks to it.
async fn try_built_in(program: &Path) -> Item {
    let name = "starting servers";
    let server = Server::stdio(program.to_string_lossy())
        .args(["fixture", "normal"])
        .with_supervisor(program);
    let recorder = EventStream::unobserved().recorder();
    match Session::connect_recorded(&server, SessionOptions::default(), recorder).await {
        Ok(session) => {
            let startup = describe_duration(session.facts().startup);
            session.close().await;
            Item::good(name, format!("a built-in server answered in {startup}"))
        }
        Err(error) => Item::unreached(name, &error),
    }
}

/// Looks at a server: does it start, answer, list its tools, keep stdout clean, and end.
pub async fn examine_server(server: &Server, options: SessionOptions) -> Vec<Item> {
    let recorder = EventStream::unobserved().recorder();
    let session = match Session::connect_recorded(server, options, recorder).await {
        Ok(session) => session,
        Err(error) => return vec![Item::unreached("connecting", &error)],
    };
    let facts = session.facts();
    let found = format!(
        "{} {} speaks {} ({} era), ready in {}",
        facts.implementation.name,
        facts.implementation.version,
        facts.revision,
        session.era().name(),
        describe_duration(facts.startup),
    );
    let mut items = vec![Item::good("connecting", found)];
    items.extend(session.warnings().iter().map(|warning| {
        Item::bad(
            "revision",
            warning.clone(),
            sentence!("let the server choose: {}", assignment("protocol", "auto")),
        )
    }));
    items.push(match session.list_tools().await {
        Ok(tools) => Item::good("tools/list", format!("{} tools", tools.len())),
        Err(error) => Item::bad("tools/list", error.to_string(), error.category().hint())
            .with_stderr(&session.stderr_tail()),
    });
    items.push(clean_stdout(&session));
    if server.transport == Transport::Stdio {
        items.push(ends_with_its_input(session, server.shutdown_timeout).await);
    } else {
        session.close().await;
    }
    items
}

fn clean_stdout(session: &Session) -> Item {
    let violations = session.violations();
    if violations.is_empty() {
        return Item::good("protocol", "no problems");
    }
    let has = |kind| violations.counts.contains_key(&kind);
    let fix = if has(ViolationKind::Noise) || has(ViolationKind::GarbledReply) {
        "write logs to stderr: stdout carries messages only"
    } else {
        "answer every request once, with its own id, as one JSON-RPC message"
    };
    let mut item = Item::bad(
        "protocol",
        format!("{} violations", violations.total()),
        fix,
    );
    item.evidence = violations
        .first
        .iter()
        .take(crate::STDERR_LINES)
        .map(|violation| format!("{}: {}", violation.kind.explanation(), violation.message))
        .collect();
    item
}

async fn ends_with_its_input(session: Session, timeout: Duration) -> Item {
    let closing = session.close().await;
    if closing.forced {
        let timeout = describe_duration(timeout);
        let found = format!("still running {timeout} after its input closed");
        return Item::bad(
            "ending",
            found,
            "exit when reading stdin returns end of file",
        );
    }
    let status = closing
        .exit
        .map_or("ended".to_owned(), |status| status.to_string());
    Item::good("ending", format!("exits when its input closes ({status})"))
}
