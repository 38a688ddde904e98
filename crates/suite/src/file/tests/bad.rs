//! What is wrong, where, and what is suggested.
//!
//! In the table, a file that begins with `tools:` or the like gets the servers that it needs after it, so that places stay.

use std::fmt::Write as _;
use std::path::Path;

use super::errors;
use crate::file::parse_yaml;
use harness::problem_table::assert_problems;

const SERVERS: &str = "servers: { a: { command: x }, b: { url: \"http://127.0.0.1/mcp\" } }\n";
const TEST: &str = "tools: [{ name: t, server: a, tool: x }]\n";

/// The file with what it does not say itself.
fn completed(text: &str) -> String {
    let has = |name: &str| text.lines().any(|line| line.starts_with(name));
    let mut text = text.to_owned();
    if !has("servers:") {
        text.push_str(SERVERS);
    }
    if !["tools:", "agents:", "load:"].into_iter().any(has) {
        text.push_str(TEST);
    }
    text
}

#[test]
fn every_problem_has_its_place_and_a_hint() {
    let parse = |text: &str| parse_yaml(text, "suite.yml", Path::new("")).map(|_| ());
    let table = include_str!("bad.txt");
    let cases = assert_problems(table, "suite.yml", &completed, &parse);
    assert!(cases > 80, "{cases}");
}

#[test]
fn all_at_once_as_a_compiler_prints_them() {
    let text = "\
severs:
  api: { command: x }
servers:
  api: { comand: x }
tools:
  - name: one
    server: apj
    tool: search
    timout_ms: 5
    expect:
      - { target: is_error, matcher: { containz: x } }
agents:
  - name: one
    model: claude-sonnet-4-5
    servers: [api]
    inject: [hung]
    runs: 0
    stability: {}
";
    let printed = errors(text).to_string();
    let expected = r#"error: suite.yml:1:1: unknown key "severs" in the suite
   |
 1 | severs:
   | ^^^^^^
hint: did you mean "servers"?

error: suite.yml:4:8: the server "api" has no command, url or mock
   |
 4 |   api: { comand: x }
   |        ^
hint: add `command: [python, -m, my_mcp]`, `url: http://127.0.0.1:8080/mcp` or `mock: ./tools.yml`

error: suite.yml:4:10: unknown key "comand" in the server "api"
   |
 4 |   api: { comand: x }
   |          ^^^^^^
hint: did you mean "command"?

error: suite.yml:7:13: no server is called "apj"
   |
 7 |     server: apj
   |             ^^^
hint: did you mean "api"?

error: suite.yml:9:5: unknown key "timout_ms" in a test of `tools`
   |
 9 |     timout_ms: 5
   |     ^^^^^^^^^
hint: did you mean "timeout_ms"?

error: suite.yml:11:40: no matcher is called "containz"
    |
 11 |       - { target: is_error, matcher: { containz: x } }
    |                                        ^^^^^^^^
hint: did you mean "contains"?

error: suite.yml:13:5: an agent has no `prompt`
    |
 13 |   - name: one
    |     ^
hint: add `prompt: …`, or `turns: […]` for several

error: suite.yml:13:11: two tests are called "one"
    |
 13 |   - name: one
    |           ^^^
hint: give one of them another `name`

error: suite.yml:16:14: no fault is called "hung"
    |
 16 |     inject: [hung]
    |              ^^^^
hint: describe it under `faults`: there are none

error: suite.yml:17:11: `runs` must be a whole number from 1 to 1000, not 0
    |
 17 |     runs: 0
    |           ^
hint: use 1 or more, without a fraction"#;
    assert_eq!(printed, expected);
}

#[test]
fn what_is_no_map_is_no_suite() {
    for (text, kind) in [("[a]", "a list"), ("text", "a text"), ("5", "a number")] {
        let errors = errors(text).0;
        assert_eq!(
            errors[0].texts().0,
            format!("a suite must be a map, not {kind}")
        );
    }
}

#[test]
fn nothing_is_no_suite() {
    for text in [
        "",
        "# nothing\n",
        "---\n",
        "null\n",
        "{}",
        "servers: { a: { command: x } }",
        "tools: []\nagents:\n",
    ] {
        let errors = errors(text).0;
        assert_eq!(errors.len(), 1, "{text:?}: {errors:?}");
        assert_eq!(errors[0].texts().0, "there are no tests in it");
    }
}

#[test]
fn every_number_that_json_cannot_hold_is_told() {
    let text = "servers: { a: { command: x } }\ntools:\n  - name: t\n    tool: x\n    args: { a: .nan, b: [.inf], c: 123456789012345678901234567890 }\n";
    let errors = errors(text).0;
    assert_eq!(errors.len(), 3, "{errors:?}");
}

#[test]
fn what_is_not_shown_is_told_elsewhere() {
    let mut text = "tools: [{ name: t, tool: x }]\nservers: { a: { command: x } }\n".to_owned();
    for number in 0..60 {
        writeln!(text, "unknown{number}: 1").unwrap();
    }
    let told = errors(&text).to_string();
    assert!(told.contains("10 more problems are not shown"), "{told}");
    assert!(told.ends_with("hint: fix those above first"), "{told}");
}
