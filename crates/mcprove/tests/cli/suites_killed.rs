//! SIGKILL at random moments of a suite with a load, agents and planted secrets: no secret in any file, no
//! process left.

#![cfg(target_os = "linux")]

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use harness::model::{Asked, FakeModel, Said};

use crate::suites::Place;
use crate::support::{MCPROVE, mcprove};

/// How often the program is killed.
const KILLS: u32 = 20;
/// The last moment of a kill; the suite takes longer.
const LAST_MOMENT: Duration = Duration::from_millis(3500);
/// How long the processes may take to be gone. Loaded machines are slow.
const DEADLINE: Duration = Duration::from_secs(30);
/// No four characters of these are in a file by chance.
const PLANTED: [(&str, &str); 4] = [
    ("ANTHROPIC_API_KEY", "Zq7Vx9Kw3Jz5Xg8Qv"),
    ("TOKEN", "Wk4Zj6Qx2Vg9Kz7Jw"),
    ("DATABASE", "Xz3Qk8Jv5Wg2Zx6Kq"),
    ("DEPLOY_API_KEY", "Vj9Gz4Xk7Wq3Jx8Zg"),
];
/// The shortest part of a secret that counts as one.
const PART_CHARS: usize = 4;
/// The same in `latency.hlog`, where four characters of base64 are now and then those of a secret by chance.
const PART_CHARS_BASE64: usize = 7;

/// A server with a child in a session of its own and without an environment, that writes secrets to stderr, one of
/// them in two halves.
fn script(marker: &str, tools: &Path) -> String {
    let tools = tools.display();
    format!(
        "(env -i setsid sleep {marker} &)\n\
         while :; do printf 'key %s' \"${{DATABASE%????????}}\" >&2; sleep 0.01; \
         echo \"${{DATABASE#?????????}} $DEPLOY_API_KEY\" >&2; done &\n\
         '{MCPROVE}' mock --tools-from '{tools}'\n"
    )
}

fn suite(base: &str, script: &Path, agent: &Path) -> String {
    let (script, agent) = (script.display(), agent.display());
    format!(
        r#"
servers:
  local:
    command: [sh, "{script}"]
    env: {{ DATABASE: "${{DATABASE}}" }}
agents:
  - name: asks
    model: claude-test
    provider: {{ base_url: "{base}", api_key_env: ANTHROPIC_API_KEY }}
    servers: [local]
    runs: 20
    prompt: "Look for ${{TOKEN}}."
  - name: is a process
    command: [python3, "{agent}"]
    env: {{ OWN: "${{TOKEN}}" }}
    servers: [local]
    runs: 20
    prompt: "please search ${{TOKEN}}"
load:
  - name: loads
    server: local
    scenario: {{ type: sustained, concurrent: 4, duration: 20s, tool_call: [{{ name: search, args: {{ query: "${{TOKEN}}" }} }}] }}
"#
    )
}

/// Calls the tool, and then says all that it knows.
fn say(asked: &Asked) -> Said {
    match asked.calls().last() {
        None => Said::call(asked.tool("search"), r#"{"query":"x"}"#.to_owned()),
        Some(call) => Said::text(format!("{} {}", call.result, secrets())),
    }
}

fn secrets() -> String {
    PLANTED.map(|(_, secret)| secret).join(" ")
}

fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    let Ok(entries) = std::fs::read_dir(folder) else {
        return;
    };
    for entry in entries.flatten() {
        let path = entry.path();
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => files(&path, found),
            Ok(kind) if kind.is_file() => found.push(path),
            _ => {}
        }
    }
}

/// Every part of a secret that is in a file.
fn leaks(folder: &Path) -> Vec<String> {
    let mut paths = Vec::new();
    files(folder, &mut paths);
    let mut leaks = Vec::new();
    for path in paths {
        let text = String::from_utf8_lossy(&std::fs::read(&path).unwrap()).into_owned();
        for (name, secret) in PLANTED {
            let length = match path.extension() {
                Some(extension) if extension == "hlog" => PART_CHARS_BASE64,
                _ => PART_CHARS,
            };
            let parts = (0..=secret.len() - length).map(|at| &secret[at..at + length]);
            leaks.extend(
                parts
                    .filter(|part| text.contains(part))
                    .map(|part| format!("{part} of {name} in {}", path.display())),
            );
        }
    }
    leaks
}

/// The processes whose command line has this text.
fn processes(marker: &str) -> Vec<(u32, String)> {
    let all = std::fs::read_dir("/proc").unwrap();
    all.filter_map(|entry| {
        let pid: u32 = entry.ok()?.file_name().to_str()?.parse().ok()?;
        let line = std::fs::read(format!("/proc/{pid}/cmdline")).ok()?;
        let line = String::from_utf8_lossy(&line).replace('\0', " ");
        line.contains(marker).then_some((pid, line))
    })
    .collect()
}

#[test]
fn a_kill_at_any_moment_leaves_no_secret_and_no_process() {
    let model = FakeModel::start(say);
    let elsewhere = tempfile::tempdir().unwrap();
    let tools = elsewhere.path().join("tools.yml");
    std::fs::write(
        &tools,
        format!(
            "name: knowing\ntools:\n  - name: search\n    inputSchema: {{ type: object, properties: {{ query: {{ \
             type: string }} }} }}\n    response: \"found ${{args.query}} by {}\"\n",
            secrets()
        ),
    )
    .unwrap();
    let agent = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/agents/small_agent.py");
    // In the command line of every process: in a number of seconds, and in the paths.
    let marker = format!("98{:07}", std::process::id());
    let server = elsewhere.path().join("server.sh");
    std::fs::write(&server, script(&marker, &tools)).unwrap();
    let in_path = elsewhere.path().display().to_string();
    let mut has_trace = 0;
    let mut has_processes = 0;
    for kill in 0..KILLS {
        let place = Place::new(&[&suite(&model.url(), &server, &agent)]);
        let temporary = tempfile::tempdir().unwrap();
        // A load has the machine for itself, so it is killed in runs of its own.
        let chosen: &[&str] = if kill % 2 == 0 {
            &["--filter", "loads"]
        } else {
            &["--record"]
        };
        let run = ["run", "suite.yml", "--report", "json=report.json"];
        let mut command = mcprove(&[&run[..], chosen].concat());
        command
            .current_dir(place.path("."))
            .env("TMPDIR", temporary.path())
            .envs(PLANTED)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        // Spread over the run, each time somewhere else.
        let moment = LAST_MOMENT * (kill * 7 % KILLS) / KILLS;
        std::thread::sleep(Duration::from_millis(30) + moment);
        has_processes += u32::from(!processes(&marker).is_empty());
        child.kill().unwrap();
        let status = child.wait().unwrap();
        assert_eq!(status.code(), None, "killed, not ended: {status:?}");
        let began = Instant::now();
        loop {
            let left = [processes(&marker), processes(&in_path)].concat();
            if left.is_empty() {
                break;
            }
            assert!(
                began.elapsed() < DEADLINE,
                "kill {kill}: still there: {left:?}"
            );
            std::thread::sleep(Duration::from_millis(50));
        }
        for folder in [&place.path("."), temporary.path()] {
            let leaks = leaks(folder);
            assert!(leaks.is_empty(), "kill {kill}: {leaks:#?}");
        }
        let mut paths = Vec::new();
        files(&place.path("runs"), &mut paths);
        has_trace += u32::from(paths.iter().any(|path| {
            path.ends_with("trace.jsonl") && path.metadata().is_ok_and(|file| file.len() > 0)
        }));
    }
    // The kills fell where there was something to lose.
    assert!(
        has_trace >= 3 && has_processes >= 10,
        "{has_trace} {has_processes}"
    );
}
