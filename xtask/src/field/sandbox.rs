//! A place in which a command can do little harm: fresh folders, and namespaces of its own for the
//! network and for processes.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hasher};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use super::servers::git;
use crate::step;
use crate::workspace::Workspace;

/// How long a command may take. Loaded machines are slow.
const DEADLINE: Duration = Duration::from_mins(5);
const POLL_INTERVAL: Duration = Duration::from_millis(20);
/// Brings loopback up, starts a process that must survive, runs the command, and notes how both ended.
/// The shell is process 1 of the namespace: when it ends, everything in it ends.
const SCRIPT: &str = r#"
ip link set lo up || exit 125
sleep 1000 & canary=$!
"$@"
code=$?
kill -0 "$canary" 2>/dev/null && echo "$code alive" > "$FIELD_STATE" || echo "$code killed" > "$FIELD_STATE"
"#;
/// Notes what a server is sent, one file for each process.
const RECORDER: &str = r#"tee -a "$0/$$.jsonl" | "$@""#;

/// Whether this machine and this user can make such a place.
pub fn available() -> bool {
    let script = "ip link set lo up";
    cfg!(target_os = "linux") && step::succeeds(namespace().args(["sh", "-c", script]))
}

fn namespace() -> Command {
    let mut command = Command::new("unshare");
    command.args(["--net", "--pid", "--fork", "--kill-child", "--mount-proc"]);
    command
}

/// The folders of one command.
pub struct Folders {
    pub root: PathBuf,
}

impl Folders {
    /// Fresh folders, with a copy of the sample data.
    pub fn new(workspace: &Workspace, root: PathBuf, sample: &Path) -> Result<Self> {
        let _ = std::fs::remove_dir_all(&root);
        let folders = Self { root };
        for folder in [
            folders.home(),
            folders.requests(),
            folders.output(),
            folders.temporary(),
        ] {
            std::fs::create_dir_all(&folder)
                .with_context(|| format!("cannot create {}", folder.display()))?;
        }
        step::run(Command::new("cp").arg("-a").arg(sample).arg(folders.work()))?;
        // `git status` writes the index when the files are not those it was made from.
        let repository = folders.work().join("repo");
        step::run(git(workspace, &repository).args(["update-index", "--refresh"]))?;
        Ok(folders)
    }

    pub fn home(&self) -> PathBuf {
        self.root.join("home")
    }

    pub fn work(&self) -> PathBuf {
        self.root.join("work")
    }

    /// Where what the server was sent is noted.
    pub fn requests(&self) -> PathBuf {
        self.root.join("requests")
    }

    /// Where mcprove writes.
    pub fn output(&self) -> PathBuf {
        self.root.join("output")
    }

    /// Where generated paths lie.
    pub fn temporary(&self) -> PathBuf {
        self.root.join("tmp")
    }

    /// Puts the folders into `{work}`.
    pub fn fill(&self, text: &str) -> String {
        text.replace("{work}", &self.work().display().to_string())
    }

    /// A server command whose requests are noted.
    pub fn recorded(&self, server: Vec<String>) -> Vec<String> {
        let requests = self.requests().display().to_string();
        let shell = [
            "sh".to_owned(),
            "-c".to_owned(),
            RECORDER.to_owned(),
            requests,
        ];
        shell.into_iter().chain(server).collect()
    }

    /// Runs a command to its end, with `input` on its standard input.
    pub fn run(
        &self,
        command: &[String],
        variables: &[(&str, String)],
        input: Stdio,
    ) -> Result<Ending> {
        let state = self.root.join("state");
        let output = self.root.join("output.txt");
        let log = std::fs::File::create(&output)?;
        let mut child = namespace()
            .args(["sh", "-c", SCRIPT, "sh"])
            .args(command)
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", self.home())
            .env("TMPDIR", self.temporary())
            .env("LANG", "C.UTF-8")
            .env("PYTHONDONTWRITEBYTECODE", "1")
            .env("FIELD_STATE", &state)
            .env("FIELD_LOG", &output)
            .envs(variables.iter().map(|(name, value)| (*name, value)))
            .current_dir(self.work())
            .stdin(input)
            .stdout(log.try_clone()?)
            .stderr(log)
            .spawn()
            .context("cannot start unshare")?;
        let deadline = Instant::now() + DEADLINE;
        while child.try_wait()?.is_none() {
            if Instant::now() > deadline {
                child.kill()?;
                child.wait()?;
                return Ok(Ending::Late);
            }
            std::thread::sleep(POLL_INTERVAL);
        }
        let text = std::fs::read_to_string(&state)
            .with_context(|| format!("the command was not run: see {}", self.root.display()))?;
        match text.trim().split_once(' ') {
            Some((code, canary)) => Ok(Ending::Exit {
                code: code.parse().context("no exit code")?,
                canary_lives: canary == "alive",
            }),
            None => bail!("`{}` is not how a command ends", text.trim()),
        }
    }

    /// What is in the home and the working folder, by its path, as a hash of the content.
    pub fn snapshot(&self) -> Result<Snapshot> {
        let mut snapshot = Snapshot::new();
        for folder in [self.home(), self.work()] {
            add(&self.root, &folder, &mut snapshot)?;
        }
        Ok(snapshot)
    }
}

/// How a command ended.
pub enum Ending {
    Exit { code: i32, canary_lives: bool },
    Late,
}

pub type Snapshot = BTreeMap<String, u64>;

fn add(root: &Path, path: &Path, snapshot: &mut Snapshot) -> Result<()> {
    let context = || format!("cannot read {}", path.display());
    let kind = std::fs::symlink_metadata(path).with_context(context)?;
    let mut hasher = DefaultHasher::new();
    if kind.is_dir() {
        for entry in std::fs::read_dir(path).with_context(context)? {
            add(root, &entry.with_context(context)?.path(), snapshot)?;
        }
    } else if kind.is_symlink() {
        let target = std::fs::read_link(path).with_context(context)?;
        hasher.write(target.as_os_str().as_encoded_bytes());
    } else if kind.is_file() {
        hasher.write(&std::fs::read(path).with_context(context)?);
    }
    let name = path.strip_prefix(root).unwrap_or(path);
    snapshot.insert(name.display().to_string(), hasher.finish());
    Ok(())
}

/// What was created, changed or removed: the path, and the hash of what is there now.
pub fn changes(before: &Snapshot, after: &Snapshot) -> BTreeMap<String, Option<u64>> {
    let removed = before.keys().filter(|path| !after.contains_key(*path));
    let removed = removed.map(|path| (path.clone(), None));
    let changed = after
        .iter()
        .filter(|(path, hash)| before.get(*path) != Some(hash));
    removed
        .chain(changed.map(|(path, hash)| (path.clone(), Some(*hash))))
        .collect()
}
