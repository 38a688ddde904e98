//! Who is to blame for what becomes of a session, with servers that are a few lines of shell.

use super::*;

/// A server in a shell, of which each line of `calls` is what it does on a call of a tool: a pattern of
/// `case`, and commands. `$id` is that of the request.
fn scripted(tools: &Value, calls: &str) -> String {
    let script = format!(
        r#"while read -r line; do
  id=$(printf %s "$line" | sed 's/.*"id":\([0-9]*\).*/\1/')
  reply() {{ printf '{{"jsonrpc":"2.0","id":%s,%s}}\n' "$id" "$1"; }}
  ok='"result":{{"content":[{{"type":"text","text":"ok"}}]}}'
  case "$line" in
    *server/discover*) reply '"error":{{"code":-32601,"message":"no"}}' ;;
    *'"initialize"'*) reply '"result":{{"protocolVersion":"2025-06-18","capabilities":{{"tools":{{}}}},"serverInfo":{{"name":"s","version":"1"}}}}' ;;
    *tools/list*) reply '"result":{{"tools":{tools}}}' ;;
    *'"ping"'*) reply '"result":{{}}' ;;
{calls}
    *tools/call*) reply '"error":{{"code":-32602,"message":"bad"}}' ;;
  esac
done"#
    );
    json!(script).to_string().replace("${", "$${")
}

#[tokio::test]
async fn an_invalid_schema_is_a_finding_and_unknown_tools_need_none() {
    let tools = json!([
        { "name": "typo", "inputSchema": { "type": "object", "properties": { "s": { "type": "strng" } } } },
        { "name": "text", "inputSchema": { "type": "string" } },
    ]);
    let server = scripted(&tools, r#"    *'"typo"'*|*'"text"'*) reply "$ok" ;;"#);
    let text = format!(
        "servers:\n  s: {{ command: [sh, -c, {server}], protocol: \"2025-06-18\" }}\ntools:\n  - {{ name: a, tool: typo, negative_path: {{ checks: [unknown_tool] }} }}\n  - {{ name: b, tool: text, negative_path: {{ checks: [unknown_tool, wrong_type] }} }}\n"
    );
    let reports = reports_of(&read(&text), &options()).await;
    for (report, reason) in reports.iter().zip(["strng", "of the type \"string\""]) {
        let (result, message) = outcome(report);
        assert_eq!(result, TestOutcome::Failed, "{report:?}");
        assert!(
            message.contains("inputSchema of the tool is not valid") && message.contains(reason),
            "{message}"
        );
        assert_eq!(report.failures[0].target, "inputSchema");
        assert_eq!(report.targets["negative_path.checks_run"], 1);
        assert_eq!(report.targets["negative_path.failures"], 0);
    }
}

fn tools(names: &[&str]) -> Value {
    let tool = |name: &&str| json!({ "name": name, "inputSchema": { "type": "object" } });
    Value::Array(names.iter().map(tool).collect())
}

fn suite(server: &str, settings: &str, tests: &str) -> SuitePlan {
    read(&format!(
        "servers:\n  s: {{ command: [sh, -c, {server}], protocol: \"2025-06-18\"{settings} }}\ntools:\n{tests}"
    ))
}

fn outcomes(reports: &[TestReport]) -> Vec<TestOutcome> {
    reports.iter().map(|report| report.outcome).collect()
}

fn has_note(report: &TestReport, words: &str) -> bool {
    report
        .notes
        .iter()
        .any(|note| note.rendered().contains(words))
}

const THREE: &str = "  - { name: a, tool: TOOL, timeout_ms: 800 }\n  - { name: b, tool: ok, timeout_ms: 800 }\n  - { name: c, tool: ok, timeout_ms: 800 }\n";

#[tokio::test]
async fn the_call_that_a_server_dies_after_fails_and_no_other() {
    let server = scripted(
        &tools(&["dies", "ok"]),
        r#"    *'"dies"'*) reply "$ok"; exit 0 ;;
    *'"ok"'*) reply "$ok" ;;"#,
    );
    for settings in [", parallel: 1", ""] {
        let plan = suite(&server, settings, &THREE.replace("TOOL", "dies"));
        for _ in 0..5 {
            let reports = reports_of(&plan, &options()).await;
            assert_eq!(outcomes(&reports), [Failed, Passed, Passed], "{reports:#?}");
            let (_, message) = outcome(&reports[0]);
            assert!(
                message.contains("and then the server was gone"),
                "{message}"
            );
        }
    }
}

#[tokio::test]
async fn a_call_that_hangs_by_itself_is_made_once() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("calls");
    let calls = format!(
        r#"    *'"order_pizza"'*) echo called >> {} ;;
    *'"ok"'*) reply "$ok" ;;"#,
        log.display()
    );
    let server = scripted(&tools(&["order_pizza", "ok"]), &calls);
    let plan = suite(&server, "", &THREE.replace("TOOL", "order_pizza"));
    let reports = reports_of(&plan, &options()).await;
    assert_eq!(outcomes(&reports), [Failed, Passed, Passed], "{reports:#?}");
    let made = std::fs::read_to_string(&log).unwrap();
    assert_eq!(made.lines().count(), 1);
}

#[tokio::test]
async fn who_was_only_hurt_is_called_again_and_told_so() {
    let server = scripted(
        &tools(&["blocks", "ok"]),
        r#"    *'"blocks"'*) exec sleep 60 ;;
    *'"ok"'*) reply "$ok" ;;"#,
    );
    let plan = suite(&server, "", &THREE.replace("TOOL", "blocks"));
    let reports = reports_of(&plan, &options()).await;
    assert_eq!(outcomes(&reports), [Failed, Passed, Passed], "{reports:#?}");
    assert!(
        has_note(&reports[1], "the call was made twice"),
        "{reports:#?}"
    );

    // Not after the run was interrupted.
    let options = options();
    let stop = options.stop.clone();
    tokio::spawn(async move {
        tokio::time::sleep(Duration::from_millis(400)).await;
        stop.request();
    });
    let reports = reports_of(&plan, &options).await;
    for report in &reports {
        assert!(!has_note(report, "made twice"), "{report:#?}");
    }
    let (result, message) = outcome(&reports[1]);
    assert_eq!(result, Error, "{message}");
    assert!(message.contains("interrupted"), "{message}");
}

#[tokio::test]
async fn what_breaks_the_protocol_beside_a_call_is_noted() {
    let server = scripted(
        &tools(&["noisy", "twice", "bare"]),
        r#"    *'"noisy"'*) echo debugging; reply "$ok" ;;
    *'"twice"'*) reply "$ok"; reply "$ok" ;;
    *'"bare"'*) reply '"result":{}' ;;"#,
    );
    let tests = "  - { name: a, tool: noisy }\n  - { name: b, tool: twice }\n  - { name: c, tool: bare, expect: [{ target: is_error, matcher: { exact: false } }] }\n  - { name: d, tool: bare, expect: [{ target: result, matcher: { exact: {} } }] }\n";
    let plan = suite(&server, ", parallel: 1", tests);
    let reports = reports_of(&plan, &options()).await;
    assert_eq!(
        outcomes(&reports),
        [Passed, Passed, Failed, Passed],
        "{reports:#?}"
    );
    assert!(has_note(&reports[0], "debugging"), "{reports:#?}");
    assert!(
        has_note(&reports[1], "answered a request twice"),
        "{reports:#?}"
    );
    assert!(outcome(&reports[2]).1.contains("has no `content`"));
    assert!(has_note(&reports[3], "has no `content`"), "{reports:#?}");
    assert!(reports[2].notes.is_empty());
}

#[tokio::test]
async fn a_list_that_never_comes_is_not_waited_for() {
    let server = scripted(&tools(&[]), r#"    *'"ok"'*) reply "$ok" ;;"#);
    let server = server.replace("*tools/list*) reply", "*tools/list*) :");
    let tests = "  - { name: a, tool: ok, timeout_ms: 500 }\n";
    let reports = reports_of(&suite(&server, "", tests), &options()).await;
    assert_eq!(outcomes(&reports), [Passed], "{reports:#?}");
    assert!(
        has_note(&reports[0], "no whole list within 500 ms"),
        "{reports:#?}"
    );
}

/// A server with the tool `ok`, which rejects all but `k: x`, and does this on `ping`.
fn strict(ping: &str, bad: &str) -> String {
    let tools = json!([{
        "name": "ok",
        "inputSchema": { "type": "object", "properties": { "k": { "type": "string" } }, "required": ["k"] },
    }]);
    let calls = format!(
        r#"    *'"k":"x"'*'"ok"'*|*'"ok"'*'"k":"x"'*) reply "$ok" ;;
    *tools/call*) reply '"error":{{"code":-32602,"message":"bad"}}'; {bad} ;;"#
    );
    let server = scripted(&tools, &calls);
    let answering = r#"*'\"ping\"'*) reply '\"result\":{}' ;;"#;
    assert!(server.contains(answering), "{server}");
    server.replace(answering, &format!(r#"*'\"ping\"'*) {ping} ;;"#))
}

const BADLY: &str =
    "  - { name: a, tool: ok, args: { k: x }, negative_path: { timeout_ms: 3000 } }\n";

#[tokio::test]
async fn a_server_that_never_answers_ping_is_judged_by_its_answers() {
    let usual = "  - { name: b, tool: ok, args: { k: x } }\n";
    let tests = format!("{usual}{BADLY}{}", usual.replace("b,", "c,"));
    for settings in [", parallel: 1", ""] {
        let plan = suite(&strict(":", ":"), settings, &tests);
        let reports = reports_of(&plan, &options()).await;
        assert_eq!(outcomes(&reports), [Passed, Passed, Passed], "{reports:#?}");
        assert!(
            has_note(&reports[1], "does not answer `ping`"),
            "{reports:#?}"
        );
        assert_eq!(reports[1].targets["negative_path.checks_run"], 4);
        // Whoever waits for it says so, and where it is known nobody does.
        let silent = |report: &&TestReport| has_note(report, "did not answer `ping`");
        let silent = reports.iter().filter(silent).count();
        assert!((1..=3).contains(&silent), "{reports:#?}");
        assert!(settings.is_empty() || silent == 1, "{reports:#?}");
    }
}

#[tokio::test]
async fn a_ping_that_takes_longer_than_its_deadline_is_no_failure() {
    let slow = r#"sleep 2.5; reply '\"result\":{}'"#;
    let tests = BADLY.replace("3000", "1500");
    let plan = suite(&strict(slow, ":"), ", parallel: 1", &tests);
    let reports = reports_of(&plan, &options()).await;
    assert_eq!(outcomes(&reports), [Passed], "{reports:#?}");
}

#[tokio::test]
async fn a_bad_request_after_which_nothing_is_answered_broke_the_server() {
    let ping = r#"[ -n \"$broken\" ] || reply '\"result\":{}'"#;
    let tests = BADLY.replace(
        "timeout_ms: 3000",
        "timeout_ms: 600, checks: [missing_required]",
    );
    let plan = suite(&strict(ping, "broken=1"), "", &tests);
    let reports = reports_of(&plan, &options()).await;
    assert_eq!(outcomes(&reports), [Failed], "{reports:#?}");
    let (_, message) = outcome(&reports[0]);
    for part in [
        "answered as it should be",
        "`ping`, which it answered before, had no answer within 600 ms",
        "The bad request broke the server",
    ] {
        assert!(message.contains(part), "{message}");
    }
    assert!(!message.contains("To mend it"), "{message}");
    assert_eq!(reports[0].failures[0].expected, "a server that goes on");
}

#[tokio::test]
async fn a_server_that_dies_of_a_bad_request_fails_whether_or_not_it_answers_ping() {
    for ping in [":", r#"reply '\"result\":{}'"#] {
        let tests = BADLY.replace("timeout_ms: 3000", "checks: [missing_required]");
        let plan = suite(&strict(ping, "exit 3"), "", &tests);
        let reports = reports_of(&plan, &options()).await;
        assert_eq!(outcomes(&reports), [Failed], "{reports:#?}");
        let (_, message) = outcome(&reports[0]);
        assert!(
            message.contains("did not survive it") && message.contains("ended the server"),
            "{message}"
        );
    }
}

#[tokio::test]
async fn what_a_remote_schema_leaves_unknown_is_skipped() {
    let remote = json!({ "type": "object", "properties": { "k": { "$ref": "http://x/y.json" } }, "required": ["k"] });
    let tools = json!([{ "name": "ok", "inputSchema": remote }, { "name": "bare" }, { "name": "any", "inputSchema": true }]);
    let server = scripted(
        &tools,
        r#"    *'"k":"x"'*'"ok"'*|*'"ok"'*'"k":"x"'*|*'"bare"'*|*'"any"'*) reply "$ok" ;;"#,
    );
    let tests = "  - { name: a, tool: ok, args: { k: x }, negative_path: {} }\n  - { name: b, tool: bare, negative_path: {} }\n  - { name: c, tool: any, negative_path: {} }\n  - { name: d, tool: ok, args: { k: x }, negative_path: { checks: [wrong_type] } }\n";
    let reports = reports_of(&suite(&server, "", tests), &options()).await;
    assert_eq!(
        outcomes(&reports),
        [Passed, Failed, Failed, Error],
        "{reports:#?}"
    );
    assert_eq!(reports[0].targets["negative_path.checks_run"], 3);
    assert!(
        has_note(
            &reports[0],
            "skipped wrong_type, extra_field: its inputSchema needs the remote schema"
        ),
        "{reports:#?}"
    );
    for (report, reason) in reports
        .iter()
        .skip(1)
        .zip(["has no inputSchema", "the schema is true"])
    {
        assert_eq!(report.failures.len(), 1, "{report:?}");
        assert_eq!(report.failures[0].target, "inputSchema");
        assert!(outcome(report).1.contains(reason), "{report:?}");
    }
    assert!(
        outcome(&reports[3]).1.contains("inconclusive"),
        "{reports:#?}"
    );
}

#[tokio::test]
async fn a_server_that_dies_of_being_asked_for_its_tools_is_told_so() {
    let server = scripted(&tools(&[]), r#"    *'"ok"'*) reply "$ok" ;;"#);
    let server = server.replace(
        "*tools/list*) reply",
        "*tools/list*) echo no tools >&2; exit 2; reply",
    );
    let tests = "  - { name: a, tool: ok }\n  - { name: b, tool: ok, expect: [{ target: error.category, matcher: { exact: Crash } }] }\n";
    let reports = reports_of(&suite(&server, ", parallel: 1", tests), &options()).await;
    assert_eq!(outcomes(&reports), [Failed, Failed], "{reports:#?}");
    for report in &reports {
        let (_, message) = outcome(report);
        assert!(
            message.contains("died while it listed its tools") && message.contains("no tools"),
            "{message}"
        );
        assert!(!message.contains("survive the call"), "{message}");
    }
}
