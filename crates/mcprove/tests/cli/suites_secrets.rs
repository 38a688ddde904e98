//! Secrets that a suite takes from the environment are in nothing that is written or printed, whoever repeats
//! them: tools, models, servers on stderr, processes.

#![cfg(unix)]

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use harness::model::{Asked, FakeModel, Said};

use crate::suites::Place;
use crate::support::{Fixture, MCPROVE, Output, finish, mcprove};

const KEY: &str = "k3y\"of/the+fake";
const TOKEN: &str = "t0ken/of \"mine\"+yours";
const DATABASE: &str = "datab4se?pass&word";
const ARGUMENT: &str = "argum3nt/of \\a server";
const OWN: &str = "0wn/of the+agent";
const ADDRESS: &str = "addr3ss+key/of it";

/// The variables, by name.
const PLANTED: [(&str, &str); 6] = [
    ("ANTHROPIC_API_KEY", KEY),
    ("TOKEN", TOKEN),
    ("DATABASE", DATABASE),
    ("ARGUMENT", ARGUMENT),
    ("OWN", OWN),
    ("ADDRESS", ADDRESS),
];

/// As it is, in base64, in an address and in JSON.
fn forms(secret: &str) -> [String; 4] {
    let quoted = serde_json::to_string(secret).unwrap();
    [
        secret.to_owned(),
        base64(secret.as_bytes()),
        in_address(secret),
        quoted.trim_matches('"').to_owned(),
    ]
}

fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    // Without what stands for the end, which may be left out.
    let mut text = String::new();
    for chunk in bytes.chunks(3) {
        let mut bits = 0_u32;
        for place in 0..3 {
            bits = (bits << 8) | u32::from(chunk.get(place).copied().unwrap_or(0));
        }
        for place in 0..=chunk.len() {
            let letter = usize::try_from((bits >> (18 - 6 * place)) & 63).unwrap();
            text.push(char::from(LETTERS[letter]));
        }
    }
    text
}

fn in_address(secret: &str) -> String {
    let of = |byte: u8| match byte {
        byte if byte.is_ascii_alphanumeric() => char::from(byte).to_string(),
        byte => format!("%{byte:02X}"),
    };
    secret.bytes().map(of).collect()
}

/// Every form that is in a text.
fn found_in(text: &str) -> Vec<String> {
    let all = PLANTED.iter().flat_map(|(_, secret)| forms(secret));
    all.filter(|form| text.contains(form.as_str())).collect()
}

fn assert_silent(what: &str, text: &str) {
    let found = found_in(text);
    assert!(found.is_empty(), "{found:?} in {what}:\n{text}");
}

fn written(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(written(&path));
        } else {
            found.push(path);
        }
    }
    found
}

/// All that it knows, in every form.
fn all_of_it() -> String {
    let all = PLANTED.iter().flat_map(|(_, secret)| forms(secret));
    all.collect::<Vec<_>>().join(" and ")
}

/// Passes on what it was told, and then tells all that it knows.
fn say(asked: &Asked) -> Said {
    let key = asked.header("x-api-key").unwrap_or_default();
    match asked.calls().last() {
        None => {
            let query = serde_json::json!({ "query": format!("{TOKEN} {key}") });
            Said::call(asked.tool("search"), query.to_string())
        }
        Some(call) => Said::text(format!("{}; it is {}", call.result, all_of_it())),
    }
}

/// The tools of all servers: they know secrets too.
fn tools() -> String {
    let all = serde_json::Value::from(format!("found ${{args.query}} by {}", all_of_it()));
    format!(
        "name: knowing\ntools:\n  - name: search\n    annotations: {{ readOnlyHint: true }}\n    \
         inputSchema: {{ type: object, properties: {{ query: {{ type: string }} }}, required: [query] }}\n    \
         response: {all}\n"
    )
}

fn suite(url: &str, base: &str, knowing: &Path) -> String {
    let knowing = knowing.display();
    let talks = r#"echo \"with $DATABASE and $1\" >&2; "#;
    format!(
        r#"
servers:
  remote:
    url: "{url}"
    headers: {{ Authorization: "Bearer ${{TOKEN}}" }}
  local:
    command: [sh, -c, "{talks}exec '{MCPROVE}' mock --tools-from '{knowing}'", sh, "${{ARGUMENT}}"]
    env: {{ DATABASE: "${{DATABASE}}" }}
  broken:
    command: [sh, -c, "{talks}exit 3", sh, "${{ARGUMENT}}"]
    env: {{ DATABASE: "${{DATABASE}}" }}
  nowhere: {{ url: "http://127.0.0.1:1/mcp?key=${{ADDRESS}}" }}
tools:
  - &call
    name: remote
    server: remote
    tool: search
    args: {{ query: "${{TOKEN}} ${{DATABASE}} ${{ARGUMENT}} ${{OWN}} ${{ADDRESS}}" }}
    expect: [{{ target: "result.content[0].text", matcher: {{ exact: nothing }} }}]
  - {{ <<: *call, name: local, server: local }}
  - {{ <<: *call, name: broken, server: broken }}
  - {{ <<: *call, name: nowhere, server: nowhere }}
agents:
  - &agent
    name: asks remote
    model: claude-test
    provider: {{ base_url: "{base}", api_key_env: ANTHROPIC_API_KEY }}
    servers: [remote]
    system: "Know ${{OWN}}."
    prompt: "Look for ${{TOKEN}}, ${{ADDRESS}}."
    expect: [{{ target: final_response, matcher: {{ exact: nothing }} }}]
  - {{ <<: *agent, name: asks local, servers: [local] }}
  - {{ <<: *agent, name: asks broken, servers: [broken] }}
  - name: is a process
    command: [sh, -c, "cat; echo $MINE; echo $MINE >&2; exit 4"]
    env: {{ MINE: "${{OWN}}" }}
    servers: [local]
    prompt: "Look for ${{TOKEN}}."
load:
  - &load
    name: loads remote
    server: remote
    scenario: {{ type: sustained, concurrent: 2, duration: 200ms, tool_call: [{{ name: search, args: {{ query: "${{TOKEN}}" }} }}] }}
  - {{ <<: *load, name: loads local, server: local }}
  - {{ <<: *load, name: loads broken, server: broken }}
"#
    )
}

/// Runs something where the variables are set; nothing of it tells them.
fn quiet(place: &Place, arguments: &[&str]) -> Output {
    let mut command = mcprove(arguments);
    command.current_dir(place.path(".")).envs(PLANTED);
    let output = finish(command);
    assert_silent(&format!("stdout of {arguments:?}"), &output.stdout);
    assert_silent(&format!("stderr of {arguments:?}"), &output.stderr);
    output
}

#[test]
fn no_secret_is_written_or_printed() {
    let model = FakeModel::start(say);
    let elsewhere = tempfile::tempdir().unwrap();
    let knowing = elsewhere.path().join("knowing.yml");
    std::fs::write(&knowing, tools()).unwrap();
    let remote = Fixture::start_command(mcprove(&[
        "mock",
        "--tools-from",
        &knowing.display().to_string(),
        "--http",
        "127.0.0.1:0",
    ]));
    let place = Place::new(&[&suite(&remote.url, &model.url(), &knowing)]);
    let reports = [
        "json=r.json",
        "junit=r.xml",
        "tap=r.tap",
        "github=r.txt",
        "markdown=r.md",
        "html=r.html",
    ];
    let reports = reports.iter().flat_map(|report| ["--report", report]);
    let reports: Vec<&str> = reports.collect();
    let run = |more: &[&str]| {
        let arguments = [&["run", "suite.yml"][..], &reports, more].concat();
        let output = quiet(&place, &arguments);
        let files = written(&place.path("."));
        for path in &files {
            let text = String::from_utf8_lossy(&std::fs::read(path).unwrap()).into_owned();
            assert_silent(&path.display().to_string(), &text);
        }
        (output, files)
    };
    let (output, files) = run(&["--record"]);
    assert_eq!(output.code, Some(2), "{output:?}");
    // All of it was there to be told: the model and the tools had it, and everything was written.
    let asked = model.asked();
    assert!(asked.len() >= 4, "{output:?}");
    assert_eq!(asked[0].header("x-api-key"), Some(KEY));
    assert!(String::from_utf8_lossy(&asked[0].raw).contains("t0ken/of"));
    let is_written = |part: &str| {
        let mut paths = files.iter().map(|path| path.display().to_string());
        assert!(paths.any(|path| path.contains(part)), "{part}: {files:?}");
    };
    for part in [
        "cassettes/asks-remote__claude-test.json",
        "cassettes/asks-local__claude-test.json",
        "cassettes/is-a-process__sh.json",
        "runs/agents/suite/asks-remote",
        "config.toml",
        "metrics.json",
        "trace.jsonl",
        "report.md",
        "r.html",
    ] {
        is_written(part);
    }
    let report: serde_json::Value = serde_json::from_str(&place.read("r.json")).unwrap();
    let outcomes: Vec<&str> = report["tests"]
        .as_array()
        .unwrap()
        .iter()
        .map(|test| test["outcome"].as_str().unwrap())
        .collect();
    let expected = [
        "failed", "failed", "error", "error", // tools
        "failed", "failed", "error", "failed", // agents
        "passed", "passed", "error", // loads
    ];
    assert_eq!(outcomes, expected, "{report:#}");
    // A replay, with the variables and without.
    run(&["--filter", "asks", "--filter", "process"]);
    for more in [
        &["run", "suite.yml", "--list"][..],
        &["run", "suite.yml", "--list", "--json"],
        &["run", "suite.yml", "--explain"],
        &["run", "suite.yml", "--live", "--filter", "/^asks/"],
        &["run", "suite.yml", "--report", "tap", "--filter", "local"],
        &["validate", "suite.yml"],
        &["validate", "--json", "suite.yml"],
        &["runs"],
        &["runs", "--json"],
    ] {
        quiet(&place, more);
    }
}

/// A suite of a load and of an agent that is a process, whose server tells a secret again and again.
fn endless() -> String {
    let talks = "while :; do echo with $DATABASE >&2; sleep 0.01; done & ";
    let tools = "tools.yml";
    format!(
        r#"
servers:
  local:
    command: [sh, -c, "{talks}exec '{MCPROVE}' mock --tools-from {tools}"]
    env: {{ DATABASE: "${{DATABASE}}" }}
agents:
  - name: is a process
    command: [sh, -c, "exec sleep 60"]
    servers: [local]
    prompt: "Look for ${{TOKEN}}."
load:
  - name: loads
    server: local
    scenario: {{ type: sustained, concurrent: 2, duration: 60s, tool_call: [{{ name: search, args: {{ query: "${{TOKEN}}" }} }}] }}
"#
    )
}

#[test]
fn a_kill_at_any_moment_leaves_no_secret() {
    // Which test, whether something must be written first, and the time from then on.
    let moments = [
        ("loads", false, 0),
        ("loads", false, 150),
        ("loads", true, 50),
        ("loads", true, 700),
        ("process", true, 50),
    ];
    for (test, is_awaited, milliseconds) in moments {
        let place = Place::new(&[&endless()]);
        let temporary = place.path("temporary");
        std::fs::create_dir(&temporary).unwrap();
        let mut command = place.command(&["suite.yml", "--filter", test]);
        command.envs(PLANTED).env("TMPDIR", &temporary);
        let mut child = command
            .stdin(std::process::Stdio::null())
            .stdout(std::process::Stdio::null())
            .stderr(std::process::Stdio::null())
            .spawn()
            .unwrap();
        let (name, bytes) = match test {
            "loads" => ("trace.jsonl", 10_000),
            _ => ("0.json", 10),
        };
        let is_written = || {
            let found = written(&place.path("."));
            let mut found = found.iter().filter(|path| path.ends_with(name));
            found.any(|path| std::fs::metadata(path).is_ok_and(|file| file.len() > bytes))
        };
        let deadline = Instant::now() + Duration::from_mins(1);
        while is_awaited && !is_written() && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(10));
        }
        std::thread::sleep(Duration::from_millis(milliseconds));
        child.kill().unwrap();
        child.wait().unwrap();
        let files = written(&place.path("."));
        for path in &files {
            let text = String::from_utf8_lossy(&std::fs::read(path).unwrap()).into_owned();
            assert_silent(&path.display().to_string(), &text);
        }
        assert!(!is_awaited || is_written(), "{files:?}");
    }
}
