//! Suites and cassettes from strangers: who looks at them starts nothing and reaches nobody, and a cassette can
//! do nothing but answer.

#![cfg(unix)]

use std::net::TcpListener;

use serde_json::{Value, json};

use crate::scripted::{by_prompt, place, run_alone, run_at};
use crate::suites::Place;
use crate::support::{assert_snapshot, assert_transcript, finish, mcprove};

/// An address that notes who comes.
struct Door(TcpListener);

impl Door {
    fn open() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        Self(listener)
    }

    fn url(&self) -> String {
        format!("http://{}", self.0.local_addr().unwrap())
    }

    fn is_untouched(&self) -> bool {
        self.0.accept().is_err()
    }
}

/// Everything that could be started leaves a file behind, and everything that could be reached is the door.
fn trap(door: &Door) -> String {
    let url = door.url();
    let touch = "command: [touch, started]";
    format!(
        r#"
servers:
  here: {{ {touch} }}
  there: {{ url: "{url}/mcp", headers: {{ Authorization: "Bearer ${{TOKEN:-none}}" }} }}
tools:
  - {{ name: calls here, server: here, tool: x }}
  - {{ name: calls there, server: there, tool: x }}
agents:
  - name: asks
    model: claude-test
    provider: {{ base_url: "{url}" }}
    servers: [here, there]
    prompt: "honest: do it"
  - {{ name: is a process, {touch}, servers: [here], prompt: p }}
load:
  - {{ name: loads here, server: here, scenario: {{ type: sustained }} }}
  - {{ name: loads there, server: there, scenario: {{ type: sustained }} }}
"#
    )
}

#[test]
fn looking_at_agents_and_loads_starts_nothing() {
    let door = Door::open();
    let place = Place::new(&[&trap(&door)]);
    std::fs::create_dir(place.path("cassettes")).unwrap();
    place.write("cassettes/asks__claude-test.json", "{}");
    let looks = [
        &["run", "suite.yml", "--list"][..],
        &["run", "suite.yml", "--list", "--json"],
        &["run", ".", "--list", "--last-failed"],
        &["run", "suite.yml", "--explain"],
        &["run", "suite.yml", "--live", "--explain"],
        &["validate", "suite.yml", "--explain"],
        &["validate", "suite.yml"],
        &["init", "--explain"],
    ];
    for arguments in looks {
        let mut command = mcprove(arguments);
        command.current_dir(place.path("."));
        command.env("ANTHROPIC_API_KEY", "key-of-the-first");
        let output = finish(command);
        assert_eq!(output.code, Some(0), "{arguments:?}: {output:?}");
        assert!(!place.path("started").exists(), "{arguments:?}");
        assert!(!place.path("runs").exists(), "{arguments:?}");
        assert!(door.is_untouched(), "{arguments:?}");
    }
    // Each of them would be, were it run.
    for (test, is_started) in [
        ("calls here", true),
        ("is a process", true),
        ("loads here", true),
        ("asks", true),
    ] {
        let _ = std::fs::remove_file(place.path("started"));
        let filter = format!("/^{test}$/");
        place.run(&["suite.yml", "--live", "--filter", &filter]);
        assert_eq!(place.path("started").exists(), is_started, "{test}");
    }
}

#[test]
fn no_variable_chooses_what_is_started_or_reached() {
    let door = Door::open();
    let address = door.url().replace("http://", "");
    let mut outputs = Vec::new();
    for (good, bad) in [
        (
            "command: [touch, started]",
            "command: [\"${EVIL}\", started]",
        ),
        ("url: \"http://", "url: \"http://${HOST}/"),
        ("base_url: \"http://", "base_url: \"http://${HOST}/"),
    ] {
        let place = Place::new(&[&trap(&door).replace(good, bad)]);
        for arguments in [&["suite.yml"][..], &["suite.yml", "--list"]] {
            let mut command = place.command(arguments);
            command.env("EVIL", "touch").env("HOST", &address);
            outputs.push(finish(command));
        }
        assert!(!place.path("started").exists() && door.is_untouched());
    }
    assert!(outputs.iter().all(|output| output.code == Some(2)));
    assert_transcript!("suites_variable_refused", &outputs);
}

const SUITE: &str = "servers:\n  tracker: SERVER\nagents:\n  \
    - name: files an issue\n    model: claude-test\n    servers: [tracker]\n    \
    prompt: \"honest: do it\"\n";
const CASSETTE: &str = "cassettes/files-an-issue__claude-test.json";

/// A recording, and a suite whose server would leave a file behind.
fn recorded() -> (Place, Value) {
    let model = by_prompt();
    let place = place(&SUITE.replace("SERVER", "{ mock: tools.yml }"));
    let told = run_at(&model.url(), &place, &["suite.yml", "--record"]);
    assert_eq!(told.output.code, Some(0), "{told:?}");
    place.write(
        "suite.yml",
        &SUITE.replace("SERVER", "{ command: [touch, started] }"),
    );
    let cassette = serde_json::from_str(&place.read(CASSETTE)).unwrap();
    (place, cassette)
}

#[test]
fn a_cassette_can_only_answer() {
    let (place, cassette) = recorded();
    assert_eq!(run_alone(&place, &["suite.yml"]).output.code, Some(0));
    let door = Door::open();
    let call = |name: &str, input: &Value| {
        let content = json!([{ "type": "tool_use", "id": "t", "name": name, "input": input }]);
        let said = json!({ "id": "m", "type": "message", "role": "assistant", "content": content, "stop_reason": "tool_use", "usage": { "input_tokens": 1, "output_tokens": 1 } });
        said.to_string()
    };
    let url = door.url();
    let touch = json!({ "command": "touch started", "title": "$(touch started)", "url": url });
    let answers = [
        call("tracker__create_issue", &touch),
        call("sh__run", &touch),
        call("../../bin/touch", &touch),
        "not even JSON".to_owned(),
        "[".repeat(100_000),
    ];
    for answer in answers {
        let mut bad = cassette.clone();
        bad["runs"][0]["model"][0]["response"] = answer.clone().into();
        place.write(CASSETTE, &bad.to_string());
        // With everything at hand that it could reach.
        let told = run_at(&url, &place, &["suite.yml"]);
        assert_eq!(told.output.code, Some(2), "{answer:.80}: {told:?}");
        assert!(!place.path("started").exists(), "{answer:.80}");
        assert!(door.is_untouched(), "{answer:.80}");
    }
    // A tool may answer with anything: it is only words.
    let mut bad = cassette.clone();
    let words = json!({ "content": [{ "type": "resource_link", "uri": url, "name": "${HOME} $(touch started)" }] });
    bad["runs"][0]["tools"][0]["result"] = words;
    place.write(CASSETTE, &bad.to_string());
    run_at(&url, &place, &["suite.yml"]);
    assert!(!place.path("started").exists() && door.is_untouched());
}

#[test]
fn what_is_no_cassette_is_refused_and_nobody_is_asked() {
    let (place, cassette) = recorded();
    let door = Door::open();
    let url = door.url();
    let with = |key: &str, value: Value| {
        let mut bad = cassette.clone();
        bad[key] = value;
        bad.to_string()
    };
    let whole = cassette.to_string();
    let mut errors = Vec::new();
    for text in [
        "",
        "null",
        "[]",
        &whole[..whole.len() / 2],
        &with("schema", "cassette.v9".into()),
        &with("command", json!(["touch", "started"])),
        &with("runs", json!([])),
        &with("seed", json!(-1)),
    ] {
        place.write(CASSETTE, text);
        let told = run_at(&url, &place, &["suite.yml"]);
        assert_eq!(told.output.code, Some(2), "{text:.80}: {told:?}");
        errors.push(told.errors("files an issue"));
    }
    let column = (r":1:\d{3,}:", ":1:[column]:");
    assert_snapshot!("suites_cassette_refused", errors.join("\n"), vec![column]);
    // What is no file is not waited for.
    std::fs::remove_file(place.path(CASSETTE)).unwrap();
    let made = std::process::Command::new("mkfifo")
        .arg(place.path(CASSETTE))
        .status();
    assert!(made.unwrap().success());
    let told = run_at(&url, &place, &["suite.yml"]);
    assert_eq!(told.output.code, Some(2), "{told:?}");
    assert!(!place.path("started").exists() && door.is_untouched());
}

#[test]
fn no_name_leads_out_of_the_folder() {
    let model = by_prompt();
    let suite = SUITE
        .replace("SERVER", "{ mock: tools.yml }")
        .replace("files an issue", "../../../up and away/..")
        .replace("claude-test", "claude/../../x");
    let place = place("");
    std::fs::create_dir(place.path("inner")).unwrap();
    place.write("inner/suite.yml", &suite);
    place.write("inner/tools.yml", &place.read("tools.yml"));
    let told = run_at(
        &model.url(),
        &place,
        &["inner/suite.yml", "--record", "--out", "inner/runs"],
    );
    assert_eq!(told.output.code, Some(0), "{told:?}");
    let mut left: Vec<String> = std::fs::read_dir(place.path("."))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        .collect();
    left.sort();
    assert_eq!(left, ["inner", "suite.yml", "tools.yml"]);
    let cassettes = std::fs::read_dir(place.path("inner/cassettes")).unwrap();
    assert_eq!(cassettes.count(), 1);
}
