//! What changed since a recording.

use mcprove_servers::mock::{MockSpec, ToolSpec};
use mcprove_settings::error::SourcePlace;
use serde_json::json;

use super::super::*;
use super::{a_command, a_suite, a_test, a_tool};
use crate::plan::{AgentTestPlan, Driver, Environment, Reach, ServerPlan};

fn changes(old: &AgentTestPlan, new: &AgentTestPlan) -> Vec<String> {
    let fits = CassetteInputs::of(old, &[a_tool("search")]);
    // As it comes from a file.
    let fits: CassetteInputs =
        serde_json::from_str(&serde_json::to_string(&fits).unwrap()).unwrap();
    fits.changes(new, &a_suite(vec![new.clone()]))
}

#[test]
fn every_change_is_told_with_old_and_new() {
    let old = a_test("find", "claude-sonnet-4-5");
    assert_eq!(changes(&old, &old), Vec::<String>::new());
    let changed = |change: &dyn Fn(&mut AgentTestPlan)| {
        let mut new = old.clone();
        change(&mut new);
        changes(&old, &new).join("; ")
    };
    let model = |change: &dyn Fn(&mut crate::plan::ModelPlan)| {
        changed(&|test| {
            if let Driver::Model(model) = &mut test.driver {
                change(model);
            }
        })
    };
    for (told, expected) in [
        (
            changed(&|it| it.prompts = vec!["Find him.".into()]),
            "prompt: recorded \"Find it.\", now \"Find him.\"",
        ),
        (
            changed(&|it| it.prompts.push("More".into())),
            "turns[1]: not recorded, now \"More\"",
        ),
        (
            changed(&|it| it.system = Some("Be brief.".into())),
            "system: recorded nothing, now \"Be brief.\"",
        ),
        (changed(&|it| it.runs = 3), "runs: recorded 1, now 3"),
        (
            changed(&|it| it.budget.turns = 4),
            "budget.turns: recorded 10, now 4",
        ),
        (
            changed(&|it| it.servers.push("b".into())),
            "servers[1]: not recorded, now \"b\"",
        ),
        (
            changed(&|it| it.inject = vec!["slow:100,tool=search".parse().unwrap()]),
            "inject[0]: not recorded",
        ),
        (
            model(&|it| it.model = "gpt-5".into()),
            "model: recorded \"claude-sonnet-4-5\", now \"gpt-5\"",
        ),
        (
            model(&|it| it.max_tokens = 5),
            "max_tokens: recorded 1024, now 5",
        ),
        (
            model(&|it| it.temperature = Some(0.5)),
            "temperature: recorded nothing, now 0.5",
        ),
    ] {
        assert!(told.starts_with(expected), "{told} is not {expected}");
    }
    // What the runs are held to is no part of it.
    let mut judged = old.clone();
    judged.gates = crate::gates::parse_yaml("narrative: {}", "gates.yml").unwrap();
    assert_eq!(changes(&old, &judged), Vec::<String>::new());

    let command = a_command("x", "agent");
    let mut other = command.clone();
    if let Driver::Command(command) = &mut other.driver {
        command.args = vec!["--slow".into()];
    }
    let told = changes(&command, &other).join("; ");
    assert_eq!(told, "command[1]: recorded \"--fast\", now \"--slow\"");
}

#[test]
fn changed_tools_of_a_mock_are_told() {
    let test = a_test("find", "m");
    let mut plan = a_suite(vec![test.clone()]);
    let spec = |tool: &str| MockSpec::new("api").with_tool(ToolSpec::new(tool));
    let mut mock = |tool: &str| {
        let server = ServerPlan {
            name: "api".to_owned(),
            place: SourcePlace { line: 1, column: 1 },
            reach: Reach::Mock {
                spec: Box::new(spec(tool)),
                faults: Vec::new(),
            },
            session: mcprove_load::config::SessionSettings::default(),
            parallel: 8,
            is_fresh: false,
            min_coverage: None,
        };
        plan.servers.insert("api".to_owned(), server);
        plan.clone()
    };
    let listed = spec("search").tools[0].listed.clone();
    let mut tool = a_tool("search");
    tool.input_schema = listed.get("inputSchema").cloned().unwrap_or_default();
    tool.description = listed
        .get("description")
        .and_then(|it| it.as_str())
        .map(str::to_owned);
    let fits = CassetteInputs::of(&test, &[tool]);
    assert_eq!(fits.changes(&test, &mock("search")), Vec::<String>::new());
    let told = fits.changes(&test, &mock("lookup")).join("; ");
    assert!(told.starts_with("the tools of api[0]"), "{told}");
    assert!(told.contains("search") && told.contains("lookup"), "{told}");
}

#[test]
fn a_replay_has_the_variables_of_the_recording() {
    let environment = Environment::new(|name| match name {
        "TOKEN" => Some("hunter22".to_owned()),
        "LANGUAGE" => Some("en".to_owned()),
        _ => None,
    });
    let variables = Variables::default();
    let watched = variables.watch(&environment);
    let text = "${TOKEN} ${LANGUAGE} ${OTHER:-none}";
    assert_eq!(watched.fill(text).unwrap(), "hunter22 en none");
    assert!(environment.secrets().contains("hunter22"));
    let kept = variables.redacted(&environment.redactor());
    assert_eq!(json!(kept), json!({ "TOKEN": null, "LANGUAGE": "en" }));
    assert_eq!(recorded(&kept).fill(text).unwrap(), "<redacted> en none");
}

/// The tools that a mock offers.
fn offered_by(
    name: &str,
    plan: &crate::plan::SuitePlan,
) -> Vec<crate::agent::toolbox::OfferedTool> {
    let Reach::Mock { spec, .. } = &plan.servers[name].reach else {
        panic!("a mock");
    };
    let tools = spec.tools.iter().map(|tool| {
        let text = |key: &str| tool.listed.get(key)?.as_str().map(str::to_owned);
        crate::agent::toolbox::OfferedTool {
            name: text("name").unwrap(),
            description: text("description"),
            input_schema: tool.listed["inputSchema"].clone(),
            ..a_tool("")
        }
    });
    tools.collect()
}

#[test]
fn what_a_mock_answers_and_its_faults_are_compared() {
    let test = a_test("find", "m");
    let suite = |says: &str, faults: &[&str]| {
        let tool = ToolSpec::new("search").answering(says).unwrap();
        let mut plan = a_suite(vec![test.clone()]);
        let server = ServerPlan {
            name: "api".to_owned(),
            place: SourcePlace { line: 1, column: 1 },
            reach: Reach::Mock {
                spec: Box::new(MockSpec::new("api").with_tool(tool)),
                faults: faults.iter().map(|fault| fault.parse().unwrap()).collect(),
            },
            session: mcprove_load::config::SessionSettings::default(),
            parallel: 8,
            is_fresh: false,
            min_coverage: None,
        };
        plan.servers.insert("api".to_owned(), server);
        plan
    };
    let recorded = suite("found", &[]);
    let offered = offered_by("api", &recorded);
    let fits = CassetteInputs::of(&test, &offered).with_mocks(&recorded);
    assert_eq!(fits.changes(&test, &recorded), Vec::<String>::new());
    let told = fits.changes(&test, &suite("nothing", &[])).join("; ");
    assert!(told.starts_with("the answers of api: recorded"), "{told}");
    let told = fits.changes(&test, &suite("found", &["hang"])).join("; ");
    assert!(
        told.starts_with("the faults of api[0]: not recorded, now"),
        "{told}"
    );
}

#[test]
fn the_time_of_injected_faults_and_the_variables_of_a_process_are_compared() {
    let mut old = a_test("find", "m");
    old.inject = vec!["hang".parse().unwrap()];
    let mut new = old.clone();
    let block = "recovery: { max_detection_ms: 700 }";
    new.gates = crate::gates::parse_yaml(block, "gates.yml").unwrap();
    assert_eq!(
        changes(&old, &new),
        ["recovery.max_detection_ms: recorded 30000, now 700"]
    );
    let with = |name: &str, value: &str| {
        let mut test = a_command("x", "agent");
        if let Driver::Command(command) = &mut test.driver {
            command.env.insert(name.to_owned(), value.to_owned());
        }
        test
    };
    let told = changes(&with("MODE", "fast"), &with("MODE", "slow")).join("; ");
    assert!(
        told.starts_with("env: recorded \"MODE as it was\""),
        "{told}"
    );
    let told = changes(&with("MODE", "fast"), &with("OTHER", "fast")).join("; ");
    assert!(told.starts_with("env[0]: recorded \"MODE\", now"), "{told}");
    let (one, other) = (with("API_KEY", "one"), with("API_KEY", "other"));
    assert_eq!(changes(&one, &other), Vec::<String>::new(), "a secret");
}
