//! A scripted model over HTTP, a mock in memory, and a run with both.

use std::sync::Mutex;
use std::time::Duration;

use harness::model::{Asked, FakeModel, Said, scripts};
use mcprove_load::config::SessionSettings;
use mcprove_score::gate::{Gates, ScoreReport, score};
use mcprove_servers::mock::{MockSpec, ToolSpec};
use mcprove_settings::error::SourcePlace;
use mcprove_trace::{AgentRun, AgentTrace, BoxFuture, StopReason};
use serde_json::Value;

use crate::agent::live_toolbox::LiveToolbox;
use crate::agent::run::{FinishedRun, run_once};
use crate::agent::toolbox::{OfferedTool, ToolAnswer, ToolRequest, Toolbox};
use crate::agent::wire::LiveWire;
use crate::gates;
use crate::plan::{
    AgentTestPlan, Budget, Driver, Environment, ModelPlan, Reach, ServerPlan, TestHead,
};
use mcprove_settings::message::Diagnostic;

pub const KEY: &str = "sk-planted-secret";
pub const BOTH: &[&crate::agent::provider::Entry] = crate::agent::provider::ENTRIES;

/// A test of this task, with nothing to fear.
pub fn test() -> AgentTestPlan {
    AgentTestPlan {
        head: TestHead {
            name: "test".to_owned(),
            place: SourcePlace { line: 1, column: 1 },
            tags: Vec::new(),
            skip: None,
        },
        driver: Driver::Model(model(&crate::agent::provider::anthropic::ENTRY)),
        servers: vec!["api".to_owned()],
        system: Some("Be brief.".to_owned()),
        prompts: vec!["Triage the CI flake.".to_owned()],
        budget: Budget {
            turns: 10,
            tokens: None,
            tool_calls: None,
            time: Duration::from_mins(2),
            call: Duration::from_secs(20),
        },
        runs: 1,
        inject: Vec::new(),
        gates: Gates::default(),
    }
}

pub fn injecting(faults: &[&str], gates_text: &str) -> AgentTestPlan {
    AgentTestPlan {
        inject: faults.iter().map(|text| text.parse().unwrap()).collect(),
        gates: if gates_text.is_empty() {
            Gates::default()
        } else {
            gates::parse_yaml(gates_text, "gates.yml").unwrap()
        },
        ..test()
    }
}

pub fn model(provider: &'static crate::agent::provider::Entry) -> ModelPlan {
    let name = match provider.name {
        "anthropic" => "claude-test",
        _ => "gpt-test",
    };
    ModelPlan {
        model: name.to_owned(),
        provider,
        base_url: None,
        api_key_env: Some("TEST_KEY".to_owned()),
        temperature: None,
        max_tokens: 256,
    }
}

pub fn environment() -> Environment {
    Environment::new(|name| (name == "TEST_KEY").then(|| KEY.to_owned()))
}

pub fn mock(name: &str, faults: &[&str]) -> ServerPlan {
    let tool = |name: &str, answer: &str| ToolSpec::new(name).answering(answer).unwrap();
    let mut create = tool("create_issue", "created ${args.title}");
    let hints = serde_json::json!({ "readOnlyHint": false, "idempotentHint": false });
    create.listed.insert("annotations".to_owned(), hints);
    let spec = MockSpec::new("demo")
        .with_tool(tool("search", "found ${args.query}"))
        .with_tool(tool("fetch_page", "the page"))
        .with_tool(create);
    ServerPlan {
        name: name.to_owned(),
        place: SourcePlace { line: 1, column: 1 },
        reach: Reach::Mock {
            spec: Box::new(spec),
            faults: faults.iter().map(|text| text.parse().unwrap()).collect(),
        },
        session: SessionSettings::default(),
        parallel: 8,
        is_fresh: false,
        min_coverage: None,
    }
}

/// A toolbox that notes what reaches the servers.
pub struct Noting<'t> {
    pub inner: &'t LiveToolbox,
    pub reached: Mutex<Vec<String>>,
}

impl Toolbox for Noting<'_> {
    fn tools(&self) -> &[OfferedTool] {
        self.inner.tools()
    }

    fn call<'a>(&'a self, call: ToolRequest<'a>) -> BoxFuture<'a, Result<ToolAnswer, Diagnostic>> {
        self.reached.lock().unwrap().push(call.tool.to_owned());
        self.inner.call(call)
    }
}

/// What came of a run.
pub struct Played {
    pub finished: FinishedRun,
    pub model: FakeModel,
    /// The tools whose calls reached the servers.
    pub reached: Vec<String>,
    pub gates: Gates,
}

impl Played {
    pub fn run(&self) -> &AgentRun {
        &self.finished.run
    }

    pub fn stop(&self) -> StopReason {
        self.run().stop_reason().unwrap()
    }

    pub fn score(&self) -> ScoreReport {
        let trace = AgentTrace::new(vec![self.run().clone()]);
        score(&trace, &self.gates)
    }

    /// The targets whose gates failed.
    pub fn failed(&self) -> Vec<String> {
        let report = self.score();
        assert!(report.errors.is_empty(), "{:?}", report.errors);
        let failed = report.failures.iter();
        failed.map(|failure| failure.target.clone()).collect()
    }

    pub fn target(&self, name: &str) -> Value {
        self.score().targets[name].clone()
    }

    pub fn result_text(&self, call: usize) -> String {
        self.run().tool_results[call].result.text().to_owned()
    }
}

/// Has the scripted agent of this name do the test, on a mock.
pub async fn play(
    script: &str,
    provider: &'static crate::agent::provider::Entry,
    test: &AgentTestPlan,
) -> Played {
    play_with(move_script(script), provider, test).await
}

/// Has this agent do the test, on a mock.
pub async fn play_with(
    script: impl Fn(&Asked) -> Said + Send + Sync + 'static,
    provider: &'static crate::agent::provider::Entry,
    test: &AgentTestPlan,
) -> Played {
    let fake = FakeModel::start(script);
    let plan = ModelPlan {
        base_url: Some(fake.url()),
        ..model(provider)
    };
    let environment = environment();
    let wire = LiveWire::new(&plan, &environment).unwrap();
    let server = mock("api", &[]);
    let live = LiveToolbox::connect(&[&server], &environment, 0)
        .await
        .unwrap();
    let toolbox = Noting {
        inner: &live,
        reached: Mutex::default(),
    };
    let finished = run_once(test, &plan, &wire, &toolbox, 7).await;
    live.close().await;
    Played {
        finished,
        model: fake,
        reached: toolbox.reached.into_inner().unwrap(),
        gates: test.gates.clone(),
    }
}

fn move_script(name: &str) -> impl Fn(&Asked) -> Said + Send + Sync + 'static {
    let script = scripts::find(name).unwrap();
    move |asked| script(asked)
}
