//! What comes of a suite that is in order.

use std::path::Path;
use std::time::Duration;

use mcprove_check::negative_path::Probe;
use mcprove_client::server::{Server, Transport};
use mcprove_client::session::ProtocolChoice;
use serde_json::json;

use super::plan;
use crate::file::parse_yaml;
use crate::plan::{Budget, Driver, Reach, SuitePlan};

fn server<'p>(plan: &'p SuitePlan, name: &str) -> &'p Server {
    match &plan.servers[name].reach {
        Reach::Server(server) => server,
        Reach::Mock { .. } => panic!("{name} is a mock"),
    }
}

#[test]
fn servers() {
    let plan = plan(
        r#"
servers:
  words: { command: "python -m 'my mcp'", args: [--fast] }
  list:
    command: [./server, a]
    env: { LOG: warn, N: 5, YES: true }
    cwd: sub
    protocol: 2025-06-18
    strict-protocol: true
    startup_timeout_ms: 1500
    shutdown-timeout: 0s
    call_timeout: 2s
    max_frame: 1MiB
    parallel: 1
    fresh: true
  remote: { url: "http://127.0.0.1:8080/mcp", headers: { Authorization: "Bearer ${TOKEN}" }, transport: sse }
  socket: { url: "wss://h/mcp" }
tools: [{ name: t, server: list, tool: x }]
"#,
    );
    let words = server(&plan, "words");
    assert_eq!(words.command, "python");
    assert_eq!(words.args, ["-m", "my mcp", "--fast"]);
    assert_eq!(words.working_dir, None);
    assert_eq!(plan.servers["words"].parallel, 8);
    assert_eq!(plan.servers["words"].place.to_string(), "3:3");
    let list = server(&plan, "list");
    assert_eq!(list.working_dir.as_deref(), Some(Path::new("sub")));
    assert_eq!(list.env["N"], "5");
    assert_eq!(list.startup_timeout, Duration::from_millis(1500));
    assert_eq!(list.shutdown_timeout, Duration::ZERO);
    let settings = &plan.servers["list"];
    assert!(settings.is_fresh && settings.parallel == 1 && settings.session.strict_protocol);
    assert_eq!(
        settings.session.protocol,
        "2025-06-18".parse::<ProtocolChoice>().unwrap()
    );
    assert_eq!(settings.session.max_frame, Some(1024 * 1024));
    // A test takes the deadline of its server, unless it has its own.
    assert_eq!(plan.tools[0].timeout, Duration::from_secs(2));
    let Transport::Sse { url, headers } = &server(&plan, "remote").transport else {
        panic!("not sse");
    };
    assert_eq!(url, "http://127.0.0.1:8080/mcp");
    assert_eq!(headers["Authorization"], "Bearer ${TOKEN}");
    assert!(plan.servers["remote"].session.has_transport);
    assert_eq!(server(&plan, "socket").transport.name(), "ws");
    assert!(!plan.servers["socket"].session.has_transport);
}

#[test]
fn programs_start_in_the_folder_of_the_suite() {
    let text = "servers:\n  a: { command: x }\n  b: { command: x, cwd: sub }\nagents:\n  - { name: t, command: [./me], servers: [a], prompt: p }\n";
    let plan = parse_yaml(text, "tests/suite.yml", Path::new("tests")).unwrap();
    assert_eq!(
        server(&plan, "a").working_dir.as_deref(),
        Some(Path::new("tests"))
    );
    let below = Path::new("tests").join("sub");
    assert_eq!(server(&plan, "b").working_dir, Some(below));
    let Driver::Command(command) = &plan.agents[0].driver else {
        panic!("no command");
    };
    assert_eq!(command.working_dir.as_deref(), Some(Path::new("tests")));
    assert_eq!(plan.folder, Path::new("tests"));
}

#[test]
fn tests_of_tools() {
    let plan = plan(
        r#"
servers: { api: { command: x } }
tools:
  - name: full
    server: api
    tool: search
    args: { query: x, n: [1, 2.5, null] }
    timeout-ms: 250
    tags: [fast, read]
    skip: the index is being rebuilt
    expect:
      - { target: "result.content[0].text", matcher: { contains: x } }
      - { target: is-error, matcher: { exact: false } }
      - { target: error, matcher: { exact: null } }
      - { target: "error.data.reason", matcher: { exact: x } }
      - { target: duration_ms, matcher: { schema: { maximum: 500 } } }
      - { target: negative-path.checks-run, matcher: { exact: 2 } }
    negative-path:
      checks: [unknown-tool, missing_required, unknown_tool]
      timeout_ms: 900
      expect: [{ target: negative_path.failures, matcher: { exact: 0 } }]
  - { name: least, tool: search, negative_path: }
"#,
    );
    let [full, least] = &plan.tools[..] else {
        panic!("{:?}", plan.tools);
    };
    assert_eq!(full.args, json!({ "query": "x", "n": [1, 2.5, null] }));
    assert_eq!(full.timeout, Duration::from_millis(250));
    assert_eq!(full.head.tags, ["fast", "read"]);
    assert_eq!(
        full.head.skip.as_deref(),
        Some("the index is being rebuilt")
    );
    assert_eq!(full.head.place.to_string(), "4:5");
    let targets: Vec<&str> = full
        .expect
        .iter()
        .map(|expect| expect.target.as_str())
        .collect();
    let expected = [
        "result.content[0].text",
        "is_error",
        "error",
        "error.data.reason",
        "duration_ms",
        "negative_path.checks_run",
    ];
    assert_eq!(targets, expected);
    let negative = full.negative_path.as_ref().unwrap();
    assert_eq!(
        negative.checks,
        [Probe::UnknownTool, Probe::MissingRequired]
    );
    assert_eq!(negative.timeout, Duration::from_millis(900));
    assert_eq!(negative.expect.as_ref().unwrap().len(), 1);
    assert_eq!((least.server.as_str(), &least.args), ("api", &json!({})));
    assert_eq!(least.timeout, Duration::from_secs(30));
    assert!(least.expect.is_empty() && least.head.skip.is_none());
    let negative = least.negative_path.as_ref().unwrap();
    assert_eq!(negative.checks.len(), 5);
    assert_eq!(negative.timeout, Duration::from_secs(10));
    assert!(negative.expect.is_none());
}

#[test]
fn agents() {
    let plan = plan(
        r#"
servers: { a: { command: x }, b: { command: y } }
faults:
  - { name: late, kind: slow, delay_ms: 5000 }
  - { name: hung, kind: hang, target: { server: b, tool: s } }
agents:
  - name: full
    model: gpt-5
    provider: { type: openai, base_url: "http://127.0.0.1:11434/v1", api_key_env: LOCAL_KEY }
    servers: [a, b]
    system: Be brief.
    turns: [first, second]
    max_turns: 4
    max_tokens: 256
    temperature: 0
    budget: { tokens: 5000, tool_calls: 0, time_ms: 60000, call_ms: 500 }
    runs: 3
    inject: [hung, late]
    tags: slow
    skip: no reason is given
    stability: {}
    trajectory-axes: { order: [{ first: a, second: b }] }
    expect: [{ target: "tool_calls[0].name", matcher: { exact: s } }]
  - { name: least, model: claude-sonnet-4-5, servers: [a], prompt: Go. }
  - { name: other, model: llama3, servers: [], prompt: Go., provider: anthropic, skip: false }
  - { name: mine, model: m, command: "./me --fast", env: { KEY: "${KEY}" }, servers: [a], prompt: Go. }
"#,
    );
    let [full, least, other, mine] = &plan.agents[..] else {
        panic!("{:?}", plan.agents);
    };
    let Driver::Model(model) = &full.driver else {
        panic!("no model");
    };
    assert_eq!(model.provider.name, "openai");
    assert_eq!(model.base_url.as_deref(), Some("http://127.0.0.1:11434/v1"));
    assert_eq!(model.api_key_env.as_deref(), Some("LOCAL_KEY"));
    assert_eq!((model.temperature, model.max_tokens), (Some(0.0), 256));
    assert_eq!(full.prompts, ["first", "second"]);
    assert_eq!(full.system.as_deref(), Some("Be brief."));
    let budget = Budget {
        turns: 4,
        tokens: Some(5000),
        tool_calls: Some(0),
        time: Duration::from_mins(1),
        call: Duration::from_millis(500),
    };
    assert_eq!(full.budget, budget);
    let injected: Vec<&str> = full
        .inject
        .iter()
        .map(|fault| fault.name.as_str())
        .collect();
    assert_eq!(injected, ["hung", "late"]);
    assert_eq!(full.head.tags, ["slow"]);
    assert_eq!(full.head.skip.as_deref(), Some("no reason is given"));
    assert!(full.gates.get("stability").is_some() && full.gates.get("trajectory_axes").is_some());
    assert_eq!((full.runs, full.gates.expect.len()), (3, 1));
    let Driver::Model(model) = &least.driver else {
        panic!("no model");
    };
    assert_eq!((model.provider.name, model.max_tokens), ("anthropic", 1024));
    assert_eq!(
        (least.runs, least.budget.turns, least.budget.time),
        (1, 10, Duration::from_mins(5))
    );
    let Driver::Model(model) = &other.driver else {
        panic!("no model");
    };
    assert_eq!(model.provider.name, "anthropic");
    assert!(other.servers.is_empty() && other.head.skip.is_none());
    let Driver::Command(command) = &mine.driver else {
        panic!("no command");
    };
    assert_eq!(
        (command.program.as_str(), &command.args[..]),
        ("./me", &["--fast".to_owned()][..])
    );
    assert_eq!(command.model.as_deref(), Some("m"));
    assert_eq!(command.env["KEY"], "${KEY}");
}

#[test]
fn loads() {
    let plan = plan(
        "
servers:
  api: { command: x, protocol: 2025-06-18, call_timeout: 3s }
load:
  - name: holds 50 clients
    scenario:
      type: sustained
      concurrent: 50
      duration: 30s
      rate-limit: 100
      tool-call: [{ name: search, args: { query: x } }]
    thresholds: { p99-latency: 500ms, error_rate: 0.01 }
    faults: [{ kind: slow, start: 5s, tool: search }]
    session: { accept-requests: true }
    output: { trace: false }
    tags: [load]
",
    );
    let test = &plan.load[0];
    assert_eq!(
        (test.server.as_str(), test.config.server.command.as_str()),
        ("api", "x")
    );
    assert_eq!(test.config.scenario.kind.concurrent(), 50);
    assert_eq!(test.config.scenario.tool_calls.len(), 1);
    assert_eq!(
        test.config.thresholds.p99_latency,
        Some(Duration::from_millis(500))
    );
    assert_eq!(test.config.faults.len(), 1);
    let session = &test.config.session;
    assert_eq!(session.call_timeout, Some(Duration::from_secs(3)));
    assert!(session.accept_requests == Some(true) && session.protocol != ProtocolChoice::Auto);
    assert!(!test.config.output.trace);
    assert_eq!(test.head.tags, ["load"]);
}

#[test]
fn defaults() {
    let plan = plan(
        "
servers: { a: { command: x }, b: { command: y } }
defaults:
  server: a
  servers: [a, b]
  timeout-ms: 700
  model: claude-x
  max_turns: 3
  max_tokens: 99
  budget: { tokens: 10, call_ms: 20 }
  runs: 2
  tags: nightly
tools:
  - { name: t1, tool: x }
  - { name: t2, tool: x, server: b, timeout_ms: 5, tags: [nightly, more] }
agents:
  - { name: a1, prompt: p, stability: {} }
  - { name: a2, prompt: p, model: m, servers: [], runs: 1, budget: { call-ms: 30 }, tags: own }
  - { name: a3, prompt: p, command: ./me }
load:
  - { name: l1, scenario: { type: sustained } }
",
    );
    assert_eq!(
        (plan.tools[0].server.as_str(), plan.tools[1].server.as_str()),
        ("a", "b")
    );
    assert_eq!(plan.tools[0].timeout.as_millis(), 700);
    assert_eq!(plan.tools[1].timeout.as_millis(), 5);
    assert_eq!(plan.tools[0].head.tags, ["nightly"]);
    assert_eq!(plan.tools[1].head.tags, ["nightly", "more"]);
    let [one, two, three] = &plan.agents[..] else {
        panic!("{:?}", plan.agents);
    };
    let model = |driver: &Driver| match driver {
        Driver::Model(model) => (model.model.clone(), model.max_tokens),
        Driver::Command(command) => (format!("{:?}", command.model), 0),
    };
    assert_eq!(model(&one.driver), ("claude-x".to_owned(), 99));
    assert_eq!(model(&two.driver), ("m".to_owned(), 99));
    assert_eq!(model(&three.driver).0, "None");
    assert_eq!((one.runs, two.runs), (2, 1));
    assert_eq!(one.servers, ["a", "b"]);
    assert!(two.servers.is_empty());
    let call = |agent: usize| plan.agents[agent].budget.call.as_millis();
    assert_eq!((call(0), call(1)), (20, 30));
    assert_eq!((two.budget.tokens, two.budget.turns), (Some(10), 3));
    assert_eq!(two.head.tags, ["own", "nightly"]);
    assert_eq!(plan.load[0].server, "a");
    assert!(plan.warnings.is_empty(), "{:?}", plan.warnings);
}

#[test]
fn what_is_odd_is_told() {
    let plan = plan(
        "
servers: { a: { command: x }, b: { command: y } }
faults: [{ name: hung, kind: hang, target: { server: b } }]
agents:
  - { name: t, servers: [a], prompt: p, command: ./me, inject: hung }
",
    );
    assert_eq!(
        plan.warnings
            .iter()
            .map(ToString::to_string)
            .collect::<Vec<_>>(),
        ["suite.yml:5:64: the fault \"hung\" is aimed at \"b\", which this agent does not have",]
    );
}
