//! Agents against a fake model and mocks: live, recorded and replayed.

mod broken;
mod recorded;
mod secrets;

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use harness::model::{Asked, FakeModel, Said, scripts};
use mcprove_load::config::SessionSettings;
use mcprove_load::drive::Stop;
use mcprove_servers::mock::{MockSpec, ToolSpec};
use mcprove_settings::error::SourcePlace;

use super::*;
use crate::gates;
use crate::plan::{Budget, Driver, Environment, ModelPlan, Reach, ServerPlan, TestHead};

/// A suite with one agent, and how it is run.
pub(super) struct Bench {
    pub plan: SuitePlan,
    pub options: SuiteOptions,
    _folder: tempfile::TempDir,
}

pub(super) fn mock(name: &str) -> ServerPlan {
    let tool = |name: &str, says: &str| ToolSpec::new(name).answering(says).unwrap();
    let spec = MockSpec::new(name)
        .with_tool(tool("search", "found ${args.query}"))
        .with_tool(tool("fetch_page", "a page"))
        .with_tool(tool("create_issue", "created"));
    ServerPlan {
        name: name.to_owned(),
        place: SourcePlace { line: 1, column: 1 },
        reach: Reach::Mock {
            spec: Box::new(spec),
            faults: Vec::new(),
        },
        session: SessionSettings::default(),
        parallel: 4,
        is_fresh: false,
        min_coverage: None,
    }
}

impl Bench {
    /// An agent that asks the model at this address, so many times, and is held to this.
    pub fn new(url: &str, runs: u32, gates: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let test = AgentTestPlan {
            head: TestHead {
                name: "files an issue".to_owned(),
                place: SourcePlace { line: 5, column: 3 },
                tags: Vec::new(),
                skip: None,
            },
            driver: Driver::Model(ModelPlan {
                model: "claude-test".to_owned(),
                provider: &crate::agent::provider::anthropic::ENTRY,
                base_url: Some(url.to_owned()),
                api_key_env: Some("FAKE_KEY".to_owned()),
                temperature: None,
                max_tokens: 1024,
            }),
            servers: vec!["api".to_owned()],
            system: None,
            prompts: vec!["File an issue.".to_owned()],
            budget: Budget {
                turns: 5,
                tokens: None,
                tool_calls: None,
                time: Duration::from_mins(2),
                call: Duration::from_secs(20),
            },
            runs,
            inject: Vec::new(),
            gates: match gates {
                "" => mcprove_score::gate::Gates::default(),
                gates => gates::parse_yaml(gates, "gates.yml").unwrap(),
            },
        };
        let plan = SuitePlan {
            file: "suite.yml".to_owned(),
            folder: folder.path().to_owned(),
            servers: BTreeMap::from([("api".to_owned(), mock("api"))]),
            faults: Vec::new(),
            tools: Vec::new(),
            agents: vec![test],
            load: Vec::new(),
            warnings: Vec::new(),
        };
        let options = SuiteOptions {
            jobs: 4,
            cassettes: CassetteMode::Replay,
            environment: Environment::new(|name| {
                (name == "FAKE_KEY").then(|| "k3y-of-the-fake".to_owned())
            }),
            seed: 3,
            output_dir: folder.path().join("out"),
            is_output_dir_given: false,
            proxy_program: None,
            supervisor: None,
            stop: Stop::new(),
        };
        Self {
            plan,
            options,
            _folder: folder,
        }
    }

    pub fn test(&mut self) -> &mut AgentTestPlan {
        &mut self.plan.agents[0]
    }

    pub async fn run(&mut self, mode: CassetteMode) -> TestReport {
        self.options.cassettes = mode;
        run(&self.plan.agents[0], &self.plan, &self.options).await
    }

    pub fn cassette(&self) -> PathBuf {
        cassette::path(&self.plan.agents[0], &self.plan)
    }

    /// Records, then replays with no model, no key and no server. Both reports must be the same, byte for byte.
    pub async fn twice(&mut self, model: FakeModel) -> TestReport {
        let recorded = self.run(CassetteMode::Record).await;
        let trace = std::fs::read(self.trace()).unwrap();
        drop(model);
        self.options.environment = Environment::new(|_| None);
        self.options.seed = 99;
        std::fs::remove_dir_all(&self.options.output_dir).unwrap();
        let replayed = self.run(CassetteMode::Replay).await;
        let text = |report: &TestReport| serde_json::to_string_pretty(report).unwrap();
        assert_eq!(text(&replayed), text(&recorded));
        assert_eq!(std::fs::read(self.trace()).unwrap(), trace);
        let cassette = cassette::read(&self.cassette()).unwrap().unwrap();
        let targets: Vec<_> = replayed
            .failures
            .iter()
            .map(|it| it.target.clone())
            .collect();
        assert_eq!(cassette.verdict.failures, targets);
        replayed
    }

    fn trace(&self) -> PathBuf {
        let name = trace_name(&self.plan.agents[0], &self.plan);
        self.options.output_dir.join(name)
    }
}

pub(super) fn model(script: fn(&Asked) -> Said) -> FakeModel {
    FakeModel::start(script)
}

#[tokio::test(flavor = "multi_thread")]
async fn agents_are_judged_by_all_their_runs() {
    let model = model(scripts::honest);
    let mut bench = Bench::new(&model.url(), 3, "narrative: {}\nreliability: {}");
    let report = bench.run(CassetteMode::Live).await;
    assert_eq!(report.outcome, TestOutcome::Passed, "{report:?}");
    assert_eq!(report.runs.len(), 3);
    assert_eq!(report.targets["reliability.passhat_k"], 100);
    assert!(report.duration_ms > 0.0);
    assert!(!bench.cassette().exists(), "nothing is recorded unasked");
    let trace = std::fs::read_to_string(bench.trace()).unwrap();
    let trace: AgentTrace = serde_json::from_str(&trace).unwrap();
    assert_eq!(trace.runs[2].passed, Some(true));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_looper_is_a_failed_row() {
    let model = model(scripts::looper);
    let mut bench = Bench::new(&model.url(), 2, "");
    let report = bench.run(CassetteMode::Live).await;
    assert_eq!(report.outcome, TestOutcome::Failed, "{report:?}");
    let failure = &report.failures[1];
    assert_eq!(
        (failure.target.as_str(), failure.run),
        ("conversation.stop_reason", Some(1))
    );
    assert!(failure.hint.rendered().contains("max_turns"), "{failure:?}");
    // Whoever expects just that has it.
    let expect = "expect: [{ target: conversation.stop_reason, matcher: { exact: turn_budget } }]";
    bench.test().gates = gates::parse_yaml(expect, "gates.yml").unwrap();
    let report = bench.run(CassetteMode::Live).await;
    assert_eq!(report.outcome, TestOutcome::Passed, "{report:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn only_what_is_gated_has_notes() {
    let model = model(scripts::uncounted);
    let mut bench = Bench::new(&model.url(), 2, "narrative: {}");
    let report = bench.run(CassetteMode::Live).await;
    assert!(report.notes.is_empty());
    for gates in [
        "stability: {}",
        "expect: [{ target: stability.score, matcher: { schema: { minimum: 0 } } }]",
    ] {
        bench.test().gates = gates::parse_yaml(gates, "gates.yml").unwrap();
        let report = bench.run(CassetteMode::Live).await;
        let of_stability = |note: &mcprove_settings::message::Message| {
            note.rendered().starts_with("stability.cost_per_progress")
        };
        assert!(report.notes.iter().any(of_stability), "{report:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn one_is_no_plural() {
    let model = model(scripts::looper);
    let mut bench = Bench::new(&model.url(), 1, "");
    bench.test().budget.turns = 1;
    let report = bench.run(CassetteMode::Live).await;
    let message = &report.failures[0].message;
    assert!(
        message.rendered().ends_with("not done after 1 answer"),
        "{message:?}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_not_the_agents_doing_is_an_error() {
    let model = model(scripts::honest);
    let mut bench = Bench::new(&model.url(), 2, "");
    bench.options.environment = Environment::new(|_| None);
    bench.test().prompts = vec!["say ${NOTHING}".to_owned()];
    let report = bench.run(CassetteMode::Live).await;
    assert_eq!(report.outcome, TestOutcome::Error);
    assert!(
        report.errors[0].message.rendered().contains("NOTHING"),
        "{report:?}"
    );
    assert!(!report.errors[0].hint.rendered().is_empty());

    let mut bench = Bench::new(&model.url(), 1, "");
    bench.test().servers = vec!["gone".to_owned()];
    bench.plan.servers.insert(
        "gone".to_owned(),
        ServerPlan {
            name: "gone".to_owned(),
            reach: Reach::Server(mcprove_client::server::Server::stdio(
                "no-such-program-anywhere",
            )),
            ..mock("gone")
        },
    );
    let report = bench.run(CassetteMode::Record).await;
    assert_eq!(report.outcome, TestOutcome::Error);
    assert!(
        report.errors[0].message.rendered().contains("gone"),
        "{report:?}"
    );
    assert!(
        report.notes[0].rendered().contains("nothing was recorded"),
        "{report:?}"
    );
    assert!(!bench.cassette().exists());
    assert!(!Path::new("no-such-program-anywhere").exists());
}

#[test]
fn traces_of_two_suites_are_two() {
    let folders = [
        ("s.yml", "s"),
        ("./s.yml", "s"),
        ("s.yaml", "s.yaml"),
        ("x/s.yml", "x/s"),
        ("y/s.yml", "y/s"),
        ("../s.yml", "__/s"),
    ];
    for (file, folder) in folders {
        assert_eq!(suite_folder(file), folder);
    }
    #[cfg(unix)]
    assert_eq!(suite_folder("/x/s.yml"), "_/x/s");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_budget_of_tokens_that_nobody_counts_decides_nothing() {
    let model = model(scripts::uncounted);
    let mut bench = Bench::new(&model.url(), 1, "");
    bench.test().budget.tokens = Some(100);
    let report = bench.run(CassetteMode::Live).await;
    assert_eq!(report.outcome, TestOutcome::Error, "{report:?}");
    let error = &report.errors[0];
    assert!(
        error.message.rendered().starts_with("inconclusive: "),
        "{error:?}"
    );
    assert!(
        error.message.rendered().contains("budget.tokens is 100"),
        "{error:?}"
    );
    assert!(
        error.hint.rendered().contains("leave budget.tokens out"),
        "{error:?}"
    );
    let trace = std::fs::read_to_string(bench.trace()).unwrap();
    let trace: AgentTrace = serde_json::from_str(&trace).unwrap();
    assert_eq!(trace.runs[0].passed, None);
    // A run that fails anyway has failed.
    bench.test().budget.turns = 1;
    let report = bench.run(CassetteMode::Live).await;
    assert_eq!(report.outcome, TestOutcome::Failed, "{report:?}");
}

#[tokio::test]
async fn judging_does_not_hold_up_the_clocks_of_others() {
    let model = model(scripts::honest);
    let mut bench = Bench::new(&model.url(), 1, "narrative: {}");
    let run = mcprove_trace::AgentRun {
        final_response: Some("I created the issue, and told nobody of it. ".repeat(5_000)),
        ..mcprove_trace::AgentRun::default()
    };
    let made = AgentRuns {
        trace: AgentTrace::new(vec![run]),
        notes: vec![Vec::new()],
        tape: None,
        errors: Vec::new(),
        ended: 1,
        judged: 1,
    };
    let test = bench.test().clone();
    let report = TestReport::new(TestKind::Agent, &test.head, &bench.plan);
    let judging = judge::judge_aside(report, &test, made);
    let mut judging = std::pin::pin!(judging);
    assert!(
        futures_util::poll!(judging.as_mut()).is_pending(),
        "the one thread of the runtime is free meanwhile"
    );
    let (report, _) = judging.await;
    assert_eq!(report.outcome, TestOutcome::Failed);
}

#[test]
fn turns_that_are_not_told_leave_stability_open() {
    let gates = gates::parse_yaml("stability: {}", "gates.yml").unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    let judged = |turns: Option<Vec<mcprove_trace::Turn>>| {
        let mut bench = Bench::new("http://127.0.0.1:1", 1, "");
        bench.test().gates = gates.clone();
        let run = mcprove_trace::AgentRun {
            final_response: Some("Done.".to_owned()),
            conversation: Some(mcprove_trace::Conversation {
                stop_reason: Some(mcprove_trace::StopReason::Completed),
                turns,
                ..mcprove_trace::Conversation::default()
            }),
            ..mcprove_trace::AgentRun::default()
        };
        let made = AgentRuns {
            trace: AgentTrace::new(vec![run.clone(), run]),
            notes: vec![Vec::new(), Vec::new()],
            tape: None,
            errors: Vec::new(),
            ended: 2,
            judged: 2,
        };
        let report = TestReport::new(TestKind::Agent, &bench.plan.agents[0].head, &bench.plan);
        let test = &bench.plan.agents[0];
        runtime.block_on(judge::judge_aside(report, test, made)).0
    };
    let report = judged(None);
    assert_eq!(report.outcome, TestOutcome::Error, "{report:?}");
    assert!(
        report.errors[0]
            .message
            .rendered()
            .starts_with("inconclusive: ")
    );
    assert!(report.errors[0].hint.rendered().contains("turns"));
    let report = judged(Some(Vec::new()));
    assert_eq!(report.outcome, TestOutcome::Passed, "{report:?}");
}
