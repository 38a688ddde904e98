use std::path::Path;
use std::time::Duration;

use mcprove_client::permission::Allowance;
use mcprove_servers::hosting::ListenerKind;
use mcprove_servers::mock::{self, Mock, MockSpec, ToolSpec};
use serde_json::{Value, json};

use super::*;
use crate::file::parse_yaml;
use crate::plan::SuitePlan;

fn options() -> DraftOptions {
    let timeout = Duration::from_secs(20);
    DraftOptions {
        session: SessionOptions::default().with_call_timeout(timeout),
        accepts_requests: false,
        probe_timeout: timeout,
        place: StartFolder::Suite,
        allowance: Allowance::default(),
    }
}

async fn drafted(spec: MockSpec) -> Draft {
    let mock = Mock::new(spec, mock::MockOptions::default()).unwrap();
    let address = "127.0.0.1:0".parse().unwrap();
    let listening = mock.listen(ListenerKind::Http, address).await.unwrap();
    let server = Server::http(listening.url());
    draft(&server, &options(), &mut |_| {}, std::future::pending())
        .await
        .unwrap()
}

fn read(text: &str) -> SuitePlan {
    parse_yaml(text, "mcprove.yml", Path::new(""))
        .unwrap_or_else(|errors| panic!("{errors}\n{text}"))
}

fn tool(name: &str) -> ToolSpec {
    ToolSpec::new(name)
}

#[tokio::test]
async fn a_suite_has_a_test_for_each_tool() {
    let schema =
        json!({ "type": "object", "properties": { "q": { "type": "string" } }, "required": ["q"] });
    let output = json!({ "type": "object", "properties": { "n": { "type": "integer" } }, "required": ["n"] });
    let spec = MockSpec::new("demo")
        .with_tool(
            tool("search")
                .with("inputSchema", schema)
                .with("description", json!("Finds\nthings")),
        )
        .with_tool(tool("count").with("outputSchema", output))
        .with_tool(tool("delete_all"))
        .with_tool(tool("wipe").with("annotations", json!({ "destructiveHint": true })));
    let draft = drafted(spec).await;
    let plan = read(&draft.text);
    assert_eq!((draft.tests, draft.skipped.len()), (2, 2), "{}", draft.text);
    assert!(plan.servers.contains_key("demo"), "{}", draft.text);
    let [search, count, delete, wipe] = &plan.tools[..] else {
        panic!("{}", draft.text);
    };
    assert_eq!(search.args, json!({ "q": "text" }));
    let targets = |test: &crate::plan::ToolTestPlan| -> Vec<String> {
        test.expect
            .iter()
            .map(|expectation| expectation.target.clone())
            .collect()
    };
    assert_eq!(targets(search), ["is_error", "result.content[0].type"]);
    assert_eq!(
        targets(count),
        [
            "is_error",
            "result.content[0].type",
            "result.structuredContent"
        ]
    );
    let names: Vec<&str> = search
        .negative_path
        .iter()
        .flat_map(|plan| &plan.checks)
        .map(|probe| probe.name())
        .collect();
    assert_eq!(
        names,
        [
            "unknown_tool",
            "missing_required",
            "wrong_type",
            "oversized"
        ]
    );
    assert!(
        delete
            .head
            .skip
            .as_deref()
            .unwrap()
            .contains("\"delete\" in its name")
    );
    assert!(
        wipe.head
            .skip
            .as_deref()
            .unwrap()
            .contains("destructiveHint")
    );
    assert!(draft.text.contains("  # Finds things\n"), "{}", draft.text);
}

#[tokio::test]
async fn what_is_commented_out_is_valid_too() {
    let draft = drafted(MockSpec::new("demo").with_tool(tool("look \"x\"\n${y}"))).await;
    let begin = draft.text.find("# agents:").unwrap();
    let (before, after) = draft.text.split_at(begin);
    let is_code = |line: &&str| !line.starts_with("# A ") && !line.starts_with("# then ");
    let lines = after.lines().filter(is_code);
    let lines: Vec<&str> = lines
        .map(|line| line.strip_prefix("# ").unwrap_or(line))
        .collect();
    let plan = read(&format!("{before}\n{}\n", lines.join("\n")));
    assert_eq!((plan.agents.len(), plan.load.len()), (1, 1));
}

#[tokio::test]
async fn hostile_names_are_written_so_that_they_are_read() {
    let long = "x".repeat(5000);
    let names = [
        "a\"b",
        "a'b",
        "a\nb",
        "a: b",
        "# c",
        "- d",
        "yes",
        "1",
        "ünïcödé 🦀",
        "\u{202e}evil",
        "${HOME}",
        "$${X}",
        "a\u{1b}[2J",
        " spaces ",
        "{x}",
        "*",
        "A",
        "a",
        long.as_str(),
    ];
    let spec = names
        .iter()
        .fold(MockSpec::new("<<\"${X}\n"), |spec, name| {
            spec.with_tool(tool(name).with(
                "description",
                json!("first\n- name: x\n\u{85}# \u{2028}y ${Z}"),
            ))
        });
    let draft = drafted(spec).await;
    let plan = read(&draft.text);
    let read: Vec<&str> = plan.tools.iter().map(|test| test.tool.as_str()).collect();
    assert_eq!(read, names);
    assert!(plan.servers.contains_key("server") || plan.servers.len() == 1);
}

#[tokio::test]
async fn no_tools_and_very_many() {
    let draft = drafted(MockSpec::new("none")).await;
    let plan = read(&draft.text);
    assert_eq!((draft.tests, plan.tools.len()), (0, 1));
    assert!(
        plan.tools[0].head.skip.is_some(),
        "it only shows what a test looks like"
    );
    let nul = drafted(
        MockSpec::new("nul")
            .with_tool(tool("a\0b"))
            .with_tool(tool("get_ok")),
    )
    .await;
    assert_eq!(
        (nul.tests, nul.skipped.len(), read(&nul.text).tools.len()),
        (1, 1, 1)
    );
    let several = (0..30).fold(MockSpec::new("several"), |spec, number| {
        spec.with_tool(tool(&format!("look_{number}")))
    });
    let draft = drafted(several).await;
    assert_eq!(read(&draft.text).tools.len(), 30);
}

/// As many tools as a suite is made for, each with much to say: nobody has to call them to know that what is
/// written of them can be read.
#[test]
fn as_many_tools_as_there_may_be() {
    let schema = json!({ "schema": { "type": "object", "description": "x".repeat(3000) } });
    let of = |number: usize| explore::ExploredTool {
        name: format!("look_{number}"),
        description: Some("what it is for ".repeat(40)),
        arguments: json!({ "query": "x".repeat(100) }),
        skip: None,
        expectations: vec![
            ("is_error".into(), json!({ "exact": false })),
            ("result.structuredContent".into(), schema.clone()),
        ],
        is_left_alone: false,
        checks: Vec::new(),
        unchecked: None,
        findings: Vec::new(),
    };
    let explored = Explored {
        server: "many".into(),
        tools: (0..explore::TOOLS_MAX).map(of).collect(),
        left_out: 0,
        is_ping_unanswered: false,
    };
    let given = given::given(&Server::stdio("serve"), &options());
    let draft = write::write(&given, &explored);
    assert!(draft.text.len() > 2 * 1024 * 1024, "{}", draft.text.len());
    assert_eq!(read(&draft.text).tools.len(), explore::TOOLS_MAX);
}

#[tokio::test]
async fn what_hangs_or_fails_is_skipped_with_the_reason() {
    let settings = json!({ "every": 1 });
    let fixture_options = mcprove_servers::fixture::FixtureOptions {
        settings: settings.as_object().cloned().unwrap(),
        ..Default::default()
    };
    for (mode, reason) in [
        ("lost", "Timeout"),
        ("tool_error", "ToolError: it answered with isError"),
        ("error", "ProtocolError: JSON-RPC error -32601"),
    ] {
        let address = "127.0.0.1:0".parse().unwrap();
        let listening =
            mcprove_servers::fixture::listen(mode, ListenerKind::Http, address, &fixture_options)
                .await
                .unwrap();
        let server = Server::http(listening.url());
        let mut options = options();
        let patience = if mode == "lost" { 300 } else { 20_000 };
        options.session.call_timeout = Some(Duration::from_millis(patience));
        let draft = draft(&server, &options, &mut |_| {}, std::future::pending())
            .await
            .unwrap();
        let plan = read(&draft.text);
        let echo = plan.tools.iter().find(|test| test.tool == "echo").unwrap();
        assert!(
            echo.head.skip.as_deref().unwrap().ends_with(reason),
            "{}",
            draft.text
        );
        for said in ["the tool failed", "ethod not found", "nvalid params"] {
            assert!(!draft.text.contains(said), "{}", draft.text);
        }
    }
}

#[test]
fn broken_schemas_are_skipped() {
    // A mock would not serve such a tool, so the writer is asked alone.
    let explored = Explored {
        server: "1 bad name!".into(),
        tools: vec![explore::ExploredTool {
            name: "t".into(),
            description: None,
            arguments: Value::Object(serde_json::Map::new()),
            skip: Some(
                "no arguments fit its schema: the schema is invalid at /type: \"x\" # ${y}".into(),
            ),
            is_left_alone: false,
            expectations: Vec::new(),
            checks: Vec::new(),
            unchecked: None,
            findings: Vec::new(),
        }],
        left_out: 3,
        is_ping_unanswered: false,
    };
    let server = Server::stdio("serve");
    let draft = write::write(&given::given(&server, &options()), &explored);
    let plan = read(&draft.text);
    assert!(
        plan.tools[0]
            .head
            .skip
            .as_deref()
            .unwrap()
            .ends_with("# ${y}")
    );
    assert!(plan.servers.contains_key("server"));
    assert!(draft.text.contains("3 more are listed"));
}

#[tokio::test]
async fn nothing_is_sent_to_tools_that_are_not_safe() {
    let names = [
        "shutdown",
        "wipe",
        "purge",
        "exec",
        "run_sql",
        "order_pizza",
        "get_user",
    ];
    let spec = names.iter().fold(MockSpec::new("w"), |spec, name| {
        spec.with_tool(tool(name).with(
            "inputSchema",
            json!({ "type": "object", "properties": { "q": { "type": "string" } }, "required": ["q"] }),
        ))
    });
    let mock = Mock::new(spec, mock::MockOptions::default()).unwrap();
    let address = "127.0.0.1:0".parse().unwrap();
    let listening = mock.listen(ListenerKind::Http, address).await.unwrap();
    let server = Server::http(listening.url());
    let mut options = options();
    let first = draft(&server, &options, &mut |_| {}, std::future::pending()).await;
    let first = first.unwrap();
    assert_eq!((first.tests, first.skipped.len()), (1, 6), "{}", first.text);
    options.allowance.names = vec!["run_*".to_owned(), "gone".to_owned()];
    let second = draft(&server, &options, &mut |_| {}, std::future::pending()).await;
    let second = second.unwrap();
    assert_eq!(second.tests, 2, "{}", second.text);
    assert_eq!(second.unknown, ["gone"]);
    // Whoever takes the line away has a test.
    let shutdown = &read(&first.text).tools[0];
    let checks = shutdown
        .negative_path
        .as_ref()
        .map(|plan| plan.checks.len());
    assert_eq!(
        (checks, shutdown.expect.len()),
        (Some(4), 1),
        "{}",
        first.text
    );
    let skip = shutdown.head.skip.as_deref().unwrap();
    assert!(
        skip.contains("take this line away") && skip.ends_with("`allow = shutdown`"),
        "{skip}"
    );
    assert_eq!((first.left_alone, second.left_alone), (6, 5));
}

#[tokio::test]
async fn what_yaml_does_not_allow_is_not_written() {
    let nasty =
        "a\u{fffe}b\u{ffff}c\u{0}d\u{202e}e\u{85}f\u{2028}g\u{feff}h\u{1b}[31mi\u{e0041}\u{1fffe}";
    let spec = MockSpec::new(nasty).with_tool(
        tool("get_\u{fffe}")
            .with("description", json!(nasty))
            .with("inputSchema", json!({ "type": "object", "properties": { nasty: { "const": nasty } }, "required": [nasty] })),
    );
    let draft = drafted(spec).await;
    let plan = read(&draft.text);
    assert_eq!(plan.tools[0].tool, "get_\u{fffe}");
    assert_eq!(plan.tools[0].args, json!({ nasty: nasty }));
    assert!(
        !draft.text.contains(['\u{fffe}', '\u{ffff}', '\u{202e}']),
        "{}",
        draft.text
    );
}

#[test]
fn what_does_not_read_is_left_out() {
    let of = |name: &str| explore::ExploredTool {
        name: name.into(),
        description: None,
        arguments: json!({}),
        skip: None,
        expectations: vec![("is_error".into(), json!({ "exact": false }))],
        is_left_alone: false,
        checks: Vec::new(),
        unchecked: None,
        findings: Vec::new(),
    };
    let explored = Explored {
        server: "s".into(),
        tools: vec![of("get_good"), of("get_evil")],
        left_out: 0,
        is_ping_unanswered: false,
    };
    let given = given::given(&Server::stdio("serve"), &options());
    let error = || parse_yaml("[", "x.yml", Path::new("")).unwrap_err();
    let picky = |text: &str| {
        if text.contains("evil") {
            Err(error())
        } else {
            Ok(())
        }
    };
    let draft = write::write_readable(&given, &explored, &picky).unwrap();
    assert_eq!(read(&draft.text).tools.len(), 1);
    assert!(draft.text.contains("1 more are listed"), "{}", draft.text);
    assert_eq!(draft.skipped[0].tool, "get_evil");
    assert!(write::write_readable(&given, &explored, &|_| Err(error())).is_err());
}

#[tokio::test]
async fn results_are_judged_as_a_run_judges_them() {
    let address = "127.0.0.1:0".parse().unwrap();
    let listening = mcprove_servers::fixture::listen(
        "wrong_output",
        ListenerKind::Http,
        address,
        &mcprove_servers::fixture::FixtureOptions::default(),
    )
    .await
    .unwrap();
    let server = Server::http(listening.url());
    let mut options = options();
    options.allowance.names = vec!["*".to_owned()];
    let draft = draft(&server, &options, &mut |_| {}, std::future::pending()).await;
    let draft = draft.unwrap();
    let plan = read(&draft.text);
    let add = plan.tools.iter().find(|test| test.tool == "add").unwrap();
    let skip = add.head.skip.as_deref().unwrap();
    assert!(
        skip.ends_with("`structuredContent` does not fit the outputSchema of the tool"),
        "{}",
        draft.text
    );
    assert_eq!(draft.left_alone, 0);
}

#[test]
fn a_tool_without_a_schema_says_why_nothing_bad_is_asked() {
    let explored = Explored {
        server: "s".into(),
        tools: vec![explore::ExploredTool {
            name: "it is odd".into(),
            description: None,
            arguments: json!({}),
            skip: Some("may change something, so it was not called".into()),
            is_left_alone: true,
            expectations: vec![("is_error".into(), json!({ "exact": false }))],
            checks: Vec::new(),
            unchecked: Some("the tool has no inputSchema".into()),
            findings: Vec::new(),
        }],
        left_out: 0,
        is_ping_unanswered: false,
    };
    let draft = write::write(
        &given::given(&Server::stdio("serve"), &options()),
        &explored,
    );
    assert_eq!(read(&draft.text).tools[0].expect.len(), 1);
    assert!(
        draft
            .text
            .contains("    # No bad requests: the tool has no inputSchema.\n")
            && draft
                .text
                .contains("run init with `allow = and its name`\""),
        "{}",
        draft.text
    );
}
