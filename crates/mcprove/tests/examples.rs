//! The examples do what they say.
#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "the helpers of tests are tests")]

use std::path::{Path, PathBuf};
use std::process::Command;

/// A server in shell: the handshake, one tool, and nothing else.
const SERVER: &str = r#"while read -r line; do
  id=$(printf %s "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
  case $line in
    *'"initialize"'*) result='{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"shell","version":"1"}}' ;;
    *'"tools/list"'*) result='{"tools":[{"name":"greet","inputSchema":{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}}]}' ;;
    *'"tools/call"'*) result='{"content":[{"type":"text","text":"hello"}]}' ;;
    *'"server/discover"'*) echo '{"jsonrpc":"2.0","id":'$id',"error":{"code":-32601,"message":"unknown"}}'; continue ;;
    *) continue ;;
  esac
  echo '{"jsonrpc":"2.0","id":'$id',"result":'$result'}'
done"#;

#[test]
fn probe_lists_and_calls_the_tools_of_a_server() {
    let output = Command::new(example("probe"))
        .args(["sh", "-c", SERVER])
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    assert_eq!(
        String::from_utf8(output.stdout).unwrap(),
        "shell speaks 2025-11-25\n\
         greet({\"name\":\"text\"}) = {\"content\":[{\"type\":\"text\",\"text\":\"hello\"}]}\n"
    );
}

#[test]
fn a_metric_of_ones_own_is_gated() {
    let output = Command::new(example("metric")).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    assert_eq!(
        String::from_utf8(output.stdout).unwrap(),
        "brevity: { max_words: 10 }
  brevity.words = 8
  passed: true
brevity: { max_words: 5 }
  brevity.words = 8
  failed: 8 words, and 5 are allowed
expect: [{ target: brevity.words, matcher: { exact: 8 } }]
  brevity.words = 8
  passed: true
brevity: { max_word: 5 }
error: gates.yml:1:12: unknown key \"max_word\" in `brevity`
   |
 1 | brevity: { max_word: 5 }
   |            ^^^^^^^^
hint: did you mean \"max_words\"?
"
    );
}

#[test]
fn a_scenario_of_ones_own_is_run_and_reported_again_from_its_trace() {
    let output = Command::new(example("scenario"))
        .args(["sh", "-c", SERVER])
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    assert_eq!(
        String::from_utf8(output.stdout).unwrap(),
        "3 calls, 3 of 3 answered after a pause
idle: The server answers after every pause.
tried: There was a pause.
3 calls, 3 of 3 answered after a pause
idle: The server answers after every pause.
tried: There was a pause.
the scenario \"idle_probe\" is not known here, so its conclusions are missing
"
    );
}

/// The example's program; cargo builds it with the tests, unless only some of them were asked for.
fn example(name: &str) -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let folder = test.ancestors().nth(2).map(Path::to_owned).unwrap();
    let program = folder.join("examples").join(name);
    if !program.exists() {
        let mut build = Command::new(env!("CARGO"));
        build.args(["build", "-p", "mcprove", "--example", name]);
        assert!(build.status().unwrap().success());
    }
    program
}
