//! The section `agents`: tasks for models or for agents of the user, and what they must make of them.

use super::entry::{self, SuiteScope};
use super::kinds::Names;
use super::servers::is_known;
use super::settings::{AgentSettings, ProgramSettings, names_of};
use crate::prelude::*;

const LABEL: &str = "an agent";

/// What is for models alone: an agent with a `command` does not take it from the defaults.
const OF_MODELS: [&str; 5] = ["model", "provider", "temperature", "max_tokens", "system"];
/// What does nothing for an agent with a `command`.
const UNUSED: [&str; 3] = ["provider", "temperature", "max_tokens"];

/// Reads one agent; none only when there were problems.
pub fn read(reader: &mut Reader<'_>, node: &Node, scope: &SuiteScope<'_>) -> Option<AgentTestPlan> {
    let blocks: Vec<&str> = gates::names().collect();
    let has_command = node.get("command").is_some();
    let mut defaults = scope
        .defaults
        .iter()
        .filter(|default| !has_command || !OF_MODELS.contains(&default.name.as_str()));
    let label = &LABEL.into();
    let node = entry::completed::<AgentSettings>(reader, node, label, &blocks, &mut defaults)?;
    let (mut given, section): (AgentSettings, _) = entry::settings(reader, &node, label, &blocks);
    let head = entry::head(reader, &section, &given.test);
    let servers = servers(reader, &section, given.servers.take(), scope);
    let inject = inject(reader, &given.inject, scope, &servers);
    let gates = gates::read_blocks(reader, section.fields());
    check_gates(reader, &section, &gates, given.runs);
    Some(AgentTestPlan {
        head,
        servers,
        system: given.system.take(),
        prompts: prompts(reader, &section, &mut given),
        budget: Budget {
            turns: given.max_turns,
            ..given.budget.0
        },
        runs: given.runs,
        inject,
        gates,
        driver: driver(reader, &section, given, scope)?,
    })
}

/// Who does the task.
fn driver(
    reader: &mut Reader<'_>,
    section: &Section<'_>,
    given: AgentSettings,
    scope: &SuiteScope<'_>,
) -> Option<Driver> {
    if section.get("command").is_some() {
        for field in UNUSED.into_iter().filter_map(|key| section.get(key)) {
            let message = sentence!(
                "`{}` does nothing for an agent with a `command`, which asks its own model",
                field.name
            );
            let hint =
                sentence!("leave it out, or leave out `command` to have mcprove ask the model");
            reader.problem(&field.span, message, hint);
        }
        return Some(Driver::Command(CommandPlan {
            model: given.model,
            ..entry::command(given.program, scope.folder)
        }));
    }
    for field in names_of::<ProgramSettings>()
        .into_iter()
        .filter_map(|key| section.get(key))
    {
        let message = sentence!("`{}` is for an agent with a `command`", field.name);
        let hint = sentence!("leave it out, or add `command: [./my_agent]`");
        reader.problem(&field.span, message, hint);
    }
    if section.get("model").is_none() {
        let message = sentence!("{LABEL} has neither a `model` nor a `command`");
        let hint =
            sentence!("add `model: claude-sonnet-4-5`, or `command: [./my_agent]` for your own");
        reader.problem(section.span(), message, hint);
    }
    let model = given.model?;
    let provider = given.provider.unwrap_or_default();
    Some(Driver::Model(ModelPlan {
        provider: provider::find(provider.kind.as_deref(), &model)?,
        model,
        base_url: provider.base_url.map(|url| url.0),
        api_key_env: provider.api_key_env.map(|name| name.0),
        temperature: given.temperature,
        max_tokens: given.max_tokens,
    }))
}

/// The servers that provide its tools: those that are named, or the only one.
fn servers(
    reader: &mut Reader<'_>,
    section: &Section<'_>,
    given: Option<Names>,
    scope: &SuiteScope<'_>,
) -> Vec<String> {
    if let Some(Names(mut names)) = given {
        names.retain(|(name, span)| scope.servers.check(reader, span, name));
        return Names(names).texts();
    }
    if section.get("servers").is_none() && scope.servers.only().is_none() {
        let message = sentence!("{LABEL} has no `servers`");
        let hint =
            sentence!("add `servers: […]` with those that provide its tools, or `[]` for none");
        reader.problem(section.span(), message, hint);
    }
    scope
        .servers
        .only()
        .map(str::to_owned)
        .into_iter()
        .collect()
}

/// What it is asked.
fn prompts(
    reader: &mut Reader<'_>,
    section: &Section<'_>,
    given: &mut AgentSettings,
) -> Vec<String> {
    match (section.get("prompt"), section.get("turns")) {
        (Some(_), Some(second)) => {
            let message = sentence!("`prompt` and `turns` cannot both be given");
            let hint = "make the prompt the first of the turns";
            reader.problem(&second.span, message, hint);
        }
        (None, None) => {
            let message = sentence!("{LABEL} has no `prompt`");
            let hint = sentence!("add `prompt: …`, or `turns: […]` for several");
            reader.problem(section.span(), message, hint);
        }
        _ => {}
    }
    let turns = std::mem::take(&mut given.turns.0);
    given.prompt.take().into_iter().chain(turns).collect()
}

/// The faults that its calls meet.
fn inject(
    reader: &mut Reader<'_>,
    names: &Names,
    scope: &SuiteScope<'_>,
    servers: &[String],
) -> Vec<FaultSpec> {
    let mut faults = Vec::new();
    for (name, span) in &names.0 {
        if !is_known(reader, span, name, &scope.fault_names, "fault") {
            continue;
        }
        let Some(fault) = scope.faults.iter().find(|fault| fault.name == *name) else {
            continue;
        };
        if let Some(server) = &fault.target.server
            && !servers.contains(server)
        {
            let message = format!(
                "the fault {name:?} is aimed at {server:?}, which this agent does not have"
            );
            reader.warn(span, message);
        }
        faults.push(fault.clone());
    }
    faults
}

/// What gates need of the agent.
fn check_gates(reader: &mut Reader<'_>, section: &Section<'_>, gates: &Gates, runs: u32) {
    // What is wrong with `runs` is told already.
    let given = section.get("runs");
    let is_one = runs < 2 && given.is_none_or(|field| field.value.integer() == Some(1));
    for about in gates.blocks().map(|block| block.about) {
        if let Some(field) = section.get(about.name)
            && about.runs_min > 1
            && is_one
        {
            let message = sentence!("`{}` needs 2 runs, got 1", about.name);
            reader.problem(&field.span, message, sentence!("add `runs: 5`"));
        }
    }
}
