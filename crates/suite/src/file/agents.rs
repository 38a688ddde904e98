//! The section `agents`: tasks for models or for agents of the user, and what they must make of them.

use std::path::Path;

use mcprove_fault::FaultSpec;
use mcprove_score::gate::Gates;
use mcprove_settings::reader::{Reader, Section, near};
use mcprove_settings::table;
use mcprove_settings::text::shorten;
use mcprove_settings::tree::{Data, Field, Node};

use super::budget;
use super::command::{self, KEYS};
use super::entry::{self, name_nodes, with_defaults};
use super::keys::{self, AGENT};
use super::limits::{MAX_TOKENS, MAX_TOKENS_MAX, RUNS_MAX};
use super::provider::{self, ProviderPlan};
use super::servers::Servers;
use crate::gates;
use crate::plan::{AgentTestPlan, CommandPlan, Driver, ModelPlan, Provider};

const LABEL: &str = "an agent";
/// How much of a wrong name is repeated in a message.
const SHOWN_MAX: usize = 60;

/// What is for models alone: an agent with a `command` does not take it from the defaults.
const OF_MODELS: [&str; 5] = ["model", "provider", "temperature", "max_tokens", "system"];
/// What does nothing for an agent with a `command`.
const UNUSED: [&str; 3] = ["provider", "temperature", "max_tokens"];

/// What the agents of a suite may refer to.
pub(super) struct Surroundings<'s> {
    pub folder: &'s Path,
    pub defaults: &'s [Field],
    pub servers: &'s Servers,
    pub faults: &'s [FaultSpec],
    /// Every name of a fault that there is, also of those that could not be read.
    pub fault_names: &'s [String],
}

/// Reads one agent; none only when there were problems.
pub(super) fn read(
    reader: &mut Reader<'_>,
    node: &Node,
    around: &Surroundings<'_>,
) -> Option<AgentTestPlan> {
    let mut known = keys::names(&AGENT);
    known.extend(gates::names());
    let node = table::spelled(reader, node, LABEL, &known)?;
    let has_command = matches!(&node.data, Data::Table(fields) if fields.iter().any(|field| field.name == "command"));
    let but: &[&str] = if has_command { &OF_MODELS } else { &[] };
    let node = with_defaults(node, around.defaults, &AGENT, but);
    let section = table::section(reader, &node, LABEL, &known);
    let head = entry::head(reader, &section);
    let driver = driver(reader, &section, around.folder);
    let servers = servers(reader, &section, around.servers);
    let prompts = prompts(reader, &section);
    let budget = budget::read(reader, &section);
    let runs = reader.integer(&section, "runs", 1..=RUNS_MAX);
    let runs = runs.and_then(|runs| runs.try_into().ok());
    // What is wrong with `runs` is told already.
    let has_few_runs = runs.is_some_and(|runs: u32| runs < 2) || section.get("runs").is_none();
    let inject = inject(
        reader,
        &section,
        around,
        servers.as_deref().unwrap_or_default(),
    );
    let gates = gates::read_blocks(reader, section.fields());
    check_gates(reader, &section, &gates, has_few_runs);
    Some(AgentTestPlan {
        head: head?,
        driver: driver?,
        servers: servers?,
        system: reader.text(&section, "system").map(str::to_owned),
        prompts: prompts?,
        budget,
        runs: runs.unwrap_or(1),
        inject,
        gates,
    })
}

/// Who does the task.
fn driver(reader: &mut Reader<'_>, section: &Section<'_>, folder: &Path) -> Option<Driver> {
    let model = reader.text(section, "model").map(str::to_owned);
    let provider = provider::read(reader, section);
    let temperature = reader.number(section, "temperature", "a number from 0 to 2", |value| {
        (0.0..=2.0).contains(&value)
    });
    let max_tokens = reader.integer(section, "max_tokens", 1..=MAX_TOKENS_MAX);
    if section.get("command").is_some() {
        for field in UNUSED.into_iter().filter_map(|key| section.get(key)) {
            let message = format!(
                "`{}` does nothing for an agent with a `command`, which asks its own model",
                field.name
            );
            let hint = "leave it out, or leave out `command` to have mcprove ask the model";
            reader.problem(&field.span, message, hint);
        }
        let command = command::read(reader, section, folder)?;
        return Some(Driver::Command(CommandPlan {
            program: command.program,
            args: command.args,
            env: command.env,
            working_dir: command.working_dir,
            model,
        }));
    }
    for field in KEYS.into_iter().filter_map(|key| section.get(key)) {
        let message = format!("`{}` is for an agent with a `command`", field.name);
        reader.problem(
            &field.span,
            message,
            "leave it out, or add `command: [./my_agent]`",
        );
    }
    if section.get("model").is_none() {
        let message = format!("{LABEL} has neither a `model` nor a `command`");
        let hint = "add `model: claude-sonnet-4-5`, or `command: [./my_agent]` for your own";
        reader.problem(section.span(), message, hint);
    }
    let model = model?;
    let ProviderPlan {
        kind,
        base_url,
        api_key_env,
    } = provider?;
    Some(Driver::Model(ModelPlan {
        provider: kind.unwrap_or_else(|| provider_of(&model)),
        model,
        base_url,
        api_key_env,
        temperature,
        max_tokens: max_tokens
            .and_then(|most| most.try_into().ok())
            .unwrap_or(MAX_TOKENS),
    }))
}

/// Whose model it is, by its name.
fn provider_of(model: &str) -> Provider {
    if model.starts_with("claude") {
        Provider::Anthropic
    } else {
        Provider::OpenAi
    }
}

fn servers(
    reader: &mut Reader<'_>,
    section: &Section<'_>,
    servers: &Servers,
) -> Option<Vec<String>> {
    if let Some(nodes) = name_nodes(reader, section, "servers") {
        let mut names = Vec::new();
        for (name, node) in nodes {
            if servers.check(reader, &node.span, &name) {
                names.push(name);
            }
        }
        return Some(names);
    }
    if let Some(name) = servers.only() {
        return Some(vec![name.to_owned()]);
    }
    let message = format!("{LABEL} has no `servers`");
    let hint = "add `servers: […]` with those whose tools it has, or `[]` for none";
    reader.problem(section.span(), message, hint);
    None
}

/// What it is asked.
fn prompts(reader: &mut Reader<'_>, section: &Section<'_>) -> Option<Vec<String>> {
    match (section.get("prompt"), section.get("turns")) {
        (Some(_), Some(second)) => {
            let message = "`prompt` and `turns` cannot both be given".to_owned();
            let hint = "make the prompt the first of the turns";
            reader.problem(&second.span, message, hint);
            None
        }
        (Some(_), None) => {
            let prompt = reader.text(section, "prompt")?;
            Some(vec![prompt.to_owned()])
        }
        (None, Some(field)) => {
            let hint = "write what the user says, one text for each turn";
            let nodes = reader.list(field, hint);
            if matches!(&field.value.data, Data::List(nodes) if nodes.is_empty()) {
                let message = "`turns` is empty, so nothing is asked".to_owned();
                reader.problem(&field.value.span, message, hint);
            }
            for node in nodes {
                if node.text().is_none_or(|text| text.trim().is_empty()) {
                    let found = node.text().map_or(node.kind(), |_| "an empty one");
                    let message = format!("`turns` must hold texts, not {found}");
                    reader.problem(&node.span, message, hint);
                }
            }
            let texts = nodes.iter().filter_map(Node::text);
            Some(texts.map(str::to_owned).collect())
        }
        (None, None) => {
            let message = format!("{LABEL} has no `prompt`");
            let hint = "add `prompt: …`, or `turns: […]` for several";
            reader.problem(section.span(), message, hint);
            None
        }
    }
}

/// The faults that its calls meet.
fn inject(
    reader: &mut Reader<'_>,
    section: &Section<'_>,
    around: &Surroundings<'_>,
    servers: &[String],
) -> Vec<FaultSpec> {
    let mut faults = Vec::new();
    for (name, node) in name_nodes(reader, section, "inject").unwrap_or_default() {
        if !around.fault_names.contains(&name) {
            let names: Vec<&str> = around.fault_names.iter().map(String::as_str).collect();
            let hint = match (near(&names, &name), names.is_empty()) {
                (Some(close), _) => format!("did you mean {close:?}?"),
                (None, false) => format!("the faults are {}", names.join(", ")),
                (None, true) => "describe it under `faults`: there are none".to_owned(),
            };
            let message = format!("no fault is called {:?}", shorten(&name, SHOWN_MAX));
            reader.problem(&node.span, message, hint);
            continue;
        }
        let Some(fault) = around.faults.iter().find(|fault| fault.name == name) else {
            continue;
        };
        if let Some(server) = &fault.target.server
            && !servers.contains(server)
        {
            let message = format!(
                "the fault {name:?} is aimed at {server:?}, which this agent does not have"
            );
            reader.warn(&node.span, message);
        }
        faults.push(fault.clone());
    }
    faults
}

/// What gates need of the agent.
fn check_gates(reader: &mut Reader<'_>, section: &Section<'_>, gates: &Gates, has_few_runs: bool) {
    let blocks = gates.blocks().map(|block| block.about);
    for about in blocks.filter(|about| has_few_runs && about.runs_min > 1) {
        if let Some(field) = section.get(about.name) {
            let message = format!("`{}` needs at least two runs, and there is one", about.name);
            reader.problem(&field.span, message, "add `runs: 5`");
        }
    }
}
