//! Loads on mocks: what passes, what fails, what cannot be judged, what cannot be done.

use std::sync::Mutex;
use std::time::Duration;

use mcprove_load::drive::{Scenario, Stop};
use mcprove_load::run::RunDirectory;
use mcprove_servers::mock::{MockSpec, ToolSpec};

use super::*;
use crate::plan::Environment;
use crate::plan::SuitePlan;
use crate::run::report::TestOutcome;
use crate::run::sample::{head, mock_server, plan};
use crate::run::servers::Servers;
use crate::run::{CassetteMode, SuiteOptions};

const SECRET: &str = "hunter2-hunter2";

fn options(folder: &std::path::Path) -> SuiteOptions {
    SuiteOptions {
        jobs: 2,
        cassettes: CassetteMode::default(),
        environment: Environment::new(|name| (name == "TOKEN").then(|| SECRET.to_owned())),
        seed: 7,
        output_dir: folder.join("runs"),
        is_output_dir_given: false,
        proxy_program: None,
        supervisor: None,
        stop: Stop::new(),
    }
}

fn entry(server: &str) -> LoadTestPlan {
    let mut scenario = Scenario::sustained()
        .concurrent(4)
        .duration(Duration::from_secs(1));
    scenario.load.calls = Some(200);
    LoadTestPlan {
        head: head("holds", 9, &[]),
        server: server.to_owned(),
        config: LoadConfig::new(Server::stdio("unused"), scenario),
    }
}

fn suite(spec: MockSpec) -> SuitePlan {
    let mut suite = plan("suite.yml");
    let mut server = mock_server("api");
    server.reach = Reach::Mock {
        spec: Box::new(spec),
        faults: Vec::new(),
    };
    suite.servers.insert("api".to_owned(), server);
    suite
}

fn answering() -> MockSpec {
    let tool = ToolSpec::new("search").answering("found").unwrap();
    MockSpec::new("demo").with_tool(tool)
}

async fn run_on(plan: &SuitePlan, test: &LoadTestPlan, options: &SuiteOptions) -> TestReport {
    let servers = Servers::new(plan, options);
    let context = Context {
        plan,
        options,
        servers: &servers,
    };
    let seen = Arc::new(Mutex::new(0));
    let seeing = Arc::clone(&seen);
    let listener: SuiteListener = Arc::new(move |event| {
        if matches!(event, SuiteEvent::Load(_)) {
            *seeing.lock().unwrap() += 1;
        }
    });
    run(test, context, &listener).await
}

#[tokio::test]
async fn a_mock_that_holds_passes_and_has_a_run_directory() {
    let folder = tempfile::tempdir().unwrap();
    let report = run_on(&suite(answering()), &entry("api"), &options(folder.path())).await;
    assert_eq!(report.outcome, TestOutcome::Passed, "{report:?}");
    assert_eq!(report.targets["errors.total"], 0);
    assert!(report.targets["throughput.total_requests"].as_u64() >= Some(100));
    let details = report.details.unwrap();
    let directory = RunDirectory::open(details.as_ref()).unwrap();
    let config = std::fs::read_to_string(directory.config()).unwrap();
    assert!(config.contains("seed = 7"), "{config}");
}

#[tokio::test]
async fn a_limit_that_is_not_kept_is_a_failure_that_names_it() {
    let folder = tempfile::tempdir().unwrap();
    let mut test = entry("api");
    test.config.thresholds.error_rate = Some(0.01);
    let mut suite = suite(answering());
    if let Some(server) = suite.servers.get_mut("api") {
        server.reach = Reach::Mock {
            spec: Box::new(answering()),
            faults: vec!["tool-error,rate=0.5".parse().unwrap()],
        };
    }
    let report = run_on(&suite, &test, &options(folder.path())).await;
    assert_eq!(report.outcome, TestOutcome::Failed, "{report:?}");
    let failure = &report.failures[0];
    assert_eq!(failure.target, "error_rate");
    assert!(
        failure.message.rendered().contains("must be <="),
        "{failure:?}"
    );
}

#[tokio::test]
async fn a_limit_without_evidence_is_an_error_that_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let mut test = entry("api");
    test.config.scenario.load.calls = Some(5);
    test.config.thresholds.p99_latency = Some(Duration::from_nanos(1));
    let report = run_on(&suite(answering()), &test, &options(folder.path())).await;
    assert_eq!(report.outcome, TestOutcome::Error, "{report:?}");
    let error = &report.errors[0];
    assert!(
        error.message.rendered().starts_with("inconclusive: "),
        "{error:?}"
    );
    assert_eq!(error.target.as_deref(), Some("p99_latency"));
}

#[tokio::test]
async fn a_server_that_does_not_start_is_an_error_with_a_hint() {
    let folder = tempfile::tempdir().unwrap();
    let mut suite = suite(answering());
    if let Some(server) = suite.servers.get_mut("api") {
        server.reach = Reach::Server(Server::stdio("no-such-program-anywhere"));
    }
    let report = run_on(&suite, &entry("api"), &options(folder.path())).await;
    assert_eq!(report.outcome, TestOutcome::Error);
    assert!(!report.errors[0].hint.rendered().is_empty(), "{report:?}");
    let unset = Server::http("http://127.0.0.1:9/mcp").header("X", "${NOBODY_SET_THIS}");
    if let Some(server) = suite.servers.get_mut("api") {
        server.reach = Reach::Server(unset);
    }
    let report = run_on(&suite, &entry("api"), &options(folder.path())).await;
    assert!(
        report.errors[0]
            .message
            .rendered()
            .contains("NOBODY_SET_THIS"),
        "{report:?}"
    );
}

#[cfg(unix)]
#[tokio::test]
async fn a_server_that_ends_at_once_is_told_with_its_status() {
    let folder = tempfile::tempdir().unwrap();
    let mut suite = suite(answering());
    if let Some(server) = suite.servers.get_mut("api") {
        let server_of = Server::stdio("sh").args(["-c", "echo no index >&2; exit 7"]);
        server.reach = Reach::Server(server_of);
    }
    let report = run_on(&suite, &entry("api"), &options(folder.path())).await;
    let message = &report.errors[0].message;
    for told in [
        "the server `api` does not run",
        "no index",
        "exited with code 7",
    ] {
        assert!(message.rendered().contains(told), "{message:?}");
    }
}

#[tokio::test]
async fn no_file_of_the_run_has_what_was_filled_in() {
    let args = serde_json::json!({ "text": "token ${TOKEN}" });
    let mut pattern = mcprove_load::drive::scenario::preset("explore_then_act");
    let call = mcprove_load::drive::ToolCall::new("echo").args(args.clone());
    pattern.steps = vec![mcprove_load::drive::Step::Call(call)];
    for scenario in [
        Scenario::sustained().tool("echo").args(args),
        Scenario::pattern([pattern]),
    ] {
        assert_kept_out(scenario).await;
    }
}

/// A load whose calls hold the secret, which the server repeats, writes it nowhere; the server does get it.
async fn assert_kept_out(scenario: Scenario) {
    let folder = tempfile::tempdir().unwrap();
    // It answers with its arguments, which end up in the trace.
    let tool = ToolSpec::new("echo").answering("${args.text}").unwrap();
    let suite = suite(MockSpec::new("demo").with_tool(tool));
    let mut test = entry("api");
    test.config.scenario = scenario.concurrent(2).duration(Duration::from_secs(1));
    test.config.scenario.load.calls = Some(50);
    let report = run_on(&suite, &test, &options(folder.path())).await;
    assert_eq!(report.outcome, TestOutcome::Passed, "{report:?}");
    let details = report.details.unwrap();
    let mut files = 0;
    let mut has_mask = false;
    for entry in std::fs::read_dir(details).unwrap() {
        let path = entry.unwrap().path();
        let bytes = std::fs::read(&path).unwrap();
        let found = memchr::memmem::find(&bytes, SECRET.as_bytes());
        assert!(found.is_none(), "{}", path.display());
        let is_trace = path.ends_with("trace.jsonl");
        if is_trace {
            let asked = memchr::memmem::find(&bytes, b"${TOKEN}");
            assert!(asked.is_none(), "the server got the name instead");
            has_mask = memchr::memmem::find(&bytes, b"token ").is_some();
        }
        files += 1;
    }
    assert!(files > 4 && has_mask);
}
