//! Which tools are called that nobody named, and what is said of the others.

use std::path::{Path, PathBuf};

use serde_json::Value;
use tempfile::TempDir;

use crate::support::{Output, assert_transcript, finish, mcprove, run};

/// Tools that read, and tools that write with names and hints that hide it.
const TOOLS: &str = r#"
name: notes
tools:
  - name: get_note
    description: Gets a note.
    inputSchema: { type: object }
    response: "a note"
  - name: delete_note
    inputSchema: { type: object }
    response: "gone"
  - name: kill_process
    inputSchema: { type: object, properties: { pid: { type: integer } }, required: [pid] }
    response: "successfully terminated"
  - name: get_inbox
    description: Returns the messages and marks them as read.
    inputSchema: { type: object }
    response: "none"
  - name: create_issue
    annotations: { readOnlyHint: true }
    inputSchema: { type: object }
    response: "created"
"#;

/// A folder with a server whose calls are logged.
struct Place {
    folder: TempDir,
}

impl Place {
    fn new(tools: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("tools.yml"), tools).unwrap();
        Self { folder }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn server() -> &'static str {
        "mcprove mock --tools-from tools.yml --log log.jsonl --append"
    }

    /// Runs a command on the server in the folder.
    fn run(&self, arguments: &[&str]) -> Output {
        let mut command = mcprove(arguments);
        command
            .args(["--server", Self::server()])
            .current_dir(self.folder.path());
        finish(command)
    }

    /// The tools that were called since, each once.
    fn called(&self) -> Vec<String> {
        let mut names = called(&self.path("log.jsonl"));
        names.sort();
        names.dedup();
        names
    }
}

fn called(log: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(log).unwrap_or_default();
    let _ = std::fs::remove_file(log);
    let rows = text
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok());
    rows.filter(|row| row["kind"] == "request" && row["method"] == "tools/call")
        .filter_map(|row| Some(row["tool"].as_str()?.to_owned()))
        // A bad request on purpose.
        .filter(|tool| tool != "mcprove_no_such_tool")
        .collect()
}

const COMMANDS: [&[&str]; 4] = [
    &["probe"],
    &["run", "--calls", "5", "--duration", "20s"],
    &["deadlock-probe", "--concurrent", "2"],
    &["init", "--force"],
];

#[test]
fn only_tools_that_read_are_called_and_the_others_are_listed() {
    let place = Place::new(TOOLS);
    for command in COMMANDS {
        let output = place.run(command);
        assert_eq!(output.code, Some(0), "{output:?}");
        assert_eq!(place.called(), ["get_note"], "{command:?}: {output:?}");
        for part in ["delete_note", "--allow-writes"] {
            assert!(output.stdout.contains(part), "{part}: {output:?}");
        }
        // The others have figures.
        if matches!(command[0], "probe" | "init") {
            assert_transcript!(format!("permission_{}", command[0]), [&output]);
        }
    }
}

#[test]
fn comparisons_and_loads_of_suites_keep_to_it_too() {
    let place = Place::new(TOOLS);
    let short = ["--calls", "5", "--duration", "20s", "--runs", "1"];
    let server = Place::server();
    let output = place.run(&[&["compare", "--server", server], &short[..]].concat());
    assert_eq!(place.called(), ["get_note"], "{output:?}");
    assert!(output.stdout.contains("delete_note"), "{output:?}");
    let words: Vec<String> = server.split(' ').map(|word| format!("{word:?}")).collect();
    let suite = format!(
        "servers: {{ s: {{ command: [{}] }} }}\nload:\n  - {{ name: l, server: s, scenario: {{ type: sustained, calls: 5, duration: 20s }} }}\n",
        words.join(", ")
    );
    std::fs::write(place.path("suite.yml"), suite).unwrap();
    for report in ["json", "markdown", "html", "junit", "tap"] {
        let to = format!("{report}={}", place.path(report).display());
        let mut command = mcprove(&["run", "suite.yml", "--report", &to]);
        command.current_dir(place.folder.path());
        let output = finish(command);
        assert_eq!(output.code, Some(0), "{output:?}");
        assert_eq!(place.called(), ["get_note"], "{output:?}");
        let text = std::fs::read_to_string(place.path(report)).unwrap();
        for text in [&text, &output.stdout] {
            assert!(
                text.contains("delete_note") && text.contains("allow_writes"),
                "{report}: {text}"
            );
        }
    }
}

#[test]
fn what_is_named_or_allowed_is_called() {
    let place = Place::new(TOOLS);
    let all = [
        "create_issue",
        "delete_note",
        "get_inbox",
        "get_note",
        "kill_process",
    ];
    for flag in ["--allow-writes", "--all"] {
        assert_eq!(place.run(&["probe", flag]).code, Some(0));
        assert_eq!(place.called(), all, "{flag}");
    }
    let output = place.run(&[
        "run",
        "--calls",
        "200",
        "--duration",
        "60s",
        "--allow-writes",
    ]);
    assert_eq!(place.called(), all, "{output:?}");
    let output = place.run(&[
        "run",
        "--calls",
        "5",
        "--duration",
        "20s",
        "--tool",
        "delete_note",
    ]);
    assert_eq!(place.called(), ["delete_note"], "{output:?}");
    assert!(!output.stdout.contains("--allow-writes"), "{output:?}");
    let output = place.run(&["init", "--force", "--allow", "delete_*"]);
    assert_eq!(place.called(), ["delete_note", "get_note"], "{output:?}");
}

#[test]
fn without_a_tool_that_may_be_called_nothing_is_done() {
    let place = Place::new(
        "name: notes\ntools:\n  - { name: delete_note, inputSchema: { type: object }, response: gone }\n",
    );
    let outputs = COMMANDS.map(|command| place.run(command));
    assert!(outputs.iter().all(|output| output.code == Some(2)));
    assert_eq!(place.called(), Vec::<String>::new());
    assert_transcript!("permission_none", &outputs);
}

#[test]
fn reports_hold_the_skipped_tools() {
    let place = Place::new(TOOLS);
    let output = place.run(&[
        "run",
        "--json",
        "--calls",
        "5",
        "--duration",
        "20s",
        "--out",
        "out",
    ]);
    let report: Value =
        serde_json::from_str(&output.stdout).unwrap_or_else(|_| panic!("{output:?}"));
    let skipped = report["skipped_tools"].as_array().unwrap();
    assert_eq!(skipped.len(), 4, "{skipped:?}");
    assert_eq!(skipped[0]["name"], "delete_note");
    let run = std::fs::read_dir(place.path("out"))
        .unwrap()
        .next()
        .unwrap()
        .unwrap()
        .path();
    for name in ["report.md", "report.html"] {
        let text = std::fs::read_to_string(run.join(name)).unwrap();
        for part in ["kill_process", "--allow-writes"] {
            assert!(text.contains(part), "{name} has no {part}");
        }
    }
    let output = place.run(&["probe", "--json"]);
    let report = output.report();
    assert_eq!(report.tools.iter().filter(|tool| tool.may_write).count(), 4);
}

#[test]
fn many_skipped_tools_are_counted() {
    let tools: Vec<String> = (0..47)
        .map(|number| {
            format!("  - {{ name: delete_{number}, inputSchema: {{ type: object }}, response: x }}")
        })
        .collect();
    let tools = tools.join(
        "
",
    );
    let place = Place::new(&format!(
        "name: notes\ntools:\n  - {{ name: get, inputSchema: {{ type: object }}, response: x }}\n{tools}"
    ));
    assert_transcript!("permission_many", [&place.run(&["probe"])]);
}

#[test]
fn every_command_explains_the_rule() {
    for command in ["probe", "run", "deadlock-probe", "compare", "init"] {
        let output = run(&[command, "--explain"]);
        for part in ["readOnlyHint", "--allow-writes"] {
            assert!(output.stdout.contains(part), "{command}: {output:?}");
        }
    }
    let folder = tempfile::tempdir().unwrap();
    let suite = folder.path().join("suite.yml");
    let load = "load: [{ name: l, server: s, scenario: { type: sustained, duration: 1s } }]\n";
    std::fs::write(
        &suite,
        format!("servers: {{ s: {{ command: [none] }} }}\n{load}"),
    )
    .unwrap();
    let output = run(&["run", suite.to_str().unwrap(), "--explain"]);
    for part in ["readOnlyHint", "`allow_writes: true`"] {
        assert!(output.stdout.contains(part), "{output:?}");
    }
}

/// A server without tools: one prompt that needs an argument, one resource, both answered or not.
const WITHOUT_TOOLS: &str = r"
import json, sys
for line in sys.stdin:
    request = json.loads(line)
    if 'id' not in request:
        continue
    method = request['method']
    result = {
        'initialize': {'protocolVersion': '2025-06-18', 'capabilities': {'prompts': {}, 'resources': {}}, 'serverInfo': {'name': 's', 'version': '1'}},
        'ping': {},
        'prompts/list': {'prompts': [{'name': 'greet', 'arguments': [{'name': 'who', 'required': True}]}]},
        'resources/list': {'resources': [{'uri': 'memo://one', 'name': 'one'}]},
        'prompts/get': {'messages': []},
        'resources/read': {'contents': []},
    }.get(method)
    if sys.argv[1:] == ['refuse'] and method in ('prompts/get', 'resources/read'):
        result = None
    reply = {'result': result} if result is not None else {'error': {'code': -32601, 'message': 'no'}}
    print(json.dumps({'jsonrpc': '2.0', 'id': request['id'], **reply}), flush=True)
";

#[test]
fn a_server_without_tools_is_probed_by_its_prompts_and_resources() {
    let output = run(&["probe", "--json", "--", "python3", "-c", WITHOUT_TOOLS]);
    assert_eq!(output.code, Some(0), "{output:?}");
    let report = output.report();
    assert_eq!((report.prompts.len(), report.resources.len()), (1, 1));
    let output = run(&["probe", "--", "python3", "-c", WITHOUT_TOOLS, "refuse"]);
    assert_eq!(output.code, Some(2), "{output:?}");
    assert!(output.stdout.contains("INCONCLUSIVE"), "{output:?}");
}
