//! `cargo xtask field`: that no default command does harm, on public servers. Each command runs with a
//! fresh home and working folder, in namespaces of its own. It may change no file beyond what
//! listing the tools changes, kill no process, and name no foreign address, path or process.

mod connections;
mod requests;
mod sandbox;
mod servers;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::{ExitCode, Stdio};

use anyhow::{Context, Result};
use clap::Args;
use harness::Layout;

use self::connections::TRACER;
use self::requests::{Requests, Writers};
use self::sandbox::{Ending, Folders, changes};
use self::servers::{PublicServer, SERVERS};
use crate::install;
use crate::step::{announce, run_step, succeeds};
use crate::workspace::Workspace;

#[derive(Args)]
pub struct Options {
    /// Only these servers
    #[arg(value_name = "SERVER")]
    servers: Vec<String>,
}

/// A session that only lists the tools, with time for what the server does after that.
const LISTING: &str = r#"
answered() {
    tries=0
    until grep -q "$1" "$FIELD_LOG" || [ $tries -ge 600 ]; do sleep 0.1; tries=$((tries + 1)); done
}
echo '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"field","version":"1"}}}'
answered serverInfo
echo '{"jsonrpc":"2.0","method":"notifications/initialized"}'
echo '{"jsonrpc":"2.0","id":2,"method":"tools/list"}'
answered inputSchema
sleep 3
"#;

/// What is run on each server.
const COMMANDS: [&str; 7] = [
    "probe",
    "run",
    "deadlock-probe",
    "compare",
    "suite",
    "init",
    "init, then run",
];

/// How many problems of a command are shown.
const SHOWN: usize = 20;

/// What a server changes by itself: paths with numbers replaced, and the content if it is always the same.
type Baseline = BTreeMap<String, Option<u64>>;

struct Field<'a> {
    workspace: &'a Workspace,
    layout: Layout,
    program: String,
    sample: PathBuf,
    writers: Writers,
    has_tracer: bool,
}

pub fn run(workspace: &Workspace, options: &Options) -> Result<ExitCode> {
    let what = "Linux, root, unshare and ip, for a network namespace";
    if !harness::require(what, sandbox::available()) {
        return Ok(ExitCode::SUCCESS);
    }
    let layout = workspace.field_servers();
    install::packages(workspace, &layout, "testing/servers/field")?;
    run_step(
        "build",
        workspace.cargo(["build", "--quiet", "--package", "mcprove"]),
    )?;
    let has_tracer = succeeds(workspace.command(TRACER[0]).arg("--version"));
    if !has_tracer {
        announce(
            "field",
            "no strace: where mcprove connects to is not checked",
        );
    }
    let sample = layout.folder().join("sample");
    let _ = std::fs::remove_dir_all(&sample);
    servers::write_sample(workspace, &layout, &sample)?;
    let field = Field {
        workspace,
        layout,
        program: workspace.binary("mcprove").display().to_string(),
        sample,
        writers: Writers::read(&workspace.root().join("testing/tools/tools.jsonl"))?,
        has_tracer,
    };
    let (mut passed, mut failed) = (0, 0);
    for server in SERVERS {
        let is_chosen =
            options.servers.is_empty() || options.servers.iter().any(|name| name == server.name);
        if !is_chosen {
            continue;
        }
        let baseline = field.baseline(&server)?;
        for command in COMMANDS {
            let (calls, problems) = field.check(&server, command, &baseline)?;
            let verdict = if problems.is_empty() { "ok  " } else { "FAIL" };
            println!("{verdict} {:20} {command:15} {calls}", server.name);
            for problem in problems.iter().take(SHOWN) {
                println!("       {problem}");
            }
            if problems.len() > SHOWN {
                println!("       and {} more", problems.len() - SHOWN);
            }
            if problems.is_empty() {
                passed += 1;
            } else {
                failed += 1;
            }
        }
    }
    println!("{passed} passed, {failed} failed");
    Ok(if failed == 0 {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

impl Field<'_> {
    fn folders(&self, server: &PublicServer, command: &str) -> Result<Folders> {
        let name = command.replace([' ', ','], "");
        let root = self
            .layout
            .folder()
            .join("runs")
            .join(server.name)
            .join(name);
        Folders::new(self.workspace, root, &self.sample)
    }

    /// What the server changes when its tools are listed, seen twice.
    fn baseline(&self, server: &PublicServer) -> Result<Baseline> {
        let mut baseline = Baseline::new();
        for attempt in ["listing 1", "listing 2"] {
            let folders = self.folders(server, attempt)?;
            let before = folders.snapshot()?;
            let script = format!("({LISTING}) | \"$@\"");
            let mut command = vec!["sh".to_owned(), "-c".to_owned(), script, "sh".to_owned()];
            command.extend(folders.recorded(server.command(&self.layout, &folders)));
            folders.run(&command, &server.variables(&folders), Stdio::null())?;
            let answers = std::fs::read_to_string(folders.root.join("output.txt"))?;
            anyhow::ensure!(
                answers.contains("\"inputSchema\""),
                "{} listed no tools: see {}",
                server.name,
                folders.root.display()
            );
            for (path, hash) in changes(&before, &folders.snapshot()?) {
                baseline
                    .entry(without_numbers(&path))
                    .and_modify(|known| *known = known.filter(|_| *known == hash))
                    .or_insert(hash);
            }
        }
        Ok(baseline)
    }

    /// Runs one command. Returns what it called, and what is wrong.
    fn check(
        &self,
        server: &PublicServer,
        command: &str,
        baseline: &Baseline,
    ) -> Result<(String, Vec<String>)> {
        let folders = self.folders(server, command)?;
        let target = folders.recorded(server.command(&self.layout, &folders));
        let variables = server.variables(&folders);
        let before = folders.snapshot()?;
        let mut problems = Vec::new();
        let trace = folders.root.join("connections.txt");
        for mut arguments in self.command_lines(command, &folders, &target)? {
            if self.has_tracer {
                let tracer = TRACER.map(str::to_owned).into_iter();
                let file = std::iter::once(trace.display().to_string());
                arguments.splice(0..0, tracer.chain(file));
            }
            match folders.run(&arguments, &variables, Stdio::null())? {
                Ending::Late => problems.push("did not end".to_owned()),
                Ending::Exit { code, canary_lives } => {
                    if !(0..=2).contains(&code) {
                        problems.push(format!("ended with exit code {code}"));
                    }
                    if !canary_lives {
                        problems.push("killed a process".to_owned());
                    }
                }
            }
            if self.has_tracer {
                let calls = std::fs::read_to_string(&trace).context("strace wrote nothing")?;
                problems.extend(connections::foreign(&calls));
            }
        }
        for (path, hash) in changes(&before, &folders.snapshot()?) {
            let known = baseline.get(&without_numbers(&path));
            let is_journal = server.journal.contains(&path.as_str());
            if !is_journal && known.is_none_or(|known| known.is_some() && *known != hash) {
                let what = if hash.is_none() { "removed" } else { "changed" };
                problems.push(format!("{what} {path}"));
            }
        }
        let requests = Requests::read(
            &folders.requests(),
            &server.package(),
            &self.writers,
            &folders.temporary(),
        )?;
        if !requests.listed {
            problems.push("did not list the tools".to_owned());
        }
        let named = requests.problems.into_iter();
        problems.extend(named.map(|(problem, arguments)| format!("{problem}: {arguments}")));
        let calls: usize = requests.calls.values().sum();
        let called = format!("{calls} calls of {} tools", requests.calls.len());
        Ok((called, problems))
    }

    /// The command lines of a command, one after the other.
    fn command_lines(
        &self,
        command: &str,
        folders: &Folders,
        target: &[String],
    ) -> Result<Vec<Vec<String>>> {
        let output = folders.output().display().to_string();
        let suite = format!("{output}/suite.yml");
        let line = |arguments: &[&str], target: &[String]| {
            let arguments = arguments.iter().map(|text| (*text).to_owned());
            let program = std::iter::once(self.program.clone());
            program
                .chain(arguments)
                .chain(target.iter().cloned())
                .collect::<Vec<_>>()
        };
        // Interpreters start slowly on a loaded machine.
        let on_server = |arguments: &[&str]| {
            let patience = ["--startup-timeout", "60s", "--"];
            line(&[arguments, &patience].concat(), target)
        };
        let load = ["--duration", "2s", "--out", &output];
        let quoted = shell(target);
        let init = ["init", "--out", &suite];
        Ok(match command {
            "run" => vec![on_server(&[&["run"], &load[..]].concat())],
            "deadlock-probe" => vec![on_server(&["deadlock-probe", "--out", &output])],
            "compare" => {
                let servers = ["compare", "--runs", "2", "-s", &quoted, "-s", &quoted];
                let patience = ["--startup-timeout", "60s"];
                vec![line(&[&servers[..], &load, &patience].concat(), &[])]
            }
            "suite" => {
                let content = serde_json::json!({
                    "servers": {"field": {"command": target, "startup_timeout_ms": 60_000}},
                    "load": [{
                        "name": "load",
                        "server": "field",
                        "scenario": {"type": "sustained", "concurrent": 4, "duration": "2s"},
                    }],
                });
                // JSON is YAML.
                std::fs::write(&suite, content.to_string()).context("cannot write a suite")?;
                vec![line(&["run", "--out", &output, &suite], &[])]
            }
            "init" => vec![on_server(&init)],
            "init, then run" => vec![
                on_server(&init),
                line(&["run", "--out", &output, &suite], &[]),
            ],
            _ => vec![on_server(&[command])],
        })
    }
}

/// One text for `--server`.
fn shell(command: &[String]) -> String {
    let quoted = command
        .iter()
        .map(|word| format!("'{}'", word.replace('\'', r"'\''")));
    quoted.collect::<Vec<_>>().join(" ")
}

/// A path in which each number is a `#`: logs are often named by a time or a process.
fn without_numbers(path: &str) -> String {
    let mut text = String::new();
    for character in path.chars() {
        if !character.is_ascii_digit() {
            text.push(character);
        } else if !text.ends_with('#') {
            text.push('#');
        }
    }
    text
}
