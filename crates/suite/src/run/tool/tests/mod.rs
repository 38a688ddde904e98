#[cfg(unix)]
mod sessions;

use std::path::{Path, PathBuf};
use std::time::Duration;

use mcprove_load::drive::Stop;
use mcprove_servers::fixture::{self, ListenerKind, Listening};
use serde_json::json;

use super::*;
use crate::file::parse_yaml;
use crate::plan::{Environment, SuitePlan};
use crate::run::TestOutcome::{self, Error, Failed, Passed, Skipped};
use crate::run::servers::Servers;
use crate::run::{CassetteMode, SuiteOptions};

const DEADLINE: Duration = Duration::from_mins(1);

fn options() -> SuiteOptions {
    SuiteOptions {
        jobs: 4,
        cassettes: CassetteMode::Live,
        environment: Environment::new(|name| (name == "TOKEN").then(|| "hunter22".to_owned())),
        seed: 0,
        output_dir: PathBuf::new(),
        is_output_dir_given: false,
        proxy_program: None,
        supervisor: None,
        stop: Stop::new(),
    }
}

/// The reports of all tests of a suite, which run at once.
async fn reports_of(plan: &SuitePlan, options: &SuiteOptions) -> Vec<TestReport> {
    let servers = Servers::new(plan, options);
    let context = Context {
        plan,
        options,
        servers: &servers,
    };
    let tests = plan.tools.iter().map(|test| run(test, context));
    let reports = futures_join(tests.collect()).await;
    tokio::time::timeout(DEADLINE, servers.close(DEADLINE))
        .await
        .unwrap();
    reports
}

async fn futures_join(tests: Vec<impl Future<Output = TestReport>>) -> Vec<TestReport> {
    let mut pending: Vec<_> = tests.into_iter().map(Box::pin).collect();
    let mut reports: Vec<Option<TestReport>> = pending.iter().map(|_| None).collect();
    let all = std::future::poll_fn(|context| {
        let mut is_pending = false;
        for (test, report) in pending.iter_mut().zip(&mut reports) {
            if report.is_none() {
                match test.as_mut().poll(context) {
                    std::task::Poll::Ready(done) => *report = Some(done),
                    std::task::Poll::Pending => is_pending = true,
                }
            }
        }
        if is_pending {
            std::task::Poll::Pending
        } else {
            std::task::Poll::Ready(())
        }
    });
    tokio::time::timeout(DEADLINE, all).await.unwrap();
    reports.into_iter().flatten().collect()
}

fn read(text: &str) -> SuitePlan {
    parse_yaml(text, "suite.yml", Path::new("")).unwrap_or_else(|errors| panic!("{errors}"))
}

async fn listen(mode: &str, settings: &Value) -> Listening {
    let options = fixture::FixtureOptions {
        settings: settings.as_object().cloned().unwrap(),
        ..fixture::FixtureOptions::default()
    };
    let address = "127.0.0.1:0".parse().unwrap();
    fixture::listen(mode, ListenerKind::Http, address, &options)
        .await
        .unwrap()
}

/// The reports of tests of a built-in server, with `parallel: 1` so that nothing is made twice.
async fn tested(mode: &str, settings: &Value, tests: &str) -> Vec<TestReport> {
    let listening = listen(mode, settings).await;
    let text = format!(
        "servers:\n  s: {{ url: \"{}\", parallel: 1 }}\ntools:\n{tests}",
        listening.url()
    );
    reports_of(&read(&text), &options()).await
}

async fn one(mode: &str, settings: &Value, test: &str) -> TestReport {
    let mut reports = tested(mode, settings, test).await;
    assert_eq!(reports.len(), 1);
    reports.remove(0)
}

fn outcome(report: &TestReport) -> (TestOutcome, String) {
    let failures = report
        .failures
        .iter()
        .map(|failure| format!("{} {}", failure.message.rendered(), failure.hint.rendered()));
    let errors = report.errors.iter().map(ToString::to_string);
    (
        report.outcome,
        failures.chain(errors).collect::<Vec<_>>().join("\n"),
    )
}

#[tokio::test]
async fn a_call_is_held_against_what_must_come_back() {
    let reports = tested(
        "normal",
        &json!({}),
        r#"
  - { name: default, tool: echo, args: { message: hi } }
  - name: holds
    tool: echo
    args: { message: "hi ${TOKEN}" }
    expect:
      - { target: "result.content[0].text", matcher: { contains: "hi hunter" } }
      - { target: is_error, matcher: { exact: false } }
      - { target: error, matcher: { exact: null } }
      - { target: duration_ms, matcher: { schema: { maximum: 60000 } } }
  - name: differs
    tool: echo
    args: { message: "${TOKEN} of mine" }
    expect: [{ target: "result.content[0]", matcher: { subset: { text: other } } }]
  - name: nowhere
    tool: echo
    args: { message: hi }
    expect: [{ target: "result.content[7].text", matcher: { not: { exact: x } } }]
  - name: expects an error
    tool: echo
    args: { message: hi }
    expect: [{ target: error.code, matcher: { exact: -32602 } }]
  - { name: unset, tool: echo, args: { message: "${MISSING}" } }
  - { name: skipped, tool: echo, skip: not today }
"#,
    )
    .await;
    let outcomes: Vec<TestOutcome> = reports.iter().map(|report| report.outcome).collect();
    assert_eq!(
        outcomes,
        [Passed, Passed, Failed, Error, Failed, Error, Skipped],
        "{reports:#?}"
    );
    assert_eq!(reports[0].targets["is_error"], false);
    assert!(reports[0].targets["duration_ms"].as_f64().unwrap() > 0.0);
    let differs = &reports[2].failures[0];
    assert_eq!(differs.place.as_deref(), Some("result.content[0].text"));
    assert_eq!(differs.actual, "<redacted> of mine");
    let all = serde_json::to_string(&reports).unwrap();
    assert!(!all.contains("hunter22"), "{all}");
    assert!(
        outcome(&reports[4]).1.contains("but the call succeeded"),
        "{:?}",
        reports[4]
    );
    assert!(reports[5].errors[0].hint.rendered().contains("set MISSING"));
    assert_eq!(reports[6].skipped.as_deref(), Some("not today"));
}

#[tokio::test]
async fn an_unexpected_error_fails_a_test_whatever_else_holds() {
    let expectation = "[{ target: duration_ms, matcher: { schema: { minimum: 0 } } }]";
    for mode in ["tool_error", "error"] {
        let test = format!(
            "  - {{ name: t, tool: echo, args: {{ message: hi }}, expect: {expectation} }}\n"
        );
        let report = one(mode, &json!({}), &test).await;
        let (result, message) = outcome(&report);
        assert_eq!(result, TestOutcome::Failed, "{message}");
        assert!(message.contains("the call failed"), "{message}");
        assert_eq!(report.targets["is_error"], true);
    }
    // A result that is not there is the same failure, not an error of the suite.
    let test = "  - { name: t, tool: echo, args: { message: hi }, expect: [{ target: \"result.structuredContent.x\", matcher: { exact: 1 } }] }\n";
    for mode in ["tool_error", "error"] {
        let report = one(mode, &json!({}), test).await;
        assert_eq!(report.outcome, TestOutcome::Failed, "{report:?}");
        assert_eq!(report.failures.len(), 1);
    }
}

#[tokio::test]
async fn an_error_that_is_expected_passes() {
    for (mode, expectation) in [
        (
            "tool_error",
            "{ target: is_error, matcher: { exact: true } }",
        ),
        (
            "tool_error",
            "{ target: result.isError, matcher: { exact: true } }",
        ),
        (
            "error",
            "{ target: error.code, matcher: { one_of: [-32601, -32602, -32603] } }",
        ),
        (
            "error",
            "{ target: error.category, matcher: { exact: ProtocolError } }",
        ),
    ] {
        let test = format!(
            "  - {{ name: t, tool: echo, args: {{ message: hi }}, expect: [{expectation}] }}\n"
        );
        let report = one(mode, &json!({}), &test).await;
        assert_eq!(
            report.outcome,
            TestOutcome::Passed,
            "{mode} {expectation} {report:?}"
        );
    }
}

#[tokio::test]
async fn a_hang_is_no_expected_error_unless_it_is_named() {
    let test = |expectation: &str| {
        format!(
            "  - {{ name: t, tool: echo, args: {{ message: hi }}, timeout_ms: 300, expect: [{expectation}] }}\n"
        )
    };
    let expects_error = test("{ target: is_error, matcher: { exact: true } }");
    let report = one("lost", &json!({ "every": 1 }), &expects_error).await;
    let (result, message) = outcome(&report);
    assert_eq!(result, TestOutcome::Failed);
    assert!(
        message.contains("an error that the server sent")
            && message.contains("write { target: error.category, matcher: { exact: Timeout } }"),
        "{message}"
    );
    assert_eq!(report.failures.len(), 1, "{report:?}");
    let failure = &report.failures[0];
    assert_eq!(
        (failure.target.as_str(), &failure.actual),
        ("error.category", &json!("Timeout"))
    );
    // Nor is it one for those who expect any error, or words of it.
    for lax in [
        "{ target: error, matcher: { schema: { type: object } } }",
        "{ target: error, matcher: { not: { exact: null } } }",
        "{ target: error, matcher: { subset: {} } }",
        "{ target: error.code, matcher: { not: { exact: 1 } } }",
        "{ target: error.message, matcher: { contains: no answer } }",
    ] {
        let report = one("lost", &json!({ "every": 1 }), &test(lax)).await;
        assert_eq!(report.outcome, TestOutcome::Failed, "{lax} {report:?}");
    }
    let expects_hang = test("{ target: error.category, matcher: { exact: Timeout } }");
    let report = one("lost", &json!({ "every": 1 }), &expects_hang).await;
    assert_eq!(report.outcome, TestOutcome::Passed, "{report:?}");
}

#[tokio::test]
async fn a_bare_status_is_no_error_that_the_server_sent() {
    let options = mcprove_servers::mock::MockOptions {
        faults: vec!["http-status:500".parse().unwrap()],
        ..mcprove_servers::mock::MockOptions::default()
    };
    let spec = mcprove_servers::mock::MockSpec::new("m")
        .with_tool(mcprove_servers::mock::ToolSpec::new("get"));
    let mock = mcprove_servers::mock::Mock::new(spec, options).unwrap();
    let address = "127.0.0.1:0".parse().unwrap();
    let listening = mock.listen(ListenerKind::Http, address).await.unwrap();
    let line = "{ target: error.category, matcher: { exact: ServerError } }";
    let text = format!(
        "servers:\n  s: {{ url: \"{}\", parallel: 1 }}\ntools:\n  - {{ name: a, tool: get }}\n  - {{ name: b, tool: get, expect: [{{ target: is_error, matcher: {{ exact: true }} }}] }}\n  - {{ name: c, tool: get, expect: [{line}] }}\n",
        listening.url()
    );
    let reports = reports_of(&read(&text), &self::options()).await;
    let outcomes: Vec<TestOutcome> = reports.iter().map(|report| report.outcome).collect();
    assert_eq!(outcomes, [Failed, Failed, Passed], "{reports:#?}");
    for report in reports.iter().take(2) {
        let (_, message) = outcome(report);
        assert!(
            message.contains("500") && message.contains(line),
            "{message}"
        );
        assert!(!message.contains("target: is_error"), "{message}");
    }
}

#[tokio::test]
async fn a_tool_that_is_not_there_is_told_with_the_nearest() {
    let report = one(
        "normal",
        &json!({}),
        "  - { name: t, tool: ehco, args: { message: hi } }\n",
    )
    .await;
    let (result, message) = outcome(&report);
    assert_eq!(result, TestOutcome::Failed);
    assert!(message.contains("did you mean \"echo\"?"), "{message}");
    let expects = "expect: [{ target: is_error, matcher: { exact: true } }]";
    for more in [
        "",
        expects,
        "negative_path: {}",
        &format!("{expects}, negative_path: {{ checks: [unknown_tool] }}"),
    ] {
        let test = format!("  - {{ name: t, tool: ehco, {more} }}\n");
        let report = one("normal", &json!({}), &test).await;
        let (result, message) = outcome(&report);
        assert_eq!(result, TestOutcome::Failed, "{more}: {message}");
        assert!(message.contains("did you mean \"echo\"?"), "{message}");
    }
}

#[tokio::test]
async fn a_server_that_rejects_everything_proves_nothing_with_bad_requests() {
    let expects = |target: &str| {
        format!(
            "  - {{ name: t, tool: echo, args: {{ message: hi }}, negative_path: {{ checks: [unknown_tool] }}, expect: [{target}] }}\n"
        )
    };
    for target in [
        "{ target: is_error, matcher: { exact: true } }",
        "{ target: error.code, matcher: { one_of: [-32601, -32602, -32603] } }",
    ] {
        let report = one("error", &json!({}), &expects(target)).await;
        let (result, message) = outcome(&report);
        assert_eq!(result, TestOutcome::Error, "{message}");
        assert!(
            message.contains("inconclusive") && message.contains("must succeed"),
            "{message}"
        );
    }
    // Where the error was not expected, that is the finding.
    let gate = expects("{ target: negative_path.gate_passed, matcher: { exact: 1 } }");
    let report = one("error", &json!({}), &gate).await;
    assert_eq!(report.outcome, TestOutcome::Failed, "{report:?}");
    assert!(
        report.notes[0]
            .rendered()
            .contains("no bad request was made")
    );
}

#[tokio::test]
async fn bad_requests_are_gated() {
    let test =
        "  - { name: t, tool: search, args: { query: x }, negative_path: { timeout_ms: 2000 } }\n";
    let report = one("careless", &json!({ "on": 2 }), test).await;
    let (result, message) = outcome(&report);
    assert_eq!(result, TestOutcome::Failed);
    assert!(message.contains("FAULT-SCHEMA-TYPE-MISMATCH"), "{message}");
    assert_eq!(report.failures[0].target, "negative_path.gate_passed");
    assert_eq!(
        report.failures[0].place.as_deref(),
        Some("negative_path.wrong_type")
    );
    // Both stand in the message, so that they are not told beside it.
    let failure = &report.failures[0];
    for value in [&failure.expected, &failure.actual] {
        assert!(message.contains(value.as_str().unwrap()), "{failure:?}");
    }
    assert_eq!(report.targets["negative_path.checks_run"], 5);
    assert_eq!(report.targets["negative_path.failures"], 1);
    assert_eq!(report.targets["negative_path.gate_passed"], 0);

    let chosen = "  - { name: t, tool: search, args: { query: x }, negative_path: { checks: [unknown_tool, missing_required] } }\n";
    let report = one("careless", &json!({ "on": 2 }), chosen).await;
    assert_eq!(report.outcome, TestOutcome::Passed, "{report:?}");
    assert_eq!(report.targets["negative_path.gate_passed"], 1);

    let replaced = "  - { name: t, tool: search, args: { query: x }, negative_path: { expect: [{ target: negative-path.failures, matcher: { schema: { maximum: 1 } } }] } }\n";
    let report = one("careless", &json!({ "on": 2 }), replaced).await;
    assert_eq!(report.outcome, TestOutcome::Passed, "{report:?}");
    assert!(
        report
            .notes
            .iter()
            .any(|note| note.rendered().contains("wrong_type")),
        "{:?}",
        report.notes
    );

    let beside = "  - { name: t, tool: search, args: { query: x }, negative_path: {}, expect: [{ target: negative_path.failures, matcher: { exact: 1 } }] }\n";
    let report = one("careless", &json!({ "on": 2 }), beside).await;
    assert_eq!(report.outcome, TestOutcome::Passed, "{report:?}");
    let beside = beside.replace("exact: 1", "exact: 0");
    let report = one("careless", &json!({ "on": 2 }), &beside).await;
    assert_eq!(report.outcome, TestOutcome::Failed, "{report:?}");

    let flag = "  - { name: t, tool: search, args: { query: x }, negative_path: {}, expect: [{ target: negative_path.gate_passed, matcher: { exact: true } }] }\n";
    let report = one("careless", &json!({ "on": 9 }), flag).await;
    assert_eq!(report.outcome, TestOutcome::Passed, "{report:?}");
}

#[tokio::test]
async fn bad_requests_of_which_none_applies_are_inconclusive() {
    let test = "  - { name: t, tool: echo, args: { message: x }, negative_path: { checks: [extra_field] } }\n";
    let report = one("normal", &json!({}), test).await;
    let (result, message) = outcome(&report);
    assert_eq!(result, TestOutcome::Error);
    assert!(
        message.contains("inconclusive") && message.contains("allows other fields"),
        "{message}"
    );
    assert_eq!(report.targets["negative_path.checks_run"], 0);
}

#[tokio::test]
async fn a_result_that_breaks_its_schema_fails_whatever_is_expected() {
    for more in [
        "",
        ", expect: [{ target: duration_ms, matcher: { schema: { minimum: 0 } } }]",
    ] {
        let test = format!("  - {{ name: t, tool: add, args: {{ a: 1, b: 2 }}{more} }}\n");
        let report = one("wrong_output", &json!({}), &test).await;
        let (result, message) = outcome(&report);
        assert_eq!(result, TestOutcome::Failed, "{report:?}");
        assert!(
            message.contains("does not fit the outputSchema of the tool: /"),
            "{message}"
        );
    }
}

#[tokio::test]
async fn what_a_server_asks_for_and_does_not_get_is_no_finding() {
    let listening = listen("asks", &json!({})).await;
    let outcomes = async |settings: &str| {
        let text = format!(
            "servers:\n  s: {{ url: \"{}\", protocol: \"2025-06-18\"{settings} }}\ntools:\n  - {{ name: a, tool: ask_sampling }}\n  - {{ name: b, tool: ask_sampling, expect: [{{ target: is_error, matcher: {{ exact: true }} }}] }}\n  - {{ name: c, tool: ask_roots }}\n",
            listening.url()
        );
        reports_of(&read(&text), &options()).await
    };
    for settings in [", parallel: 1", ""] {
        let reports = outcomes(settings).await;
        let found: Vec<TestOutcome> = reports.iter().map(|report| report.outcome).collect();
        assert_eq!(found, [Error, Error, Passed], "{reports:#?}");
        for report in reports.iter().take(2) {
            assert!(
                report.errors[0]
                    .message
                    .rendered()
                    .contains("sampling/createMessage")
            );
            assert!(
                report.errors[0]
                    .hint
                    .rendered()
                    .contains("accept_requests: true")
            );
        }
    }
    let reports = outcomes(", accept_requests: true").await;
    assert_eq!(reports[0].outcome, Passed, "{reports:#?}");
    // Who writes it down wants to see what comes of it.
    let reports = outcomes(", accept_requests: false").await;
    let found: Vec<TestOutcome> = reports.iter().map(|report| report.outcome).collect();
    assert_eq!(found, [Failed, Passed, Passed], "{reports:#?}");
}

#[tokio::test]
async fn mocks_meet_their_faults_and_are_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let tools = "name: m\ntools:\n  - name: search\n    inputSchema: { type: object, properties: { q: { type: string } }, required: [q], additionalProperties: false }\n    response: found\n";
    std::fs::write(folder.path().join("tools.yml"), tools).unwrap();
    let text = |fault: &str, parallel: u32| {
        format!(
            "servers:\n  m: {{ mock: tools.yml, fault: \"{fault}\", parallel: {parallel} }}\ntools:\n  - {{ name: a, tool: search, args: {{ q: x }}, timeout_ms: 300 }}\n  - {{ name: b, tool: search, args: {{ q: y }}, timeout_ms: 300 }}\n"
        )
    };
    let outcomes = async |fault: &str, parallel: u32| {
        let plan = parse_yaml(&text(fault, parallel), "suite.yml", folder.path()).unwrap();
        let reports = reports_of(&plan, &options()).await;
        reports
            .iter()
            .map(|report| report.outcome)
            .collect::<Vec<_>>()
    };
    assert_eq!(outcomes("none", 1).await, [Passed, Passed]);
    assert_eq!(outcomes("hang", 1).await, [Failed, Failed]);
    // The count of calls goes on when the session is replaced.
    assert_eq!(outcomes("recover-after:1", 1).await, [Failed, Passed]);
    assert_eq!(outcomes("crash,calls=1", 1).await, [Failed, Passed]);
    // In company, whoever was only near gets another try, alone.
    assert_eq!(outcomes("crash,calls=1", 8).await, [Passed, Passed]);
    assert_eq!(outcomes("hang", 8).await, [Failed, Failed]);
}

#[tokio::test]
async fn a_server_that_does_not_start_is_tried_once() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("starts");
    let script = format!("echo started >> {}; echo boom >&2; exit 3", log.display());
    let text = format!(
        "servers:\n  s: {{ command: [sh, -c, {}] }}\ntools:\n  - {{ name: a, tool: x }}\n  - {{ name: b, tool: x }}\n  - {{ name: c, tool: x }}\n",
        json!(script)
    );
    if cfg!(windows) {
        return;
    }
    let reports = reports_of(&read(&text), &options()).await;
    for report in &reports {
        let (result, message) = outcome(report);
        assert_eq!(result, TestOutcome::Error);
        assert!(
            message.contains("`s` does not run") && message.contains("boom"),
            "{message}"
        );
        assert!(!report.errors[0].hint.rendered().is_empty());
    }
    // Dying of `server/discover`, it is started once more to be greeted with `initialize`.
    let starts = std::fs::read_to_string(&log).unwrap().lines().count();
    assert!(starts <= 2, "{starts}");
}

#[tokio::test]
async fn a_run_that_is_broken_off_ends_at_once() {
    let listening = listen("lost", &json!({ "every": 1 })).await;
    let text = format!(
        "servers:\n  s: {{ url: \"{}\" }}\ntools:\n  - {{ name: a, tool: echo, args: {{ message: x }} }}\n",
        listening.url()
    );
    let options = options();
    let stop = options.stop.clone();
    tokio::spawn(async move {
        tokio::time::sleep(Duration::from_millis(200)).await;
        stop.request();
        stop.request();
    });
    let reports = reports_of(&read(&text), &options).await;
    assert_eq!(reports[0].outcome, TestOutcome::Error);
    assert!(outcome(&reports[0]).1.contains("interrupted"));
}
