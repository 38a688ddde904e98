//! Suites on servers of others: the reference server and one in Python, in one file.

use harness::ServerKind;
use harness::model::{FakeModel, Said, SpokenCall};

use crate::probe_real::servers;
use crate::scripted::{run_alone, run_at};
use crate::suites::Place;

const TESTS: &str = r#"
defaults: { timeout_ms: 60000 }
tools:
  - name: echo answers
    server: everything
    tool: echo
    args: { message: hello }
    expect:
      - { target: "result.content[0].text", matcher: { exact: "Echo: hello" } }
      - { target: is_error, matcher: { exact: false } }
    negative_path: { checks: [unknown_tool, missing_required, wrong_type] }
  - name: sums are right
    server: everything
    tool: get-sum
    args: { a: 40, b: 2 }
    expect: [{ target: "result.content[0].text", matcher: { contains: "42" } }]
  - name: structured content is there
    server: everything
    tool: get-structured-content
    args: { location: Chicago }
    expect: [{ target: result.structuredContent.temperature, matcher: { schema: { type: number } } }]
  - name: python adds
    server: python
    tool: add
    args: { a: 40, b: 2 }
    expect: [{ target: result.structuredContent.result, matcher: { exact: 42 } }]
    negative_path: { checks: [unknown_tool, missing_required, wrong_type] }
  - name: python fails on purpose
    server: python
    tool: fail
    expect:
      - { target: is_error, matcher: { exact: true } }
      - { target: "result.content[0].text", matcher: { contains: on purpose } }
  - name: a wrong expectation fails
    server: python
    tool: echo
    args: { message: hello }
    tags: [wrong]
    expect: [{ target: "result.content[0].text", matcher: { exact: goodbye } }]
  - name: too slow
    server: python
    tool: slow
    args: { milliseconds: 60000 }
    timeout_ms: 300
    tags: [wrong]
agents:
  - name: uses both
    model: gpt-test
    servers: [everything, python]
    prompt: Add on both.
    runs: 2
    trajectory: { mode: unordered, calls: [{ name: get-sum }, { name: add }] }
    expect: [{ target: final_response, matcher: { contains: "42" } }]
"#;

/// The servers of a suite that start these.
fn declared() -> Option<String> {
    let real = servers()?;
    let of = |name: &str, kind: ServerKind| {
        let command = real.stdio(kind);
        let mut words = vec![command.program.display().to_string()];
        words.extend(command.args);
        let words = serde_json::to_string(&words).unwrap();
        format!("  {name}: {{ command: {words}, startup_timeout_ms: 60000 }}\n")
    };
    let everything = of("everything", ServerKind::Everything);
    let python = of("python", ServerKind::Fastmcp);
    Some(format!("servers:\n{everything}{python}"))
}

#[test]
fn tools_and_agents_on_real_servers() {
    let Some(servers) = declared() else { return };
    let model = FakeModel::start(|asked| match asked.calls().as_slice() {
        [] => Said::calls(vec![
            SpokenCall::new(asked.tool("get-sum"), r#"{"a":40,"b":2}"#),
            SpokenCall::new(asked.tool("add"), r#"{"a":40,"b":2}"#),
        ]),
        [.., last] => Said::text(format!("It is {}.", last.result)),
    });
    let place = Place::new(&[&servers, TESTS]);
    let right = ["suite.yml", "--record", "--tag", "!wrong"];
    let told = run_at(&model.url(), &place, &right);
    assert_eq!(told.output.code, Some(0), "{told:?}");
    let negative = &told.test("echo answers")["targets"];
    assert!(
        negative.to_string().contains("negative_path."),
        "{negative}"
    );
    let told = run_at(&model.url(), &place, &["suite.yml", "--tag", "wrong"]);
    assert_eq!(told.output.code, Some(1), "{told:?}");
    let failed = told.failed("a wrong expectation fails");
    assert_eq!(failed, ["result.content[0].text"]);
    assert_eq!(told.outcome("too slow"), "failed");
    // The tools of two servers stay apart, also for the model.
    let tools = model.asked()[0].tools();
    let names = ["everything__echo", "python__echo"].map(str::to_owned);
    assert!(names.iter().all(|name| tools.contains(name)), "{tools:?}");
    // Recorded, the agent needs neither.
    drop(model);
    let gone = "servers:\n  everything: { command: [gone] }\n  python: { command: [gone] }\n";
    place.write("suite.yml", &[gone, TESTS].concat());
    let told = run_alone(&place, &["suite.yml", "--filter", "uses both"]);
    assert_eq!(told.output.code, Some(0), "{told:?}");
}
