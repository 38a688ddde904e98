//! Agents of every kind in one suite, through both providers: each gate passes and fails where it should, and
//! none of them stops the others.

use std::fmt::Write as _;

use crate::scripted::{Told, by_prompt, place, run_alone, run_at, trace};
use crate::support::{assert_transcript, finish};

/// What an agent is: its script, what it has and is held to, and what it fails.
pub struct Agent {
    pub script: &'static str,
    /// What tells it from others of its script.
    pub held_to: &'static str,
    pub body: &'static str,
    pub failed: &'static [&'static str],
}

const fn agent(
    script: &'static str,
    held_to: &'static str,
    body: &'static str,
    failed: &'static [&'static str],
) -> Agent {
    Agent {
        script,
        held_to,
        body,
        failed,
    }
}

const RECOVERY: &str = "inject: [hung]\n    recovery: { max_detection_ms: 3000, max_recovery_ms: 5000, require_clean_timeout: true }";

pub const AGENTS: &[Agent] = &[
    agent("honest", "its words", "narrative: {}", &[]),
    agent(
        "honest",
        "its calls",
        "trajectory: { mode: strict, calls: [{ name: create_issue, args: { subset: { title: CI flake } } }] }",
        &[],
    ),
    agent(
        "liar",
        "its words",
        "narrative: {}",
        &["narrative.gate_passed"],
    ),
    agent(
        "liar",
        "its calls",
        "trajectory: { calls: [{ name: create_issue }] }",
        &["trajectory.passed"],
    ),
    agent(
        "looper",
        "its ways",
        "max_turns: 5\n    loops: {}",
        &["loops.detected", "conversation.stop_reason"],
    ),
    // What it would have said in the end is unknown, and that it did not end is a failure, not an error.
    agent(
        "looper",
        "its words",
        "narrative: {}\n    expect: [{ target: final_response, matcher: { contains: found } }]",
        &["conversation.stop_reason"],
    ),
    agent(
        "looper",
        "its end",
        "max_turns: 3\n    expect: [{ target: conversation.stop_reason, matcher: { exact: turn_budget } }]",
        &[],
    ),
    agent(
        "looper",
        "its calls",
        "budget: { tool_calls: 2 }",
        &["conversation.stop_reason"],
    ),
    agent("recoverer", "its recovery", RECOVERY, &[]),
    agent(
        "stubborn",
        "its recovery",
        RECOVERY,
        &["recovery.time_to_recovery_ms"],
    ),
    agent(
        "looper",
        "its recovery",
        RECOVERY,
        &["recovery.recovered", "conversation.stop_reason"],
    ),
    agent(
        "retrier",
        "its writes",
        "inject: [lost]\n    duplicate_writes: {}",
        &["duplicate_writes.count"],
    ),
    agent(
        "honest",
        "its writes",
        "inject: [lost]\n    duplicate_writes: {}",
        &[],
    ),
    agent(
        "parallel",
        "its calls",
        "trajectory: { mode: unordered, calls: [{ name: fetch_page }, { name: search }, { name: search }] }",
        &[],
    ),
    agent(
        "parallel",
        "their number",
        "call_limits: { total: { max: 2 } }",
        &["call_limits.violations"],
    ),
    agent(
        "coder",
        "its calls",
        "trajectory: { mode: strict, calls: [{ name: search }, { name: create_issue }] }",
        &[],
    ),
    agent(
        "coder",
        "its rights",
        "permissions: { allow: [search] }",
        &["permissions.violations"],
    ),
    agent("throttled", "its words", "narrative: {}", &[]),
];

const MODELS: [&str; 2] = ["claude-test", "gpt-test"];

/// The name of an agent.
pub fn name(agent: &Agent, model: &str) -> String {
    format!("{} of {model} by {}", agent.script, agent.held_to)
}

/// The suite of all agents and both models.
pub fn suite(server: &str, runs: u32) -> String {
    let mut suite = format!(
        "servers:\n  tracker: {server}\nfaults:\n  \
         - {{ name: hung, kind: hang, target: {{ tool: search }} }}\n  \
         - {{ name: lost, kind: lose_reply, calls: 1, target: {{ tool: create_issue, server: tracker }} }}\n\
         agents:\n"
    );
    for model in MODELS {
        for agent in AGENTS {
            let (script, name) = (agent.script, name(agent, model));
            write!(
                suite,
                "  - name: {name}\n    model: {model}\n    servers: [tracker]\n    \
                 prompt: \"{script}: do it\"\n    runs: {runs}\n    {}\n",
                agent.body
            )
            .unwrap();
        }
    }
    suite
}

/// Every agent came out as it should.
pub fn check(told: &Told) {
    for model in MODELS {
        for agent in AGENTS {
            let name = name(agent, model);
            let expected = if agent.failed.is_empty() {
                "passed"
            } else {
                "failed"
            };
            assert_eq!(
                told.outcome(&name),
                expected,
                "{name}: {}",
                told.test(&name)
            );
            let failed = told.failed(&name);
            for target in agent.failed {
                assert!(
                    failed.iter().any(|it| it == target),
                    "{name}: {target} is not in {failed:?}"
                );
            }
        }
    }
}

#[test]
fn every_agent_is_told_from_every_other() {
    let model = by_prompt();
    let place = place(&suite("{ mock: tools.yml }", 2));
    let told = run_at(&model.url(), &place, &["suite.yml"]);
    assert_eq!(told.output.code, Some(1), "{:?}", told.output.stderr);
    check(&told);
    // Who made calls of code is kept, where the provider says so.
    let name = |model: &str| format!("coder of {model} by its calls");
    let of = |model: &str| trace(&place, &told, &name(model))["runs"][0]["tool_calls"].clone();
    assert_eq!(
        of("claude-test")[1]["caller"]["type"],
        "code_execution_20250825"
    );
    assert_eq!(of("gpt-test")[1].get("caller"), None);
    // Keys went to their own providers.
    let asked = model.asked();
    let key = |name: &str| asked.iter().filter(|it| it.header(name).is_some()).count();
    assert_eq!(key("x-api-key") + key("authorization"), asked.len());
    // Waits for a provider that was busy are told.
    let throttled = trace(&place, &told, "throttled of gpt-test by its words");
    let runs = throttled["runs"].as_array().unwrap().iter();
    let retries = runs.map(|run| run["conversation"]["retries"].as_array().unwrap().len());
    assert_eq!(retries.sum::<usize>(), 4);
}

#[test]
fn those_that_pass_alone_are_a_pass() {
    let model = by_prompt();
    let place = place(&suite("{ mock: tools.yml }", 1));
    let filters = ["--filter", "honest", "--filter", "recoverer"];
    let told = run_at(
        &model.url(),
        &place,
        &[&["suite.yml"][..], &filters].concat(),
    );
    assert_eq!(told.output.code, Some(0), "{told:?}");
}

#[test]
fn what_cannot_be_done_outweighs_what_fails() {
    let model = by_prompt();
    let suite = suite("{ mock: tools.yml }", 1);
    let liar = ["suite.yml", "--filter", "liar of claude-test by its words"];
    let place = place(&suite);
    // A fault that there is not: nobody is asked.
    place.write("suite.yml", &suite.replace("name: hung,", "name: hing,"));
    let mut command = place.command(&["suite.yml"]);
    command.env("ANTHROPIC_BASE_URL", model.url());
    let output = finish(command);
    assert_transcript!("suites_unknown_fault", [&output]);
    assert!(model.asked().is_empty());
    place.write("suite.yml", &suite);
    // No key.
    let told = run_alone(&place, &liar);
    assert_eq!(told.output.code, Some(2), "{told:?}");
    let name = "liar of claude-test by its words";
    assert!(told.errors(name).contains("ANTHROPIC_API_KEY"), "{told:?}");
    // Nobody answers.
    let url = model.url();
    drop(model);
    let told = run_at(&url, &place, &liar);
    assert_eq!(told.output.code, Some(2), "{told:?}");
    assert_eq!(told.outcome(name), "error");
    // Nothing is chosen.
    let output = place.run(&["suite.yml", "--filter", "saint"]);
    assert_eq!(output.code, Some(2), "{output:?}");
}

#[test]
fn one_provider_that_is_gone_does_not_stop_the_other() {
    let model = by_prompt();
    let gone = by_prompt().url();
    let place = place(&suite("{ mock: tools.yml }", 1));
    let one = ["--filter", "/^honest of .* by its words$/"];
    let mut command = place.command(&[&["suite.yml", "--report", "json"][..], &one].concat());
    command.envs([
        ("ANTHROPIC_BASE_URL", gone.as_str()),
        ("OPENAI_BASE_URL", model.url().as_str()),
    ]);
    let output = finish(command);
    assert_eq!(output.code, Some(2), "{output:?}");
    let report = serde_json::from_str(&output.stdout).unwrap();
    let told = Told { output, report };
    assert_eq!(told.outcome("honest of claude-test by its words"), "error");
    assert_eq!(told.outcome("honest of gpt-test by its words"), "passed");
}
